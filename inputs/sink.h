/* A new file, HDF5 or not, that appears under its final name whole or not at all: written to a file without a
 * name in its directory, or where the file system has none, to a temporary one beside it; fsynced, named. */
#pragma once

#include <hdf5.h>
#include <limits.h>

#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

/* Zero-initialised: closed. */
typedef struct stencil_sink {
    hid_t file;       /* to be written through HDF5; 0 or negative: a plain file */
    const char *path; /* final name, borrowed; NULL: closed */
    char directory[PATH_MAX];
    char temporary[2 * PATH_MAX]; /* "": the file has no name, and nothing is to be removed */
    int fd;                       /* of that file */
    bool replace;                 /* an existing file may be replaced */
    /* The driver below HDF5 keeps the first failed system call here and lets HDF5 believe
     * that all is well: HDF5 cannot close a file that it cannot write, and would try again at exit. */
    int error;           /* errno of the first failure, 0: none */
    uint64_t eoa;        /* end of the addresses that HDF5 has allocated, which is where the file will end */
    uint64_t closed_eoa; /* the same as it was closed for somebody else to go on with it */
} stencil_sink;

/* Opens the temporary file of `path`, takes space for `bytes` of values and creates an empty HDF5 file in it;
 * what is taken in vain is given back by the commit. STENCIL_SINK_PLAIN: a plain file, to be written through
 * sink->fd. The caller closes it, whatever comes. CANNOT_CREATE when the directory is missing or not
 * writable, when `path` is a directory or another special file, when it exists and may not be replaced, and
 * when a plain file would replace the file `other` (the input; may be NULL); IO with need and have where the
 * space is not there. */
#define STENCIL_SINK_PLAIN INT64_C(-1)
stencil_status stencil_sink_open(stencil_sink *sink, const char *path, bool replace, const char *other,
                                 int64_t bytes);

/* Throws away what is in the HDF5 file, which then is a new one. IO. */
stencil_status stencil_sink_empty(stencil_sink *sink);

/* Closes the HDF5 file, so that another process can go on with it by the descriptor sink->fd; opens it again,
 * there and here, with the `eoa` that the other one had at its end. IO. */
stencil_status stencil_sink_pause(stencil_sink *sink);
stencil_status stencil_sink_go_on(stencil_sink *sink, uint64_t eoa);

/* Bytes of an array of all cells. */
int64_t stencil_sink_array_bytes(const stencil_problem *problem);

/* IO when a write has failed so far; to be asked between large writes. */
stencil_status stencil_sink_state(const stencil_sink *sink);

/* A dataset /name, with those values of an array that a reader has, boundary cells included. It is made, and
 * then written slab by slab from what is read as `memory_type`. IO, NO_MEMORY; what the reader fails with. */
typedef struct stencil_sink_dataset {
    const char *name;
    stencil_array array;
    hid_t file_type, memory_type;
} stencil_sink_dataset;
stencil_status stencil_sink_create(const stencil_sink *sink, const stencil_sink_dataset *dataset,
                                   const stencil_problem *problem);
stencil_status stencil_sink_fill(const stencil_sink *sink, const stencil_sink_dataset *dataset,
                                 const stencil_problem *problem, const stencil_reader *from);

/* Checks, fsyncs, names. IO, CANNOT_CREATE (a file came up under that name meanwhile). */
stencil_status stencil_sink_commit(stencil_sink *sink);

/* Throws away what was not committed. */
void stencil_sink_close(stencil_sink *sink);

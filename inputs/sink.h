/* A new file, HDF5 or not, that appears under its final name whole or not at all: written to a file without a
 * name in its directory, or where the file system has none, to a temporary one beside it; fsynced, named. */
#ifndef STENCIL_INPUTS_SINK_H
#define STENCIL_INPUTS_SINK_H

#include <hdf5.h>

#include "solver/boxes.h"
#include "solver/problem.h"

typedef struct stencil_sink {
    hid_t file;      /* to be written through HDF5; -1: not open, or a plain file */
    char *path;      /* final name, owned */
    char *directory; /* of it, owned */
    char *temporary; /* owned; NULL: the file has no name, and nothing is to be removed */
    int fd;          /* of that file */
    bool replace;    /* an existing file may be replaced */
    /* The driver below HDF5 (sink_driver.c) keeps the first failed system call here and lets HDF5 believe
     * that all is well: HDF5 cannot close a file that it cannot write, and would try again at exit. */
    int error;     /* errno of the first failure, 0: none */
    uint64_t size; /* of the file, without the space that was taken in advance */
    uint64_t eoa;  /* end of the addresses that HDF5 has allocated */
} stencil_sink;

/* Whether `path` can be made: CANNOT_CREATE when its directory is missing or not writable, when it is a
 * directory or another special file, when it is the file `other` (may be NULL), or exists and may not be
 * replaced. Creates and removes a temporary file to find out. */
stencil_status stencil_sink_check(const char *path, bool replace, const char *other);

/* Opens the temporary file, takes `bytes` of space for it and creates an empty HDF5 file in it. What is taken
 * in vain is given back by the commit. On failure nothing is left. CANNOT_CREATE; IO with need and have where
 * the space is not there. */
stencil_status stencil_sink_open(stencil_sink *sink, const char *path, bool replace, int64_t bytes);

/* Opens the temporary file of a plain file, to be written through sink->fd. */
stencil_status stencil_sink_open_plain(stencil_sink *sink, const char *path, bool replace);

/* IO when a write has failed so far; to be asked between large writes. */
stencil_status stencil_sink_state(const stencil_sink *sink);

/* A dataset /name, with those values of an array that a reader has, boundary cells included: written slab by
 * slab from what it reads as `memory_type`. IO, NO_MEMORY; what the reader fails with. */
typedef struct stencil_sink_dataset {
    const char *name;
    stencil_array array;
    hid_t file_type, memory_type;
} stencil_sink_dataset;
stencil_status stencil_sink_write(stencil_sink *sink, const stencil_sink_dataset *dataset,
                                  const stencil_problem *problem, const stencil_reader *from);

/* Closes, checks, fsyncs, names; the sink is closed afterwards in any case. IO, CANNOT_CREATE (a file came
 * up under that name meanwhile). */
stencil_status stencil_sink_commit(stencil_sink *sink);

/* Throws everything away; NULL-safe, nothing to do after a commit. Keeps the error record. */
void stencil_sink_abort(stencil_sink *sink);

/* File access property list that makes H5Fcreate write into sink->fd; closed by the caller, negative on
 * failure. */
hid_t stencil_sink_access(stencil_sink *sink);

#endif

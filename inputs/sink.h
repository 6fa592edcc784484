/* A new file, HDF5 or not, that appears under its final name whole or not at all: written to a nameless file
 * in its directory (or where the file system has none, to a temporary file there), fsynced, then named. */
#pragma once

#include <hdf5.h>
#include <limits.h>

#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

/* A file being written under a temporary name. Zero-initialised: closed. */
typedef struct stencil_sink {
    hid_t file;       /* HDF5's handle of the file; 0 or negative: a plain file */
    const char *path; /* final name, borrowed; NULL: closed */
    char directory[PATH_MAX];
    char temporary[2 * PATH_MAX]; /* temporary name; "": the file is nameless, nothing to remove */
    int fd;                       /* descriptor of the temporary file */
    bool replace;                 /* whether an existing file may be replaced */
    /* The HDF5 file driver stores the first failed system call here and reports success to HDF5, which cannot
     * close a file that it cannot write, and would try again at exit. */
    int error;           /* errno of the first failure, 0: none */
    uint64_t eoa;        /* end of HDF5's allocated addresses, and of the final file */
    uint64_t closed_eoa; /* `eoa` when the file was closed for another process to continue */
} stencil_sink;

/* Checks that a file of this name can be made or, if `replace`, replaced: `plain`: a plain file, which never
 * replaces the file `other` (the input; may be NULL). Errors: CANNOT_CREATE. */
stencil_status stencil_sink_check(const char *path, bool replace, const char *other, bool plain);

/* Opens the temporary file of `path`, reserves space for `bytes` of values and creates an empty HDF5 file in
 * it; unused space is released by the commit. STENCIL_SINK_PLAIN: a plain file, to be written through
 * sink->fd. The caller closes the sink, also after failures. Errors: CANNOT_CREATE when the directory is
 * missing or not writable, when `path` is a directory or another special file, when it exists and may not be
 * replaced, and when a plain file would replace the file `other` (the input; may be NULL); IO with need and
 * have where the space is not available. */
#define STENCIL_SINK_PLAIN INT64_C(-1)
stencil_status stencil_sink_open(stencil_sink *sink, const char *path, bool replace, const char *other,
                                 int64_t bytes);

/* Replaces the HDF5 file that is being written by an empty one. Errors: IO. */
stencil_status stencil_sink_empty(stencil_sink *sink);

/* stencil_sink_pause() closes the HDF5 file, so that another process can continue it by the descriptor
 * sink->fd; stencil_sink_go_on() opens it in either process, with the `eoa` at which the other one ended.
 * Errors: IO. */
stencil_status stencil_sink_pause(stencil_sink *sink);
stencil_status stencil_sink_go_on(stencil_sink *sink, uint64_t eoa);

/* Makes the HDF5 file `to`, which has nothing in it yet, a copy of `from` as that is now. Errors: IO. */
stencil_status stencil_sink_copy(stencil_sink *to, stencil_sink *from);

/* Returns the bytes of an array of all cells of a problem. */
int64_t stencil_sink_array_bytes(const stencil_problem *problem);

/* Fails where an earlier write to the file has failed. Errors: IO. */
stencil_status stencil_sink_state(const stencil_sink *sink);

/* A dataset /name to be filled with an array's values from a reader, boundary cells included: created, then
 * written slab by slab, read as `memory_type`. Errors: IO, NO_MEMORY, and those of the reader. */
typedef struct stencil_sink_dataset {
    const char *name;
    stencil_array array;
    hid_t file_type, memory_type;
} stencil_sink_dataset;
stencil_status stencil_sink_create(const stencil_sink *sink, const stencil_sink_dataset *dataset,
                                   const stencil_problem *problem);
stencil_status stencil_sink_fill(const stencil_sink *sink, const stencil_sink_dataset *dataset,
                                 const stencil_problem *problem, const stencil_reader *from);

/* Prepares a created dataset for other processes to write all of its cells: it has its space in the file
 * then, at *offset, and the file has the name sink->temporary. *offset 0: cells in the file are not as they
 * are in memory. Errors: IO, CANNOT_CREATE. */
stencil_status stencil_sink_share(stencil_sink *sink, const stencil_sink_dataset *dataset, int64_t *offset);

/* Closes the HDF5 file and fsyncs it, without its name yet: stencil_sink_commit() does the rest. Errors: IO.
 */
stencil_status stencil_sink_finish(stencil_sink *sink);

/* Checks that no write has failed, fsyncs the file and gives it its final name. Errors: IO, CANNOT_CREATE (a
 * file of that name was created meanwhile). */
stencil_status stencil_sink_commit(stencil_sink *sink);

/* Closes the file being written, and removes it unless stencil_sink_commit() gave it its name. */
void stencil_sink_close(stencil_sink *sink);

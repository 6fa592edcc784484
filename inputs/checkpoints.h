/* Checkpoints: results that a run writes while it goes on, from which it can be resumed. NAME.h5 has
 * NAME.ckpt.h5, the last one, and NAME.ckpt.prev.h5, the one before. */
#pragma once

#include "inputs/inputs.h"

/* The checkpoints of a run. Zero-initialised: closed. */
typedef struct stencil_checkpoints {
    stencil_output *result; /* the run's result, begun: checkpoints start as copies of it; borrowed */
    char path[PATH_MAX], before[PATH_MAX]; /* names of the last checkpoint and of the one before */
    stencil_output
        room[2];     /* files with their space reserved; HDF5 has their addresses: they stay in place */
    int rooms, next; /* number of files in `room`, and the index of the next one to be written */
    bool drops_last; /* the file `path` is damaged: it does not become the one before */
    int64_t count;   /* checkpoints written */
    int64_t step;    /* step of the last checkpoint */
    double write_s;  /* seconds that the last one took to write */
    double done_s;   /* clock when it was complete */
} stencil_checkpoints;

/* Makes the name of a checkpoint of the result `output`: "p.out.h5" -> "p.out.ckpt.h5", or (`before`) that of
 * the one before. Errors: USAGE: the name is too long. */
stencil_status stencil_checkpoint_name(const char *output, bool before, char name[PATH_MAX]);

/* Tells whether a file name is that of a checkpoint, which is the last one: "p.out.ckpt.h5"; *before gets the
 * name of the one before. */
bool stencil_checkpoint_is_last(const char *path, char before[PATH_MAX]);

/* Makes the name of the result that a checkpoint of this name is on the way to, and of another file its own.
 */
void stencil_checkpoint_result(const char *path, char name[PATH_MAX]);

/* Takes space for the two files; `from` reads the source term. The caller closes *checkpoints, also after a
 * failure. Errors: those of stencil_output_open(); those of the reader. */
stencil_status stencil_checkpoints_open(stencil_checkpoints *checkpoints, stencil_output *result,
                                        const stencil_problem *problem, const stencil_reader *from);

/* Writes a checkpoint, fsyncs it, and gives it the name of the last one, which becomes the one before; a
 * process that is killed at any moment leaves at least the last one. `from` needs to read u alone. After a
 * failure the checkpoints are as they were. Where no room is left for a third file, the one before goes
 * first. Errors: IO, CANNOT_CREATE; those of the reader. */
stencil_status stencil_checkpoints_write(stencil_checkpoints *checkpoints, const stencil_problem *problem,
                                         const stencil_reader *from, const stencil_report *report);

/* Remove the older checkpoint, or both, those of runs before that were resumed included. */
void stencil_checkpoints_remove_older(const stencil_checkpoints *checkpoints);
void stencil_checkpoints_remove(const stencil_checkpoints *checkpoints);

/* Gives the space of files that were not written back. */
void stencil_checkpoints_close(stencil_checkpoints *checkpoints);

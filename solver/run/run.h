/* Runs a plan: the outer loop, which calls the time loop of the plan's strategy. */
#pragma once

#include <limits.h>

#include "kernels/arrays.h"
#include "solver/plan/plan.h"
#include "solver/problem/digest.h"
#include "solver/run/observer.h"

/* A run: loads cells to where the plan wants them, makes steps, returns cells. Borrows problem and plan. */
typedef struct stencil_run stencil_run;

/* Opens a run: allocates device and host memory and reads the cells, box by box as its parts need them, all
 * of u before b. *run is NULL on failure. Errors: BAD_DATA if the norm of changes would leave the range of
 * numbers; NO_MEMORY with the bytes needed and available; those of the reader. */
stencil_status stencil_run_open(stencil_run **run, const stencil_plan *plan, const stencil_problem *problem,
                                const stencil_reader *from);

/* Arrays in the memory of the GPU that all parts of a run are on, from which it takes cells without the host:
 * u, and a source that is one array, without cells that keep their values, constants of walls or faces that
 * divide it. The caller zeroes the structure and sets the first three members. */
typedef struct stencil_device_arrays {
    stencil_strided u, b; /* at NULL: the reader has the cells */
    bool allow_nonfinite; /* otherwise NaN and infinity are BAD_DATA, and the next three say which cell */
    bool odd;
    stencil_array odd_array;
    int64_t odd_cell[3];    /* in indices from the first updated cell */
    double largest, read_s; /* the run's own: largest value so far, seconds of taking cells, */
    int exponent;           /* and the exponent of the power of two that cells are scaled by */
} stencil_device_arrays;

/* As stencil_run_open(), where some cells are in the memory of the GPU; `arrays` may be NULL, and is not
 * borrowed. */
stencil_status stencil_run_open_arrays(stencil_run **run, const stencil_plan *plan,
                                       const stencil_problem *problem, const stencil_reader *from,
                                       stencil_device_arrays *arrays);

/* Reads u and the source term again for another stencil_run_drive() of the same run, into the memory that it
 * has; classes of cells are those that were read before. Errors: as stencil_run_open(); afterwards the run
 * can only be closed. `arrays` may be NULL. */
stencil_status stencil_run_reload(stencil_run *run, const stencil_reader *from,
                                  stencil_device_arrays *arrays);

/* Makes the next stencil_run_drive() end without a bound on the error, for which all cells go through the
 * host; only a run whose end cannot be judged otherwise looks at them. */
void stencil_run_skip_bound(stencil_run *run);

/* Makes the steps until the problem's stop, once for each time that cells were loaded; fills in *report,
 * which the caller zeroes before and destroys afterwards. Divergence and missing convergence are reasons in
 * the report, not errors. */
stencil_status stencil_run_drive(stencil_run *run, const stencil_observers *observers,
                                 stencil_report *report);

/* Continues the run with another plan for the same problem, which is borrowed, too; called by an observer
 * between steps. The previous plan's memory is kept: going back to a plan is free, or costs a copy of the
 * cells if the plans differ in cut or device. On failure the run keeps its plan. */
enum { STENCIL_SIDES_MAX = 64 };
stencil_status stencil_run_replan(stencil_run *run, const stencil_plan *plan);

/* Frees the memory of all plans that do not share their cells with the current plan. */
void stencil_run_settle(stencil_run *run);

/* Does what reads cells of all ranks, or writes files: rank 0 calls `work` with `context`, and the others
 * give it the cells that it reads. Then all get the `bytes` at `told` that rank 0 has there (0: none), where
 * the work succeeds. Called by all ranks, and in a run of one process, where it is no more than the call.
 * Errors: those of the work, in all ranks. */
stencil_status stencil_run_lead(stencil_run *run, stencil_status (*work)(void *context), void *context,
                                void *told, size_t bytes);

/* Reads a box of cells of the current field, as a stencil_reader of a run, but not after failed steps. With
 * several ranks only in what stencil_run_lead() calls. */
stencil_status stencil_run_read(void *run, stencil_array array, const stencil_box *box,
                                const stencil_cells *to);

/* A file that all ranks write, each its own cells of /u, which lie there without gaps, in array order and in
 * the precision of the problem. */
typedef struct stencil_shared_file {
    int64_t offset;               /* of the first cell */
    char temporary[2 * PATH_MAX]; /* the name that the file has */
    char path[PATH_MAX];          /* the name that messages tell */
} stencil_shared_file;

/* Has all ranks write the cells of u and wait for the disk; *digest gets the digest of u. *written: false
 * where not all ranks find the file, and then nothing was written. By rank 0 of several, in what
 * stencil_run_lead() calls. Errors: IO, NO_MEMORY, of any rank. */
stencil_status stencil_run_write(stencil_run *run, const stencil_shared_file *to, bool *written,
                                 stencil_digest *digest);

/* Copies the cells of the current field to an array in the memory of the GPU, boundary cells included. */
stencil_status stencil_run_give(stencil_run *run, const stencil_strided *to);

/* Closes the run and frees its memory; NULL is allowed. */
void stencil_run_close(stencil_run *run);

/* Runs a plan on fields in memory, from opening to closing; the result overwrites u. b may be NULL. */
stencil_status stencil_run_fields(const stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_field *u, const stencil_field *b,
                                  const stencil_observers *observers, stencil_report *report);

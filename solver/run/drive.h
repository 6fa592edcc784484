/* State of a run, shared by run.c (steps), cells.c (cells) and solver/attribution/. Internal to solver/. */
#pragma once

#include "solver/problem/stop.h"
#include "solver/run/run.h"
#include "solver/run/strategy.h"

/* CPU or GPUs that make the steps of one plan, with own cell arrays or those of an earlier side. */
typedef struct side {
    const stencil_plan *plan;
    stencil_cpu *cpu;
    stencil_gpu_run *gpu; /* one of `cpu` and `gpu` is set, the other one is NULL */
} side;

struct stencil_run {
    const stencil_problem *problem;
    side on;                /* side that makes the steps, an entry of `side` */
    stencil_report *report; /* report being filled; set during stencil_run_drive() only */
    stencil_observers observers;
    stencil_observer between; /* observer that polls all others, in the midst of a cycle, too */
    stencil_observers own;    /* list that holds `between` only */
    stencil_outcome outcome;  /* outcome of the last batch */
    stencil_schedule schedule;
    double source_norm;
    int exponent;          /* the parts store the cells times 2^exponent, see stencil_norm_exponent() */
    stencil_problem plain; /* problem of the final plain steps (omega = 1) of an accelerated problem */
    stencil_step_weights plain_step[2];
    int64_t window;          /* steps in a window of stagnation */
    int64_t constant_window; /* the same, of residuals that repeat themselves */
    int64_t steps;           /* number of steps that the cells have gone through */
    int from;                /* index of the buffer that holds the current cells */
    double last_omega;       /* omega of all checked steps except the first step */
    int64_t turn_first;      /* see stencil_turn_first() */
    bool accelerated;        /* the problem has cycles of steps, within which a run must not end */
    bool keeps;              /* cycles take long: the cells at the begin of each are kept for interruptions */
    stencil_field kept;
    int64_t kept_steps; /* number of steps that the kept cells have gone through; -1: no cells are kept */
    double kept_s;      /* clock when the kept cells were stored */
    double asked_s;     /* clock when an observer first asked an accelerated run to end; 0: none has */
    bool ends;          /* an observer asked the run to end, and not only to pause */
    double read_s, prepare_s;
    stencil_device_arrays *arrays; /* set while cells are loaded that are in arrays; NULL: none are */
    bool skips_bound;
    side side[STENCIL_SIDES_MAX];
    int sides; /* number of entries in `side`, in order of creation */
};

/* Loads the parts' cells of u from a reader, before or between steps. */
stencil_status stencil_run_load_u(stencil_run *r, const stencil_reader *from);

/* held: the cells of a box that a part holds. read_own: reads those of this process's parts, times
 * 2^exponent. */
stencil_box stencil_run_held(const stencil_run *r, int part, stencil_array array, const stencil_box *box);
stencil_status stencil_run_read_own(const stencil_run *r, stencil_array array, const stencil_box *box,
                                    const stencil_cells *to);

/* take: copies a box of u or b to a part from the array that has it; *done: there is one, else a reader has
 * the cells. take_sums: the partial sums of a source that was taken. Errors: BAD_DATA for cells that are not
 * finite. */
stencil_status stencil_run_take(stencil_run *r, int part, stencil_array array, const stencil_box *box,
                                bool *done);
stencil_status stencil_run_take_sums(stencil_run *r, stencil_intake *intake);

/* keep: saves the cells of the run between steps, for restore. */
stencil_status stencil_run_keep(stencil_run *r);
stencil_status stencil_run_restore(stencil_run *r);

/* turns_plain: tells whether rounding errors hide the progress of the cycles of an accelerated problem.
 * is_resolved: whether the last residual is as small as the precision resolves, in a field near the solution.
 * find_defect: computes the defect of the field, and the resolution of the report. judge: fills in why the
 * run has ended. By all ranks. */
bool stencil_run_turns_plain(const stencil_run *r);
bool stencil_run_is_resolved(const stencil_run *r, const stencil_defect *defect);
stencil_status stencil_run_find_defect(stencil_run *r, stencil_defect *defect);
stencil_status stencil_run_judge(stencil_run *r);

/* open: creates a side for another problem on the same cells with the current plan and makes the run use
 * both; *before gets the previous side. close: destroys that side and goes back to *before and `problem`. */
stencil_status stencil_run_side_open(stencil_run *r, const stencil_problem *problem, side *before);
void stencil_run_side_close(stencil_run *r, const stencil_problem *problem, const side *before);

/* Changes a bit of the cell that a test asked for (stencil_wait_policy), between batches. */
stencil_status stencil_run_flip(stencil_run *r);

/* Returns the most steps of a batch after `step` steps, whatever observers and the end of the run allow. */
int64_t stencil_run_batch_most(const stencil_run *r, const stencil_schedule *schedule, int64_t step);

/* Makes one batch, and run->outcome, but no report. *time_s: seconds of its steps, on GPUs by events. */
stencil_status stencil_run_batch(stencil_run *run, const stencil_batch *batch,
                                 const stencil_schedule *schedule, double *time_s);

/* State of a run: run.c makes its steps, cells.c has its cells, solver/attribution/ makes batches beside it.
 * Internal to solver/. */
#pragma once

#include "solver/run/run.h"
#include "solver/run/strategy.h"

/* CPU or GPUs that make the steps of a plan, with cells in arrays of their own or of an earlier side. */
typedef struct side {
    const stencil_plan *plan;
    stencil_cpu *cpu;
    stencil_gpu_run *gpu; /* one of them is NULL */
} side;

struct stencil_run {
    const stencil_problem *problem;
    const stencil_plan *plan;
    const stencil_strategy *strategy;
    stencil_report *report; /* while it is driven */
    stencil_observers observers;
    stencil_observer between;        /* polls them for strategies where cycles are not to be left */
    stencil_observers own;           /* that one alone */
    const stencil_observers *polled; /* by strategies: those of the caller, or `own` */
    stencil_outcome outcome;         /* of the batch that was last made */
    stencil_schedule schedule;
    double source_norm;
    int exponent;          /* the parts have the cells times 2^exponent, see stencil_norm_exponent() */
    stencil_problem plain; /* the last stretch of an accelerated problem: its steps at omega = 1 */
    stencil_step_weights plain_step[2];
    int64_t window;     /* of stagnation, steps */
    int64_t steps;      /* that the cells have behind them */
    int from;           /* the buffer that they are in */
    double last_omega;  /* of checked steps, but for the first one */
    int64_t turn_first; /* see stencil_turn_first() */
    bool accelerated;   /* the problem's cycles are not to be left */
    bool keeps;         /* cycles take longer than who wants the end can wait: their first cells are kept */
    stencil_field kept;
    int64_t kept_steps; /* that those have behind them; -1: there are none */
    double kept_s;      /* clock: since when they are there */
    double asked_s;     /* clock: since when somebody wants the end; 0: nobody does */
    double read_s, prepare_s;
    stencil_cpu *cpu;
    stencil_gpu_run *gpu; /* the side that makes the steps; the other one is NULL */
    side side[STENCIL_SIDES_MAX];
    int sides; /* that there are, in the order in which they were made */
};

/* Gives the parts their cells of u, before or between steps. */
stencil_status stencil_run_load_u(stencil_run *r, const stencil_reader *from);

/* Makes the side that has another problem on the same cells, which the plan suits as well, and uses both;
 * then goes back to the side and the problem before and closes that one. */
stencil_status stencil_run_side_open(stencil_run *r, const stencil_problem *problem, side *before);
void stencil_run_side_close(stencil_run *r, const stencil_problem *problem, const side *before);

/* Makes a batch and nothing else; the outcome is the run's. *time_s: of its steps; on a GPU by the events
 * around them. */
stencil_status stencil_run_batch(stencil_run *run, const stencil_batch *batch,
                                 const stencil_schedule *schedule, double *time_s);

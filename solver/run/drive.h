/* State of a run, shared by run.c (steps), cells.c (cells) and solver/attribution/ (timed batches after the
 * run). Internal to solver/. */
#pragma once

#include "solver/run/run.h"
#include "solver/run/strategy.h"

/* CPU or GPUs that make the steps of one plan, with cell arrays of their own or borrowed from an earlier
 * side. */
typedef struct side {
    const stencil_plan *plan;
    stencil_cpu *cpu;
    stencil_gpu_run *gpu; /* on the CPU `cpu` is set, on GPUs `gpu`; the other pointer is NULL */
} side;

struct stencil_run {
    const stencil_problem *problem;
    const stencil_plan *plan;
    const stencil_strategy *strategy;
    stencil_report *report; /* report being filled; set during stencil_run_drive() only */
    stencil_observers observers;
    stencil_observer between; /* observer that polls the caller's observers for time loops which must not end
                                 within a cycle */
    stencil_observers own;    /* list that holds `between` only */
    const stencil_observers *polled; /* observers that time loops poll: the caller's or `own` */
    stencil_outcome outcome;         /* outcome of the last batch */
    stencil_schedule schedule;
    double source_norm;
    int exponent;          /* the parts store the cells times 2^exponent, see stencil_norm_exponent() */
    stencil_problem plain; /* problem of the final plain steps (omega = 1) of an accelerated problem */
    stencil_step_weights plain_step[2];
    int64_t window;     /* steps in a window of stagnation */
    int64_t steps;      /* number of steps that the cells have gone through */
    int from;           /* index of the buffer that holds the current cells */
    double last_omega;  /* omega of all checked steps except the first step */
    int64_t turn_first; /* see stencil_turn_first() */
    bool accelerated;   /* the problem has cycles of steps, within which a run must not end */
    bool keeps; /* cycles take long, so the cells at the beginning of each cycle are kept to allow a quick
                   interruption */
    stencil_field kept;
    int64_t kept_steps; /* number of steps that the kept cells have gone through; -1: no cells are kept */
    double kept_s;      /* clock when the kept cells were stored */
    double asked_s;     /* clock when an observer first asked the run to end; 0: none has */
    double read_s, prepare_s;
    stencil_cpu *cpu;
    stencil_gpu_run *gpu; /* on the CPU `cpu` is set, on GPUs `gpu`; the other pointer is NULL */
    side side[STENCIL_SIDES_MAX];
    int sides; /* number of entries in `side`, in order of creation */
};

/* Loads the parts' cells of u from a reader, before or between steps. */
stencil_status stencil_run_load_u(stencil_run *r, const stencil_reader *from);

/* open: creates a side for another problem on the same cells with the current plan, and makes the run use
 * both; *before gets the previous side. close: destroys that side and makes the run use *before and `problem`
 * again. */
stencil_status stencil_run_side_open(stencil_run *r, const stencil_problem *problem, side *before);
void stencil_run_side_close(stencil_run *r, const stencil_problem *problem, const side *before);

/* Makes one batch without updating the report; the outcome is run->outcome. *time_s: seconds that its steps
 * took; on GPUs measured by events. */
stencil_status stencil_run_batch(stencil_run *run, const stencil_batch *batch,
                                 const stencil_schedule *schedule, double *time_s);

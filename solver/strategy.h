/* A strategy is a time loop: how the steps of a run follow each other. One C file each in strategies/, ending
 * in a table of functions; strategies.def lists them. Persistent loops share strategies/persistent.c and are
 * named after their barrier. Internal to solver/. */
#ifndef STENCIL_SOLVER_STRATEGY_H
#define STENCIL_SOLVER_STRATEGY_H

#include "solver/cpu.h"
#include "solver/gpu.h"
#include "solver/run.h"

/* Name and summary stand in the .def files. */
typedef struct stencil_strategy {
    stencil_barrier_id barrier; /* of the kernel that it runs */
    bool cooperative;           /* all blocks of a launch must be resident at once */
    bool spans;                 /* runs on several parts */
    bool copies;                /* can copy halos between steps, and overlap that */
    /* Run to the stop; fill steps, reason and history of the report. NULL: does not apply. */
    stencil_status (*run_cpu)(stencil_cpu *cpu, const stencil_watch *watch, stencil_report *report);
    stencil_status (*run_gpu)(stencil_gpu_team *team, const stencil_watch *watch, stencil_report *report);
    stencil_status (*after_step)(stencil_gpu_run *gpu); /* what the host does after each launch, or NULL */
} stencil_strategy;

/* Strategy at an index of stencil_strategy_count(); index of a name, or -1. */
const stencil_strategy *stencil_strategy_row(int index);
int stencil_strategy_index(const char *name);

/* The persistent loop, the same for every barrier. */
stencil_status stencil_persistent_cpu(stencil_cpu *cpu, const stencil_watch *watch, stencil_report *report);
stencil_status stencil_persistent_gpu(stencil_gpu_team *team, const stencil_watch *watch,
                                      stencil_report *report);

/* Loops driven by the host: a launch, or a parallel loop, per step. */
stencil_status stencil_host_loop_cpu(stencil_cpu *cpu, const stencil_watch *watch, stencil_report *report);
stencil_status stencil_host_loop_gpu(stencil_gpu_team *team, const stencil_watch *watch,
                                     stencil_report *report);

/* After the steps up to `step` were queued by the calling thread: looks at the residual where it is time to
 * (waiting for all parts), passes messages on, decides. */
stencil_status stencil_host_loop_look(stencil_gpu_team *team, const stencil_watch *watch, int64_t step,
                                      stencil_report *report);

/* The same for a CPU, once the residual (NaN: not looked at) of step `step` is known. */
stencil_status stencil_host_loop_note(const stencil_schedule *schedule, const stencil_watch *watch,
                                      int64_t step, double residual, double *last_residual,
                                      stencil_report *report);

/* What a residual means for the run: STENCIL_REASON_NONE to go on. */
stencil_reason stencil_decide(const stencil_schedule *schedule, int64_t step, double residual);

#endif

/* A strategy is a time loop: how the steps of a run follow each other. One C file each in strategies/, ending
 * in a table of functions; strategies.def lists them. Persistent loops share strategies/persistent.c and are
 * named after their barrier. Internal to solver/. */
#ifndef STENCIL_SOLVER_STRATEGY_H
#define STENCIL_SOLVER_STRATEGY_H

#include "solver/cpu.h"
#include "solver/gpu.h"
#include "solver/run.h"

/* Steps that a loop is asked for at once: first + 1 … first + count. Which of them are checked: the
 * schedule. */
typedef struct stencil_batch {
    int64_t first, count;
} stencil_batch;

/* Name and summary stand in the .def files. */
typedef struct stencil_strategy {
    stencil_barrier_id barrier; /* of the kernel that it runs */
    bool cooperative;           /* all blocks of a launch must be resident at once */
    bool spans;                 /* runs on several parts */
    bool copies;                /* can copy halos between steps, and overlap that */
    /* Make the steps of a batch, or fewer where a check or the user ends the run; fill steps, history and
     * reason (NONE: go on) of the report, and record the events begin and end of each part. The driver calls
     * them once for each batch, and keeps the schedule of cpu or team up to date. NULL: does not apply. */
    stencil_status (*batch_cpu)(stencil_cpu *cpu, const stencil_batch *batch, const stencil_watch *watch,
                                stencil_report *report);
    stencil_status (*batch_gpu)(stencil_gpu_team *team, const stencil_batch *batch,
                                const stencil_watch *watch, stencil_report *report);
    /* What lasts from batch to batch, in team->loop; or NULL. close is NULL-safe. */
    stencil_status (*open_gpu)(stencil_gpu_team *team);
    void (*close_gpu)(stencil_gpu_team *team);
    stencil_status (*after_step)(stencil_gpu_run *gpu); /* what the host does after each launch, or NULL */
} stencil_strategy;

/* Strategy at an index of stencil_strategy_count(); index of a name, or -1. */
const stencil_strategy *stencil_strategy_row(int index);
int stencil_strategy_index(const char *name);

/* The persistent loop, the same for every barrier. */
stencil_status stencil_persistent_cpu(stencil_cpu *cpu, const stencil_batch *batch,
                                      const stencil_watch *watch, stencil_report *report);
stencil_status stencil_persistent_gpu(stencil_gpu_team *team, const stencil_batch *batch,
                                      const stencil_watch *watch, stencil_report *report);

/* Loops driven by the host: a launch, or a parallel loop, per step. */
stencil_status stencil_host_loop_cpu(stencil_cpu *cpu, const stencil_batch *batch, const stencil_watch *watch,
                                     stencil_report *report);
stencil_status stencil_host_loop_gpu(stencil_gpu_team *team, const stencil_batch *batch,
                                     const stencil_watch *watch, stencil_report *report);

/* After the steps up to `step` were queued by the calling thread: checks the residual where it is time to
 * (waiting for all parts), passes messages on, decides. */
stencil_status stencil_host_loop_look(stencil_gpu_team *team, const stencil_watch *watch, int64_t step,
                                      stencil_report *report);

/* The same for a CPU, once the residual (NaN: not checked) of step `step` is known. */
stencil_status stencil_host_loop_note(const stencil_schedule *schedule, const stencil_watch *watch,
                                      int64_t step, double residual, double *last_residual,
                                      stencil_report *report);

#endif

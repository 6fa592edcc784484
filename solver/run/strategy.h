/* A strategy is a time loop: how the steps of a run follow each other. Each ends in a table of functions in a
 * file of strategies/; strategies.def lists them. Persistent loops share strategies/persistent.c and are
 * named after their barrier. Internal to solver/. */
#pragma once

#include "solver/device/cpu.h"
#include "solver/device/gpu.h"
#include "solver/plan/plan.h"

/* What became of a batch. */
typedef struct stencil_outcome {
    int64_t steps;         /* made */
    stencil_reason reason; /* NONE: go on */
    int64_t checks;
    double *residual; /* [STENCIL_CHECKS_MAX], the driver's: of the steps checked, in their order */
} stencil_outcome;

/* Asks the observers, after `step` steps; `residual` is the last one known, or NaN. false: somebody wants the
 * run to end. */
bool stencil_batch_poll(const stencil_batch *batch, int64_t step, double residual);

/* What a loop is beside its row of stencil_strategy_at(), which leads here. */
typedef struct stencil_strategy {
    /* Make the steps of a batch, or fewer where a check or an observer ends the run; fill the outcome, and
     * record the events begin and end of each part. The driver calls them once for each batch, and keeps the
     * schedule of cpu or run up to date. NULL: the loop driven by the host. */
    stencil_status (*batch_cpu)(stencil_cpu *cpu, const stencil_batch *batch, stencil_outcome *outcome);
    stencil_status (*batch_gpu)(stencil_gpu_run *run, const stencil_batch *batch, stencil_outcome *outcome);
    stencil_gpu_queue *queue_gpu; /* what that does in a step */
    /* The same of the pass behind one that is checked, while the host waits for the residual, which may end
     * the run: one pass, or none, with 0 steps. Of one part. NULL: nothing is queued there. */
    stencil_gpu_queue *queue_ahead;
    int replayed; /* passes that it queues at once as open_gpu has captured them: from step 0 or 1 on, that of
                     the buffer that they begin with; 0: none */
    /* What lasts from batch to batch, in run->loop; or NULL. close is NULL-safe. */
    stencil_status (*open_gpu)(stencil_gpu_run *run);
    void (*close_gpu)(stencil_gpu_run *run);
} stencil_strategy;

/* What a run consists of, for batches on the side; all borrowed. */
typedef struct stencil_run_sides {
    const stencil_problem *problem;
    const stencil_plan *plan;
    const stencil_strategy *strategy;
    const stencil_schedule *schedule;
    const stencil_outcome *outcome; /* of the last batch */
    stencil_cpu *cpu;
    stencil_gpu_run *gpu; /* the side that makes the steps; the other one is NULL */
    int64_t steps;        /* that the cells have behind them */
} stencil_run_sides;
stencil_run_sides stencil_run_sides_of(const stencil_run *run);

/* Makes a batch and nothing else. *time_s: of its steps; on a GPU by the events around them. */
stencil_status stencil_run_batch(stencil_run *run, const stencil_batch *batch,
                                 const stencil_schedule *schedule, double *time_s);

/* The persistent loop, the same for every barrier. */
extern const stencil_strategy stencil_strategy_persistent;
stencil_status stencil_persistent_cpu(stencil_cpu *cpu, const stencil_batch *batch, stencil_outcome *outcome);

/* Loops driven by the host: a launch, or a parallel loop, per step. */
stencil_status stencil_host_loop_cpu(stencil_cpu *cpu, const stencil_batch *batch, stencil_outcome *outcome);
stencil_status stencil_host_loop_gpu(stencil_gpu_run *run, const stencil_batch *batch,
                                     stencil_outcome *outcome);

/* The end of a step in which the host decides: keeps the residual where the step is checked, and polls where
 * it is time to. */
void stencil_host_loop_end(const stencil_schedule *schedule, const stencil_plan *plan,
                           const stencil_batch *batch, int64_t step, double residual,
                           stencil_outcome *outcome);

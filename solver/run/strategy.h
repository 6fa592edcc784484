/* A strategy is a time loop: how the steps of a run follow each other. Each ends in a table of functions in a
 * file of strategies/; strategies.def lists them. Persistent loops share strategies/persistent.c and are
 * named after their barrier. Internal to solver/. */
#pragma once

#include "solver/device/cpu.h"
#include "solver/device/gpu.h"
#include "solver/plan/memory.h"
#include "solver/run/observer.h"

/* Steps that a loop is asked for at once: first + 1 … first + count. Which of them are checked, and so in
 * which passes they are made: the schedule. */
typedef struct stencil_batch {
    int64_t first, count;
    const stencil_observers *observers; /* polled every so many steps as the plan says */
    int from;                           /* the buffer that the cells are in */
} stencil_batch;

/* Its first pass. */
static inline stencil_pass stencil_batch_pass(const stencil_batch *batch, const stencil_schedule *schedule,
                                              int depth) {
    const stencil_pass before = {batch->first, 0, !batch->from};
    return stencil_pass_next(&before, schedule, depth, batch->first + batch->count);
}

/* The buffer that they are in when so many of its steps are made. */
static inline int stencil_batch_end(const stencil_batch *batch, const stencil_schedule *schedule, int depth,
                                    int64_t steps) {
    return batch->from ^ (int)(stencil_pass_count(schedule, depth, batch->first, batch->first + steps) % 2);
}

/* Queues a pass of a batch, or several of which *pass becomes the last one. */
typedef stencil_status stencil_gpu_queue(stencil_gpu_run *run, const stencil_batch *batch,
                                         stencil_pass *pass);

/* Outcome of a batch. */
typedef struct stencil_outcome {
    int64_t steps;         /* made */
    stencil_reason reason; /* NONE: go on */
    int64_t checks;
    double *residual; /* [STENCIL_CHECKS_MAX], the driver's: of the steps checked, in their order */
} stencil_outcome;

/* Implementation of a time loop, beside its row of stencil_strategy_at(). */
typedef struct stencil_strategy {
    /* Make the steps of a batch, or fewer where a check or an observer ends the run; fill the outcome, and
     * record the events begin and end of each part. The driver calls them once for each batch, and keeps the
     * schedule of cpu or run up to date. NULL: the loop driven by the host. */
    stencil_status (*batch_gpu)(stencil_gpu_run *run, const stencil_batch *batch, stencil_outcome *outcome);
    stencil_gpu_queue *queue_gpu; /* what a loop driven by the host does in a step */
    /* Queues the pass behind one that is checked, while the host waits for the residual, which may end the
     * run: one pass, or none, with 0 steps. Of one part. NULL: nothing is queued there. */
    stencil_gpu_queue *queue_ahead;
    int replayed; /* passes that it queues at once as open_gpu has captured them: from step 0 or 1 on, that of
                     the buffer that they begin with; 0: none */
    /* Make and free what lasts from batch to batch, in run->loop; or NULL. close_gpu is NULL-safe. */
    stencil_status (*open_gpu)(stencil_gpu_run *run);
    void (*close_gpu)(stencil_gpu_run *run);
} stencil_strategy;
/* Returns the loop of stencil_strategy_at(index). */
const stencil_strategy *stencil_strategy_loop(int index);

/* Makes all steps by one team of threads of a CPU, with the barrier of the plan between them. */
stencil_status stencil_team_cpu(stencil_cpu *cpu, const stencil_batch *batch, stencil_outcome *outcome);

/* Loops driven by the host: a launch, or a parallel loop, per step. */
stencil_status stencil_host_loop_cpu(stencil_cpu *cpu, const stencil_batch *batch, stencil_outcome *outcome);
stencil_status stencil_host_loop_gpu(stencil_gpu_run *run, const stencil_batch *batch,
                                     stencil_outcome *outcome);

/* The end of a step in which the host decides: keeps the residual where the step is checked, and polls where
 * it is time to. */
void stencil_host_loop_end(const stencil_schedule *schedule, const stencil_plan *plan,
                           const stencil_batch *batch, int64_t step, double residual,
                           stencil_outcome *outcome);

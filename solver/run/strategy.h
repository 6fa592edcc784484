/* A strategy is a time loop, which orders the steps of a run: a table of functions in a file of strategies/.
 * strategies.def lists all but the persistent loops, which are named after barriers. Internal. */
#pragma once

#include "solver/device/cpu.h"
#include "solver/device/gpu.h"
#include "solver/plan/memory.h"
#include "solver/run/observer.h"

/* Steps first + 1 … first + count, requested from a time loop in one call. The schedule determines which of
 * them are checked, and so how they are grouped into passes. */
typedef struct stencil_batch {
    int64_t first, count;
    const stencil_observers *observers; /* polled at the intervals of the plan (poll_every) */
    int from;                           /* index of the buffer that holds the cells before the batch */
} stencil_batch;

/* Returns the first pass of a batch. */
static inline stencil_pass stencil_batch_pass(const stencil_batch *batch, const stencil_schedule *schedule,
                                              int depth) {
    const stencil_pass before = {batch->first, 0, !batch->from};
    return stencil_pass_next(&before, schedule, depth, batch->first + batch->count);
}

/* Returns the index of the buffer that holds the cells after the first `steps` steps of a batch. Each pass
 * goes from one buffer to the other; where the field stays on chip, so does each launch: one up to a checked
 * step, and one of that step, or a single one for the whole batch if it checks inside. */
static inline int stencil_batch_end(const stencil_plan *plan, const stencil_batch *batch,
                                    const stencil_schedule *schedule, int64_t steps) {
    const bool on_chip = plan->layout.kind == STENCIL_PASS_ON_CHIP;
    if (stencil_plan_checks_inside(plan))
        return batch->from ^ (steps > 0);
    return batch->from ^ (int)(stencil_pass_count(schedule, on_chip ? INT32_MAX : plan->depth, batch->first,
                                                  batch->first + steps) %
                               2);
}

/* Queues *pass of a batch, or several passes, and then sets *pass to the last pass queued. */
typedef stencil_status stencil_gpu_queue(stencil_gpu_run *run, const stencil_batch *batch,
                                         stencil_pass *pass);

/* Outcome of a batch of steps. */
typedef struct stencil_outcome {
    int64_t steps;         /* number of steps made */
    stencil_reason reason; /* NONE: the run continues */
    int64_t checks;
    double *residual; /* [STENCIL_CHECKS_MAX], borrowed: residuals of the checked steps in order */
} stencil_outcome;

/* Functions of a time loop; stencil_strategy_at() has its properties. */
typedef struct stencil_strategy {
    /* Makes the steps of a batch, or fewer if a check or an observer ends the run; fills in the outcome, and
     * records the events `begin` and `end` of each part. NULL: stencil_host_loop_gpu() is used. */
    stencil_status (*batch_gpu)(stencil_gpu_run *run, const stencil_batch *batch, stencil_outcome *outcome);
    stencil_gpu_queue *queue_gpu; /* called by stencil_host_loop_gpu() to queue a pass */
    /* Queues what follows a checked pass while the host waits for the residual, which may end the run, as
     * queue_gpu does, or nothing (sets pass->steps to 0). Launches of several passes must look at
     * args.undecided. For runs of one part only. NULL: nothing is queued. */
    stencil_gpu_queue *queue_ahead;
    int replayed; /* passes in each graph of open_gpu, which has one to start from each buffer; 0: none */
    /* Allocate and free run->loop, which lasts from batch to batch and may be NULL; or NULL. */
    stencil_status (*open_gpu)(stencil_gpu_run *run);
    void (*close_gpu)(stencil_gpu_run *run);
} stencil_strategy;
/* Returns the time loop of stencil_strategy_at(index). */
const stencil_strategy *stencil_strategy_loop(int index);

/* Time loop in which one team of CPU threads makes all steps, with the barrier of the plan between them. */
stencil_status stencil_team_cpu(stencil_cpu *cpu, const stencil_batch *batch, stencil_outcome *outcome);

/* Time loops driven by the host: on a GPU a launch per step, on the CPU a parallel loop per step. */
stencil_status stencil_host_loop_cpu(stencil_cpu *cpu, const stencil_batch *batch, stencil_outcome *outcome);
stencil_status stencil_host_loop_gpu(stencil_gpu_run *run, const stencil_batch *batch,
                                     stencil_outcome *outcome);

/* Ends a pass that the host leads: stores a checked residual, polls if due, sets outcome->reason, and the
 * steps of the outcome: those up to the end of the pass or, if its check ends the run, up to the check. */
void stencil_host_loop_end(const stencil_schedule *schedule, const stencil_plan *plan,
                           const stencil_batch *batch, const stencil_pass *pass, double residual,
                           stencil_outcome *outcome);

/* Returns the pass to make again, from the buffer that it began with, where the check of a step before its
 * last one has ended the run: its steps up to that one. Steps 0: there is none. */
static inline stencil_pass stencil_pass_again(const stencil_pass *pass, const stencil_batch *batch,
                                              const stencil_outcome *outcome) {
    const int64_t steps = batch->first + outcome->steps - pass->first;
    return (stencil_pass){pass->first, steps < pass->steps ? (int32_t)steps : 0, pass->from};
}

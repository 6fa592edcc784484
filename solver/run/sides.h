/* Batches beside those of the driver. Internal to solver/. */
#pragma once

#include "solver/run/run.h"
#include "solver/run/strategy.h"

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

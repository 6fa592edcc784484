/* Declarations that the host files of the pipeline sweep share: GPUs in 2D and 3D, and CPU. */
#pragma once

#include "kernels/sweeps/pipeline.h"
#include "solver/plan/sweep.h"

extern const stencil_maker pipeline_cpu_2d, pipeline_cpu_3d, pipeline_3d;

/* stencil_maker.enter of the pipeline sweep in 2D and 3D. */
static inline void pipeline_enter(stencil_plan *plan) {
    stencil_kernel_deepen(&plan->kernel, plan->variant->general, plan->barrier != STENCIL_BARRIER_none);
}

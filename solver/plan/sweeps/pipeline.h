/* Declarations that the host files of the pipeline sweep share: GPUs in 2D and 3D, and CPU. */
#pragma once

#include "kernels/sweeps/pipeline.h"
#include "solver/plan/sweep.h"

extern const stencil_maker pipeline_cpu_2d, pipeline_cpu_3d;
extern const stencil_sweep_table pipeline_3d;

/* Abilities of the pipeline sweep's passes in 2D and 3D: of plain kernels, of general kernels, and on a CPU.
 */
enum {
    PIPELINE_CAN = STENCIL_CAN_PASSES | STENCIL_CAN(GPU) | STENCIL_CAN(LAUNCHES),
    PIPELINE_CAN_GENERAL = PIPELINE_CAN | STENCIL_CAN_GENERAL,
    PIPELINE_CAN_CPU = STENCIL_CAN_PASSES | STENCIL_CAN_GENERAL | STENCIL_CAN(CPU) | STENCIL_CAN(LAUNCHES) |
                       STENCIL_CAN(LOOP) | STENCIL_CAN(SHORT_MIRROR)
};

/* stencil_maker.enter of the pipeline sweep in 2D and 3D. */
static inline void pipeline_enter(stencil_plan *plan) {
    stencil_kernel_deepen(&plan->kernel, plan->variant->general, plan->barrier != STENCIL_BARRIER_none);
}

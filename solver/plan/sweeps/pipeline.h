/* The pipeline sweep on GPUs in 2D and 3D, and on a CPU: what the files of its host share. */
#pragma once

#include "kernels/sweeps/pipeline.h"
#include "solver/plan/sweep.h"

extern const stencil_maker pipeline_cpu_2d, pipeline_cpu_3d;
extern const stencil_sweep_table pipeline_3d;

/* The abilities of passes in either rank: of plain kernels, of general ones, and of a CPU. */
enum {
    PIPELINE_CAN = STENCIL_CAN_PASSES | STENCIL_CAN(GPU) | STENCIL_CAN(LAUNCHES),
    PIPELINE_CAN_GENERAL = PIPELINE_CAN | STENCIL_CAN_GENERAL,
    PIPELINE_CAN_CPU = STENCIL_CAN_PASSES | STENCIL_CAN_GENERAL | STENCIL_CAN(CPU) | STENCIL_CAN(LAUNCHES) |
                       STENCIL_CAN(LOOP) | STENCIL_CAN(SHORT_MIRROR)
};

/* `enter` of both ranks. */
static inline void pipeline_enter(stencil_plan *plan) {
    stencil_kernel_deepen(&plan->kernel, plan->variant->general, plan->barrier != STENCIL_BARRIER_none);
}

/* For tests: what a machine says of kernels that nobody has compiled here. */
#pragma once

#include "solver/plan/plan.h"

/* Launches of a sweep, of all point sets in both precisions. */
static inline void add_kernels(stencil_machine *machine, stencil_sweep_id sweep) {
    for (int shape = 0; shape < STENCIL_SHAPE_COUNT; shape++)
        for (int precision = 0; precision < STENCIL_PRECISION_COUNT; precision++)
            machine->kernel[machine->kernel_count++] =
                (stencil_kernel_attributes){.kernel = {.shape = (stencil_shape_id)shape,
                                                       .precision = (stencil_precision)precision,
                                                       .sweep = sweep,
                                                       .cells = 4,
                                                       .block_x = 128,
                                                       .blocks = 4},
                                            .image = true,
                                            .registers = 64,
                                            .blocks_per_sm = 4};
}

/* Kernels that finish a check of a time loop that the host drives: the residual's first reduction level, and
 * where one part has all cells its further levels and the decision. */
#include "kernels/address.cuh"
#include "kernels/residual.cuh"
#include "kernels/table.h"

static __global__ void __launch_bounds__(stencil::block_threads)
    combine(const __grid_constant__ stencil_kernel_args s) {
    for (int64_t g = s.result_first + blockIdx.x; g < s.result_end; g += gridDim.x) {
        const double value =
            stencil::combine_values(stencil::read_partials{s, 0}, s.domain.partial_count, g, s.schedule.norm);
        if (threadIdx.x + threadIdx.y == 0)
            s.level[g] = value;
    }
}

static __global__ void __launch_bounds__(stencil::block_threads)
    judge(const __grid_constant__ stencil_kernel_args s) {
    const stencil_norm norm = s.schedule.norm;
    const int64_t groups = stencil_level_count(s.domain.partial_count);
    stencil_level level = stencil_level_first(s.level, groups, s.level + groups);
    for (; level.count > STENCIL_COMBINE_VALUES; level = stencil_level_next(&level)) {
        for (int64_t g = 0; g < level.results; g++) {
            const double value =
                stencil::combine_values(stencil::read_values{level.from}, level.count, g, norm);
            if (threadIdx.x + threadIdx.y == 0)
                level.to[g] = value;
        }
        __syncthreads();
    }
    const double last = level.count > 1
                            ? stencil::combine_values(stencil::read_values{level.from}, level.count, 0, norm)
                            : level.from[0],
                 residual = stencil_residual_finish(last, s.schedule.updated_cells, norm);
    if (threadIdx.x + threadIdx.y == 0) {
        s.control->reason = stencil_schedule_decide(&s.schedule, residual);
        s.mailbox->residual = residual;
    }
}

static __global__ void __launch_bounds__(stencil::block_threads)
    combine_groups(const __grid_constant__ stencil_group_sums s) {
    for (int64_t g = blockIdx.x; g < s.groups; g += gridDim.x) {
        if (s.first[g] < 0)
            continue;
        const double value =
            stencil::combine_values(stencil::read_values{s.value + s.first[g]}, s.count[g], 0, s.norm);
        if (threadIdx.x + threadIdx.y == 0)
            s.to[g] = value;
    }
}

extern "C" const void *stencil_groups_kernel(void) {
    return stencil::kernel_address(&combine_groups);
}
extern "C" const void *stencil_judge_kernel(void) {
    return stencil::kernel_address(&judge);
}
extern "C" const void *stencil_combine_kernel(void) {
    return stencil::kernel_address(&combine);
}

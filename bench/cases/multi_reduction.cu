/* The kernels of case multi-reduction: a phase, and all of them under the two barriers that it runs by. */
#include "bench/cases/kernels.cuh"
#include "bench/cases/multi_reduction.cuh"

STENCIL_CASE_TYPE(multi_reduction)

static stencil_case_kernels kernels_by_two_barriers() {
    stencil_case_kernels kernels = {STENCIL_CASE_KERNEL(case_phase<multi_reduction_case>), {}};
    kernels.persistent[STENCIL_BARRIER_multi_grid] =
        STENCIL_CASE_KERNEL(case_persistent<multi_reduction_case, stencil::multi_grid_barrier>);
    kernels.persistent[STENCIL_BARRIER_neighbor] =
        STENCIL_CASE_KERNEL(case_persistent<multi_reduction_case, stencil::neighbor_barrier>);
    return kernels;
}
extern "C" const stencil_case_kernels stencil_case_kernels_multi_reduction = kernels_by_two_barriers();

/* The ceilings of cases reduction and bitonic: CUB's reduction and radix sort. */
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>

#include "bench/cases/bitonic.cuh"
#include "bench/cases/ceiling.h"
#include "bench/cases/reduction.cuh"

static stencil_status add(const stencil_case_ceiling *c, void *memory, size_t *bytes) {
    const reduction_arguments *r = static_cast<const reduction_arguments *>(c->arguments);
    TRY_CUDA(cub::DeviceReduce::Sum(memory, *bytes, reinterpret_cast<const double *>(r->values), r->sum,
                                    c->problem->n, c->stream));
    return STENCIL_OK;
}

stencil_status stencil_case_ceiling_reduction(stencil_bench *, stencil_case_ceiling *c, char[96]) {
    c->name = "CUB, DeviceReduce";
    c->bytes = c->problem->bytes;
    c->queue = add;
    return STENCIL_OK;
}

static stencil_status sort(const stencil_case_ceiling *c, void *memory, size_t *bytes) {
    const bitonic_arguments *s = static_cast<const bitonic_arguments *>(c->arguments);
    TRY_CUDA(
        cub::DeviceRadixSort::SortKeys(memory, *bytes, s->input, s->keys, c->problem->n, 0, 32, c->stream));
    return STENCIL_OK;
}

stencil_status stencil_case_ceiling_bitonic(stencil_bench *, stencil_case_ceiling *c, char[96]) {
    c->name = "CUB, DeviceRadixSort";
    c->queue = sort;
    return STENCIL_OK;
}

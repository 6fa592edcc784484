#include <cub/device/device_radix_sort.cuh>

#include "bench/cases/bitonic.cuh"
#include "bench/cases/ceiling.h"

static stencil_status queue(const stencil_case_ceiling *c, void *memory, size_t *bytes) {
    const bitonic_arguments *s = static_cast<const bitonic_arguments *>(c->arguments);
    TRY_CUDA(
        cub::DeviceRadixSort::SortKeys(memory, *bytes, s->input, s->keys, c->problem->n, 0, 32, c->stream));
    return STENCIL_OK;
}

stencil_status stencil_case_ceiling_bitonic(stencil_bench *, stencil_case_ceiling *c, char[96]) {
    c->name = "CUB, DeviceRadixSort";
    c->queue = queue;
    return STENCIL_OK;
}

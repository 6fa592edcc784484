#include <cub/device/device_radix_sort.cuh>

#include "bench/cases/bitonic.cuh"
#include "bench/cases/ceiling.h"

/* Without memory: says how much it needs. */
static stencil_status queue(const stencil_case_ceiling *c, void *memory, size_t *bytes) {
    const bitonic_arguments *s = static_cast<const bitonic_arguments *>(c->arguments);
    TRY_CUDA(
        cub::DeviceRadixSort::SortKeys(memory, *bytes, s->input, s->keys, c->problem->n, 0, 32, c->stream));
    return STENCIL_OK;
}

static stencil_status run(const stencil_case_ceiling *c) {
    size_t bytes = c->state_bytes;
    return queue(c, c->state, &bytes);
}

stencil_status stencil_case_ceiling_bitonic(stencil_bench *b, stencil_case_ceiling *c, char[96]) {
    c->name = "CUB, DeviceRadixSort";
    c->run = run;
    TRY(queue(c, nullptr, &c->state_bytes));
    return stencil_device_memory(b, &c->state, c->state_bytes);
}

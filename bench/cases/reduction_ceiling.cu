#include <cub/device/device_reduce.cuh>

#include "bench/cases/ceiling.h"
#include "bench/cases/reduction.cuh"

/* Without memory: says how much it needs. */
static stencil_status queue(const stencil_case_ceiling *c, void *memory, size_t *bytes) {
    const reduction_arguments *r = static_cast<const reduction_arguments *>(c->arguments);
    TRY_CUDA(cub::DeviceReduce::Sum(memory, *bytes, reinterpret_cast<const double *>(r->values), r->sum,
                                    c->problem->n, c->stream));
    return STENCIL_OK;
}

static stencil_status run(const stencil_case_ceiling *c) {
    size_t bytes = c->state_bytes;
    return queue(c, c->state, &bytes);
}

stencil_status stencil_case_ceiling_reduction(stencil_bench *b, stencil_case_ceiling *c, char[96]) {
    c->name = "CUB, DeviceReduce";
    c->bytes = c->problem->bytes;
    c->run = run;
    TRY(queue(c, nullptr, &c->state_bytes));
    return stencil_device_memory(b, &c->state, c->state_bytes);
}

#include <cub/device/device_reduce.cuh>

#include "bench/cases/ceiling.h"
#include "bench/cases/reduction.cuh"

static stencil_status queue(const stencil_case_ceiling *c, void *memory, size_t *bytes) {
    const reduction_arguments *r = static_cast<const reduction_arguments *>(c->arguments);
    TRY_CUDA(cub::DeviceReduce::Sum(memory, *bytes, reinterpret_cast<const double *>(r->values), r->sum,
                                    c->problem->n, c->stream));
    return STENCIL_OK;
}

stencil_status stencil_case_ceiling_reduction(stencil_bench *, stencil_case_ceiling *c, char[96]) {
    c->name = "CUB, DeviceReduce";
    c->bytes = c->problem->bytes;
    c->queue = queue;
    return STENCIL_OK;
}

/* The ceilings of cases reduction and bitonic: CUB's reduction and radix sort. */
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>

#include "bench/cases/bitonic.cuh"
#include "bench/cases/loop.h"
#include "bench/cases/reduction.cuh"

namespace {

/* An operation of CUB: a function that enqueues the operation with *bytes of temporary memory or, when
 * `memory` is NULL, sets *bytes to the memory needed; and that memory. */
struct operation {
    stencil_status (*enqueue)(const stencil_case_loop *loop, void *memory, size_t *bytes);
    void *memory;
    size_t bytes;
};

stencil_status run(const stencil_case_loop *loop) {
    const operation *o = static_cast<const operation *>(loop->ceiling_state);
    size_t bytes = o->bytes;
    return o->enqueue(loop, o->memory, &bytes);
}

stencil_status create(stencil_bench *b, stencil_case_loop *loop, decltype(operation::enqueue) enqueue) {
    operation *o;
    TRY(stencil_bench_memory(b, &o, sizeof *o));
    o->enqueue = enqueue;
    loop->ceiling = run;
    loop->ceiling_state = o;
    TRY(enqueue(loop, nullptr, &o->bytes));
    return stencil_device_memory(b, &o->memory, o->bytes);
}

stencil_status add(const stencil_case_loop *loop, void *memory, size_t *bytes) {
    const reduction_arguments *r = reinterpret_cast<const reduction_arguments *>(loop->part);
    TRY_CUDA(cub::DeviceReduce::Sum(memory, *bytes, reinterpret_cast<const double *>(r->values), r->sum,
                                    loop->spread->problem->n, loop->spread->device[0]->stream));
    return STENCIL_OK;
}

stencil_status sort(const stencil_case_loop *loop, void *memory, size_t *bytes) {
    const bitonic_arguments *s = reinterpret_cast<const bitonic_arguments *>(loop->part);
    TRY_CUDA(cub::DeviceRadixSort::SortKeys(memory, *bytes, s->input, s->keys, loop->spread->problem->n, 0,
                                            32, loop->spread->device[0]->stream));
    return STENCIL_OK;
}

} // namespace

stencil_status stencil_case_ceiling_reduction(stencil_bench *b, stencil_case_loop *loop, char[96]) {
    loop->name = "CUB, DeviceReduce";
    return create(b, loop, add);
}

stencil_status stencil_case_ceiling_bitonic(stencil_bench *b, stencil_case_loop *loop, char[96]) {
    loop->name = "CUB, DeviceRadixSort";
    loop->bytes = 0;
    return create(b, loop, sort);
}

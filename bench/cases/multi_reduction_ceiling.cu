/* The ceiling of case multi-reduction: CUB on each GPU, then NCCL's all-reduce (none on a single GPU). One
 * host thread launches on all GPUs. */
#include <cub/device/device_reduce.cuh>
#include <stdio.h>

#include "base/symbols.h"
#include "bench/cases/multi_reduction.h"

#ifdef STENCIL_HAVE_NCCL
#include <nccl.h>

namespace {

/* The NCCL functions that the ceiling calls. */
struct library {
    decltype(&ncclCommInitAll) create;
    decltype(&ncclCommDestroy) destroy;
    decltype(&ncclGroupStart) begin;
    decltype(&ncclGroupEnd) end;
    decltype(&ncclAllReduce) reduce;
    decltype(&ncclGetErrorString) text;
};

struct ceiling {
    library nccl;
    ncclComm_t member[STENCIL_PARTS_MAX];
    void *memory[STENCIL_PARTS_MAX]; /* temporary memory of CUB */
    size_t bytes[STENCIL_PARTS_MAX];
};

#define TRY_NCCL(c, call)                                                                                    \
    do {                                                                                                     \
        const ncclResult_t result_ = (call);                                                                 \
        CHECK(result_ == ncclSuccess, INTERNAL, "NCCL: %s (%s)", (c)->nccl.text(result_), #call);            \
    } while (0)

void destroy(void *kept) {
    const ceiling *c = static_cast<ceiling *>(kept);
    for (ncclComm_t member : c->member)
        if (member != nullptr)
            c->nccl.destroy(member);
}

const reduction_arguments *part_of(const stencil_case_loop *loop, int part) {
    return reinterpret_cast<const reduction_arguments *>(&loop->part[part]);
}

/* Enqueues the sum of a part's values and padding zeros or, if `memory` is NULL, sets the bytes needed. */
stencil_status add(const stencil_case_loop *loop, int part, void *memory) {
    ceiling *c = static_cast<ceiling *>(loop->ceiling_state);
    const reduction_arguments *r = part_of(loop, part);
    TRY_CUDA(cub::DeviceReduce::Sum(memory, c->bytes[part], reinterpret_cast<const double *>(r->values),
                                    r->sum, 2 * r->own * r->piece_pairs, loop->spread->device[part]->stream));
    return STENCIL_OK;
}

stencil_status run(const stencil_case_loop *loop) {
    ceiling *c = static_cast<ceiling *>(loop->ceiling_state);
    const stencil_parts_spread *s = loop->spread;
    for (int p = 0; p < s->parts; p++) {
        TRY_CUDA(cudaSetDevice(s->device[p]->gpu));
        TRY(add(loop, p, c->memory[p]));
    }
    TRY_NCCL(c, c->nccl.begin());
    for (int p = 0; p < s->parts; p++) {
        double *sum = part_of(loop, p)->sum;
        TRY_NCCL(c, c->nccl.reduce(sum, sum, 1, ncclDouble, ncclSum, c->member[p], s->device[p]->stream));
    }
    TRY_NCCL(c, c->nccl.end());
    return STENCIL_OK;
}

} // namespace
#endif

stencil_status multi_reduction_ceiling_create(stencil_bench *b, stencil_case_loop *loop, char why[96]) {
#ifdef STENCIL_HAVE_NCCL
    const stencil_parts_spread *s = loop->spread;
    int gpu[STENCIL_PARTS_MAX];
    ceiling *c;
    TRY(stencil_bench_memory(b, &c, sizeof *c));
    loop->ceiling = run;
    loop->ceiling_state = c;
    const stencil_symbol symbols[] = {{"ncclCommInitAll", &c->nccl.create},
                                      {"ncclCommDestroy", &c->nccl.destroy},
                                      {"ncclGroupStart", &c->nccl.begin},
                                      {"ncclGroupEnd", &c->nccl.end},
                                      {"ncclAllReduce", &c->nccl.reduce},
                                      {"ncclGetErrorString", &c->nccl.text},
                                      {}};
    if (!stencil_symbols_load("libnccl.so.2", symbols, why))
        return STENCIL_OK;
    TRY(stencil_bench_keep(b, destroy, c));
    for (int p = s->parts - 1; p >= 0; p--) {
        gpu[p] = s->device[p]->gpu;
        TRY_CUDA(cudaSetDevice(gpu[p]));
        TRY(add(loop, p, nullptr));
        TRY(stencil_device_memory(b, &c->memory[p], c->bytes[p] > 0 ? c->bytes[p] : 1));
    }
    TRY_NCCL(c, c->nccl.create(c->member, s->parts, gpu));
#else
    (void)b, (void)loop;
    snprintf(why, 96, "built without NCCL");
#endif
    return STENCIL_OK;
}

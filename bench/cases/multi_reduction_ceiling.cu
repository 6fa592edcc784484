/* NCCL is loaded when it is needed: it is many times as large as this program, which also runs where there is
 * none. One thread of the host leads all GPUs. On one GPU there is nothing for NCCL to do. */
#include <cub/device/device_reduce.cuh>
#include <stdio.h>

#include "bench/cases/multi_reduction.h"

#ifdef STENCIL_HAVE_NCCL
#include <dlfcn.h>
#include <nccl.h>

namespace {

/* What is called of the library. */
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
    const multi_reduction_loop *loop;
    ncclComm_t member[STENCIL_PARTS_MAX];
    void *memory[STENCIL_PARTS_MAX]; /* CUB's */
    size_t bytes[STENCIL_PARTS_MAX];
};

#define TRY_NCCL(c, call)                                                                                    \
    do {                                                                                                     \
        const ncclResult_t result_ = (call);                                                                 \
        CHECK(result_ == ncclSuccess, INTERNAL, "NCCL: %s (%s)", (c)->nccl.text(result_), #call);            \
    } while (0)

template <class Function> bool find(void *from, const char *name, Function *function) {
    *function = reinterpret_cast<Function>(dlsym(from, name));
    return *function != nullptr;
}

bool load(library *nccl) {
    void *from = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    if (from == nullptr)
        from = dlopen("/usr/local/cuda/lib64/libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
    return from != nullptr && find(from, "ncclCommInitAll", &nccl->create) &&
           find(from, "ncclCommDestroy", &nccl->destroy) && find(from, "ncclGroupStart", &nccl->begin) &&
           find(from, "ncclGroupEnd", &nccl->end) && find(from, "ncclAllReduce", &nccl->reduce) &&
           find(from, "ncclGetErrorString", &nccl->text);
}

void destroy(void *kept) {
    const ceiling *c = static_cast<ceiling *>(kept);
    for (ncclComm_t member : c->member)
        if (member != nullptr)
            c->nccl.destroy(member);
}

/* The sum of a part's values, zeros behind the last one included. Without memory: says how much it needs. */
stencil_status add(ceiling *c, int part, void *memory) {
    const multi_reduction_arguments *m = &c->loop->part[part];
    const int64_t own = multi_reduction_first(m, part + 1) - multi_reduction_first(m, part);
    TRY_CUDA(cub::DeviceReduce::Sum(memory, c->bytes[part], reinterpret_cast<const double *>(m->of.values),
                                    m->of.sum, 2 * own * m->of.piece_pairs,
                                    c->loop->spread->gpus->device[part].stream));
    return STENCIL_OK;
}

} // namespace
#endif

stencil_status multi_reduction_ceiling_create(stencil_bench *b, const multi_reduction_loop *loop,
                                              void **state, char why[96]) {
#ifdef STENCIL_HAVE_NCCL
    const stencil_parts *parts = loop->spread->gpus;
    int gpu[STENCIL_PARTS_MAX];
    ceiling *c;
    TRY(stencil_bench_memory(b, &c, sizeof *c));
    *state = c;
    c->loop = loop;
    if (!load(&c->nccl)) {
        snprintf(why, 96, "there is no libnccl.so.2 here");
        return STENCIL_OK;
    }
    TRY(stencil_bench_keep(b, destroy, c));
    for (int p = parts->count - 1; p >= 0; p--) {
        gpu[p] = parts->device[p].gpu;
        TRY_CUDA(cudaSetDevice(gpu[p]));
        TRY(add(c, p, nullptr));
        TRY(stencil_parts_memory(b, parts, p, &c->memory[p], nullptr, c->bytes[p]));
    }
    TRY_NCCL(c, c->nccl.create(c->member, parts->count, gpu));
#else
    (void)b, (void)loop, (void)state;
    snprintf(why, 96, "built without NCCL");
#endif
    return STENCIL_OK;
}

stencil_status multi_reduction_ceiling_run(void *state) {
#ifdef STENCIL_HAVE_NCCL
    ceiling *c = static_cast<ceiling *>(state);
    const stencil_parts *parts = c->loop->spread->gpus;
    for (int p = 0; p < parts->count; p++) {
        TRY_CUDA(cudaSetDevice(parts->device[p].gpu));
        TRY(add(c, p, c->memory[p]));
    }
    TRY_NCCL(c, c->nccl.begin());
    for (int p = 0; p < parts->count; p++) {
        double *sum = c->loop->part[p].of.sum;
        TRY_NCCL(c, c->nccl.reduce(sum, sum, 1, ncclDouble, ncclSum, c->member[p], parts->device[p].stream));
    }
    TRY_NCCL(c, c->nccl.end());
    return stencil_parts_wait(parts);
#else
    (void)state;
    return STENCIL_OK;
#endif
}

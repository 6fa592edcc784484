/* Benchmark `partial` (000 section 8.2): states whether a barrier completes or deadlocks when only a part of
 * a warp, block, grid or set of GPUs synchronises and the rest exits. Each case runs in a child process. */
#include "bench/benchmarks/sm.cuh"
#include "bench/benchmarks/passes.cuh"
#include "sync/all.cuh"

/* Type of functions that tell whether the calling thread synchronises. */
using membership = bool(const stencil_barrier_state &);
static __device__ bool half_of_the_lanes(const stencil_barrier_state &) {
    return threadIdx.x % 32 < 16;
}
static __device__ bool half_of_the_warps(const stencil_barrier_state &) {
    return threadIdx.x < blockDim.x / 2;
}
static __device__ bool half_of_the_blocks(const stencil_barrier_state &) {
    return blockIdx.x < gridDim.x / 2;
}
static __device__ bool half_of_the_parts(const stencil_barrier_state &s) {
    return s.part < s.parts / 2;
}

/* Barriers under test. All threads construct a group before some of them exit. */
template <class Group> struct group_of {
    Group group;
    __device__ explicit group_of(const stencil_barrier_state &) {}
    __device__ void sync(int64_t) {
        group.sync();
    }
    __device__ void leave() {}
};

template <membership Synchronises, class Barrier>
static __global__ void __launch_bounds__(256) synchronise(const __grid_constant__ passes p) {
    Barrier barrier(p.state);
    if (Synchronises(p.state)) {
        barrier.sync(0);
        barrier.leave();
    }
    atomicAdd(p.count, 1u);
}

/* A kernel with argument `passes`, in which threads either synchronise or end their work. */
struct partial_kernel {
    const char *kind, *name;
    void (*kernel)(passes);
    unsigned threads;
    bool grid;                  /* a block on every multiprocessor; else a single block */
    stencil_barrier_id barrier; /* id in barriers.def; none: a barrier without a time limit */
};

static const partial_kernel kernels[] = {
    {"warp", "__syncwarp, half the lanes", synchronise<half_of_the_lanes, group_of<stencil::whole_warp>>, 32},
    {"warp", "tile, half the lanes", synchronise<half_of_the_lanes, group_of<stencil::tile<32>>>, 32},
    {"warp", "coalesced, half the lanes", synchronise<half_of_the_lanes, group_of<stencil::coalesced>>, 32},
    {"block", "__syncthreads, half the lanes", synchronise<half_of_the_lanes, group_of<stencil::whole_block>>,
     256},
    {"block", "__syncthreads, half the warps", synchronise<half_of_the_warps, group_of<stencil::whole_block>>,
     256},
    {"grid", "grid.sync, half the lanes", synchronise<half_of_the_lanes, library_barrier>, 256, true},
    {"grid", "grid.sync, half the warps", synchronise<half_of_the_warps, library_barrier>, 256, true},
    {"grid", "grid.sync, half the blocks", synchronise<half_of_the_blocks, library_barrier>, 256, true},
    {"with a time limit", "multi-grid, half the GPUs",
     synchronise<half_of_the_parts, stencil::multi_grid_barrier>, 256, true, STENCIL_BARRIER_multi_grid},
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    {"with a time limit",                                                                                    \
     name ", half the blocks",                                                                               \
     synchronise<half_of_the_blocks, stencil::id##_barrier>,                                                 \
     256,                                                                                                    \
     true,                                                                                                   \
     STENCIL_BARRIER_##id},
#include "sync/barriers.def"
#undef STENCIL_BARRIER
};

static const double limit_s = 1, child_limit_s = 40, timeout_s = 0.3;

/* States the outcome of a kernel. The barrier, whose state may be invalid if it gave up, is not restarted. */
static stencil_status state_kernel(stencil_bench *b, void *what) {
    const partial_kernel *k = static_cast<partial_kernel *>(what);
    const stencil_barrier_info *info = &stencil_barriers[k->barrier];
    passes_case c = {.barrier = {*info, {k->kernel}},
                     .gpus = info->needs == STENCIL_NEEDS_PEERS ? b->options->gpu_count : 1};
    const uint32_t least = (uint32_t)stencil_device_least(b, c.gpus).sm_count;
    bool ended = true, resident;
    uint32_t done = 0;
    c.grid = {.blocks = k->grid ? least : 1, .block_x = k->threads, .block_y = 1};
    TRY(passes_load(b, &c, 0, &resident));
    TRY(passes_make(b, &c, timeout_s));
    TRY(passes_launch(&c, 1, 0));
    for (int part = 0; part < c.gpus && ended; part++) {
        TRY_CUDA(cudaSetDevice(b->options->gpu[part]));
        TRY(stencil_device_wait(b, NULL, limit_s, &ended));
    }
    if (ended)
        TRY(passes_count(&c, &done));
    stencil_bench_say_part(b, ended, done == (uint32_t)c.gpus * c.grid.blocks * k->threads,
                           ended && stencil_barrier_check(&c.memory) != STENCIL_OK);
    return STENCIL_OK;
}

/* States outcomes of all barriers but those of sync/barriers.def that need neighbors or clusters. */
stencil_status stencil_measure_partial(stencil_bench *b) {
    char why[64];
    const stencil_gpu least = stencil_device_least(b, 1);
    const bool several = b->options->gpu_count > 1 && stencil_device_peers(b, why, sizeof why);
    for (const partial_kernel &k : kernels) {
        const stencil_barrier_info *info = &stencil_barriers[k.barrier];
        const bool spans = info->needs == STENCIL_NEEDS_PEERS;
        const char *missing = spans && !several ? "needs two GPUs that reach each other's memory"
                              : stencil_gpu_code(&least) < info->capability
                                  ? "needs GPU code for a newer compute capability"
                                  : NULL;
        if (info->needs != STENCIL_NEEDS_NEIGHBORS && info->needs != STENCIL_NEEDS_CLUSTERS)
            TRY(STENCIL_BENCH_ADD(b, k, k.kind, k.name, "s", .state = state_kernel, .limit_s = child_limit_s,
                                  .may_end_process = true,
                                  .axis = {{spans ? "gpus" : NULL, b->options->gpu_count}},
                                  .skipped = missing));
    }
    stencil_bench_note(b,
                       "A part of the group synchronises once, the rest goes on to its end. Deadlock: not "
                       "ended after %g s. The barriers of this program have a time limit, here %g s.",
                       limit_s, timeout_s);
    return stencil_bench_take(b);
}

/* Benchmarks `grid` and `multi-grid`. `grid`: time of a pass of every grid barrier, over blocks per
 * multiprocessor and threads per block (000 section 5.3, Fig. 7; Zhang et al., A Study of Synchronization
 * Methods in Modern GPUs, Table 8), for grid.sync() and the barrier types of the persistent loops.
 * `multi-grid`: the same for barriers across GPUs (000 section 6, Fig. 5, 8, 9), as maps for two GPUs and for
 * all, else for the three shapes of 000 Fig. 5. In barrier `neighbor`, all blocks of all GPUs form a ring. */
#include <stdio.h>

#include "bench/benchmarks/passes.cuh"
#include "sync/all.cuh"

/* Barrier `cluster` with the hardware's barrier inside the cluster, which has no time limit. */
struct hardware_cluster_barrier : stencil::counted_barrier<hardware_cluster_barrier> {
    using stencil::counted_barrier<hardware_cluster_barrier>::counted_barrier;
    __device__ __forceinline__ static void cluster_sync() {
        asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::
                         : "memory");
    }
    __device__ void sync(int64_t step) {
#if __CUDA_ARCH__ >= 900
        goal += gridDim.x / stencil::cluster_size();
        cluster_sync();
        if (stencil::cluster_rank() == 0 && stencil::thread_in_block() == 0)
            stencil::count_and_wait(s, stencil_barrier_counter(&s, 0), goal, step);
        cluster_sync();
#else
        __trap(); /* never launched for this architecture */
#endif
    }
};

/* The central barrier without __syncthreads() and release before arrival: the planted fault. */
struct unreleased_barrier : stencil::counted_barrier<unreleased_barrier> {
    using stencil::counted_barrier<unreleased_barrier>::counted_barrier;
    __device__ void sync(int64_t step) {
        goal += gridDim.x;
        if (stencil::thread_in_block() == 0) {
            uint32_t *counter = stencil_barrier_counter(&s, 0);
            asm volatile("red.relaxed.gpu.global.add.u32 [%0], 1;" ::"l"(counter) : "memory");
            stencil::spin(s, step, [&] { return stencil_reached(stencil::load_relaxed(counter), goal); });
        }
        __syncthreads();
    }
};

/* Kernels, indexed by the ids of barriers.def; further kernels are grid.sync() and `cluster` with the
 * hardware's barrier, both without a time limit, to show the cost of the limit, and the planted fault, a
 * barrier that arrives without a release and before the other threads of its block. */
enum { PASSES_FAULT = STENCIL_BARRIER_COUNT + 1, PASSES_COUNT };
static const passes_kernel kernels[PASSES_COUNT] = {
    {{STENCIL_BARRIER_none, "grid.sync", 60, STENCIL_NEEDS_NOTHING, ""}, PASSES_OF(library_barrier)},
#define STENCIL_BARRIER(id, name, capability, needs, text)                                                   \
    {{STENCIL_BARRIER_##id, name, capability, STENCIL_NEEDS_##needs, text}, PASSES_OF(stencil::id##_barrier)},
#include "sync/barriers.def"
#undef STENCIL_BARRIER
    {{STENCIL_BARRIER_none, "cluster, hardware", 90, STENCIL_NEEDS_CLUSTERS, ""},
     PASSES_OF(hardware_cluster_barrier)},
    {{STENCIL_BARRIER_none, "planted fault", 60, STENCIL_NEEDS_NOTHING, ""}, PASSES_OF(unreleased_barrier)},
};

enum { CLUSTER_BLOCKS = 4 };
/* Adds a row for barrier, gpus, blocks_per_sm and threads of `asked`, skipped where the GPUs do not support
 * the case. gpus_axis: the number of GPUs is an axis of the row. */
static stencil_status add_row(stencil_bench *b, const passes_case *asked, bool gpus_axis) {
    const stencil_gpu least = stencil_device_least(b, asked->gpus);
    passes_case c = *asked;
    char why[96] = "";
    bool resident = true;
    c.grid = {
        .blocks = (unsigned)(least.sm_count * c.blocks_per_sm), .block_x = (unsigned)c.threads, .block_y = 1};
    if (c.barrier.info.needs == STENCIL_NEEDS_CLUSTERS) {
        c.grid.cluster_blocks = CLUSTER_BLOCKS;
        c.grid.blocks -= c.grid.blocks % CLUSTER_BLOCKS;
    }
    stencil_device_has_code(&least, c.barrier.info.capability, why);
    for (int which = 0; which < 2 && why[0] == '\0' && resident; which++)
        TRY(passes_load(b, &c, which, &resident));
    if (!resident)
        snprintf(why, sizeof why, "%u blocks of %d threads are not resident at once", c.grid.blocks,
                 c.threads);
    TRY(STENCIL_BENCH_ADD(b, c, "barrier", c.barrier.info.name, "s/pass", STENCIL_METHOD_TWO_COUNTS,
                          .sample = passes_sample, .verified = PASSES_VERIFIED,
                          .axis = {{gpus_axis ? "gpus" : NULL, c.gpus},
                                   {"blocks_per_sm", c.blocks_per_sm},
                                   {"threads", c.threads}},
                          .count = STENCIL_REPEATS, .more = stencil_repeats(b->options, STENCIL_REPEATS_MORE),
                          .skipped = why));
    if (!gpus_axis)
        stencil_bench_last(b)->workers = c.grid.blocks;
    if (why[0] != '\0')
        return STENCIL_OK;
    passes_case *made = static_cast<passes_case *>(stencil_bench_what(b, b->result->row_count - 1));
    return passes_make_kept(b, made);
}

/* Skips the benchmark where the GPUs lack something; else measures and verifies the rows of add_cases(). */
static stencil_status run(stencil_bench *b, int gpu_count, stencil_benchmark_function add_cases) {
    char why[64];
    if (!stencil_device_least(b, gpu_count).cooperative)
        return stencil_bench_skip(b->result, "a GPU has no cooperative launch");
    if (gpu_count > 1 && !stencil_device_peers(b, why, sizeof why))
        return stencil_bench_skip(b->result, "%s", why);
    stencil_bench_add_number(b->result, "passes", STENCIL_REPEATS);
    stencil_bench_add_number(b->result, "more_passes", stencil_repeats(b->options, STENCIL_REPEATS_MORE));
    stencil_bench_add_number(b->result, "blocks_per_cluster", CLUSTER_BLOCKS);
    stencil_bench_note(b,
                       "Verified: after timing, %d passes of each in which every thread looked whether a "
                       "block that it waits for had arrived%s, some of them late.",
                       PASSES_VERIFIED, gpu_count > 1 ? ", on other GPUs too" : "");
    TRY(add_cases(b));
    return stencil_bench_take(b);
}

/* Adds rows of the barriers of a single GPU; with a planted fault, only a few shapes. */
static stencil_status add_grid(stencil_bench *b) {
    const bool plant = b->options->inject_fault;
    for (int id = 0; id < (plant ? PASSES_COUNT : PASSES_FAULT); id++) {
        passes_case c = {.barrier = kernels[id], .gpus = 1};
        while (c.barrier.info.needs != STENCIL_NEEDS_PEERS &&
               stencil_next_shape(&c.blocks_per_sm, &c.threads, plant ? 2 : STENCIL_BLOCKS_MAX,
                                  plant ? 256 : 32))
            TRY(add_row(b, &c, false));
    }
    if (plant)
        return STENCIL_OK;
    TRY(passes_add_discovery(b));
    return passes_add_parts(b);
}

stencil_status stencil_measure_grid(stencil_bench *b) {
    return run(b, 1, add_grid);
}

/* Tells whether a shape is in 000 Fig. 5: the fastest, the slowest and a common shape. */
static bool in_figure_5(int blocks, int threads) {
    return (blocks == 1 && (threads == 32 || threads == 256 || threads == 1024)) ||
           (blocks == 32 && threads == 64);
}

static stencil_status add_multi_grid(stencil_bench *b) {
    const bool plant = b->options->inject_fault;
    const int all = b->options->gpu_count;
    for (int gpus = 1; gpus <= all; gpus++) {
        const bool map = (gpus == 2 || gpus == all) && !plant;
        passes_case c = {.barrier = kernels[STENCIL_BARRIER_multi_grid], .gpus = gpus};
        while (stencil_next_shape(&c.blocks_per_sm, &c.threads, STENCIL_BLOCKS_MAX, 32))
            if (map || in_figure_5(c.blocks_per_sm, c.threads))
                TRY(add_row(b, &c, true));
        c.blocks_per_sm = 1;
        c.threads = 256;
        c.barrier = kernels[STENCIL_BARRIER_neighbor];
        TRY(add_row(b, &c, true));
        /* Planted fault across GPUs: the central barrier, which waits only for blocks of its own GPU. */
        c.barrier = kernels[STENCIL_BARRIER_central];
        c.barrier.info = kernels[PASSES_FAULT].info;
        if (plant && gpus > 1)
            TRY(add_row(b, &c, true));
    }
    return STENCIL_OK;
}

stencil_status stencil_measure_multi_grid(stencil_bench *b) {
    if (b->options->inject_fault && b->options->gpu_count < 2)
        return stencil_bench_skip(b->result, "a fault between GPUs needs two");
    return run(b, b->options->gpu_count, add_multi_grid);
}

/* One pass of every grid barrier, over blocks per multiprocessor and threads per block (000 section 5.3, Fig.
 * 7; Zhang et al., A Study of Synchronization Methods in Modern GPUs, Table 8): the library's grid.sync(),
 * and the very types that the persistent loops use. `neighbor` waits for the two neighbours in a ring. */
#include "bench/benchmarks/cpu.h"
#include "bench/benchmarks/passes.h"

#ifdef STENCIL_HAVE_CUDA
/* What is measured beside the barriers of barriers.def. */
static const stencil_barrier_info library = {.name = "grid.sync", .capability = 60},
                                  fault = {.name = "planted fault", .capability = 60},
                                  hardware = {.name = "cluster, hardware",
                                              .capability = 90,
                                              .needs = STENCIL_NEEDS_CLUSTERS};

static const stencil_barrier_info *info_of(int id) {
    return id == STENCIL_PASSES_LIBRARY    ? &library
           : id == STENCIL_PASSES_FAULT    ? &fault
           : id == STENCIL_PASSES_HARDWARE ? &hardware
                                           : &stencil_barriers[id];
}

/* Barriers that one GPU has. */
static bool applies(int id, const stencil_bench_options *options) {
    return id == STENCIL_PASSES_FAULT ? options->inject_fault : info_of(id)->needs != STENCIL_NEEDS_PEERS;
}

/* With a planted fault only what shows it: few shapes. */
static stencil_status add_cases(stencil_bench *b) {
    const bool fault_only = b->options->inject_fault;
    const int most_blocks = fault_only ? 2 : STENCIL_PASSES_BLOCKS_MAX, least_threads = fault_only ? 256 : 32;
    stencil_passes_case c = {.gpus = 1};
    for (int id = STENCIL_PASSES_LIBRARY; id < STENCIL_PASSES_COUNT; id++) {
        c.info = info_of(id);
        c.kernel = stencil_grid_kernels[id];
        for (c.blocks_per_sm = 1; c.blocks_per_sm <= most_blocks && applies(id, b->options);
             c.blocks_per_sm *= 2)
            for (c.threads = least_threads;
                 c.threads <= 1024 && c.blocks_per_sm * c.threads <= STENCIL_PASSES_THREADS_MAX;
                 c.threads *= 2)
                TRY(stencil_passes_add(b, &c, false));
    }
    return STENCIL_OK;
}

static stencil_status run_gpu(stencil_bench *b) {
    stencil_passes_bench p;
    if (!b->machine->gpu[b->options->gpu[0]].cooperative)
        return stencil_bench_skip(b->result, "this GPU has no cooperative launch");
    TRY(stencil_passes_begin(b, &p, 1));
    TRY(add_cases(b));
    return stencil_passes_measure(b);
}
#endif

const stencil_benchmark stencil_benchmark_grid = {
    .run_cpu = stencil_bench_grid_cpu,
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .fault = true,
    .cpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_ITERATIONS,
    .gpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_REPEATS,
};

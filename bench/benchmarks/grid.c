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
static stencil_status add_cases(stencil_passes_bench *b, const stencil_bench_options *options,
                                stencil_bench_result *result) {
    const int most_blocks = options->inject_fault ? 2 : STENCIL_PASSES_BLOCKS_MAX;
    const int least_threads = options->inject_fault ? 256 : 32;
    for (int id = STENCIL_PASSES_LIBRARY; id < STENCIL_PASSES_COUNT; id++)
        for (int blocks = 1; blocks <= most_blocks && applies(id, options); blocks *= 2)
            for (int threads = least_threads;
                 threads <= 1024 && blocks * threads <= STENCIL_PASSES_THREADS_MAX; threads *= 2) {
                const stencil_passes_case c = {
                    .info = info_of(id),
                    .kernel = {stencil_grid_kernel(id, false), stencil_grid_kernel(id, true)},
                    .gpus = 1,
                    .blocks_per_sm = blocks,
                    .threads = threads};
                TRY(stencil_passes_add(b, result, &c, false));
            }
    return STENCIL_OK;
}

static stencil_status run_gpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    enum { SHAPES_MAX = 64 };
    if (!machine->gpu[options->gpu[0]].cooperative)
        return stencil_bench_skip(result, "this GPU has no cooperative launch");
    stencil_passes_bench b;
    stencil_status status = stencil_passes_create(&b, options, 1, STENCIL_PASSES_COUNT * SHAPES_MAX);
    if (status == STENCIL_OK)
        status = add_cases(&b, options, result);
    if (status == STENCIL_OK)
        status = stencil_passes_measure(&b, options, result);
    stencil_passes_destroy(&b);
    return status;
}
#endif

const stencil_benchmark stencil_benchmark_grid = {
    .run_cpu = stencil_bench_grid_cpu,
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .fault = true,
    .cpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_ITERATIONS,
    .gpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_REPEATS,
};

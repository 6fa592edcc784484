/* One pass of every grid barrier, over blocks per multiprocessor and threads per block (000 section 5.3, Fig.
 * 7; Zhang et al., A Study of Synchronization Methods in Modern GPUs, Table 8): the library's grid.sync(),
 * and the very types that the persistent loops use. `neighbor` waits for the two neighbours in a ring. */
#include "bench/benchmarks/cpu.h"
#include "bench/benchmarks/method.h"
#include "sync/host.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>

#include "bench/benchmarks/grid_kernels.h"
#include "bench/benchmarks/ring.h"

enum {
    CLUSTER_BLOCKS = 4,
    BLOCKS_PER_SM_MAX = 32,
    THREADS_MAX = 1024,
    THREADS_PER_SM_MAX = 2048,
    SHAPES_MAX = 64,
    VERIFIED_PASSES = 200
};
static const double timeout_s = 2;

/* What is measured beside the barriers of barriers.def. */
static const stencil_barrier_info library = {.name = "grid.sync", .capability = 60},
                                  fault = {.name = "planted fault", .capability = 60},
                                  hardware = {.name = "cluster, hardware",
                                              .capability = 90,
                                              .needs = STENCIL_NEEDS_CLUSTERS};

/* A row. */
typedef struct grid_case {
    int id; /* of barriers.def, or one of grid_kernels.h */
    stencil_grid grid;
    stencil_barrier barrier; /* parts: 0 where the row is skipped */
    stencil_two_counts two;
} grid_case;

typedef struct bench {
    int64_t more;   /* repeats */
    uint32_t *word; /* device: a word for each block, owned */
    grid_case cases[(STENCIL_BARRIER_COUNT + 3) * SHAPES_MAX];
} bench;

/* One launch from fresh words, waited for; a grid that hangs without an alarm never comes back. */
static stencil_status pass(const bench *b, grid_case *c, int64_t passes, bool verify, double *time_s) {
    stencil_grid_passes p = {.state = c->barrier.state[0],
                             .passes = passes,
                             .word = b->word,
                             .missing = stencil_barrier_spare(&c->barrier, 0)};
    uint32_t missing;
    TRY_CUDA(cudaMemset(b->word, 0, c->grid.blocks * sizeof *b->word));
    TRY(stencil_barrier_restart(&c->barrier));
    const double start_s = stencil_clock_s();
    TRY(stencil_grid_launch(stencil_grid_kernel(c->id, verify), &c->grid, &p, NULL));
    TRY_CUDA(cudaDeviceSynchronize());
    *time_s = stencil_clock_s() - start_s;
    TRY(stencil_barrier_check(&c->barrier, NULL));
    TRY_CUDA(cudaMemcpy(&missing, p.missing, sizeof missing, cudaMemcpyDeviceToHost));
    CHECK(missing == 0, INTERNAL,
          "barrier %s, %u blocks of %u threads, does not hold: %u times a block had not arrived",
          c->barrier.shape.info->name, c->grid.blocks, c->grid.block_x, missing);
    return STENCIL_OK;
}

static stencil_status sample(void *context, int row, double *value) {
    bench *b = context;
    grid_case *c = &b->cases[row];
    double low_s = 0, high_s = 0;
    TRY(pass(b, c, STENCIL_REPEATS, false, &low_s));
    TRY(pass(b, c, STENCIL_REPEATS + b->more, false, &high_s));
    *value = stencil_two_counts_add(&c->two, high_s, low_s);
    return STENCIL_OK;
}

/* Whether all blocks can be resident at once, timed and verified. */
static stencil_status fits(const grid_case *c, bool *all) {
    *all = true;
    for (int verify = 0; verify < 2; verify++) {
        int64_t blocks;
        TRY(stencil_grid_resident(stencil_grid_kernel(c->id, verify), &c->grid, &blocks));
        *all = *all && blocks >= c->grid.blocks;
    }
    return STENCIL_OK;
}

static const stencil_barrier_info *info_of(int id) {
    return id == STENCIL_GRID_LIBRARY    ? &library
           : id == STENCIL_GRID_FAULT    ? &fault
           : id == STENCIL_GRID_HARDWARE ? &hardware
                                         : &stencil_barriers[id];
}

static stencil_status make_barrier(grid_case *c, int device) {
    const stencil_barrier_shape shape = {.info = info_of(c->id),
                                         .parts = 1,
                                         .device = {device},
                                         .first = {0, c->grid.blocks},
                                         .timeout_s = timeout_s};
    uint32_t *first;
    TRY(stencil_barrier_create(&c->barrier, &shape));
    if (shape.info->needs != STENCIL_NEEDS_NEIGHBORS)
        return STENCIL_OK;
    TRY(stencil_ring_create(&first, c->grid.blocks));
    const stencil_status status =
        stencil_barrier_set_neighbors(&c->barrier, first, first + c->grid.blocks + 1, false);
    free(first);
    return status;
}

static stencil_status add_case(bench *b, const stencil_gpu *gpu, int device, stencil_bench_result *result,
                               int id, int blocks_per_sm, int threads) {
    const stencil_barrier_info *info = info_of(id);
    bool all;
    int row;
    TRY(stencil_bench_add_row(result, "barrier", info->name, "s/pass", &row));
    stencil_bench_set_axis(result, row, "blocks_per_sm", blocks_per_sm);
    stencil_bench_set_axis(result, row, "threads", threads);
    result->row[row].method = STENCIL_METHOD_TWO_COUNTS;
    grid_case *c = &b->cases[row];
    c->id = id;
    c->two.difference = (double)b->more;
    c->grid = (stencil_grid){
        .blocks = (unsigned)(gpu->sm_count * blocks_per_sm), .block_x = (unsigned)threads, .block_y = 1};
    if (info->needs == STENCIL_NEEDS_CLUSTERS) {
        c->grid.cluster_blocks = CLUSTER_BLOCKS;
        c->grid.blocks -= c->grid.blocks % CLUSTER_BLOCKS;
    }
    if (gpu->capability < info->capability) {
        stencil_bench_skip_row(result, row, "needs compute capability %d.%d", info->capability / 10,
                               info->capability % 10);
        return STENCIL_OK;
    }
    TRY(fits(c, &all));
    if (!all) {
        stencil_bench_skip_row(result, row, "%u blocks of %d threads are not resident at once",
                               c->grid.blocks, threads);
        return STENCIL_OK;
    }
    return make_barrier(c, device);
}

/* Barriers that one GPU has. */
static bool applies(int id, const stencil_bench_options *options) {
    return id == STENCIL_GRID_FAULT ? options->inject_fault : info_of(id)->needs != STENCIL_NEEDS_PEERS;
}

/* With a planted fault only what shows it: few shapes. */
static stencil_status add_cases(bench *b, const stencil_bench_options *options, const stencil_gpu *gpu,
                                stencil_bench_result *result) {
    const int most_blocks = options->inject_fault ? 2 : BLOCKS_PER_SM_MAX;
    const int least_threads = options->inject_fault ? 256 : 32;
    for (int id = STENCIL_GRID_LIBRARY; id < STENCIL_GRID_COUNT; id++)
        for (int blocks = 1; blocks <= most_blocks && applies(id, options); blocks *= 2)
            for (int threads = least_threads; threads <= THREADS_MAX; threads *= 2)
                if (blocks * threads <= THREADS_PER_SM_MAX)
                    TRY(add_case(b, gpu, options->gpu[0], result, id, blocks, threads));
    return STENCIL_OK;
}

static stencil_status measure(bench *b, const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    const stencil_gpu *gpu = &machine->gpu[options->gpu[0]];
    if (!gpu->cooperative)
        return stencil_bench_skip(result, "this GPU has no cooperative launch");
    double time_s;
    TRY_CUDA(cudaSetDevice(options->gpu[0]));
    TRY_CUDA(cudaMalloc((void **)&b->word, (size_t)(gpu->sm_count * BLOCKS_PER_SM_MAX) * sizeof *b->word));
    b->more = stencil_repeats_more(options);
    stencil_bench_add_number(result, "passes", STENCIL_REPEATS);
    stencil_bench_add_number(result, "more_passes", b->more);
    stencil_bench_add_number(result, "blocks_per_cluster", CLUSTER_BLOCKS);
    TRY(add_cases(b, options, gpu, result));
    TRY(stencil_bench_measure_values(result, options, sample, b));
    for (int row = 0; row < result->row_count; row++) {
        if (result->row[row].skipped[0] != '\0')
            continue;
        result->row[row].method_sd = stencil_two_counts_sd(&b->cases[row].two);
        TRY(pass(b, &b->cases[row], VERIFIED_PASSES, true, &time_s));
    }
    stencil_bench_add_note(result,
                           "Verified: after timing, %d passes of each in which every thread looked "
                           "whether a block that it waits for had arrived, some of them late.",
                           VERIFIED_PASSES);
    return STENCIL_OK;
}

static stencil_status run_gpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    bench *b = calloc(1, sizeof *b);
    CHECK(b != NULL, NO_MEMORY, "no memory for the benchmark grid");
    const stencil_status status = measure(b, options, machine, result);
    cudaFree(b->word);
    for (int row = 0; row < result->row_count; row++)
        stencil_barrier_destroy(&b->cases[row].barrier);
    free(b);
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

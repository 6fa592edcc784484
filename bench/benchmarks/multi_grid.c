/* One pass of the barriers across GPUs, over the number of GPUs, blocks per multiprocessor and threads per
 * block (000 section 6, Fig. 5, 8, 9). Maps for two GPUs and for all; the three shapes of 000 Fig. 5 for
 * numbers between. `neighbor` waits for the two neighbours in a ring of all blocks of all GPUs. */
#include "bench/benchmarks/method.h"
#include "bench/benchmarks/partial.h"
#include "sync/host.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>

#include "bench/benchmarks/multi_grid_kernels.h"
#include "bench/benchmarks/ring.h"

enum {
    BLOCKS_PER_SM_MAX = 32,
    THREADS_MAX = 1024,
    THREADS_PER_SM_MAX = 2048,
    CASES_MAX = 64 * STENCIL_GPUS_MAX,
    VERIFIED_PASSES = 200,
    PART_THREADS = 256
};
static const double timeout_s = 2, part_timeout_s = 0.3;
static const stencil_barrier_info fault = {.name = "planted fault"};

/* Spare words of a part's barrier. */
enum { MISSING, DONE };

/* A row. */
typedef struct multi_case {
    int id; /* of barriers.def, or STENCIL_MULTI_GRID_FAULT */
    int gpus;
    stencil_grid grid;       /* on each GPU */
    stencil_barrier barrier; /* parts: 0 where the row is skipped */
    stencil_two_counts two;
} multi_case;

typedef struct bench {
    const int *gpu;
    int gpu_count, sm_count;
    int64_t more;
    uint32_t blocks_most;             /* on one GPU */
    uint32_t *word[STENCIL_GPUS_MAX]; /* device: a word for each block, owned */
    multi_case cases[CASES_MAX];
} bench;

static const stencil_barrier_info *info_of(int id) {
    return id == STENCIL_MULTI_GRID_FAULT ? &fault : &stencil_barriers[id];
}

/* A ring of all blocks of all parts. */
static stencil_status make_barrier(const bench *b, multi_case *c, double limit_s) {
    stencil_barrier_shape shape = {.info = info_of(c->id), .parts = c->gpus, .timeout_s = limit_s};
    for (int part = 0; part < c->gpus; part++) {
        shape.device[part] = b->gpu[part];
        shape.first[part + 1] = c->grid.blocks * (uint32_t)(part + 1);
    }
    const uint32_t all = shape.first[c->gpus];
    uint32_t *first;
    TRY(stencil_barrier_create(&c->barrier, &shape));
    if (shape.info->needs != STENCIL_NEEDS_NEIGHBORS)
        return STENCIL_OK;
    TRY(stencil_ring_create(&first, all));
    const stencil_status status = stencil_barrier_set_neighbors(&c->barrier, first, first + all + 1, false);
    free(first);
    return status;
}

static stencil_multi_grid_passes arguments_of(const bench *b, const multi_case *c, int part, int64_t passes) {
    uint32_t *const spare = stencil_barrier_spare(&c->barrier, part);
    stencil_multi_grid_passes p = {.state = c->barrier.state[part],
                                   .passes = passes,
                                   .missing = spare + MISSING,
                                   .blocks = c->grid.blocks,
                                   .done = spare + DONE};
    for (int other = 0; other < c->gpus; other++)
        p.peer_word[other] = b->word[other];
    return p;
}

static stencil_status wait_for_all(const bench *b, int gpus) {
    for (int part = 0; part < gpus; part++) {
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

/* A spare word of every part, added up. */
static stencil_status spare_sum(const multi_case *c, int which, uint32_t *sum) {
    *sum = 0;
    for (int part = 0; part < c->gpus; part++) {
        uint32_t seen;
        TRY_CUDA(cudaMemcpy(&seen, stencil_barrier_spare(&c->barrier, part) + which, sizeof seen,
                            cudaMemcpyDeviceToHost));
        *sum += seen;
    }
    return STENCIL_OK;
}

/* A launch on each GPU from fresh words, which are there before anybody starts; all waited for. */
static stencil_status pass(const bench *b, multi_case *c, int64_t passes, bool verify, double *time_s) {
    const void *kernel = stencil_multi_grid_kernel(c->id, verify);
    uint32_t missing;
    for (int part = 0; part < c->gpus; part++) {
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY_CUDA(cudaMemset(b->word[part], 0, b->blocks_most * sizeof *b->word[part]));
    }
    TRY(stencil_barrier_restart(&c->barrier));
    const double start_s = stencil_clock_s();
    for (int part = 0; part < c->gpus; part++) {
        stencil_multi_grid_passes p = arguments_of(b, c, part, passes);
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY(stencil_grid_launch(kernel, &c->grid, &p, NULL));
    }
    TRY(wait_for_all(b, c->gpus));
    *time_s = stencil_clock_s() - start_s;
    TRY(stencil_barrier_check(&c->barrier, NULL));
    TRY(spare_sum(c, MISSING, &missing));
    CHECK(missing == 0, INTERNAL,
          "barrier %s, %d GPUs, %u blocks of %u threads each, does not hold: %u times a block had not "
          "arrived",
          c->barrier.shape.info->name, c->gpus, c->grid.blocks, c->grid.block_x, missing);
    return STENCIL_OK;
}

static stencil_status sample(void *context, int row, double *value) {
    bench *b = context;
    multi_case *c = &b->cases[row];
    double low_s = 0, high_s = 0;
    TRY(pass(b, c, STENCIL_REPEATS, false, &low_s));
    TRY(pass(b, c, STENCIL_REPEATS + b->more, false, &high_s));
    *value = stencil_two_counts_add(&c->two, high_s, low_s);
    return STENCIL_OK;
}

/* Whether all blocks can be resident at once. Asking loads the kernels, on each GPU: nothing is loaded lazily
 * while kernels wait for each other. */
static stencil_status fits(const bench *b, const multi_case *c, bool *all) {
    *all = true;
    for (int part = 0; part < c->gpus; part++)
        for (int verify = 0; verify < 2; verify++) {
            int64_t blocks;
            TRY_CUDA(cudaSetDevice(b->gpu[part]));
            TRY(stencil_grid_resident(stencil_multi_grid_kernel(c->id, verify), &c->grid, &blocks));
            *all = *all && blocks >= c->grid.blocks;
        }
    return STENCIL_OK;
}

static stencil_status add_case(bench *b, stencil_bench_result *result, int id, int gpus, int blocks_per_sm,
                               int threads) {
    int row;
    bool all;
    TRY(stencil_bench_add_row(result, "barrier", info_of(id)->name, "s/pass", &row));
    CHECK(row < CASES_MAX, INTERNAL, "multi-grid: more rows than places");
    stencil_bench_set_axis(result, row, "gpus", gpus);
    stencil_bench_set_axis(result, row, "blocks_per_sm", blocks_per_sm);
    stencil_bench_set_axis(result, row, "threads", threads);
    result->row[row].method = STENCIL_METHOD_TWO_COUNTS;
    multi_case *c = &b->cases[row];
    *c = (multi_case){.id = id,
                      .gpus = gpus,
                      .grid = {.blocks = (unsigned)(b->sm_count * blocks_per_sm),
                               .block_x = (unsigned)threads,
                               .block_y = 1},
                      .two.difference = (double)b->more};
    TRY(fits(b, c, &all));
    if (all)
        return make_barrier(b, c, timeout_s);
    stencil_bench_skip_row(result, row, "%u blocks of %d threads are not resident at once", c->grid.blocks,
                           threads);
    return STENCIL_OK;
}

/* The fastest, the slowest and a usual shape: 000 Fig. 5. */
static bool in_figure_5(int blocks, int threads) {
    return (blocks == 1 && (threads == 32 || threads == 256 || threads == 1024)) ||
           (blocks == 32 && threads == 64);
}

static stencil_status add_cases(bench *b, const stencil_bench_options *options,
                                stencil_bench_result *result) {
    for (int gpus = 1; gpus <= b->gpu_count; gpus++) {
        const bool map = (gpus == 2 || gpus == b->gpu_count) && !options->inject_fault;
        for (int blocks = 1; blocks <= BLOCKS_PER_SM_MAX; blocks *= 2)
            for (int threads = 32; threads <= THREADS_MAX && blocks * threads <= THREADS_PER_SM_MAX;
                 threads *= 2)
                if (map || in_figure_5(blocks, threads))
                    TRY(add_case(b, result, STENCIL_BARRIER_multi_grid, gpus, blocks, threads));
        TRY(add_case(b, result, STENCIL_BARRIER_neighbor, gpus, 1, 256));
        if (options->inject_fault && gpus > 1)
            TRY(add_case(b, result, STENCIL_MULTI_GRID_FAULT, gpus, 1, 256));
    }
    return STENCIL_OK;
}

static stencil_status prepare(bench **made, const stencil_bench_options *options, int gpu_count) {
    bench *b = *made = calloc(1, sizeof *b);
    CHECK(b != NULL, NO_MEMORY, "no memory for the benchmark multi-grid");
    b->gpu = options->gpu;
    b->gpu_count = gpu_count;
    b->more = stencil_repeats_more(options);
    for (int i = 0; i < gpu_count; i++) {
        int sm_count;
        TRY_CUDA(cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, b->gpu[i]));
        b->sm_count = i == 0 || sm_count < b->sm_count ? sm_count : b->sm_count;
    }
    b->blocks_most = (uint32_t)(b->sm_count * BLOCKS_PER_SM_MAX);
    for (int i = 0; i < gpu_count; i++) {
        TRY_CUDA(cudaSetDevice(b->gpu[i]));
        TRY(stencil_peers_reach(b->gpu[i], b->gpu, gpu_count));
        TRY_CUDA(cudaMalloc((void **)&b->word[i], b->blocks_most * sizeof *b->word[i]));
    }
    return STENCIL_OK;
}

static void destroy(bench *b) {
    if (b == NULL)
        return;
    for (int i = 0; i < b->gpu_count; i++)
        cudaFree(b->word[i]);
    for (int i = 0; i < CASES_MAX; i++)
        stencil_barrier_destroy(&b->cases[i].barrier);
    free(b);
}

static stencil_status measure(bench *b, const stencil_bench_options *options, stencil_bench_result *result) {
    double time_s;
    stencil_bench_add_number(result, "passes", STENCIL_REPEATS);
    stencil_bench_add_number(result, "more_passes", b->more);
    TRY(add_cases(b, options, result));
    TRY(stencil_bench_measure_values(result, options, sample, b));
    for (int row = 0; row < result->row_count; row++) {
        if (result->row[row].skipped[0] != '\0')
            continue;
        result->row[row].method_sd = stencil_two_counts_sd(&b->cases[row].two);
        TRY(pass(b, &b->cases[row], VERIFIED_PASSES, true, &time_s));
    }
    stencil_bench_add_note(result,
                           "Verified: after timing, %d passes of each in which every thread looked whether a "
                           "block that it waits for had arrived, on other GPUs too, some of them late.",
                           VERIFIED_PASSES);
    return STENCIL_OK;
}

static stencil_status run_gpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    bench *b;
    for (int i = 0; i < options->gpu_count; i++) {
        if (!machine->gpu[options->gpu[i]].cooperative)
            return stencil_bench_skip(result, "GPU %d has no cooperative launch", options->gpu[i]);
        for (int j = 0; j < options->gpu_count; j++)
            if (!machine->peer[options->gpu[i]][options->gpu[j]])
                return stencil_bench_skip(result, "GPU %d has no access to the memory of GPU %d",
                                          options->gpu[i], options->gpu[j]);
    }
    if (options->inject_fault && options->gpu_count < 2)
        return stencil_bench_skip(result, "a fault between GPUs needs two");
    stencil_status status = prepare(&b, options, options->gpu_count);
    if (status == STENCIL_OK)
        status = measure(b, options, result);
    destroy(b);
    return status;
}

/* Only a part synchronises, once: the question of the benchmark partial. */
static stencil_status run_part(bench *b, bool half_the_blocks, stencil_partial_outcome *outcome) {
    multi_case *c = &b->cases[0];
    *c = (multi_case){
        .id = STENCIL_BARRIER_multi_grid,
        .gpus = b->gpu_count,
        .grid = {.blocks = (unsigned)b->sm_count, .block_x = PART_THREADS, .block_y = 1},
    };
    uint32_t done;
    int64_t blocks;
    for (int part = 0; part < c->gpus; part++) {
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY(stencil_grid_resident(stencil_multi_grid_part_kernel(), &c->grid, &blocks)); /* loads it */
    }
    TRY(make_barrier(b, c, part_timeout_s));
    for (int part = 0; part < c->gpus; part++) {
        stencil_multi_grid_passes p = arguments_of(b, c, part, 1);
        p.blocks = half_the_blocks ? c->grid.blocks / 2 : part < c->gpus / 2 ? c->grid.blocks : 0;
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY(stencil_grid_launch(stencil_multi_grid_part_kernel(), &c->grid, &p, NULL));
    }
    TRY(wait_for_all(b, c->gpus));
    const stencil_status status = stencil_barrier_check(&c->barrier, NULL);
    TRY(spare_sum(c, DONE, &done));
    *outcome = done != c->grid.blocks * (uint32_t)c->gpus ? STENCIL_PARTIAL_LOSES
               : status != STENCIL_OK                     ? STENCIL_PARTIAL_GIVES_UP
                                                          : STENCIL_PARTIAL_COMPLETES;
    return STENCIL_OK;
}

static stencil_status child(const stencil_bench_options *options, const void *question, size_t question_size,
                            void *answer, size_t answer_size) {
    const stencil_multi_grid_part *part = question;
    bench *b;
    CHECK(question_size == sizeof *part && answer_size == sizeof(stencil_partial_outcome) &&
              part->gpu_count > 1 && part->gpu_count <= STENCIL_GPUS_MAX,
          USAGE, "multi-grid: no such question");
    stencil_status status = prepare(&b, options, part->gpu_count);
    if (status == STENCIL_OK)
        status = run_part(b, part->blocks, answer);
    destroy(b);
    return status;
}
#endif

const stencil_benchmark stencil_benchmark_multi_grid = {
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .child = STENCIL_ON_GPU(child),
    .many_gpus = true,
    .fault = true,
    .gpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_REPEATS,
};

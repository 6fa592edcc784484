/* One pass of every grid barrier, over blocks per multiprocessor and threads per block (000 section 5.3, Fig.
 * 7; Zhang et al., A Study of Synchronization Methods in Modern GPUs, Table 8): the library's grid.sync(),
 * and the very types that the persistent loops use. `neighbor` waits for the two neighbours in a ring. */
#include "bench/benchmarks/cpu.h"
#include "bench/benchmarks/method.h"
#include "solver/gpu.h"

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
    RINGS_MAX = 8,
    VERIFIED_PASSES = 200,
    MISSING_AT = 16 /* words behind the alarm, on the same line */
};
static const uint64_t timeout_ns = 2000000000;

/* A row. */
typedef struct grid_case {
    int barrier; /* of barriers.def, or one of grid_kernels.h */
    const char *name;
    bool clusters;
    unsigned blocks, threads;
    int ring;
    stencil_two_counts two;
} grid_case;

/* Who waits for whom: both neighbours in a ring of so many blocks. */
typedef struct ring {
    unsigned blocks;
    uint32_t *first, *list; /* device, in one piece, owned */
} ring;

typedef struct bench {
    int64_t more; /* repeats */
    stencil_barrier_state state;
    uint32_t *words, *word, *missing; /* device, in one piece; owned */
    size_t words_bytes;               /* of the barriers' words */
    ring ring[RINGS_MAX];
    int ring_count;
    grid_case cases[(STENCIL_BARRIER_COUNT + 2) * SHAPES_MAX];
} bench;

typedef struct launch {
    cudaLaunchAttribute attribute[2];
    cudaLaunchConfig_t config;
} launch;

static void make_launch(launch *l, const grid_case *c) {
    l->attribute[0] = (cudaLaunchAttribute){.id = cudaLaunchAttributeCooperative, .val.cooperative = 1};
    l->attribute[1] = (cudaLaunchAttribute){.id = cudaLaunchAttributeClusterDimension,
                                            .val.clusterDim = {CLUSTER_BLOCKS, 1, 1}};
    l->config = (cudaLaunchConfig_t){.gridDim = {c->blocks, 1, 1},
                                     .blockDim = {c->threads, 1, 1},
                                     .attrs = l->attribute,
                                     .numAttrs = c->clusters ? 2 : 1};
}

/* Alarm and missing arrivals of the last launch; a grid that hangs without an alarm never comes here. */
static stencil_status check(const bench *b, const grid_case *c) {
    uint32_t seen[MISSING_AT + 1];
    TRY_CUDA(cudaMemcpy(seen, b->state.alarm, sizeof seen, cudaMemcpyDeviceToHost));
    CHECK(seen[0] == 0, INTERNAL, "barrier %s, %u blocks of %u threads: block %u waited in vain", c->name,
          c->blocks, c->threads, seen[0] - 1);
    CHECK(seen[MISSING_AT] == 0, INTERNAL,
          "barrier %s, %u blocks of %u threads, does not hold: %u times a block had not arrived", c->name,
          c->blocks, c->threads, seen[MISSING_AT]);
    return STENCIL_OK;
}

/* One launch from fresh words, waited for. */
static stencil_status pass(const bench *b, const grid_case *c, int64_t passes, bool verify, double *time_s) {
    launch l;
    make_launch(&l, c);
    stencil_grid_passes p = {.state = b->state, .passes = passes, .word = b->word, .missing = b->missing};
    p.state.participants = c->blocks;
    p.state.neighbor_first = b->ring[c->ring].first;
    p.state.neighbor = b->ring[c->ring].list;
    p.state.neighbor_most = STENCIL_RING_NEIGHBORS;
    void *arguments[] = {&p};
    /* Each barrier counts in its own way. The blocks' words stand behind those of the barriers. */
    TRY_CUDA(cudaMemset(b->words, 0, b->words_bytes + c->blocks * sizeof *b->word));
    TRY_CUDA(cudaDeviceSynchronize());
    const double start_s = stencil_clock_s();
    TRY_CUDA(cudaLaunchKernelExC(&l.config, stencil_grid_kernel(c->barrier, verify), arguments));
    TRY_CUDA(cudaDeviceSynchronize());
    *time_s = stencil_clock_s() - start_s;
    return check(b, c);
}

static stencil_status sample(void *context, int row, double *value) {
    bench *b = context;
    grid_case *c = &b->cases[row];
    double low_s, high_s;
    TRY(pass(b, c, STENCIL_REPEATS, false, &low_s));
    TRY(pass(b, c, STENCIL_REPEATS + b->more, false, &high_s));
    *value = stencil_two_counts_add(&c->two, high_s, low_s);
    return STENCIL_OK;
}

/* The ring of so many blocks, made where there is none. */
static stencil_status find_ring(bench *b, unsigned blocks, int *index) {
    for (*index = 0; *index < b->ring_count; ++*index)
        if (b->ring[*index].blocks == blocks)
            return STENCIL_OK;
    const size_t count = (blocks + 1) + STENCIL_RING_NEIGHBORS * (size_t)blocks;
    uint32_t *host = malloc(count * sizeof *host);
    CHECK(host != NULL, NO_MEMORY, "no memory for a ring of %u blocks", blocks);
    stencil_ring_fill(host, host + blocks + 1, 0, blocks, blocks);
    ring *r = &b->ring[b->ring_count];
    cudaError_t state = cudaMalloc((void **)&r->first, count * sizeof *host);
    b->ring_count += state == cudaSuccess;
    if (state == cudaSuccess)
        state = cudaMemcpy(r->first, host, count * sizeof *host, cudaMemcpyHostToDevice);
    free(host);
    TRY_CUDA(state);
    r->list = r->first + blocks + 1;
    r->blocks = blocks;
    return STENCIL_OK;
}

/* Whether all blocks can be resident at once, timed and verified. */
static stencil_status fits(const grid_case *c, int sm_count, bool *all) {
    launch l;
    make_launch(&l, c);
    *all = true;
    for (int verify = 0; verify < 2; verify++) {
        const void *kernel = stencil_grid_kernel(c->barrier, verify);
        int count = 0;
        if (c->clusters) {
            TRY_CUDA(cudaOccupancyMaxActiveClusters(&count, kernel, &l.config));
            count *= CLUSTER_BLOCKS;
        } else {
            TRY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, (int)c->threads, 0));
            count *= sm_count;
        }
        *all = *all && (unsigned)count >= c->blocks;
    }
    return STENCIL_OK;
}

static stencil_status add_case(bench *b, const stencil_gpu *gpu, stencil_bench_result *result, int barrier,
                               int blocks_per_sm, int threads) {
    const bool known = barrier != STENCIL_GRID_LIBRARY && barrier != STENCIL_GRID_FAULT;
    const char *name = known                             ? stencil_barriers[barrier].name
                       : barrier == STENCIL_GRID_LIBRARY ? "grid.sync"
                                                         : "planted fault";
    int row;
    TRY(stencil_bench_add_row(result, "barrier", name, "s/pass", &row));
    stencil_bench_set_axis(result, row, "blocks_per_sm", blocks_per_sm);
    stencil_bench_set_axis(result, row, "threads", threads);
    result->row[row].method = STENCIL_METHOD_TWO_COUNTS;
    grid_case *c = &b->cases[row];
    *c = (grid_case){.barrier = barrier, .name = name, .threads = (unsigned)threads};
    c->clusters = known && stencil_barriers[barrier].needs == STENCIL_NEEDS_CLUSTERS;
    c->blocks = (unsigned)(gpu->sm_count * blocks_per_sm);
    if (c->clusters)
        c->blocks -= c->blocks % CLUSTER_BLOCKS;
    c->two.difference = (double)b->more;
    const int capability = known ? stencil_barriers[barrier].capability : 60;
    if (gpu->capability < capability) {
        stencil_bench_skip_row(result, row, "needs compute capability %d.%d", capability / 10,
                               capability % 10);
        return STENCIL_OK;
    }
    bool all;
    TRY(fits(c, gpu->sm_count, &all));
    if (!all) {
        stencil_bench_skip_row(result, row, "%u blocks of %d threads are not resident at once", c->blocks,
                               threads);
        return STENCIL_OK;
    }
    return find_ring(b, c->blocks, &c->ring);
}

/* Barriers that one GPU has. */
static bool applies(int barrier, const stencil_bench_options *options) {
    if (barrier == STENCIL_GRID_FAULT)
        return options->inject_fault;
    return stencil_barriers[barrier].needs != STENCIL_NEEDS_PEERS;
}

/* With a planted fault only what shows it: few shapes. */
static stencil_status add_cases(bench *b, const stencil_bench_options *options, const stencil_gpu *gpu,
                                stencil_bench_result *result) {
    const int most_blocks = options->inject_fault ? 2 : BLOCKS_PER_SM_MAX;
    const int least_threads = options->inject_fault ? 256 : 32;
    for (int barrier = STENCIL_GRID_LIBRARY; barrier <= STENCIL_GRID_FAULT; barrier++)
        for (int blocks = 1; blocks <= most_blocks && applies(barrier, options); blocks *= 2)
            for (int threads = least_threads; threads <= THREADS_MAX; threads *= 2)
                if (blocks * threads <= THREADS_PER_SM_MAX)
                    TRY(add_case(b, gpu, result, barrier, blocks, threads));
    return STENCIL_OK;
}

static stencil_status allocate(bench *b, const stencil_gpu *gpu) {
    const uint32_t blocks = (uint32_t)(gpu->sm_count * BLOCKS_PER_SM_MAX);
    const size_t words = stencil_barrier_word_count(blocks);
    b->words_bytes = (words + STENCIL_LINE_WORDS) * sizeof *b->words;
    TRY_CUDA(cudaMalloc((void **)&b->words, b->words_bytes + blocks * sizeof *b->words));
    b->state =
        (stencil_barrier_state){.words = b->words, .timeout_ns = timeout_ns, .alarm = b->words + words};
    b->missing = b->state.alarm + MISSING_AT;
    b->word = b->state.alarm + STENCIL_LINE_WORDS;
    return STENCIL_OK;
}

static stencil_status measure(bench *b, const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    const stencil_gpu *gpu = &machine->gpu[options->gpu[0]];
    if (!gpu->cooperative)
        return stencil_bench_skip(result, "this GPU has no cooperative launch");
    double time_s;
    TRY_CUDA(cudaSetDevice(options->gpu[0]));
    TRY(allocate(b, gpu));
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
    cudaFree(b->words);
    for (int i = 0; i < b->ring_count; i++)
        cudaFree(b->ring[i].first);
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

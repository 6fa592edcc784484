/* One pass of the barriers across GPUs, over the number of GPUs, blocks per multiprocessor and threads per
 * block (000 section 6, Fig. 5, 8, 9). Maps for two GPUs and for all; the three shapes of 000 Fig. 5 for
 * numbers between. `neighbor` waits for the two neighbours in a ring of all blocks of all GPUs. */
#include "bench/benchmarks/method.h"
#include "bench/benchmarks/partial.h"
#include "solver/gpu.h"

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
    PART_THREADS = 256,
    DONE_AT = 16, /* words behind the alarm, on the same line */
    MISSING_AT = 17
};
static const uint64_t timeout_ns = 2000000000, part_timeout_ns = 300000000;

/* A row. */
typedef struct multi_case {
    int barrier; /* of barriers.def, or STENCIL_MULTI_GRID_FAULT */
    const char *name;
    int gpus;
    uint32_t blocks; /* on each GPU */
    unsigned threads;
    stencil_two_counts two;
} multi_case;

/* The memory of one GPU; all on the device, in one piece. */
typedef struct part_memory {
    uint32_t *words;                   /* of the barrier, zeroed up to `lists` before each launch */
    uint32_t *alarm, *word;            /* a line; [blocks_most] */
    uint32_t *first, *list, *announce; /* the ring's share */
    uint32_t **peers;                  /* [3][parts]: words, alarms, word; an allocation of its own */
} part_memory;

typedef struct bench {
    const int *gpu;
    int gpu_count, sm_count;
    int64_t more;
    uint32_t blocks_most; /* on one GPU */
    part_memory part[STENCIL_GPUS_MAX];
    uint32_t *host; /* lists */
    multi_case cases[CASES_MAX];
} bench;

static size_t cleared_bytes(const bench *b) {
    return (stencil_barrier_word_count(b->blocks_most * (uint32_t)b->gpu_count) + STENCIL_LINE_WORDS +
            b->blocks_most) *
           sizeof(uint32_t);
}

/* The share of a part in a ring of all blocks: its neighbours are numbered over all parts. */
static stencil_status set_ring(const bench *b, const multi_case *c, int part) {
    const uint32_t n = c->blocks, all = n * (uint32_t)c->gpus, from = n * (uint32_t)part;
    uint32_t *first = b->host, *list = first + n + 1, *announce = list + STENCIL_RING_NEIGHBORS * (size_t)n;
    stencil_ring_fill(first, list, from, n, all);
    for (uint32_t i = 0; i < n; i++) {
        announce[i] = 0;
        for (uint32_t k = first[i]; k < first[i + 1]; k++)
            if (list[k] / n != (uint32_t)part)
                announce[i] |= 1u << (list[k] / n);
    }
    const part_memory *m = &b->part[part];
    TRY_CUDA(cudaMemcpy(m->first, first, (n + 1) * sizeof *first, cudaMemcpyHostToDevice));
    TRY_CUDA(
        cudaMemcpy(m->list, list, STENCIL_RING_NEIGHBORS * (size_t)n * sizeof *list, cudaMemcpyHostToDevice));
    TRY_CUDA(cudaMemcpy(m->announce, announce, n * sizeof *announce, cudaMemcpyHostToDevice));
    return STENCIL_OK;
}

static stencil_multi_grid_passes arguments_of(const bench *b, const multi_case *c, int part, int64_t passes) {
    const part_memory *m = &b->part[part];
    return (stencil_multi_grid_passes){
        .state = {.words = m->words,
                  .participants = c->blocks * (uint32_t)c->gpus,
                  .first = c->blocks * (uint32_t)part,
                  .parts = (uint32_t)c->gpus,
                  .part = (uint32_t)part,
                  .neighbor_first = m->first,
                  .neighbor = m->list,
                  .neighbor_most = STENCIL_RING_NEIGHBORS,
                  .announce = m->announce,
                  .peer_words = m->peers,
                  .peer_alarm = m->peers + b->gpu_count,
                  .timeout_ns = timeout_ns,
                  .alarm = m->alarm},
        .passes = passes,
        .peer_word = m->peers + 2 * b->gpu_count,
        .missing = m->alarm + MISSING_AT,
        .blocks = c->blocks,
        .done = m->alarm + DONE_AT,
    };
}

/* Fresh words everywhere before anybody starts. */
static stencil_status clear(const bench *b, const multi_case *c) {
    for (int part = 0; part < c->gpus; part++) {
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY_CUDA(cudaMemset(b->part[part].words, 0, cleared_bytes(b)));
        if (c->barrier == STENCIL_BARRIER_neighbor)
            TRY(set_ring(b, c, part));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

static stencil_status wait_for_all(const bench *b, int gpus) {
    for (int part = 0; part < gpus; part++) {
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

/* Alarm and missing arrivals of the last launch on every GPU. */
static stencil_status check(const bench *b, const multi_case *c) {
    for (int part = 0; part < c->gpus; part++) {
        uint32_t seen[STENCIL_LINE_WORDS];
        TRY_CUDA(cudaMemcpy(seen, b->part[part].alarm, sizeof seen, cudaMemcpyDeviceToHost));
        CHECK(seen[0] == 0, INTERNAL,
              "barrier %s, %d GPUs, %u blocks of %u threads each: block %u waited in vain", c->name, c->gpus,
              c->blocks, c->threads, seen[0] - 1);
        CHECK(seen[MISSING_AT] == 0, INTERNAL,
              "barrier %s, %d GPUs, %u blocks of %u threads each, does not hold: %u times a block had not "
              "arrived",
              c->name, c->gpus, c->blocks, c->threads, seen[MISSING_AT]);
    }
    return STENCIL_OK;
}

/* A launch on each GPU from fresh words, all waited for. */
static stencil_status pass(const bench *b, const multi_case *c, int64_t passes, bool verify, double *time_s) {
    const void *kernel = stencil_multi_grid_kernel(c->barrier, verify);
    const dim3 grid = {c->blocks, 1, 1}, block = {c->threads, 1, 1};
    TRY(clear(b, c));
    const double start_s = stencil_clock_s();
    for (int part = 0; part < c->gpus; part++) {
        stencil_multi_grid_passes p = arguments_of(b, c, part, passes);
        void *arguments[] = {&p};
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY_CUDA(cudaLaunchCooperativeKernel(kernel, grid, block, arguments, 0, NULL));
    }
    TRY(wait_for_all(b, c->gpus));
    *time_s = stencil_clock_s() - start_s;
    return check(b, c);
}

static stencil_status sample(void *context, int row, double *value) {
    bench *b = context;
    multi_case *c = &b->cases[row];
    double low_s, high_s;
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
            const void *kernel = stencil_multi_grid_kernel(c->barrier, verify);
            struct cudaFuncAttributes attributes;
            int count = 0;
            TRY_CUDA(cudaSetDevice(b->gpu[part]));
            TRY_CUDA(cudaFuncGetAttributes(&attributes, kernel));
            TRY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&count, kernel, (int)c->threads, 0));
            *all = *all && (uint32_t)(count * b->sm_count) >= c->blocks;
        }
    return STENCIL_OK;
}

static stencil_status add_case(bench *b, stencil_bench_result *result, int barrier, int gpus,
                               int blocks_per_sm, int threads) {
    const char *name = barrier == STENCIL_MULTI_GRID_FAULT ? "planted fault" : stencil_barriers[barrier].name;
    int row;
    bool all;
    TRY(stencil_bench_add_row(result, "barrier", name, "s/pass", &row));
    CHECK(row < CASES_MAX, INTERNAL, "multi-grid: more rows than places");
    stencil_bench_set_axis(result, row, "gpus", gpus);
    stencil_bench_set_axis(result, row, "blocks_per_sm", blocks_per_sm);
    stencil_bench_set_axis(result, row, "threads", threads);
    result->row[row].method = STENCIL_METHOD_TWO_COUNTS;
    multi_case *c = &b->cases[row];
    *c = (multi_case){.barrier = barrier,
                      .name = name,
                      .gpus = gpus,
                      .blocks = (uint32_t)(b->sm_count * blocks_per_sm),
                      .threads = (unsigned)threads,
                      .two.difference = (double)b->more};
    TRY(fits(b, c, &all));
    if (!all)
        stencil_bench_skip_row(result, row, "%u blocks of %d threads are not resident at once", c->blocks,
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

static stencil_status enable_peers(const bench *b, int part) {
    for (int other = 0; other < b->gpu_count; other++) {
        const cudaError_t state = other == part ? cudaSuccess : cudaDeviceEnablePeerAccess(b->gpu[other], 0);
        if (state != cudaErrorPeerAccessAlreadyEnabled)
            TRY_CUDA(state);
        cudaGetLastError(); /* that it was enabled before is no failure */
    }
    return STENCIL_OK;
}

static stencil_status allocate(bench *b) {
    const size_t n = b->blocks_most,
                 words = stencil_barrier_word_count(b->blocks_most * (uint32_t)b->gpu_count);
    const size_t lists = (n + 1) + STENCIL_RING_NEIGHBORS * n + n;
    uint32_t *pointer[3 * STENCIL_GPUS_MAX];
    b->host = malloc(lists * sizeof *b->host);
    CHECK(b->host != NULL, NO_MEMORY, "no memory for a ring of %u blocks", b->blocks_most);
    for (int part = 0; part < b->gpu_count; part++) {
        part_memory *m = &b->part[part];
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY(enable_peers(b, part));
        TRY_CUDA(cudaMalloc((void **)&m->words, cleared_bytes(b) + lists * sizeof *m->words));
        TRY_CUDA(cudaMalloc((void **)&m->peers, 3 * (size_t)b->gpu_count * sizeof *m->peers));
        m->alarm = m->words + words;
        m->word = m->alarm + STENCIL_LINE_WORDS;
        m->first = m->word + n;
        m->list = m->first + n + 1;
        m->announce = m->list + STENCIL_RING_NEIGHBORS * n;
        pointer[part] = m->words;
        pointer[b->gpu_count + part] = m->alarm;
        pointer[2 * b->gpu_count + part] = m->word;
    }
    for (int part = 0; part < b->gpu_count; part++) {
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY_CUDA(cudaMemcpy(b->part[part].peers, pointer, 3 * (size_t)b->gpu_count * sizeof *pointer,
                            cudaMemcpyHostToDevice));
    }
    return STENCIL_OK;
}

static stencil_status prepare(bench **made, const stencil_bench_options *options, int gpu_count) {
    bench *b = *made = calloc(1, sizeof *b);
    CHECK(b != NULL, NO_MEMORY, "no memory for the benchmark multi-grid");
    b->gpu = options->gpu;
    b->gpu_count = gpu_count;
    b->more = stencil_repeats_more(options);
    TRY_CUDA(cudaDeviceGetAttribute(&b->sm_count, cudaDevAttrMultiProcessorCount, b->gpu[0]));
    for (int i = 1; i < gpu_count; i++) {
        int other;
        TRY_CUDA(cudaDeviceGetAttribute(&other, cudaDevAttrMultiProcessorCount, b->gpu[i]));
        b->sm_count = other < b->sm_count ? other : b->sm_count;
    }
    b->blocks_most = (uint32_t)(b->sm_count * BLOCKS_PER_SM_MAX);
    return allocate(b);
}

static void destroy(bench *b) {
    if (b == NULL)
        return;
    for (int i = 0; i < b->gpu_count; i++) {
        cudaFree(b->part[i].words);
        cudaFree(b->part[i].peers);
    }
    free(b->host);
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
static stencil_status run_part(const bench *b, bool half_the_blocks, stencil_partial_outcome *outcome) {
    const multi_case c = {.barrier = STENCIL_BARRIER_multi_grid,
                          .gpus = b->gpu_count,
                          .blocks = (uint32_t)b->sm_count,
                          .threads = PART_THREADS};
    struct cudaFuncAttributes attributes;
    bool gave_up = false, ended = true;
    for (int part = 0; part < c.gpus; part++) {
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY_CUDA(cudaFuncGetAttributes(&attributes, stencil_multi_grid_part_kernel()));
    }
    TRY(clear(b, &c));
    for (int part = 0; part < c.gpus; part++) {
        stencil_multi_grid_passes p = arguments_of(b, &c, part, 1);
        p.state.timeout_ns = part_timeout_ns;
        p.blocks = half_the_blocks ? c.blocks / 2 : part < c.gpus / 2 ? c.blocks : 0;
        void *arguments[] = {&p};
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY_CUDA(cudaLaunchCooperativeKernel(stencil_multi_grid_part_kernel(), (dim3){c.blocks, 1, 1},
                                             (dim3){c.threads, 1, 1}, arguments, 0, NULL));
    }
    TRY(wait_for_all(b, c.gpus));
    for (int part = 0; part < c.gpus; part++) {
        uint32_t seen[STENCIL_LINE_WORDS];
        TRY_CUDA(cudaMemcpy(seen, b->part[part].alarm, sizeof seen, cudaMemcpyDeviceToHost));
        gave_up = gave_up || seen[0] != 0;
        ended = ended && seen[DONE_AT] == c.blocks;
    }
    *outcome = !ended    ? STENCIL_PARTIAL_LOSES
               : gave_up ? STENCIL_PARTIAL_GIVES_UP
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

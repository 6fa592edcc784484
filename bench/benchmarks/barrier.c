/* What one pass of each barrier costs: one block of 256 threads on every multiprocessor, or all threads of a
 * CPU. The launch is shared by so many passes that it does not count. `neighbor` waits for the two neighbours
 * in a ring. */
#include "bench/benchmarks/barrier.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/benchmark.h"
#include "solver/gpu.h"

enum { CLUSTER_BLOCKS = 4, VERIFIED_PASSES = 2000 };
static const uint64_t timeout_ns = 10000000000;

/* Participants, who waits for whom, and the row of each barrier. */
typedef struct bench {
    uint32_t participants;
    uint32_t *first, *list;                       /* ring, on the host, owned */
    stencil_barrier_id id[STENCIL_BARRIER_COUNT]; /* of each row */
    stencil_barrier_state state;                  /* where the participants are */
    uint32_t alarm[3];                            /* of a CPU team */
#ifdef STENCIL_HAVE_CUDA
    void *memory; /* device: words, alarm, word, missing, first, list */
    uint32_t *missing, *word;
    cudaEvent_t begin, end;
#endif
} bench;

static stencil_status ring(bench *b, uint32_t participants) {
    b->participants = participants;
    b->first = malloc((participants + 1) * sizeof *b->first);
    b->list = malloc(2 * (size_t)participants * sizeof *b->list);
    CHECK(b->first != NULL && b->list != NULL, NO_MEMORY, "no memory for the barriers of %u participants",
          (unsigned)participants);
    for (uint32_t p = 0; p < participants; p++) {
        b->first[p] = 2 * p;
        b->list[2 * p] = (p + participants - 1) % participants;
        b->list[2 * p + 1] = (p + 1) % participants;
    }
    b->first[participants] = 2 * participants;
    return STENCIL_OK;
}

/* A row for each barrier that can run here. */
static stencil_status add_rows(bench *b, const stencil_machine *machine, const stencil_bench_options *options,
                               stencil_bench_result *result) {
    /* On a GPU the first row is the library's own grid.sync(), which has no time limit. */
    const bool on_gpu = options->backend == STENCIL_BACKEND_GPU;
    for (int id = on_gpu ? STENCIL_BARRIER_none : STENCIL_BARRIER_none + 1; id < STENCIL_BARRIER_COUNT;
         id++) {
        int row;
        TRY(stencil_bench_add_row(result, "barrier",
                                  id == STENCIL_BARRIER_none ? "grid.sync" : stencil_barriers[id].name,
                                  "s/pass", &row));
        b->id[row] = (stencil_barrier_id)id;
        if (on_gpu && machine->gpu[options->gpu[0]].capability < stencil_barriers[id].capability)
            snprintf(result->row[row].skipped, sizeof result->row[row].skipped,
                     "needs compute capability %d.%d", stencil_barriers[id].capability / 10,
                     stencil_barriers[id].capability % 10);
    }
    return STENCIL_OK;
}

static stencil_status measure(bench *b, stencil_bench_sampler sampler, stencil_bench_sampler verifier,
                              const stencil_bench_options *options, stencil_bench_result *result) {
    double time_s;
    for (int row = 0; row < result->row_count; row++)
        if (result->row[row].skipped[0] == '\0')
            TRY(stencil_bench_calibrate(sampler, b, row, options->iterations, &result->row[row].iterations));
    TRY(stencil_bench_measure(result, options, sampler, b));
    for (int row = 0; row < result->row_count; row++)
        if (result->row[row].skipped[0] == '\0')
            TRY(verifier(b, row, VERIFIED_PASSES, &time_s));
    stencil_bench_add_note(result,
                           "Verified: after timing, %d passes of each in which everybody checked that "
                           "those it waits for had arrived.",
                           VERIFIED_PASSES);
    return STENCIL_OK;
}

/* The team passes `passes` times; with `word`, everybody leaves the number of the pass there and looks at the
 * next. */
static stencil_status pass_team(bench *b, int row, int64_t passes, uint32_t *word, double *time_s) {
    const stencil_barrier_id id = b->id[row];
    int64_t missing = 0;
    int threads = 0;
    double start_s = 0;
    /* Each barrier counts in its own way: the words are zeroed from one to the next. */
    memset(b->state.words, 0, stencil_barrier_word_count(b->participants) * sizeof(uint32_t));
#pragma omp parallel num_threads((int)b->participants) reduction(+ : missing)
    {
        const uint32_t thread = (uint32_t)omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
#pragma omp master
        start_s = stencil_clock_s();
        for (int64_t i = 1; i <= passes && threads == (int)b->participants; i++) {
            if (word != NULL)
                __atomic_store_n(&word[32 * thread], (uint32_t)i, __ATOMIC_RELAXED);
            if (!stencil_team_sync(id, &b->state, thread, false))
                break;
            if (word != NULL)
                missing += __atomic_load_n(&word[32 * ((thread + 1) % b->participants)], __ATOMIC_RELAXED) <
                           (uint32_t)i;
        }
    }
    *time_s = stencil_clock_s() - start_s;
    CHECK(threads == (int)b->participants, UNAVAILABLE, "OpenMP gave %d threads where %u were asked for",
          threads, (unsigned)b->participants);
    CHECK(b->alarm[0] == 0, INTERNAL, "barrier %s: thread %u waited in vain", stencil_barriers[id].name,
          b->alarm[0] - 1);
    CHECK(missing == 0, INTERNAL, "barrier %s does not hold: %lld times somebody had not arrived",
          stencil_barriers[id].name, (long long)missing);
    return STENCIL_OK;
}

static stencil_status sample_cpu(void *context, int row, int64_t passes, double *time_s) {
    return pass_team(context, row, passes, NULL, time_s);
}

static stencil_status verify_cpu(void *context, int row, int64_t passes, double *time_s) {
    bench *b = context;
    void *word;
    TRY(stencil_memory_alloc(&word, (int64_t)b->participants * 128, "the barriers"));
    const stencil_status status = pass_team(b, row, passes, word, time_s);
    free(word);
    return status;
}

static stencil_status prepare_and_run_cpu(bench *b, const stencil_bench_options *options,
                                          const stencil_machine *machine, stencil_bench_result *result) {
    TRY(ring(b, (uint32_t)machine->cpu_threads));
    void *words;
    TRY(stencil_memory_alloc(
        &words, (int64_t)(stencil_barrier_word_count(b->participants) * sizeof(uint32_t)), "the barriers"));
    b->state = (stencil_barrier_state){.words = words,
                                       .participants = b->participants,
                                       .neighbor_first = b->first,
                                       .neighbor = b->list,
                                       .timeout_ns = timeout_ns,
                                       .alarm = b->alarm};
    stencil_bench_add_number(result, "threads", machine->cpu_threads);
    TRY(add_rows(b, machine, options, result));
    return measure(b, sample_cpu, verify_cpu, options, result);
}

static stencil_status run_cpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    bench b = {0};
    const stencil_status status = prepare_and_run_cpu(&b, options, machine, result);
    free(b.first);
    free(b.list);
    free(b.state.words);
    return status;
}

#ifdef STENCIL_HAVE_CUDA
static stencil_status launch(bench *b, int row, int64_t passes, bool verify) {
    const bool clusters = stencil_barriers[b->id[row]].needs == STENCIL_NEEDS_CLUSTERS;
    const uint32_t blocks = clusters ? b->participants / CLUSTER_BLOCKS * CLUSTER_BLOCKS : b->participants;
    stencil_barrier_passes p = {.state = b->state, .passes = passes, .word = b->word, .missing = b->missing};
    p.state.participants = blocks;
    cudaLaunchAttribute attribute[2] = {
        {.id = cudaLaunchAttributeCooperative, .val.cooperative = 1},
        {.id = cudaLaunchAttributeClusterDimension, .val.clusterDim = {CLUSTER_BLOCKS, 1, 1}},
    };
    const cudaLaunchConfig_t config = {.gridDim = {blocks, 1, 1},
                                       .blockDim = {STENCIL_BLOCK_THREADS, 1, 1},
                                       .attrs = attribute,
                                       .numAttrs = clusters ? 2 : 1};
    void *arguments[] = {&p};
    TRY_CUDA(cudaMemset(b->state.words, 0, stencil_barrier_word_count(b->participants) * sizeof(uint32_t)));
    TRY_CUDA(cudaMemset(b->word, 0, b->participants * sizeof(uint32_t)));
    TRY_CUDA(cudaEventRecord(b->begin, 0));
    TRY_CUDA(cudaLaunchKernelExC(&config, stencil_barrier_pass_kernel(b->id[row], verify), arguments));
    TRY_CUDA(cudaEventRecord(b->end, 0));
    TRY_CUDA(cudaEventSynchronize(b->end));
    return STENCIL_OK;
}

/* Alarm and missing arrivals of the last launch. */
static stencil_status check(const bench *b, int row) {
    uint32_t alarm, missing;
    TRY_CUDA(cudaMemcpy(&alarm, b->state.alarm, sizeof alarm, cudaMemcpyDeviceToHost));
    TRY_CUDA(cudaMemcpy(&missing, b->missing, sizeof missing, cudaMemcpyDeviceToHost));
    CHECK(alarm == 0, INTERNAL, "barrier %s: block %u waited in vain", stencil_barriers[b->id[row]].name,
          alarm - 1);
    CHECK(missing == 0, INTERNAL, "barrier %s does not hold: %u times a block had not arrived",
          stencil_barriers[b->id[row]].name, missing);
    return STENCIL_OK;
}

static stencil_status sample_gpu(void *context, int row, int64_t passes, double *time_s) {
    bench *b = context;
    float ms = 0;
    TRY(launch(b, row, passes, false));
    TRY_CUDA(cudaEventElapsedTime(&ms, b->begin, b->end));
    *time_s = 1e-3 * (double)ms;
    return check(b, row);
}

static stencil_status verify_gpu(void *context, int row, int64_t passes, double *time_s) {
    *time_s = 0;
    TRY(launch(context, row, passes, true));
    return check(context, row);
}

static stencil_status prepare_gpu(bench *b, const stencil_bench_options *options,
                                  const stencil_machine *machine) {
    TRY_CUDA(cudaSetDevice(options->gpu[0]));
    TRY(ring(b, (uint32_t)machine->gpu[options->gpu[0]].sm_count));
    const size_t n = b->participants, words = stencil_barrier_word_count(b->participants);
    const size_t count = words + STENCIL_LINE_WORDS + n + (n + 1) + 2 * n;
    TRY_CUDA(cudaMalloc(&b->memory, count * sizeof(uint32_t)));
    TRY_CUDA(cudaMemset(b->memory, 0, count * sizeof(uint32_t)));
    uint32_t *at = b->memory;
    b->state =
        (stencil_barrier_state){.words = at, .participants = b->participants, .timeout_ns = timeout_ns};
    b->state.alarm = at += words;
    b->missing = at + 1;
    b->word = at += STENCIL_LINE_WORDS;
    b->state.neighbor_first = at += n;
    TRY_CUDA(cudaMemcpy(at, b->first, (n + 1) * sizeof *at, cudaMemcpyHostToDevice));
    b->state.neighbor = at += n + 1;
    TRY_CUDA(cudaMemcpy(at, b->list, 2 * n * sizeof *at, cudaMemcpyHostToDevice));
    TRY_CUDA(cudaEventCreate(&b->begin));
    TRY_CUDA(cudaEventCreate(&b->end));
    return STENCIL_OK;
}

static stencil_status prepare_and_run_gpu(bench *b, const stencil_bench_options *options,
                                          const stencil_machine *machine, stencil_bench_result *result) {
    TRY(prepare_gpu(b, options, machine));
    stencil_bench_add_number(result, "blocks", b->participants);
    stencil_bench_add_number(result, "threads_per_block", STENCIL_BLOCK_THREADS);
    stencil_bench_add_number(result, "blocks_per_cluster", CLUSTER_BLOCKS);
    TRY(add_rows(b, machine, options, result));
    return measure(b, sample_gpu, verify_gpu, options, result);
}

static stencil_status run_gpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    bench b = {0};
    const stencil_status status = prepare_and_run_gpu(&b, options, machine, result);
    cudaFree(b.memory);
    if (b.begin != NULL)
        cudaEventDestroy(b.begin);
    if (b.end != NULL)
        cudaEventDestroy(b.end);
    free(b.first);
    free(b.list);
    return status;
}
#endif

const stencil_benchmark stencil_benchmark_barrier = {
    .run_cpu = run_cpu,
    .run_gpu = STENCIL_ON_GPU(run_gpu),
};

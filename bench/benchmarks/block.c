/* __syncthreads() (000 section 5.2, Fig. 6; Zhang et al., A Study of Synchronization Methods in Modern GPUs,
 * Table 5): latency of one block of 32 to 1024 threads, and throughput over blocks per multiprocessor and
 * threads per block, that is over active warps. */
#include "bench/benchmarks/method.h"
#include "bench/benchmarks/sm.h"
#include "base/cuda.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>

#include "bench/benchmarks/block_kernels.h"

enum { CASES_MAX = 64, VERIFIED_PASSES = 200 };

typedef struct block_case {
    int threads, blocks_per_sm; /* 0 blocks: the latency of a single one */
} block_case;

typedef struct bench {
    int64_t latency_repeats, throughput_repeats;
    stencil_sm_timing timing;
    block_case cases[CASES_MAX];
} bench;

static stencil_status sample(void *context, int row, double *value) {
    bench *b = context;
    const block_case *c = &b->cases[row];
    const bool latency = c->blocks_per_sm == 0;
    const int64_t repeats = latency ? b->latency_repeats : b->throughput_repeats;
    stencil_sm_times times;
    TRY(stencil_sm_run(&b->timing, stencil_block_kernel(), "__syncthreads",
                       latency ? 1 : c->blocks_per_sm * b->timing.sm_count, c->threads, repeats, 0, &times));
    *value = latency ? times.cycles / (double)repeats : times.throughput;
    return STENCIL_OK;
}

static stencil_status add_rows(bench *b, stencil_bench_result *result) {
    int row;
    for (int threads = 32; threads <= STENCIL_SM_BLOCK_MAX; threads += 32) {
        TRY(stencil_bench_add_row(result, "latency", "__syncthreads", "cycles", &row));
        stencil_bench_set_axis(result, row, "threads", threads);
        result->row[row].method = STENCIL_METHOD_GPU_CLOCK;
        b->cases[row] = (block_case){.threads = threads};
    }
    for (int blocks = 1; blocks <= STENCIL_SM_BLOCKS_MAX; blocks *= 2)
        for (int threads = 32; threads <= STENCIL_SM_BLOCK_MAX; threads *= 2) {
            if (blocks * threads > STENCIL_SM_THREADS_MAX)
                continue;
            TRY(stencil_bench_add_row(result, "throughput", "__syncthreads", "warps/cycle", &row));
            stencil_bench_set_axis(result, row, "blocks_per_sm", blocks);
            stencil_bench_set_axis(result, row, "threads", threads);
            result->row[row].method = STENCIL_METHOD_SM_CLOCK;
            result->row[row].higher_is_better = true;
            b->cases[row] = (block_case){.threads = threads, .blocks_per_sm = blocks};
        }
    return STENCIL_OK;
}

static stencil_status verify(bench *b) {
    stencil_sm_times times;
    for (int threads = 32; threads <= STENCIL_SM_BLOCK_MAX; threads += 32)
        TRY(stencil_sm_run(&b->timing, stencil_block_check_kernel(), "__syncthreads",
                           STENCIL_SM_THREADS_MAX / STENCIL_SM_BLOCK_MAX * b->timing.sm_count, threads,
                           VERIFIED_PASSES, 0, &times));
    return STENCIL_OK;
}

static stencil_status measure(bench *b, const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    TRY_CUDA(cudaSetDevice(options->gpu[0]));
    TRY(stencil_sm_timing_create(&b->timing, machine->gpu[options->gpu[0]].sm_count));
    const int64_t asked = (options->repeats + STENCIL_BLOCK_UNROLLED - 1) / STENCIL_BLOCK_UNROLLED;
    b->latency_repeats = asked > 0 ? asked * STENCIL_BLOCK_UNROLLED : STENCIL_REPEATS;
    b->throughput_repeats = asked > 0 ? asked * STENCIL_BLOCK_UNROLLED : STENCIL_REPEATS_MORE;
    stencil_bench_add_number(result, "latency_repeats", b->latency_repeats);
    stencil_bench_add_number(result, "throughput_repeats", b->throughput_repeats);
    TRY(add_rows(b, result));
    TRY(stencil_bench_measure_values(result, options, sample, b));
    TRY(verify(b));
    stencil_bench_add_note(result,
                           "Throughput: arrivals of warps per cycle on one multiprocessor, the median "
                           "of all; a block's barrier is as many as it has warps.");
    stencil_bench_add_note(result,
                           "Verified: after timing, %d barriers of each block size in which every "
                           "thread looked whether another one had arrived.",
                           VERIFIED_PASSES);
    return STENCIL_OK;
}

static stencil_status run_gpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    bench *b = calloc(1, sizeof *b);
    CHECK(b != NULL, NO_MEMORY, "no memory for the benchmark block");
    const stencil_status status = measure(b, options, machine, result);
    stencil_sm_timing_destroy(&b->timing);
    free(b);
    return status;
}
#endif

const stencil_benchmark stencil_benchmark_block = {
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .gpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_REPEATS,
};

/* Barriers and shuffles inside a warp (000 Table 2; Zhang et al., A Study of Synchronization Methods in
 * Modern GPUs, Table 4): __syncwarp(), tiles and coalesced groups of every size. Latency: one warp;
 * throughput: the best of all numbers of blocks and threads that fit on a multiprocessor.
 *
 * Since compute capability 7.0 the lanes of a warp run on their own, and where the compiler knows that they
 * go together a barrier is a NOP. So barriers are timed in two loops: one of which it knows that, which is
 * what they cost in most code, and one of which it does not, where they are real; what that loop costs by
 * itself is the row "loop". */
#include "bench/benchmarks/method.h"
#include "bench/benchmarks/sm.h"
#include "base/cuda.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdio.h>
#include <stdlib.h>

#include "bench/benchmarks/warp_kernels.h"

enum { CASES_MAX = 320, CHECKED_REPEATS = 6, BARRIER_REPEATS = 200 };

static const char *const names[STENCIL_WARP_OPERATION_COUNT] = {
    "loop", "__syncwarp", "tile", "coalesced", "shuffle, tile", "shuffle, coalesced",
};

typedef struct warp_case {
    stencil_warp_operation operation;
    stencil_warp_loop loop;
    int size;
    int threads, blocks_per_sm; /* of the highest throughput; 0 blocks: the latency of a single warp */
} warp_case;

typedef struct bench {
    int64_t latency_repeats, throughput_repeats;
    stencil_sm_timing timing;
    warp_case cases[CASES_MAX];
} bench;

static stencil_status run_case(bench *b, const warp_case *c, stencil_sm_times *times) {
    const bool latency = c->blocks_per_sm == 0;
    return stencil_sm_run(&b->timing, stencil_warp_kernel(c->operation, c->size, c->loop),
                          names[c->operation], latency ? 1 : c->blocks_per_sm * b->timing.sm_count,
                          c->threads, latency ? b->latency_repeats : b->throughput_repeats, c->size, times);
}

static stencil_status sample(void *context, int row, double *value) {
    bench *b = context;
    const warp_case *c = &b->cases[row];
    stencil_sm_times times;
    TRY(run_case(b, c, &times));
    *value = c->blocks_per_sm == 0 ? times.cycles / (double)b->latency_repeats : times.throughput;
    return STENCIL_OK;
}

/* The blocks and threads of the highest throughput. */
static stencil_status choose_shape(bench *b, warp_case *c) {
    warp_case try = *c;
    double best = 0;
    for (try.blocks_per_sm = 1; try.blocks_per_sm <= STENCIL_SM_BLOCKS_MAX; try.blocks_per_sm *= 2)
        for (try.threads = 32; try.threads <= STENCIL_SM_BLOCK_MAX; try.threads *= 2) {
            stencil_sm_times times;
            if (try.blocks_per_sm * try.threads > STENCIL_SM_THREADS_MAX)
                continue;
            TRY(run_case(b, &try, &times));
            if (times.throughput > best) {
                best = times.throughput;
                *c = try;
            }
        }
    return STENCIL_OK;
}

static stencil_status add_case(bench *b, stencil_bench_result *result, stencil_warp_operation operation,
                               stencil_warp_loop loop, int size) {
    for (int throughput = 0; throughput < 2; throughput++) {
        static const char *const kinds[2][2] = {{"latency", "latency, lanes apart"},
                                                {"throughput", "throughput, lanes apart"}};
        int row;
        TRY(stencil_bench_add_row(result, kinds[throughput][loop == STENCIL_WARP_APART], names[operation],
                                  throughput ? "operations/cycle" : "cycles", &row));
        stencil_bench_set_axis(result, row, "size", size);
        result->row[row].method = throughput ? STENCIL_METHOD_SM_CLOCK : STENCIL_METHOD_GPU_CLOCK;
        result->row[row].higher_is_better = throughput;
        b->cases[row] = (warp_case){.operation = operation, .loop = loop, .size = size, .threads = 32};
        if (throughput)
            TRY(choose_shape(b, &b->cases[row]));
    }
    return STENCIL_OK;
}

/* Every size that an operation has. */
static stencil_status for_each(bench *b, stencil_bench_result *result,
                               stencil_status (*visit)(bench *b, stencil_bench_result *result,
                                                       stencil_warp_operation operation,
                                                       stencil_warp_loop loop, int size),
                               stencil_warp_loop loop) {
    for (int operation = 0; operation < STENCIL_WARP_OPERATION_COUNT; operation++) {
        const bool whole = operation == STENCIL_WARP_NOTHING || operation == STENCIL_WARP_SYNCWARP;
        for (int size = whole ? 32 : 1; size <= 32; size++)
            if (stencil_warp_kernel((stencil_warp_operation)operation, size, loop) != NULL)
                TRY(visit(b, result, (stencil_warp_operation)operation, loop, size));
    }
    return STENCIL_OK;
}

static stencil_status verify(bench *b, stencil_bench_result *result, stencil_warp_operation operation,
                             stencil_warp_loop loop, int size) {
    (void)result;
    stencil_sm_times times;
    /* Shuffles by a number that is no multiple of a group's size: it shows who has whose value. */
    const bool shuffles =
        operation == STENCIL_WARP_SHUFFLE_TILE || operation == STENCIL_WARP_SHUFFLE_COALESCED;
    return stencil_sm_run(&b->timing, stencil_warp_kernel(operation, size, loop), names[operation],
                          b->timing.sm_count, STENCIL_SM_BLOCK_MAX,
                          shuffles ? CHECKED_REPEATS : BARRIER_REPEATS, size, &times);
}

static stencil_status measure(bench *b, const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    TRY_CUDA(cudaSetDevice(options->gpu[0]));
    TRY(stencil_sm_timing_create(&b->timing, machine->gpu[options->gpu[0]].sm_count));
    const int64_t asked = (options->repeats + STENCIL_WARP_UNROLLED - 1) / STENCIL_WARP_UNROLLED;
    b->latency_repeats = asked > 0 ? asked * STENCIL_WARP_UNROLLED : STENCIL_REPEATS;
    b->throughput_repeats = asked > 0 ? asked * STENCIL_WARP_UNROLLED : STENCIL_REPEATS_MORE;
    stencil_bench_add_number(result, "latency_repeats", b->latency_repeats);
    stencil_bench_add_number(result, "throughput_repeats", b->throughput_repeats);
    TRY(for_each(b, result, add_case, STENCIL_WARP_TOGETHER));
    TRY(for_each(b, result, add_case, STENCIL_WARP_APART));
    TRY(stencil_bench_measure_values(result, options, sample, b));
    TRY(for_each(b, result, verify, STENCIL_WARP_CHECK));
    stencil_bench_add_note(result,
                           "Throughput: operations of warps per cycle on one multiprocessor, the median "
                           "of all, with the blocks and threads that gave most.");
    stencil_bench_add_note(result,
                           "Where the compiler knows that lanes go together, a barrier is a NOP; "
                           "\"lanes apart\": in a loop of which it does not know; \"loop\": that loop "
                           "alone.");
    stencil_bench_add_note(result, "Verified: after timing, barriers that all lanes checked, some of them "
                                   "late; in every shuffle run, who has whose value.");
    return STENCIL_OK;
}

static stencil_status run_gpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    bench *b = calloc(1, sizeof *b);
    CHECK(b != NULL, NO_MEMORY, "no memory for the benchmark warp");
    const stencil_status status = measure(b, options, machine, result);
    stencil_sm_timing_destroy(&b->timing);
    free(b);
    return status;
}
#endif

const stencil_benchmark stencil_benchmark_warp = {
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .gpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_REPEATS,
};

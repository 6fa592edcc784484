/* Barriers and shuffles inside a warp (000 Table 2; Zhang et al., A Study of Synchronization Methods in
 * Modern GPUs, Table 4): __syncwarp(), tiles and coalesced groups of every size. Latency: one warp;
 * throughput: the best of all numbers of blocks and threads that fit on a multiprocessor.
 *
 * Since compute capability 7.0 the lanes of a warp run on their own, and where the compiler knows that they
 * go together a barrier is a NOP. So barriers are timed in two loops: one of which it knows that, which is
 * what they cost in most code, and one of which it does not, where they are real; what that loop costs by
 * itself is the row "loop". */
#include "bench/benchmarks/sm.h"
#include "bench/method.h"

#ifdef STENCIL_HAVE_CUDA
enum { CHECKED_REPEATS = 6, BARRIER_REPEATS = 200 };

/* The blocks and threads of the highest throughput. */
static stencil_status choose_shape(stencil_bench *b, stencil_sm_case *c) {
    stencil_sm_case try = *c;
    double best = 0, value;
    while (stencil_next_shape(&try.blocks_per_sm, &try.threads, STENCIL_BLOCKS_MAX, 32)) {
        TRY(stencil_sm_sample(b, &try, try.timing->throughput_repeats, &value));
        if (value > best) {
            best = value;
            *c = try;
        }
    }
    return STENCIL_OK;
}

/* Latency of a single warp, throughput of the shape that has most. An operation is verified once, behind its
 * plain loop; shuffles so often that it is no multiple of a group's size: it shows who has whose value. */
static stencil_status add_rows(stencil_bench *b, stencil_sm_case c, bool apart) {
    TRY(STENCIL_BENCH_ADD(b, c, apart ? "latency, lanes apart" : "latency", c.name, "cycles",
                          STENCIL_METHOD_GPU_CLOCK, .sample = stencil_sm_sample,
                          .verify = apart ? NULL : stencil_sm_verify, .axis = {{"size", c.size}},
                          .count = c.timing->latency_repeats));
    c.scale = 1;
    TRY(choose_shape(b, &c));
    return STENCIL_BENCH_ADD(b, c, apart ? "throughput, lanes apart" : "throughput", c.name,
                             "operations/cycle", STENCIL_METHOD_SM_CLOCK, .sample = stencil_sm_sample,
                             .axis = {{"size", c.size}}, .count = c.timing->throughput_repeats);
}

stencil_status stencil_measure_warp(stencil_bench *b) {
    stencil_sm_timing timing;
    TRY(stencil_sm_begin(b, &timing, STENCIL_SM_UNROLLED));
    for (int loop = STENCIL_LOOP_TOGETHER; loop <= STENCIL_LOOP_APART; loop++)
        for (const stencil_group_kernel *k = stencil_warp_kernels; k->name != NULL; k++) {
            stencil_sm_case c = {.timing = &timing,
                                 .kernel = k->kernel[loop],
                                 .checked = k->kernel[STENCIL_LOOP_CHECKED],
                                 .checks = k->shuffles ? CHECKED_REPEATS : BARRIER_REPEATS,
                                 .name = k->name,
                                 .threads = 32,
                                 .checked_threads = STENCIL_BLOCK_THREADS_MAX};
            for (c.size = k->least; c.size <= k->most && c.kernel != NULL; c.size++)
                TRY(add_rows(b, c, loop == STENCIL_LOOP_APART));
        }
    stencil_bench_note(b, "Throughput: operations of warps per cycle on one multiprocessor, the median of "
                          "all, with the blocks and threads that gave most.");
    stencil_bench_note(b, "Where the compiler knows that lanes go together, a barrier is a NOP; \"lanes "
                          "apart\": in a loop of which it does not know; \"loop\": that loop alone.");
    stencil_bench_note(b, "Verified: after timing, barriers that all lanes checked, some of them late; in "
                          "every shuffle run, who has whose value.");
    return stencil_bench_take(b);
}
#endif

/* __syncthreads() (000 section 5.2, Fig. 6; Zhang et al., A Study of Synchronization Methods in Modern GPUs,
 * Table 5): latency of one block of 32 to 1024 threads, and throughput over blocks per multiprocessor and
 * threads per block, that is over active warps. */
#include "bench/benchmarks/sm.cuh"

using namespace stencil;

enum { VERIFIED_PASSES = 200 };

stencil_status stencil_measure_block(stencil_bench *b) {
    sm_timing timing;
    sm_case c = {.timing = &timing,
                 .kernel = time_operation<barrier<whole_block>, SM_UNROLLED>,
                 .name = "__syncthreads",
                 .checked = time_operation<checked_barrier<whole_block>, 1>,
                 .checks = VERIFIED_PASSES};
    TRY(sm_begin(b, &timing, SM_UNROLLED));
    for (c.threads = 32; c.threads <= STENCIL_BLOCK_THREADS_MAX; c.threads += 32) {
        c.checked_threads = c.threads;
        TRY(STENCIL_BENCH_ADD(b, c, "latency", c.name, "cycles", STENCIL_METHOD_GPU_CLOCK,
                              .sample = sm_sample, .verify = sm_verify, .axis = {{"threads", c.threads}},
                              .count = timing.latency_repeats));
    }
    c.scale = 1;
    while (stencil_next_shape(&c.blocks_per_sm, &c.threads, STENCIL_BLOCKS_MAX, 32))
        TRY(STENCIL_BENCH_ADD(b, c, "throughput", c.name, "warps/cycle", STENCIL_METHOD_SM_CLOCK,
                              .sample = sm_sample,
                              .axis = {{"blocks_per_sm", c.blocks_per_sm}, {"threads", c.threads}},
                              .count = timing.throughput_repeats));
    stencil_bench_note(b, "Throughput: arrivals of warps per cycle on one multiprocessor, the median of all; "
                          "a block's barrier is as many as it has warps.");
    stencil_bench_note(b,
                       "Verified: after timing, %d barriers of each block size in which every thread looked "
                       "whether another one had arrived.",
                       VERIFIED_PASSES);
    return stencil_bench_take(b);
}

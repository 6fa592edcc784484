/* Fork and join: what a launch per step costs on a CPU, an empty parallel region. */
#include <omp.h>
#include <stdlib.h>

#include "bench/benchmarks/cpu.h"

/* A line of its own for the count of each thread. */
enum { COUNT_STRIDE = 16 };

/* b->own, [COUNT_STRIDE * threads]: regions that each thread has been in. */
static stencil_status sample(stencil_bench *b, void *what, int64_t regions, double *time_s) {
    const int threads = *(int *)what;
    int64_t *entered = b->own;
    /* A team of another size than before starts its threads first. */
#pragma omp parallel num_threads(threads)
    entered[COUNT_STRIDE * omp_get_thread_num()] = 0;
    const double start_s = stencil_clock_s();
    for (int64_t k = 0; k < regions; k++) {
#pragma omp parallel num_threads(threads)
        entered[COUNT_STRIDE * omp_get_thread_num()]++;
    }
    *time_s = stencil_clock_s() - start_s;
    for (int i = 0; i < threads; i++)
        CHECK(entered[COUNT_STRIDE * i] == regions, INTERNAL,
              "thread %d of %d was in %lld of %lld parallel regions", i, threads,
              (long long)entered[COUNT_STRIDE * i], (long long)regions);
    return STENCIL_OK;
}

stencil_status stencil_bench_launch_cpu(stencil_bench *b) {
    TRY(stencil_memory_alloc(&b->own,
                             (int64_t)b->machine->cpu_threads * COUNT_STRIDE * (int64_t)sizeof(int64_t),
                             "the counts of the threads"));
    TRY(stencil_bench_keep(b, free, b->own));
    for (int n = 0; (n = stencil_bench_next_threads(b, 1, n)) > 0;)
        TRY(STENCIL_BENCH_ADD(b, n, "launch", "fork-join", "s/region", .sample = sample,
                              .axis = {{"threads", n}}));
    TRY(stencil_bench_calibrate_rows(b));
    TRY(stencil_bench_take(b));
    stencil_bench_note(b, "Verified: after each sample, every thread was in every region.");
    return STENCIL_OK;
}

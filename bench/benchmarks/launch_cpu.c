/* Fork and join: what a launch per step costs on a CPU, an empty parallel region. */
#include <omp.h>
#include <stdlib.h>

#include "bench/benchmarks/cpu.h"
#include "bench/benchmarks/team.h"

/* A line of its own for the count of each thread. */
enum { COUNT_STRIDE = 16 };

typedef struct bench {
    stencil_bench_result *result;
    int64_t *entered; /* [COUNT_STRIDE * threads]: regions that each thread has been in */
} bench;

static stencil_status sample(void *context, int row, int64_t regions, double *time_s) {
    const bench *b = context;
    const int threads = (int)b->result->row[row].axis[0].number;
    /* A team of another size than before starts its threads first. */
#pragma omp parallel num_threads(threads)
    b->entered[COUNT_STRIDE * omp_get_thread_num()] = 0;
    const double start_s = stencil_clock_s();
    for (int64_t k = 0; k < regions; k++) {
#pragma omp parallel num_threads(threads)
        b->entered[COUNT_STRIDE * omp_get_thread_num()]++;
    }
    *time_s = stencil_clock_s() - start_s;
    for (int i = 0; i < threads; i++)
        CHECK(b->entered[COUNT_STRIDE * i] == regions, INTERNAL,
              "thread %d of %d was in %lld of %lld parallel regions", i, threads,
              (long long)b->entered[COUNT_STRIDE * i], (long long)regions);
    return STENCIL_OK;
}

static stencil_status run(bench *b, const stencil_bench_options *options, const stencil_machine *machine) {
    int count[STENCIL_BENCH_COUNTS_MAX], row;
    const int counts = stencil_bench_thread_counts(machine, 1, count);
    for (int i = 0; i < counts; i++) {
        TRY(stencil_bench_add_row(b->result, "launch", "fork-join", "s/region", &row));
        stencil_bench_set_axis(b->result, row, "threads", count[i]);
    }
    for (int i = 0; i < counts; i++)
        TRY(stencil_bench_calibrate(sample, b, i, options->iterations, &b->result->row[i].iterations));
    TRY(stencil_bench_measure(b->result, options, sample, b));
    stencil_bench_add_note(b->result, "Verified: after each sample, every thread was in every region.");
    return STENCIL_OK;
}

stencil_status stencil_bench_launch_cpu(const stencil_bench_options *options, const stencil_machine *machine,
                                        stencil_bench_result *result) {
    bench b = {.result = result};
    void *memory;
    TRY(stencil_memory_alloc(&memory, (int64_t)machine->cpu_threads * COUNT_STRIDE * (int64_t)sizeof(int64_t),
                             "the counts of the threads"));
    b.entered = memory;
    const stencil_status status = run(&b, options, machine);
    free(memory);
    return status;
}

/* OpenMP's own barrier: what threads that each drive a GPU coordinate with (000 section 4.2), without GPUs.
 */
#include "bench/benchmarks/cpu.h"
#include "bench/benchmarks/team.h"

enum { VERIFIED_PASSES = 2000 };

static bool sync(void *context, uint32_t thread) {
    (void)context;
    (void)thread;
#pragma omp barrier
    return true;
}

static stencil_bench_team team_of(int threads) {
    return (stencil_bench_team){.name = "omp barrier", .threads = threads, .sync = sync};
}

static stencil_status sample(void *context, int row, int64_t passes, double *time_s) {
    const stencil_bench_result *result = context;
    const stencil_bench_team team = team_of((int)result->row[row].axis[0].number);
    return stencil_bench_team_time(&team, passes, time_s);
}

stencil_status stencil_bench_host_barrier_cpu(const stencil_bench_options *options,
                                              const stencil_machine *machine, stencil_bench_result *result) {
    int count[STENCIL_BENCH_COUNTS_MAX], row;
    const int counts = stencil_bench_thread_counts(machine, 1, count);
    for (int i = 0; i < counts; i++) {
        TRY(stencil_bench_add_row(result, "host", "omp barrier", "s/pass", &row));
        stencil_bench_set_axis(result, row, "threads", count[i]);
    }
    for (int i = 0; i < counts; i++)
        TRY(stencil_bench_calibrate(sample, result, i, options->iterations, &result->row[i].iterations));
    TRY(stencil_bench_measure(result, options, sample, result));
    for (int i = 0; i < counts; i++) {
        const stencil_bench_team team = team_of(count[i]);
        TRY(stencil_bench_team_verify(&team, VERIFIED_PASSES));
    }
    stencil_bench_add_note(result,
                           "Verified: after timing, %d passes in which every thread checked that all "
                           "others had arrived.",
                           VERIFIED_PASSES);
    return STENCIL_OK;
}

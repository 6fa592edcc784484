/* The sum of doubles in shared memory by a thread, a warp and a block: where more threads pay for their
 * synchronisation (000 section 7.2, Tables 3 and 4; L. Zhang et al., "A Study of Single and Multi-device
 * Synchronization Methods in Nvidia GPUs"). Latency, throughput and synchronisation are measured, the switch
 * points follow from them by equations 4 and 5 (solver/plan/model.h), and are measured, too. Not a case of
 * cases.def: all of it happens in one block.
 *
 * The values are small integers, so every order of additions is exact; the index of each sum is added to it,
 * so that a stale result shows. */
#include <stdio.h>

#include "bench/benchmarks/sm.cuh"
#include "solver/plan/model.h"

using namespace stencil;

namespace {

enum { LANES = 32, VALUES_MAX = 4096, SUMS = 256, CHECKED_SUMS = 64, SYNCS = 5 };

/* Adds up a warp's values by shuffles in five steps, s += s of lane + 16, 8, … 1; lane 0 gets the sum. */
__device__ __forceinline__ double add_lanes(const tile<LANES> &warp, double sum) {
#pragma unroll
    for (unsigned step = LANES / 2; step > 0; step /= 2)
        sum += warp.shfl_down(sum, step);
    return sum;
}

/* One shuffle of a double between the lanes of a warp. */
struct shuffle : sm_operation {
    tile<LANES> warp;
    double value = threadIdx.x;
    __device__ explicit shuffle(const sm_arguments &) {}
    __device__ void once() {
        value = warp.shfl_down(value, 1);
    }
    __device__ int settle() {
        return value < 0;
    }
    __device__ unsigned wrong(int64_t) {
        return value != LANES - 1;
    }
};

/* A sum in thread 0 by one thread, by a warp with shuffles, or by a block, as in 000 (Fig. 12): threads store
 * partial sums, the first warp adds them after a barrier, and a second barrier ends the sum. */
template <int Threads, bool Each> struct sum_in_shared : sm_operation {
    const double *data;
    double *partial;
    int size, nothing, number = 0;
    double result = 0;
    unsigned wrong_sums = 0;
    __device__ explicit sum_in_shared(const sm_arguments &a) : size(a.size), nothing((int)a.words.count) {
        __shared__ double values[VALUES_MAX], partials[Threads];
        for (int i = (int)threadIdx.x; i < VALUES_MAX; i += Threads)
            values[i] = i % 8;
        if (Threads > 1)
            __syncthreads();
        data = values;
        partial = partials;
    }
    /* Returns the start value of a sum (its index in thread 0, else 0), made dependent on the previous sum.
     */
    __device__ double begin() const {
        return __hiloint2double(
            __double2hiint(threadIdx.x == 0 ? number : 0) | (__double2hiint(result) & nothing), 0);
    }
    __device__ double wanted() const {
        const int tail = size % 8;
        return number + size / 8 * 28 + tail * (tail - 1) / 2;
    }
    __device__ void once() {
        double sum = begin();
        for (int i = (int)threadIdx.x; i < size; i += Threads)
            sum += *(const volatile double *)(data + i);
        if constexpr (Threads > LANES) {
            partial[threadIdx.x] = sum;
            __syncthreads();
            if (threadIdx.x < LANES) {
                sum = 0;
#pragma unroll 8
                for (int i = (int)threadIdx.x; i < Threads; i += LANES)
                    sum += partial[i];
            }
        }
        if constexpr (Threads > 1)
            if (threadIdx.x < LANES)
                sum = add_lanes(tile<LANES>(), sum);
        if constexpr (Threads > LANES)
            __syncthreads();
        result = sum;
        if (Each)
            wrong_sums += threadIdx.x == 0 && result != wanted();
        number++;
    }
    __device__ int settle() {
        return __double2hiint(result) & nothing;
    }
    __device__ unsigned wrong(int64_t) {
        if (Each)
            return wrong_sums;
        number--;
        return threadIdx.x == 0 && result != wanted();
    }
};

/* A number of threads that share a sum, and the kernels that time and check the sum. */
struct sharer {
    const char *name;
    int threads;
    sm_kernel *timed, *checked;
};
template <int Threads> sharer sharer_of(const char *name) {
    return {name, Threads, time_operation<sum_in_shared<Threads, false>, 1>,
            time_operation<sum_in_shared<Threads, true>, 1>};
}
enum { SHARERS = 3 };
const sharer sharers[SHARERS] = {sharer_of<1>("1 thread"), sharer_of<LANES>("1 warp"),
                                 sharer_of<STENCIL_BLOCK_THREADS_MAX>("1024 threads")};

/* Benchmark rows for Tables 3 and 4: latencies of a load, a shuffle and a barrier, followed by the throughput
 * for each number of threads. */
enum { LOAD, SHUFFLE, BARRIER, LATENCIES };
const struct {
    const char *name;
    sm_kernel *kernel;
    int threads;
} latencies[LATENCIES] = {
    {"load and addition", time_operation<shared_sum, 16>, 1},
    {"shuffle", time_operation<shuffle, SM_UNROLLED>, LANES},
    {"barrier", time_operation<barrier<whole_block>, SM_UNROLLED>, STENCIL_BLOCK_THREADS_MAX}};

stencil_status add_measured(stencil_bench *b, const sm_timing *timing) {
    sm_case c = {.timing = timing, .name = "adding in shared memory"};
    for (const auto &latency : latencies) {
        c.kernel = latency.kernel;
        c.threads = latency.threads;
        TRY(STENCIL_BENCH_ADD(b, c, "latency", latency.name, "cycles", STENCIL_METHOD_GPU_CLOCK,
                              .sample = sm_sample, .axis = {{"threads", c.threads}},
                              .count = timing->latency_repeats));
    }
    c.kernel = latencies[LOAD].kernel;
    for (const sharer &sharer : sharers) {
        c.threads = sharer.threads;
        c.scale = (c.threads < LANES ? c.threads : LANES) * SUM_BYTES;
        TRY(STENCIL_BENCH_ADD(b, c, "bandwidth", "sum", "bytes/cycle", STENCIL_METHOD_SM_CLOCK,
                              .sample = sm_sample, .axis = {{"threads", c.threads}},
                              .count = timing->throughput_repeats));
    }
    return stencil_bench_take(b);
}

/* Sets latency, throughput and synchronisation of a thread, a warp and a block: a warp synchronises by SYNCS
 * shuffles, a block by SYNCS barriers in addition. `measured`: rows of add_measured(). */
void find_workers(const stencil_bench_row *measured, stencil_little workers[SHARERS]) {
    const double sync[SHARERS] = {0, SYNCS * measured[SHUFFLE].statistics.median,
                                  SYNCS * measured[BARRIER].statistics.median};
    for (int i = 0; i < SHARERS; i++)
        workers[i] = {.latency = measured[LOAD].statistics.median,
                      .throughput = measured[LATENCIES + i].statistics.median,
                      .sync = sync[i] + (i > 0 ? workers[i - 1].sync : 0)};
}

stencil_status add_sums(stencil_bench *b, const sm_timing *timing, const stencil_little workers[SHARERS],
                        int values) {
    for (int i = 0; i < SHARERS; i++) {
        const sm_case c = {.timing = timing,
                           .kernel = sharers[i].timed,
                           .name = sharers[i].name,
                           .threads = sharers[i].threads,
                           .size = values,
                           .checked = sharers[i].checked,
                           .checked_threads = sharers[i].threads,
                           .checks = CHECKED_SUMS};
        TRY(STENCIL_BENCH_ADD(b, c, "sum", sharers[i].name, "cycles", STENCIL_METHOD_GPU_CLOCK,
                              .sample = sm_sample, .verify = sm_verify, .axis = {{"values", values}},
                              .count = SUMS));
        stencil_bench_last(b)->predicted = stencil_little_time(&workers[i], (double)values * SUM_BYTES);
    }
    return STENCIL_OK;
}

void note_switches(stencil_bench *b, const stencil_little workers[SHARERS]) {
    for (int i = 1; i < SHARERS; i++)
        stencil_bench_note(
            b,
            "Predicted (000, section 7.1): %s are faster than %s from %.0f bytes on; latency "
            "%.1f cycles, concurrency %.0f and %.0f bytes, %d synchronisations %.0f cycles.",
            sharers[i].name, sharers[i - 1].name, stencil_little_switch(&workers[i - 1], &workers[i]),
            workers[i].latency, workers[i - 1].latency * workers[i - 1].throughput,
            workers[i].latency * workers[i].throughput, SYNCS, workers[i].sync - workers[i - 1].sync);
    const stencil_ranking ranking = {
        .result = b->result, .kind = "sum", .axis = "values", .shape = "", .predicted = false};
    char text[STENCIL_BENCH_NOTE_SIZE];
    stencil_bench_crossovers(&ranking, text);
    stencil_bench_note(b, "Fastest, values of 8 bytes: %s.", text);
}

} // namespace

stencil_status stencil_measure_shared_reduction(stencil_bench *b) {
    sm_timing timing;
    const int first = b->result->row_count;
    stencil_little workers[SHARERS];
    TRY(sm_begin(b, &timing, SM_UNROLLED));
    TRY(add_measured(b, &timing));
    find_workers(&b->result->row[first], workers);
    for (int values = 1; values <= VALUES_MAX; values *= 2) {
        TRY(add_sums(b, &timing, workers, values));
        if (values > 1 && values < VALUES_MAX)
            TRY(add_sums(b, &timing, workers, values / 2 * 3));
    }
    TRY(stencil_bench_take(b));
    stencil_bench_note(
        b, "Cycles of a sum, one behind the other in one block: by its first thread, its only warp, "
           "or all threads, which leave what they have for the first warp.");
    stencil_bench_note(b,
                       "Verified: the last sum of every sample and, after timing, %d sums of full "
                       "multiprocessors, each.",
                       CHECKED_SUMS + 1);
    note_switches(b, workers);
    return STENCIL_OK;
}

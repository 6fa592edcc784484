/* Benchmark `order`: states whether a barrier of a warp holds every thread (000 section 8.1, Fig. 17, 18).
 * Each lane takes a different branch and reads the clock before and after the barrier, which holds if no lane
 * leaves before all have arrived. Shuffles between branches may be undefined: each case has a process. */
#include <stdio.h>

#include "bench/benchmarks/sm.cuh"

enum { RUNS = 100, LANES = STENCIL_BENCH_LANES };

/* Record of each lane of a warp: clock before and after the barrier, and the number of the next lane,
 * received by a shuffle where the barrier is one. */
struct order_seen {
    int64_t before[LANES], after[LANES];
    int32_t value[LANES];
};

/* Barriers on groups constructed by the converged warp; operator() returns the value of lane `next`. */
template <class Group> struct barrier {
    Group group;
    __device__ int operator()(int, int next) const {
        group.sync();
        return next;
    }
};
template <class Group> struct shuffle {
    Group group;
    __device__ int operator()(int lane, int next) const {
        return group.shfl(lane, next);
    }
};
struct no_barrier {
    __device__ int operator()(int, int next) const {
        return next;
    }
};

/* if (lane == 0) … else if (lane == 1) …, 000 Fig. 17; different stores keep branches from being merged. */
template <class Barrier, int Lane>
static __device__ __forceinline__ void branch(int lane, const Barrier &barrier, order_seen *seen) {
    if (lane == Lane) {
        const long long before = clock64();
        const int value = barrier(lane, (lane + 1) % LANES);
        const long long after = clock64();
        seen->before[Lane] = before;
        seen->after[Lane] = after;
        seen->value[Lane] = value;
    } else if constexpr (Lane + 1 < LANES) {
        branch<Barrier, Lane + 1>(lane, barrier, seen);
    }
}

template <class Barrier> static __global__ void one_warp(order_seen *seen) {
    const Barrier barrier;
    branch<Barrier, 0>((int)threadIdx.x, barrier, seen);
}

struct order_kernel {
    const char *name;
    void (*kernel)(order_seen *);
    bool shuffles;
};

/* Barriers under test; the last kernel has no barrier, as a control. */
static const order_kernel order_kernels[] = {
    {"__syncwarp", one_warp<barrier<stencil::whole_warp>>, false},
    {"tile", one_warp<barrier<stencil::tile<32>>>, false},
    {"coalesced", one_warp<barrier<stencil::coalesced>>, false},
    {"shuffle, tile", one_warp<shuffle<stencil::tile<32>>>, true},
    {"shuffle, coalesced", one_warp<shuffle<stencil::coalesced>>, true},
    {"no barrier", one_warp<no_barrier>, false},
};

static const double limit_s = 2, child_limit_s = 30;

/* Sets *held to whether a barrier held every lane in a run; clears *right where a received value is wrong. */
static void judge(const order_seen *seen, bool *held, bool *right) {
    int64_t last = seen->before[0], first = seen->after[0];
    for (int lane = 0; lane < LANES; lane++) {
        last = seen->before[lane] > last ? seen->before[lane] : last;
        first = seen->after[lane] < first ? seen->after[lane] : first;
        *right = *right && seen->value[lane] == (lane + 1) % LANES;
    }
    *held = first >= last;
}

/* Keeps the times of the lanes in a run. */
static void keep(const order_seen *seen, stencil_bench_lanes *lanes) {
    int64_t first = seen->before[0];
    for (int lane = 1; lane < LANES; lane++)
        first = seen->before[lane] < first ? seen->before[lane] : first;
    for (int lane = 0; lane < LANES; lane++) {
        lanes->before[lane] = (double)(seen->before[lane] - first);
        lanes->after[lane] = (double)(seen->after[lane] - first);
    }
    lanes->known = true;
}

static stencil_status state(stencil_bench *b, void *what) {
    const order_kernel *barrier = static_cast<order_kernel *>(what);
    stencil_bench_row *row = &b->result->row[b->row];
    order_seen seen, *at;
    stencil_device gpu;
    int times_held = 0;
    bool ended = true, held, right = true;
    TRY(stencil_device_create(b, 0, &gpu));
    TRY(stencil_device_memory(b, &at, sizeof *at));
    for (int run = 0; run < RUNS; run++) {
        TRY_CUDA(cudaMemsetAsync(at, 0xff, sizeof seen, gpu.stream));
        TRY(stencil_launch(gpu, barrier->kernel, 1, LANES, at));
        TRY(stencil_device_wait(b, gpu.stream, limit_s, &ended));
        if (!ended) {
            snprintf(row->outcome, sizeof row->outcome, "deadlocks");
            return STENCIL_OK;
        }
        TRY(stencil_device_read(&gpu, &seen, at, sizeof seen));
        judge(&seen, &held, &right);
        if (run == 0 || (!held && times_held == run)) /* the first run, or the first that does not hold */
            keep(&seen, &row->lanes);
        times_held += held;
    }
    const char *values = !barrier->shuffles ? "" : right ? ", values right" : ", values wrong";
    if (times_held == RUNS)
        snprintf(row->outcome, sizeof row->outcome, "holds%s", values);
    else
        snprintf(row->outcome, sizeof row->outcome, "does not hold in %d of %d runs%s", RUNS - times_held,
                 RUNS, values);
    return STENCIL_OK;
}

stencil_status stencil_measure_order(stencil_bench *b) {
    for (const order_kernel &barrier : order_kernels)
        TRY(STENCIL_BENCH_ADD(b, barrier, "barrier of a warp", barrier.name, "cycles",
                              "clock of each thread before and after (000 Fig. 17)", .state = state,
                              .limit_s = child_limit_s));
    stencil_bench_add_number(b->result, "runs", RUNS);
    stencil_bench_note(b, "One warp, each lane in a branch of its own. A barrier holds where no lane leaves "
                          "before the last one has come; \"no barrier\" shows that it is seen.");
    stencil_bench_note(b,
                       "The times of the lanes are in JSON and in a plot: of the first run, or of the first "
                       "one in which the barrier does not hold.");
    return stencil_bench_take(b);
}

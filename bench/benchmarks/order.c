/* Does a barrier of a warp really hold every thread (000 section 8.1, Fig. 17, 18)? Each lane takes a branch
 * of its own and looks at the clock before and after the barrier: it holds where nobody leaves before
 * everybody has come. In child processes, since shuffles between branches are at the edge of what the
 * language defines. */
#include "bench/kernels.h"
#include "bench/device.h"

#ifdef STENCIL_HAVE_CUDA
enum { RUNS = 100 };
static const double limit_s = 2, child_limit_s = 30;

/* Whether the barrier held in one run; whether all values were right. */
static void judge(const stencil_order_seen *seen, bool *held, bool *right) {
    int64_t last = seen->before[0], first = seen->after[0];
    for (int lane = 0; lane < STENCIL_ORDER_LANES; lane++) {
        last = seen->before[lane] > last ? seen->before[lane] : last;
        first = seen->after[lane] < first ? seen->after[lane] : first;
        *right = *right && seen->value[lane] == (lane + 1) % STENCIL_ORDER_LANES;
    }
    *held = first >= last;
}

static stencil_status state(stencil_bench *b, void *what) {
    const stencil_order_kernel *barrier = what;
    stencil_bench_row *row = &b->result->row[b->row];
    stencil_order_seen seen, *at;
    stencil_device gpu;
    int times_held = 0;
    bool ended = true, held, right = true;
    TRY(stencil_device_create(b, 0, &gpu));
    TRY(stencil_device_memory(b, &at, sizeof *at));
    for (int run = 0; run < RUNS; run++) {
        TRY_CUDA(cudaMemsetAsync(at, 0xff, sizeof seen, gpu.stream));
        TRY(stencil_device_launch(&gpu, barrier->kernel, 1, STENCIL_ORDER_LANES, &at));
        TRY(stencil_device_wait(b, gpu.stream, limit_s, &ended));
        if (!ended) {
            stencil_bench_say(row, "deadlocks");
            return STENCIL_OK;
        }
        TRY(stencil_device_read(&gpu, &seen, at, sizeof seen));
        judge(&seen, &held, &right);
        times_held += held;
    }
    const char *values = !barrier->shuffles ? "" : right ? ", values right" : ", values wrong";
    if (times_held == RUNS)
        stencil_bench_say(row, "holds%s", values);
    else
        stencil_bench_say(row, "does not hold in %d of %d runs%s", RUNS - times_held, RUNS, values);
    return STENCIL_OK;
}

stencil_status stencil_measure_order(stencil_bench *b) {
    for (const stencil_order_kernel *barrier = stencil_order_kernels; barrier->name != NULL; barrier++)
        TRY(STENCIL_BENCH_ADD(b, *barrier, "barrier of a warp", barrier->name, "cycles",
                              "clock of each thread before and after (000 Fig. 17)", .state = state,
                              .limit_s = child_limit_s));
    stencil_bench_add_number(b->result, "runs", RUNS);
    stencil_bench_note(b, "One warp, each lane in a branch of its own. A barrier holds where no lane leaves "
                          "before the last one has come; \"no barrier\" shows that it is seen.");
    return stencil_bench_take(b);
}
#endif

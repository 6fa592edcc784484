/* Does a barrier of a warp really hold every thread (000 section 8.1, Fig. 17, 18)? Each lane takes a branch
 * of its own and looks at the clock before and after the barrier: it holds where nobody leaves before
 * everybody has come. In child processes, since shuffles between branches are at the edge of what the
 * language defines. */
#include "bench/benchmark.h"
#include "base/cuda.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdio.h>

#include "bench/benchmarks/hang.h"
#include "bench/benchmarks/order_kernels.h"

enum { RUNS = 100 };
static const double limit_s = 2, child_timeout_s = 30;

static const char *const names[STENCIL_ORDER_COUNT] = {
    "__syncwarp", "tile", "coalesced", "shuffle, tile", "shuffle, coalesced", "no barrier",
};

typedef struct answer {
    bool ended;
    int32_t held, right; /* runs in which the barrier held; in which all values were right */

} answer;

/* Adds one run. */
static void judge(const stencil_order_seen *seen, answer *a) {
    int64_t last = seen->before[0], first = seen->after[0];
    bool right = true;
    for (int lane = 0; lane < STENCIL_ORDER_LANES; lane++) {
        last = seen->before[lane] > last ? seen->before[lane] : last;
        first = seen->after[lane] < first ? seen->after[lane] : first;
        right = right && seen->value[lane] == (lane + 1) % STENCIL_ORDER_LANES;
    }
    a->held += first >= last;
    a->right += right;
}

static stencil_status run_on(stencil_order_seen *device, int barrier, answer *a) {
    stencil_order_seen seen;
    void *arguments[] = {&device};
    *a = (answer){.ended = true};
    for (int run = 0; run < RUNS; run++) {
        TRY_CUDA(cudaMemset(device, 0xff, sizeof seen));
        TRY_CUDA(cudaLaunchKernel(stencil_order_kernel((stencil_order_barrier)barrier), (dim3){1, 1, 1},
                                  (dim3){STENCIL_ORDER_LANES, 1, 1}, arguments, 0, NULL));
        TRY(stencil_wait_or_give_up(limit_s, &a->ended));
        if (!a->ended)
            return STENCIL_OK;
        TRY_CUDA(cudaMemcpy(&seen, device, sizeof seen, cudaMemcpyDeviceToHost));
        judge(&seen, a);
    }
    return STENCIL_OK;
}

static stencil_status child(const stencil_bench_options *options, const void *question, size_t question_size,
                            void *answer_bytes, size_t answer_size) {
    const int barrier = *(const int *)question;
    answer *a = answer_bytes;
    stencil_order_seen *device;
    CHECK(question_size == sizeof barrier && answer_size == sizeof *a && barrier >= 0 &&
              barrier < STENCIL_ORDER_COUNT,
          USAGE, "order: no such question");
    TRY_CUDA(cudaSetDevice(options->gpu[0]));
    TRY_CUDA(cudaMalloc((void **)&device, sizeof *device));
    const stencil_status status = run_on(device, barrier, a);
    if (a->ended) /* else freeing would wait */
        cudaFree(device);
    return status;
}

static void state(stencil_bench_row *row, int barrier, const answer *a, bool timed_out) {
    const bool shuffles = barrier == STENCIL_ORDER_SHUFFLE_TILE || barrier == STENCIL_ORDER_SHUFFLE_COALESCED;
    const size_t size = sizeof row->outcome;
    if (timed_out || !a->ended)
        snprintf(row->outcome, size, "deadlocks");
    else if (a->held == RUNS)
        snprintf(row->outcome, size, "holds%s",
                 !shuffles          ? ""
                 : a->right == RUNS ? ", values right"
                                    : ", values wrong");
    else
        snprintf(row->outcome, size, "does not hold in %d of %d runs%s", RUNS - a->held, RUNS,
                 !shuffles          ? ""
                 : a->right == RUNS ? ", values right"
                                    : ", values wrong");
}

static stencil_status run_gpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    (void)machine;
    if (options->child_command == NULL)
        return stencil_bench_skip(result, "needs child processes");
    for (int barrier = 0; barrier < STENCIL_ORDER_COUNT; barrier++) {
        int row;
        answer a = {0};
        bool timed_out;
        TRY(stencil_bench_add_row(result, "barrier of a warp", names[barrier], "cycles", &row));
        result->row[row].method = "clock of each thread before and after (000 Fig. 17)";
        TRY(stencil_bench_in_child(options, result->benchmark, child_timeout_s, &barrier, sizeof barrier, &a,
                                   sizeof a, &timed_out));
        state(&result->row[row], barrier, &a, timed_out);
    }
    stencil_bench_add_number(result, "runs", RUNS);
    stencil_bench_add_note(result,
                           "One warp, each lane in a branch of its own. A barrier holds where no lane "
                           "leaves before the last one has come; \"no barrier\" shows that it is seen.");
    return STENCIL_OK;
}
#endif

const stencil_benchmark stencil_benchmark_order = {
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .child = STENCIL_ON_GPU(child),
};

/* Does a barrier of a warp really hold every thread (000 section 8.1, Fig. 17, 18)? Each lane takes a branch
 * of its own and looks at the clock before and after the barrier: it holds where nobody leaves before
 * everybody has come. In child processes, since shuffles between branches are at the edge of what the
 * language defines. */
#include "bench/kernels.h"
#include "bench/device.h"

#ifdef STENCIL_HAVE_CUDA
enum { RUNS = 100 };
static const double limit_s = 2, child_timeout_s = 30;

static const char *const names[STENCIL_ORDER_COUNT] = {
    "__syncwarp", "tile", "coalesced", "shuffle, tile", "shuffle, coalesced", "no barrier",
};

/* Numbers of the answer: runs in which the barrier held; in which all values were right. */
enum { ENDED, HELD, RIGHT };

/* Adds one run. */
static void judge(const stencil_order_seen *seen, int answer[STENCIL_BENCH_NUMBERS]) {
    int64_t last = seen->before[0], first = seen->after[0];
    bool right = true;
    for (int lane = 0; lane < STENCIL_ORDER_LANES; lane++) {
        last = seen->before[lane] > last ? seen->before[lane] : last;
        first = seen->after[lane] < first ? seen->after[lane] : first;
        right = right && seen->value[lane] == (lane + 1) % STENCIL_ORDER_LANES;
    }
    answer[HELD] += first >= last;
    answer[RIGHT] += right;
}

static stencil_status child(stencil_bench *b, const int question[STENCIL_BENCH_NUMBERS],
                            int answer[STENCIL_BENCH_NUMBERS]) {
    const int barrier = question[0];
    bool ended = true;
    stencil_order_seen seen, *device;
    CHECK(barrier >= 0 && barrier < STENCIL_ORDER_COUNT, USAGE, "order: no such question");
    TRY_CUDA(cudaSetDevice(b->options->gpu[0]));
    TRY(stencil_device_memory(b, &device, sizeof *device));
    for (int run = 0; run < RUNS; run++) {
        TRY_CUDA(cudaMemset(device, 0xff, sizeof seen));
        TRY(stencil_device_launch(stencil_order_kernels[barrier], 1, STENCIL_ORDER_LANES, NULL,
                                  (void *[]){&device}));
        TRY(stencil_device_wait(b, limit_s, &ended));
        if (!ended)
            return STENCIL_OK;
        TRY_CUDA(cudaMemcpy(&seen, device, sizeof seen, cudaMemcpyDeviceToHost));
        judge(&seen, answer);
    }
    answer[ENDED] = true;
    return STENCIL_OK;
}

static stencil_status run_gpu(stencil_bench *b) {
    if (b->options->child_command == NULL)
        return stencil_bench_skip(b->result, "needs child processes");
    for (int barrier = 0; barrier < STENCIL_ORDER_COUNT; barrier++) {
        const stencil_bench_subject subject = {"barrier of a warp", names[barrier], "cycles",
                                               .method =
                                                   "clock of each thread before and after (000 Fig. 17)"};
        int answer[STENCIL_BENCH_NUMBERS] = {0};
        bool timed_out;
        TRY(stencil_bench_in_child(b, b->result->benchmark, child_timeout_s,
                                   (int[STENCIL_BENCH_NUMBERS]){barrier}, answer, &timed_out));
        const char *values =
            barrier != STENCIL_ORDER_SHUFFLE_TILE && barrier != STENCIL_ORDER_SHUFFLE_COALESCED ? ""
            : answer[RIGHT] == RUNS ? ", values right"
                                    : ", values wrong";
        if (timed_out || !answer[ENDED])
            TRY(stencil_bench_state(b, &subject, "deadlocks"));
        else if (answer[HELD] == RUNS)
            TRY(stencil_bench_state(b, &subject, "holds%s", values));
        else
            TRY(stencil_bench_state(b, &subject, "does not hold in %d of %d runs%s", RUNS - answer[HELD],
                                    RUNS, values));
    }
    stencil_bench_add_number(b->result, "runs", RUNS);
    stencil_bench_note(b, "One warp, each lane in a branch of its own. A barrier holds where no lane leaves "
                          "before the last one has come; \"no barrier\" shows that it is seen.");
    return STENCIL_OK;
}
#endif

const stencil_benchmark stencil_benchmark_order = {
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .child = STENCIL_ON_GPU(child),
};

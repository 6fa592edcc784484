/* The quadratic solver on a GPU: two streams, and each way to synchronise them. */
#include "bench/cases/quadratic.h"
#include "bench/device.h"

namespace {

enum { ELEMENTS = QUADRATIC_ELEMENTS, ROUNDS = 1024, THREADS = 256 };

template <quadratic_operation What>
__global__ void __launch_bounds__(THREADS) each(const float *x, const float *y, float factor, float *to) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < ELEMENTS)
        to[i] = quadratic_operate(What, x[i], y[i], factor);
}

/* Ways to synchronise two streams: the host waits for both streams, for the device, or for an event of each
 * stream; the streams wait for events; or a CUDA graph contains the event waits. */
enum order { STREAMS, DEVICE, EVENTS, STREAM_WAITS, GRAPH, ORDERS };
const char *const order_names[] = {"stream", "device", "event", "event, streams wait", "graph"};

/* Makes stream `to` continue only after all work enqueued in stream `from`. If the host waits and both
 * streams have work (`both`), the host waits for both. */
stencil_status meet(const stencil_device &from, const stencil_device &to, order how, bool both) {
    switch (how) {
    case STREAMS:
        TRY_CUDA(cudaStreamSynchronize(from.stream));
        if (both)
            TRY_CUDA(cudaStreamSynchronize(to.stream));
        return STENCIL_OK;
    case DEVICE:
        TRY_CUDA(cudaDeviceSynchronize());
        return STENCIL_OK;
    case EVENTS:
        TRY_CUDA(cudaEventRecord(from.done, from.stream));
        if (both)
            TRY_CUDA(cudaEventRecord(to.done, to.stream));
        TRY_CUDA(cudaEventSynchronize(from.done));
        if (both)
            TRY_CUDA(cudaEventSynchronize(to.done));
        return STENCIL_OK;
    default:
        TRY_CUDA(cudaEventRecord(from.done, from.stream));
        TRY_CUDA(cudaStreamWaitEvent(to.stream, from.done, 0));
        return STENCIL_OK;
    }
}

void (*const kernels[])(const float *, const float *, float, float *) = {
    each<PRODUCT>, each<PRODUCT_TIMES>, each<SUM>, each<ROOT>, each<DIFFERENCE>, each<QUOTIENT_TIMES>};

/* Enqueues an iteration. After the middle stretch only one stream has work. */
stencil_status make_round(const quadratic_solver &s, order how) {
    const stencil_device *const stream = s.device;
    const quadratic_step *o = quadratic_round, *const end = o + QUADRATIC_OPERATIONS;
    for (int stretch = 0; stretch < QUADRATIC_STRETCHES; stretch++) {
        for (; o < end && o->stretch == stretch; o++)
            TRY(stencil_launch(stream[o->stream], kernels[o->what], (ELEMENTS + THREADS - 1) / THREADS,
                               THREADS, s.array[o->x], s.array[o->y], o->factor, s.array[o->to]));
        const int teller = quadratic_teller[stretch];
        TRY(meet(stream[teller], stream[1 - teller], how, stretch != 1));
    }
    return STENCIL_OK;
}

/* Enqueues one iteration for graph capture: in the `plus` stream, with the `minus` stream as a branch. */
stencil_status queue(const void *what) {
    const quadratic_solver &s = *static_cast<const quadratic_solver *>(what);
    TRY(meet(s.device[QUADRATIC_PLUS], s.device[QUADRATIC_MINUS], STREAM_WAITS, false));
    return make_round(s, STREAM_WAITS);
}

/* Sampler: makes `rounds` iterations, waits for all of them, and returns the seconds of one. */
stencil_status sample(stencil_bench *, void *what, int64_t rounds, double *value) {
    const quadratic_ordered *o = static_cast<quadratic_ordered *>(what);
    const stencil_device *const stream = o->of->device;
    const double start_s = stencil_clock_s();
    for (int64_t i = 0; i < rounds; i++)
        if (o->how == GRAPH)
            TRY_CUDA(cudaGraphLaunch(static_cast<cudaGraphExec_t>(o->own), stream[QUADRATIC_PLUS].stream));
        else
            TRY(make_round(*o->of, static_cast<order>(o->how)));
    for (int k = 0; k < QUADRATIC_STREAMS; k++)
        TRY_CUDA(cudaStreamSynchronize(stream[k].stream));
    *value = (stencil_clock_s() - start_s) / (double)rounds;
    return STENCIL_OK;
}

} // namespace

stencil_status stencil_measure_quadratic(stencil_bench *b) {
    const int64_t rounds = stencil_repeats(b->options, ROUNDS);
    stencil_device stream[QUADRATIC_STREAMS];
    quadratic_solver s = {stream};
    for (stencil_device &each : stream)
        TRY(stencil_device_create(b, 0, &each));
    TRY(quadratic_create(b, &s));
    TRY(make_round(s, STREAMS)); /* loads the kernels: not while a graph is captured */
    for (int how = 0; how < ORDERS; how++) {
        cudaGraphExec_t graph = nullptr;
        if (how == GRAPH)
            TRY(stencil_device_capture(b, &stream[QUADRATIC_PLUS], queue, &s, &graph));
        const quadratic_ordered o = {&s, how, order_names[how], graph, sample};
        TRY(quadratic_add(b, &o, rounds));
    }
    TRY(stencil_bench_take(b));
    stencil_bench_note(b,
                       "A sample is %lld rounds of eight kernels in two streams, which meet three times; as "
                       "published there are 20 of them (--samples 20).",
                       (long long)rounds);
    stencil_bench_note(b, "Verified: both solutions of all equations after another round, to the last bit.");
    return STENCIL_OK;
}

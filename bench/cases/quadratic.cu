/* The solver on a GPU: two streams, and every way to let them meet. */
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

struct solver {
    stencil_device stream[QUADRATIC_STREAMS];
    float *array[QUADRATIC_ARRAYS];
    quadratic_data data;
    float *host[QUADRATIC_STREAMS]; /* solutions that were read */
};

/* How streams meet: the host waits for both, for the device, or for an event of each, or the streams wait for
 * these; or a graph of the latter. */
enum order { STREAMS, DEVICE, EVENTS, STREAM_WAITS, GRAPH, ORDERS };
const char *const order_names[] = {"stream", "device", "event", "event, streams wait", "graph"};

struct ordered {
    solver *of;
    order how;
    cudaGraphExec_t graph;
};

/* `to` goes on when all that `from` was given is done. Where the host waits and `both` have something to do,
 * for both. */
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

/* Queues a round. Only one stream has something to do behind the stretch in between. */
stencil_status make_round(const solver &s, order how) {
    const quadratic_step *o = quadratic_round, *const end = o + QUADRATIC_OPERATIONS;
    for (int stretch = 0; stretch < QUADRATIC_STRETCHES; stretch++) {
        for (; o < end && o->stretch == stretch; o++)
            TRY(stencil_launch(s.stream[o->stream], kernels[o->what], (ELEMENTS + THREADS - 1) / THREADS,
                               THREADS, s.array[o->x], s.array[o->y], o->factor, s.array[o->to]));
        const int teller = quadratic_teller[stretch];
        TRY(meet(s.stream[teller], s.stream[1 - teller], how, stretch != 1));
    }
    return STENCIL_OK;
}

/* One round, in the stream of `plus` and a branch of it. */
stencil_status queue(const void *what) {
    const solver &s = *static_cast<const solver *>(what);
    TRY(meet(s.stream[QUADRATIC_PLUS], s.stream[QUADRATIC_MINUS], STREAM_WAITS, false));
    return make_round(s, STREAM_WAITS);
}

/* So many rounds, and a wait for all of them. */
stencil_status run(const ordered &o, int64_t rounds, double *time_s) {
    const double start_s = stencil_clock_s();
    for (int64_t i = 0; i < rounds; i++)
        if (o.how == GRAPH)
            TRY_CUDA(cudaGraphLaunch(o.graph, o.of->stream[QUADRATIC_PLUS].stream));
        else
            TRY(make_round(*o.of, o.how));
    for (const stencil_device &stream : o.of->stream)
        TRY_CUDA(cudaStreamSynchronize(stream.stream));
    *time_s = stencil_clock_s() - start_s;
    return STENCIL_OK;
}

stencil_status sample(stencil_bench *, void *what, int64_t rounds, double *value) {
    TRY(run(*static_cast<ordered *>(what), rounds, value));
    *value /= (double)rounds;
    return STENCIL_OK;
}

/* Both solutions of all equations after one round from spoiled arrays, to the last bit. */
stencil_status verify(stencil_bench *, void *what) {
    const ordered &o = *static_cast<ordered *>(what);
    const solver &s = *o.of;
    const size_t bytes = ELEMENTS * sizeof(float);
    double time_s;
    for (int k = 0; k < QUADRATIC_A; k++)
        TRY_CUDA(cudaMemset(s.array[k], 0xff, bytes));
    TRY_CUDA(cudaDeviceSynchronize());
    TRY(run(o, 1, &time_s));
    for (int k = 0; k < 2; k++)
        TRY(stencil_device_read(&s.stream[k], s.host[k], s.array[k], bytes));
    return quadratic_check(&s.data, s.host, order_names[o.how]);
}

stencil_status create(stencil_bench *b, solver *s) {
    const size_t bytes = ELEMENTS * sizeof(float);
    TRY(quadratic_data_create(b, &s->data));
    for (stencil_device &stream : s->stream)
        TRY(stencil_device_create(b, 0, &stream));
    for (float *&array : s->array)
        TRY(stencil_device_memory(b, &array, bytes));
    for (float *&host : s->host)
        TRY(stencil_bench_memory(b, &host, bytes));
    for (int k = 0; k < 3; k++)
        TRY_CUDA(cudaMemcpy(s->array[QUADRATIC_A + k], s->data.input[k], bytes, cudaMemcpyHostToDevice));
    return STENCIL_OK;
}

} // namespace

stencil_status stencil_measure_quadratic(stencil_bench *b) {
    const int64_t rounds = stencil_repeats(b->options, ROUNDS);
    solver s = {};
    TRY(create(b, &s));
    TRY(make_round(s, STREAMS)); /* loads the kernels: not while a graph is captured */
    for (int how = 0; how < ORDERS; how++) {
        ordered o = {&s, static_cast<order>(how), nullptr};
        if (how == GRAPH)
            TRY(stencil_device_capture(b, &s.stream[QUADRATIC_PLUS], queue, &s, &o.graph));
        TRY(STENCIL_BENCH_ADD(b, o, "order", order_names[how], "s/round", .sample = sample, .verify = verify,
                              .axis = {{"elements", ELEMENTS}}, .count = rounds));
    }
    TRY(stencil_bench_take(b));
    stencil_bench_note(b,
                       "A sample is %lld rounds of eight kernels in two streams, which meet three times; as "
                       "published there are 20 of them (--samples 20).",
                       (long long)rounds);
    stencil_bench_note(b, "Verified: both solutions of all equations after another round, to the last bit.");
    return STENCIL_OK;
}

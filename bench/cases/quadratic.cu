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
    stencil_device minus, plus; /* the streams, named after the solution that they end with */
    float *a, *b, *c, *solution[2], *root;
    quadratic_data data;
    float *host[2]; /* solutions that were read */
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

template <quadratic_operation What>
stencil_status launch(const stencil_device &device, const float *x, const float *y, float factor, float *to) {
    return stencil_launch(device, each<What>, (ELEMENTS + THREADS - 1) / THREADS, THREADS, x, y, factor, to);
}

stencil_status make_round(const solver &s, order how) {
    float *const minus = s.solution[0], *const plus = s.solution[1];
    TRY(launch<PRODUCT>(s.minus, s.b, s.b, 0, minus));
    TRY(launch<PRODUCT_TIMES>(s.plus, s.a, s.c, -4, plus));
    TRY(meet(s.minus, s.plus, how, true));
    TRY(launch<SUM>(s.plus, minus, plus, 0, minus));
    TRY(launch<ROOT>(s.plus, minus, minus, 0, s.root));
    TRY(meet(s.plus, s.minus, how, false));
    TRY(launch<DIFFERENCE>(s.minus, s.b, s.root, 0, minus));
    TRY(launch<SUM>(s.plus, s.b, s.root, 0, plus));
    TRY(launch<QUOTIENT_TIMES>(s.minus, minus, s.a, 0.5f, minus));
    TRY(launch<QUOTIENT_TIMES>(s.plus, plus, s.a, 0.5f, plus));
    return meet(s.minus, s.plus, how, true);
}

/* One round, in the stream of `plus` and a branch of it. */
stencil_status capture(ordered *o) {
    const solver &s = *o->of;
    cudaGraph_t graph = nullptr;
    TRY_CUDA(cudaStreamBeginCapture(s.plus.stream, cudaStreamCaptureModeThreadLocal));
    stencil_status status = meet(s.plus, s.minus, STREAM_WAITS, false);
    if (status == STENCIL_OK)
        status = make_round(s, STREAM_WAITS);
    const cudaError_t ended = cudaStreamEndCapture(s.plus.stream, &graph);
    const cudaError_t made =
        status == STENCIL_OK && ended == cudaSuccess ? cudaGraphInstantiate(&o->graph, graph, 0) : ended;
    if (graph != nullptr)
        cudaGraphDestroy(graph);
    TRY(status);
    TRY_CUDA(made);
    return STENCIL_OK;
}

/* So many rounds, and a wait for all of them. */
stencil_status run(const ordered &o, int64_t rounds, double *time_s) {
    const double start_s = stencil_clock_s();
    for (int64_t i = 0; i < rounds; i++)
        if (o.how == GRAPH)
            TRY_CUDA(cudaGraphLaunch(o.graph, o.of->plus.stream));
        else
            TRY(make_round(*o.of, o.how));
    TRY_CUDA(cudaStreamSynchronize(o.of->minus.stream));
    TRY_CUDA(cudaStreamSynchronize(o.of->plus.stream));
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
    for (float *array : {s.solution[0], s.solution[1], s.root})
        TRY_CUDA(cudaMemset(array, 0xff, bytes));
    TRY_CUDA(cudaDeviceSynchronize());
    TRY(run(o, 1, &time_s));
    for (int k = 0; k < 2; k++)
        TRY(stencil_device_read(&s.plus, s.host[k], s.solution[k], bytes));
    return quadratic_check(&s.data, s.host, order_names[o.how]);
}

stencil_status create(stencil_bench *b, solver *s) {
    const size_t bytes = ELEMENTS * sizeof(float);
    TRY(quadratic_data_create(b, &s->data));
    TRY(stencil_device_create(b, 0, &s->minus));
    TRY(stencil_device_create(b, 0, &s->plus));
    for (float **array : {&s->a, &s->b, &s->c, &s->solution[0], &s->solution[1], &s->root})
        TRY(stencil_device_memory(b, array, bytes));
    for (float *&host : s->host)
        TRY(stencil_bench_memory(b, &host, bytes));
    TRY_CUDA(cudaMemcpy(s->a, s->data.a, bytes, cudaMemcpyHostToDevice));
    TRY_CUDA(cudaMemcpy(s->b, s->data.b, bytes, cudaMemcpyHostToDevice));
    TRY_CUDA(cudaMemcpy(s->c, s->data.c, bytes, cudaMemcpyHostToDevice));
    return STENCIL_OK;
}

void destroy_graph(void *graph) {
    cudaGraphExecDestroy(static_cast<cudaGraphExec_t>(graph));
}

} // namespace

stencil_status stencil_measure_quadratic(stencil_bench *b) {
    const int64_t rounds = stencil_repeats(b->options, ROUNDS);
    solver s = {};
    TRY(create(b, &s));
    TRY(make_round(s, STREAMS)); /* loads the kernels: not while a graph is captured */
    for (int how = 0; how < ORDERS; how++) {
        ordered o = {&s, static_cast<order>(how), nullptr};
        if (how == GRAPH) {
            TRY(capture(&o));
            TRY(stencil_bench_keep(b, destroy_graph, o.graph));
        }
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

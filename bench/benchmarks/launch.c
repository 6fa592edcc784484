/* What it costs that the next step is a launch of its own (000 section 4, Table 1, section 9.2): kernels that
 * do nothing, launched in every way that there is, pipelined and one by one; launch overhead by kernel
 * fusion; the three ways to wait on the host after each launch (rshipley160's experiment: stream, device,
 * event).
 *
 * Every row is one formula, (time of `high` launches - time of `low` launches) / (high - low), for two pairs
 * of a kernel and a count: with kernels that do nothing it is the two-repeat-count method, and with five
 * kernels of one unit against one kernel of five units it is kernel fusion, where both do the same work. */
#include "bench/benchmarks/cpu.h"
#include "bench/kernels.h"
#include "bench/clock.h"
#include "bench/device.h"
#include "bench/method.h"

#ifdef STENCIL_HAVE_CUDA
enum { THREADS = 1024, VERIFIED_LAUNCHES = 20, REPEATS_MAX = 50000 };

typedef enum launch_way {
    TRADITIONAL,
    COOPERATIVE,
    GRAPH,
    GRAPH_PROGRAMMATIC,
    MULTI_DEVICE,         /* one thread launches on each GPU in turn */
    MULTI_DEVICE_ORDERED, /* the same, and no kernel begins before those of the round before have ended */
    STREAM_SYNC,
    DEVICE_SYNC,
    EVENT_SYNC,
    WAY_COUNT
} launch_way;

static const char *const way_names[WAY_COUNT] = {
    "traditional",          "cooperative", "graph",       "graph, programmatic", "multi-device",
    "multi-device, events", "stream wait", "device wait", "event wait",
};

/* What is computed from two pairs of a kernel and a count. */
typedef struct metric {
    const char *kind, *method;
    int high, low; /* launches */
    int rounds;    /* of both in a sample */
    int high_kernel, low_kernel;
    bool one_warp; /* else a block of 1024 threads on every multiprocessor */
} metric;

enum { TOTAL, PIPELINED, FUSED_SLEEP, FUSED_SPIN, LAUNCH_AND_WAIT, METRIC_COUNT };

/* One warp sleeps: among many the one that sleeps longest would count, and that differs between one long
 * kernel and five short ones. A spin takes as many cycles everywhere. */
static const metric metrics[METRIC_COUNT] = {
    [TOTAL] = {"total latency", "1 and 5 launches of a null kernel, CPU clock (000 Fig. 3)", 5, 1,
               .rounds = 50},
    [PIPELINED] = {"pipelined", STENCIL_METHOD_TWO_COUNTS, 2000, 500, .rounds = 1},
    [FUSED_SLEEP] = {"overhead, sleep", STENCIL_METHOD_FUSION, 5, 1, 20, STENCIL_LAUNCH_SLEEP,
                     STENCIL_LAUNCH_SLEEP + 1, true},
    [FUSED_SPIN] = {"overhead, spin", "kernel fusion with a spin of as many cycles (after 000 Eq. 6)", 5, 1,
                    20, STENCIL_LAUNCH_SPIN, STENCIL_LAUNCH_SPIN + 1, false},
    [LAUNCH_AND_WAIT] = {"launch and wait", STENCIL_METHOD_TWO_COUNTS, 600, 100, .rounds = 1},
};

/* The launches of one pair. */
typedef struct launches {
    const void *kernel;
    int count;
    cudaGraphExec_t graph; /* all of them; NULL: no graph */
} launches;

/* A row; b->own is the array of GPUs. */
typedef struct launch_case {
    launch_way way;
    int gpus;
    unsigned blocks, threads;
    launches low, high;
} launch_case;

static stencil_status launch_one(const stencil_device *gpu, const launch_case *c, const void *kernel,
                                 bool programmatic) {
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeProgrammaticStreamSerialization,
                                     .val.programmaticStreamSerializationAllowed = 1};
    const cudaLaunchConfig_t config = {.gridDim = {c->blocks, 1, 1},
                                       .blockDim = {c->threads, 1, 1},
                                       .stream = gpu->stream,
                                       .attrs = &attribute,
                                       .numAttrs = 1};
    void *none[1] = {NULL};
    if (programmatic)
        TRY_CUDA(cudaLaunchKernelExC(&config, kernel, none));
    else if (c->way == COOPERATIVE)
        TRY_CUDA(cudaLaunchCooperativeKernel(kernel, config.gridDim, config.blockDim, none, 0, gpu->stream));
    else
        TRY_CUDA(cudaLaunchKernel(kernel, config.gridDim, config.blockDim, none, 0, gpu->stream));
    return STENCIL_OK;
}

/* One round on several GPUs. With events it is an implicit barrier among them, which is what
 * cudaLaunchCooperativeKernelMultiDevice() was before CUDA 13 dropped it. */
static stencil_status launch_round(const stencil_device *gpu, const launch_case *c, const void *kernel) {
    for (int i = 0; i < c->gpus; i++) {
        TRY_CUDA(cudaSetDevice(gpu[i].gpu));
        TRY(launch_one(&gpu[i], c, kernel, false));
        if (c->way == MULTI_DEVICE_ORDERED)
            TRY_CUDA(cudaEventRecord(gpu[i].done, gpu[i].stream));
    }
    for (int i = 0; i < c->gpus && c->way == MULTI_DEVICE_ORDERED; i++) {
        TRY_CUDA(cudaSetDevice(gpu[i].gpu));
        for (int other = 0; other < c->gpus; other++)
            if (other != i)
                TRY_CUDA(cudaStreamWaitEvent(gpu[i].stream, gpu[other].done, 0));
    }
    return STENCIL_OK;
}

static stencil_status wait_after_launch(const stencil_device *gpu, launch_way way) {
    if (way == STREAM_SYNC)
        TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    if (way == DEVICE_SYNC)
        TRY_CUDA(cudaDeviceSynchronize());
    if (way == EVENT_SYNC) {
        TRY_CUDA(cudaEventRecord(gpu->done, gpu->stream));
        TRY_CUDA(cudaEventSynchronize(gpu->done));
    }
    return STENCIL_OK;
}

static stencil_status launch_all(const stencil_device *gpu, const launch_case *c, const launches *l) {
    if (l->graph != NULL) {
        TRY_CUDA(cudaGraphLaunch(l->graph, gpu->stream));
        return STENCIL_OK;
    }
    for (int i = 0; i < l->count; i++) {
        if (c->way == MULTI_DEVICE || c->way == MULTI_DEVICE_ORDERED) {
            TRY(launch_round(gpu, c, l->kernel));
        } else {
            TRY(launch_one(gpu, c, l->kernel, false));
            TRY(wait_after_launch(gpu, c->way));
        }
    }
    return STENCIL_OK;
}

static stencil_status wait_for_gpus(const stencil_device *gpu, int gpus) {
    for (int i = gpus - 1; i >= 0; i--) { /* the first GPU is the current one afterwards */
        if (gpus > 1)
            TRY_CUDA(cudaSetDevice(gpu[i].gpu));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

static stencil_status sample(stencil_bench *b, void *what, int64_t count, double *time_s) {
    const launch_case *c = what;
    const double start_s = stencil_clock_s();
    TRY(launch_all(b->own, c, count == c->low.count ? &c->low : &c->high));
    TRY(wait_for_gpus(b->own, c->gpus));
    *time_s = stencil_clock_s() - start_s;
    return STENCIL_OK;
}

static void release_graph(void *graph) {
    cudaGraphExecDestroy(graph);
}

static stencil_status capture(stencil_bench *b, const launch_case *c, launches *l) {
    const stencil_device *gpu = b->own;
    cudaGraph_t graph = NULL;
    struct cudaFuncAttributes attributes;
    if (c->way != GRAPH && c->way != GRAPH_PROGRAMMATIC)
        return STENCIL_OK;
    TRY_CUDA(cudaFuncGetAttributes(&attributes, l->kernel)); /* loads it: not while capturing */
    TRY_CUDA(cudaStreamBeginCapture(gpu->stream, cudaStreamCaptureModeThreadLocal));
    stencil_status status = STENCIL_OK;
    for (int i = 0; i < l->count && status == STENCIL_OK; i++)
        status = launch_one(gpu, c, l->kernel, c->way == GRAPH_PROGRAMMATIC && i > 0);
    const cudaError_t ended = cudaStreamEndCapture(gpu->stream, &graph);
    TRY(status);
    TRY_CUDA(ended);
    const cudaError_t made = cudaGraphInstantiate(&l->graph, graph, 0);
    cudaGraphDestroy(graph);
    TRY_CUDA(made);
    TRY(stencil_bench_keep(b, release_graph, l->graph));
    TRY_CUDA(cudaGraphUpload(l->graph, gpu->stream));
    TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    return STENCIL_OK;
}

/* Kernels that lose counts where one begins before the one before it has ended. */
static stencil_status verify(stencil_bench *b, void *what) {
    const launch_case *row = what;
    const stencil_device *gpu = b->own;
    launch_case c = {
        .way = row->way,
        .gpus = row->gpus,
        .blocks = 2,
        .threads = 32,
        .high = {.kernel = stencil_launch_kernels[STENCIL_LAUNCH_COUNT], .count = VERIFIED_LAUNCHES}};
    uint32_t count;
    TRY(capture(b, &c, &c.high));
    for (int i = 0; i < c.gpus; i++) {
        TRY_CUDA(cudaSetDevice(gpu[i].gpu));
        TRY_CUDA((cudaError_t)stencil_launch_take_count(&count));
    }
    TRY_CUDA(cudaSetDevice(gpu->gpu));
    TRY(launch_all(gpu, &c, &c.high));
    TRY(wait_for_gpus(gpu, c.gpus));
    for (int i = c.gpus - 1; i >= 0; i--) {
        TRY_CUDA(cudaSetDevice(gpu[i].gpu));
        TRY_CUDA((cudaError_t)stencil_launch_take_count(&count));
        CHECK(count == VERIFIED_LAUNCHES, INTERNAL,
              "launch: %u of %d kernels launched by way of %s ran one after the other", count,
              VERIFIED_LAUNCHES, way_names[c.way]);
    }
    return STENCIL_OK;
}

static stencil_status add_case(stencil_bench *b, launch_way way, const metric *m, int gpus) {
    const stencil_gpu *gpu = &b->machine->gpu[b->options->gpu[0]];
    const int64_t repeats = b->options->repeats < REPEATS_MAX ? b->options->repeats : REPEATS_MAX;
    const bool multi = way == MULTI_DEVICE || way == MULTI_DEVICE_ORDERED,
               missing = way == GRAPH_PROGRAMMATIC && gpu->capability < 90;
    /* Several GPUs need kernels longer than launching on all of them takes. */
    const int longer = multi && m->high_kernel != STENCIL_LAUNCH_NULL ? STENCIL_LAUNCH_LONGER : 0;
    launch_case c = {
        .way = way,
        .gpus = gpus,
        .blocks = m->one_warp ? 1 : (unsigned)gpu->sm_count,
        .threads = m->one_warp ? 32 : THREADS,
        .low = {.kernel = stencil_launch_kernels[m->low_kernel + longer], .count = m->low},
        .high = {.kernel = stencil_launch_kernels[m->high_kernel + longer], .count = m->high},
    };
    if (repeats > 0 && m->rounds == 1)
        c.high.count = c.low.count + (int)repeats;
    if (!missing) {
        TRY(capture(b, &c, &c.high));
        TRY(capture(b, &c, &c.low));
    }
    return STENCIL_BENCH_ADD(b, c, m->kind, way_names[way], "s/launch", m->method, .sample = sample,
                             .verify = verify, .axis = {{multi ? "gpus" : NULL, gpus}}, .count = c.low.count,
                             .more = c.high.count - c.low.count,
                             .pairs = multi && m->rounds > 5 ? 5 : m->rounds,
                             .skipped = missing ? "programmatic launch needs compute capability 9.0" : NULL);
}

static stencil_status add_cases(stencil_bench *b) {
    for (const metric *m = metrics; m < metrics + LAUNCH_AND_WAIT; m++) {
        for (int way = TRADITIONAL; way <= GRAPH_PROGRAMMATIC; way++)
            TRY(add_case(b, (launch_way)way, m, 1));
        for (int gpus = 2; gpus <= b->options->gpu_count; gpus++) {
            TRY(add_case(b, MULTI_DEVICE, m, gpus));
            TRY(add_case(b, MULTI_DEVICE_ORDERED, m, gpus));
        }
    }
    for (int way = STREAM_SYNC; way <= EVENT_SYNC; way++)
        TRY(add_case(b, (launch_way)way, &metrics[LAUNCH_AND_WAIT], 1));
    return STENCIL_OK;
}

stencil_status stencil_measure_launch(stencil_bench *b) {
    stencil_device gpu[STENCIL_GPUS_MAX];
    double hz;
    b->own = gpu;
    for (int i = b->options->gpu_count - 1; i >= 0; i--) {
        TRY(stencil_device_create(b, i, &gpu[i]));
        TRY(stencil_clock_seen(b, gpu[i].gpu, &hz)); /* warms up; the device stays current */
    }
    stencil_bench_add_number(b->result, "threads_per_block", THREADS);
    TRY(add_cases(b));
    stencil_bench_note(b,
                       "A block of %d threads on every multiprocessor; one warp where kernels sleep. "
                       "Multi-device: a launch on each GPU, by one thread.",
                       THREADS);
    stencil_bench_note(b,
                       "Verified: after timing, %d kernels launched in each way that lose counts where one "
                       "begins before the last one has ended.",
                       VERIFIED_LAUNCHES);
    return stencil_bench_take(b);
}
#endif

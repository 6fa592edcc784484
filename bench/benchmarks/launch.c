/* What it costs that the next step is a launch of its own (000 section 4, Table 1, section 9.2): kernels that
 * do nothing, launched in every way that there is, pipelined and one by one; launch overhead by kernel
 * fusion; the three ways to wait on the host after each launch (rshipley160's experiment: stream, device,
 * event).
 *
 * Every row is one formula, (time of `high` launches - time of `low` launches) / (high - low), for two pairs
 * of a kernel and a count: with kernels that do nothing it is the two-repeat-count method, and with five
 * kernels of one unit against one kernel of five units it is kernel fusion, where both do the same work. */
#include "bench/benchmarks/cpu.h"
#include "bench/benchmarks/method.h"
#include "bench/clock.h"
#include "base/cuda.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>

#include "bench/benchmarks/launch_kernels.h"

enum { THREADS = 1024, VERIFIED_LAUNCHES = 20, MULTI_UNITS = 10, REPEATS_MAX = 50000 };

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
    stencil_launch_work work;
    int high, low;             /* launches */
    int high_units, low_units; /* of work in each */
    int rounds;                /* of both in a sample */
    bool one_warp;             /* else a block of 1024 threads on every multiprocessor */
} metric;

enum { TOTAL, PIPELINED, FUSED_SLEEP, FUSED_SPIN, LAUNCH_AND_WAIT, METRIC_COUNT };

/* One warp sleeps: among many the one that sleeps longest would count, and that differs between one long
 * kernel and five short ones. A spin takes as many cycles everywhere. */
static const metric metrics[METRIC_COUNT] = {
    [TOTAL] = {"total latency", "1 and 5 launches of a null kernel, CPU clock (000 Fig. 3)",
               STENCIL_LAUNCH_NULL, 5, 1, 1, 1, 50, false},
    [PIPELINED] = {"pipelined", STENCIL_METHOD_TWO_COUNTS, STENCIL_LAUNCH_NULL, 2000, 500, 1, 1, 1, false},
    [FUSED_SLEEP] = {"overhead, sleep", STENCIL_METHOD_FUSION, STENCIL_LAUNCH_SLEEP, 5, 1, 1, 5, 20, true},
    [FUSED_SPIN] = {"overhead, spin", "kernel fusion with a spin of as many cycles (after 000 Eq. 6)",
                    STENCIL_LAUNCH_SPIN, 5, 1, 1, 5, 20, false},
    [LAUNCH_AND_WAIT] = {"launch and wait", STENCIL_METHOD_TWO_COUNTS, STENCIL_LAUNCH_NULL, 600, 100, 1, 1, 1,
                         false},
};

/* The launches of one pair. */
typedef struct launches {
    const void *kernel;
    int count;
    cudaGraphExec_t graph; /* all of them, owned; NULL: no graph */
} launches;

/* A row. */
typedef struct launch_case {
    launch_way way;
    int gpus, rounds;
    unsigned blocks, threads;
    launches high, low;
    stencil_two_counts two;
} launch_case;

enum { CASES_MAX = METRIC_COUNT * (4 + 2 * STENCIL_GPUS_MAX) + 3 };

typedef struct bench {
    int gpu_count;
    const int *gpu; /* [gpu_count] */
    cudaStream_t stream[STENCIL_GPUS_MAX];
    cudaEvent_t done[STENCIL_GPUS_MAX];
    launch_case cases[CASES_MAX]; /* of each row */
} bench;

static stencil_status launch_one(const bench *b, const launch_case *c, const void *kernel, int gpu,
                                 bool programmatic) {
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeProgrammaticStreamSerialization,
                                     .val.programmaticStreamSerializationAllowed = 1};
    const cudaLaunchConfig_t config = {.gridDim = {c->blocks, 1, 1},
                                       .blockDim = {c->threads, 1, 1},
                                       .stream = b->stream[gpu],
                                       .attrs = &attribute,
                                       .numAttrs = 1};
    void *none[1] = {NULL};
    if (programmatic)
        TRY_CUDA(cudaLaunchKernelExC(&config, kernel, none));
    else if (c->way == COOPERATIVE)
        TRY_CUDA(
            cudaLaunchCooperativeKernel(kernel, config.gridDim, config.blockDim, none, 0, b->stream[gpu]));
    else
        TRY_CUDA(cudaLaunchKernel(kernel, config.gridDim, config.blockDim, none, 0, b->stream[gpu]));
    return STENCIL_OK;
}

/* One round on several GPUs. With events it is an implicit barrier among them, which is what
 * cudaLaunchCooperativeKernelMultiDevice() was before CUDA 13 dropped it. */
static stencil_status launch_round(const bench *b, const launch_case *c, const void *kernel) {
    for (int i = 0; i < c->gpus; i++) {
        TRY_CUDA(cudaSetDevice(b->gpu[i]));
        TRY(launch_one(b, c, kernel, i, false));
        if (c->way == MULTI_DEVICE_ORDERED)
            TRY_CUDA(cudaEventRecord(b->done[i], b->stream[i]));
    }
    if (c->way != MULTI_DEVICE_ORDERED)
        return STENCIL_OK;
    for (int i = 0; i < c->gpus; i++) {
        TRY_CUDA(cudaSetDevice(b->gpu[i]));
        for (int other = 0; other < c->gpus; other++)
            if (other != i)
                TRY_CUDA(cudaStreamWaitEvent(b->stream[i], b->done[other], 0));
    }
    return STENCIL_OK;
}

static stencil_status wait_after_launch(const bench *b, launch_way way) {
    switch (way) {
    case STREAM_SYNC:
        TRY_CUDA(cudaStreamSynchronize(b->stream[0]));
        break;
    case DEVICE_SYNC:
        TRY_CUDA(cudaDeviceSynchronize());
        break;
    case EVENT_SYNC:
        TRY_CUDA(cudaEventRecord(b->done[0], b->stream[0]));
        TRY_CUDA(cudaEventSynchronize(b->done[0]));
        break;
    default:
        break;
    }
    return STENCIL_OK;
}

static stencil_status launch_all(const bench *b, const launch_case *c, const launches *l) {
    if (l->graph != NULL) {
        TRY_CUDA(cudaGraphLaunch(l->graph, b->stream[0]));
        return STENCIL_OK;
    }
    for (int i = 0; i < l->count; i++) {
        if (c->way == MULTI_DEVICE || c->way == MULTI_DEVICE_ORDERED) {
            TRY(launch_round(b, c, l->kernel));
        } else {
            TRY(launch_one(b, c, l->kernel, 0, false));
            TRY(wait_after_launch(b, c->way));
        }
    }
    return STENCIL_OK;
}

static stencil_status wait_for_gpus(const bench *b, int gpus) {
    for (int i = gpus - 1; i >= 0; i--) { /* the first GPU is the current one afterwards */
        if (gpus > 1)
            TRY_CUDA(cudaSetDevice(b->gpu[i]));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

static stencil_status time_launches(const bench *b, const launch_case *c, const launches *l, double *time_s) {
    const double start_s = stencil_clock_s();
    TRY(launch_all(b, c, l));
    TRY(wait_for_gpus(b, c->gpus));
    *time_s = stencil_clock_s() - start_s;
    return STENCIL_OK;
}

static stencil_status sample(void *context, int row, double *value) {
    bench *b = context;
    launch_case *c = &b->cases[row];
    double high_s[STENCIL_PAIRS_MAX], low_s[STENCIL_PAIRS_MAX];
    for (int round = 0; round < c->rounds; round++) {
        TRY(time_launches(b, c, &c->low, &low_s[round]));
        TRY(time_launches(b, c, &c->high, &high_s[round]));
    }
    *value = stencil_two_counts_add_pairs(&c->two, high_s, low_s, c->rounds);
    return STENCIL_OK;
}

static stencil_status capture(const bench *b, const launch_case *c, launches *l) {
    if (c->way != GRAPH && c->way != GRAPH_PROGRAMMATIC)
        return STENCIL_OK;
    cudaGraph_t graph = NULL;
    struct cudaFuncAttributes attributes;
    TRY_CUDA(cudaFuncGetAttributes(&attributes, l->kernel)); /* loads it: not while capturing */
    TRY_CUDA(cudaStreamBeginCapture(b->stream[0], cudaStreamCaptureModeThreadLocal));
    stencil_status status = STENCIL_OK;
    for (int i = 0; i < l->count && status == STENCIL_OK; i++)
        status = launch_one(b, c, l->kernel, 0, c->way == GRAPH_PROGRAMMATIC && i > 0);
    const cudaError_t ended = cudaStreamEndCapture(b->stream[0], &graph);
    TRY(status);
    TRY_CUDA(ended);
    const cudaError_t made = cudaGraphInstantiate(&l->graph, graph, 0);
    cudaGraphDestroy(graph);
    TRY_CUDA(made);
    TRY_CUDA(cudaGraphUpload(l->graph, b->stream[0]));
    TRY_CUDA(cudaStreamSynchronize(b->stream[0]));
    return STENCIL_OK;
}

static void destroy_graphs(launch_case *c) {
    if (c->high.graph != NULL)
        cudaGraphExecDestroy(c->high.graph);
    if (c->low.graph != NULL)
        cudaGraphExecDestroy(c->low.graph);
    c->high.graph = c->low.graph = NULL;
}

/* Kernels that lose counts where one begins before the one before it has ended. */
static stencil_status verify(const bench *b, launch_case *c) {
    uint32_t count;
    c->high =
        (launches){.kernel = stencil_launch_kernel(STENCIL_LAUNCH_COUNT, 0), .count = VERIFIED_LAUNCHES};
    TRY(capture(b, c, &c->high));
    for (int i = 0; i < c->gpus; i++) {
        TRY_CUDA(cudaSetDevice(b->gpu[i]));
        TRY_CUDA((cudaError_t)stencil_launch_take_count(&count));
    }
    TRY_CUDA(cudaSetDevice(b->gpu[0]));
    TRY(launch_all(b, c, &c->high));
    TRY(wait_for_gpus(b, c->gpus));
    for (int i = c->gpus - 1; i >= 0; i--) {
        TRY_CUDA(cudaSetDevice(b->gpu[i]));
        TRY_CUDA((cudaError_t)stencil_launch_take_count(&count));
        CHECK(count == VERIFIED_LAUNCHES, INTERNAL,
              "launch: %u of %d kernels launched by way of %s ran one after the other", count,
              VERIFIED_LAUNCHES, way_names[c->way]);
    }
    return STENCIL_OK;
}

static stencil_status verify_way(const bench *b, launch_way way, int gpus) {
    launch_case c = {.way = way, .gpus = gpus, .blocks = 2, .threads = 32};
    const stencil_status status = verify(b, &c);
    destroy_graphs(&c);
    return status;
}

static stencil_status add_case(bench *b, const stencil_bench_options *options, const stencil_gpu *gpu,
                               stencil_bench_result *result, launch_way way, int metric_id, int gpus) {
    const metric *m = &metrics[metric_id];
    const bool multi = way == MULTI_DEVICE || way == MULTI_DEVICE_ORDERED;
    /* Several GPUs need kernels longer than launching on all of them takes. */
    const int units = multi ? MULTI_UNITS : 1;
    int row;
    TRY(stencil_bench_add_row(result, m->kind, way_names[way], "s/launch", &row));
    result->row[row].method = m->method;
    if (multi)
        stencil_bench_set_axis(result, row, "gpus", gpus);
    launch_case *c = &b->cases[row];
    *c = (launch_case){
        .way = way,
        .gpus = gpus,
        .rounds = multi && m->rounds > 5 ? 5 : m->rounds,
        .blocks = m->one_warp ? 1 : (unsigned)gpu->sm_count,
        .threads = m->one_warp ? 32 : THREADS,
        .high = {.kernel = stencil_launch_kernel(m->work, units * m->high_units), .count = m->high},
        .low = {.kernel = stencil_launch_kernel(m->work, units * m->low_units), .count = m->low},
    };
    if (options->repeats > 0 && m->rounds == 1)
        c->high.count = c->low.count + (int)(options->repeats < REPEATS_MAX ? options->repeats : REPEATS_MAX);
    c->two.difference = c->high.count - c->low.count;
    if (way == GRAPH_PROGRAMMATIC && gpu->capability < 90) {
        stencil_bench_skip_row(result, row, "programmatic launch needs compute capability 9.0");
        return STENCIL_OK;
    }
    TRY(capture(b, c, &c->high));
    return capture(b, c, &c->low);
}

static stencil_status add_cases(bench *b, const stencil_bench_options *options, const stencil_gpu *gpu,
                                stencil_bench_result *result) {
    for (int m = 0; m < LAUNCH_AND_WAIT; m++) {
        for (int way = TRADITIONAL; way <= GRAPH_PROGRAMMATIC; way++)
            TRY(add_case(b, options, gpu, result, (launch_way)way, m, 1));
        for (int gpus = 2; gpus <= b->gpu_count; gpus++) {
            TRY(add_case(b, options, gpu, result, MULTI_DEVICE, m, gpus));
            TRY(add_case(b, options, gpu, result, MULTI_DEVICE_ORDERED, m, gpus));
        }
    }
    for (int way = STREAM_SYNC; way <= EVENT_SYNC; way++)
        TRY(add_case(b, options, gpu, result, (launch_way)way, LAUNCH_AND_WAIT, 1));
    return STENCIL_OK;
}

static stencil_status measure(bench *b, const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    double hz;
    for (int i = b->gpu_count - 1; i >= 0; i--) {
        TRY(stencil_clock_seen(STENCIL_BACKEND_GPU, b->gpu[i], &hz)); /* warms up; the device stays current */
        TRY_CUDA(cudaStreamCreateWithFlags(&b->stream[i], cudaStreamNonBlocking));
        TRY_CUDA(cudaEventCreateWithFlags(&b->done[i], cudaEventDisableTiming));
    }
    stencil_bench_add_number(result, "threads_per_block", THREADS);
    TRY(add_cases(b, options, &machine->gpu[b->gpu[0]], result));
    TRY(stencil_bench_measure_values(result, options, sample, b));
    for (int row = 0; row < result->row_count; row++) {
        if (result->row[row].skipped[0] != '\0')
            continue;
        result->row[row].method_sd = stencil_two_counts_sd(&b->cases[row].two);
        TRY(verify_way(b, b->cases[row].way, b->cases[row].gpus));
    }
    stencil_bench_add_note(result,
                           "A block of %d threads on every multiprocessor; one warp where kernels "
                           "sleep. Multi-device: a launch on each GPU, by one thread.",
                           THREADS);
    stencil_bench_add_note(result,
                           "Verified: after timing, %d kernels launched in each way that lose counts "
                           "where one begins before the last one has ended.",
                           VERIFIED_LAUNCHES);
    return STENCIL_OK;
}

static stencil_status run_gpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    bench *b = calloc(1, sizeof *b);
    CHECK(b != NULL, NO_MEMORY, "no memory for the benchmark launch");
    b->gpu = options->gpu;
    b->gpu_count = options->gpu_count;
    const stencil_status status = measure(b, options, machine, result);
    for (int row = 0; row < result->row_count; row++)
        destroy_graphs(&b->cases[row]);
    for (int i = 0; i < b->gpu_count; i++) {
        if (b->stream[i] != NULL)
            cudaStreamDestroy(b->stream[i]);
        if (b->done[i] != NULL)
            cudaEventDestroy(b->done[i]);
    }
    free(b);
    return status;
}
#endif

const stencil_benchmark stencil_benchmark_launch = {
    .run_cpu = stencil_bench_launch_cpu,
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .many_gpus = true,
    .cpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_ITERATIONS,
    .gpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_REPEATS,
};

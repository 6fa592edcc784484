/* Benchmark `launch`: cost of a kernel launch per time step (000 section 4, Table 1, section 9.2), by null
 * kernels in every kind of launch, pipelined and one at a time; launch overhead by kernel fusion; three ways
 * to wait on the host after each launch (rshipley160's experiment: stream, device, event).
 *
 * Every row is (time of `high` launches - time of `low` launches) / (high - low): with null kernels the
 * two-repeat-count method; with five kernels of one unit of time and one of five units kernel fusion. */
#include "bench/device.h"

static __device__ uint32_t counter;

/* Waits for the preceding kernel, which may still run after a programmatic launch; else a no-op. */
static __device__ __forceinline__ void after_predecessor() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#endif
}

static __global__ void null_kernel() {
    after_predecessor();
}

/* Kernels that last `Units` units of time: 10 calls of __nanosleep(1000), some 10 us, or 20 000 cycles. */
template <int Units> static __global__ void sleep_kernel() {
    after_predecessor();
#pragma unroll 1
    for (int i = 0; i < 10 * Units; i++)
        asm volatile("nanosleep.u32 1000;");
}

template <int Units> static __global__ void spin_kernel() {
    after_predecessor();
    const long long start = clock64();
    while (clock64() - start < 20000ll * Units) {
    }
}

/* Kernel in which one thread reads a counter, waits and writes: kernels that overlap lose counts. */
static __global__ void count_kernel() {
    after_predecessor();
    if (blockIdx.x != 0 || threadIdx.x != 0)
        return;
    volatile uint32_t *word = &counter;
    const uint32_t seen = *word;
    const long long start = clock64();
    while (clock64() - start < 4000) {
    }
    *word = seen + 1;
}

/* Type of the timed kernels, which have no arguments, as the method requires. */
using kernel = void();

enum { THREADS = 1024, VERIFIED_LAUNCHES = 20, REPEATS_MAX = 50000 };

struct launch_way {
    const char *name;
    bool cooperative, graph, programmatic;
    bool multi;  /* a single host thread launches on all GPUs */
    bool events; /* records an event after each launch, which the next kernels of all GPUs wait for */
    cudaError_t (*wait)(const stencil_device *); /* wait on the host after each launch; NULL: no wait */
};
static const launch_way ways[] = {
    {"traditional"},
    {"cooperative", .cooperative = true},
    {"graph", .graph = true},
    {"graph, programmatic", .graph = true, .programmatic = true},
    {"multi-device", .multi = true},
    {"multi-device, events", .multi = true, .events = true},
    {"stream wait", .wait = [](const stencil_device *gpu) { return cudaStreamSynchronize(gpu->stream); }},
    {"device wait", .wait = [](const stencil_device *) { return cudaDeviceSynchronize(); }},
    {"event wait", .events = true,
     .wait = [](const stencil_device *gpu) { return cudaEventSynchronize(gpu->done); }},
};

/* A figure computed from the times of two launch series, each of a kernel and a number of launches. */
struct metric {
    const char *kind, *method;
    int high, low; /* launches in the two series */
    int rounds;    /* times that both series are run in a sample */
    kernel *high_kernel, *low_kernel;
    kernel *high_longer, *low_longer; /* kernels on several GPUs: last longer than launching on all */
    bool one_warp; /* launches a single warp; else a block of 1024 threads per multiprocessor */
    bool waits;    /* measured for the ways that wait on the host */
};

/* Metrics of benchmark launch. Sleep kernels have a single warp: with many the longest sleep would count,
 * which differs between a long kernel and five short ones. Spin kernels last equally long in all warps. */
static const metric metrics[] = {
    {"total latency", "1 and 5 launches of a null kernel, CPU clock (000 Fig. 3)", 5, 1, 50, null_kernel,
     null_kernel, null_kernel, null_kernel, false},
    {"pipelined", STENCIL_METHOD_TWO_COUNTS, 2000, 500, 1, null_kernel, null_kernel, null_kernel, null_kernel,
     false},
    {"overhead, sleep", STENCIL_METHOD_FUSION, 5, 1, 20, sleep_kernel<1>, sleep_kernel<5>, sleep_kernel<10>,
     sleep_kernel<50>, true},
    {"overhead, spin", "kernel fusion with a spin of as many cycles (after 000 Eq. 6)", 5, 1, 20,
     spin_kernel<1>, spin_kernel<5>, spin_kernel<10>, spin_kernel<50>, false},
    {"launch and wait", STENCIL_METHOD_TWO_COUNTS, 600, 100, 1, null_kernel, null_kernel, .waits = true},
};

/* A launch series: a kernel and its number of launches. */
struct launches {
    kernel *function;
    int count;
    cudaGraphExec_t graph; /* graph of all launches of the series; NULL: no graph */
};

/* Case of a row of benchmark launch. */
struct launch_case {
    const stencil_device *gpu; /* [gpus], the GPUs to launch on */
    const launch_way *way;
    int gpus;
    unsigned blocks, threads;
    launches low, high;
};

static stencil_status launch_one(const stencil_device *gpu, const launch_case *c, kernel *function,
                                 bool programmatic) {
    const dim3 grid = {c->blocks, 1, 1}, block = {c->threads, 1, 1};
    const void *code = reinterpret_cast<const void *>(function);
    void *none[1] = {nullptr};
    if (programmatic) {
        cudaLaunchAttribute attribute = {};
        attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
        attribute.val.programmaticStreamSerializationAllowed = 1;
        const cudaLaunchConfig_t config = {grid, block, 0, gpu->stream, &attribute, 1};
        TRY_CUDA(cudaLaunchKernelExC(&config, code, none));
    } else if (c->way->cooperative) {
        TRY_CUDA(cudaLaunchCooperativeKernel(code, grid, block, none, 0, gpu->stream));
    } else {
        TRY_CUDA(cudaLaunchKernel(code, grid, block, none, 0, gpu->stream));
    }
    return STENCIL_OK;
}

/* Launches a kernel on each GPU and waits in the way of the case. With events, launches on several GPUs are
 * ordered as in cudaLaunchCooperativeKernelMultiDevice(), which CUDA 13 dropped. */
static stencil_status launch_round(const launch_case *c, kernel *function) {
    const stencil_device *gpu = c->gpu;
    for (int i = 0; i < c->gpus; i++) {
        if (c->gpus > 1)
            TRY_CUDA(cudaSetDevice(gpu[i].gpu));
        TRY(launch_one(&gpu[i], c, function, false));
        if (c->way->events)
            TRY_CUDA(cudaEventRecord(gpu[i].done, gpu[i].stream));
    }
    for (int i = 0; i < c->gpus && c->way->multi && c->way->events; i++) {
        TRY_CUDA(cudaSetDevice(gpu[i].gpu));
        for (int other = 0; other < c->gpus; other++)
            if (other != i)
                TRY_CUDA(cudaStreamWaitEvent(gpu[i].stream, gpu[other].done, 0));
    }
    if (c->way->wait != NULL)
        TRY_CUDA(c->way->wait(gpu));
    return STENCIL_OK;
}

/* Times a launch series, from its first launch to the end of its last kernel. */
static stencil_status launch_all(const launch_case *c, const launches *l, double *time_s) {
    const double start_s = stencil_clock_s();
    if (l->graph != NULL)
        TRY_CUDA(cudaGraphLaunch(l->graph, c->gpu->stream));
    for (int i = 0; i < l->count && l->graph == NULL; i++)
        TRY(launch_round(c, l->function));
    for (int i = c->gpus - 1; i >= 0; i--) { /* downwards, so that the first GPU is current at the end */
        if (c->gpus > 1)
            TRY_CUDA(cudaSetDevice(c->gpu[i].gpu));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    *time_s = stencil_clock_s() - start_s;
    return STENCIL_OK;
}

static stencil_status sample(stencil_bench *, void *what, int64_t count, double *time_s) {
    const launch_case *c = static_cast<launch_case *>(what);
    return launch_all(c, count == c->low.count ? &c->low : &c->high, time_s);
}

/* Arguments of capture(), which makes a graph of a launch series. */
struct captured {
    const launch_case *c;
    const launches *l;
};
static stencil_status queue(const void *what) {
    const captured *of = static_cast<const captured *>(what);
    for (int i = 0; i < of->l->count; i++)
        TRY(launch_one(of->c->gpu, of->c, of->l->function, of->c->way->programmatic && i > 0));
    return STENCIL_OK;
}

static stencil_status capture(stencil_bench *b, const launch_case *c, launches *l) {
    const captured of = {c, l};
    cudaFuncAttributes attributes;
    if (!c->way->graph)
        return STENCIL_OK;
    /* Loads the kernel before the capture. */
    TRY_CUDA(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void *>(l->function)));
    TRY(stencil_device_capture(b, c->gpu, queue, &of, &l->graph));
    TRY_CUDA(cudaGraphUpload(l->graph, c->gpu->stream));
    TRY_CUDA(cudaStreamSynchronize(c->gpu->stream));
    return STENCIL_OK;
}

/* Copies the counter of each GPU to count[gpus] and zeroes the counters; the first GPU becomes current. */
static stencil_status take_counts(const launch_case *c, uint32_t *count) {
    const uint32_t zero = 0;
    for (int i = c->gpus - 1; i >= 0; i--) {
        TRY_CUDA(cudaSetDevice(c->gpu[i].gpu));
        TRY_CUDA(cudaMemcpyFromSymbol(&count[i], counter, sizeof zero));
        TRY_CUDA(cudaMemcpyToSymbol(counter, &zero, sizeof zero));
    }
    return STENCIL_OK;
}

/* Verifies the order of launches with count_kernel(), which loses counts where kernels overlap. */
static stencil_status verify(stencil_bench *b, void *what) {
    launch_case c = *static_cast<launch_case *>(what);
    uint32_t count[STENCIL_GPUS_MAX];
    double time_s;
    c.blocks = 2;
    c.threads = 32;
    c.high = {count_kernel, VERIFIED_LAUNCHES, nullptr};
    TRY(capture(b, &c, &c.high));
    TRY(take_counts(&c, count));
    TRY(launch_all(&c, &c.high, &time_s));
    TRY(take_counts(&c, count));
    for (int i = 0; i < c.gpus; i++)
        CHECK(count[i] == VERIFIED_LAUNCHES, INTERNAL,
              "launch: %u of %d kernels launched by way of %s ran one after the other", count[i],
              VERIFIED_LAUNCHES, c.way->name);
    return STENCIL_OK;
}

static stencil_status add_case(stencil_bench *b, const stencil_device *gpu, const launch_way *way,
                               const metric *m, int gpus) {
    const int64_t repeats = stencil_smaller(b->options->repeats, REPEATS_MAX);
    const bool multi = way->multi,
               missing = way->programmatic && stencil_gpu_code(&b->machine->gpu[gpu->gpu]) < 90;
    launch_case c = {
        .gpu = gpu,
        .way = way,
        .gpus = gpus,
        .blocks = m->one_warp ? 1 : gpu->sm_count,
        .threads = m->one_warp ? 32u : (unsigned)THREADS,
        .low = {multi ? m->low_longer : m->low_kernel, m->low},
        .high = {multi ? m->high_longer : m->high_kernel, m->high},
    };
    if (repeats > 0 && m->rounds == 1)
        c.high.count = c.low.count + (int)repeats;
    if (!missing) {
        TRY(capture(b, &c, &c.high));
        TRY(capture(b, &c, &c.low));
    }
    return STENCIL_BENCH_ADD(
        b, c, m->kind, way->name, "s/launch", m->method, .sample = sample, .verify = verify,
        .axis = {{multi ? "gpus" : NULL, gpus}}, .count = c.low.count, .more = c.high.count - c.low.count,
        .pairs = multi && m->rounds > 5 ? 5 : m->rounds,
        .skipped = missing ? "programmatic launch needs GPU code for compute capability 9.0" : NULL);
}

static stencil_status add_cases(stencil_bench *b, const stencil_device *gpu) {
    for (const metric &m : metrics)
        for (int gpus = 1; gpus <= b->options->gpu_count; gpus++)
            for (const launch_way &way : ways)
                if (way.multi == (gpus > 1) && (way.wait != NULL) == m.waits)
                    TRY(add_case(b, gpu, &way, &m, gpus));
    return STENCIL_OK;
}

stencil_status stencil_measure_launch(stencil_bench *b) {
    stencil_device gpu[STENCIL_GPUS_MAX];
    double hz;
    for (int i = b->options->gpu_count - 1; i >= 0; i--) {
        TRY(stencil_device_create(b, i, &gpu[i]));
        TRY(stencil_device_clock(b, gpu[i].gpu, &hz)); /* warm-up; makes the device current */
    }
    stencil_bench_add_number(b->result, "threads_per_block", THREADS);
    TRY(add_cases(b, gpu));
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

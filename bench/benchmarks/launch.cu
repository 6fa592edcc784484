/* Cost of making the next step a launch of its own (000 section 4, Table 1, section 9.2): kernels that
 * do nothing, launched in every way that there is, pipelined and one by one; launch overhead by kernel
 * fusion; the three ways to wait on the host after each launch (rshipley160's experiment: stream, device,
 * event).
 *
 * Every row is one formula, (time of `high` launches - time of `low` launches) / (high - low), for two pairs
 * of a kernel and a count: with kernels that do nothing it is the two-repeat-count method, and with five
 * kernels of one unit against one kernel of five units it is kernel fusion, where both do the same work. */
#include "bench/device.h"

static __device__ uint32_t counter;

/* A programmatic launch starts while the kernel before it runs: the order is kept here, as the sweeps do it.
 * Nothing happens in any other launch. */
static __device__ __forceinline__ void after_predecessor() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;\n\tgriddepcontrol.wait;" ::: "memory");
#endif
}

static __global__ void null_kernel() {
    after_predecessor();
}

/* Kernels that take so many units: of 10 us, as 10 nanosleeps of 1000; of 20 000 cycles. */
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

/* One thread of the grid: reads, waits, writes. */
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

/* None takes arguments, as the method asks for. */
using kernel = void();

enum { THREADS = 1024, VERIFIED_LAUNCHES = 20, REPEATS_MAX = 50000 };

struct launch_way {
    const char *name;
    bool cooperative, graph, programmatic;
    bool multi;  /* one thread launches on each GPU in turn */
    bool events; /* one behind each launch; on several GPUs no kernel begins before those of all have come */
    cudaError_t (*wait)(const stencil_device *); /* on the host, after each launch; NULL: not */
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

/* A figure that is computed from two pairs of a kernel and a count. */
struct metric {
    const char *kind, *method;
    int high, low; /* launches */
    int rounds;    /* of both in a sample */
    kernel *high_kernel, *low_kernel;
    kernel *high_longer, *low_longer; /* on several GPUs: longer than launching on all of them takes */
    bool one_warp;                    /* else a block of 1024 threads on every multiprocessor */
    bool waits;                       /* by those ways that do */
};

/* One warp sleeps: among many the one that sleeps longest would count, and that differs between one long
 * kernel and five short ones. A spin takes as many cycles everywhere. */
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

/* The launches of one pair. */
struct launches {
    kernel *function;
    int count;
    cudaGraphExec_t graph; /* all of them; NULL: no graph */
};

/* A row. */
struct launch_case {
    const stencil_device *gpu; /* [gpus], of all GPUs */
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

/* A launch on each GPU, and the wait that belongs to it. With events it is an implicit barrier among several,
 * which is what cudaLaunchCooperativeKernelMultiDevice() was before CUDA 13 dropped it. */
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

/* Times a series from its first launch until all have ended. */
static stencil_status launch_all(const launch_case *c, const launches *l, double *time_s) {
    const double start_s = stencil_clock_s();
    if (l->graph != NULL)
        TRY_CUDA(cudaGraphLaunch(l->graph, c->gpu->stream));
    for (int i = 0; i < l->count && l->graph == NULL; i++)
        TRY(launch_round(c, l->function));
    for (int i = c->gpus - 1; i >= 0; i--) { /* the first GPU is the current one afterwards */
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

/* The arguments of capture(), which makes a graph of a pair of launches. */
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
    TRY_CUDA(cudaFuncGetAttributes(
        &attributes, reinterpret_cast<const void *>(l->function))); /* loads it: not while capturing */
    TRY(stencil_device_capture(b, c->gpu, queue, &of, &l->graph));
    TRY_CUDA(cudaGraphUpload(l->graph, c->gpu->stream));
    TRY_CUDA(cudaStreamSynchronize(c->gpu->stream));
    return STENCIL_OK;
}

/* Copies the counter of each GPU to count[gpus] and zeroes it; leaves the first GPU the current one. */
static stencil_status take_counts(const launch_case *c, uint32_t *count) {
    const uint32_t zero = 0;
    for (int i = c->gpus - 1; i >= 0; i--) {
        TRY_CUDA(cudaSetDevice(c->gpu[i].gpu));
        TRY_CUDA(cudaMemcpyFromSymbol(&count[i], counter, sizeof zero));
        TRY_CUDA(cudaMemcpyToSymbol(counter, &zero, sizeof zero));
    }
    return STENCIL_OK;
}

/* Kernels that lose counts where one begins before the one before it has ended. */
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
        TRY(stencil_device_clock(b, gpu[i].gpu, &hz)); /* warms up; the device stays current */
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

/* Benchmark `host-barrier` (000 section 4.2, Fig. 4, 5): a CPU thread for each GPU launches a kernel, waits
 * for its stream or device, and passes the OpenMP barrier; over the number of GPUs. */
#include <omp.h>

#include "bench/device.h"

enum { THREADS = 1024, FEW = 500, MORE = 1500, VERIFIED_PASSES = 200 };

struct host_case {
    int gpus;
    bool device; /* each thread waits for its device; false: for its stream */
};

struct host {
    stencil_device gpu[STENCIL_GPUS_MAX];
    uint32_t (*word)[32]; /* pinned memory, a cache line for each GPU */
};

static __global__ void nothing() {}

/* Kernel that spins some microseconds, depending on `round`, then stores `round`. */
static __global__ void mark(uint32_t *word, uint32_t round) {
    if (blockIdx.x != 0 || threadIdx.x != 0)
        return;
    const long long start = clock64(), cycles = 2000 + 8000 * (round % 4);
    while (clock64() - start < cycles) {
    }
    *(volatile uint32_t *)word = round;
}

/* A launch and a wait by one thread, before the OpenMP barrier. round 0: a kernel that does nothing. */
static cudaError_t pass(const host *h, const host_case *c, int thread, uint32_t round) {
    const cudaStream_t stream = h->gpu[thread].stream;
    const void *kernel =
        round == 0 ? reinterpret_cast<const void *>(nothing) : reinterpret_cast<const void *>(mark);
    uint32_t *word = h->word[thread];
    void *arguments[] = {&word, &round};
    const cudaError_t state =
        cudaLaunchKernel(kernel, dim3{h->gpu->sm_count, 1, 1}, dim3{THREADS, 1, 1}, arguments, 0, stream);
    if (state != cudaSuccess)
        return state;
    return c->device ? cudaDeviceSynchronize() : cudaStreamSynchronize(stream);
}

/* Times all passes in a parallel region. When verifying, each thread checks after each pass that all GPUs
 * have stored its number. A thread whose device fails still passes the barriers, to avoid a deadlock. */
static stencil_status sample(stencil_bench *b, void *what, int64_t passes, double *time_s) {
    const host *h = static_cast<host *>(b->own);
    const host_case *c = static_cast<host_case *>(what);
    const bool check = b->verifying;
    int threads = 0;
    int64_t missing = 0;
    cudaError_t failed[STENCIL_GPUS_MAX] = {cudaSuccess};
    double start_s = 0;
    for (int i = 0; i < c->gpus; i++)
        h->word[i][0] = 0;
#pragma omp parallel num_threads(c->gpus) reduction(+ : missing) proc_bind(spread)
    {
        const int thread = omp_get_thread_num(), team = omp_get_num_threads();
        cudaError_t state = team == c->gpus ? cudaSetDevice(h->gpu[thread].gpu) : cudaSuccess;
        /* A first launch of each thread on its device is a warm-up, not timed. */
        if (team == c->gpus && state == cudaSuccess)
            state = pass(h, c, thread, 0);
#pragma omp barrier
#pragma omp master
        {
            threads = team;
            start_s = stencil_clock_s();
        }
        for (int64_t i = 1; i <= passes && team == c->gpus; i++) {
            if (state == cudaSuccess)
                state = pass(h, c, thread, check ? (uint32_t)i : 0);
#pragma omp barrier
            for (int other = 0; check && other < c->gpus; other++)
                missing += __atomic_load_n(&h->word[other][0], __ATOMIC_RELAXED) < (uint32_t)i;
        }
        failed[thread] = state;
    }
    *time_s = stencil_clock_s() - start_s;
    TRY(stencil_bench_check_team(threads, c->gpus));
    for (int i = 0; i < c->gpus; i++)
        TRY_CUDA(failed[i]);
    CHECK(missing == 0, INTERNAL, "host-barrier of %d GPUs does not hold: %lld times a kernel had not ended",
          c->gpus, (long long)missing);
    return STENCIL_OK;
}

static stencil_status prepare(stencil_bench *b, host *h) {
    const int count = b->options->gpu_count;
    TRY_CUDA(cudaHostAlloc((void **)&h->word, (size_t)count * sizeof *h->word, cudaHostAllocPortable));
    TRY(stencil_bench_keep(
        b, [](void *kept) { cudaFreeHost(kept); }, h->word));
    for (int i = count - 1; i >= 0; i--) {
        cudaFuncAttributes attributes;
        TRY(stencil_device_create(b, i, &h->gpu[i]));
        TRY_CUDA(cudaFuncGetAttributes(&attributes, nothing));
        TRY_CUDA(cudaFuncGetAttributes(&attributes, mark));
    }
    return STENCIL_OK;
}

stencil_status stencil_measure_host_barrier(stencil_bench *b) {
    static const char *const names[] = {"stream wait + omp barrier", "device wait + omp barrier"};
    const stencil_bench_options *o = b->options;
    const int64_t more = stencil_repeats(o, MORE);
    host h;
    b->own = &h;
    TRY(prepare(b, &h));
    stencil_bench_add_number(b->result, "passes", FEW);
    stencil_bench_add_number(b->result, "more_passes", more);
    stencil_bench_add_text(b->result, "thread_binding",
                           omp_get_proc_bind() == omp_proc_bind_false ? "none" : "spread");
    for (int device = 0; device < 2; device++)
        for (int gpus = 1; gpus <= o->gpu_count; gpus++) {
            const host_case c = {.gpus = gpus, .device = device == 1};
            TRY(STENCIL_BENCH_ADD(b, c, "host", names[device], "s/pass", STENCIL_METHOD_TWO_COUNTS,
                                  .sample = sample, .verified = VERIFIED_PASSES, .axis = {{"gpus", gpus}},
                                  .count = FEW, .more = more));
        }
    stencil_bench_note(b,
                       "A pass: a null kernel of a block of %d threads on every multiprocessor, the wait, "
                       "OpenMP's barrier. Threads are bound where OMP_PROC_BIND is set.",
                       THREADS);
    stencil_bench_note(b,
                       "Verified: after timing, %d passes of each in which every thread looked whether the "
                       "kernels of all GPUs had ended.",
                       VERIFIED_PASSES);
    return stencil_bench_take(b);
}

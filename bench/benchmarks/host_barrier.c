/* The barrier that the CPU makes (000 section 4.2, Fig. 4, 5): a thread for each GPU launches a kernel, waits
 * for its stream or its device, and meets the others at OpenMP's barrier. Over the number of GPUs. */
#include "bench/benchmarks/cpu.h"
#include "bench/benchmarks/method.h"
#include "base/cuda.h"

#ifdef STENCIL_HAVE_CUDA
#include <omp.h>
#include <stdio.h>

#include "bench/benchmarks/launch_kernels.h"

enum { THREADS = 1024, FEW = 500, MORE = 1500, VERIFIED_PASSES = 200, ROWS_MAX = 2 * STENCIL_GPUS_MAX };

typedef struct host_case {
    int gpus;
    bool device; /* waits for the device, else for the stream */
    stencil_two_counts two;
} host_case;

typedef struct bench {
    const int *gpu;
    int gpu_count, sm_count;
    int64_t more;
    cudaStream_t stream[STENCIL_GPUS_MAX];
    uint32_t *word; /* pinned, a line for each GPU */
    host_case cases[ROWS_MAX];
} bench;

static uint32_t *word_of(const bench *b, int gpu) {
    return b->word + 32 * gpu;
}

/* Round 0: a kernel that does nothing, and takes no arguments. */
static const void *kernel_of(uint32_t round) {
    return round == 0 ? stencil_launch_kernel(STENCIL_LAUNCH_NULL, 1) : stencil_mark_kernel();
}

/* One pass of one thread: everything in front of OpenMP's barrier. */
static cudaError_t pass(const bench *b, const host_case *c, int thread, uint32_t round) {
    const dim3 grid = {(unsigned)b->sm_count, 1, 1}, block = {THREADS, 1, 1};
    uint32_t *word = word_of(b, thread);
    void *arguments[] = {&word, &round};
    const cudaError_t state =
        cudaLaunchKernel(kernel_of(round), grid, block, arguments, 0, b->stream[thread]);
    if (state != cudaSuccess)
        return state;
    return c->device ? cudaDeviceSynchronize() : cudaStreamSynchronize(b->stream[thread]);
}

/* All passes in one parallel region. With `check`, everybody looks after each whether all GPUs have marked
 * it. A thread whose device fails goes on to the barriers, or the others would wait for it in vain. */
static stencil_status run_passes(const bench *b, const host_case *c, int64_t passes, bool check,
                                 double *time_s) {
    int threads = 0;
    int64_t missing = 0;
    cudaError_t failed[STENCIL_GPUS_MAX] = {cudaSuccess};
    double start_s = 0;
#pragma omp parallel num_threads(c->gpus) reduction(+ : missing) proc_bind(spread)
    {
        const int thread = omp_get_thread_num(), team = omp_get_num_threads();
        cudaError_t state = team == c->gpus ? cudaSetDevice(b->gpu[thread]) : cudaSuccess;
        /* The thread's first launch on its device is not timed. */
        if (team == c->gpus && state == cudaSuccess)
            state = pass(b, c, thread, 0);
#pragma omp barrier
#pragma omp master
        {
            threads = team;
            start_s = stencil_clock_s();
        }
        for (int64_t i = 1; i <= passes && team == c->gpus; i++) {
            if (state == cudaSuccess)
                state = pass(b, c, thread, check ? (uint32_t)i : 0);
#pragma omp barrier
            for (int other = 0; check && other < c->gpus; other++)
                missing += __atomic_load_n(word_of(b, other), __ATOMIC_RELAXED) < (uint32_t)i;
        }
        failed[thread] = state;
    }
    *time_s = stencil_clock_s() - start_s;
    CHECK(threads == c->gpus, UNAVAILABLE, "OpenMP gave %d thread%s where %d were asked for", threads,
          stencil_plural(threads), c->gpus);
    for (int i = 0; i < c->gpus; i++)
        TRY_CUDA(failed[i]);
    CHECK(missing == 0, INTERNAL, "host-barrier of %d GPUs does not hold: %lld times a kernel had not ended",
          c->gpus, (long long)missing);
    return STENCIL_OK;
}

static stencil_status sample(void *context, int row, double *value) {
    bench *b = context;
    host_case *c = &b->cases[row];
    double low_s, high_s;
    TRY(run_passes(b, c, FEW, false, &low_s));
    TRY(run_passes(b, c, FEW + b->more, false, &high_s));
    *value = stencil_two_counts_add(&c->two, high_s, low_s);
    return STENCIL_OK;
}

static stencil_status prepare(bench *b) {
    TRY_CUDA(cudaHostAlloc((void **)&b->word, (size_t)b->gpu_count * 128, cudaHostAllocPortable));
    for (int i = b->gpu_count - 1; i >= 0; i--) {
        struct cudaFuncAttributes attributes;
        TRY_CUDA(cudaSetDevice(b->gpu[i]));
        TRY_CUDA(cudaStreamCreateWithFlags(&b->stream[i], cudaStreamNonBlocking));
        for (uint32_t round = 0; round < 2; round++)
            TRY_CUDA(cudaFuncGetAttributes(&attributes, kernel_of(round)));
    }
    return STENCIL_OK;
}

static stencil_status measure(bench *b, const stencil_bench_options *options, stencil_bench_result *result) {
    static const char *const names[] = {"stream wait + omp barrier", "device wait + omp barrier"};
    double time_s;
    TRY(prepare(b));
    stencil_bench_add_number(result, "passes", FEW);
    stencil_bench_add_number(result, "more_passes", b->more);
    stencil_bench_add_text(result, "thread_binding",
                           omp_get_proc_bind() == omp_proc_bind_false ? "none" : "spread");
    for (int device = 0; device < 2; device++)
        for (int gpus = 1; gpus <= b->gpu_count; gpus++) {
            int row;
            TRY(stencil_bench_add_row(result, "host", names[device], "s/pass", &row));
            stencil_bench_set_axis(result, row, "gpus", gpus);
            result->row[row].method = STENCIL_METHOD_TWO_COUNTS;
            b->cases[row] = (host_case){.gpus = gpus, .device = device == 1};
            b->cases[row].two.difference = (double)b->more;
        }
    TRY(stencil_bench_measure_values(result, options, sample, b));
    for (int row = 0; row < result->row_count; row++) {
        result->row[row].method_sd = stencil_two_counts_sd(&b->cases[row].two);
        for (int i = 0; i < b->gpu_count; i++)
            *word_of(b, i) = 0;
        TRY(run_passes(b, &b->cases[row], VERIFIED_PASSES, true, &time_s));
    }
    stencil_bench_add_note(result,
                           "A pass: a null kernel of a block of %d threads on every multiprocessor, the "
                           "wait, OpenMP's barrier. Threads are bound where OMP_PROC_BIND is set.",
                           THREADS);
    stencil_bench_add_note(result,
                           "Verified: after timing, %d passes of each in which every thread looked whether "
                           "the kernels of all GPUs had ended.",
                           VERIFIED_PASSES);
    return STENCIL_OK;
}

static stencil_status run_gpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    bench b = {.gpu = options->gpu,
               .gpu_count = options->gpu_count,
               .sm_count = machine->gpu[options->gpu[0]].sm_count,
               .more = options->repeats > 0 ? options->repeats : MORE};
    const stencil_status status = measure(&b, options, result);
    for (int i = 0; i < b.gpu_count; i++)
        if (b.stream[i] != NULL)
            cudaStreamDestroy(b.stream[i]);
    cudaFreeHost(b.word);
    return status;
}
#endif

const stencil_benchmark stencil_benchmark_host_barrier = {
    .run_cpu = stencil_bench_host_barrier_cpu,
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .many_gpus = true,
    .cpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_ITERATIONS,
    .gpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_REPEATS,
};

/* The ceilings of a GPU's memories (000 section 7.2, Table 3): latency by following a chain, bandwidth of
 * device memory, L2 and shared memory. */
#include "bench/benchmarks/method.h"
#include "bench/benchmarks/sm.h"
#include "base/cuda.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>

#include "bench/benchmarks/memory_kernels.h"

enum {
    ROWS_MAX = 16,
    COPIES = 5,      /* in a sample */
    READ_PASSES = 5, /* odd, or what is read would cancel */
    READ_BLOCKS_PER_SM = 2,
    THREADS = 512,
    COPY_BLOCKS_PER_SM = 8,
    SUM_VALUES = 8,  /* bytes of a double */
    READ_BYTES = 16, /* of a thread at a time */
    PROBE_WORDS = 1 << 18,
    MARK = 0x12345678
};
static const int64_t copy_bytes_most = (int64_t)1 << 31, chain_bytes_most = (int64_t)1 << 30,
                     l2_bytes_most = (int64_t)1 << 24, chain_l2_bytes = (int64_t)1 << 20;

struct bench;
typedef stencil_status (*row_sampler)(struct bench *b, int row, double *value);

typedef struct memory_case {
    row_sampler sample;
    stencil_memory_path path; /* of a chase */
    stencil_memory_chain chain;
    bool shared, refill; /* a chain in shared memory; one that is written again before, so that L2 has it */
    uint32_t node;       /* where the chase goes on */
    bool kernel;         /* of a copy: by a kernel */
    int threads;         /* of the sum */
} memory_case;

typedef struct bench {
    int64_t chase_steps, sm_repeats, copy_bytes, read_bytes;
    int sm_count;
    uint32_t *from, *to, *chain, *read, *result, *probe; /* device; probe: host [PROBE_WORDS] */
    stencil_memory_seen *seen;                           /* device */
    cudaEvent_t begin, end;
    stencil_sm_timing timing;
    memory_case cases[ROWS_MAX];
} bench;

static stencil_status launch(const void *kernel, unsigned blocks, unsigned threads, void **arguments) {
    TRY_CUDA(cudaLaunchKernel(kernel, (dim3){blocks, 1, 1}, (dim3){threads, 1, 1}, arguments, 0, NULL));
    return STENCIL_OK;
}

static stencil_status fill(const bench *b, stencil_memory_chain chain) {
    void *arguments[] = {&chain};
    return launch(stencil_memory_fill_kernel(), (unsigned)b->sm_count * COPY_BLOCKS_PER_SM, THREADS,
                  arguments);
}

static stencil_status sample_chase(bench *b, int row, double *value) {
    memory_case *c = &b->cases[row];
    stencil_memory_seen seen;
    uint32_t expected = c->node;
    void *arguments[] = {&c->chain, &c->node, &b->chase_steps, &b->seen};
    if (c->refill)
        TRY(fill(b, c->chain));
    TRY(launch(c->shared ? stencil_memory_chase_shared_kernel() : stencil_memory_chase_kernel(c->path), 1, 1,
               arguments));
    TRY_CUDA(cudaMemcpy(&seen, b->seen, sizeof seen, cudaMemcpyDeviceToHost));
    const int64_t warm = c->chain.nodes >= 16 && c->chain.nodes <= 8192 ? c->chain.nodes : 16;
    for (int64_t i = 0; i < warm + b->chase_steps; i++)
        expected = stencil_memory_next(expected, c->chain.nodes);
    CHECK(seen.node == expected, INTERNAL, "memory: a chain of %u places was followed to %u instead of %u",
          c->chain.nodes, seen.node, expected);
    c->node = seen.node;
    *value = (double)seen.cycles / (double)b->chase_steps;
    return STENCIL_OK;
}

/* The first, the middle and the last part. */
static stencil_status verify_copy(const bench *b) {
    const int64_t words = b->copy_bytes / (int64_t)sizeof *b->to;
    for (int part = 0; part < 3; part++) {
        const int64_t at = (words - PROBE_WORDS) / 2 * part;
        TRY_CUDA(cudaMemcpy(b->probe, b->to + at, PROBE_WORDS * sizeof *b->probe, cudaMemcpyDeviceToHost));
        for (int64_t i = 0; i < PROBE_WORDS; i++)
            CHECK(b->probe[i] == stencil_memory_next((uint32_t)(at + i), (uint32_t)words), INTERNAL,
                  "memory: word %lld of the copy differs from its source", (long long)(at + i));
    }
    return STENCIL_OK;
}

static stencil_status sample_copy(bench *b, int row, double *value) {
    int64_t vectors = b->copy_bytes / READ_BYTES;
    void *arguments[] = {&b->from, &b->to, &vectors};
    float ms = 0;
    TRY_CUDA(cudaMemsetAsync(b->to, 0xff, (size_t)b->copy_bytes, NULL));
    TRY_CUDA(cudaEventRecord(b->begin, NULL));
    for (int i = 0; i < COPIES; i++)
        if (b->cases[row].kernel)
            TRY(launch(stencil_memory_copy_kernel(), (unsigned)b->sm_count * COPY_BLOCKS_PER_SM, THREADS,
                       arguments));
        else
            TRY_CUDA(cudaMemcpyAsync(b->to, b->from, (size_t)b->copy_bytes, cudaMemcpyDeviceToDevice, NULL));
    TRY_CUDA(cudaEventRecord(b->end, NULL));
    TRY_CUDA(cudaEventSynchronize(b->end));
    TRY_CUDA(cudaEventElapsedTime(&ms, b->begin, b->end));
    *value = 2.0 * (double)b->copy_bytes * COPIES / (1e-3 * (double)ms);
    return verify_copy(b);
}

static stencil_status sample_l2(bench *b, int row, double *value) {
    (void)row;
    const unsigned blocks = (unsigned)b->sm_count * READ_BLOCKS_PER_SM;
    int64_t vectors = b->read_bytes / READ_BYTES, once = 1, passes = READ_PASSES;
    void *warm[] = {&b->read, &vectors, &once, &b->result};
    void *arguments[] = {&b->read, &vectors, &passes, &b->result};
    float ms = 0;
    TRY(launch(stencil_memory_read_kernel(), blocks, THREADS, warm)); /* into L2 */
    TRY_CUDA(cudaMemsetAsync(b->result, 0, blocks * sizeof *b->result, NULL));
    TRY_CUDA(cudaEventRecord(b->begin, NULL));
    TRY(launch(stencil_memory_read_kernel(), blocks, THREADS, arguments));
    TRY_CUDA(cudaEventRecord(b->end, NULL));
    TRY_CUDA(cudaMemcpy(b->probe, b->result, blocks * sizeof *b->result, cudaMemcpyDeviceToHost));
    TRY_CUDA(cudaEventElapsedTime(&ms, b->begin, b->end));
    for (unsigned i = 0; i < blocks; i++)
        CHECK(b->probe[i] == MARK, INTERNAL, "memory: block %u has read wrong words", i);
    *value = (double)b->read_bytes * READ_PASSES * blocks / (1e-3 * (double)ms);
    return STENCIL_OK;
}

static stencil_status sample_shared(bench *b, int row, double *value) {
    const int threads = b->cases[row].threads;
    stencil_sm_times times;
    if (threads == 0) {
        TRY(stencil_sm_run(&b->timing, stencil_memory_shared_kernel(), "reading shared memory",
                           2 * b->sm_count, STENCIL_SM_BLOCK_MAX, b->sm_repeats, 0, &times));
        *value = times.throughput * 32 * READ_BYTES;
    } else {
        TRY(stencil_sm_run(&b->timing, stencil_memory_sum_kernel(), "adding in shared memory", 1, threads,
                           b->sm_repeats, 0, &times));
        *value = times.throughput * (threads < 32 ? threads : 32) * SUM_VALUES;
    }
    return STENCIL_OK;
}

static stencil_status sample(void *context, int row, double *value) {
    bench *b = context;
    return b->cases[row].sample(b, row, value);
}

static stencil_status add(bench *b, stencil_bench_result *result, const char *kind, const char *name,
                          const char *unit, const char *method, memory_case c) {
    int row;
    TRY(stencil_bench_add_row(result, kind, name, unit, &row));
    result->row[row].method = method;
    result->row[row].higher_is_better = unit[0] == 'b'; /* bytes … */
    if (c.threads > 0)
        stencil_bench_set_axis(result, row, "threads", c.threads);
    b->cases[row] = c;
    return STENCIL_OK;
}

static stencil_status add_latencies(bench *b, stencil_bench_result *result, int64_t chain_bytes) {
    const char *const chase = STENCIL_METHOD_GPU_CLOCK;
    memory_case c = {.sample = sample_chase, .chain = {.place = b->chain, .nodes = 4096, .stride = 1}};
    c.shared = true;
    TRY(add(b, result, "latency", "shared memory", "cycles", chase, c));
    c.shared = false;
    c.refill = true; /* the rows share their memory */
    TRY(add(b, result, "latency", "L1", "cycles", chase, c));
    c.chain.nodes = 1;
    c.path = STENCIL_MEMORY_ACQUIRE;
    TRY(add(b, result, "latency", "L2, one word, ld.acquire", "cycles", chase, c));
    c.path = STENCIL_MEMORY_L2;
    c.chain = (stencil_memory_chain){b->chain, (uint32_t)(chain_l2_bytes / 128), 128 / sizeof *b->chain};
    TRY(add(b, result, "latency", "L2", "cycles", chase, c));
    c.refill = false;
    c.chain = (stencil_memory_chain){b->chain + chain_l2_bytes / (int64_t)sizeof *b->chain,
                                     (uint32_t)(chain_bytes / 1024), 1024 / sizeof *b->chain};
    TRY(add(b, result, "latency", "device memory", "cycles", chase, c));
    return fill(b, c.chain);
}

static stencil_status add_bandwidths(bench *b, stencil_bench_result *result) {
    memory_case c = {.sample = sample_copy};
    TRY(add(b, result, "bandwidth", "device, cudaMemcpy", "bytes/s", NULL, c));
    c.kernel = true;
    TRY(add(b, result, "bandwidth", "device, copy kernel", "bytes/s", NULL, c));
    c.sample = sample_l2;
    TRY(add(b, result, "bandwidth", "L2, read", "bytes/s", NULL, c));
    c.sample = sample_shared;
    TRY(add(b, result, "bandwidth", "shared memory, read", "bytes/cycle", STENCIL_METHOD_SM_CLOCK, c));
    for (c.threads = 1; c.threads <= 1024; c.threads *= 32)
        TRY(add(b, result, "bandwidth", "shared memory, sum", "bytes/cycle", STENCIL_METHOD_SM_CLOCK, c));
    return STENCIL_OK;
}

/* The largest power of two that is neither above `most` nor above `limit`. */
static int64_t power_of_two(int64_t most, int64_t limit) {
    int64_t bytes = most;
    while (bytes > limit)
        bytes /= 2;
    return bytes;
}

static stencil_status allocate(bench *b, const stencil_gpu *gpu, int64_t chain_bytes) {
    TRY_CUDA(cudaMalloc((void **)&b->from, (size_t)b->copy_bytes));
    TRY_CUDA(cudaMalloc((void **)&b->to, (size_t)b->copy_bytes));
    TRY_CUDA(cudaMalloc((void **)&b->chain, (size_t)(chain_bytes + chain_l2_bytes)));
    TRY_CUDA(cudaMalloc((void **)&b->read, (size_t)b->read_bytes));
    TRY_CUDA(cudaMalloc((void **)&b->result, (size_t)gpu->sm_count * READ_BLOCKS_PER_SM * sizeof *b->result));
    TRY_CUDA(cudaMalloc((void **)&b->seen, sizeof *b->seen));
    TRY_CUDA(cudaEventCreate(&b->begin));
    TRY_CUDA(cudaEventCreate(&b->end));
    b->probe = malloc(PROBE_WORDS * sizeof *b->probe);
    CHECK(b->probe != NULL, NO_MEMORY, "no memory to verify a copy");
    TRY(fill(b, (stencil_memory_chain){b->from, (uint32_t)(b->copy_bytes / (int64_t)sizeof *b->from), 1}));
    /* All numbers once: by exclusive or nothing is left of them but the mark on the first, which is MARK
     * instead of what stood there. */
    TRY(fill(b, (stencil_memory_chain){b->read, (uint32_t)(b->read_bytes / (int64_t)sizeof *b->read), 1}));
    const uint32_t mark = MARK ^ stencil_memory_next(0, (uint32_t)(b->read_bytes / (int64_t)sizeof *b->read));
    TRY_CUDA(cudaMemcpy(b->read, &mark, sizeof mark, cudaMemcpyHostToDevice));
    return stencil_sm_timing_create(&b->timing, gpu->sm_count);
}

static stencil_status measure(bench *b, const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    const stencil_gpu *gpu = &machine->gpu[options->gpu[0]];
    TRY_CUDA(cudaSetDevice(options->gpu[0]));
    const int64_t chain_bytes = power_of_two(chain_bytes_most, gpu->memory_bytes / 16);
    b->sm_count = gpu->sm_count;
    b->copy_bytes = power_of_two(copy_bytes_most, gpu->memory_bytes / 8);
    b->read_bytes = power_of_two(l2_bytes_most, gpu->l2_bytes / 3);
    b->chase_steps = (stencil_repeats_more(options) + 15) / 16 * 16;
    b->sm_repeats = (stencil_repeats_more(options) + 31) / 32 * 32;
    TRY(allocate(b, gpu, chain_bytes));
    stencil_bench_add_number(result, "copy_bytes", b->copy_bytes);
    stencil_bench_add_number(result, "l2_read_bytes", b->read_bytes);
    stencil_bench_add_number(result, "l2_chain_bytes", chain_l2_bytes);
    stencil_bench_add_number(result, "device_chain_bytes", chain_bytes);
    stencil_bench_add_number(result, "chase_steps", b->chase_steps);
    TRY(add_latencies(b, result, chain_bytes));
    TRY(add_bandwidths(b, result));
    TRY(stencil_bench_measure_values(result, options, sample, b));
    stencil_bench_add_note(result,
                           "A copy counts bytes read and bytes written. Shared memory: one "
                           "multiprocessor; sum: doubles, by one block of so many threads (000 Fig. 10).");
    stencil_bench_add_note(result,
                           "Latency: one thread follows a chain, address arithmetic included. Verified in "
                           "every sample: where the chain ended, what was copied, read or added.");
    return STENCIL_OK;
}

static stencil_status run_gpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    bench b = {0};
    const stencil_status status = measure(&b, options, machine, result);
    uint32_t *const memory[] = {b.from, b.to, b.chain, b.read, b.result};
    for (size_t i = 0; i < sizeof memory / sizeof *memory; i++)
        cudaFree(memory[i]);
    cudaFree(b.seen);
    free(b.probe);
    if (b.begin != NULL)
        cudaEventDestroy(b.begin);
    if (b.end != NULL)
        cudaEventDestroy(b.end);
    stencil_sm_timing_destroy(&b.timing);
    return status;
}
#endif

const stencil_benchmark stencil_benchmark_memory = {
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .gpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_REPEATS,
};

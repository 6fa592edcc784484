/* The ceilings of a GPU's memories (000 section 7.2, Table 3): latency by following a chain, bandwidth of
 * device memory, L2 and shared memory. */
#include "bench/benchmarks/sm.h"
#include "bench/method.h"

#ifdef STENCIL_HAVE_CUDA
enum {
    COPIES = 5,      /* in a sample */
    READ_PASSES = 5, /* odd, or what is read would cancel */
    READ_BLOCKS_PER_SM = 2,
    READ_BLOCKS_MAX = 1024,
    THREADS = 512,
    COPY_BLOCKS_PER_SM = 8,
    SUM_VALUES = 8,  /* bytes of a double */
    READ_BYTES = 16, /* of a thread at a time */
    MARK = 0x12345678
};
static const int64_t copy_bytes_most = (int64_t)1 << 31, chain_bytes_most = (int64_t)1 << 30,
                     l2_bytes_most = (int64_t)1 << 24, chain_l2_bytes = (int64_t)1 << 20;

typedef struct chase {
    const void *kernel;
    stencil_chain chain;
    bool refill;   /* a chain that is written again before, so that L2 has it */
    uint32_t node; /* where the chase goes on */
} chase;

typedef struct memory {
    int64_t copy_bytes, read_bytes;
    uint32_t *from, *to, *chain, *read, *result; /* device */
    stencil_chase_seen *seen;                    /* device */
    stencil_sm_timing timing;
} memory;

/* Of all of `bytes`, a place every `apart` bytes. */
static stencil_chain chain_of(uint32_t *place, int64_t bytes, int apart) {
    return (stencil_chain){place, (uint32_t)(bytes / apart), (uint32_t)apart / sizeof *place};
}

static stencil_status fill(const stencil_device *gpu, stencil_chain c) {
    const stencil_fill places = {c.place, c.nodes, c.stride, c.nodes};
    return stencil_device_launch(gpu, stencil_fill_kernel, gpu->sm_count * COPY_BLOCKS_PER_SM, THREADS,
                                 &places);
}

static stencil_status sample_chase(stencil_bench *b, void *what, int64_t steps, double *value) {
    const memory *m = b->own;
    const stencil_device *gpu = &m->timing.gpu;
    chase *c = what;
    stencil_chase_seen seen;
    uint32_t expected = c->node;
    const stencil_chase_work work = {c->chain, c->node, steps, m->seen};
    if (c->refill)
        TRY(fill(gpu, c->chain));
    TRY(stencil_device_launch(gpu, c->kernel, 1, 1, &work));
    TRY(stencil_device_read(gpu, &seen, m->seen, sizeof seen));
    const int64_t warm = c->chain.nodes >= 16 && c->chain.nodes <= 8192 ? c->chain.nodes : 16;
    for (int64_t i = 0; i < warm + steps; i++)
        expected = stencil_next_number(expected, c->chain.nodes);
    CHECK(seen.node == expected, INTERNAL, "memory: a chain of %u places was followed to %u instead of %u",
          c->chain.nodes, seen.node, expected);
    c->node = seen.node;
    *value = (double)seen.cycles / (double)steps;
    return STENCIL_OK;
}

/* By the kernel, or by the copy engine where that is NULL. */
static stencil_status sample_copy(stencil_bench *b, void *what, int64_t copies, double *value) {
    const memory *m = b->own;
    const stencil_device *gpu = &m->timing.gpu;
    const void *kernel = *(const void **)what;
    const stencil_vector_work work = {.from = m->from, .to = m->to, .vectors = m->copy_bytes / READ_BYTES};
    double time_s;
    TRY_CUDA(cudaMemsetAsync(m->to, 0xff, (size_t)m->copy_bytes, gpu->stream));
    TRY(stencil_device_start(gpu));
    for (int64_t i = 0; i < copies; i++)
        if (kernel != NULL)
            TRY(stencil_device_launch(gpu, kernel, gpu->sm_count * COPY_BLOCKS_PER_SM, THREADS, &work));
        else
            TRY_CUDA(cudaMemcpyAsync(m->to, m->from, (size_t)m->copy_bytes, cudaMemcpyDeviceToDevice,
                                     gpu->stream));
    TRY(stencil_device_stop(gpu, &time_s));
    *value = 2.0 * (double)m->copy_bytes * (double)copies / time_s;
    return stencil_device_compare(m->to, m->from, m->copy_bytes, "memory");
}

static stencil_status sample_l2(stencil_bench *b, void *what, int64_t passes, double *value) {
    const memory *m = b->own;
    const stencil_device *gpu = &m->timing.gpu;
    const unsigned blocks = gpu->sm_count * READ_BLOCKS_PER_SM;
    stencil_vector_work work = {.from = m->read, .vectors = m->read_bytes / READ_BYTES, .result = m->result};
    uint32_t seen[READ_BLOCKS_MAX];
    double time_s;
    (void)what;
    CHECK(blocks <= READ_BLOCKS_MAX, INTERNAL, "memory: more multiprocessors than expected");
    work.passes = 1; /* into L2 */
    TRY(stencil_device_launch(gpu, stencil_read_kernel, blocks, THREADS, &work));
    TRY_CUDA(cudaMemsetAsync(m->result, 0, blocks * sizeof *m->result, gpu->stream));
    work.passes = passes;
    TRY(stencil_device_start(gpu));
    TRY(stencil_device_launch(gpu, stencil_read_kernel, blocks, THREADS, &work));
    TRY(stencil_device_stop(gpu, &time_s));
    TRY(stencil_device_read(gpu, seen, m->result, blocks * sizeof *seen));
    for (unsigned i = 0; i < blocks; i++)
        CHECK(seen[i] == MARK, INTERNAL, "memory: block %u has read wrong words", i);
    *value = (double)m->read_bytes * (double)passes * blocks / time_s;
    return STENCIL_OK;
}

/* The chains of all rows but the last one share their memory. */
static stencil_status add_latencies(stencil_bench *b, int64_t steps, int64_t chain_bytes) {
    const memory *m = b->own;
    const stencil_chain few = {m->chain, 4096, 1}, one = {m->chain, 1, 1},
                        near = chain_of(m->chain, chain_l2_bytes, 128),
                        far = chain_of(m->chain + chain_l2_bytes / (int64_t)sizeof *m->chain, chain_bytes,
                                       1024),
                        chains[STENCIL_CHASES] = {few, few, one, near, far};
    for (int i = 0; i < STENCIL_CHASES; i++) {
        const stencil_named_kernel *k = &stencil_chase_kernels[i];
        const chase c = {k->kernel, chains[i], .refill = i > 0 && i < STENCIL_CHASES - 1};
        TRY(STENCIL_BENCH_ADD(b, c, "latency", k->name, "cycles", STENCIL_METHOD_GPU_CLOCK,
                              .sample = sample_chase, .count = steps));
    }
    return fill(&m->timing.gpu, far);
}

static stencil_status add_bandwidths(stencil_bench *b, int64_t repeats) {
    const memory *m = b->own;
    const void *engine = NULL;
    stencil_sm_case c = {.timing = &m->timing,
                         .kernel = stencil_shared_read_kernel,
                         .name = "reading shared memory",
                         .threads = STENCIL_BLOCK_THREADS_MAX,
                         .blocks_per_sm = 2,
                         .scale = 32 * READ_BYTES};
    TRY(STENCIL_BENCH_ADD(b, engine, "bandwidth", "device, cudaMemcpy", "bytes/s", .sample = sample_copy,
                          .count = COPIES));
    TRY(STENCIL_BENCH_ADD(b, stencil_copy_kernel, "bandwidth", "device, copy kernel", "bytes/s",
                          .sample = sample_copy, .count = COPIES));
    TRY(STENCIL_BENCH_ADD(b, engine, "bandwidth", "L2, read", "bytes/s", .sample = sample_l2,
                          .count = READ_PASSES));
    TRY(STENCIL_BENCH_ADD(b, c, "bandwidth", "shared memory, read", "bytes/cycle", STENCIL_METHOD_SM_CLOCK,
                          .sample = stencil_sm_sample, .count = repeats));
    c.kernel = stencil_shared_sum_kernel;
    c.name = "adding in shared memory";
    c.blocks_per_sm = 0;
    for (c.threads = 1; c.threads <= 1024; c.threads *= 32) {
        c.scale = (c.threads < 32 ? c.threads : 32) * SUM_VALUES;
        TRY(STENCIL_BENCH_ADD(b, c, "bandwidth", "shared memory, sum", "bytes/cycle", STENCIL_METHOD_SM_CLOCK,
                              .sample = stencil_sm_sample, .axis = {{"threads", c.threads}},
                              .count = repeats));
    }
    return STENCIL_OK;
}

/* The largest power of two that is neither above `most` nor above `limit`. */
static int64_t power_of_two(int64_t most, int64_t limit) {
    int64_t bytes = most;
    while (bytes > limit)
        bytes /= 2;
    return bytes;
}

static stencil_status prepare(stencil_bench *b, memory *m, int64_t chain_bytes) {
    const stencil_device *gpu = &m->timing.gpu;
    TRY(stencil_device_memory(b, &m->from, (size_t)m->copy_bytes));
    TRY(stencil_device_memory(b, &m->to, (size_t)m->copy_bytes));
    TRY(stencil_device_memory(b, &m->chain, (size_t)(chain_bytes + chain_l2_bytes)));
    TRY(stencil_device_memory(b, &m->read, (size_t)m->read_bytes));
    TRY(stencil_device_memory(b, &m->result, READ_BLOCKS_MAX * sizeof *m->result));
    TRY(stencil_device_memory(b, &m->seen, sizeof *m->seen));
    TRY(stencil_device_fill(gpu, m->from, m->copy_bytes));
    /* All numbers once: by exclusive or nothing is left of them but the mark on the first, which is MARK
     * instead of what stood there. */
    const stencil_chain read = chain_of(m->read, m->read_bytes, sizeof *m->read);
    const uint32_t mark = MARK ^ stencil_next_number(0, read.nodes);
    TRY(fill(gpu, read));
    TRY_CUDA(cudaMemcpyAsync(m->read, &mark, sizeof mark, cudaMemcpyHostToDevice, gpu->stream));
    TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    return STENCIL_OK;
}

stencil_status stencil_measure_memory(stencil_bench *b) {
    const stencil_gpu *gpu = &b->machine->gpu[b->options->gpu[0]];
    const int64_t chain_bytes = power_of_two(chain_bytes_most, gpu->memory_bytes / 16),
                  more = stencil_repeats_more(b->options), chase_steps = stencil_round_up(more, 16);
    memory m = {.copy_bytes = power_of_two(copy_bytes_most, gpu->memory_bytes / 8),
                .read_bytes = power_of_two(l2_bytes_most, gpu->l2_bytes / 3)};
    b->own = &m;
    TRY(stencil_sm_begin(b, &m.timing, 0));
    TRY(prepare(b, &m, chain_bytes));
    stencil_bench_add_number(b->result, "copy_bytes", m.copy_bytes);
    stencil_bench_add_number(b->result, "l2_read_bytes", m.read_bytes);
    stencil_bench_add_number(b->result, "l2_chain_bytes", chain_l2_bytes);
    stencil_bench_add_number(b->result, "device_chain_bytes", chain_bytes);
    stencil_bench_add_number(b->result, "chase_steps", chase_steps);
    TRY(add_latencies(b, chase_steps, chain_bytes));
    TRY(add_bandwidths(b, stencil_round_up(more, 32)));
    stencil_bench_note(b, "A copy counts bytes read and bytes written. Shared memory: one multiprocessor; "
                          "sum: doubles, by one block of so many threads (000 Fig. 10).");
    stencil_bench_note(b, "Latency: one thread follows a chain, address arithmetic included. Verified in "
                          "every sample: where the chain ended, what was copied, read or added.");
    return stencil_bench_take(b);
}
#endif

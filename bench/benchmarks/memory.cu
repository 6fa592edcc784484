/* Benchmark `memory` (000 section 7.2, Table 3): latency and bandwidth of device, L2 and shared memory. */
#include "bench/benchmarks/sm.cuh"
#include "sync/memory.cuh"

enum {
    COPIES = 5,      /* copies in a sample */
    READ_PASSES = 5, /* odd, or the exclusive or of the words read would cancel */
    READ_BLOCKS_PER_SM = 2,
    READ_BLOCKS_MAX = 1024,
    THREADS = 512,
    READ_BYTES = 16, /* bytes of a load of a thread */
    SHARED_WORDS = 4096,
    MARK = 0x12345678
};
static const int64_t copy_bytes_most = (int64_t)1 << 31, chain_bytes_most = (int64_t)1 << 30,
                     l2_bytes_most = (int64_t)1 << 24, chain_l2_bytes = (int64_t)1 << 20;

static __device__ __forceinline__ uint32_t load_through_l1(const uint32_t *p) {
    uint32_t value;
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    return value;
}
static __device__ __forceinline__ uint32_t load_past_l1(const uint32_t *p) {
    uint32_t value;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(p) : "memory");
    return value;
}

/* Pointer chains in device memory and in shared memory. */
template <uint32_t (*Load)(const uint32_t *)> struct in_global {
    const uint32_t *place, stride;
    __device__ explicit in_global(const stencil_words &words) : place(words.place), stride(words.stride) {}
    __device__ uint32_t next(uint32_t node) const {
        return Load(place + (size_t)node * stride);
    }
};
struct in_shared {
    const volatile uint32_t *place;
    __device__ explicit in_shared(const stencil_words &words) {
        __shared__ uint32_t memory[SHARED_WORDS];
        for (uint32_t i = threadIdx.x; i < SHARED_WORDS; i += blockDim.x)
            memory[i] = stencil_next_number(i, words.numbers);
        __syncthreads();
        place = memory;
    }
    __device__ uint32_t next(uint32_t node) const {
        return place[node];
    }
};

/* Operation in which one thread follows a pointer chain, from the end of the previous chase. A short chain is
 * first followed completely, to load it into cache. */
template <class Chain> struct chase : stencil::sm_operation {
    const stencil::sm_arguments &a;
    const Chain chain;
    const uint32_t around;
    uint32_t node;
    __device__ explicit chase(const stencil::sm_arguments &a)
        : a(a), chain(a.words), around(a.words.numbers <= 8192 ? a.words.numbers : 0), node(*a.at) {
        for (uint32_t i = 0; i < around; i++)
            once();
    }
    __device__ void once() {
        node = chain.next(node);
    }
    __device__ int settle() {
        uint32_t last;
        asm volatile("mov.u32 %0, %1;" : "=r"(last) : "r"(node) : "memory");
        node = last;
        return last == 0xffffffffu;
    }
    __device__ unsigned wrong(int64_t times) {
        uint32_t expected = *a.at;
        for (int64_t i = 0; i < around + times; i++)
            expected = stencil_next_number(expected, a.words.numbers);
        *a.at = node;
        return node != expected;
    }
};

static __global__ void __launch_bounds__(THREADS) copy(const uint4 *from, uint4 *to, int64_t vectors) {
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    for (; i + 3 * stride < vectors; i += 4 * stride) {
        uint4 v[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            v[k] = __ldcs(from + i + k * stride);
#pragma unroll
        for (int k = 0; k < 4; k++)
            __stcs(to + i + k * stride, v[k]);
    }
    for (; i < vectors; i += stride)
        to[i] = from[i];
}

static __device__ __forceinline__ uint4 load_vector(const uint4 *p) {
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                 : "l"(p));
    return v;
}

/* Kernel in which every block reads the whole array, bypassing L1, and combines the words by exclusive or.
 * Blocks start at different offsets, to avoid contention for a cache line. `vectors` is a multiple of four
 * times the threads of a block. */
static __global__ void __launch_bounds__(THREADS)
    read(const uint4 *from, int64_t vectors, int64_t passes, uint32_t *result) {
    const uint32_t count = (uint32_t)vectors, chunk = 4 * blockDim.x, chunks = count / chunk;
    uint32_t sum = 0;
    for (int64_t pass = 0; pass < passes; pass++)
        for (uint32_t i = 0; i < chunks; i++) {
            const uint32_t at = (i + blockIdx.x * (chunks / gridDim.x + 1)) % chunks;
            const uint4 *p = from + (size_t)at * chunk + threadIdx.x;
            uint4 v[4];
#pragma unroll
            for (int k = 0; k < 4; k++)
                v[k] = load_vector(p + k * blockDim.x);
#pragma unroll
            for (int k = 0; k < 4; k++)
                sum ^= v[k].x ^ v[k].y ^ v[k].z ^ v[k].w;
        }
    if (sum != 0)
        atomicXor(result + blockIdx.x, sum);
}

/* Operation in which each warp reads rows of 512 bytes of shared memory, without bank conflicts. */
struct shared_read : stencil::sm_operation {
    uint32_t address, sum = 0;
    __device__ explicit shared_read(const stencil::sm_arguments &) {
        __shared__ uint4 words[1024];
        words[threadIdx.x] = make_uint4(1, 2, 4, 8);
        __syncthreads();
        address = (uint32_t)__cvta_generic_to_shared(words + threadIdx.x);
    }
    __device__ void once() {
        uint4 v;
        asm volatile("ld.volatile.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                     : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
                     : "r"(address));
        sum += v.x ^ v.y ^ v.z ^ v.w;
    }
    __device__ unsigned wrong(int64_t times) {
        return sum != 15u * (uint32_t)times;
    }
};

/* Returns a pointer chain through `bytes` bytes of memory, with a word every `apart` bytes. */
static stencil_words chain_of(uint32_t *place, int64_t bytes, int apart) {
    const int64_t count = bytes / apart;
    return {place, count, (uint32_t)(apart / (int)sizeof *place), (uint32_t)count};
}

/* Adds latency rows. Chains of all rows but the last share memory, so each chain is rewritten before its
 * launch, which also loads it into L2. */
static stencil_status add_latencies(stencil_bench *b, const stencil::sm_timing *timing, int64_t bytes,
                                    int64_t steps) {
    using stencil::time_operation;
    uint32_t *place;
    TRY(stencil_device_memory(b, &place, (size_t)(bytes + chain_l2_bytes)));
    const stencil_words few = chain_of(place, SHARED_WORDS * sizeof *place, sizeof *place),
                        one = chain_of(place, sizeof *place, sizeof *place),
                        near = chain_of(place, chain_l2_bytes, 128),
                        far = chain_of(place + chain_l2_bytes / (int64_t)sizeof *place, bytes, 1024);
    stencil::sm_case rows[] = {
        {timing, time_operation<chase<in_shared>, 16>, "shared memory", few, false},
        {timing, time_operation<chase<in_global<load_through_l1>>, 16>, "L1", few, true},
        {timing, time_operation<chase<in_global<stencil::load_acquire>>, 16>, "L2, one word, ld.acquire", one,
         true},
        {timing, time_operation<chase<in_global<load_past_l1>>, 16>, "L2", near, true},
        {timing, time_operation<chase<in_global<load_past_l1>>, 16>, "device memory", far, false},
    };
    for (stencil::sm_case &c : rows) {
        c.threads = 1;
        TRY(stencil_device_memory(b, &c.at, sizeof *c.at));
        TRY_CUDA(cudaMemsetAsync(c.at, 0, sizeof *c.at, timing->gpu.stream));
        TRY(STENCIL_BENCH_ADD(b, c, "latency", c.name, "cycles", STENCIL_METHOD_GPU_CLOCK,
                              .sample = stencil::sm_sample, .count = steps));
    }
    return stencil_device_fill(&timing->gpu, far);
}

static stencil_status add_copies(stencil_bench *b, const stencil_device *gpu, int64_t bytes) {
    stencil_transfer c = {.gpu = gpu, .peer = gpu, .bytes = bytes};
    TRY(stencil_device_memory(b, &c.from, (size_t)bytes));
    TRY(stencil_device_memory(b, &c.to, (size_t)bytes));
    TRY(STENCIL_BENCH_ADD(b, c, "bandwidth", "device, cudaMemcpy", "bytes/s",
                          .sample = stencil_transfer_sample, .count = COPIES));
    c.kernel = copy;
    return STENCIL_BENCH_ADD(b, c, "bandwidth", "device, copy kernel", "bytes/s",
                             .sample = stencil_transfer_sample, .count = COPIES);
}

/* Case of repeated reads of an array that fits into L2. */
struct l2_read {
    const stencil_device *gpu;
    uint32_t *from, *result; /* device memory */
    int64_t bytes;
};

static stencil_status sample_l2(stencil_bench *, void *what, int64_t passes, double *value) {
    const l2_read *r = static_cast<l2_read *>(what);
    const unsigned blocks = r->gpu->sm_count * READ_BLOCKS_PER_SM;
    const uint4 *from = (const uint4 *)r->from;
    const int64_t vectors = r->bytes / READ_BYTES;
    uint32_t seen[READ_BLOCKS_MAX];
    double time_s;
    CHECK(blocks <= READ_BLOCKS_MAX, INTERNAL, "memory: more multiprocessors than expected");
    /* The first launch loads the array into L2. */
    TRY(stencil_launch(*r->gpu, read, blocks, THREADS, from, vectors, 1, r->result));
    TRY_CUDA(cudaMemsetAsync(r->result, 0, blocks * sizeof *r->result, r->gpu->stream));
    TRY(stencil_device_start(r->gpu));
    TRY(stencil_launch(*r->gpu, read, blocks, THREADS, from, vectors, passes, r->result));
    TRY(stencil_device_stop(r->gpu, &time_s));
    TRY(stencil_device_read(r->gpu, seen, r->result, blocks * sizeof *seen));
    for (unsigned i = 0; i < blocks; i++)
        CHECK(seen[i] == MARK, INTERNAL, "memory: block %u has read wrong words", i);
    *value = (double)r->bytes * (double)passes * blocks / time_s;
    return STENCIL_OK;
}

static stencil_status add_l2(stencil_bench *b, const stencil_device *gpu, int64_t bytes) {
    l2_read r = {.gpu = gpu, .bytes = bytes};
    TRY(stencil_device_memory(b, &r.from, (size_t)bytes));
    TRY(stencil_device_memory(b, &r.result, READ_BLOCKS_MAX * sizeof *r.result));
    /* The words hold each number once: their exclusive or is 0. The first word is changed to make it MARK. */
    const stencil_words all = chain_of(r.from, bytes, sizeof *r.from);
    const uint32_t mark = MARK ^ stencil_next_number(0, all.numbers);
    TRY(stencil_device_fill(gpu, all));
    TRY_CUDA(cudaMemcpyAsync(r.from, &mark, sizeof mark, cudaMemcpyHostToDevice, gpu->stream));
    TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    return STENCIL_BENCH_ADD(b, r, "bandwidth", "L2, read", "bytes/s", .sample = sample_l2,
                             .count = READ_PASSES);
}

static stencil_status add_shared(stencil_bench *b, const stencil::sm_timing *timing, int64_t repeats) {
    stencil::sm_case c = {.timing = timing,
                          .kernel = stencil::time_operation<shared_read, 32>,
                          .name = "reading shared memory",
                          .threads = STENCIL_BLOCK_THREADS_MAX,
                          .blocks_per_sm = 2,
                          .scale = 32 * READ_BYTES};
    TRY(STENCIL_BENCH_ADD(b, c, "bandwidth", "shared memory, read", "bytes/cycle", STENCIL_METHOD_SM_CLOCK,
                          .sample = stencil::sm_sample, .count = repeats));
    c.kernel = stencil::time_operation<stencil::shared_sum, 16>;
    c.name = "adding in shared memory";
    c.blocks_per_sm = 0;
    for (c.threads = 1; c.threads <= 1024; c.threads *= 32) {
        c.scale = (c.threads < 32 ? c.threads : 32) * stencil::SUM_BYTES;
        TRY(STENCIL_BENCH_ADD(b, c, "bandwidth", "shared memory, sum", "bytes/cycle", STENCIL_METHOD_SM_CLOCK,
                              .sample = stencil::sm_sample, .axis = {{"threads", c.threads}},
                              .count = repeats));
    }
    return STENCIL_OK;
}

/* Returns the largest power of two up to `most` and `limit`, and adds it to the result's parameters. */
static int64_t choose_bytes(stencil_bench *b, const char *name, int64_t most, int64_t limit) {
    int64_t bytes = most;
    while (bytes > limit)
        bytes /= 2;
    stencil_bench_add_number(b->result, name, bytes);
    return bytes;
}

stencil_status stencil_measure_memory(stencil_bench *b) {
    const stencil_gpu *gpu = &b->machine->gpu[b->options->gpu[0]];
    const int64_t copied = choose_bytes(b, "copy_bytes", copy_bytes_most, gpu->memory_bytes / 8),
                  read = choose_bytes(b, "l2_read_bytes", l2_bytes_most, gpu->l2_bytes / 3),
                  far = choose_bytes(b, "device_chain_bytes", chain_bytes_most, gpu->memory_bytes / 16),
                  more = stencil_repeats(b->options, STENCIL_REPEATS_MORE),
                  steps = stencil_round_up(more, 16);
    stencil::sm_timing timing;
    stencil_bench_add_number(b->result, "l2_chain_bytes", chain_l2_bytes);
    stencil_bench_add_number(b->result, "chase_steps", steps);
    TRY(stencil::sm_begin(b, &timing, 0));
    TRY(add_latencies(b, &timing, far, steps));
    TRY(add_copies(b, &timing.gpu, copied));
    TRY(add_l2(b, &timing.gpu, read));
    TRY(add_shared(b, &timing, stencil_round_up(more, 32)));
    stencil_bench_note(b, "A copy counts bytes read and bytes written. Shared memory: one multiprocessor; "
                          "sum: doubles, by one block of so many threads (000 Fig. 10).");
    stencil_bench_note(b, "Latency: one thread follows a chain, address arithmetic included. Verified in "
                          "every sample: where the chain ended, what was copied, read or added.");
    return stencil_bench_take(b);
}

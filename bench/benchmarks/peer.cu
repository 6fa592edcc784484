/* Benchmark `peer` of the link between two GPUs (000 section 7.5): bandwidth and latency over size, by copy
 * engine and kernel stores; loads and atomics on peer memory; round trips of a flag. */
#include "bench/benchmarks/sm.cuh"
#include "sync/host.h"
#include "sync/memory.cuh"

enum {
    THREADS = 512,
    PINGS = 5000,
    MORE_PINGS = 15000,
    ADD_REPEATS = 64,
    WORD_BYTES = 1 << 20 /* memory for flags and counters on each GPU */
};
static const int64_t bytes_least = 4096, bytes_most = (int64_t)1 << 28, sample_bytes = (int64_t)1 << 29;

/* Copies an array into peer memory, with 16-byte stores. */
static __global__ void __launch_bounds__(THREADS) put(const uint4 *from, uint4 *to, int64_t vectors) {
    const int64_t stride = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < vectors; i += stride)
        to[i] = from[i];
}

/* Waits until a word has a value; false: two seconds have passed. */
static __device__ bool wait_for(const uint32_t *p, uint32_t value) {
    uint64_t start_ns = 0;
    for (uint32_t polls = 1; stencil::load_acquire_system(p) < value; polls++) {
        if (polls % 1024 != 0)
            continue;
        const uint64_t now_ns = stencil::device_clock_ns();
        start_ns = start_ns == 0 ? now_ns : start_ns;
        if (now_ns - start_ns > 2000000000)
            return false;
    }
    return true;
}

/* Round trips of a flag between one thread on each GPU. Store is a plain store, a store with release at GPU
 * scope, or a store with release at system scope, as barriers across GPUs need. The first thread stores the
 * iteration number to `theirs` and waits for it in `mine`, in local memory; the second thread waits, then
 * stores. Both words start at 0; after a time-out, `mine` stays below `rounds`. */
template <void (*Store)(uint32_t *, uint32_t)>
static __global__ void ping(int64_t rounds, const uint32_t *mine, uint32_t *theirs, bool first) {
    bool came = true;
    for (uint32_t i = 1; i <= (uint32_t)rounds && came; i++) {
        if (first)
            Store(theirs, i);
        came = wait_for(mine, i);
        if (!first && came)
            Store(theirs, i);
    }
}

/* Adds 1 to a word, atomically at GPU scope, and returns its previous value. */
static __device__ __forceinline__ uint32_t add_gpu(uint32_t *p) {
    uint32_t value;
    asm volatile("atom.relaxed.gpu.global.add.u32 %0, [%1], 1;" : "=r"(value) : "l"(p) : "memory");
    return value;
}
static __device__ __forceinline__ uint32_t add_system(uint32_t *p) {
    uint32_t value;
    asm volatile("atom.relaxed.sys.global.add.u32 %0, [%1], 1;" : "=r"(value) : "l"(p) : "memory");
    return value;
}

/* Dependent loads of, or additions of 1 to, a word that starts at 0. Each address depends on the last value,
 * which is never large enough to change the address. */
template <auto Operate, bool Adds> struct chain : stencil::sm_operation {
    uint32_t *word, value = 0;
    __device__ explicit chain(const stencil::sm_arguments &a) : word(a.words.place) {}
    __device__ void once() {
        value = Operate(word + (value >> 31));
    }
    __device__ int settle() {
        asm volatile("" : "+r"(value)::"memory");
        return value >> 31;
    }
    __device__ unsigned wrong(int64_t times) {
        return value != (Adds ? (uint32_t)times - 1 : 0);
    }
};

/* Kernel in which thread t of a block adds 1 to word t % 32 of the block; words: [blocks][32]. */
static __global__ void __launch_bounds__(THREADS) adds(int64_t repeats, uint32_t *words) {
    uint32_t *word = words + (size_t)blockIdx.x * 32 + threadIdx.x % 32;
    for (int64_t i = 0; i < repeats; i++)
        asm volatile("red.relaxed.sys.global.add.u32 [%0], 1;" ::"l"(word) : "memory");
}

/* A GPU of the link with its stream and memory. */
struct peer_end {
    stencil_device gpu;
    uint4 *field; /* device memory of bytes_most bytes */
    uint32_t *words;
};

/* Case of atomics of GPU `from` on the memory of GPU `to`, or of flag round trips between them. */
using ping_kernel = void(int64_t, const uint32_t *, uint32_t *, bool);
struct peer_case {
    const peer_end *from, *to;
    ping_kernel *ping;
};

/* Samples the latency of transfers, with a wait on the host after each. */
static stencil_status sample_latency(stencil_bench *, void *what, int64_t count, double *value) {
    const stencil_transfer *t = static_cast<stencil_transfer *>(what);
    TRY_CUDA(cudaSetDevice(t->gpu->gpu));
    const double start_s = stencil_clock_s();
    for (int64_t i = 0; i < count; i++) {
        TRY(stencil_transfer_start(t));
        TRY_CUDA(cudaStreamSynchronize(t->gpu->stream));
    }
    *value = (stencil_clock_s() - start_s) / (double)count;
    return STENCIL_OK;
}

/* Zeroes the words of a GPU and makes the GPU current. */
static stencil_status clear_words(const peer_end *end) {
    TRY_CUDA(cudaSetDevice(end->gpu.gpu));
    TRY_CUDA(cudaMemset(end->words, 0, WORD_BYTES));
    TRY_CUDA(cudaDeviceSynchronize());
    return STENCIL_OK;
}

static stencil_status sample_adds(stencil_bench *, void *what, int64_t repeats, double *value) {
    const peer_case *c = static_cast<peer_case *>(what);
    const stencil_device &gpu = c->from->gpu;
    const unsigned blocks = gpu.sm_count;
    const int64_t each = repeats * THREADS / 32;
    uint32_t count;
    double time_s;
    TRY(clear_words(c->to));
    TRY(stencil_device_start(&gpu));
    TRY(stencil_launch(gpu, adds, blocks, THREADS, repeats, c->to->words));
    TRY(stencil_device_stop(&gpu, &time_s));
    TRY(stencil_device_read(&gpu, &count, c->to->words + 32 * (blocks - 1) + 31, sizeof count));
    CHECK(count == each, INTERNAL, "peer: %lld additions counted to %u", (long long)each, count);
    *value = (double)blocks * THREADS * (double)repeats / time_s;
    return STENCIL_OK;
}

/* Times flag round trips: launches both kernels and waits for them. */
static stencil_status sample_ping(stencil_bench *, void *what, int64_t rounds, double *time_s) {
    const peer_case *c = static_cast<peer_case *>(what);
    const peer_end *const end[2] = {c->from, c->to};
    for (int i = 0; i < 2; i++)
        TRY(clear_words(end[i]));
    const double start_s = stencil_clock_s();
    for (int i = 0; i < 2; i++) {
        TRY_CUDA(cudaSetDevice(end[i]->gpu.gpu));
        TRY(stencil_launch(end[i]->gpu, c->ping, 1, 1, rounds, end[i]->words, end[1 - i]->words, i == 0));
    }
    for (int i = 0; i < 2; i++)
        TRY_CUDA(cudaStreamSynchronize(end[i]->gpu.stream));
    *time_s = stencil_clock_s() - start_s;
    for (int i = 0; i < 2; i++) {
        uint32_t word;
        TRY_CUDA(cudaMemcpy(&word, end[i]->words, sizeof word, cudaMemcpyDeviceToHost));
        CHECK(word == (uint32_t)rounds, INTERNAL, "peer: the flag went to and fro %u times instead of %lld",
              word, (long long)rounds);
    }
    return STENCIL_OK;
}

static stencil_transfer transfer_of(const peer_end *from, const peer_end *to, int64_t bytes, bool stores) {
    return {&from->gpu, &to->gpu, from->field, to->field, bytes, stores ? put : nullptr};
}

/* Adds transfer rows. A bandwidth sample has transfers of half a gigabyte in total, or 200 transfers. */
static stencil_status add_transfers(stencil_bench *b, const peer_end *end) {
    const peer_end *const behind = end + b->options->gpu_count;
    for (int latency = 0; latency < 2; latency++)
        for (int stores = 0; stores < 2; stores++)
            for (int64_t bytes = bytes_least; bytes <= bytes_most; bytes *= 4) {
                const int64_t few = bytes <= 1 << 20 ? 50 : 2;
                TRY(STENCIL_BENCH_ADD(
                    b, transfer_of(end, end + 1, bytes, stores), latency ? "latency" : "bandwidth",
                    stores ? "kernel stores" : "copy engine", latency ? "s" : "bytes/s",
                    .sample = latency ? sample_latency : stencil_transfer_sample, .axis = {{"bytes", bytes}},
                    .count = latency ? few : stencil_smaller(sample_bytes / bytes, 200)));
            }
    for (const peer_end *from = end; from < behind && b->options->gpu_count > 2; from++)
        for (const peer_end *to = end; to < behind; to++)
            if (from != to)
                TRY(STENCIL_BENCH_ADD(b, transfer_of(from, to, bytes_most, false), "bandwidth of a pair",
                                      "copy engine", "bytes/s", .sample = stencil_transfer_sample,
                                      .axis = {{"from", from->gpu.gpu}, {"to", to->gpu.gpu}},
                                      .count = sample_bytes / bytes_most));
    return STENCIL_OK;
}

static const struct {
    const char *name;
    stencil::sm_kernel *kernel;
} chains[] = {{"ld.acquire.sys", stencil::time_operation<chain<stencil::load_acquire_system, false>, 16>},
              {"atom.gpu.add", stencil::time_operation<chain<add_gpu, true>, 16>},
              {"atom.sys.add", stencil::time_operation<chain<add_system, true>, 16>}};
static const struct {
    const char *name;
    ping_kernel *kernel;
} pings[] = {{"relaxed.sys", ping<stencil::store_relaxed_system>},
             {"release.gpu", ping<stencil::store_release>},
             {"release.sys", ping<stencil::store_release_system>}};

static stencil_status add_operations(stencil_bench *b, const stencil::sm_timing *timing, const peer_end *end,
                                     int64_t chain_repeats, int64_t more_pings) {
    peer_case c = {.from = end};
    for (c.to = end; c.to < end + 2; c.to++) {
        const char *kind = c.to == end ? "own memory" : "memory of a peer";
        for (const auto &each : chains) {
            const stencil::sm_case word = {timing, each.kernel, each.name, {c.to->words, 1, 1, 1},
                                           true,   .threads = 1};
            TRY(STENCIL_BENCH_ADD(b, word, kind, each.name, "cycles", STENCIL_METHOD_GPU_CLOCK,
                                  .sample = stencil::sm_sample, .count = chain_repeats));
        }
        TRY(STENCIL_BENCH_ADD(b, c, kind, "red.sys.add", "operations/s", .sample = sample_adds,
                              .count = ADD_REPEATS));
    }
    for (const auto &each : pings) {
        c.ping = each.kernel;
        for (c.to = end + 1; c.to < end + b->options->gpu_count; c.to++)
            TRY(STENCIL_BENCH_ADD(b, c, "ping-pong", each.name, "s/round trip", STENCIL_METHOD_TWO_COUNTS,
                                  .sample = sample_ping,
                                  .axis = {{"from", end->gpu.gpu}, {"to", c.to->gpu.gpu}}, .count = PINGS,
                                  .more = more_pings));
    }
    return STENCIL_OK;
}

/* Sets up all GPUs and loads the flag kernels: lazy loading may deadlock kernels that wait for each other. */
static stencil_status prepare(stencil_bench *b, peer_end *end) {
    const stencil_bench_options *o = b->options;
    for (int i = 0; i < o->gpu_count; i++, end++) {
        cudaFuncAttributes attributes;
        TRY(stencil_device_create(b, i, &end->gpu));
        TRY(stencil_peers_reach(end->gpu.gpu, o->gpu, o->gpu_count));
        TRY(stencil_device_memory(b, &end->field, (size_t)bytes_most));
        TRY_CUDA(cudaMemset(end->field, i, (size_t)bytes_most));
        TRY(stencil_device_memory(b, &end->words, WORD_BYTES));
        for (const auto &each : pings)
            TRY_CUDA(cudaFuncGetAttributes(&attributes, reinterpret_cast<const void *>(each.kernel)));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

stencil_status stencil_measure_peer(stencil_bench *b) {
    const stencil_bench_options *o = b->options;
    const int64_t chain_repeats = stencil_round_up(stencil_repeats(o, STENCIL_REPEATS), 16),
                  more_pings = stencil_repeats(o, MORE_PINGS);
    peer_end end[STENCIL_GPUS_MAX];
    stencil::sm_timing timing;
    char why[64];
    if (o->gpu_count < 2)
        return stencil_bench_skip(b->result, "needs two GPUs");
    if (!stencil_device_peers(b, why, sizeof why))
        return stencil_bench_skip(b->result, "%s", why);
    TRY(prepare(b, end));
    TRY(stencil::sm_begin(b, &timing, 0));
    stencil_bench_add_number(b->result, "chain_repeats", chain_repeats);
    stencil_bench_add_number(b->result, "pings", PINGS);
    stencil_bench_add_number(b->result, "more_pings", more_pings);
    TRY(add_transfers(b, end));
    TRY(add_operations(b, &timing, end, chain_repeats, more_pings));
    stencil_bench_note(b,
                       "From GPU %d to GPU %d where nothing else is said. Bandwidth: one transfer behind the "
                       "other; latency: each waited for on the host.",
                       o->gpu[0], o->gpu[1]);
    stencil_bench_note(b, "Ping-pong: a flag of one thread to and fro, polled with ld.acquire.sys in its own "
                          "memory. Verified: bytes moved, additions counted, rounds made.");
    return stencil_bench_take(b);
}

/* What the link between two GPUs carries, and how fast (000 section 7.5; multi-GPU data exchange by peer
 * access): bandwidth and latency by size, by copy engine and by stores of a kernel; operations on a peer's
 * memory; a flag to and fro, stored with and without a release. */
#include <string.h>

#include "bench/kernels.h"
#include "bench/device.h"
#include "bench/method.h"
#include "sync/host.h"

#ifdef STENCIL_HAVE_CUDA
enum {
    THREADS = 512,
    BLOCKS_PER_SM = 8,
    PINGS = 5000,
    MORE_PINGS = 15000,
    ADD_REPEATS = 64,
    PROBE_BYTES = 4096,
    WORD_BYTES = 1 << 20 /* words of each GPU for flags and counters */
};
static const int64_t bytes_least = 4096, bytes_most = (int64_t)1 << 28, sample_bytes = (int64_t)1 << 29;

/* What each GPU has. */
typedef struct peer_end {
    int gpu;
    stencil_device_timer timer; /* with the stream of everything */
    void *field;                /* [bytes_most] */
    uint32_t *words;
    stencil_peer_seen *seen;
} peer_end;

typedef struct peer {
    unsigned sm_count;
    peer_end end[STENCIL_GPUS_MAX];
    unsigned char *probe; /* host: [2][PROBE_BYTES] */
} peer;

typedef struct peer_case {
    stencil_peer_kernel kernel; /* STENCIL_PEER_KERNELS: the copy engine in place of one */
    const peer_end *from, *to;  /* of operations: `from` works on the memory of `to` */
    int64_t bytes;
} peer_case;

static stencil_status launch(const peer_end *on, stencil_peer_kernel kernel, unsigned blocks,
                             unsigned threads, void **arguments) {
    return stencil_device_launch(stencil_peer_kernels[kernel], blocks, threads, on->timer.stream, arguments);
}

static stencil_status transfer(const stencil_bench *b, const peer_case *c) {
    const peer *p = b->own;
    if (c->kernel == STENCIL_PEER_KERNELS) {
        TRY_CUDA(cudaMemcpyPeerAsync(c->to->field, c->to->gpu, c->from->field, c->from->gpu, (size_t)c->bytes,
                                     c->from->timer.stream));
        return STENCIL_OK;
    }
    int64_t vectors = c->bytes / 16;
    const void *from = c->from->field;
    void *to = c->to->field;
    const int64_t needed = (vectors + THREADS - 1) / THREADS, most = (int64_t)p->sm_count * BLOCKS_PER_SM;
    return launch(c->from, c->kernel, (unsigned)(needed < most ? needed : most), THREADS,
                  (void *[]){&from, &to, &vectors});
}

static stencil_status sample_bandwidth(stencil_bench *b, void *what, int64_t count, double *value) {
    const peer_case *c = what;
    double time_s;
    TRY_CUDA(cudaSetDevice(c->from->gpu));
    TRY(stencil_device_timer_start(&c->from->timer));
    for (int64_t i = 0; i < count; i++)
        TRY(transfer(b, c));
    TRY(stencil_device_timer_stop(&c->from->timer, &time_s));
    *value = (double)(c->bytes * count) / time_s;
    return STENCIL_OK;
}

/* One by one, each waited for on the host. */
static stencil_status sample_latency(stencil_bench *b, void *what, int64_t count, double *value) {
    const peer_case *c = what;
    TRY_CUDA(cudaSetDevice(c->from->gpu));
    const double start_s = stencil_clock_s();
    for (int64_t i = 0; i < count; i++) {
        TRY(transfer(b, c));
        TRY_CUDA(cudaStreamSynchronize(c->from->timer.stream));
    }
    *value = (stencil_clock_s() - start_s) / (double)count;
    return STENCIL_OK;
}

static stencil_status clear_words(const peer_end *end) {
    TRY_CUDA(cudaSetDevice(end->gpu));
    TRY_CUDA(cudaMemset(end->words, 0, WORD_BYTES));
    TRY_CUDA(cudaMemset(end->seen, 0xff, sizeof *end->seen));
    TRY_CUDA(cudaDeviceSynchronize());
    return STENCIL_OK;
}

static stencil_status sample_chain(stencil_bench *b, void *what, int64_t repeats, double *value) {
    (void)b;
    const peer_case *c = what;
    stencil_peer_seen seen, *at = c->from->seen;
    uint32_t count, *word = c->to->words;
    TRY(clear_words(c->to));
    TRY_CUDA(cudaSetDevice(c->from->gpu));
    TRY(launch(c->from, c->kernel, 1, 1, (void *[]){&repeats, &word, &at}));
    TRY_CUDA(cudaStreamSynchronize(c->from->timer.stream));
    TRY_CUDA(cudaMemcpy(&seen, at, sizeof seen, cudaMemcpyDeviceToHost));
    TRY_CUDA(cudaMemcpy(&count, word, sizeof count, cudaMemcpyDeviceToHost));
    CHECK(count == (c->kernel == STENCIL_PEER_LOAD ? 0 : (uint32_t)repeats), INTERNAL,
          "peer: %lld additions counted to %u", (long long)repeats, count);
    *value = (double)seen.cycles / (double)repeats;
    return STENCIL_OK;
}

static stencil_status sample_adds(stencil_bench *b, void *what, int64_t repeats, double *value) {
    const peer_case *c = what;
    const unsigned blocks = ((const peer *)b->own)->sm_count;
    const int64_t each = repeats * THREADS / 32;
    uint32_t *words = c->to->words, count;
    double time_s;
    TRY(clear_words(c->to));
    TRY_CUDA(cudaSetDevice(c->from->gpu));
    TRY(stencil_device_timer_start(&c->from->timer));
    TRY(launch(c->from, c->kernel, blocks, THREADS, (void *[]){&repeats, &words}));
    TRY(stencil_device_timer_stop(&c->from->timer, &time_s));
    TRY_CUDA(cudaMemcpy(&count, words + 32 * (blocks - 1) + 31, sizeof count, cudaMemcpyDeviceToHost));
    CHECK(count == each, INTERNAL, "peer: %lld additions counted to %u", (long long)each, count);
    *value = (double)blocks * THREADS * (double)repeats / time_s;
    return STENCIL_OK;
}

/* Both kernels, waited for. */
static stencil_status sample_ping(stencil_bench *b, void *what, int64_t rounds, double *time_s) {
    (void)b;
    const peer_case *c = what;
    const peer_end *const end[2] = {c->from, c->to};
    for (int i = 0; i < 2; i++)
        TRY(clear_words(end[i]));
    const double start_s = stencil_clock_s();
    for (int i = 0; i < 2; i++) {
        uint32_t *mine = end[i]->words, *theirs = end[1 - i]->words;
        stencil_peer_seen *seen = end[i]->seen;
        bool first = i == 0;
        TRY_CUDA(cudaSetDevice(end[i]->gpu));
        TRY(launch(end[i], c->kernel, 1, 1, (void *[]){&rounds, &mine, &theirs, &first, &seen}));
    }
    for (int i = 0; i < 2; i++)
        TRY_CUDA(cudaStreamSynchronize(end[i]->timer.stream));
    *time_s = stencil_clock_s() - start_s;
    for (int i = 0; i < 2; i++) {
        stencil_peer_seen seen;
        uint32_t word;
        TRY_CUDA(cudaMemcpy(&seen, end[i]->seen, sizeof seen, cudaMemcpyDeviceToHost));
        TRY_CUDA(cudaMemcpy(&word, end[i]->words, sizeof word, cudaMemcpyDeviceToHost));
        CHECK(seen.failed == 0 && word == (uint32_t)rounds, INTERNAL,
              "peer: the flag went to and fro %u times instead of %lld", word, (long long)rounds);
    }
    return STENCIL_OK;
}

/* The first and the last bytes of a transfer into memory that held something else. */
static stencil_status verify(stencil_bench *b, void *what) {
    const peer_case *c = what;
    const bool kernel = c->kernel != STENCIL_PEER_KERNELS;
    unsigned char *probe = ((const peer *)b->own)->probe, *from = c->from->field, *to = c->to->field;
    const size_t last = (size_t)c->bytes - PROBE_BYTES;
    TRY_CUDA(cudaSetDevice(c->to->gpu));
    TRY_CUDA(cudaMemset(to, 0xff, (size_t)c->bytes));
    TRY_CUDA(cudaDeviceSynchronize());
    TRY_CUDA(cudaSetDevice(c->from->gpu));
    for (int i = 0; i < PROBE_BYTES; i++)
        probe[i] = (unsigned char)(7 * i + c->bytes / 4096 + kernel + 1);
    TRY_CUDA(cudaMemcpy(from, probe, PROBE_BYTES, cudaMemcpyHostToDevice));
    TRY_CUDA(cudaMemcpy(from + last, probe, PROBE_BYTES, cudaMemcpyHostToDevice));
    TRY_CUDA(cudaDeviceSynchronize());
    TRY(transfer(b, c));
    TRY_CUDA(cudaStreamSynchronize(c->from->timer.stream));
    for (int end = 0; end < 2; end++) {
        TRY_CUDA(cudaMemcpy(probe + PROBE_BYTES, to + (end ? last : 0), PROBE_BYTES, cudaMemcpyDeviceToHost));
        CHECK(memcmp(probe, probe + PROBE_BYTES, PROBE_BYTES) == 0, INTERNAL,
              "peer: %lld bytes moved from GPU %d to GPU %d by %s are not what was sent", (long long)c->bytes,
              c->from->gpu, c->to->gpu, kernel ? "a kernel" : "the copy engine");
    }
    return STENCIL_OK;
}

/* Bandwidth: as many in a row as move half a gigabyte, or 200. */
static stencil_status add_transfers(stencil_bench *b, const peer_end *end) {
    const peer_end *const behind = end + b->options->gpu_count;
    peer_case c = {.from = end, .to = end + 1};
    for (int latency = 0; latency < 2; latency++)
        for (int kernel = 0; kernel < 2; kernel++)
            for (c.bytes = bytes_least; c.bytes <= bytes_most; c.bytes *= 4) {
                const int64_t most = sample_bytes / c.bytes, few = c.bytes <= 1 << 20 ? 50 : 2;
                c.kernel = kernel ? STENCIL_PEER_PUT : STENCIL_PEER_KERNELS;
                TRY(STENCIL_BENCH_ADD(b, c, latency ? "latency" : "bandwidth",
                                      kernel ? "kernel stores" : "copy engine", latency ? "s" : "bytes/s",
                                      .sample = latency ? sample_latency : sample_bandwidth,
                                      .verify = latency ? NULL : verify, .axis = {{"bytes", c.bytes}},
                                      .count = latency      ? few
                                               : most < 200 ? most
                                                            : 200));
            }
    c = (peer_case){.kernel = STENCIL_PEER_KERNELS, .bytes = bytes_most};
    for (c.from = end; c.from < behind && b->options->gpu_count > 2; c.from++)
        for (c.to = end; c.to < behind; c.to++)
            if (c.from != c.to)
                TRY(STENCIL_BENCH_ADD(b, c, "bandwidth of a pair", "copy engine", "bytes/s",
                                      .sample = sample_bandwidth, .verify = verify,
                                      .axis = {{"from", c.from->gpu}, {"to", c.to->gpu}},
                                      .count = sample_bytes / bytes_most));
    return STENCIL_OK;
}

static stencil_status add_operations(stencil_bench *b, const peer_end *end, int64_t chain_repeats,
                                     int64_t more_pings) {
    static const char *const names[STENCIL_PEER_KERNELS] = {
        [STENCIL_PEER_LOAD] = "ld.acquire.sys",    [STENCIL_PEER_ADD_GPU] = "atom.gpu.add",
        [STENCIL_PEER_ADD_SYS] = "atom.sys.add",   [STENCIL_PEER_ADDS] = "red.sys.add",
        [STENCIL_PEER_RELAXED] = "relaxed.sys",    [STENCIL_PEER_RELEASE_GPU] = "release.gpu",
        [STENCIL_PEER_RELEASE_SYS] = "release.sys"};
    peer_case c = {.from = end};
    for (c.to = end; c.to < end + 2; c.to++) {
        const char *kind = c.to == end ? "own memory" : "memory of a peer";
        for (c.kernel = STENCIL_PEER_LOAD; c.kernel <= STENCIL_PEER_ADD_SYS; c.kernel++)
            TRY(STENCIL_BENCH_ADD(b, c, kind, names[c.kernel], "cycles", STENCIL_METHOD_GPU_CLOCK,
                                  .sample = sample_chain, .count = chain_repeats));
        c.kernel = STENCIL_PEER_ADDS;
        TRY(STENCIL_BENCH_ADD(b, c, kind, names[c.kernel], "operations/s", .sample = sample_adds,
                              .count = ADD_REPEATS));
    }
    for (c.kernel = STENCIL_PEER_RELAXED; c.kernel <= STENCIL_PEER_RELEASE_SYS; c.kernel++)
        for (c.to = end + 1; c.to < end + b->options->gpu_count; c.to++)
            TRY(STENCIL_BENCH_ADD(b, c, "ping-pong", names[c.kernel], "s/round trip",
                                  STENCIL_METHOD_TWO_COUNTS, .sample = sample_ping,
                                  .axis = {{"from", end->gpu}, {"to", c.to->gpu}}, .count = PINGS,
                                  .more = more_pings));
    return STENCIL_OK;
}

/* All kernels are loaded everywhere: a kernel that waits for a peer's must not be what that one's loading
 * waits for. */
static stencil_status prepare(stencil_bench *b, peer *p) {
    const stencil_bench_options *o = b->options;
    TRY(stencil_bench_memory(b, &p->probe, 2 * PROBE_BYTES));
    for (int i = 0; i < o->gpu_count; i++) {
        struct cudaFuncAttributes attributes;
        cudaStream_t stream;
        peer_end *end = &p->end[i];
        end->gpu = o->gpu[i];
        TRY_CUDA(cudaSetDevice(end->gpu));
        TRY(stencil_peers_reach(end->gpu, o->gpu, o->gpu_count));
        TRY(stencil_device_stream(b, &stream));
        TRY(stencil_device_timer_create(b, &end->timer, stream));
        TRY(stencil_device_memory(b, &end->field, (size_t)bytes_most));
        TRY_CUDA(cudaMemset(end->field, i, (size_t)bytes_most));
        TRY(stencil_device_memory(b, &end->words, WORD_BYTES));
        TRY(stencil_device_memory(b, &end->seen, sizeof *end->seen));
        for (int kernel = 0; kernel < STENCIL_PEER_KERNELS; kernel++)
            TRY_CUDA(cudaFuncGetAttributes(&attributes, stencil_peer_kernels[kernel]));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

static stencil_status run_gpu(stencil_bench *b) {
    const stencil_bench_options *o = b->options;
    const int64_t chain_repeats = o->repeats > 0 ? stencil_round_up(o->repeats, 16) : STENCIL_REPEATS,
                  more_pings = o->repeats > 0 ? o->repeats : MORE_PINGS;
    char why[64];
    if (o->gpu_count < 2)
        return stencil_bench_skip(b->result, "needs two GPUs");
    if (!stencil_device_peers(b, why, sizeof why))
        return stencil_bench_skip(b->result, "%s", why);
    peer p = {.sm_count = (unsigned)b->machine->gpu[o->gpu[0]].sm_count};
    b->own = &p;
    TRY(prepare(b, &p));
    stencil_bench_add_number(b->result, "chain_repeats", chain_repeats);
    stencil_bench_add_number(b->result, "pings", PINGS);
    stencil_bench_add_number(b->result, "more_pings", more_pings);
    TRY(add_transfers(b, p.end));
    TRY(add_operations(b, p.end, chain_repeats, more_pings));
    TRY(stencil_bench_take(b));
    stencil_bench_note(b,
                       "From GPU %d to GPU %d where nothing else is said. Bandwidth: one transfer behind the "
                       "other; latency: each waited for on the host.",
                       o->gpu[0], o->gpu[1]);
    stencil_bench_note(b, "Ping-pong: a flag of one thread to and fro, polled with ld.acquire.sys in its own "
                          "memory. Verified: bytes moved, additions counted, rounds made.");
    return STENCIL_OK;
}
#endif

const stencil_benchmark stencil_benchmark_peer = {
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .many_gpus = true,
    .gpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_REPEATS,
};

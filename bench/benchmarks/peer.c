/* What the link between two GPUs carries, and how fast (000 section 7.5; multi-GPU data exchange by peer
 * access): bandwidth and latency by size, by copy engine and by stores of a kernel; operations on a peer's
 * memory; a flag to and fro, stored with and without a release. */
#include <stdio.h>

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
    WORD_BYTES = 1 << 20 /* words of each GPU for flags and counters */
};
static const int64_t bytes_least = 4096, bytes_most = (int64_t)1 << 28, sample_bytes = (int64_t)1 << 29;

/* What each GPU has. */
typedef struct peer_end {
    stencil_device gpu;
    void *field; /* [bytes_most] */
    uint32_t *words;
    stencil_peer_seen *seen;
} peer_end;

typedef struct peer_case {
    const void *kernel;        /* of a transfer, NULL: the copy engine in place of one */
    const peer_end *from, *to; /* of operations: `from` works on the memory of `to` */
    int64_t bytes;
} peer_case;

static stencil_status transfer(const peer_case *c) {
    const stencil_device *gpu = &c->from->gpu;
    if (c->kernel == NULL) {
        TRY_CUDA(cudaMemcpyPeerAsync(c->to->field, c->to->gpu.gpu, c->from->field, gpu->gpu, (size_t)c->bytes,
                                     gpu->stream));
        return STENCIL_OK;
    }
    const stencil_vector_work work = {.from = c->from->field, .to = c->to->field, .vectors = c->bytes / 16};
    const int64_t needed = (work.vectors + THREADS - 1) / THREADS, most = gpu->sm_count * BLOCKS_PER_SM;
    return stencil_device_launch(gpu, c->kernel, (unsigned)stencil_smaller(needed, most), THREADS, &work);
}

static stencil_status sample_bandwidth(stencil_bench *b, void *what, int64_t count, double *value) {
    const peer_case *c = what;
    double time_s;
    (void)b;
    TRY(stencil_device_start(&c->from->gpu));
    for (int64_t i = 0; i < count; i++)
        TRY(transfer(c));
    TRY(stencil_device_stop(&c->from->gpu, &time_s));
    *value = (double)(c->bytes * count) / time_s;
    return STENCIL_OK;
}

/* One by one, each waited for on the host. */
static stencil_status sample_latency(stencil_bench *b, void *what, int64_t count, double *value) {
    const peer_case *c = what;
    (void)b;
    TRY_CUDA(cudaSetDevice(c->from->gpu.gpu));
    const double start_s = stencil_clock_s();
    for (int64_t i = 0; i < count; i++) {
        TRY(transfer(c));
        TRY_CUDA(cudaStreamSynchronize(c->from->gpu.stream));
    }
    *value = (stencil_clock_s() - start_s) / (double)count;
    return STENCIL_OK;
}

/* Leaves the GPU the current one. */
static stencil_status clear_words(const peer_end *end) {
    TRY_CUDA(cudaSetDevice(end->gpu.gpu));
    TRY_CUDA(cudaMemset(end->words, 0, WORD_BYTES));
    TRY_CUDA(cudaMemset(end->seen, 0xff, sizeof *end->seen));
    TRY_CUDA(cudaDeviceSynchronize());
    return STENCIL_OK;
}

/* Launches what works on the words of `to`, timed, and brings the last of them. */
static stencil_status operate(const peer_case *c, unsigned blocks, unsigned threads, int64_t repeats,
                              double *time_s, uint32_t *word) {
    const peer_end *on = c->from;
    const stencil_peer_work work = {.repeats = repeats, .word = c->to->words, .seen = on->seen};
    TRY(clear_words(c->to));
    TRY(stencil_device_start(&on->gpu));
    TRY(stencil_device_launch(&on->gpu, c->kernel, blocks, threads, &work));
    TRY(stencil_device_stop(&on->gpu, time_s));
    return stencil_device_read(&on->gpu, word, c->to->words + 32 * (blocks - 1) + (threads - 1) % 32,
                               sizeof *word);
}

static stencil_status sample_chain(stencil_bench *b, void *what, int64_t repeats, double *value) {
    const peer_case *c = what;
    const bool loads = c->kernel == stencil_chain_kernels[0].kernel;
    stencil_peer_seen seen;
    uint32_t count;
    double time_s;
    (void)b;
    TRY(operate(c, 1, 1, repeats, &time_s, &count));
    TRY(stencil_device_read(&c->from->gpu, &seen, c->from->seen, sizeof seen));
    CHECK(count == (loads ? 0 : (uint32_t)repeats), INTERNAL, "peer: %lld additions counted to %u",
          (long long)repeats, count);
    *value = (double)seen.cycles / (double)repeats;
    return STENCIL_OK;
}

static stencil_status sample_adds(stencil_bench *b, void *what, int64_t repeats, double *value) {
    const peer_case *c = what;
    const unsigned blocks = c->from->gpu.sm_count;
    const int64_t each = repeats * THREADS / 32;
    uint32_t count;
    double time_s;
    (void)b;
    TRY(operate(c, blocks, THREADS, repeats, &time_s, &count));
    CHECK(count == each, INTERNAL, "peer: %lld additions counted to %u", (long long)each, count);
    *value = (double)blocks * THREADS * (double)repeats / time_s;
    return STENCIL_OK;
}

/* Both kernels, waited for. */
static stencil_status sample_ping(stencil_bench *b, void *what, int64_t rounds, double *time_s) {
    const peer_case *c = what;
    const peer_end *const end[2] = {c->from, c->to};
    (void)b;
    for (int i = 0; i < 2; i++)
        TRY(clear_words(end[i]));
    const double start_s = stencil_clock_s();
    for (int i = 0; i < 2; i++) {
        const stencil_peer_work work = {rounds, end[i]->words, end[1 - i]->words, i == 0, end[i]->seen};
        TRY_CUDA(cudaSetDevice(end[i]->gpu.gpu));
        TRY(stencil_device_launch(&end[i]->gpu, c->kernel, 1, 1, &work));
    }
    for (int i = 0; i < 2; i++)
        TRY_CUDA(cudaStreamSynchronize(end[i]->gpu.stream));
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

/* A transfer into memory that held something else. */
static stencil_status verify(stencil_bench *b, void *what) {
    const peer_case *c = what;
    const stencil_device *gpu = &c->from->gpu;
    char text[96];
    (void)b;
    TRY_CUDA(cudaSetDevice(c->to->gpu.gpu));
    TRY_CUDA(cudaMemset(c->to->field, 0xff, (size_t)c->bytes));
    TRY_CUDA(cudaDeviceSynchronize());
    TRY_CUDA(cudaSetDevice(gpu->gpu));
    TRY(stencil_device_fill(gpu, c->from->field, c->bytes));
    TRY(transfer(c));
    TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    snprintf(text, sizeof text, "peer, %lld bytes from GPU %d to GPU %d by %s", (long long)c->bytes, gpu->gpu,
             c->to->gpu.gpu, c->kernel != NULL ? "a kernel" : "the copy engine");
    return stencil_device_compare(c->to->field, c->from->field, c->bytes, text);
}

/* Bandwidth: as many in a row as move half a gigabyte, or 200. */
static stencil_status add_transfers(stencil_bench *b, const peer_end *end) {
    const peer_end *const behind = end + b->options->gpu_count;
    peer_case c = {.from = end, .to = end + 1};
    for (int latency = 0; latency < 2; latency++)
        for (int kernel = 0; kernel < 2; kernel++)
            for (c.bytes = bytes_least; c.bytes <= bytes_most; c.bytes *= 4) {
                const int64_t few = c.bytes <= 1 << 20 ? 50 : 2;
                c.kernel = kernel ? stencil_put_kernel : NULL;
                TRY(STENCIL_BENCH_ADD(b, c, latency ? "latency" : "bandwidth",
                                      kernel ? "kernel stores" : "copy engine", latency ? "s" : "bytes/s",
                                      .sample = latency ? sample_latency : sample_bandwidth,
                                      .verify = latency ? NULL : verify, .axis = {{"bytes", c.bytes}},
                                      .count = latency ? few : stencil_smaller(sample_bytes / c.bytes, 200)));
            }
    c = (peer_case){.bytes = bytes_most};
    for (c.from = end; c.from < behind && b->options->gpu_count > 2; c.from++)
        for (c.to = end; c.to < behind; c.to++)
            if (c.from != c.to)
                TRY(STENCIL_BENCH_ADD(b, c, "bandwidth of a pair", "copy engine", "bytes/s",
                                      .sample = sample_bandwidth, .verify = verify,
                                      .axis = {{"from", c.from->gpu.gpu}, {"to", c.to->gpu.gpu}},
                                      .count = sample_bytes / bytes_most));
    return STENCIL_OK;
}

static stencil_status add_operations(stencil_bench *b, const peer_end *end, int64_t chain_repeats,
                                     int64_t more_pings) {
    peer_case c = {.from = end};
    for (c.to = end; c.to < end + 2; c.to++) {
        const char *kind = c.to == end ? "own memory" : "memory of a peer";
        for (const stencil_named_kernel *k = stencil_chain_kernels; (c.kernel = k->kernel) != NULL; k++)
            TRY(STENCIL_BENCH_ADD(b, c, kind, k->name, "cycles", STENCIL_METHOD_GPU_CLOCK,
                                  .sample = sample_chain, .count = chain_repeats));
        c.kernel = stencil_adds_kernel.kernel;
        TRY(STENCIL_BENCH_ADD(b, c, kind, stencil_adds_kernel.name, "operations/s", .sample = sample_adds,
                              .count = ADD_REPEATS));
    }
    for (const stencil_named_kernel *k = stencil_ping_kernels; (c.kernel = k->kernel) != NULL; k++)
        for (c.to = end + 1; c.to < end + b->options->gpu_count; c.to++)
            TRY(STENCIL_BENCH_ADD(
                b, c, "ping-pong", k->name, "s/round trip", STENCIL_METHOD_TWO_COUNTS, .sample = sample_ping,
                .axis = {{"from", end->gpu.gpu}, {"to", c.to->gpu.gpu}}, .count = PINGS, .more = more_pings));
    return STENCIL_OK;
}

/* All kernels are loaded everywhere: one that waits for a peer's must not be what that one's loading waits
 * for. */
static stencil_status prepare(stencil_bench *b, peer_end *end) {
    const stencil_bench_options *o = b->options;
    for (int i = 0; i < o->gpu_count; i++, end++) {
        struct cudaFuncAttributes attributes;
        TRY(stencil_device_create(b, i, &end->gpu));
        TRY(stencil_peers_reach(end->gpu.gpu, o->gpu, o->gpu_count));
        TRY(stencil_device_memory(b, &end->field, (size_t)bytes_most));
        TRY_CUDA(cudaMemset(end->field, i, (size_t)bytes_most));
        TRY(stencil_device_memory(b, &end->words, WORD_BYTES));
        TRY(stencil_device_memory(b, &end->seen, sizeof *end->seen));
        for (const stencil_named_kernel *k = stencil_ping_kernels; k->name != NULL; k++)
            TRY_CUDA(cudaFuncGetAttributes(&attributes, k->kernel));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

stencil_status stencil_measure_peer(stencil_bench *b) {
    const stencil_bench_options *o = b->options;
    const int64_t chain_repeats = o->repeats > 0 ? stencil_round_up(o->repeats, 16) : STENCIL_REPEATS,
                  more_pings = o->repeats > 0 ? o->repeats : MORE_PINGS;
    peer_end end[STENCIL_GPUS_MAX];
    char why[64];
    if (o->gpu_count < 2)
        return stencil_bench_skip(b->result, "needs two GPUs");
    if (!stencil_device_peers(b, why, sizeof why))
        return stencil_bench_skip(b->result, "%s", why);
    TRY(prepare(b, end));
    stencil_bench_add_number(b->result, "chain_repeats", chain_repeats);
    stencil_bench_add_number(b->result, "pings", PINGS);
    stencil_bench_add_number(b->result, "more_pings", more_pings);
    TRY(add_transfers(b, end));
    TRY(add_operations(b, end, chain_repeats, more_pings));
    stencil_bench_note(b,
                       "From GPU %d to GPU %d where nothing else is said. Bandwidth: one transfer behind the "
                       "other; latency: each waited for on the host.",
                       o->gpu[0], o->gpu[1]);
    stencil_bench_note(b, "Ping-pong: a flag of one thread to and fro, polled with ld.acquire.sys in its own "
                          "memory. Verified: bytes moved, additions counted, rounds made.");
    return stencil_bench_take(b);
}
#endif

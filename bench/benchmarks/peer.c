/* What the link between two GPUs carries, and how fast (000 section 7.5; multi-GPU data exchange by peer
 * access): bandwidth and latency by size, by copy engine and by stores of a kernel; operations on a peer's
 * memory; a flag to and fro, stored with and without a release. */
#include "bench/benchmark.h"
#include "sync/host.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>
#include <string.h>

#include "bench/benchmarks/method.h"
#include "bench/benchmarks/peer_kernels.h"

enum {
    THREADS = 512,
    BLOCKS_PER_SM = 8,
    PAIRS_MAX = STENCIL_GPUS_MAX * STENCIL_GPUS_MAX,
    CASES_MAX = 128 + PAIRS_MAX,
    PINGS = 5000,
    MORE_PINGS = 15000,
    ADD_REPEATS = 64,
    PROBE_BYTES = 4096,
    WORD_BYTES = 1 << 20 /* words of each GPU for flags and counters */
};
static const int64_t bytes_least = 4096, bytes_most = (int64_t)1 << 28, sample_bytes = (int64_t)1 << 29;

typedef enum case_kind { BANDWIDTH, LATENCY, CHAIN, ADDS, PING } case_kind;

typedef struct peer_case {
    case_kind kind;
    bool kernel; /* BANDWIDTH, LATENCY: by a kernel's stores, else by the copy engine */
    int64_t bytes;
    int from, to;  /* places in the list of GPUs; CHAIN, ADDS: `from` works on the memory of `to` */
    int operation; /* CHAIN, PING */
    stencil_two_counts two;
} peer_case;

typedef struct bench {
    const int *gpu;
    int gpu_count, sm_count;
    int64_t chain_repeats, more_pings;
    cudaStream_t stream[STENCIL_GPUS_MAX];
    cudaEvent_t begin[STENCIL_GPUS_MAX], end[STENCIL_GPUS_MAX];
    void *field[STENCIL_GPUS_MAX]; /* [bytes_most] */
    uint32_t *words[STENCIL_GPUS_MAX];
    stencil_peer_seen *seen[STENCIL_GPUS_MAX];
    unsigned char *probe; /* host: [2][PROBE_BYTES] */
    peer_case cases[CASES_MAX];
} bench;

static stencil_status launch(const bench *b, int place, const void *kernel, unsigned blocks, unsigned threads,
                             void **arguments) {
    const dim3 grid = {blocks, 1, 1}, block = {threads, 1, 1};
    TRY_CUDA(cudaLaunchKernel(kernel, grid, block, arguments, 0, b->stream[place]));
    return STENCIL_OK;
}

static stencil_status transfer(const bench *b, const peer_case *c) {
    if (!c->kernel) {
        TRY_CUDA(cudaMemcpyPeerAsync(b->field[c->to], b->gpu[c->to], b->field[c->from], b->gpu[c->from],
                                     (size_t)c->bytes, b->stream[c->from]));
        return STENCIL_OK;
    }
    int64_t vectors = c->bytes / 16;
    const void *from = b->field[c->from];
    void *to = b->field[c->to], *arguments[] = {&from, &to, &vectors};
    const int64_t needed = (vectors + THREADS - 1) / THREADS, most = (int64_t)b->sm_count * BLOCKS_PER_SM;
    return launch(b, c->from, stencil_peer_put_kernel(), (unsigned)(needed < most ? needed : most), THREADS,
                  arguments);
}

/* As many in a row as move half a gigabyte, or 200. */
static stencil_status sample_bandwidth(const bench *b, const peer_case *c, double *value) {
    const int64_t most = sample_bytes / c->bytes, count = most < 200 ? most : 200;
    float ms = 0;
    TRY_CUDA(cudaEventRecord(b->begin[c->from], b->stream[c->from]));
    for (int64_t i = 0; i < count; i++)
        TRY(transfer(b, c));
    TRY_CUDA(cudaEventRecord(b->end[c->from], b->stream[c->from]));
    TRY_CUDA(cudaStreamSynchronize(b->stream[c->from]));
    TRY_CUDA(cudaEventElapsedTime(&ms, b->begin[c->from], b->end[c->from]));
    *value = (double)(c->bytes * count) / (1e-3 * (double)ms);
    return STENCIL_OK;
}

/* One by one, each waited for on the host. */
static stencil_status sample_latency(const bench *b, const peer_case *c, double *value) {
    const int count = c->bytes <= 1 << 20 ? 50 : 2;
    const double start_s = stencil_clock_s();
    for (int i = 0; i < count; i++) {
        TRY(transfer(b, c));
        TRY_CUDA(cudaStreamSynchronize(b->stream[c->from]));
    }
    *value = (stencil_clock_s() - start_s) / count;
    return STENCIL_OK;
}

static stencil_status clear_words(const bench *b, int place) {
    TRY_CUDA(cudaSetDevice(b->gpu[place]));
    TRY_CUDA(cudaMemset(b->words[place], 0, WORD_BYTES));
    TRY_CUDA(cudaMemset(b->seen[place], 0xff, sizeof **b->seen));
    TRY_CUDA(cudaDeviceSynchronize());
    return STENCIL_OK;
}

static stencil_status sample_chain(const bench *b, const peer_case *c, double *value) {
    stencil_peer_seen seen;
    uint32_t count;
    int64_t repeats = b->chain_repeats;
    uint32_t *word = b->words[c->to];
    stencil_peer_seen *at = b->seen[c->from];
    void *arguments[] = {&repeats, &word, &at};
    TRY(clear_words(b, c->to));
    TRY_CUDA(cudaSetDevice(b->gpu[c->from]));
    TRY(launch(b, c->from, stencil_peer_chain_kernel((stencil_peer_operation)c->operation), 1, 1, arguments));
    TRY_CUDA(cudaStreamSynchronize(b->stream[c->from]));
    TRY_CUDA(cudaMemcpy(&seen, at, sizeof seen, cudaMemcpyDeviceToHost));
    TRY_CUDA(cudaMemcpy(&count, word, sizeof count, cudaMemcpyDeviceToHost));
    CHECK(count == (c->operation == STENCIL_PEER_LOAD ? 0 : (uint32_t)repeats), INTERNAL,
          "peer: %lld additions counted to %u", (long long)repeats, count);
    *value = (double)seen.cycles / (double)repeats;
    return STENCIL_OK;
}

static stencil_status sample_adds(const bench *b, const peer_case *c, double *value) {
    const unsigned blocks = (unsigned)b->sm_count;
    int64_t repeats = ADD_REPEATS;
    uint32_t *words = b->words[c->to], count;
    void *arguments[] = {&repeats, &words};
    float ms = 0;
    TRY(clear_words(b, c->to));
    TRY_CUDA(cudaSetDevice(b->gpu[c->from]));
    TRY_CUDA(cudaEventRecord(b->begin[c->from], b->stream[c->from]));
    TRY(launch(b, c->from, stencil_peer_adds_kernel(), blocks, THREADS, arguments));
    TRY_CUDA(cudaEventRecord(b->end[c->from], b->stream[c->from]));
    TRY_CUDA(cudaStreamSynchronize(b->stream[c->from]));
    TRY_CUDA(cudaEventElapsedTime(&ms, b->begin[c->from], b->end[c->from]));
    TRY_CUDA(cudaMemcpy(&count, words + 32 * (blocks - 1) + 31, sizeof count, cudaMemcpyDeviceToHost));
    CHECK(count == ADD_REPEATS * THREADS / 32, INTERNAL, "peer: %d additions counted to %u",
          ADD_REPEATS * THREADS / 32, count);
    *value = (double)blocks * THREADS * ADD_REPEATS / (1e-3 * (double)ms);
    return STENCIL_OK;
}

/* Both kernels, waited for. */
static stencil_status ping(const bench *b, const peer_case *c, int64_t rounds, double *time_s) {
    const int place[2] = {c->from, c->to};
    const void *kernel = stencil_peer_ping_kernel((stencil_peer_store)c->operation);
    for (int i = 0; i < 2; i++)
        TRY(clear_words(b, place[i]));
    const double start_s = stencil_clock_s();
    for (int i = 0; i < 2; i++) {
        uint32_t *mine = b->words[place[i]], *theirs = b->words[place[1 - i]];
        stencil_peer_seen *seen = b->seen[place[i]];
        bool first = i == 0;
        void *arguments[] = {&rounds, &mine, &theirs, &first, &seen};
        TRY_CUDA(cudaSetDevice(b->gpu[place[i]]));
        TRY(launch(b, place[i], kernel, 1, 1, arguments));
    }
    for (int i = 0; i < 2; i++)
        TRY_CUDA(cudaStreamSynchronize(b->stream[place[i]]));
    *time_s = stencil_clock_s() - start_s;
    for (int i = 0; i < 2; i++) {
        stencil_peer_seen seen;
        uint32_t word;
        TRY_CUDA(cudaMemcpy(&seen, b->seen[place[i]], sizeof seen, cudaMemcpyDeviceToHost));
        TRY_CUDA(cudaMemcpy(&word, b->words[place[i]], sizeof word, cudaMemcpyDeviceToHost));
        CHECK(seen.failed == 0 && word == (uint32_t)rounds, INTERNAL,
              "peer: the flag went to and fro %u times instead of %lld", word, (long long)rounds);
    }
    return STENCIL_OK;
}

static stencil_status sample(void *context, int row, double *value) {
    bench *b = context;
    peer_case *c = &b->cases[row];
    double low_s, high_s;
    TRY_CUDA(cudaSetDevice(b->gpu[c->from]));
    switch (c->kind) {
    case BANDWIDTH:
        return sample_bandwidth(b, c, value);
    case LATENCY:
        return sample_latency(b, c, value);
    case CHAIN:
        return sample_chain(b, c, value);
    case ADDS:
        return sample_adds(b, c, value);
    case PING:
        break;
    }
    TRY(ping(b, c, PINGS, &low_s));
    TRY(ping(b, c, PINGS + b->more_pings, &high_s));
    *value = stencil_two_counts_add(&c->two, high_s, low_s);
    return STENCIL_OK;
}

/* The first and the last bytes of a transfer into memory that held something else. */
static stencil_status verify(const bench *b, const peer_case *c) {
    if (c->kind != BANDWIDTH)
        return STENCIL_OK;
    const size_t last = (size_t)c->bytes - PROBE_BYTES;
    TRY_CUDA(cudaSetDevice(b->gpu[c->to]));
    TRY_CUDA(cudaMemset(b->field[c->to], 0xff, (size_t)c->bytes));
    TRY_CUDA(cudaDeviceSynchronize());
    TRY_CUDA(cudaSetDevice(b->gpu[c->from]));
    for (int i = 0; i < PROBE_BYTES; i++)
        b->probe[i] = (unsigned char)(7 * i + c->bytes / 4096 + c->kernel + 1);
    TRY_CUDA(cudaMemcpy(b->field[c->from], b->probe, PROBE_BYTES, cudaMemcpyHostToDevice));
    TRY_CUDA(cudaMemcpy((char *)b->field[c->from] + last, b->probe, PROBE_BYTES, cudaMemcpyHostToDevice));
    TRY_CUDA(cudaDeviceSynchronize());
    TRY(transfer(b, c));
    TRY_CUDA(cudaStreamSynchronize(b->stream[c->from]));
    for (int end = 0; end < 2; end++) {
        TRY_CUDA(cudaMemcpy(b->probe + PROBE_BYTES, (char *)b->field[c->to] + (end ? last : 0), PROBE_BYTES,
                            cudaMemcpyDeviceToHost));
        CHECK(memcmp(b->probe, b->probe + PROBE_BYTES, PROBE_BYTES) == 0, INTERNAL,
              "peer: %lld bytes moved from GPU %d to GPU %d by %s are not what was sent", (long long)c->bytes,
              b->gpu[c->from], b->gpu[c->to], c->kernel ? "a kernel" : "the copy engine");
    }
    return STENCIL_OK;
}

static stencil_status add(bench *b, stencil_bench_result *result, const char *kind, const char *name,
                          const char *unit, const char *method, const peer_case *c, int *row) {
    TRY(stencil_bench_add_row(result, kind, name, unit, row));
    CHECK(*row < CASES_MAX, INTERNAL, "peer: more rows than places");
    result->row[*row].method = method;
    result->row[*row].higher_is_better = c->kind == BANDWIDTH || c->kind == ADDS;
    b->cases[*row] = *c;
    return STENCIL_OK;
}

static stencil_status add_transfers(bench *b, stencil_bench_result *result) {
    int row;
    for (int latency = 0; latency < 2; latency++)
        for (int kernel = 0; kernel < 2; kernel++)
            for (int64_t bytes = bytes_least; bytes <= bytes_most; bytes *= 4) {
                const peer_case c = {
                    .kind = latency ? LATENCY : BANDWIDTH, .kernel = kernel == 1, .bytes = bytes, .to = 1};
                TRY(add(b, result, latency ? "latency" : "bandwidth",
                        kernel ? "kernel stores" : "copy engine", latency ? "s" : "bytes/s", NULL, &c, &row));
                stencil_bench_set_axis(result, row, "bytes", bytes);
            }
    for (int from = 0; from < b->gpu_count; from++)
        for (int to = 0; to < b->gpu_count; to++) {
            const peer_case c = {.kind = BANDWIDTH, .bytes = bytes_most, .from = from, .to = to};
            if (from == to || b->gpu_count == 2)
                continue;
            TRY(add(b, result, "bandwidth of a pair", "copy engine", "bytes/s", NULL, &c, &row));
            stencil_bench_set_axis(result, row, "from", b->gpu[from]);
            stencil_bench_set_axis(result, row, "to", b->gpu[to]);
        }
    return STENCIL_OK;
}

static stencil_status add_operations(bench *b, stencil_bench_result *result) {
    static const char *const operations[STENCIL_PEER_OPERATION_COUNT] = {"ld.acquire.sys", "atom.gpu.add",
                                                                         "atom.sys.add"};
    static const char *const stores[STENCIL_PEER_STORE_COUNT] = {"relaxed.sys", "release.gpu", "release.sys"};
    int row;
    for (int to = 0; to < 2; to++) {
        const char *kind = to == 0 ? "own memory" : "memory of a peer";
        for (int operation = 0; operation < STENCIL_PEER_OPERATION_COUNT; operation++) {
            const peer_case c = {.kind = CHAIN, .to = to, .operation = operation};
            TRY(add(b, result, kind, operations[operation], "cycles", STENCIL_METHOD_GPU_CLOCK, &c, &row));
        }
        const peer_case c = {.kind = ADDS, .to = to};
        TRY(add(b, result, kind, "red.sys.add", "operations/s", NULL, &c, &row));
    }
    for (int store = 0; store < STENCIL_PEER_STORE_COUNT; store++)
        for (int to = 1; to < b->gpu_count; to++) {
            const peer_case c = {
                .kind = PING, .to = to, .operation = store, .two.difference = (double)b->more_pings};
            TRY(add(b, result, "ping-pong", stores[store], "s/round trip", STENCIL_METHOD_TWO_COUNTS, &c,
                    &row));
            stencil_bench_set_axis(result, row, "from", b->gpu[0]);
            stencil_bench_set_axis(result, row, "to", b->gpu[to]);
        }
    return STENCIL_OK;
}

/* All kernels loaded everywhere: a kernel that waits for a peer's must not be what that one's loading waits
 * for. */
static stencil_status load_kernels(void) {
    struct cudaFuncAttributes attributes;
    TRY_CUDA(cudaFuncGetAttributes(&attributes, stencil_peer_put_kernel()));
    TRY_CUDA(cudaFuncGetAttributes(&attributes, stencil_peer_adds_kernel()));
    for (int i = 0; i < STENCIL_PEER_STORE_COUNT; i++)
        TRY_CUDA(cudaFuncGetAttributes(&attributes, stencil_peer_ping_kernel((stencil_peer_store)i)));
    for (int i = 0; i < STENCIL_PEER_OPERATION_COUNT; i++)
        TRY_CUDA(cudaFuncGetAttributes(&attributes, stencil_peer_chain_kernel((stencil_peer_operation)i)));
    return STENCIL_OK;
}

static stencil_status prepare(bench *b) {
    b->probe = malloc(2 * PROBE_BYTES);
    CHECK(b->probe != NULL, NO_MEMORY, "no memory for the benchmark peer");
    for (int i = 0; i < b->gpu_count; i++) {
        TRY_CUDA(cudaSetDevice(b->gpu[i]));
        TRY(stencil_peers_reach(b->gpu[i], b->gpu, b->gpu_count));
        TRY_CUDA(cudaStreamCreateWithFlags(&b->stream[i], cudaStreamNonBlocking));
        TRY_CUDA(cudaEventCreate(&b->begin[i]));
        TRY_CUDA(cudaEventCreate(&b->end[i]));
        TRY_CUDA(cudaMalloc(&b->field[i], (size_t)bytes_most));
        TRY_CUDA(cudaMemset(b->field[i], i, (size_t)bytes_most));
        TRY_CUDA(cudaMalloc((void **)&b->words[i], WORD_BYTES));
        TRY_CUDA(cudaMalloc((void **)&b->seen[i], sizeof **b->seen));
        TRY(load_kernels());
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

static void destroy(bench *b) {
    for (int i = 0; i < b->gpu_count; i++) {
        cudaFree(b->field[i]);
        cudaFree(b->words[i]);
        cudaFree(b->seen[i]);
        if (b->stream[i] != NULL)
            cudaStreamDestroy(b->stream[i]);
        if (b->begin[i] != NULL)
            cudaEventDestroy(b->begin[i]);
        if (b->end[i] != NULL)
            cudaEventDestroy(b->end[i]);
    }
    free(b->probe);
    free(b);
}

static stencil_status measure(bench *b, const stencil_bench_options *options, stencil_bench_result *result) {
    TRY(prepare(b));
    stencil_bench_add_number(result, "chain_repeats", b->chain_repeats);
    stencil_bench_add_number(result, "pings", PINGS);
    stencil_bench_add_number(result, "more_pings", b->more_pings);
    TRY(add_transfers(b, result));
    TRY(add_operations(b, result));
    TRY(stencil_bench_measure_values(result, options, sample, b));
    for (int row = 0; row < result->row_count; row++) {
        if (b->cases[row].kind == PING)
            result->row[row].method_sd = stencil_two_counts_sd(&b->cases[row].two);
        TRY(verify(b, &b->cases[row]));
    }
    stencil_bench_add_note(result,
                           "From GPU %d to GPU %d where nothing else is said. Bandwidth: one transfer behind "
                           "the other; latency: each waited for on the host.",
                           b->gpu[0], b->gpu[1]);
    stencil_bench_add_note(
        result, "Ping-pong: a flag of one thread to and fro, polled with ld.acquire.sys in its own "
                "memory. Verified: bytes moved, additions counted, rounds made.");
    return STENCIL_OK;
}

static stencil_status run_gpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    if (options->gpu_count < 2)
        return stencil_bench_skip(result, "needs two GPUs");
    for (int i = 0; i < options->gpu_count; i++)
        for (int j = 0; j < options->gpu_count; j++)
            if (!machine->peer[options->gpu[i]][options->gpu[j]])
                return stencil_bench_skip(result, "GPU %d has no access to the memory of GPU %d",
                                          options->gpu[i], options->gpu[j]);
    bench *b = calloc(1, sizeof *b);
    CHECK(b != NULL, NO_MEMORY, "no memory for the benchmark peer");
    b->gpu = options->gpu;
    b->gpu_count = options->gpu_count;
    b->sm_count = machine->gpu[options->gpu[0]].sm_count;
    b->chain_repeats = options->repeats > 0 ? (options->repeats + 15) / 16 * 16 : STENCIL_REPEATS;
    b->more_pings = options->repeats > 0 ? options->repeats : MORE_PINGS;
    const stencil_status status = measure(b, options, result);
    destroy(b);
    return status;
}
#endif

const stencil_benchmark stencil_benchmark_peer = {
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .many_gpus = true,
    .gpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_REPEATS,
};

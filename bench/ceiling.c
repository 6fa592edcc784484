/* Copying: on the CPU by all threads, each its own share; a GPU's in ceiling_gpu.c. */
#include <omp.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/cuda.h"
#include "bench/ceiling.h"
#include "kernels/cpu.h"

static void copy_memcpy(void *to, const void *from, int64_t count) {
    memcpy(to, from, (size_t)count);
}

static void copy_loop(void *to, const void *from, int64_t count) {
    uint64_t *restrict t = to;
    const uint64_t *restrict f = from;
    for (int64_t i = 0; i < count / (int64_t)sizeof *t; i++)
        t[i] = f[i];
}

/* Streaming stores again, but along several lanes in turn, as a sweep goes along several rows: one core keeps
 * more loads from memory under way than along one lane. */
static void copy_lanes(void *to, const void *from, int64_t count) {
    enum { LANES = 8, TURN = 128, LANE = 513 * TURN }; /* lanes begin in different sets of the cache */
    const stencil_cpu_copy copy = stencil_cpu_best()->copy;
    int64_t at = 0;
    for (; count - at >= LANES * LANE; at += LANES * LANE)
        for (int64_t x = at; x < at + LANE; x += TURN)
            for (int64_t lane = x; lane < x + LANES * LANE; lane += LANE) {
                __builtin_prefetch((const char *)from + lane + 512);
                __builtin_prefetch((const char *)from + lane + 576);
                copy((char *)to + lane, (const char *)from + lane, TURN);
            }
    copy((char *)to + at, (const char *)from + at, count - at);
}

static const char *const cpu_names[] = {"memcpy", "streaming", "lanes", "loop", NULL};
static const char *const gpu_names[] = {"cudaMemcpy", NULL};

/* First byte of a thread's share, which consists of whole pages but for the last one's end. */
static int64_t share(int64_t bytes, int thread, int threads) {
    const int64_t page = 4096, pages = (bytes + page - 1) / page;
    const int64_t before = pages / threads * thread + (thread < pages % threads ? thread : pages % threads);
    return before * page < bytes ? before * page : bytes;
}

/* Times `function` on all shares; from the start of the team to the end of its last thread. */
static double copy_all(const stencil_ceiling *c, stencil_cpu_copy function, int64_t iterations) {
    const double start_s = stencil_clock_s();
#pragma omp parallel num_threads(c->threads)
    {
        const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
        const int64_t begin = share(c->bytes, thread, threads), end = share(c->bytes, thread + 1, threads);
        for (int64_t i = 0; i < iterations; i++)
            function((char *)c->to->data + begin, (const char *)c->from + begin, end - begin);
        /* Streaming stores may still wait in this core's buffers: the copy is done when they are in memory.
         */
        atomic_thread_fence(memory_order_seq_cst);
    }
    return stencil_clock_s() - start_s;
}

void stencil_parallel_copy(void *to, const void *from, int64_t bytes, int threads) {
    const stencil_field field = {.data = to};
    const stencil_ceiling whole = {.threads = threads, .bytes = bytes, .from = from, .to = &field};
    copy_all(&whole, copy_memcpy, 1);
}

/* Something else than the source in every byte: a copy that leaves one out is seen. */
static void spoil(const stencil_ceiling *c) {
    uint64_t *to = c->to->data;
    const uint64_t *from = c->from;
    const int64_t words = c->bytes / (int64_t)sizeof *to;
#pragma omp parallel for schedule(static) num_threads(c->threads)
    for (int64_t i = 0; i < words; i++)
        to[i] = ~from[i];
}

static stencil_status verify(const stencil_ceiling *c) {
    bool same = true;
#pragma omp parallel num_threads(c->threads) reduction(&& : same)
    {
        const int thread = omp_get_thread_num(), threads = omp_get_num_threads();
        const int64_t begin = share(c->bytes, thread, threads), end = share(c->bytes, thread + 1, threads);
        same = memcmp((char *)c->to->data + begin, (const char *)c->from + begin, (size_t)(end - begin)) == 0;
    }
    CHECK(same, INTERNAL, "copy: the destination of %s differs from its source", cpu_names[c->way]);
    return STENCIL_OK;
}

static stencil_status sample(stencil_bench *b, void *what, int64_t iterations, double *time_s) {
    const stencil_cpu_copy functions[] = {copy_memcpy, stencil_cpu_best()->copy, copy_lanes, copy_loop};
    const stencil_ceiling *c = what;
    (void)b;
    spoil(c);
    *time_s = copy_all(c, functions[c->way], iterations);
    return verify(c);
}

stencil_status stencil_ceiling_add_rows(const stencil_ceiling *ceiling, stencil_bench *b) {
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU;
    const char *const *name = gpu ? gpu_names : cpu_names;
    stencil_ceiling c = *ceiling;
    c.threads = b->machine->cpu_threads;
    for (c.way = 0; name[c.way] != NULL; c.way++) {
        TRY(STENCIL_BENCH_ADD(b, c, "copy", name[c.way], "s/copy",
                              .sample = gpu ? STENCIL_ON_GPU(stencil_ceiling_gpu_sample) : sample));
        stencil_bench_row *row = stencil_bench_last(b);
        row->bytes = 2.0 * (double)c.bytes;
        snprintf(row->formula, sizeof row->formula, "read %lld + write %lld", (long long)c.bytes,
                 (long long)c.bytes);
    }
    return STENCIL_OK;
}

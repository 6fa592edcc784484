/* Copies as ceilings of memory bandwidth: on a CPU by all threads in equal shares, on a GPU within device
 * memory. Benchmark `copy` uses arrays larger than any cache. */

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "bench/benchmarks/trial.h"
#include "bench/device.h"
#include "kernels/cpu.h"

static void copy_loop(void *to, const void *from, int64_t count) {
    uint64_t *restrict t = to;
    const uint64_t *restrict f = from;
    for (int64_t i = 0; i < count / (int64_t)sizeof *t; i++)
        t[i] = f[i];
}

/* Copies by streaming stores along several lanes in turn: a core has more loads in flight than along one. */
static void copy_lanes(void *to, const void *from, int64_t count) {
    enum { LANES = 8, TURN = 128, LANE = 513 * TURN }; /* lanes start in different cache sets */
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

/* Makes every byte of the destination differ from the source, so that a missing byte is detected. */
static void spoil(void *to, const void *from, int64_t count) {
    uint64_t *t = to;
    const uint64_t *f = from;
    for (int64_t i = 0; i < count / (int64_t)sizeof *t; i++)
        t[i] = ~f[i];
}

static atomic_bool different; /* set by compare() where a share differs */

static void compare(void *to, const void *from, int64_t count) {
    if (memcmp(to, from, (size_t)count) != 0)
        atomic_store(&different, true);
}

static stencil_status sample(stencil_bench *b, void *what, int64_t iterations, double *time_s) {
    const stencil_cpu_copy functions[] = {stencil_copy_bytes, stencil_cpu_best()->copy, copy_lanes,
                                          copy_loop};
    const stencil_ceiling *c = what;
    const stencil_field *from = &c->trial->initial, *to = &c->trial->result;
    const int threads = b->machine->cpu_threads;
    stencil_parallel_copy(to, from, threads, spoil, 1);
    *time_s = stencil_parallel_copy(to, from, threads, functions[c->way], iterations);
    atomic_store(&different, false);
    stencil_parallel_copy(to, from, threads, compare, 1);
    CHECK(!atomic_load(&different), INTERNAL, "copy: the destination of %s differs from its source",
          cpu_names[c->way]);
    return STENCIL_OK;
}

#ifdef STENCIL_HAVE_CUDA
static stencil_status copy_on_gpu(stencil_bench *arrays, int64_t bytes, int64_t iterations, double *time_s) {
    stencil_device gpu;
    stencil_transfer copy = {.gpu = &gpu, .peer = &gpu, .bytes = bytes};
    TRY(stencil_device_create(arrays, 0, &gpu));
    TRY(stencil_device_memory(arrays, &copy.from, (size_t)bytes));
    TRY(stencil_device_memory(arrays, &copy.to, (size_t)bytes));
    return stencil_transfer_time(&copy, iterations, time_s);
}

/* Samples a copy on a GPU, with arrays that exist only during the sample, so that other rows can use all
 * device memory. */
static stencil_status sample_gpu(stencil_bench *b, void *what, int64_t iterations, double *time_s) {
    stencil_bench arrays = {.options = b->options, .machine = b->machine};
    const stencil_status status =
        copy_on_gpu(&arrays, ((const stencil_ceiling *)what)->bytes, iterations, time_s);
    stencil_bench_end(&arrays);
    return status;
}
#endif

stencil_status stencil_ceiling_add_rows(const stencil_ceiling *ceiling, stencil_bench *b) {
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU;
    const char *const *name = gpu ? gpu_names : cpu_names;
    static const stencil_trial plain;
    const stencil_trial *t = ceiling->trial != NULL ? ceiling->trial : &plain;
    stencil_ceiling c = *ceiling;
    for (c.way = 0; name[c.way] != NULL; c.way++) {
        char full[sizeof b->result->row->name];
        stencil_bench_subject subject = {"copy", full, "s/copy", .sample_s = t->sample_s,
                                         .sample = gpu ? STENCIL_ON_GPU(sample_gpu) : sample};
        snprintf(full, sizeof full, "%s%s", t->of, name[c.way]);
        memcpy(subject.axis, t->axis, sizeof subject.axis);
        TRY(stencil_bench_add(b, &subject, &c, sizeof c));
        stencil_bench_row *row = stencil_bench_last(b);
        row->bytes = 2.0 * (double)c.bytes;
        snprintf(row->formula, sizeof row->formula, "read %lld + write %lld", (long long)c.bytes,
                 (long long)c.bytes);
    }
    return STENCIL_OK;
}

/* Default sizes in bytes of an array to copy, on a GPU and on a CPU. */
static const int64_t gpu_bytes = INT64_C(1) << 31, cpu_bytes = INT64_C(1) << 30;
enum { CACHES = 8 }; /* least size of a CPU array, in last-level caches */

static stencil_status choose_bytes(const stencil_bench *b, stencil_ceiling *c) {
    const stencil_spec *spec = &b->options->spec;
    const int64_t least = CACHES * b->machine->cpu_cache_bytes;
    if (b->options->backend == STENCIL_BACKEND_CPU && c->bytes < least)
        c->bytes = least;
    if (spec->rank > 0) {
        c->bytes = (int64_t)stencil_precision_bytes(spec->precision);
        for (int i = 0; i < spec->rank; i++)
            CHECK(stencil_multiply(c->bytes, spec->extent[i], &c->bytes) && c->bytes < INT64_MAX / 4,
                  BAD_DATA, "--size: more bytes than can be counted");
    }
    c->bytes = (c->bytes + 63) / 64 * 64;
    return STENCIL_OK;
}

stencil_status stencil_measure_copy(stencil_bench *b) {
    const bool cpu = b->options->backend == STENCIL_BACKEND_CPU;
    stencil_ceiling c = {.bytes = cpu ? cpu_bytes : gpu_bytes};
    stencil_trial *t;
    TRY(choose_bytes(b, &c));
    if (cpu) {
        const stencil_layout layout = {.precision = STENCIL_FLOAT64, .element_count = c.bytes / 8};
        TRY(stencil_bench_memory(b, &t, sizeof *t));
        TRY(stencil_bench_keep(b, stencil_trial_release, t));
        TRY(stencil_field_create(&t->initial, &layout, "the array to copy from"));
        TRY(stencil_field_create(&t->result, &layout, "the array to copy to"));
        stencil_field_fill_random(&t->initial, 1);
        c.trial = t;
    }
    TRY(stencil_ceiling_add_rows(&c, b));
    stencil_bench_add_number(b->result, "array_bytes", c.bytes);
    if (cpu)
        stencil_bench_add_number(b->result, "cache_bytes", b->machine->cpu_cache_bytes);
    stencil_bench_note(
        b, "Bytes: read and written ones; a cache that loads lines before they are overwritten moves more.");
    return stencil_bench_take(b);
}

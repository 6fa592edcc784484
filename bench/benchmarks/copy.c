/* The ceilings of a device, on arrays that no cache holds. */
#include <stdlib.h>

#include "bench/ceiling.h"
#include "bench/fields.h"

/* Default sizes of one array. */
static const int64_t gpu_bytes = INT64_C(1) << 31, cpu_bytes = INT64_C(1) << 30;
enum { CACHES = 8 }; /* the arrays of a CPU are so many times its last-level cache, at least */

static stencil_status choose_bytes(const stencil_bench_options *options, const stencil_machine *machine,
                                   stencil_ceiling *c) {
    const stencil_spec *spec = &options->spec;
    c->bytes = c->backend == STENCIL_BACKEND_GPU ? gpu_bytes : cpu_bytes;
    if (c->backend == STENCIL_BACKEND_CPU && c->bytes < CACHES * machine->cpu_cache_bytes)
        c->bytes = CACHES * machine->cpu_cache_bytes;
    if (spec->rank > 0) {
        c->bytes = (int64_t)stencil_precision_bytes(spec->precision);
        for (int i = 0; i < spec->rank; i++)
            CHECK(stencil_multiply(c->bytes, spec->extent[i], &c->bytes) && c->bytes < INT64_MAX / 4,
                  BAD_DATA, "--size: more bytes than can be counted");
    }
    c->bytes = (c->bytes + 63) / 64 * 64;
    return STENCIL_OK;
}

static stencil_status sample(void *context, int row, int64_t iterations, double *time_s) {
    return stencil_ceiling_sample(context, row, iterations, time_s);
}

static stencil_status measure(stencil_ceiling *c, const stencil_bench_options *options,
                              const stencil_machine *machine, stencil_bench_result *result) {
    int first;
    TRY(stencil_ceiling_add_rows(c, result, &first));
    stencil_bench_add_number(result, "array_bytes", c->bytes);
    if (c->backend == STENCIL_BACKEND_CPU)
        stencil_bench_add_number(result, "cache_bytes", machine->cpu_cache_bytes);
    for (int i = 0; i < result->row_count; i++)
        TRY(stencil_bench_calibrate(sample, c, i, options->iterations, &result->row[i].iterations));
    TRY(stencil_bench_measure(result, options, sample, c));
    stencil_bench_add_note(result, "Bytes: read and written ones; a cache that loads lines before they are "
                                   "overwritten moves more.");
    return STENCIL_OK;
}

static stencil_status run_cpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    stencil_ceiling c = {.backend = STENCIL_BACKEND_CPU, .threads = machine->cpu_threads};
    TRY(choose_bytes(options, machine, &c));
    const stencil_layout layout = {.precision = STENCIL_FLOAT64, .element_count = c.bytes / 8};
    stencil_field from = {0}, to = {0};
    stencil_status status = stencil_field_create(&from, &layout, "the array to copy from");
    if (status == STENCIL_OK)
        status = stencil_field_create(&to, &layout, "the array to copy to");
    if (status == STENCIL_OK) {
        stencil_field_fill_random(&from, 1);
        c.from = from.data;
        c.to = to.data;
        status = measure(&c, options, machine, result);
    }
    stencil_field_destroy(&from);
    stencil_field_destroy(&to);
    return status;
}

static stencil_status run_gpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    stencil_ceiling c = {.backend = STENCIL_BACKEND_GPU, .gpu = options->gpu[0]};
    TRY(choose_bytes(options, machine, &c));
    return measure(&c, options, machine, result);
}

const stencil_benchmark stencil_benchmark_copy = {
    .run_cpu = run_cpu,
    .run_gpu = run_gpu,
    .cpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_SIZE | STENCIL_BENCH_USES_ITERATIONS,
    .gpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_SIZE | STENCIL_BENCH_USES_ITERATIONS,
};

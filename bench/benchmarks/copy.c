/* The ceilings of a device, on arrays that no cache holds. */
#include <stdlib.h>

#include "bench/ceiling.h"
#include "bench/benchmarks/trial.h"

/* Default sizes of one array. */
static const int64_t gpu_bytes = INT64_C(1) << 31, cpu_bytes = INT64_C(1) << 30;
enum { CACHES = 8 }; /* the arrays of a CPU are so many times its last-level cache, at least */

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

static stencil_status create_array(stencil_bench *b, const stencil_ceiling *c, stencil_field *array,
                                   const char *what) {
    const stencil_layout layout = {.precision = STENCIL_FLOAT64, .element_count = c->bytes / 8};
    TRY(stencil_field_create(array, &layout, what));
    return stencil_bench_keep(b, free, array->memory);
}

stencil_status stencil_measure_copy(stencil_bench *b) {
    const bool cpu = b->options->backend == STENCIL_BACKEND_CPU;
    stencil_ceiling c = {.bytes = cpu ? cpu_bytes : gpu_bytes};
    stencil_field from, to;
    TRY(choose_bytes(b, &c));
    if (cpu) {
        TRY(create_array(b, &c, &from, "the array to copy from"));
        TRY(create_array(b, &c, &to, "the array to copy to"));
        stencil_field_fill_random(&from, 1);
        c.from = from.data;
        c.to = &to;
    }
    TRY(stencil_ceiling_add_rows(&c, b));
    stencil_bench_add_number(b->result, "array_bytes", c.bytes);
    if (cpu)
        stencil_bench_add_number(b->result, "cache_bytes", b->machine->cpu_cache_bytes);
    stencil_bench_note(
        b, "Bytes: read and written ones; a cache that loads lines before they are overwritten moves more.");
    return stencil_bench_take(b);
}

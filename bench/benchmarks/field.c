/* Random fields and weights, bitwise comparison of fields, and copies by all threads. */
#include <omp.h>
#include <stdatomic.h>
#include <string.h>

#include "bench/benchmarks/trial.h"

enum { WEIGHT_SEED = 3 };

/* Returns a pseudo-random number for `index`: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom
 * number generators, OOPSLA 2014), with the index as its state. */
static uint64_t mixed(uint64_t index) {
    uint64_t z = (index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

void stencil_field_fill_random(stencil_field *field, uint64_t seed) {
    const int64_t count = field->layout.element_count;
    const uint64_t first = mixed(seed);
    double *f64 = field->data;
    float *f32 = field->data;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = mixed(first + (uint64_t)i);
        if (field->layout.precision == STENCIL_FLOAT64)
            f64[i] = (double)(bits >> 11) * 0x1p-53;
        else
            f32[i] = (float)(bits >> 40) * 0x1p-24f;
    }
}

void stencil_trial_weights(stencil_spec *spec) {
    double sum = 0;
    spec->weight_count = stencil_shape_find(spec->stencil)->point_count;
    for (int i = 0; i < spec->weight_count; i++)
        sum += spec->weight[i] = 0.5 + (double)(mixed(mixed(WEIGHT_SEED) + (uint64_t)i) >> 11) * 0x1p-53;
    for (int i = 0; i < spec->weight_count; i++)
        spec->weight[i] /= sum;
}

stencil_status stencil_field_check_same(const stencil_field *a, const char *a_name, const stencil_field *b,
                                        const char *b_name, int64_t steps) {
    const stencil_layout *l = &a->layout;
    const int64_t nx = l->n[STENCIL_X], ny = l->n[STENCIL_Y], rows = l->n[STENCIL_Z] * ny;
    const size_t bytes = stencil_precision_bytes(l->precision);
    int64_t different = 0, first = INT64_MAX; /* indices of updated cells */
#pragma omp parallel for schedule(static) reduction(+ : different) reduction(min : first)
    for (int64_t row = 0; row < rows; row++) {
        const size_t at = (size_t)(l->origin + row / ny * l->plane + row % ny * l->row) * bytes;
        const char *p = (const char *)a->data + at, *q = (const char *)b->data + at;
        if (memcmp(p, q, (size_t)nx * bytes) == 0)
            continue;
        for (int64_t x = 0; x < nx; x++)
            if (memcmp(p + (size_t)x * bytes, q + (size_t)x * bytes, bytes) != 0) {
                different++;
                first = row * nx + x < first ? row * nx + x : first;
            }
    }
    CHECK(different == 0, INTERNAL,
          "%s and %s differ after %lld steps in %lld cells, first at (z, y, x) = (%lld, %lld, %lld)", a_name,
          b_name, (long long)steps, (long long)different, (long long)(first / nx / ny),
          (long long)(first / nx % ny), (long long)(first % nx));
    return STENCIL_OK;
}

/* Returns the first byte of a thread's share of an array, in whole pages except at the end of the array. */
static int64_t share(int64_t bytes, int thread, int threads) {
    const int64_t page = 4096, pages = (bytes + page - 1) / page;
    const int64_t before = pages / threads * thread + (thread < pages % threads ? thread : pages % threads);
    return before * page < bytes ? before * page : bytes;
}

void stencil_copy_bytes(void *to, const void *from, int64_t count) {
    memcpy(to, from, (size_t)count);
}

double stencil_parallel_copy(const stencil_field *to, const stencil_field *from, int threads,
                             stencil_cpu_copy function, int64_t iterations) {
    const int64_t bytes = stencil_layout_bytes(&to->layout);
    const double start_s = stencil_clock_s();
#pragma omp parallel num_threads(threads)
    {
        const int thread = omp_get_thread_num(), team = omp_get_num_threads();
        const int64_t begin = share(bytes, thread, team), end = share(bytes, thread + 1, team);
        for (int64_t i = 0; i < iterations; i++)
            function((char *)to->data + begin, (const char *)from->data + begin, end - begin);
        /* Waits for streaming stores in the core's write buffers to reach memory. */
        atomic_thread_fence(memory_order_seq_cst);
    }
    return stencil_clock_s() - start_s;
}

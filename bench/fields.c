#include "bench/fields.h"

#include <string.h>

/* Any number made of any other: splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number
 * generators, OOPSLA 2014), with the index as its state. */
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
    if (field->layout.precision == STENCIL_FLOAT64) {
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < count; i++)
            f64[i] = (double)(mixed(first + (uint64_t)i) >> 11) * 0x1p-53;
    } else {
#pragma omp parallel for schedule(static)
        for (int64_t i = 0; i < count; i++)
            f32[i] = (float)(mixed(first + (uint64_t)i) >> 40) * 0x1p-24f;
    }
}

/* Element of the first updated cell of row `row` (z*ny + y). */
static int64_t row_start(const stencil_layout *l, int64_t row) {
    return l->origin + row / l->n[STENCIL_Y] * l->plane + row % l->n[STENCIL_Y] * l->row;
}

/* Different cells of a row; *x is the first of them. */
static int64_t row_differences(const stencil_field *a, const stencil_field *b, int64_t row, int64_t *x) {
    const size_t bytes = stencil_precision_bytes(a->layout.precision);
    const int64_t nx = a->layout.n[STENCIL_X], at = row_start(&a->layout, row) * (int64_t)bytes;
    const char *p = (const char *)a->data + at, *q = (const char *)b->data + at;
    int64_t count = 0;
    for (int64_t i = nx - 1; i >= 0; i--)
        if (memcmp(p + (size_t)i * bytes, q + (size_t)i * bytes, bytes) != 0) {
            *x = i;
            count++;
        }
    return count;
}

stencil_status stencil_field_check_same(const stencil_field *a, const char *a_name, const stencil_field *b,
                                        const char *b_name, int64_t steps) {
    const stencil_layout *l = &a->layout;
    const int64_t rows = l->n[STENCIL_Z] * l->n[STENCIL_Y];
    const size_t bytes = stencil_precision_bytes(l->precision);
    int64_t different = 0, first = rows;
#pragma omp parallel for schedule(static) reduction(+ : different) reduction(min : first)
    for (int64_t row = 0; row < rows; row++) {
        const size_t at = (size_t)row_start(l, row) * bytes;
        if (memcmp((const char *)a->data + at, (const char *)b->data + at, (size_t)l->n[STENCIL_X] * bytes) ==
            0)
            continue;
        int64_t x;
        different += row_differences(a, b, row, &x);
        first = row < first ? row : first;
    }
    if (different == 0)
        return STENCIL_OK;
    int64_t x = 0;
    row_differences(a, b, first, &x);
    FAIL(INTERNAL, "%s and %s differ after %lld steps in %lld cells, first at (z, y, x) = (%lld, %lld, %lld)",
         a_name, b_name, (long long)steps, (long long)different, (long long)(first / l->n[STENCIL_Y]),
         (long long)(first % l->n[STENCIL_Y]), (long long)x);
}

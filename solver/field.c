#include "solver/field.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

stencil_status stencil_field_create(stencil_field *field, const stencil_layout *layout, const char *what) {
    *field = (stencil_field){.layout = *layout};
    const stencil_status status = stencil_memory_alloc(&field->memory, stencil_layout_bytes(layout), what);
    field->data = field->memory;
    return status;
}

/* A core takes a load for one of what it has just stored by the last 12 bits of both addresses, and waits. A
 * cell that stands at the same place of its page in both buffers is such a case, and so is its column in all
 * rows of a band where rows are whole pages apart. */
stencil_status stencil_field_create_apart(stencil_field *field, const stencil_field *other,
                                          const char *what) {
    enum { PAGE_BYTES = 4096, LINE_BYTES = 128, APART_BYTES = PAGE_BYTES / 2 + LINE_BYTES };
    *field = (stencil_field){.layout = other->layout};
    TRY(stencil_memory_alloc(&field->memory, stencil_layout_bytes(&other->layout) + PAGE_BYTES, what));
    const uintptr_t shift = (uintptr_t)other->data - (uintptr_t)field->memory + APART_BYTES;
    field->data = (char *)field->memory + shift % PAGE_BYTES;
    return STENCIL_OK;
}

void stencil_field_destroy(stencil_field *field) {
    if (field == NULL)
        return;
    free(field->memory);
    field->data = field->memory = NULL;
}

void stencil_field_fill_rims(stencil_field *field, const stencil_boundary boundary[3],
                             const int64_t radius[3]) {
    const stencil_layout *l = &field->layout;
    const int64_t r = radius[STENCIL_X], nx = l->n[STENCIL_X];
    const size_t bytes = stencil_precision_bytes(l->precision);
    for (int64_t z = -radius[STENCIL_Z]; z < l->n[STENCIL_Z] + radius[STENCIL_Z]; z++)
        for (int64_t y = -radius[STENCIL_Y]; y < l->n[STENCIL_Y] + radius[STENCIL_Y]; y++) {
            const int64_t shown[3] = {stencil_boundary_image(z, l->n[STENCIL_Z], boundary[STENCIL_Z]),
                                      stencil_boundary_image(y, l->n[STENCIL_Y], boundary[STENCIL_Y]), 0};
            char *to = (char *)field->data + (size_t)(l->origin + z * l->plane + y * l->row) * bytes;
            const char *from =
                (char *)field->data + (size_t)(l->origin + stencil_layout_offset(l, shown)) * bytes;
            if (to != from)
                memcpy(to, from, (size_t)nx * bytes);
            for (int64_t k = -r; k < r; k++) {
                const int64_t x = k < 0 ? k : nx + k;
                const int64_t image = stencil_boundary_image(x, nx, boundary[STENCIL_X]);
                if (to != from || image != x)
                    memcpy(to + x * (int64_t)bytes, from + image * (int64_t)bytes, bytes);
            }
        }
}

static bool is_finite_at(const stencil_field *field, int64_t at) {
    return field->layout.precision == STENCIL_FLOAT64 ? isfinite(((const double *)field->data)[at])
                                                      : isfinite(((const float *)field->data)[at]);
}

/* Without an early exit, so that it runs at the speed of memory. */
static bool all_finite(const stencil_field *field, int64_t at, int64_t count) {
    int bad = 0;
    if (field->layout.precision == STENCIL_FLOAT64) {
        const double *v = (const double *)field->data + at;
        for (int64_t i = 0; i < count; i++)
            bad |= !(fabs(v[i]) <= DBL_MAX);
    } else {
        const float *v = (const float *)field->data + at;
        for (int64_t i = 0; i < count; i++)
            bad |= !(fabsf(v[i]) <= FLT_MAX);
    }
    return bad == 0;
}

bool stencil_field_find_nonfinite(const stencil_field *field, const int64_t first[3], const int64_t count[3],
                                  int64_t found[3]) {
    const stencil_layout *l = &field->layout;
    const int64_t rows = count[STENCIL_Z] * count[STENCIL_Y];
    int64_t bad = rows;
#pragma omp parallel for reduction(min : bad) schedule(static) if (rows * count[STENCIL_X] > 1 << 18)
    for (int64_t r = 0; r < rows; r++) {
        const int64_t z = first[STENCIL_Z] + r / count[STENCIL_Y],
                      y = first[STENCIL_Y] + r % count[STENCIL_Y];
        const int64_t at = l->origin + z * l->plane + y * l->row + first[STENCIL_X];
        if (r < bad && !all_finite(field, at, count[STENCIL_X]))
            bad = r;
    }
    if (bad == rows)
        return false;
    found[STENCIL_Z] = first[STENCIL_Z] + bad / count[STENCIL_Y];
    found[STENCIL_Y] = first[STENCIL_Y] + bad % count[STENCIL_Y];
    const int64_t row = l->origin + found[STENCIL_Z] * l->plane + found[STENCIL_Y] * l->row;
    found[STENCIL_X] = first[STENCIL_X];
    while (is_finite_at(field, row + found[STENCIL_X]))
        found[STENCIL_X]++;
    return true;
}

double stencil_field_largest(const stencil_field *field) {
    const stencil_layout *l = &field->layout;
    double largest = 0.0;
#pragma omp parallel for schedule(static) reduction(max : largest) if (l->element_count > 1 << 18)
    for (int64_t i = 0; i < l->element_count; i++) {
        const double value = l->precision == STENCIL_FLOAT64 ? ((const double *)field->data)[i]
                                                             : (double)((const float *)field->data)[i];
        largest = fmax(largest, fabs(value));
    }
    return largest;
}

#include "solver/field.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

enum { ALIGNMENT_BYTES = 128, VECTOR_ELEMENTS_MAX = 4 };

static int64_t round_up(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

stencil_status stencil_layout_init(stencil_layout *layout, stencil_precision precision, const int64_t n[3],
                                   const int64_t rim[3]) {
    const int64_t aligned = ALIGNMENT_BYTES / (int64_t)stencil_precision_bytes(precision);
    *layout = (stencil_layout){.precision = precision};
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        CHECK(n[axis] < INT64_MAX / 4, BAD_DATA, "the extent %lld is too large", (long long)n[axis]);
        layout->n[axis] = n[axis];
        layout->rim[axis] = rim[axis];
    }
    /* The right rim of a row, the reach of the last vector, and the left rim of the next row share the gap.
     */
    layout->row = round_up(n[STENCIL_X] + 2 * rim[STENCIL_X] + VECTOR_ELEMENTS_MAX, aligned);
    const int64_t rows = n[STENCIL_Y] + 2 * rim[STENCIL_Y], planes = n[STENCIL_Z] + 2 * rim[STENCIL_Z];
    int64_t bytes = 0;
    CHECK(stencil_multiply(layout->row, rows, &layout->plane) &&
              stencil_multiply(layout->plane, planes, &layout->element_count) &&
              layout->element_count < INT64_MAX / 4 &&
              stencil_multiply(layout->element_count + 2 * aligned, 16, &bytes),
          BAD_DATA, "the dimensions of /u multiply to more cells than can be counted");
    layout->origin = aligned + rim[STENCIL_Y] * layout->row + rim[STENCIL_Z] * layout->plane;
    layout->element_count += 2 * aligned;
    return STENCIL_OK;
}

int64_t stencil_layout_bytes(const stencil_layout *layout) {
    return layout->element_count * (int64_t)stencil_precision_bytes(layout->precision);
}

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
    enum { PAGE_BYTES = 4096, APART_BYTES = PAGE_BYTES / 2 + ALIGNMENT_BYTES };
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

/* Index whose value rim cell i of an axis shows. Fixed rims show themselves. */
static int64_t image(int64_t i, int64_t n, stencil_boundary boundary) {
    if ((i >= 0 && i < n) || boundary == STENCIL_FIXED)
        return i;
    if (boundary == STENCIL_PERIODIC)
        return i < 0 ? i + n : i - n;
    return i < 0 ? -1 - i : 2 * n - 1 - i;
}

/* Fills cells [low, high) of the row at element `to` from their images in the row at element `from`. */
static void fill_span(stencil_field *field, int64_t to, int64_t from, int64_t low, int64_t high,
                      stencil_boundary boundary) {
    for (int64_t x = low; x < high; x++) {
        const int64_t from_x = image(x, field->layout.n[STENCIL_X], boundary);
        if (field->layout.precision == STENCIL_FLOAT64)
            ((double *)field->data)[to + x] = ((double *)field->data)[from + from_x];
        else
            ((float *)field->data)[to + x] = ((float *)field->data)[from + from_x];
    }
}

void stencil_field_fill_rims(stencil_field *field, const stencil_boundary boundary[3],
                             const int64_t radius[3]) {
    const stencil_layout *l = &field->layout;
    const int64_t r = radius[STENCIL_X], nx = l->n[STENCIL_X];
    for (int64_t z = -radius[STENCIL_Z]; z < l->n[STENCIL_Z] + radius[STENCIL_Z]; z++)
        for (int64_t y = -radius[STENCIL_Y]; y < l->n[STENCIL_Y] + radius[STENCIL_Y]; y++) {
            const int64_t from_z = image(z, l->n[STENCIL_Z], boundary[STENCIL_Z]);
            const int64_t from_y = image(y, l->n[STENCIL_Y], boundary[STENCIL_Y]);
            const int64_t to = l->origin + z * l->plane + y * l->row;
            const int64_t from = l->origin + from_z * l->plane + from_y * l->row;
            fill_span(field, to, from, -r, 0, boundary[STENCIL_X]);
            if (to != from)
                fill_span(field, to, from, 0, nx, boundary[STENCIL_X]);
            fill_span(field, to, from, nx, nx + r, boundary[STENCIL_X]);
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

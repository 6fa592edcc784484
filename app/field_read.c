/* Reads planes of fields: of a contiguous dataset what is shown alone, of others blocks of whole rows, of
 * which one at a time is in memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/field.h"

enum {
    WINDOW = 1 << 20, /* most elements that are read at a time */
    APART = 512       /* elements between two that are shown, from which on each is read by itself */
};

int64_t field_pixel_first(int64_t n, int64_t count, int64_t k) {
    return k * n / count;
}

int64_t field_pixel_middle(int64_t n, int64_t count, int64_t k) {
    const int64_t first = field_pixel_first(n, count, k), end = field_pixel_first(n, count, k + 1);
    return end > first ? (first + end - 1) / 2 : first;
}

/* Returns the value of a stored number; NaN where it marks a cell without one. */
static double value_of(const stencil_values *values, double stored) {
    for (int i = 0; i < values->marker_count; i++)
        if (stored == values->marker[i])
            return NAN;
    return stored < values->least || stored > values->most ? NAN : stencil_values_unpack(values, stored);
}

/* Returns the number of elements of the largest block of whole inner axes that the window holds. */
static int64_t block_of(const field *f) {
    int64_t block = 1;
    for (int axis = f->is.rank - 1; axis >= 0 && block * f->is.extent[axis] <= WINDOW; axis--)
        block *= f->is.extent[axis];
    return block;
}

/* Reads the elements around number `at` into the window; of a contiguous dataset `most` from there on. */
static stencil_status load(field *f, int64_t at, int64_t most) {
    if (f->window == NULL) {
        void *memory = NULL;
        TRY(stencil_memory_alloc(&memory, WINDOW * (int64_t)sizeof(double), "cells to show"));
        f->window = memory;
    }
    const bool direct = f->is.place.offset > 0;
    f->count = 0;
    f->first = direct ? at : at - at % block_of(f);
    const int64_t window = stencil_smaller(WINDOW, f->is.count - f->first);
    TRY(stencil_input_block(&f->file->input, &f->is, f->first,
                            direct ? stencil_smaller(most, window) : window, false, f->window, &f->count));
    for (int64_t i = 0; i < f->count; i++)
        f->window[i] = value_of(&f->about.values, f->window[i]);
    CHECK(at < f->first + f->count, INTERNAL, "'%s': cells of %s were not read", f->file->path, f->name);
    return STENCIL_OK;
}

/* The elements of a line: the first one, and how many are from one cell to the next. */
typedef struct line {
    int64_t first, apart;
} line;

/* Returns the line of row `y` of a plane. */
static line line_of(const field *f, const field_plane *plane, int64_t y) {
    const int64_t nx = f->axis[STENCIL_X].n, ny = f->axis[STENCIL_Y].n,
                  distance[STENCIL_AXES] = {ny * nx, nx, 1};
    const int64_t frame = f->file->is_series ? plane->frame : 0;
    int64_t first = frame * f->axis[STENCIL_Z].n * ny * nx;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        if (axis != plane->across)
            first += (axis == plane->down ? y : plane->at[axis]) * distance[axis];
    return (line){first, distance[plane->across]};
}

static stencil_status value_at(field *f, int64_t at, int64_t most, double *value) {
    if (at < f->first || at >= f->first + f->count)
        TRY(load(f, at, most));
    *value = f->window[at - f->first];
    return STENCIL_OK;
}

static int64_t rows_of(const field *f, const field_plane *plane) {
    return plane->down >= 0 ? f->axis[plane->down].n : 1;
}

stencil_status field_read(field *f, const field_plane *plane, double *values) {
    const int64_t across = f->axis[plane->across].n, down = rows_of(f, plane);
    for (int64_t y = 0; y < plane->rows; y++) {
        const line l = line_of(f, plane, field_pixel_middle(down, plane->rows, y));
        const bool alone = l.apart * (across / plane->columns) > APART;
        for (int64_t x = 0; x < plane->columns; x++) {
            const int64_t cell = field_pixel_middle(across, plane->columns, x),
                          most = alone                 ? 1
                                 : down == plane->rows ? WINDOW
                                                       : (across - cell - 1) * l.apart + 1;
            TRY(value_at(f, l.first + cell * l.apart, most, &values[y * plane->columns + x]));
        }
    }
    return STENCIL_OK;
}

double field_largest(double before, double value) {
    return isnan(before) || fabs(value) <= fabs(before) ? before : value;
}

double field_highest(double before, double value) {
    return value > before ? value : before;
}

/* Has the pixels of a row take the cells of line `y` of a plane. */
static stencil_status reduce_line(field *a, field *b, const field_plane *plane, field_reduction *reduce,
                                  int64_t y, double *to) {
    const int64_t across = a->axis[plane->across].n;
    const line l = line_of(a, plane, y);
    const line of_b = b != NULL ? line_of(b, plane, y) : l;
    const int64_t most = l.apart > APART ? 1 : WINDOW;
    for (int64_t column = 0; column < plane->columns; column++) {
        const int64_t end = field_pixel_first(across, plane->columns, column + 1);
        int64_t x = field_pixel_first(across, plane->columns, column);
        do {
            double value, other = 0;
            TRY(value_at(a, l.first + x * l.apart, most, &value));
            if (b != NULL)
                TRY(value_at(b, of_b.first + x * l.apart, most, &other));
            to[column] = reduce(to[column], value - other);
        } while (++x < end);
    }
    return STENCIL_OK;
}

stencil_status field_reduce(field *a, field *b, const field_plane *plane, field_reduction *reduce,
                            double *values) {
    const int64_t down = rows_of(a, plane);
    memset(values, 0, (size_t)(plane->rows * plane->columns) * sizeof *values);
    for (int64_t row = 0; row < plane->rows; row++) {
        const int64_t end = field_pixel_first(down, plane->rows, row + 1);
        int64_t y = field_pixel_first(down, plane->rows, row);
        do
            TRY(reduce_line(a, b, plane, reduce, y, values + row * plane->columns));
        while (++y < end);
    }
    return STENCIL_OK;
}

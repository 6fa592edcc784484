/* Reads planes of fields: of a contiguous dataset the elements of the plane alone, where they lie far apart,
 * of others blocks of whole rows, of which one at a time is in memory. */
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
    const int64_t *extent = f->is.extent + f->is.rank; /* its last are those of y and x */
    const int64_t nx = extent[-1], ny = extent[-2], distance[STENCIL_AXES] = {ny * nx, nx, 1};
    const bool part = f->part.n[0] > 0;
    int64_t first = f->file->is_series ? plane->frame * f->axis[STENCIL_Z].n * ny * nx : 0;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int64_t at = axis == plane->across ? 0 : axis == plane->down ? y : plane->at[axis];
        first += (part ? f->part.first[axis] + at * f->part.stride[axis] : at) * distance[axis];
    }
    return (line){first, distance[plane->across] * (part ? f->part.stride[plane->across] : 1)};
}

/* Finds cells of a line from number `x` on, at most so many: *values, line->apart from one to the next, and
 * *count, those that are in memory. */
static stencil_status find_cells(field *f, const line *l, int64_t x, int64_t most, const double **values,
                                 int64_t *count) {
    const int64_t at = l->first + x * l->apart;
    if (at < f->first || at >= f->first + f->count)
        TRY(load(f, at, l->apart > APART ? 1 : WINDOW));
    *values = f->window + (at - f->first);
    *count = stencil_smaller(most, (f->first + f->count - at - 1) / l->apart + 1);
    return STENCIL_OK;
}

static int64_t rows_of(const field *f, const field_plane *plane) {
    return plane->down >= 0 ? f->axis[plane->down].n : 1;
}

/* Returns the end of the cells of pixel `k`, which has one at least. */
static int64_t pixel_end(int64_t n, int64_t count, int64_t k) {
    const int64_t first = field_pixel_first(n, count, k), next = field_pixel_first(n, count, k + 1);
    return next > first ? next : first + 1;
}

static void add_cell(field_pixel *to, double value, int64_t at) {
    if (isfinite(value)) {
        to->cells++;
        to->sum += value;
        if (value < to->least) {
            to->least = value;
            to->least_at = at;
        }
        if (value > to->most) {
            to->most = value;
            to->most_at = at;
        }
    } else if (isnan(value)) {
        to->missing++;
    } else {
        to->infinite++;
        to->an_infinity = value;
    }
}

/* The line of a plane that is being read. */
typedef struct reading_line {
    field *a, *b; /* b NULL: none */
    const field_plane *plane;
    line of_a, of_b;
    int64_t y, across;
    bool middle; /* it is the one in the middle of its pixels */
} reading_line;

static bool is_gone(const reading_line *r, int64_t x) {
    const int64_t cell = r->y * r->across + x;
    return r->plane->gone != NULL && (r->plane->gone[cell / 8] >> cell % 8 & 1) != 0;
}

/* Cells of a line that are in memory: `count` from number `x` on. */
typedef struct run_of_cells {
    const double *a, *b; /* b NULL: none */
    int64_t x, count;
} run_of_cells;

static double value_at(const reading_line *r, const run_of_cells *run, int64_t i) {
    const double value = run->a[i * r->of_a.apart], other = run->b != NULL ? run->b[i * r->of_b.apart] : 0;
    return run->b != NULL && value == other ? 0 : value - other;
}

/* Adds cells to a pixel where all of them are there and finite, and their indices do not matter: quicker than
 * one by one. Returns whether it did. */
static bool add_quickly(const reading_line *r, const run_of_cells *run, field_pixel *to) {
    double sum = 0, least = to->least, most = to->most;
    if (r->plane->gone != NULL || r->plane->down < 0)
        return false;
    for (int64_t i = 0; i < run->count; i++) {
        const double value = value_at(r, run, i);
        sum += value;
        least = value < least ? value : least;
        most = value > most ? value : most;
    }
    if (!isfinite(sum))
        return false;
    to->cells += run->count;
    to->sum += sum;
    to->least = least;
    to->most = most;
    return true;
}

/* Has a pixel take its cells of a line. */
static stencil_status read_pixel(const reading_line *r, int64_t column, field_pixel *to) {
    const int64_t end = pixel_end(r->across, r->plane->columns, column),
                  middle = field_pixel_middle(r->across, r->plane->columns, column);
    run_of_cells run = {.x = field_pixel_first(r->across, r->plane->columns, column)};
    for (; run.x < end; run.x += run.count) {
        TRY(find_cells(r->a, &r->of_a, run.x, end - run.x, &run.a, &run.count));
        if (r->b != NULL)
            TRY(find_cells(r->b, &r->of_b, run.x, run.count, &run.b, &run.count));
        const bool all = add_quickly(r, &run, to);
        for (int64_t i = 0; i < run.count && !all; i++)
            if (!is_gone(r, run.x + i))
                add_cell(to, value_at(r, &run, i), run.x + i);
        if (r->middle && middle >= run.x && middle < run.x + run.count && !is_gone(r, middle))
            to->middle = value_at(r, &run, middle - run.x);
    }
    return STENCIL_OK;
}

stencil_status field_read(field *a, field *b, const field_plane *plane, field_pixel *pixels) {
    const int64_t down = rows_of(a, plane);
    for (int64_t i = 0; i < plane->rows * plane->columns; i++)
        pixels[i] = (field_pixel){.least = INFINITY, .most = -INFINITY, .middle = NAN};
    for (int64_t row = 0; row < plane->rows; row++)
        for (int64_t y = field_pixel_first(down, plane->rows, row), end = pixel_end(down, plane->rows, row);
             y < end; y++) {
            const reading_line r = {.a = a,
                                    .b = b,
                                    .plane = plane,
                                    .of_a = line_of(a, plane, y),
                                    .of_b = line_of(b != NULL ? b : a, plane, y),
                                    .y = y,
                                    .across = a->axis[plane->across].n,
                                    .middle = y == field_pixel_middle(down, plane->rows, row)};
            for (int64_t column = 0; column < plane->columns; column++)
                TRY(read_pixel(&r, column, &pixels[row * plane->columns + column]));
        }
    return STENCIL_OK;
}

stencil_status field_read_gone(field *f, field_plane *plane) {
    const int64_t across = f->axis[plane->across].n, down = rows_of(f, plane);
    if (plane->gone == NULL)
        plane->gone = calloc((size_t)((across * down + 7) / 8), 1);
    CHECK(plane->gone != NULL, NO_MEMORY, "no memory for a picture");
    for (int64_t y = 0; y < down; y++) {
        const line l = line_of(f, plane, y);
        int64_t count = 0;
        for (int64_t x = 0; x < across; x += count) {
            const double *values;
            TRY(find_cells(f, &l, x, across - x, &values, &count));
            for (int64_t i = 0; i < count; i++)
                if (values[i * l.apart] != 0)
                    plane->gone[(y * across + x + i) / 8] |= (uint8_t)(1 << (y * across + x + i) % 8);
        }
    }
    return STENCIL_OK;
}

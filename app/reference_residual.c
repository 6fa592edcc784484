/* The reference's residual: partial sums of 64 cells of a row, then of 1024 of these at a time, in one order.
 */
#include "app/reference.h"

#include <math.h>
#include <stdlib.h>

enum { CHUNK = 64, LANES = 256, PARALLEL_CELLS = 1 << 14 };

static double join(double a, double b, stencil_norm norm) {
    if (norm == STENCIL_NORM_L2)
        return a + b;
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

/* Reduces `count` values, a power of two, by a balanced binary tree that combines adjacent values first. */
static double tree(const double *value, int count, stencil_norm norm) {
    if (count == 1)
        return value[0];
    return join(tree(value, count / 2, norm), tree(value + count / 2, count / 2, norm), norm);
}

/* Reduces `size` values, zeros from `count` on, to one: each of `lanes` lanes sums every lanes-th value, then
 * tree() combines the lanes. */
static double fold(const double *value, int64_t count, int size, int lanes, stencil_norm norm) {
    double lane[LANES];
    for (int t = 0; t < lanes; t++) {
        lane[t] = t < count ? value[t] : 0.0;
        for (int at = t + lanes; at < size; at += lanes)
            lane[t] = join(lane[t], at < count ? value[at] : 0.0, norm);
    }
    return tree(lane, lanes, norm);
}

/* Returns the norm's partial sum (or maximum) over cells [first, end), at most 64 cells. */
static double chunk_value(const reference *r, stencil_norm norm, const void *u, const void *next,
                          int64_t first, int64_t end) {
    double term[CHUNK];
    const int64_t count = stencil_smaller(end - first, CHUNK);
    for (int64_t i = 0; i < count; i++) {
        const double d = reference_value(r, next, first + i) - reference_value(r, u, first + i);
        term[i] = reference_is_fixed(r, first + i) ? 0 : norm == STENCIL_NORM_L2 ? d * d : fabs(d);
    }
    return fold(term, count, CHUNK, CHUNK, norm);
}

/* Counts the updated cells of a row of cells, which begins with cell number `first`. */
static int64_t updated_in(const reference *r, int64_t first) {
    int64_t updated = 0;
    for (int64_t x = r->low[STENCIL_X]; x < r->high[STENCIL_X]; x++)
        updated += !reference_is_fixed(r, first + x);
    return updated;
}

/* Makes the partial sums of all own rows, value[own row][chunk]; returns the number of updated cells. */
static int64_t make_chunks(const reference *r, stencil_norm norm, const void *u, const void *next,
                           double *value) {
    const int64_t nx = r->high[STENCIL_X] - r->low[STENCIL_X], chunks = (nx + CHUNK - 1) / CHUNK,
                  rows = reference_own_rows(r);
    int64_t updated = 0;
#pragma omp parallel for schedule(static) reduction(+ : updated) if (rows * nx > PARALLEL_CELLS)
    for (int64_t own = 0; own < rows; own++) {
        int64_t z, y;
        if (!reference_own_row(r, own, &z, &y))
            continue;
        const int64_t start = reference_number(r, z, y, 0);
        updated += updated_in(r, start);
        for (int64_t c = 0; c < chunks; c++)
            value[own * chunks + c] = chunk_value(r, norm, u, next, start + r->low[STENCIL_X] + c * CHUNK,
                                                  start + r->high[STENCIL_X]);
    }
    return updated;
}

/* Adds a value to a level: the last one of a group takes the group's fold to the next level. */
static void add(reference_sum *sum, int level, stencil_norm norm, double value) {
    const int64_t at = sum->count[level]++ % REFERENCE_GROUP;
    sum->value[level][at] = value;
    if (at == REFERENCE_GROUP - 1)
        add(sum, level + 1, norm, fold(sum->value[level], REFERENCE_GROUP, REFERENCE_GROUP, LANES, norm));
}

stencil_status reference_sum_begin(const reference *r, stencil_norm norm, const void *u, const void *next,
                                   double **value, int64_t *updated) {
    const int64_t nx = r->high[STENCIL_X] - r->low[STENCIL_X], chunks = (nx + CHUNK - 1) / CHUNK;
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, (reference_own_rows(r) * chunks + 1) * (int64_t)sizeof(double),
                             "the reference's residual"));
    *value = memory;
    *updated = make_chunks(r, norm, u, next, *value);
    return STENCIL_OK;
}

void reference_sum_add(const reference *r, stencil_norm norm, const double *value, int64_t updated,
                       reference_sum *sum) {
    const int64_t nx = r->high[STENCIL_X] - r->low[STENCIL_X], chunks = (nx + CHUNK - 1) / CHUNK;
    int64_t z, y;
    sum->updated += updated;
    for (int64_t own = 0; own < reference_own_rows(r); own++)
        for (int64_t c = 0; c < chunks && reference_own_row(r, own, &z, &y); c++)
            add(sum, 0, norm, value[own * chunks + c]);
}

double reference_sum_end(const reference *r, stencil_norm norm, reference_sum *sum) {
    int level = 0;
    for (; sum->count[level] > 1; level++) {
        const int64_t rest = sum->count[level] % REFERENCE_GROUP;
        if (rest > 0)
            add(sum, level + 1, norm, fold(sum->value[level], rest, REFERENCE_GROUP, LANES, norm));
    }
    const double value = sum->value[level][0];
    return (isnan(value)              ? NAN
            : norm == STENCIL_NORM_L2 ? sqrt(value / (double)sum->updated)
                                      : value) /
           r->scale;
}

stencil_status reference_residual(const reference *r, stencil_norm norm, const void *u, const void *next,
                                  double *residual) {
    reference_sum *sum = calloc(1, sizeof *sum);
    double *value = NULL;
    int64_t updated = 0;
    stencil_status status = sum == NULL ? ERROR(NO_MEMORY, "no memory for the reference's residual")
                                        : reference_sum_begin(r, norm, u, next, &value, &updated);
    if (status == STENCIL_OK) {
        reference_sum_add(r, norm, value, updated, sum);
        *residual = reference_sum_end(r, norm, sum);
    }
    free(value);
    free(sum);
    return status;
}

/* Coefficients of the reference, made again from docs/format.md: every cell has the weights of its own faces.
 */
#include "app/reference.h"

#include <math.h>
#include <stdlib.h>

static double square_of(const stencil_spec *spec, int axis) {
    const double h = spec->spacing_count == 0   ? 1.0
                     : spec->spacing_count == 1 ? spec->spacing[0]
                                                : spec->spacing[axis - (3 - spec->rank)];
    return h * h;
}

/* The harmonic mean of two numbers, by the smaller and the larger one. */
static double harmonic(double a, double b) {
    const double small = a < b ? a : b, large = a < b ? b : a;
    return small * (large / (0.5 * small + 0.5 * large));
}

static bool goes_through_cells(stencil_wall_kind wall) {
    return wall == STENCIL_WALL_MIRROR_NODE || wall == STENCIL_WALL_FLUX_NODE ||
           wall == STENCIL_WALL_EXCHANGE_NODE;
}

/* The coefficient of the face between cell `at` and the next one in a direction, -1 or 1. */
static double coefficient_of(const reference *r, const stencil_spec *spec, const double *k,
                             const uint8_t *insulated, const int64_t at[3], int axis, int direction) {
    const int64_t *n = r->extent;
    int64_t other[3] = {at[0], at[1], at[2]};
    other[axis] += direction;
    if (other[axis] < 0 || other[axis] >= n[axis]) {
        const stencil_wall_kind wall = spec->wall[axis][direction > 0];
        other[axis] = r->boundary[axis] == STENCIL_PERIODIC ? (other[axis] + n[axis]) % n[axis]
                      : goes_through_cells(wall)            ? at[axis] - direction
                                                            : at[axis];
    }
    const int64_t here = (at[0] * n[1] + at[1]) * n[2] + at[2],
                  there = (other[0] * n[1] + other[1]) * n[2] + other[2];
    return insulated != NULL && insulated[there] != 0 ? k[here] : harmonic(k[here], k[there]);
}

/* Notes the smallest and the largest k of cells that are there. */
static void find_range(const reference *r, const double *k, const uint8_t *insulated, double range[2]) {
    range[0] = INFINITY;
    range[1] = 0;
    for (int64_t i = 0; i < r->extent[0] * r->extent[1] * r->extent[2]; i++)
        if (insulated == NULL || insulated[i] == 0) {
            range[0] = k[i] < range[0] ? k[i] : range[0];
            range[1] = k[i] > range[1] ? k[i] : range[1];
        }
}

stencil_status reference_coefficients(reference *r, const stencil_spec *spec, const double *k,
                                      const uint8_t *insulated, bool by_value) {
    const int64_t *n = r->extent, cells = n[0] * n[1] * n[2];
    const bool heat = spec->kind == STENCIL_KIND_HEAT;
    const int rank = spec->rank;
    double range[2], sum = 0;
    find_range(r, k, insulated, range);
    for (int axis = 3 - rank; axis < 3; axis++)
        sum += 2.0 / square_of(spec, axis);
    if (!heat)
        r->source_scale = (isnan(spec->omega) ? 1.0 : spec->omega) / sum / range[1];
    if (r->cycle > 0) {
        const double least = r->least * (range[0] / range[1]);
        r->least = (float)least > least ? nextafterf((float)least, -INFINITY) : (float)least;
        r->most = 2;
    }
    r->divides = !heat;
    r->by_value = by_value;
    r->face = calloc((size_t)cells, sizeof *r->face);
    CHECK(r->face != NULL, NO_MEMORY, "no memory for the reference's faces");
    for (int64_t i = 0; i < cells; i++) {
        const int64_t at[3] = {i / n[2] / n[1], i / n[2] % n[1], i % n[2]};
        bool updated = insulated == NULL || insulated[i] == 0;
        for (int axis = 0; axis < 3; axis++)
            updated = updated && at[axis] >= r->low[axis] && at[axis] < r->high[axis];
        for (int f = 0; f < 2 * rank && updated; f++) {
            const int axis = 3 - rank + (f < rank ? f : 2 * rank - 1 - f);
            const double of = coefficient_of(r, spec, k, insulated, at, axis, f < rank ? -1 : 1),
                         square = square_of(spec, axis),
                         weight = heat ? of * spec->dt / square : of / range[1] / square / sum;
            r->face[i][f] = r->precision == STENCIL_FLOAT32 ? (double)(float)weight : weight;
        }
    }
    return STENCIL_OK;
}

void reference_source(const reference *r, const double *f, void *b) {
    for (int64_t i = 0; i < r->extent[0] * r->extent[1] * r->extent[2]; i++) {
        double sum = 0;
        for (int k = 0; k < r->point_count - 1; k++)
            sum += r->face[i][k];
        const double value = sum > 0 ? r->source_scale / (r->divides ? sum : 1.0) * f[i] : 0;
        if (r->precision == STENCIL_FLOAT32)
            ((float *)b)[i] = (float)value;
        else
            ((double *)b)[i] = value;
    }
}

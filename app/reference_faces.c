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
    const int64_t here = reference_number(r, at[0], at[1], at[2]),
                  there = reference_number(r, other[0], other[1], other[2]);
    return insulated != NULL && insulated[there] != 0 ? k[here] : harmonic(k[here], k[there]);
}

void reference_range(const reference *r, const double *k, const uint8_t *insulated, double range[2]) {
    for (int64_t own = 0; own < reference_own_rows(r); own++) {
        int64_t z, y;
        reference_own_row(r, own, &z, &y);
        for (int64_t x = 0, i = reference_number(r, z, y, 0); x < r->extent[STENCIL_X]; x++, i++)
            if (insulated == NULL || insulated[i] == 0) {
                range[0] = k[i] < range[0] ? k[i] : range[0];
                range[1] = k[i] > range[1] ? k[i] : range[1];
            }
    }
}

stencil_status reference_coefficients(reference *r, const stencil_spec *spec, const double *k,
                                      const uint8_t *insulated, const double range[2], bool by_value) {
    const int64_t cells = reference_cells(r);
    const bool heat = spec->kind == STENCIL_KIND_HEAT;
    const int rank = spec->rank;
    double sum = 0;
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
        int64_t at[3];
        const bool updated = reference_is_inner(r, i, at) && (insulated == NULL || insulated[i] == 0);
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
    for (int64_t i = 0; i < reference_cells(r); i++) {
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

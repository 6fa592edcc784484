#include "app/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 64, GROUP = 1024, LANES = 256 };

#define REAL           float
#define FMA            fmaf
#define NAME(function) function##_float
#define TARGET
#include "app/reference_row.inc"
#define REAL           double
#define FMA            fma
#define NAME(function) function##_double
#define TARGET
#include "app/reference_row.inc"
/* fma() is a slow library call where the compiler may not assume the instruction. The result is the same. */
#if defined(__x86_64__)
#define REAL           float
#define FMA            fmaf
#define NAME(function) function##_float_fma
#define TARGET         __attribute__((target("fma")))
#include "app/reference_row.inc"
#define REAL           double
#define FMA            fma
#define NAME(function) function##_double_fma
#define TARGET         __attribute__((target("fma")))
#include "app/reference_row.inc"
#endif

typedef void advance_function(int, const double *, const void *const *, const int64_t *const *, const void *,
                              void *, int64_t);
typedef void change_function(const void *, const void *, int64_t, stencil_norm, double *);

static advance_function *find_advance(stencil_precision precision) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma"))
        return precision == STENCIL_FLOAT64 ? advance_row_double_fma : advance_row_float_fma;
#endif
    return precision == STENCIL_FLOAT64 ? advance_row_double : advance_row_float;
}

static change_function *find_change(stencil_precision precision) {
#if defined(__x86_64__)
    if (__builtin_cpu_supports("fma"))
        return precision == STENCIL_FLOAT64 ? change_terms_double_fma : change_terms_float_fma;
#endif
    return precision == STENCIL_FLOAT64 ? change_terms_double : change_terms_float;
}

/* Grid spacing of axis a of (z, y, x). */
static double spacing_of(const stencil_spec *spec, int axis) {
    if (spec->spacing_count == 0)
        return 1.0;
    return spec->spacing[spec->spacing_count == 1 ? 0 : axis - (STENCIL_AXES - spec->rank)];
}

/* Weight of the centre and of the neighbours along each axis, for the problems that derive them. */
static void derive_weights(reference *r, const stencil_spec *spec, double *centre, double neighbour[3]) {
    const double omega = isnan(spec->omega) ? 1.0 : spec->omega;
    const double diffusivity = isnan(spec->diffusivity) ? 1.0 : spec->diffusivity;
    double sum = 0.0, all = 0.0;
    for (int axis = STENCIL_AXES - spec->rank; axis < STENCIL_AXES; axis++)
        sum += 2.0 / (spacing_of(spec, axis) * spacing_of(spec, axis));
    const double dt = isnan(spec->dt) ? 1.0 / (diffusivity * sum) : spec->dt;
    for (int axis = STENCIL_AXES - spec->rank; axis < STENCIL_AXES; axis++) {
        const double square = spacing_of(spec, axis) * spacing_of(spec, axis);
        neighbour[axis] = spec->kind == STENCIL_KIND_HEAT ? diffusivity * dt / square : omega / square / sum;
        all += neighbour[axis];
    }
    *centre = spec->kind == STENCIL_KIND_HEAT ? 1.0 - 2.0 * all : 1.0 - omega;
    if (spec->source == STENCIL_SOURCE_F)
        r->source_scale = omega / sum;
}

/* The weight that an author gave to a point by /stencil/offsets; 0 where the point was not given. */
static double given_weight(const stencil_spec *spec, const int32_t offset[3]) {
    const int skip = STENCIL_AXES - spec->rank;
    for (int k = 0; k < spec->offset_count; k++)
        if (memcmp(spec->offset[k], offset + skip, (size_t)spec->rank * sizeof *offset) == 0)
            return spec->weight[k];
    return 0.0;
}

static void set_points(reference *r, const stencil_problem *problem) {
    const stencil_spec *spec = &problem->spec;
    double centre = 0.0, neighbour[3] = {0.0, 0.0, 0.0};
    r->source_scale = 1.0;
    if (spec->kind != STENCIL_KIND_NONE)
        derive_weights(r, spec, &centre, neighbour);
    r->point_count = stencil_shape_offsets(problem->shape, r->offset);
    for (int k = 0; k < r->point_count; k++) {
        double weight = centre;
        for (int axis = 0; axis < STENCIL_AXES; axis++)
            if (r->offset[k][axis] != 0)
                weight = neighbour[axis];
        if (spec->kind == STENCIL_KIND_NONE && spec->offset_count > 0)
            weight = given_weight(spec, r->offset[k]);
        else if (spec->kind == STENCIL_KIND_NONE)
            weight = spec->weight_count > 0 ? spec->weight[k] : 1.0 / r->point_count;
        r->weight[k] = r->precision == STENCIL_FLOAT32 ? (double)(float)weight : weight;
    }
}

/* How far the points reach along an axis: those that were given, not those that complete the set with weight
 * 0. */
static int64_t reach(const reference *r, const stencil_spec *spec, int axis) {
    const int skip = STENCIL_AXES - spec->rank;
    int64_t radius = 0;
    if (axis < skip)
        return 0;
    const int count = spec->offset_count > 0 ? spec->offset_count : r->point_count;
    for (int k = 0; k < count; k++) {
        const int64_t at = spec->offset_count > 0 ? spec->offset[k][axis - skip] : r->offset[k][axis];
        radius = llabs(at) > radius ? llabs(at) : radius;
    }
    return radius;
}

/* Array index of cell i, counted from the first updated cell, of an axis. */
static int64_t neighbour_index(stencil_boundary boundary, int64_t i, int64_t n, int64_t radius) {
    if (i < -radius || i >= n + radius)
        return -1;
    if (boundary == STENCIL_FIXED)
        return i + radius;
    if (boundary == STENCIL_PERIODIC)
        return (i + n) % n;
    return i < 0 ? -1 - i : i >= n ? 2 * n - 1 - i : i;
}

static stencil_status set_axes(reference *r, const stencil_problem *problem) {
    const stencil_spec *spec = &problem->spec;
    const int skip = STENCIL_AXES - spec->rank;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        stencil_boundary boundary = STENCIL_FIXED;
        if (axis >= skip && spec->boundary_count > 0)
            boundary = spec->boundary[spec->boundary_count == 1 ? 0 : axis - skip];
        const int64_t radius = reach(r, spec, axis);
        r->extent[axis] = axis < skip ? 1 : spec->extent[axis - skip];
        r->origin[axis] = boundary == STENCIL_FIXED ? radius : 0;
        r->n[axis] = r->extent[axis] - 2 * r->origin[axis];
        const int64_t length = r->n[axis] + 2 * STENCIL_RADIUS_MAX;
        void *memory = NULL;
        TRY(stencil_memory_alloc(&memory, length * (int64_t)sizeof(int64_t), "a table of the reference"));
        r->index[axis] = memory;
        for (int64_t i = 0; i < length; i++)
            r->index[axis][i] = neighbour_index(boundary, i - STENCIL_RADIUS_MAX, r->n[axis], radius);
    }
    return STENCIL_OK;
}

static stencil_status allocate(reference *r, const stencil_problem *problem) {
    const int64_t bytes = (int64_t)stencil_precision_bytes(r->precision);
    const int64_t cells = r->extent[STENCIL_Z] * r->extent[STENCIL_Y] * r->extent[STENCIL_X];
    void *memory = NULL;
    TRY(stencil_memory_alloc(&r->u[0], cells * bytes, "the reference's field"));
    TRY(stencil_memory_alloc(&r->u[1], cells * bytes, "the reference's second field"));
    if (problem->spec.source != STENCIL_SOURCE_NONE)
        TRY(stencil_memory_alloc(&r->b, cells * bytes, "the reference's source term"));
    TRY(stencil_memory_alloc(&r->zeros, r->extent[STENCIL_X] * bytes, "a row of the reference"));
    r->chunk_count = r->n[STENCIL_Z] * r->n[STENCIL_Y] * ((r->n[STENCIL_X] + CHUNK - 1) / CHUNK);
    TRY(stencil_memory_alloc(&memory, r->chunk_count * (int64_t)sizeof(double), "the reference's residual"));
    r->chunk = memory;
    return STENCIL_OK;
}

static stencil_status create(reference *r, const stencil_problem *problem) {
    *r = (reference){.precision = problem->precision, .norm = problem->spec.norm};
    set_points(r, problem);
    TRY(set_axes(r, problem));
    return allocate(r, problem);
}

stencil_status reference_create(reference *reference, const stencil_problem *problem) {
    const stencil_status status = create(reference, problem);
    if (status != STENCIL_OK)
        reference_destroy(reference);
    return status;
}

void reference_destroy(reference *reference) {
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        free(reference->index[axis]);
    free(reference->u[0]);
    free(reference->u[1]);
    free(reference->b);
    free(reference->zeros);
    free(reference->chunk);
    *reference = (struct reference){0};
}

void reference_start(reference *reference) {
    const int64_t *extent = reference->extent;
    memcpy(reference->u[1], reference->u[0],
           (size_t)(extent[STENCIL_Z] * extent[STENCIL_Y] * extent[STENCIL_X]) *
               stencil_precision_bytes(reference->precision));
}

/* Address of cell (z, y, x) of an array. */
static char *cell(const reference *r, const void *array, int64_t z, int64_t y, int64_t x) {
    const int64_t at = (z * r->extent[STENCIL_Y] + y) * r->extent[STENCIL_X] + x;
    return (char *)array + at * (int64_t)stencil_precision_bytes(r->precision);
}

void reference_step(reference *reference, int64_t step) {
    const struct reference *r = reference;
    advance_function *const advance = find_advance(r->precision);
    const void *from = r->u[(step - 1) % 2];
    const int64_t *n = r->n, *origin = r->origin;
#pragma omp parallel for schedule(static)
    for (int64_t line = 0; line < n[STENCIL_Z] * n[STENCIL_Y]; line++) {
        const int64_t z = line / n[STENCIL_Y], y = line % n[STENCIL_Y];
        const void *row[STENCIL_POINTS_MAX];
        const int64_t *column[STENCIL_POINTS_MAX];
        for (int k = 0; k < r->point_count; k++) {
            const int64_t at_z = r->index[STENCIL_Z][z + r->offset[k][STENCIL_Z] + STENCIL_RADIUS_MAX];
            const int64_t at_y = r->index[STENCIL_Y][y + r->offset[k][STENCIL_Y] + STENCIL_RADIUS_MAX];
            row[k] = at_z < 0 || at_y < 0 ? r->zeros : cell(r, from, at_z, at_y, 0);
            column[k] = r->index[STENCIL_X] + r->offset[k][STENCIL_X] + STENCIL_RADIUS_MAX;
        }
        const int64_t to_z = z + origin[STENCIL_Z], to_y = y + origin[STENCIL_Y];
        advance(r->point_count, r->weight, row, column,
                r->b == NULL ? NULL : cell(r, r->b, to_z, to_y, origin[STENCIL_X]),
                cell(r, r->u[step % 2], to_z, to_y, origin[STENCIL_X]), n[STENCIL_X]);
    }
}

static double join(double a, double b, stencil_norm norm) {
    if (norm == STENCIL_NORM_L2)
        return a + b;
    if (isnan(a) || isnan(b))
        return NAN;
    return a > b ? a : b;
}

/* Balanced binary tree over `count` values, a power of two, neighbours first. */
static double tree(const double *value, int count, stencil_norm norm) {
    if (count == 1)
        return value[0];
    return join(tree(value, count / 2, norm), tree(value + count / 2, count / 2, norm), norm);
}

/* The chunks of one row of updated cells; `old` NULL: zeros. */
static void row_chunks(reference *r, int64_t line, void *old, void *new, change_function *change) {
    const int64_t nx = r->n[STENCIL_X], chunks = (nx + CHUNK - 1) / CHUNK;
    const int64_t z = line / r->n[STENCIL_Y] + r->origin[STENCIL_Z];
    const int64_t y = line % r->n[STENCIL_Y] + r->origin[STENCIL_Y];
    for (int64_t c = 0; c < chunks; c++) {
        double term[CHUNK] = {0.0};
        const int64_t x = c * CHUNK + r->origin[STENCIL_X];
        const int64_t count = nx - c * CHUNK < CHUNK ? nx - c * CHUNK : CHUNK;
        change(old != NULL ? cell(r, old, z, y, x) : r->zeros, cell(r, new, z, y, x), count, r->norm, term);
        r->chunk[line * chunks + c] = tree(term, CHUNK, r->norm);
    }
}

/* One group of values, filled up with zeros, becomes one value. */
static double fold_group(const double *value, int64_t count, stencil_norm norm) {
    double filled[GROUP] = {0.0}, lane[LANES];
    memcpy(filled, value, (size_t)(count < GROUP ? count : GROUP) * sizeof *value);
    for (int t = 0; t < LANES; t++) {
        lane[t] = filled[t];
        for (int at = t + LANES; at < GROUP; at += LANES)
            lane[t] = join(lane[t], filled[at], norm);
    }
    return tree(lane, LANES, norm);
}

/* Norm of new - old over the updated cells. */
static double norm_of_change(reference *r, void *old, void *new) {
    change_function *const change = find_change(r->precision);
#pragma omp parallel for schedule(static)
    for (int64_t line = 0; line < r->n[STENCIL_Z] * r->n[STENCIL_Y]; line++)
        row_chunks(r, line, old, new, change);
    /* In place: group g is read before value g, which never lies behind it, is written. */
    for (int64_t count = r->chunk_count; count > 1; count = (count + GROUP - 1) / GROUP)
        for (int64_t first = 0; first < count; first += GROUP)
            r->chunk[first / GROUP] = fold_group(r->chunk + first, count - first, r->norm);
    const double value = r->chunk[0];
    if (isnan(value))
        return NAN;
    const double cells = (double)(r->n[STENCIL_Z] * r->n[STENCIL_Y] * r->n[STENCIL_X]);
    return r->norm == STENCIL_NORM_MAX ? value : sqrt(value / cells);
}

double reference_residual(reference *reference, int64_t step) {
    return norm_of_change(reference, reference->u[(step - 1) % 2], reference->u[step % 2]);
}

double reference_source_norm(reference *reference) {
    return reference->b != NULL ? norm_of_change(reference, NULL, reference->b) : 0.0;
}

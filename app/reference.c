#include "app/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARALLEL_CELLS = 1 << 14 };

/* Compiles a function twice, with and without fma instructions, with equal results: fma() as a library
 * call is slow. Builds with ThreadSanitizer have one version: the loader would choose before it is loaded. */
#if defined(__x86_64__) && !defined(STENCIL_THREAD_SANITIZER)
#define WITH_FMA __attribute__((target_clones("fma", "default")))
#else
#define WITH_FMA
#endif

/* Returns the square of the grid spacing along an axis of (z, y, x). */
static double square_of(const stencil_spec *spec, int axis) {
    const int entry = spec->spacing_count == 1 ? 0 : axis - (STENCIL_AXES - spec->rank);
    return spec->spacing_count == 0 ? 1.0 : spec->spacing[entry] * spec->spacing[entry];
}

/* Returns the diffusivity along an axis of (z, y, x). */
static double diffusivity_of(const stencil_spec *spec, int axis) {
    const int entry = spec->diffusivity_count == 1 ? 0 : axis - (STENCIL_AXES - spec->rank);
    return spec->diffusivity_count == 0 ? 1.0 : spec->diffusivity[entry];
}

/* Computes the weights of the centre and of neighbours along each axis, for problems that do not give
 * weights. */
static void derive_weights(reference *r, const stencil_spec *spec, double *centre, double neighbour[3]) {
    const double omega = isnan(spec->omega) ? 1.0 : spec->omega;
    const bool heat = spec->kind == STENCIL_KIND_HEAT;
    double sum = 0.0, all = 0.0, rate = 0.0;
    for (int axis = STENCIL_AXES - spec->rank; axis < STENCIL_AXES; axis++)
        sum += 2.0 / square_of(spec, axis);
    for (int axis = STENCIL_AXES - spec->rank; axis < STENCIL_AXES; axis++)
        rate += diffusivity_of(spec, axis) * (2.0 / square_of(spec, axis));
    if (spec->diffusivity_count <= 1)
        rate = diffusivity_of(spec, STENCIL_X) * sum;
    const double dt = isnan(spec->dt) ? 1.0 / rate : spec->dt;
    for (int axis = STENCIL_AXES - spec->rank; axis < STENCIL_AXES; axis++) {
        const double square = square_of(spec, axis);
        neighbour[axis] = heat ? diffusivity_of(spec, axis) * dt / square : omega / square / sum;
        all += neighbour[axis];
        if (spec->has_k) /* reference_coefficients() makes the weights of these */
            neighbour[axis] = heat ? 1.0 : omega;
    }
    *centre = !heat ? 1.0 - omega : spec->has_k ? 1.0 : 1.0 - 2.0 * all;
    if (spec->source == STENCIL_SOURCE_F)
        r->source_scale = omega / sum;
    if (spec->source == STENCIL_SOURCE_Q)
        r->source_scale = dt;
}

/* Returns the index of a point among the given points; -1: it only completes the set, with weight 0. */
static int given_index(const stencil_spec *spec, int index, const int32_t offset[3]) {
    const int skip = STENCIL_AXES - spec->rank;
    if (spec->offset_count == 0)
        return index;
    for (int k = 0; k < spec->offset_count; k++)
        if (memcmp(spec->offset[k], offset + skip, (size_t)spec->rank * sizeof *offset) == 0)
            return k;
    return -1;
}

static void set_points(reference *r, const stencil_spec *spec, const stencil_shape *shape) {
    double centre = 0.0, neighbour[3] = {0.0, 0.0, 0.0};
    if (spec->kind != STENCIL_KIND_NONE)
        derive_weights(r, spec, &centre, neighbour);
    r->point_count = stencil_shape_offsets(shape, r->offset);
    for (int k = 0; k < r->point_count; k++) {
        const int given = given_index(spec, k, r->offset[k]);
        if (given < 0)
            continue;
        r->weight[k] = spec->kind != STENCIL_KIND_NONE ? centre
                       : spec->weight_count > 0        ? spec->weight[given]
                                                       : 1.0 / r->point_count;
        for (int axis = 0; axis < STENCIL_AXES; axis++) {
            const int64_t distance = llabs(r->offset[k][axis]);
            if (distance > 0 && spec->kind != STENCIL_KIND_NONE)
                r->weight[k] = neighbour[axis];
            r->reach[axis] = distance > r->reach[axis] ? distance : r->reach[axis];
        }
    }
}

/* Returns (1 - cos angle) / 2 for Chebyshev root number `place` in an ordering of `length` roots: the angle
 * is half of that of root place / 2 among length / 2 roots, or pi minus that half. */
static double half_wave(int64_t length, int64_t place) {
    if (length == 1)
        return 0.5;
    const double before = half_wave(length / 2, place / 2), half = before / (2 * (1 + sqrt(1 - before)));
    return place % 2 == 0 ? half : 1 - half;
}

/* Returns x rounded down to a float. */
static double below(double x) {
    return (float)x > x ? nextafterf((float)x, -INFINITY) : (float)x;
}

/* Returns 1 - cos(angle), accurate for small angles too. */
static double one_less_cosine(double angle) {
    return 2 * sin(angle / 2) * sin(angle / 2);
}

/* The wall of a side, which is given alone or for the axis. */
static stencil_wall_kind wall_of(const stencil_spec *spec, int axis, int side) {
    const int entry = spec->boundary_count == 1 ? 0 : axis - (STENCIL_AXES - spec->rank);
    const stencil_boundary stated = spec->boundary_count == 0 ? STENCIL_FIXED : spec->boundary[entry];
    return spec->wall[axis][side] != STENCIL_WALL_NONE ? spec->wall[axis][side]
           : stated == STENCIL_FIXED                   ? STENCIL_WALL_FIXED
           : stated == STENCIL_PERIODIC                ? STENCIL_WALL_PERIODIC
                                                       : STENCIL_WALL_MIRROR;
}

/* Tells whether an axis is fixed on one side and mirrored on the other. */
static bool is_half_fixed(const stencil_spec *spec, int axis) {
    const stencil_wall_kind low = wall_of(spec, axis, 0), high = wall_of(spec, axis, 1);
    return (low == STENCIL_WALL_FIXED && high == STENCIL_WALL_MIRROR) ||
           (low == STENCIL_WALL_MIRROR && high == STENCIL_WALL_FIXED);
}

/* Computes least and most eigenvalues of a plain step from (1 - cos) of the longest and the shortest waves
 * that the boundaries allow; without a fixed axis constants, of eigenvalue 0, are left out. */
static void derive_cycle(reference *r, const stencil_spec *spec) {
    const double turn = 6.28318530717958647692;
    double sum = 0, longest = INFINITY;
    bool any_fixed = false;
    const char *number = strchr(spec->accelerate, ':');
    for (int axis = STENCIL_AXES - spec->rank; axis < STENCIL_AXES; axis++)
        sum += 2.0 / square_of(spec, axis);
    for (int axis = STENCIL_AXES - spec->rank; axis < STENCIL_AXES; axis++) {
        const double part = 2.0 / square_of(spec, axis) / sum;
        const bool half = is_half_fixed(spec, axis), fixed = r->boundary[axis] == STENCIL_FIXED || half,
                   periodic = r->boundary[axis] == STENCIL_PERIODIC;
        const int64_t n = r->high[axis] - r->low[axis] - (half ? r->reach[axis] : 0);
        const double wave = half       ? turn / 2 / (double)(2 * n + 1)
                            : fixed    ? turn / 2 / (double)(n + 1)
                            : periodic ? turn / (double)n
                                       : turn / 2 / (double)n;
        const int64_t waves = half ? 2 * n - 1 : fixed ? n : periodic ? n / 2 : n - 1;
        const double first = part * one_less_cosine(wave);
        r->most += part * one_less_cosine(wave * (double)waves);
        r->least += fixed ? first : 0;
        longest = first < longest ? first : longest;
        any_fixed = any_fixed || fixed;
    }
    r->least = any_fixed ? r->least : longest;
    r->least = spec->has_k ? r->least : below(r->least); /* reference_coefficients() rounds it then */
    r->most = -below(-r->most);
    if (!any_fixed && spec->fixed) { /* known by an estimate of the run only */
        r->least = spec->eigenvalue[0];
        r->most = spec->eigenvalue[1];
    }
    if (number != NULL)
        r->cycle = strtoll(number + 1, NULL, 10);
}

void reference_begin_step(reference *r, int64_t step) {
    for (int k = 0; k < STENCIL_SUM_ARRAYS; k++)
        r->factor[k] = reference_factor(r, k, step);
    if (r->table[0] != NULL)
        r->source_factor = r->factor[0];
    if (r->cycle == 0)
        return;
    if (r->plain_from >= 0 && step >= r->plain_from) {
        r->omega = r->source_factor = 1;
        memcpy(r->weight, r->plain, sizeof r->weight);
        return;
    }
    r->omega = 1 / (r->least + (r->most - r->least) * half_wave(r->cycle, step % r->cycle));
    r->source_factor = r->omega;
    for (int k = 0; k < r->point_count; k++) {
        const bool centre = r->offset[k][0] == 0 && r->offset[k][1] == 0 && r->offset[k][2] == 0;
        r->weight[k] = centre ? 1 - r->omega : r->omega * r->plain[k];
    }
}

/* Tells whether the sides of an axis are not both alike, or are what no boundary is. */
static bool has_walls(const stencil_spec *spec, int axis) {
    const stencil_wall_kind low = wall_of(spec, axis, 0), high = wall_of(spec, axis, 1);
    return low != high || low >= STENCIL_WALL_MIRROR_NODE;
}

void reference_init(reference *r, const stencil_spec *spec, const stencil_shape *shape) {
    const int skip = STENCIL_AXES - spec->rank;
    *r = (reference){.precision = spec->precision,
                     .source_scale = 1.0,
                     .source_factor = 1.0,
                     .sources = 1,
                     .omega = 1.0,
                     .plain_from = -1,
                     .scale = 1.0};
    set_points(r, spec, shape);
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        r->extent[axis] = axis < skip ? 1 : spec->extent[axis - skip];
        const stencil_wall_kind wall = axis < skip ? STENCIL_WALL_FIXED : wall_of(spec, axis, 0);
        r->boundary[axis] = wall == STENCIL_WALL_FIXED      ? STENCIL_FIXED
                            : wall == STENCIL_WALL_PERIODIC ? STENCIL_PERIODIC
                                                            : STENCIL_MIRROR;
        if (axis >= skip && (has_walls(spec, axis) || (spec->driven_count > 0 && wall == STENCIL_WALL_FIXED)))
            r->boundary[axis] = STENCIL_MIRROR; /* of which reference_walls() makes what is asked for */
        r->low[axis] = r->boundary[axis] == STENCIL_FIXED ? r->reach[axis] : 0;
        r->high[axis] = r->extent[axis] - r->low[axis];
    }
    r->axis = spec->rank == 2 ? STENCIL_Y : STENCIL_Z;
    for (int k = 0; k < r->point_count; k++)
        if (llabs(r->offset[k][r->axis]) > r->around)
            r->around = llabs(r->offset[k][r->axis]);
    reference_window(r, 0, r->extent[r->axis], 1);
    memcpy(r->plain, r->weight, sizeof r->plain);
    if (strncmp(spec->accelerate, "chebyshev", 9) == 0)
        derive_cycle(r, spec);
}

stencil_status reference_set_rows(reference *r, const stencil_spec *spec, const double *weights) {
    r->row_weights = calloc((size_t)spec->class_count * STENCIL_POINTS_MAX, sizeof(double));
    CHECK(r->row_weights != NULL, NO_MEMORY, "no memory for the reference's weights");
    for (int row = 0; row < spec->class_count; row++)
        for (int k = 0; k < r->point_count; k++) {
            const int given = given_index(spec, k, r->offset[k]);
            if (given >= 0)
                r->row_weights[row * STENCIL_POINTS_MAX + k] = weights[row * spec->weight_count + given];
        }
    return STENCIL_OK;
}

void reference_destroy(reference *r) {
    free(r->row_weights);
    free(r->own);
    free(r->made);
    free(r->still);
    free(r->needed);
    r->needed = NULL;
    free(r->face);
    r->face = NULL;
    r->row_weights = NULL;
    r->own = NULL;
    r->made = NULL;
    r->still = NULL;
}

int64_t reference_image(int64_t i, int64_t n, stencil_boundary boundary) {
    if (i >= 0 && i < n)
        return i;
    if (boundary == STENCIL_PERIODIC)
        return ((i % n) + n) % n;
    /* An axis mirrored at both edges has period 2n: 0 1 … n-1 n-1 … 1 0. */
    const int64_t phase = ((i % (2 * n)) + 2 * n) % (2 * n);
    return phase < n ? phase : 2 * n - 1 - phase;
}

/* Returns the index of the cell to read for index i along an axis; -1: a zero instead, which only points of
 * weight 0 read. */
static int64_t read_index(const reference *r, int axis, int64_t i) {
    const int64_t n = r->extent[axis];
    if (i >= 0 && i < n)
        return i;
    const int64_t around = r->boundary[axis] == STENCIL_FIXED ? 0 : r->reach[axis];
    return i >= -around && i < n + around ? reference_image(i, n, r->boundary[axis]) : -1;
}

/* Operands for updating a row of cells: a row of the field for each point (NULL: zeros), and a row of b. */
typedef struct row {
    const reference *r;
    const void *u[STENCIL_POINTS_MAX], *b;
    const void *more[STENCIL_SUM_ARRAYS]; /* rows of further source arrays, from [1] on */
    const uint8_t *fixed;                 /* NULL: no cell of the row is fixed */
    const uint8_t *kind;                  /* row of weights of each cell; NULL: that of the reference */
    const int32_t *own;                   /* row of cells beside walls; NULL: there are no walls */
    const double (*face)[6]; /* weights of the faces of each cell; NULL: there are no coefficients */
} row;

/* Returns the weights of cell x of a row. */
static inline const double *weights_at(const row *row, int64_t x) {
    const int kind = row->kind == NULL ? 0 : row->kind[x];
    if (row->own != NULL && row->own[x] >= 0)
        return row->r->made[row->own[x]];
    return kind == 0 ? row->r->weight : row->r->row_weights + (size_t)kind * STENCIL_POINTS_MAX;
}

/* Defines what makes the weights of a cell of its faces, in the arithmetic of the precision. */
#define DEFINE_FACE_WEIGHTS(name, real)                                                                      \
    static void name(const reference *r, const double face[6], double *weight) {                             \
        const int faces = r->point_count - 1, half = faces / 2;                                              \
        const real omega = (real)r->weight[0];                                                               \
        real sum = 0, centre = (real)r->weight[half];                                                        \
        for (int f = 0; f < faces; f++)                                                                      \
            sum = f == 0 ? (real)face[f] : sum + (real)face[f];                                              \
        for (int f = 0; f < faces; f++) {                                                                    \
            weight[f + (f >= half)] = r->divides ? (real)face[f] * (omega / sum) : (real)face[f];            \
            if (!r->divides)                                                                                 \
                centre -= (real)face[f];                                                                     \
        }                                                                                                    \
        weight[half] = centre;                                                                               \
    }
DEFINE_FACE_WEIGHTS(face_weights_float64, double)
DEFINE_FACE_WEIGHTS(face_weights_float32, float)

/* Defines what a point reads that meets a wall: a row of four numbers says it. */
#define DEFINE_VALUE_BEYOND(name, real, multiply_add)                                                        \
    static real name(const row *row, int64_t x, int k) {                                                     \
        const reference *r = row->r;                                                                         \
        const double *of = r->made[row->own[x]] + 4 * (ptrdiff_t)k;                                          \
        const int opposite = r->point_count - 1 - k;                                                         \
        real value = (real)of[3];                                                                            \
        if ((real)of[1] != 0)                                                                                \
            value = multiply_add(                                                                            \
                (real)of[1],                                                                                 \
                ((const real *)                                                                              \
                     row->u[opposite])[read_index(r, STENCIL_X, x + r->offset[opposite][STENCIL_X])],        \
                value);                                                                                      \
        if ((real)of[2] != 0)                                                                                \
            value = multiply_add((real)of[2], ((const real *)row->u[r->point_count / 2])[x], value);         \
        return value;                                                                                        \
    }
DEFINE_VALUE_BEYOND(value_beyond_float64, double, fma)
DEFINE_VALUE_BEYOND(value_beyond_float32, float, fmaf)

/* Defines a row update: a sum over points in ascending order, first a product, then fma for each point; then
 * b. */
#define DEFINE_STEP_ROW(name, real, multiply_add, face_weights, value_beyond)                                \
    WITH_FMA static void name(const row *row, real *next) {                                                  \
        const reference *r = row->r;                                                                         \
        for (int64_t x = r->low[STENCIL_X]; x < r->high[STENCIL_X]; x++) {                                   \
            if (row->fixed != NULL && row->fixed[x] != 0)                                                    \
                continue;                                                                                    \
            double own[7];                                                                                   \
            const bool walled = row->own != NULL && row->own[x] >= 0, by_value = walled && r->by_value;      \
            const double *weight = row->face == NULL || (walled && !by_value) ? weights_at(row, x) : own;    \
            const bool plain = weight == r->weight;                                                          \
            if (row->face != NULL)                                                                           \
                face_weights(r, row->face[x], own);                                                          \
            real sum = 0;                                                                                    \
            for (int k = 0; k < r->point_count; k++) {                                                       \
                const int64_t at = read_index(r, STENCIL_X, x + r->offset[k][STENCIL_X]);                    \
                const bool unread = row->u[k] == NULL || at < 0 || (!plain && (real)weight[k] == 0);         \
                real u = unread ? 0 : ((const real *)row->u[k])[at];                                         \
                if (by_value && r->made[row->own[x]][4 * k] == 0)                                            \
                    u = value_beyond(row, x, k);                                                             \
                sum = k == 0 ? (real)weight[k] * u : multiply_add((real)weight[k], u, sum);                  \
            }                                                                                                \
            sum =                                                                                            \
                row->b == NULL ? sum : multiply_add((real)r->source_factor, ((const real *)row->b)[x], sum); \
            for (int k = 1; k < r->sources; k++)                                                             \
                sum = multiply_add((real)r->factor[k], ((const real *)row->more[k])[x], sum);                \
            if (walled && !by_value && (real)weight[STENCIL_POINTS_MAX] != 0)                                \
                sum += (real)weight[STENCIL_POINTS_MAX];                                                     \
            next[x] = sum;                                                                                   \
        }                                                                                                    \
    }
DEFINE_STEP_ROW(step_row_float64, double, fma, face_weights_float64, value_beyond_float64)
DEFINE_STEP_ROW(step_row_float32, float, fmaf, face_weights_float32, value_beyond_float32)

void reference_face_weights(const reference *r, int64_t i, double weight[7]) {
    (r->precision == STENCIL_FLOAT32 ? face_weights_float32 : face_weights_float64)(r, r->face[i], weight);
}

/* Returns the offset in bytes of cell (z, y, 0) in an array of the field's precision. */
static int64_t bytes_before(const reference *r, int64_t z, int64_t y) {
    return reference_number(r, z, y, 0) * (int64_t)stencil_precision_bytes(r->precision);
}

void reference_step(const reference *r, const void *u, const void *b, void *next) {
    const int64_t nx = r->extent[STENCIL_X], rows = reference_own_rows(r);
    memcpy(next, u, (size_t)reference_cells(r) * stencil_precision_bytes(r->precision));
#pragma omp parallel for schedule(static) if (rows * nx > PARALLEL_CELLS)
    for (int64_t own = 0; own < rows; own++) {
        int64_t z, y;
        if (!reference_own_row(r, own, &z, &y))
            continue;
        const int64_t here = bytes_before(r, z, y);
        row row = {.r = r,
                   .b = b == NULL ? NULL : (const char *)b + here,
                   .fixed = r->fixed == NULL ? NULL : r->fixed + reference_number(r, z, y, 0),
                   .kind = r->row == NULL ? NULL : r->row + reference_number(r, z, y, 0),
                   .own = r->own == NULL ? NULL : r->own + reference_number(r, z, y, 0),
                   .face =
                       r->face == NULL ? NULL : (const double(*)[6])r->face + reference_number(r, z, y, 0)};
        for (int k = 1; k < r->sources; k++)
            row.more[k] = (const char *)r->more[k] + here;
        for (int k = 0; k < r->point_count; k++) {
            const int64_t at_z = read_index(r, STENCIL_Z, z + r->offset[k][STENCIL_Z]);
            const int64_t at_y = read_index(r, STENCIL_Y, y + r->offset[k][STENCIL_Y]);
            row.u[k] = at_z < 0 || at_y < 0 ? NULL : (const char *)u + bytes_before(r, at_z, at_y);
        }
        void *to = (char *)next + here;
        if (r->precision == STENCIL_FLOAT64)
            step_row_float64(&row, to);
        else
            step_row_float32(&row, to);
    }
}

double reference_value(const reference *r, const void *array, int64_t i) {
    if (array == NULL)
        return 0.0;
    return r->precision == STENCIL_FLOAT64 ? ((const double *)array)[i] : (double)((const float *)array)[i];
}

/* Multiplies an array by r->scale; only float64 arrays are scaled. */
static void multiply(const reference *r, void *array) {
    double *value = array;
    for (int64_t i = 0; i < reference_cells(r) && value != NULL && r->scale != 1.0; i++)
        value[i] *= r->scale;
}

double reference_largest(const reference *r, const void *u, const void *b) {
    double largest = 0.0;
    for (int64_t own = 0; own < reference_own_rows(r); own++) {
        int64_t z, y;
        const bool updated = reference_own_row(r, own, &z, &y);
        for (int64_t x = 0, i = reference_number(r, z, y, 0); x < r->extent[STENCIL_X]; x++, i++) {
            largest = fmax(largest, fabs(reference_value(r, u, i)));
            if (updated && x >= r->low[STENCIL_X] && x < r->high[STENCIL_X] && !reference_is_fixed(r, i))
                largest = fmax(largest, fabs(reference_value(r, b, i)));
        }
    }
    return largest;
}

void reference_scale(reference *r, double largest, void *u, void *b) {
    r->scale = 1.0;
    /* Steps that add constants, or arrays of sums, are not linear in the cells. */
    const bool constant = r->adds_constants || r->sources > 1 || r->values > 0;
    if (r->precision == STENCIL_FLOAT32 || largest == 0 || isinf(largest) || constant)
        return;
    if (largest >= 1e150)
        r->scale = 0x1p-512;
    else if (largest <= 1e-130)
        r->scale = ldexp(1.0, -ilogb(largest) < 1000 ? -ilogb(largest) : 1000);
    multiply(r, u);
    multiply(r, b);
}

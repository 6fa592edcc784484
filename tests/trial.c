#include "draw.h"
#include "trial_values.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "solver/run/run.h"
#include "solver/problem/cycle.h"
#include "solver/problem/factors.h"
#include "solver/plan/sweep.h"

/* SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014). */
static uint64_t mix(uint64_t x) {
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

double trial_random(uint64_t seed, uint64_t index) {
    return (double)(mix(mix(seed) + index) >> 11) * 0x1p-53;
}

void trial_init(trial *t, stencil_precision precision, int rank, const int64_t extent[3],
                const stencil_boundary boundary[3]) {
    *t = (trial){0};
    stencil_spec_init(&t->spec);
    t->spec.precision = precision;
    t->spec.rank = rank;
    t->spec.boundary_count = rank;
    for (int i = 0; i < rank; i++) {
        t->spec.extent[i] = extent[3 - rank + i];
        t->spec.boundary[i] = boundary[3 - rank + i];
    }
}

void trial_destroy(trial *t) {
    free(t->initial);
    free(t->source);
    free(t->b);
    free(t->fixed);
    free(t->row);
    free(t->insulated);
    free(t->k);
    for (int k = 0; k < STENCIL_SUM_ARRAYS; k++) {
        free(t->more[k]);
        free(t->more_b[k]);
        free(t->value[k]);
    }
    free(t->driven);
    free(t->tables.weights);
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++)
        free(t->tables.factor[k]);
    for (int i = 0; i < 2 * STENCIL_AXES * STENCIL_NUMBER_COUNT; i++)
        free(t->tables.along[i / 6][i / 3 % 2][i % 3]);
    reference_destroy(&t->reference);
}

void trial_set_shape(trial *t, const stencil_shape *shape, const double *weights) {
    snprintf(t->spec.stencil, sizeof t->spec.stencil, "%s", shape->name);
    t->spec.weight_count = weights != NULL ? shape->point_count : 0;
    for (int k = 0; k < t->spec.weight_count; k++)
        t->spec.weight[k] = weights[k];
}

void trial_set_points(trial *t, int count, const int32_t offset[][3], const double *weights) {
    t->spec.offset_count = t->spec.weight_count = count;
    for (int k = 0; k < count; k++) {
        for (int i = 0; i < t->spec.rank; i++)
            t->spec.offset[k][i] = offset[k][3 - t->spec.rank + i];
        t->spec.weight[k] = weights[k];
    }
}

bool trial_has_sweep(const trial *t, stencil_backend backend, int sweep) {
    const stencil_problem problem = {.rank = t->spec.rank};
    return stencil_sweep_unavailable((stencil_sweep_id)sweep, &problem, backend)[0] == '\0';
}

/* What the product makes of the spec is asked for one thing only: the named set on which it runs. */
static void make_reference(trial *t) {
    stencil_problem problem;
    assert_int_equal(stencil_problem_resolve(&problem, &t->spec), STENCIL_OK);
    reference_init(&t->reference, &t->spec, problem.shape);
    reference_set_tables(&t->reference, &problem.spec, t->tables.factor);
    stencil_problem_destroy(&problem);
}

void trial_fill(trial *t, uint64_t seed, double scale, stencil_source source) {
    const stencil_precision precision = t->spec.precision;
    t->spec.source = source;
    make_reference(t);
    const int64_t cells = trial_cells(t);
    t->initial = calloc((size_t)cells, sizeof(double));
    for (int64_t i = 0; i < cells; i++)
        trial_store(precision, t->initial, i, scale * (2.0 * trial_random(seed, (uint64_t)i) - 1.0));
    if (source == STENCIL_SOURCE_NONE)
        return;
    t->source = calloc((size_t)cells, sizeof(double));
    t->b = calloc((size_t)cells, sizeof(double));
    for (int64_t i = 0; i < cells; i++) {
        trial_store(precision, t->source, i, scale * (2.0 * trial_random(~seed, (uint64_t)i) - 1.0));
        trial_store(precision, t->b, i, t->reference.source_scale * trial_load(precision, t->source, i));
    }
}

/* Whether a cell belongs to one of a few balls, which are flat along x: as wide as two groups of cells. */
static bool in_blob(const trial *t, uint64_t seed, const int64_t at[3]) {
    enum { BLOBS = 3, WIDE = 100 };
    bool inside = false;
    for (int blob = 0; blob < BLOBS; blob++) {
        double distance = 0;
        for (int axis = 3 - t->spec.rank; axis < 3; axis++) {
            const double n = (double)t->reference.extent[axis],
                         centre = n * trial_random(seed, (uint64_t)(3 * blob + axis)),
                         reach = axis == 2 ? fmin(WIDE, n / 2) : fmax(n / 6, 2);
            distance += ((double)at[axis] - centre) * ((double)at[axis] - centre) / (reach * reach);
        }
        inside = inside || distance < 1;
    }
    return inside;
}

static bool in_pattern(const trial *t, uint64_t seed, trial_pattern pattern, int64_t cell,
                       const int64_t at[3]) {
    const int slow = 3 - t->spec.rank;
    switch (pattern) {
    case TRIAL_BLOBS:
        return in_blob(t, seed, at);
    case TRIAL_OUTSIDE:
        return !in_blob(t, seed, at);
    case TRIAL_ROWS:
        return (at[slow] + (int64_t)seed) % 4 == 0;
    case TRIAL_DENSE:
        return trial_random(seed, (uint64_t)cell) < 0.25;
    default:
        return trial_random(seed, (uint64_t)cell) < 0.03;
    }
}

/* Whether all cells near a cell, from which an updated one could read it, are fixed; not at the edges. */
static bool is_buried(const trial *t, const int64_t at[3]) {
    enum { REACH = STENCIL_RADIUS_MAX, WIDTH = 2 * REACH + 1 };
    const int64_t *n = t->reference.extent;
    bool buried = true;
    for (int k = 0; k < WIDTH * WIDTH * WIDTH && buried; k++) {
        const int64_t z = at[0] + (t->spec.rank == 3 ? k / (WIDTH * WIDTH) - REACH : 0),
                      y = at[1] + k / WIDTH % WIDTH - REACH, x = at[2] + k % WIDTH - REACH;
        buried = z >= 0 && z < n[0] && y >= 0 && y < n[1] && x >= 0 && x < n[2] &&
                 t->fixed[(z * n[1] + y) * n[2] + x] != 0;
    }
    return buried;
}

void trial_fix(trial *t, uint64_t seed, trial_pattern pattern) {
    const int64_t cells = trial_cells(t), *n = t->reference.extent;
    const double strange[] = {NAN, INFINITY, 1.0};
    t->fixed = calloc((size_t)cells, 1);
    for (int pass = 0; pass < 2; pass++)
        for (int64_t i = 0; i < cells; i++) {
            const int64_t at[3] = {i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]};
            if (pass == 0)
                t->fixed[i] = in_pattern(t, seed, pattern, i, at) ? (uint8_t)(1 + i % 3) : 0;
            else if (t->fixed[i] != 0 && is_buried(t, at))
                trial_store(t->spec.precision, t->initial, i, strange[i % 3]);
            else if (t->fixed[i] != 0 && i % 2 == 0)
                trial_store(t->spec.precision, t->initial, i, -0.0);
        }
    t->spec.fixed = true;
    t->reference.fixed = t->fixed;
}

void trial_set_rows(trial *t, int rows, uint64_t seed) {
    const int points = t->spec.weight_count;
    t->tables.weights = calloc((size_t)(rows * points), sizeof(double));
    for (int i = 0; i < rows * points; i++)
        t->tables.weights[i] = (2.0 * trial_random(seed + 71, (uint64_t)i) - 1.0) / points;
    memcpy(t->spec.weight, t->tables.weights, (size_t)points * sizeof(double));
    t->spec.classed = true;
    t->spec.class_count = rows;
    t->spec.palette_hash = stencil_palette_hash(t->tables.weights, rows * points);
}

void trial_class(trial *t, uint64_t seed, trial_pattern pattern) {
    const int64_t cells = trial_cells(t), *n = t->reference.extent;
    const int rows = t->spec.class_count;
    const uint8_t other = (uint8_t)(seed % (uint64_t)rows);
    t->row = calloc((size_t)cells, 1);
    for (int64_t i = 0; i < cells; i++) {
        const int64_t at[3] = {i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]};
        if (in_pattern(t, seed, pattern, i, at))
            t->row[i] =
                pattern == TRIAL_SINGLE || i % 11 == 0 ? (uint8_t)((i + (int64_t)seed) % rows) : other;
    }
    t->reference.row = t->row;
    assert_int_equal(reference_set_rows(&t->reference, &t->spec, t->tables.weights), STENCIL_OK);
}

/* Makes a number of a wall an array along its side, of two values, so that rows stay few. */
static void set_along(trial *t, int axis, int side, stencil_wall_number which, double *one) {
    int64_t count = 1;
    for (int i = 0; i < t->spec.rank; i++)
        count *= i == stencil_list_index(t->spec.rank, axis) ? 1 : t->spec.extent[i];
    double *values = calloc((size_t)count, sizeof *values);
    for (int64_t i = 0; i < count; i++)
        values[i] = i % 7 < 3 ? *one : 1.5 * *one;
    t->spec.along[axis][side][which] = true;
    t->spec.along_hash[axis][side][which] = stencil_palette_hash(values, count);
    t->tables.along[axis][side][which] = values;
    *one = NAN;
}

void trial_set_walls(trial *t, uint64_t seed, bool along) {
    for (int i = 2 * (STENCIL_AXES - t->spec.rank); i < 2 * STENCIL_AXES; i++) {
        const int axis = i / 2, s = i % 2;
        const uint64_t turn = seed / (uint64_t)(1 + axis) + (uint64_t)(3 * axis + s);
        stencil_wall_kind wall = (stencil_wall_kind)(turn % STENCIL_WALL_COUNT);
        if (wall == STENCIL_WALL_PERIODIC ||
            (t->spec.boundary[axis - STENCIL_AXES + t->spec.rank] == STENCIL_PERIODIC && axis != STENCIL_X))
            wall = STENCIL_WALL_NONE; /* the axis stays as it is */
        if (axis == STENCIL_X && wall == STENCIL_WALL_NONE)
            wall = STENCIL_WALL_FLUX;
        t->spec.wall[axis][s] = wall;
        if (stencil_wall_has_flux(wall))
            t->spec.flux[axis][s] = 2.0 * trial_random(seed + 5, (uint64_t)i) - 1.0;
        if (stencil_wall_exchanges(wall)) {
            t->spec.exchange[axis][s] = 0.1 + trial_random(seed + 6, (uint64_t)i);
            t->spec.ambient[axis][s] = 2.0 * trial_random(seed + 7, (uint64_t)i) - 1.0;
        }
        if (stencil_wall_has_flux(wall) && along && seed % 2 == 0)
            set_along(t, axis, s, STENCIL_NUMBER_FLUX, &t->spec.flux[axis][s]);
        if (stencil_wall_exchanges(wall) && along && seed % 3 == 0)
            set_along(t, axis, s, STENCIL_NUMBER_EXCHANGE, &t->spec.exchange[axis][s]);
        if (stencil_wall_exchanges(wall) && along && seed % 3 == 1)
            set_along(t, axis, s, STENCIL_NUMBER_AMBIENT, &t->spec.ambient[axis][s]);
    }
}

void trial_insulate(trial *t, uint64_t seed, trial_pattern pattern, bool any) {
    const int64_t cells = trial_cells(t), *n = t->reference.extent;
    static const double odd[] = {NAN, INFINITY, 0.5, -0.0};
    if (any) {
        t->spec.insulated = true;
        t->insulated = calloc((size_t)cells, 1);
    }
    for (int64_t i = 0; i < cells && any; i++) {
        const int64_t at[3] = {i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]};
        t->insulated[i] = in_pattern(t, seed + 3, pattern, i, at);
        if (t->driven != NULL && t->insulated[i] != 0)
            t->driven[i] = 0;
        if (t->insulated[i] != 0)
            trial_store(t->spec.precision, t->initial, i, odd[(i + (int64_t)seed) % 4]);
    }
    for (int i = 0; i < 2 * STENCIL_AXES * STENCIL_NUMBER_COUNT; i++)
        t->reference.along[i / 6][i / 3 % 2][i % 3] = t->tables.along[i / 6][i / 3 % 2][i % 3];
    if (t->spec.has_k)
        trial_coefficients(t, seed, seed % 3 != 0);
    assert_int_equal(reference_walls(&t->reference, &t->spec, t->insulated), STENCIL_OK);
}

/* Sets table k: a few times in the run, before and behind it, one of them twice, and random factors. */
static void set_table(trial *t, uint64_t seed, int k, int64_t steps) {
    enum { ROWS = 9 };
    const double span = (double)steps * (isnan(t->spec.dt) ? 1.0 : t->spec.dt);
    double *table = t->tables.factor[k] = calloc(2 * ROWS, sizeof(double));
    for (int i = 0; i < ROWS; i++) {
        const double part = ((double)i - 1 + trial_random(seed + 11, (uint64_t)(ROWS * k + i))) / (ROWS - 1);
        table[2 * i] = i == 4   ? floor((double)steps / 3) * span / (double)steps
                       : i == 5 ? table[8]
                                : part * span;
        table[2 * i + 1] = 2.0 * trial_random(seed + 13, (uint64_t)(ROWS * k + i)) - 1.0;
    }
    for (int i = 1; i < ROWS; i++)
        table[2 * i] = fmax(table[2 * i], table[2 * i - 2] + (i == 5 ? 0 : 1e-3 * span));
    assert_int_equal(stencil_table_check("a trial", "a table", table, ROWS), STENCIL_OK);
    t->spec.table[k] = (stencil_table_facts){ROWS, stencil_table_hash(table, ROWS)};
}

void trial_set_sums(trial *t, uint64_t seed, int sources, int driven, int64_t steps) {
    t->spec.source_count = sources;
    t->spec.driven_count = driven;
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++)
        if (k < STENCIL_SUM_ARRAYS ? k < sources && (k + (int)seed) % 3 != 1
                                   : k - STENCIL_SUM_ARRAYS < driven && (k + (int)seed) % 3 != 0)
            set_table(t, seed, k, steps);
}

/* Makes an array of random values, and one of the same times `scale`. */
static void *random_array(const trial *t, uint64_t seed, double scale, void **scaled) {
    void *values = calloc((size_t)trial_cells(t), sizeof(double));
    if (scaled != NULL)
        *scaled = calloc((size_t)trial_cells(t), sizeof(double));
    for (int64_t i = 0; i < trial_cells(t); i++) {
        trial_store(t->spec.precision, values, i, 2.0 * trial_random(seed, (uint64_t)i) - 1.0);
        if (scaled != NULL)
            trial_store(t->spec.precision, *scaled, i, scale * trial_load(t->spec.precision, values, i));
    }
    return values;
}

/* Tells whether a cell is one of the outermost of an axis whose sides are fixed. */
static bool is_of_fixed_side(const trial *t, int64_t cell) {
    const int64_t *n = t->reference.extent, at[3] = {cell / (n[1] * n[2]), cell / n[2] % n[1], cell % n[2]};
    bool is = false;
    for (int axis = 3 - t->spec.rank; axis < 3; axis++)
        is = is || (t->spec.boundary[axis - 3 + t->spec.rank] == STENCIL_FIXED &&
                    (at[axis] < t->reference.reach[axis] || at[axis] >= n[axis] - t->reference.reach[axis]));
    return is;
}

void trial_sum(trial *t, uint64_t seed) {
    reference *r = &t->reference;
    const int64_t cells = trial_cells(t);
    r->sources = t->spec.source_count > 1 && t->source != NULL ? t->spec.source_count : 1;
    r->values = t->spec.driven_count;
    for (int k = 1; k < r->sources; k++) {
        t->more[k] = random_array(t, seed + (uint64_t)k, r->source_scale, &t->more_b[k]);
        r->more[k] = t->more_b[k];
    }
    for (int k = 0; k < r->values; k++)
        r->value[k] = t->value[k] = random_array(t, seed + 5 + (uint64_t)k, 1, NULL);
    if (r->values == 0)
        return;
    t->driven = calloc((size_t)cells, 1);
    if (t->fixed == NULL)
        r->fixed = t->fixed = calloc((size_t)cells, 1);
    for (int64_t i = 0; i < cells; i++)
        t->driven[i] =
            (t->fixed[i] != 0 || is_of_fixed_side(t, i)) && trial_random(seed + 17, (uint64_t)i) < 0.7;
    r->driven = t->driven;
    reference_drive(r, t->initial, -1);
}

void trial_set_k(trial *t) {
    t->spec.has_k = true;
}

/* Notes what the product finds out about /k of the spec, and tells the reference. */
void trial_coefficients(trial *t, uint64_t seed, bool random) {
    const int64_t cells = trial_cells(t), *n = t->reference.extent;
    double *f = calloc((size_t)cells, sizeof *f);
    t->k = calloc((size_t)cells, sizeof *t->k);
    for (int64_t i = 0; i < cells; i++) {
        const int64_t at[3] = {i / (n[1] * n[2]), i / n[2] % n[1], i % n[2]};
        t->k[i] = random ? pow(10.0, 2.0 * trial_random(seed + 23, (uint64_t)i) - 1.0)
                  : in_pattern(t, seed, TRIAL_BLOBS, i, at) ? 7.5
                                                            : 0.4;
        if (t->insulated != NULL && t->insulated[i] != 0)
            t->k[i] = i % 2 == 0 ? NAN : -1.0;
    }
    double range[2] = {INFINITY, 0};
    reference_range(&t->reference, t->k, t->insulated, range);
    assert_int_equal(
        reference_coefficients(&t->reference, &t->spec, t->k, t->insulated, range, trial_takes_fields(t)),
        STENCIL_OK);
    for (int64_t i = 0; i < cells && t->source != NULL; i++)
        f[i] = trial_load(t->spec.precision, t->source, i);
    if (t->source != NULL && t->spec.source != STENCIL_SOURCE_B)
        reference_source(&t->reference, f, t->b);
    free(f);
}

void trial_set_cycle(trial *t, int length) {
    const int count = t->reference.point_count;
    t->cycle_length = length;
    for (int set = 0; set < length; set++) {
        for (int k = 0; k < count; k++)
            t->cycle[set].weight[k] = (2.0 * trial_random((uint64_t)set + 31, (uint64_t)k) - 1.0) / count;
        t->cycle[set].source_factor = 1.5 - trial_random(77, (uint64_t)set);
    }
}

#ifdef STENCIL_EMULATED
static const bool gpus_are_quick = false;
#else
static const bool gpus_are_quick = true;
#endif
enum { SLOW_PARTS = 4 }; /* parts of a run on emulated GPUs, at most */

/* Several ranks make one of so many of the runs that one process makes, since each number of ranks does. */
enum { RANKS_ONE_OF = 16 };

bool trial_is_drawn(const trial *t, const trial_run *r) {
    draw_names names = {0};
    const int one_of = (r->one_of > 0 ? r->one_of : 1) * (r->world != NULL ? RANKS_ONE_OF : 1);
    if ((r->one_of == 0 && r->world == NULL) || (r->backend == STENCIL_BACKEND_GPU && gpus_are_quick))
        return true;
    if (r->backend == STENCIL_BACKEND_GPU && r->parts > SLOW_PARTS)
        return false;
    const char *strategy = stencil_strategy_at(r->strategy).name;
    draw_add(&names, "%s %s", strategy, stencil_sweep_infos[r->sweep].name);
    draw_add(&names, "%s %s", strategy,
             r->wait.fault.seed > 0          ? "late"
             : r->wait.fault.absent_step > 0 ? "absent"
             : r->wait.epoch > 0             ? "epoch"
             : r->pieces[0] > 0              ? "pieces"
                                             : "through");
    draw_add(&names, "%s %s", t->spec.stencil, stencil_precision_name(t->spec.precision));
    for (int i = 0; i < t->spec.rank; i++)
        draw_add(&names, "axis %d of %d %s", i, t->spec.rank, stencil_boundary_names[t->spec.boundary[i]]);
    if (r->parts > 0) {
        draw_add(&names, "%s halo %s %d", strategy, stencil_halo_names[r->halo], r->overlap);
        draw_add(&names, "%d parts %dx%dx%d of %d", r->parts, r->cut[0], r->cut[1], r->cut[2], t->spec.rank);
    }
    return draw_case(one_of, &names);
}

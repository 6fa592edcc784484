/* Resolves a problem as its author states it (stencil_spec) into one that a plan can be made for. */
#include "solver/problem/cycle.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"

/* The points of a problem while they are being decided: (z, y, x), with weights. */
typedef struct points {
    int count;
    int32_t offset[STENCIL_POINTS_MAX][3];
    double weight[STENCIL_POINTS_MAX];
} points;

/* Returns the index of a point among those decided; their count: none. */
static int points_find(const points *p, const int32_t offset[3]) {
    int k = 0;
    while (k < p->count && memcmp(p->offset[k], offset, sizeof p->offset[k]) != 0)
        k++;
    return k;
}

static stencil_status points_from_offsets(points *p, const stencil_spec *spec) {
    CHECK(spec->offset_count <= STENCIL_POINTS_MAX, BAD_DATA, "%d points: at most %d are possible",
          spec->offset_count, STENCIL_POINTS_MAX);
    CHECK(spec->weight_count == spec->offset_count, BAD_DATA,
          "/stencil/weights has length %d for %d offset%s: give one weight for each offset",
          spec->weight_count, spec->offset_count, stencil_plural(spec->offset_count));
    for (int k = 0; k < spec->offset_count; k++) {
        int32_t offset[3] = {0, 0, 0};
        for (int axis = STENCIL_AXES - spec->rank; axis < STENCIL_AXES; axis++)
            offset[axis] = spec->offset[k][stencil_list_index(spec->rank, axis)];
        char z[16] = "";
        if (spec->rank == 3)
            stencil_text_add(z, sizeof z, "%d, ", (int)offset[STENCIL_Z]);
        CHECK(points_find(p, offset) == p->count, BAD_DATA,
              "/stencil/offsets names the point (%s%d, %d) twice", z, (int)offset[STENCIL_Y],
              (int)offset[STENCIL_X]);
        memcpy(p->offset[k], offset, sizeof offset);
        p->weight[k] = spec->weight[k];
        p->count++;
    }
    return STENCIL_OK;
}

static stencil_status points_from_name(points *p, const stencil_spec *spec) {
    const stencil_shape *shape = stencil_shape_find(spec->stencil);
    CHECK(shape != NULL, BAD_DATA, "unknown stencil '%s': 'stencil info' lists the names", spec->stencil);
    CHECK(shape->rank == spec->rank, BAD_DATA, "stencil %s is for %dD fields, %s is %dD", shape->name,
          shape->rank, stencil_spec_field(spec), spec->rank);
    CHECK(spec->weight_count == 0 || spec->weight_count == shape->point_count, BAD_DATA,
          "stencil %s has %d points, but is given %d weight%s (/stencil/weights)", shape->name,
          shape->point_count, spec->weight_count, stencil_plural(spec->weight_count));
    p->count = stencil_shape_offsets(shape, p->offset);
    for (int k = 0; k < p->count; k++)
        p->weight[k] = spec->weight_count > 0 ? spec->weight[k] : 1.0 / shape->point_count;
    return STENCIL_OK;
}

static stencil_status check_spacing(const stencil_spec *spec) {
    CHECK(spec->spacing_count == 0 || spec->spacing_count == 1 || spec->spacing_count == spec->rank, BAD_DATA,
          "spacing has %d entries: give one for all axes or %d, one per axis", spec->spacing_count,
          spec->rank);
    for (int i = 0; i < spec->spacing_count; i++)
        CHECK(isfinite(spec->spacing[i]) && spec->spacing[i] > 0, BAD_DATA,
              "spacing[%d] is %g: it must be a positive number", i, spec->spacing[i]);
    return STENCIL_OK;
}

/* A number of steps that the library still counts exactly. */
static const double most_steps = 1e15;

/* Chooses dt so that equal steps, as long as stability allows, reach time_end. */
static stencil_status divide_time(stencil_spec *spec, double largest) {
    const double start = isnan(spec->time) ? 0.0 : spec->time, span = spec->time_end - start;
    double count = fmax(1.0, floor(span / largest));
    if (!(span > 0)) /* no step, or an error of stencil_problem_resolve_time() */
        return STENCIL_OK;
    CHECK(count < most_steps, BAD_DATA, "time_end is %g: that is more than %g steps of dt %.4g",
          spec->time_end, most_steps, largest);
    while (span / count > largest)
        count++;
    spec->dt = span / count;
    return STENCIL_OK;
}

/* Checks the diffusivity, and makes that of a problem without any 1. */
static stencil_status resolve_diffusivity(stencil_spec *spec) {
    CHECK(!spec->has_k || spec->diffusivity_count == 0, BAD_DATA,
          "both /k and diffusivity are given, and /k is the diffusivity of every cell: give one of them");
    if (spec->diffusivity_count == 0 && !spec->has_k) {
        spec->diffusivity_count = 1;
        spec->diffusivity[0] = 1.0;
    }
    CHECK(spec->diffusivity_count <= 1 || spec->diffusivity_count == spec->rank, BAD_DATA,
          "diffusivity has %d entries: give one for all axes or %d, one per axis", spec->diffusivity_count,
          spec->rank);
    for (int i = 0; i < spec->diffusivity_count; i++)
        CHECK(isfinite(spec->diffusivity[i]) && spec->diffusivity[i] > 0, BAD_DATA,
              "diffusivity is %g: it must be a positive number", spec->diffusivity[i]);
    return STENCIL_OK;
}

/* Explicit heat equation: fills centre and neighbour weights, decides dt. */
static stencil_status heat_weights(stencil_spec *spec, double *centre, double neighbour[3]) {
    TRY(resolve_diffusivity(spec));
    const double largest = stencil_spec_dt_largest(spec);
    if (isnan(largest)) /* until the cells of /k are read */
        return STENCIL_OK;
    if (isnan(spec->dt) && isfinite(spec->time_end))
        TRY(divide_time(spec, largest));
    if (isnan(spec->dt))
        spec->dt = largest;
    CHECK(isfinite(spec->dt) && spec->dt > 0, BAD_DATA, "dt is %g: it must be a positive number", spec->dt);
    CHECK(spec->dt <= largest, BAD_DATA, "dt = %s is unstable: the largest stable time step is %s",
          stencil_number_text(spec->dt, (char[STENCIL_NUMBER_CHARS]){""}),
          stencil_number_text(largest, (char[STENCIL_NUMBER_CHARS]){""}));
    double all = 0.0;
    for (int axis = STENCIL_AXES - spec->rank; axis < STENCIL_AXES; axis++) {
        const double h = stencil_spec_spacing(spec, axis);
        neighbour[axis] = stencil_spec_diffusivity(spec, axis) * spec->dt / (h * h);
        all += neighbour[axis];
    }
    *centre = 1.0 - 2.0 * all;
    for (int axis = 0; axis < STENCIL_AXES && spec->has_k; axis++) {
        neighbour[axis] = 1.0; /* less the weights of the faces, which are fields */
        *centre = 1.0;
    }
    return STENCIL_OK;
}

/* laplace, poisson and heat: the weights of the radius-1 star. */
static stencil_status points_from_kind(points *p, stencil_spec *spec, double *source_scale) {
    const stencil_shape *star =
        &stencil_shapes[spec->rank == 2 ? STENCIL_SHAPE_j2d5pt : STENCIL_SHAPE_j3d7pt];
    const char *name = stencil_kind_names[spec->kind];
    CHECK(spec->offset_count == 0 && spec->weight_count == 0, BAD_DATA,
          "problem %s derives its weights itself: remove /stencil, or give no problem", name);
    CHECK(spec->stencil[0] == '\0' || strcmp(spec->stencil, star->name) == 0, BAD_DATA,
          "problem %s runs on %s, not on stencil %s: give one of the two", name, star->name, spec->stencil);
    const double sum = stencil_spec_diagonal(spec);
    double centre = 0.0, neighbour[3] = {0, 0, 0};
    CHECK(isfinite(sum) && sum > 0, BAD_DATA, "spacing leads to weights that are no finite numbers");
    if (spec->kind == STENCIL_KIND_HEAT) {
        TRY(heat_weights(spec, &centre, neighbour));
        *source_scale = spec->dt;
    } else {
        if (isnan(spec->omega))
            spec->omega = 1.0;
        CHECK(isfinite(spec->omega) && spec->omega > 0, BAD_DATA, "omega is %g: it must be a positive number",
              spec->omega);
        centre = 1.0 - spec->omega;
        for (int axis = STENCIL_AXES - spec->rank; axis < STENCIL_AXES; axis++) {
            const double h = stencil_spec_spacing(spec, axis);
            neighbour[axis] = spec->has_k ? spec->omega : spec->omega / (h * h) / sum;
        }
        *source_scale = spec->omega / sum;
        if (spec->has_k && !isnan(spec->k.most))
            *source_scale /= spec->k.most;
    }
    p->count = stencil_shape_offsets(star, p->offset);
    for (int k = 0; k < p->count; k++) {
        p->weight[k] = centre;
        for (int axis = 0; axis < STENCIL_AXES; axis++)
            if (p->offset[k][axis] != 0)
                p->weight[k] = neighbour[axis];
    }
    return STENCIL_OK;
}

/* Finds the smallest compiled point set with all given points; its other points have the weight 0. */
static stencil_status choose_shape(stencil_problem *problem, const points *p) {
    problem->shape = NULL;
    for (int s = 0; s < STENCIL_SHAPE_COUNT; s++) {
        const stencil_shape *shape = &stencil_shapes[s];
        bool holds = shape->rank == problem->rank;
        for (int k = 0; k < p->count && holds; k++)
            holds = stencil_rule_contains(shape->rule, shape->radius, p->offset[k][0], p->offset[k][1],
                                          p->offset[k][2]);
        if (holds && (problem->shape == NULL || shape->point_count < problem->shape->point_count))
            problem->shape = shape;
    }
    CHECK(problem->shape != NULL, BAD_DATA,
          "the points of /stencil/offsets fit into none of the named sets: 'stencil info' lists them");
    int32_t offset[STENCIL_POINTS_MAX][3];
    const int count = stencil_shape_offsets(problem->shape, offset);
    for (int k = 0; k < count; k++) {
        const int given = points_find(p, offset[k]);
        problem->weight[k] = given < p->count ? p->weight[given] : 0.0;
    }
    return STENCIL_OK;
}

static stencil_status check_weights(const stencil_problem *problem, const points *p) {
    for (int k = 0; k < p->count; k++) {
        const double w = problem->precision == STENCIL_FLOAT32 ? (double)(float)p->weight[k] : p->weight[k];
        CHECK(isfinite(w), BAD_DATA, "weight %d (%g) is not a finite number in %s", k, p->weight[k],
              stencil_precision_name(problem->precision));
    }
    return STENCIL_OK;
}

/* Fails with "boundary_x- is 'flux': <what is wrong>". */
static stencil_status refuse_wall(const stencil_spec *spec, int axis, int side, const char *wrong) {
    FAIL(BAD_DATA, "boundary_%c%c is '%s': %s", "zyx"[axis], "-+"[side],
         stencil_wall_names[spec->wall[axis][side]], wrong);
}

/* Checks that a side has the numbers of its wall, and no others. */
static stencil_status check_wall(const stencil_spec *spec, int axis, int side) {
    const stencil_wall_kind wall = spec->wall[axis][side];
    const double flux = spec->flux[axis][side], exchange = spec->exchange[axis][side],
                 ambient = spec->ambient[axis][side];
    const char name[] = {"zyx"[axis], "-+"[side], '\0'};
    const bool flows = stencil_wall_has_flux(wall), exchanges = stencil_wall_exchanges(wall);
    CHECK(wall == STENCIL_WALL_NONE || axis >= STENCIL_AXES - spec->rank, BAD_DATA,
          "boundary_%s is given, but %s has no axis z", name, stencil_spec_field(spec));
    const bool *along = spec->along[axis][side];
    CHECK(flows || (isnan(flux) && !along[STENCIL_NUMBER_FLUX]), BAD_DATA,
          "flux_%s is given, which belongs to boundary_%s flux or flux-node", name, name);
    CHECK(exchanges || (isnan(exchange) && isnan(ambient) && !along[STENCIL_NUMBER_EXCHANGE] &&
                        !along[STENCIL_NUMBER_AMBIENT]),
          BAD_DATA, "%s_%s is given, which belongs to boundary_%s exchange or exchange-node",
          isnan(exchange) && !along[STENCIL_NUMBER_EXCHANGE] ? "ambient" : "exchange", name, name);
    for (int k = 0; k < STENCIL_NUMBER_COUNT; k++) {
        const double number[] = {flux, exchange, ambient};
        CHECK(!along[k] || isnan(number[k]), BAD_DATA,
              "%s_%s is given twice, as an attribute and as a dataset: give one of them",
              stencil_wall_number_names[k], name);
    }
    if (flows && !isfinite(flux) && !along[STENCIL_NUMBER_FLUX])
        return refuse_wall(spec, axis, side,
                           "give the slope of u along the outward normal, flux_x- and the like");
    if (exchanges && !((along[STENCIL_NUMBER_EXCHANGE] || (isfinite(exchange) && exchange > 0)) &&
                       (along[STENCIL_NUMBER_AMBIENT] || isfinite(ambient))))
        return refuse_wall(spec, axis, side,
                           "give exchange_x- (> 0) and ambient_x- and the like: the slope along the outward "
                           "normal is exchange (ambient - u)");
    return STENCIL_OK;
}

/* Resolves what lies beyond each side: a boundary for both, or a wall for each, which cells beside it make
 * on a mirrored axis. */
static stencil_status resolve_walls(stencil_problem *problem) {
    static const stencil_wall_kind same[STENCIL_BOUNDARY_COUNT] = {[STENCIL_FIXED] = STENCIL_WALL_FIXED,
                                                                   [STENCIL_PERIODIC] = STENCIL_WALL_PERIODIC,
                                                                   [STENCIL_MIRROR] = STENCIL_WALL_MIRROR};
    const stencil_spec *spec = &problem->spec;
    CHECK(spec->boundary_count == 0 || spec->boundary_count == 1 || spec->boundary_count == spec->rank,
          BAD_DATA, "boundary has %d entries: give one for all axes or %d, one per axis",
          spec->boundary_count, spec->rank);
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int i = stencil_list_index(spec->rank, axis);
        stencil_wall_kind *wall = problem->wall[axis];
        problem->boundary[axis] = STENCIL_FIXED;
        if (i >= 0 && spec->boundary_count > 0)
            problem->boundary[axis] = spec->boundary[spec->boundary_count == 1 ? 0 : i];
        for (int s = 0; s < 2; s++) {
            TRY(check_wall(spec, axis, s));
            wall[s] = spec->wall[axis][s] != STENCIL_WALL_NONE ? spec->wall[axis][s]
                                                               : same[problem->boundary[axis]];
        }
        for (int s = 0; s < 2; s++)
            if (wall[s] == STENCIL_WALL_PERIODIC && wall[!s] != STENCIL_WALL_PERIODIC)
                FAIL(BAD_DATA, "one side of %c is periodic, the other is %s: give both or none", "zyx"[axis],
                     stencil_wall_names[wall[!s]]);
        problem->boundary[axis] = STENCIL_MIRROR;
        /* With driven cells a step goes through the cells of fixed sides, too. */
        const bool drives = spec->driven_count > 0 && i >= 0 && wall[0] == STENCIL_WALL_FIXED;
        for (int b = drives ? STENCIL_BOUNDARY_COUNT : 0; b < STENCIL_BOUNDARY_COUNT; b++)
            if (wall[0] == wall[1] && wall[0] == same[b])
                problem->boundary[axis] = (stencil_boundary)b;
    }
    return STENCIL_OK;
}

/* Resolves the radius, updated cells and layout of a problem. */
static stencil_status resolve_extent(stencil_problem *problem, const points *p) {
    static const char *const axis_name[] = {"z", "y", "x"};
    const stencil_spec *spec = &problem->spec;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int i = stencil_list_index(spec->rank, axis);
        problem->extent[axis] = i < 0 ? 1 : spec->extent[i];
        problem->radius[axis] = 0;
        for (int k = 0; k < p->count; k++) {
            const int64_t reach = llabs((long long)p->offset[k][axis]);
            problem->radius[axis] = reach > problem->radius[axis] ? reach : problem->radius[axis];
        }
        const int64_t r = problem->radius[axis], width = 2 * r + 1;
        CHECK(problem->extent[axis] >= width, BAD_DATA,
              "%s has %" PRId64 " cell%s along %s, the stencil is %" PRId64 " wide: give at least as many",
              stencil_spec_field(&problem->spec), problem->extent[axis],
              stencil_plural(problem->extent[axis]), axis_name[axis], width);
        const bool fixed = problem->boundary[axis] == STENCIL_FIXED;
        problem->n[axis] = fixed ? problem->extent[axis] - 2 * r : problem->extent[axis];
        problem->first[axis] = fixed ? -r : 0;
    }
    const stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    return stencil_layout_init(&problem->layout, problem->precision, problem->n, mesh.ghosts);
}

static stencil_status resolve_stop(stencil_problem *problem) {
    stencil_spec *spec = &problem->spec;
    stencil_stop *stop = &problem->stop;
    CHECK(isnan(spec->rtol) || (spec->rtol >= 0 && spec->rtol < 1), BAD_DATA,
          "rtol is %g: it must be at least 0 and less than 1", spec->rtol);
    CHECK(isnan(spec->atol) || (isfinite(spec->atol) && spec->atol >= 0), BAD_DATA,
          "atol is %g: it must be a number that is not negative", spec->atol);
    CHECK(spec->check_every >= 0, BAD_DATA, "check_every is %" PRId64 ": it must be positive",
          spec->check_every);
    stop->rtol = spec->rtol;
    stop->atol = spec->atol;
    stop->norm = spec->norm;
    stop->steps_default = spec->steps < 0;
    stop->steps = spec->steps;
    if (stop->steps_default)
        stop->steps =
            isnan(spec->rtol) && isnan(spec->atol) ? STENCIL_STEPS_DEFAULT : STENCIL_STEPS_DEFAULT_CRITERION;
    stop->steps = stencil_cycle_end(problem, stop->steps);
    stop->check_every =
        stencil_cycle_end(problem, spec->check_every > 0 ? spec->check_every : STENCIL_CHECK_EVERY_DEFAULT);
    return STENCIL_OK;
}

/* FNV-1a (Fowler, Noll, Vo), 64 bits. */
static void mix(uint64_t *hash, const void *data, size_t size) {
    for (size_t i = 0; i < size; i++)
        *hash = (*hash ^ ((const unsigned char *)data)[i]) * UINT64_C(0x100000001b3);
}

uint64_t stencil_palette_hash(const double *weights, int64_t count) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    mix(&hash, weights, (size_t)count * sizeof *weights);
    return hash;
}

static void mix_walls(uint64_t *hash, const stencil_problem *problem) {
    for (int i = 2 * (STENCIL_AXES - problem->rank); i < 2 * STENCIL_AXES; i++) {
        const int axis = i / 2, s = i % 2;
        const stencil_spec *spec = &problem->spec;
        const int32_t wall = (int32_t)problem->wall[axis][s];
        const double number[] = {spec->flux[axis][s], spec->exchange[axis][s], spec->ambient[axis][s],
                                 stencil_spec_spacing(spec, axis)};
        if (!stencil_problem_wall_is_own(problem, axis, s))
            continue;
        mix(hash, &i, sizeof i);
        mix(hash, &wall, sizeof wall);
        mix(hash, number, sizeof number);
    }
}

/* Factors in time decide the bits of steps, too: by the tables, and by what they are factors of. */
static void mix_tables(uint64_t *hash, const stencil_spec *spec) {
    if (spec->source_count > 1)
        mix(hash, &spec->source_count, sizeof spec->source_count);
    if (spec->driven_count > 0) {
        mix(hash, "driven", sizeof "driven");
        mix(hash, &spec->driven_count, sizeof spec->driven_count);
    }
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++) {
        if (spec->table[k].count == 0)
            continue;
        mix(hash, &k, sizeof k);
        mix(hash, &spec->table[k].hash, sizeof spec->table[k].hash);
    }
}

/* Makes the hash of all that decides the bits of a step and of its residual. */
static void make_fingerprint(stencil_problem *problem) {
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    const double step[2] = {problem->spec.kind == STENCIL_KIND_HEAT ? problem->spec.dt : 0.0,
                            stencil_problem_has_source(problem) ? problem->source_scale : 0.0};
    const int32_t choice[] = {(int32_t)problem->precision,           (int32_t)problem->stop.norm,
                              (int32_t)problem->spec.source,         (int32_t)problem->boundary[STENCIL_Z],
                              (int32_t)problem->boundary[STENCIL_Y], (int32_t)problem->boundary[STENCIL_X]};
    mix(&hash, problem->shape->name, strlen(problem->shape->name));
    mix(&hash, problem->weight, (size_t)problem->shape->point_count * sizeof *problem->weight);
    mix(&hash, step, sizeof step);
    mix(&hash, problem->extent, sizeof problem->extent);
    if (problem->cycle.length > 1)
        mix(&hash, &problem->cycle.length, sizeof problem->cycle.length);
    mix(&hash, choice, sizeof choice);
    if (problem->spec.fixed)
        mix(&hash, "fixed", sizeof "fixed");
    if (problem->spec.insulated)
        mix(&hash, "insulated", sizeof "insulated");
    mix_walls(&hash, problem);
    const uint64_t along = stencil_spec_along_hash(&problem->spec);
    if (stencil_spec_has_arrays(&problem->spec))
        mix(&hash, &along, sizeof along);
    if (problem->coefficients != STENCIL_COEFFICIENTS_NONE)
        mix(&hash, problem->spec.k.digest, sizeof problem->spec.k.digest);
    if (problem->spec.classed)
        mix(&hash, &problem->spec.palette_hash, sizeof problem->spec.palette_hash);
    mix_tables(&hash, &problem->spec);
    snprintf(problem->fingerprint, sizeof problem->fingerprint, "%016" PRIx64, hash);
}

/* Takes over the steps recorded in the file, unless its fingerprint is that of another problem. */
static void resolve_origin(stencil_problem *problem) {
    const stencil_spec *spec = &problem->spec;
    stencil_origin *origin = &problem->origin;
    *origin = (stencil_origin){.residual_first = NAN,
                               .plain_from = -1,
                               .time_first = isnan(spec->time) ? 0.0 : spec->time,
                               .check_every = stencil_cycle_end(problem, spec->checked_every > 0
                                                                             ? spec->checked_every
                                                                             : STENCIL_CHECK_EVERY_DEFAULT)};
    origin->recounted = spec->steps_total > 0 && spec->fingerprint[0] != '\0' &&
                        strcmp(spec->fingerprint, problem->fingerprint) != 0;
    if (spec->steps_total <= 0 || origin->recounted)
        return;
    origin->steps = spec->steps_total;
    origin->residual_first = spec->residual_first;
    origin->plain_from = spec->plain_from;
    origin->time_first = isnan(spec->time_first) ? 0.0 : spec->time_first;
}

/* Checks that /class and rows of /stencil/weights come together. */
static stencil_status check_classes(const stencil_spec *spec) {
    CHECK(!spec->classed || spec->class_count > 0, BAD_DATA,
          "/class names rows of /stencil/weights, which %s: give weights [classes][points]%s",
          spec->weight_count > 0 ? "is a list" : "is not given",
          spec->kind != STENCIL_KIND_NONE ? ", and no problem" : "");
    CHECK(
        spec->classed || spec->class_count == 0, BAD_DATA,
        "/stencil/weights has %d row%s, one for each class of cells: give /class, the row of each cell, or a "
        "list of weights",
        spec->class_count, stencil_plural(spec->class_count));
    return STENCIL_OK;
}

/* Checks that a source which is scaled belongs to the problem that scales it. */
static stencil_status check_source(const stencil_spec *spec) {
    static const char *const meant[] = {
        [STENCIL_KIND_NONE] = "give the term that every step adds as /b",
        [STENCIL_KIND_LAPLACE] = "laplace has no source; give problem poisson, and its right-hand side as /f",
        [STENCIL_KIND_POISSON] = "give the right-hand side of poisson as /f",
        [STENCIL_KIND_HEAT] = "give the source of heat, a value per time, as /q",
    };
    CHECK(spec->source != STENCIL_SOURCE_F || spec->kind == STENCIL_KIND_POISSON, BAD_DATA,
          "/f is the right-hand side of problem poisson: %s", meant[spec->kind]);
    CHECK(spec->source != STENCIL_SOURCE_Q || spec->kind == STENCIL_KIND_HEAT, BAD_DATA,
          "/q is the source of problem heat: %s", meant[spec->kind]);
    return STENCIL_OK;
}

/* Checks that factors in time belong to a problem that has a time. */
static stencil_status check_tables(const stencil_spec *spec) {
    const bool relaxes = spec->kind == STENCIL_KIND_LAPLACE || spec->kind == STENCIL_KIND_POISSON;
    CHECK(!relaxes || (spec->source_count <= 1 && spec->driven_count == 0), BAD_DATA,
          "a sum of several arrays, or /fixed_value, is given: these are for problem heat and for weights of "
          "your own, not for %s",
          stencil_kind_names[spec->kind]);
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++)
        CHECK(spec->table[k].count == 0 || !relaxes, BAD_DATA,
              "a table of factors over time is given, but problem %s has no time: it is for problem heat and "
              "for weights of your own",
              stencil_kind_names[spec->kind]);
    return STENCIL_OK;
}

/* Relative excess of steps over the time that is left, since dt and times are rounded. */
static const double time_rounding = 1e-12;

stencil_status stencil_problem_resolve_time(stencil_problem *problem) {
    const stencil_spec *spec = &problem->spec;
    const double span = spec->time_end - problem->origin.time_first;
    if (spec->kind != STENCIL_KIND_HEAT || isnan(spec->time_end))
        return STENCIL_OK;
    if (spec->has_k && isnan(spec->k.most)) /* neither dt nor the steps of the file are known yet */
        return STENCIL_OK;
    CHECK(spec->steps < 0, BAD_DATA, "both steps and time_end are given: give one of them");
    CHECK(isfinite(spec->time_end), BAD_DATA, "time_end is %g: it must be a number", spec->time_end);
    CHECK(span >= 0, BAD_DATA, "time_end is %g, but the problem starts at time %g: give a later one",
          spec->time_end, problem->origin.time_first);
    double count = nearbyint(span / spec->dt);
    CHECK(count < most_steps, BAD_DATA, "time_end is %g: that is more than %g steps of dt %.4g",
          spec->time_end, most_steps, spec->dt);
    if (count * spec->dt > span * (1.0 + time_rounding))
        count--;
    problem->stop.steps = (int64_t)count;
    problem->stop.steps_default = false;
    return STENCIL_OK;
}

stencil_status stencil_problem_resolve(stencil_problem *problem, const stencil_spec *spec) {
    *problem = (stencil_problem){
        .spec = *spec, .rank = spec->rank, .precision = spec->precision, .source_scale = 1.0};
    CHECK(spec->rank == 2 || spec->rank == 3, BAD_DATA, "rank %d: fields have 2 or 3 axes", spec->rank);
    TRY(check_spacing(spec));
    TRY(resolve_walls(problem));
    points p = {0};
    if (spec->kind != STENCIL_KIND_NONE) {
        TRY(points_from_kind(&p, &problem->spec, &problem->source_scale));
    } else if (spec->offset_count > 0) {
        CHECK(spec->stencil[0] == '\0', BAD_DATA,
              "both a stencil name (%s) and /stencil/offsets are given: give one of the two", spec->stencil);
        TRY(points_from_offsets(&p, spec));
    } else {
        CHECK(spec->stencil[0] != '\0', BAD_DATA,
              "no stencil: give the attribute 'stencil' or 'problem', or the option --stencil or --problem");
        TRY(points_from_name(&p, spec));
    }
    TRY(check_source(spec));
    TRY(check_tables(spec));
    TRY(check_classes(spec));
    if (spec->source <= STENCIL_SOURCE_B)
        problem->source_scale = 1.0;
    problem->spec.has_k = spec->has_k && spec->kind != STENCIL_KIND_NONE;
    problem->coefficients = problem->spec.has_k ? STENCIL_COEFFICIENTS_FIELDS : STENCIL_COEFFICIENTS_NONE;
    TRY(choose_shape(problem, &p));
    TRY(check_weights(problem, &p));
    TRY(resolve_extent(problem, &p));
    TRY(stencil_cycle_resolve(problem));
    TRY(resolve_stop(problem));
    make_fingerprint(problem);
    resolve_origin(problem);
    return stencil_problem_resolve_time(problem);
}

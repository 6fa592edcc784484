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

void trial_set_cycle(trial *t, int length) {
    const int count = t->reference.point_count;
    t->cycle_length = length;
    for (int set = 0; set < length; set++) {
        for (int k = 0; k < count; k++)
            t->cycle[set].weight[k] = (2.0 * trial_random((uint64_t)set + 31, (uint64_t)k) - 1.0) / count;
        t->cycle[set].source_factor = 1.5 - trial_random(77, (uint64_t)set);
    }
}

bool trial_is_drawn(const trial *t, const trial_run *r) {
    draw_names names = {0};
    if (r->one_of == 0 || r->backend == STENCIL_BACKEND_GPU)
        return true;
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
    return draw_case(r->one_of, &names);
}

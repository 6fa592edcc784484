/* Benchmark `speed`, cases of bench/speed.def: the fastest sweeps beside published codes, the plain sweep
 * beside the copy of its field. Samples of a problem's cases alternate; all must have the plain sweep's bits.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "bench/benchmarks/trial.h"
#include "solver/plan/model.h"
#include "solver/plan/sweep.h"

enum {
    STEPS = 1000,       /* time steps in a sample on a GPU */
    SHORT_STEPS = 5000, /* time steps of a small field, whose launches and final check cost 30 to 200 steps */
    CPU_STEPS = 100,
    OWN_FIRST = 7000, /* first and last edge of those searched for the best size of a sweep, in 2D */
    OWN_LAST = 12000,
    SOLID_FIRST = 300, /* first and last edge of those searched in 3D */
    SOLID_LAST = 640,
    STRATEGIES = 3 /* most strategies of a case */
};

typedef struct speed_case {
    stencil_backend backend;
    stencil_shape_id shape;
    stencil_precision precision;
    int64_t extent[3]; /* (nz, ny, nx) or (ny, nx) */
    bool own;          /* also measured at the best edge of the sweep */
    int gpus;
    stencil_bar_unit unit;
    const char *sweep, *strategies[STRATEGIES], *best_by; /* sweep NULL: the plain sweep */
    /* Figures in `unit`; fractions of a copy (plain sweep) or of the plain sweep (other sweeps on a CPU). */
    double best, reach, aim;
} speed_case;

static const speed_case cases[] = {
/* clang-format off */
#define EXTENT(...) {__VA_ARGS__}
#define STENCIL_SPEED(backend, stencil, precision, extent, ...)                                              \
    {STENCIL_BACKEND_##backend, STENCIL_SHAPE_##stencil, STENCIL_##precision, EXTENT extent, __VA_ARGS__},
/* clang-format on */
#include "bench/speed.def"
};
enum { CASES = sizeof cases / sizeof *cases };

/* A case of speed.def at one size. */
typedef struct speed_place {
    const speed_case *of;
    int64_t extent[3]; /* in the array order of stencil_spec */
    bool done;
    stencil_bench_bar *bar;
} speed_place;

typedef struct speed {
    stencil_trial trial;    /* of the problem being measured */
    int place_count, first; /* number of sizes; first row of the problem */
    int64_t pass;           /* common multiple of the steps in a pass of all rows of the problem */
    speed_place place[2 * CASES * STENCIL_BENCH_EDGES_MAX];
} speed;

static const char *plain_sweep(void) {
    return stencil_sweep_infos[0].name;
}

static const char *sweep_of(const speed_case *c) {
    return c->sweep != NULL ? c->sweep : plain_sweep();
}

static int64_t steps_of(const speed_case *c) {
    return c->backend == STENCIL_BACKEND_CPU ? CPU_STEPS
           : c->unit == STENCIL_US_PER_STEP  ? SHORT_STEPS
                                             : STEPS;
}

static stencil_spec spec_of(const speed_case *c, const int64_t extent[3]) {
    const stencil_shape *shape = &stencil_shapes[c->shape];
    stencil_spec spec;
    stencil_spec_init(&spec);
    snprintf(spec.stencil, sizeof spec.stencil, "%s", shape->name);
    spec.rank = shape->rank;
    memcpy(spec.extent, extent, sizeof spec.extent);
    spec.precision = c->precision;
    spec.steps = spec.check_every = steps_of(c); /* the number of steps determines the depth of a pass */
    stencil_trial_weights(&spec);
    return spec;
}

static stencil_run_options options_of(const stencil_bench *b, const speed_case *c, const char *strategy) {
    return stencil_trial_options(b, strategy, sweep_of(c), c->gpus);
}

static void add_place(speed *s, const speed_case *c, const int64_t extent[3]) {
    speed_place *place = &s->place[s->place_count++];
    *place = (speed_place){.of = c};
    memcpy(place->extent, extent, (size_t)stencil_shapes[c->shape].rank * sizeof *extent);
}

/* Adds the sizes at which the options ask for a case: given by the options, or listed by the case. */
static void add_places(const stencil_bench *b, speed *s, const speed_case *c) {
    const stencil_bench_options *options = b->options;
    const stencil_spec *asked = &options->spec;
    const int rank = stencil_shapes[c->shape].rank;
    if (c->backend != options->backend || (asked->rank > 0 && asked->rank != rank) ||
        (options->one_precision && asked->precision != c->precision) ||
        (asked->stencil[0] != '\0' && strcmp(asked->stencil, stencil_shapes[c->shape].name) != 0) ||
        (options->sweep != NULL && strcmp(options->sweep, sweep_of(c)) != 0))
        return;
    const int edges = asked->rank == 0 ? options->edge_count : 0;
    for (int i = 0; i < (edges > 0 ? edges : 1); i++) {
        const int64_t edge = edges > 0 ? options->edge[i] : 0, extent[] = {edge, edge, edge};
        add_place(s, c, asked->rank > 0 ? asked->extent : edges > 0 ? extent : c->extent);
    }
    if (asked->rank > 0 || edges > 0 || !c->own)
        return;
    const stencil_spec spec = spec_of(c, c->extent);
    const stencil_run_options run = options_of(b, c, NULL);
    int64_t own[3];
    if (stencil_trial_own(&spec, &run, b->machine, rank == 2 ? OWN_FIRST : SOLID_FIRST,
                          rank == 2 ? OWN_LAST : SOLID_LAST, own))
        add_place(s, c, own);
}

static bool same_problem(const speed_place *a, const speed_place *b) {
    return a->of->shape == b->of->shape && a->of->precision == b->of->precision &&
           a->of->gpus == b->of->gpus && memcmp(a->extent, b->extent, sizeof a->extent) == 0;
}

/* Writes the name of a bar: "j2d5pt fp64 8192²", "j2d5pt fp32 300x200, 2 GPUs", "j3d7pt fp32 512³ stream". */
static void name_bar(const speed_place *place, char *text, size_t size) {
    const stencil_shape *shape = &stencil_shapes[place->of->shape];
    const int64_t *n = place->extent;
    const int x = shape->rank - 1;
    bool cube = true;
    text[0] = '\0';
    for (int axis = 0; axis < x; axis++)
        cube = cube && n[axis] == n[x];
    stencil_text_add(text, size, "%s fp%d %lld", shape->name,
                     8 * (int)stencil_precision_bytes(place->of->precision), (long long)n[x]);
    for (int axis = x - 1; axis >= 0 && !cube; axis--)
        stencil_text_add(text, size, "x%lld", (long long)n[axis]);
    stencil_text_add(text, size, "%s", !cube ? "" : x == 1 ? "²" : "³");
    if (place->of->gpus > 1)
        stencil_text_add(text, size, ", %d GPUs", place->of->gpus);
    if (place->of->sweep == NULL)
        stencil_text_add(text, size, " %s", plain_sweep());
}

/* Sets axis[] to cells along x, y, z (from *nx down in memory) and any GPUs; returns the number of axes. */
static int axes_of(const int64_t *nx, int rank, int gpus, stencil_bench_parameter *axis) {
    static const char *const names[] = {"nx", "ny", "nz"};
    for (int i = 0; i < rank; i++)
        axis[i] = (stencil_bench_parameter){.name = names[i], .number = nx[-i]};
    if (gpus > 0)
        axis[rank] = (stencil_bench_parameter){.name = "gpus", .number = gpus};
    return rank + (gpus > 0);
}

/* Returns `steps` rounded up to whole passes of the plan and, at a cost of at most a tenth more steps, of all
 * earlier rows. All rows of a problem make the same steps: the largest number that one of them asks for. */
static int64_t whole_passes(speed *s, const stencil_plan *plan, int64_t steps) {
    const int64_t checked = stencil_sweep_checked_most(plan, &s->trial.problem), left = steps - checked;
    int64_t common = s->pass;
    while (common % plan->depth != 0)
        common += s->pass;
    s->pass = stencil_round_up(left, common) - left <= steps / 10 ? common : plan->depth;
    return checked + stencil_round_up(left, s->pass);
}

/* Returns the name of a row without its problem: "pipeline/grid", or the way of copying. */
static const char *name_of(const speed *s, const stencil_bench_row *row) {
    return row->name + strlen(s->trial.of);
}

/* Adds a row to the problem unless the row exists; results of all rows are compared with the first row. */
static stencil_status add_row(stencil_bench *b, speed *s, const speed_case *c, const char *strategy) {
    stencil_trial *t = &s->trial;
    char name[sizeof b->result->row->name];
    stencil_plan plan = {0};
    snprintf(name, sizeof name, "%s/%s", sweep_of(c), strategy);
    for (int i = s->first; i < b->result->row_count; i++)
        if (strcmp(name_of(s, &b->result->row[i]), name) == 0)
            return STENCIL_OK;
    const stencil_run_options run = options_of(b, c, strategy);
    stencil_status status = stencil_plan_here(&plan, &t->problem, &run, &t->machine);
    if (status == STENCIL_OK && plan.depth == 1 && stencil_sweep_infos[plan.sweep].host->depth > 1)
        status = ERROR(UNAVAILABLE, "its passes have one step here");
    if (status == STENCIL_OK && plan.depth > 1)
        t->least = whole_passes(s, &plan, steps_of(c));
    return stencil_trial_add(b, t, &plan, "strategy", name,
                             status != STENCIL_OK ? stencil_error_last()->message : "");
}

/* Tells whether a row measures the sweep named `sweep`. */
static bool is_of(const speed *s, const stencil_bench_row *row, const char *sweep) {
    const char *name = name_of(s, row);
    const size_t length = strlen(sweep);
    return strncmp(name, sweep, length) == 0 && name[length] == '/';
}

/* Returns cells per second of the fastest row of a sweep and sets *best to the row number (-1: none
 * measured). loops: considers only rows of persistent loops. */
static double fastest(const stencil_bench *b, const speed *s, const char *sweep, bool loops, int *best) {
    double rate = NAN;
    *best = -1;
    for (int i = s->first; i < b->result->row_count; i++) {
        const stencil_bench_row *row = &b->result->row[i];
        if (is_of(s, row, sweep) && row->sample_count > 0 &&
            (!loops || stencil_trial_plan(b, i)->barrier != STENCIL_BARRIER_none) &&
            !(stencil_bench_rate(row, row->cells) <= rate)) {
            rate = stencil_bench_rate(row, row->cells);
            *best = i;
        }
    }
    return rate;
}

static void fill_bound(stencil_bench_bar *bar, stencil_trial *t, const stencil_plan *plan, double rate,
                       double copy) {
    stencil_calibration *c =
        plan->backend == STENCIL_BACKEND_GPU ? &t->machine.gpu_costs : &t->machine.cpu_costs;
    for (int loop = 0; loop < STENCIL_LOOP_COUNT; loop++)
        for (int distance = 0; distance < STENCIL_DISTANCES; distance++)
            c->bytes_per_s[loop][t->problem.rank - 2][distance] = copy;
    const stencil_bound bound = stencil_model_bound(plan, &t->problem, &t->machine);
    snprintf(bar->bound.resource, sizeof bar->bound.resource, "%s", stencil_resource_names[bound.least]);
    for (int r = 0; r < STENCIL_RESOURCE_COUNT; r++)
        bar->bound.used[r] = rate / stencil_bound_rate(&bound, (stencil_resource)r);
    if (plan->backend == STENCIL_BACKEND_CPU) /* the arithmetic peak of a CPU is unknown */
        bar->bound.used[STENCIL_RESOURCE_ARITHMETIC] = NAN;
}

/* Sets the figures to reach of a case: fractions of `copy` bytes per second for the plain sweep, of
 * `plain_rate` cells per second for other sweeps on a CPU, else the figures in speed.def. */
static void fill_figures(const speed_place *place, double copy, double plain_rate) {
    const speed_case *c = place->of;
    const double bytes = 2.0 * (double)stencil_precision_bytes(c->precision),
                 part = c->sweep == NULL                    ? 1e-9 * copy / bytes
                        : c->backend == STENCIL_BACKEND_CPU ? 1e-9 * plain_rate
                                                            : 1;
    place->bar->best_other = part * c->best;
    place->bar->reach = part * c->reach;
    place->bar->aim = part * c->aim;
}

/* Fills in the bar (comparison with published figures) of a case from the rows of its problem. */
static void fill_bar(const stencil_bench *b, speed *s, const speed_place *place, double copy) {
    const speed_case *c = place->of;
    int best, other;
    stencil_trial *t = &s->trial;
    const double rate = fastest(b, s, sweep_of(c), false, &best),
                 cells = (double)stencil_problem_cells(&t->problem);
    const double plain_rate = fastest(b, s, plain_sweep(), false, &other),
                 loop_rate = fastest(b, s, sweep_of(c), true, &other);
    const bool us = c->unit == STENCIL_US_PER_STEP;
    stencil_bench_bar *bar = place->bar;
    fill_figures(place, copy, plain_rate);
    bar->measured = us ? 1e6 * cells / rate : 1e-9 * rate;
    bar->plain = us ? 1e6 * cells / plain_rate : 1e-9 * plain_rate;
    bar->loop = us ? 1e6 * cells / loop_rate : 1e-9 * loop_rate;
    if (best < 0) {
        for (int i = s->first; i < b->result->row_count; i++)
            if (is_of(s, &b->result->row[i], sweep_of(c)))
                snprintf(bar->skipped, sizeof bar->skipped, "%s", b->result->row[i].skipped);
        return;
    }
    const stencil_bench_row *row = &b->result->row[best];
    const stencil_plan *plan = stencil_trial_plan(b, best);
    snprintf(bar->sweep, sizeof bar->sweep, "%s", sweep_of(c));
    snprintf(bar->strategy, sizeof bar->strategy, "%s", stencil_strategy_at(plan->strategy).name);
    bar->depth = plan->depth;
    bar->steps = row->iterations;
    bar->samples = row->sample_count;
    bar->noisy = row->noisy;
    fill_bound(bar, t, plan, rate, copy);
}

/* Tells whether the problem is valid and there are enough GPUs; else writes the reason to its cases. */
static bool can_be(const stencil_bench *b, speed *s, const speed_place *at, const stencil_spec *spec) {
    stencil_problem problem = {0};
    stencil_status status = stencil_problem_resolve(&problem, spec);
    if (b->options->backend == STENCIL_BACKEND_GPU && at->of->gpus > b->options->gpu_count)
        status = ERROR(UNAVAILABLE, "it takes %d GPUs", at->of->gpus);
    const bool can = status == STENCIL_OK;
    stencil_problem_destroy(&problem);
    for (int i = 0; i < s->place_count && !can; i++)
        if (same_problem(at, &s->place[i])) {
            fill_figures(&s->place[i], NAN, NAN);
            char *why = s->place[i].bar->skipped;
            snprintf(why, sizeof s->place[i].bar->skipped, "%.190s", stencil_error_last()->message);
            s->place[i].done = true;
        }
    return can;
}

/* Measures all cases that share the problem and size of `at`. */
static stencil_status measure_problem(stencil_bench *b, speed *s, const speed_place *at) {
    stencil_trial *t = &s->trial;
    speed_case plain = *at->of;
    plain.sweep = NULL;
    const stencil_spec spec = spec_of(at->of, at->extent);
    *t = (stencil_trial){.tries = 10, .least = steps_of(at->of)};
    s->first = b->result->row_count;
    s->pass = 1;
    if (!can_be(b, s, at, &spec))
        return STENCIL_OK;
    TRY(stencil_trial_create(b, t, &spec));
    snprintf(t->of, sizeof t->of, "%s f%d ", t->problem.shape->name,
             8 * (int)stencil_precision_bytes(t->problem.precision));
    axes_of(&t->problem.extent[STENCIL_X], spec.rank, 0, t->axis);
    TRY(stencil_ceiling_add_rows(&(stencil_ceiling){.bytes = t->bytes, .trial = t}, b));
    t->sample_s = -1; /* rows after the copies use steps_of() and have an axis for GPUs */
    axes_of(&t->problem.extent[STENCIL_X], spec.rank, options_of(b, &plain, NULL).gpu_count, t->axis);
    TRY(add_row(b, s, &plain, plain.gpus > 1 ? "multi-grid" : "relaunch"));
    for (int i = 0; i < s->place_count; i++)
        for (int k = 0; k < STRATEGIES && s->place[i].of->strategies[k] != NULL; k++)
            if (same_problem(at, &s->place[i]))
                TRY(add_row(b, s, s->place[i].of, s->place[i].of->strategies[k]));
    t->spoiled = b->options->inject_fault ? b->result->row_count : 0;
    TRY(stencil_bench_take(b));
    const double copy = stencil_bench_best_copy(b->result, s->first);
    for (int i = 0; i < s->place_count; i++)
        if (same_problem(at, &s->place[i])) {
            fill_bar(b, s, &s->place[i], copy);
            s->place[i].done = true;
        }
    return STENCIL_OK;
}

stencil_status stencil_measure_speed(stencil_bench *b) {
    stencil_bench_result *result = b->result;
    speed *s;
    TRY(stencil_bench_memory(b, &s, sizeof *s));
    b->own = s;
    for (int i = 0; i < CASES; i++)
        add_places(b, s, &cases[i]);
    if (s->place_count == 0)
        return stencil_bench_skip(result, "no case has this sweep, stencil and size");
    result->bar = calloc((size_t)s->place_count, sizeof *result->bar);
    CHECK(result->bar != NULL, NO_MEMORY, "no memory for the results of %s", result->benchmark);
    for (int i = 0; i < s->place_count; i++) {
        stencil_bench_bar *bar = s->place[i].bar = &result->bar[result->bar_count++];
        const speed_case *c = s->place[i].of;
        *bar = (stencil_bench_bar){.unit = c->unit, .bound.used = {NAN, NAN, NAN}};
        bar->best_other = bar->reach = bar->aim = bar->measured = bar->plain = bar->loop = NAN;
        name_bar(&s->place[i], bar->name, sizeof bar->name);
        const int rank = stencil_shapes[c->shape].rank;
        bar->axis_count =
            axes_of(&s->place[i].extent[rank - 1], rank, options_of(b, c, NULL).gpu_count, bar->axis);
        snprintf(bar->best_by, sizeof bar->best_by, "%s", c->best_by);
    }
    for (int i = 0; i < s->place_count; i++)
        if (!s->place[i].done) {
            const stencil_status status = measure_problem(b, s, &s->place[i]);
            stencil_trial_release(&s->trial);
            for (int k = i; status == STENCIL_INTERRUPTED && k < s->place_count; k++)
                if (!s->place[k].done)
                    snprintf(s->place[k].bar->skipped, sizeof s->place[k].bar->skipped,
                             STENCIL_BENCH_NOT_REACHED);
            TRY(status);
        }
    stencil_bench_note(
        b, b->options->backend == STENCIL_BACKEND_GPU
               ? "Best others: published codes, each at its best setting, on one NVIDIA H200, or the "
                 "copy of the same field here."
               : "Best others: the plain sweep, or the copy, of the same field here.");
    stencil_bench_note(b, "Used: of what the resource that bounds the sweep allows: memory, as the copy "
                          "moves it, shared memory, or fma.");
    stencil_bench_note(b, "Loop: of what was measured, what a persistent loop reaches.");
    stencil_bench_note(
        b, "Random data and weights. Verified: every sample gave the bits of the plain sweep, field "
           "and residual; its last step is checked.");
    return STENCIL_OK;
}

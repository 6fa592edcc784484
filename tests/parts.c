/* Runs in several parts give the bits of the plain reference, as one part does.
 *
 *   test_parts cpu|gpu [GPUS [PATTERN [REPEATS]]]
 *   mpirun -np N test_ranks cpu|gpu [GPUS [PATTERN]]
 *
 * test_ranks: each part is in a process of its own, N in all, whatever the cases say.
 * GPUS: how many GPUs take part, 1 (default), 2, 3, 4, …; with 1 all parts share it. Every strategy that runs
 * on several parts, with every way to exchange halos that it has × sweeps × point sets × precisions ×
 * boundaries × cuts: along the slowest axis, along each other one, along two; uneven ones, and parts as thin
 * as the points reach. Then the same under stress: parts that come late, that stop (REPEATS runs, 20),
 * counters that wrap around. */
#include <fnmatch.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "draw.h"
#include "kernels/sweeps/stream.h"
#include "parts.h"
#include "parts_world.h"
#include "solver/device/mapping.h"
#include "solver/plan/sweep.h"

enum { MATRIX_STEPS = 7 };

parts_tests here;

static const division divisions2[] = {{2, {0, 0, 0}}, {3, {1, 3, 1}}, {4, {0, 0, 0}}, {8, {1, 8, 1}},
                                      {3, {1, 1, 3}}, {4, {1, 2, 2}}, {6, {1, 3, 2}}};
static const division divisions3[] = {{2, {0, 0, 0}}, {3, {3, 1, 1}}, {4, {0, 0, 0}}, {8, {8, 1, 1}},
                                      {3, {1, 3, 1}}, {4, {2, 2, 1}}, {4, {2, 1, 2}}, {6, {1, 3, 2}},
                                      {3, {1, 1, 3}}, {2, {1, 2, 1}}};

const exchange exchanges[EXCHANGES] = {{STENCIL_HALO_AUTO, false},
                                       {STENCIL_HALO_STORE, false},
                                       {STENCIL_HALO_COPY, false},
                                       {STENCIL_HALO_COPY, true}};

typedef struct subject {
    const stencil_shape *shape;
    stencil_precision precision;
} subject;

bool spans(int strategy) {
    const stencil_strategy_info info = stencil_strategy_at(strategy);
    const bool several = info.spans || strcmp(info.name, "grid") == 0,
               gpu = here.backend == STENCIL_BACKEND_GPU,
               loops = several && info.barrier != STENCIL_BARRIER_none;
    if (here.world != NULL && gpu && info.sends)
        return true;
    return (here.world == NULL ? several : !gpu || (here.reach && loops)) &&
           stencil_strategy_unavailable(strategy, here.backend, &here.machine)[0] == '\0';
}

bool exchanges_so(int strategy, int e) {
    const stencil_strategy_info info = stencil_strategy_at(strategy);
    if (here.world != NULL && !here.reach)
        return e == 0;
    return e == 0 ||
           (exchanges[e].halo == STENCIL_HALO_COPY ? info.copies && here.world == NULL
                                                   : info.ll && here.backend == STENCIL_BACKEND_GPU);
}

/* Makes a run one of all ranks, whose cuts take turns: along the slowest axis, along another one, along two.
 */
static void share_among_ranks(trial_run *r, int turn, bool solid) {
    static const int cuts2[][3] = {{0},       {1, 2, 1}, {1, 1, 2}, {0},       {1, 3, 1}, {1, 1, 3},
                                   {1, 2, 2}, {1, 4, 1}, {1, 8, 1}, {1, 4, 2}, {1, 2, 4}};
    static const int cuts3[][3] = {{2, 1, 1}, {3, 1, 1}, {4, 1, 1}, {2, 2, 1},
                                   {2, 1, 2}, {2, 4, 1}, {2, 2, 2}};
    const int all2 = sizeof cuts2 / sizeof *cuts2, all3 = solid ? sizeof cuts3 / sizeof *cuts3 : 0;
    const int *cut = cuts2[0];
    for (int k = 0; k < all2 + all3; k++) {
        const int at = (turn + k) % (all2 + all3), *next = at < all2 ? cuts2[at] : cuts3[at - all2];
        if (next[0] == 0 || next[0] * next[1] * next[2] == here.world->ranks) {
            cut = next;
            break;
        }
    }
    memcpy(r->cut, cut, sizeof r->cut);
    r->world = here.world;
    r->parts = here.world->ranks;
    r->threads = 1 + turn / 2 % 2;
    const bool loops =
        here.reach && stencil_strategy_at(r->strategy).barrier != STENCIL_BARRIER_none; /* across ranks */
    r->halo = loops ? r->halo : STENCIL_HALO_AUTO;
    r->overlap = turn % 3 == 1 && r->parts > 1 && !loops;
    r->ranks_reach = here.reach;
    for (int rank = 0; rank < r->parts; rank++)
        r->gpu[rank] = rank * here.gpus / r->parts;
}

trial_run run_of(int strategy, const division *d, const exchange *e, int64_t steps) {
    static const int threads[] = {2, 4, 3, 1, 5};
    const int turn = here.turn++;
    trial_run r = {.machine = &here.machine,
                   .backend = here.backend,
                   .strategy = strategy,
                   .threads = threads[turn % 5],
                   .sweep = here.sweep,
                   .depth = here.depth,
                   .small = turn / 2 % 2 == 1 && here.depth == 0,
                   .tries = turn / 4 % 2 == 1,
                   .parts = d->parts,
                   .cut = {d->cut[0], d->cut[1], d->cut[2]},
                   .halo = e->halo,
                   .overlap = e->overlap,
                   .steps = steps,
                   .check_every = turn % 3 == 0 ? 1 : 3,
                   .norm = turn % 2 == 0 ? STENCIL_NORM_L2 : STENCIL_NORM_MAX,
                   .rtol = NAN,
                   .atol = NAN};
    if (here.backend == STENCIL_BACKEND_GPU)
        r.wait.timeout_s = 2; /* nobody is late by that much */
    for (int p = 0; p < d->parts; p++)
        r.gpu[p] = p % here.gpus;
    if (here.world != NULL)
        share_among_ranks(&r, turn, d->cut[0]);
    here.runs++;
    return r;
}

/* A trial with every exchange that a strategy has with a sweep, the divisions round-robin. */
static void run_with(const trial *t, trace *trace, int strategy, int sweep) {
    const bool flat = t->spec.rank == 2;
    const int divisions =
        (int)(flat ? sizeof divisions2 / sizeof *divisions2 : sizeof divisions3 / sizeof *divisions3);
    for (int e = 0; e < EXCHANGES; e++) {
        if (!exchanges_so(strategy, e) || (sweep > 0 && exchanges[e].halo == STENCIL_HALO_STORE))
            continue;
        const division *d = (flat ? divisions2 : divisions3) + here.turn % divisions;
        trial_run r = run_of(strategy, d, &exchanges[e], MATRIX_STEPS - here.turn % 2);
        r.sweep = sweep;
        r.one_of = 8;
        if (stencil_sweep_infos[sweep].host->depth > 1) {
            static const int depth[] = {2, 3, 7, 4, 64};
            r.depth = depth[here.turn % 5];
            r.check_every = here.turn % 2 == 0 ? 100 : r.check_every;
            r.overlap = r.overlap && (here.world == NULL || here.backend == STENCIL_BACKEND_CPU);
        }
        trial_expect(t, trace, &r);
    }
}

/* With every strategy and sweep. */
static void run_trial(const trial *t) {
    trace trace;
    trace_begin(&trace, t, MATRIX_STEPS);
    for (int sweep = 0; stencil_sweep_infos[sweep].name != NULL; sweep++)
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
            if (spans(strategy) && trial_has_sweep(t, here.backend, sweep))
                run_with(t, &trace, strategy, sweep);
    trace_destroy(&trace);
}

static void matrix(void **state) {
    static const stencil_boundary boundary[][3] = {
        {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
        {STENCIL_PERIODIC, STENCIL_PERIODIC, STENCIL_PERIODIC},
        {STENCIL_MIRROR, STENCIL_MIRROR, STENCIL_MIRROR},
        {STENCIL_MIRROR, STENCIL_FIXED, STENCIL_PERIODIC},
        {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_MIRROR},
        {STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_FIXED},
    };
    const subject *s = *state;
    const int r = s->shape->radius;
    for (size_t b = 0; b < sizeof boundary / sizeof *boundary; b++)
        for (int given = 0; given < 2; given++) {
            /* Sizes that no number of parts divides; the second as thin as eight parts can be, ghost cells
             * included. On a GPU two or three parts have room for the strips of deep passes.
             */
            const bool flat = s->shape->rank == 2, wide = flat && here.backend == STENCIL_BACKEND_GPU;
            const int64_t thin = 8 * r + 2 * r;
            const int64_t extent[3] = {flat    ? 1
                                       : given ? thin
                                               : 8 * r + 11,
                                       flat && given ? thin : 8 * r + 13, wide ? 1841 : 211};
            double weight[STENCIL_POINTS_MAX];
            trial t;
            for (int k = 0; k < s->shape->point_count; k++)
                weight[k] = (2.0 * trial_random((uint64_t)s->shape->id + 7, (uint64_t)k) - 1.0) /
                            s->shape->point_count;
            trial_init(&t, s->precision, s->shape->rank, extent, boundary[b]);
            trial_set_shape(&t, s->shape, given ? weight : NULL);
            trial_fill(&t, b + 10 * (size_t)given, 1.0, given ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
            if (given && b % 2 == 1)
                trial_set_cycle(&t, 3);
            run_trial(&t);
            trial_destroy(&t);
        }
}

/* Cells along x of a field of several kinds of cells: on a GPU two or three parts of it have room for the
 * strips of deep passes. */
static int64_t width_of(const stencil_shape *shape) {
    return shape->rank == 2 && here.backend == STENCIL_BACKEND_GPU ? 1841 : 211;
}

/* Cells of /fixed anywhere, in parts that recompute each other's: each pattern on some point sets. */
static void fixed_cells(void **state) {
    static const stencil_boundary boundary[][3] = {{STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
                                                   {STENCIL_PERIODIC, STENCIL_PERIODIC, STENCIL_PERIODIC},
                                                   {STENCIL_MIRROR, STENCIL_FIXED, STENCIL_PERIODIC}};
    const subject *s = *state;
    for (int k = 0; k < 2 * TRIAL_PATTERNS; k++) {
        const stencil_shape *shape =
            &stencil_shapes[(3 * k + (s->precision == STENCIL_FLOAT64)) % STENCIL_SHAPE_COUNT];
        const int r = shape->radius;
        const int64_t extent[3] = {shape->rank == 2 ? 1 : 8 * r + 11, 8 * r + 21, width_of(shape)};
        trial t;
        trial_init(&t, s->precision, shape->rank, extent, boundary[k % 3]);
        trial_set_shape(&t, shape, NULL);
        trial_fill(&t, (uint64_t)k, 1.0, k % 3 == 0 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
        trial_fix(&t, (uint64_t)k, (trial_pattern)(k % TRIAL_PATTERNS));
        run_trial(&t);
        trial_destroy(&t);
    }
}

/* Cells of /class, some of them fixed, in parts that recompute each other's. */
static void class_cells(void **state) {
    static const stencil_boundary boundary[][3] = {{STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_PERIODIC},
                                                   {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED}};
    const subject *s = *state;
    for (int k = 0; k < 2 * TRIAL_PATTERNS; k++) {
        const stencil_shape *shape =
            &stencil_shapes[(3 * k + (s->precision == STENCIL_FLOAT32)) % STENCIL_SHAPE_COUNT];
        const int r = shape->radius;
        const int64_t extent[3] = {shape->rank == 2 ? 1 : 8 * r + 11, 8 * r + 21, width_of(shape)};
        const double none[STENCIL_POINTS_MAX] = {0};
        trial t;
        trial_init(&t, s->precision, shape->rank, extent, boundary[k % 2]);
        trial_set_shape(&t, shape, none);
        trial_set_rows(&t, 3 + 40 * (k % 2), (uint64_t)k);
        trial_fill(&t, (uint64_t)k, 1.0, k % 3 == 0 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
        trial_class(&t, (uint64_t)k, (trial_pattern)(k % TRIAL_PATTERNS));
        if (k % 3 == 1)
            trial_fix(&t, (uint64_t)k, TRIAL_SINGLE);
        run_trial(&t);
        trial_destroy(&t);
    }
}

/* Walls of all kinds, and insulated cells, in parts that recompute each other's. */
static void walls(void **state) {
    static const stencil_boundary boundary[][3] = {{STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_PERIODIC},
                                                   {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED}};
    const subject *s = *state;
    for (int k = 0; k < 8; k++) {
        const stencil_shape *shape =
            &stencil_shapes[(3 * k + (s->precision == STENCIL_FLOAT32)) % STENCIL_SHAPE_COUNT];
        const int r = shape->radius;
        const int64_t extent[3] = {shape->rank == 2 ? 1 : 8 * r + 11, 8 * r + 21, width_of(shape)};
        trial t;
        trial_init(&t, s->precision, shape->rank, extent, boundary[k % 2]);
        trial_set_shape(&t, shape, NULL);
        trial_set_walls(&t, (uint64_t)(5 * k), false);
        trial_fill(&t, (uint64_t)k, 1.0, k % 3 == 0 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
        if (k % 3 == 1)
            trial_fix(&t, (uint64_t)k, TRIAL_SINGLE);
        trial_insulate(&t, (uint64_t)k, TRIAL_BLOBS,
                       r == 1 && (shape->rank == 2 || shape->rule == STENCIL_STAR));
        run_trial(&t);
        trial_destroy(&t);
    }
}

/* More rows of weights than bytes name, of given rows or around insulated cells, in parts that recompute each
 * other's. */
static void wide_rows(void **state) {
    static const stencil_boundary boundary[][3] = {{STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_PERIODIC},
                                                   {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED}};
    const subject *s = *state;
    for (int k = 0; k < 6; k++) {
        const stencil_shape *shape =
            &stencil_shapes[(3 * k + (s->precision == STENCIL_FLOAT32)) % STENCIL_SHAPE_COUNT];
        const int r = shape->radius;
        const bool few = r == 1 || (shape->rank == 2 && shape->rule == STENCIL_STAR),
                   given = few || k % 2 == 1;
        const int64_t extent[3] = {shape->rank == 2 ? 1 : 8 * r + 11, shape->rank == 2 ? 61 : 8 * r + 21,
                                   width_of(shape)};
        const double none[STENCIL_POINTS_MAX] = {0};
        trial t;
        trial_init(&t, s->precision, shape->rank, extent, boundary[k % 2]);
        trial_set_shape(&t, shape, given ? none : NULL);
        if (given)
            trial_set_rows(&t, STENCIL_ROWS_MAX, (uint64_t)k);
        trial_fill(&t, (uint64_t)k, 1.0, k % 3 == 0 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
        if (given)
            trial_class(&t, (uint64_t)k, k % 4 == 1 ? TRIAL_OUTSIDE : TRIAL_SINGLE);
        if (k % 3 == 1)
            trial_fix(&t, (uint64_t)k, TRIAL_SINGLE);
        trial_insulate(&t, (uint64_t)k, given ? TRIAL_SINGLE : TRIAL_DENSE, k != 5);
        assert_true(trial_has_wide_rows(&t));
        run_trial(&t);
        trial_destroy(&t);
    }
}

/* Sums of arrays whose factors change in time, driven cells, and a single source that passes carry, in parts.
 */
static void sums_in_time(void **state) {
    static const stencil_boundary boundary[][3] = {{STENCIL_PERIODIC, STENCIL_FIXED, STENCIL_PERIODIC},
                                                   {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
                                                   {STENCIL_MIRROR, STENCIL_PERIODIC, STENCIL_MIRROR}};
    const subject *s = *state;
    for (int k = 0; k < 9; k++) {
        const stencil_shape *shape =
            &stencil_shapes[(3 * k + (s->precision == STENCIL_FLOAT32)) % STENCIL_SHAPE_COUNT];
        const int r = shape->radius, sources = k % 3 == 0 ? 1 : k % 4, driven = k % 3 == 0 ? 0 : 1 + k % 3;
        const int64_t extent[3] = {shape->rank == 2 ? 1 : 8 * r + 11, 8 * r + 21, 211};
        trial t;
        trial_init(&t, s->precision, shape->rank, extent, boundary[k % 3]);
        trial_set_shape(&t, shape, NULL);
        trial_set_sums(&t, (uint64_t)k, sources, driven, MATRIX_STEPS);
        trial_fill(&t, (uint64_t)k, 1.0, sources > 0 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
        if (k % 3 != 0)
            trial_fix(&t, (uint64_t)k, (trial_pattern)(k % TRIAL_PATTERNS));
        trial_sum(&t, (uint64_t)k);
        if (driven > 0)
            trial_insulate(&t, (uint64_t)k, TRIAL_BLOBS, false);
        run_trial(&t);
        trial_destroy(&t);
    }
}

/* Coefficients of cells, as fields and as rows, in parts that recompute each other's. */
static void coefficients(void **state) {
    static const stencil_boundary boundary[][3] = {{STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_PERIODIC},
                                                   {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
                                                   {STENCIL_MIRROR, STENCIL_PERIODIC, STENCIL_MIRROR}};
    const subject *s = *state;
    for (int k = 0; k < 6; k++) {
        const int rank = 2 + k / 2 % 2;
        const int64_t extent[3] = {rank == 2 ? 1 : 19, 29, 211};
        trial t;
        trial_init(&t, s->precision, rank, extent, boundary[k % 3]);
        t.spec.kind = k % 2 == 0 ? STENCIL_KIND_HEAT : STENCIL_KIND_POISSON;
        t.spec.dt = k % 2 == 0 ? 0.01 : NAN;
        trial_set_k(&t);
        if (k % 3 == 1)
            trial_set_walls(&t, (uint64_t)(5 * k), k == 4);
        trial_fill(&t, (uint64_t)k, 1.0, k % 2 == 0 ? STENCIL_SOURCE_Q : STENCIL_SOURCE_F);
        trial_insulate(&t, (uint64_t)k, TRIAL_BLOBS, k % 3 == 1);
        run_trial(&t);
        trial_destroy(&t);
    }
}

/* More partial sums than a group holds, so that parts combine values for each other, some of two parts; stops
 * midway.
 */
static void large_residual(void **state) {
    static const stencil_boundary boundary[3] = {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_FIXED};
    const subject *s = *state;
    for (int rank = 2; rank <= 3; rank++) {
        const int64_t extent[3] = {rank == 2 ? 1 : 17, rank == 2 ? 67 : 19, rank == 2 ? 3001 : 301};
        trial t;
        trace trace;
        trial_init(&t, s->precision, rank, extent, boundary);
        trial_set_shape(&t, stencil_shape_find(rank == 2 ? "j2d5pt" : "j3d7pt"), NULL);
        trial_fill(&t, 5, 1.0, STENCIL_SOURCE_NONE);
        trace_make(&trace, &t, 30);
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
            for (int k = 0; k < 8 && spans(strategy); k++) {
                const division *d = rank == 2 ? &divisions2[k % 7] : &divisions3[k];
                const exchange *e = &exchanges[exchanges_so(strategy, k % EXCHANGES) ? k % EXCHANGES : 0];
                trial_run r = run_of(strategy, d, e, 30);
                r.check_every = 1 + k % 3;
                r.one_of = 4;
                r.wait.steps_per_launch = k % 2 == 0 ? 0 : 4;
                r.atol = k < 4 ? NAN : trace.residual[r.norm][18];
                r.rtol = k < 6 ? NAN : trace.residual[r.norm][15] / trace.residual[r.norm][1];
                trial_expect(&t, &trace, &r);
            }
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

/* Parts as wide as the strips of a GPU's passes of several steps, and in 3D of one tile or several: with
 * ghost cells of others on each side. */
static void wide_parts(void **state) {
    static const stencil_boundary boundary[][3] = {{STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
                                                   {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_FIXED},
                                                   {STENCIL_FIXED, STENCIL_FIXED, STENCIL_PERIODIC},
                                                   {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_PERIODIC}};
    static const int64_t every[] = {100, 7, 10};
    const subject *s = *state;
    for (int b = 0; b < 8; b++) {
        const bool flat = b < 4;
        const int64_t flat_extent[3] = {1, 83 + b, 2803 - 2 * b},
                      solid_extent[3] = {35 - b, 51 + 3 * b, 203 - 9 * b};
        trial t;
        trace trace;
        trial_init(&t, s->precision, flat ? 2 : 3, flat ? flat_extent : solid_extent, boundary[b % 4]);
        trial_set_shape(&t, &stencil_shapes[(b + here.turn) % 5 + (flat ? 0 : 5)], NULL);
        trial_fill(&t, (uint64_t)b, 1.0, STENCIL_SOURCE_NONE);
        trace_begin(&trace, &t, 30);
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
            for (int k = 0; k < 3 && spans(strategy); k++) {
                static const int depth[] = {64, 3, 5, 2};
                const division *d = flat ? &divisions2[here.turn % 7] : &divisions3[here.turn % 10];
                trial_run r = run_of(strategy, d, &exchanges[0], 30 - here.turn % 5);
                r.sweep = STENCIL_SWEEP_pipeline;
                r.depth = depth[here.turn % 4];
                r.check_every = every[k];
                r.one_of = 4;
                r.wait.steps_per_launch = here.turn % 3 == 0 ? 11 : 0;
                trial_expect(&t, &trace, &r);
            }
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

/* Streams of a GPU so long that they are made with partial sums, with parts beyond each side. */
static void long_streams(void **state) {
    enum { STEPS = 3 };
    static const division some[] = {{2, {0, 0, 0}}, {2, {1, 1, 2}}, {4, {1, 2, 2}},
                                    {2, {1, 2, 1}}, {4, {2, 2, 1}}, {4, {2, 1, 2}}};
    static const stencil_boundary boundary[][3] = {{STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
                                                   {STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_PERIODIC},
                                                   {STENCIL_MIRROR, STENCIL_PERIODIC, STENCIL_MIRROR}};
    const subject *s = *state;
    const int f64 = s->precision == STENCIL_FLOAT64;
    for (int i = 0; i < 2 * STENCIL_SHAPE_COUNT && here.backend == STENCIL_BACKEND_GPU; i++) {
        const stencil_shape *shape = &stencil_shapes[i / 2];
        const bool flat = shape->rank == 2;
        const int64_t extent[3] = {flat ? 1 : 83, flat ? 603 : 123, 141};
        trial t;
        trace trace;
        if (stencil_stream_sums_of(shape->rank, shape->radius, false, true).ahead == 0)
            continue;
        trial_init(&t, s->precision, shape->rank, extent, boundary[(i + i / 2 + f64) % 3]);
        trial_set_shape(&t, shape, NULL);
        trial_fill(&t, (uint64_t)i, 1.0, STENCIL_SOURCE_NONE);
        trace_make(&trace, &t, STEPS);
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
            for (int e = 0; e < EXCHANGES && spans(strategy); e++) {
                if (!exchanges_so(strategy, e))
                    continue;
                const division *d = &some[(i + strategy + e + f64) % (flat ? 4 : 6)];
                trial_run r = run_of(strategy, d, &exchanges[e], STEPS);
                r.small = true;
                r.stream = r.parts > 2 && here.world != NULL ? 0 : STENCIL_STREAM_LONG; /* parts are thin */
                trial_expect(&t, &trace, &r);
            }
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

/* Fields that stay on chip, in parts one above the other that share GPUs or have one each: point sets,
 * boundaries, sources, weights of several steps; in launches that end anywhere. */
static void on_chip(void **state) {
    static const division some[] = {{2, {0, 0, 0}}, {3, {1, 3, 1}}, {4, {1, 4, 1}}, {2, {1, 2, 1}}};
    static const int depth[] = {2, 4, 0, 3, 7};
    static const int64_t every[] = {1000, 26, 7, 5};
    const subject *s = *state;
    for (int k = 0; k < 18 && here.backend == STENCIL_BACKEND_GPU; k++) {
        const stencil_boundary boundary[3] = {STENCIL_FIXED, (stencil_boundary)(k % 3),
                                              (stencil_boundary)(k / 3 % 3)};
        const division *d = &some[k % 4];
        const stencil_shape *shape = &stencil_shapes[k % 5];
        const int parts = here.world != NULL ? here.world->ranks : d->parts;
        const int64_t extent[3] = {1, parts * (shape->radius == 1 ? 67 : 101) + 3 * k + 1,
                                   (shape->radius == 1 ? 141 : 411) + 5 * k};
        trial t;
        trace trace;
        trial_init(&t, s->precision, 2, extent, boundary);
        trial_set_shape(&t, shape, NULL);
        trial_fill(&t, (uint64_t)k, 1.0, k % 4 == 1 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
        if (k % 7 == 2)
            trial_set_cycle(&t, 5);
        trace_make(&trace, &t, 60);
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
            for (int i = 0;
                 i < 3 && spans(strategy) && stencil_strategy_at(strategy).barrier != STENCIL_BARRIER_none;
                 i++) {
                trial_run r = run_of(strategy, d, &exchanges[0], 60 - here.turn % 9);
                r.small = false;
                r.sweep = STENCIL_SWEEP_resident;
                r.depth = depth[here.turn % 5];
                r.check_every = every[here.turn / 5 % 4];
                r.must_fit = (r.depth == 0 || r.depth == (shape->radius == 1 ? 3 : 2)) && d->parts < 4 &&
                             here.machine.gpu[0].sm_count > 16; /* emulated ones have few */
                if (here.turn % 5 == 0)
                    memcpy(r.pieces, (const int64_t[]){13, 29}, sizeof r.pieces);
                trial_expect(&t, &trace, &r);
            }
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

/* Accelerated problems in one to four parts, with every sweep: whole cycles, in pieces, to a tolerance. */
static void accelerated(void **state) {
    static const stencil_boundary boundary[][3] = {{STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
                                                   {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_FIXED},
                                                   {STENCIL_FIXED, STENCIL_MIRROR, STENCIL_PERIODIC}};
    static const division some[] = {{1, {0, 0, 0}}, {2, {0, 0, 0}}, {3, {1, 3, 1}}, {4, {0, 0, 0}}};
    const subject *s = *state;
    for (int k = 0; k < 4; k++) {
        const bool flat = k < 3;
        const int length = 8 << k;
        const int64_t extent[3] = {flat ? 1 : 9, flat ? 61 + k : 26,
                                   flat && here.backend == STENCIL_BACKEND_GPU ? 1841 : 75};
        trial t;
        trace trace;
        trial_init(&t, s->precision, flat ? 2 : 3, extent, boundary[k % 3]);
        t.spec.kind = k % 2 == 0 ? STENCIL_KIND_POISSON : STENCIL_KIND_LAPLACE;
        snprintf(t.spec.accelerate, sizeof t.spec.accelerate, "chebyshev:%d", length);
        trial_fill(&t, (uint64_t)k, 1.0, k % 2 == 0 ? STENCIL_SOURCE_F : STENCIL_SOURCE_NONE);
        trace_begin(&trace, &t, 4 * length);
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
            for (int sweep = 0; stencil_sweep_infos[sweep].name != NULL; sweep++)
                for (int d = 0; d < 4 && spans(strategy) && trial_has_sweep(&t, here.backend, sweep); d++) {
                    trial_run r = run_of(strategy, &some[d], &exchanges[0], 4 * length);
                    r.sweep = sweep;
                    r.check_every = (1 + here.turn % 3) * length;
                    r.one_of = 4;
                    if (here.turn % 2 == 0)
                        memcpy(r.pieces, (const int64_t[]){length, 2 * length}, 2 * sizeof(int64_t));
                    else
                        r.rtol = 1e-3;
                    trial_expect(&t, &trace, &r);
                }
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

static void interrupted(void **state) {
    static const stencil_boundary boundary[3] = {STENCIL_FIXED, STENCIL_FIXED, STENCIL_PERIODIC};
    static const division two = {2, {1, 2, 1}};
    const subject *s = *state;
    for (int chip = 0; chip < 1 + (here.backend == STENCIL_BACKEND_GPU); chip++) {
        const int64_t extent[3] = {1, chip ? 61 : 15, 70};
        trial t;
        trace trace;
        trial_init(&t, s->precision, 2, extent, boundary);
        trial_set_shape(&t, stencil_shape_find("j2d5pt"), NULL);
        trial_fill(&t, 3, 1.0, STENCIL_SOURCE_NONE);
        trace_make(&trace, &t, 2000);
        here.depth = chip ? 3 : 0;
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++) {
            const bool loops = stencil_strategy_at(strategy).barrier != STENCIL_BARRIER_none;
            if (!spans(strategy) || (chip && !loops))
                continue;
            trial_run r = run_of(strategy, &two, &exchanges[0], 2000);
            if (here.world == NULL ||
                here.world->rank == here.world->ranks - 1) /* one rank's wish is all's */
                r.observers = (stencil_observers){&trial_impatient, 1};
            if (chip) {
                r.sweep = STENCIL_SWEEP_resident;
                r.check_every = 1000;
                r.must_fit = true;
            }
            trial_expect(&t, &trace, &r);
        }
        here.depth = 0;
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

static int look_around(const char *backend) {
    here.backend = strcmp(backend, "gpu") == 0 ? STENCIL_BACKEND_GPU : STENCIL_BACKEND_CPU;
    if (stencil_machine_probe(&here.machine, STENCIL_STREAMS_SHARED) != STENCIL_OK) {
        printf("no test run: %s\n", stencil_error_last()->message);
        return 1;
    }
    if (here.backend == STENCIL_BACKEND_GPU && here.machine.gpu_count < here.gpus) {
        printf("%d GPUs needed, %d here (%s)\n", here.gpus, here.machine.gpu_count,
               here.machine.no_gpu_reason);
        return 77;
    }
    return 0;
}

/* Finds out whether ranks with a GPU each reach each other's memory. */
static bool find_reach(void) {
    bool reach = false;
#ifdef STENCIL_HAVE_CUDA
    const int ranks = here.world != NULL ? here.world->ranks : 0;
    if (here.backend == STENCIL_BACKEND_GPU && ranks > 1 && here.gpus >= ranks &&
        stencil_ranks_reach(here.world, here.world->rank * here.gpus / ranks, &reach) != STENCIL_OK)
        fprintf(stderr, "%s\n", stencil_error_last()->message);
#endif
    return reach;
}

int main(int argument_count, char **argument) {
    static const struct {
        const char *name;
        CMUnitTestFunction function;
    } others[] = {{"fixed cells", fixed_cells},
                  {"cells of classes", class_cells},
                  {"walls", walls},
                  {"wide rows", wide_rows},
                  {"sums in time", sums_in_time},
                  {"coefficients", coefficients},
                  {"large residual", large_residual},
                  {"wide parts", wide_parts},
                  {"long streams", long_streams},
                  {"on chip", on_chip},
                  {"accelerated", accelerated},
                  {"interrupted", interrupted}};
    enum { OTHERS = sizeof others / sizeof *others };
    static struct CMUnitTest tests[STENCIL_PRECISION_COUNT * (STENCIL_SHAPE_COUNT + OTHERS) + STRESS_TESTS];
    static subject subjects[sizeof tests / sizeof *tests];
    static char names[sizeof tests / sizeof *tests][64];
    if (argument_count < 2 || (strcmp(argument[1], "cpu") != 0 && strcmp(argument[1], "gpu") != 0)) {
        fprintf(stderr, "usage: %s cpu|gpu [GPUS [PATTERN [REPEATS]]]\n", argument[0]);
        return 64;
    }
    here.gpus = argument_count > 2 ? atoi(argument[2]) : 1;
    here.repeats = argument_count > 4 ? atoi(argument[4]) : strcmp(argument[1], "gpu") == 0 ? 20 : 3;
    const int cannot = look_around(argument[1]);
    if (cannot != 0)
        return cannot;
    size_t count = 0;
    for (int shape = 0; shape < STENCIL_SHAPE_COUNT + OTHERS; shape++)
        for (int precision = 0; precision < STENCIL_PRECISION_COUNT; precision++, count++) {
            const bool is_shape = shape < STENCIL_SHAPE_COUNT;
            subjects[count] =
                (subject){is_shape ? &stencil_shapes[shape] : NULL, (stencil_precision)precision};
            snprintf(names[count], sizeof names[count], "%s %s",
                     is_shape ? stencil_shapes[shape].name : others[shape - STENCIL_SHAPE_COUNT].name,
                     stencil_precision_name((stencil_precision)precision));
            tests[count] = (struct CMUnitTest){
                names[count], is_shape ? matrix : others[shape - STENCIL_SHAPE_COUNT].function, NULL, NULL,
                &subjects[count]};
        }
    here.world = parts_world();
    here.reach = find_reach();
    if (here.world == NULL) { /* ranks have no blocks that stop, nor plans that take turns */
        memcpy(&tests[count], stress_tests, sizeof stress_tests);
        count += STRESS_TESTS;
    }
    if (argument_count > 3) {
        size_t matching = 0;
        for (size_t i = 0; i < count; i++)
            matching += fnmatch(argument[3], tests[i].name, 0) == 0;
        if (matching == 0) {
            fprintf(stderr, "no test matches '%s'\n", argument[3]);
            return 64;
        }
        cmocka_set_test_filter(argument[3]);
    }
    const int failed = cmocka_run_group_tests_name("parts", tests, NULL, NULL);
    parts_world_end();
    if (!stencil_world_leads(here.world))
        return failed != 0;
    draw_report();
    printf("%d cases in parts%s\n", here.runs, here.reach ? ", of ranks whose GPUs reach each other" : "");
    if (trial_lacking > 0)
        printf("SKIPPED: %d runs of sweeps that these GPUs, or this build's code for them, have no kernels "
               "for\n",
               trial_lacking);
    return failed != 0 || here.runs == 0;
}

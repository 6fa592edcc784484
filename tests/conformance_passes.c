/* Passes of several steps, and weights that differ from step to step, in test_conformance. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conformance.h"
#include "solver/plan/sweep.h"

/* Weights and source factors of their own in each of three steps, over and over: with all residual settings,
 * in pieces, and in a run that is long enough for graphs. */
void cycles(void **state) {
    static const stencil_boundary boundary[3] = {STENCIL_PERIODIC, STENCIL_FIXED, STENCIL_MIRROR};
    static const char *const shapes[] = {"j2d5pt", "j2d25pt", "j3d7pt", "j3d27pt"};
    const subject *s = *state;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const stencil_shape *shape = stencil_shape_find(shapes[i]);
        const int64_t extent[3] = {shape->rank == 2 ? 1 : 9, 23, 75};
        trial t;
        trace trace;
        trial_init(&t, s->precision, shape->rank, extent, boundary);
        trial_set_shape(&t, shape, NULL);
        trial_fill(&t, i, 1.0, STENCIL_SOURCE_B);
        trial_set_cycle(&t, 3);
        run_trial(&t);
        trace_begin(&trace, &t, 2 * STOP_STEPS);
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
            for (int sweep = 0; stencil_sweep_infos[sweep].name != NULL && runs_here(strategy); sweep++) {
                trial_run r = run_of(strategy, 2 * STOP_STEPS, 0);
                if (!trial_has_sweep(&t, here.backend, sweep))
                    continue;
                set_sweep(&r, sweep);
                r.check_every = 1000;
                r.one_of = STOPS_ONE_OF;
                memcpy(r.pieces, (const int64_t[]){13, 29}, sizeof r.pieces);
                trial_expect(&t, &trace, &r);
            }
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

/* Accelerated problems, whose damping follows a cycle: whole cycles, with and without a criterion, in pieces,
 * by two plans in turns, and with somebody who wants the end at once. */
void accelerated(void **state) {
    static const char *const lengths[] = {"chebyshev:8", "chebyshev:32", "chebyshev:2", "chebyshev:64"};
    static const stencil_boundary boundary[][3] = {{STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
                                                   {STENCIL_MIRROR, STENCIL_PERIODIC, STENCIL_FIXED},
                                                   {STENCIL_FIXED, STENCIL_MIRROR, STENCIL_FIXED},
                                                   {STENCIL_PERIODIC, STENCIL_FIXED, STENCIL_MIRROR}};
    const subject *s = *state;
    for (int k = 0; k < 12; k++) {
        const int64_t extent[3] = {k % 3 == 2 ? 6 : 1, 13 + k, 40 + 3 * k}, cycle[] = {8, 32, 2, 64};
        const int64_t length = cycle[k % 4], steps = (STOP_STEPS / length + 2) * length;
        trial t;
        trace trace;
        trial_init(&t, s->precision, k % 3 == 2 ? 3 : 2, extent, boundary[k % 4]);
        t.spec.kind = k % 2 == 0 ? STENCIL_KIND_POISSON : STENCIL_KIND_LAPLACE;
        snprintf(t.spec.accelerate, sizeof t.spec.accelerate, "%s", lengths[k % 4]);
        trial_fill(&t, (uint64_t)k, 1.0, k % 2 == 0 ? STENCIL_SOURCE_F : STENCIL_SOURCE_NONE);
        trace_begin(&trace, &t, steps);
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++) {
            trial_run r = run_of(strategy, steps, 0);
            if (!runs_here(strategy))
                continue;
            set_some_sweep(&t, &r);
            r.check_every = (1 + here.turn % 3) * length;
            r.one_of = 1;
            if (here.turn % 2 == 0)
                memcpy(r.pieces, (const int64_t[]){length, 3 * length}, sizeof r.pieces);
            else if (here.turn % 4 == 1)
                r.rtol = 1e-3;
            if (here.turn % 5 == 0) {
                r.observers = (stencil_observers){&trial_impatient, 1};
                memset(r.pieces, 0, sizeof r.pieces);
            }
            trial_expect(&t, &trace, &r);
        }
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

/* Every depth with every distance of checks; one strategy after the other. */
static void run_depths(const trial *t, trace *trace) {
    static const int depth[] = {1, 2, 3, 5, 8, 13, 16, 31, 32, 64};
    static const int64_t every[] = {1, 7, 100};
    for (size_t d = 0; d < sizeof depth / sizeof *depth; d++)
        for (int e = 0; e < 3; e++) {
            int strategy = here.turn % stencil_strategy_count();
            while (!runs_here(strategy))
                strategy = (strategy + 1) % stencil_strategy_count();
            trial_run r = run_of(strategy, STOP_STEPS - here.turn % 9, 0);
            r.sweep = STENCIL_SWEEP_pipeline;
            r.depth = depth[d];
            r.check_every = every[e];
            r.one_of = PASSES_ONE_OF;
            trial_expect(t, trace, &r);
        }
}

/* Passes of many steps, in runs long enough for several of each depth and of checks; one boundary, size and
 * number of weights after the other. In 3D strips have part of the rows, from depth 8 on, and of the columns.
 */
void deep_passes(void **state) {
    static const stencil_boundary boundary[][3] = {
        {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_MIRROR},
        {STENCIL_FIXED, STENCIL_FIXED, STENCIL_PERIODIC},
        {STENCIL_FIXED, STENCIL_MIRROR, STENCIL_FIXED},
        {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
        {STENCIL_FIXED, STENCIL_MIRROR, STENCIL_MIRROR},
        {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_PERIODIC},
        {STENCIL_MIRROR, STENCIL_FIXED, STENCIL_PERIODIC},
        {STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_FIXED},
        {STENCIL_MIRROR, STENCIL_PERIODIC, STENCIL_MIRROR},
    };
    enum { FLAT = 30, BOUNDARIES = sizeof boundary / sizeof *boundary };
    const subject *s = *state;
    for (int k = 0; k < FLAT + 10; k++) {
        const bool gpu = here.backend == STENCIL_BACKEND_GPU; /* whose passes need wider fields */
        const int rank = k < FLAT ? 2 : 3, kind = rank == 2 ? k / 5 % 6 : (2 * k + 1) % BOUNDARIES;
        const int64_t flat[3] = {1, k % 2 == 0 ? 83 : 21, k % 3 == 0 && !gpu ? 400 : 67 + k + 800 * gpu},
                      solid[3] = {7 + k % 9, k % 2 == 0 ? 31 : 12, k % 3 == 0 ? 141 : 35 + k};
        trial t;
        trace trace;
        trial_init(&t, s->precision, rank, rank == 2 ? flat : solid, boundary[kind]);
        trial_set_shape(&t, &stencil_shapes[5 * (rank - 2) + k % 5], NULL);
        trial_fill(&t, (uint64_t)k, 1.0, k % 4 == 1 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
        if (k % 3 == 2)
            trial_set_cycle(&t, 5);
        if (trial_has_sweep(&t, here.backend, STENCIL_SWEEP_pipeline)) {
            trace_begin(&trace, &t, STOP_STEPS);
            run_depths(&t, &trace);
            trace_destroy(&trace);
        }
        trial_destroy(&t);
    }
}

/* Fields as wide as the strips of a GPU's deep passes, and wider: one strip, two that overlap, several;
 * passes of all depths, in runs that are long enough for graphs. Every second one needs the general kernel of
 * a GPU: for its boundary, a source, weights of five steps, or several of them. */
void wide_fields(void **state) {
    enum { PLAIN = 4, KINDS = 9 }; /* boundaries that the plain kernel has; all */
    static const stencil_boundary boundary[KINDS][3] = {{STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
                                                        {STENCIL_FIXED, STENCIL_FIXED, STENCIL_PERIODIC},
                                                        {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_FIXED},
                                                        {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_PERIODIC},
                                                        {STENCIL_FIXED, STENCIL_MIRROR, STENCIL_MIRROR},
                                                        {STENCIL_FIXED, STENCIL_MIRROR, STENCIL_PERIODIC},
                                                        {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_MIRROR},
                                                        {STENCIL_FIXED, STENCIL_MIRROR, STENCIL_FIXED},
                                                        {STENCIL_FIXED, STENCIL_FIXED, STENCIL_MIRROR}};
    static const int depth[] = {0, 2, 64, 3, 8, 5};
    static const int64_t every[] = {1000, 26, 7}, widths[] = {2501, 801, 1408};
    const subject *s = *state;
    for (int k = 0; k < 28; k += here.backend == STENCIL_BACKEND_GPU ? 1 : 3) {
        const bool general = k % 2 == 1;
        const int kind = general ? k / 2 * 5 % KINDS : k / 2 % PLAIN;
        const int64_t extent[3] = {1, k % 7 == 0 ? 71 : 11 + k, widths[k % 3] - k};
        trial t;
        trace trace;
        trial_init(&t, s->precision, 2, extent, boundary[kind]);
        trial_set_shape(&t, &stencil_shapes[k % 5], NULL);
        trial_fill(&t, (uint64_t)k, 1.0, general && k % 3 != 0 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
        if (general && (k % 4 == 1 || kind < PLAIN))
            trial_set_cycle(&t, 5);
        trace_begin(&trace, &t, STOP_STEPS);
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++) {
            if (!runs_here(strategy))
                continue;
            trial_run r = run_of(strategy, STOP_STEPS - here.turn % 9, 0);
            r.sweep = STENCIL_SWEEP_pipeline;
            r.depth = depth[here.turn % 6];
            r.check_every = every[here.turn / 6 % 3];
            r.one_of = PASSES_ONE_OF;
            trial_expect(&t, &trace, &r);
        }
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

/* 3D fields of one tile of a GPU's deep passes and of several, along y and x, whole and in chunks of planes:
 * on few multiprocessors, which make one tile after the other, and on all; passes of all depths, in runs that
 * are long enough for graphs. Every second one needs the general kernel of a GPU: for its boundary, a source,
 * weights of five steps, or several of them. */
void solid_fields(void **state) {
    enum { PLAIN = 5, KINDS = 13 }; /* boundaries that the plain kernel has; all */
    static const stencil_boundary boundary[KINDS][3] = {
        {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
        {STENCIL_PERIODIC, STENCIL_FIXED, STENCIL_FIXED},
        {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_PERIODIC},
        {STENCIL_FIXED, STENCIL_FIXED, STENCIL_PERIODIC},
        {STENCIL_PERIODIC, STENCIL_PERIODIC, STENCIL_PERIODIC},
        {STENCIL_MIRROR, STENCIL_MIRROR, STENCIL_MIRROR},
        {STENCIL_MIRROR, STENCIL_FIXED, STENCIL_FIXED},
        {STENCIL_FIXED, STENCIL_MIRROR, STENCIL_FIXED},
        {STENCIL_FIXED, STENCIL_FIXED, STENCIL_MIRROR},
        {STENCIL_MIRROR, STENCIL_PERIODIC, STENCIL_FIXED},
        {STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_MIRROR},
        {STENCIL_MIRROR, STENCIL_FIXED, STENCIL_PERIODIC},
        {STENCIL_FIXED, STENCIL_MIRROR, STENCIL_PERIODIC}};
    static const int depth[] = {0, 2, 64, 3, 0}, multiprocessors[] = {0, 3, 7, 1};
    static const int64_t every[] = {1000, 26, 7}, widths[] = {131, 263, 48, 190};
    const subject *s = *state;
    for (int k = 0; k < 40; k += here.backend == STENCIL_BACKEND_GPU ? 1 : 5) {
        const bool general = k % 2 == 1;
        const int i = k / 2, kind = general ? i * 5 % KINDS : i % PLAIN;
        const int64_t extent[3] = {9 + i, i % 3 == 0 ? 90 - i : 27 + i, widths[i % 4] + i};
        trial t;
        trace trace;
        trial_init(&t, s->precision, 3, extent, boundary[kind]);
        trial_set_shape(&t, &stencil_shapes[5 + i / 4], NULL);
        trial_fill(&t, (uint64_t)k, 1.0, general && i % 2 == 1 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
        if (general && (i % 3 == 1 || kind < PLAIN))
            trial_set_cycle(&t, 5);
        trace_begin(&trace, &t, MATRIX_STEPS * 8);
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++) {
            if (!runs_here(strategy))
                continue;
            trial_run r = run_of(strategy, MATRIX_STEPS * 8 - here.turn % 9, 0);
            r.small = false;
            r.sweep = STENCIL_SWEEP_pipeline;
            r.depth = depth[here.turn % 5];
            r.check_every = every[here.turn / 5 % 3];
            r.multiprocessors = multiprocessors[here.turn % 4];
            r.one_of = PASSES_ONE_OF;
            trial_expect(&t, &trace, &r);
        }
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

/* With every strategy that has a barrier, in launches that end anywhere, and in turns with a plan that shares
 * its kernel and takes less shared memory. */
static void run_resident(const trial *t, trace *trace, int k) {
    static const int depth[] = {0, 2, 5, 3, 8, 4}, multiprocessors[] = {0, 12, 4, 0, 7};
    static const int64_t every[] = {1000, 26, 7, 3};
    for (int strategy = 0; strategy < stencil_strategy_count(); strategy++) {
        trial_run r = run_of(strategy, STOP_STEPS - here.turn % 9, 0);
        if (!runs_here(strategy) || stencil_strategy_at(strategy).barrier == STENCIL_BARRIER_none)
            continue;
        r.small = false;
        r.sweep = STENCIL_SWEEP_resident;
        r.depth = depth[here.turn % 6];
        r.check_every = every[here.turn / 6 % 4];
        r.multiprocessors = multiprocessors[(here.turn + k) % 5];
        r.must_fit = r.depth < 5 && r.multiprocessors == 0;
        r.one_of = PASSES_ONE_OF;
        trial_run shallow = r;
        shallow.depth = 2;
        if (here.turn % 5 == 0)
            memcpy(r.pieces, (const int64_t[]){13, 29}, sizeof r.pieces);
        else if (here.turn % 5 == 3) {
            r.others = &shallow;
            r.other_count = 1;
        }
        trial_expect(t, trace, &r);
    }
}

/* Fields that stay on chip: all that its kernels tell apart (point sets, boundaries, source, weights of
 * several steps), of sizes that suit none of their tiles, on all multiprocessors and on few, whose tiles are
 * larger. */
void resident_fields(void **state) {
    const subject *s = *state;
    for (int k = 0; k < 24 && here.backend == STENCIL_BACKEND_GPU; k++) {
        const stencil_boundary boundary[3] = {STENCIL_FIXED, (stencil_boundary)(k % 3),
                                              (stencil_boundary)(k / 3 % 3)};
        const stencil_shape *shape = &stencil_shapes[k % 5];
        const int64_t extent[3] = {1, (shape->radius == 1 ? 97 : 190) + 7 * k,
                                   (shape->radius == 1 ? 141 : 401) + 5 * k};
        trial t;
        trace trace;
        trial_init(&t, s->precision, 2, extent, boundary);
        trial_set_shape(&t, shape, NULL);
        trial_fill(&t, (uint64_t)k, 1.0, k % 4 == 1 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
        if (k % 7 == 2)
            trial_set_cycle(&t, 5);
        trace_begin(&trace, &t, STOP_STEPS);
        run_resident(&t, &trace, k);
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

/* The same in 3D. */
void resident_solids(void **state) {
    const subject *s = *state;
    for (int k = 0; k < 30 && here.backend == STENCIL_BACKEND_GPU; k++) {
        const stencil_boundary boundary[3] = {(stencil_boundary)(k % 3), (stencil_boundary)(k / 3 % 3),
                                              (stencil_boundary)((k / 9 + k) % 3)};
        const int64_t extent[3] = {21 + 3 * k % 23, 29 + k, 41 + 7 * k % 40};
        trial t;
        trace trace;
        trial_init(&t, s->precision, 3, extent, boundary);
        trial_set_shape(&t, &stencil_shapes[5 + k % 5], NULL);
        trial_fill(&t, (uint64_t)k, 1.0, k % 4 == 1 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
        if (k % 7 == 2)
            trial_set_cycle(&t, 5);
        trace_begin(&trace, &t, STOP_STEPS);
        run_resident(&t, &trace, k);
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

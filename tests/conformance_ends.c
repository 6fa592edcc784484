/* Where runs end, why, and who looks at them on the way, in test_conformance. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "conformance.h"
#include "solver/problem/stop.h"
#include "solver/plan/sweep.h"

/* All strategies with these stop rules. */
static void run_stops(const trial *t, trace *trace, int64_t steps, double rtol, double atol,
                      stencil_norm norm) {
    static const int64_t check_every[] = {1, 3, 10, 1000};
    for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
        for (size_t c = 0; c < sizeof check_every / sizeof *check_every && runs_here(strategy); c++) {
            trial_run r = run_of(strategy, steps, 0);
            set_some_sweep(t, &r);
            r.check_every = check_every[c];
            r.one_of = STOPS_ONE_OF;
            r.norm = norm;
            r.rtol = rtol;
            r.atol = atol;
            trial_expect(t, trace, &r);
        }
}

/* Stops at the first check that sees the residual under a limit, the larger one of two; equal is not under.
 */
void tolerance_midway(void **state) {
    static const stencil_boundary boundary[3] = {STENCIL_FIXED, STENCIL_FIXED, STENCIL_MIRROR};
    const subject *s = *state;
    for (int rank = 2; rank <= 3; rank++) {
        const int64_t extent[3] = {rank == 2 ? 1 : 9, 17, 31};
        trial t;
        trace trace;
        trial_init(&t, s->precision, rank, extent, boundary);
        trial_set_shape(&t, stencil_shape_find(rank == 2 ? "j2d5pt" : "j3d7pt"), NULL);
        trial_fill(&t, 11, 1.0, STENCIL_SOURCE_NONE);
        trace_make(&trace, &t, STOP_STEPS);
        for (int norm = 0; norm < STENCIL_NORM_COUNT; norm++) {
            const double midway = trace.residual[norm][41];
            const double part = midway / trace.residual[norm][1];
            const trace_stop stop = {STOP_STEPS, 1, (stencil_norm)norm, part, NAN, 0.0};
            const trace_end end = trace_find_end(&trace, &stop);
            assert_true(end.reason == STENCIL_REASON_CONVERGED_RTOL && end.step > 1 && end.step < STOP_STEPS);
            run_stops(&t, &trace, STOP_STEPS, NAN, midway, (stencil_norm)norm);
            run_stops(&t, &trace, STOP_STEPS, NAN, nextafter(midway, 1.0), (stencil_norm)norm);
            run_stops(&t, &trace, STOP_STEPS, part, NAN, (stencil_norm)norm);
            run_stops(&t, &trace, STOP_STEPS, part, 0.5 * midway, (stencil_norm)norm);
            run_stops(&t, &trace, STOP_STEPS, part, 2.0 * midway, (stencil_norm)norm);
            run_stops(&t, &trace, STOP_STEPS, NAN, 1e30, (stencil_norm)norm);
            run_stops(&t, &trace, STOP_STEPS, 0.0, 0.0, (stencil_norm)norm);
            run_stops(&t, &trace, 0, NAN, 1.0, (stencil_norm)norm);
        }
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

/* A run in three pieces, of odd and even length, ends with the field, the history and the reason of one that
 * runs through, whether it stops by itself or not. */
void continued(void **state) {
    static const stencil_boundary boundary[3] = {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_FIXED};
    static const int64_t pieces[][2] = {{13, 30}, {6, 0}, {1, 2}, {20, 40}, {7, 59}};
    const subject *s = *state;
    const int64_t extent[3] = {1, 17, 31};
    trial t;
    trace trace;
    trial_init(&t, s->precision, 2, extent, boundary);
    trial_set_shape(&t, stencil_shape_find("j2d5pt"), NULL);
    trial_fill(&t, 11, 1.0, STENCIL_SOURCE_B);
    trace_make(&trace, &t, STOP_STEPS);
    for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
        for (size_t k = 0; k < sizeof pieces / sizeof *pieces && runs_here(strategy); k++) {
            trial_run r = run_of(strategy, STOP_STEPS, 0);
            set_some_sweep(&t, &r);
            memcpy(r.pieces, pieces[k], sizeof r.pieces);
            r.check_every = k % 2 == 0 ? 10 : 7;
            r.rtol = k == 0 ? NAN : trace.residual[r.norm][41] / trace.residual[r.norm][1];
            trial_expect(&t, &trace, &r);
        }
    trace_destroy(&trace);
    trial_destroy(&t);
}

/* Values that grow out of the number range stop the run at the first check that sees it. */
void divergence(void **state) {
    static const stencil_boundary boundary[3] = {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_MIRROR};
    static const double weight[] = {3.0, -2.0, 5.0, 1.5, -4.0};
    const subject *s = *state;
    const int64_t extent[3] = {1, 14, 75};
    for (int norm = 0; norm < STENCIL_NORM_COUNT; norm++) {
        /* Squares of float64 differences overflow long before the differences do. */
        const double scale = s->precision == STENCIL_FLOAT32 ? 1e30 : norm == STENCIL_NORM_L2 ? 1e145 : 1e297;
        trial t;
        trace trace;
        trial_init(&t, s->precision, 2, extent, boundary);
        trial_set_shape(&t, stencil_shape_find("j2d5pt"), weight);
        trial_fill(&t, 3, scale, STENCIL_SOURCE_NONE);
        trace_make(&trace, &t, STOP_STEPS);
        const trace_stop stop = {STOP_STEPS, 1, (stencil_norm)norm, NAN, NAN, 0.0};
        const trace_end end = trace_find_end(&trace, &stop);
        assert_true(end.reason == STENCIL_REASON_DIVERGED && end.step > 3 && end.step < STOP_STEPS);
        run_stops(&t, &trace, STOP_STEPS, NAN, NAN, (stencil_norm)norm);
        run_stops(&t, &trace, STOP_STEPS, 1e-8, 1e-3, (stencil_norm)norm);
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

/* A few rows, for what is about steps: their cells move along, so that no step leaves them as they are. */
static void small_trial(trial *t, trace *trace, stencil_precision precision, int64_t nx, int64_t steps) {
    static const stencil_boundary boundary[3] = {STENCIL_FIXED, STENCIL_FIXED, STENCIL_PERIODIC};
    static const double weight[] = {0.01, 0.88, 0.0, 0.1, 0.01};
    const int64_t extent[3] = {1, 5, nx};
    trial_init(t, precision, 2, extent, boundary);
    trial_set_shape(t, stencil_shape_find("j2d5pt"), weight);
    trial_fill(t, 3, 1.0, STENCIL_SOURCE_NONE);
    trace_make(trace, t, steps);
}

/* An interrupted run ends at a step boundary with the state of the step that it reports, also where the host
 * has queued steps after a check before it asks its observers. */
void interrupted(void **state) {
    const subject *s = *state;
    for (int wide = 0; wide < 3; wide++) { /* as strips of a GPU's passes of several steps are */
        trial t;
        trace trace;
        small_trial(&t, &trace, s->precision, wide == 0 ? 70 : wide == 1 ? 640 : 1300, LONG_STEPS);
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++) {
            if (!runs_here(strategy))
                continue;
            trial_run r = run_of(strategy, LONG_STEPS, 0);
            set_some_sweep(&t, &r);
            r.observers = (stencil_observers){&trial_impatient, 1};
            if (wide > 0) {
                r.sweep = STENCIL_SWEEP_pipeline;
                r.check_every = wide == 1 ? 1000 : 50;
                r.depth = wide == 1 ? 0 : 8;
            }
            trial_expect(&t, &trace, &r);
        }
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

/* An observer that looks every 7 steps and ends the run at the fifth. */
typedef struct visitor {
    int64_t looks, last, polled;
    bool in_order;
} visitor;

static int64_t visitor_next(void *context, int64_t step) {
    (void)context;
    return (step / 7 + 1) * 7;
}

static stencil_status visitor_at(void *context, stencil_report *report) {
    visitor *v = context;
    v->looks++;
    v->in_order = v->in_order && report->steps == v->last + 7 && report->history.count == report->steps / 3;
    v->last = report->steps;
    if (v->looks == 5)
        report->reason = STENCIL_REASON_INTERRUPTED;
    return STENCIL_OK;
}

static bool visitor_poll(void *context, int64_t step, double residual) {
    visitor *v = context;
    (void)residual;
    v->in_order = v->in_order && step >= v->polled;
    v->polled = step;
    return true;
}

/* Observers are called where they asked to be, with the history up to there, and polled at least there. */
void observed(void **state) {
    const subject *s = *state;
    trial t;
    trace trace;
    small_trial(&t, &trace, s->precision, 70, 50);
    for (int strategy = 0; strategy < stencil_strategy_count(); strategy++) {
        if (!runs_here(strategy))
            continue;
        visitor v = {.in_order = true};
        const stencil_observer observer = {
            .context = &v, .next = visitor_next, .at = visitor_at, .poll = visitor_poll};
        trial_run r = run_of(strategy, 50, 0);
        set_some_sweep(&t, &r);
        r.check_every = 3;
        r.observers = (stencil_observers){&observer, 1};
        if (!trial_expect(&t, &trace, &r)) { /* no plan has this sweep here; all have the first one */
            set_sweep(&r, 0);
            assert_true(trial_expect(&t, &trace, &r));
        }
        assert_true(v.in_order);
        assert_int_equal(v.looks, 5);
        assert_int_equal(v.last, 35);
        assert_int_equal(v.polled, 35);
    }
    trace_destroy(&trace);
    trial_destroy(&t);
}

/* Step at which the history of a trace of cycles turns to plain steps. */
static int64_t find_turn(const stencil_problem *problem, const trace *trace) {
    const int64_t every = problem->cycle.length;
    stencil_history history = {0};
    int64_t turn = 0;
    for (int64_t step = every; step <= trace->steps && turn == 0; step += every) {
        assert_int_equal(stencil_history_add(&history, step, trace->residual[STENCIL_NORM_L2][step]),
                         STENCIL_OK);
        if (stencil_turns_plain(problem, &history, trace->residual[STENCIL_NORM_L2][1], 0.0))
            turn = step;
    }
    stencil_history_destroy(&history);
    return turn;
}

/* An accelerated problem whose limit is below what the precision resolves ends with a cycle of plain steps,
 * whoever makes them, at once, continued in the cycle before and in pieces. */
void plain_ends(void **state) {
    static const stencil_boundary boundary[3] = {STENCIL_MIRROR, STENCIL_FIXED, STENCIL_FIXED};
    const subject *s = *state;
    enum { CYCLE = 128, CYCLES = 14 };
    for (int rank = 2; rank <= (s->precision == STENCIL_FLOAT32 ? 3 : 2); rank++) { /* a trace takes 140 MB */
        const int64_t extent[3] = {rank == 2 ? 1 : 3, 75, 131};
        trial t;
        trace trace;
        stencil_problem problem;
        trial_init(&t, s->precision, rank, extent, boundary);
        t.spec.kind = STENCIL_KIND_POISSON;
        snprintf(t.spec.accelerate, sizeof t.spec.accelerate, "chebyshev:%d", CYCLE);
        trial_fill(&t, 11, 1.0, STENCIL_SOURCE_F);
        assert_int_equal(stencil_problem_resolve(&problem, &t.spec), STENCIL_OK);
        trace_make(&trace, &t, CYCLES * CYCLE);
        const int64_t turn = find_turn(&problem, &trace);
        assert_true(turn > 0 && turn < CYCLES * CYCLE);
        trace_destroy(&trace);
        t.reference.plain_from = turn;
        trace_make(&trace, &t, turn + CYCLE);
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
            for (int piece = 0; piece < 2 && runs_here(strategy); piece++) {
                trial_run r = run_of(strategy, turn + CYCLE, 0);
                set_some_sweep(&t, &r);
                r.check_every = CYCLE;
                r.one_of = 3;
                r.rtol = 0.0;
                r.reason = STENCIL_REASON_CONVERGED_PRECISION;
                r.pieces[0] = piece == 0 ? 0 : turn;
                r.poll_every = piece == 0 ? 1000 : 0; /* batches of many cycles do not run past the turn */
                trial_expect(&t, &trace, &r);
            }
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

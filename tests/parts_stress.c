/* Runs in parts under stress: parts that are late, counters that wrap around, plans that take turns, parts
 * that stop, and tiles that do not wait. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "parts.h"
#include "solver/plan/sweep.h"

enum { STRESS_STEPS = 200 };

typedef void (*stress)(const trial *t, trace *trace, int strategy, const division *d);

/* Applies it to every strategy, or only to those with a barrier, which also keep fields on chip. */
static void with_all(stress what, bool persistent_only) {
    static const struct {
        const char *shape;
        int64_t extent[3];
        stencil_boundary boundary[3];
        division division;
        int depth; /* on chip, from exchange to exchange */
    } problem[] = {
        {"j2d5pt", {1, 197, 300}, {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED}, {2, {0, 0, 0}}, 0},
        {"j2d25pt", {1, 61, 330}, {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_MIRROR}, {4, {1, 2, 2}}, 0},
        {"j3d27pt", {23, 26, 70}, {STENCIL_MIRROR, STENCIL_PERIODIC, STENCIL_FIXED}, {4, {0, 0, 0}}, 0},
        {"j2d5pt", {1, 251, 300}, {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED}, {2, {0, 0, 0}}, 4},
        {"j2d25pt", {1, 303, 420}, {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_MIRROR}, {2, {1, 2, 1}}, 2},
    };
    for (size_t p = 0; p < sizeof problem / sizeof *problem; p++) {
        const stencil_shape *shape = stencil_shape_find(problem[p].shape);
        trial t;
        trace trace;
        here.depth = problem[p].depth;
        here.sweep = here.depth > 0 ? STENCIL_SWEEP_resident : (stencil_sweep_id)0;
        if (here.depth > 0 && (here.backend == STENCIL_BACKEND_CPU || !persistent_only))
            continue;
        trial_init(&t, p % 3 == 1 ? STENCIL_FLOAT32 : STENCIL_FLOAT64, shape->rank, problem[p].extent,
                   problem[p].boundary);
        trial_set_shape(&t, shape, NULL);
        trial_fill(&t, p, 1.0, STENCIL_SOURCE_NONE);
        trace_make(&trace, &t, STRESS_STEPS);
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
            if (spans(strategy) && !(persistent_only && stencil_strategy_at(strategy).copies))
                what(&t, &trace, strategy, &problem[p].division);
        trace_destroy(&trace);
        trial_destroy(&t);
    }
    here.depth = 0;
    here.sweep = (stencil_sweep_id)0;
}

static void late(const trial *t, trace *trace, int strategy, const division *d) {
    for (int seed = 1; seed <= here.repeats; seed++) {
        const exchange *e = &exchanges[exchanges_so(strategy, seed % 2) ? seed % 2 : 0];
        trial_run r = run_of(strategy, d, e, STRESS_STEPS);
        r.threads = 4;
        r.check_every = seed % 4 == 0 ? 3 : 1000;
        r.one_of = 2;
        r.wait.fault.seed = (uint32_t)seed;
        r.wait.fault.delay_ns = here.backend == STENCIL_BACKEND_GPU ? 10000 : 20000;
        trial_expect(t, trace, &r);
    }
}

static void wrapping(const trial *t, trace *trace, int strategy, const division *d) {
    static const uint32_t epoch[] = {UINT32_MAX - 3, UINT32_MAX - 200, INT32_MAX - 5};
    for (size_t e = 0; e < sizeof epoch / sizeof *epoch; e++) {
        trial_run r = run_of(strategy, d, &exchanges[0], 40);
        r.one_of = 2;
        r.wait.epoch = epoch[e];
        r.wait.steps_per_launch = 3;
        trial_expect(t, trace, &r);
    }
}

/* Every strategy that spans, with two divisions, in turns in one run, one part and a CPU among them. */
static void switching(const trial *t, trace *trace, int strategy, const division *d) {
    static const division one = {1, {0, 0, 0}};
    trial_run other[STENCIL_SIDES_MAX - 1];
    int count = 0;
    trial_run r = run_of(strategy, d, &exchanges[0], STRESS_STEPS);
    other[count++] = run_of(strategy, &one, &exchanges[0], STRESS_STEPS);
    other[count] = run_of(strategy, d, &exchanges[0], STRESS_STEPS);
    other[count++].backend = STENCIL_BACKEND_CPU;
    for (int s = 0; s < stencil_strategy_count() && count + 2 < STENCIL_SIDES_MAX; s++)
        if (spans(s)) {
            other[count++] = run_of(s, d,
                                    &exchanges[exchanges_so(s, 1)   ? 1
                                               : exchanges_so(s, 2) ? 2
                                                                    : 0],
                                    STRESS_STEPS);
            other[count++] = run_of(s, &(division){3, {0, 0, 0}}, &exchanges[0], STRESS_STEPS);
        }
    for (int k = 0; k < count && t->spec.rank == 2; k += 2) /* passes of several steps among them */
        if (other[k].backend == STENCIL_BACKEND_CPU) {
            other[k].sweep = STENCIL_SWEEP_pipeline;
            other[k].depth = 2 + k % 3;
        }
    r.others = other;
    r.other_count = count;
    trial_expect(t, trace, &r);
}

/* A part all of whose blocks stop: everybody else gives up, and the next run works. */
static void absent(const trial *t, trace *trace, int strategy, const division *d) {
    for (int64_t step = 7; step <= 9; step += 2) {
        trial_run r = run_of(strategy, d, &exchanges[0], 40);
        r.threads = 4;
        r.wait.timeout_s = 0.05;
        r.wait.fault.absent = 1;
        r.wait.fault.absent_part = here.backend == STENCIL_BACKEND_GPU ? 2 : 0;
        r.wait.fault.absent_step = step;
        r.failure = "barrier |in step |waited for more than 0.05 s";
        trial_expect(t, trace, &r);
    }
    const trial_run r = run_of(strategy, d, &exchanges[0], 40);
    trial_expect(t, trace, &r);
}

static void unordered(const trial *t, trace *trace, int strategy, const division *d) {
    if (here.depth == 0 || strcmp(stencil_strategy_at(strategy).name, "neighbor") != 0)
        return;
    const trial_run r = run_of(strategy, d, &exchanges[0], STRESS_STEPS);
    trial_expect_unordered(t, trace, &r);
}

typedef struct stressed {
    stress what;
    bool persistent_only;
} stressed;

static void test(void **state) {
    const stressed *s = *state;
    with_all(s->what, s->persistent_only);
}

static stressed all[STRESS_TESTS] = {
    {late, true}, {wrapping, true}, {switching, false}, {absent, true}, {unordered, true}};
const struct CMUnitTest stress_tests[STRESS_TESTS] = {{"late", test, NULL, NULL, &all[0]},
                                                      {"wrapping", test, NULL, NULL, &all[1]},
                                                      {"switching", test, NULL, NULL, &all[2]},
                                                      {"absent", test, NULL, NULL, &all[3]},
                                                      {"unordered", test, NULL, NULL, &all[4]}};

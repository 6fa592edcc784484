/* Barriers under stress: `test_barriers cpu|gpu`. Every strategy with a barrier gives the bits of the plain
 * reference when blocks come late by random times, when its counters wrap around and the kernel is launched
 * again and again, and ends with an alarm that says who waited where when a block never comes; the device
 * works on after that. Where blocks do not wait for each other bits differ. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "draw.h"
#include "trial.h"

enum { STEPS = 40 };

static struct {
    stencil_machine machine;
    stencil_backend backend;
    int tried;
    int depth;      /* of the passes of the problem at hand, where it has some */
    bool exchanges; /* its tiles do so behind each step of a pass */
    stencil_sweep_id sweep;
} here;

typedef void (*stress)(const trial *t, trace *trace, int strategy);

static trial_run run_of(int strategy) {
    return (trial_run){.machine = &here.machine,
                       .backend = here.backend,
                       .strategy = strategy,
                       .sweep = here.sweep,
                       .depth = here.depth,
                       .must_fit = true,
                       .threads = 3,
                       .steps = STEPS,
                       .check_every = 7,
                       .rtol = NAN,
                       .atol = NAN};
}

/* Persistent loops are named after the barriers, whose first row is the empty one. */
static bool has_barrier(int strategy) {
    for (int b = 1; b < STENCIL_BARRIER_COUNT; b++)
        if (strcmp(stencil_barriers[b].name, stencil_strategy_at(strategy).name) == 0)
            return stencil_strategy_unavailable(strategy, here.backend, &here.machine)[0] == '\0';
    return false;
}

/* Applies `what` to every barrier on problems of many small blocks: 2D and 3D, stars and boxes, all
 * boundaries; and on some that a GPU has passes of several steps for, or keeps on chip. */
static void with_all(stress what) {
    static const struct {
        const char *shape;
        int64_t extent[3];
        stencil_precision precision;
        stencil_boundary boundary[3];
        int depth;
        stencil_sweep_id sweep;
    } problem[] = {
        {"j2d5pt", {1, 97, 300}, STENCIL_FLOAT64, {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED}, 0, 0},
        {"j2d25pt", {1, 61, 530}, STENCIL_FLOAT32, {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_MIRROR}, 0, 0},
        {"j3d7pt",
         {13, 35, 140},
         STENCIL_FLOAT32,
         {STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_PERIODIC},
         0,
         0},
        {"j3d27pt", {9, 26, 70}, STENCIL_FLOAT64, {STENCIL_MIRROR, STENCIL_PERIODIC, STENCIL_FIXED}, 0, 0},
        {"j2d5pt",
         {1, 97, 801},
         STENCIL_FLOAT32,
         {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
         4,
         STENCIL_SWEEP_pipeline},
        {"j2d9pt",
         {1, 61, 830},
         STENCIL_FLOAT64,
         {STENCIL_FIXED, STENCIL_FIXED, STENCIL_PERIODIC},
         4,
         STENCIL_SWEEP_pipeline},
        {"j2d5pt",
         {1, 151, 260},
         STENCIL_FLOAT32,
         {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
         4,
         STENCIL_SWEEP_resident},
        {"j2d5pt",
         {1, 180, 333},
         STENCIL_FLOAT64,
         {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_MIRROR},
         4,
         STENCIL_SWEEP_resident},
        {"j3d7pt",
         {33, 41, 70},
         STENCIL_FLOAT64,
         {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
         4,
         STENCIL_SWEEP_resident},
        {"j3d27pt",
         {22, 35, 67},
         STENCIL_FLOAT32,
         {STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_FIXED},
         4,
         STENCIL_SWEEP_resident},
    };
    for (size_t p = 0; p < sizeof problem / sizeof *problem; p++) {
        const stencil_shape *shape = stencil_shape_find(problem[p].shape);
        here.depth = problem[p].depth;
        here.sweep = problem[p].sweep;
        here.exchanges = here.sweep == STENCIL_SWEEP_resident && shape->rank == 3;
        if (here.sweep == STENCIL_SWEEP_resident && here.backend == STENCIL_BACKEND_CPU)
            continue;
        trial t;
        trace trace;
        trial_init(&t, problem[p].precision, shape->rank, problem[p].extent, problem[p].boundary);
        trial_set_shape(&t, shape, NULL);
        trial_fill(&t, p, 1.0, STENCIL_SOURCE_NONE);
        trace_make(&trace, &t, STEPS);
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
            if (has_barrier(strategy)) {
                what(&t, &trace, strategy);
                here.tried++;
            }
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

static void late(const trial *t, trace *trace, int strategy) {
    trial_run r = run_of(strategy);
    for (uint32_t seed = 1; seed <= 4; seed++) {
        r.wait.fault.seed = seed;
        r.wait.fault.delay_ns = here.backend == STENCIL_BACKEND_GPU ? 30000 : 500000;
        r.check_every = seed == 1 ? 1 : 1000;
        r.one_of = 2;
        r.must_fit = seed > 1; /* tiles on chip do not suit checks of every step */
        trial_expect(t, trace, &r);
    }
}

static void wrapping(const trial *t, trace *trace, int strategy) {
    static const uint32_t epoch[] = {UINT32_MAX - 3, UINT32_MAX - 200, INT32_MAX - 5, 0};
    trial_run r = run_of(strategy);
    for (size_t e = 0; e < sizeof epoch / sizeof *epoch; e++) {
        r.one_of = 2;
        r.wait.epoch = epoch[e];
        r.wait.steps_per_launch = 3;
        trial_expect(t, trace, &r);
    }
}

/* The step that is waited for in vain where a block does not come in `step`; 0: not the same one each time.
 */
static int64_t missed(int64_t step, int strategy) {
    if (here.backend == STENCIL_BACKEND_GPU) /* where passes have several steps, the end of one */
        return here.depth > 0 && !here.exchanges ? (step + here.depth - 1) / here.depth * here.depth : step;
    /* Without a check in this step, threads far away pass it and may be the first to give up, in the next. */
    return here.depth == 0 && (step == 7 || strcmp(stencil_strategy_at(strategy).name, "neighbor") != 0)
               ? step
               : 0;
}

static void absent(const trial *t, trace *trace, int strategy) {
    char words[96];
    trial_run r = run_of(strategy);
    /* Step 7 is a residual check, step 9 is not, unless passes have several steps. Barrier `cluster` has
     * leaders, of clusters of four blocks or pairs of threads: participant 0 is one, participant 1 stands
     * inside its cluster. */
    for (int k = 0; k < 4; k++) {
        const int64_t step = k % 2 == 0 ? 7 : 9, end = missed(step, strategy);
        r.check_every = here.depth > 0 ? 1000 : 7;
        r.one_of = 2;
        r.wait.timeout_s = 0.05;
        r.wait.fault.absent = k < 2 ? 1 : 0;
        r.wait.fault.absent_step = step;
        char at[32] = "in step ";
        if (end > 0)
            snprintf(at, sizeof at, "in step %lld ", (long long)end);
        snprintf(words, sizeof words, "barrier %s:|%s|waited for more than 0.05 s",
                 stencil_strategy_at(strategy).name, at);
        r.failure = words;
        trial_expect(t, trace, &r);
    }
    r = run_of(strategy);
    trial_expect(t, trace, &r); /* and it works on */
}

/* Whoever left out the order between blocks would be found by the field. */
static void unordered(const trial *t, trace *trace, int strategy) {
    if (here.sweep != STENCIL_SWEEP_resident || strcmp(stencil_strategy_at(strategy).name, "neighbor") != 0)
        return;
    const trial_run r = run_of(strategy);
    trial_expect_unordered(t, trace, &r);
}

static void test_late(void **state) {
    (void)state;
    with_all(late);
}

static void test_wrapping(void **state) {
    (void)state;
    with_all(wrapping);
}

static void test_absent(void **state) {
    (void)state;
    with_all(absent);
}

static void test_unordered(void **state) {
    (void)state;
    with_all(unordered);
}

int main(int argument_count, char **argument) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_wrapping),
        cmocka_unit_test(test_absent),
        cmocka_unit_test(test_unordered),
    };
    if (argument_count != 2 || (strcmp(argument[1], "cpu") != 0 && strcmp(argument[1], "gpu") != 0)) {
        fprintf(stderr, "usage: %s cpu|gpu\n", argument[0]);
        return 64;
    }
    here.backend = strcmp(argument[1], "gpu") == 0 ? STENCIL_BACKEND_GPU : STENCIL_BACKEND_CPU;
    if (stencil_machine_probe(&here.machine, STENCIL_STREAMS_PART) != STENCIL_OK) {
        fprintf(stderr, "%s\n", stencil_error_last()->message);
        return 1;
    }
    if (here.backend == STENCIL_BACKEND_GPU && here.machine.gpu_count == 0) {
        printf("no GPU (%s)\n", here.machine.no_gpu_reason);
        return 77;
    }
    const int failed = cmocka_run_group_tests_name("barriers", tests, NULL, NULL);
    draw_report();
    return failed != 0 || here.tried == 0;
}

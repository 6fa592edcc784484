/* Who wins a race, by a clock of the test's own: seconds of a step follow from the plan in use. */
#include <stdlib.h>

#include "specs.h"

#include "solver/machine/model.h"
#include "solver/tune.h"

/* A strategy takes so long, and so much more and less in turns; 0: the rest. */
typedef struct pace {
    const char *sync;
    double step_s, noise_s;
} pace;

typedef struct fake_clock {
    const stencil_choice *choice;
    const pace *pace;
    double now_s;
    int last, turns; /* the plan before; times that it came to be another one */
} fake_clock;

static int64_t next_step(void *context, int64_t step) {
    (void)context;
    return step + 1;
}

static stencil_status tell_time(void *context, stencil_report *report) {
    fake_clock *c = context;
    const char *sync = c->choice->item[c->choice->chosen].options.sync;
    const pace *p = c->pace;
    while (p->sync != NULL && strcmp(p->sync, sync) != 0)
        p++;
    c->turns += c->last != c->choice->chosen;
    c->last = c->choice->chosen;
    c->now_s += p->step_s + (c->turns / 3 % 2 == 0 ? p->noise_s : -p->noise_s); /* three take part */
    report->compute_s = c->now_s;
    return STENCIL_OK;
}

typedef struct race {
    stencil_problem problem;
    stencil_machine machine;
    stencil_choice choice;
    stencil_tune tune;
} race;

/* Runs so many steps of a small field on a machine where every barrier costs 1 ms, and the first strategy a
 * little less. */
static void run_race(race *r, int64_t steps, stencil_effort effort, const pace *pace) {
    stencil_spec spec = named("j2d5pt");
    stencil_run *run = NULL;
    stencil_report report = {0};
    stencil_field field;
    spec.steps = steps;
    spec.check_every = 4;
    r->problem = resolved(spec);
    r->machine = (stencil_machine){.cpu_threads = 2, .cpu_isa = "any"};
    stencil_calibration_defaults(&r->machine);
    for (int i = 0; i < STENCIL_STRATEGIES; i++)
        r->machine.cpu_costs.sync[i].few_s = i == 0 ? 0.9e-3 : 1e-3;
    const stencil_run_options options = {.sweep = "stream", .backend = STENCIL_BACKEND_CPU};
    assert_int_equal(stencil_choice_make(&r->choice, &r->problem, &options, &r->machine), STENCIL_OK);
    assert_string_equal(r->choice.item[r->choice.chosen].options.sync, "relaunch");
    assert_int_equal(stencil_tune_start(&r->tune, &r->choice, &r->problem, &r->machine, effort), STENCIL_OK);
    const stencil_plan *plan = &r->choice.item[r->choice.chosen].plan;
    const stencil_layout *layout = &plan->cut.layout;
    assert_int_equal(stencil_field_create(&field, layout, "the field"), STENCIL_OK);
    memset(field.data, 0, (size_t)stencil_layout_bytes(layout));
    stencil_fields fields = {&field, NULL};
    const stencil_reader from = {stencil_fields_read, &fields};
    assert_int_equal(stencil_run_open(&run, plan, &r->problem, &from), STENCIL_OK);
    r->tune.run = run;
    fake_clock clock = {&r->choice, pace, 0, -1, 0};
    const stencil_observer both[] = {{&clock, next_step, tell_time, NULL}, stencil_tune_observer(&r->tune)};
    assert_int_equal(stencil_run_drive(run, &(stencil_observers){both, 2}, &report), STENCIL_OK);
    assert_int_equal(report.steps, steps);
    assert_string_equal(report.strategy, r->choice.item[r->choice.chosen].options.sync);
    stencil_tune_explain(&r->tune);
    stencil_run_close(run);
    stencil_report_destroy(&report);
    stencil_field_destroy(&field);
}

static const stencil_candidate *find(const race *r, const char *sync) {
    for (int i = 0; i < r->choice.count; i++)
        if (strcmp(r->choice.item[i].options.sync, sync) == 0)
            return &r->choice.item[i];
    fail_msg("%s was no candidate", sync);
    return NULL;
}

static void end(race *r, const char *winner, bool done) {
    assert_string_equal(r->choice.item[r->choice.chosen].options.sync, winner);
    assert_int_equal(r->tune.done, done);
    for (int i = 0; i < r->choice.count; i++)
        assert_true((r->choice.item[i].why[0] == '\0') == (i == r->choice.chosen));
    stencil_choice_destroy(&r->choice);
    stencil_problem_destroy(&r->problem);
}

static void the_quickest_wins(void **state) {
    (void)state;
    static race r;
    run_race(&r, 4000, STENCIL_EFFORT_MEASURE, (const pace[]){{"grid", 0.8e-3, 0}, {NULL, 1e-3, 0}});
    assert_true(fabs(find(&r, "grid")->step_s - 0.8e-3) < 1e-9);
    assert_string_equal(find(&r, "relaunch")->why, "25 % slower");
    assert_int_equal(find(&r, "neighbor")->samples, 0); /* two or three are timed */
    end(&r, "grid", true);
    run_race(&r, 40000, STENCIL_EFFORT_PATIENT, (const pace[]){{"neighbor", 0.9e-3, 0}, {NULL, 1e-3, 0}});
    end(&r, "neighbor", true);
}

static void noise_does_not_win(void **state) {
    (void)state;
    static race r;
    run_race(&r, 4000, STENCIL_EFFORT_MEASURE,
             (const pace[]){{"grid", 1.05e-3, 0.3e-3}, {"lock", 1.1e-3, 0}, {NULL, 1e-3, 0}});
    assert_true(find(&r, "grid")->step_s < 0.8e-3);
    assert_string_equal(find(&r, "grid")->why, "quicker by less than its noise");
    end(&r, "relaunch", true);
}

static void hopeless_ones_leave(void **state) {
    (void)state;
    static race r;
    run_race(&r, 4000, STENCIL_EFFORT_MEASURE,
             (const pace[]){{"grid", 20e-3, 0}, {"lock", 1.8e-3, 0}, {NULL, 1e-3, 0}});
    assert_int_equal(find(&r, "grid")->samples, 1);
    assert_true(find(&r, "lock")->samples <= 1); /* the first one is not counted */
    end(&r, "relaunch", true);
}

static void short_runs_do_not_wait(void **state) {
    (void)state;
    static race r;
    const pace even[] = {{NULL, 1e-3, 0}};
    run_race(&r, 40, STENCIL_EFFORT_PATIENT, even);
    assert_int_equal(r.tune.count, 1);
    end(&r, "relaunch", false);
    run_race(&r, 4000, STENCIL_EFFORT_ESTIMATE, even);
    assert_int_equal(r.tune.count, 1);
    end(&r, "relaunch", false);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_quickest_wins),
        cmocka_unit_test(noise_does_not_win),
        cmocka_unit_test(hopeless_ones_leave),
        cmocka_unit_test(short_runs_do_not_wait),
    };
    return cmocka_run_group_tests_name("tune", tests, NULL, NULL);
}

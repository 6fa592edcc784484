/* Who wins a race, by a clock of the test's own: seconds of a step follow from the plan in use. */
#include <stdlib.h>

#include "specs.h"

#include "solver/plan/model.h"
#include "solver/run/tune.h"

/* A strategy takes so long, so much more and less in turns, and so much more in its first one; NULL: the
 * rest.
 */
typedef struct pace {
    const char *sync;
    double step_s, noise_s, first_s;
} pace;

/* Who cannot make its steps when it is its turn. */
typedef enum failing { NOBODY, LAST_IN_LAST_ROUND, ALL_BUT_THE_FIRST } failing;

typedef struct race {
    stencil_problem problem;
    stencil_machine machine;
    stencil_choice choice;
    stencil_tune tune;
} race;

typedef struct fake_clock {
    race *race;
    const pace *pace;
    failing failing;
    int64_t interrupt; /* the run at this step; 0: never */
    double now_s;
    int last, turns; /* the plan before; times that it came to be another one */
} fake_clock;

static int64_t next_step(void *context, int64_t step) {
    (void)context;
    return step + 1;
}

/* Racers from now on: with plans that no side can be opened for. */
static void make_fail(race *r, failing failing) {
    stencil_tune *t = &r->tune;
    const int last = t->count - 1;
    for (int k = 1; failing == ALL_BUT_THE_FIRST && k < t->count; k++)
        r->choice.item[t->racer[k].candidate].plan.backend = STENCIL_BACKEND_AUTO;
    if (failing == LAST_IN_LAST_ROUND && t->turn == last - 1 && t->racer[last].samples == t->rounds - 1) {
        t->racer[last].candidate = r->choice.possible - 1; /* has no side yet */
        r->choice.item[r->choice.possible - 1].plan.backend = STENCIL_BACKEND_AUTO;
    }
}

static stencil_status tell_time(void *context, stencil_report *report) {
    fake_clock *c = context;
    const stencil_choice *choice = &c->race->choice;
    const stencil_candidate *chosen = &choice->item[choice->chosen];
    const pace *p = c->pace;
    while (p->sync != NULL && strcmp(p->sync, chosen->options.sync) != 0)
        p++;
    c->turns += c->last != choice->chosen;
    c->last = choice->chosen;
    c->now_s += p->step_s + (c->turns / 3 % 2 == 0 ? p->noise_s : -p->noise_s) + /* three take part */
                (chosen->samples == 0 ? p->first_s : 0);
    report->compute_s = c->now_s;
    if (report->steps == c->interrupt)
        report->reason = STENCIL_REASON_INTERRUPTED;
    make_fail(c->race, c->failing);
    return STENCIL_OK;
}

/* Runs so many steps of a small field on a machine where every barrier costs 1 ms, and the first strategy a
 * little less. */
static void run_disturbed(race *r, int64_t steps, stencil_effort effort, fake_clock clock) {
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
    stencil_fields fields = {.u = &field};
    const stencil_reader from = {stencil_fields_read, &fields};
    assert_int_equal(stencil_run_open(&run, plan, &r->problem, &from), STENCIL_OK);
    r->tune.run = run;
    clock.race = r;
    clock.last = -1;
    const stencil_observer both[] = {{.context = &clock, .next = next_step, .at = tell_time},
                                     stencil_tune_observer(&r->tune)};
    assert_int_equal(stencil_run_drive(run, &(stencil_observers){both, 2}, &report), STENCIL_OK);
    assert_int_equal(report.steps, clock.interrupt > 0 ? clock.interrupt : steps);
    assert_string_equal(report.strategy, r->choice.item[r->choice.chosen].options.sync);
    stencil_tune_explain(&r->tune);
    stencil_run_close(run);
    stencil_report_destroy(&report);
    stencil_field_destroy(&field);
}

static void run_race(race *r, int64_t steps, stencil_effort effort, const pace *pace) {
    run_disturbed(r, steps, effort, (fake_clock){.pace = pace});
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
        assert_true((r->choice.item[i].why[0] == '\0') ==
                    (i == r->choice.chosen && (done || r->tune.count == 1)));
    stencil_choice_destroy(&r->choice);
    stencil_problem_destroy(&r->problem);
}

static void the_quickest_wins(void **state) {
    (void)state;
    static race r;
    run_race(&r, 4000, STENCIL_EFFORT_MEASURE, (const pace[]){{"grid", 0.8e-3, 0, 0}, {NULL, 1e-3, 0, 0}});
    assert_true(fabs(find(&r, "grid")->step_s - 0.8e-3) < 1e-9);
    assert_string_equal(find(&r, "relaunch")->why, "25 % slower");
    assert_int_equal(find(&r, "neighbor")->samples, 0); /* two or three are timed */
    end(&r, "grid", true);
    run_race(&r, 40000, STENCIL_EFFORT_PATIENT,
             (const pace[]){{"neighbor", 0.9e-3, 0, 0}, {NULL, 1e-3, 0, 0}});
    end(&r, "neighbor", true);
}

static void noise_does_not_win(void **state) {
    (void)state;
    static race r;
    run_race(&r, 4000, STENCIL_EFFORT_MEASURE,
             (const pace[]){{"grid", 1.05e-3, 0.3e-3, 0}, {"lock", 1.1e-3, 0, 0}, {NULL, 1e-3, 0, 0}});
    assert_true(find(&r, "grid")->step_s < 0.8e-3);
    assert_string_equal(find(&r, "grid")->why, "quicker by less than its noise");
    end(&r, "relaunch", true);
}

static void hopeless_ones_leave(void **state) {
    (void)state;
    static race r;
    run_race(&r, 4000, STENCIL_EFFORT_MEASURE,
             (const pace[]){{"grid", 20e-3, 0, 0}, {"lock", 1.8e-3, 0, 0}, {NULL, 1e-3, 0, 0}});
    assert_int_equal(find(&r, "grid")->samples, 1);
    assert_string_equal(find(&r, "grid")->why, "20 times as long");
    assert_true(find(&r, "lock")->samples <= 1);     /* the first one is not counted */
    assert_true(find(&r, "relaunch")->samples >= 3); /* alone, it goes on until it is certain */
    end(&r, "relaunch", true);
}

static void a_disturbed_first_turn_is_forgiven(void **state) {
    (void)state;
    static race r;
    run_race(&r, 4000, STENCIL_EFFORT_MEASURE,
             (const pace[]){{"grid", 0.5e-3, 0, 50e-3}, {"lock", 1.1e-3, 0, 0}, {NULL, 1e-3, 0, 0}});
    assert_true(find(&r, "grid")->samples >= 3);
    end(&r, "grid", true);
}

static void who_cannot_run_leaves(void **state) {
    (void)state;
    static race r;
    const pace even[] = {{"grid", 1.1e-3, 0, 0}, {NULL, 1e-3, 0, 0}};
    run_disturbed(&r, 4000, STENCIL_EFFORT_MEASURE,
                  (fake_clock){.pace = even, .failing = LAST_IN_LAST_ROUND});
    for (int k = 0; k < STENCIL_RACE_MAX; k++)
        assert_true(r.tune.racer[k].samples <= r.tune.rounds);
    assert_non_null(strstr(r.choice.item[r.choice.possible - 1].why, "without CUDA"));
    end(&r, "relaunch", true);
    run_disturbed(&r, 4000, STENCIL_EFFORT_MEASURE, (fake_clock){.pace = even, .failing = ALL_BUT_THE_FIRST});
    assert_int_equal(r.tune.count, 1);
    assert_true(find(&r, "relaunch")->samples >= 3);
    end(&r, "relaunch", true);
}

static void a_run_that_ends_before_the_race_says_so(void **state) {
    (void)state;
    static race r;
    run_disturbed(&r, 4000, STENCIL_EFFORT_MEASURE,
                  (fake_clock){.pace = (const pace[]){{"relaunch", 1.4e-3, 0, 0}, {NULL, 1e-3, 0, 0}},
                               .interrupt = 40});
    int timed = 0;
    for (int i = 0; i < r.choice.possible; i++) {
        const stencil_candidate *c = &r.choice.item[i];
        if (i == r.choice.chosen)
            assert_non_null(strstr(c->why, "made the last steps"));
        else if (c->samples > 0)
            assert_string_equal(c->why, "timed, but the run ended before the race");
        timed += c->samples > 0;
    }
    assert_true(timed > 1);
    end(&r, r.choice.item[r.choice.chosen].options.sync, false);
}

static void short_runs_do_not_wait(void **state) {
    (void)state;
    static race r;
    const pace even[] = {{NULL, 1e-3, 0, 0}};
    run_race(&r, 40, STENCIL_EFFORT_PATIENT, even);
    assert_int_equal(r.tune.count, 1);
    end(&r, "relaunch", false);
    run_race(&r, 4000, STENCIL_EFFORT_ESTIMATE, even);
    assert_int_equal(r.tune.count, 1);
    end(&r, "relaunch", false);
}

/* Where there is time for two, and several are predicted to be about as quick. */
static void another_sweep_is_timed_first(void **state) {
    (void)state;
    static race r;
    stencil_spec spec = named("j2d5pt");
    spec.extent[0] = spec.extent[1] = 129;
    spec.check_every = 100;
    r.machine = (stencil_machine){.cpu_threads = 2, .cpu_isa = "any"};
    stencil_calibration_defaults(&r.machine);
    for (int i = 0; i < STENCIL_STRATEGIES; i++)
        r.machine.cpu_costs.sync[i].few_s = 1e-6;
    spec.steps = 45000;
    r.problem = resolved(spec);
    const stencil_run_options options = {.backend = STENCIL_BACKEND_CPU};
    assert_int_equal(stencil_choice_make(&r.choice, &r.problem, &options, &r.machine), STENCIL_OK);
    assert_int_equal(stencil_tune_start(&r.tune, &r.choice, &r.problem, &r.machine, STENCIL_EFFORT_MEASURE),
                     STENCIL_OK);
    assert_int_equal(r.tune.count, 2);
    const stencil_candidate *c[2];
    for (int k = 0; k < 2; k++)
        c[k] = &r.choice.item[r.tune.racer[k].candidate];
    assert_int_not_equal(c[0]->plan.sweep, c[1]->plan.sweep);
    int between = 0; /* others of the same sweep, which are predicted to be quicker than the other sweep */
    for (int i = 0; i < r.choice.possible; i++)
        between += r.choice.item[i].cost.step_s < fmax(c[0]->cost.step_s, c[1]->cost.step_s);
    assert_true(between > 2);
    stencil_choice_destroy(&r.choice);
    stencil_problem_destroy(&r.problem);
}

/* Of passes of many steps, turns are whole ones, however slow the first turn was. */
static void turns_are_whole_passes(void **state) {
    (void)state;
    static race r;
    stencil_spec spec = named("j2d5pt");
    stencil_report report = {0};
    stencil_field field;
    spec.extent[0] = spec.extent[1] = 100;
    spec.check_every = 1000000;
    spec.steps = 1000000;
    r.machine = (stencil_machine){.cpu_threads = 2, .cpu_isa = "any"};
    stencil_calibration_defaults(&r.machine);
    r.problem = resolved(spec);
    const stencil_run_options options = {.backend = STENCIL_BACKEND_CPU, .sweep = "pipeline", .depth = 7};
    assert_int_equal(stencil_choice_make(&r.choice, &r.problem, &options, &r.machine), STENCIL_OK);
    assert_int_equal(
        stencil_tune_start(&r.tune, &r.choice, &r.problem, &r.machine, STENCIL_EFFORT_EXHAUSTIVE),
        STENCIL_OK);
    assert_true(r.tune.count > 1);
    const stencil_plan *plan = &r.choice.item[r.choice.chosen].plan;
    const stencil_layout *layout = &plan->cut.layout;
    assert_int_equal(plan->depth, 7);
    assert_int_equal(stencil_field_create(&field, layout, "the field"), STENCIL_OK);
    memset(field.data, 0, (size_t)stencil_layout_bytes(layout));
    stencil_fields fields = {.u = &field};
    const stencil_reader from = {stencil_fields_read, &fields};
    assert_int_equal(stencil_run_open(&r.tune.run, plan, &r.problem, &from), STENCIL_OK);
    const stencil_observer race = stencil_tune_observer(&r.tune);
    for (int turns = 0; turns < 2 * STENCIL_RACE_MAX && !r.tune.done; turns++) {
        const int64_t begin = report.steps;
        report.steps = race.next(race.context, begin);
        assert_true(report.steps > begin && (report.steps - begin) % 7 == 0);
        report.compute_s += 1.0 * (double)(report.steps - begin); /* longer than any turn */
        assert_int_equal(race.at(race.context, &report), STENCIL_OK);
    }
    stencil_run_close(r.tune.run);
    stencil_field_destroy(&field);
    stencil_choice_destroy(&r.choice);
    stencil_problem_destroy(&r.problem);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_quickest_wins),      cmocka_unit_test(noise_does_not_win),
        cmocka_unit_test(hopeless_ones_leave),    cmocka_unit_test(a_disturbed_first_turn_is_forgiven),
        cmocka_unit_test(who_cannot_run_leaves),  cmocka_unit_test(a_run_that_ends_before_the_race_says_so),
        cmocka_unit_test(short_runs_do_not_wait), cmocka_unit_test(another_sweep_is_timed_first),
        cmocka_unit_test(turns_are_whole_passes),
    };
    return cmocka_run_group_tests_name("tune", tests, NULL, NULL);
}

#define _XOPEN_SOURCE 700 /* erand48 */
#include "bench/check.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "bench/benchmarks/trial.h"

/* Ranges of field edges by rank - 2; most_edge[0] is for GPUs, most_edge[1] for CPUs. */
static const double least_edge[] = {64, 32}, most_edge[2][2] = {{16384, 512}, {1024, 96}};
enum { CHECK_EVERY = 100 };

/* State of the two runs of a problem, whose fields go to `result` and `reference` of the trial. */
typedef struct check {
    const stencil_check_options *options;
    stencil_machine *machine;
    stencil_trial trial;
} check;

/* Draws a random problem: edges uniform in their logarithm, within a factor of 2; ranks alternate. */
static void draw(const check *k, int index, bool gpu, stencil_spec *spec, char name[64]) {
    unsigned short state[3] = {(unsigned short)k->options->seed, (unsigned short)(k->options->seed >> 16),
                               (unsigned short)index};
    const int rank = 2 + index % 2;
    const double least = least_edge[rank - 2], most = most_edge[!gpu][rank - 2];
    erand48(state); /* the first random numbers of similar seeds are similar */
    const double edge = least * pow(most / least, erand48(state));
    stencil_spec_init(spec);
    spec->rank = rank;
    spec->precision = index / 2 % 2 == 0 ? STENCIL_FLOAT32 : STENCIL_FLOAT64;
    for (int axis = 0; axis < rank; axis++)
        spec->extent[axis] = (int64_t)fmin(fmax(edge * pow(2, erand48(state) - 0.5), least), most);
    const stencil_shape *shape;
    do
        shape = &stencil_shapes[(int)(erand48(state) * STENCIL_SHAPE_COUNT)];
    while (shape->rank != rank);
    snprintf(spec->stencil, sizeof spec->stencil, "%s", shape->name);
    spec->check_every = CHECK_EVERY;
    spec->steps = INT32_MAX;
    snprintf(name, 64, "%s %s ", shape->name, stencil_precision_names[spec->precision]);
    for (int axis = rank - 1; axis >= 0; axis--)
        stencil_text_add(name, 64, "%lld%s", (long long)spec->extent[axis], axis > 0 ? "x" : "");
}

/* Observer that ends a run once the timing of plans is decided, or at an interruption. */
typedef struct judge_of_race {
    const stencil_check_options *options;
    const stencil_tune *tune; /* state of timing plans; NULL: the run makes all its steps */
    bool stopped;
} judge_of_race;

static bool goes_on(void *context, int64_t step, double residual) {
    judge_of_race *j = context;
    (void)step, (void)residual;
    j->stopped = j->stopped || (j->options->poll != NULL && !j->options->poll(j->options->context));
    return !j->stopped && (j->tune == NULL || !j->tune->done);
}

/* Runs the problem while timing plans; the field goes to *result. The caller destroys *choice. */
static stencil_status race(check *k, stencil_field *result, stencil_effort effort, stencil_choice *choice,
                           int64_t *steps) {
    const stencil_problem *problem = &k->trial.problem;
    stencil_tune tune;
    stencil_run *run;
    stencil_report report = {0};
    stencil_fields fields = {.u = &k->trial.initial};
    const stencil_reader from = {stencil_fields_read, &fields};
    TRY(stencil_choice_make(choice, problem, &k->options->run, k->machine));
    TRY(stencil_tune_start(&tune, choice, problem, k->machine, effort));
    CHECK(effort != STENCIL_EFFORT_EXHAUSTIVE || tune.count > 1, UNAVAILABLE, "there is one plan only");
    const stencil_plan *plan = &choice->item[choice->chosen].plan;
    TRY(stencil_run_open(&run, plan, problem, &from));
    tune.run = run;
    judge_of_race end = {k->options, effort == STENCIL_EFFORT_EXHAUSTIVE ? &tune : NULL, false};
    const stencil_observer observers[] = {stencil_tune_observer(&tune), {&end, .poll = goes_on}};
    stencil_status status = stencil_run_drive(run, &(stencil_observers){observers, 2}, &report);
    if (status == STENCIL_OK && end.stopped)
        status = ERROR(INTERRUPTED, "interrupted in a race of plans");
    if (status == STENCIL_OK) {
        const stencil_box array = stencil_mesh_array(&plan->cut.mesh);
        const stencil_cells all = stencil_field_cells(result), to = stencil_cells_from(&all, array.first);
        status = stencil_run_read(run, STENCIL_ARRAY_U, &array, &to);
    }
    *steps = report.steps;
    stencil_run_close(run);
    stencil_report_destroy(&report);
    return status;
}

static bool is_same(const stencil_candidate *a, const stencil_candidate *b) {
    return a->plan.strategy == b->plan.strategy && a->plan.sweep == b->plan.sweep &&
           a->plan.backend == b->plan.backend && a->plan.cut.parts == b->plan.cut.parts;
}

/* Sets the fastest of all timed plans and the plan chosen by auto in *c. */
static stencil_status judge(const stencil_choice *all, const stencil_choice *own, stencil_check_case *c) {
    const stencil_candidate *chosen = NULL, *fastest = NULL;
    for (int i = 0; i < all->possible; i++) {
        const stencil_candidate *each = &all->item[i];
        if (each->samples == 0)
            continue;
        c->plans++;
        fastest = fastest == NULL || each->step_s < fastest->step_s ? each : fastest;
        chosen = is_same(each, &own->item[own->chosen]) ? each : chosen;
    }
    CHECK(chosen != NULL, INTERNAL, "%s: the plan that was chosen was not timed", c->problem);
    c->chosen = *chosen;
    c->fastest = *fastest;
    return STENCIL_OK;
}

static stencil_status run_both(check *k, stencil_check_case *c) {
    stencil_choice all = {0}, own = {0};
    int64_t steps = 0;
    stencil_trial *t = &k->trial;
    stencil_status status = race(k, &t->result, STENCIL_EFFORT_EXHAUSTIVE, &all, &c->steps);
    t->problem.stop.steps = c->steps;
    if (status == STENCIL_OK)
        status = race(k, &t->reference, STENCIL_EFFORT_MEASURE, &own, &steps);
    if (status == STENCIL_OK)
        status = stencil_field_check_same(&t->result, "the run of all plans", &t->reference,
                                          "the run that auto has chosen for", c->steps);
    if (status == STENCIL_OK)
        status = judge(&all, &own, c);
    stencil_choice_destroy(&all);
    stencil_choice_destroy(&own);
    return status;
}

static stencil_status check_case(check *k, const stencil_spec *spec, stencil_check_case *c) {
    stencil_trial *t = &k->trial;
    TRY(stencil_problem_resolve(&t->problem, spec));
    TRY(stencil_field_create(&t->initial, &t->problem.layout, "the field"));
    TRY(stencil_field_create(&t->result, &t->problem.layout, "the result"));
    TRY(stencil_field_create(&t->reference, &t->problem.layout, "the result"));
    stencil_field_fill_random(&t->initial, k->options->seed);
    return run_both(k, c);
}

stencil_status stencil_check_choice(const stencil_check_options *options, stencil_machine *machine,
                                    stencil_check_case *cases, int *count) {
    const bool gpu = options->run.backend != STENCIL_BACKEND_CPU && machine->gpu_count > 0;
    for (*count = 0; *count < options->problems; ++*count) {
        stencil_check_case *c = &cases[*count];
        check k = {.options = options, .machine = machine};
        stencil_spec spec;
        *c = (stencil_check_case){0};
        draw(&k, *count, gpu, &spec, c->problem);
        CHECK(options->progress == NULL || options->progress(options->context, *count, c->problem),
              INTERRUPTED, "interrupted after %d problems", *count);
        const stencil_status status = check_case(&k, &spec, c);
        stencil_trial_release(&k.trial);
        TRY(status);
    }
    return STENCIL_OK;
}

double stencil_check_loss(const stencil_check_case *c) {
    return c->chosen.step_s / c->fastest.step_s - 1;
}

double stencil_check_error(const stencil_check_case *c) {
    return c->chosen.cost.step_s / c->chosen.step_s - 1;
}

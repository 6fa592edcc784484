#include "bench/benchmarks/trial.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solver/plan/sweep.h"

enum { SEED = 1, SOURCE_SEED = 2 };

bool stencil_trial_default(stencil_spec *spec) {
    const bool asked = spec->rank > 0;
    if (spec->kind == STENCIL_KIND_NONE && spec->stencil[0] == '\0' && spec->offset_count == 0)
        snprintf(spec->stencil, sizeof spec->stencil, "%s", spec->rank == 3 ? "j3d7pt" : "j2d5pt");
    const stencil_shape *shape = spec->stencil[0] != '\0' ? stencil_shape_find(spec->stencil) : NULL;
    if (!asked)
        spec->rank = shape != NULL ? shape->rank : 2;
    spec->rtol = spec->atol = spec->residual_first = NAN;
    spec->steps = STENCIL_STEPS_DEFAULT;
    spec->steps_total = -1;
    return asked;
}

/* Returns a pass's cell updates divided by the busiest multiprocessor's work; 0: passes of one step. */
static double kept_at(const stencil_spec *spec, const stencil_run_options *options,
                      const stencil_machine *machine) {
    stencil_problem problem;
    stencil_plan plan;
    if (stencil_problem_resolve(&problem, spec) != STENCIL_OK ||
        stencil_plan_make(&plan, &problem, options, machine) != STENCIL_OK ||
        plan.backend != STENCIL_BACKEND_GPU || plan.depth == 1)
        return 0;
    return (double)stencil_problem_cells(&problem) * plan.depth /
           stencil_sweep_work(&plan, &problem, plan.depth, false).longest;
}

/* Finds the rows and columns in `range` of best efficiency, in 2D a square; returns that efficiency. */
static double search_own(stencil_spec *spec, const stencil_run_options *options,
                         const stencil_machine *machine, int64_t range[2][2], int64_t step, int64_t own[3]) {
    const bool square = spec->rank == 2;
    double best = 0;
    for (int64_t ny = range[0][0]; ny <= range[0][1]; ny += step)
        for (int64_t nx = square ? ny : range[1][0]; nx <= (square ? ny : range[1][1]); nx += step) {
            spec->extent[spec->rank - 2] = ny;
            spec->extent[spec->rank - 1] = nx;
            const double kept = kept_at(spec, options, machine);
            if (kept > best) {
                best = kept;
                memcpy(own, spec->extent, 3 * sizeof *own);
            }
        }
    return best;
}

bool stencil_trial_own(const stencil_spec *spec, const stencil_run_options *options,
                       const stencil_machine *machine, int64_t first, int64_t last, int64_t own[3]) {
    enum { COARSE = 8 };
    stencil_spec some = *spec;
    int64_t range[2][2] = {{first, last}, {first, last}};
    if (spec->rank == 2)
        return search_own(&some, options, machine, range, 1, own) > 0;
    some.extent[0] = last;
    if (search_own(&some, options, machine, range, COARSE, own) == 0)
        return false;
    for (int axis = 0; axis < 2; axis++) {
        range[axis][0] = own[1 + axis] - COARSE > first ? own[1 + axis] - COARSE : first;
        range[axis][1] = own[1 + axis] + COARSE < last ? own[1 + axis] + COARSE : last;
    }
    return search_own(&some, options, machine, range, 1, own) > 0;
}

void stencil_trial_release(void *trial) {
    stencil_trial *t = trial;
    stencil_problem_destroy(&t->problem);
    stencil_field_destroy(&t->initial);
    stencil_field_destroy(&t->result);
    stencil_field_destroy(&t->source);
    stencil_field_destroy(&t->reference);
    t->problem = (stencil_problem){0};
}

stencil_status stencil_trial_create(stencil_bench *b, stencil_trial *t, const stencil_spec *spec) {
    t->machine = *b->machine;
    TRY(stencil_bench_keep(b, stencil_trial_release, t));
    TRY(stencil_problem_resolve(&t->problem, spec));
    t->bytes = stencil_layout_bytes(&t->problem.layout);
    TRY(stencil_field_create(&t->initial, &t->problem.layout, "the initial field"));
    TRY(stencil_field_create(&t->result, &t->problem.layout, "the field"));
    stencil_field_fill_random(&t->initial, SEED);
    if (!stencil_problem_has_source(&t->problem))
        return STENCIL_OK;
    TRY(stencil_field_create(&t->source, &t->problem.layout, "the source"));
    stencil_field_fill_random(&t->source, SOURCE_SEED);
    return STENCIL_OK;
}

/* Case of a row: a trial and the plan to run. */
typedef struct trial_case {
    stencil_trial *trial;
    stencil_plan plan;
} trial_case;

static stencil_status verify(stencil_trial *t, const char *name, double residual) {
    if (t->reference.data == NULL) {
        TRY(stencil_field_create(&t->reference, &t->problem.layout, "the result to compare with"));
        stencil_parallel_copy(&t->reference, &t->result, t->machine.cpu_threads, stencil_copy_bytes, 1);
        t->reference_residual = residual;
        t->reference_name = name;
        return STENCIL_OK;
    }
    TRY(stencil_field_check_same(&t->result, name, &t->reference, t->reference_name, t->steps));
    char text[2][STENCIL_NUMBER_CHARS];
    CHECK(memcmp(&residual, &t->reference_residual, sizeof residual) == 0, INTERNAL,
          "%s and %s differ in the residual of step %lld: %s and %s", name, t->reference_name,
          (long long)t->steps, stencil_number_text(residual, text[0]),
          stencil_number_text(t->reference_residual, text[1]));
    return STENCIL_OK;
}

static stencil_status sample(stencil_bench *b, void *what, int64_t steps, double *time_s) {
    const trial_case *c = what;
    stencil_trial *t = c->trial;
    const char *name = b->result->row[b->row].name;
    stencil_report report = {0};
    stencil_parallel_copy(&t->result, &t->initial, t->machine.cpu_threads, stencil_copy_bytes, 1);
    t->problem.stop.steps = t->problem.stop.check_every = steps;
    const stencil_field *source = t->source.data != NULL ? &t->source : NULL;
    stencil_status status = stencil_run_fields(&c->plan, &t->problem, &t->result, source, NULL, &report);
    if (t->spoiled == b->row + 1)
        ((char *)t->result
             .data)[t->problem.layout.origin * (int64_t)stencil_precision_bytes(t->problem.precision)] ^= 1;
    *time_s = report.compute_s;
    if (status == STENCIL_OK && report.steps != steps)
        status = ERROR(INTERNAL, "%s: %s ended after step %lld", b->result->benchmark, name,
                       (long long)report.steps);
    if (status == STENCIL_OK && b->calibrated)
        status = verify(t, name, stencil_history_last(&report.history));
    stencil_report_destroy(&report);
    return status;
}

stencil_run_options stencil_trial_options(const stencil_bench *b, const char *strategy, const char *sweep,
                                          int gpus) {
    stencil_run_options run = {.sync = strategy, .sweep = sweep, .backend = b->options->backend};
    if (run.backend == STENCIL_BACKEND_GPU)
        run.gpu_count = gpus;
    memcpy(run.gpu, b->options->gpu, sizeof run.gpu);
    return run;
}

const stencil_plan *stencil_trial_plan(const stencil_bench *b, int row) {
    return &((const trial_case *)stencil_bench_what(b, row))->plan;
}

stencil_status stencil_trial_add(stencil_bench *b, stencil_trial *t, const stencil_plan *plan,
                                 const char *kind, const char *name, const char *why) {
    const trial_case c = {t, *plan};
    const int bytes = (int)stencil_precision_bytes(t->problem.precision);
    char full[sizeof b->result->row->name];
    stencil_bench_subject subject = {
        kind, full, "s/step", .sample = sample, .shared = &t->steps, .sample_s = t->sample_s, .skipped = why};
    snprintf(full, sizeof full, "%s%s", t->of, name);
    memcpy(subject.axis, t->axis, sizeof subject.axis);
    if (plan->stores == STENCIL_STORES_TRIED && b->result->backend == STENCIL_BACKEND_CPU)
        subject.least = t->tries * STENCIL_STORES_STEPS;
    subject.least = subject.least > t->least ? subject.least : t->least;
    TRY(stencil_bench_add(b, &subject, &c, sizeof c));
    stencil_bench_row *row = stencil_bench_last(b);
    row->cells = (double)stencil_problem_cells(&t->problem);
    const bool source = t->source.data != NULL;
    row->bytes = (2 + source) * bytes * row->cells;
    snprintf(row->formula, sizeof row->formula, "%.0f cells x (read u %d%s + write u %d)", row->cells, bytes,
             !source      ? ""
             : bytes == 8 ? " + read b 8"
                          : " + read b 4",
             bytes);
    return STENCIL_OK;
}

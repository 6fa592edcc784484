/* All strategies on one problem, sample by sample in turns with the copy of its field. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/ceiling.h"
#include "bench/fields.h"
#include "solver/cpu_stores.h"

enum { SEED = 1 };

typedef struct sweep {
    stencil_machine machine; /* with the kernels of the plans */
    stencil_problem problem;
    stencil_field initial; /* of every sample */
    stencil_field result;
    stencil_field reference; /* result of the first timed sample; data NULL until there is one */
    double reference_residual;
    const char *reference_name;
    int64_t steps;      /* of timed samples; 0 while it is being chosen */
    stencil_plan *plan; /* of each row from first_strategy on */
    stencil_ceiling ceiling;
    int first_copy, first_strategy; /* rows */
} sweep;

static void default_problem(stencil_spec *spec) {
    if (spec->kind == STENCIL_KIND_NONE && spec->stencil[0] == '\0')
        snprintf(spec->stencil, sizeof spec->stencil, "%s", spec->rank == 3 ? "j3d7pt" : "j2d5pt");
    if (spec->rank == 0) {
        const stencil_shape *shape = spec->stencil[0] != '\0' ? stencil_shape_find(spec->stencil) : NULL;
        spec->rank = shape != NULL ? shape->rank : 2;
        for (int i = 0; i < spec->rank; i++)
            spec->extent[i] = spec->rank == 3 ? 512 : 8192;
    }
    spec->source = STENCIL_SOURCE_NONE;
    spec->rtol = spec->atol = NAN;
    spec->steps = 1;
}

static void add_parameters(const sweep *s, const stencil_bench_options *options,
                           stencil_bench_result *result) {
    const stencil_problem *problem = &s->problem;
    static const char *const size[] = {"nz", "ny", "nx"};
    char boundary[64] = "";
    if (problem->spec.kind != STENCIL_KIND_NONE)
        stencil_bench_add_text(result, "problem", stencil_kind_names[problem->spec.kind]);
    stencil_bench_add_text(result, "stencil", problem->shape->name);
    stencil_bench_add_text(result, "precision", stencil_precision_name(problem->precision));
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++) {
        stencil_bench_add_number(result, size[axis], problem->extent[axis]);
        const size_t used = strlen(boundary);
        snprintf(boundary + used, sizeof boundary - used, "%s%s", used > 0 ? "," : "",
                 stencil_boundary_names[problem->boundary[axis]]);
    }
    stencil_bench_add_text(result, "boundary", boundary);
    stencil_bench_add_number(result, "updated_cells", stencil_problem_updated_cells(problem));
    if (options->backend == STENCIL_BACKEND_GPU)
        stencil_bench_add_number(result, "gpus", options->gpu_count);
}

/* Ways to exchange halos: by itself, and what the strategy can do beside that. */
static const struct {
    const char *suffix;
    stencil_halo_mode halo;
    bool overlap;
} exchanges[] = {{"", STENCIL_HALO_AUTO, false},
                 {"/peer", STENCIL_HALO_PEER, false},
                 {"/copy", STENCIL_HALO_COPY, false},
                 {"/overlap", STENCIL_HALO_COPY, true}};
enum { EXCHANGES = sizeof exchanges / sizeof *exchanges };

/* A row for a strategy with one way to exchange halos, with its plan, or with the reason why there is none.
 */
static stencil_status add_strategy(sweep *s, const stencil_bench_options *options,
                                   const stencil_machine *machine, stencil_bench_result *result, int strategy,
                                   int exchange) {
    const char *why = stencil_strategy_unavailable(strategy, options->backend, machine);
    char name[sizeof result->row->name];
    int index;
    snprintf(name, sizeof name, "%s%s", stencil_strategy_at(strategy).name, exchanges[exchange].suffix);
    TRY(stencil_bench_add_row(result, "strategy", name, "s/step", &index));
    stencil_bench_row *row = &result->row[index];
    row->cells = (double)stencil_problem_updated_cells(&s->problem);
    const int bytes = (int)stencil_precision_bytes(s->problem.precision);
    row->bytes = 2 * bytes * row->cells;
    snprintf(row->formula, sizeof row->formula, "%.0f cells x (read u %d + write u %d)", row->cells, bytes,
             bytes);
    snprintf(row->skipped, sizeof row->skipped, "%s", why);
    stencil_run_options run = {.sync = stencil_strategy_at(strategy).name,
                               .backend = options->backend,
                               .halo = exchanges[exchange].halo,
                               .overlap = exchanges[exchange].overlap};
    if (options->backend == STENCIL_BACKEND_GPU)
        run.gpu_count = options->gpu_count;
    memcpy(run.gpu, options->gpu, sizeof run.gpu);
    if (why[0] == '\0')
        TRY(stencil_plan_here(&s->plan[index - s->first_strategy], &s->problem, &run, &s->machine));
    return STENCIL_OK;
}

/* On several GPUs the strategies that span them, with every way to exchange halos. */
static stencil_status add_strategies(sweep *s, const stencil_bench_options *options,
                                     const stencil_machine *machine, stencil_bench_result *result) {
    const bool several = options->backend == STENCIL_BACKEND_GPU && options->gpu_count > 1;
    s->first_strategy = result->row_count;
    s->plan = calloc((size_t)stencil_strategy_count() * EXCHANGES, sizeof *s->plan);
    CHECK(s->plan != NULL, NO_MEMORY, "no memory for a benchmark");
    for (int i = 0; i < stencil_strategy_count(); i++) {
        const stencil_strategy_info info = stencil_strategy_at(i);
        if (several && !info.spans)
            continue;
        TRY(add_strategy(s, options, machine, result, i, 0));
        for (int exchange = 1; exchange < EXCHANGES && several; exchange++)
            if (exchanges[exchange].halo == STENCIL_HALO_PEER ? info.stamps : info.copies)
                TRY(add_strategy(s, options, machine, result, i, exchange));
    }
    return STENCIL_OK;
}

/* The first result becomes the reference; every other one has to equal it. */
static stencil_status verify(sweep *s, const char *name, const stencil_report *report) {
    const double residual = report->residual[report->history_count - 1];
    if (s->reference.data == NULL) {
        TRY(stencil_field_create(&s->reference, &s->problem.layout, "the result to compare with"));
        stencil_parallel_copy(s->reference.data, s->result.data, s->ceiling.bytes, s->ceiling.threads);
        s->reference_residual = residual;
        s->reference_name = name;
        return STENCIL_OK;
    }
    TRY(stencil_field_check_same(&s->result, name, &s->reference, s->reference_name, s->steps));
    CHECK(memcmp(&residual, &s->reference_residual, sizeof residual) == 0, INTERNAL,
          "%s and %s differ in the residual of step %lld: %.17g and %.17g", name, s->reference_name,
          (long long)s->steps, residual, s->reference_residual);
    return STENCIL_OK;
}

static stencil_status sample_strategy(sweep *s, int strategy, int64_t steps, double *time_s) {
    stencil_report report = {0};
    const char *name = stencil_strategy_at(s->plan[strategy].strategy).name;
    stencil_parallel_copy(s->result.data, s->initial.data, s->ceiling.bytes, s->ceiling.threads);
    s->problem.stop.steps = s->problem.stop.check_every = steps;
    stencil_status status =
        stencil_run_fields(&s->plan[strategy], &s->problem, &s->result, NULL, NULL, &report);
    *time_s = report.compute_s;
    if (status == STENCIL_OK && report.steps != steps)
        status = stencil_error_set(STENCIL_INTERNAL, __FILE__, __LINE__, "",
                                   "sweep: %s ended after step %lld", name, (long long)report.steps);
    if (status == STENCIL_OK && steps == s->steps)
        status = verify(s, name, &report);
    stencil_report_destroy(&report);
    return status;
}

static stencil_status sample(void *context, int row, int64_t iterations, double *time_s) {
    sweep *s = context;
    if (row >= s->first_strategy)
        return sample_strategy(s, row - s->first_strategy, iterations, time_s);
    /* The restored field is overwritten: the copy goes where a sweep would write. */
    s->ceiling.to = s->result.data;
    return stencil_ceiling_sample(&s->ceiling, row - s->first_copy, iterations, time_s);
}

/* The same number of steps for all strategies, or their results could not be compared: what the fastest
 * needs, and on a CPU so many that what the first steps try hardly shows. */
static stencil_status choose_iterations(sweep *s, const stencil_bench_options *options,
                                        stencil_bench_result *result) {
    int64_t steps = options->iterations;
    for (int i = 0; i < result->row_count; i++) {
        stencil_bench_row *row = &result->row[i];
        if (row->skipped[0] != '\0')
            continue;
        TRY(stencil_bench_calibrate(sample, s, i, options->iterations, &row->iterations));
        if (i >= s->first_strategy && row->iterations > steps)
            steps = row->iterations;
    }
    if (options->iterations == 0 && options->backend == STENCIL_BACKEND_CPU &&
        s->plan[0].stores == STENCIL_STORES_TRIED && steps < 10 * STENCIL_STORES_STEPS)
        steps = 10 * STENCIL_STORES_STEPS;
    for (int i = s->first_strategy; i < result->row_count; i++)
        result->row[i].iterations = steps;
    s->steps = steps;
    return STENCIL_OK;
}

static stencil_status measure(sweep *s, const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    stencil_spec spec = options->spec;
    default_problem(&spec);
    TRY(stencil_problem_resolve(&s->problem, &spec));
    add_parameters(s, options, result);
    TRY(stencil_field_create(&s->initial, &s->problem.layout, "the initial field"));
    TRY(stencil_field_create(&s->result, &s->problem.layout, "the field"));
    stencil_field_fill_random(&s->initial, SEED);
    s->ceiling = (stencil_ceiling){
        .backend = options->backend,
        .gpu = options->gpu[0],
        .threads = machine->cpu_threads,
        .bytes = stencil_layout_bytes(&s->problem.layout),
        .from = s->initial.data,
    };
    TRY(stencil_ceiling_add_rows(&s->ceiling, result, &s->first_copy));
    TRY(add_strategies(s, options, machine, result));
    TRY(choose_iterations(s, options, result));
    TRY(stencil_bench_measure(result, options, sample, s));
    stencil_bench_add_note(result,
                           "The time of a step includes 1/%lld of a residual: the last step of a "
                           "sample is looked at.",
                           (long long)s->steps);
    stencil_bench_add_note(result, "Verified: every sample of every strategy gave the same bits, field and "
                                   "residual.");
    return STENCIL_OK;
}

static stencil_status run(const stencil_bench_options *options, const stencil_machine *machine,
                          stencil_bench_result *result) {
    sweep s = {.machine = *machine};
    const stencil_status status = measure(&s, options, machine, result);
    stencil_problem_destroy(&s.problem);
    stencil_field_destroy(&s.initial);
    stencil_field_destroy(&s.result);
    stencil_field_destroy(&s.reference);
    free(s.plan);
    return status;
}

const stencil_benchmark stencil_benchmark_sweep = {
    .run_cpu = run,
    .run_gpu = run,
    .many_gpus = true,
    .cpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_SIZE | STENCIL_BENCH_USES_ITERATIONS |
                STENCIL_BENCH_USES_PROBLEM,
    .gpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_SIZE | STENCIL_BENCH_USES_ITERATIONS |
                STENCIL_BENCH_USES_PROBLEM,
};

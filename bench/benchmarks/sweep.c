/* Benchmarks `sweep` (all strategies on one problem) and `strategies` (all strategies and sweeps on several
 * sizes), with samples that alternate with copies of the field. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "bench/benchmarks/trial.h"
#include "solver/plan/model.h"

/* Adds the parameters of a problem to the result; of_one: the result has a single problem. */
static void add_parameters(const stencil_bench *b, const stencil_problem *problem, bool of_one) {
    stencil_bench_result *result = b->result;
    static const char *const size[] = {"nz", "ny", "nx"};
    char boundary[64] = "";
    if (problem->spec.kind != STENCIL_KIND_NONE)
        stencil_bench_add_text(result, "problem", stencil_kind_names[problem->spec.kind]);
    stencil_bench_add_text(result, "stencil", problem->shape->name);
    stencil_bench_add_text(result, "precision", stencil_precision_name(problem->precision));
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++) {
        if (of_one)
            stencil_bench_add_number(result, size[axis], problem->extent[axis]);
        stencil_text_add(boundary, sizeof boundary, "%s%s", boundary[0] != '\0' ? "," : "",
                         stencil_boundary_names[problem->boundary[axis]]);
    }
    stencil_bench_add_text(result, "boundary", boundary);
    if (of_one)
        stencil_bench_add_number(result, "updated_cells", stencil_problem_updated_cells(problem));
    if (result->backend == STENCIL_BACKEND_GPU)
        stencil_bench_add_number(result, "gpus", b->options->gpu_count);
}

/* Ways to exchange halos: chosen by the plan, by stores, by copies, by copies overlapped with the sweep. */
static const struct {
    const char *suffix;
    stencil_halo_mode halo;
    bool overlap;
} exchanges[] = {{"", STENCIL_HALO_AUTO, false},
                 {"/store", STENCIL_HALO_STORE, false},
                 {"/copy", STENCIL_HALO_COPY, false},
                 {"/overlap", STENCIL_HALO_COPY, true}};
enum { EXCHANGES = sizeof exchanges / sizeof *exchanges };

/* Adds a row for a strategy, a sweep (NULL: the default sweep) and a way to exchange halos, with its plan or
 * with the reason why no plan exists. */
static stencil_status add_strategy(stencil_bench *b, int strategy, const char *sweep, int exchange) {
    stencil_trial *t = b->own;
    const char *why = stencil_strategy_unavailable(strategy, b->options->backend, b->machine),
               *plain = stencil_strategy_at(strategy).name;
    char name[sizeof b->result->row->name];
    stencil_plan plan = {0};
    stencil_run_options run = stencil_trial_options(b, plain, sweep, b->options->gpu_count);
    run.halo = exchanges[exchange].halo;
    run.overlap = exchanges[exchange].overlap;
    if (why[0] == '\0') {
        const stencil_status status = stencil_plan_here(&plan, &t->problem, &run, &t->machine);
        if (sweep == NULL)
            TRY(status);
        why = status != STENCIL_OK ? stencil_error_last()->message : "";
    }
    snprintf(name, sizeof name, "%s%s%s%s", plain, sweep != NULL ? "/" : "", sweep != NULL ? sweep : "",
             exchanges[exchange].suffix);
    TRY(stencil_trial_add(b, t, &plan, "strategy", name, why));
    if (sweep != NULL && why[0] == '\0') {
        const stencil_cost cost = stencil_model_step(&plan, &t->problem, &t->machine);
        stencil_bench_last(b)->predicted = cost.step_s;
        stencil_bench_last(b)->sync_share = (cost.launch_s + cost.barrier_s) / cost.step_s;
    }
    return STENCIL_OK;
}

/* Adds rows for all strategies; on several GPUs, for those that span GPUs, with every exchange of halos. */
static stencil_status add_strategies(stencil_bench *b, const char *sweep) {
    const bool several = b->options->backend == STENCIL_BACKEND_GPU && b->options->gpu_count > 1;
    for (int i = 0; i < stencil_strategy_count(); i++) {
        const stencil_strategy_info info = stencil_strategy_at(i);
        const char *unavailable = stencil_strategy_unavailable(i, b->options->backend, b->machine);
        if ((several && !info.spans) || (sweep != NULL && unavailable[0] != '\0'))
            continue;
        TRY(add_strategy(b, i, sweep, 0));
        for (int exchange = 1; exchange < EXCHANGES && several; exchange++)
            if (exchanges[exchange].halo == STENCIL_HALO_STORE ? info.ll : info.copies)
                TRY(add_strategy(b, i, sweep, exchange));
    }
    return STENCIL_OK;
}

/* Creates the trial of a problem; the first problem sets the result's parameters, even without memory. */
static stencil_status start_trial(stencil_bench *b, const stencil_spec *spec, bool of_one) {
    stencil_trial *t;
    TRY(stencil_bench_memory(b, &t, sizeof *t));
    b->own = t;
    const stencil_status status = stencil_trial_create(b, t, spec);
    if (t->bytes > 0 && b->result->parameter_count == 0)
        add_parameters(b, &t->problem, of_one);
    t->tries = 10;
    return status;
}

stencil_status stencil_measure_sweep(stencil_bench *b) {
    stencil_spec spec = b->options->spec;
    if (!stencil_trial_default(&spec))
        for (int i = 0; i < spec.rank; i++)
            spec.extent[i] = spec.rank == 3 ? 512 : 8192;
    TRY(start_trial(b, &spec, true));
    const stencil_trial *t = b->own;
    TRY(stencil_ceiling_add_rows(&(stencil_ceiling){.bytes = t->bytes, .trial = t}, b));
    TRY(add_strategies(b, NULL));
    TRY(stencil_bench_take(b));
    stencil_bench_note(
        b, "The time of a step includes 1/%lld of a residual: the last step of a sample is looked at.",
        (long long)t->steps);
    stencil_bench_note(b, "Verified: every sample of every strategy gave the same bits, field and residual.");
    return STENCIL_OK;
}

/* Default edges of squares and cubes; a CPU measures the first CPU_EDGES of them. */
enum { EDGES = 4, CPU_EDGES = 3 };
static const int64_t edges[2][EDGES] = {{256, 1024, 4096, 16384}, {32, 128, 256, 512}};

/* Measures every strategy, sweep and way to exchange halos on one problem, with samples alternating with
 * copies of its field. Several GPUs make no copies, as the field may exceed the memory of a GPU. */
static stencil_status measure_size(stencil_bench *b, const stencil_spec *spec, bool of_one) {
    const char *const sweep = b->options->sweep;
    const int first = b->result->row_count;
    double fastest = INFINITY;
    TRY(start_trial(b, spec, of_one));
    stencil_trial *t = b->own;
    t->axis[0] = (stencil_bench_parameter){.name = "nx", .number = t->problem.extent[STENCIL_X]};
    t->sample_s = 0.008; /* short, as there are many rows, and slow rows take many times longer */
    for (const stencil_sweep_info *s = stencil_sweep_infos; s->name != NULL; s++)
        if (sweep == NULL || strcmp(s->name, sweep) == 0)
            TRY(add_strategies(b, s->name));
    t->spoiled = b->options->inject_fault ? b->result->row_count : 0;
    const int copies = b->result->row_count;
    if (b->options->backend != STENCIL_BACKEND_GPU || b->options->gpu_count == 1)
        TRY(stencil_ceiling_add_rows(&(stencil_ceiling){.bytes = t->bytes, .trial = t}, b));
    TRY(stencil_bench_take(b));
    stencil_bench_row *const end = b->result->row + copies;
    for (const stencil_bench_row *row = b->result->row + first; row < end; row++)
        if (row->sample_count > 0)
            fastest = fmin(fastest, row->statistics.median);
    for (stencil_bench_row *row = b->result->row + first; row < end; row++)
        if (row->sample_count > 0)
            row->of_fastest = row->statistics.median / fastest;
    stencil_trial_release(t);
    return STENCIL_OK;
}

stencil_status stencil_measure_strategies(stencil_bench *b) {
    const stencil_bench_options *options = b->options;
    stencil_spec spec = options->spec;
    const bool one = stencil_trial_default(&spec);
    const int own = options->backend == STENCIL_BACKEND_GPU ? EDGES : CPU_EDGES;
    const int count = one ? 1 : options->edge_count > 0 ? options->edge_count : own;
    char text[STENCIL_BENCH_NOTE_SIZE];
    for (int i = 0; i < count; i++) {
        for (int axis = 0; axis < spec.rank && !one; axis++)
            spec.extent[axis] = options->edge_count > 0 ? options->edge[i] : edges[spec.rank - 2][i];
        TRY(measure_size(b, &spec, one));
    }
    for (int predicted = 0; predicted < 2; predicted++) {
        stencil_bench_crossovers(&(stencil_ranking){.result = b->result,
                                                    .kind = "strategy",
                                                    .axis = "nx",
                                                    .shape = spec.rank == 2 ? "²" : "³",
                                                    .predicted = predicted},
                                 text);
        if (text[0] != '\0')
            stencil_bench_note(b, "Fastest%s: %s.", predicted ? " by prediction" : "", text);
    }
    stencil_bench_note(b, "Verified: every sample of a size gave the same bits, field and residual.");
    return STENCIL_OK;
}

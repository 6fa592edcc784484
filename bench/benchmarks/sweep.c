/* All strategies on one problem, sample by sample in turns with the copy of its field. */
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "bench/benchmarks/trial.h"

static void add_parameters(const stencil_bench *b, const stencil_problem *problem) {
    stencil_bench_result *result = b->result;
    static const char *const size[] = {"nz", "ny", "nx"};
    char boundary[64] = "";
    if (problem->spec.kind != STENCIL_KIND_NONE)
        stencil_bench_add_text(result, "problem", stencil_kind_names[problem->spec.kind]);
    stencil_bench_add_text(result, "stencil", problem->shape->name);
    stencil_bench_add_text(result, "precision", stencil_precision_name(problem->precision));
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++) {
        stencil_bench_add_number(result, size[axis], problem->extent[axis]);
        stencil_text_add(boundary, sizeof boundary, "%s%s", boundary[0] != '\0' ? "," : "",
                         stencil_boundary_names[problem->boundary[axis]]);
    }
    stencil_bench_add_text(result, "boundary", boundary);
    stencil_bench_add_number(result, "updated_cells", stencil_problem_updated_cells(problem));
    if (result->backend == STENCIL_BACKEND_GPU)
        stencil_bench_add_number(result, "gpus", b->options->gpu_count);
}

/* Ways to exchange halos: by itself, and what the strategy can do beside that. */
static const struct {
    const char *suffix;
    stencil_halo_mode halo;
    bool overlap;
} exchanges[] = {{"", STENCIL_HALO_AUTO, false},
                 {"/store", STENCIL_HALO_STORE, false},
                 {"/copy", STENCIL_HALO_COPY, false},
                 {"/overlap", STENCIL_HALO_COPY, true}};
enum { EXCHANGES = sizeof exchanges / sizeof *exchanges };

/* A row for a strategy with one way to exchange halos, with its plan, or with the reason why there is none.
 */
static stencil_status add_strategy(stencil_bench *b, int strategy, int exchange) {
    stencil_trial *t = b->own;
    const stencil_bench_options *options = b->options;
    const char *why = stencil_strategy_unavailable(strategy, options->backend, b->machine),
               *plain = stencil_strategy_at(strategy).name;
    char name[sizeof b->result->row->name];
    stencil_plan plan = {0};
    stencil_run_options run = {.sync = plain,
                               .backend = options->backend,
                               .halo = exchanges[exchange].halo,
                               .overlap = exchanges[exchange].overlap};
    if (options->backend == STENCIL_BACKEND_GPU)
        run.gpu_count = options->gpu_count;
    memcpy(run.gpu, options->gpu, sizeof run.gpu);
    if (why[0] == '\0')
        TRY(stencil_plan_here(&plan, &t->problem, &run, &t->machine));
    snprintf(name, sizeof name, "%s%s", plain, exchanges[exchange].suffix);
    return stencil_trial_add(b, t, &plan, (stencil_bench_subject){"strategy", name, .skipped = why});
}

/* On several GPUs the strategies that span them, with every way to exchange halos. */
static stencil_status add_strategies(stencil_bench *b) {
    const bool several = b->options->backend == STENCIL_BACKEND_GPU && b->options->gpu_count > 1;
    for (int i = 0; i < stencil_strategy_count(); i++) {
        const stencil_strategy_info info = stencil_strategy_at(i);
        if (several && !info.spans)
            continue;
        TRY(add_strategy(b, i, 0));
        for (int exchange = 1; exchange < EXCHANGES && several; exchange++)
            if (exchanges[exchange].halo == STENCIL_HALO_STORE ? info.ll : info.copies)
                TRY(add_strategy(b, i, exchange));
    }
    return STENCIL_OK;
}

stencil_status stencil_measure_sweep(stencil_bench *b) {
    stencil_trial *t;
    stencil_spec spec = b->options->spec;
    if (!stencil_trial_default(&spec))
        for (int i = 0; i < spec.rank; i++)
            spec.extent[i] = spec.rank == 3 ? 512 : 8192;
    TRY(stencil_bench_memory(b, &t, sizeof *t));
    b->own = t;
    const stencil_status status = stencil_trial_create(b, t, &spec);
    if (t->bytes > 0) /* said of fields that there is no memory for, too */
        add_parameters(b, &t->problem);
    TRY(status);
    const stencil_ceiling ceiling = {
        .bytes = t->bytes,
        .from = t->initial.data,
        .to = &t->result, /* restored before it is read: where a sweep would write */
    };
    TRY(stencil_ceiling_add_rows(&ceiling, b));
    t->tries = 10;
    TRY(add_strategies(b));
    TRY(stencil_bench_take(b));
    stencil_bench_note(
        b, "The time of a step includes 1/%lld of a residual: the last step of a sample is looked at.",
        (long long)t->steps);
    stencil_bench_note(b, "Verified: every sample of every strategy gave the same bits, field and residual.");
    return STENCIL_OK;
}

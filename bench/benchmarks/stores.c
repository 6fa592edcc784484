/* Benchmark `stores`: time steps over sizes, stored through the cache, by streaming stores, and as a run
 * chooses. Shows the usable cache size of the process, and whether the choice follows it. */
#include "bench/benchmarks/trial.h"

enum { SIZES_MAX = 9, WAYS = 3, CHOSEN = 2 };

/* Edges of squares and cubes, for fields around the reported and the usable cache sizes. */
static const int64_t edges[2][SIZES_MAX] = {{1024, 1280, 1536, 2048, 2560, 3072, 4096, 4480, 8192},
                                            {64, 96, 128, 160, 192, 256, 320, 384, 448}};

static stencil_status add_size(stencil_bench *b, const stencil_spec *spec, stencil_trial **trial) {
    const stencil_run_options run = {.backend = STENCIL_BACKEND_CPU};
    TRY(stencil_bench_memory(b, trial, sizeof **trial));
    stencil_trial *t = *trial;
    TRY(stencil_trial_create(b, t, spec));
    t->tries = 20;
    t->axis[0] = (stencil_bench_parameter){.name = "nx", .number = t->problem.extent[STENCIL_X]};
    for (int i = 0; i < WAYS; i++) {
        stencil_plan plan;
        TRY(stencil_plan_make(&plan, &t->problem, &run, b->machine));
        if (i != CHOSEN)
            plan.stores = (stencil_stores)i;
        TRY(stencil_trial_add(b, t, &plan, "stores", i == CHOSEN ? "chosen" : stencil_stores_names[i], ""));
    }
    return STENCIL_OK;
}

stencil_status stencil_measure_stores(stencil_bench *b) {
    stencil_spec spec = b->options->spec;
    stencil_trial *t;
    const bool asked = stencil_trial_default(&spec);
    const int sizes = asked ? 1 : SIZES_MAX;
    for (int i = 0; i < sizes; i++) {
        for (int axis = 0; axis < spec.rank && !asked; axis++)
            spec.extent[axis] = edges[spec.rank - 2][i];
        TRY(add_size(b, &spec, &t));
    }
    stencil_bench_add_text(b->result, "stencil", t->problem.shape->name);
    stencil_bench_add_text(b->result, "precision", stencil_precision_name(t->problem.precision));
    stencil_bench_add_number(b->result, "cache_bytes", b->machine->cpu_cache_bytes);
    stencil_bench_note(b, "Verified: every sample of a size gave the same bits, whichever way.");
    return stencil_bench_take(b);
}

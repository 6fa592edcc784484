/* Steps whose results go through the cache, past it, and as a run would choose, over sizes: where the cache
 * that this process really has ends, and whether the choice follows it. */
#include "bench/benchmarks/trial.h"

enum { SIZES_MAX = 9, WAYS = 3, CHOSEN = 2 };

/* Edges of squares and cubes, around the caches that machines report and those that they have. */
static const int64_t edges[2][SIZES_MAX] = {{1024, 1280, 1536, 2048, 2560, 3072, 4096, 4480, 8192},
                                            {64, 96, 128, 160, 192, 256, 320, 384, 448}};

/* A row: cached, streaming or chosen. */
typedef struct way {
    stencil_trial *size;
    const char *name;
    stencil_plan plan;
} way;

static stencil_status sample(stencil_bench *b, void *what, int64_t steps, double *time_s) {
    way *w = what;
    return stencil_trial_sample(b, w->size, &w->plan, w->name, steps, time_s);
}

static stencil_status add_size(stencil_bench *b, const stencil_spec *spec) {
    const stencil_run_options run = {.backend = STENCIL_BACKEND_CPU};
    stencil_trial *t;
    TRY(stencil_bench_memory(b, &t, sizeof *t));
    TRY(stencil_trial_create(b, t, spec));
    for (int i = 0; i < WAYS; i++) {
        way w = {.size = t, .name = i == CHOSEN ? "chosen" : stencil_stores_names[i]};
        TRY(stencil_plan_make(&w.plan, &t->problem, &run, b->machine));
        if (i != CHOSEN)
            w.plan.stores = (stencil_stores)i;
        TRY(STENCIL_BENCH_ADD(b, w, "stores", w.name, "s/step", .sample = sample,
                              .axis = {{"nx", t->problem.extent[STENCIL_X]}}));
        stencil_trial_fill_row(b, t);
    }
    return STENCIL_OK;
}

stencil_status stencil_measure_stores(stencil_bench *b) {
    stencil_spec spec = b->options->spec;
    const bool asked = stencil_trial_default(&spec);
    for (int i = 0; i < (asked ? 1 : SIZES_MAX); i++) {
        for (int axis = 0; axis < spec.rank && !asked; axis++)
            spec.extent[axis] = edges[spec.rank - 2][i];
        TRY(add_size(b, &spec));
    }
    const stencil_problem *problem = &((const way *)stencil_bench_what(b, 0))->size->problem;
    stencil_bench_add_text(b->result, "stencil", problem->shape->name);
    stencil_bench_add_text(b->result, "precision", stencil_precision_name(problem->precision));
    stencil_bench_add_number(b->result, "cache_bytes", b->machine->cpu_cache_bytes);
    TRY(stencil_bench_calibrate(b));
    for (int first = 0; first < b->result->row_count; first += WAYS) {
        /* A choice that is tried takes some steps: the run is long enough that they do not show. */
        const way *chosen = stencil_bench_what(b, first + CHOSEN);
        const bool tries = b->options->iterations == 0 && chosen->plan.stores == STENCIL_STORES_TRIED;
        stencil_trial_settle(b, chosen->size, first, WAYS, tries ? 20 * STENCIL_STORES_STEPS : 0);
    }
    stencil_bench_note(b, "Verified: every sample of a size gave the same bits, whichever way.");
    return stencil_bench_take(b);
}

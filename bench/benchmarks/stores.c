/* Steps whose results go through the cache, past it, and as a run would choose, over sizes: where the cache
 * that this process really has ends, and whether the choice follows it. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/ceiling.h"
#include "bench/fields.h"
#include "solver/cpu_stores.h"

enum { SEED = 1, SIZES_MAX = 9, WAYS = 3, CHOSEN = 2 };

/* Edges of squares and cubes, around the caches that machines report and those that they have. */
static const int64_t edges[2][SIZES_MAX] = {{1024, 1280, 1536, 2048, 2560, 3072, 4096, 4480, 8192},
                                            {64, 96, 128, 160, 192, 256, 320, 384, 448}};

typedef struct size {
    stencil_problem problem;
    stencil_field initial; /* of every sample */
    stencil_field result;
    stencil_field reference; /* result of the first timed sample; data NULL until there is one */
    stencil_plan plan[WAYS]; /* cached, streaming, chosen */
    int64_t steps;           /* of timed samples; 0 while it is being chosen */
} size;

typedef struct stores {
    int threads, count;
    size size[SIZES_MAX];
} stores;

static stencil_status create_size(size *s, stencil_spec spec, const stencil_machine *machine) {
    const stencil_run_options run = {.backend = STENCIL_BACKEND_CPU};
    spec.source = STENCIL_SOURCE_NONE;
    spec.rtol = spec.atol = NAN;
    spec.steps = 1;
    TRY(stencil_problem_resolve(&s->problem, &spec));
    TRY(stencil_field_create(&s->initial, &s->problem.layout, "the initial field"));
    TRY(stencil_field_create(&s->result, &s->problem.layout, "the field"));
    stencil_field_fill_random(&s->initial, SEED);
    for (int way = 0; way < WAYS; way++) {
        TRY(stencil_plan_make(&s->plan[way], &s->problem, &run, machine));
        if (way != CHOSEN)
            s->plan[way].stores = (stencil_stores)way;
    }
    return STENCIL_OK;
}

static stencil_status add_rows(const size *s, stencil_bench_result *result) {
    for (int way = 0; way < WAYS; way++) {
        int index;
        TRY(stencil_bench_add_row(result, "stores", way == CHOSEN ? "chosen" : stencil_stores_names[way],
                                  "s/step", &index));
        stencil_bench_row *row = &result->row[index];
        const int bytes = (int)stencil_precision_bytes(s->problem.precision);
        row->cells = (double)stencil_problem_updated_cells(&s->problem);
        row->bytes = 2 * bytes * row->cells;
        snprintf(row->formula, sizeof row->formula, "%.0f cells x (read u %d + write u %d)", row->cells,
                 bytes, bytes);
        stencil_bench_set_axis(result, index, "nx", s->problem.extent[STENCIL_X]);
    }
    return STENCIL_OK;
}

static stencil_status sample(void *context, int row, int64_t iterations, double *time_s) {
    stores *all = context;
    size *s = &all->size[row / WAYS];
    stencil_report report = {0};
    const int64_t bytes = stencil_layout_bytes(&s->problem.layout);
    stencil_parallel_copy(s->result.data, s->initial.data, bytes, all->threads);
    s->problem.stop.steps = s->problem.stop.check_every = iterations;
    const stencil_status status =
        stencil_run_fields(&s->plan[row % WAYS], &s->problem, &s->result, NULL, NULL, &report);
    *time_s = report.compute_s;
    stencil_report_destroy(&report);
    TRY(status);
    if (iterations != s->steps)
        return STENCIL_OK;
    if (s->reference.data == NULL) {
        TRY(stencil_field_create(&s->reference, &s->problem.layout, "the result to compare with"));
        stencil_parallel_copy(s->reference.data, s->result.data, bytes, all->threads);
    }
    return stencil_field_check_same(&s->result, "a way to store", &s->reference, "the first one", iterations);
}

/* A choice that is tried takes some steps: the run is long enough that they do not show. */
static stencil_status choose_iterations(stores *all, const stencil_bench_options *options,
                                        stencil_bench_result *result) {
    for (int i = 0; i < all->count; i++) {
        size *s = &all->size[i];
        int64_t steps = options->iterations;
        if (steps == 0 && s->plan[CHOSEN].stores == STENCIL_STORES_TRIED)
            steps = 20 * STENCIL_STORES_STEPS;
        for (int way = 0; way < WAYS; way++) {
            int64_t found;
            TRY(stencil_bench_calibrate(sample, all, WAYS * i + way, options->iterations, &found));
            steps = found > steps ? found : steps;
        }
        for (int way = 0; way < WAYS; way++)
            result->row[WAYS * i + way].iterations = steps;
        s->steps = steps;
    }
    return STENCIL_OK;
}

static stencil_status measure(stores *all, const stencil_bench_options *options,
                              const stencil_machine *machine, stencil_bench_result *result) {
    stencil_spec spec = options->spec;
    const bool asked = spec.rank > 0;
    if (spec.kind == STENCIL_KIND_NONE && spec.stencil[0] == '\0')
        snprintf(spec.stencil, sizeof spec.stencil, "%s", spec.rank == 3 ? "j3d7pt" : "j2d5pt");
    const stencil_shape *shape = spec.stencil[0] != '\0' ? stencil_shape_find(spec.stencil) : NULL;
    if (!asked)
        spec.rank = shape != NULL ? shape->rank : 2;
    for (all->count = 0; all->count < (asked ? 1 : SIZES_MAX);) {
        for (int axis = 0; axis < spec.rank && !asked; axis++)
            spec.extent[axis] = edges[spec.rank - 2][all->count];
        TRY(create_size(&all->size[all->count++], spec, machine));
        TRY(add_rows(&all->size[all->count - 1], result));
    }
    stencil_bench_add_text(result, "stencil", all->size[0].problem.shape->name);
    stencil_bench_add_text(result, "precision", stencil_precision_name(all->size[0].problem.precision));
    stencil_bench_add_number(result, "cache_bytes", machine->cpu_cache_bytes);
    TRY(choose_iterations(all, options, result));
    TRY(stencil_bench_measure(result, options, sample, all));
    stencil_bench_add_note(result, "Verified: every sample of a size gave the same bits, whichever way.");
    return STENCIL_OK;
}

static stencil_status run_cpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    stores *all = calloc(1, sizeof *all);
    CHECK(all != NULL, NO_MEMORY, "no memory for a benchmark");
    all->threads = machine->cpu_threads;
    const stencil_status status = measure(all, options, machine, result);
    for (int i = 0; i < all->count; i++) {
        stencil_problem_destroy(&all->size[i].problem);
        stencil_field_destroy(&all->size[i].initial);
        stencil_field_destroy(&all->size[i].result);
        stencil_field_destroy(&all->size[i].reference);
    }
    free(all);
    return status;
}

const stencil_benchmark stencil_benchmark_stores = {
    .run_cpu = run_cpu,
    .cpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_SIZE | STENCIL_BENCH_USES_ITERATIONS |
                STENCIL_BENCH_USES_PROBLEM,
};

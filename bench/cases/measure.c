/* The benchmark of a case: for each size, a row for each order of phases, and one for the sequential version.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/benchmarks/trial.h"
#include "bench/cases/loop.h"

enum { ALL = false, RING = true };
const stencil_case stencil_cases[] = {
#define STENCIL_CASE(id, name, partners, traits, text) {name, partners, &stencil_case_##id},
#include "bench/cases/cases.def"
    {0},
};

const stencil_case *stencil_case_find(const char *name) {
    const stencil_case *of = stencil_cases;
    while (strcmp(of->name, name) != 0)
        of++;
    return of;
}

/* A problem of one size, and the number of blocks that share its work. */
typedef struct sized {
    const stencil_case_problem *problem, *one; /* one: same size, but a single phase; NULL: not needed */
    uint32_t blocks;
    double share; /* `blocks` relative to all blocks that fit at once */
} sized;

/* A benchmark row for one order; `one` runs the problem with a single phase. */
typedef struct ordered {
    stencil_case_loop loop, one;
} ordered;

double stencil_case_timeout_s(const stencil_bench *b) {
    return b->options->inject_fault ? 0.5 : 10;
}

static stencil_status sample(stencil_bench *b, void *what, int64_t count, double *time_s) {
    (void)b;
    return stencil_case_loop_run(&((ordered *)what)->loop, count, time_s);
}

/* Samples of a single-phase run, which takes t_O + t_C, to split the time of M phases, with a barrier or
 * launch between two phases: T = t_O + t_C + (M - 1) (t_C + t_S). */
enum { ONE_SAMPLES = 31 };
static stencil_status split(ordered *o, stencil_bench_row *row) {
    const double phases = (double)o->loop.problem->of->body->phases(o->loop.problem->arguments);
    double sample[ONE_SAMPLES], scratch[ONE_SAMPLES];
    if (o->one.problem == NULL || isnan(row->sync_measured))
        return STENCIL_OK;
    TRY(stencil_case_loop_verify(&o->one));
    for (int i = 0; i < ONE_SAMPLES; i++)
        TRY(stencil_case_loop_run(&o->one, 1, &sample[i]));
    const double one_s = stencil_statistics_of(sample, ONE_SAMPLES, scratch).median,
                 each_s = (row->statistics.median - one_s) / (phases - 1);
    row->t_s = row->sync_measured * each_s;
    row->t_c = each_s - row->t_s;
    row->t_o = one_s - row->t_c;
    return STENCIL_OK;
}

/* Verifies a row's results as timed, and again with some blocks delayed before each barrier; the delays of
 * all phases add up to a second at most. */
static stencil_status verify(stencil_bench *b, void *what) {
    ordered *o = what;
    stencil_case_loop *loop = &o->loop;
    stencil_bench_row *row = &b->result->row[b->row];
    stencil_inside inside;
    const int64_t phases = loop->problem->of->body->phases(loop->problem->arguments);
    TRY(stencil_case_loop_verify(loop));
    loop->fault =
        (stencil_fault){.delay_ns = (uint32_t)stencil_smaller(STENCIL_CASE_LATE_NS, 1000000000 / phases),
                        .seed = (uint32_t)b->row};
    if (stencil_case_is_persistent(loop->order))
        TRY(stencil_case_loop_verify(loop));
    loop->fault = (stencil_fault){0};
    const stencil_status status = stencil_case_loop_attribute(loop, &inside);
    if (status == STENCIL_OK && inside.samples > 0)
        row->sync_measured = 1 - inside.compute_s / inside.step_s;
    stencil_inside_destroy(&inside);
    row->speedup = loop->problem->plain_s / row->statistics.median;
    TRY(status);
    return split(o, row);
}

/* Returns the seconds that the model predicts for an order; NAN on a CPU, which is not modelled. */
static double predict(const stencil_bench *b, const sized *s, int order) {
    const bool alone = order == STENCIL_CASE_ALONE;
    return b->options->backend == STENCIL_BACKEND_GPU
               ? stencil_case_predict(s->problem, order, alone ? 1 : s->blocks, alone ? 0 : s->share,
                                      &b->machine->gpu_costs)
               : NAN;
}

static stencil_status add_row(stencil_bench *b, const sized *s, int order) {
    const stencil_case_problem *p = s->problem;
    const bool planted = b->options->inject_fault, ceiling = order == STENCIL_CASE_CEILING;
    ordered o = {.loop = {.problem = p,
                          .order = order,
                          .blocks = order == STENCIL_CASE_ALONE ? 1 : s->blocks,
                          .timeout_s = stencil_case_timeout_s(b)}};
    char why[96] = "";
    o.one = o.loop;
    o.one.problem = s->one;
    TRY(STENCIL_BENCH_ADD(b, o, ceiling ? "ceiling" : "order", stencil_case_order_at(order).name, "s/run",
                          .sample = sample, .verify = verify, .sample_s = STENCIL_CASE_SAMPLE_S,
                          .axis = {{"elements", p->n}}));
    ordered *made = stencil_bench_what(b, b->result->row_count - 1);
    stencil_bench_row *row = stencil_bench_last(b);
    TRY(stencil_case_loop_create(b, &made->loop, why));
    if (s->one != NULL && why[0] == '\0')
        TRY(stencil_case_loop_create(b, &made->one, why));
    snprintf(row->skipped, sizeof row->skipped, "%s", why);
    snprintf(row->name, sizeof row->name, "%s", made->loop.name);
    row->workers = ceiling ? NAN : made->loop.workers;
    row->bytes = made->loop.bytes;
    row->predicted = predict(b, s, order);
    if (planted)
        made->loop.fault = (stencil_fault){.absent_step = 1, .absent = made->loop.blocks - 1};
    return STENCIL_OK;
}

/* Finds how many blocks of a case are resident at once; on a CPU, how many threads there are. */
static stencil_status find_most(stencil_bench *b, const stencil_case *of, int64_t *most) {
    *most = b->machine->cpu_threads;
#ifdef STENCIL_HAVE_CUDA
    if (b->options->backend == STENCIL_BACKEND_GPU)
        TRY(stencil_case_gpu_resident(of, most));
#else
    (void)of;
#endif
    return STENCIL_OK;
}

/* Sets the number of blocks of a problem, and their share of those that can be resident. */
static stencil_status choose_blocks(stencil_bench *b, const stencil_case *of, int64_t items, sized *s) {
    int64_t most;
    TRY(find_most(b, of, &most));
    s->blocks = stencil_case_blocks((items + of->body->lanes - 1) / of->body->lanes, most);
    s->share = (double)s->blocks / (double)most;
    return STENCIL_OK;
}

/* Byte limits for comparing a GPU run with a copy of as many bytes: smaller runs get no such row, larger ones
 * a copy of COPY_MOST. CPU copies are measured by benchmark copy. */
enum { COPIED_LEAST = 1 << 26, COPY_MOST = 1 << 30 };
static stencil_status add_copies(stencil_bench *b, const stencil_case_problem *p) {
    const int first = b->result->row_count;
    const stencil_ceiling copy = {.bytes = stencil_smaller((int64_t)(p->bytes / 2), COPY_MOST) / 64 * 64};
    if (p->bytes < COPIED_LEAST)
        return STENCIL_OK;
    TRY(stencil_ceiling_add_rows(&copy, b));
    for (int i = first; i < b->result->row_count; i++) {
        b->result->row[i].axis_count = 1;
        b->result->row[i].axis[0] = (stencil_bench_parameter){.name = "elements", .number = p->n};
    }
    return STENCIL_OK;
}

/* Sets a row's median relative to the fastest row of kind "order", for all rows from index `first` on. */
static void compare(stencil_bench_result *result, int first) {
    double fastest = INFINITY;
    for (int pass = 0; pass < 2; pass++)
        for (int i = first; i < result->row_count; i++) {
            stencil_bench_row *row = &result->row[i];
            const bool own = strcmp(row->kind, "order") == 0;
            if (row->sample_count == 0 || (!own && strcmp(row->kind, "ceiling") != 0))
                continue;
            if (pass == 0 && own)
                fastest = fmin(fastest, row->statistics.median);
            if (pass > 0)
                row->of_fastest = row->statistics.median / fastest;
        }
}

stencil_status stencil_case_take(stencil_bench *b, int first) {
    if (b->options->inject_fault)
        return stencil_bench_take_planted(b);
    TRY(stencil_bench_take(b));
    compare(b->result, first);
    return STENCIL_OK;
}

static void destroy(void *problem) {
    stencil_case_destroy(problem);
}

stencil_status stencil_case_keep(stencil_bench *b, const stencil_case *of, int64_t n, int64_t repeats,
                                 stencil_case_problem **made) {
    TRY(stencil_bench_memory(b, made, sizeof **made));
    TRY(stencil_bench_keep(b, destroy, *made));
    return stencil_case_make(*made, of, n, repeats);
}

stencil_status stencil_case_measure_sizes(stencil_bench *b, const stencil_case *of,
                                          const stencil_case_sizes *sizes, const void *how,
                                          stencil_status (*measure)(stencil_bench *b, const void *how,
                                                                    int64_t n)) {
    const stencil_bench_options *options = b->options;
    for (int i = 0; i < options->edge_count; i++)
        TRY(stencil_case_check_size(of, options->edge[i]));
    for (int i = 0; i < options->edge_count; i++)
        TRY(measure(b, how, options->edge[i]));
    if (options->edge_count > 0)
        return STENCIL_OK;
    for (int64_t n = sizes->least; n < sizes->most && !options->inject_fault; n *= sizes->factor)
        TRY(measure(b, how, n));
    return measure(b, how, sizes->most);
}

/* Makes a problem that lasts until the benchmark ends, and copies it to the GPU if there is one. */
static stencil_status make(stencil_bench *b, const stencil_case *of, int64_t n, int64_t repeats,
                           const stencil_case_problem **made) {
    stencil_case_problem *p;
    TRY(stencil_case_keep(b, of, n, repeats, &p));
    *made = p;
#ifdef STENCIL_HAVE_CUDA
    if (b->options->backend == STENCIL_BACKEND_GPU)
        TRY(stencil_case_gpu_upload(b, p));
#endif
    return STENCIL_OK;
}

/* Largest predicted time of a one-block run, relative to one launch per phase, at which the one-block order
 * is measured. With a planted fault only orders with a barrier are measured. */
enum { ALONE_MOST = 8 };
static bool is_wanted(const stencil_bench *b, const sized *s, int order) {
    const stencil_case_body *body = s->problem->of->body;
    if (b->options->inject_fault)
        return stencil_case_is_persistent(order);
    if (order == STENCIL_CASE_ALONE)
        return body->in_flight > 0 &&
               !(predict(b, s, order) > ALONE_MOST * predict(b, s, STENCIL_CASE_IMPLICIT));
    return order != STENCIL_CASE_CEILING || body->ceiling != NULL;
}

/* Measures a problem of one size. */
static stencil_status measure_size(stencil_bench *b, const void *how, int64_t n) {
    const stencil_case *of = how;
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU, planted = b->options->inject_fault;
    const int first = b->result->row_count;
    sized s = {0};
    TRY(make(b, of, n, b->options->repeats, &s.problem));
    if (of->body->alike && !planted)
        TRY(make(b, of, n, 1, &s.one));
    TRY(choose_blocks(b, of, s.problem->items, &s));
    CHECK(!planted || s.blocks > 1, USAGE,
          "--inject-fault: %s of %lld elements has one block, which waits for nobody", of->name,
          (long long)n);
    for (int order = 0; order < (gpu ? STENCIL_CASE_ORDERS : STENCIL_CASE_CPU_ORDERS); order++)
        if (is_wanted(b, &s, order))
            TRY(add_row(b, &s, order));
    if (gpu && !planted)
        TRY(add_copies(b, s.problem));
    return stencil_case_take(b, first);
}

/* Notes the sizes from which another order is the fastest, as measured and, on a GPU, as predicted. */
static void note_switches(stencil_bench *b, bool gpu) {
    for (int predicted = 0; predicted < 1 + gpu; predicted++) {
        const stencil_ranking ranking = {
            .result = b->result, .kind = "order", .axis = "elements", .shape = "", .predicted = predicted};
        char text[STENCIL_BENCH_NOTE_SIZE];
        stencil_bench_crossovers(&ranking, text);
        if (text[0] != '\0')
            stencil_bench_note(b, "Fastest%s: %s.", predicted ? " by the model (000, section 7.1)" : "",
                               text);
    }
}

stencil_status stencil_measure_case(stencil_bench *b) {
    const stencil_case *of = stencil_case_find(b->result->benchmark);
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU;
    stencil_case_sizes sizes = of->body->size[gpu];
    if (sizes.most == 0) { /* largest size: work for all blocks that fit at once */
        TRY(find_most(b, of, &sizes.most));
        sizes.most *= of->body->lanes;
    }
    TRY(stencil_case_measure_sizes(b, of, &sizes, of, measure_size));
    if (b->options->inject_fault)
        return STENCIL_OK;
    stencil_bench_note(b,
                       "Verified: every result of a run from spoiled arrays, and of another one with late "
                       "%s, was that of the plain version to the last bit.",
                       gpu ? "blocks" : "threads");
    stencil_bench_note(b,
                       "x plain: how many times faster than the plain version, on one thread of the host; "
                       "sync: the part of a phase that is no computing, from moments noted in another run; "
                       "workers: %s.",
                       gpu ? "blocks" : "threads");
    if (of->body->agrees != NULL && gpu)
        stencil_bench_note(
            b, "The ceiling makes its result in another order: that is within the bound of error.");
    if (of->body->alike)
        stencil_bench_note(
            b, "Run of M phases = t_O + t_C + (M - 1) (t_C + t_S) (001): a launch, computing, and what keeps "
               "a phase in order; t_O + t_C is a run of one phase.");
    if (of->body->in_flight > 0)
        note_switches(b, gpu);
    return STENCIL_OK;
}

/* The benchmark of a case: for each size and number of parts, a row for each order of phases. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/benchmarks/trial.h"
#include "bench/cases/loop.h"

enum { ALL = false, RING = true };
const stencil_case stencil_cases[] = {
#define STENCIL_CASE(id, name, partners, traits, text)                                                       \
    {name, partners, ((traits)&STENCIL_BENCH_USES_BLOCKS) != 0, &stencil_case_##id},
#include "bench/cases/cases.def"
    {0},
};

const stencil_case *stencil_case_find(const char *name) {
    const stencil_case *of = stencil_cases;
    while (strcmp(of->name, name) != 0)
        of++;
    return of;
}

/* The orders of a case that are measured: those with the flag `apart`, or all others. */
typedef struct measured {
    const stencil_case *problems;
    const stencil_parts_case *of;
    bool apart;
} measured;

/* A benchmark row for one order; `one` runs the problem with a single phase (one.spread NULL: not needed). */
typedef struct ordered {
    stencil_case_loop loop, one;
} ordered;

static stencil_status sample(stencil_bench *b, void *what, int64_t count, double *time_s) {
    (void)b;
    return stencil_case_loop_run(&(*(ordered **)what)->loop, count, time_s);
}

static int64_t phases_of(const stencil_parts_spread *s) {
    return s->problem->of->body->phases(&s->part[0]);
}

/* Samples of a single-phase run, which takes t_O + t_C, to split the time of M phases, with a barrier or
 * launch between two phases: T = t_O + t_C + (M - 1) (t_C + t_S). */
enum { ONE_SAMPLES = 31 };
static stencil_status split(ordered *o, stencil_bench_row *row) {
    const double phases = (double)phases_of(o->loop.spread);
    double sample[ONE_SAMPLES], scratch[ONE_SAMPLES];
    if (o->one.spread == NULL || isnan(row->sync_measured))
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

enum { LATE_NS = 20000 }; /* delay of blocks or threads that must not change results */

/* Verifies a row's results as timed, and again with some blocks delayed before each barrier; the delays of
 * all phases add up to a second at most. */
static stencil_status verify(stencil_bench *b, void *what) {
    ordered *o = *(ordered **)what;
    stencil_case_loop *loop = &o->loop;
    stencil_bench_row *row = &b->result->row[b->row];
    stencil_inside inside;
    TRY(stencil_case_loop_verify(loop));
    loop->fault =
        (stencil_fault){.delay_ns = (uint32_t)stencil_smaller(LATE_NS, 1000000000 / phases_of(loop->spread)),
                        .seed = (uint32_t)b->row};
    if (stencil_case_is_persistent(loop->spread->of, loop->order))
        TRY(stencil_case_loop_verify(loop));
    loop->fault = (stencil_fault){0};
    const stencil_status status = stencil_case_loop_attribute(loop, &inside);
    if (status == STENCIL_OK && inside.samples > 0)
        row->sync_measured = 1 - inside.compute_s / inside.step_s;
    stencil_inside_destroy(&inside);
    row->speedup = loop->spread->problem->plain_s / row->statistics.median;
    TRY(status);
#ifdef STENCIL_HAVE_CUDA
    if (loop->gpu != NULL)
        TRY(stencil_case_spans(b, loop, row));
#endif
    return split(o, row);
}

static bool is_alone(const stencil_parts_spread *s, int order) {
    return s->of->one_part && order == STENCIL_CASE_ALONE;
}

/* Returns the seconds that the model predicts for an order; NaN on a CPU or for several parts: no model. */
static double predict(const stencil_bench *b, const stencil_parts_spread *s, int order) {
    const bool alone = is_alone(s, order);
    return b->options->backend == STENCIL_BACKEND_GPU && s->of->one_part
               ? stencil_case_predict(s->problem, order, alone ? 1 : s->blocks,
                                      alone ? 0 : (double)s->blocks / (double)s->most, &b->machine->gpu_costs)
               : NAN;
}

static stencil_status add_row(stencil_bench *b, const stencil_parts_spread *s,
                              const stencil_parts_spread *one, int order) {
    const bool planted = b->options->inject_fault, ceiling = s->of->order[order].ceiling;
    const bool gpu = s->device[0] != NULL;
    const char *const axis = s->asked > 0      ? gpu ? "blocks" : "threads"
                             : s->of->one_part ? NULL
                             : gpu             ? "gpus"
                                               : "threads";
    char why[96] = "";
    ordered *o;
    TRY(stencil_bench_memory(b, &o, sizeof *o));
    o->loop = o->one = (stencil_case_loop){.spread = s,
                                           .order = order,
                                           .blocks = is_alone(s, order) ? 1 : s->blocks,
                                           .timeout_s = planted ? 0.5 : 10};
    o->one.spread = one;
    TRY(stencil_case_loop_create(b, &o->loop, why));
    if (one != NULL && why[0] == '\0')
        TRY(stencil_case_loop_create(b, &o->one, why));
    o->loop.fault.absent_step = planted;
    TRY(STENCIL_BENCH_ADD(
        b, o, ceiling ? "ceiling" : "order", o->loop.name, "s/run", .sample = sample, .verify = verify,
        .sample_s = 0.02, .skipped = why,
        .axis = {{"elements", s->problem->n}, {axis, s->asked > 0 ? (int64_t)s->asked : s->parts}}));
    stencil_bench_row *row = stencil_bench_last(b);
    if (s->of->one_part && !ceiling)
        row->workers = o->loop.workers;
    row->bytes = o->loop.bytes;
    row->predicted = predict(b, s, order);
    return STENCIL_OK;
}

/* Limits, in bytes, for comparing a GPU run with a copy: a run that moves less than COPIED_LEAST gets no row
 * of a copy, and no copy is larger than COPY_MOST. CPU copies are measured by benchmark copy. */
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

/* Spreads a problem over parts, until the benchmark ends. */
static stencil_status spread_out(stencil_bench *b, const stencil_parts_case *of,
                                 const stencil_case_problem *problem, int parts, uint32_t asked,
                                 const stencil_parts_spread **made) {
    stencil_parts_spread *s;
    TRY(stencil_bench_memory(b, &s, sizeof *s));
    *s = (stencil_parts_spread){.of = of, .problem = problem, .parts = parts, .asked = asked};
    *made = s;
    return stencil_parts_spread_create(b, s);
}

/* Largest predicted time of a one-block run, relative to one launch per phase, at which the one-block order
 * is measured. With a planted fault only orders with a barrier are measured. */
enum { ALONE_MOST = 8 };
static bool is_wanted(const stencil_bench *b, const measured *m, const stencil_parts_spread *s, int i) {
    const stencil_case_order *order = &m->of->order[i];
    const stencil_case_body *body = m->problems->body;
    if (order->apart != m->apart || (order->gpus && b->options->backend != STENCIL_BACKEND_GPU))
        return false;
    if (b->options->inject_fault)
        return stencil_case_is_persistent(m->of, i);
    if (s->asked > 0 && (order->ceiling || is_alone(s, i)))
        return false;
    if (is_alone(s, i))
        return body->in_flight > 0 && !(predict(b, s, i) > ALONE_MOST * predict(b, s, STENCIL_CASE_IMPLICIT));
    if (m->of->one_part && i == STENCIL_CASE_SAMPLE)
        return body->sample != NULL;
    return !order->ceiling || body->ceiling != NULL;
}

/* Measures a problem over some parts, with a number of blocks or 0; `one`: the same problem with a single
 * phase, or NULL. */
static stencil_status measure_parts(stencil_bench *b, const measured *m, const stencil_case_problem *problem,
                                    const stencil_case_problem *one, int parts, uint32_t asked) {
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU, planted = b->options->inject_fault;
    const int first = b->result->row_count;
    const stencil_parts_spread *s, *single = NULL;
    TRY(spread_out(b, m->of, problem, parts, asked, &s));
    if (one != NULL)
        TRY(spread_out(b, m->of, one, parts, asked, &single));
    CHECK(!planted || (uint32_t)parts * s->blocks > 1, USAGE,
          "--inject-fault: %s of %lld elements has one block, which waits for nobody", b->result->benchmark,
          (long long)problem->n);
    for (int order = 0; m->of->order[order].name != NULL; order++)
        if (is_wanted(b, m, s, order))
            TRY(add_row(b, s, single, order));
    if (planted)
        return stencil_bench_take_planted(b);
    if (gpu && m->of->one_part && asked == 0)
        TRY(add_copies(b, problem));
    TRY(stencil_bench_take(b));
    compare(b->result, first);
    return STENCIL_OK;
}

static void destroy(void *problem) {
    stencil_case_destroy(problem);
}

/* Makes a problem on the host that lasts until the benchmark ends. */
static stencil_status make(stencil_bench *b, const stencil_case *of, int64_t n, int64_t repeats,
                           stencil_case_problem **made) {
    TRY(stencil_bench_memory(b, made, sizeof **made));
    TRY(stencil_bench_keep(b, destroy, *made));
    return stencil_case_make(*made, of, n, repeats);
}

/* Returns how many numbers of blocks the options name for a case that can be shared out so. */
static int blocks_asked(const stencil_bench *b, const measured *m) {
    return m->of->one_part && m->problems->any_blocks ? b->options->block_count : 0;
}

/* Measures a problem of one size with each number of blocks of the options, or with 1, 2, 4, … parts and with
 * all; with a planted fault only with all. */
static stencil_status measure_size(stencil_bench *b, const measured *m, int64_t n) {
    const int all = m->of->one_part ? 1 : stencil_parts_most(b);
    const bool planted = b->options->inject_fault;
    stencil_case_problem *problem, *one = NULL;
    TRY(make(b, m->problems, n, b->options->repeats, &problem));
    if (m->problems->body->alike && !planted)
        TRY(make(b, m->problems, n, 1, &one));
    for (int i = 0; i < blocks_asked(b, m); i++)
        TRY(measure_parts(b, m, problem, one, all, (uint32_t)b->options->blocks[i]));
    if (blocks_asked(b, m) > 0)
        return STENCIL_OK;
    for (int parts = planted ? all : 1; parts < all; parts *= 2)
        TRY(measure_parts(b, m, problem, one, parts, 0));
    return measure_parts(b, m, problem, one, all, 0);
}

/* Refuses more blocks than are resident at once under every barrier. */
static stencil_status check_blocks(const stencil_bench *b, const measured *m) {
    int64_t most = 0;
    if (blocks_asked(b, m) > 0)
        TRY(stencil_parts_resident(b, m->of, m->problems->body, 1, &most));
    for (int i = 0; i < blocks_asked(b, m); i++)
        CHECK(b->options->blocks[i] <= most, USAGE, "--blocks: %lld of %s are not resident at once, %lld are",
              (long long)b->options->blocks[i], b->result->benchmark, (long long)most);
    return STENCIL_OK;
}

/* Measures a case in each size that the options name, all checked first, or in each default size; with a
 * planted fault, only in the largest default size. */
static stencil_status measure_sizes(stencil_bench *b, const measured *m, const stencil_case_sizes *sizes) {
    const stencil_bench_options *options = b->options;
    TRY(check_blocks(b, m));
    for (int i = 0; i < options->edge_count; i++)
        TRY(stencil_case_check_size(m->problems, options->edge[i]));
    for (int i = 0; i < options->edge_count; i++)
        TRY(measure_size(b, m, options->edge[i]));
    if (options->edge_count > 0)
        return STENCIL_OK;
    for (int64_t n = sizes->least; n < sizes->most && !options->inject_fault; n *= sizes->factor)
        TRY(measure_size(b, m, n));
    return measure_size(b, m, sizes->most);
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

/* Notes how the gains of rows follow from their parts of synchronisation, where some are known. */
static void note_gains(stencil_bench *b) {
    bool known = false;
    for (int i = 0; i < b->result->row_count; i++)
        known = known || !isnan(b->result->row[i].sync_measured);
    if (known)
        stencil_bench_note(b,
                           "Gains (001, Amdahl's law; p is the part of computing, 1 - sync): no barrier can "
                           "gain more than 1 / p, no quicker computing more than 1 / (1 - p). Beside "
                           "implicit a run whose barriers are S_S times as quick gains 1 / (p + (1 - p) / "
                           "S_S) by them, and 1 / ((1 - p) + p / S_C) by computing S_C times as quick.");
}

/* Adds the nominal bandwidth of a GPU's memory to the parameters of the result, where it is known. */
static void add_nominal(stencil_bench *b) {
#ifdef STENCIL_HAVE_CUDA
    const double bytes_per_s =
        b->options->backend == STENCIL_BACKEND_GPU ? stencil_device_nominal(b->options->gpu[0]) : 0;
    if (bytes_per_s > 0)
        stencil_bench_add_number(b->result, STENCIL_BENCH_NOMINAL, (int64_t)bytes_per_s);
#else
    (void)b;
#endif
}

/* Notes what the times of kernels are, where some are known, and how well timers of GPUs agree. */
static void note_kernels(stencil_bench *b) {
    double error_s = NAN;
    for (int i = 0; i < b->result->row_count; i++)
        error_s = fmax(error_s, b->result->row[i].timer_error_s); /* fmax() ignores NaN */
    if (error_s >= 0)
        stencil_bench_note(b,
                           "kernels: from the start of a run's first kernel to the end of its last one, in "
                           "other runs, by the GPU's timer, without what the host does before and after.");
    if (error_s > 0)
        stencil_bench_note(b,
                           "skew: how far apart the first kernels of the GPUs start; their timers were "
                           "compared by flags to and fro, within %.2g us.",
                           1e6 * error_s);
}

stencil_status stencil_measure_case(stencil_bench *b) {
    const stencil_case *of = stencil_case_find(b->result->benchmark);
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU;
    stencil_case_sizes sizes = of->body->size[gpu];
    if (sizes.most == 0) { /* largest size: work for all blocks that fit at once */
        TRY(stencil_parts_resident(b, &stencil_one_part, of->body, 1, &sizes.most));
        sizes.most *= of->body->lanes;
    }
    add_nominal(b);
    TRY(measure_sizes(b, &(measured){of, &stencil_one_part, false}, &sizes));
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
    note_gains(b);
    note_kernels(b);
    if (of->body->agrees != NULL && gpu)
        stencil_bench_note(b,
                           "A ceiling makes its result in another order: that is within the bound of error.");
    if (of->body->alike)
        stencil_bench_note(
            b, "Run of M phases = t_O + t_C + (M - 1) (t_C + t_S) (001): a launch, computing, and what keeps "
               "a phase in order; t_O + t_C is a run of one phase.");
    if (of->body->in_flight > 0 && b->options->block_count == 0)
        note_switches(b, gpu);
    return STENCIL_OK;
}

stencil_status stencil_parts_measure(stencil_bench *b, const stencil_parts_case *of, bool apart) {
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU;
    const measured m = {stencil_case_find(of->of), of, apart};
    TRY(measure_sizes(b, &m, &of->size[gpu]));
    if (b->options->inject_fault)
        return STENCIL_OK;
    stencil_bench_note(
        b,
        "A run begins with the first launch and ends when all %s have ended. Verified: its "
        "result is the plain version's to the last bit, after a run from spoiled memory and, "
        "of persistent kernels, one with late %s; that of a ceiling within its bound of error.",
        gpu ? "GPUs" : "threads", gpu ? "blocks" : "threads");
    note_kernels(b);
    if (gpu && stencil_parts_most(b) < b->options->gpu_count)
        stencil_bench_note(b, "Only one GPU is used: the others cannot reach each other's memory.");
    return STENCIL_OK;
}

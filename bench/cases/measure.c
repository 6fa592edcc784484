/* The benchmark of every case: its sizes, and for each a row for everything that keeps its phases in order,
 * beside the plain version. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/benchmarks/trial.h"
#include "bench/cases/loop.h"

/* A row. */
typedef struct ordered {
    stencil_case_loop loop;
    int row;
} ordered;

static const double timeout_s = 10, planted_timeout_s = 0.5, sample_s = 0.02;
enum { LATE_NS = 20000 };

static stencil_status sample(stencil_bench *b, void *what, int64_t count, double *time_s) {
    (void)b;
    return stencil_case_loop_run(&((ordered *)what)->loop, count, time_s);
}

/* As it was timed, and again with some blocks late before each barrier; of a case with many phases less late,
 * so that all of them together take no longer than a second. */
static stencil_status verify(stencil_bench *b, void *what) {
    ordered *o = what;
    stencil_case_loop *loop = &o->loop;
    stencil_bench_row *row = &b->result->row[b->row];
    stencil_inside inside;
    const int64_t phases = loop->problem->of->body->phases(loop->problem->arguments);
    TRY(stencil_case_loop_verify(loop));
    loop->fault = (stencil_fault){.delay_ns = (uint32_t)stencil_smaller(LATE_NS, 1000000000 / phases),
                                  .seed = (uint32_t)b->row};
    if (stencil_case_is_persistent(loop->order))
        TRY(stencil_case_loop_verify(loop));
    loop->fault = (stencil_fault){0};
    const stencil_status status = stencil_case_loop_attribute(loop, &inside);
    if (status == STENCIL_OK && inside.samples > 0)
        row->sync_measured = 1 - inside.compute_s / inside.step_s;
    stencil_inside_destroy(&inside);
    row->speedup = loop->problem->plain_s / row->statistics.median;
    return status;
}

static stencil_status add_row(stencil_bench *b, const stencil_case_problem *p, int order, uint32_t blocks) {
    const bool planted = b->options->inject_fault;
    ordered o = {.loop = {.problem = p,
                          .order = order,
                          .blocks = blocks,
                          .timeout_s = planted ? planted_timeout_s : timeout_s}};
    char why[96] = "";
    const bool ceiling = order == STENCIL_CASE_CEILING;
    TRY(STENCIL_BENCH_ADD(b, o, ceiling ? "ceiling" : "order", stencil_case_order_name(order), "s/run",
                          .sample = sample, .verify = verify, .sample_s = sample_s,
                          .axis = {{"elements", p->n}}));
    ordered *made = stencil_bench_what(b, b->result->row_count - 1);
    stencil_bench_row *row = stencil_bench_last(b);
    TRY(stencil_case_loop_create(b, &made->loop, why));
    snprintf(row->skipped, sizeof row->skipped, "%s", why);
    snprintf(row->name, sizeof row->name, "%s", made->loop.name);
    row->workers = ceiling ? NAN : made->loop.blocks;
    row->bytes = made->loop.bytes;
    if (planted)
        made->loop.fault = (stencil_fault){.absent_step = 1, .absent = made->loop.blocks - 1};
    return STENCIL_OK;
}

/* How many blocks a problem is given: as many as it has work for, or as are resident at once. */
static stencil_status choose_blocks(stencil_bench *b, const stencil_case *of, int64_t items,
                                    uint32_t *blocks) {
    int64_t most = b->machine->cpu_threads;
    const int64_t lanes = of->body->lanes, wanted = (items + lanes - 1) / lanes;
#ifdef STENCIL_HAVE_CUDA
    if (b->options->backend == STENCIL_BACKEND_GPU)
        TRY(stencil_case_gpu_resident(of, &most));
#endif
    *blocks = (uint32_t)(wanted < 1 ? 1 : stencil_smaller(wanted, most));
    return STENCIL_OK;
}

/* Beside what moves so much, on a GPU: copies that move as much, up to a limit. On a CPU there is benchmark
 * copy. */
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

/* The rows of a size with the fastest of the case's own. */
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

static void destroy(void *problem) {
    stencil_case_destroy(problem);
}

/* Measures a problem of one size. With a planted fault: barriers alone. */
static stencil_status measure_size(stencil_bench *b, const stencil_case *of, int64_t n) {
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU, planted = b->options->inject_fault;
    const int first = b->result->row_count;
    stencil_case_problem *p;
    uint32_t blocks;
    TRY(stencil_bench_memory(b, &p, sizeof *p));
    TRY(stencil_bench_keep(b, destroy, p));
    TRY(stencil_case_make(p, of, n, b->options->repeats));
    TRY(choose_blocks(b, of, p->items, &blocks));
    if (planted && blocks < 2)
        return stencil_bench_skip(b->result, "one block has nobody to wait for");
#ifdef STENCIL_HAVE_CUDA
    if (gpu)
        TRY(stencil_case_gpu_upload(b, p));
#endif
    for (int order = planted; order < (gpu && !planted ? STENCIL_CASE_ORDERS : STENCIL_CASE_CPU_ORDERS);
         order++)
        if (order != STENCIL_CASE_CEILING || of->body->ceiling != NULL)
            TRY(add_row(b, p, order, blocks));
    if (gpu && !planted)
        TRY(add_copies(b, p));
    TRY(stencil_bench_take(b));
    compare(b->result, first);
    return STENCIL_OK;
}

static const stencil_case *find(const char *name) {
    int i = 0;
    while (strcmp(stencil_cases[i].name, name) != 0)
        i++;
    return &stencil_cases[i];
}

/* The largest problem where the case says none: with work for all blocks that fit. */
static stencil_status choose_most(stencil_bench *b, const stencil_case *of, bool gpu, int64_t *most) {
    uint32_t blocks;
    *most = of->body->size[gpu].most;
    if (*most > 0)
        return STENCIL_OK;
    TRY(choose_blocks(b, of, INT32_MAX, &blocks));
    *most = (int64_t)blocks * of->body->lanes;
    return STENCIL_OK;
}

stencil_status stencil_measure_case(stencil_bench *b) {
    const stencil_case *of = find(b->result->benchmark);
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU;
    const int64_t least = of->body->size[gpu].least, factor = of->body->size[gpu].factor;
    int64_t most;
    stencil_bench_note(b,
                       "Verified: every result of a run from spoiled arrays, and of another one with late "
                       "%s, was that of the plain version to the last bit.",
                       gpu ? "blocks" : "threads");
    stencil_bench_note(b,
                       "x plain: how many times faster than the plain version, on one thread of the host; "
                       "sync: the part of a phase that is no computing, from moments noted in another run; "
                       "workers: %s.",
                       gpu ? "blocks" : "threads");
    for (int i = 0; i < b->options->edge_count; i++)
        TRY(measure_size(b, of, b->options->edge[i]));
    if (b->options->edge_count > 0)
        return STENCIL_OK;
    TRY(choose_most(b, of, gpu, &most));
    for (int64_t n = least; n < most && !b->options->inject_fault; n *= factor)
        TRY(measure_size(b, of, n));
    return measure_size(b, of, most);
}

/* The benchmark of a case over several parts. */
#include <stdio.h>
#include <string.h>

#include "bench/cases/parts.h"

/* A row. */
typedef struct ordered {
    const stencil_parts_case *of;
    const stencil_case_problem *problem;
    int order;
    void *loop;
    stencil_fault *fault;
} ordered;

enum { LATE_NS = 20000 };
static const double timeout_s = 10, planted_timeout_s = 0.5, sample_s = 0.02;

static stencil_status sample(stencil_bench *b, void *what, int64_t count, double *time_s) {
    const ordered *o = what;
    (void)b;
    return o->of->run(o->loop, count, time_s);
}

/* As it was timed, and again with some participants late. */
static stencil_status verify(stencil_bench *b, void *what) {
    const ordered *o = what;
    stencil_bench_row *row = &b->result->row[b->row];
    TRY(o->of->verify(o->loop));
    *o->fault = (stencil_fault){.delay_ns = LATE_NS, .seed = (uint32_t)b->row};
    if (o->of->order[o->order].persistent)
        TRY(o->of->verify(o->loop));
    *o->fault = (stencil_fault){0};
    row->speedup = o->problem->plain_s / row->statistics.median;
    return STENCIL_OK;
}

static stencil_status add_row(stencil_bench *b, const ordered *asked, const void *spread, int parts) {
    const bool planted = b->options->inject_fault, gpu = b->options->backend == STENCIL_BACKEND_GPU;
    char why[96] = "";
    ordered o = *asked;
    TRY(o.of->create(b, spread, o.order, planted ? planted_timeout_s : timeout_s, &o.loop, &o.fault, why));
    TRY(STENCIL_BENCH_ADD(b, o, o.of->order[o.order].ceiling ? "ceiling" : "order", o.of->order[o.order].name,
                          "s/run", .sample = sample, .verify = verify, .sample_s = sample_s,
                          .axis = {{"elements", o.problem->n}, {gpu ? "gpus" : "threads", parts}},
                          .skipped = why));
    stencil_bench_last(b)->bytes = o.problem->bytes;
    if (planted)
        *o.fault = (stencil_fault){.absent_step = 1};
    return STENCIL_OK;
}

static bool is_wanted(const stencil_bench *b, const ordered *o, bool apart) {
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU;
    return o->of->order[o->order].apart == apart && (gpu || !o->of->order[o->order].gpus) &&
           (!b->options->inject_fault || o->of->order[o->order].persistent);
}

static stencil_status measure_parts(stencil_bench *b, ordered o, int parts, bool apart) {
    const int first = b->result->row_count;
    uint32_t blocks;
    void *spread;
    TRY(o.of->spread(b, o.problem, parts, &spread, &blocks));
    CHECK(!b->options->inject_fault || (uint32_t)parts * blocks > 1, USAGE,
          "--inject-fault: %s of %lld elements has one block, which waits for nobody", b->result->benchmark,
          (long long)o.problem->n);
    for (o.order = 0; o.of->order[o.order].name != NULL; o.order++)
        if (is_wanted(b, &o, apart))
            TRY(add_row(b, &o, spread, parts));
    if (b->options->inject_fault)
        return stencil_bench_take_planted(b);
    TRY(stencil_bench_take(b));
    stencil_case_compare(b->result, first);
    return STENCIL_OK;
}

static void destroy(void *problem) {
    stencil_case_destroy(problem);
}

/* The case whose problems are shared out. */
static const stencil_case *base_of(const stencil_parts_case *of) {
    const stencil_case *base = stencil_cases;
    while (strcmp(base->name, of->of) != 0)
        base++;
    return base;
}

/* 1 part, then twice as many each time, then all; where a fault is planted all at once. */
static stencil_status measure_size(stencil_bench *b, const stencil_parts_case *of, int64_t n, bool apart) {
    const int all = stencil_parts_most(b);
    stencil_case_problem *problem;
    TRY(stencil_bench_memory(b, &problem, sizeof *problem));
    TRY(stencil_bench_keep(b, destroy, problem));
    TRY(stencil_case_make(problem, base_of(of), n, 0));
    for (int parts = b->options->inject_fault ? all : 1; parts < all; parts *= 2)
        TRY(measure_parts(b, (ordered){.of = of, .problem = problem}, parts, apart));
    return measure_parts(b, (ordered){.of = of, .problem = problem}, all, apart);
}

static stencil_status measure_sizes(stencil_bench *b, const stencil_parts_case *of, bool apart) {
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU, planted = b->options->inject_fault;
    for (int i = 0; i < b->options->edge_count; i++)
        TRY(stencil_case_check_size(base_of(of), b->options->edge[i]));
    for (int i = 0; i < b->options->edge_count; i++)
        TRY(measure_size(b, of, b->options->edge[i], apart));
    if (b->options->edge_count > 0)
        return STENCIL_OK;
    for (int64_t n = planted ? of->size[gpu].most : of->size[gpu].least; n <= of->size[gpu].most;
         n *= of->size[gpu].factor)
        TRY(measure_size(b, of, n, apart));
    return STENCIL_OK;
}

stencil_status stencil_parts_measure(stencil_bench *b, const stencil_parts_case *of, bool apart) {
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU;
    TRY(measure_sizes(b, of, apart));
    if (b->options->inject_fault)
        return STENCIL_OK;
    stencil_bench_note(
        b,
        "A run begins with the first launch and ends when all %s have ended. Verified: its "
        "result is the plain version's to the last bit, after a run from spoiled memory and, "
        "of persistent kernels, one with late %s; that of a ceiling within its bound of error.",
        gpu ? "GPUs" : "threads", gpu ? "blocks" : "threads");
    if (gpu && stencil_parts_most(b) < b->options->gpu_count)
        stencil_bench_note(b, "Only one GPU is used: the others cannot reach each other's memory.");
    return STENCIL_OK;
}

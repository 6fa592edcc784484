/* The benchmark of a case over several parts. */
#include "bench/cases/parts.h"

/* The orders of a case that are measured: those with the flag `apart`, or all others. */
typedef struct measured {
    const stencil_parts_case *of;
    bool apart;
} measured;

static stencil_status sample(stencil_bench *b, void *what, int64_t count, double *time_s) {
    (void)b;
    return stencil_parts_loop_run(*(stencil_parts_loop **)what, count, time_s);
}

/* Verifies a row's results as timed, and again with some participants delayed before barriers. */
static stencil_status verify(stencil_bench *b, void *what) {
    stencil_parts_loop *loop = *(stencil_parts_loop **)what;
    stencil_bench_row *row = &b->result->row[b->row];
    TRY(stencil_parts_loop_verify(loop));
    loop->fault = (stencil_fault){.delay_ns = STENCIL_CASE_LATE_NS, .seed = (uint32_t)b->row};
    if (loop->spread->of->order[loop->order].barrier != STENCIL_BARRIER_none)
        TRY(stencil_parts_loop_verify(loop));
    loop->fault = (stencil_fault){0};
    row->speedup = loop->spread->problem->plain_s / row->statistics.median;
    return STENCIL_OK;
}

static stencil_status add_row(stencil_bench *b, const stencil_parts_spread *s, int order) {
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU;
    char why[96] = "";
    stencil_parts_loop *loop;
    TRY(stencil_bench_memory(b, &loop, sizeof *loop));
    *loop = (stencil_parts_loop){.spread = s, .order = order, .timeout_s = stencil_case_timeout_s(b)};
    TRY(stencil_parts_loop_create(b, loop, why));
    loop->fault.absent_step = b->options->inject_fault;
    TRY(STENCIL_BENCH_ADD(
        b, loop, s->of->order[order].ceiling ? "ceiling" : "order", s->of->order[order].name, "s/run",
        .sample = sample, .verify = verify, .sample_s = STENCIL_CASE_SAMPLE_S,
        .axis = {{"elements", s->problem->n}, {gpu ? "gpus" : "threads", s->parts}}, .skipped = why));
    stencil_bench_last(b)->bytes = s->problem->bytes;
    return STENCIL_OK;
}

static stencil_status measure_parts(stencil_bench *b, const measured *m, const stencil_case_problem *problem,
                                    int parts) {
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU, planted = b->options->inject_fault;
    const int first = b->result->row_count;
    stencil_parts_spread *s;
    TRY(stencil_bench_memory(b, &s, sizeof *s));
    *s = (stencil_parts_spread){.of = m->of, .problem = problem, .parts = parts};
    TRY(stencil_parts_spread_create(b, s));
    CHECK(!planted || (uint32_t)parts * s->blocks > 1, USAGE,
          "--inject-fault: %s of %lld elements has one block, which waits for nobody", b->result->benchmark,
          (long long)problem->n);
    for (int i = 0; m->of->order[i].name != NULL; i++)
        if (m->of->order[i].apart == m->apart && (gpu || !m->of->order[i].gpus) &&
            (!planted || m->of->order[i].barrier != STENCIL_BARRIER_none))
            TRY(add_row(b, s, i));
    return stencil_case_take(b, first);
}

/* Measures a problem of one size with 1, 2, 4, … parts and with all; with a planted fault only with all. */
static stencil_status measure_size(stencil_bench *b, const void *how, int64_t n) {
    const measured *m = how;
    const int all = stencil_parts_most(b);
    stencil_case_problem *problem;
    TRY(stencil_case_keep(b, stencil_case_find(m->of->of), n, 0, &problem));
    for (int parts = b->options->inject_fault ? all : 1; parts < all; parts *= 2)
        TRY(measure_parts(b, m, problem, parts));
    return measure_parts(b, m, problem, all);
}

stencil_status stencil_parts_measure(stencil_bench *b, const stencil_parts_case *of, bool apart) {
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU;
    const measured m = {of, apart};
    TRY(stencil_case_measure_sizes(b, stencil_case_find(of->of), &of->size[gpu], &m, measure_size));
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

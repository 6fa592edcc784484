/* The benchmark of case multi-reduction: rows over sizes and the number of parts. */
#include <string.h>

#include "bench/cases/multi_reduction.h"

/* Sizes where nobody asks, on a CPU and on GPUs. */
static const struct {
    int64_t least, most, factor;
} sizes[] = {{1 << 10, 1 << 22, 64}, {1 << 16, 1 << 28, 64}};
enum { LATE_NS = 20000 };
static const double timeout_s = 10, planted_timeout_s = 0.5, sample_s = 0.02;

static stencil_status sample(stencil_bench *b, void *what, int64_t count, double *time_s) {
    (void)b;
    return multi_reduction_loop_run(what, count, time_s);
}

/* As it was timed, and again with some blocks late. */
static stencil_status verify(stencil_bench *b, void *what) {
    multi_reduction_loop *loop = what;
    stencil_bench_row *row = &b->result->row[b->row];
    TRY(multi_reduction_loop_verify(loop));
    loop->fault = (stencil_fault){.delay_ns = LATE_NS, .seed = (uint32_t)b->row};
    if (multi_reduction_is_persistent(loop->order))
        TRY(multi_reduction_loop_verify(loop));
    loop->fault = (stencil_fault){0};
    row->speedup = loop->spread->problem->plain_s / row->statistics.median;
    return STENCIL_OK;
}

static stencil_status add_row(stencil_bench *b, const multi_reduction_spread *spread,
                              multi_reduction_order order) {
    const bool planted = b->options->inject_fault, gpu = spread->gpus != NULL;
    const multi_reduction_loop asked = {
        .spread = spread, .order = order, .timeout_s = planted ? planted_timeout_s : timeout_s};
    char why[96] = "";
    TRY(STENCIL_BENCH_ADD(
        b, asked, order == MULTI_REDUCTION_CEILING ? "ceiling" : "order", multi_reduction_order_names[order],
        "s/run", .sample = sample, .verify = verify, .sample_s = sample_s,
        .axis = {{"elements", spread->problem->n}, {gpu ? "gpus" : "threads", spread->parts}}));
    multi_reduction_loop *loop = stencil_bench_what(b, b->result->row_count - 1);
    stencil_bench_row *row = stencil_bench_last(b);
    TRY(multi_reduction_loop_create(b, loop, why));
    memcpy(row->skipped, why, sizeof why);
    row->bytes = spread->problem->bytes;
    if (planted)
        loop->fault = (stencil_fault){.absent_step = 1};
    return STENCIL_OK;
}

/* With a planted fault only those that have a time limit. */
static stencil_status measure_parts(stencil_bench *b, const stencil_case_problem *problem, int parts) {
    const bool planted = b->options->inject_fault, gpu = b->options->backend == STENCIL_BACKEND_GPU;
    const int first = b->result->row_count;
    multi_reduction_spread *spread;
    TRY(stencil_bench_memory(b, &spread, sizeof *spread));
    *spread = (multi_reduction_spread){.problem = problem, .parts = parts};
    TRY(multi_reduction_spread_create(b, spread));
    if (planted && (uint32_t)parts * spread->blocks < 2)
        return stencil_bench_skip(b->result, "one block has nobody to wait for");
    for (int order = 0; order < MULTI_REDUCTION_ORDERS; order++)
        if ((!planted || multi_reduction_is_persistent((multi_reduction_order)order)) &&
            (gpu || order != MULTI_REDUCTION_CEILING))
            TRY(add_row(b, spread, (multi_reduction_order)order));
    TRY(stencil_bench_take(b));
    stencil_case_compare(b->result, first);
    return STENCIL_OK;
}

static void destroy(void *problem) {
    stencil_case_destroy(problem);
}

static stencil_status measure_size(stencil_bench *b, int64_t n) {
    const stencil_case *of = stencil_cases;
    const int most = stencil_parts_most(b);
    stencil_case_problem *problem;
    while (strcmp(of->name, "reduction") != 0)
        of++;
    TRY(stencil_bench_memory(b, &problem, sizeof *problem));
    TRY(stencil_bench_keep(b, destroy, problem));
    TRY(stencil_case_make(problem, of, n, 0));
    if (b->options->inject_fault)
        return measure_parts(b, problem, most);
    for (int parts = 0; (parts = stencil_next_parts(parts, most)) > 0;)
        TRY(measure_parts(b, problem, parts));
    return STENCIL_OK;
}

stencil_status stencil_measure_multi_reduction(stencil_bench *b) {
    const bool gpu = b->options->backend == STENCIL_BACKEND_GPU;
    stencil_bench_note(b,
                       "A run begins with the first launch and ends when all %s have the sum. Verified: that "
                       "of each is the plain version's to the last bit, after a run from spoiled memory and, "
                       "of persistent loops, one with late %s.",
                       gpu ? "GPUs" : "threads", gpu ? "blocks" : "threads");
    if (gpu && stencil_parts_most(b) < b->options->gpu_count)
        stencil_bench_note(b, "Only one GPU is used: the others cannot reach each other's memory.");
    if (gpu && !b->options->inject_fault)
        stencil_bench_note(b,
                           "The ceiling makes its sum in another order: that is within the bound of error.");
    for (int i = 0; i < b->options->edge_count; i++)
        TRY(measure_size(b, b->options->edge[i]));
    if (b->options->edge_count > 0)
        return STENCIL_OK;
    for (int64_t n = b->options->inject_fault ? sizes[gpu].most : sizes[gpu].least; n <= sizes[gpu].most;
         n *= sizes[gpu].factor)
        TRY(measure_size(b, n));
    return STENCIL_OK;
}

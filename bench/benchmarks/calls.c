/* Benchmark `calls`: what a further call of the library costs beside its steps, for a problem so small that
 * this counts: 64 x 64 cells of heat, 10 steps. The plan is made, and run once, before. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/benchmark.h"
#include "library/stencil.h"

enum { EDGE = 64, STEPS = 10 };

/* A plan with its field, and what of a call is timed. */
typedef struct calling {
    stencil_session_t *session;
    stencil_problem_t *problem;
    stencil_plan_t *plan;
    double *u;   /* owned */
    bool beside; /* the call less its steps, otherwise all of it */
    bool plans;  /* each call makes a plan of its own */
} calling;

static stencil_status must(stencil_code_t code) {
    CHECK(code == STENCIL_DONE, INTERNAL, "calls: %s", stencil_last_error());
    return STENCIL_OK;
}

static void release(void *what) {
    calling *c = what;
    stencil_plan_free(c->plan);
    stencil_problem_free(c->problem);
    stencil_session_free(c->session);
    free(c->u);
}

static stencil_status open_calls(calling *c, int threads) {
    const stencil_session_options_t options = {.size = sizeof options, .threads = threads};
    const double steps = STEPS;
    c->u = calloc(EDGE * EDGE, sizeof *c->u);
    CHECK(c->u != NULL, NO_MEMORY, "no memory for a field");
    TRY(must(stencil_session_new(&c->session, &options)));
    TRY(must(stencil_problem_new(&c->problem, 2, (const int64_t[]){EDGE, EDGE}, "float64")));
    TRY(must(stencil_problem_set_text(c->problem, "problem", "heat")));
    TRY(must(stencil_problem_set_number(c->problem, "steps", 1, &steps)));
    return must(stencil_plan_new(&c->plan, c->session, c->problem, NULL));
}

/* Makes a run; *steps_s: the seconds of its steps. */
static stencil_status call(calling *c, double *steps_s) {
    const stencil_array_t u = {.size = sizeof u, .data = c->u, .type = STENCIL_TYPE_FLOAT64};
    const stencil_run_t run = {.size = sizeof run, .u = &u};
    stencil_report_t report = {.size = sizeof report};
    stencil_result_t *result;
    TRY(must(stencil_plan_run(c->plan, &run, &result)));
    const stencil_status status = must(stencil_result_report(result, &report));
    *steps_s = report.compute_s;
    stencil_result_free(result);
    return status;
}

static stencil_status sample(stencil_bench *b, void *what, int64_t calls, double *time_s) {
    calling *c = *(calling **)what;
    (void)b;
    *time_s = 0;
    for (int i = 0; i < EDGE * EDGE; i++) /* no numbers so small that steps take longer */
        c->u[i] = 1.0 + i % 7;
    for (int64_t i = 0; i < calls; i++) {
        double steps_s = 0;
        const double begin_s = stencil_clock_s();
        if (c->plans) {
            stencil_plan_free(c->plan);
            TRY(must(stencil_plan_new(&c->plan, c->session, c->problem, NULL)));
        }
        TRY(call(c, &steps_s));
        *time_s += stencil_clock_s() - begin_s - (c->beside ? steps_s : 0);
    }
    return STENCIL_OK;
}

static stencil_status add_row(stencil_bench *b, const char *name, const calling *how, int threads) {
    calling *c;
    double steps_s;
    TRY(stencil_bench_memory(b, &c, sizeof *c));
    *c = *how;
    const stencil_status status = open_calls(c, threads);
    TRY(stencil_bench_keep(b, release, c));
    TRY(status);
    TRY(call(c, &steps_s));
    return STENCIL_BENCH_ADD(b, c, "call", name, "s/call", .sample = sample, .verified = 1,
                             .axis = {{"threads", threads}});
}

stencil_status stencil_measure_calls(stencil_bench *b) {
    for (int threads = 1;; threads = b->machine->cpu_threads) {
        TRY(add_row(b, "beside the steps", &(calling){.beside = true}, threads));
        TRY(add_row(b, "whole", &(calling){.beside = false}, threads));
        TRY(add_row(b, "with a plan of its own", &(calling){.plans = true}, threads));
        if (threads >= b->machine->cpu_threads)
            break;
    }
    stencil_bench_add_number(b->result, "edge", EDGE);
    stencil_bench_add_number(b->result, "steps", STEPS);
    return stencil_bench_take(b);
}

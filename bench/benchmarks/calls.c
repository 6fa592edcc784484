/* Benchmark `calls`: what a further call of the library costs beside its steps, for a problem so small that
 * this counts: 64 x 64 cells of heat, 10 steps. The plan is made, and run once, before. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cuda.h"
#include "bench/benchmark.h"
#include "library/stencil.h"

enum { EDGE = 64, STEPS = 10 };

/* A plan with its field, and what of a call is timed. */
typedef struct calling {
    stencil_session_t *session;
    stencil_problem_t *problem;
    stencil_plan_t *plan;
    double *u;       /* on the host, owned */
    double *there;   /* in the memory of the GPU, owned; NULL: runs take u */
    bool beside;     /* the call less its steps, otherwise all of it */
    bool plans;      /* each call makes a plan of its own */
    bool in_device;  /* u is in the memory of the GPU */
    const char *how; /* device of the plan */
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
#ifdef STENCIL_HAVE_CUDA
    if (c->there != NULL) /* cudaFree() of NULL makes a context, which a CPU needs not */
        cudaFree(c->there);
#endif
    free(c->u);
}

static stencil_status new_plan(calling *c) {
    const stencil_plan_options_t options = {.size = sizeof options, .device = c->how};
    return must(stencil_plan_new(&c->plan, c->session, c->problem, &options));
}

static stencil_status open_calls(calling *c, int threads) {
    const stencil_session_options_t options = {.size = sizeof options, .threads = threads};
    const double steps = STEPS;
    c->u = calloc(EDGE * EDGE, sizeof *c->u);
    CHECK(c->u != NULL, NO_MEMORY, "no memory for a field");
#ifdef STENCIL_HAVE_CUDA
    if (c->in_device)
        TRY_CUDA(cudaMalloc((void **)&c->there, EDGE * EDGE * sizeof *c->there));
#endif
    TRY(must(stencil_session_new(&c->session, &options)));
    TRY(must(stencil_problem_new(&c->problem, 2, (const int64_t[]){EDGE, EDGE}, "float64")));
    TRY(must(stencil_problem_set_text(c->problem, "problem", "heat")));
    TRY(must(stencil_problem_set_number(c->problem, "steps", 1, &steps)));
    return new_plan(c);
}

/* Sets the field to numbers so large that steps do not take longer. */
static stencil_status fill(calling *c) {
    for (int i = 0; i < EDGE * EDGE; i++)
        c->u[i] = 1.0 + i % 7;
#ifdef STENCIL_HAVE_CUDA
    if (c->in_device)
        TRY_CUDA(cudaMemcpy(c->there, c->u, EDGE * EDGE * sizeof *c->u, cudaMemcpyHostToDevice));
#endif
    return STENCIL_OK;
}

/* Makes a run; *steps_s: the seconds of its steps. */
static stencil_status call(calling *c, double *steps_s) {
    const stencil_array_t u = {
        .size = sizeof u, .data = c->in_device ? c->there : c->u, .type = STENCIL_TYPE_FLOAT64};
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
    TRY(fill(c));
    for (int64_t i = 0; i < calls; i++) {
        double steps_s = 0;
        const double begin_s = stencil_clock_s();
        if (c->plans) {
            stencil_plan_free(c->plan);
            c->plan = NULL;
            TRY(new_plan(c));
        }
        TRY(call(c, &steps_s));
        *time_s += stencil_clock_s() - begin_s - (c->beside ? steps_s : 0);
    }
    return STENCIL_OK;
}

/* Compares the steps of a call with those of another call on the host. */
static stencil_status verify(stencil_bench *b, void *what) {
    calling *c = *(calling **)what;
    calling plain = {.how = "cpu"};
    double steps_s;
    TRY(fill(c));
    TRY(call(c, &steps_s));
#ifdef STENCIL_HAVE_CUDA
    if (c->in_device)
        TRY_CUDA(cudaMemcpy(c->u, c->there, EDGE * EDGE * sizeof *c->u, cudaMemcpyDeviceToHost));
#endif
    stencil_status status = open_calls(&plain, 1);
    if (status == STENCIL_OK)
        status = fill(&plain);
    if (status == STENCIL_OK)
        status = call(&plain, &steps_s);
    const bool same = status == STENCIL_OK && memcmp(c->u, plain.u, EDGE * EDGE * sizeof *c->u) == 0;
    release(&plain);
    TRY(status);
    CHECK(same, INTERNAL, "calls: %s gives another field than the CPU", c->how);
    (void)b;
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
    TRY(fill(c));
    TRY(call(c, &steps_s));
    return STENCIL_BENCH_ADD(b, c, c->in_device ? "call, u on the GPU" : "call", name, "s/call",
                             .sample = sample, .verify = verify, .axis = {{"threads", threads}});
}

static stencil_status add_rows(stencil_bench *b, const calling *how, int threads) {
    calling c = *how;
    c.beside = true;
    TRY(add_row(b, "beside the steps", &c, threads));
    c.beside = false;
    TRY(add_row(b, "whole", &c, threads));
    c.plans = true;
    return add_row(b, "with a plan of its own", &c, threads);
}

stencil_status stencil_measure_calls(stencil_bench *b) {
    const int most = b->machine->cpu_threads;
    if (b->options->backend == STENCIL_BACKEND_GPU) {
        TRY(add_rows(b, &(calling){.how = "gpu"}, most));
        TRY(add_rows(b, &(calling){.how = "gpu", .in_device = true}, most));
    } else {
        for (int threads = 1; threads <= most; threads = threads < most ? most : most + 1)
            TRY(add_rows(b, &(calling){.how = "cpu"}, threads));
    }
    stencil_bench_add_number(b->result, "edge", EDGE);
    stencil_bench_add_number(b->result, "steps", STEPS);
    return stencil_bench_take(b);
}

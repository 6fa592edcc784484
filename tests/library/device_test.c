/* Arrays in the memory of a GPU: the bits that arrays of the host give, cells that are refused, and what a
 * caller's stream has made before. Needs a GPU or an emulated one. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <cuda_runtime_api.h>

#include "library/stencil.h"

#define MUST(call)                                                                                           \
    do {                                                                                                     \
        if ((call) != STENCIL_DONE)                                                                          \
            fail_msg("%s: %s", #call, stencil_last_error());                                                 \
    } while (0)
#define MUST_CUDA(call) assert_int_equal(call, cudaSuccess)

enum { SKIPPED = 77 };

/* An array of NZ x NY x NX cells with gaps between them, on the host and on the device. */
typedef struct pair {
    int64_t n[3], stride[3]; /* (z, y, x); n[0] 1 in 2D */
    int type;
    size_t bytes;
    char *host, *device;
} pair;

static size_t size_of(int type) {
    return type == STENCIL_TYPE_FLOAT64 ? 8 : type == STENCIL_TYPE_FLOAT32 ? 4 : 1;
}

/* Makes a pair whose cells have the values of number(cell); columns: x is the slowest axis. */
static pair pair_of(int type, const int64_t n[3], bool columns, double (*number)(int64_t cell)) {
    pair p = {.type = type, .bytes = size_of(type)};
    memcpy(p.n, n, sizeof p.n);
    for (int i = 0; i < 3; i++) {
        const int axis = columns ? i : 2 - i;
        p.stride[axis] = (int64_t)p.bytes;
        p.bytes *= (size_t)(n[axis] + 1);
    }
    p.host = calloc(1, p.bytes);
    assert_non_null(p.host);
    for (int64_t i = 0; i < n[0] * n[1] * n[2]; i++) {
        char *at =
            p.host + i / (n[1] * n[2]) * p.stride[0] + i / n[2] % n[1] * p.stride[1] + i % n[2] * p.stride[2];
        const double value = number(i);
        if (type == STENCIL_TYPE_FLOAT64)
            *(double *)at = value;
        else if (type == STENCIL_TYPE_FLOAT32)
            *(float *)at = (float)value;
        else
            *(uint8_t *)at = (uint8_t)value;
    }
    MUST_CUDA(cudaMalloc((void **)&p.device, p.bytes));
    MUST_CUDA(cudaMemcpy(p.device, p.host, p.bytes, cudaMemcpyHostToDevice));
    return p;
}

static void drop(pair *p) {
    free(p->host);
    if (p->device != NULL)
        MUST_CUDA(cudaFree(p->device));
}

static stencil_array_t array_of(const pair *p, bool device) {
    stencil_array_t array = {.size = sizeof array, .data = device ? p->device : p->host, .type = p->type};
    const int skip = p->n[0] == 1;
    for (int i = skip; i < 3; i++)
        array.stride[i - skip] = p->stride[i];
    return array;
}

static double wave(int64_t cell) {
    return (double)(cell * 7919 % 1000) * 1e-3 - 0.25;
}
static double tiny(int64_t cell) {
    return ldexp(wave(cell), -600);
}
static double seldom(int64_t cell) {
    return cell * 7919 % 1000 < 60;
}
static double third(int64_t cell) {
    return (double)(cell % 3);
}

/* -div grad of it is nearly 4 on cells of 70 columns: the norm of the source is what rtol is relative to. */
static double bowl(int64_t cell) {
    const double y = (double)(cell / 70), x = (double)(cell % 70);
    return -0.99 * (x * x + y * y);
}
static double four(int64_t cell) {
    return 4 + 1e-3 * wave(cell);
}

/* A problem, as one of the cases below states it. */
typedef struct statement {
    const char *name, *problem, *boundary, *precision;
    int64_t n[3];
    const char *source; /* of another type than the field where `mixed` */
    bool mixed, columns, fixed, classes;
    double (*u)(int64_t cell), (*f)(int64_t cell); /* f NULL: the source is like u */
    double rtol;
    const char *wall; /* of side x- */
} statement;

static const statement cases[] = {
    {.name = "heat",
     .problem = "heat",
     .boundary = "fixed",
     .precision = "float64",
     .n = {1, 37, 150},
     .u = wave},
    {.name = "heat, columns",
     .problem = "heat",
     .boundary = "periodic,mirror",
     .precision = "float32",
     .n = {1, 40, 70},
     .columns = true,
     .u = wave},
    {.name = "heat, a source of another type",
     .problem = "heat",
     .boundary = "mirror",
     .precision = "float32",
     .n = {1, 30, 41},
     .source = "q",
     .mixed = true,
     .u = wave},
    {.name = "heat, fixed cells",
     .problem = "heat",
     .boundary = "periodic",
     .precision = "float64",
     .n = {1, 30, 66},
     .source = "q",
     .fixed = true,
     .u = wave},
    {.name = "heat in 3D",
     .problem = "heat",
     .boundary = "mirror,periodic,fixed",
     .precision = "float64",
     .n = {12, 13, 70},
     .source = "q",
     .u = wave},
    {.name = "a wall",
     .problem = "heat",
     .boundary = "mirror",
     .precision = "float64",
     .n = {1, 30, 41},
     .source = "q",
     .wall = "flux",
     .u = wave},
    {.name = "poisson",
     .problem = "poisson",
     .boundary = "fixed",
     .precision = "float64",
     .n = {1, 33, 150},
     .source = "f",
     .rtol = 1e-2,
     .u = wave},
    {.name = "poisson, tiny",
     .problem = "poisson",
     .boundary = "fixed",
     .precision = "float64",
     .n = {1, 33, 70},
     .source = "f",
     .rtol = 1e-2,
     .u = tiny},
    {.name = "poisson, columns",
     .problem = "poisson",
     .boundary = "mirror,fixed",
     .precision = "float32",
     .n = {1, 33, 70},
     .source = "f",
     .mixed = true,
     .columns = true,
     .rtol = 1e-1,
     .u = wave},
    {.name = "poisson, nearly solved",
     .problem = "poisson",
     .boundary = "fixed",
     .precision = "float64",
     .n = {1, 33, 70},
     .source = "f",
     .rtol = 1e-3,
     .u = bowl,
     .f = four},
    {.name = "classes",
     .boundary = "periodic",
     .precision = "float64",
     .n = {1, 30, 70},
     .classes = true,
     .u = wave},
};

static stencil_problem_t *problem_of(const statement *s) {
    const int rank = s->n[0] == 1 ? 2 : 3;
    const double steps = s->rtol > 0 ? 400 : 14;
    stencil_problem_t *problem;
    MUST(stencil_problem_new(&problem, rank, s->n + 3 - rank, s->precision));
    if (s->problem != NULL)
        MUST(stencil_problem_set_text(problem, "problem", s->problem));
    MUST(stencil_problem_set_text(problem, "boundary", s->boundary));
    MUST(stencil_problem_set_number(problem, "steps", 1, &steps));
    MUST(stencil_problem_set_number(problem, "check_every", 1, (const double[]){7}));
    if (s->rtol > 0)
        MUST(stencil_problem_set_number(problem, "rtol", 1, &s->rtol));
    if (s->wall != NULL) {
        MUST(stencil_problem_set_text(problem, "boundary_x-", s->wall));
        MUST(stencil_problem_set_number(problem, "flux_x-", 1, (const double[]){0.5}));
    }
    if (s->classes)
        MUST(stencil_problem_set_points(problem, 3, (const int32_t[]){0, -1, 0, 0, 1, 0}, 3,
                                        (const double[]){0.25, 0.5, 0.25, 0.1, 0.2, 0.3, 0.5, 0.25, 0.125}));
    return problem;
}

/* The facts of a run that have to be the same for arrays on a GPU and on the host. */
typedef struct told {
    stencil_report_t report;
    int64_t checks;
    double residual[64];
} told;

/* Arrays of a case, as they are given: on the host with a plan for the CPU, or on the device. */
typedef struct given {
    pair u, out, source, fixed, classes;
} given;

static void solve(const statement *s, given *g, bool device, bool in_place, told *of) {
    stencil_session_t *session;
    stencil_plan_t *plan;
    stencil_result_t *result;
    const double *residual;
    MUST(stencil_session_new(&session, NULL));
    stencil_problem_t *problem = problem_of(s);
    stencil_array_t u = array_of(&g->u, device), out = array_of(&g->out, device), source, fixed, classes;
    if (s->source != NULL) {
        source = array_of(&g->source, device);
        MUST(stencil_problem_set_array(problem, s->source, &source));
    }
    if (s->fixed) {
        fixed = array_of(&g->fixed, device);
        MUST(stencil_problem_set_array(problem, "fixed", &fixed));
    }
    if (s->classes) {
        classes = array_of(&g->classes, device);
        MUST(stencil_problem_set_array(problem, "class", &classes));
    }
    MUST(stencil_plan_new(
        &plan, session, problem,
        &(stencil_plan_options_t){.size = sizeof(stencil_plan_options_t), .device = device ? "gpu" : "cpu"}));
    for (int i = 0; i < 2; i++) { /* the second run has the memory of the first one */
        MUST(stencil_plan_run(
            plan,
            &(stencil_run_t){.size = sizeof(stencil_run_t), .u = &u, .out = i == 1 && in_place ? NULL : &out},
            i == 1 ? &result : NULL));
    }
    of->report.size = sizeof of->report;
    MUST(stencil_result_report(result, &of->report));
    of->checks = stencil_result_history(result, NULL, &residual);
    memcpy(of->residual, residual, (size_t)(of->checks < 64 ? of->checks : 64) * sizeof *residual);
    stencil_result_free(result);
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
}

static void try_case(const statement *s, bool in_place) {
    const int type = strcmp(s->precision, "float64") == 0 ? STENCIL_TYPE_FLOAT64 : STENCIL_TYPE_FLOAT32,
              other = type == STENCIL_TYPE_FLOAT64 ? STENCIL_TYPE_FLOAT32 : STENCIL_TYPE_FLOAT64;
    given g = {.u = pair_of(type, s->n, s->columns, s->u), .out = pair_of(type, s->n, false, wave)};
    told host, device;
    if (s->source != NULL)
        g.source = pair_of(s->mixed ? other : type, s->n, !s->columns, s->f != NULL ? s->f : s->u);
    if (s->fixed)
        g.fixed = pair_of(STENCIL_TYPE_UINT8, s->n, false, seldom);
    if (s->classes)
        g.classes = pair_of(STENCIL_TYPE_UINT8, s->n, true, third);
    solve(s, &g, false, in_place, &host);
    solve(s, &g, true, in_place, &device);
    pair *made = in_place ? &g.u : &g.out;
    char *seen = malloc(made->bytes);
    assert_non_null(seen);
    MUST_CUDA(cudaMemcpy(seen, made->device, made->bytes, cudaMemcpyDeviceToHost));
    if (memcmp(seen, made->host, made->bytes) != 0)
        fail_msg("%s%s: other cells than on the host", s->name, in_place ? " in place" : "");
    if (host.report.steps != device.report.steps ||
        memcmp(&host.report.residual_first, &device.report.residual_first, sizeof(double)) != 0 ||
        strcmp(host.report.reason, device.report.reason) != 0 || host.checks != device.checks ||
        memcmp(host.residual, device.residual, (size_t)host.checks * 8) != 0)
        fail_msg("%s: %lld steps, %s, on the host %lld, %s", s->name, (long long)device.report.steps,
                 device.report.reason, (long long)host.report.steps, host.report.reason);
    free(seen);
    drop(&g.u), drop(&g.out), drop(&g.source), drop(&g.fixed), drop(&g.classes);
}

static void test_bits(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int in_place = 0; in_place < 2; in_place++)
            try_case(&cases[i], in_place != 0);
}

/* A cell that is NaN is refused by its index, and allowed where that is asked for. */
static void test_nonfinite(void **state) {
    (void)state;
    const statement *s = &cases[1];
    stencil_session_t *session;
    stencil_plan_t *plan;
    pair u = pair_of(STENCIL_TYPE_FLOAT32, s->n, false, wave);
    const stencil_array_t of_u = array_of(&u, true);
    const stencil_run_t how = {.size = sizeof how, .u = &of_u};
    stencil_problem_t *problem = problem_of(s);
    *(float *)(u.host + 39 * u.stride[1] + 2 * u.stride[2]) = NAN;
    MUST_CUDA(cudaMemcpy(u.device, u.host, u.bytes, cudaMemcpyHostToDevice));
    MUST(stencil_session_new(&session, NULL));
    stencil_plan_options_t options = {.size = sizeof options, .device = "gpu"};
    MUST(stencil_plan_new(&plan, session, problem, &options));
    assert_int_equal(stencil_plan_run(plan, &how, NULL), STENCIL_BAD_ARGUMENT);
    assert_non_null(strstr(stencil_last_error(), "u[39, 2] is NaN or infinite"));
    stencil_plan_free(plan);
    options.allow_nonfinite = 1;
    MUST(stencil_plan_new(&plan, session, problem, &options));
    MUST(stencil_plan_run(plan, &how, NULL));
    stencil_plan_free(plan);
    options = (stencil_plan_options_t){.size = sizeof options, .device = "cpu"};
    MUST(stencil_plan_new(&plan, session, problem, &options));
    assert_int_equal(stencil_plan_run(plan, &how, NULL), STENCIL_NOT_AVAILABLE);
    assert_non_null(strstr(stencil_last_error(), "the plan is for the CPU"));
    stencil_array_t lied = array_of(&u, false);
    lied.memory = STENCIL_MEMORY_DEVICE;
    assert_int_equal(stencil_plan_run(plan, &(stencil_run_t){.size = sizeof how, .u = &lied}, NULL),
                     STENCIL_BAD_ARGUMENT);
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
    drop(&u);
}

/* A run waits for the stream that fills its array, and has written its result when it returns; u on the
 * device and the result on the host, and the other way round. */
static void test_streams(void **state) {
    (void)state;
    const statement *s = &cases[0];
    given g = {.u = pair_of(STENCIL_TYPE_FLOAT64, s->n, false, wave),
               .out = pair_of(STENCIL_TYPE_FLOAT64, s->n, false, wave)};
    told of;
    cudaStream_t stream;
    stencil_session_t *session;
    stencil_plan_t *plan;
    solve(s, &g, false, false, &of); /* g.out.host is what is wanted */
    char *pinned, *made = malloc(g.out.bytes);
    assert_non_null(made);
    MUST_CUDA(cudaMallocHost((void **)&pinned, g.u.bytes));
    memcpy(pinned, g.u.host, g.u.bytes);
    MUST_CUDA(cudaMemset(g.u.device, 0, g.u.bytes));
    MUST_CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    MUST_CUDA(cudaDeviceSynchronize());
    MUST(stencil_session_new(&session, NULL));
    stencil_problem_t *problem = problem_of(s);
    const stencil_plan_options_t options = {
        .size = sizeof options, .device = "gpu", .gpu = &(int32_t){0}, .gpu_count = 1};
    MUST(stencil_plan_new(&plan, session, problem, &options));
    stencil_array_t u = array_of(&g.u, true), out = array_of(&g.out, false);
    u.stream = stream;
    memcpy(made, g.out.host, g.out.bytes);
    out.data = made;
    for (int i = 0; i < 2; i++) {
        if (i == 0)
            MUST_CUDA(cudaMemcpyAsync(g.u.device, pinned, g.u.bytes, cudaMemcpyHostToDevice, stream));
        MUST(stencil_plan_run(plan, &(stencil_run_t){.size = sizeof(stencil_run_t), .u = &u, .out = &out},
                              NULL));
        assert_memory_equal(made, g.out.host, g.out.bytes);
        u = array_of(&g.u, false);
        out = array_of(&g.out, true);
    }
    MUST_CUDA(cudaMemcpy(made, g.out.device, g.out.bytes, cudaMemcpyDeviceToHost));
    assert_memory_equal(made, g.out.host, g.out.bytes);
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
    MUST_CUDA(cudaStreamDestroy(stream));
    MUST_CUDA(cudaFreeHost(pinned));
    free(made);
    drop(&g.u), drop(&g.out);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits),
        cmocka_unit_test(test_nonfinite),
        cmocka_unit_test(test_streams),
    };
    int count = 0;
    if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
        printf("skipped: no GPU\n");
        return SKIPPED;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

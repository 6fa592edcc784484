/* The library as a program sees it: results, refusals, threads, and what a call leaves as it was. */
#define _GNU_SOURCE /* pthread_getaffinity_np() */
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <omp.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "library/stencil.h"

enum { NY = 30, NX = 41 };

#define MUST(call)                                                                                           \
    do {                                                                                                     \
        if ((call) != STENCIL_DONE)                                                                          \
            fail_msg("%s: %s", #call, stencil_last_error());                                                 \
    } while (0)

/* A call is refused with a code and a line that has `fragment`. */
#define REFUSED(call, code, fragment)                                                                        \
    do {                                                                                                     \
        assert_int_equal(call, code);                                                                        \
        if (strstr(stencil_last_error(), fragment) == NULL)                                                  \
            fail_msg("'%s' has no '%s'", stencil_last_error(), fragment);                                    \
    } while (0)

static stencil_array_t array_of(void *data, int type) {
    return (stencil_array_t){.size = sizeof(stencil_array_t), .data = data, .type = type};
}

static void number(stencil_problem_t *problem, const char *name, double value) {
    MUST(stencil_problem_set_number(problem, name, 1, &value));
}

static stencil_session_t *session_of(int threads) {
    stencil_session_t *session;
    MUST(stencil_session_new(&session, &(stencil_session_options_t){.size = sizeof(stencil_session_options_t),
                                                                    .threads = threads}));
    return session;
}

/* Heat on NY x NX cells for some steps. */
static stencil_problem_t *heat(int steps) {
    stencil_problem_t *problem;
    MUST(stencil_problem_new(&problem, 2, (const int64_t[]){NY, NX}, "float64"));
    MUST(stencil_problem_set_text(problem, "problem", "heat"));
    number(problem, "dt", 0.2);
    number(problem, "steps", steps);
    return problem;
}

static void fill(double *u) {
    for (int i = 0; i < NY * NX; i++)
        u[i] = (i * 7919 % 1000) * 1e-3;
}

/* The steps of heat(), independent of the library but for the order in which a cell is added up. */
static void by_hand(double *u, int steps, const double *q) {
    double next[NY * NX];
    const double c = 0.2, centre = 1.0 - 2.0 * (c + c);
    for (int s = 0; s < steps; s++) {
        memcpy(next, u, sizeof next);
        for (int y = 1; y < NY - 1; y++)
            for (int x = 1; x < NX - 1; x++) {
                const int i = y * NX + x;
                double sum = c * u[i - NX];
                sum = fma(c, u[i - 1], sum);
                sum = fma(centre, u[i], sum);
                sum = fma(c, u[i + 1], sum);
                sum = fma(c, u[i + NX], sum);
                next[i] = q != NULL ? sum + 0.2 * q[i] : sum;
            }
        memcpy(u, next, sizeof next);
    }
}

static stencil_plan_t *plan_of(stencil_session_t *session, const stencil_problem_t *problem,
                               const stencil_plan_options_t *options) {
    stencil_plan_t *plan;
    MUST(stencil_plan_new(&plan, session, problem, options));
    return plan;
}

static void run(stencil_plan_t *plan, double *u, double *out) {
    const stencil_array_t of_u = array_of(u, STENCIL_TYPE_FLOAT64),
                          of_out = array_of(out, STENCIL_TYPE_FLOAT64);
    MUST(stencil_plan_run(
        plan,
        &(stencil_run_t){.size = sizeof(stencil_run_t), .u = &of_u, .out = out != NULL ? &of_out : NULL},
        NULL));
}

/* Runs again and again, in place or not, give what steps by hand do. */
static void test_results(void **state) {
    (void)state;
    double u[NY * NX], out[NY * NX], wanted[NY * NX], first[NY * NX];
    stencil_session_t *session = session_of(2);
    stencil_problem_t *problem = heat(13);
    stencil_plan_t *plan = plan_of(session, problem, NULL);
    stencil_session_free(session); /* the plan goes on to work */
    stencil_problem_free(problem);
    fill(first);
    memcpy(wanted, first, sizeof wanted);
    by_hand(wanted, 13, NULL);
    for (int i = 0; i < 3; i++) {
        memcpy(u, first, sizeof u);
        run(plan, u, out);
        assert_memory_equal(out, wanted, sizeof out);
        assert_memory_equal(u, first, sizeof u);
        run(plan, u, NULL);
        assert_memory_equal(u, wanted, sizeof u);
    }
    stencil_plan_free(plan);
}

/* A run may bring a source of its own, and the next one has the problem's again. */
static void test_sources(void **state) {
    (void)state;
    double u[NY * NX], q[NY * NX], other[NY * NX], wanted[NY * NX];
    float single[NY * NX];
    stencil_session_t *session = session_of(1);
    stencil_problem_t *problem = heat(5);
    for (int i = 0; i < NY * NX; i++) {
        q[i] = i % 11;
        other[i] = single[i] = (float)(i % 7) / 3;
    }
    const stencil_array_t of_q = array_of(q, STENCIL_TYPE_FLOAT64), of_u = array_of(u, STENCIL_TYPE_FLOAT64),
                          of_single = array_of(single, STENCIL_TYPE_FLOAT32);
    MUST(stencil_problem_set_array(problem, "q", &of_q));
    stencil_plan_t *plan = plan_of(session, problem, NULL);
    for (int i = 0; i < 4; i++) {
        const stencil_run_t how = {.size = sizeof how, .u = &of_u, .source = i % 2 != 0 ? &of_single : NULL};
        fill(u);
        memcpy(wanted, u, sizeof u);
        by_hand(wanted, 5, i % 2 != 0 ? other : q);
        MUST(stencil_plan_run(plan, &how, NULL));
        for (int k = 0; k < NY * NX; k++)
            assert_true(fabs(u[k] - wanted[k]) <= 1e-14 * fabs(wanted[k]));
    }
    REFUSED(stencil_problem_set_array(problem, "b", &of_q), STENCIL_BAD_ARGUMENT,
            "at most one of b, f and q");
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
}

/* Arrays of any strides: transposed, upside down, a column of a larger one. */
static void test_strides(void **state) {
    (void)state;
    static double wide[NX][NY][3];
    double plain[NY * NX], wanted[NY * NX];
    stencil_session_t *session = session_of(2);
    stencil_problem_t *problem = heat(8);
    stencil_plan_t *plan = plan_of(session, problem, NULL);
    fill(wanted);
    memcpy(plain, wanted, sizeof plain);
    by_hand(wanted, 8, NULL);
    stencil_array_t of_u = array_of(&wide[NX - 1][0][1], STENCIL_TYPE_FLOAT64);
    of_u.stride[0] = sizeof wide[0][0];
    of_u.stride[1] = -(int64_t)sizeof wide[0];
    for (int i = 0; i < NY * NX; i++) {
        wide[NX - 1 - i % NX][i / NX][1] = plain[i];
        wide[i % NX][i / NX][0] = wide[i % NX][i / NX][2] = -1;
    }
    MUST(stencil_plan_run(plan, &(stencil_run_t){.size = sizeof(stencil_run_t), .u = &of_u}, NULL));
    for (int i = 0; i < NY * NX; i++) {
        assert_true(wide[NX - 1 - i % NX][i / NX][1] == wanted[i]);
        assert_true(wide[i % NX][i / NX][0] == -1 && wide[i % NX][i / NX][2] == -1);
    }
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
}

/* Plans that race in the first run make the same bits, and the winner makes further runs. */
static void test_race(void **state) {
    (void)state;
    enum { EDGE = 64, CELLS = EDGE * EDGE };
    double *u = malloc(3 * CELLS * sizeof *u), *wanted = u + CELLS, *first = u + 2 * CELLS;
    stencil_session_t *session = session_of(2);
    stencil_problem_t *problem;
    stencil_plan_options_t options = {.size = sizeof options};
    assert_non_null(u);
    for (int i = 0; i < CELLS; i++)
        first[i] = wanted[i] = (i * 7919 % 1000) * 1e-3;
    MUST(stencil_problem_new(&problem, 2, (const int64_t[]){EDGE, EDGE}, "float64"));
    MUST(stencil_problem_set_text(problem, "problem", "heat"));
    number(problem, "steps", 1500);
    stencil_plan_t *plan = plan_of(session, problem, &options);
    run(plan, wanted, NULL);
    stencil_plan_free(plan);
    options.effort = "exhaustive";
    plan = plan_of(session, problem, &options);
    for (int i = 0; i < 3; i++) {
        memcpy(u, first, CELLS * sizeof *u);
        run(plan, u, NULL);
        assert_memory_equal(u, wanted, CELLS * sizeof *u);
    }
    assert_non_null(strstr(stencil_plan_json(plan), "slower"));
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
    free(u);
}

/* Fixed cells keep their values; rows of weights by class. */
static void test_cells(void **state) {
    (void)state;
    uint8_t fixed[NY * NX] = {0}, of[NY * NX] = {0};
    double u[NY * NX], before[NY * NX];
    const int32_t offset[] = {0, 0, 0, 1};
    const double weight[] = {0.5, 0.25, 0, 1};
    stencil_session_t *session = session_of(2);
    stencil_problem_t *problem;
    MUST(stencil_problem_new(&problem, 2, (const int64_t[]){NY, NX}, "float64"));
    MUST(stencil_problem_set_points(problem, 2, offset, 2, weight));
    MUST(stencil_problem_set_text(problem, "boundary", "mirror,periodic"));
    number(problem, "steps", 1);
    for (int i = 0; i < NY * NX; i++) {
        fixed[i] = i % 5 == 0;
        of[i] = i % 3 == 0;
    }
    const stencil_array_t of_fixed = array_of(fixed, STENCIL_TYPE_UINT8),
                          of_class = array_of(of, STENCIL_TYPE_UINT8);
    MUST(stencil_problem_set_array(problem, "fixed", &of_fixed));
    MUST(stencil_problem_set_array(problem, "class", &of_class));
    stencil_plan_t *plan = plan_of(session, problem, NULL);
    for (int i = 0; i < 2; i++) {
        fill(u);
        memcpy(before, u, sizeof u);
        run(plan, u, NULL);
        for (int k = 0; k < NY * NX; k++) {
            const double right = before[k % NX == NX - 1 ? k - NX + 1 : k + 1];
            const double moved = of[k] ? right : fma(0.25, right, 0.5 * before[k]);
            assert_true(u[k] == (fixed[k] ? before[k] : moved));
        }
    }
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
}

static void test_report(void **state) {
    (void)state;
    double u[NY * NX];
    stencil_session_t *session = session_of(2);
    stencil_problem_t *problem = heat(40);
    const int64_t *step;
    const double *residual;
    stencil_result_t *result;
    stencil_report_t report = {.size = sizeof report};
    number(problem, "check_every", 10);
    number(problem, "atol", 1e-30);
    stencil_plan_t *plan = plan_of(session, problem, NULL);
    const stencil_array_t of_u = array_of(u, STENCIL_TYPE_FLOAT64);
    fill(u);
    MUST(stencil_plan_run(plan, &(stencil_run_t){.size = sizeof(stencil_run_t), .u = &of_u}, &result));
    MUST(stencil_result_report(result, &report));
    assert_string_equal(report.reason, "not_converged");
    assert_int_equal(report.reached, 0);
    assert_int_equal(report.steps, 40);
    assert_int_equal(report.checks, 4);
    assert_true(fabs(report.time - 8) < 1e-12);
    assert_int_equal(stencil_result_history(result, &step, &residual), 4);
    assert_int_equal(step[3], 40);
    assert_true(residual[3] == report.residual && residual[3] < residual[0]);
    /* A caller with an older header gets what he knows, and no byte more. */
    struct {
        size_t size;
        const char *reason, *beyond;
    } older = {.size = 2 * sizeof(size_t), .beyond = "mine"};
    MUST(stencil_result_report(result, (stencil_report_t *)(void *)&older));
    assert_string_equal(older.reason, "not_converged");
    assert_string_equal(older.beyond, "mine");
    assert_non_null(strstr(stencil_plan_text(plan), "heat, 30 x 41 cells, float64"));
    assert_non_null(strstr(stencil_plan_json(plan), "\"extent\": [30, 41]"));
    stencil_result_free(result);
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
}

static int stop_at_once(void *context, int64_t step, double residual) {
    (void)residual;
    *(int64_t *)context = step;
    return 1;
}

static void test_progress_stops(void **state) {
    (void)state;
    double u[NY * NX], wanted[NY * NX];
    int64_t seen = 0;
    stencil_session_t *session = session_of(2);
    stencil_problem_t *problem = heat(100000);
    stencil_plan_t *plan = plan_of(session, problem, NULL);
    stencil_report_t report = {.size = sizeof report};
    stencil_result_t *result;
    const stencil_array_t of_u = array_of(u, STENCIL_TYPE_FLOAT64);
    fill(u);
    memcpy(wanted, u, sizeof u);
    MUST(stencil_plan_run(
        plan,
        &(stencil_run_t){
            .size = sizeof(stencil_run_t), .u = &of_u, .progress = stop_at_once, .context = &seen},
        &result));
    MUST(stencil_result_report(result, &report));
    assert_string_equal(report.reason, "interrupted");
    assert_true(seen > 0 && report.steps >= seen && report.steps < 1000);
    by_hand(wanted, (int)report.steps, NULL);
    assert_memory_equal(u, wanted, sizeof u);
    stencil_result_free(result);
    const volatile int stop = 1;
    MUST(stencil_plan_run(plan, &(stencil_run_t){.size = sizeof(stencil_run_t), .u = &of_u, .stop = &stop},
                          &result));
    MUST(stencil_result_report(result, &report));
    assert_string_equal(report.reason, "interrupted");
    stencil_result_free(result);
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
}

static void test_refusals(void **state) {
    (void)state;
    double u[NY * NX];
    stencil_session_t *session = session_of(1);
    stencil_problem_t *problem, *none = NULL;
    stencil_plan_t *plan;
    stencil_plan_options_t options = {.size = sizeof options};
    stencil_array_t of_u = array_of(u, STENCIL_TYPE_FLOAT64);
    REFUSED(stencil_problem_new(&none, 4, (const int64_t[]){9, 9}, "float64"), STENCIL_BAD_ARGUMENT,
            "rank is 4");
    assert_null(none);
    REFUSED(stencil_problem_new(&none, 2, (const int64_t[]){9, 0}, "float64"), STENCIL_BAD_ARGUMENT,
            "extent[1]");
    REFUSED(stencil_problem_new(&none, 2, (const int64_t[]){9, 9}, "int"), STENCIL_BAD_ARGUMENT, "precision");
    problem = heat(3);
    REFUSED(stencil_problem_set_text(problem, "boundry", "fixed"), STENCIL_BAD_ARGUMENT,
            "did you mean 'boundary'");
    REFUSED(stencil_problem_set_text(problem, "boundary", "fixed,open"), STENCIL_BAD_ARGUMENT, "periodic");
    REFUSED(stencil_problem_set_number(problem, "dt", 1, (const double[]){-1}), STENCIL_BAD_ARGUMENT,
            "positive");
    REFUSED(stencil_problem_set_number(problem, "steps", 1, (const double[]){1.5}), STENCIL_BAD_ARGUMENT,
            "whole");
    REFUSED(stencil_problem_set_number(problem, "dt", 1, (const double[]){NAN}), STENCIL_BAD_ARGUMENT,
            "dt is");
    options.sync = "turbo";
    REFUSED(stencil_plan_new(&plan, session, problem, &options), STENCIL_BAD_ARGUMENT, "sync is 'turbo'");
    options.sync = "grid";
    options.device = "gpu";
    options.parts = 0;
    if (stencil_plan_new(&plan, session, problem, &options) == STENCIL_DONE)
        stencil_plan_free(plan); /* here is one */
    else
        assert_non_null(strstr(stencil_last_error(), "GPU"));
    assert_null(strstr(stencil_last_error(), "--"));
    number(problem, "dt", 3);
    REFUSED(stencil_plan_new(&plan, session, problem, NULL), STENCIL_BAD_ARGUMENT, "unstable");
    number(problem, "dt", 0.2);
    MUST(stencil_plan_new(&plan, session, problem, NULL));
    of_u.type = STENCIL_TYPE_FLOAT32;
    stencil_run_t how = {.size = sizeof how, .u = &of_u};
    of_u.type = STENCIL_TYPE_FLOAT64;
    of_u.memory = STENCIL_MEMORY_DEVICE; /* which it is not */
    assert_int_not_equal(stencil_plan_run(plan, &how, NULL), STENCIL_DONE);
    assert_non_null(strstr(stencil_last_error(), "memory of a GPU"));
    of_u.memory = STENCIL_MEMORY_HOST;
    of_u.type = STENCIL_TYPE_FLOAT32;
    REFUSED(stencil_plan_run(plan, &how, NULL), STENCIL_BAD_ARGUMENT, "precision");
    of_u.type = STENCIL_TYPE_FLOAT64;
    how.size = 0;
    REFUSED(stencil_plan_run(plan, &how, NULL), STENCIL_BAD_ARGUMENT, "size");
    how.size = sizeof how;
    fill(u);
    u[3 * NX + 5] = NAN;
    REFUSED(stencil_plan_run(plan, &how, NULL), STENCIL_BAD_ARGUMENT, "u[3, 5]");
    fill(u);
    MUST(stencil_plan_run(plan, &how, NULL)); /* a refusal leaves a plan that works */
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
}

/* A caller with a newer header: members unknown here are refused unless they are 0. */
static void test_growth(void **state) {
    (void)state;
    struct {
        stencil_session_options_t known;
        int64_t newer;
    } options = {.known = {.size = sizeof options, .threads = 1}};
    stencil_session_t *session;
    MUST(stencil_session_new(&session, &options.known));
    stencil_session_free(session);
    options.newer = 7;
    REFUSED(stencil_session_new(&session, &options.known), STENCIL_BAD_ARGUMENT, "does not know");
    assert_int_equal(stencil_abi(), STENCIL_ABI);
    assert_string_equal(stencil_list("problem", 0), "laplace");
    assert_null(stencil_list("problem", 99));
    assert_null(stencil_list("colours", 0));
}

/* What a thread does in test_threads(): runs of its own problem in a session of all. */
typedef struct share {
    stencil_session_t *session;
    int steps;
    int wrong; /* runs whose result was wrong */
} share;

static void *solve_share(void *context) {
    share *s = context;
    static const char *const syncs[] = {"grid", "relaunch", "neighbor", "lock-free"};
    stencil_problem_t *problem = heat(s->steps);
    stencil_plan_t *plan = NULL;
    double u[NY * NX], wanted[NY * NX];
    const stencil_array_t of_u = array_of(u, STENCIL_TYPE_FLOAT64);
    fill(wanted);
    by_hand(wanted, s->steps, NULL);
    for (int i = 0; i < 12; i++) {
        const stencil_plan_options_t options = {.size = sizeof options, .sync = syncs[i / 3]};
        if (i % 3 == 0) {
            stencil_plan_free(plan);
            s->wrong += stencil_plan_new(&plan, s->session, problem, &options) != STENCIL_DONE;
        }
        fill(u);
        s->wrong += stencil_plan_run(plan, &(stencil_run_t){.size = sizeof(stencil_run_t), .u = &of_u},
                                     NULL) != STENCIL_DONE;
        s->wrong += memcmp(u, wanted, sizeof u) != 0;
    }
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    return NULL;
}

static void test_threads(void **state) {
    (void)state;
    enum { THREADS = 3 };
    pthread_t thread[THREADS];
    share shares[THREADS];
    stencil_session_t *session = session_of(2);
    for (int i = 0; i < THREADS; i++) {
        shares[i] = (share){.session = session, .steps = 17 + 4 * i};
        assert_int_equal(pthread_create(&thread[i], NULL, solve_share, &shares[i]), 0);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], NULL);
        assert_int_equal(shares[i].wrong, 0);
    }
    stencil_session_free(session);
}

static void test_calls_leave_the_thread_as_it_was(void **state) {
    (void)state;
    double u[NY * NX];
    cpu_set_t before, after;
    struct sigaction action[2];
    CPU_ZERO(&before);
    CPU_ZERO(&after);
    omp_set_num_threads(3);
    omp_set_dynamic(1);
    fesetround(FE_TONEAREST);
    setlocale(LC_ALL, "C");
    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof before, &before), 0);
    sigaction(SIGINT, NULL, &action[0]);
    stencil_session_t *session = session_of(2);
    stencil_problem_t *problem = heat(20);
    stencil_plan_t *plan = plan_of(session, problem, NULL);
    fill(u);
    run(plan, u, NULL);
    u[NX + 1] = NAN;
    const stencil_array_t of_u = array_of(u, STENCIL_TYPE_FLOAT64);
    REFUSED(stencil_plan_run(plan, &(stencil_run_t){.size = sizeof(stencil_run_t), .u = &of_u}, NULL),
            STENCIL_BAD_ARGUMENT, "NaN");
    assert_int_equal(omp_get_max_threads(), 3);
    assert_int_equal(omp_get_dynamic(), 1);
    assert_int_equal(fegetround(), FE_TONEAREST);
    assert_string_equal(setlocale(LC_ALL, NULL), "C");
    sigaction(SIGINT, NULL, &action[1]);
    assert_true(action[0].sa_handler == action[1].sa_handler);
    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof after, &after), 0);
    assert_true(CPU_EQUAL(&before, &after));
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
    omp_set_dynamic(0);
}

/* A plan in the midst of a run is refused to others, and to the callback itself. */
static int run_again(void *context, int64_t step, double residual) {
    double u[NY * NX];
    const stencil_array_t of_u = array_of(u, STENCIL_TYPE_FLOAT64);
    (void)step, (void)residual;
    REFUSED(stencil_plan_run(context, &(stencil_run_t){.size = sizeof(stencil_run_t), .u = &of_u}, NULL),
            STENCIL_BAD_ARGUMENT, "one run at a time");
    return 0;
}

static void test_one_run_at_a_time(void **state) {
    (void)state;
    double u[NY * NX];
    stencil_session_t *session = session_of(1);
    stencil_problem_t *problem = heat(50);
    stencil_plan_t *plan = plan_of(session, problem, NULL);
    const stencil_array_t of_u = array_of(u, STENCIL_TYPE_FLOAT64);
    fill(u);
    MUST(stencil_plan_run(
        plan,
        &(stencil_run_t){.size = sizeof(stencil_run_t), .u = &of_u, .progress = run_again, .context = plan},
        NULL));
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
}

/* After fork() the session of the parent is refused, and a new one gives right results. Returns the exit
 * code. */
static int child(stencil_plan_t *plan, const double *wanted) {
    static double u[NY * NX];
    const stencil_array_t of_u = array_of(u, STENCIL_TYPE_FLOAT64);
    const stencil_run_t how = {.size = sizeof how, .u = &of_u};
    stencil_session_t *session;
    stencil_problem_t *problem;
    fill(u);
    if (stencil_plan_run(plan, &how, NULL) != STENCIL_NOT_AVAILABLE ||
        strstr(stencil_last_error(), "forked") == NULL)
        return 1;
    if (stencil_session_new(&session, NULL) != STENCIL_DONE)
        return 2;
    problem = heat(9);
    if (stencil_plan_new(&plan, session, problem, NULL) != STENCIL_DONE)
        return 3;
    if (stencil_plan_run(plan, &how, NULL) != STENCIL_DONE || memcmp(u, wanted, sizeof u) != 0)
        return 4;
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
    return 0;
}

static void test_fork(void **state) {
    (void)state;
    double u[NY * NX], wanted[NY * NX];
    stencil_session_t *session = session_of(2);
    stencil_problem_t *problem = heat(9);
    stencil_plan_t *plan = plan_of(
        session, problem, &(stencil_plan_options_t){.size = sizeof(stencil_plan_options_t), .sync = "grid"});
    fill(u);
    memcpy(wanted, u, sizeof u);
    by_hand(wanted, 9, NULL);
    run(plan, u, NULL);
    const pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        alarm(60);
        _exit(child(plan, wanted));
    }
    int status = 0;
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
}

/* A thousand calls: with sanitizers, whatever they leave is an error at the end of the test. */
static void test_a_thousand_calls(void **state) {
    (void)state;
    double u[NY * NX];
    stencil_session_t *session = session_of(2);
    stencil_problem_t *problem = heat(3);
    stencil_plan_t *plan = plan_of(session, problem, NULL);
    const stencil_array_t of_u = array_of(u, STENCIL_TYPE_FLOAT64);
    for (int i = 0; i < 1000; i++) {
        stencil_result_t *result;
        fill(u);
        if (i % 20 == 0) {
            stencil_plan_free(plan);
            plan = plan_of(session, problem, NULL);
            assert_non_null(stencil_plan_json(plan));
        }
        MUST(stencil_plan_run(plan, &(stencil_run_t){.size = sizeof(stencil_run_t), .u = &of_u}, &result));
        stencil_result_free(result);
    }
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_sources),
        cmocka_unit_test(test_strides),
        cmocka_unit_test(test_race),
        cmocka_unit_test(test_cells),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_progress_stops),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_growth),
        cmocka_unit_test(test_threads),
        cmocka_unit_test(test_calls_leave_the_thread_as_it_was),
        cmocka_unit_test(test_one_run_at_a_time),
        cmocka_unit_test(test_fork),
        cmocka_unit_test(test_a_thousand_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

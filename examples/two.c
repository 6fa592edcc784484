/* Two problems at once, a thread each, whose solutions are known: poisson and heat on the unit square.
 *     cc two.c $(pkg-config --cflags --libs stencil) -pthread -lm && ./a.out */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stencil/stencil.h>

enum { N = 65 };
#define PI    3.14159265358979323846
#define H     (1.0 / (N - 1))
#define OK(c) ((c) == STENCIL_DONE ? (void)0 : (void)printf("%s\n", stencil_last_error()))

static void *solve(void *name) {
    const int heat = *(const char *)name == 'h';
    static double field[2][N][N], right[2][N][N];
    double(*u)[N] = field[heat], (*f)[N] = right[heat], error = 0, t = heat ? 0.05 : 0;
    for (int y = 1; y < N - 1; y++)
        for (int x = 1; x < N - 1; x++) {
            u[y][x] = heat ? sin(PI * H * x) * sin(PI * H * y) : 0;
            f[y][x] = 2 * PI * PI * sin(PI * H * x) * sin(PI * H * y);
        }
    const stencil_array_t of_u = {.size = sizeof of_u, .data = u, .type = STENCIL_TYPE_FLOAT64},
                          of_f = {.size = sizeof of_f, .data = f, .type = STENCIL_TYPE_FLOAT64};
    stencil_session_t *session = NULL;
    stencil_problem_t *problem = NULL;
    stencil_plan_t *plan = NULL;
    stencil_result_t *result = NULL;
    stencil_report_t report = {.size = sizeof report};
    OK(stencil_session_new(&session, NULL));
    OK(stencil_problem_new(&problem, 2, (const int64_t[]){N, N}, "float64"));
    OK(stencil_problem_set_text(problem, "problem", name));
    OK(stencil_problem_set_number(problem, "spacing", 1, (const double[]){H}));
    OK(stencil_problem_set_number(problem, heat ? "time_end" : "rtol", 1, (const double[]){heat ? t : 1e-6}));
    OK(heat ? STENCIL_DONE : stencil_problem_set_array(problem, "f", &of_f));
    OK(stencil_plan_new(&plan, session, problem, NULL));
    OK(stencil_plan_run(plan, &(stencil_run_t){.size = sizeof(stencil_run_t), .u = &of_u}, &result));
    OK(stencil_result_report(result, &report));
    for (int i = 0; i < N * N; i++)
        error = fmax(error, fabs(u[i / N][i % N] - exp(-2 * PI * PI * t) * sin(PI * H * (i % N)) * sin(PI * H * (i / N))));
    printf("%s: %s after %lld steps, at most %.1e from the solution\n", (char *)name, report.reason,
           (long long)report.steps, error);
    stencil_result_free(result);
    stencil_plan_free(plan);
    stencil_problem_free(problem);
    stencil_session_free(session);
    return NULL;
}

int main(void) {
    pthread_t other;
    pthread_create(&other, NULL, solve, "heat");
    solve("poisson");
    return pthread_join(other, NULL);
}

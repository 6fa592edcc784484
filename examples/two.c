/* Two problems at once, a thread each, whose solutions are known: poisson, and heat that dies away.
 *     cc two.c $(pkg-config --cflags --libs stencil) -pthread -lm && ./a.out */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stencil/stencil.h>

enum { N = 65 };
#define WAVE(i) sin(3.14159265358979 / (N - 1) * (i))
#define MUST(c) ((c) == STENCIL_DONE ? (void)0 : (void)printf("%s\n", stencil_last_error()))

static void *solve(void *name) {
    static double field[2][N * N], source[2][N * N];
    const int heat = *(const char *)name == 'h';
    const double k = 2 * 3.14159265358979 * 3.14159265358979, h = 1.0 / (N - 1), stop = heat ? 0.05 : 1e-6;
    double *u = field[heat], *f = source[heat], error = 0;
    for (int i = 0; i < N * N; i++) {
        u[i] = heat ? WAVE(i % N) * WAVE(i / N) : 0;
        f[i] = k * WAVE(i % N) * WAVE(i / N);
    }
    const stencil_array_t of_u = {.size = sizeof of_u, .data = u, .type = STENCIL_TYPE_FLOAT64},
                          of_f = {.size = sizeof of_f, .data = f, .type = STENCIL_TYPE_FLOAT64};
    const stencil_run_t run = {.size = sizeof run, .u = &of_u};
    stencil_session_t *session = NULL;
    stencil_problem_t *problem = NULL;
    stencil_plan_t *plan = NULL;
    MUST(stencil_session_new(&session, NULL));
    MUST(stencil_problem_new(&problem, 2, (const int64_t[]){N, N}, "float64"));
    MUST(stencil_problem_set_text(problem, "problem", name));
    MUST(stencil_problem_set_number(problem, "spacing", 1, &h));
    MUST(stencil_problem_set_number(problem, heat ? "time_end" : "rtol", 1, &stop));
    MUST(heat ? STENCIL_DONE : stencil_problem_set_array(problem, "f", &of_f));
    MUST(stencil_plan_new(&plan, session, problem, NULL));
    MUST(stencil_plan_run(plan, &run, NULL)); /* the result overwrites u */
    for (int i = 0; i < N * N; i++)
        error = fmax(error, fabs(u[i] - (heat ? exp(-k * stop) : 1) * WAVE(i % N) * WAVE(i / N)));
    printf("%s: at most %.1e from the solution\n", (char *)name, error);
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

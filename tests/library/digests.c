/* Prints what runs give, a line for each: point set, precision, boundary, sweep, steps made, and two words
 * that stand for all bits of the field and of the residuals. Programs for different processors print the same
 * (aarch64_test.py). */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/stencil.h"

enum { STEPS = 9, KINDS = 3 };

static void need(stencil_code_t code) {
    if (code != STENCIL_DONE) {
        fprintf(stderr, "%s\n", stencil_last_error());
        exit(1);
    }
}

/* FNV-1a. */
static uint64_t digest(uint64_t so_far, const void *memory, size_t bytes) {
    const unsigned char *byte = memory;
    for (size_t i = 0; i < bytes; i++)
        so_far = (so_far ^ byte[i]) * UINT64_C(0x100000001b3);
    return so_far;
}
static const uint64_t nothing = UINT64_C(0xcbf29ce484222325);

/* Values in (-1, 1), times `scale`. */
static void fill(void *cells, size_t count, bool wide, double scale) {
    uint64_t state = 88172645463325252u;
    for (size_t i = 0; i < count; i++) {
        state ^= state << 13, state ^= state >> 7, state ^= state << 17;
        const double value = scale * ((double)(state >> 11) * 0x1p-52 - 1);
        if (wide)
            ((double *)cells)[i] = value;
        else
            ((float *)cells)[i] = (float)value;
    }
}

typedef struct trial {
    const char *set, *precision, *boundary, *sweep;
    double scale;
    bool with_source;
} trial;

static void run(stencil_session_t *session, const trial *t) {
    const int rank = t->set[1] - '0'; /* of "j3d7pt" */
    const int64_t extent[3] = {rank == 2 ? 61 : 23, rank == 2 ? 533 : 19, 149};
    const bool wide = strcmp(t->precision, "float64") == 0;
    size_t count = 1;
    for (int a = 0; a < rank; a++)
        count *= (size_t)extent[a];
    const size_t bytes = count * (wide ? sizeof(double) : sizeof(float));
    void *cells = malloc(bytes), *source = malloc(bytes);
    if (cells == NULL || source == NULL)
        exit(1);
    fill(cells, count, wide, t->scale);
    fill(source, count, wide, 0.01 * t->scale);
    const int32_t type = wide ? STENCIL_TYPE_FLOAT64 : STENCIL_TYPE_FLOAT32;
    const stencil_array_t u = {.size = sizeof u, .data = cells, .type = type},
                          b = {.size = sizeof b, .data = source, .type = type};
    stencil_problem_t *problem;
    need(stencil_problem_new(&problem, rank, extent, t->precision));
    need(stencil_problem_set_text(problem, "stencil", t->set));
    need(stencil_problem_set_text(problem, "boundary", t->boundary));
    need(stencil_problem_set_number(problem, "steps", 1, (const double[]){STEPS}));
    need(stencil_problem_set_number(problem, "check_every", 1, (const double[]){4}));
    if (t->with_source)
        need(stencil_problem_set_array(problem, "b", &b));
    const stencil_plan_options_t options = {
        .size = sizeof options, .device = "cpu", .sweep = t->sweep, .sync = "openmp", .no_bound = 1};
    stencil_plan_t *plan;
    if (stencil_plan_new(&plan, session, problem, &options) == STENCIL_DONE) {
        stencil_result_t *result;
        stencil_report_t report = {.size = sizeof report};
        const int64_t *step;
        const double *residual;
        need(stencil_plan_run(plan, &(stencil_run_t){.size = sizeof(stencil_run_t), .u = &u}, &result));
        need(stencil_result_report(result, &report));
        const int64_t checks = stencil_result_history(result, &step, &residual);
        printf("%s %s %s %s %g%s %" PRId64 " %016" PRIx64 " %016" PRIx64 "\n", t->set, t->precision,
               t->boundary, t->sweep, t->scale, t->with_source ? " b" : "", report.steps,
               digest(nothing, cells, bytes), digest(nothing, residual, (size_t)checks * sizeof *residual));
        stencil_result_free(result);
        stencil_plan_free(plan);
    } else {
        printf("%s %s %s %s: %s\n", t->set, t->precision, t->boundary, t->sweep, stencil_last_error());
    }
    stencil_problem_free(problem);
    free(cells);
    free(source);
}

int main(void) {
    static const char *const boundary[KINDS] = {"fixed", "periodic", "mirror"}, *const precision[] = {
                                                                                    "float32", "float64"};
    stencil_session_t *session;
    trial t;
    int turn = 0;
    need(stencil_session_new(
        &session, &(stencil_session_options_t){.size = sizeof(stencil_session_options_t), .threads = 2}));
    for (int s = 0; (t.set = stencil_list("stencil", s)) != NULL; s++)
        for (int w = 0; (t.sweep = stencil_list("sweep", w)) != NULL; w++)
            for (int p = 0; p < 2; p++)
                for (int k = 0; k < KINDS; k++, turn++) {
                    t.precision = precision[p];
                    t.boundary = boundary[k];
                    const double subnormal = p == 0 ? 0x1p-140 : 0x1p-1060;
                    t.scale = turn % 5 == 4 ? subnormal : 1;
                    t.with_source = turn % 2 == 1;
                    run(session, &t);
                }
    stencil_session_free(session);
    return 0;
}

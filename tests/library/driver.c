/* Solves what standard input states through stencil.h alone, for tests that compare it with the command.
 * Lines: new PRECISION EXTENT...            text NAME VALUE            number NAME NUMBER...
 * table NAME TIME FACTOR...            points COUNT
 * ROWS [OFFSET...] / WEIGHT...                     array NAME TYPE FILE run SYNC SWEEP DEPTH PARTS THREADS
 * RUNS LAYOUT IN OUT Files have plain numbers. LAYOUT: c, f (axes reversed in memory), gaps (strides larger
 * than need be). A run is made RUNS times, each from the initial field, and a line tells the report of each.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "library/stencil.h"

enum { WORDS = 1 << 15 };

static stencil_problem_t *problem;
static int rank;
static int64_t extent[3];
static int wide;       /* float64 */
static void *lent[24]; /* arrays that the problem borrows */
static int lent_count;

static void must(stencil_code_t code) {
    if (code != STENCIL_DONE) {
        printf("refused %d %s\n", (int)code, stencil_last_error());
        exit(0);
    }
}

static void *must_have(void *memory) {
    if (memory == NULL)
        abort();
    return memory;
}

static size_t cells(void) {
    return (size_t)(extent[0] * extent[1] * (rank == 3 ? extent[2] : 1));
}

static void transfer(const char *path, const char *mode, void *memory, size_t bytes) {
    FILE *file = must_have(fopen(path, mode));
    const size_t done = mode[0] == 'r' ? fread(memory, 1, bytes, file) : fwrite(memory, 1, bytes, file);
    if (done != bytes || fclose(file) != 0)
        abort();
}

static size_t bytes_of(int type) {
    return type == STENCIL_TYPE_FLOAT64 ? 8 : type == STENCIL_TYPE_FLOAT32 ? 4 : 1;
}

/* An array with memory of its own in a layout; its cells are undefined. */
static stencil_array_t array_of(int type, const char *layout) {
    stencil_array_t array = {.size = sizeof array, .type = type};
    const int64_t size = (int64_t)bytes_of(type), gap = strcmp(layout, "gaps") == 0 ? 3 : 0;
    int64_t bytes = size + gap * size;
    for (int i = 0; i < rank; i++) {
        const int axis = strcmp(layout, "f") == 0 ? i : rank - 1 - i;
        array.stride[axis] = bytes;
        bytes *= extent[axis] + gap;
    }
    array.data = must_have(malloc((size_t)bytes));
    return array;
}

/* Copies all cells between a plain array and one of any strides. */
static void copy(stencil_array_t *array, char *plain, int to_array) {
    const size_t size = bytes_of(array->type);
    for (size_t i = 0; i < cells(); i++) {
        int64_t at = 0, left = (int64_t)i;
        for (int axis = rank - 1; axis >= 0; axis--) {
            at += left % extent[axis] * array->stride[axis];
            left /= extent[axis];
        }
        char *cell = (char *)array->data + at;
        memcpy(to_array ? cell : plain + i * size, to_array ? plain + i * size : cell, size);
    }
}

static void tell(const stencil_result_t *result) {
    stencil_report_t r = {.size = sizeof r};
    const int64_t *step;
    const double *residual;
    must(stencil_result_report(result, &r));
    printf("ran %s %d %lld %s %s %d %a", r.reason, (int)r.reached, (long long)r.steps, r.sync, r.sweep,
           (int)r.depth, r.error_bound);
    const int64_t count = stencil_result_history(result, &step, &residual);
    for (int64_t i = 0; i < count; i++)
        printf(" %lld:%a", (long long)step[i], residual[i]);
    printf("\n");
}

static void run(char **word) {
    const int runs = atoi(word[6]), type = wide ? STENCIL_TYPE_FLOAT64 : STENCIL_TYPE_FLOAT32;
    stencil_session_t *session;
    stencil_plan_t *plan;
    must(stencil_session_new(&session, &(stencil_session_options_t){.size = sizeof(stencil_session_options_t),
                                                                    .threads = atoi(word[5])}));
    must(stencil_plan_new(&plan, session, problem,
                          &(stencil_plan_options_t){.size = sizeof(stencil_plan_options_t),
                                                    .sync = word[1],
                                                    .sweep = word[2],
                                                    .depth = atoi(word[3]),
                                                    .parts = atoi(word[4]),
                                                    .device = "cpu"}));
    char *plain = must_have(malloc(cells() * bytes_of(type)));
    transfer(word[8], "r", plain, cells() * bytes_of(type));
    stencil_array_t u = array_of(type, word[7]);
    for (int i = 0; i < runs; i++) {
        stencil_result_t *result;
        copy(&u, plain, 1);
        must(stencil_plan_run(plan, &(stencil_run_t){.size = sizeof(stencil_run_t), .u = &u}, &result));
        tell(result);
        stencil_result_free(result);
    }
    if (runs > 0) {
        copy(&u, plain, 0);
        transfer(word[9], "w", plain, cells() * bytes_of(type));
    }
    free(u.data);
    free(plain);
    stencil_plan_free(plan);
    stencil_session_free(session);
}

static void points(char **word, int count) {
    const int points = atoi(word[1]), rows = atoi(word[2]);
    int32_t *offset = must_have(calloc((size_t)count, sizeof *offset));
    double *weight = must_have(calloc((size_t)count, sizeof *weight));
    int at = 3, weights = 0;
    for (; strcmp(word[at], "/") != 0; at++)
        offset[at - 3] = atoi(word[at]);
    const int given = at - 3;
    for (at++; at < count; at++)
        weight[weights++] = strtod(word[at], NULL);
    must(stencil_problem_set_points(problem, points, given > 0 ? offset : NULL, rows, weight));
    free(offset);
    free(weight);
}

/* Sets numbers of an attribute or a side, or a table. */
static void numbers(char **word, int count) {
    double *number = must_have(calloc((size_t)count, sizeof *number));
    for (int i = 0; i < count - 2; i++)
        number[i] = strtod(word[2 + i], NULL);
    must(strcmp(word[0], "table") == 0 ? stencil_problem_set_table(problem, word[1], (count - 2) / 2, number)
                                       : stencil_problem_set_number(problem, word[1], count - 2, number));
    free(number);
}

static void take(char **word, int count) {
    if (strcmp(word[0], "new") == 0) {
        rank = count - 2;
        wide = strcmp(word[1], "float64") == 0;
        for (int i = 0; i < rank; i++)
            extent[i] = atoll(word[2 + i]);
        must(stencil_problem_new(&problem, rank, extent, word[1]));
    } else if (strcmp(word[0], "text") == 0) {
        must(stencil_problem_set_text(problem, word[1], word[2]));
    } else if (strcmp(word[0], "number") == 0) {
        numbers(word, count);
    } else if (strcmp(word[0], "table") == 0) {
        numbers(word, count);
    } else if (strcmp(word[0], "array") == 0) {
        stencil_array_t array = array_of(atoi(word[2]), "c");
        lent[lent_count++] = array.data;
        transfer(word[3], "r", array.data, cells() * bytes_of(array.type));
        must(stencil_problem_set_array(problem, word[1], &array));
    } else if (strcmp(word[0], "points") == 0) {
        points(word, count);
    } else if (strcmp(word[0], "run") == 0) {
        run(word);
    }
}

int main(void) {
    static char line[1 << 18], *word[WORDS];
    while (fgets(line, sizeof line, stdin) != NULL) {
        int count = 0;
        for (char *at = strtok(line, " \n"); at != NULL && count < WORDS; at = strtok(NULL, " \n"))
            word[count++] = at;
        if (count > 0)
            take(word, count);
    }
    stencil_problem_free(problem);
    while (lent_count > 0)
        free(lent[--lent_count]);
    return 0;
}

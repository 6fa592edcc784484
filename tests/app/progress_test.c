/* Tests of the lines of progress where there is no terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "app/progress.h"

static void two_files(void *context, progress_files *files) {
    *files = *(const progress_files *)context;
}

/* Returns what polls of step 250 of 1000 print to a stderr that is a file. */
static void polled(progress *p, int polls, bool quiet, progress_files *files, char *text, size_t size) {
    static stencil_problem problem;
    problem = (stencil_problem){.stop = {.steps = 1000}};
    FILE *file = tmpfile();
    const int before = dup(STDERR_FILENO);
    assert_true(file != NULL && before >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    progress_start(p, &problem, quiet);
    p->start_s -= 30;
    p->line_s -= 60;
    if (files != NULL) {
        p->look = two_files;
        p->look_context = files;
    }
    for (int i = 0; i < polls; i++)
        progress_poll(p, 250, i == 0 ? 0.5 : NAN);
    progress_end(p);
    fflush(stderr);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(file);
    text[fread(text, 1, size - 1, file)] = '\0';
    fclose(file);
}

static void a_line_a_minute(void **state) {
    progress p;
    char text[512];
    (void)state;
    polled(&p, 100, false, NULL, text, sizeof text);
    assert_string_equal(text, "stencil: step 250 of at most 1000, 25 %, 90 s left, residual 5.0e-01\n");
    polled(&p, 100, true, NULL, text, sizeof text);
    assert_string_equal(text, "");
}

static void the_last_files(void **state) {
    progress p;
    char text[512];
    (void)state;
    polled(&p, 3, false, &(progress_files){200, 240, stencil_clock_s() - 7}, text, sizeof text);
    assert_non_null(strstr(text, ", checkpoint of step 200 7 s ago, frame of step 240\n"));
    polled(&p, 3, false, &(progress_files){-1, 240, 0}, text, sizeof text);
    assert_null(strstr(text, "checkpoint"));
    assert_non_null(strstr(text, ", frame of step 240\n"));
}

static void none_before_the_minute_is_over(void **state) {
    static stencil_problem problem;
    progress p;
    (void)state;
    problem = (stencil_problem){.stop = {.steps = 1000}};
    progress_start(&p, &problem, false);
    const double begun_s = p.line_s;
    progress_poll(&p, 250, 0.5);
    assert_true(p.line_s == begun_s && p.line_every_s == 60);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line_a_minute),
        cmocka_unit_test(the_last_files),
        cmocka_unit_test(none_before_the_minute_is_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Wisdom is found for the same problem on the same devices only. */
#define _XOPEN_SOURCE 700 /* declares mkstemp() */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/choice.h"
#include "app/json.h"

static stencil_machine h200;
static char path[] = "/tmp/stencil-wisdom-XXXXXX";

/* Tells whether wisdom kept for options `here` on one machine is found for options `there` on another one. */
static bool found_for(const stencil_run_options *here, const stencil_machine *machine,
                      const stencil_run_options *there, const stencil_machine *other) {
    stencil_problem problem;
    stencil_choice kept, asked;
    stencil_spec spec;
    stencil_notes notes = {0};
    stencil_spec_init(&spec);
    spec.rank = 2;
    spec.extent[0] = spec.extent[1] = 64;
    snprintf(spec.stencil, sizeof spec.stencil, "j2d5pt");
    assert_int_equal(stencil_problem_resolve(&problem, &spec), STENCIL_OK);
    if (stencil_choice_make(&kept, &problem, here, machine) != STENCIL_OK)
        fail_msg("%s", stencil_error_last()->message);
    if (stencil_choice_make(&asked, &problem, there, other) != STENCIL_OK)
        fail_msg("%s", stencil_error_last()->message);
    kept.item[kept.chosen].step_s = 1e-6;
    kept.item[kept.chosen].samples = 9;
    FILE *file = fopen(path, "w"); /* makes an empty file */
    assert_non_null(file);
    fclose(file);
    assert_int_equal(wisdom_keep(path, true, &kept, &problem, machine), STENCIL_OK);
    const int found = wisdom_find(path, &asked, &problem, other, &notes);
    assert_int_equal(notes.count, 0);
    stencil_choice_destroy(&kept);
    stencil_choice_destroy(&asked);
    stencil_problem_destroy(&problem);
    return found >= 0;
}

static void threads_of_the_cpu(void **state) {
    (void)state;
    const stencil_run_options any = {0}, gpu = {.backend = STENCIL_BACKEND_GPU},
                              cpu = {.backend = STENCIL_BACKEND_CPU};
    stencil_machine more = h200;
    more.cpu_threads++;
    assert_true(found_for(&any, &h200, &any, &h200));
    assert_true(found_for(&cpu, &h200, &cpu, &h200));
    assert_false(found_for(&cpu, &h200, &cpu, &more));
    assert_false(found_for(&any, &h200, &any, &more));
    assert_false(found_for(&any, &h200, &cpu, &h200));
    assert_true(found_for(&gpu, &h200, &gpu, &more));
}

static void gpus_that_are_asked_for(void **state) {
    (void)state;
    stencil_machine mixed = h200;
    snprintf(mixed.gpu[1].name, sizeof mixed.gpu[1].name, "Other");
    for (int i = 0; i < h200.kernel_count && mixed.kernel_count < STENCIL_MACHINE_KERNELS_MAX; i++) {
        mixed.kernel[mixed.kernel_count] = h200.kernel[i];
        mixed.kernel[mixed.kernel_count++].gpu = 1;
    }
    const stencil_run_options first = {.backend = STENCIL_BACKEND_GPU, .gpu_count = 1, .gpu = {0}},
                              second = {.backend = STENCIL_BACKEND_GPU, .gpu_count = 1, .gpu = {1}},
                              third = {.backend = STENCIL_BACKEND_GPU, .gpu_count = 1, .gpu = {2}};
    assert_false(found_for(&first, &mixed, &second, &mixed));
    assert_true(found_for(&second, &mixed, &second, &mixed));
    assert_true(found_for(&first, &mixed, &third, &mixed));
    assert_true(found_for(&first, &h200, &second, &h200));
}

int main(int argc, char **argv) {
    json_t *file = NULL;
    const struct CMUnitTest tests[] = {cmocka_unit_test(threads_of_the_cpu),
                                       cmocka_unit_test(gpus_that_are_asked_for)};
    if (argc != 2 || json_read(argv[1], &file) != STENCIL_OK ||
        stencil_machine_read(&h200, file) != STENCIL_OK) {
        fprintf(stderr, "%s\n", argc == 2 ? stencil_error_last()->message : "usage: wisdom_test FILE");
        return 1;
    }
    json_decref(file);
    const int made = mkstemp(path);
    if (made < 0)
        return 1;
    close(made);
    const int failed = cmocka_run_group_tests_name("wisdom", tests, NULL, NULL);
    unlink(path);
    unlink(TEXT("%s.lock", path));
    return failed;
}

/* Tests of cases over several parts, threads of a CPU or GPUs: every number of parts in every order, late and
 * absent participants, wrong results. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "bench/cases/multi_normalise.h"
#include "bench/cases/multi_reduction.h"
#include "options.h"

#define OK(call) assert_int_equal(call, STENCIL_OK)

/* Backend of all tests, largest number of parts, and the machine. */
static stencil_backend backend;
static int parts_most = 5;
static stencil_machine machine;

/* A problem spread over parts, and the benchmark state that its loops need. */
typedef struct fixture {
    stencil_bench b;
    stencil_bench_options options;
    stencil_case_problem problem;
    stencil_parts_spread spread;
} fixture;

static void start(fixture *f, const stencil_parts_case *of, int64_t n, int parts) {
    *f = (fixture){0};
    options_init(&f->options);
    f->options.backend = backend;
    f->options.gpu_count = parts;
    for (int i = 0; i < parts; i++)
        f->options.gpu[i] = i;
    f->b.options = &f->options;
    f->b.machine = &machine;
    OK(stencil_case_make(&f->problem, stencil_case_find(of->of), n, 0));
    f->spread = (stencil_parts_spread){.of = of, .problem = &f->problem, .parts = parts};
    OK(stencil_parts_spread_create(&f->b, &f->spread));
}

static void start_sum(fixture *f, int64_t n, int parts) {
    start(f, &stencil_multi_reduction, n, parts);
}

static void start_normalise(fixture *f, int64_t n, int parts) {
    start(f, &stencil_multi_normalise, n, parts);
}

static bool is_persistent(int order) {
    return stencil_multi_reduction.order[order].barrier != STENCIL_BARRIER_none;
}

static void end(fixture *f) {
    stencil_bench_end(&f->b);
    stencil_case_destroy(&f->problem);
}

/* Creates a loop; returns false when the machine has no such order. */
static bool create(fixture *f, stencil_case_loop *loop, int order, double timeout_s) {
    char why[96] = "";
    *loop = (stencil_case_loop){.spread = &f->spread, .order = order, .timeout_s = timeout_s};
    OK(stencil_case_loop_create(&f->b, loop, why));
    if (why[0] != '\0')
        assert_int_equal(order, MULTI_REDUCTION_CEILING);
    return why[0] == '\0';
}

/* Runs sums over parts, including sums of fewer pieces than parts. */
static void every_number_of_parts_in_every_order(void **state) {
    static const int64_t sizes[] = {0, 1, 2, 1000, 5000, 70000};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int parts = 1; parts <= parts_most; parts++) {
            fixture f;
            start_sum(&f, sizes[i], parts);
            for (int order = 0; order < MULTI_REDUCTION_ORDERS; order++) {
                stencil_case_loop loop;
                double time_s;
                if (!create(&f, &loop, order, 10))
                    continue;
                OK(stencil_case_loop_verify(&loop));
                OK(stencil_case_loop_run(&loop, 3, &time_s));
                OK(stencil_case_loop_verify(&loop));
            }
            end(&f);
        }
}

static void lateness_changes_no_bit(void **state) {
    fixture f;
    (void)state;
    start_sum(&f, 70000, parts_most);
    for (int order = 0; order < MULTI_REDUCTION_ORDERS; order++)
        for (uint32_t late = 0; late <= (uint32_t)parts_most; late++) {
            stencil_case_loop loop;
            if (!is_persistent(order) || !create(&f, &loop, order, 10))
                continue;
            loop.fault = (stencil_fault){.delay_ns = 100000, .seed = late, .late = late};
            OK(stencil_case_loop_verify(&loop));
        }
    end(&f);
}

/* Checks that a run fails in time when the last block is absent at the first or at the last barrier. */
static void absence_ends_the_run(void **state) {
    (void)state;
    for (int last = 0; last < 2; last++)
        for (int order = 0; order < MULTI_REDUCTION_ORDERS; order++) {
            stencil_case_loop loop;
            fixture f;
            double time_s = 0;
            start_sum(&f, 70000, parts_most);
            if (is_persistent(order) && create(&f, &loop, order, 0.02) &&
                f.spread.parts * (int)f.spread.blocks > 1) {
                const double start_s = stencil_clock_s();
                loop.fault.absent_step =
                    last ? reduction_phases((const reduction_arguments *)loop.part) - 1 : 1;
                assert_int_equal(stencil_case_loop_run(&loop, 1, &time_s), STENCIL_INTERNAL);
                assert_true(stencil_clock_s() - start_s < 10);
                assert_non_null(strstr(stencil_error_last()->message, "in vain"));
            }
            end(&f);
        }
}

static void wrong_sums_are_found(void **state) {
    fixture f;
    (void)state;
    start_sum(&f, 70000, parts_most);
    for (int order = 0; order < MULTI_REDUCTION_CEILING; order++) {
        stencil_case_loop loop;
        unsigned char *byte = stencil_case_expected(&f.problem, "sum");
        create(&f, &loop, order, 10);
        byte[0] ^= 1;
        assert_int_equal(stencil_case_loop_verify(&loop), STENCIL_INTERNAL);
        assert_non_null(strstr(stencil_error_last()->message, "is not that of the plain version"));
        byte[0] ^= 1;
        OK(stencil_case_loop_verify(&loop));
    }
    end(&f);
}

/* Creates a loop; returns false when a CPU has no such way, and for managed memory, which can hang a GPU that
 * others share. */
static bool create_way(fixture *f, stencil_case_loop *loop, int way, double timeout_s) {
    char why[96] = "";
    *loop = (stencil_case_loop){.spread = &f->spread, .order = way, .timeout_s = timeout_s};
    if (way == MULTI_NORMALISE_MANAGED)
        return false;
    OK(stencil_case_loop_create(&f->b, loop, why));
    if (why[0] != '\0')
        assert_true(backend == STENCIL_BACKEND_CPU && way == MULTI_NORMALISE_PINNED);
    return why[0] == '\0';
}

/* Normalises integers of fewer pieces than parts, and of more pieces than a block keeps on chip. */
static void every_way_to_normalise(void **state) {
    static const int64_t sizes[] = {0, 1, 5, 5000, 70001};
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int parts = 1; parts <= parts_most; parts++) {
            fixture f;
            start_normalise(&f, sizes[i], parts);
            for (int way = 0; way <= MULTI_NORMALISE_CACHED; way++) {
                stencil_case_loop loop;
                double time_s;
                if (!create_way(&f, &loop, way, 10))
                    continue;
                OK(stencil_case_loop_verify(&loop));
                OK(stencil_case_loop_run(&loop, 3, &time_s));
                OK(stencil_case_loop_verify(&loop));
                loop.fault = (stencil_fault){.delay_ns = 100000, .seed = (uint32_t)parts};
                OK(stencil_case_loop_verify(&loop));
            }
            end(&f);
        }
}

/* Flips a bit at either end of the expected numbers of all parts. */
static void wrong_numbers_are_found(void **state) {
    fixture f;
    (void)state;
    start_normalise(&f, 70001, parts_most);
    for (int way = 0; way <= MULTI_NORMALISE_CACHED; way++) {
        stencil_case_loop loop;
        unsigned char *byte = stencil_case_expected(&f.problem, "numbers");
        if (!create_way(&f, &loop, way, 10))
            continue;
        for (int end = 0; end < 2; end++, byte += 4 * 70001 - 1) {
            byte[0] ^= 1;
            assert_int_equal(stencil_case_loop_verify(&loop), STENCIL_INTERNAL);
            byte[0] ^= 1;
        }
        OK(stencil_case_loop_verify(&loop));
    }
    end(&f);
}

static void absence_ends_the_one_pass(void **state) {
    stencil_case_loop loop;
    fixture f;
    double time_s = 0;
    (void)state;
    start_normalise(&f, 70001, parts_most);
    if (create_way(&f, &loop, MULTI_NORMALISE_CACHED, 0.02) && f.spread.parts * (int)f.spread.blocks > 1) {
        loop.fault.absent_step = 1;
        assert_int_equal(stencil_case_loop_run(&loop, 1, &time_s), STENCIL_INTERNAL);
        assert_non_null(strstr(stencil_error_last()->message, "in vain"));
    }
    end(&f);
}

/* Sets the backend and the machine; returns false without a GPU that launches cooperative kernels. */
static bool find_machine(bool gpu) {
    backend = gpu ? STENCIL_BACKEND_GPU : STENCIL_BACKEND_CPU;
    if (!gpu)
        return true;
    if (stencil_machine_probe(&machine, STENCIL_STREAMS_DEFAULT) != STENCIL_OK || machine.gpu_count == 0 ||
        !machine.gpu[0].cooperative)
        return false;
    stencil_bench_options all = {.backend = backend, .gpu_count = machine.gpu_count};
    const stencil_bench b = {.options = &all, .machine = &machine};
    for (int i = 0; i < machine.gpu_count; i++)
        all.gpu[i] = i;
    parts_most = stencil_parts_most(&b);
    return true;
}

/* ARGUMENTS: cpu | gpu */
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_number_of_parts_in_every_order),
        cmocka_unit_test(lateness_changes_no_bit),
        cmocka_unit_test(absence_ends_the_run),
        cmocka_unit_test(wrong_sums_are_found),
        cmocka_unit_test(every_way_to_normalise),
        cmocka_unit_test(wrong_numbers_are_found),
        cmocka_unit_test(absence_ends_the_one_pass),
    };
    const bool gpu = argc > 1 && strcmp(argv[1], "gpu") == 0;
    if (!find_machine(gpu)) {
        printf("no GPU whose blocks can wait for each other\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

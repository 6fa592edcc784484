/* Tests of the benchmark cases on a CPU or a GPU: every case in every order of its phases, for sizes that are
 * multiples of a block's lanes and others; late and absent participants; wrong results; plain versions
 * against definitions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/cases/fft.cuh"
#include "bench/cases/loop.h"
#include "bench/cases/reduction.cuh"
#include "bench/cases/smith_waterman.cuh"
#include "options.h"

#define OK(call) assert_int_equal(call, STENCIL_OK)

enum { REPEATS = 20, TEAM = 3 };

/* Backend of all tests, number of its orders of phases, and the machine. */
static stencil_backend backend;
static int orders;
static stencil_machine machine;

/* A problem in one part, and the benchmark state that its loops need. */
typedef struct fixture {
    stencil_bench b;
    stencil_bench_options options;
    stencil_case_problem problem;
    stencil_parts_spread spread;
} fixture;

static void start(fixture *f, const stencil_case *of, int64_t n) {
    *f = (fixture){0};
    options_init(&f->options);
    f->options.backend = backend;
    f->b.options = &f->options;
    f->b.machine = &machine;
    OK(stencil_case_make(&f->problem, of, n, REPEATS));
    f->spread = (stencil_parts_spread){.of = &stencil_one_part, .problem = &f->problem, .parts = 1};
    OK(stencil_parts_spread_create(&f->b, &f->spread));
}

static void end(fixture *f) {
    stencil_bench_end(&f->b);
    stencil_case_destroy(&f->problem);
}

/* Creates a loop; returns false when the case or the GPU has no such order. */
static bool create(fixture *f, stencil_case_loop *loop, int order, uint32_t threads, double timeout_s) {
    char why[96] = "";
    *loop =
        (stencil_case_loop){.spread = &f->spread, .order = order, .blocks = threads, .timeout_s = timeout_s};
    OK(stencil_case_loop_create(&f->b, loop, why));
    if (why[0] != '\0')
        assert_true(!f->problem.of->ring || f->problem.of->body->keeps || backend == STENCIL_BACKEND_GPU);
    return why[0] == '\0';
}

/* Returns the number of phases of a problem of size n; 0: the case has no such size. */
static int64_t phases_at(const stencil_case *of, int64_t n) {
    stencil_case_problem problem;
    const stencil_status status = stencil_case_make(&problem, of, n, REPEATS);
    const int64_t phases = status == STENCIL_OK ? of->body->phases(problem.arguments) : 0;
    stencil_case_destroy(&problem);
    assert_true(status == STENCIL_OK || status == STENCIL_BAD_DATA);
    return phases;
}

/* Returns a size of a case with work for several threads and a barrier. */
static int64_t usual_size(const stencil_case *of) {
    static const int64_t sizes[] = {1300, 2048, 6000};
    int i = 0;
    while (phases_at(of, sizes[i]) < 2)
        i++;
    return sizes[i];
}

/* Returns an order in which one thread can run a case. */
static int any_order(const stencil_case *of) {
    return of->body->keeps ? STENCIL_BARRIER_central : STENCIL_CASE_IMPLICIT;
}

static void every_size_in_every_order(void **state) {
    static const int64_t sizes[] = {0, 1, 2, 3, 64, 255, 257, 1000, 1024, 2500, 7000};
    (void)state;
    for (const stencil_case *of = stencil_cases; of->name != NULL; of++) {
        int made = 0;
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            fixture f;
            if (phases_at(of, sizes[i]) == 0)
                continue;
            made++;
            start(&f, of, sizes[i]);
            for (int order = 0; order < orders; order++)
                for (uint32_t threads = 1; threads <= TEAM; threads += 2) {
                    stencil_case_loop loop;
                    if (sizes[i] >= threads && create(&f, &loop, order, threads, 10))
                        OK(stencil_case_loop_verify(&loop));
                }
            end(&f);
        }
        assert_true(made >= 3);
    }
}

static void lateness_changes_no_bit(void **state) {
    (void)state;
    for (const stencil_case *of = stencil_cases; of->name != NULL; of++) {
        fixture f;
        start(&f, of, usual_size(of));
        for (int order = STENCIL_CASE_IMPLICIT + 1; order < STENCIL_BARRIER_COUNT; order++)
            for (uint32_t late = 0; late <= TEAM; late++) {
                stencil_case_loop loop;
                if (!create(&f, &loop, order, TEAM, 10))
                    continue;
                loop.fault = (stencil_fault){.delay_ns = 100000, .seed = late, .late = late};
                OK(stencil_case_loop_verify(&loop));
            }
        end(&f);
    }
}

/* Checks that a run fails in time when a participant is absent at the first or at the last barrier. */
static void absence_ends(const stencil_case *of, int order, uint32_t absent) {
    stencil_case_loop loop;
    fixture f;
    start(&f, of, usual_size(of));
    const int64_t last = of->body->phases(f.problem.arguments) - 1;
    if (create(&f, &loop, order, TEAM, 0.02) && absent < loop.blocks && loop.blocks > 1) {
        const double start_s = stencil_clock_s();
        double time_s = 0;
        loop.fault = (stencil_fault){.absent_step = absent % 2 != 0 ? 1 : last, .absent = absent};
        assert_int_equal(stencil_case_loop_run(&loop, 1, &time_s), STENCIL_INTERNAL);
        assert_true(stencil_clock_s() - start_s < 10);
        assert_non_null(strstr(stencil_error_last()->message, "in vain"));
        assert_non_null(strstr(stencil_error_last()->message, stencil_barriers[order].name));
    }
    end(&f);
}

static void absence_ends_the_run(void **state) {
    (void)state;
    for (const stencil_case *of = stencil_cases; of->name != NULL; of++)
        for (int order = STENCIL_CASE_IMPLICIT + 1; order < STENCIL_BARRIER_COUNT; order++)
            for (uint32_t absent = 0; absent < TEAM; absent++)
                absence_ends(of, order, absent);
}

/* The phase function of a case, which the next function calls for all phases but the second. */
static void (*whole)(const void *, int64_t, stencil_case_block);

static void without_second(const void *arguments, int64_t phase, stencil_case_block block) {
    if (phase != 1)
        whole(arguments, phase, block);
}

static void is_wrong(stencil_case_loop *loop) {
    assert_int_equal(stencil_case_loop_verify(loop), STENCIL_INTERNAL);
    assert_non_null(strstr(stencil_error_last()->message, "is not that of the plain version"));
}

static void left_out_phases_are_found(void **state) {
    (void)state;
    for (const stencil_case *of = stencil_cases; of->name != NULL && backend == STENCIL_BACKEND_CPU; of++) {
        stencil_case_body body = *of->body;
        const stencil_case wrong = {of->name, of->ring, of->any_blocks, &body};
        stencil_case_loop loop;
        fixture f;
        whole = body.phase;
        body.phase = without_second;
        start(&f, &wrong, usual_size(of));
        create(&f, &loop, any_order(of), 1, 10);
        is_wrong(&loop);
        end(&f);
    }
}

/* Checks that a result with another last bit passes, and a result beyond the bound of error does not. */
static void bounds_are_checked(void **state) {
    static const char *const names[] = {"reduction", "fft"};
    (void)state;
    for (int i = 0; i < 2; i++) {
        const stencil_case *of = stencil_case_find(names[i]);
        stencil_case_loop loop;
        fixture f;
        start(&f, of, usual_size(of));
        create(&f, &loop, STENCIL_CASE_IMPLICIT, 1, 10);
        OK(stencil_case_loop_verify(&loop));
        OK(stencil_case_check_bound(&f.problem, "a ceiling"));
        for (int a = 0; a < f.problem.array_count; a++) {
            unsigned char *memory = f.problem.array[a].memory;
            if (f.problem.array[a].kind != STENCIL_CASE_RESULT)
                continue;
            memory[0] ^= 1; /* of another order */
            assert_int_equal(stencil_case_check(&f.problem, "a ceiling"), STENCIL_INTERNAL);
            OK(stencil_case_check_bound(&f.problem, "a ceiling"));
            memory[3] ^= 1 << 5; /* in float32 a factor; in a double as small as the other one */
            memory[f.problem.array[a].element_bytes - 3] ^= 1;
            assert_int_equal(stencil_case_check_bound(&f.problem, "a ceiling"), STENCIL_INTERNAL);
            assert_non_null(strstr(stencil_error_last()->message, "bound of error"));
        }
        end(&f);
    }
}

/* Flips a bit at either end of each expected result. */
static void wrong_bits_are_found(void **state) {
    (void)state;
    for (const stencil_case *of = stencil_cases; of->name != NULL; of++) {
        stencil_case_loop loop;
        fixture f;
        start(&f, of, usual_size(of));
        create(&f, &loop, any_order(of), 1, 10);
        for (int i = 0; i < f.problem.array_count; i++) {
            const stencil_case_array *a = &f.problem.array[i];
            unsigned char *byte = a->expected;
            if (a->kind != STENCIL_CASE_RESULT)
                continue;
            const size_t last = (size_t)a->count * a->element_bytes - 1;
            byte[0] ^= 1;
            is_wrong(&loop);
            byte[0] ^= 1;
            byte[last] ^= 1;
            is_wrong(&loop);
            byte[last] ^= 1;
        }
        OK(stencil_case_loop_verify(&loop));
        end(&f);
    }
}

/* Checks that the pieces of a phase's time add up, and that a delay of one participant is waiting, not
 * computing: in the mean over all participants at least the delay over their number, however busy the CPU. */
#define LATE_S 1e-3
static void attribution(void **state) {
    (void)state;
    for (const stencil_case *of = stencil_cases; of->name != NULL; of++) {
        fixture f;
        start(&f, of, usual_size(of));
        for (int order = 0; order < orders; order++) {
            stencil_case_loop loop;
            stencil_inside inside;
            if (order >= STENCIL_CASE_GRAPH || order == STENCIL_CASE_ALONE ||
                !create(&f, &loop, order, 4, 10))
                continue;
            if (stencil_case_is_persistent(&stencil_one_part, order))
                loop.fault = (stencil_fault){.delay_ns = (uint32_t)(1e9 * LATE_S), .late = 1};
            OK(stencil_case_loop_attribute(&loop, &inside));
            assert_true(inside.samples > 0);
            const double sum = inside.launch_s + inside.compute_s + inside.halo_s + inside.imbalance_s +
                               inside.latency_s + inside.after_s;
            assert_true(fabs(sum - inside.step_s) <= 1e-9 * inside.step_s);
            if (stencil_case_is_persistent(&stencil_one_part, order))
                assert_true(inside.imbalance_s + inside.latency_s >= 0.99 * LATE_S / loop.blocks);
            stencil_inside_destroy(&inside);
        }
        end(&f);
    }
}

/* Checks the plain Fourier transform against its definition, in double precision. */
static void transform_is_the_definition(void **state) {
    (void)state;
    for (int64_t n = 2; n <= 256; n *= 2) {
        fixture f;
        start(&f, stencil_case_find("fft"), n);
        const fft_number *x = ((const fft_arguments *)(void *)f.problem.arguments)->input,
                         *y = stencil_case_expected(&f.problem, "output");
        for (int64_t k = 0; k < n; k++) {
            double re = 0, im = 0;
            for (int64_t t = 0; t < n; t++) {
                const double angle = -2 * acos(-1) * (double)(k * t % n) / (double)n;
                re += x[t].re * cos(angle) - x[t].im * sin(angle);
                im += x[t].re * sin(angle) + x[t].im * cos(angle);
            }
            assert_true(fabs(re - y[k].re) < 1e-6 * sqrt((double)n) * log2((double)n) + 1e-7);
            assert_true(fabs(im - y[k].im) < 1e-6 * sqrt((double)n) * log2((double)n) + 1e-7);
        }
        end(&f);
    }
}

/* Checks that the sum is within the error bound of n additions in any order. */
static void sum_is_the_sum(void **state) {
    (void)state;
    for (int64_t n = 0; n < 20000; n = 3 * n + 1) {
        fixture f;
        start(&f, stencil_case_find("reduction"), n);
        const double *value =
            (const double *)((const reduction_arguments *)(void *)f.problem.arguments)->values;
        long double sum = 0, size = 0;
        for (int64_t i = 0; i < n; i++) {
            sum += value[i];
            size += fabsl(value[i]);
        }
        const double *expected = stencil_case_expected(&f.problem, "sum");
        assert_true(fabsl(sum - *expected) <= (long double)n * 0x1p-53L * size);
        assert_true(n == 0 ? *expected == 0 : *expected != 0);
        end(&f);
    }
}

/* Returns the score of the letters and gaps of an alignment, traced back from its last cell `at`. */
static int64_t trace_back(const smith_waterman_arguments *w, const uint8_t *from, int64_t at) {
    int64_t score = 0;
    int now = SW_DIAGONAL;
    for (int64_t i = at / w->columns, j = at % w->columns; i >= 0 && j >= 0;) {
        const uint8_t how = from[i * w->columns + j];
        if (now == SW_DIAGONAL)
            now = how & 3;
        if (now == SW_STOP)
            break;
        if (now == SW_DIAGONAL) {
            score += w->a[i--] == w->b[j--] ? SW_SAME : SW_OTHER;
        } else {
            const bool goes_on = (how & (now == SW_E ? SW_E_GOES_ON : SW_F_GOES_ON)) != 0;
            score -= goes_on ? SW_EXTEND : SW_OPEN;
            i -= now == SW_F;
            j -= now == SW_E;
            now = goes_on ? now : SW_DIAGONAL;
        }
    }
    return score;
}

/* Returns the largest score of an alignment that ends in cell (i, j), by trying all lengths of gaps. */
static int64_t best_end(const smith_waterman_arguments *w, int64_t *h, int64_t i, int64_t j) {
    int64_t best = 0, corner = i > 0 && j > 0 ? h[(i - 1) * w->columns + j - 1] : 0;
    corner += w->a[i] == w->b[j] ? SW_SAME : SW_OTHER;
    best = corner > best ? corner : best;
    for (int64_t k = 1; k <= j; k++) {
        const int64_t gap = h[i * w->columns + j - k] - SW_OPEN - (k - 1) * SW_EXTEND;
        best = gap > best ? gap : best;
    }
    for (int64_t k = 1; k <= i; k++) {
        const int64_t gap = h[(i - k) * w->columns + j] - SW_OPEN - (k - 1) * SW_EXTEND;
        best = gap > best ? gap : best;
    }
    return h[i * w->columns + j] = best;
}

/* Checks that the best score is that of the definition, and that of the alignment that is traced back. */
static void alignment_is_the_best(void **state) {
    (void)state;
    for (int64_t n = 1; n < 400; n = 2 * n + 1) {
        fixture f;
        start(&f, stencil_case_find("smith-waterman"), n);
        const smith_waterman_arguments *w = (const smith_waterman_arguments *)(void *)f.problem.arguments;
        const smith_waterman_best *best = stencil_case_expected(&f.problem, "best");
        int64_t *h = calloc((size_t)(w->rows * w->columns), sizeof *h), score = 0, at = 0;
        for (int64_t i = 0; i < w->rows * w->columns; i++)
            if (best_end(w, h, i / w->columns, i % w->columns) > score) {
                score = h[i];
                at = i;
            }
        free(h);
        assert_true(n < 8 || score > 2);
        assert_int_equal(best->score, score);
        assert_int_equal(best->at, at);
        if (score > 0)
            assert_int_equal(trace_back(w, stencil_case_expected(&f.problem, "from"), at), score);
        end(&f);
    }
}

/* Checks predictions by equation 5 of L. Zhang et al., the number of bytes up to which one block is faster
 * than all blocks with a barrier (T_sync: the barrier's time beyond the latency), and by equation 4, for more
 * bytes in flight than the problem has. */
static void switch_points_are_those_of_the_equations(void **state) {
    static const double latency_s = 1e-6, sync_s = 2e-6;
    const stencil_case *of = stencil_case_find("reduction");
    const double basic = of->body->in_flight / latency_s;
    (void)state;
    for (double blocks = 4; blocks <= 4096; blocks *= 2) {
        stencil_calibration c = {.latency_s = latency_s, .set_bytes = {1e9, 2e9}};
        fixture f;
        for (int i = 0; i < STENCIL_STRATEGIES; i++)
            c.sync[i] = (stencil_sync_cost){.few_s = latency_s + sync_s, .all_s = latency_s + sync_s};
        for (int loop = 0; loop < STENCIL_LOOP_COUNT; loop++)
            c.bytes_per_s[loop][0][STENCIL_NEAR] = c.bytes_per_s[loop][0][STENCIL_FAR] = 1000 * basic;
        const double more = fmin(blocks, 1000) * basic, by_4 = (latency_s + sync_s) * basic,
                     by_5 = sync_s * more * basic / (more - basic);
        const double at = by_4 <= more * latency_s ? by_4 : by_5;
        start(&f, of, 6000);
        for (int side = -1; side <= 1; side += 2) {
            f.problem.bytes = at * (1 + 1e-3 * side);
            const double alone_s = stencil_case_predict(&f.problem, STENCIL_CASE_ALONE, 1, 0, &c),
                         all_s = stencil_case_predict(&f.problem, STENCIL_BARRIER_central, blocks, 1, &c);
            assert_int_equal(alone_s < all_s, side < 0);
        }
        end(&f);
    }
}

/* Sets the backend and the machine; returns false without a GPU that launches cooperative kernels. */
static bool find_machine(bool gpu) {
    backend = gpu ? STENCIL_BACKEND_GPU : STENCIL_BACKEND_CPU;
    orders = gpu ? STENCIL_CASE_ORDERS : STENCIL_CASE_CPU_ORDERS;
    machine.cpu_threads = TEAM;
    return !gpu || (stencil_machine_probe(&machine, STENCIL_STREAMS_DEFAULT) == STENCIL_OK &&
                    machine.gpu_count > 0 && machine.gpu[0].cooperative);
}

/* ARGUMENTS: cpu | gpu */
int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_size_in_every_order),
        cmocka_unit_test(lateness_changes_no_bit),
        cmocka_unit_test(absence_ends_the_run),
        cmocka_unit_test(left_out_phases_are_found),
        cmocka_unit_test(wrong_bits_are_found),
        cmocka_unit_test(bounds_are_checked),
        cmocka_unit_test(attribution),
        cmocka_unit_test(transform_is_the_definition),
        cmocka_unit_test(sum_is_the_sum),
        cmocka_unit_test(alignment_is_the_best),
        cmocka_unit_test(switch_points_are_those_of_the_equations),
    };
    if (!find_machine(argc > 1 && strcmp(argv[1], "gpu") == 0)) {
        printf("no GPU\n");
        return 77;
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}

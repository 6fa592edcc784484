/* Tests of timers of several GPUs on one scale, with rounds and kernels that were made up. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "bench/timers.h"

enum { ROUNDS = 500 };

static uint64_t draw(uint64_t *state, uint64_t below) {
    *state = 6364136223846793005u * *state + 1442695040888963407u;
    return (*state >> 33) % below;
}

/* A timer is `ahead` ns before another one, and both tick every `tick` ns; a flag takes 600 ns and up to 4000
 * more in either direction. */
static void check(int64_t ahead, int64_t tick, double error_most_s) {
    int64_t sent_and_back[2 * ROUNDS], seen[ROUNDS];
    int64_t now = 1700000000000000000;
    uint64_t state = 7;
    double offset_s, error_s;
    for (int i = 0; i < ROUNDS; i++) {
        const int64_t there = now + 600 + (int64_t)draw(&state, 4000),
                      back = there + 600 + (int64_t)draw(&state, 4000);
        sent_and_back[2 * i] = now / tick * tick;
        seen[i] = (there + ahead) / tick * tick;
        sent_and_back[2 * i + 1] = back / tick * tick;
        now = back + (int64_t)draw(&state, 1000);
    }
    stencil_timer_offset(sent_and_back, seen, ROUNDS, &offset_s, &error_s);
    assert_true(fabs(offset_s - 1e-9 * (double)ahead) <= 0.7e-6 + 1e-9 * (double)tick);
    assert_true(error_s <= error_most_s);
    if (tick == 1) /* no round says more than its own length */
        assert_true(error_s >= 0.6e-6 && fabs(offset_s - 1e-9 * (double)ahead) <= error_s);
}

static void difference_of_timers(void **state) {
    (void)state;
    check(0, 1, 0.7e-6);
    check(123456789, 1, 0.7e-6);
    check(-98765, 32, 0.7e-6);
    check(5000, 1000, 1.5e-6);
}

/* Symmetric rounds of 2 us give the difference exactly. */
static void symmetric_rounds(void **state) {
    const int64_t sent_and_back[] = {1000, 3000, 5000, 7000}, seen[] = {2500, 6500};
    double offset_s, error_s;
    (void)state;
    stencil_timer_offset(sent_and_back, seen, 2, &offset_s, &error_s);
    assert_true(fabs(offset_s - 500e-9) < 1e-15);
    assert_true(fabs(error_s - 1000e-9) < 1e-15);
}

/* The second GPU, 1 ms ahead, starts 3 us after the first one and ends 2 us before it; the third one, 50 us
 * behind, starts 1 us before the first one. */
static void spans(void **state) {
    const int64_t epoch = 1700000000000000000;
    const stencil_kernel_span span[] = {
        {epoch, epoch + 20000}, {epoch + 1003000, epoch + 1018000}, {epoch - 51000, epoch - 49000}};
    const double offset_s[] = {0, 1e-3, -50e-6};
    double time_s, skew_s;
    (void)state;
    stencil_kernel_spans_join(span, offset_s, 1, &time_s, &skew_s);
    assert_true(fabs(time_s - 20e-6) < 1e-12 && skew_s == 0);
    stencil_kernel_spans_join(span, offset_s, 2, &time_s, &skew_s);
    assert_true(fabs(time_s - 20e-6) < 1e-12 && fabs(skew_s - 3e-6) < 1e-12);
    stencil_kernel_spans_join(span, offset_s, 3, &time_s, &skew_s);
    assert_true(fabs(time_s - 21e-6) < 1e-12 && fabs(skew_s - 4e-6) < 1e-12);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(difference_of_timers),
        cmocka_unit_test(symmetric_rounds),
        cmocka_unit_test(spans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

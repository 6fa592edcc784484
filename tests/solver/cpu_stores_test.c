/* Which way to store is found by times that are made up here: none is measured. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "solver/device/stores.h"
#include "solver/plan/memory.h"

enum { MIB = 1 << 20 };

static stencil_stores choose(int64_t edge, bool source, int threads, int64_t cache_bytes) {
    stencil_spec spec;
    stencil_problem problem;
    stencil_spec_init(&spec);
    spec.rank = 2;
    spec.extent[0] = spec.extent[1] = edge;
    spec.precision = STENCIL_FLOAT64;
    spec.source = source ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE;
    snprintf(spec.stencil, sizeof spec.stencil, "j2d5pt");
    assert_int_equal(stencil_problem_resolve(&problem, &spec), STENCIL_OK);
    return stencil_stores_choose(&problem, threads, cache_bytes);
}

/* 16 bytes per cell, 24 with a source: sizes around those of the caches. */
static void sizes(void **state) {
    (void)state;
    assert_int_equal(choose(240, false, 1, 300 * MIB), STENCIL_STORES_CACHED);
    assert_int_equal(choose(340, false, 2, 300 * MIB), STENCIL_STORES_CACHED);
    assert_int_equal(choose(240, true, 1, 300 * MIB), STENCIL_STORES_TRIED);
    assert_int_equal(choose(380, false, 2, 300 * MIB), STENCIL_STORES_TRIED);
    assert_int_equal(choose(3072, false, 2, 300 * MIB), STENCIL_STORES_TRIED);
    assert_int_equal(choose(4480, false, 1, 300 * MIB), STENCIL_STORES_STREAMING);
    assert_int_equal(choose(4480, false, 2, 300 * MIB), STENCIL_STORES_TRIED); /* one cache each, perhaps */
    assert_int_equal(choose(8192, false, 2, 300 * MIB), STENCIL_STORES_STREAMING);
    assert_int_equal(choose(240, false, 1, 0), STENCIL_STORES_CACHED); /* unknown */
    assert_int_equal(choose(8192, false, 1, 0), STENCIL_STORES_TRIED);
    assert_int_equal(choose(9, false, 1, 1), STENCIL_STORES_STREAMING);
}

/* Makes steps until the trial is over, each way at its time but for step `spike`, which takes a thousand
 * times as long. Every `look`-th step has a residual, which takes as long again as ten steps. Returns how
 * many. */
static int64_t find_out(stencil_stores_trial *trial, double cached_s, double streaming_s, int64_t spike,
                        int64_t look) {
    int64_t step = 0;
    while (isnan(trial->found_s[0])) {
        step++;
        const bool looked_at = step % look == 0;
        double step_s = trial->streaming ? streaming_s : cached_s;
        step_s += looked_at ? 10 * fmax(cached_s, streaming_s) : 0;
        stencil_stores_note(trial, step == spike ? 1000 * step_s : step_s, looked_at);
        assert_true(step < 10 * STENCIL_STORES_STEPS);
    }
    return step;
}

static void faster_way(void **state) {
    static const int64_t looks[] = {1, 2, 3, 4, 5, 6, 7, 18, 1000};
    (void)state;
    for (int streams = 0; streams < 2; streams++)
        for (size_t l = 0; l < sizeof looks / sizeof *looks; l++)
            for (int64_t spike = 0; spike <= STENCIL_STORES_STEPS; spike++) {
                stencil_stores_trial trial;
                stencil_stores_begin(&trial, STENCIL_STORES_TRIED);
                const int64_t steps =
                    find_out(&trial, streams ? 1.1 : 1.0, streams ? 1.0 : 1.1, spike, looks[l]);
                assert_int_equal(trial.streaming, streams);
                assert_int_equal(trial.found_s[streams] < trial.found_s[!streams], 1);
                if (looks[l] == 1000) {
                    assert_int_equal(steps, STENCIL_STORES_STEPS);
                    assert_true(trial.found_s[streams] == 1.0 && trial.found_s[!streams] == 1.1);
                }
            }
}

/* The machine changes: a later trial sees it; until then its first answer stands. */
static void tries_again(void **state) {
    (void)state;
    stencil_stores_trial trial;
    stencil_stores_begin(&trial, STENCIL_STORES_TRIED);
    int64_t step = find_out(&trial, 1, 2, 0, 1000);
    for (; step < STENCIL_STORES_AGAIN; step++) {
        assert_false(trial.streaming);
        assert_false(trial.timed);
        stencil_stores_note(&trial, 0, false);
    }
    for (; step < STENCIL_STORES_AGAIN + STENCIL_STORES_STEPS; step++) {
        assert_true(trial.found_s[false] == 1);
        stencil_stores_note(&trial, trial.streaming ? 2 : 3, false);
    }
    assert_true(trial.streaming);
    assert_true(trial.found_s[false] == 3);
}

static void decided_by_size(void **state) {
    (void)state;
    for (int way = 0; way < 2; way++) {
        stencil_stores_trial trial;
        stencil_stores_begin(&trial, way ? STENCIL_STORES_STREAMING : STENCIL_STORES_CACHED);
        for (int64_t step = 0; step < 3 * STENCIL_STORES_AGAIN; step++) {
            assert_int_equal(trial.streaming, way);
            assert_false(trial.timed);
            stencil_stores_note(&trial, 1, false);
        }
        assert_true(isnan(trial.found_s[0]) && isnan(trial.found_s[1]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes),
        cmocka_unit_test(faster_way),
        cmocka_unit_test(tries_again),
        cmocka_unit_test(decided_by_size),
    };
    return cmocka_run_group_tests_name("cpu_stores", tests, NULL, NULL);
}

/* Attribution from moments: steps that were made up, whose every second is known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "solver/attribution/attribution.h"

enum { FOUR = 4, MANY = 100 };

static void assert_close(double value, double wanted) {
    if (!(fabs(value - wanted) <= 1e-12 + 1e-9 * fabs(wanted)))
        fail_msg("%.12g is not %.12g", value, wanted);
}

/* A step of one participant that begins at begin_s: computes, exchanges, arrives; everybody leaves at left_s.
 */
static stencil_moments moments(double begin_s, double compute_s, double halo_s, double left_s,
                               double after_s) {
    return (stencil_moments){.at_s = {begin_s - 0.5, begin_s, begin_s + compute_s,
                                      begin_s + compute_s + halo_s, left_s, left_s + after_s}};
}

/* What is found in samples of the same weight, each of all participants. */
static stencil_status analyse(const stencil_moments *m, int participants, int samples, const uint32_t *first,
                              const uint32_t *list, stencil_inside *inside) {
    stencil_timeline t;
    assert_int_equal(stencil_timeline_create(&t, participants, samples), STENCIL_OK);
    t.unit = "thread";
    memcpy(t.moment, m, (size_t)participants * (size_t)samples * sizeof *m);
    t.neighbor_first = first;
    t.neighbor = list;
    const stencil_status status = stencil_timeline_analyse(&t, inside);
    stencil_timeline_destroy(&t);
    return status;
}

/* Three take 1 s, participant 2 takes 1.5; then the barrier takes 0.25, the residual 0.125. */
static void the_slow_one_is_named(void **state) {
    (void)state;
    stencil_moments m[MANY * FOUR];
    for (int sample = 0; sample < MANY; sample++)
        for (int p = 0; p < FOUR; p++)
            m[sample * FOUR + p] = moments(10.0 * sample, p == 2 ? 1.5 : 1, 0, 10.0 * sample + 1.75, 0.125);
    stencil_inside inside;
    assert_int_equal(analyse(m, FOUR, MANY, NULL, NULL, &inside), STENCIL_OK);
    assert_close(inside.compute_s, 1.125);
    assert_close(inside.halo_s, 0);
    assert_close(inside.imbalance_s, 0.375);
    assert_close(inside.latency_s, 0.25);
    assert_close(inside.after_s, 0.125);
    assert_close(inside.launch_s, 0.5);
    assert_close(inside.step_s, 2.375);
    assert_close(inside.wait.mean_s, 0.625);
    assert_close(inside.wait.p95_s, 0.75);
    assert_close(inside.wait.longest_s, 0.75);
    assert_int_not_equal(inside.wait.slowest, 2);
    assert_int_equal(inside.blame_count, FOUR);
    assert_int_equal(inside.blame[0].participant, 2);
    assert_int_equal(inside.blame[0].last_in, MANY);
    assert_close(inside.blame[0].caused_s, 0.375);
    assert_close(inside.blame[1].caused_s, 0);
    stencil_inside_destroy(&inside);
}

/* In a chain only the neighbours of the slow one wait for it; who is farther away does not. */
static void neighbours_alone_wait(void **state) {
    (void)state;
    static const uint32_t first[] = {0, 1, 3, 5, 6}, list[] = {1, 0, 2, 1, 3, 2};
    const stencil_moments m[FOUR] = {moments(0, 3, 0, 3.5, 0), moments(0, 1, 0, 3.5, 0),
                                     moments(0, 1, 0, 1.5, 0), moments(0, 1, 0, 1.5, 0)};
    stencil_inside inside;
    assert_int_equal(analyse(m, FOUR, 1, first, list, &inside), STENCIL_OK);
    assert_close(inside.imbalance_s, 2.0 / 4);
    assert_close(inside.latency_s, 0.5);
    assert_int_equal(inside.blame[0].participant, 0);
    assert_close(inside.blame[0].caused_s, 2.0 / 4);
    assert_int_equal(inside.wait.slowest, 1);
    stencil_inside_destroy(&inside);
}

/* Whoever leaves before the last one has arrived by a skewed clock has waited for no longer than it did. */
static void shares_add_up_whatever_the_moments(void **state) {
    (void)state;
    static stencil_moments m[MANY * FOUR]; /* nothing spent within steps */
    double all = 0;
    srand(7);
    for (int i = 0; i < MANY * FOUR; i++) {
        double at = 0;
        for (int k = 0; k < STENCIL_MARKS; k++)
            m[i].at_s[k] = at += 1e-6 * (rand() % 1000);
        all += m[i].at_s[STENCIL_MARK_END] - m[i].at_s[STENCIL_MARK_LAUNCHED];
    }
    stencil_inside inside;
    int64_t waits = 0;
    assert_int_equal(analyse(m, FOUR, MANY, NULL, NULL, &inside), STENCIL_OK);
    assert_close(inside.step_s, all / (MANY * FOUR));
    assert_close(inside.imbalance_s + inside.latency_s, inside.wait.mean_s);
    assert_true(inside.imbalance_s > 0 && inside.latency_s > 0);
    for (int k = 0; k < STENCIL_WAIT_BINS; k++)
        waits += inside.wait.bin[k];
    assert_int_equal(waits, MANY * FOUR);
    double caused = 0;
    for (int i = 0; i < inside.blame_count; i++) {
        caused += inside.blame[i].caused_s;
        assert_true(i == 0 || inside.blame[i].caused_s <= inside.blame[i - 1].caused_s);
    }
    assert_close(caused, inside.imbalance_s);
    stencil_inside_destroy(&inside);
}

static void moments_out_of_order_are_refused(void **state) {
    (void)state;
    stencil_moments m[FOUR] = {moments(0, 1, 0, 2, 0), moments(0, 1, 0, 2, 0), moments(0, 1, 0, 2, 0),
                               moments(0, 1, 0, 0.5, 0)};
    stencil_inside inside;
    assert_int_equal(analyse(m, FOUR, 1, NULL, NULL, &inside), STENCIL_BAD_DATA);
    assert_null(inside.blame);
}

/* Bins by powers of two of a nanosecond. */
static void waits_are_binned(void **state) {
    (void)state;
    static const struct {
        double wait_s;
        int bin;
    } cases[] = {{0, 0}, {1.5e-9, 0}, {2.5e-9, 1}, {1000e-9, 9}, {1025e-9, 10}, {1, STENCIL_WAIT_BINS - 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const stencil_moments m = moments(0, 0, 0, cases[i].wait_s, 0);
        stencil_inside inside;
        assert_int_equal(analyse(&m, 1, 1, NULL, NULL, &inside), STENCIL_OK);
        assert_int_equal(inside.wait.bin[cases[i].bin], 1);
        assert_close(inside.latency_s, cases[i].wait_s);
        stencil_inside_destroy(&inside);
    }
}

/* One step in four is checked in the samples, one in a hundred in the run; who had no part in a step does not
 * count in it. */
static void weights_and_absence_count(void **state) {
    (void)state;
    stencil_timeline t;
    stencil_inside inside;
    assert_int_equal(stencil_timeline_create(&t, 2, 4), STENCIL_OK);
    for (int i = 0; i < 4; i++) {
        t.moment[2 * i] = moments(0, 1, 0, 1, i == 0 ? 8 : 0);
        t.moment[2 * i + 1] = t.moment[2 * i];
        t.sample[i].weight = i == 0 ? 0.04 : 1.32;
        t.sample[i].in_batches = i == 0 ? 0.4 : 1.2;
        t.sample[i].step = 3 * i + 1;
    }
    t.moment[7].at_s[0] = NAN;
    assert_int_equal(stencil_timeline_analyse(&t, &inside), STENCIL_OK);
    assert_close(inside.after_s, 2 * 0.04 * 8 / (2 * 0.04 + 5 * 1.32));
    assert_close(inside.step_s, 1.5 + inside.after_s);
    assert_close(inside.batch_step_s, 1.5 + 2 * 0.4 * 8 / (2 * 0.4 + 5 * 1.2));
    stencil_inside_destroy(&inside);
    stencil_timeline_destroy(&t);
}

/* Two groups with clocks of their own: one waits 2 s longer than the other, whose blocks are slow by that. */
static void groups_wait_for_each_other(void **state) {
    (void)state;
    stencil_timeline t;
    stencil_inside inside;
    assert_int_equal(stencil_timeline_create(&t, FOUR, 1), STENCIL_OK);
    t.groups = 2;
    t.group_first[1] = 2;
    t.group_first[2] = FOUR;
    for (int p = 0; p < FOUR; p++)
        t.moment[p] = p < 2 ? moments(0, 1, 0, 3.5, 0) : moments(100, 3, 0, 103.5, 0);
    assert_int_equal(stencil_timeline_analyse(&t, &inside), STENCIL_OK);
    assert_close(inside.latency_s, 0.5);
    assert_close(inside.between_s, 1);
    assert_close(inside.imbalance_s, 1);
    assert_close(inside.slowest_compute_s, 3);
    assert_int_equal(inside.slow_group, 1);
    stencil_inside_destroy(&inside);
    stencil_timeline_destroy(&t);
}

/* By comparison with division. */
static void samples_are_counted(void **state) {
    (void)state;
    static const uint32_t every[] = {1, 3, 7, 49, 641, 1023, 65535, 1048577};
    static const int64_t far = 65536;
    for (size_t i = 0; i < sizeof every / sizeof *every; i++) {
        stencil_trace t = {0};
        assert_int_equal(stencil_trace_sample(&t, 1), -1);
        stencil_trace_set(&t, 1000003, every[i], (uint32_t)(far / every[i]));
        for (int64_t n = -1000003; n < far + 3; n++) {
            const bool sampled = n >= 0 && n % every[i] == 0 && n / every[i] < t.samples;
            assert_int_equal(stencil_trace_sample(&t, 1000003 + n), sampled ? n / every[i] : -1);
        }
        const int64_t last = every[i] * (int64_t)(t.samples - 1);
        assert_int_equal(stencil_trace_sample(&t, 1000003 + last), (int64_t)t.samples - 1);
    }
}

/* Two batches of two participants. Between two steps of one a pair of notes takes 0.25 s, once 0.125; those
 * of different batches, or of steps apart, do not count. A step of 1 + 0.5 + 0.25 + 0.125 has four intervals,
 * without an exchange three. */
static void notes_are_taken_off(void **state) {
    (void)state;
    stencil_timeline piece[2], whole;
    for (int k = 0; k < 2; k++) {
        assert_int_equal(stencil_timeline_create(&piece[k], 2, 3), STENCIL_OK);
        piece[k].unit = "block";
        for (int i = 0; i < 3; i++) {
            piece[k].sample[i] = (stencil_sample){.step = i == 2 ? 9 : 1 + i, .weight = 1 + k};
            for (int p = 0; p < 2; p++) {
                const double begin_s = i * (i == 2 ? 1.885 : p == 0 ? 2.125 : 2);
                piece[k].moment[2 * i + p] = moments(begin_s, 1, p == 0 ? 0.5 : 0, begin_s + 1.75, 0.125);
                piece[k].moment[2 * i + p].at_s[STENCIL_MARK_LAUNCHED] = begin_s;
            }
        }
    }
    piece[1].moment[0].at_s[0] = NAN;
    assert_int_equal(stencil_timeline_join(piece, 2, &whole), STENCIL_OK);
    assert_string_equal(whole.unit, "block");
    assert_int_equal(whole.samples, 6);
    assert_close(whole.sample[2].weight, 1);
    assert_close(whole.sample[3].weight, 2);
    assert_int_equal(whole.sample[5].step, 9);
    const double note_s = stencil_timeline_note_s(&whole);
    assert_close(note_s, 0.125);
    stencil_timeline_take_off(&whole, note_s);
    static const double wanted_s[2][STENCIL_MARKS] = {{0, 0, 0.875, 1.25, 1.375, 1.375},
                                                      {0, 0, 0.875, 0.875, 1.5, 1.5}};
    for (int p = 0; p < 2; p++)
        for (int k = 0; k < STENCIL_MARKS; k++)
            assert_close(whole.moment[p].at_s[k], wanted_s[p][k]);
    assert_true(isnan(whole.moment[6].at_s[0]));
    assert_close(whole.moment[6].at_s[STENCIL_MARK_SWEPT], 1);
    stencil_timeline_destroy(&whole);
    whole = piece[0];
    whole.samples = 1;
    assert_close(stencil_timeline_note_s(&whole), 0);
    stencil_timeline_destroy(&piece[0]);
    stencil_timeline_destroy(&piece[1]);
}

/* Of a pass of 8 s, 1 s keeps cells for a check, 2 s exchange ghost cells, and of the 3 s until the barrier
 * is left 2 s are a check. The other participant arrives 0.5 s later. */
static void pieces_within_a_pass_have_their_causes(void **state) {
    (void)state;
    stencil_moments m[2] = {moments(0, 8, 0, 11, 0.25), moments(0, 8.5, 0, 11, 0.25)};
    for (int p = 0; p < 2; p++) {
        m[p].spent_s[STENCIL_SPENT_KEPT] = 1;
        m[p].spent_s[STENCIL_SPENT_EXCHANGE] = 2;
        m[p].spent_s[STENCIL_SPENT_CHECK] = 2;
    }
    stencil_inside inside;
    assert_int_equal(analyse(m, 2, 1, NULL, NULL, &inside), STENCIL_OK);
    assert_close(inside.compute_s, 5.25);
    assert_close(inside.halo_s, 2);
    assert_close(inside.after_s, 3.25);
    assert_close(inside.imbalance_s, 0.25);
    assert_close(inside.latency_s, 0.5);
    assert_close(inside.step_s, 0.5 + 11.25);
    stencil_inside_destroy(&inside);
}

/* Two batches of two blocks of a resident loop. The first has two launches, between which one of another
 * kernel has noted nothing: enters at 1 (1.5), loads for 2, loops for 10, stores for 1 (0.5); the next one 5
 * s later, and its first block is elsewhere, with another clock. The second batch has one launch without a
 * field on chip. */
static void launches_leave_no_gaps(void **state) {
    (void)state;
    enum { BLOCKS = 2, LAUNCHES = 4 };
    static const int64_t tick[LAUNCHES][BLOCKS][STENCIL_LAUNCH_MARKS] = {
        {{10, 30, 130, 140}, {15, 35, 135, 140}},
        {{0}},
        {{70190, 70210, 70310, 70320}, {195, 215, 315, 320}},
        {{1000, 0, 1200, 0}, {1000, 0, 1180, 0}}};
    static const uint32_t place[LAUNCHES][BLOCKS] = {{0, 1}, {0, 0}, {2, 1}, {1, 0}};
    const stencil_tick_clock clock[] = {{0, 0.1, 0}, {0, 0.1, 0}, {70000, 0.1, 0}};
    stencil_timeline piece[2], t;
    for (int i = 0; i < 2; i++) {
        const int launches = i == 0 ? 3 : 1;
        assert_int_equal(stencil_timeline_create(&piece[i], BLOCKS, 1), STENCIL_OK);
        assert_int_equal(stencil_timeline_create_launches(&piece[i], launches, 1), STENCIL_OK);
        piece[i].batch[0] = (stencil_stretch){launches, i == 0 ? 34 : 22};
        stencil_trial_take_launches(&piece[i], 0, tick[3 * i][0], clock, place[3 * i]);
    }
    assert_int_equal(stencil_timeline_join(piece, 2, &t), STENCIL_OK);
    const stencil_spans s = stencil_timeline_spans(&t);
    assert_int_equal(s.batches, 2);
    assert_int_equal(s.launches, 3);
    assert_close(s.time_s, 56);
    assert_close(s.outside_s, 34 - 31 + 22 - 20);
    assert_close(s.between_s, 5);
    assert_close(s.start_s, 2 * 0.25 + 1);
    assert_close(s.load_s, 2 * 2);
    assert_close(s.store_s, 2 * 0.75);
    assert_close(s.loop_s, 2 * 10 + 19);
    assert_close(s.outside_s + s.start_s + s.load_s + s.loop_s + s.store_s + s.between_s, s.time_s);
    stencil_timeline_destroy(&piece[0]);
    stencil_timeline_destroy(&piece[1]);
    stencil_timeline_destroy(&t);
}

/* A batch of a resident loop with a check in 100 steps, for which it leaves: a launch and 9 passes, 8 of 12
 * steps and one of 3, then the checked step. The batch ends with a check. */
static void an_account_adds_up(void **state) {
    (void)state;
    enum { DEPTH = 12, CHECKS = 10 };
    static const double pass_s[] = {6, 1, 0.5, 0.25}; /* compute, imbalance, latency, halo */
    const double short_s = 6.0 * 3 / DEPTH + 1 + 0.5 + 0.25, loop_s = 8 * 7.75 + short_s, load_s = 4,
                 store_s = 2, gap_s = 8, launch_s = 3, begin_s = 0.5;
    const stencil_inside inside = {.compute_s = pass_s[0],
                                   .imbalance_s = pass_s[1],
                                   .latency_s = pass_s[2],
                                   .halo_s = pass_s[3],
                                   .step_s = 7.75};
    const stencil_makeup made = {.batches = 1,
                                 .launches = CHECKS,
                                 .checks = CHECKS,
                                 .exits = CHECKS,
                                 .passes = 9 * CHECKS,
                                 .loop_steps = 99 * CHECKS,
                                 .steps = 100 * CHECKS};
    const double time_s = launch_s + CHECKS * (begin_s + load_s + loop_s + store_s + gap_s);
    const stencil_spans spans = {.batches = 1,
                                 .launches = CHECKS,
                                 .time_s = time_s,
                                 .outside_s = launch_s + gap_s,
                                 .start_s = CHECKS * begin_s,
                                 .load_s = CHECKS * load_s,
                                 .loop_s = CHECKS * loop_s,
                                 .store_s = CHECKS * store_s,
                                 .between_s = (CHECKS - 1) * gap_s};
    stencil_account account = {0};
    double cause_s[STENCIL_CAUSES];
    stencil_account_add_pass(&account, &inside, DEPTH);
    stencil_account_add_spans(&account, &spans, &made);
    assert_close(stencil_account_of(&account, &made, cause_s), time_s);
    assert_close(cause_s[STENCIL_CAUSE_LAUNCH], launch_s + CHECKS * begin_s);
    assert_close(cause_s[STENCIL_CAUSE_LOAD], CHECKS * load_s);
    assert_close(cause_s[STENCIL_CAUSE_STORE], CHECKS * store_s);
    assert_close(cause_s[STENCIL_CAUSE_CHECK], CHECKS * gap_s);
    assert_close(cause_s[STENCIL_CAUSE_COMPUTE], CHECKS * 99 * 0.5);
    assert_close(cause_s[STENCIL_CAUSE_HALO], CHECKS * 9 * 0.25);
}

/* A run of 10 steps: what its clock says, and what the batches say of its steps, which in a batch of 100 take
 * 10 s each, half of which the notes explain. */
static void a_run_is_divided(void **state) {
    (void)state;
    const stencil_attribution a = {
        .covered = 0.5,
        .made = {.batches = 1, .launches = 1, .passes = 100, .loop_steps = 100, .steps = 100},
        .account = {.batch_s = {[STENCIL_CAUSE_LAUNCH] = 10},
                    .pass_s = {[STENCIL_CAUSE_LAUNCH] = 1,
                               [STENCIL_CAUSE_COMPUTE] = 2,
                               [STENCIL_CAUSE_LATENCY] = 3,
                               [STENCIL_CAUSE_IMBALANCE] = 3}}};
    stencil_report report = {.compute_s = 20, .drive_s = 25, .finish_s = 1, .steps = 10, .made = {1, 0, 10}};
    double row_s[STENCIL_TIME_ROWS], cause_s[STENCIL_CAUSES];
    const stencil_wall wall = {.wall_s = 40, .start_s = 5, .write_s = 2};
    assert_close(stencil_attribution_predict(&a, &report, &wall, cause_s), 200);
    stencil_attribution_divide(&a, &report, &wall, row_s);
    static const double wanted_s[STENCIL_TIME_ROWS] = {[STENCIL_TIME_START] = 5,
                                                       [STENCIL_TIME_CAUSES + STENCIL_CAUSE_LAUNCH] = 5 + 2,
                                                       [STENCIL_TIME_CAUSES + STENCIL_CAUSE_COMPUTE] = 2,
                                                       [STENCIL_TIME_CAUSES + STENCIL_CAUSE_LATENCY] = 3,
                                                       [STENCIL_TIME_CAUSES + STENCIL_CAUSE_IMBALANCE] = 3,
                                                       [STENCIL_TIME_SLOWER] = 10,
                                                       [STENCIL_TIME_FINISH] = 10};
    for (int row = 0; row < STENCIL_TIME_ROWS; row++)
        assert_close(row_s[row], wanted_s[row]);
    /* Others have made 7 steps in the first 10 s, and 4 more were needed to change to them. */
    const stencil_wall raced = {.wall_s = 54, .start_s = 5, .race_s = 10, .race_steps = 7, .write_s = 2};
    report.compute_s += 10;
    report.drive_s += 10;
    report.replan_s = 4;
    report.steps += 7;
    stencil_attribution_divide(&a, &report, &raced, row_s);
    for (int row = 0; row < STENCIL_TIME_ROWS; row++)
        assert_close(row_s[row], row == STENCIL_TIME_SEARCH ? 14 : wanted_s[row]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_slow_one_is_named),
        cmocka_unit_test(neighbours_alone_wait),
        cmocka_unit_test(shares_add_up_whatever_the_moments),
        cmocka_unit_test(moments_out_of_order_are_refused),
        cmocka_unit_test(waits_are_binned),
        cmocka_unit_test(weights_and_absence_count),
        cmocka_unit_test(groups_wait_for_each_other),
        cmocka_unit_test(samples_are_counted),
        cmocka_unit_test(notes_are_taken_off),
        cmocka_unit_test(pieces_within_a_pass_have_their_causes),
        cmocka_unit_test(launches_leave_no_gaps),
        cmocka_unit_test(an_account_adds_up),
        cmocka_unit_test(a_run_is_divided),
    };
    return cmocka_run_group_tests_name("timeline", tests, NULL, NULL);
}

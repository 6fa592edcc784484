/* The host's side of barriers, as far as it needs no GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sync/host.h"

/* Rings over three parts of 5, 4 and 3: every part gets its own participants' lists, numbered over all parts,
 * and knows which parts wait for each of them. */
static void shares_of_a_ring(void **state) {
    enum { PARTS = 3, ALL = 12 };
    static const uint32_t part_first[PARTS + 1] = {0, 5, 9, ALL};
    uint32_t first[ALL + 1], list[2 * ALL];
    (void)state;
    for (uint32_t i = 0; i <= ALL; i++)
        first[i] = 2 * i;
    for (uint32_t i = 0; i < ALL; i++) {
        list[2 * i] = (i + ALL - 1) % ALL;
        list[2 * i + 1] = (i + 1) % ALL;
    }
    for (int part = 0; part < PARTS; part++)
        for (int own_only = 0; own_only < 2; own_only++) {
            const uint32_t from = part_first[part], own = part_first[part + 1] - from;
            const uint32_t before = 1u << (part + PARTS - 1) % PARTS, behind = 1u << (part + 1) % PARTS;
            stencil_barrier_state s = {.part = (uint32_t)part};
            assert_int_equal(stencil_neighbors_share(&s, part_first, first, list, own_only == 1), STENCIL_OK);
            assert_int_equal(s.neighbor_most, 2);
            assert_int_equal(s.neighbor_first[own], own_only ? 2 * own - 2 : 2 * own);
            for (uint32_t i = 0; i < own; i++) {
                const uint32_t *mine = s.neighbor + s.neighbor_first[i];
                assert_int_equal(s.neighbor_first[i + 1] - s.neighbor_first[i],
                                 own_only && (i == 0 || i == own - 1) ? 1 : 2);
                assert_int_equal(s.announce[i], i == 0 ? before : i == own - 1 ? behind : 0);
                if (!own_only || i > 0)
                    assert_int_equal(mine[0], (from + i + ALL - 1) % ALL);
                if (!own_only || i < own - 1)
                    assert_int_equal(s.neighbor[s.neighbor_first[i + 1] - 1], (from + i + 1) % ALL);
            }
            free((void *)s.neighbor_first);
        }
}

static void memory_of_a_team(void **state) {
    stencil_barrier_state team;
    (void)state;
    assert_int_equal(stencil_team_create(&team, 3, UINT32_MAX - 1, 0.25), STENCIL_OK);
    for (size_t i = 0; i < stencil_barrier_word_count(3); i++)
        assert_int_equal(team.words[i], UINT32_MAX - 1);
    for (int i = 0; i < STENCIL_ALARM_WORDS; i++)
        assert_int_equal(team.alarm[i], 0);
    assert_int_equal(team.participants, 3);
    assert_int_equal(team.timeout_ns, 250000000);
    free(team.words);
}

/* Of several that give up, the one that waited in the earliest step counts. */
static void earliest_alarm(void **state) {
    static const int64_t step[] = {0, 1, 2, 9, INT64_C(1) << 31, INT64_C(1) << 43};
    static const uint32_t participant[] = {0, 1, 131, 99999};
    enum { STEPS = sizeof step / sizeof *step, PARTICIPANTS = sizeof participant / sizeof *participant };
    (void)state;
    for (int i = 0; i < STEPS; i++)
        for (int p = 0; p < PARTICIPANTS; p++) {
            const uint64_t alarm = stencil_alarm_of(participant[p], step[i]);
            assert_true((uint32_t)alarm != 0);
            assert_int_equal(stencil_alarm_step(alarm), step[i]);
            assert_int_equal(stencil_alarm_participant(alarm), participant[p]);
            for (int q = 0; q < PARTICIPANTS && i > 0; q++)
                assert_true(stencil_alarm_of(participant[q], step[i - 1]) > alarm);
        }
    assert_true(stencil_alarm_of(0, INT64_MAX) != 0); /* later than can be said */
    for (uint32_t n = 1; n < 300; n++)
        assert_int_equal(stencil_barrier_word_count(n) % 2, 0);
}

static void text_of_an_alarm(void **state) {
    (void)state;
    assert_int_equal(stencil_alarm_fail("central", "block 7 of part 1 on GPU 3", 12, 0.05), STENCIL_INTERNAL);
    assert_string_equal(stencil_error_last()->message,
                        "barrier central: in step 12 block 7 of part 1 on GPU 3 waited for more than 0.05 s "
                        "in vain; the run is given up");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shares_of_a_ring),
        cmocka_unit_test(memory_of_a_team),
        cmocka_unit_test(earliest_alarm),
        cmocka_unit_test(text_of_an_alarm),
    };
    return cmocka_run_group_tests_name("host side of barriers", tests, NULL, NULL);
}

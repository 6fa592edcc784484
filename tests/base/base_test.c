#include <inttypes.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/base.h"
#include "base/words.h"

static void exit_codes_follow_sysexits(void **state) {
    (void)state;
    static const struct {
        stencil_status status;
        int code;
    } expected[] = {{STENCIL_OK, 0},        {STENCIL_DIFFERENT, 1},    {STENCIL_USAGE, 64},
                    {STENCIL_BAD_DATA, 65}, {STENCIL_NO_INPUT, 66},    {STENCIL_UNAVAILABLE, 69},
                    {STENCIL_INTERNAL, 70}, {STENCIL_NO_MEMORY, 71},   {STENCIL_CANNOT_CREATE, 73},
                    {STENCIL_IO, 74},       {STENCIL_INTERRUPTED, 130}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++)
        assert_int_equal(stencil_status_exit_code(expected[i].status), expected[i].code);
}

static int failing_line;

static stencil_status check_positive(int value) {
    failing_line = __LINE__ + 1;
    CHECK(value > 0, BAD_DATA, "value is %d: give a positive one", value);
    return STENCIL_OK;
}

static stencil_status check_both(int a, int b, bool *reached) {
    TRY(check_positive(a));
    TRY(check_positive(b));
    *reached = true;
    FAIL(IO, "both are positive");
}

static void errors_are_recorded_where_they_are_seen(void **state) {
    (void)state;
    bool reached = false;
    assert_int_equal(check_positive(1), STENCIL_OK);
    assert_int_equal(check_both(1, -3, &reached), STENCIL_BAD_DATA);
    const stencil_error *error = stencil_error_last();
    assert_false(reached);
    assert_int_equal(error->status, STENCIL_BAD_DATA);
    assert_string_equal(error->message, "value is -3: give a positive one");
    assert_string_equal(error->expression, "value > 0");
    assert_string_equal(error->file, __FILE__);
    assert_int_equal(error->line, failing_line);
    assert_int_equal(check_both(1, 2, &reached), STENCIL_IO);
    assert_true(reached);
    assert_string_equal(stencil_error_last()->message, "both are positive");
}

static void long_messages_are_cut(void **state) {
    (void)state;
    char text[3000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    assert_int_equal(stencil_error_set(STENCIL_IO, "f", 1, "", "%s", text), STENCIL_IO);
    assert_int_equal(strlen(stencil_error_last()->message), sizeof stencil_error_last()->message - 1);
}

static void products_that_overflow_are_seen(void **state) {
    (void)state;
    int64_t product = -1;
    assert_true(stencil_multiply(0, INT64_MAX, &product));
    assert_int_equal(product, 0);
    assert_true(stencil_multiply(46349, 46349, &product));
    assert_int_equal(product, INT64_C(2148229801));
    assert_true(stencil_multiply(INT64_MAX, 1, &product));
    assert_int_equal(product, INT64_MAX);
    assert_true(stencil_multiply(INT64_C(1) << 31, (INT64_C(1) << 32) - 1, &product));
    assert_false(stencil_multiply(INT64_C(1) << 31, INT64_C(1) << 32, &product));
    assert_false(stencil_multiply(INT64_MAX, 2, &product));
    assert_false(stencil_multiply(INT64_C(3037000500), INT64_C(3037000500), &product));
}

static void bytes_are_written_for_people(void **state) {
    (void)state;
    static const struct {
        int64_t bytes;
        const char *text;
    } expected[] = {{0, "0 B"},
                    {1023, "1023 B"},
                    {1024, "1.00 KiB"},
                    {INT64_C(1610612736), "1.50 GiB"},
                    {INT64_C(1) << 40, "1.00 TiB"},
                    {INT64_MAX, "8.00 EiB"}};
    char text[32];
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        assert_ptr_equal(stencil_bytes_text(expected[i].bytes, text), text);
        assert_string_equal(text, expected[i].text);
    }
}

static void memory_is_aligned_and_zero(void **state) {
    (void)state;
    static const int64_t sizes[] = {0, 1, 4095, 4096, 4097, 1000003};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *memory = NULL;
        assert_int_equal(stencil_memory_alloc(&memory, sizes[i], "test"), STENCIL_OK);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % 4096, 0);
        for (int64_t at = 0; at < sizes[i]; at++)
            assert_int_equal(((const char *)memory)[at], 0);
        free(memory);
    }
}

/* Whether the kernel has been asked for huge pages at an address: "hg" among the flags of its mapping. */
static bool is_huge(const void *memory) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    assert_non_null(maps);
    bool here = false, huge = false;
    char line[512];
    while (fgets(line, sizeof line, maps) != NULL) {
        uintptr_t first, end;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &first, &end) == 2)
            here = first <= (uintptr_t)memory && (uintptr_t)memory < end;
        else if (here && strncmp(line, "VmFlags:", 8) == 0)
            huge = strstr(line, " hg") != NULL;
    }
    fclose(maps);
    return huge;
}

static void large_memory_asks_for_huge_pages(void **state) {
    (void)state;
    void *large = NULL, *small = NULL;
    if (access("/sys/kernel/mm/transparent_hugepage", F_OK) != 0)
        skip();
    assert_int_equal(stencil_memory_alloc(&large, 5000000, "test"), STENCIL_OK);
    assert_int_equal(stencil_memory_alloc(&small, 1000000, "test"), STENCIL_OK);
    assert_int_equal((uintptr_t)large % (2 << 20), 0);
    assert_true(is_huge(large));
    assert_false(is_huge(small));
    for (int64_t at = 0; at < 5000000; at++)
        assert_int_equal(((const char *)large)[at], 0);
    free(large);
    free(small);
}

static void too_much_memory_is_refused_with_need_and_have(void **state) {
    (void)state;
    static const int64_t sizes[] = {INT64_C(1) << 60, INT64_MAX - 1, INT64_MAX};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        void *memory = &memory;
        char need[32];
        assert_int_equal(stencil_memory_alloc(&memory, sizes[i], "the field u"), STENCIL_NO_MEMORY);
        assert_null(memory);
        const char *message = stencil_error_last()->message;
        assert_non_null(strstr(message, "the field u"));
        assert_non_null(strstr(message, stencil_bytes_text(sizes[i], need)));
        assert_non_null(strstr(message, "available"));
    }
    void *memory = &memory;
    assert_int_not_equal(stencil_memory_alloc(&memory, -1, "test"), STENCIL_OK);
    assert_null(memory);
}

/* Without room in the address space nothing is tried; where the allocation itself fails (the limit of data is
 * not asked for), the message has been written before it is used. */
static void limits_of_the_process_count(void **state) {
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip(); /* its shadow takes terabytes of address space */
#else
    struct rlimit space, data;
    assert_int_equal(getrlimit(RLIMIT_AS, &space), 0);
    assert_int_equal(getrlimit(RLIMIT_DATA, &data), 0);
    if (space.rlim_cur == RLIM_INFINITY)
        assert_true(stencil_memory_address_space_left_bytes() == INT64_MAX);
    struct rlimit tight = {(rlim_t)1 << 30, space.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_AS, &tight), 0);
    void *memory = NULL;
    const int64_t left = stencil_memory_address_space_left_bytes();
    const int64_t available = stencil_memory_available_bytes();
    const stencil_status without_space = stencil_memory_alloc(&memory, INT64_C(1) << 30, "the field u");
    assert_int_equal(setrlimit(RLIMIT_AS, &space), 0);
    assert_true(left > 0 && left < INT64_C(1) << 30);
    assert_true(available <= left);
    assert_int_equal(without_space, STENCIL_NO_MEMORY);
    assert_null(memory);
    assert_non_null(strstr(stencil_error_last()->message, "the field u needs 1.00 GiB of host memory, "));
    tight = (struct rlimit){(rlim_t)1 << 24, data.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_DATA, &tight), 0);
    const stencil_status without_data = stencil_memory_alloc(&memory, 96 << 20, "the field u");
    assert_int_equal(setrlimit(RLIMIT_DATA, &data), 0);
    assert_int_equal(without_data, STENCIL_NO_MEMORY);
    assert_null(memory);
    assert_non_null(strstr(stencil_error_last()->message, "the field u needs 96.00 MiB of host memory, "));
    assert_non_null(strstr(stencil_error_last()->message, "iB available"));
#endif
}

static char folder[64];

static void put(const char *name, const char *text) {
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int64_t group_left(const char *membership) {
    char path[256];
    put("membership", membership);
    snprintf(path, sizeof path, "%s/membership", folder);
    return stencil_memory_group_left_bytes(path, folder);
}

static void control_groups_count_up_to_the_root(void **state) {
    (void)state;
    static const char *const folders[] = {"", "/a", "/a/b", "/memory", "/memory/c"};
    static const char *const files[] = {"a/b/memory.max",
                                        "a/b/memory.current",
                                        "a/b/memory.stat",
                                        "a/memory.max",
                                        "a/memory.current",
                                        "memory/c/memory.limit_in_bytes",
                                        "memory/c/memory.usage_in_bytes",
                                        "memory/c/memory.stat",
                                        "membership"};
    char path[256];
    strcpy(folder, "/tmp/stencil-base-XXXXXX");
    assert_non_null(mkdtemp(folder));
    for (size_t i = 1; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s%s", folder, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    put("a/b/memory.max", "1000000\n");
    put("a/b/memory.current", "700000\n");
    put("a/b/memory.stat", "anon 5\ninactive_anon 9\ninactive_file 200000\n");
    put("a/memory.max", "max\n");
    put("a/memory.current", "900000\n");
    put("memory/c/memory.limit_in_bytes", "5000\n");
    put("memory/c/memory.usage_in_bytes", "4000\n");
    put("memory/c/memory.stat", "inactive_file 1\ntotal_inactive_file 500\n");
    assert_true(group_left("") == INT64_MAX);
    assert_true(group_left("0::/a/b\n") == 500000);
    assert_true(group_left("0::/a\n") == INT64_MAX);
    assert_true(group_left("0::/a/b/gone\n") == 500000);
    assert_true(group_left("7:cpu,memory:/c\n0::/\n") == 1500);
    assert_true(group_left("7:cpu,memory:/c\n0::/a/b\n") == 1500);
    assert_true(group_left("7:memory_other:/c\n") == INT64_MAX);
    put("a/memory.max", "900001\n");
    assert_true(group_left("0::/a/b\n") == 1);
    put("a/b/memory.max", "10\n");
    assert_true(group_left("0::/a/b\n") == 0);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        assert_int_equal(unlink(path), 0);
    }
    for (size_t i = sizeof folders / sizeof *folders; i-- > 0;) {
        snprintf(path, sizeof path, "%s%s", folder, folders[i]);
        assert_int_equal(rmdir(path), 0);
    }
}

static int64_t quota(const char *membership) {
    char path[256];
    put("membership", membership);
    snprintf(path, sizeof path, "%s/membership", folder);
    return stencil_processors_group_quota(path, folder);
}

static void quotas_count_up_to_the_root(void **state) {
    (void)state;
    static const char *const folders[] = {"", "/a", "/a/b", "/cpu", "/cpu/c", "/unified", "/unified/d"};
    static const char *const files[] = {"a/b/cpu.max",
                                        "a/cpu.max",
                                        "cpu/cpu.cfs_quota_us",
                                        "cpu/cpu.cfs_period_us",
                                        "cpu/c/cpu.cfs_quota_us",
                                        "cpu/c/cpu.cfs_period_us",
                                        "unified/d/cpu.max",
                                        "membership"};
    char path[256];
    strcpy(folder, "/tmp/stencil-base-XXXXXX");
    assert_non_null(mkdtemp(folder));
    for (size_t i = 1; i < sizeof folders / sizeof *folders; i++) {
        snprintf(path, sizeof path, "%s%s", folder, folders[i]);
        assert_int_equal(mkdir(path, 0700), 0);
    }
    put("a/b/cpu.max", "max 100000\n");
    put("a/cpu.max", "150000 100000\n");
    put("cpu/cpu.cfs_quota_us", "-1\n");
    put("cpu/cpu.cfs_period_us", "100000\n");
    put("cpu/c/cpu.cfs_quota_us", "20001\n");
    put("cpu/c/cpu.cfs_period_us", "50000\n");
    put("unified/d/cpu.max", "800000 100000\n");
    assert_true(quota("") == INT64_MAX);
    assert_true(quota("0::/\n") == INT64_MAX);
    assert_true(quota("0::/a\n") == 1500);
    assert_true(quota("0::/a/b\n") == 1500);
    assert_true(quota("0::/d\n") == 8000);
    assert_true(quota("3:cpu:/\n") == INT64_MAX);
    assert_true(quota("3:cpu,cpuacct:/c\n") == 401);
    assert_true(quota("3:cpu:/c\n0::/a\n") == 401);
    assert_true(quota("3:cpuset:/c\n") == INT64_MAX);
    put("a/b/cpu.max", "200000 200000\n");
    assert_true(quota("0::/a/b\n") == 1000);
    put("a/b/cpu.max", "0 0\n");
    assert_true(quota("0::/a/b\n") == 1500);
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, files[i]);
        assert_int_equal(unlink(path), 0);
    }
    for (size_t i = sizeof folders / sizeof *folders; i-- > 0;) {
        snprintf(path, sizeof path, "%s%s", folder, folders[i]);
        assert_int_equal(rmdir(path), 0);
    }
    const stencil_processor_limits limits = stencil_processors_limits();
    assert_true(limits.online >= limits.allowed && limits.allowed >= stencil_processors());
    assert_true(stencil_processors() >= 1 && limits.quota_thousandths > 0);
}

static void the_clock_runs_forward(void **state) {
    (void)state;
    const double begin = stencil_clock_s();
    double end = begin;
    for (int i = 0; i < 100000000 && end == begin; i++)
        end = stencil_clock_s();
    assert_true(end > begin && end - begin < 60.0);
    assert_true(stencil_memory_available_bytes() > 0);
}

static void precisions_have_names_and_sizes(void **state) {
    (void)state;
    assert_int_equal(stencil_precision_bytes(STENCIL_FLOAT32), 4);
    assert_int_equal(stencil_precision_bytes(STENCIL_FLOAT64), 8);
    assert_string_equal(stencil_precision_name(STENCIL_FLOAT32), "float32");
    assert_string_equal(stencil_precision_name(STENCIL_FLOAT64), "float64");
}

static void numbers_are_short_and_read_back(void **state) {
    static const struct {
        double value;
        const char *text;
    } row[] = {
        {7e-05, "7e-05"},  {0.1, "0.1"}, {0.1 + 0.2, "0.30000000000000004"}, {1.0 / 3, "0.3333333333333333"},
        {1e300, "1e+300"}, {-0.0, "-0"}, {5e-324, "4.94065645841247e-324"},  {123456789, "123456789"},
        {INFINITY, "inf"}};
    (void)state;
    char text[STENCIL_NUMBER_CHARS];
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        assert_string_equal(stencil_number_text(row[i].value, text), row[i].text);
    for (double value = 1e-9; value < 1e9; value *= 1.37)
        assert_true(strtod(stencil_number_text(value, text), NULL) == value);
}

static void notes_have_a_weight(void **state) {
    (void)state;
    stencil_notes notes = {0}, all = {0};
    stencil_notes_add(&notes, "no %s", "GPU");
    stencil_notes_warn(&notes, "%d names", 2);
    stencil_notes_add(&notes, "2 names"); /* it is there, and keeps its weight */
    assert_int_equal(notes.count, 2);
    assert_false(notes.warns[0]);
    assert_true(notes.warns[1]);
    stencil_notes_take(&all, &notes);
    stencil_notes_take(&all, &notes);
    assert_int_equal(all.count, 2);
    assert_string_equal(all.line[1], "2 names");
    assert_true(all.warns[1] && !all.warns[0]);
    stencil_notes_warn(&all, "no GPU"); /* the greater weight counts */
    assert_int_equal(all.count, 2);
    assert_true(all.warns[0]);
    for (int i = 0; i < STENCIL_NOTES_MAX; i++)
        stencil_notes_add(&notes, "%d", i);
    assert_int_equal(notes.count, STENCIL_NOTES_MAX);
    assert_string_equal(notes.line[STENCIL_NOTES_MAX - 1], "and more of the kind");
    assert_false(notes.warns[STENCIL_NOTES_MAX - 1]);
    stencil_notes_warn(&notes, "one that has no place");
    assert_true(notes.warns[STENCIL_NOTES_MAX - 1]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(exit_codes_follow_sysexits),
        cmocka_unit_test(errors_are_recorded_where_they_are_seen),
        cmocka_unit_test(long_messages_are_cut),
        cmocka_unit_test(products_that_overflow_are_seen),
        cmocka_unit_test(bytes_are_written_for_people),
        cmocka_unit_test(memory_is_aligned_and_zero),
        cmocka_unit_test(large_memory_asks_for_huge_pages),
        cmocka_unit_test(too_much_memory_is_refused_with_need_and_have),
        cmocka_unit_test(limits_of_the_process_count),
        cmocka_unit_test(control_groups_count_up_to_the_root),
        cmocka_unit_test(quotas_count_up_to_the_root),
        cmocka_unit_test(the_clock_runs_forward),
        cmocka_unit_test(precisions_have_names_and_sizes),
        cmocka_unit_test(numbers_are_short_and_read_back),
        cmocka_unit_test(notes_have_a_weight),
    };
    return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}

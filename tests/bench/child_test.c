/* Tests of child processes that answer, fail, crash, hang or are none. Commands in place of the child crash;
 * this program is itself a child that answers. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "bench/benchmark.h"
#include "options.h"

static stencil_bench_options options_of(const char *const *command) {
    stencil_bench_options options;
    options_init(&options);
    options.backend = STENCIL_BACKEND_CPU;
    options.child_command = command;
    return options;
}

static int index_of(const char *name) {
    return stencil_name_find(name, stencil_bench_names);
}

static const char *const self[] = {"/proc/self/exe", "--child", NULL};

static stencil_machine cpu_machine(void) {
    return (stencil_machine){
        .no_gpu_reason = "none in this test", .cpu_threads = 2, .cpu_isa = "any", .cpu_cache_bytes = 1};
}

/* Runs a command in place of a child process, which answers or not. */
static stencil_status ask(const char *const *command, const char *name, double timeout_s, bool *timed_out) {
    const stencil_bench_options options = options_of(command);
    const stencil_machine machine = cpu_machine();
    const stencil_bench b = {.options = &options, .machine = &machine};
    stencil_bench_result result = {0};
    const stencil_status status = stencil_bench_in_child(&b, name, 1000, timeout_s, &result, timed_out);
    stencil_bench_result_destroy(&result);
    return status;
}

static void expect_message(const char *text) {
    if (strstr(stencil_error_last()->message, text) == NULL)
        fail_msg("'%s' is not in '%s'", text, stencil_error_last()->message);
}

static void crash(void **state) {
    (void)state;
    bool timed_out;
    const char *const by_signal[] = {"/bin/sh", "-c", "kill -SEGV $$", NULL};
    assert_int_equal(ask(by_signal, "grid", 30, &timed_out), STENCIL_INTERNAL);
    assert_false(timed_out);
    expect_message("grid: its child process was ended by signal 11");
    const char *const by_exit[] = {"/bin/sh", "-c", "exit 3", NULL};
    assert_int_equal(ask(by_exit, "grid", 30, &timed_out), STENCIL_INTERNAL);
    expect_message("grid: its child process ended with exit code 3");
    const char *const half[] = {"/bin/sh", "-c", "echo half an answer >&3", NULL};
    assert_int_equal(ask(half, "grid", 30, &timed_out), STENCIL_INTERNAL);
    expect_message("no answer");
}

static void hang(void **state) {
    (void)state;
    bool timed_out;
    const char *const sleeps[] = {"/bin/sh", "-c", "exec sleep 100", NULL};
    const double start_s = stencil_clock_s();
    assert_int_equal(ask(sleeps, "grid", 0.2, &timed_out), STENCIL_OK);
    assert_true(timed_out);
    const double took_s = stencil_clock_s() - start_s;
    assert_true(took_s >= 0.2 && took_s < 20);
}

static void no_child(void **state) {
    (void)state;
    bool timed_out;
    const char *const missing[] = {"/no/such/program", NULL};
    assert_int_equal(ask(missing, "grid", 30, &timed_out), STENCIL_INTERNAL);
    expect_message("/no/such/program");
    assert_int_equal(ask(NULL, "grid", 30, &timed_out), STENCIL_UNAVAILABLE);
    /* No parent process sends a request to this process. */
    const stencil_bench_options options = options_of(self);
    assert_int_equal(stencil_bench_child_main("grid", &options), STENCIL_USAGE);
}

static void no_such_question(void **state) {
    (void)state;
    bool timed_out;
    assert_int_equal(ask(self, "copy", 30, &timed_out), STENCIL_USAGE);
    expect_message("copy states nothing");
    assert_int_equal(ask(self, "nothing", 30, &timed_out), STENCIL_USAGE);
    assert_int_equal(ask(self, "partial", 30, &timed_out), STENCIL_USAGE);
    expect_message("partial has no row 1000 to state");
}

/* Arguments that give a child process its samples, iterations and whether a fault is planted. */
static const char *const few[] = {"5", "100", NULL}, *const few_with_fault[] = {"5", "100", "fault", NULL};

static stencil_bench_options options_told(int argc, char **argv) {
    stencil_bench_options options = options_of(self);
    options.samples = argc > 0 ? strtoll(argv[0], NULL, 10) : 0;
    options.iterations = argc > 1 ? strtoll(argv[1], NULL, 10) : 0;
    options.inject_fault = argc > 2;
    return options;
}

/* A whole benchmark gives the same rows in a child process as here. */
static void whole(void **state) {
    (void)state;
    const stencil_machine machine = cpu_machine();
    stencil_bench_options options = options_of(self);
    stencil_bench_result result = {0};
    options.child_arguments = few;
    assert_int_equal(stencil_bench_run_in_child(index_of("grid"), &options, &machine, &result), STENCIL_OK);
    assert_string_equal(result.benchmark, "grid");
    assert_string_equal(result.device, "2 threads, any");
    assert_int_equal(result.row_count, STENCIL_BARRIER_COUNT - 1);
    for (int i = 0; i < result.row_count; i++) {
        assert_int_equal(result.row[i].sample_count, 5);
        assert_int_equal(result.row[i].iterations, 100);
        assert_true(result.row[i].statistics.median > 0);
    }
    stencil_bench_result_destroy(&result);
}

/* A child process finds the planted fault, too; its measurements come with the failure. */
static void whole_with_fault(void **state) {
    (void)state;
    const stencil_machine machine = cpu_machine();
    stencil_bench_options options = options_of(self);
    stencil_bench_result result = {0};
    options.child_arguments = few_with_fault;
    assert_int_equal(stencil_bench_run_in_child(index_of("grid"), &options, &machine, &result),
                     STENCIL_INTERNAL);
    expect_message("barrier planted fault does not hold");
    assert_int_equal(result.row_count, STENCIL_BARRIER_COUNT);
    stencil_bench_result_destroy(&result);
}

static volatile sig_atomic_t told = 0;

static void tell(int number) {
    told = number;
}

static bool is_not_told(void) {
    return told == 0;
}

static double until_s;

static bool is_before(void) {
    return stencil_clock_s() < until_s;
}

/* A child process that is interrupted answers with the samples taken so far. */
static void interrupted(void **state) {
    (void)state;
    const stencil_machine machine = cpu_machine();
    stencil_bench_options options = options_of(self);
    const char *const many[] = {"100000000", "100", NULL};
    stencil_bench_result result = {0};
    int64_t samples = 0;
    options.child_arguments = many;
    options.go_on = is_before;
    until_s = stencil_clock_s() + 2;
    assert_int_equal(stencil_bench_run_in_child(index_of("grid"), &options, &machine, &result),
                     STENCIL_INTERRUPTED);
    expect_message("grid is interrupted");
    assert_int_equal(result.row_count, STENCIL_BARRIER_COUNT - 1);
    for (int i = 0; i < result.row_count; i++) {
        samples += result.row[i].sample_count;
        if (result.row[i].sample_count > 0)
            assert_true(result.row[i].statistics.median > 0);
        else
            assert_string_equal(result.row[i].skipped, "interrupted");
    }
    assert_true(samples > 0);
    stencil_bench_result_destroy(&result);
    /* A child that is interrupted before it listens ends without an answer. */
    assert_int_equal(stencil_bench_run_in_child(index_of("grid"), &options, &machine, &result),
                     STENCIL_INTERRUPTED);
    stencil_bench_result_destroy(&result);
    /* No benchmark begins after the interruption. */
    assert_int_equal(stencil_bench_run(index_of("grid"), &options, &machine, &result), STENCIL_INTERRUPTED);
    assert_string_equal(result.skipped, "interrupted");
    stencil_bench_result_destroy(&result);
}

/* The end of a process after an interruption is no outcome. */
static void interrupted_statement(void **state) {
    (void)state;
    const stencil_machine machine = cpu_machine();
    stencil_bench_options options = options_of(self);
    stencil_bench_result result = {0};
    options.go_on = is_before;
    until_s = stencil_clock_s() + 1;
    assert_int_equal(stencil_bench_run(index_of("partial"), &options, &machine, &result),
                     STENCIL_INTERRUPTED);
    assert_int_equal(result.row_count, 2 * STENCIL_BARRIER_COUNT);
    assert_string_equal(result.row[result.row_count - 1].outcome, "");
    assert_string_equal(result.row[result.row_count - 1].skipped, "interrupted");
    stencil_bench_result_destroy(&result);
}

static void partial_team(void **state) {
    (void)state;
    const stencil_machine machine = cpu_machine();
    const stencil_bench_options options = options_of(self);
    stencil_bench_result result = {0};
    assert_int_equal(stencil_bench_run(index_of("partial"), &options, &machine, &result), STENCIL_OK);
    assert_int_equal(result.row_count, 2 * STENCIL_BARRIER_COUNT);
    for (int i = 0; i < result.row_count; i++) {
        int64_t absent = -1;
        assert_true(stencil_bench_axis(&result.row[i], "absent", &absent));
        if (absent == 0)
            assert_string_equal(result.row[i].outcome, "completes");
        else if (i < 2) /* undefined behaviour, which must not reach this process */
            assert_string_not_equal(result.row[i].outcome, "");
        else
            assert_string_equal(result.row[i].outcome, "waits in vain, given up after its time limit");
    }
    stencil_bench_result_destroy(&result);
}

int main(int argc, char **argv) {
    stencil_bench_options options = options_told(argc - 3, argv + 3);
    options.go_on = is_not_told;
    options.timeout_s = INFINITY;
    signal(SIGTERM, tell);
    if (argc >= 3 && strcmp(argv[1], "--child") == 0)
        return stencil_status_exit_code(stencil_bench_child_main(argv[2], &options));
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crash),
        cmocka_unit_test(hang),
        cmocka_unit_test(no_child),
        cmocka_unit_test(no_such_question),
        cmocka_unit_test(whole),
        cmocka_unit_test(whole_with_fault),
        cmocka_unit_test(partial_team),
        cmocka_unit_test(interrupted),
        cmocka_unit_test(interrupted_statement),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

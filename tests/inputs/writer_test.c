#define _DEFAULT_SOURCE /* realpath, chroot */

#include "files.h"

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "inputs/inputs.h"

static const hsize_t size[2] = {33, 40};

/* A loaded problem from a file with a source, and a report of a run that never was. */
typedef struct result {
    stencil_input input;
    stencil_problem problem;
    stencil_field u, b;
    stencil_report report;
    stencil_output output;
} result;

static void make_input(const char *name) {
    double f[33 * 40];
    for (int k = 0; k < 33 * 40; k++)
        f[k] = 0.25 * k;
    const hid_t file = files_create(name, 2, size);
    files_dataset(file, "f", 2, size, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, f);
    files_text(file, "problem", "poisson");
    const double omega = 0.75;
    files_attribute(file, "omega", 0, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &omega);
    H5Fclose(file);
}

static void make_result(result *r, const char *input_name, const char *output) {
    stencil_spec spec;
    make_input(input_name);
    memset(r, 0, sizeof *r);
    files_expect(stencil_input_open(&r->input, input_name, NULL, &spec), STENCIL_OK, "");
    spec.atol = 1e-8;
    files_expect(stencil_problem_resolve(&r->problem, &spec), STENCIL_OK, "");
    files_expect(files_load(&r->input, &r->problem, false, &r->u, &r->b), STENCIL_OK, "");
    r->report.reason = STENCIL_REASON_CONVERGED_ATOL;
    r->report.steps = 200;
    strcpy(r->report.strategy, "relaunch");
    strcpy(r->report.backend, "cpu");
    strcpy(r->report.device, "2 threads");
    r->report.compute_s = 1.5;
    files_expect(stencil_history_add(&r->report.history, 100, 0.5), STENCIL_OK, "");
    files_expect(stencil_history_add(&r->report.history, 200, 1e-9), STENCIL_OK, "");
    r->output = (stencil_output){.path = output,
                                 .input_path = input_name,
                                 .input = &r->input,
                                 .command_line = "stencil \xc3\xbc.h5",
                                 .started_s = 86400};
}

static stencil_status write_to(result *r) {
    stencil_fields fields = {.u = &r->u, .b = &r->b};
    const stencil_reader from = {stencil_fields_read, &fields};
    return stencil_output_write(&r->output, &r->problem, &from, &r->report);
}

static stencil_status write_result(result *r) {
    stencil_status status = stencil_output_open(&r->output, &r->problem);
    if (status == STENCIL_OK)
        status = write_to(r);
    stencil_sink_close(&r->output.sink);
    return status;
}

static void destroy_result(result *r) {
    stencil_problem_destroy(&r->problem);
    stencil_field_destroy(&r->u);
    stencil_field_destroy(&r->b);
    stencil_report_destroy(&r->report);
    stencil_input_close(&r->input);
}

static void read_all(hid_t file, const char *name, hid_t type, void *values) {
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    assert_true(dataset >= 0);
    assert_true(H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
}

static void expect_text(hid_t group, const char *name, const char *wanted) {
    const hid_t attribute = H5Aopen(group, name, H5P_DEFAULT);
    assert_true(attribute >= 0);
    const hid_t type = H5Aget_type(attribute);
    char *text = NULL;
    assert_true(H5Aread(attribute, type, &text) >= 0);
    assert_string_equal(text, wanted);
    H5free_memory(text);
    H5Tclose(type);
    H5Aclose(attribute);
}

static void output_holds_the_result(void **state) {
    (void)state;
    result r;
    make_result(&r, "in.h5", "out.h5");
    const int before = files_count();
    files_expect(write_result(&r), STENCIL_OK, "");
    assert_int_equal(files_count(), before + 1);

    double u[33 * 40], residual[2];
    int64_t step[2], steps_done = 0;
    const hid_t file = H5Fopen("out.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    assert_true(file >= 0);
    read_all(file, "u", H5T_NATIVE_DOUBLE, u);
    read_all(file, "residual", H5T_NATIVE_DOUBLE, residual);
    read_all(file, "residual_step", H5T_NATIVE_INT64, step);
    for (int k = 0; k < 33 * 40; k++)
        assert_true(u[k] == k);
    read_all(file, "f", H5T_NATIVE_DOUBLE, u);
    for (int k = 0; k < 33 * 40; k++)
        assert_true(u[k] == 0.25 * k);
    assert_true(residual[0] == 0.5 && residual[1] == 1e-9 && step[0] == 100 && step[1] == 200);
    const hid_t group = H5Gopen2(file, "provenance", H5P_DEFAULT);
    assert_true(group >= 0);
    expect_text(group, "version", STENCIL_VERSION);
    expect_text(group, "command_line", "stencil \xc3\xbc.h5");
    expect_text(group, "reason", "converged_atol");
    expect_text(group, "strategy", "relaunch");
    expect_text(group, "started", "1970-01-02T00:00:00Z");
    char *absolute = realpath("in.h5", NULL);
    expect_text(group, "input", absolute);
    free(absolute);
    const hid_t attribute = H5Aopen(group, "steps_done", H5P_DEFAULT);
    assert_true(H5Aread(attribute, H5T_NATIVE_INT64, &steps_done) >= 0);
    assert_int_equal(steps_done, 200);
    H5Aclose(attribute);
    H5Gclose(group);
    H5Fclose(file);
    destroy_result(&r);
}

static void output_is_an_input(void **state) {
    (void)state;
    result r;
    stencil_input input;
    stencil_spec spec;
    make_result(&r, "in.h5", "again.h5");
    r.report.history.count = 0;
    files_expect(write_result(&r), STENCIL_OK, "");
    files_expect(stencil_input_open(&input, "again.h5", NULL, &spec), STENCIL_OK, "");
    stencil_problem again;
    stencil_field u, b;
    files_expect(stencil_problem_resolve(&again, &spec), STENCIL_OK, "");
    files_expect(files_load(&input, &again, false, &u, &b), STENCIL_OK, "");
    stencil_input_close(&input);
    assert_int_equal(spec.kind, STENCIL_KIND_POISSON);
    assert_true(spec.omega == 0.75 && spec.atol == 1e-8);
    assert_int_equal(spec.source, STENCIL_SOURCE_F);
    assert_memory_equal(again.weight, r.problem.weight, sizeof again.weight);
    const size_t bytes = (size_t)stencil_layout_bytes(&again.layout);
    assert_memory_equal(u.data, r.u.data, bytes);
    assert_memory_equal(b.data, r.b.data, bytes);
    stencil_field_destroy(&u);
    stencil_field_destroy(&b);
    destroy_result(&r);
}

/* Points of one's own come back, in float32 and with all per-axis lists. */
static void points_survive(void **state) {
    (void)state;
    const hsize_t extent[3] = {6, 7, 8};
    H5Fclose(files_create("in.h5", 3, extent));
    stencil_input input;
    stencil_spec spec, back;
    stencil_problem problem;
    files_expect(stencil_input_open(&input, "in.h5", NULL, &spec), STENCIL_OK, "");
    spec.precision = STENCIL_FLOAT32;
    spec.offset_count = spec.weight_count = 3;
    spec.offset[0][2] = 1;
    spec.offset[1][0] = -2;
    for (int k = 0; k < 3; k++)
        spec.weight[k] = 0.1 * (k + 1);
    spec.boundary_count = spec.spacing_count = 3;
    for (int i = 0; i < 3; i++) {
        spec.boundary[i] = (stencil_boundary)i;
        spec.spacing[i] = 1 + i;
    }
    spec.steps = 12;
    spec.check_every = 5;
    spec.norm = STENCIL_NORM_MAX;
    files_expect(stencil_problem_resolve(&problem, &spec), STENCIL_OK, "");
    stencil_field u, b;
    files_expect(files_load(&input, &problem, false, &u, &b), STENCIL_OK, "");
    result r = {.input = input,
                .problem = problem,
                .u = u,
                .b = b,
                .report.reason = STENCIL_REASON_STEPS,
                .output = {.path = "points.h5", .input_path = "in.h5", .input = &input}};
    files_expect(write_result(&r), STENCIL_OK, "");
    stencil_input_close(&input);
    stencil_field_destroy(&u);
    files_expect(stencil_input_open(&input, "points.h5", NULL, &back), STENCIL_OK, "");
    stencil_input_close(&input);
    assert_int_equal(back.precision, STENCIL_FLOAT32);
    assert_int_equal(back.offset_count, 3);
    assert_memory_equal(back.offset, spec.offset, sizeof spec.offset);
    assert_memory_equal(back.weight, spec.weight, sizeof spec.weight);
    assert_memory_equal(back.boundary, spec.boundary, sizeof spec.boundary);
    assert_memory_equal(back.spacing, spec.spacing, sizeof spec.spacing);
    assert_int_equal(back.steps, 12);
    assert_int_equal(back.check_every, 5);
    assert_int_equal(back.norm, STENCIL_NORM_MAX);
}

static void expect_no_output(result *r, const char *path, bool force, const char *part) {
    const int before = files_count();
    r->output.path = path;
    r->output.force = force;
    files_expect(stencil_output_open(&r->output, &r->problem), STENCIL_CANNOT_CREATE, part);
    stencil_sink_close(&r->output.sink);
    assert_int_equal(files_count(), before);
}

/* Whatever leads to the input's name: a result there has no input any more. */
static void results_replace_their_input(void **state) {
    (void)state;
    result r;
    make_result(&r, "in.h5", "");
    assert_int_equal(symlink("in.h5", "alias.h5"), 0);
    assert_int_equal(link("in.h5", "hard.h5"), 0);
    assert_int_equal(mkdir("d", 0700), 0);
    static const struct {
        const char *input, *output;
        bool replaces;
    } cases[] = {{"in.h5", "in.h5", true},        {"./in.h5", "in.h5", true},   {"in.h5", "d/../in.h5", true},
                 {"alias.h5", "in.h5", true},     {"in.h5", "alias.h5", false}, {"in.h5", "hard.h5", false},
                 {"alias.h5", "alias.h5", false}, {"in.h5", "d/in.h5", false},  {"in.h5", "no/in.h5", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        r.output.input_path = cases[i].input;
        r.output.path = cases[i].output;
        assert_int_equal(stencil_output_replaces_input(&r.output), cases[i].replaces);
    }
    r.output.input_path = NULL;
    assert_false(stencil_output_replaces_input(&r.output));
    assert_int_equal(unlink("alias.h5") + unlink("hard.h5") + rmdir("d"), 0);
    destroy_result(&r);
}

static void outputs_that_cannot_be(void **state) {
    (void)state;
    result r;
    make_result(&r, "in.h5", "");
    H5Fclose(files_create("old.h5", 2, size));
    expect_no_output(&r, "old.h5", false, "--force");
    expect_no_output(&r, "in.h5", false, "is the input file: use --force");
    expect_no_output(&r, "./in.h5", false, "is the input");
    assert_int_equal(symlink("in.h5", "alias.h5"), 0);
    expect_no_output(&r, "alias.h5", false, "is the input");
    stencil_sink plain;
    files_expect(stencil_sink_open(&plain, "in.h5", true, "in.h5", STENCIL_SINK_PLAIN), STENCIL_CANNOT_CREATE,
                 "is the input file: choose");
    stencil_sink_close(&plain);
    expect_no_output(&r, "nowhere/out.h5", false, "No such file");
    expect_no_output(&r, "old.h5/out.h5", false, "Not a directory");
    expect_no_output(&r, ".", true, "directory");
    expect_no_output(&r, "./", true, "names no file");
    expect_no_output(&r, "", true, "names no file");
    expect_no_output(&r, "/dev/null", true, "not a regular file");
    assert_int_equal(symlink("nothing", "dangling.h5"), 0);
    expect_no_output(&r, "dangling.h5", false, "link to nothing");
    char name[301] = {0};
    memset(name, 'a', 300);
    expect_no_output(&r, name, false, "too long");
    expect_no_output(&r, "/proc/out.h5", false, "/proc");
    destroy_result(&r);
}

static void force_replaces(void **state) {
    (void)state;
    result r;
    make_result(&r, "in.h5", "old.h5");
    const hsize_t small[2] = {2, 2};
    H5Fclose(files_create("old.h5", 2, small));
    const int before = files_count();
    files_expect(write_result(&r), STENCIL_CANNOT_CREATE, "--force");
    r.output.force = true;
    files_expect(write_result(&r), STENCIL_OK, "");
    assert_int_equal(files_count(), before);
    stencil_input input;
    stencil_spec spec;
    files_expect(stencil_input_open(&input, "old.h5", NULL, &spec), STENCIL_OK, "");
    stencil_input_close(&input);
    assert_int_equal(spec.extent[1], 40);
    destroy_result(&r);
}

/* RLIMIT_FSIZE stands for the disk that is full. */
static struct rlimit limit_files(rlim_t most) {
    struct rlimit old;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    const struct rlimit tight = {most, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    return old;
}

/* The file system refuses to go on at every possible place: the message says so, nothing is left, an existing
 * file is untouched, and HDF5 is still good for the next file. */
static void full_disks_leave_nothing(void **state) {
    (void)state;
    result r;
    struct stat whole, kept;
    make_result(&r, "in.h5", "whole.h5");
    files_expect(write_result(&r), STENCIL_OK, "");
    assert_int_equal(stat("whole.h5", &whole), 0);
    r.output.force = true;
    const int before = files_count();
    int failures = 0;
    for (off_t limit = 0; limit < whole.st_size; limit += limit < 4096 ? 256 : 1499) {
        files_expect(stencil_output_open(&r.output, &r.problem), STENCIL_OK, "");
        const struct rlimit old = limit_files((rlim_t)limit);
        const stencil_status status = write_to(&r);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
        files_expect(status, STENCIL_IO, "'whole.h5': File too large");
        stencil_sink_close(&r.output.sink);
        assert_int_equal(files_count(), before);
        failures++;
    }
    assert_true(failures > 20);
    assert_int_equal(stat("whole.h5", &kept), 0);
    assert_int_equal(kept.st_ino, whole.st_ino);
    files_expect(write_result(&r), STENCIL_OK, "");
    destroy_result(&r);
    assert_int_equal(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0);
}

static void space_is_taken_first(void **state) {
    (void)state;
    result r;
    struct stat whole;
    make_result(&r, "in.h5", "fits.h5");
    const int before = files_count();
    const struct rlimit old = limit_files(16384);
    const stencil_status status = stencil_output_open(&r.output, &r.problem);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    files_expect(status, STENCIL_IO, "MiB, 16.00 KiB is free; make room");
    stencil_sink_close(&r.output.sink);
    assert_int_equal(files_count(), before);
    files_expect(write_result(&r), STENCIL_OK, "");
    assert_int_equal(stat("fits.h5", &whole), 0);
    /* u, f, coordinates and little more: what was taken for the rest is given back. */
    assert_true(whole.st_size >= 2 * 8 * 33 * 40 && whole.st_size <= 2 * 8 * 33 * 40 + 24576);
    assert_true(512 * whole.st_blocks >= 0 && 512 * whole.st_blocks <= 2 * 8 * 33 * 40 + 32768);
    destroy_result(&r);
}

static int write_without_proc(result *r) {
    if (chroot(".") != 0)
        return 77;
    if (stencil_output_open(&r->output, &r->problem) != STENCIL_OK)
        return 1;
    const char *temporary = r->output.sink.temporary;
    if (temporary[0] == '\0' || access(temporary, F_OK) != 0)
        return 2;
    const stencil_status status = write_to(r);
    stencil_sink_close(&r->output.sink);
    return status == STENCIL_OK ? 0 : 3;
}

/* A file without a name gets one through /proc; without that there is a temporary one with a name. */
static void temporary_files_have_a_name_at_need(void **state) {
    (void)state;
    result r;
    make_result(&r, "in.h5", "named.h5");
    for (int force = 0; force <= 1; force++) {
        const int before = files_count();
        r.output.force = force == 1;
        const pid_t child = fork();
        if (child == 0)
            _exit(write_without_proc(&r));
        int end = 0;
        assert_int_equal(waitpid(child, &end, 0), child);
        assert_true(WIFEXITED(end));
        if (WEXITSTATUS(end) == 77) {
            destroy_result(&r);
            skip();
        }
        assert_int_equal(WEXITSTATUS(end), 0);
        assert_int_equal(files_count(), before + 1 - force);
    }
    destroy_result(&r);
    stencil_spec spec;
    stencil_input input;
    files_expect(stencil_input_open(&input, "named.h5", NULL, &spec), STENCIL_OK, "");
    stencil_input_close(&input);
}

/* The input is open from the first look at it on. */
static void lost_input_is_no_loss(void **state) {
    (void)state;
    result r;
    make_result(&r, "lost.h5", "orphan.h5");
    assert_int_equal(unlink("lost.h5"), 0);
    files_expect(write_result(&r), STENCIL_OK, "");
    destroy_result(&r);
}

static void same_result_same_bytes(void **state) {
    (void)state;
    result r;
    make_result(&r, "in.h5", "one.h5");
    /* /stencil is written, too; no run looks at it any more. */
    r.problem.spec.offset_count = r.problem.spec.weight_count = 1;
    files_expect(write_result(&r), STENCIL_OK, "");
    sleep(1); /* object times would differ now */
    r.output.path = "two.h5";
    files_expect(write_result(&r), STENCIL_OK, "");
    destroy_result(&r);
    FILE *one = fopen("one.h5", "r"), *two = fopen("two.h5", "r");
    assert_true(one != NULL && two != NULL);
    int a = 0, b = 0;
    while (a != EOF) {
        a = fgetc(one);
        b = fgetc(two);
        assert_int_equal(a, b);
    }
    fclose(one);
    fclose(two);
}

int main(int argc, char **argv) {
    if (stencil_reading_is_asked(argc, argv))
        stencil_reading_answer(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_holds_the_result),  cmocka_unit_test(output_is_an_input),
        cmocka_unit_test(points_survive),           cmocka_unit_test(results_replace_their_input),
        cmocka_unit_test(outputs_that_cannot_be),   cmocka_unit_test(force_replaces),
        cmocka_unit_test(full_disks_leave_nothing), cmocka_unit_test(lost_input_is_no_loss),
        cmocka_unit_test(space_is_taken_first),     cmocka_unit_test(temporary_files_have_a_name_at_need),
        cmocka_unit_test(same_result_same_bytes),
    };
    return cmocka_run_group_tests_name("inputs: writer", tests, files_setup, files_teardown);
}

/* Tests of the option parser. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <math.h>

#include "app/options.h"

typedef struct inner {
    int axis_count, axes[3], spacing_count;
    double spacing[3];
} inner;

typedef struct values {
    bool force, quiet;
    int wordy;
    const char *output;
    int64_t steps;
    double tolerance, omega;
    int norm;
    int axes;
    int64_t extent[3];
    int gpu_count, gpu[4];
    inner inner;
} values;

static const char *const norm_names[] = {"l2", "max", NULL};

static const char *const axis_names[] = {"fixed", "periodic", "mirror", NULL};

static const option inner_table[] = {
    {"boundary", 0, OPTION_CHOICE, OPTION_AT(inner, axes), "A[,B]", .help = "boundary", .most = 3,
     .count_offset = offsetof(inner, axis_count), .names = axis_names},
    {"spacing", 0, OPTION_REAL, OPTION_AT(inner, spacing), "H[,H]", .help = "spacing", .most = 3,
     .count_offset = offsetof(inner, spacing_count), .positive = true},
    {NULL},
};
static const option outer_table[] = {
    {.heading = "Outer"},
    {"force", 'f', OPTION_FLAG, OPTION_AT(values, force), NULL, .help = "replace"},
    {"quiet", 'q', OPTION_FLAG, OPTION_AT(values, quiet), NULL, .help = "say nothing"},
    {"wordy", 'w', OPTION_FLAG, OPTION_AT(values, wordy), NULL, .help = "say more"},
    {"output", 'o', OPTION_TEXT, OPTION_AT(values, output), "FILE", .help = "result"},
    {"steps", 0, OPTION_INTEGER, OPTION_AT(values, steps), "N", .help = "steps", .maximum = 1000000},
    {"tolerance", 0, OPTION_REAL, OPTION_AT(values, tolerance), "T", .help = "residual", .none = true},
    {"omega", 0, OPTION_REAL, OPTION_AT(values, omega), "W", .help = "damping", .preset = "1",
     .positive = true},
    {"norm", 0, OPTION_CHOICE, OPTION_AT(values, norm), "NAME", .help = "norm", .preset = "max",
     .names = norm_names},
    {"size", 0, OPTION_SIZE, OPTION_AT(values, extent), "NXxNY[xNZ]", .help = "cells",
     .count_offset = offsetof(values, axes)},
    {"gpus", 0, OPTION_DEVICES, OPTION_AT(values, gpu), "N|LIST", .help = "devices",
     .count_offset = offsetof(values, gpu_count)},
    {.heading = "Inner", .table = inner_table, .offset = offsetof(values, inner)},
    {NULL},
};
static const command test_command = {
    .name = "test",
    .usage = "test [options] A [B]",
    .summary = "serves this test",
    .details = "One paragraph that is long enough to be broken into several lines at eighty columns, I "
               "should think.",
    .options = outer_table,
    .values_size = sizeof(values),
    .operand_min = 1,
    .operand_max = 2,
};

enum { ARGUMENTS_MAX = 16 };

/* Parses a command line given as words divided by blanks. */
static stencil_status parse(const char *line, values *v, invocation *call) {
    static char copy[512];
    static char *argv[ARGUMENTS_MAX];
    int argc = 0;
    assert_true(strlen(line) < sizeof copy);
    strcpy(copy, line);
    for (char *word = strtok(copy, " "); word != NULL; word = strtok(NULL, " ")) {
        assert_true(argc + 1 < ARGUMENTS_MAX);
        argv[argc++] = word;
    }
    argv[argc] = NULL;
    memset(v, 0xA5, sizeof *v);
    return options_parse(&test_command, argv, v, call);
}

static void parse_ok(const char *line, values *v, invocation *call) {
    if (parse(line, v, call) != STENCIL_OK)
        fail_msg("'%s' was refused: %s", line, stencil_error_last()->message);
}

/* Checks that a line is refused as wrong use, with a message that holds both texts (second NULL: one text).
 */
static void parse_refused(const char *line, const char *first, const char *second) {
    values v;
    invocation call;
    const stencil_status status = parse(line, &v, &call);
    if (status == STENCIL_OK)
        fail_msg("'%s' was accepted", line);
    const char *message = stencil_error_last()->message;
    assert_int_equal(status, STENCIL_USAGE);
    if (strstr(message, first) == NULL || (second != NULL && strstr(message, second) == NULL))
        fail_msg("'%s': the message '%s' does not hold '%s' and '%s'", line, message, first, second);
    assert_null(strchr(message, '\n'));
}

static void nothing_given(void **state) {
    (void)state;
    values v;
    invocation call;
    parse_ok("a", &v, &call);
    assert_false(v.force);
    assert_false(v.quiet);
    assert_null(v.output);
    assert_int_equal(v.steps, 0);
    assert_true(isnan(v.tolerance));
    assert_true(v.omega == 1.0); /* omega has its preset */
    assert_int_equal(v.norm, 1);
    assert_int_equal(v.axes, 0);
    assert_int_equal(v.gpu_count, 0);
    assert_int_equal(v.inner.axis_count, 0);
    assert_int_equal(v.inner.spacing_count, 0);
    assert_int_equal(call.operand_count, 1);
    assert_string_equal(call.operand[0], "a");
    assert_false(call.help);
}

static void flags_are_counted(void **state) {
    static const struct {
        const char *line;
        int count;
    } lines[] = {{"a", 0}, {"a -w", 1}, {"-ww a", 2}, {"--wordy a --wordy -w", 3}, {"-wfw a", 2}};
    (void)state;
    values v;
    invocation call;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        parse_ok(lines[i].line, &v, &call);
        assert_int_equal(v.wordy, lines[i].count);
        assert_int_equal(call.given_count, lines[i].count > 0 ? (i == 4 ? 2 : 1) : 0);
    }
    parse_refused("a --wordy=2", "--wordy takes no value", NULL);
}

static void forms_of_an_option(void **state) {
    (void)state;
    values v;
    invocation call;
    static const char *const lines[] = {
        "a --output x --force -q",        "--output=x a -fq", "-o x a -qf", "-qfox a", "a -f -q -ox",
        "--force --quiet --output x -- a"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        parse_ok(lines[i], &v, &call);
        assert_true(v.force);
        assert_true(v.quiet);
        assert_string_equal(v.output, "x");
        assert_int_equal(call.operand_count, 1);
        assert_string_equal(call.operand[0], "a");
    }
}

static void order_and_end_of_options(void **state) {
    (void)state;
    values v;
    invocation call;
    parse_ok("a --steps 3 b --steps=5", &v, &call);
    assert_int_equal(v.steps, 5); /* of two equal options the last one counts */
    assert_int_equal(call.operand_count, 2);
    assert_string_equal(call.operand[1], "b");
    parse_ok("-- --steps -f", &v, &call);
    assert_int_equal(v.steps, 0);
    assert_false(v.force);
    assert_string_equal(call.operand[0], "--steps");
    assert_string_equal(call.operand[1], "-f");
    parse_ok("- --output -", &v, &call); /* a lone dash is a file name */
    assert_string_equal(call.operand[0], "-");
    assert_string_equal(v.output, "-");
    parse_ok("--output=-x a", &v, &call);
    assert_string_equal(v.output, "-x");
}

static void values_of_each_type(void **state) {
    (void)state;
    values v;
    invocation call;
    parse_ok("a --steps 1000000 --tolerance 1e-6 --omega .5 --norm l2", &v, &call);
    assert_int_equal(v.steps, 1000000);
    assert_true(v.tolerance == 1e-6);
    assert_true(v.omega == 0.5);
    assert_int_equal(v.norm, 0);
    parse_ok("a --tolerance 0 --steps 0", &v, &call);
    assert_true(v.tolerance == 0.0);
    assert_int_equal(v.steps, 0);
    parse_ok("a --tolerance none", &v, &call);
    assert_true(isnan(v.tolerance) && options_given(&call, "tolerance"));
    parse_ok("a --size 129x65", &v, &call);
    assert_int_equal(v.axes, 2);
    assert_int_equal(v.extent[0], 65);
    assert_int_equal(v.extent[1], 129);
    parse_ok("a --size 1x2x3 --boundary mirror,fixed --spacing 1,0.5,2e-1", &v, &call);
    assert_int_equal(v.axes, 3);
    assert_int_equal(v.extent[0], 3);
    assert_int_equal(v.extent[2], 1);
    assert_int_equal(v.inner.axis_count, 2);
    assert_int_equal(v.inner.axes[0], 2);
    assert_int_equal(v.inner.axes[1], 0);
    assert_int_equal(v.inner.spacing_count, 3);
    assert_true(v.inner.spacing[2] == 0.2);
    parse_ok("a --boundary mirror,fixed --boundary periodic", &v, &call);
    assert_int_equal(v.inner.axis_count, 1);
}

static void counts_and_lists_of_devices(void **state) {
    (void)state;
    values v;
    invocation call;
    parse_ok("a --gpus 3", &v, &call);
    assert_int_equal(v.gpu_count, 3);
    assert_int_equal(v.gpu[2], 2);
    parse_ok("a --gpus 2,", &v, &call);
    assert_int_equal(v.gpu_count, 1);
    assert_int_equal(v.gpu[0], 2);
    parse_ok("a --gpus 3,0", &v, &call);
    assert_int_equal(v.gpu_count, 2);
    assert_int_equal(v.gpu[0], 3);
    assert_int_equal(v.gpu[1], 0);
    static const char *const wrong[] = {"0", "5", "-1", "x", "1,x", ",", ",1", "1,,2", "0,1,2,3,4", "1.5"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        char line[64];
        snprintf(line, sizeof line, "a --gpus=%s", wrong[i]);
        parse_refused(line, "--gpus", wrong[i]);
    }
}

static void wrong_values(void **state) {
    (void)state;
    static const char *const steps[] = {"abc",
                                        "-1",
                                        "1e30",
                                        "10x",
                                        "+5",
                                        "0x10",
                                        "1.5",
                                        "1000001",
                                        "99999999999999999999",
                                        "9223372036854775808"};
    char line[96];
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        snprintf(line, sizeof line, "a --steps %s", steps[i]);
        parse_refused(line, steps[i], "--steps");
        parse_refused(line, "from 0 to 1000000", NULL); /* the message has the allowed range */
    }
    static const char *const real[] = {"abc", "-1",    "1e",  "1e999", "nan",
                                       "inf", "0x1p3", "1,5", "1e-6x", "NONE"};
    for (size_t i = 0; i < sizeof real / sizeof *real; i++) {
        snprintf(line, sizeof line, "a --tolerance %s", real[i]);
        parse_refused(line, real[i], "--tolerance");
    }
    parse_refused("a --omega 0", "--omega", "positive");
    parse_refused("a --omega none", "--omega", "none");
    static const char *const size[] = {
        "129", "129x", "x129", "0x5", "5x-1", "1x2x3x4", "axb", "5X5", "1x99999999999999999999"};
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        snprintf(line, sizeof line, "a --size %s", size[i]);
        parse_refused(line, size[i], "--size");
    }
    parse_refused("a --spacing 1,", "--spacing", "1,");
    parse_refused("a --spacing 1,0", "--spacing", "positive");
    parse_refused("a --spacing 1,1,1,1", "--spacing", "more than 3");
    parse_refused("a --boundary fixed,", "--boundary", "Possible: fixed, periodic, mirror");
    parse_refused("a --boundary fixed,fixed,fixed,fixed", "--boundary", "more than 3");
    parse_refused("a --boundary periodc", "'periodc'", "did you mean 'periodic'");
    parse_refused("a --norm l3", "--norm", "did you mean 'l2'");
    parse_refused("a --norm euclidean", "--norm", "Possible: l2, max");
}

static void wrong_options(void **state) {
    (void)state;
    parse_refused("a --stpes 3", "'--stpes'", "'--steps'");
    parse_refused("a --tol 3", "'--tol'", "'--tolerance'");
    parse_refused("a --hlep", "'--hlep'", "'--help'");
    parse_refused("a --xyzzyxyzzy=3", "'--xyzzyxyzzy'", "stencil help test");
    parse_refused("a -x", "'-x'", "stencil help test");
    parse_refused("a -fx", "'-x'", NULL);
    parse_refused("a --steps", "--steps", "needs a value");
    parse_refused("a -o", "--output", "needs a value");
    parse_refused("a --output --force", "--output", "needs a value");
    parse_refused("a --output=", "--output", "not empty");
    parse_refused("a --force=yes", "--force", "no value");
    parse_refused("--force", "missing", "test [options] A [B]");
    parse_refused("a b c", "'c'", "test [options] A [B]");
}

static void asking_for_help(void **state) {
    (void)state;
    values v;
    invocation call;
    parse_ok("--help", &v, &call); /* --help needs no operands */
    assert_true(call.help);
    parse_ok("-h", &v, &call);
    assert_true(call.help);
    parse_ok("-fh --nonsense", &v, &call);
    assert_true(call.help);
}

static void help_fits_80_columns(void **state) {
    (void)state;
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    options_print_help(out, &test_command);
    assert_int_equal(fclose(out), 0);
    const option *const tables[] = {outer_table + 1, inner_table}; /* rows after the heading */
    for (int i = 0; i < 2; i++)
        for (const option *option = tables[i]; option->name != NULL; option++) {
            char form[64];
            snprintf(form, sizeof form, "--%s%s%s", option->name, option->argument != NULL ? " " : "",
                     option->argument != NULL ? option->argument : "");
            assert_non_null(strstr(text, form));
        }
    assert_non_null(strstr(text, "fixed, periodic, mirror"));
    assert_non_null(strstr(text, "[max]")); /* --help shows presets */
    for (const char *line = text; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        assert_true(length < 80);
        assert_true(length == 0 || line[length - 1] != ' ');
        line += length + (line[length] == '\n');
    }
    free(text);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_given),       cmocka_unit_test(flags_are_counted),
        cmocka_unit_test(forms_of_an_option),  cmocka_unit_test(order_and_end_of_options),
        cmocka_unit_test(values_of_each_type), cmocka_unit_test(counts_and_lists_of_devices),
        cmocka_unit_test(wrong_values),        cmocka_unit_test(wrong_options),
        cmocka_unit_test(asking_for_help),     cmocka_unit_test(help_fits_80_columns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}

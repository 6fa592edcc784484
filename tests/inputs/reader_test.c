#include "files.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inputs/inputs.h"

static const hsize_t size_2d[2] = {5, 7}, size_3d[3] = {4, 5, 6};

/* Opening must fail like this. */
static void expect_bad(const char *name, stencil_status status, const char *part) {
    stencil_input input;
    stencil_spec spec;
    files_expect(stencil_input_open(&input, name, NULL, &spec), status, part);
    stencil_input_close(&input);
    assert_non_null(strstr(stencil_error_last()->message, name));
}

static stencil_spec open_good(const char *name) {
    stencil_input input;
    stencil_spec spec;
    files_expect(stencil_input_open(&input, name, NULL, &spec), STENCIL_OK, "");
    stencil_input_close(&input);
    return spec;
}

static void files_that_are_no_input(void **state) {
    (void)state;
    expect_bad("missing.h5", STENCIL_NO_INPUT, "No such file");
    expect_bad(".", STENCIL_NO_INPUT, "is a directory");
    assert_int_equal(mkfifo("pipe.h5", 0600), 0);
    expect_bad("pipe.h5", STENCIL_NO_INPUT, "not a regular file");
    FILE *file = fopen("empty.h5", "w");
    assert_non_null(file);
    fclose(file);
    expect_bad("empty.h5", STENCIL_BAD_DATA, "is empty");
    file = fopen("text.h5", "w");
    assert_non_null(file);
    fputs("u = 1, 2, 3\n", file);
    fclose(file);
    expect_bad("text.h5", STENCIL_BAD_DATA, "not an HDF5 file");
    const hsize_t size[2] = {50, 50};
    H5Fclose(files_create("cut.h5", 2, size));
    assert_int_equal(truncate("cut.h5", 9000), 0);
    expect_bad("cut.h5", STENCIL_BAD_DATA, "truncated");
    if (geteuid() != 0) {
        H5Fclose(files_create("closed.h5", 2, size_2d));
        assert_int_equal(chmod("closed.h5", 0), 0);
        expect_bad("closed.h5", STENCIL_NO_INPUT, "Permission denied");
    }
}

/* A file whose only dataset is /u of this rank, size and type, never written. */
static void expect_bad_u(int rank, const hsize_t *size, hid_t type, const char *part) {
    const hid_t file = files_new("bad.h5");
    const hid_t space = rank < 0 ? H5Screate(H5S_NULL) : H5Screate_simple(rank, size, NULL);
    const hid_t create = H5Pcreate(H5P_DATASET_CREATE);
    const hsize_t chunk[4] = {1, 1, 1, 1};
    if (rank > 0)
        assert_true(H5Pset_chunk(create, rank, chunk) >= 0);
    const hid_t dataset = H5Dcreate2(file, "u", type, space, H5P_DEFAULT, create, H5P_DEFAULT);
    assert_true(dataset >= 0);
    H5Dclose(dataset);
    H5Pclose(create);
    H5Sclose(space);
    H5Fclose(file);
    expect_bad("bad.h5", STENCIL_BAD_DATA, part);
}

static void fields_that_are_none(void **state) {
    (void)state;
    hid_t file = files_new("bad.h5");
    H5Fclose(file);
    expect_bad("bad.h5", STENCIL_BAD_DATA, "no dataset /u");
    file = files_new("bad.h5");
    H5Gclose(H5Gcreate2(file, "u", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
    expect_bad("bad.h5", STENCIL_BAD_DATA, "/u is a group");
    file = files_new("bad.h5");
    H5Lcreate_soft("/nowhere", file, "u", H5P_DEFAULT, H5P_DEFAULT);
    H5Fclose(file);
    expect_bad("bad.h5", STENCIL_BAD_DATA, "/u is a link that leads nowhere");
    const hsize_t four[4] = {2, 2, 2, 2}, zero[2] = {5, 0}, huge[3] = {1 << 30, 1 << 30, 1 << 30};
    expect_bad_u(1, four, H5T_IEEE_F64LE, "rank 1");
    expect_bad_u(4, four, H5T_IEEE_F64LE, "rank 4");
    expect_bad_u(0, four, H5T_IEEE_F64LE, "rank 0");
    expect_bad_u(-1, four, H5T_IEEE_F64LE, "is empty");
    expect_bad_u(3, huge, H5T_IEEE_F64LE, "more cells than can be counted");
    expect_bad_u(2, size_2d, H5T_C_S1, "a string");
    const hid_t compound = H5Tcreate(H5T_COMPOUND, 8);
    H5Tinsert(compound, "re", 0, H5T_NATIVE_DOUBLE);
    expect_bad_u(2, size_2d, compound, "a compound type");
    H5Tclose(compound);
    file = files_new("bad.h5");
    files_dataset(file, "u", 2, zero, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, NULL);
    H5Fclose(file);
    expect_bad("bad.h5", STENCIL_BAD_DATA, "dimension 1 of /u is 0");
}

static void attributes_are_read(void **state) {
    (void)state;
    const hid_t file = files_create("full.h5", 3, size_3d);
    const double spacing[3] = {0.5, 0.25, 0.125}, tolerance = 1e-6, steps = 40;
    const int32_t omega = 1;
    const uint16_t check_every = 7;
    const char boundary[3][10] = {"periodic", "mirror", "fixed"};
    const hid_t fixed = H5Tcopy(H5T_C_S1);
    H5Tset_size(fixed, 10);
    H5Tset_strpad(fixed, H5T_STR_NULLPAD);
    H5Tset_cset(fixed, H5T_CSET_UTF8);
    files_attribute(file, "boundary", 3, fixed, fixed, boundary);
    H5Tclose(fixed);
    files_text(file, "problem", "poisson");
    files_text(file, "norm", "max");
    files_text(file, "title", "a name that nobody asked for");
    files_attribute(file, "spacing", 3, H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, spacing);
    files_attribute(file, "tolerance", 1, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &tolerance);
    files_attribute(file, "steps", 0, H5T_IEEE_F32LE, H5T_NATIVE_DOUBLE, &steps);
    files_attribute(file, "omega", 0, H5T_STD_I32BE, H5T_NATIVE_INT32, &omega);
    files_attribute(file, "check_every", 1, H5T_STD_U16LE, H5T_NATIVE_UINT16, &check_every);
    H5Fclose(file);

    const stencil_spec spec = open_good("full.h5");
    assert_int_equal(spec.rank, 3);
    assert_int_equal(spec.extent[0], 4);
    assert_int_equal(spec.extent[2], 6);
    assert_int_equal(spec.kind, STENCIL_KIND_POISSON);
    assert_int_equal(spec.norm, STENCIL_NORM_MAX);
    assert_int_equal(spec.boundary_count, 3);
    assert_int_equal(spec.boundary[0], STENCIL_PERIODIC);
    assert_int_equal(spec.boundary[1], STENCIL_MIRROR);
    assert_int_equal(spec.boundary[2], STENCIL_FIXED);
    assert_int_equal(spec.spacing_count, 3);
    assert_true(spec.spacing[0] == 0.5 && spec.spacing[1] == 0.25 && spec.spacing[2] == 0.125);
    assert_true(spec.atol == 1e-6 && spec.omega == 1.0);
    assert_int_equal(spec.steps, 40);
    assert_int_equal(spec.check_every, 7);
    assert_true(isnan(spec.dt) && spec.diffusivity_count == 0);
    assert_int_equal(spec.source, STENCIL_SOURCE_NONE);
    assert_string_equal(spec.stencil, "");
}

static void nothing_given_is_nothing_read(void **state) {
    (void)state;
    H5Fclose(files_create("bare.h5", 2, size_2d));
    const stencil_spec spec = open_good("bare.h5");
    stencil_spec wanted;
    stencil_spec_init(&wanted);
    assert_int_equal(spec.steps, wanted.steps);
    assert_int_equal(spec.check_every, wanted.check_every);
    assert_int_equal(spec.boundary_count + spec.spacing_count + spec.offset_count + spec.weight_count, 0);
    assert_true(isnan(spec.omega) && isnan(spec.atol));
    assert_int_equal(spec.kind, STENCIL_KIND_NONE);
}

/* A file with one bad attribute of numbers. */
static void expect_bad_number(const char *name, int count, double a, double b, const char *part) {
    const hid_t file = files_create("bad.h5", 2, size_2d);
    const double values[4] = {a, b, b, b};
    files_attribute(file, name, count, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values);
    H5Fclose(file);
    expect_bad("bad.h5", STENCIL_BAD_DATA, part);
    assert_non_null(strstr(stencil_error_last()->message, name));
}

static void expect_bad_text(const char *name, const char *text, const char *part) {
    const hid_t file = files_create("bad.h5", 2, size_2d);
    files_text(file, name, text);
    H5Fclose(file);
    expect_bad("bad.h5", STENCIL_BAD_DATA, part);
    assert_non_null(strstr(stencil_error_last()->message, name));
}

static void attributes_that_are_wrong(void **state) {
    (void)state;
    expect_bad_number("steps", 0, -1, 0, "is -1; give a whole number from 0 to 1000000000000000");
    expect_bad_number("steps", 0, 2.5, 0, "2.5");
    expect_bad_number("steps", 0, 1e30, 0, "1e+30");
    expect_bad_number("steps", 2, 1, 1, "has 2 values");
    expect_bad_number("steps", 0, NAN, 0, "nan");
    expect_bad_number("check_every", 0, 0, 0, "from 1 to");
    expect_bad_number("tolerance", 0, -1e-3, 0, ">= 0");
    expect_bad_number("tolerance", 0, INFINITY, 0, "inf");
    expect_bad_number("omega", 0, 0, 0, "> 0");
    expect_bad_number("spacing", 2, 1, -1, "> 0");
    expect_bad_number("spacing", 3, 1, 1, "has 3 values");
    expect_bad_number("stencil", 0, 5, 0, "is a floating-point number; give one of: j2d5pt");
    expect_bad_number("boundary", 2, 0, 1, "fixed, periodic, mirror");
    expect_bad_text("steps", "many", "is a string");
    expect_bad_text("spacing", "1", "is a string");
    expect_bad_text("stencil", "j2d6pt", "'j2d6pt'; give one of: j2d5pt");
    expect_bad_text("stencil", "", "give one of");
    expect_bad_text("problem", "stokes", "laplace, poisson, heat");
    expect_bad_text("norm", "l1", "l2, max");
    expect_bad_text("boundary", "open", "fixed, periodic, mirror");
    const char *const three[3] = {"fixed", "fixed", "fixed"};
    const hid_t file = files_create("bad.h5", 2, size_2d);
    const hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, H5T_VARIABLE);
    files_attribute(file, "boundary", 3, type, type, three);
    H5Tclose(type);
    H5Fclose(file);
    expect_bad("bad.h5", STENCIL_BAD_DATA, "has 3 values");
}

/* A file with /stencil; rank 0 leaves a table out. */
static void make_points(int offset_rank, const hsize_t *offset_size, int weight_rank,
                        const hsize_t *weight_size, const char *name) {
    int64_t offset[60 * 3] = {-1, 0, 0, -1, 0, 0, 0, 1};
    double weight[60] = {0.125, 0.25, 0.5, 0.0625};
    const hid_t file = files_create("bad.h5", 2, size_2d);
    const hid_t group = H5Gcreate2(file, "stencil", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    if (offset_rank > 0)
        files_dataset(group, "offsets", offset_rank, offset_size, H5T_STD_I32LE, H5T_NATIVE_INT64, offset);
    if (weight_rank > 0)
        files_dataset(group, "weights", weight_rank, weight_size, H5T_IEEE_F32BE, H5T_NATIVE_DOUBLE, weight);
    if (name != NULL)
        files_text(file, "stencil", name);
    H5Gclose(group);
    H5Fclose(file);
}

static void points_are_read(void **state) {
    (void)state;
    const hsize_t four[2] = {4, 2}, five = 5;
    make_points(2, four, 1, four, NULL);
    stencil_spec spec = open_good("bad.h5");
    assert_int_equal(spec.offset_count, 4);
    assert_int_equal(spec.weight_count, 4);
    assert_int_equal(spec.offset[0][0], -1);
    assert_int_equal(spec.offset[1][1], -1);
    assert_int_equal(spec.offset[3][1], 1);
    assert_true(spec.weight[2] == 0.5 && spec.weight[3] == 0.0625);
    make_points(0, NULL, 1, &five, "j2d5pt");
    spec = open_good("bad.h5");
    assert_string_equal(spec.stencil, "j2d5pt");
    assert_int_equal(spec.offset_count, 0);
    assert_int_equal(spec.weight_count, 5);
}

/* What the file states cannot be resolved. */
static void expect_unresolved(const char *part) {
    stencil_problem problem;
    const stencil_spec spec = open_good("bad.h5");
    files_expect(stencil_problem_resolve(&problem, &spec), STENCIL_BAD_DATA, part);
}

static void points_that_are_wrong(void **state) {
    (void)state;
    const hsize_t four[2] = {4, 2}, three[2] = {4, 3}, none[2] = {0, 2}, many[2] = {50, 2}, rows[2] = {2, 4},
                  five = 5;
    make_points(2, four, 1, &five, NULL);
    expect_unresolved("/stencil/weights has length 5 for 4");
    make_points(0, NULL, 1, four, "j2d5pt");
    expect_unresolved("has 5 points, but is given 4 weights (/stencil/weights)");
    make_points(2, four, 0, NULL, NULL);
    expect_unresolved("/stencil/weights has length 0");
    make_points(2, three, 1, four, NULL);
    expect_bad("bad.h5", STENCIL_BAD_DATA, "[n][2]");
    make_points(1, four, 1, four, NULL);
    expect_bad("bad.h5", STENCIL_BAD_DATA, "[n][2]");
    make_points(2, many, 1, many, NULL);
    expect_bad("bad.h5", STENCIL_BAD_DATA, "50 entries");
    make_points(2, none, 1, none, NULL);
    expect_bad("bad.h5", STENCIL_BAD_DATA, "0 entries");
    make_points(2, four, 2, four, NULL);
    expect_unresolved("/stencil/weights has length 2 for 4");
    make_points(2, four, 2, rows, NULL);
    expect_unresolved("give /class");

    const hid_t file = files_create("bad.h5", 2, size_2d);
    const hid_t group = H5Gcreate2(file, "stencil", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    const double offset[2] = {0, 0.5}, weight = NAN;
    const hsize_t one[2] = {1, 2};
    files_dataset(group, "offsets", 2, one, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, offset);
    files_dataset(group, "weights", 1, one, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &weight);
    H5Gclose(group);
    H5Fclose(file);
    expect_bad("bad.h5", STENCIL_BAD_DATA, "offsets[0][1] is 0.5");
}

static void sources_are_checked(void **state) {
    (void)state;
    double values[35] = {0};
    const hsize_t other[2] = {7, 5};
    hid_t file = files_create("bad.h5", 2, size_2d);
    files_dataset(file, "b", 2, other, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values);
    H5Fclose(file);
    expect_bad("bad.h5", STENCIL_BAD_DATA, "/b has another shape");
    file = files_create("bad.h5", 2, size_2d);
    files_dataset(file, "b", 2, size_2d, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values);
    files_dataset(file, "f", 2, size_2d, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values);
    H5Fclose(file);
    expect_bad("bad.h5", STENCIL_BAD_DATA, "both /b and /f");
    file = files_create("bad.h5", 2, size_2d);
    H5Gclose(H5Gcreate2(file, "f", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
    H5Fclose(file);
    expect_bad("bad.h5", STENCIL_BAD_DATA, "/f is a group");
}

int main(int argc, char **argv) {
    if (stencil_reading_is_asked(argc, argv))
        stencil_reading_answer(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_that_are_no_input),   cmocka_unit_test(fields_that_are_none),
        cmocka_unit_test(attributes_are_read),       cmocka_unit_test(nothing_given_is_nothing_read),
        cmocka_unit_test(attributes_that_are_wrong), cmocka_unit_test(points_are_read),
        cmocka_unit_test(points_that_are_wrong),     cmocka_unit_test(sources_are_checked),
    };
    return cmocka_run_group_tests_name("inputs: reader", tests, files_setup, files_teardown);
}

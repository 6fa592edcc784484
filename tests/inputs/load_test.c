#include "files.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/inputs.h"

enum { FIELDS = STENCIL_ARRAY_B + 1 };

static const hsize_t size_2d[2] = {5, 7}, size_3d[3] = {4, 5, 6};

/* Opens, resolves and loads, in the precision of /u for STENCIL_PRECISION_COUNT; the problem is the caller's.
 */
static stencil_status load_file(const char *name, stencil_precision precision, bool allow_nonfinite,
                                stencil_problem *problem, stencil_field field[FIELDS]) {
    stencil_input input;
    stencil_spec spec;
    files_expect(stencil_input_open(&input, name, NULL, &spec), STENCIL_OK, "");
    if (precision != STENCIL_PRECISION_COUNT)
        spec.precision = precision;
    files_expect(stencil_problem_resolve(problem, &spec), STENCIL_OK, "");
    const stencil_status status = files_load(&input, problem, allow_nonfinite, &field[0], &field[1]);
    stencil_input_close(&input);
    return status;
}

static void destroy_fields(stencil_field field[FIELDS]) {
    for (int array = 0; array < FIELDS; array++)
        stencil_field_destroy(&field[array]);
}

/* Value of cell (z, y, x) of the array. */
static double cell(const stencil_problem *problem, const stencil_field *field, int64_t z, int64_t y,
                   int64_t x) {
    const stencil_layout *l = &field->layout;
    const int64_t at = l->origin + (z + problem->first[0]) * l->plane + (y + problem->first[1]) * l->row + x +
                       problem->first[2];
    return l->precision == STENCIL_FLOAT64 ? ((const double *)field->data)[at]
                                           : ((const float *)field->data)[at];
}

static void types_choose_the_precision(void **state) {
    (void)state;
    const struct {
        hid_t type;
        stencil_precision precision;
    } kinds[] = {{H5T_IEEE_F32LE, STENCIL_FLOAT32}, {H5T_IEEE_F32BE, STENCIL_FLOAT32},
                 {H5T_IEEE_F64LE, STENCIL_FLOAT64}, {H5T_IEEE_F64BE, STENCIL_FLOAT64},
                 {H5T_STD_I32BE, STENCIL_FLOAT64},  {H5T_STD_U8LE, STENCIL_FLOAT64},
                 {H5T_STD_I64LE, STENCIL_FLOAT64},  {H5T_NATIVE_LDOUBLE, STENCIL_FLOAT64}};
    double values[35];
    for (int k = 0; k < 35; k++)
        values[k] = 3 * k;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const hid_t file = files_new("bad.h5");
        files_dataset(file, "u", 2, size_2d, kinds[i].type, H5T_NATIVE_DOUBLE, values);
        files_text(file, "stencil", "j2d5pt");
        H5Fclose(file);
        stencil_problem problem;
        stencil_field field[FIELDS];
        files_expect(load_file("bad.h5", STENCIL_PRECISION_COUNT, false, &problem, field), STENCIL_OK, "");
        assert_int_equal(problem.precision, kinds[i].precision);
        for (int k = 0; k < 35; k++)
            assert_true(cell(&problem, &field[STENCIL_ARRAY_U], 0, k / 7, k % 7) == values[k]);
        destroy_fields(field);
    }
}

/* Every cell of the array arrives, boundary cells included, and what lies outside stays zero. */
static void fields_arrive(void **state) {
    (void)state;
    static const char *const boundary[] = {"fixed", "periodic", "mirror"};
    for (int b = 0; b < 3; b++)
        for (int p = 0; p < STENCIL_PRECISION_COUNT; p++) {
            const hid_t file = files_create("field.h5", 3, size_3d);
            files_text(file, "stencil", "j3d7pt");
            files_text(file, "boundary", boundary[b]);
            H5Fclose(file);
            stencil_problem problem;
            stencil_field field[FIELDS];
            files_expect(load_file("field.h5", (stencil_precision)p, false, &problem, field), STENCIL_OK, "");
            assert_int_equal(field[STENCIL_ARRAY_U].layout.precision, p);
            double sum = 0;
            for (int k = 0; k < 120; k++)
                assert_true(cell(&problem, &field[STENCIL_ARRAY_U], k / 30, k / 6 % 5, k % 6) == k);
            for (int64_t i = 0; i < problem.layout.element_count; i++)
                sum += p == STENCIL_FLOAT64 ? ((double *)field[STENCIL_ARRAY_U].data)[i]
                                            : ((float *)field[STENCIL_ARRAY_U].data)[i];
            assert_true(sum == 119 * 120 / 2);
            assert_null(field[STENCIL_ARRAY_B].data);
            destroy_fields(field);
        }
}

/* f is scaled in double and rounded once, whatever the precision. */
static void sources_arrive(void **state) {
    (void)state;
    double values[35];
    const double spacing[2] = {0.3, 0.7}, omega = 0.9;
    for (int k = 0; k < 35; k++)
        values[k] = 1.0 / (k + 3);
    for (int p = 0; p < STENCIL_PRECISION_COUNT; p++) {
        const hid_t file = files_create("source.h5", 2, size_2d);
        files_dataset(file, "f", 2, size_2d, H5T_IEEE_F64BE, H5T_NATIVE_DOUBLE, values);
        files_text(file, "problem", "poisson");
        files_attribute(file, "spacing", 2, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, spacing);
        files_attribute(file, "omega", 0, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &omega);
        H5Fclose(file);
        stencil_problem problem;
        stencil_field field[FIELDS];
        files_expect(load_file("source.h5", (stencil_precision)p, false, &problem, field), STENCIL_OK, "");
        const double scale = 0.9 / (2.0 / (0.3 * 0.3) + 2.0 / (0.7 * 0.7));
        for (int y = 1; y < 4; y++)
            for (int x = 1; x < 6; x++) {
                const double product = scale * values[y * 7 + x];
                const double wanted = p == STENCIL_FLOAT64 ? product : (double)(float)product;
                assert_true(cell(&problem, &field[STENCIL_ARRAY_B], 0, y, x) == wanted);
            }
        destroy_fields(field);
    }
}

/* A 3D source of more cells than fit into one reading block arrives whole. */
static void large_sources_arrive(void **state) {
    (void)state;
    const hsize_t size[3] = {3, 4000, 1500};
    const size_t cells = 3 * 4000 * 1500;
    float *values = malloc(cells * sizeof *values);
    assert_non_null(values);
    for (size_t k = 0; k < cells; k++)
        values[k] = (float)(k % 9973);
    const hid_t file = files_new("bad.h5");
    files_dataset(file, "u", 3, size, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values);
    files_dataset(file, "f", 3, size, H5T_IEEE_F32LE, H5T_NATIVE_FLOAT, values);
    files_text(file, "problem", "poisson");
    H5Fclose(file);
    stencil_problem problem;
    stencil_field field[FIELDS];
    files_expect(load_file("bad.h5", STENCIL_FLOAT32, false, &problem, field), STENCIL_OK, "");
    size_t wrong = 0;
    for (int64_t k = 0; k < (int64_t)cells; k++) {
        const int64_t z = k / (4000 * 1500), y = k / 1500 % 4000, x = k % 1500;
        wrong += cell(&problem, &field[STENCIL_ARRAY_U], z, y, x) != (double)values[k];
        if (z == 1 && y > 0 && y < 3999 && x > 0 && x < 1499)
            wrong += cell(&problem, &field[STENCIL_ARRAY_B], z, y, x) !=
                     (double)(float)(problem.source_scale * (double)values[k]);
    }
    assert_int_equal(wrong, 0);
    destroy_fields(field);
    free(values);
}

static uint64_t chance = 5;
static int64_t below(int64_t end) {
    chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((chance >> 33) % (uint64_t)end);
}

/* A file with /u and, for 2D, /b of that type, or for 3D /f, which poisson scales. */
static void make_typed(hid_t type, int rank, const hsize_t *size, const char *boundary) {
    double values[120];
    for (int k = 0; k < 120; k++)
        values[k] = 3 * k + 1;
    const hid_t file = files_new("bad.h5");
    files_dataset(file, "u", rank, size, type, H5T_NATIVE_DOUBLE, values);
    files_dataset(file, rank == 2 ? "b" : "f", rank, size, type, H5T_NATIVE_DOUBLE, values);
    if (rank == 2)
        files_text(file, "stencil", "j2ds9pt");
    else
        files_text(file, "problem", "poisson");
    files_text(file, "boundary", boundary);
    H5Fclose(file);
}

/* Random boxes, whose memory has gaps, hold what the whole arrays do there. */
static void expect_boxes(stencil_input *input, const stencil_problem *problem) {
    enum { GAP = 2, ROOM = 2000 };
    const stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    const stencil_box all[] = {stencil_mesh_array(&mesh), {.n = {mesh.n[0], mesh.n[1], mesh.n[2]}}};
    const int64_t bytes = (int64_t)stencil_precision_bytes(problem->precision);
    stencil_field field[FIELDS];
    files_expect(files_load(input, problem, false, &field[0], &field[1]), STENCIL_OK, "");
    const stencil_reader from = stencil_input_reader(input, problem, false);
    for (int round = 0; round < 40; round++) {
        const stencil_array array = (stencil_array)below(FIELDS);
        double memory[ROOM];
        stencil_box box, roomy;
        for (int axis = 0; axis < 3; axis++) {
            const int64_t begin = below(all[array].n[axis]);
            box.first[axis] = all[array].first[axis] + begin;
            box.n[axis] = 1 + below(all[array].n[axis] - begin);
            roomy.first[axis] = box.first[axis];
            roomy.n[axis] = box.n[axis] + GAP;
        }
        assert_true(stencil_box_cells(&roomy) <= ROOM);
        const stencil_cells to = stencil_cells_dense(problem->precision, memory, &roomy);
        memset(memory, 0x55, sizeof memory);
        files_expect(from.read(from.context, array, &box, &to), STENCIL_OK, "");
        for (int64_t i = 0; i < stencil_box_cells(&roomy); i++) {
            const int64_t z = i / (roomy.n[1] * roomy.n[2]), y = i / roomy.n[2] % roomy.n[1],
                          x = i % roomy.n[2];
            if (z < box.n[0] && y < box.n[1] && x < box.n[2])
                assert_true(stencil_cells_value(&to, i) ==
                            cell(problem, &field[array], z + box.first[0] - problem->first[0],
                                 y + box.first[1] - problem->first[1], x + box.first[2] - problem->first[2]));
            else
                assert_int_equal(((const char *)memory)[i * bytes], 0x55);
        }
    }
    destroy_fields(field);
}

static void boxes_are_parts_of_the_whole(void **state) {
    (void)state;
    const hid_t type[] = {H5T_IEEE_F32LE, H5T_IEEE_F32BE, H5T_IEEE_F64BE, H5T_STD_I32BE, H5T_STD_U16LE};
    static const char *const boundary[] = {"fixed", "periodic", "mirror"};
    for (int rank = 2; rank <= 3; rank++)
        for (size_t i = 0; i < sizeof type / sizeof *type; i++)
            for (int b = 0; b < 3; b++) {
                stencil_input input;
                stencil_spec spec;
                stencil_problem problem;
                make_typed(type[i], rank, rank == 2 ? size_2d : size_3d, boundary[b]);
                files_expect(stencil_input_open(&input, "bad.h5", NULL, &spec), STENCIL_OK, "");
                spec.precision = b == 1 ? STENCIL_FLOAT32 : spec.precision;
                files_expect(stencil_problem_resolve(&problem, &spec), STENCIL_OK, "");
                expect_boxes(&input, &problem);
                stencil_input_close(&input);
            }
}

/* Whichever box is read first: the first such value of the array is named. */
static void the_first_value_that_is_not_finite_is_named(void **state) {
    (void)state;
    double values[120] = {0};
    values[119] = values[67] = NAN;
    const hid_t file = files_new("bad.h5");
    files_dataset(file, "u", 3, size_3d, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values);
    files_text(file, "stencil", "j3d7pt");
    H5Fclose(file);
    stencil_input input;
    stencil_spec spec;
    stencil_problem problem;
    files_expect(stencil_input_open(&input, "bad.h5", NULL, &spec), STENCIL_OK, "");
    files_expect(stencil_problem_resolve(&problem, &spec), STENCIL_OK, "");
    const stencil_reader from = stencil_input_reader(&input, &problem, false);
    const stencil_box last = {{2, 3, 4}, {1, 1, 1}}, clean = {{0, 0, 0}, {1, 1, 1}};
    double value;
    const stencil_cells to = stencil_cells_dense(STENCIL_FLOAT64, &value, &last);
    files_expect(from.read(from.context, STENCIL_ARRAY_U, &clean, &to), STENCIL_OK, "");
    files_expect(from.read(from.context, STENCIL_ARRAY_U, &last, &to), STENCIL_BAD_DATA, "/u[2][1][1]");
    stencil_input_close(&input);
}

static void expect_nonfinite(const char *dataset, double bad, int at, stencil_precision precision,
                             const char *part) {
    double values[35] = {0};
    values[at] = bad;
    const hid_t file = files_new("bad.h5");
    const double clean[35] = {0};
    files_dataset(file, "u", 2, size_2d, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, *dataset == 'u' ? values : clean);
    if (*dataset == 'f')
        files_dataset(file, "f", 2, size_2d, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, values);
    files_text(file, "problem", "poisson");
    H5Fclose(file);
    stencil_problem problem;
    stencil_field field[FIELDS];
    files_expect(load_file("bad.h5", precision, false, &problem, field), STENCIL_BAD_DATA, part);
    assert_null(field[STENCIL_ARRAY_U].data);
    assert_null(field[STENCIL_ARRAY_B].data);
    files_expect(load_file("bad.h5", precision, true, &problem, field), STENCIL_OK, "");
    assert_false(isfinite(cell(&problem, *dataset == 'u' ? &field[STENCIL_ARRAY_U] : &field[STENCIL_ARRAY_B],
                               0, at / 7, at % 7)));
    destroy_fields(field);
}

static void values_that_are_not_finite(void **state) {
    (void)state;
    expect_nonfinite("u", NAN, 0, STENCIL_FLOAT64, "/u[0][0]");
    expect_nonfinite("u", -INFINITY, 34, STENCIL_FLOAT32, "/u[4][6]");
    expect_nonfinite("u", 1e300, 16, STENCIL_FLOAT32, "/u[2][2]");
    expect_nonfinite("f", NAN, 9, STENCIL_FLOAT64, "/f[1][2]");
}

static void damage_found_while_reading(void **state) {
    (void)state;
    const hsize_t size[2] = {64, 64}, chunk[2] = {64, 64};
    double *values = calloc(64 * 64, sizeof *values);
    assert_non_null(values);
    hid_t file = files_new("bad.h5");
    const hid_t space = H5Screate_simple(2, size, NULL), create = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_chunk(create, 2, chunk);
    H5Pset_fletcher32(create);
    const hid_t dataset = H5Dcreate2(file, "u", H5T_IEEE_F64LE, space, H5P_DEFAULT, create, H5P_DEFAULT);
    assert_true(H5Dwrite(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Dclose(dataset);
    H5Pclose(create);
    H5Sclose(space);
    free(values);
    files_text(file, "stencil", "j2d5pt");
    H5Fclose(file);
    FILE *raw = fopen("bad.h5", "r+");
    assert_non_null(raw);
    /* In the middle of the chunk: most of the file is that. */
    assert_int_equal(fseek(raw, 20000, SEEK_SET), 0);
    fputs("damage", raw);
    fclose(raw);
    stencil_problem problem;
    stencil_field field[FIELDS];
    files_expect(load_file("bad.h5", STENCIL_FLOAT64, false, &problem, field), STENCIL_BAD_DATA,
                 "cannot read /u");
    assert_null(field[STENCIL_ARRAY_U].data);
}

int main(int argc, char **argv) {
    if (stencil_reading_is_asked(argc, argv))
        stencil_reading_answer(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_choose_the_precision),
        cmocka_unit_test(fields_arrive),
        cmocka_unit_test(sources_arrive),
        cmocka_unit_test(large_sources_arrive),
        cmocka_unit_test(boxes_are_parts_of_the_whole),
        cmocka_unit_test(values_that_are_not_finite),
        cmocka_unit_test(the_first_value_that_is_not_finite_is_named),
        cmocka_unit_test(damage_found_while_reading),
    };
    return cmocka_run_group_tests_name("inputs: loading", tests, files_setup, files_teardown);
}

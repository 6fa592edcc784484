#include "files.h"

#include <math.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "inputs/generate.h"
#include "inputs/inputs.h"
#include "philox/philox.h"

#define PI 3.14159265358979323846

static stencil_generate_options options_of(int rank, int64_t a, int64_t b, int64_t c) {
    stencil_generate_options options = {.path = "new.h5", .force = true, .amplitude = 1.0};
    stencil_spec_init(&options.spec);
    options.spec.rank = rank;
    options.spec.extent[0] = a;
    options.spec.extent[1] = b;
    options.spec.extent[2] = c;
    return options;
}

/* Generates and reads back the dataset /name, as it is in the file, in double; freed by the caller. */
static double *make(const stencil_generate_options *options, const char *name, size_t cells) {
    files_expect(stencil_generate(options), STENCIL_OK, "");
    double *values = malloc(cells * sizeof *values);
    assert_non_null(values);
    const hid_t file = H5Fopen("new.h5", H5F_ACC_RDONLY, H5P_DEFAULT);
    const hid_t dataset = H5Dopen2(file, name, H5P_DEFAULT);
    assert_true(dataset >= 0);
    const hid_t space = H5Dget_space(dataset);
    assert_int_equal(H5Sget_simple_extent_npoints(space), cells);
    assert_true(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values) >= 0);
    H5Sclose(space);
    H5Dclose(dataset);
    H5Fclose(file);
    return values;
}

static stencil_spec read_back(void) {
    stencil_input input;
    stencil_spec spec;
    files_expect(stencil_input_open(&input, "new.h5", NULL, &spec), STENCIL_OK, "");
    stencil_input_close(&input);
    return spec;
}

static void zero_and_hot_edge(void **state) {
    (void)state;
    stencil_generate_options options = options_of(3, 4, 5, 6);
    strcpy(options.spec.stencil, "j3d27pt");
    options.spec.precision = STENCIL_FLOAT32;
    options.spec.steps = 9;
    double *u = make(&options, "u", 120);
    for (int k = 0; k < 120; k++)
        assert_true(u[k] == 0);
    free(u);
    options.initial = STENCIL_INITIAL_HOT_EDGE;
    options.amplitude = 2.5;
    u = make(&options, "u", 120);
    for (int k = 0; k < 120; k++)
        assert_true(u[k] == (k < 30 ? 2.5 : 0));
    free(u);
    const stencil_spec spec = read_back();
    assert_string_equal(spec.stencil, "j3d27pt");
    assert_int_equal(spec.precision, STENCIL_FLOAT32);
    assert_int_equal(spec.steps, 9);
    assert_int_equal(spec.source, STENCIL_SOURCE_NONE);
    assert_int_equal(spec.spacing_count, 0);
}

/* More cells than one block, so that a seam would show. */
static void random_is_the_stream(void **state) {
    (void)state;
    enum { NY = 1031, NX = 4099, CELLS = NY * NX };
    for (int p = 0; p < STENCIL_PRECISION_COUNT; p++) {
        stencil_generate_options options = options_of(2, NY, NX, 0);
        strcpy(options.spec.stencil, "j2d5pt");
        options.spec.precision = (stencil_precision)p;
        options.initial = STENCIL_INITIAL_RANDOM;
        options.seed = 11;
        double *u = make(&options, "u", CELLS);
        size_t wrong = 0;
        for (size_t k = 0; k < CELLS; k++)
            wrong += u[k] != stencil_random_number(11, (stencil_precision)p, k);
        assert_int_equal(wrong, 0);
        free(u);
    }
}

/* More cells than a slab of the file and a chunk of the GPU, by GPU 0 where there is one, else by the host.
 */
static void a_gpu_makes_the_same_cells(void **state) {
    (void)state;
    enum { NY = 2051, NX = 4099, CELLS = NY * NX };
    double *wanted = malloc(CELLS * sizeof *wanted);
    bool on_gpu = false;
    assert_non_null(wanted);
    for (int p = 0; p < STENCIL_PRECISION_COUNT; p++) {
        const stencil_random_cells cells = {12, (stencil_precision)p, 0.7};
        stencil_generate_options options = options_of(2, NY, NX, 0);
        strcpy(options.spec.stencil, "j2d5pt");
        options.spec.precision = cells.precision;
        options.initial = STENCIL_INITIAL_RANDOM;
        options.amplitude = cells.factor;
        options.seed = cells.seed;
        options.gpu_cells = CELLS;
        options.on_gpu = &on_gpu;
        double *u = make(&options, "u", CELLS);
        stencil_random_fill(&cells, 0, CELLS, wanted);
        for (size_t k = 0; k < CELLS && p == STENCIL_FLOAT32; k++)
            wanted[k] = (double)(float)wanted[k];
        assert_memory_equal(u, wanted, CELLS * sizeof *u);
        free(u);
    }
    free(wanted);
    printf("%s\n", on_gpu ? "made on a GPU" : "made on the host: no GPU");
}

static void seeds_and_amplitudes_matter(void **state) {
    (void)state;
    stencil_generate_options options = options_of(2, 20, 30, 0);
    strcpy(options.spec.stencil, "j2d5pt");
    options.initial = STENCIL_INITIAL_RANDOM;
    double *zero = make(&options, "u", 600), *again = make(&options, "u", 600);
    options.seed = 1;
    double *one = make(&options, "u", 600);
    options.amplitude = -4;
    double *scaled = make(&options, "u", 600);
    int same = 0;
    for (int k = 0; k < 600; k++) {
        assert_true(zero[k] == again[k]);
        assert_true(scaled[k] == -4 * one[k]);
        same += zero[k] == one[k];
    }
    assert_int_equal(same, 0);
    free(zero);
    free(again);
    free(one);
    free(scaled);
}

static void poisson_is_manufactured(void **state) {
    (void)state;
    stencil_generate_options options = options_of(2, 17, 33, 0);
    options.spec.kind = STENCIL_KIND_POISSON;
    options.initial = STENCIL_INITIAL_SINE;
    double *u = make(&options, "u", 17 * 33), *f = make(&options, "f", 17 * 33);
    const stencil_spec spec = read_back();
    assert_int_equal(spec.source, STENCIL_SOURCE_F);
    assert_int_equal(spec.spacing_count, 2);
    assert_true(spec.spacing[0] == 1.0 / 16 && spec.spacing[1] == 1.0 / 32);
    for (int y = 0; y < 17; y++)
        for (int x = 0; x < 33; x++) {
            const double wanted = sin(PI * y / 16) * sin(PI * x / 32), got = u[y * 33 + x];
            const bool rim = y == 0 || y == 16 || x == 0 || x == 32;
            assert_true(rim ? got == 0 : fabs(got - wanted) < 1e-15);
            assert_true(fabs(f[y * 33 + x] - 2 * PI * PI * wanted) < 1e-12);
        }
    free(u);
    free(f);
    options.source = STENCIL_GENERATE_SOURCE_NONE;
    files_expect(stencil_generate(&options), STENCIL_OK, "");
    assert_int_equal(read_back().source, STENCIL_SOURCE_NONE);
}

/* On every boundary, the discrete operator applied to the modes gives nearly f: both belong to one solution,
 * and the spacing to both. */
static void modes_solve_poisson(void **state) {
    (void)state;
    enum { NZ = 40, NY = 50, NX = 60, CELLS = NZ * NY * NX };
    stencil_generate_options options = options_of(3, NZ, NY, NX);
    options.spec.kind = STENCIL_KIND_POISSON;
    options.spec.boundary_count = 3;
    options.spec.boundary[0] = STENCIL_FIXED;
    options.spec.boundary[1] = STENCIL_PERIODIC;
    options.spec.boundary[2] = STENCIL_MIRROR;
    options.initial = STENCIL_INITIAL_SINE;
    double *u = make(&options, "u", CELLS), *f = make(&options, "f", CELLS);
    const stencil_spec spec = read_back();
    assert_true(spec.spacing[0] == 1.0 / 39 && spec.spacing[1] == 1.0 / 50 && spec.spacing[2] == 1.0 / 60);
    double largest = 0, error = 0;
    for (int z = 1; z < NZ - 1; z++)
        for (int y = 0; y < NY; y++)
            for (int x = 0; x < NX; x++) {
                const int down = (y + NY - 1) % NY, up = (y + 1) % NY;
                const int left = x > 0 ? x - 1 : 0, right = x < NX - 1 ? x + 1 : NX - 1;
#define U(z, y, x) u[((z)*NY + (y)) * NX + (x)]
                const double c = 2 * U(z, y, x);
                const double applied =
                    (c - U(z - 1, y, x) - U(z + 1, y, x)) / (spec.spacing[0] * spec.spacing[0]) +
                    (c - U(z, down, x) - U(z, up, x)) / (spec.spacing[1] * spec.spacing[1]) +
                    (c - U(z, y, left) - U(z, y, right)) / (spec.spacing[2] * spec.spacing[2]);
                const double right_side = f[(z * NY + y) * NX + x];
                largest = fmax(largest, fabs(right_side));
                error = fmax(error, fabs(applied - right_side));
            }
    assert_true(largest > 50);
    assert_true(error < 0.002 * largest);
    free(u);
    free(f);
}

static void failures_leave_nothing(void **state) {
    (void)state;
    stencil_generate_options options = options_of(2, 300, 300, 0);
    const int before = files_count();
    options.path = "never.h5";
    options.force = false;
    files_expect(stencil_generate(&options), STENCIL_BAD_DATA, "stencil");
    strcpy(options.spec.stencil, "j2d5pt");
    options.source = STENCIL_GENERATE_SOURCE_MANUFACTURED;
    files_expect(stencil_generate(&options), STENCIL_USAGE, "poisson");
    options.source = STENCIL_GENERATE_SOURCE_AUTO;
    options.amplitude = NAN;
    files_expect(stencil_generate(&options), STENCIL_BAD_DATA, "amplitude");
    options.amplitude = 1;
    options.path = "nowhere/never.h5";
    files_expect(stencil_generate(&options), STENCIL_CANNOT_CREATE, "nowhere");
    options.path = "never.h5";
    struct rlimit old;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    const struct rlimit tight = {100000, old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    const stencil_status status = stencil_generate(&options);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    files_expect(status, STENCIL_IO, "never.h5");
    assert_int_equal(files_count(), before);
    files_expect(stencil_generate(&options), STENCIL_OK, "");
    files_expect(stencil_generate(&options), STENCIL_CANNOT_CREATE, "--force");
    assert_int_equal(files_count(), before + 1);
}

int main(int argc, char **argv) {
    if (stencil_reading_is_asked(argc, argv))
        stencil_reading_answer(argv);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(zero_and_hot_edge),          cmocka_unit_test(random_is_the_stream),
        cmocka_unit_test(a_gpu_makes_the_same_cells), cmocka_unit_test(seeds_and_amplitudes_matter),
        cmocka_unit_test(poisson_is_manufactured),    cmocka_unit_test(modes_solve_poisson),
        cmocka_unit_test(failures_leave_nothing),
    };
    return cmocka_run_group_tests_name("inputs: generator", tests, files_setup, files_teardown);
}

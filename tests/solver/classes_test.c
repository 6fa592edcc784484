/* Classes of cells: marks of groups, the cells that steps update, and what follows from kept cells for a
 * problem. */
#include <stdlib.h>

#include "solver/problem/classes.h"
#include "solver/problem/cycle.h"
#include "solver/problem/digest.h"
#include "solver/problem/domain.h"
#include "solver/problem/origin.h"
#include "solver/problem/palette.h"
#include "solver/problem/spectrum.h"
#include "solver/problem/stop.h"
#include "solver/plan/plan.h"
#include "solver/plan/sweep.h"
#include "specs.h"

/* A reader of cells that keep their value where a function of their index says so. */
typedef bool keeper(const int64_t at[3]);

static stencil_status read_classes(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    keeper *const keeps = *(keeper *const *)context;
    for (int64_t i = 0; i < stencil_box_cells(box); i++) {
        const int64_t z = i / box->n[2] / box->n[1], y = i / box->n[2] % box->n[1], x = i % box->n[2];
        const int64_t at[3] = {box->first[0] + z, box->first[1] + y, box->first[2] + x},
                      element = z * to->plane + y * to->row + x;
        if (array == STENCIL_ARRAY_CLASS)
            ((uint8_t *)to->at)[element] = keeps(at) ? STENCIL_CLASS_KEPT : STENCIL_CLASS_PLAIN;
        else if (array == STENCIL_ARRAY_KIND)
            ((stencil_cell_kind *)to->at)[element] = keeps(at) ? STENCIL_KIND_KEPT : STENCIL_KIND_PLAIN;
        else
            stencil_cells_set(to, element, 1.0);
    }
    return STENCIL_OK;
}

static bool keeps_third(const int64_t at[3]) {
    return (at[0] + at[1] + at[2]) % 3 == 0;
}
static bool keeps_all(const int64_t at[3]) {
    (void)at;
    return true;
}
static bool keeps_none(const int64_t at[3]) {
    (void)at;
    return false;
}

static stencil_problem found(stencil_spec spec, keeper *keeps) {
    spec.fixed = true;
    stencil_problem problem = resolved(spec);
    const stencil_reader reader = {read_classes, &keeps};
    assert_int_equal(stencil_classes_find(&problem, &reader, NULL), STENCIL_OK);
    return problem;
}

/* Marks by definition: the class that all cells of a group have which count, or MIXED. */
static void marks_of_rows(void **state) {
    enum { CELLS = 300, LOW = -9 };
    uint8_t row[CELLS], mark[8], *const of = row - LOW;
    (void)state;
    for (int turn = 0; turn < 500; turn++) {
        for (int i = 0; i < CELLS; i++)
            row[i] = (i + turn) / (1 + turn % 97) % 3 == 0 ? STENCIL_CLASS_KEPT : STENCIL_CLASS_PLAIN;
        const int64_t end = 100 + turn % 190, low = LOW + turn % 9;
        stencil_marks_make(mark, of, -STENCIL_GROUP_CELLS, 6, low, end);
        for (int g = 0; g < 6; g++) {
            int kept = 0, counted = 0;
            for (int64_t x = (g - 1) * STENCIL_GROUP_CELLS; x < g * STENCIL_GROUP_CELLS; x++)
                if (x >= low && x < end) {
                    kept += of[x] == STENCIL_CLASS_KEPT;
                    counted++;
                }
            assert_int_equal(mark[g], kept == 0         ? STENCIL_CLASS_PLAIN
                                      : kept == counted ? STENCIL_CLASS_KEPT
                                                        : STENCIL_MARK_MIXED);
        }
    }
    for (int64_t x = -200; x < 200; x++)
        assert_int_equal(stencil_group_of(x), (x + 64000) / 64 - 1000);
}

/* Groups have marks wherever a part has cells, ghost cells included; boundary cells of the problem count for
 * nothing. */
static void places_of_marks(void **state) {
    (void)state;
    stencil_spec spec = named("j3d13pt");
    spec.extent[2] = 400;
    spec.boundary_count = 3;
    spec.boundary[0] = STENCIL_PERIODIC;
    const stencil_problem problem = resolved(spec);
    const stencil_mesh mesh = stencil_problem_mesh(&problem, 3);
    stencil_cut cut;
    assert_int_equal(stencil_cut_make(&cut, &mesh, 2, (const int[]){1, 1, 2}), STENCIL_OK);
    const stencil_marks marks = stencil_marks_of(&cut);
    for (int axis = 0; axis < 2; axis++) {
        assert_int_equal(marks.first[axis], -cut.layout.ghost[axis]);
        assert_int_equal(marks.count[axis], cut.layout.n[axis] + 2 * cut.layout.ghost[axis]);
    }
    assert_int_equal(marks.first[2], -1);
    assert_int_equal(marks.count[2], 1 + (cut.layout.n[2] + cut.layout.ghost[2] + 63) / 64);
    /* Rows of bits: cell 0 is aligned to 16 bytes, and all cells of a row have a bit. */
    assert_int_equal(marks.words_before % 4, 0);
    assert_int_equal(marks.words_row % 4, 0);
    assert_true(marks.words_before * STENCIL_WORD_CELLS >= cut.layout.ghost[2]);
    assert_true((marks.words_row - marks.words_before) * STENCIL_WORD_CELLS >=
                cut.layout.n[2] + cut.layout.ghost[2]);
    assert_true(marks.words >= marks.count[0] * marks.count[1] * marks.words_row);
    int64_t range[2];
    stencil_marks_range(&cut, 0, range);
    assert_int_equal(range[0], 0);
    assert_int_equal(range[1], stencil_cut_box(&cut, 0).n[2] + cut.layout.ghost[2]);
    stencil_marks_range(&cut, 1, range);
    assert_int_equal(range[0], -cut.layout.ghost[2]);
    assert_int_equal(range[1], stencil_cut_box(&cut, 1).n[2]);
}

/* The divisor of a residual counts updated cells, what a step takes all cells. */
static void counts(void **state) {
    (void)state;
    for (int rank = 2; rank <= 3; rank++) {
        const stencil_problem p = found(equation(STENCIL_KIND_LAPLACE, rank), keeps_third);
        int64_t kept = 0;
        for (int64_t i = 0; i < stencil_problem_cells(&p); i++)
            kept += (i / p.n[2] / p.n[1] + i / p.n[2] % p.n[1] + i % p.n[2]) % 3 == 0;
        assert_int_equal(p.kept, kept);
        assert_int_equal(stencil_problem_cells(&p), p.n[0] * p.n[1] * p.n[2]);
        assert_int_equal(stencil_problem_updated_cells(&p), p.n[0] * p.n[1] * p.n[2] - kept);
        assert_true(stencil_problem_has_classes(&p));
    }
    assert_false(stencil_problem_has_classes(&(stencil_problem){0}));
    const stencil_problem none = found(equation(STENCIL_KIND_LAPLACE, 2), keeps_none);
    assert_false(stencil_problem_has_classes(&none));
    stencil_spec spec = equation(STENCIL_KIND_LAPLACE, 2);
    spec.fixed = true;
    stencil_problem all = resolved(spec);
    keeper *keeps = keeps_all;
    const stencil_reader reader = {read_classes, &keeps};
    assert_int_equal(stencil_classes_find(&all, &reader, NULL), STENCIL_BAD_DATA);
    assert_non_null(strstr(stencil_error_last()->message, "no cell to update"));
}

/* A source has no effect on kept cells. */
static void source_of_kept_cells(void **state) {
    enum { N = 4 * 28 };
    (void)state;
    const stencil_problem p = found(named("j2d5pt"), keeps_third);
    keeper *keeps = keeps_third;
    const stencil_reader reader = {read_classes, &keeps};
    const stencil_box box = {{0, 2, 0}, {1, 4, 28}};
    double b[N];
    for (int i = 0; i < N; i++)
        b[i] = 7;
    const stencil_cells cells = stencil_cells_dense(STENCIL_FLOAT64, b, &box);
    assert_int_equal(stencil_classes_clear_source(&p, &reader, &box, &cells), STENCIL_OK);
    for (int i = 0; i < N; i++)
        assert_true(b[i] == ((2 + i / 28 + i % 28) % 3 == 0 ? 0 : 7));
}

/* Bounds on eigenvalues stay valid where an axis is fixed; else the least one is not known, and nothing that
 * needs it is said. */
static void spectra(void **state) {
    (void)state;
    stencil_spec spec = equation(STENCIL_KIND_LAPLACE, 2);
    spec.rtol = 1e-6;
    const stencil_problem plain = resolved(spec), kept = found(spec, keeps_third);
    assert_true(stencil_spectrum_of(&kept).least == stencil_spectrum_of(&plain).least);
    assert_true(stencil_spectrum_of(&kept).most == stencil_spectrum_of(&plain).most);
    assert_true(stencil_predicted_steps(&kept) == stencil_predicted_steps(&plain));
    spec.boundary_count = 1;
    spec.boundary[0] = STENCIL_MIRROR;
    const stencil_problem loose = found(spec, keeps_third);
    assert_false(stencil_spectrum_of(&loose).up_to_constant);
    assert_true(stencil_spectrum_of(&loose).least == 0);
    assert_true(isnan(stencil_predicted_steps(&loose)));
    assert_false(stencil_error_bound_of(&loose, &(stencil_defect){.rms = 1, .size = 1}).known);
    assert_true(stencil_error_bound_of(&kept, &(stencil_defect){.rms = 1e-9, .size = 1}).known);
    snprintf(spec.accelerate, sizeof spec.accelerate, "chebyshev");
    spec.fixed = true;
    stencil_problem fast = found(spec, keeps_third);
    assert_true(fast.cycle.length > 1 && fast.cycle.least == 0 && isnan(stencil_predicted_steps(&fast)));
    assert_int_equal(stencil_cycle_take_estimate(&fast), STENCIL_BAD_DATA);
    fast.estimate =
        (stencil_estimate){.known = true, .least = 0.01, .most = 1.9, .bound = 2.0, .stretch = 1.0};
    assert_int_equal(stencil_cycle_take_estimate(&fast), STENCIL_OK);
    assert_true(fast.cycle.least > 0.0099 && fast.cycle.least <= 0.01 && fast.cycle.most > 1.9);
}

/* The result of a step with fixed cells is another problem's; its bytes have a digest. */
static void fingerprints_and_digests(void **state) {
    (void)state;
    stencil_spec spec = equation(STENCIL_KIND_LAPLACE, 2);
    const stencil_problem plain = resolved(spec), kept = found(spec, keeps_third);
    assert_string_not_equal(plain.fingerprint, kept.fingerprint);
    keeper *keeps = keeps_third, *other = keeps_all;
    char third[STENCIL_DIGEST_CHARS], all[STENCIL_DIGEST_CHARS];
    assert_int_equal(
        stencil_digest_read(&kept, STENCIL_ARRAY_CLASS, &(stencil_reader){read_classes, &keeps}, third),
        STENCIL_OK);
    assert_int_equal(
        stencil_digest_read(&kept, STENCIL_ARRAY_CLASS, &(stencil_reader){read_classes, &other}, all),
        STENCIL_OK);
    assert_string_not_equal(third, all);
}

/* Each value of the byte of a class has its meaning, and so has each mark of a group. */
static void meanings(void **state) {
    (void)state;
    for (uint32_t of = 0; of < 256; of++) {
        const bool row = of >= 1 && of <= 252, wide = of == 254;
        assert_int_equal(stencil_class_has_row(of), row);
        assert_int_equal(stencil_class_is_varied(of), row || wide);
        assert_int_equal(stencil_class_is_updated(of), of == 0 || row || wide);
    }
    assert_int_equal(STENCIL_CLASS_WIDE, STENCIL_MARK_MIXED);
    uint8_t of[STENCIL_GROUP_CELLS], mark;
    memset(of, STENCIL_CLASS_WIDE, sizeof of);
    stencil_marks_make(&mark, of, 0, 1, 0, STENCIL_GROUP_CELLS);
    assert_int_equal(mark, STENCIL_MARK_MIXED);
}

/* Row `number` of a palette: numbers that no other one has, the sign of a zero among them. */
static const double *row_of(int number, double row[STENCIL_WEIGHTS]) {
    for (int k = 0; k < STENCIL_WEIGHTS; k++)
        row[k] = k == number % 7 ? number / 2 : number % 2 == 0 ? 0.0 : -0.0;
    return row;
}

/* A palette finds its rows by their bits, and is full when it says so; bytes go to the rows of the most
 * cells, and else to the first ones. */
static void palettes(void **state) {
    static const int counts[] = {1, 252, 253, 300, 5000, STENCIL_WIDE_ROWS};
    double row[STENCIL_WEIGHTS];
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const int count = counts[i];
        stencil_problem p = {0};
        assert_int_equal(stencil_palette_begin(&p, count), STENCIL_OK);
        for (int number = 1; number <= count; number++) {
            assert_false(stencil_palette_is_full(&p));
            assert_int_equal(stencil_palette_find(&p, row_of(number, row)), 0);
            assert_int_equal(stencil_palette_add(&p, row), STENCIL_OK);
        }
        assert_true(stencil_palette_is_full(&p));
        for (int number = 1; number <= count; number++) {
            assert_int_equal(stencil_palette_find(&p, row_of(number, row)), number);
            assert_memory_equal(stencil_problem_row(&p, number), row, sizeof row);
            for (int k = 0; k < 1 + (number > count - 10); k++)
                stencil_palette_count(&p, number);
        }
        assert_int_equal(stencil_palette_end(&p), STENCIL_OK);
        assert_int_equal(stencil_problem_has_wide_rows(&p), count > 252);
        for (int number = 1; number <= count; number++) {
            /* The last ten have two cells, all others one. */
            const int byte = count <= 252          ? number
                             : number > count - 10 ? number - count + 10
                             : number <= 252 - 10  ? number + 10
                                                   : STENCIL_CLASS_WIDE;
            assert_int_equal(stencil_palette_class(&p, number), byte);
            assert_int_equal(stencil_problem_row_number(&p, (uint8_t)byte, (uint16_t)number), number);
        }
        assert_int_equal(stencil_palette_class(&p, 0), STENCIL_CLASS_PLAIN);
        assert_int_equal(stencil_problem_row_number(&p, STENCIL_CLASS_PLAIN, 0), 0);
        assert_int_equal(stencil_problem_row_number(&p, STENCIL_CLASS_KEPT, 0), 0);
        stencil_weights *cycle;
        int length;
        p.cycle.length = 0;
        p.precision = STENCIL_FLOAT64;
        assert_int_equal(stencil_weights_make(&cycle, &length, &p), STENCIL_OK);
        for (int number = 1; number <= count; number++) { /* as kernels find it */
            const uint16_t wide = (uint16_t)number;
            const stencil_classes c = {.row = &wide};
            const int64_t at = stencil_palette_at(&c, stencil_palette_class(&p, number), 0);
            assert_in_range(at, 0, stencil_weights_rows(&p) - 1);
            assert_memory_equal(cycle[at].f64, row_of(number, row), sizeof row);
        }
        free(cycle);
        stencil_palette_destroy(&p);
    }
}

/* Plans of passes of several steps take other kernels of a GPU where cells are fixed, and refuse plain ones
 * in the words of needs.def; a CPU's passes are for all. */
static void plans(void **state) {
    (void)state;
    stencil_spec spec = named("j2d5pt");
    spec.extent[0] = spec.extent[1] = 2000;
    spec.steps = 1000;
    const stencil_problem plain = resolved(spec), kept = found(spec, keeps_third);
    for (int backend = STENCIL_BACKEND_CPU; backend <= STENCIL_BACKEND_GPU; backend++) {
        stencil_plan plan = {.backend = (stencil_backend)backend,
                             .sweep = STENCIL_SWEEP_pipeline,
                             .cut.parts = 1,
                             .cut.count = {1, 1, 1}};
        assert_true(stencil_sweep_choose(&plan, &plain));
        const stencil_variant *usual = plan.variant;
        assert_true(stencil_sweep_choose(&plan, &kept));
        assert_true((plan.variant == usual) == (backend == STENCIL_BACKEND_CPU));
        if (backend == STENCIL_BACKEND_GPU) {
            assert_non_null(strstr(plan.why_not, "no single cells fixed"));
            assert_false(plan.variant->general);
            assert_ptr_equal(plan.variant->by, usual->by);
        }
    }
    assert_true(stencil_sweep_can(STENCIL_SWEEP_naive, &kept, STENCIL_NEED_FIXED));
    assert_true(stencil_sweep_can(STENCIL_SWEEP_stream, &kept, STENCIL_NEED_FIXED));
    assert_true(stencil_sweep_can(STENCIL_SWEEP_resident, &kept, STENCIL_NEED_FIXED));
    assert_true(stencil_sweep_can(STENCIL_SWEEP_pipeline, &kept, STENCIL_NEED_CLASS));
    assert_true(stencil_sweep_can(STENCIL_SWEEP_resident, &kept, STENCIL_NEED_CLASS));
    assert_true(stencil_sweep_can(STENCIL_SWEEP_naive, &kept, STENCIL_NEED_WIDE_ROWS));
    assert_true(stencil_sweep_can(STENCIL_SWEEP_stream, &kept, STENCIL_NEED_WIDE_ROWS));
    assert_false(stencil_sweep_can(STENCIL_SWEEP_resident, &kept, STENCIL_NEED_WIDE_ROWS));
    stencil_problem wide = kept;
    uint8_t bytes[] = {0};
    wide.byte_of_row = bytes;
    wide.varied = 1;
    for (int backend = STENCIL_BACKEND_CPU; backend <= STENCIL_BACKEND_GPU; backend++) {
        stencil_plan plan = {.backend = (stencil_backend)backend,
                             .sweep = STENCIL_SWEEP_pipeline,
                             .cut.parts = 1,
                             .cut.count = {1, 1, 1}};
        assert_true(stencil_sweep_choose(&plan, &wide));
        assert_int_equal(plan.variant->by == &stencil_stream_steps, backend == STENCIL_BACKEND_GPU);
        if (backend == STENCIL_BACKEND_GPU)
            assert_non_null(strstr(plan.why_not, "bytes, which name 252 rows"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(marks_of_rows), cmocka_unit_test(places_of_marks),
        cmocka_unit_test(counts),        cmocka_unit_test(source_of_kept_cells),
        cmocka_unit_test(spectra),       cmocka_unit_test(fingerprints_and_digests),
        cmocka_unit_test(plans),         cmocka_unit_test(meanings),
        cmocka_unit_test(palettes),
    };
    return cmocka_run_group_tests_name("classes", tests, NULL, NULL);
}

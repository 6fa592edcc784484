/* Reads, converts, scales and checks the cells of an input: directly where the file has a contiguous dataset
 * in native format, else through the process that reads the file. */
#include "inputs/inputs.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/words.h"
#include "inputs/stored.h"
#include "inputs/sums.h"
#include "solver/problem/classes.h"
#include "solver/problem/faces.h"
#include "solver/problem/rows.h"
#include "solver/problem/digest.h"

static const char *dataset_name(const stencil_input *input, stencil_array array) {
    if (array == STENCIL_ARRAY_CLASS)
        return stencil_spec_classes(&input->problem->spec);
    return stencil_array_name(&input->facts, stencil_stored_dataset(input, array));
}

typedef struct scaling {
    const stencil_values *values;
    double scale;
    const stencil_cells *to;
    const stencil_problem *problem; /* whose faces divide the scale in each cell; NULL: none do */
    const stencil_reader *from;     /* of faces */
} scaling;

/* As store_scaled(), the scale of each cell being divided by the sum of its faces. */
static stencil_status store_divided(const scaling *s, const stencil_box *slab, const stencil_cells *cells) {
    const stencil_cells to = stencil_cells_from(s->to, slab->first);
    const int64_t *n = slab->n, *first = slab->first;
    stencil_faces faces;
    TRY(stencil_faces_load(&faces, s->problem, s->from, slab));
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < n[STENCIL_Z] * n[STENCIL_Y]; r++)
        for (int64_t x = 0; x < n[STENCIL_X]; x++) {
            const int64_t cell[3] = {first[0] + r / n[1], first[1] + r % n[1], first[2] + x};
            const double sum = stencil_faces_sum(s->problem, &faces, cell),
                         value = stencil_values_unpack(s->values, ((const double *)cells->at)[r * n[2] + x]);
            stencil_cells_set(&to, r / n[1] * to.plane + r % n[1] * to.row + x, s->scale / sum * value);
        }
    stencil_faces_destroy(&faces);
    return STENCIL_OK;
}

/* Stores the values of a box of stored numbers: unpacked, multiplied by the scale, rounded once. */
static stencil_status store_scaled(void *context, const stencil_box *slab, const stencil_cells *cells) {
    const scaling *s = context;
    const stencil_cells to = stencil_cells_from(s->to, slab->first);
    const int64_t *n = slab->n, nx = n[STENCIL_X];
    if (s->problem != NULL)
        return store_divided(s, slab, cells);
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < n[STENCIL_Z] * n[STENCIL_Y]; r++) {
        const int64_t at = r / n[STENCIL_Y] * to.plane + r % n[STENCIL_Y] * to.row;
        const double *from = (const double *)cells->at + r * nx;
        if (to.precision == STENCIL_FLOAT64)
            for (int64_t x = 0; x < nx; x++)
                ((double *)to.at)[at + x] = s->scale * stencil_values_unpack(s->values, from[x]);
        else
            for (int64_t x = 0; x < nx; x++)
                ((float *)to.at)[at + x] = (float)(s->scale * stencil_values_unpack(s->values, from[x]));
    }
    return STENCIL_OK;
}

/* The place where kinds of a box of cells are stored, and the dataset that they are read from. */
typedef struct kind_place {
    const stencil_cells *to;
    int dataset;
} kind_place;

/* Returns the kind of a cell of which a dataset has the number `value`: whatever /fixed has other than 0
 * keeps its value, else the cell is of kind `before`. */
static stencil_cell_kind kind_of(int dataset, double value, stencil_cell_kind before) {
    if (dataset == STENCIL_DATASET_FIXED)
        return value != 0 ? STENCIL_KIND_KEPT : before;
    if (dataset == STENCIL_DATASET_INSULATED)
        return value != 0 ? STENCIL_KIND_INSULATED : before;
    return value >= 0 && value < STENCIL_ROWS_MAX ? (stencil_cell_kind)value : STENCIL_KIND_STRANGE;
}

/* Stores the kinds of a box of cells, among what is stored there already. */
static stencil_status store_kinds(void *context, const stencil_box *slab, const stencil_cells *cells) {
    const kind_place *c = context;
    const stencil_cells to = stencil_cells_from(c->to, slab->first);
    const int64_t *n = slab->n, nx = n[STENCIL_X];
    for (int64_t r = 0; r < n[STENCIL_Z] * n[STENCIL_Y]; r++) {
        stencil_cell_kind *of =
            (stencil_cell_kind *)to.at + r / n[STENCIL_Y] * to.plane + r % n[STENCIL_Y] * to.row;
        const double *from = (const double *)cells->at + r * nx;
        for (int64_t x = 0; x < nx; x++)
            of[x] = kind_of(c->dataset, from[x], of[x]);
    }
    return STENCIL_OK;
}

/* Reads kinds from /class, /fixed or /insulated. */
static stencil_status read_kinds(stencil_input *input, int dataset, const stencil_box *box,
                                 const stencil_cells *to) {
    return stencil_numbers_visit(input, dataset, box, store_kinds, &(kind_place){to, dataset});
}

/* Reads the kinds of a box of cells: rows of /class, cells of /fixed, cells of /insulated. */
static stencil_status read_all_kinds(stencil_input *input, const stencil_box *box, const stencil_cells *to) {
    const stencil_spec *spec = &input->problem->spec;
    stencil_cells_clear(to, box->n); /* all are plain */
    if (spec->classed)
        TRY(read_kinds(input, STENCIL_DATASET_CLASS, box, to));
    if (spec->fixed)
        TRY(read_kinds(input, STENCIL_DATASET_FIXED, box, to));
    if (spec->driven_count > 0)
        TRY(stencil_driven_kinds(input, box, to));
    return spec->insulated ? read_kinds(input, STENCIL_DATASET_INSULATED, box, to) : STENCIL_OK;
}

static stencil_status read_box(void *context, stencil_array array, const stencil_box *box,
                               const stencil_cells *to);

/* Reads a box of values. Values of /f, /q and packed arrays are computed in double in any precision, and so
 * rounded only once. */
static stencil_status read_values(stencil_input *input, stencil_array array, const stencil_box *box,
                                  const stencil_cells *to) {
    const stencil_problem *problem = input->problem;
    const stencil_values *values = &input->facts.values[array];
    const bool scaled = array == STENCIL_ARRAY_B && problem->spec.source != STENCIL_SOURCE_B;
    input->read_as = values->packed || scaled ? STENCIL_FLOAT64 : problem->precision;
    if (!values->packed && !scaled)
        return stencil_stored_read(input, array, box, to);
    const stencil_reader from = {stencil_stored_read, input}, faces = {read_box, input};
    const stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    const stencil_slabs slabs = {&from, &mesh, array, .cell_bytes = sizeof(double)};
    scaling s = {values, scaled ? problem->source_scale : 1, to, NULL, &faces};
    if (scaled && problem->coefficients != STENCIL_COEFFICIENTS_NONE &&
        problem->spec.kind == STENCIL_KIND_POISSON)
        s.problem = problem;
    return stencil_slabs_visit(&slabs, box, store_scaled, &s);
}

/* Reads /k, in float64 in any precision of the problem. */
static stencil_status read_k(stencil_input *input, const stencil_box *box, const stencil_cells *to) {
    input->read_as = STENCIL_FLOAT64;
    input->kind = STENCIL_DATASET_K;
    return stencil_stored_read(input, STENCIL_ARRAY_K, box, to);
}

/* Reads a box of an array as a run takes it: a source has no effect on kept cells. */
static stencil_status read_box(void *context, stencil_array array, const stencil_box *box,
                               const stencil_cells *to) {
    stencil_input *input = context;
    const stencil_reader from = {read_box, input};
    const int in_sum = stencil_array_in_sum(array);
    if (array == STENCIL_ARRAY_KIND)
        return read_all_kinds(input, box, to);
    if (array == STENCIL_ARRAY_K)
        return read_k(input, box, to);
    if (stencil_array_axis(array) >= 0)
        return stencil_faces_make(input->problem, &from, stencil_array_axis(array), box, to);
    if (array == STENCIL_ARRAY_CLASS || array == STENCIL_ARRAY_ROW)
        return stencil_classes_read(input->problem, &from, box, to);
    if (array == STENCIL_ARRAY_U || (in_sum == 0 && input->problem->spec.source != STENCIL_SOURCE_NONE))
        TRY(read_values(input, array, box, to));
    else
        TRY(stencil_sum_read(input, in_sum, box, to));
    if (array != STENCIL_ARRAY_U)
        TRY(stencil_classes_clear_source(input->problem, &from, box, to));
    if (array == STENCIL_ARRAY_B)
        TRY(stencil_classes_add_constants(input->problem, &from, box, to));
    return input->problem->driven > 0 && !(input->raw && array == STENCIL_ARRAY_U)
               ? stencil_driven_read(input, &from, array, box, to)
               : STENCIL_OK;
}

/* Tells whether a stencil point at `offset` along an axis reads the index `cell` from some updated cell. */
static bool axis_shows(const stencil_problem *problem, int axis, int64_t cell, int64_t offset) {
    const int64_t n = problem->n[axis], from = cell - offset, low = -1 - cell - offset, high = low + 2 * n;
    const bool inside = from >= 0 && from < n;
    switch (problem->boundary[axis]) {
    case STENCIL_PERIODIC:
        return true;
    case STENCIL_MIRROR: /* index -1 - k mirrors cell k, n + k mirrors n - 1 - k */
        return inside || (low >= 0 && low < n) || (high >= 0 && high < n);
    default:
        return inside;
    }
}

/* Tells whether a step reads or updates a cell (z, y, x; counted from the first updated cell). A point of
 * weight 0 does not use a finite value, but uses NaN or Inf. */
static bool is_used(const stencil_problem *problem, const int64_t cell[3], bool finite) {
    int32_t offset[STENCIL_POINTS_MAX][3];
    bool used = true;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        used = used && cell[axis] >= 0 && cell[axis] < problem->n[axis];
    const int count = used ? 0 : stencil_shape_offsets(problem->shape, offset);
    for (int k = 0; k < count && !used; k++) {
        used = !finite || problem->weight[k] != 0;
        for (int axis = 0; axis < STENCIL_AXES && used; axis++)
            used = axis_shows(problem, axis, cell[axis], offset[k][axis]);
    }
    return used;
}

enum { MISSING, LIMITED, NONFINITE, FAULTS };

/* Number and first position of the cells with each kind of fault, among an array's stored numbers or (finite)
 * among its values. */
typedef struct finding {
    stencil_input *input;
    stencil_array array;
    bool finite;    /* whether to look for NONFINITE values only, else for all other faults */
    bool allow_nan; /* whether NaN is no fault of a stored number */
    int64_t count[FAULTS], at[FAULTS][3];
    double number[FAULTS];
} finding;

static int marker_of(const stencil_values *values, double stored, bool allow_nan) {
    for (int i = 0; i < values->marker_count; i++)
        if (stored == values->marker[i] || (!allow_nan && isnan(stored) && isnan(values->marker[i])))
            return i;
    return -1;
}

/* Returns the fault of a number or value; FAULTS: none. Where NaN marks cells without a value, a NaN that no
 * step uses is accepted. */
static int fault_of(const finding *f, const int64_t cell[3], double number) {
    const stencil_values *values = &f->input->facts.values[f->array];
    const stencil_problem *problem = f->input->problem;
    if (f->finite)
        return isfinite(number) || (isnan(number) && values->has_nan && !is_used(problem, cell, false))
                   ? FAULTS
                   : NONFINITE;
    const bool missing = marker_of(values, number, f->allow_nan) >= 0;
    return (missing || number < values->least || number > values->most) &&
                   is_used(problem, cell, isfinite(number))
               ? (missing ? MISSING : LIMITED)
               : FAULTS;
}

static stencil_status store_number(void *context, const stencil_box *slab, const stencil_cells *cells) {
    (void)slab;
    *(double *)context = *(const double *)cells->at;
    return STENCIL_OK;
}

/* Returns the dataset that a value of an array which is not finite comes from: of a driven cell the one with
 * such a number, or the first of its sum; else that of the array. */
static int culprit(stencil_input *input, stencil_array array, const int64_t cell[3]) {
    const stencil_problem *problem = input->problem;
    const stencil_box one = {.first = {cell[0], cell[1], cell[2]}, .n = {1, 1, 1}};
    const int k = stencil_array_in_sum(array);
    const bool source = array != STENCIL_ARRAY_U && problem->spec.source != STENCIL_SOURCE_NONE;
    const int of_array = source                     ? stencil_source_dataset(problem->spec.source, k)
                         : array == STENCIL_ARRAY_U ? STENCIL_SOURCE_NONE
                                                    : STENCIL_DATASET_VALUE + k;
    stencil_cell_kind kind = STENCIL_KIND_PLAIN;
    const stencil_cells to = stencil_cells_dense(STENCIL_TWO_BYTES, &kind, &one);
    if (problem->spec.driven_count == 0 || input->raw || read_all_kinds(input, &one, &to) != STENCIL_OK ||
        kind != STENCIL_KIND_DRIVEN)
        return of_array;
    for (int i = 0; i < problem->spec.driven_count; i++) {
        double number = 0.0;
        const int dataset = STENCIL_DATASET_VALUE + i;
        if (stencil_numbers_visit(input, dataset, &one, store_number, &number) == STENCIL_OK &&
            !isfinite(problem->precision == STENCIL_FLOAT32 ? (float)number : number))
            return dataset;
    }
    return STENCIL_DATASET_VALUE;
}

/* Fails with a message such as "12 cells of /u have no value (_FillValue -999), the first one /u[3][4]: …".
 */
static stencil_status tell(const finding *f, int fault) {
    const stencil_values *values = &f->input->facts.values[f->array];
    const stencil_problem *problem = f->input->problem;
    const char *path = f->input->path, *name = dataset_name(f->input, f->array);
    const double stored = f->number[fault];
    const bool one = f->count[fault] == 1;
    const int marker = fault == MISSING ? marker_of(values, stored, false) : 0;
    const bool by_default = values->by_default && marker == values->marker_count - 1;
    char index[80] = "";
    if (fault == NONFINITE)
        return stencil_input_refuse(f->input, culprit(f->input, f->array, f->at[fault]), f->at[fault]);
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        stencil_text_add(index, sizeof index, "[%" PRId64 "]", f->at[fault][axis] - problem->first[axis]);
    CHECK(fault != MISSING, BAD_DATA,
          "'%s': %" PRId64 " cell%s of %s %s no value (%s %g), the first one %s%s: give %s one, or %s%s",
          path, f->count[fault], one ? "" : "s", name, one ? "has" : "have",
          by_default                ? "the fill value of the dataset,"
          : marker < values->filled ? "_FillValue"
                                    : "missing_value",
          stored, name, index, one ? "it" : "each",
          by_default ? "write the array as a dataset without that fill value" : "remove that attribute",
          isnan(stored) && !by_default ? " and use --allow-nonfinite" : "");
    FAIL(BAD_DATA,
         "'%s': %" PRId64
         " cell%s of %s %s outside of the valid range from %g to %g%s, the first one %s%s is "
         "%g: mend %s, or remove the attributes valid_range, valid_min and valid_max",
         path, f->count[fault], one ? "" : "s", name, one ? "is" : "are", values->least, values->most,
         values->packed ? " (packed)" : "", name, index, stored, one ? "it" : "them");
}

static stencil_status judge_slab(void *context, const stencil_box *slab, const stencil_cells *cells) {
    finding *f = context;
    const int64_t *n = slab->n, *first = slab->first;
    stencil_cells all = *cells;
    int64_t element = 0, at[3];
    if (!f->finite)
        all.precision = STENCIL_FLOAT64; /* stored numbers are double in any precision of the problem */
    else if (!stencil_cells_find_nonfinite(cells, n, at))
        return STENCIL_OK;
    for (int64_t r = 0; r < n[STENCIL_Z] * n[STENCIL_Y]; r++)
        for (int64_t x = 0; x < n[STENCIL_X]; x++) {
            const int64_t cell[3] = {first[STENCIL_Z] + r / n[STENCIL_Y], first[STENCIL_Y] + r % n[STENCIL_Y],
                                     first[STENCIL_X] + x};
            const double number = stencil_cells_value(&all, element++);
            const int fault = fault_of(f, cell, number);
            if (fault == FAULTS || f->count[fault]++ > 0)
                continue;
            f->number[fault] = number;
            memcpy(f->at[fault], cell, sizeof cell);
        }
    return f->count[NONFINITE] > 0 ? tell(f, NONFINITE) : STENCIL_OK;
}

/* Checks all cells of /u, or the updated cells of its source: either that values are finite, or for cells
 * without a value that a step uses and values out of range. */
static stencil_status check_values(stencil_input *input, stencil_array array, bool finite, bool allow_nan) {
    const stencil_reader from = {finite ? read_box : stencil_stored_read, input};
    const stencil_mesh mesh = stencil_problem_mesh(input->problem, 1);
    const stencil_box whole = stencil_digest_array(input->problem, array);
    const stencil_slabs slabs = {&from, &mesh, array, .cell_bytes = finite ? 0 : sizeof(double)};
    finding f = {.input = input, .array = array, .finite = finite, .allow_nan = allow_nan};
    input->read_as = STENCIL_FLOAT64;
    TRY(stencil_slabs_visit(&slabs, &whole, judge_slab, &f));
    for (int fault = 0; fault < FAULTS; fault++)
        if (f.count[fault] > 0)
            return tell(&f, fault);
    return STENCIL_OK;
}

/* Reads a box and rejects non-finite values. Boxes come in any order: where one has such a value, the whole
 * array is searched for the first. */
static stencil_status read_finite(void *context, stencil_array array, const stencil_box *box,
                                  const stencil_cells *to) {
    stencil_input *input = context;
    int64_t found[3];
    TRY(read_box(context, array, box, to));
    if (!stencil_array_has_values(array) || (array < STENCIL_ARRAY_COUNT && input->judged[array]) ||
        !stencil_cells_find_nonfinite(to, box->n, found))
        return STENCIL_OK;
    if (array >= STENCIL_ARRAY_COUNT ||
        (array != STENCIL_ARRAY_U && input->problem->spec.source == STENCIL_SOURCE_NONE)) {
        const int64_t cell[3] = {box->first[0] + found[0], box->first[1] + found[1],
                                 box->first[2] + found[2]};
        return stencil_input_refuse(input, culprit(input, array, cell), cell);
    }
    if (input->facts.values[array].has_nan)
        TRY(check_values(input, array, false, false));
    TRY(check_values(input, array, true, false));
    input->judged[array] = true;
    return STENCIL_OK;
}

stencil_reader stencil_input_reader(stencil_input *input, const stencil_problem *problem,
                                    bool allow_nonfinite) {
    input->problem = problem;
    input->finite = !allow_nonfinite;
    return (stencil_reader){allow_nonfinite ? read_box : read_finite, input};
}

stencil_status stencil_input_check_written(stencil_input *input, const stencil_problem *problem, bool allow,
                                           stencil_notes *notes) {
    const int64_t u = input->facts.unwritten[STENCIL_ARRAY_U],
                  cells = problem->extent[0] * problem->extent[1] * problem->extent[2];
    CHECK(u == 0 || allow, BAD_DATA,
          "'%s': %" PRId64 " of %" PRId64 " cells of %s were never written: write them, or use "
          "--allow-unwritten to take what HDF5 gives there (the fill value, most often 0)",
          input->path, u, cells, input->facts.field);
    stencil_values *values = &input->facts.values[STENCIL_ARRAY_U];
    if (u > 0 && values->by_default) {
        values->marker_count--;
        values->by_default = false;
    }
    input->problem = problem;
    for (int array = STENCIL_ARRAY_U; array < STENCIL_ARRAY_COUNT; array++)
        if (input->facts.unwritten[array] > 0)
            stencil_notes_warn(
                notes,
                "%" PRId64 " of %" PRId64 " cells of %s were never written: they have the fill "
                "value, most often 0",
                input->facts.unwritten[array], cells, dataset_name(input, (stencil_array)array));
    return STENCIL_OK;
}

stencil_status stencil_input_check(stencil_input *input, const stencil_problem *problem,
                                   bool allow_nonfinite) {
    input->problem = problem;
    const int count = problem->spec.source != STENCIL_SOURCE_NONE ? STENCIL_ARRAY_B + 1 : STENCIL_ARRAY_U + 1;
    for (int array = STENCIL_ARRAY_U; array < count; array++) {
        const stencil_values *values = &input->facts.values[array];
        const bool limited = values->least > -INFINITY || values->most < INFINITY;
        /* If NaN is the only marker, the reader itself finds the cells that have it. */
        if (limited || values->marker_count > (values->has_nan ? 1 : 0))
            TRY(check_values(input, (stencil_array)array, false, allow_nonfinite));
    }
    return STENCIL_OK;
}

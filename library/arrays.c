/* Arrays of the caller, of any strides, as boxes of cells. */
#include "library/inside.h"

#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "solver/problem/classes.h"
#include "solver/problem/faces.h"
#include "solver/problem/factors.h"
#include "solver/problem/rows.h"

const char *const stencil_given_names[] = {"b",
                                           "f",
                                           "q",
                                           "b2",
                                           "b3",
                                           "b4",
                                           "q2",
                                           "q3",
                                           "q4",
                                           "fixed_value",
                                           "fixed_value2",
                                           "fixed_value3",
                                           "fixed_value4",
                                           "k",
                                           "fixed",
                                           "insulated",
                                           "class",
                                           NULL};

static int64_t bytes_of(int type) {
    return type == STENCIL_TYPE_FLOAT64 ? (int64_t)sizeof(double)
           : type == STENCIL_TYPE_UINT8 ? 1
                                        : (int64_t)sizeof(float);
}

stencil_status stencil_array_take(stencil_array_t *to, const stencil_array_t *from, const char *name,
                                  int rank, const int64_t *extent, bool floating) {
    TRY(stencil_structure_take(to, sizeof *to, from, "stencil_array_t"));
    CHECK(to->memory == STENCIL_MEMORY_HOST || to->memory == STENCIL_MEMORY_DEVICE, USAGE,
          "array %s: memory is %d, which is no stencil_memory_t", name, (int)to->memory);
    CHECK(to->data != NULL, USAGE, "array %s has no data", name);
    CHECK(floating ? to->type == STENCIL_TYPE_FLOAT32 || to->type == STENCIL_TYPE_FLOAT64
                   : to->type == STENCIL_TYPE_UINT8,
          USAGE, "array %s: its type has to be %s", name, floating ? "FLOAT32 or FLOAT64" : "UINT8");
    if (to->stride[0] == 0 && to->stride[1] == 0 && to->stride[2] == 0) {
        int64_t bytes = bytes_of(to->type);
        for (int axis = rank - 1; axis >= 0; axis--) {
            to->stride[axis] = bytes;
            CHECK(stencil_multiply(bytes, extent[axis], &bytes), USAGE,
                  "array %s: its cells cannot be counted", name);
        }
    }
    return STENCIL_OK;
}

/* An array with the strides of all three axes, from the first updated cell of its problem on. */
typedef struct view {
    char *at;
    int64_t stride[3]; /* z, y, x */
    int type;
} view;

/* Views an array of a problem from the cell `first` on, whose index counts from the first updated cell. */
static view view_of(const stencil_array_t *array, const stencil_problem *problem, const int64_t first[3]) {
    view v = {.at = array->data, .type = array->type};
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++) {
        v.stride[axis] = array->stride[stencil_list_index(problem->rank, axis)];
        v.at += (first[axis] - problem->first[axis]) * v.stride[axis];
    }
    return v;
}

stencil_strided stencil_array_strided(const stencil_array_t *array, const stencil_problem *problem) {
    const view v = view_of(array, problem, (const int64_t[3]){0, 0, 0});
    return (stencil_strided){v.at,
                             {v.stride[STENCIL_Z], v.stride[STENCIL_Y], v.stride[STENCIL_X]},
                             v.type == STENCIL_TYPE_FLOAT64};
}

static char *row_of(const view *v, int64_t z, int64_t y) {
    return v->at + z * v->stride[STENCIL_Z] + y * v->stride[STENCIL_Y];
}

/* Copies cells of `bytes` bytes between rows of any strides in bytes. */
static void copy_row(char *to, int64_t to_stride, const char *from, int64_t from_stride, int64_t count,
                     int64_t bytes) {
    if (to_stride == bytes && from_stride == bytes) {
        memcpy(to, from, (size_t)(count * bytes));
        return;
    }
    for (int64_t i = 0; i < count; i++)
        memcpy(to + i * to_stride, from + i * from_stride, (size_t)bytes);
}

/* Returns a number of an array as double, in which float and double are exact. */
static double number_at(const char *at, int type) {
    float small;
    double large;
    if (type == STENCIL_TYPE_FLOAT32) {
        memcpy(&small, at, sizeof small);
        return (double)small;
    }
    memcpy(&large, at, sizeof large);
    return large;
}

/* A box of cells between an array and a place in memory. */
typedef struct move {
    view array;
    const stencil_cells *cells;
    const int64_t *n;
    double scale; /* by which numbers are multiplied in double, before they are rounded once */
    bool same;    /* the cells are copied as they are */
    bool writes;  /* to the array, else from it */
} move;

static void move_row(const move *m, int64_t z, int64_t y) {
    const stencil_cells *c = m->cells;
    const int64_t bytes = (int64_t)stencil_precision_bytes(c->precision), at = z * c->plane + y * c->row,
                  stride = m->array.stride[STENCIL_X];
    char *own = (char *)c->at + at * bytes, *other = row_of(&m->array, z, y);
    if (m->writes)
        copy_row(other, stride, own, bytes, m->n[STENCIL_X], bytes);
    else if (m->same)
        copy_row(own, bytes, other, stride, m->n[STENCIL_X], bytes);
    else
        for (int64_t x = 0; x < m->n[STENCIL_X]; x++)
            stencil_cells_set(c, at + x, m->scale * number_at(other + x * stride, m->array.type));
}

static void move_box(const move *m) {
    const int64_t ny = m->n[STENCIL_Y], rows = m->n[STENCIL_Z] * ny;
    if (omp_in_parallel() || rows * m->n[STENCIL_X] < 1 << 16) { /* a parallel region takes longer */
        for (int64_t r = 0; r < rows; r++)
            move_row(m, r / ny, r % ny);
        return;
    }
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; r++)
        move_row(m, r / ny, r % ny);
}

/* Makes cells of a row that keep their values driven, where fixed_value has a number for them. */
static void read_driven_row(const stencil_arrays *a, const stencil_box *box, int64_t z, int64_t y,
                            stencil_cell_kind *kind) {
    if (a->given[STENCIL_GIVEN_VALUE].data == NULL)
        return;
    const view v = view_of(&a->given[STENCIL_GIVEN_VALUE], a->problem, box->first);
    for (int64_t x = 0; x < box->n[STENCIL_X]; x++) {
        const int64_t cell[3] = {box->first[0] + z, box->first[1] + y, box->first[2] + x};
        const bool keeps = kind[x] == STENCIL_KIND_KEPT || stencil_cell_is_beside_fixed(a->problem, cell);
        if (keeps && !isnan(number_at(row_of(&v, z, y) + x * v.stride[STENCIL_X], v.type)))
            kind[x] = STENCIL_KIND_DRIVEN;
    }
}

/* Writes the kind of each cell of a box: its class, unless it is fixed or insulated. */
static void read_kinds(const stencil_arrays *a, const stencil_box *box, const stencil_cells *to) {
    static const int order[] = {STENCIL_GIVEN_CLASS, STENCIL_GIVEN_FIXED, STENCIL_GIVEN_INSULATED};
    for (int64_t r = 0; r < box->n[STENCIL_Z] * box->n[STENCIL_Y]; r++) {
        const int64_t z = r / box->n[STENCIL_Y], y = r % box->n[STENCIL_Y];
        stencil_cell_kind *kind = (stencil_cell_kind *)to->at + z * to->plane + y * to->row;
        memset(kind, 0, (size_t)box->n[STENCIL_X] * sizeof *kind); /* all are plain */
        for (int k = 0; k < 3; k++) {
            if (order[k] == STENCIL_GIVEN_INSULATED)
                read_driven_row(a, box, z, y, kind);
            if (a->given[order[k]].data == NULL)
                continue;
            const view v = view_of(&a->given[order[k]], a->problem, box->first);
            const uint8_t *row = (const uint8_t *)row_of(&v, z, y);
            for (int64_t x = 0; x < box->n[STENCIL_X]; x++) {
                const uint8_t value = row[x * v.stride[STENCIL_X]];
                if (order[k] == STENCIL_GIVEN_CLASS)
                    kind[x] = value; /* all rows that there may be */
                else if (value != 0)
                    kind[x] = order[k] == STENCIL_GIVEN_FIXED ? STENCIL_KIND_KEPT : STENCIL_KIND_INSULATED;
            }
        }
    }
}

static const char *source_name(const stencil_problem *problem) {
    return stencil_given_names[problem->spec.source - 1];
}

stencil_status stencil_arrays_refuse(const stencil_arrays *a, stencil_array array, const int64_t cell[3]) {
    char text[96] = "";
    for (int axis = STENCIL_AXES - a->problem->rank; axis < STENCIL_AXES; axis++)
        stencil_text_add(text, sizeof text, "%s%" PRId64, text[0] != '\0' ? ", " : "",
                         cell[axis] - a->problem->first[axis]);
    FAIL(BAD_DATA, "%s[%s] is NaN or infinite in %s: allow_nonfinite takes it for a value",
         array == STENCIL_ARRAY_U                         ? "u"
         : a->problem->spec.source == STENCIL_SOURCE_NONE ? "fixed_value, or what walls add,"
                                                          : source_name(a->problem),
         text, stencil_precision_name(a->problem->precision));
}

/* Refuses a box with a value that is NaN or infinite. */
static stencil_status check_finite(const stencil_arrays *a, stencil_array array, const stencil_box *box,
                                   const stencil_cells *cells) {
    int64_t found[3];
    if (a->allow_nonfinite || !stencil_cells_find_nonfinite(cells, box->n, found))
        return STENCIL_OK;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        found[axis] += box->first[axis];
    return stencil_arrays_refuse(a, array, found);
}

/* Divides a box of a source by the sums of the weights of its cells' faces, as the sums of poisson with k
 * are: each is read again, to be rounded once. */
static stencil_status divide(const stencil_arrays *a, const stencil_box *box, const move *m) {
    const stencil_reader self = {stencil_arrays_read, (void *)(uintptr_t)a};
    const stencil_cells *to = m->cells;
    stencil_faces faces;
    TRY(stencil_faces_load(&faces, a->problem, &self, box));
    for (int64_t r = 0; r < box->n[STENCIL_Z] * box->n[STENCIL_Y]; r++) {
        const int64_t z = r / box->n[STENCIL_Y], y = r % box->n[STENCIL_Y];
        for (int64_t x = 0; x < box->n[STENCIL_X]; x++) {
            const int64_t cell[3] = {box->first[0] + z, box->first[1] + y, box->first[2] + x};
            const double sum = stencil_faces_sum(a->problem, &faces, cell);
            const char *at = row_of(&m->array, z, y) + x * m->array.stride[STENCIL_X];
            stencil_cells_set(to, z * to->plane + y * to->row + x,
                              m->scale / sum * number_at(at, m->array.type));
        }
    }
    stencil_faces_destroy(&faces);
    return STENCIL_OK;
}

/* Reads array k of the source, 0 where there is none. */
static stencil_status read_source(const stencil_arrays *a, int k, const stencil_box *box,
                                  const stencil_cells *to) {
    const stencil_problem *problem = a->problem;
    const stencil_source source = problem->spec.source;
    const int more = source == STENCIL_SOURCE_B ? STENCIL_GIVEN_MORE_B : STENCIL_GIVEN_MORE_Q;
    if (source == STENCIL_SOURCE_NONE || k >= stencil_problem_sources(problem)) {
        stencil_cells_clear(to, box->n);
        return STENCIL_OK;
    }
    const stencil_array_t *from = &a->given[k == 0 ? (int)source - 1 : more + k - 1];
    move m = {view_of(from, problem, box->first), to, box->n, .scale = problem->source_scale};
    m.same = (int)to->precision + STENCIL_TYPE_FLOAT32 == from->type && source == STENCIL_SOURCE_B;
    if (problem->coefficients != STENCIL_COEFFICIENTS_NONE && problem->spec.kind == STENCIL_KIND_POISSON)
        return divide(a, box, &m);
    move_box(&m);
    return STENCIL_OK;
}

/* Gives driven cells of a box, which classes says, what they have in an array: of u the sum at the begin of
 * the run, of array k of sums its value. */
static void put_driven(const stencil_arrays *a, stencil_array array, const stencil_box *box,
                       const stencil_cells *to, const stencil_cells *classes) {
    const stencil_problem *problem = a->problem;
    const int in_sum = stencil_array_in_sum(array), count = problem->spec.driven_count;
    for (int k = in_sum >= 0 ? in_sum : 0; k < count && (in_sum < 0 || k == in_sum); k++) {
        const view v = view_of(&a->given[STENCIL_GIVEN_VALUE + k], problem, box->first);
        /* The step before the run would end at its begin. */
        const double factor =
            stencil_problem_factor(problem, STENCIL_SUM_ARRAYS + k, problem->origin.steps - 1);
        for (int64_t r = 0; r < box->n[STENCIL_Z] * box->n[STENCIL_Y]; r++) {
            const int64_t z = r / box->n[STENCIL_Y], y = r % box->n[STENCIL_Y];
            const uint8_t *class = (const uint8_t *)classes->at + z * classes->plane + y * classes->row;
            for (int64_t x = 0; x < box->n[STENCIL_X]; x++) {
                const int64_t at = z * to->plane + y * to->row + x;
                const double number = number_at(row_of(&v, z, y) + x * v.stride[STENCIL_X], v.type);
                const double before = k > 0 ? stencil_cells_value(to, at) : 0.0;
                if (class[x] == STENCIL_CLASS_DRIVEN)
                    stencil_cells_set(to, at,
                                      in_sum < 0
                                          ? stencil_driven_add(problem->precision, k, factor, number, before)
                                          : number);
            }
        }
    }
}

static stencil_status read_driven(const stencil_arrays *a, stencil_array array, const stencil_box *box,
                                  const stencil_cells *to) {
    const stencil_reader self = {stencil_arrays_read, (void *)(uintptr_t)a};
    void *memory = NULL;
    if (a->problem->driven == 0 || stencil_box_cells(box) == 0)
        return STENCIL_OK;
    TRY(stencil_memory_alloc(&memory, stencil_box_cells(box), "the classes of the cells"));
    const stencil_cells classes = stencil_cells_dense(STENCIL_BYTE, memory, box);
    const stencil_status status = stencil_classes_read(a->problem, &self, box, &classes);
    if (status == STENCIL_OK)
        put_driven(a, array, box, to, &classes);
    free(memory);
    return status;
}

/* Reads an array of numbers as it is. */
static void read_plain(const stencil_arrays *a, const stencil_array_t *from, const stencil_box *box,
                       const stencil_cells *to) {
    move m = {view_of(from, a->problem, box->first), to, box->n, .scale = 1};
    m.same = (int)to->precision + STENCIL_TYPE_FLOAT32 == from->type;
    move_box(&m);
}

stencil_status stencil_arrays_read(void *arrays, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    const stencil_arrays *a = arrays;
    const stencil_problem *problem = a->problem;
    const stencil_reader self = {stencil_arrays_read, arrays};
    const bool kinds = array == STENCIL_ARRAY_KIND;
    if (kinds)
        read_kinds(a, box, to);
    if (array == STENCIL_ARRAY_K)
        read_plain(a, &a->given[STENCIL_GIVEN_K], box, to);
    if (kinds || array == STENCIL_ARRAY_K)
        return STENCIL_OK;
    if (array == STENCIL_ARRAY_CLASS || array == STENCIL_ARRAY_ROW)
        return stencil_classes_read(problem, &self, box, to);
    if (stencil_array_axis(array) >= 0)
        return stencil_faces_make(problem, &self, stencil_array_axis(array), box, to);
    if (array == STENCIL_ARRAY_U) {
        read_plain(a, &a->u, box, to);
    } else {
        TRY(read_source(a, stencil_array_in_sum(array), box, to));
        TRY(stencil_classes_clear_source(problem, &self, box, to));
        if (array == STENCIL_ARRAY_B)
            TRY(stencil_classes_add_constants(problem, &self, box, to));
    }
    TRY(read_driven(a, array, box, to));
    return check_finite(a, array, box, to);
}

/* The array that slabs of a field are written to. */
typedef struct writing {
    const stencil_array_t *to;
    const stencil_problem *problem;
} writing;

static stencil_status write_slab(void *context, const stencil_box *slab, const stencil_cells *cells) {
    const writing *w = context;
    const move m = {view_of(w->to, w->problem, slab->first), cells, slab->n, .scale = 1, .writes = true};
    move_box(&m);
    return STENCIL_OK;
}

stencil_status stencil_array_write(const stencil_array_t *to, const stencil_problem *problem,
                                   const stencil_plan *plan, const stencil_reader *from) {
    const stencil_mesh *mesh = &plan->cut.mesh;
    const stencil_box all = stencil_mesh_array(mesh);
    const view v = view_of(to, problem, all.first);
    const int64_t bytes = (int64_t)stencil_precision_bytes(problem->precision), row = v.stride[STENCIL_Y];
    const int64_t plane = problem->rank == 3 ? v.stride[STENCIL_Z] : row * all.n[STENCIL_Y];
    /* Rows that lie as rows of a run do are written in place, by GPUs as well. */
    if (v.stride[STENCIL_X] == bytes && row > 0 && row % bytes == 0 && plane > 0 && plane % row == 0) {
        const stencil_cells cells = {
            problem->precision, v.at, {all.first[0], all.first[1], all.first[2]}, row / bytes, plane / bytes};
        return from->read(from->context, STENCIL_ARRAY_U, &all, &cells);
    }
    const stencil_slabs slabs = {.from = from, .mesh = mesh, .array = STENCIL_ARRAY_U};
    return stencil_slabs_visit(&slabs, &all, write_slab, &(writing){to, problem});
}

#include "solver/run/snapshot.h"

#include <stdlib.h>

#include "solver/device/gpu_copy.h"
#include "solver/problem/faces.h"
#include "solver/run/drive.h"

struct stencil_snapshot {
    const stencil_problem *problem;
    stencil_field host;                    /* the copy, unless it lies on GPUs */
    stencil_field sum[STENCIL_SUM_ARRAYS]; /* the source term, and arrays behind it, not scaled; `data` NULL:
                                              not kept */
    stencil_field face[3];                 /* weights of faces along each axis; `data` NULL: not kept */
    uint8_t *classes;                      /* classes of the updated cells, without gaps; NULL: not kept */
    uint16_t *rows;                        /* the numbers of their rows, likewise */
    stencil_gpu_copy *gpu;                 /* the copy on GPUs; NULL: none */
    bool on_gpu;                           /* the last copy lies on GPUs */
    bool full;                             /* no memory has room for a copy */
    const char *where;                     /* where the last copy was made; NULL: nowhere */
    bool gpu_full;                         /* no GPU has */
    int exponent;                          /* the copy has the cells times 2^exponent */
};

/* Memory that stays free beside a copy, as a share of it: that for other programs, and for other plans of the
 * run; and slabs of cells: one for the thread that writes, one for whoever reads the run's cells meanwhile.
 */
static const double spare = 0.25;
static const int spare_slabs = 2;

stencil_status stencil_snapshot_create(stencil_snapshot **snapshot, const stencil_problem *problem) {
    *snapshot = calloc(1, sizeof **snapshot);
    CHECK(*snapshot != NULL, NO_MEMORY, "no memory for a copy of the field");
    (*snapshot)->problem = problem;
    return STENCIL_OK;
}

/* Copies the field into memory of the GPUs; false: it is on no GPU, or there is no room. */
static bool take_on_gpus(stencil_snapshot *s, const stencil_run *r) {
#ifdef STENCIL_HAVE_CUDA
    if (r->on.gpu != NULL && !s->gpu_full) {
        s->gpu_full = stencil_gpu_copy_take(&s->gpu, r->on.gpu, r->from) != STENCIL_OK;
        return !s->gpu_full;
    }
#endif
    (void)s, (void)r;
    return false;
}

/* Creates a field for a copy, where memory has room for it. */
static stencil_status create_field(const stencil_snapshot *s, stencil_field *field, const char *what) {
    const double bytes = (double)stencil_layout_bytes(&s->problem->layout);
    const double wanted = (1.0 + spare) * bytes + (double)(spare_slabs * STENCIL_SLAB_BYTES);
    CHECK((double)stencil_memory_available_bytes() > wanted, NO_MEMORY, "no memory for %s", what);
    return stencil_field_create(field, &s->problem->layout, what);
}

static stencil_status take_on_host(stencil_snapshot *s, stencil_run *r) {
    const stencil_box array = stencil_mesh_array(&r->on.plan->cut.mesh);
    if (s->host.data == NULL)
        TRY(create_field(s, &s->host, "a copy of the field"));
    const stencil_cells all = stencil_field_cells(&s->host), to = stencil_cells_from(&all, array.first);
    const int exponent = r->exponent;
    r->exponent = 0; /* the reader of the copy scales */
    const stencil_status status = stencil_run_read(r, STENCIL_ARRAY_U, &array, &to);
    r->exponent = exponent;
    return status;
}

stencil_status stencil_snapshot_take(stencil_snapshot *s, stencil_run *r) {
    CHECK(!s->full, NO_MEMORY, "no memory for a copy of the field");
    s->exponent = r->exponent;
    s->on_gpu = take_on_gpus(s, r);
    const stencil_status status = s->on_gpu ? STENCIL_OK : take_on_host(s, r);
    s->full = status == STENCIL_NO_MEMORY;
    if (status == STENCIL_OK)
        s->where = s->on_gpu ? "GPU" : "host";
    return status;
}

void stencil_snapshot_drop(stencil_snapshot *s) {
#ifdef STENCIL_HAVE_CUDA
    stencil_gpu_copy_destroy(s->gpu);
    s->gpu = NULL;
#endif
    stencil_field_destroy(&s->host);
    s->host = (stencil_field){0};
}

static stencil_status keep_sum(stencil_snapshot *s, stencil_run *r, const stencil_box *updated, int k) {
    TRY(create_field(s, &s->sum[k], "a copy of the source term"));
    const stencil_cells to = stencil_field_cells(&s->sum[k]);
    return stencil_run_read(r, stencil_array_of_sum(k), updated, &to);
}

static stencil_status keep_classes(stencil_snapshot *s, stencil_run *r, const stencil_box *updated) {
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, stencil_box_cells(updated), "a copy of the classes of cells"));
    s->classes = memory;
    const stencil_cells to = stencil_cells_dense(STENCIL_BYTE, s->classes, updated);
    TRY(stencil_run_read(r, STENCIL_ARRAY_CLASS, updated, &to));
    if (!stencil_problem_has_wide_rows(s->problem))
        return STENCIL_OK;
    void *rows = NULL;
    TRY(stencil_memory_alloc(&rows, stencil_box_cells(updated) * (int64_t)sizeof *s->rows,
                             "a copy of the numbers of the cells' rows"));
    s->rows = rows;
    const stencil_cells to_rows = stencil_cells_dense(STENCIL_TWO_BYTES, s->rows, updated);
    return stencil_run_read(r, STENCIL_ARRAY_ROW, updated, &to_rows);
}

static stencil_status keep_faces(stencil_snapshot *s, stencil_run *r, int axis, const stencil_box *updated) {
    const stencil_box box = stencil_faces_box(updated, axis);
    TRY(create_field(s, &s->face[axis], "a copy of the faces of cells"));
    const stencil_cells all = stencil_field_cells(&s->face[axis]), to = stencil_cells_from(&all, box.first);
    return stencil_run_read(r, stencil_array_of_face(axis), &box, &to);
}

stencil_status stencil_snapshot_keep_arrays(stencil_snapshot *s, stencil_run *r) {
    const int64_t *n = s->problem->n;
    const stencil_box updated = {.n = {n[0], n[1], n[2]}};
    for (int k = 0; k < stencil_problem_sum_arrays(s->problem); k++)
        TRY(keep_sum(s, r, &updated, k));
    for (int axis = STENCIL_AXES - s->problem->rank; axis < STENCIL_AXES; axis++)
        if (stencil_problem_has_fields(s->problem))
            TRY(keep_faces(s, r, axis, &updated));
    return stencil_problem_has_classes(s->problem) ? keep_classes(s, r, &updated) : STENCIL_OK;
}

static void copy_cells(const stencil_field *field, const stencil_box *box, const stencil_cells *to) {
    const stencil_cells all = stencil_field_cells(field), from = stencil_cells_from(&all, box->first),
                        there = stencil_cells_from(to, box->first);
    stencil_cells_copy(&there, &from, box->n);
}

stencil_status stencil_snapshot_read(void *snapshot, stencil_array array, const stencil_box *box,
                                     const stencil_cells *to) {
    const stencil_snapshot *s = snapshot;
    const int in_sum = stencil_array_in_sum(array), axis = stencil_array_axis(array);
    CHECK(in_sum < 0 || s->sum[in_sum].data != NULL, INTERNAL, "no copy of the source was made");
    CHECK(array != STENCIL_ARRAY_CLASS || s->classes != NULL, INTERNAL, "no copy of the classes was made");
    if (in_sum >= 0) {
        copy_cells(&s->sum[in_sum], box, to);
        return STENCIL_OK;
    }
    if (axis >= 0) {
        const stencil_field *face = &s->face[axis];
        CHECK(face->data != NULL, INTERNAL, "no copy of the faces was made");
        copy_cells(face, box, to);
        return STENCIL_OK;
    }
    CHECK(array != STENCIL_ARRAY_ROW || s->rows != NULL, INTERNAL, "no copy of the rows was made");
    if (array == STENCIL_ARRAY_CLASS || array == STENCIL_ARRAY_ROW) {
        const int64_t *n = s->problem->n;
        const stencil_box updated = {.n = {n[0], n[1], n[2]}};
        void *const of = array == STENCIL_ARRAY_CLASS ? (void *)s->classes : (void *)s->rows;
        const stencil_cells all = stencil_cells_dense(stencil_array_precision(array, STENCIL_BYTE), of,
                                                      &updated),
                            from = stencil_cells_from(&all, box->first),
                            there = stencil_cells_from(to, box->first);
        stencil_cells_copy(&there, &from, box->n);
        return STENCIL_OK;
    }
#ifdef STENCIL_HAVE_CUDA
    if (s->on_gpu)
        TRY(stencil_gpu_copy_read(s->gpu, box, to));
#endif
    if (!s->on_gpu)
        copy_cells(&s->host, box, to);
    if (s->exponent != 0)
        stencil_cells_scale(to, box->n, -s->exponent);
    return STENCIL_OK;
}

const char *stencil_snapshot_place(const stencil_snapshot *s) {
    return s->where;
}

void stencil_snapshot_destroy(stencil_snapshot *s) {
    if (s == NULL)
        return;
    stencil_snapshot_drop(s);
    for (int k = 0; k < STENCIL_SUM_ARRAYS; k++)
        stencil_field_destroy(&s->sum[k]);
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        stencil_field_destroy(&s->face[axis]);
    free(s->classes);
    free(s->rows);
    free(s);
}

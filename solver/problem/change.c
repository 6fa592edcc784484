#include "solver/problem/change.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu.h"
#include "solver/problem/domain.h"
#include "solver/problem/faces.h"
#include "solver/problem/factors.h"

/* A step of a box of updated cells. */
typedef struct step {
    const stencil_problem *problem;
    int64_t before; /* steps that the field has gone through */
    stencil_box box;
    stencil_field u, next, sum[STENCIL_SUM_ARRAYS], face[3];
    stencil_sums sums;
    double factor[STENCIL_STEP_FACTORS];
    stencil_domain domain;
    stencil_weights weights, *rows; /* of a plain step; of the cycle and then of the palette, owned */
    stencil_classes classes;
    uint8_t *of, *mark; /* what `classes` points into, owned */
    uint16_t *row;
} step;

static void destroy(step *s) {
    stencil_field_destroy(&s->u);
    stencil_field_destroy(&s->next);
    for (int k = 0; k < STENCIL_SUM_ARRAYS; k++)
        stencil_field_destroy(&s->sum[k]);
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        stencil_field_destroy(&s->face[axis]);
    free(s->rows);
    free(s->of);
    free(s->mark);
    free(s->row);
}

/* Reads a box of an array into a field whose interior is the step's box. */
static stencil_status load(const step *s, const stencil_reader *from, stencil_array array,
                           const stencil_box *box, const stencil_field *to) {
    const stencil_mesh mesh = stencil_problem_mesh(s->problem, 1);
    const stencil_cells all = stencil_cells_in(&to->layout, to->data, s->box.first),
                        there = stencil_cells_from(&all, box->first);
    return stencil_boxes_fill(from, &mesh, array, box, &there);
}

/* Reads the classes of the box. Each group of cells is said to have several classes. */
static stencil_status load_classes(step *s, const stencil_reader *from) {
    const int64_t *n = s->box.n, groups = (n[STENCIL_X] + STENCIL_GROUP_CELLS - 1) / STENCIL_GROUP_CELLS;
    static const char what[] = "the residual of a frame";
    void *of = NULL, *mark = NULL, *row = NULL;
    int cycle_length;
    TRY(stencil_weights_make(&s->rows, &cycle_length, s->problem));
    TRY(stencil_memory_alloc(&of, n[STENCIL_Z] * s->domain.plane, what));
    s->of = of;
    TRY(stencil_memory_alloc(&mark, groups, what));
    s->mark = mark;
    memset(s->mark, STENCIL_MARK_MIXED, (size_t)groups);
    stencil_cells to = stencil_cells_dense(STENCIL_BYTE, s->of, &s->box);
    to.row = s->domain.row, to.plane = s->domain.plane;
    TRY(from->read(from->context, STENCIL_ARRAY_CLASS, &s->box, &to));
    if (stencil_problem_has_wide_rows(s->problem)) {
        TRY(stencil_memory_alloc(&row, n[STENCIL_Z] * s->domain.plane * (int64_t)sizeof *s->row, what));
        to.at = s->row = row;
        to.precision = STENCIL_TWO_BYTES;
        TRY(from->read(from->context, STENCIL_ARRAY_ROW, &s->box, &to));
    }
    s->classes = (stencil_classes){.of = s->of,
                                   .mark = s->mark,
                                   .row = s->row,
                                   .end = n[STENCIL_X],
                                   .palette = s->problem->varied > 0 ? s->rows + cycle_length : NULL};
    return STENCIL_OK;
}

/* Reads the weights of the faces of the box. */
static stencil_status load_faces(step *s, const stencil_reader *from, const stencil_layout *layout) {
    s->domain.divides = stencil_problem_relaxes(s->problem);
    for (int axis = STENCIL_AXES - s->problem->rank; axis < STENCIL_AXES; axis++) {
        stencil_field *face = &s->face[axis];
        const stencil_box box = stencil_faces_box(&s->box, axis);
        TRY(stencil_field_create(face, layout, "the residual of a frame"));
        const stencil_cells all = stencil_cells_in(&face->layout, face->data, s->box.first),
                            to = stencil_cells_from(&all, box.first);
        TRY(stencil_faces_fill(s->problem, from, axis, &box, &to));
        s->domain.face[axis] = stencil_field_cells(face).at;
    }
    return STENCIL_OK;
}

/* Reads the cells around the box as a run has them: zeros where only points of weight 0 reach. */
static stencil_status prepare(step *s, const stencil_reader *from) {
    const stencil_mesh mesh = stencil_problem_mesh(s->problem, 1);
    const stencil_box array = stencil_mesh_array(&mesh), around = stencil_box_grow(&s->box, mesh.ghosts),
                      shown = stencil_box_grow(&array, mesh.wraps),
                      window = stencil_box_common(&around, &shown);
    stencil_layout layout;
    TRY(stencil_layout_init(&layout, s->problem->precision, s->box.n, mesh.ghosts));
    TRY(stencil_field_create(&s->u, &layout, "the residual of a frame"));
    TRY(stencil_field_create_apart(&s->next, &s->u, "the residual of a frame"));
    TRY(load(s, from, STENCIL_ARRAY_U, &window, &s->u));
    for (int k = 0; k < stencil_problem_sum_arrays(s->problem); k++) {
        TRY(stencil_field_create(&s->sum[k], &layout, "the residual of a frame"));
        TRY(load(s, from, stencil_array_of_sum(k), &s->box, &s->sum[k]));
    }
    s->domain = (stencil_domain){
        .n = {s->box.n[0], s->box.n[1], s->box.n[2]},
        .row = layout.row,
        .plane = layout.plane,
        .u = {stencil_field_cells(&s->u).at, stencil_field_cells(&s->next).at},
        .b = stencil_problem_has_source(s->problem) ? stencil_field_cells(&s->sum[0]).at : NULL};
    s->sums = (stencil_sums){.sources = stencil_problem_sources(s->problem),
                             .driven = s->problem->spec.driven_count};
    for (int k = 0; k < stencil_problem_sum_arrays(s->problem); k++)
        s->sums.array[k] = stencil_field_cells(&s->sum[k]).at;
    memcpy(s->domain.image[STENCIL_HERE], s->domain.u, sizeof s->domain.u);
    if (stencil_problem_has_fields(s->problem))
        TRY(load_faces(s, from, &layout));
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++)
        s->factor[k] = stencil_problem_factor(s->problem, k, s->before);
    stencil_weights_round(&s->weights, s->problem->precision, s->problem->weight, s->factor[0]);
    return stencil_problem_has_classes(s->problem) ? load_classes(s, from) : STENCIL_OK;
}

static void sweep_rows(const step *s, int64_t first, int64_t last) {
    const stencil_cpu_pass pass = {.sweep = STENCIL_SWEEP_stream,
                                   .first = first,
                                   .last = last,
                                   .steps = 1,
                                   .weights = {&s->weights},
                                   .sums = &s->sums,
                                   .factor = s->factor,
                                   .classes = s->of != NULL ? &s->classes : NULL,
                                   .tile = {1, s->box.n[STENCIL_Y], s->box.n[STENCIL_X]}};
    stencil_cpu_best()->sweep[s->problem->precision][s->problem->shape->id](&s->domain, &pass);
}

static void write_differences(const step *s, int64_t row, const stencil_cells *to) {
    const int64_t z = row / s->box.n[STENCIL_Y], y = row % s->box.n[STENCIL_Y];
    const stencil_cells u = stencil_field_cells(&s->u), next = stencil_field_cells(&s->next);
    for (int64_t x = 0; x < s->box.n[STENCIL_X]; x++) {
        const int64_t at = z * u.plane + y * u.row + x;
        const bool updated = s->of == NULL || stencil_class_is_updated(s->of[at]);
        stencil_cells_set(to, z * to->plane + y * to->row + x,
                          updated ? stencil_cells_value(&next, at) - stencil_cells_value(&u, at) : 0.0);
    }
}

static void make(const step *s, const stencil_cells *to) {
    enum { SHARES = 64 };
    const int64_t rows = s->box.n[STENCIL_Z] * s->box.n[STENCIL_Y];
    const stencil_cells there = stencil_cells_from(to, s->box.first);
#pragma omp parallel for schedule(static) if (stencil_box_cells(&s->box) > 1 << 14)
    for (int64_t share = 0; share < SHARES; share++) {
        const int64_t first = stencil_share(rows, SHARES, share),
                      last = stencil_share(rows, SHARES, share + 1);
        if (first < last)
            sweep_rows(s, first, last);
        for (int64_t row = first; row < last; row++)
            write_differences(s, row, &there);
    }
}

stencil_status stencil_change_read(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    const stencil_change *change = context;
    const int64_t *n = change->problem->n;
    const stencil_box updated = {.n = {n[0], n[1], n[2]}};
    step s = {.problem = change->problem, .before = change->steps, .box = stencil_box_common(box, &updated)};
    CHECK(array == STENCIL_ARRAY_U, INTERNAL, "a step changes no other array than u");
    const int64_t rows = box->n[STENCIL_Z] * box->n[STENCIL_Y];
    for (int64_t row = 0; row < rows; row++)
        for (int64_t x = 0; x < box->n[STENCIL_X]; x++)
            stencil_cells_set(to, row / box->n[1] * to->plane + row % box->n[1] * to->row + x, 0.0);
    if (stencil_box_cells(&s.box) <= 0)
        return STENCIL_OK;
    const stencil_status status = prepare(&s, &change->from);
    if (status == STENCIL_OK)
        make(&s, to);
    destroy(&s);
    return status;
}

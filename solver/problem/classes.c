#include "solver/problem/classes.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/words.h"
#include "solver/problem/faces.h"
#include "solver/problem/rows.h"

/* Class of the first cell of a row of a slab. */
static const uint8_t *row_of(const stencil_cells *cells, const stencil_box *slab, int64_t row) {
    const int64_t ny = slab->n[STENCIL_Y];
    return (const uint8_t *)cells->at + row / ny * cells->plane + row % ny * cells->row;
}

/* A count of the classes of updated cells: how many keep their values, how many have weights of a row of
 * the palette; the number of the first one whose class does not exist. */
typedef struct found {
    const stencil_problem *problem;
    int64_t kept, driven, varied, strange;
} found;

static stencil_status count_classes(void *context, const stencil_box *slab, const stencil_cells *cells) {
    found *f = context;
    const int64_t *n = slab->n, *all = f->problem->n;
    int64_t kept = 0, driven = 0, varied = 0, strange = f->strange;
#pragma omp parallel for schedule(static) reduction(+ : kept, driven, varied) reduction(min : strange)
    for (int64_t r = 0; r < n[STENCIL_Z] * n[STENCIL_Y]; r++) {
        const uint8_t *of = row_of(cells, slab, r);
        const int64_t z = slab->first[STENCIL_Z] + r / n[STENCIL_Y],
                      y = slab->first[STENCIL_Y] + r % n[STENCIL_Y],
                      first = (z * all[STENCIL_Y] + y) * all[STENCIL_X] + slab->first[STENCIL_X];
        for (int64_t x = 0; x < n[STENCIL_X]; x++) {
            kept += of[x] == STENCIL_CLASS_KEPT || of[x] == STENCIL_CLASS_DRIVEN;
            driven += of[x] == STENCIL_CLASS_DRIVEN;
            varied += stencil_class_has_row(of[x]);
            if (of[x] == STENCIL_CLASS_NONE)
                strange = stencil_smaller(strange, first + x);
        }
    }
    f->kept += kept;
    f->driven += driven;
    f->varied += varied;
    f->strange = strange;
    return STENCIL_OK;
}

/* Refuses a cell of a class that does not exist: cell number `at` of the updated ones. */
static stencil_status refuse(const stencil_problem *problem, int64_t at) {
    const int64_t *n = problem->n, line = at / n[STENCIL_X];
    const int64_t cell[3] = {line / n[STENCIL_Y], line % n[STENCIL_Y], at % n[STENCIL_X]};
    char text[96] = "";
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        stencil_text_add(text, sizeof text, "%s%" PRId64, text[0] != '\0' ? ", " : "",
                         cell[axis] - problem->first[axis]);
    FAIL(BAD_DATA, "/class[%s] names no row of /stencil/weights, which has rows 0 to %d", text,
         problem->spec.class_count - 1);
}

/* A reader that makes classes of kinds, and adds rows that they need to the palette. */
typedef struct finding {
    stencil_problem *problem;
    const stencil_reader *from;
    bool full; /* there was no room for a row */
} finding;

static stencil_status read_found(void *context, stencil_array array, const stencil_box *box,
                                 const stencil_cells *to) {
    finding *f = context;
    (void)array;
    return stencil_classes_add(f->problem, f->from, box, to, &f->full);
}

/* Finds the classes of all cells, with what walls add in rows or in the source term. */
static stencil_status find(stencil_problem *problem, const stencil_reader *from, const double *weights,
                           bool in_source, found *f, bool *full) {
    const stencil_mesh mesh = stencil_classes_mesh(problem);
    const stencil_box updated = {.n = {problem->n[0], problem->n[1], problem->n[2]}};
    finding to = {.problem = problem, .from = from};
    const stencil_reader adds = {read_found, &to};
    const stencil_slabs slabs = {.from = &adds, .mesh = &mesh, .array = STENCIL_ARRAY_CLASS};
    *f = (found){.problem = problem, .strange = INT64_MAX};
    problem->walls_in_source = in_source;
    TRY(stencil_palette_begin(problem, weights));
    const stencil_status status = stencil_slabs_visit(&slabs, &updated, count_classes, f);
    *full = to.full;
    return status;
}

stencil_status stencil_classes_find(stencil_problem *problem, const stencil_reader *from,
                                    const stencil_tables *tables) {
    const stencil_spec *spec = &problem->spec;
    const double *weights = tables != NULL ? tables->weights : NULL;
    bool full = false;
    found f;
    problem->kept = problem->driven = problem->varied = 0;
    problem->tables = tables;
    problem->walls_in_source = false;
    if (!spec->fixed && !spec->classed && !stencil_problem_derives_classes(problem))
        return STENCIL_OK;
    stencil_status status = find(problem, from, weights, false, &f, &full);
    if (full && problem->coefficients == STENCIL_COEFFICIENTS_ROWS) { /* walls make too many of few rows */
        stencil_faces_begin(problem);
        status = find(problem, from, weights, false, &f, &full);
    }
    CHECK(!full || problem->coefficients == STENCIL_COEFFICIENTS_NONE, BAD_DATA,
          "the cells beside walls and insulated cells read their neighbours in more than %d ways beside /k: "
          "give obstacles with straighter outlines, or fewer numbers along sides",
          STENCIL_CLASSES_MAX - 1);
    if (full && stencil_spec_has_arrays(spec))
        status = find(problem, from, weights, true, &f, &full);
    TRY(status);
    CHECK(!problem->walls_in_source || spec->table[0].count == 0, BAD_DATA,
          "the numbers along sides need more than %d rows of weights, which makes what walls add part of the "
          "first source, but that has a table of factors: give it as /q2 or /b2 beside a first one of 0, or "
          "fewer numbers",
          STENCIL_CLASSES_MAX - 1);
    CHECK(f.kept < stencil_problem_cells(problem), BAD_DATA, "%s leave no cell to update",
          stencil_spec_keepers(spec));
    if (f.strange < INT64_MAX)
        return refuse(problem, f.strange);
    problem->kept = f.kept;
    problem->driven = f.driven;
    problem->varied = f.varied;
    return STENCIL_OK;
}

stencil_status stencil_classes_clear_source(const stencil_problem *problem, const stencil_reader *from,
                                            const stencil_box *box, const stencil_cells *b) {
    void *memory = NULL;
    if (!stencil_problem_has_classes(problem) || stencil_box_cells(box) == 0)
        return STENCIL_OK;
    TRY(stencil_memory_alloc(&memory, stencil_box_cells(box), "the classes of the cells"));
    const stencil_cells cells = stencil_cells_dense(STENCIL_BYTE, memory, box);
    const stencil_status status = from->read(from->context, STENCIL_ARRAY_CLASS, box, &cells);
    for (int64_t r = 0; r < box->n[STENCIL_Z] * box->n[STENCIL_Y] && status == STENCIL_OK; r++) {
        const uint8_t *of = row_of(&cells, box, r);
        const int64_t at = r / box->n[STENCIL_Y] * b->plane + r % box->n[STENCIL_Y] * b->row;
        for (int64_t x = 0; x < box->n[STENCIL_X]; x++)
            if (!stencil_class_is_updated(of[x]))
                stencil_cells_set(b, at + x, 0.0);
    }
    free(memory);
    return status;
}

#include "solver/problem/classes.h"

#include <stdlib.h>

#include "solver/problem/faces.h"
#include "solver/problem/palette.h"
#include "solver/problem/rows.h"

/* Class of the first cell of a row of a slab. */
static const uint8_t *row_of(const stencil_cells *cells, const stencil_box *slab, int64_t row) {
    const int64_t ny = slab->n[STENCIL_Y];
    return (const uint8_t *)cells->at + row / ny * cells->plane + row % ny * cells->row;
}

/* A count of the classes of updated cells: how many keep their values, how many have weights of a row of
 * the palette. */
typedef struct found {
    int64_t kept, driven, varied;
} found;

static stencil_status count_classes(void *context, const stencil_box *slab, const stencil_cells *cells) {
    found *f = context;
    const int64_t *n = slab->n;
    int64_t kept = 0, driven = 0, varied = 0;
#pragma omp parallel for schedule(static) reduction(+ : kept, driven, varied)
    for (int64_t r = 0; r < n[STENCIL_Z] * n[STENCIL_Y]; r++) {
        const uint8_t *of = row_of(cells, slab, r);
        for (int64_t x = 0; x < n[STENCIL_X]; x++) {
            kept += of[x] == STENCIL_CLASS_KEPT || of[x] == STENCIL_CLASS_DRIVEN;
            driven += of[x] == STENCIL_CLASS_DRIVEN;
            varied += stencil_class_is_varied(of[x]);
        }
    }
    f->kept += kept;
    f->driven += driven;
    f->varied += varied;
    return STENCIL_OK;
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

/* Finds the classes of all cells, with what walls add in rows, of which there are `most` at most, or in the
 * source term. */
static stencil_status find(stencil_problem *problem, const stencil_reader *from, bool in_source, int most,
                           found *f, bool *full) {
    const stencil_mesh mesh = stencil_classes_mesh(problem);
    const stencil_box updated = {.n = {problem->n[0], problem->n[1], problem->n[2]}};
    finding to = {.problem = problem, .from = from};
    const stencil_reader adds = {read_found, &to};
    const stencil_slabs slabs = {.from = &adds, .mesh = &mesh, .array = STENCIL_ARRAY_CLASS};
    *f = (found){0};
    problem->walls_in_source = in_source;
    TRY(stencil_rows_begin(problem, problem->tables != NULL ? problem->tables->weights : NULL, most, full));
    const stencil_status status = stencil_slabs_visit(&slabs, &updated, count_classes, f);
    *full = to.full;
    return status;
}

stencil_status stencil_classes_find(stencil_problem *problem, const stencil_reader *from,
                                    const stencil_tables *tables) {
    const stencil_spec *spec = &problem->spec;
    bool full = false;
    found f;
    problem->kept = problem->driven = problem->varied = 0;
    problem->tables = tables;
    problem->walls_in_source = false;
    if (!spec->fixed && !spec->classed && !stencil_problem_derives_classes(problem))
        return STENCIL_OK;
    stencil_status status = find(problem, from, false, STENCIL_BYTE_ROWS, &f, &full);
    if (full && problem->coefficients == STENCIL_COEFFICIENTS_ROWS) { /* walls make too many of few rows */
        stencil_faces_begin(problem);
        status = find(problem, from, false, STENCIL_BYTE_ROWS, &f, &full);
    }
    if (full && problem->coefficients == STENCIL_COEFFICIENTS_NONE && stencil_spec_has_arrays(spec) &&
        spec->table[0].count == 0) /* a table would multiply what walls add to the first source */
        status = find(problem, from, true, STENCIL_BYTE_ROWS, &f, &full);
    if (full) /* for all else bytes are too few, too */
        status = find(problem, from, problem->walls_in_source, STENCIL_WIDE_ROWS, &f, &full);
    CHECK(!full || !stencil_spec_has_arrays(spec) || spec->table[0].count == 0, BAD_DATA,
          "the numbers along sides need more than %d rows of weights, which makes what walls add part of the "
          "first source, but that has a table of factors: give it as /q2 or /b2 beside a first one of 0, or "
          "fewer numbers",
          STENCIL_WIDE_ROWS);
    TRY(status);
    TRY(stencil_palette_end(problem));
    CHECK(f.kept < stencil_problem_cells(problem), BAD_DATA, "%s leave no cell to update",
          stencil_spec_keepers(spec));
    problem->kept = f.kept;
    problem->driven = f.driven;
    problem->varied = f.varied;
    return STENCIL_OK;
}

stencil_status stencil_classes_rows(const stencil_problem *problem, const stencil_reader *from,
                                    const stencil_box *box, uint16_t *to) {
    const int64_t count = stencil_box_cells(box);
    const bool wide = stencil_problem_has_wide_rows(problem);
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, count, "the classes of the cells"));
    const uint8_t *of = memory;
    const stencil_cells classes = stencil_cells_dense(STENCIL_BYTE, memory, box),
                        rows = stencil_cells_dense(STENCIL_TWO_BYTES, to, box);
    stencil_status status = from->read(from->context, STENCIL_ARRAY_CLASS, box, &classes);
    if (status == STENCIL_OK && wide)
        status = from->read(from->context, STENCIL_ARRAY_ROW, box, &rows);
#pragma omp parallel for schedule(static) if (count > 1 << 16)
    for (int64_t i = 0; i < count; i++)
        to[i] = of[i] == STENCIL_CLASS_KEPT     ? (uint16_t)STENCIL_ROW_KEPT
                : of[i] == STENCIL_CLASS_DRIVEN ? (uint16_t)STENCIL_ROW_DRIVEN
                                                : (uint16_t)stencil_problem_row_number(problem, of[i], to[i]);
    free(memory);
    return status;
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

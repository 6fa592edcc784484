#include "solver/problem/classes.h"

#include <stdlib.h>

stencil_mesh stencil_classes_mesh(const stencil_problem *problem) {
    stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    mesh.precision = STENCIL_BYTE;
    return mesh;
}

/* Class of the first cell of a row of a slab. */
static const uint8_t *row_of(const stencil_cells *cells, const stencil_box *slab, int64_t row) {
    const int64_t ny = slab->n[STENCIL_Y];
    return (const uint8_t *)cells->at + row / ny * cells->plane + row % ny * cells->row;
}

static stencil_status count_kept(void *context, const stencil_box *slab, const stencil_cells *cells) {
    const int64_t *n = slab->n;
    int64_t kept = 0;
#pragma omp parallel for schedule(static) reduction(+ : kept)
    for (int64_t r = 0; r < n[STENCIL_Z] * n[STENCIL_Y]; r++) {
        const uint8_t *of = row_of(cells, slab, r);
        for (int64_t x = 0; x < n[STENCIL_X]; x++)
            kept += of[x] == STENCIL_CLASS_KEPT;
    }
    *(int64_t *)context += kept;
    return STENCIL_OK;
}

stencil_status stencil_classes_find(stencil_problem *problem, const stencil_reader *from) {
    const stencil_mesh mesh = stencil_classes_mesh(problem);
    const stencil_slabs slabs = {.from = from, .mesh = &mesh, .array = STENCIL_ARRAY_CLASS};
    const stencil_box updated = {.n = {problem->n[0], problem->n[1], problem->n[2]}};
    problem->kept = 0;
    if (!problem->spec.fixed)
        return STENCIL_OK;
    int64_t kept = 0;
    TRY(stencil_slabs_visit(&slabs, &updated, count_kept, &kept));
    CHECK(kept < stencil_problem_cells(problem), BAD_DATA,
          "/fixed and the boundary leave no cell to update: let some be 0");
    problem->kept = kept;
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
            if (of[x] == STENCIL_CLASS_KEPT)
                stencil_cells_set(b, at + x, 0.0);
    }
    free(memory);
    return status;
}

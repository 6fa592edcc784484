#include "inputs/sums.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/stored.h"
#include "solver/problem/factors.h"
#include "solver/problem/rows.h"

/* The place where numbers of a slab go, and what they are multiplied by. */
typedef struct storing {
    stencil_input *input; /* of kinds */
    const stencil_problem *problem;
    const stencil_cells *to;
    double scale;
    const uint8_t
        *driven; /* classes of the cells of `box`, without gaps; only driven ones get their numbers */
    const stencil_box *box;
    int k; /* of u: the array of the sum */
    bool sums;
} storing;

/* Element of cell x = 0 of row r of a slab. */
static int64_t row_at(const stencil_cells *to, const stencil_box *slab, int64_t r) {
    return r / slab->n[STENCIL_Y] * to->plane + r % slab->n[STENCIL_Y] * to->row;
}

static stencil_status store_source(void *context, const stencil_box *slab, const stencil_cells *cells) {
    const storing *s = context;
    const stencil_cells to = stencil_cells_from(s->to, slab->first);
    const int64_t nx = slab->n[STENCIL_X];
    for (int64_t r = 0; r < slab->n[STENCIL_Z] * slab->n[STENCIL_Y]; r++)
        for (int64_t x = 0; x < nx; x++)
            stencil_cells_set(&to, row_at(&to, slab, r) + x,
                              s->scale * ((const double *)cells->at)[r * nx + x]);
    return STENCIL_OK;
}

stencil_status stencil_sum_read(stencil_input *input, int k, const stencil_box *box,
                                const stencil_cells *to) {
    const stencil_problem *problem = input->problem;
    if (problem->spec.source != STENCIL_SOURCE_NONE && k < stencil_problem_sources(problem))
        return stencil_numbers_visit(
            input, stencil_source_dataset(problem->spec.source, k), box, store_source,
            &(storing){.problem = problem, .to = to, .scale = problem->source_scale});
    for (int64_t r = 0; r < box->n[STENCIL_Z] * box->n[STENCIL_Y]; r++)
        for (int64_t x = 0; x < box->n[STENCIL_X]; x++)
            stencil_cells_set(to, row_at(to, box, r) + x, 0.0);
    return STENCIL_OK;
}

static stencil_status store_kinds(void *context, const stencil_box *slab, const stencil_cells *cells) {
    const storing *s = context;
    const stencil_cells to = stencil_cells_from(s->to, slab->first);
    const int64_t nx = slab->n[STENCIL_X];
    for (int64_t r = 0; r < slab->n[STENCIL_Z] * slab->n[STENCIL_Y]; r++) {
        stencil_cell_kind *kind = (stencil_cell_kind *)to.at + row_at(&to, slab, r);
        for (int64_t x = 0; x < nx; x++) {
            const int64_t cell[3] = {slab->first[STENCIL_Z] + r / slab->n[STENCIL_Y],
                                     slab->first[STENCIL_Y] + r % slab->n[STENCIL_Y],
                                     slab->first[STENCIL_X] + x};
            const bool keeps = kind[x] == STENCIL_KIND_KEPT || stencil_cell_is_beside_fixed(s->problem, cell);
            const double number = ((const double *)cells->at)[r * nx + x];
            if (!keeps || isnan(number))
                continue;
            if (isinf(number) && s->input->finite)
                return stencil_input_refuse(s->input, STENCIL_DATASET_VALUE, cell);
            kind[x] = STENCIL_KIND_DRIVEN;
        }
    }
    return STENCIL_OK;
}

stencil_status stencil_driven_kinds(stencil_input *input, const stencil_box *box,
                                    const stencil_cells *kinds) {
    return stencil_numbers_visit(input, STENCIL_DATASET_VALUE, box, store_kinds,
                                 &(storing){.input = input, .problem = input->problem, .to = kinds});
}

/* Stores numbers in driven cells or, of u, adds their product with a factor, as a step does. */
static stencil_status store_driven(void *context, const stencil_box *slab, const stencil_cells *cells) {
    const storing *s = context;
    const stencil_cells to = stencil_cells_from(s->to, slab->first);
    const int64_t nx = slab->n[STENCIL_X];
    for (int64_t r = 0; r < slab->n[STENCIL_Z] * slab->n[STENCIL_Y]; r++)
        for (int64_t x = 0; x < nx; x++) {
            const int64_t z = slab->first[STENCIL_Z] + r / slab->n[STENCIL_Y] - s->box->first[STENCIL_Z],
                          y = slab->first[STENCIL_Y] + r % slab->n[STENCIL_Y] - s->box->first[STENCIL_Y],
                          element = row_at(&to, slab, r) + x,
                          at = (z * s->box->n[STENCIL_Y] + y) * s->box->n[STENCIL_X] +
                               slab->first[STENCIL_X] + x - s->box->first[STENCIL_X];
            const double number = ((const double *)cells->at)[r * nx + x];
            if (s->driven[at] != STENCIL_CLASS_DRIVEN)
                continue;
            const double before = s->k > 0 ? stencil_cells_value(&to, element) : 0.0;
            stencil_cells_set(
                &to, element,
                s->sums ? stencil_driven_add(s->problem->precision, s->k, s->scale, number, before) : number);
        }
    return STENCIL_OK;
}

/* Stores the values that driven cells of a box have in an array. */
static stencil_status read_driven(stencil_input *input, stencil_array array, storing *s) {
    const stencil_problem *problem = input->problem;
    const int count = problem->spec.driven_count;
    if (array != STENCIL_ARRAY_U)
        return stencil_array_in_sum(array) < count
                   ? stencil_numbers_visit(input, STENCIL_DATASET_VALUE + stencil_array_in_sum(array), s->box,
                                           store_driven, s)
                   : STENCIL_OK;
    s->sums = true;
    for (s->k = 0; s->k < count; s->k++) {
        /* the step before the field's time ends at it */
        s->scale = stencil_problem_factor(problem, STENCIL_SUM_ARRAYS + s->k, problem->origin.steps - 1);
        TRY(stencil_numbers_visit(input, STENCIL_DATASET_VALUE + s->k, s->box, store_driven, s));
    }
    return STENCIL_OK;
}

stencil_status stencil_driven_read(stencil_input *input, const stencil_reader *from, stencil_array array,
                                   const stencil_box *box, const stencil_cells *to) {
    void *memory = NULL;
    if (stencil_box_cells(box) == 0)
        return STENCIL_OK;
    TRY(stencil_memory_alloc(&memory, stencil_box_cells(box), "the classes of the cells"));
    const stencil_cells classes = stencil_cells_dense(STENCIL_BYTE, memory, box);
    stencil_status status = from->read(from->context, STENCIL_ARRAY_CLASS, box, &classes);
    storing s = {.problem = input->problem, .to = to, .driven = memory, .box = box};
    if (status == STENCIL_OK)
        status = read_driven(input, array, &s);
    free(memory);
    return status;
}

#include "solver/problem/domain.h"

#include <stdlib.h>

#include "solver/problem/cycle.h"

stencil_cells stencil_buffer_cells(const stencil_buffers *buffers, int part, int buffer,
                                   const int64_t cell[3]) {
    const stencil_cells all = stencil_cells_in(&buffers->cut->layout, buffers->at[part][buffer],
                                               stencil_cut_box(buffers->cut, part).first);
    return stencil_cells_from(&all, cell);
}

/* Address of updated cell (0, 0, 0) in an array of a part; NULL if the part has no such array. */
static void *interior(const stencil_buffers *buffers, int part, int buffer) {
    const stencil_box own = stencil_cut_box(buffers->cut, part);
    return buffers->at[part][buffer] != NULL ? stencil_buffer_cells(buffers, part, buffer, own.first).at
                                             : NULL;
}

/* Sets how deep cells are copied at each side of a part, which sides mirror, and extents beyond low sides. */
static void init_sides(stencil_domain *domain, const stencil_cut *cut, int part, bool store) {
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        for (int s = 0; s < STENCIL_SIDES; s++) {
            const stencil_side side = stencil_cut_side(cut, part, axis, s);
            domain->mirror[axis][s] = side.beyond == part && cut->mesh.boundary[axis] == STENCIL_MIRROR;
            if (store || side.beyond == part)
                domain->reach[axis][s] = (int32_t)side.ghosts;
            if (s == STENCIL_LOW && side.beyond >= 0)
                domain->beyond[axis] = stencil_cut_box(cut, side.beyond).n[axis];
        }
}

int64_t stencil_weights_bytes(const stencil_problem *problem) {
    return problem->cycle.length * (int64_t)sizeof(stencil_weights);
}

stencil_status stencil_weights_make(stencil_weights **cycle, int *length, const stencil_problem *problem) {
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, stencil_weights_bytes(problem), "the weights"));
    *cycle = memory;
    *length = problem->cycle.length;
    for (int step = 0; step < *length; step++) {
        const stencil_step_weights given = stencil_cycle_step(problem, step);
        for (int k = 0; k < STENCIL_WEIGHTS; k++) {
            const double value = k == STENCIL_SOURCE_WEIGHT ? given.source_factor : given.weight[k];
            if (problem->precision == STENCIL_FLOAT64)
                (*cycle)[step].f64[k] = value;
            else
                (*cycle)[step].f32[k] = (float)value;
        }
    }
    return STENCIL_OK;
}

void stencil_domain_init(stencil_domain *domain, const stencil_problem *problem, int part,
                         const stencil_buffers *buffers, bool store) {
    const stencil_cut *cut = buffers->cut;
    const stencil_box own = stencil_cut_box(cut, part);
    *domain = (stencil_domain){
        .n = {own.n[0], own.n[1], own.n[2]},
        .row = cut->layout.row,
        .plane = cut->layout.plane,
        .b = interior(buffers, part, STENCIL_BUFFER_B),
        .partial_first = stencil_partial_at(problem->n, own.first[0], own.first[1], own.first[2]),
        .partial_row = stencil_partial_at(problem->n, 0, 1, 0),
        .partial_plane = stencil_partial_at(problem->n, 1, 0, 0),
        .partial_count = stencil_partial_count(problem->n),
    };
    init_sides(domain, cut, part, store);
    for (int d = 0; d < STENCIL_DIRECTIONS; d++) {
        const int direction[3] = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1};
        const int other = stencil_cut_beyond(cut, part, direction);
        for (int k = 0; k < 2 && other >= 0; k++)
            domain->image[d][k] = interior(buffers, other, k);
    }
    for (int k = 0; k < 2; k++)
        domain->u[k] = domain->image[STENCIL_HERE][k];
}

void stencil_domain_swap(stencil_domain *domain) {
    for (int d = 0; d < STENCIL_DIRECTIONS; d++) {
        void **const image = domain->image[d], *const first = image[0];
        image[0] = image[1];
        image[1] = first;
    }
    for (int k = 0; k < 2; k++)
        domain->u[k] = domain->image[STENCIL_HERE][k];
}

/* Finds the cells of part `from` that are ghost cells of part `to` in a direction (-1, 0, 1 per axis); false:
 * there are none. Axes of direction 0 include the ghost cells at sides without another part. */
static bool find_one(const stencil_cut *cut, stencil_halo_transfer *t, const int direction[3]) {
    const stencil_box from = stencil_cut_box(cut, t->from), to = stencil_cut_box(cut, t->to);
    if (t->from == t->to || stencil_cut_beyond(cut, t->to, direction) != t->from)
        return false;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int where = direction[axis];
        int64_t along[2], depth = 0;
        for (int k = 0; k < 2; k++) {
            const stencil_side side = stencil_cut_side(cut, t->to, axis, k);
            const bool other = side.beyond >= 0 && side.beyond != t->to;
            along[k] = other ? 0 : cut->mesh.ghosts[axis];
            if (where == (k == 0 ? -1 : 1)) {
                depth = side.ghosts;
                if (!other)
                    return false;
            }
        }
        t->to_first[axis] = to.first[axis] + (where == 0 ? -along[0] : where < 0 ? -depth : to.n[axis]);
        t->from_first[axis] = from.first[axis] + (where == 0  ? -along[0]
                                                  : where < 0 ? from.n[axis] - depth
                                                              : 0);
        t->n[axis] = where == 0 ? along[0] + to.n[axis] + along[1] : depth;
    }
    return true;
}

stencil_status stencil_halo_transfers_find(stencil_halo_transfers *transfers, const stencil_cut *cut) {
    *transfers = (stencil_halo_transfers){
        .item = malloc((size_t)cut->parts * STENCIL_DIRECTIONS * sizeof(stencil_halo_transfer))};
    CHECK(transfers->item != NULL, NO_MEMORY, "no memory for the halo exchange of %d parts", cut->parts);
    for (int from = 0; from < cut->parts; from++)
        for (int k = 0; k < cut->parts * STENCIL_DIRECTIONS; k++) {
            const int d = k % STENCIL_DIRECTIONS, direction[3] = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1};
            stencil_halo_transfer t = {.from = from, .to = k / STENCIL_DIRECTIONS};
            if (find_one(cut, &t, direction))
                transfers->item[transfers->count++] = t;
        }
    return STENCIL_OK;
}

void stencil_halo_transfers_destroy(stencil_halo_transfers *transfers) {
    free(transfers->item);
    *transfers = (stencil_halo_transfers){0};
}

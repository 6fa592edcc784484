#include "solver/domain.h"

/* Updated cell (0, 0, 0) of an array of a part; NULL where there is none. */
static void *interior(const stencil_buffers *buffers, int part, int array) {
    void *base = buffers->at[part][array];
    return base != NULL ? stencil_cells_in(&buffers->layout, base, (const int64_t[]){0, 0, 0}).at : NULL;
}

/* Who needs copies of the cells at the sides of a part. */
static void init_sides(stencil_domain *domain, const stencil_cut *cut, int part, bool push) {
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        for (int s = 0; s < STENCIL_SIDES; s++) {
            const stencil_side side = stencil_cut_side(cut, part, axis, s);
            domain->mirror[axis][s] = side.beyond == part && cut->mesh.boundary[axis] == STENCIL_MIRROR;
            if (push || side.beyond == part)
                domain->reach[axis][s] = (int32_t)side.ghosts;
            if (s == STENCIL_LOW && side.beyond >= 0)
                domain->beyond[axis] = stencil_cut_box(cut, side.beyond).n[axis];
        }
}

void stencil_weights_round(stencil_weights *weights, const stencil_problem *problem, int set) {
    const stencil_cycle *cycle = &problem->cycle;
    for (int k = 0; k < STENCIL_WEIGHTS; k++) {
        const double value = k == STENCIL_SOURCE_WEIGHT ? cycle->source_factor[set] : cycle->weight[set][k];
        if (problem->precision == STENCIL_FLOAT64)
            weights->f64[k] = value;
        else
            weights->f32[k] = (float)value;
    }
}

void stencil_domain_init(stencil_domain *domain, const stencil_problem *problem, const stencil_cut *cut,
                         int part, const stencil_buffers *buffers, bool push) {
    const stencil_box own = stencil_cut_box(cut, part);
    *domain = (stencil_domain){
        .n = {own.n[0], own.n[1], own.n[2]},
        .row = buffers->layout.row,
        .plane = buffers->layout.plane,
        .b = interior(buffers, part, STENCIL_BUFFER_B),
        .chunk_first = stencil_cut_chunk(cut, own.first),
        .chunk_row = stencil_cut_chunk(cut, (const int64_t[]){0, 1, 0}),
        .chunk_plane = stencil_cut_chunk(cut, (const int64_t[]){1, 0, 0}),
        .chunk_count = stencil_chunk_count(problem->n),
    };
    init_sides(domain, cut, part, push);
    for (int d = 0; d < STENCIL_DIRECTIONS; d++) {
        const int direction[3] = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1};
        const int other = stencil_cut_beyond(cut, part, direction);
        for (int k = 0; k < 2 && other >= 0; k++)
            domain->image[d][k] = interior(buffers, other, k);
    }
    for (int k = 0; k < 2; k++)
        domain->u[k] = domain->image[STENCIL_HERE][k];
    stencil_weights_round(&domain->weights, problem, 0);
}

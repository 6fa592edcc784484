#include "solver/domain.h"

static void *interior(void *base, const stencil_layout *layout) {
    return base != NULL ? (char *)base + layout->origin * (int64_t)stencil_precision_bytes(layout->precision)
                        : NULL;
}

/* The side of one axis, as a direction. */
static int beyond(const stencil_problem *problem, const stencil_cut *cut, int part, int axis, int side) {
    int direction[3] = {0, 0, 0};
    direction[axis] = side;
    return stencil_cut_beyond(cut, problem, part, direction);
}

/* Whether the cut itself, not a boundary of the problem, is at this side. */
static bool is_cut(const stencil_cut *cut, int part, int axis, int side) {
    int place[3];
    stencil_cut_place(cut, part, place);
    return side < 0 ? place[axis] > 0 : place[axis] < cut->count[axis] - 1;
}

/* Cells that somebody needs copies of. Beyond a cut the sweep must see the very cells that it would see
 * without it, as far as its shape reaches, even where weights are 0. */
static int reach_of(const stencil_problem *problem, const stencil_cut *cut, int part, int axis, int side) {
    if (is_cut(cut, part, axis, side))
        return problem->shape->radius;
    return problem->boundary[axis] == STENCIL_FIXED ? 0 : (int)problem->radius[axis];
}

static void init_rims(stencil_domain *domain, const stencil_problem *problem, const stencil_cut *cut,
                      int part, bool push) {
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        for (int s = 0; s < STENCIL_SIDES; s++) {
            const int side = s == STENCIL_LOW ? -1 : 1, other = beyond(problem, cut, part, axis, side);
            domain->mirror[axis][s] =
                problem->boundary[axis] == STENCIL_MIRROR && !is_cut(cut, part, axis, side);
            if (push || other == part)
                domain->reach[axis][s] = reach_of(problem, cut, part, axis, side);
            if (s == STENCIL_LOW && other >= 0) {
                int64_t first[3], n[3];
                stencil_cut_box(cut, other, first, n);
                domain->beyond[axis] = n[axis];
            }
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
                         int part, const stencil_layout *layout, const stencil_buffers *buffers,
                         const void *b, bool push) {
    int64_t first[3];
    *domain = (stencil_domain){
        .row = layout->row,
        .plane = layout->plane,
        .b = b != NULL ? interior((void *)b, layout) : NULL,
        .chunk_row = (problem->n[STENCIL_X] + STENCIL_CHUNK_CELLS - 1) / STENCIL_CHUNK_CELLS,
        .chunk_count = stencil_chunk_count(problem->n),
    };
    stencil_cut_box(cut, part, first, domain->n);
    domain->chunk_plane = problem->n[STENCIL_Y] * domain->chunk_row;
    domain->chunk_first = first[STENCIL_Z] * domain->chunk_plane + first[STENCIL_Y] * domain->chunk_row +
                          first[STENCIL_X] / STENCIL_CHUNK_CELLS;
    init_rims(domain, problem, cut, part, push);
    for (int d = 0; d < STENCIL_DIRECTIONS; d++) {
        const int direction[3] = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1};
        const int other = stencil_cut_beyond(cut, problem, part, direction);
        for (int k = 0; k < 2 && other >= 0; k++)
            domain->image[d][k] = interior(buffers->u[other][k], layout);
    }
    for (int k = 0; k < 2; k++)
        domain->u[k] = domain->image[STENCIL_HERE][k];
    stencil_weights_round(&domain->weights, problem, 0);
}

int64_t stencil_fold_scratch_count(int64_t chunk_count) {
    int64_t count = 1;
    for (int64_t level = chunk_count; level > 1;) {
        level = stencil_fold_count(level);
        count += level;
    }
    return count;
}

/* Cells of a halo along one axis: where they begin in either part, and how many they are. Along an axis
 * without a step to another part the rims that the sender has there go along. */
static void halo_axis(const stencil_problem *problem, const stencil_cut *cut, const stencil_domain *own,
                      int from, int axis, int side, int64_t *from_at, int64_t *to_at, int64_t *count) {
    const int64_t n = own->n[axis], reach = side != 0 ? reach_of(problem, cut, from, axis, side) : 0;
    if (side == 0) {
        const bool around = problem->boundary[axis] == STENCIL_PERIODIC && cut->count[axis] > 1;
        const int64_t rim = around ? 0 : problem->layout.rim[axis];
        const int64_t low = is_cut(cut, from, axis, -1) ? 0 : rim,
                      high = is_cut(cut, from, axis, 1) ? 0 : rim;
        *from_at = *to_at = -low;
        *count = low + n + high;
    } else {
        *from_at = side < 0 ? 0 : n - reach;
        *to_at = side < 0 ? own->beyond[axis] : -reach;
        *count = reach;
    }
}

int stencil_halo_find(stencil_halo *halo, const stencil_problem *problem, const stencil_cut *cut, int from,
                      const stencil_layout *layout) {
    const stencil_buffers nowhere = {0};
    stencil_domain own;
    int found = 0;
    if (cut->parts == 1)
        return 0;
    stencil_domain_init(&own, problem, cut, from, layout, &nowhere, NULL, true);
    for (int d = 0; d < STENCIL_DIRECTIONS; d++) {
        const int direction[3] = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1};
        bool steps =
            d != STENCIL_HERE; /* along cut axes only: what goes along uncut ones is in the rims already */
        for (int axis = 0; axis < STENCIL_AXES; axis++)
            if (direction[axis] != 0) {
                const int other = beyond(problem, cut, from, axis, direction[axis]);
                steps = steps && other >= 0 && other != from;
            }
        if (!steps)
            continue;
        int64_t from_at[3], to_at[3];
        stencil_halo *h = &halo[found++];
        *h = (stencil_halo){.from = from, .to = stencil_cut_beyond(cut, problem, from, direction)};
        int64_t cells = 1;
        for (int axis = 0; axis < STENCIL_AXES; axis++) {
            halo_axis(problem, cut, &own, from, axis, direction[axis], &from_at[axis], &to_at[axis],
                      &h->count[axis]);
            cells *= h->count[axis];
        }
        found -= cells == 0; /* around the ends of an axis along which no point is read */
        h->from_at = layout->origin + from_at[0] * layout->plane + from_at[1] * layout->row + from_at[2];
        h->to_at = layout->origin + to_at[0] * layout->plane + to_at[1] * layout->row + to_at[2];
        if (stencil_cut_is_slabs(cut, problem))
            h->span = (h->count[0] - 1) * layout->plane + (h->count[1] - 1) * layout->row + h->count[2];
    }
    return found;
}

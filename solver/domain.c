#include "solver/domain.h"

static void *interior(void *base, const stencil_layout *layout) {
    return (char *)base + layout->origin * (int64_t)stencil_precision_bytes(layout->precision);
}

static stencil_rim rim_of(stencil_boundary boundary) {
    switch (boundary) {
    case STENCIL_PERIODIC:
        return STENCIL_RIM_PERIODIC;
    case STENCIL_MIRROR:
        return STENCIL_RIM_MIRROR;
    default:
        return STENCIL_RIM_NONE;
    }
}

void stencil_domain_init(stencil_domain *domain, const stencil_problem *problem, void *u0, void *u1,
                         const void *b, double *chunk) {
    const stencil_layout *layout = &problem->layout;
    *domain = (stencil_domain){
        .row = layout->row,
        .plane = layout->plane,
        .u = {interior(u0, layout), interior(u1, layout)},
        .b = b != NULL ? interior((void *)b, layout) : NULL,
        .chunks_per_row = (problem->n[STENCIL_X] + STENCIL_CHUNK_CELLS - 1) / STENCIL_CHUNK_CELLS,
        .chunk = chunk,
    };
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        domain->n[axis] = problem->n[axis];
        domain->rim[axis] = problem->radius[axis] > 0 ? rim_of(problem->boundary[axis]) : STENCIL_RIM_NONE;
        domain->reach[axis] = domain->rim[axis] != STENCIL_RIM_NONE ? problem->radius[axis] : 0;
    }
    for (int k = 0; k < problem->shape->point_count; k++) {
        if (problem->precision == STENCIL_FLOAT64)
            domain->weights.f64[k] = problem->weight[k];
        else
            domain->weights.f32[k] = (float)problem->weight[k];
    }
}

void stencil_schedule_init(stencil_schedule *schedule, const stencil_problem *problem) {
    *schedule = (stencil_schedule){
        .last_step = problem->stop.steps,
        .check_every = problem->stop.check_every,
        .tolerance = problem->stop.tolerance,
        .norm = problem->stop.norm,
        .updated_cells = stencil_problem_updated_cells(problem),
    };
}

int64_t stencil_fold_scratch_count(int64_t chunk_count) {
    int64_t count = 1;
    for (int64_t level = chunk_count; level > 1;) {
        level = stencil_fold_count(level);
        count += level;
    }
    return count;
}

/* The resident sweep: what 2D and 3D have in common. */
#include "solver/plan/halves.h"
#include "solver/plan/sweeps/resident.h"

subject resident_subject(const stencil_plan *plan, const stencil_problem *problem,
                         const stencil_machine *machine) {
    const stencil_gpu *gpu = &machine->gpu[plan->part[0].gpu];
    subject s = {.problem = problem,
                 .tuning = &plan->tuning,
                 .clocks_per_s = 1e3 * gpu->clock_khz,
                 .shared_bytes = gpu->shared_per_block_bytes,
                 .radius = problem->shape->radius,
                 .parts = plan->cut.parts,
                 .slots = gpu->sm_count / plan->part[0].sharing,
                 .f64 = problem->precision == STENCIL_FLOAT64,
                 .general = plan->variant->general,
                 .source = stencil_problem_has_source(problem)};
    for (int p = 1; p < s.parts; p++) {
        const stencil_part_plan *part = &plan->part[p];
        s.slots = (int)stencil_smaller(s.slots, machine->gpu[part->gpu].sm_count / part->sharing);
        s.linked = s.linked || part->gpu != plan->part[0].gpu;
    }
    if (stencil_barriers[plan->barrier].needs == STENCIL_NEEDS_CLUSTERS)
        s.slots = stencil_plan_clusters(plan, gpu) * plan->tuning.cluster_blocks;
    return s;
}

stencil_pass_limits resident_limits(const stencil_problem *problem, bool general) {
    (void)problem, (void)general;
    return (stencil_pass_limits){.depth = RESIDENT_DEPTH, .checked = 1};
}

stencil_pass_layout resident_refused(const subject *s, int64_t most) {
    const double cells = (double)stencil_problem_updated_cells(s->problem);
    return (stencil_pass_layout){.refusal =
                                     cells > 0.5 * s->parts * s->slots * (double)most
                                         ? "the field has more cells than the multiprocessors hold"
                                         : "the field is too small or too narrow to be cut into tiles"};
}

void resident_enter(stencil_plan *plan) {
    stencil_kernel *kernel = &plan->kernel;
    const stencil_resident *tiles = &plan->layout.resident;
    kernel->deep =
        stencil_resident_kernel(kernel->shape, kernel->precision, plan->variant->general, tiles->shape);
    kernel->depth = RESIDENT_DEPTH;
    kernel->deep_threads = 32 * tiles->warps;
    kernel->deep_bytes = plan->layout.shared_bytes;
}

/* The two halves of making a plan for GPUs: before and after the driver is asked about the kernel. */
#pragma once

#include "solver/plan/plan.h"

/* Sets plan->kernel to the kernel that the plan needs; no function on a CPU. Errors: UNAVAILABLE. */
stencil_status stencil_plan_kernel(stencil_plan *plan, const stencil_problem *problem,
                                   const stencil_machine *machine);

/* Clusters resident at once on a GPU where a block fills a multiprocessor: the driver's answer or, if the
 * driver was not asked, a number that any such GPU holds. */
int stencil_plan_clusters(const stencil_plan *plan, const stencil_gpu *gpu);

/* The attributes of the plan's kernel on a GPU: the driver's, or those that the compilation guarantees. */
stencil_kernel_attributes stencil_plan_attributes(const stencil_plan *plan, const stencil_machine *machine,
                                                  int gpu);

/* Completes the plan by what follows from kernel attributes: tiles, blocks, device memory. Errors:
 * UNAVAILABLE, NO_MEMORY, USAGE. */
stencil_status stencil_plan_gpu(stencil_plan *plan, const stencil_problem *problem,
                                const stencil_machine *machine);

/* Size of the fields of all parts on the GPU of part `p`, as a multiple of its L2 cache. */
static inline double stencil_plan_l2_fill(const stencil_plan *plan, int p, const stencil_problem *problem,
                                          const stencil_machine *machine) {
    const stencil_part_plan *part = &plan->part[p];
    return (double)(stencil_problem_arrays(problem) * stencil_layout_bytes(&plan->cut.layout)) *
           part->sharing / (double)machine->gpu[part->gpu].l2_bytes;
}

/* Rough seconds of a step: a fixed time for its barrier, and the memory time of 16 bytes per cell, which all
 * steps of a pass share; on chip the time of the layout. */
static inline double stencil_plan_step_s(const stencil_plan *plan, double cells) {
    const stencil_tuning *t = &plan->tuning;
    const stencil_pass_layout *l = &plan->layout;
    if (l->kind == STENCIL_PASS_ON_CHIP)
        return l->step_s + l->exchange_s / (l->each_step ? 1 : plan->depth);
    const double bytes_per_s = plan->backend == STENCIL_BACKEND_GPU ? t->bytes_per_s : t->cpu_bytes_per_s;
    return t->step_s + 16.0 * cells / bytes_per_s / (plan->depth > 1 ? plan->depth : 1);
}

/* Steps between two polls of the host by a persistent loop. */
static inline int32_t stencil_plan_poll_every(const stencil_plan *plan, double cells) {
    return (int32_t)(plan->tuning.poll_s / stencil_plan_step_s(plan, cells)) + 1;
}

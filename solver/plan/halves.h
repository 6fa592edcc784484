/* The halves of a plan. */
#pragma once

#include "solver/plan/plan.h"

/* The row of the table of kernels that all choices lead to, into plan->kernel; nothing for a CPU. Errors:
 * STENCIL_UNAVAILABLE. */
stencil_status stencil_plan_kernel(stencil_plan *plan, const stencil_problem *problem,
                                   const stencil_machine *machine);

/* Clusters that a GPU holds at once where a block takes a multiprocessor for itself: as many as it was asked
 * about, else so few that any GPU of so many multiprocessors holds them. */
int stencil_plan_clusters(const stencil_plan *plan, const stencil_gpu *gpu);

/* The attributes of the plan's kernel on a GPU; where no driver was asked, what compilation guarantees. */
stencil_kernel_attributes stencil_plan_attributes(const stencil_plan *plan, const stencil_machine *machine,
                                                  int gpu);

/* All that follows from the kernel, of which the machine has to know: tiles, blocks of each part, memory of
 * the devices. Errors: STENCIL_UNAVAILABLE, STENCIL_NO_MEMORY, STENCIL_USAGE. */
stencil_status stencil_plan_gpu(stencil_plan *plan, const stencil_problem *problem,
                                const stencil_machine *machine);

/* Fields of all parts on the GPU of part `p`, as a multiple of its L2. */
static inline double stencil_plan_l2_fill(const stencil_plan *plan, int p, const stencil_problem *problem,
                                          const stencil_machine *machine) {
    const stencil_part_plan *part = &plan->part[p];
    return (double)(stencil_problem_arrays(problem) * stencil_layout_bytes(&plan->cut.layout)) *
           part->sharing / (double)machine->gpu[part->gpu].l2_bytes;
}

/* Steps between two looks at the host: a step takes its barrier and the like, and the time that memory needs
 * for 16 bytes of each cell. */
static inline double stencil_plan_step_s(const stencil_tuning *tuning, double cells, double bytes_per_s) {
    return tuning->step_s + 16.0 * cells / bytes_per_s;
}

/* Steps between polls. */
static inline int32_t stencil_plan_poll_every(const stencil_tuning *tuning, double cells,
                                              double bytes_per_s) {
    return (int32_t)(tuning->poll_s / stencil_plan_step_s(tuning, cells, bytes_per_s)) + 1;
}

/* What a step of a plan will take: Little's law, as Zhang, Wahib, Zhang and Matsuoka (A study of single and
 * multi-device synchronization methods in NVIDIA GPUs, section 7.1) put it for a choice between few and many
 * threads, over what was measured on the machine (machine/calibration.h). Pure: nothing is asked of a driver.
 */
#pragma once

#include "solver/run.h"

/* Seconds of a step by what they are for; the terms add up to step_s. */
typedef struct stencil_cost {
    double launch_s;  /* the host: launches, and waiting for them */
    double barrier_s; /* latency of the barrier of a persistent loop */
    double compute_s; /* cells, the latency of their first loads and of further rounds of tiles included */
    double halo_s;    /* ghost cells to other parts, beside what is in the strategy's cost there */
    double check_s;   /* the residual, in a step of check_every */
    double step_s;
} stencil_cost;

/* Of a plan for this problem that was made from this machine. */
stencil_cost stencil_model_step(const stencil_plan *plan, const stencil_problem *problem,
                                const stencil_machine *machine);

/* Part of the steps of a set of arrays that come from memory, 0 … 1: none up to the near size, all from the
 * far one on, and on a straight line of its logarithm between them. */
double stencil_model_far(const stencil_calibration *calibration, double set_bytes);

/* Tiles of a part for each block that its GPU holds for it at once. Not for plans on a CPU. */
double stencil_model_rounds(const stencil_plan *plan, const stencil_machine *machine);

/* How full the rounds of tiles over the resident blocks of a persistent loop are, 0 … 1: the last one takes
 * as long as the others. 1 in one round, and for launches, whose blocks come as others end. */
double stencil_model_full(const stencil_plan *plan, const stencil_machine *machine);

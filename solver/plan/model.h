/* The predicted time of a plan's step: Little's law, as Zhang, Wahib, Zhang and Matsuoka (A study of single
 * and multi-device synchronization methods in NVIDIA GPUs, section 7.1) put it for a choice between few and
 * many threads, over what was measured on the machine (calibration.h). Pure: nothing is asked of a driver. */
#pragma once

#include "solver/plan/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Threads that share work, by Little's law (equation 1): in any unit of time and of work. */
typedef struct stencil_little {
    double latency;    /* of what they have under way at once */
    double throughput; /* work per time */
    double sync;       /* what waiting for each other adds */
} stencil_little;

/* Time that threads take for `amount` of work: either side of equation 2, with equation 3. */
double stencil_little_time(const stencil_little *little, double amount);

/* Amount of work from which `more` threads are faster than `basic` ones, both of one latency: equation 4
 * where more have so much under way at once, else equation 5. 0: for any; INFINITY: for none. */
double stencil_little_switch(const stencil_little *basic, const stencil_little *more);

/* Seconds of a step by what they are for; the terms add up to step_s. */
typedef struct stencil_cost {
    double launch_s;  /* the host: launches, and waiting for them */
    double barrier_s; /* latency of the barrier of a persistent loop */
    double compute_s; /* cells, the latency of their first loads and of further rounds of tiles included */
    double halo_s;    /* ghost cells to other parts, beside what is in the strategy's cost there */
    double check_s;   /* the residual, in a step of check_every */
    double step_s;
} stencil_cost;

/* Predicts a step of a plan that was made for this problem and from this machine. */
stencil_cost stencil_model_step(const stencil_plan *plan, const stencil_problem *problem,
                                const stencil_machine *machine);

/* Predicts a pass of plan->depth steps, without a check. */
stencil_cost stencil_model_pass(const stencil_plan *plan, const stencil_problem *problem,
                                const stencil_machine *machine);

/* Part of the steps of a set of arrays that come from memory, 0 … 1: none up to the near size, all from the
 * far one on, and on a straight line of its logarithm between them. */
double stencil_model_far(const stencil_calibration *calibration, double set_bytes);

/* Seconds of a step with next to nothing to compute in one part, by strategy `index`, the latency of first
 * loads included, where a share of the blocks that fit at once take part, 0 … 1. */
double stencil_model_sync(const stencil_calibration *calibration, int index, double share);

/* Tiles of a part for each block that its GPU holds for it at once. Not for plans on a CPU. */
double stencil_model_rounds(const stencil_plan *plan, const stencil_machine *machine);

/* Part of a persistent loop's resident blocks that its rounds of tiles keep busy, 0 … 1: the last round takes
 * as long as the others. 1 in one round, and for launches, whose blocks come as others end. */
double stencil_model_full(const stencil_plan *plan, const stencil_machine *machine);

/* Cells that a GPU's passes of several steps make for each one that a step updates, were all lines of tiles
 * as busy as the one that takes longest: what the time of such a pass goes by. 1 for other plans. */
double stencil_model_made(const stencil_plan *plan, const stencil_problem *problem);

/* The resources of a device that cells need. */
typedef enum stencil_resource {
    STENCIL_RESOURCE_MEMORY,     /* bytes to and from memory, or the cache that holds all arrays */
    STENCIL_RESOURCE_SHARED,     /* wavefronts of shared memory: 128 bytes of 32 threads, one in a clock */
    STENCIL_RESOURCE_ARITHMETIC, /* fused multiply-adds, and the product that a sum begins with */
    STENCIL_RESOURCE_COUNT
} stencil_resource;
extern const char *const stencil_resource_names[]; /* "memory", "shared memory", "arithmetic", NULL */

/* The bound that each resource sets a plan: were nothing else in its way, peak / need cells would be updated
 * in a second. */
typedef struct stencil_bound {
    double peak[STENCIL_RESOURCE_COUNT]; /* per second, of all devices */
    /* Per updated cell and step, in the mean over stencil_sweep_passes(); 0: nothing, or not known. Memory:
     * every array once for each pass. The others: for all cells that are computed, kept or not. */
    double need[STENCIL_RESOURCE_COUNT];
    stencil_resource least; /* allows least */
    bool nominal;           /* peaks are those of no CPU in particular: nobody has measured this one's */
} stencil_bound;
stencil_bound stencil_model_bound(const stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_machine *machine);

/* Cells per second that a resource allows; infinite where nothing is needed of it. */
double stencil_bound_rate(const stencil_bound *bound, stencil_resource resource);

#ifdef __cplusplus
}
#endif

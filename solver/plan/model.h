/* The predicted time of a plan's step: Little's law, as Zhang, Wahib, Zhang and Matsuoka (A study of single
 * and multi-device synchronization methods in NVIDIA GPUs, section 7.1) put it for a choice between few and
 * many threads, over what was measured on the machine (calibration.h). Pure: nothing is asked of a driver. */
#pragma once

#include "solver/plan/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A group of threads that share work, by Little's law (equation 1), in any units of time and work. */
typedef struct stencil_little {
    double latency;    /* time of one piece of work from begin to end; all in flight take that long */
    double throughput; /* work per time */
    double sync;       /* time that synchronization of the threads adds */
} stencil_little;

/* Time that a group of threads takes for `amount` of work: one side of equation 2, with equation 3. */
double stencil_little_time(const stencil_little *little, double amount);

/* Amount of work from which the group `more` is faster than the group `basic`, both of the same latency:
 * equation 4 where `more` can have that amount in flight, else equation 5. 0: always; INFINITY: never. */
double stencil_little_switch(const stencil_little *basic, const stencil_little *more);

/* Predicted seconds of a step by cause; the terms add up to step_s. */
typedef struct stencil_cost {
    double launch_s;  /* host time: kernel launches and waiting for them */
    double barrier_s; /* latency of the barrier of a persistent loop */
    double compute_s; /* updating cells, with the latency of first loads and of each further wave of tiles */
    double halo_s; /* sending ghost cells to other parts, as far as the strategy's cost does not include it */
    double check_s; /* the residual check, spread over check_every steps */
    double step_s;
} stencil_cost;

/* Predicts a step of a plan that was made for this problem and from this machine. */
stencil_cost stencil_model_step(const stencil_plan *plan, const stencil_problem *problem,
                                const stencil_machine *machine);

/* Predicts a pass of plan->depth steps, without a check. */
stencil_cost stencil_model_pass(const stencil_plan *plan, const stencil_problem *problem,
                                const stencil_machine *machine);

/* Fraction of the traffic of arrays of set_bytes that comes from memory, not cache: 0 up to the calibration's
 * near size, 1 from its far size on, linear in log(set_bytes) between. */
double stencil_model_far(const stencil_calibration *calibration, double set_bytes);

/* Seconds of a nearly empty step in one part with strategy `index`, the latency of first loads included.
 * `share`: fraction of the resident blocks that take part, 0 … 1. */
double stencil_model_sync(const stencil_calibration *calibration, int index, double share);

/* Tiles of a part per block that its GPU holds resident for the part. Not for plans on a CPU. */
double stencil_model_rounds(const stencil_plan *plan, const stencil_machine *machine);

/* Fraction of a persistent loop's resident blocks that waves of tiles keep busy, 0 … 1: a partly filled last
 * wave takes as long as a full one. 1 for a single wave and for launches, whose waves overlap. */
double stencil_model_full(const stencil_plan *plan, const stencil_machine *machine);

/* Cells that a GPU's passes of several steps compute per updated cell and step, if every line of tiles had
 * the work of the longest line: the time of such a pass is proportional to it. 1 for other plans. */
double stencil_model_made(const stencil_plan *plan, const stencil_problem *problem);

/* The resources of a device that limit the update of cells. */
typedef enum stencil_resource {
    STENCIL_RESOURCE_MEMORY,     /* bytes to and from memory, or the cache that holds all arrays */
    STENCIL_RESOURCE_SHARED,     /* wavefronts of shared memory: 128 bytes of 32 threads, one per clock */
    STENCIL_RESOURCE_ARITHMETIC, /* fused multiply-adds, and the first product of each sum */
    STENCIL_RESOURCE_COUNT
} stencil_resource;
extern const char *const stencil_resource_names[]; /* "memory", "shared memory", "arithmetic", NULL */

/* The upper bounds of a plan's updated cells per second: peak[r] / need[r] by resource r alone. */
typedef struct stencil_bound {
    double peak[STENCIL_RESOURCE_COUNT]; /* amount of the resource per second, of all devices */
    /* Amount of the resource per updated cell and step, the mean over stencil_sweep_passes(); 0: none or
     * unknown. Memory: every array once per pass. Shared memory, arithmetic: all computed cells. */
    double need[STENCIL_RESOURCE_COUNT];
    stencil_resource least; /* the limiting resource: it allows the fewest cells per second */
    bool nominal;           /* the peaks are generic values, since this CPU was not calibrated */
} stencil_bound;
stencil_bound stencil_model_bound(const stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_machine *machine);

/* Cells per second that a resource allows; infinite where the plan does not need the resource. */
double stencil_bound_rate(const stencil_bound *bound, stencil_resource resource);

#ifdef __cplusplus
}
#endif

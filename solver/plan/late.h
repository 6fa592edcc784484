/* A simulation of ranks that are not equally quick: each waits for the messages of its neighbours before its
 * next pass, and for all where there is a reduction. Deterministic: the times of passes follow from a seed.
 *
 *      rank 0   |== pass ==|wait|== pass ==|
 *      rank 1   |===== pass =====|== pass ==|wait|
 *      rank 2   |== pass ==|wait|==== pass ====|
 *
 * A pass that is late holds up the neighbours in the next pass, theirs in the one after it, and so on.
 */
#pragma once

#include "solver/plan/scaling.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct stencil_late {
    stencil_rank_grid grid; /* whose neighbours are; their bytes do not count */
    double pass_s;          /* of a rank that nothing disturbs */
    double exchange_s;      /* from the end of a pass until neighbours have what they need */
    double noise;           /* standard deviation of the time of a pass over pass_s, normally distributed */
    int late_rank;          /* rank that takes late_s more; -1: none */
    double late_s;
    int64_t late_pass;    /* the only pass, from 0, in which it does; -1: in each */
    int64_t passes;       /* that are simulated */
    int64_t reduce_every; /* passes from one reduction to the next; 0: none */
    double reduce_s;      /* of a reduction, once all ranks are there */
    uint64_t seed;
} stencil_late;

/* Seconds of a pass of a rank, without waiting. */
double stencil_late_pass_s(const stencil_late *late, int rank, int64_t pass);

/* Tells whether a reduction follows a pass. */
bool stencil_late_reduces(const stencil_late *late, int64_t pass);

/* Sets *pass_s to the mean time of a pass: from the begin until the last rank has done the last one. Takes
 * memory for two numbers of each rank. Errors: NO_MEMORY. */
stencil_status stencil_late_simulate(const stencil_late *late, double *pass_s);

#ifdef __cplusplus
}
#endif

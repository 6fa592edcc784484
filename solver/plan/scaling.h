/* Predictions for a cluster: a part for each device, deep passes, one message to each neighbour after a pass.
 * Pure, and of a size that does not grow with the devices. */
#pragma once

#include "solver/machine/cluster.h"
#include "solver/plan/plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The messages of the ranks of a grid of parts, each of n cells. */
typedef struct stencil_rank_grid {
    int count[3];
    bool periodic[3];
    int64_t n[3], ghosts[3];
    int bytes; /* of a cell */
} stencil_rank_grid;

/* Neighbours of a rank, and the bytes that it sends to each. */
enum { STENCIL_RANK_PEERS_MAX = 26 };
typedef struct stencil_rank_peers {
    int count, peer[STENCIL_RANK_PEERS_MAX];
    double bytes[STENCIL_RANK_PEERS_MAX];
} stencil_rank_peers;
void stencil_rank_peers_find(const stencil_rank_grid *grid, int rank, stencil_rank_peers *peers);

/* A prediction for a number of devices; the terms are of a step and add up to step_s. */
typedef struct stencil_prediction {
    int devices, nodes;
    stencil_rank_grid grid;   /* of the largest part */
    int depth;                /* steps of a pass, */
    double pass_steps;        /* and their mean, as whole passes lie between checks */
    const char *sync, *sweep; /* plan of a device; NULL: its rate alone is known */
    int messages;             /* messages that a rank sends after a pass, and their bytes: */
    double message_bytes;     /* of the rank for which they take longest */
    double own_s;             /* the device's time for its own cells */
    double again_s;           /* cells that other devices update, too */
    double message_s; /* messages, packed and unpacked; with options->overlap what inner rows do not hide */
    double reduce_s;  /* reductions at checks and polls */
    double step_s;
    double exchange_s;   /* of a pass: from the end of its steps until the ghost cells are there; with overlap
                            likewise */
    double travel_s;     /* the share of an exchange in which no processor has to do anything */
    double reduction_s;  /* of a reduction, */
    double reduce_every; /* steps from one to the next */
} stencil_prediction;

/* Predicts a step on `devices` devices of a cluster, which fill one node after the other, for the depth that
 * is quickest (options->depth 0) or that is given. One device makes what a plan for it makes. weak: each
 * device has a field as large as the problem, in a grid as square as can be along the slowest axes, else the
 * problem is cut. Errors: those of plans and cuts; BAD_DATA: the link between nodes is not known. */
stencil_status stencil_cluster_predict(const stencil_cluster *cluster, const stencil_problem *problem,
                                       const stencil_run_options *options, int devices, bool weak,
                                       stencil_prediction *prediction);

#ifdef __cplusplus
}
#endif

/* Predicted scaling of a problem over the devices of a cluster, as tables, JSON and a picture. */
#pragma once

#include "app/json.h"
#include "records/cluster.h"
#include "solver/plan/late.h"

enum { SCALING_DEVICES_MAX = 1 << 16 };

typedef struct scaling_options {
    int64_t nodes;         /* 0: those of the cluster */
    double noise, late_us; /* of the simulation; both 0: nothing is simulated. noise is in per cent */
    int64_t seed;
    const char *output; /* picture; NULL: none */
} scaling_options;

/* Checks, before anything is predicted, that files can be written, and sets the nodes that are asked for.
 * Errors: USAGE, CANNOT_CREATE. */
stencil_status scaling_check(stencil_cluster *cluster, const scaling_options *options, const char *json,
                             bool force);

/* Predicts strong and weak scaling over 1, 2, 4, … and all devices, and prints or writes it. Errors: those of
 * plans where not even all devices together can take the problem. */
stencil_status scaling_show(const stencil_cluster *cluster, const stencil_problem *problem,
                            const stencil_run_options *run, const scaling_options *options, const char *json,
                            bool force);

/* The description of a cluster, all that predictions for it depend on: nodes, the devices of each, what a
 * device does, and the links. Written by `stencil bench message --cluster`, or by hand. */
#pragma once

#include "solver/machine/link.h"
#include "solver/machine/machine.h"

typedef struct stencil_cluster {
    int nodes, devices; /* devices of a node: GPUs or, on CPUs, ranks that share its processors */
    bool gpu;
    double cells_per_s;           /* cells that a device updates; 0: as is predicted for `machine` */
    stencil_link inside, between; /* links between devices of a node, and from there to another node */
    bool known_between;           /* false: the link between nodes is not known */
    int lanes; /* links of a node to others, which its devices share; 0: each device has one of its own */
    stencil_machine machine; /* a node */
    bool known_machine;      /* false: only cells_per_s is known */
} stencil_cluster;

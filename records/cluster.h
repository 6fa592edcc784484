/* The description of a cluster as JSON. */
#pragma once

#include "records/record.h"
#include "solver/machine/cluster.h"

/* Tells whether JSON is the description of a cluster. */
bool stencil_cluster_is(const json_t *root);

/* Returns the JSON of a description, owned by the caller; NULL without memory. */
json_t *stencil_cluster_write(const stencil_cluster *cluster);

/* Reads a description. Errors: BAD_DATA, whose message names what is wrong; NO_MEMORY. */
stencil_status stencil_cluster_read(stencil_cluster *cluster, const json_t *root);

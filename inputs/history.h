/* The residual history that earlier runs have left in a file. */
#ifndef STENCIL_INPUTS_HISTORY_H
#define STENCIL_INPUTS_HISTORY_H

#include <hdf5.h>

#include "solver/problem.h"

/* Fills the history of problem->origin from /residual and /residual_step; none where they are missing or the
 * problem begins anew. BAD_DATA: they do not fit together, or not to steps_total. */
stencil_status stencil_history_read(hid_t file, const char *path, stencil_problem *problem);

#endif

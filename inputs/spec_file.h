/* A problem as it stands in a file: attributes of the root group, the group /stencil, and the residual
 * history that earlier runs have left. */
#ifndef STENCIL_INPUTS_SPEC_FILE_H
#define STENCIL_INPUTS_SPEC_FILE_H

#include <hdf5.h>

#include "solver/problem.h"

/* Fills what the file gives; spec->rank is known. BAD_DATA names the attribute or dataset and what is
 * allowed. */
stencil_status stencil_spec_read(hid_t file, const char *path, stencil_spec *spec);

/* Writes what is given in `spec`, into a new file. IO on failure. */
stencil_status stencil_spec_write(hid_t file, const char *path, const stencil_spec *spec);

/* Name of the index-th attribute, NULL behind the last one; *past: a run writes it, no user gives it. */
const char *stencil_spec_attribute(int index, bool *past);

/* Fills the history of problem->origin from /residual and /residual_step; none where they are missing or the
 * problem begins anew. BAD_DATA: they do not fit together, or not to steps_total. */
stencil_status stencil_history_read(hid_t file, const char *path, stencil_problem *problem);

#endif

/* A stencil_spec as it stands in a file: attributes of the root group (spec_attributes.c) and the group
 * /stencil (spec_points.c). */
#ifndef STENCIL_INPUTS_SPEC_FILE_H
#define STENCIL_INPUTS_SPEC_FILE_H

#include <hdf5.h>

#include "solver/spec.h"

/* Fill what the file gives; spec->rank is known, and the attributes are read before the points. BAD_DATA
 * names the attribute or dataset and what is allowed. */
stencil_status stencil_spec_read_attributes(hid_t file, const char *path, stencil_spec *spec);
stencil_status stencil_spec_read_points(hid_t file, const char *path, stencil_spec *spec);

/* Write what is given in `spec`, into a new file. IO on failure. */
stencil_status stencil_spec_write_attributes(hid_t file, const char *path, const stencil_spec *spec);
stencil_status stencil_spec_write_points(hid_t file, const char *path, const stencil_spec *spec);

/* Name of the index-th attribute, NULL behind the last one; *past: a run writes it, no user gives it. */
const char *stencil_spec_attribute(int index, bool *past);

#endif

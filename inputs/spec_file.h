/* A stencil_spec as it stands in a file: attributes of the root group and the group /stencil. */
#ifndef STENCIL_INPUTS_SPEC_FILE_H
#define STENCIL_INPUTS_SPEC_FILE_H

#include <hdf5.h>

#include "solver/spec.h"

/* Fills what the file gives; spec->rank is known. BAD_DATA names the attribute or dataset and what is
 * allowed. */
stencil_status stencil_spec_read(hid_t file, const char *path, stencil_spec *spec);

/* Writes what is given in `spec`, into a new file. IO on failure. */
stencil_status stencil_spec_write(hid_t file, const char *path, const stencil_spec *spec);

#endif

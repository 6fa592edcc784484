/* What the writer needs of an open input. */
#ifndef STENCIL_INPUTS_INPUT_FILE_H
#define STENCIL_INPUTS_INPUT_FILE_H

#include <hdf5.h>

#include "inputs/inputs.h"

struct stencil_input {
    hid_t file;
    char *path; /* owned */
};

#endif

/* What reader and writer know of an open input. */
#ifndef STENCIL_INPUTS_INPUT_FILE_H
#define STENCIL_INPUTS_INPUT_FILE_H

#include <hdf5.h>

#include "inputs/inputs.h"

struct stencil_input {
    hid_t file;
    char *path; /* owned */
    /* For reading cells: */
    const stencil_problem *problem;
    hid_t dataset;       /* of the array that was last read; 0: none is open */
    stencil_array array; /* that one */
    void *buffer;        /* for values of /f, owned */
};

#endif

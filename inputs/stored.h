/* The numbers of an input as they are stored: read directly where the file has a contiguous dataset in native
 * format, else through the process that reads the file. Internal to inputs/. */
#pragma once

#include "inputs/inputs.h"

/* The dataset that an array is read from; of classes, and of /k, that which input->kind says. */
int stencil_stored_dataset(const stencil_input *input, stencil_array array);

/* Reads a box of stored numbers, not unpacked, converted to input->read_as; a reader of the input. */
stencil_status stencil_stored_read(void *input, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to);

/* Visits the numbers of a dataset in slabs, as double, in which no integer other than 0 becomes 0. The box
 * counts from the first updated cell. */
stencil_status stencil_numbers_visit(stencil_input *input, int dataset, const stencil_box *box,
                                     stencil_slab_visitor *visit, void *context);

/* Fails since a cell of a dataset is not finite, by the names of both. */
stencil_status stencil_input_refuse(stencil_input *input, int dataset, const int64_t cell[3]);

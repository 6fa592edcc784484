/* Arrays of an input whose factors change in time: further source arrays, and the values of driven cells.
 * Internal to inputs/. */
#pragma once

#include "inputs/inputs.h"

/* Reads a box of array k of the source, scaled like the first one; zeros where the source has no such array.
 */
stencil_status stencil_sum_read(stencil_input *input, int k, const stencil_box *box, const stencil_cells *to);

/* Writes the kind of driven cells among the kinds of a box: of cells that keep their values, or are of a
 * fixed side, for which /fixed_value has a number. BAD_DATA where one is infinite and has to be finite. */
stencil_status stencil_driven_kinds(stencil_input *input, const stencil_box *box, const stencil_cells *kinds);

/* Gives the driven cells of a box what they have in an array: of u the value at the time of the file's field,
 * of array k of a sum that of /fixed_value and so on. from: reads the classes of the cells. */
stencil_status stencil_driven_read(stencil_input *input, const stencil_reader *from, stencil_array array,
                                   const stencil_box *box, const stencil_cells *to);

/* The palette of a problem: distinct rows of weights, numbered from 1 on in the order in which they are
 * added. A class of cells is a byte, and bytes name 252 rows. Where there are more, the rows of the most
 * cells get bytes, and cells of the other ones the class WIDE and a number in two bytes (kernels/classes.h).
 */
#pragma once

#include "solver/problem/problem.h"

/* Begins an empty palette for `most` rows, in place of another one. Errors: NO_MEMORY. */
stencil_status stencil_palette_begin(stencil_problem *problem, int most);

/* Returns the number of a row [STENCIL_WEIGHTS], compared bit by bit; 0: the palette has no such row. */
int stencil_palette_find(const stencil_problem *problem, const double *row);

/* Tells whether the palette has as many rows as it may have. */
bool stencil_palette_is_full(const stencil_problem *problem);

/* Adds a row, which may be there already, behind the others. The palette must not be full. Errors: NO_MEMORY.
 */
stencil_status stencil_palette_add(stencil_problem *problem, const double *row);

/* Counts a cell of row `number`. */
void stencil_palette_count(stencil_problem *problem, int number);

/* Ends the palette: gives bytes to the rows of the most cells, where bytes do not name all. Errors:
 * NO_MEMORY.
 */
stencil_status stencil_palette_end(stencil_problem *problem);

/* Returns the class of cells of row `number`; 0: STENCIL_CLASS_PLAIN. */
uint8_t stencil_palette_class(const stencil_problem *problem, int number);

void stencil_palette_destroy(stencil_problem *problem);

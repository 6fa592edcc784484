/* Classes of cells: what a problem's author says of single cells, as kernels take it (kernels/classes.h). */
#pragma once

#include "kernels/classes.h"
#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

/* Finds out what classes the cells have, slab by slab: sets problem->kept, varied and the palette, which the
 * problem owns. To be called once after stencil_problem_resolve(), before a plan is made. `tables`
 * (borrowed by the problem; may be NULL where its spec asks for none): all rows of /stencil/weights as given,
 * and numbers along sides. Where these give more rows than bytes name, all that walls add becomes part of the
 * source term instead (walls_in_source), so that rows differ by their weights only, unless the first source
 * has a table of factors; rows that are still too many get numbers of two bytes (palette.h). Errors: BAD_DATA
 * where no cell is left to update, a cell is of no class, or a weight is not finite; NO_MEMORY; those of the
 * reader. */
stencil_status stencil_classes_find(stencil_problem *problem, const stencil_reader *from,
                                    const stencil_tables *tables);

/* stencil_classes_rows() reads the classes of the cells of a box, without gaps, as two bytes each: the number
 * of the row of its weights, 0 of a plain cell, or one of these. Errors: NO_MEMORY; those of the reader. */
enum { STENCIL_ROW_DRIVEN = 0xfffe, STENCIL_ROW_KEPT };
stencil_status stencil_classes_rows(const stencil_problem *problem, const stencil_reader *from,
                                    const stencil_box *box, uint16_t *to);

/* Sets the source term to 0 in the kept cells of a box that `b` has: no step adds it there. Errors:
 * NO_MEMORY; those of the reader. */
stencil_status stencil_classes_clear_source(const stencil_problem *problem, const stencil_reader *from,
                                            const stencil_box *box, const stencil_cells *b);

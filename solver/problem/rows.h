/* The palette of a problem: rows of weights for classes of cells, as the author gives them and as walls and
 * cells of /insulated make them.
 *
 * A point that would read beyond a wall, or a cell of /insulated, reads another cell in its place. A walk
 * says which: it starts at the cell, goes |offset| cells along an axis, one at a time, and then along the
 * next axis. Where the next cell is insulated, or beyond a wall, the walk stays for that one step and turns
 * about, as an image in the face between the two cells does; a wall through the outermost cells turns it
 * about without a step. With d cells left after that, what is beyond the wall differs from the image by what
 * the slope in the wall adds over the length D between the two: D = (2 d + 1) h, through cells 2 d h before
 * the step that follows. So
 *   flux g:               value = image + D g
 *   exchange a, ambient:  value = (1 - t)/(1 + t) image + 2 t/(1 + t) ambient, t = a D / 2
 *   through cells:        value = image + D a (ambient - cell in the wall)
 * A point with offsets along several axes takes the cell at its offset where a walk in any order of the axes
 * gets there without turning. Else, where walks in all orders end at the same cell, it takes that, and the
 * terms of the walk along x first, then y, then z; else the cell itself. So does a point whose walk ends at
 * no point of the set. Where walks in all orders meet mirrors half a cell beyond alone, ghost cells have the
 * image, and the point is read as it is. Weights are added in ascending order of the points that they come
 * from, in double. */
#pragma once

#include "kernels/classes.h"
#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

/* Tells whether a cell (z, y, x) is one of the outermost cells of a fixed side of a mirrored axis. */
bool stencil_cell_is_beside_fixed(const stencil_problem *problem, const int64_t cell[3]);

/* The mesh of a problem's classes and kinds, for reading them in slabs. */
stencil_mesh stencil_classes_mesh(const stencil_problem *problem);

/* Begins the palette, of `most` rows at most, with the rows as given, weights[class_count][weight_count];
 * NULL where class_count is 0. Errors: BAD_DATA where there are too many (*full is set then), or a weight is
 * not finite; NO_MEMORY. */
stencil_status stencil_rows_begin(stencil_problem *problem, const double *weights, int most, bool *full);

/* Reads kinds of cells and writes the classes of a box to bytes; to an array of two bytes, the numbers of the
 * rows of cells of class WIDE, as STENCIL_ARRAY_ROW has them. stencil_classes_add() adds rows that are
 * missing from the palette, and counts the cells of each. Errors: BAD_DATA where there are too many rows
 * (*full is set then), a cell is of a row that does not exist, or one is not finite; where
 * stencil_classes_read() finds no row, since kinds have changed; NO_MEMORY; those of the reader. */
stencil_status stencil_classes_add(stencil_problem *problem, const stencil_reader *from,
                                   const stencil_box *box, const stencil_cells *to, bool *full);
stencil_status stencil_classes_read(const stencil_problem *problem, const stencil_reader *from,
                                    const stencil_box *box, const stencil_cells *to);

/* Adds the constants of cells beside walls to a box of the source term, where problem->walls_in_source says
 * that rows have none: each to the value that is there, in double, rounded again. Errors: BAD_DATA where one
 * is not finite; NO_MEMORY; those of the reader. */
stencil_status stencil_classes_add_constants(const stencil_problem *problem, const stencil_reader *from,
                                             const stencil_box *box, const stencil_cells *b);

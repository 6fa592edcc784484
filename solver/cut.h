/* How the extent of a problem is cut into parts, one for each GPU or for each mention of one. */
#ifndef STENCIL_SOLVER_CUT_H
#define STENCIL_SOLVER_CUT_H

#include "solver/problem.h"
#include "sync/barrier.h"

/* Parts stand in a grid, numbered with x fastest. first[axis][k] is the first updated cell of the k-th of
 * count[axis] parts along an axis (z, y, x), first[axis][count[axis]] the number of cells. */
typedef struct stencil_cut {
    int parts;
    int count[3];
    int64_t first[3][STENCIL_PARTS_MAX + 1];
} stencil_cut;

/* Cuts the updated cells into `parts` parts of as equal size as can be, along as many axes as `asked` says
 * (number of parts per axis, z, y, x; all 0: along the slowest axis, or along the one or two axes where fewer
 * bytes cross between parts; an edge along x counts a sector of 32 bytes for each cell). Cuts along x lie at
 * multiples of STENCIL_CHUNK_CELLS. USAGE: the product of `asked` is not `parts`; a part would be thinner
 * than the points reach. */
stencil_status stencil_cut_make(stencil_cut *cut, const stencil_problem *problem, int parts,
                                const int asked[3]);

/* Place of a part in the grid of parts, and its number. */
void stencil_cut_place(const stencil_cut *cut, int part, int place[3]);
int stencil_cut_number(const stencil_cut *cut, const int place[3]);

/* First updated cell and extent of a part. */
void stencil_cut_box(const stencil_cut *cut, int part, int64_t first[3], int64_t n[3]);

/* Part beyond `part` in a direction (-1, 0, 1 per axis), around the ends of periodic axes; an axis that is
 * mirrored there leads to the part itself; -1: the boundary is fixed. */
int stencil_cut_beyond(const stencil_cut *cut, const stencil_problem *problem, int part,
                       const int direction[3]);

/* Layout that all parts use: that of the largest one, the rims of the problem around it. */
stencil_status stencil_cut_layout(stencil_layout *layout, const stencil_cut *cut,
                                  const stencil_problem *problem);

/* Whether the cells of a part follow each other in the whole field: the cut is along the slowest axis alone.
 */
bool stencil_cut_is_slabs(const stencil_cut *cut, const stencil_problem *problem);

#endif

/* The cut of the updated cells of a problem into parts, one for each GPU or for each mention of one, and the
 * place of everything: the box of each part, the ghost cells around it, and whose cells those are copies of.
 *
 *      part 0  |  part 1          g  ghost cells of part 0: copies of cells of part 1 (right), 2 (below), 3
 *   b b b b b b|                     (corner). Where the boundary is periodic or mirror it has some beyond
 *   b . . . . .|g                    the ends of the problem, too: cells of other parts or of its own
 *   b . . . . .|g                 b  boundary cells of the problem, fixed: nobody's copies
 *   -----------+---------         .  its updated cells
 *   b g g g g g g
 *      part 2  |  part 3
 */
#pragma once

#include "kernels/points.h"
#include "solver/parts/layout.h"
#include "sync/barrier.h"

/* The geometry of a problem. `ghosts`: how many ghost cells a part has beyond a cut, the radius of the shape
 * times the steps between two halo exchanges: there a sweep must see the very cells that it would see without
 * the cut, even where weights are 0. `wraps`: how many it has beyond an end of the problem, as far as the
 * points given reach (at most `ghosts`): in all of those steps where it is periodic, in one where it is
 * mirrored, since what a step makes is mirrored for the next one; 0 where the boundary is fixed. */
typedef struct stencil_mesh {
    int rank;
    stencil_precision precision;
    const stencil_shape *shape;
    int64_t n[3]; /* updated cells */
    stencil_boundary boundary[3];
    int64_t ghosts[3], wraps[3];
    int64_t edges[3]; /* boundary cells at each end, kept as they are; 0 where the boundary is not fixed */
} stencil_mesh;

/* The cells of /u: the updated ones, from 0 on, and the boundary cells around them. */
stencil_box stencil_mesh_array(const stencil_mesh *mesh);

/* Tells whether ghost cells at periodic ends reach as far as the shape looks in all steps between two halo
 * exchanges, even with weight 0, and there are cells that they can be copies of. */
bool stencil_mesh_has_room(const stencil_mesh *mesh);

/* Parts stand in a grid, numbered with x fastest. first[axis][k] is the first updated cell of the k-th of
 * count[axis] parts along an axis (z, y, x), first[axis][count[axis]] the number of cells. */
typedef struct stencil_cut {
    stencil_mesh mesh;
    int parts;
    int count[3];
    int64_t first[3][STENCIL_PARTS_MAX + 1];
    stencil_layout layout; /* of the buffers of all parts: that of the largest one with its ghost cells */
} stencil_cut;

/* Cuts the updated cells into `parts` parts of as equal size as can be, along as many axes as `asked` says
 * (number of parts per axis, z, y, x; all 0: along the slowest axis, or along the one or two axes where fewer
 * bytes cross between parts; ghost cells along x count a sector of 32 bytes each). Cuts along x lie at
 * multiples of STENCIL_PARTIAL_CELLS. USAGE: the product of `asked` is not `parts`; a part would be thinner
 * than its ghost cells are deep. BAD_DATA: the layout overflows. */
stencil_status stencil_cut_make(stencil_cut *cut, const stencil_mesh *mesh, int parts, const int asked[3]);

/* A part's updated cells, in indices of the whole problem. */
stencil_box stencil_cut_box(const stencil_cut *cut, int part);

/* The cells of /u that a part has by itself: its updated cells, and the boundary cells at the ends of the
 * problem that it reaches to. All parts together have all cells of /u. */
stencil_box stencil_cut_cells(const stencil_cut *cut, int part);

/* All cells of a part: its ghost cells as well, as far as there is somebody's cell to copy. */
stencil_box stencil_cut_window(const stencil_cut *cut, int part);

/* Boxes of updated cells of others, or of its own beyond periodic ends, that a part makes steps of besides
 * its own cells: its ghost cells, but for those of a single step. In indices of the whole problem, beyond its
 * ends where they show up there. Returns how many boxes there are. */
enum { STENCIL_FRAME_BOXES = 6 };
int stencil_cut_frame(const stencil_cut *cut, int part, stencil_box box[STENCIL_FRAME_BOXES]);

/* Part beyond `part` in a direction (-1, 0, 1 per axis), around the ends of periodic axes; an axis that is
 * mirrored there leads to the part itself; -1: nobody, the boundary is fixed or no point is read there. */
int stencil_cut_beyond(const stencil_cut *cut, int part, const int direction[3]);

/* A side (0: low, 1: high) of an axis of a part. */
typedef struct stencil_side {
    int beyond;     /* the part there, see stencil_cut_beyond() */
    int64_t ghosts; /* how deep the part's ghost cells are: as many of its cells others have as ghost cells */
} stencil_side;
stencil_side stencil_cut_side(const stencil_cut *cut, int part, int axis, int side);

/* Cells of one part that stand in a box of the whole problem, or show up there. */
typedef struct stencil_piece {
    int part;         /* whose cells they are */
    stencil_box box;  /* in indices of that part */
    int64_t at[3];    /* where the first of them shows up, in indices of the whole problem */
    bool mirrored[3]; /* along this axis the last one is the first there */
} stencil_piece;

/* Takes a box of the whole problem apart into pieces, and visits them in turn, x fastest. It may reach beyond
 * the ends of the problem, as far as one likes: there for the cells that are shown, where those are any. */
typedef void stencil_cut_visitor(void *context, const stencil_piece *piece);
void stencil_cut_split(const stencil_cut *cut, const stencil_box *box, stencil_cut_visitor *visit,
                       void *context);

/* Tells whether the cells of each part follow each other in the whole field: the slowest axis alone is
 * cut. */
bool stencil_cut_is_slabs(const stencil_cut *cut);

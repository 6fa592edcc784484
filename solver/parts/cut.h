/* The cut of the updated cells of a problem into parts, one for each entry of the list of GPUs: the box of
 * each part, the ghost cells around it, and the cells of which ghost cells are copies.
 *
 *      part 0  |  part 1          g  ghost cells of part 0: copies of cells of part 1 (right), 2 (below), 3
 *   b b b b b b|                     (corner). Where the boundary is periodic or mirror it has some beyond
 *   b . . . . .|g                    the ends of the problem, too: cells of other parts or of its own
 *   b . . . . .|g                 b  boundary cells of the problem, fixed: no copies
 *   -----------+---------         .  its updated cells
 *   b g g g g g g
 *      part 2  |  part 3
 */
#pragma once

#include "kernels/points.h"
#include "solver/parts/layout.h"
#include "sync/barrier.h"

/* The geometry of a problem. `ghosts`: depth of a part's ghost cells at a cut, the radius of the shape times
 * the steps between two halo exchanges, since a sweep must see the same cells as without the cut, even where
 * weights are 0. `wraps`: depth beyond an end of the problem, as far as the points given reach (at most
 * `ghosts`): in all of those steps at a periodic end, in one at a mirrored end, 0 at a fixed end. */
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

/* Tells whether ghost cells at periodic ends are as deep as the shape reaches in all steps between two halo
 * exchanges, and the problem has as many cells for them to copy. */
bool stencil_mesh_has_room(const stencil_mesh *mesh);

/* A cut into a grid of parts, numbered with x fastest, of which a process has some: parts own …
 * own + owned - 1. Nothing in it grows with the number of parts. */
enum { STENCIL_CUT_PARTS_MAX = 1 << 20 };
typedef struct stencil_cut {
    stencil_mesh mesh;
    int parts;             /* of all processes */
    int count[3];          /* of them along each axis (z, y, x) */
    int own, owned;        /* this process's first part, and how many it has: all, where it is the only one */
    stencil_layout layout; /* layout of every part's buffers: fits the largest part with its ghost cells */
} stencil_cut;

/* Returns the first updated cell of the k-th of the parts along an axis; k = count[axis]: the number of cells
 * along it. stencil_cut_place() returns the k of the part with cell i. */
int64_t stencil_cut_first(const stencil_cut *cut, int axis, int k);
int stencil_cut_place(const stencil_cut *cut, int axis, int64_t i);

/* Tells whether this process has a part. */
static inline bool stencil_cut_has(const stencil_cut *cut, int part) {
    return part >= cut->own && part < cut->own + cut->owned;
}

/* Cuts the updated cells into `parts` parts of as equal size as can be, along as many axes as `asked` says
 * (number of parts per axis, z, y, x; all 0: along the slowest axis, or along the one or two axes where fewer
 * bytes cross between parts; ghost cells along x count a sector of 32 bytes each). Cuts along x lie at
 * multiples of STENCIL_PARTIAL_CELLS. The process has all parts. USAGE: the product of `asked` is not
 * `parts`; a part would be thinner than its ghost cells are deep. BAD_DATA: the layout overflows. */
stencil_status stencil_cut_make(stencil_cut *cut, const stencil_mesh *mesh, int parts, const int asked[3]);

/* A part's updated cells, in indices of the whole problem. */
stencil_box stencil_cut_box(const stencil_cut *cut, int part);

/* The cells of /u that belong to a part: its updated cells, and the boundary cells at ends of the problem
 * where it lies. Each cell of /u belongs to one part. */
stencil_box stencil_cut_cells(const stencil_cut *cut, int part);

/* All cells of a part, including the ghost cells that are copies of a cell of /u. */
stencil_box stencil_cut_window(const stencil_cut *cut, int part);

/* Finds the boxes of ghost cells that a part updates redundantly in passes of several steps: all ghost cells
 * that are copies of updated cells, but for the outermost, as deep as the radius. Indices are of the whole
 * problem, beyond its ends at periodic boundaries. Returns the number of boxes. */
enum { STENCIL_FRAME_BOXES = 6 };
int stencil_cut_frame(const stencil_cut *cut, int part, stencil_box box[STENCIL_FRAME_BOXES]);

/* Returns on how many sides along an axis that is cut into `count` parts the part in the middle adjoins
 * others. */
static inline int stencil_cut_sides(int count, bool periodic) {
    return count == 1 ? 0 : count > 2 || periodic ? 2 : 1;
}

/* The part next to `part` in a direction (-1, 0, 1 per axis), wrapped at periodic ends; at a mirrored end the
 * part itself; -1: no part, since the boundary is fixed or no point reaches across. */
int stencil_cut_beyond(const stencil_cut *cut, int part, const int direction[3]);

/* A side (0: low, 1: high) of an axis of a part. */
typedef struct stencil_side {
    int beyond;     /* the part next to this side, see stencil_cut_beyond() */
    int64_t ghosts; /* depth of the part's ghost cells; the part next to it has equally deep ones */
} stencil_side;
stencil_side stencil_cut_side(const stencil_cut *cut, int part, int axis, int side);

/* A box of cells of one part, as they appear in a box of the whole problem: in place, wrapped or mirrored. */
typedef struct stencil_piece {
    int part;         /* the part that owns the cells */
    stencil_box box;  /* the cells, in indices of the part */
    int64_t at[3];    /* place of the first cell of the piece, in indices of the whole problem */
    bool mirrored[3]; /* along this axis the cells appear in reverse order */
} stencil_piece;

/* Splits a box of the whole problem into pieces and visits each, x fastest. Beyond periodic and mirrored
 * ends, at any distance, the box has wrapped or mirrored cells; cells beyond fixed ends are skipped. */
typedef void stencil_cut_visitor(void *context, const stencil_piece *piece);
void stencil_cut_split(const stencil_cut *cut, const stencil_box *box, stencil_cut_visitor *visit,
                       void *context);

/* Tells whether the cells of each part are contiguous in the whole field: only the slowest axis is cut. */
bool stencil_cut_is_slabs(const stencil_cut *cut);

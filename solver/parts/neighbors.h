/* Who makes which cells of a step, and which participants read each other's. */
#ifndef STENCIL_SOLVER_PARTS_NEIGHBORS_H
#define STENCIL_SOLVER_PARTS_NEIGHBORS_H

#include "solver/parts/cut.h"

/* Who makes which tiles. Each part has tiles of tile[3] cells (z, y, x), numbered with x fastest. */
typedef struct stencil_workers {
    int64_t tile[3];
    /* Participants first[p] … first[p + 1] - 1 take the tiles of part p round-robin; together: first[parts]
     * participants share the tiles of all parts, one part after the other, by stencil_share(). */
    uint32_t first[STENCIL_PARTS_MAX + 1];
    bool together;
} stencil_workers;

/* The participant that makes updated cell `cell` (z, y, x) of part `part`; workers->together must not be set.
 */
uint32_t stencil_workers_owner(const stencil_workers *workers, const stencil_cut *cut, int part,
                               const int64_t cell[3]);

/* Lists in one piece: participant p waits for list[first[p]] … list[first[p + 1] - 1], itself not among them.
 */
typedef struct stencil_neighbors {
    uint32_t *first; /* [participants + 1], owned */
    uint32_t *list;  /* [first[participants]], owned */
} stencil_neighbors;

/* A tile reads the points of the shape around its cells, in ghost cells what those are copies of. The
 * relation is symmetric. NO_MEMORY. */
stencil_status stencil_neighbors_find(stencil_neighbors *neighbors, const stencil_cut *cut,
                                      const stencil_workers *workers);
void stencil_neighbors_destroy(stencil_neighbors *neighbors);

#endif

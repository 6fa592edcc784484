/* Which participants of a sweep read each other's cells. Internal to solver/. */
#ifndef STENCIL_SOLVER_NEIGHBORS_H
#define STENCIL_SOLVER_NEIGHBORS_H

#include "kernels/sweep.h"

/* Lists in one piece: participant p waits for list[first[p]] … list[first[p + 1] - 1], itself not among them.
 */
typedef struct stencil_neighbors {
    uint32_t participants;
    uint32_t *first; /* [participants + 1], owned */
    uint32_t *list;  /* [first[participants]], owned */
} stencil_neighbors;

/* Tiles of tile[3] cells (z, y, x), numbered with x fastest, are shared out as stencil_tile_share() says; a
 * tile reads the points of `shape` around its cells, through the rims of `domain`. The relation is symmetric.
 * NO_MEMORY. */
stencil_status stencil_neighbors_find(stencil_neighbors *neighbors, const stencil_domain *domain,
                                      const stencil_shape *shape, const int64_t tile[3],
                                      uint32_t participants);
void stencil_neighbors_destroy(stencil_neighbors *neighbors);

#endif

/* Which participants of a sweep read each other's cells. Internal to solver/. */
#ifndef STENCIL_SOLVER_NEIGHBORS_H
#define STENCIL_SOLVER_NEIGHBORS_H

#include "solver/cut.h"

/* Lists in one piece: participant p waits for list[first[p]] … list[first[p + 1] - 1], itself not among them.
 */
typedef struct stencil_neighbors {
    uint32_t participants;
    uint32_t *first; /* [participants + 1], owned */
    uint32_t *list;  /* [first[participants]], owned */
} stencil_neighbors;

/* Who makes which tiles. Each part has tiles of tile[3] cells (z, y, x), numbered with x fastest. */
typedef struct stencil_workers {
    int64_t tile[3];
    /* Participants first[p] … first[p + 1] - 1 take the tiles of part p in turns; together: first[parts]
     * participants share the tiles of all parts, one part after the other, by stencil_share(). */
    uint32_t first[STENCIL_PARTS_MAX + 1];
    bool together;
} stencil_workers;

/* A tile reads the points of problem->shape around its cells, beyond the boundaries of the problem what the
 * rims there are copies of. The relation is symmetric. NO_MEMORY. */
stencil_status stencil_neighbors_find(stencil_neighbors *neighbors, const stencil_problem *problem,
                                      const stencil_cut *cut, const stencil_workers *workers);
/* The participant that makes updated cell `cell` (z, y, x) of part `part`; workers->together must not be set.
 */
uint32_t stencil_workers_owner(const stencil_workers *workers, const stencil_cut *cut, int part,
                               const int64_t cell[3]);

void stencil_neighbors_destroy(stencil_neighbors *neighbors);

#endif

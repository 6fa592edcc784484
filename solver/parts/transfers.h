/* Which cells travel from part to part: for the ghost cells of every part, whose cells they are copies of. */
#ifndef STENCIL_SOLVER_PARTS_TRANSFERS_H
#define STENCIL_SOLVER_PARTS_TRANSFERS_H

#include "solver/parts/cut.h"

/* A box of cells of part `from` that part `to` has among its ghost cells, each in its own indices. */
typedef struct stencil_transfer {
    int from, to;
    stencil_box from_box, to_box;
    bool mirrored[3]; /* along this axis the last cell of from_box is the first one of to_box */
} stencil_transfer;

/* Part p sends item[first[p]] … item[first[p + 1] - 1]. */
typedef struct stencil_transfers {
    int first[STENCIL_PARTS_MAX + 1];
    stencil_transfer *item; /* owned */
} stencil_transfers;

typedef enum stencil_ghosts {
    STENCIL_GHOSTS_ALL, /* each ghost cell once, corners and those that copy the part's own cells included;
                           for any width, that of several parts and of several times the problem included */
    /* Those that a part cannot fill from its own cells. Where it can, along an axis that is not cut or at a
     * mirrored end, the boxes reach over what the sender has there, with which corners come: for parts at
     * least as thick as their ghost cells, and nothing is mirrored. */
    STENCIL_GHOSTS_OF_OTHERS
} stencil_ghosts;

/* NO_MEMORY. */
stencil_status stencil_transfers_find(stencil_transfers *transfers, const stencil_cut *cut,
                                      stencil_ghosts which);
void stencil_transfers_destroy(stencil_transfers *transfers);

#endif

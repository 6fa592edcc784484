/* Which boxes of cells are copied from part to part, where the sweep does not store its copies itself. */
#ifndef STENCIL_SOLVER_PARTS_TRANSFERS_H
#define STENCIL_SOLVER_PARTS_TRANSFERS_H

#include "solver/parts/cut.h"

/* A box of cells of part `from` that part `to` has among its ghost cells, each in its own indices. */
typedef struct stencil_transfer {
    int from, to;
    stencil_box from_box, to_box;
} stencil_transfer;

/* Part p sends item[first[p]] … item[first[p + 1] - 1]. */
typedef struct stencil_transfers {
    int first[STENCIL_PARTS_MAX + 1];
    stencil_transfer *item; /* owned */
} stencil_transfers;

/* Ghost cells that a part cannot fill from its own cells. Where it can, along an axis that is not cut or at a
 * mirrored end, the boxes reach over what the sender has there, with which corners come: parts are at least
 * as thick as their ghost cells, and nothing is mirrored. NO_MEMORY. */
stencil_status stencil_transfers_find(stencil_transfers *transfers, const stencil_cut *cut);
void stencil_transfers_destroy(stencil_transfers *transfers);

#endif

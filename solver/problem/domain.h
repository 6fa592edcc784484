/* Domains: what the kernels are told of a problem and its cut, and which boxes of cells are copied from part
 * to part where they do not store their copies themselves. Internal to solver/. */
#pragma once

#include "kernels/sweep.h"
#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

/* The arrays of all parts, of the layout of their cut: two buffers that take turns, so that a pass reads one
 * and writes the other one (STENCIL_BUFFER_U + 0 or 1), and the source term where there is one. */
enum { STENCIL_BUFFER_U, STENCIL_BUFFER_B = 2, STENCIL_BUFFERS };
typedef struct stencil_buffers {
    const stencil_cut *cut;
    int count; /* of each part: 2 or 3 */
    void *at[STENCIL_PARTS_MAX][STENCIL_BUFFERS];
} stencil_buffers;

/* The one that holds an array of the problem while buffer `from` of the two has the field. */
static inline int stencil_buffer_of(stencil_array array, int from) {
    return array == STENCIL_ARRAY_U ? STENCIL_BUFFER_U + from : STENCIL_BUFFER_B;
}

/* Cells of a part there from a cell on, in indices of the whole problem. */
stencil_cells stencil_buffer_cells(const stencil_buffers *buffers, int part, int buffer,
                                   const int64_t cell[3]);

/* A box of cells of part `from` that part `to` has among its ghost cells, each in its own indices. */
typedef struct stencil_halo_transfer {
    int from, to;
    stencil_box from_box, to_box;
} stencil_halo_transfer;

typedef struct stencil_halo_transfers {
    int count;
    stencil_halo_transfer *item; /* owned */
} stencil_halo_transfers;

/* Ghost cells that a part cannot fill from its own cells. Where it can, along an axis that is not cut or at a
 * mirrored end, the boxes reach over what the sender has there, with which corners come: parts are at least
 * as thick as their ghost cells, and nothing is mirrored. NO_MEMORY. */
stencil_status stencil_halo_transfers_find(stencil_halo_transfers *transfers, const stencil_cut *cut);
void stencil_halo_transfers_destroy(stencil_halo_transfers *transfers);

/* The way of a transfer between two parts. */
typedef struct stencil_way {
    stencil_cells from, to;
} stencil_way;
stencil_way stencil_buffer_way(const stencil_buffers *buffers, const stencil_halo_transfer *transfer,
                               int buffer);

/* The weights of the problem's cycle, in its precision, in memory that the caller frees; *length of them.
 * NO_MEMORY. */
stencil_status stencil_weights_make(stencil_weights **cycle, int *length, const stencil_problem *problem);
int64_t stencil_weights_bytes(const stencil_problem *problem);

/* Extents and ghost cells of part `part`. `store`: the sweep writes the ghost cells of the parts beyond;
 * otherwise somebody copies them afterwards. Borrows everything. `weights` and `partial` are left to the
 * caller. */
void stencil_domain_init(stencil_domain *domain, const stencil_problem *problem, int part,
                         const stencil_buffers *buffers, bool store);

/* Swaps u[0] and u[1] in all parts. */
void stencil_domain_swap(stencil_domain *domain);

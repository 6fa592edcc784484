/* The participants (blocks or threads) that update the cells of a step, the neighbours whose cells each
 * reads, and the LL exchange (NCCL's low-latency protocol): cells sent from part to part one by one, each in
 * its own flagged words (kernels/ll.cuh). */
#pragma once

#include "kernels/sweep.h"
#include "solver/parts/cut.h"

/* The assignment of tiles of tile[3] cells (z, y, x), numbered with x fastest, to participants. */
typedef struct stencil_workers {
    int64_t tile[3];
    /* Participants first[p] … first[p + 1] - 1 take the tiles of the process's p-th part round-robin;
     * together: first[owned] participants share the tiles of all of its parts, one part after the other, by
     * stencil_share(). */
    uint32_t first[STENCIL_PARTS_MAX + 1];
    bool together;
} stencil_workers;

/* Lists of neighbours in one array: participant p waits for list[first[p]] … list[first[p + 1] - 1]. */
typedef struct stencil_neighbors {
    uint32_t *first; /* [participants + 1], owned */
    uint32_t *list;  /* [first[participants]], owned */
} stencil_neighbors;

/* Finds the neighbours of each participant: the other owners of the cells that its tiles read. A tile reads
 * the points of the shape around its cells, or, in passes of several steps, all cells within the depth of
 * ghost cells, which count as the cells they copy. Waiting is mutual. Cells of other processes' parts have no
 * owner here. Errors: NO_MEMORY. */
stencil_status stencil_neighbors_find(stencil_neighbors *neighbors, const stencil_cut *cut,
                                      const stencil_workers *workers);

/* Finds the neighbours of blocks that have one tile each of a grid of tiles[3] (z, y, x) for each part,
 * numbered with x fastest: the blocks of all tiles around it. Parts lie one above the other along y; part p
 * has the blocks from first[p] on, of which those without a tile have no neighbours. periodic: the grid of
 * all parts has no ends along an axis. Errors: NO_MEMORY. */
stencil_status stencil_neighbors_of_grid(stencil_neighbors *neighbors, int parts, const uint32_t *first,
                                         const int64_t tiles[3], const bool periodic[3]);
void stencil_neighbors_destroy(stencil_neighbors *neighbors);

/* LL entries of all participants in one array: participant p has item[first[p]] … item[first[p + 1] - 1]. */
typedef struct stencil_ll_list {
    uint32_t *first;        /* [participants + 1], owned */
    stencil_ll_entry *item; /* owned */
} stencil_ll_list;

/* The LL slots, one for each cell that a part reads from another part: the participant that updates the cell
 * sends it once, all participants of the part that read it receive it. */
typedef struct stencil_ll_lists {
    int64_t slots[STENCIL_PARTS_MAX]; /* number of slots that each part receives in */
    stencil_ll_list send, receive;
} stencil_ll_lists;

/* Number of LL words per cell: each word carries 32 bits of it. */
static inline int64_t stencil_ll_words(stencil_precision precision) {
    return (int64_t)stencil_precision_bytes(precision) / 4;
}

/* Tells whether the LL exchange works for a mesh: the given points reach as far as the shape along every axis
 * that is not fixed. Otherwise ghost cells at the ends of the axis are updated less deep than the shape reads
 * (with weight 0), and a cell-wise exchange would leave the rest undefined. */
bool stencil_ll_fits(const stencil_mesh *mesh);

/* Finds the cells that the LL exchange sends, within the reach of the shape, for a mesh that fits. Requires
 * that workers->together is not set. slot[part]: address of the words of a part's contiguous slots, not
 * dereferenced here. Errors: NO_MEMORY; destroy even then. */
stencil_status stencil_ll_find(stencil_ll_lists *lists, const stencil_cut *cut,
                               const stencil_workers *workers, uint64_t *const slot[]);
void stencil_ll_destroy(stencil_ll_lists *lists);

/* Upper bound on the LL slots of any part: all ghost cells that may be copies of another part's cells. */
int64_t stencil_ll_slots_most(const stencil_cut *cut);

/* The participants that make the cells of a step, those that read each other's, and the LL exchange (named
 * after NCCL's low-latency protocol): cells that travel from part to part one by one, each in flagged words
 * of its own (kernels/ll.cuh), and the participants that send and receive them. */
#pragma once

#include "kernels/sweep.h"
#include "solver/parts/cut.h"

/* The makers of tiles. Each part has tiles of tile[3] cells (z, y, x), numbered with x fastest. */
typedef struct stencil_workers {
    int64_t tile[3];
    /* Participants first[p] … first[p + 1] - 1 take the tiles of part p round-robin; together: first[parts]
     * participants share the tiles of all parts, one part after the other, by stencil_share(). */
    uint32_t first[STENCIL_PARTS_MAX + 1];
    bool together;
} stencil_workers;

/* Lists in one piece: participant p waits for list[first[p]] … list[first[p + 1] - 1], itself not among them.
 */
typedef struct stencil_neighbors {
    uint32_t *first; /* [participants + 1], owned */
    uint32_t *list;  /* [first[participants]], owned */
} stencil_neighbors;

/* Finds the neighbours of each participant. A tile reads the points of the shape around its cells, in ghost
 * cells what those are copies of; all cells as far as ghost cells go where those last for several steps. The
 * relation is symmetric. NO_MEMORY; whatever it returns, destroy has to follow. */
stencil_status stencil_neighbors_find(stencil_neighbors *neighbors, const stencil_cut *cut,
                                      const stencil_workers *workers);
void stencil_neighbors_destroy(stencil_neighbors *neighbors);

/* Lists of all participants in one piece: participant p has item[first[p]] … item[first[p + 1] - 1]. */
typedef struct stencil_ll_list {
    uint32_t *first;        /* [participants + 1], owned */
    stencil_ll_entry *item; /* owned */
} stencil_ll_list;

/* A slot for each cell that a part reads of another one: sent once, by the participant that makes it,
 * received by all that read it. */
typedef struct stencil_ll_lists {
    int64_t slots[STENCIL_PARTS_MAX]; /* of each part */
    stencil_ll_list send, receive;
} stencil_ll_lists;

/* Words that carry a cell, 32 bits of it in each. */
static inline int64_t stencil_ll_words(stencil_precision precision) {
    return (int64_t)stencil_precision_bytes(precision) / 4;
}

/* Tells whether the points reach as far as the shape along every axis that is not fixed. Otherwise the ghost
 * cells at the ends of that axis are kept up to date less deep than the shape looks at (with weight 0), which
 * cells that travel by themselves would not see. */
bool stencil_ll_fits(const stencil_mesh *mesh);

/* Finds the cells that travel, as far as the shape reaches; the mesh fits. workers->together must not be set.
 * slot[part]: where the words of a part's slots will be, one slot behind the other, which nobody looks at
 * here. NO_MEMORY; whatever it returns, destroy has to follow. */
stencil_status stencil_ll_find(stencil_ll_lists *lists, const stencil_cut *cut,
                               const stencil_workers *workers, uint64_t *const slot[]);
void stencil_ll_destroy(stencil_ll_lists *lists);

/* Slots of the largest part, or somewhat more: all ghost cells that may be of others. */
int64_t stencil_ll_slots_most(const stencil_cut *cut);

/* Which edge cells travel from part to part, and by whom, where each comes in words of its own
 * (kernels/inbox.cuh). Internal to solver/. */
#ifndef STENCIL_SOLVER_INBOX_H
#define STENCIL_SOLVER_INBOX_H

#include "solver/neighbors.h"

/* A cell that a participant sends or fetches. */
typedef struct stencil_letter {
    int64_t cell; /* element from updated cell (0, 0, 0) of its part: that it makes, or in the part's rim */
    int64_t slot; /* where it travels through in the inbox of part `to` */
    int to;
} stencil_letter;

/* Lists of all participants in one piece: participant p has letter[first[p]] … letter[first[p + 1] - 1]. */
typedef struct stencil_letters {
    uint32_t *first;        /* [participants + 1], owned */
    stencil_letter *letter; /* owned */
} stencil_letters;

/* A slot for each cell that a part reads of another one: pushed once, by the participant that makes it,
 * pulled by all that read it. */
typedef struct stencil_inboxes {
    int64_t slots[STENCIL_PARTS_MAX];
    stencil_letters push, pull;
} stencil_inboxes;

/* Words that carry a cell, 32 bits of it in each. */
static inline int64_t stencil_inbox_words(stencil_precision precision) {
    return (int64_t)stencil_precision_bytes(precision) / 4;
}

/* Whether the points reach as far as problem->shape along every axis that is not fixed. Otherwise the rims of
 * that axis are kept up to date less deep than the shape looks at (with weight 0), which cells that travel by
 * themselves would not see. */
bool stencil_inbox_fits(const stencil_problem *problem);

/* Cells as far as problem->shape reaches; the problem fits. workers->together must not be set. NO_MEMORY. */
stencil_status stencil_inboxes_find(stencil_inboxes *inboxes, const stencil_problem *problem,
                                    const stencil_cut *cut, const stencil_workers *workers,
                                    const stencil_layout *layout);
void stencil_inboxes_destroy(stencil_inboxes *inboxes);

/* Slots of any part, or somewhat more: all cells of its rim that lie in others. */
int64_t stencil_inbox_slots_most(const stencil_problem *problem, const stencil_cut *cut);

#endif

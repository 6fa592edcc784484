/* The residual of a field whose parts lie in several processes, combined in the one order of
 * kernels/residual.h: groups whose values all lie in one rank are combined there, and of a group that
 * straddles ranks the pieces travel to the rank that has its first value. A rank has memory for the values of
 * its own part and for groups that begin in it.
 *
 *      numbers of partial sums   |  group 0  |  group 1  |  group 2  |
 *      lie in rank               0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 1 1 2
 *                                     rank 0 has the first value of group 1, and gets the others from rank 1
 */
#pragma once

#include "base/world.h"
#include "kernels/residual.h"
#include "solver/parts/cut.h"

/* Values that travel from rank to rank, or within one: `count` of them, between places of two arrays. */
typedef struct stencil_reduction_piece {
    int peer;
    int64_t from, to, count;
} stencil_reduction_piece;

/* The pieces of a level that go one way: to other ranks, from there, or within this one. */
typedef struct stencil_reduction_pieces {
    int64_t count, room;
    stencil_reduction_piece *item; /* [count], owned, those of a peer behind each other */
    double *buffer;                /* what travels, owned; NULL: pieces stay here */
} stencil_reduction_pieces;

/* A group of values that this rank combines: where they stand, and how many they are. */
typedef struct stencil_reduction_group {
    const double *from;
    int64_t count;
} stencil_reduction_group;

/* A level of the reduction, as in kernels/residual.h. */
typedef struct stencil_reduction_level {
    int64_t all;   /* number of values in all ranks */
    int64_t count; /* of those that this rank has */
    double *value; /* [count], owned */
    int64_t groups;
    stencil_reduction_group *group; /* [groups], owned: those that begin in this rank, ascending */
    double *gathered;               /* values of groups that do not stand in `value` as they are, owned */
    stencil_reduction_pieces sent, received, moved;
    stencil_exchange *exchange;
} stencil_reduction_level;

enum { STENCIL_REDUCTION_LEVELS = 8 };
typedef struct stencil_reduction {
    stencil_world *world;
    stencil_box own;    /* this rank's updated cells */
    int64_t row, plane; /* partial sums of its part from row to row, and from plane to plane */
    int levels;         /* those with more than one value */
    stencil_reduction_level level[STENCIL_REDUCTION_LEVELS];
    double last; /* the last value, in the rank that has it */
} stencil_reduction;

/* Finds what travels for a cut of which each rank has one part. The caller destroys it, also after a failure.
 * Errors: NO_MEMORY. */
stencil_status stencil_reduction_create(stencil_reduction *reduction, const stencil_cut *cut,
                                        stencil_world *world);
void stencil_reduction_destroy(stencil_reduction *reduction);

/* Upper bound on the bytes of memory of the reduction of any rank, without what other ranks send it. */
int64_t stencil_reduction_bytes(const stencil_cut *cut);

/* The partial sum of own cell (z, y, x), an index of the whole problem; those of a row are contiguous. */
static inline double *stencil_reduction_at(const stencil_reduction *r, int64_t z, int64_t y, int64_t x) {
    const int64_t *first = r->own.first;
    return r->level[0].value + (z - first[STENCIL_Z]) * r->plane + (y - first[STENCIL_Y]) * r->row +
           (x - first[STENCIL_X]) / STENCIL_PARTIAL_CELLS;
}

/* Brings the values of a level to where they are combined. By one thread of each rank, the world's own. */
void stencil_reduction_gather(stencil_reduction *reduction, int level);

/* Combines groups first … end - 1 of a level, once they are gathered, to values of the next one. */
void stencil_reduction_combine(stencil_reduction *reduction, int level, int64_t first, int64_t end,
                               stencil_norm norm);

/* Returns the last value, in all ranks. By one thread of each rank, the world's own. */
double stencil_reduction_finish(stencil_reduction *reduction);

/* Does all of it, with the threads of the caller. whole: what combining those groups of level 0 gives that
 * stand in a row among the values; NULL: it is not known. */
double stencil_reduction_all(stencil_reduction *reduction, stencil_norm norm, const double *whole);

/* Returns the place of the first value of a group of level 0 where its values stand in a row; -1: they are
 * gathered. */
static inline int64_t stencil_reduction_place(const stencil_reduction *r, int64_t group) {
    const stencil_reduction_level *l = &r->level[0];
    const double *from = l->group[group].from;
    return from >= l->value && from < l->value + l->count ? from - l->value : -1;
}

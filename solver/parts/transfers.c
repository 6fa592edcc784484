#include "solver/parts/transfers.h"

#include <stdlib.h>

typedef struct search {
    const stencil_cut *cut;
    int from, to, count;
    stencil_box own;       /* of part `to` */
    int64_t along[3][2];   /* ghost cells at the sides of both parts that go along with their own */
    stencil_transfer *put; /* where those that are found go; NULL: they are only counted */
} search;

static void add_piece(void *context, const stencil_piece *piece) {
    search *s = context;
    stencil_transfer t = {.from = s->from, .to = s->to, .from_box = piece->box};
    if (piece->part != s->from)
        return;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        t.to_box.first[axis] = piece->at[axis] - s->own.first[axis];
        if (t.to_box.first[axis] == 0) {
            t.to_box.first[axis] -= s->along[axis][0];
            t.from_box.first[axis] -= s->along[axis][0];
            t.from_box.n[axis] += s->along[axis][0] + s->along[axis][1];
        }
        t.to_box.n[axis] = t.from_box.n[axis];
    }
    if (s->put != NULL)
        s->put[s->count] = t;
    s->count++;
}

/* The box of the cells that part s->to needs: its own with the ghost cells at the sides of other parts. */
static stencil_box needed(search *s) {
    stencil_box box = s->own;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        for (int k = 0; k < 2; k++) {
            const stencil_side side = stencil_cut_side(s->cut, s->to, axis, k);
            const bool leaves = side.beyond < 0 || side.beyond == s->to;
            s->along[axis][k] = leaves ? s->cut->mesh.ghosts[axis] : 0;
            box.first[axis] -= leaves || k > 0 ? 0 : side.ghosts;
            box.n[axis] += leaves ? 0 : side.ghosts;
        }
    return box;
}

static void find(search *s, int *first) {
    s->count = 0;
    for (s->from = 0; s->from < s->cut->parts; s->from++) {
        for (s->to = 0; s->to < s->cut->parts; s->to++) {
            s->own = stencil_cut_box(s->cut, s->to);
            const stencil_box box = needed(s);
            if (s->to != s->from)
                stencil_cut_split(s->cut, &box, add_piece, s);
        }
        first[s->from + 1] = s->count;
    }
}

stencil_status stencil_transfers_find(stencil_transfers *transfers, const stencil_cut *cut) {
    *transfers = (stencil_transfers){0};
    search s = {.cut = cut};
    find(&s, transfers->first);
    transfers->item = s.put = malloc(((size_t)s.count + 1) * sizeof *s.put);
    CHECK(s.put != NULL, NO_MEMORY, "no memory for the halo exchange of %d parts", cut->parts);
    find(&s, transfers->first);
    return STENCIL_OK;
}

void stencil_transfers_destroy(stencil_transfers *transfers) {
    free(transfers->item);
    *transfers = (stencil_transfers){0};
}

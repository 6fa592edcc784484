#include "solver/parts/transfers.h"

#include <stdlib.h>

enum { DIRECTIONS = 27 };

/* What part `to` has of part `from` in a direction (-1, 0, 1 per axis); false: nothing. Along an axis without
 * one it is all that both have there: at sides where no other part is, their ghost cells go along. */
static bool find_one(const stencil_cut *cut, stencil_transfer *t, const int direction[3]) {
    const stencil_box from = stencil_cut_box(cut, t->from), to = stencil_cut_box(cut, t->to);
    if (t->from == t->to || stencil_cut_beyond(cut, t->to, direction) != t->from)
        return false;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int where = direction[axis];
        int64_t along[2], depth = 0;
        for (int k = 0; k < 2; k++) {
            const stencil_side side = stencil_cut_side(cut, t->to, axis, k);
            const bool other = side.beyond >= 0 && side.beyond != t->to;
            along[k] = other ? 0 : cut->mesh.ghosts[axis];
            if (where == (k == 0 ? -1 : 1)) {
                depth = side.ghosts;
                if (!other)
                    return false;
            }
        }
        t->to_box.first[axis] = where == 0 ? -along[0] : where < 0 ? -depth : to.n[axis];
        t->from_box.first[axis] = where == 0 ? -along[0] : where < 0 ? from.n[axis] - depth : 0;
        t->to_box.n[axis] = where == 0 ? along[0] + to.n[axis] + along[1] : depth;
        t->from_box.n[axis] = t->to_box.n[axis];
    }
    return true;
}

stencil_status stencil_transfers_find(stencil_transfers *transfers, const stencil_cut *cut) {
    int count = 0;
    *transfers =
        (stencil_transfers){.item = malloc((size_t)cut->parts * DIRECTIONS * sizeof(stencil_transfer))};
    CHECK(transfers->item != NULL, NO_MEMORY, "no memory for the halo exchange of %d parts", cut->parts);
    for (int from = 0; from < cut->parts; from++) {
        for (int k = 0; k < cut->parts * DIRECTIONS; k++) {
            const int d = k % DIRECTIONS, direction[3] = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1};
            stencil_transfer t = {.from = from, .to = k / DIRECTIONS};
            if (find_one(cut, &t, direction))
                transfers->item[count++] = t;
        }
        transfers->first[from + 1] = count;
    }
    return STENCIL_OK;
}

void stencil_transfers_destroy(stencil_transfers *transfers) {
    free(transfers->item);
    *transfers = (stencil_transfers){0};
}

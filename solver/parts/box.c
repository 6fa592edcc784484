#include "solver/parts/box.h"

stencil_box stencil_box_grow(const stencil_box *box, const int64_t by[3]) {
    stencil_box grown;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        grown.first[axis] = box->first[axis] - by[axis];
        grown.n[axis] = box->n[axis] + 2 * by[axis];
    }
    return grown;
}

stencil_box stencil_box_from(const stencil_box *box, const int64_t origin[3]) {
    stencil_box moved = *box;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        moved.first[axis] -= origin[axis];
    return moved;
}

stencil_box stencil_box_common(const stencil_box *a, const stencil_box *b) {
    stencil_box common;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int64_t a_end = a->first[axis] + a->n[axis], b_end = b->first[axis] + b->n[axis];
        const int64_t end = a_end < b_end ? a_end : b_end;
        common.first[axis] = a->first[axis] > b->first[axis] ? a->first[axis] : b->first[axis];
        common.n[axis] = end > common.first[axis] ? end - common.first[axis] : 0;
    }
    return common;
}

int64_t stencil_tiles(const int64_t n[3], const int64_t tile[3], int64_t tiles[3]) {
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        tiles[axis] = (n[axis] + tile[axis] - 1) / tile[axis];
    return tiles[0] * tiles[1] * tiles[2];
}

stencil_box stencil_slab_first(const stencil_box *box, int64_t cells_max) {
    stencil_box slab = *box;
    int64_t room = cells_max;
    for (int axis = STENCIL_X; axis >= STENCIL_Z; axis--) {
        slab.n[axis] = box->n[axis] < room ? box->n[axis] : room;
        room = slab.n[axis] < box->n[axis] ? 1 : room / slab.n[axis];
        room = room > 0 ? room : 1;
    }
    return slab;
}

bool stencil_slab_next(stencil_box *slab, const stencil_box *box, int64_t cells_max) {
    const stencil_box first = stencil_slab_first(box, cells_max);
    int axis = STENCIL_X;
    for (; axis >= STENCIL_Z; axis--) {
        slab->first[axis] += first.n[axis];
        if (slab->first[axis] < box->first[axis] + box->n[axis])
            break;
        slab->first[axis] = box->first[axis];
    }
    for (int k = 0; k < STENCIL_AXES; k++) {
        const int64_t left = box->first[k] + box->n[k] - slab->first[k];
        slab->n[k] = left < first.n[k] ? left : first.n[k];
    }
    return axis >= STENCIL_Z;
}

#include "solver/parts/layout.h"

#include <omp.h>
#include <string.h>

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
        const int64_t end = stencil_smaller(a->first[axis] + a->n[axis], b->first[axis] + b->n[axis]);
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

enum { ALIGNMENT_BYTES = 128, VECTOR_ELEMENTS_MAX = 4 };

static int64_t round_up(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

stencil_status stencil_layout_init(stencil_layout *layout, stencil_precision precision, const int64_t n[3],
                                   const int64_t ghost[3]) {
    const int64_t aligned = ALIGNMENT_BYTES / (int64_t)stencil_precision_bytes(precision);
    *layout = (stencil_layout){.precision = precision};
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        CHECK(n[axis] < INT64_MAX / 4, BAD_DATA, "the extent %lld is too large", (long long)n[axis]);
        layout->n[axis] = n[axis];
        layout->ghost[axis] = ghost[axis];
    }
    /* The right ghost cells of a row, the last vector, and the left ones of the next row share the gap. */
    layout->row = round_up(n[STENCIL_X] + 2 * ghost[STENCIL_X] + VECTOR_ELEMENTS_MAX, aligned);
    const int64_t rows = n[STENCIL_Y] + 2 * ghost[STENCIL_Y], planes = n[STENCIL_Z] + 2 * ghost[STENCIL_Z];
    /* Elements before the first row, and as many after the last row. */
    const int64_t beside = round_up(ghost[STENCIL_X] + 1, aligned);
    int64_t bytes = 0;
    CHECK(stencil_multiply(layout->row, rows, &layout->plane) &&
              stencil_multiply(layout->plane, planes, &layout->element_count) &&
              layout->element_count < INT64_MAX / 4 &&
              stencil_multiply(layout->element_count + 2 * beside, 16, &bytes),
          BAD_DATA, "the dimensions of /u multiply to more cells than can be counted");
    layout->origin = beside + ghost[STENCIL_Y] * layout->row + ghost[STENCIL_Z] * layout->plane;
    layout->element_count += 2 * beside;
    return STENCIL_OK;
}

int64_t stencil_layout_bytes(const stencil_layout *layout) {
    return layout->element_count * (int64_t)stencil_precision_bytes(layout->precision);
}

stencil_cells stencil_cells_in(const stencil_layout *layout, void *base, const int64_t first[3]) {
    const int64_t bytes = (int64_t)stencil_precision_bytes(layout->precision);
    return (stencil_cells){.precision = layout->precision,
                           .at = (char *)base + layout->origin * bytes,
                           .first = {first[0], first[1], first[2]},
                           .row = layout->row,
                           .plane = layout->plane};
}

stencil_cells stencil_cells_dense(stencil_precision precision, void *block, const stencil_box *box) {
    return (stencil_cells){.precision = precision,
                           .at = block,
                           .first = {box->first[0], box->first[1], box->first[2]},
                           .row = box->n[STENCIL_X],
                           .plane = box->n[STENCIL_X] * box->n[STENCIL_Y]};
}

stencil_cells stencil_cells_from(const stencil_cells *cells, const int64_t cell[3]) {
    stencil_cells moved = *cells;
    const int64_t stride[3] = {cells->plane, cells->row, 1};
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        moved.first[axis] = cell[axis];
        moved.at = (char *)moved.at + (cell[axis] - cells->first[axis]) * stride[axis] *
                                          (int64_t)stencil_precision_bytes(cells->precision);
    }
    return moved;
}

size_t stencil_cells_span(const stencil_cells *cells, const int64_t n[3]) {
    return (size_t)((n[STENCIL_Z] - 1) * cells->plane + (n[STENCIL_Y] - 1) * cells->row + n[STENCIL_X]) *
           stencil_precision_bytes(cells->precision);
}

void stencil_cells_clear(const stencil_cells *cells, const int64_t n[3]) {
    const int64_t bytes = (int64_t)stencil_precision_bytes(cells->precision);
    for (int64_t r = 0; r < n[STENCIL_Z] * n[STENCIL_Y]; r++)
        memset((char *)cells->at + (r / n[STENCIL_Y] * cells->plane + r % n[STENCIL_Y] * cells->row) * bytes,
               0, (size_t)(n[STENCIL_X] * bytes));
}

/* Copies row r of n cells. */
static void copy_row(const stencil_cells *to, const stencil_cells *from, const int64_t n[3], int64_t r) {
    const int64_t z = r / n[STENCIL_Y], y = r % n[STENCIL_Y],
                  bytes = (int64_t)stencil_precision_bytes(to->precision);
    memcpy((char *)to->at + (z * to->plane + y * to->row) * bytes,
           (const char *)from->at + (z * from->plane + y * from->row) * bytes,
           (size_t)(n[STENCIL_X] * bytes));
}

void stencil_cells_copy(const stencil_cells *to, const stencil_cells *from, const int64_t n[3]) {
    const int64_t rows = n[STENCIL_Z] * n[STENCIL_Y];
    /* A parallel region takes longer than a row, even one of a single thread. */
    if (omp_in_parallel() || rows * n[STENCIL_X] < 1 << 16) {
        for (int64_t r = 0; r < rows; r++)
            copy_row(to, from, n, r);
        return;
    }
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < rows; r++)
        copy_row(to, from, n, r);
}

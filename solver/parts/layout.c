#include "solver/parts/layout.h"

#include <string.h>

enum { ALIGNMENT_BYTES = 128, VECTOR_ELEMENTS_MAX = 4 };

static int64_t round_up(int64_t value, int64_t multiple) {
    return (value + multiple - 1) / multiple * multiple;
}

stencil_status stencil_layout_init(stencil_layout *layout, stencil_precision precision, const int64_t n[3],
                                   const int64_t rim[3]) {
    const int64_t aligned = ALIGNMENT_BYTES / (int64_t)stencil_precision_bytes(precision);
    *layout = (stencil_layout){.precision = precision};
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        CHECK(n[axis] < INT64_MAX / 4, BAD_DATA, "the extent %lld is too large", (long long)n[axis]);
        layout->n[axis] = n[axis];
        layout->rim[axis] = rim[axis];
    }
    /* The right rim of a row, the last vector, and the left rim of the next row share the gap. */
    layout->row = round_up(n[STENCIL_X] + 2 * rim[STENCIL_X] + VECTOR_ELEMENTS_MAX, aligned);
    const int64_t rows = n[STENCIL_Y] + 2 * rim[STENCIL_Y], planes = n[STENCIL_Z] + 2 * rim[STENCIL_Z];
    int64_t bytes = 0;
    CHECK(stencil_multiply(layout->row, rows, &layout->plane) &&
              stencil_multiply(layout->plane, planes, &layout->element_count) &&
              layout->element_count < INT64_MAX / 4 &&
              stencil_multiply(layout->element_count + 2 * aligned, 16, &bytes),
          BAD_DATA, "the dimensions of /u multiply to more cells than can be counted");
    layout->origin = aligned + rim[STENCIL_Y] * layout->row + rim[STENCIL_Z] * layout->plane;
    layout->element_count += 2 * aligned;
    return STENCIL_OK;
}

int64_t stencil_layout_bytes(const stencil_layout *layout) {
    return layout->element_count * (int64_t)stencil_precision_bytes(layout->precision);
}

stencil_copy stencil_copy_make(const stencil_layout *to, const int64_t to_first[3],
                               const stencil_layout *from, const stencil_box *box) {
    const size_t bytes = stencil_precision_bytes(from->precision);
    stencil_copy copy = {
        .from = (size_t)(from->origin + stencil_layout_offset(from, box->first)) * bytes,
        .to = (size_t)(to->origin + stencil_layout_offset(to, to_first)) * bytes,
        .from_row = (size_t)from->row * bytes,
        .from_plane = (size_t)from->plane * bytes,
        .to_row = (size_t)to->row * bytes,
        .to_plane = (size_t)to->plane * bytes,
        .row_bytes = (size_t)box->n[STENCIL_X] * bytes,
        .rows = (size_t)box->n[STENCIL_Y],
        .planes = (size_t)box->n[STENCIL_Z],
    };
    if (copy.from_row == copy.to_row && (copy.planes == 1 || copy.from_plane == copy.to_plane))
        copy.span = (copy.planes - 1) * copy.from_plane + (copy.rows - 1) * copy.from_row + copy.row_bytes;
    return copy;
}

void stencil_copy_rows(const stencil_copy *copy, void *to, const void *from, size_t first, size_t end) {
    for (size_t r = first; r < end; r++) {
        const size_t z = r / copy->rows, y = r % copy->rows;
        memcpy((char *)to + copy->to + z * copy->to_plane + y * copy->to_row,
               (const char *)from + copy->from + z * copy->from_plane + y * copy->from_row, copy->row_bytes);
    }
}

/* The lines that the reference's arrays hold: all of a field, or those of a slab and its neighbourhood. */
#include "app/reference.h"

/* Returns x modulo n, not below 0. */
static int64_t wrapped(int64_t x, int64_t n) {
    return ((x % n) + n) % n;
}

void reference_window(reference *r, int64_t first, int64_t end, int64_t steps) {
    const int64_t n = r->extent[r->axis], around = steps * r->around, low = first - around,
                  high = end + around;
    const bool periodic = r->boundary[r->axis] == STENCIL_PERIODIC, round = periodic && high - low < n;
    r->begin = round ? low : periodic || low < 0 ? 0 : low;
    r->held = (round ? high : periodic || high > n ? n : high) - r->begin;
    r->first = first;
    r->end = end;
}

void reference_own(reference *r, const int64_t lines[2], int64_t more) {
    const int64_t n = r->extent[r->axis], low = lines[0] - more, high = lines[1] + more;
    const bool periodic = r->boundary[r->axis] == STENCIL_PERIODIC,
               all = periodic && r->held == n && more > 0;
    r->first = all || (!periodic && low < 0) ? 0 : low;
    r->end = all || (!periodic && high > n) ? n : high;
}

int64_t reference_cells(const reference *r) {
    return r->held * (r->axis == STENCIL_Z ? r->extent[STENCIL_Y] : 1) * r->extent[STENCIL_X];
}

int64_t reference_number(const reference *r, int64_t z, int64_t y, int64_t x) {
    const int64_t n = r->extent[r->axis], line = wrapped((r->axis == STENCIL_Z ? z : y) - r->begin, n);
    return (r->axis == STENCIL_Z ? line * r->extent[STENCIL_Y] + y : line) * r->extent[STENCIL_X] + x;
}

void reference_position(const reference *r, int64_t i, int64_t at[3]) {
    const int64_t nx = r->extent[STENCIL_X], ny = r->axis == STENCIL_Z ? r->extent[STENCIL_Y] : r->held;
    at[STENCIL_Z] = i / nx / ny;
    at[STENCIL_Y] = i / nx % ny;
    at[STENCIL_X] = i % nx;
    at[r->axis] = wrapped(at[r->axis] + r->begin, r->extent[r->axis]);
}

bool reference_is_inner(const reference *r, int64_t i, int64_t at[3]) {
    const int64_t n = r->extent[r->axis], around = r->around, line = i / (reference_cells(r) / r->held);
    const bool ends = r->boundary[r->axis] != STENCIL_PERIODIC;
    bool inner = r->held == n || ((line >= around || (ends && r->begin == 0)) &&
                                  (line < r->held - around || (ends && r->begin + r->held == n)));
    reference_position(r, i, at);
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        inner = inner && at[axis] >= r->low[axis] && at[axis] < r->high[axis];
    return inner;
}

int64_t reference_own_rows(const reference *r) {
    return (r->end - r->first) * (r->axis == STENCIL_Z ? r->extent[STENCIL_Y] : 1);
}

bool reference_own_row(const reference *r, int64_t own, int64_t *z, int64_t *y) {
    const int64_t n = r->extent[r->axis], rows = r->axis == STENCIL_Z ? r->extent[STENCIL_Y] : 1,
                  line = wrapped(r->first + own / rows, n);
    *z = r->axis == STENCIL_Z ? line : 0;
    *y = r->axis == STENCIL_Z ? own % rows : line;
    return *z >= r->low[STENCIL_Z] && *z < r->high[STENCIL_Z] && *y >= r->low[STENCIL_Y] &&
           *y < r->high[STENCIL_Y];
}

/* Which of its cells a pixel of a map shows. */
#include <math.h>

#include "app/picture.h"

/* Part of the range of a pixel's cells by which one end has to be further from the cells around than the
 * other one, for the pixel to show it. */
static const long double apart_least = 0.25L;
/* Part of what a field rises by within a pixel by which one end has to be further from the pixel's other
 * cells, of which it is 0.5 in an even rise. */
static const long double rise_share = 0.75L;

/* Cells of a pixel along an axis. */
typedef struct stretch {
    int64_t first, end;
} stretch;

static stretch stretch_of(int64_t n, int64_t count, int64_t k) {
    const int64_t first = field_pixel_first(n, count, k), next = field_pixel_first(n, count, k + 1);
    return (stretch){first, next > first ? next : first + 1};
}

/* Returns the nearest pixel before (by -1) or behind (1) number `k` of an axis that shows other cells; -1:
 * there is none. */
static int64_t neighbour(int64_t n, int64_t count, int64_t k, int by) {
    const int64_t first = field_pixel_first(n, count, k);
    while (k >= 0 && k < count && field_pixel_first(n, count, k) == first)
        k += by;
    return k < count ? k : -1;
}

/* The surroundings of a pixel of several cells. */
typedef struct surroundings {
    int64_t column[3], row[3]; /* of the pixels before it, itself, and behind it; -1: there is none */
    stretch across[3], down[3];
    long double least, most; /* limits of the means of the pixels around it; +inf and -inf: there are none */
    long double mean;        /* of the cells of all of these pixels and of its own */
} surroundings;

static const field_pixel *pixel_at(const picture *p, const field_pixel *pixels, const surroundings *around,
                                   int row, int column) {
    const int64_t y = around->row[row], x = around->column[column];
    const field_pixel *pixel = y >= 0 && x >= 0 ? &pixels[y * p->columns + x] : NULL;
    return pixel != NULL && pixel->cells > 0 ? pixel : NULL;
}

static surroundings surroundings_of(const picture *p, const picture_source *s, const field_pixel *pixels,
                                    int64_t column, int64_t row) {
    const int64_t wide = s->a.axis[s->plane.across].n, high = s->a.axis[s->plane.down].n;
    surroundings around = {
        .column = {neighbour(wide, p->columns, column, -1), column, neighbour(wide, p->columns, column, 1)},
        .row = {neighbour(high, p->rows, row, -1), row, neighbour(high, p->rows, row, 1)},
        .least = INFINITY,
        .most = -INFINITY};
    long double sum = 0;
    int64_t cells = 0;
    for (int i = 0; i < 3; i++) {
        around.across[i] = stretch_of(wide, p->columns, around.column[i] >= 0 ? around.column[i] : 0);
        around.down[i] = stretch_of(high, p->rows, around.row[i] >= 0 ? around.row[i] : 0);
    }
    for (int i = 0; i < 9; i++) {
        const field_pixel *pixel = pixel_at(p, pixels, &around, i / 3, i % 3);
        if (pixel == NULL)
            continue;
        sum += pixel->sum;
        cells += pixel->cells;
        if (i != 4) {
            around.least = fminl(around.least, pixel->sum / (long double)pixel->cells);
            around.most = fmaxl(around.most, pixel->sum / (long double)pixel->cells);
        }
    }
    around.mean = sum / (long double)cells;
    return around;
}

/* Returns by how much the field rises from one end of a pixel to the other, as the pixels before it and
 * behind it have it; `own` is the mean of the pixel's own cells, which stands for one of these that is not
 * there. */
static long double rise_of(const field_pixel *before, const field_pixel *behind, const stretch at[3],
                           long double own) {
    const long double low = before != NULL ? before->sum / (long double)before->cells : own,
                      high = behind != NULL ? behind->sum / (long double)behind->cells : own;
    const stretch *first = &at[before != NULL ? 0 : 1], *last = &at[behind != NULL ? 2 : 1];
    const long double apart = (long double)(last->first + last->end - first->first - first->end) / 2;
    return apart > 0 ? fabsl(high - low) / apart * (long double)(at[1].end - at[1].first) : 0;
}

/* Tells whether one end of the values of a pixel's cells is further from the others, and from the means of
 * the pixels around, than a smooth field rises. */
static bool stands_out(const picture *p, const field_pixel *pixels, const surroundings *around, double end) {
    const field_pixel *pixel = pixel_at(p, pixels, around, 1, 1);
    const long double others =
        pixel->cells > 1 ? (pixel->sum - end) / (long double)(pixel->cells - 1) : (long double)end;
    const long double rise =
        rise_of(pixel_at(p, pixels, around, 1, 0), pixel_at(p, pixels, around, 1, 2), around->across,
                others) +
        rise_of(pixel_at(p, pixels, around, 0, 1), pixel_at(p, pixels, around, 2, 1), around->down, others);
    return (end > around->most || end < around->least) && fabsl(end - others) > rise_share * rise;
}

/* Returns the value that a pixel of several cells shows: that of the cell in its middle, unless the least or
 * the largest one stands out from the cells of this pixel and of those beside it. */
static double outstanding(const picture *p, const picture_source *s, const field_pixel *pixels,
                          int64_t column, int64_t row) {
    const field_pixel *pixel = &pixels[row * p->columns + column];
    const surroundings around = surroundings_of(p, s, pixels, column, row);
    const long double above = (long double)pixel->most - around.mean,
                      below = around.mean - (long double)pixel->least;
    const double end = above > below ? pixel->most : pixel->least;
    const bool apart = fabsl(above - below) > apart_least * (above + below);
    return isfinite(pixel->middle) && !(apart && stands_out(p, pixels, &around, end)) ? pixel->middle : end;
}

double picture_pixel_value(const picture *p, const picture_source *s, const field_pixel *pixels,
                           int64_t column, int64_t row) {
    const field_pixel *pixel = &pixels[row * p->columns + column];
    if (pixel->infinite > 0)
        return pixel->an_infinity;
    if (pixel->missing > 0 || pixel->cells == 0)
        return NAN;
    if (p->centred)
        return fabs(pixel->least) > fabs(pixel->most) ? pixel->least : pixel->most;
    return p->classes || pixel->least == pixel->most ? pixel->most : outstanding(p, s, pixels, column, row);
}

/* Walls and insulated cells of the reference, made again from docs/format.md: every point that meets one is
 * followed cell by cell. */
#include "app/reference.h"
#include "kernels/classes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The problem that walls are followed in: its cells, and its sides, [axis][low, high]. */
typedef struct scene {
    const reference *r;
    const stencil_spec *spec;
    const uint8_t *insulated;
    stencil_wall_kind wall[3][2];
} scene;

/* A way from a cell: where it is, how far it has yet to go along each axis, in which order of the axes. */
typedef struct way {
    int64_t at[3];
    int32_t left[3];
    const int *order;
} way;

static stencil_wall_kind kind_of(stencil_boundary boundary) {
    switch (boundary) {
    case STENCIL_PERIODIC:
        return STENCIL_WALL_PERIODIC;
    case STENCIL_MIRROR:
        return STENCIL_WALL_MIRROR;
    default:
        return STENCIL_WALL_FIXED;
    }
}

static int64_t wrapped(int64_t i, int64_t n) {
    return ((i % n) + n) % n;
}

/* Number of a cell in the arrays; periodic axes wrap around. */
static int64_t number_of(const scene *s, const int64_t at[3]) {
    const int64_t *n = s->r->extent;
    return reference_number(s->r, wrapped(at[0], n[0]), wrapped(at[1], n[1]), wrapped(at[2], n[2]));
}

/* Returns what stands between a cell of a way and the next one on it. */
enum { NOTHING, OBSTACLE, LOW_WALL, HIGH_WALL };
static int between(const scene *s, const way *w, int axis) {
    int64_t next[3] = {w->at[0], w->at[1], w->at[2]};
    next[axis] += w->left[axis] > 0 ? 1 : -1;
    if (s->wall[axis][0] != STENCIL_WALL_PERIODIC && next[axis] < 0)
        return LOW_WALL;
    if (s->wall[axis][0] != STENCIL_WALL_PERIODIC && next[axis] >= s->r->extent[axis])
        return HIGH_WALL;
    return s->insulated != NULL && s->insulated[number_of(s, next)] != 0 ? OBSTACLE : NOTHING;
}

static bool goes_through_cells(stencil_wall_kind wall) {
    return wall == STENCIL_WALL_MIRROR_NODE || wall == STENCIL_WALL_FLUX_NODE ||
           wall == STENCIL_WALL_EXCHANGE_NODE;
}

/* The next axis that a way goes along; -1: it has arrived. */
static int axis_of(const way *w) {
    for (int i = 0; i < 3; i++)
        if (w->left[w->order[i]] != 0)
            return w->order[i];
    return -1;
}

/* Makes a step, or turns about: what is left then leads back, less the step that a wall half a cell beyond
 * takes. */
static void make_step(const scene *s, way *w, int axis, int met) {
    const int toward = w->left[axis] > 0 ? 1 : -1;
    const bool through = met >= LOW_WALL && goes_through_cells(s->wall[axis][met - LOW_WALL]);
    if (met == NOTHING) {
        w->at[axis] += toward;
        w->left[axis] -= toward;
    } else {
        w->left[axis] = through ? -w->left[axis] : -(w->left[axis] - toward);
    }
}

/* A number of the wall that a way has met: `one`, or the number that stands beside the cell of the way. */
static double number_of_wall(const scene *s, int axis, int side, int which, double one, const way *w) {
    const int64_t *n = s->r->extent;
    const double *along = s->r->along[axis][side][which];
    const int64_t z = wrapped(w->at[0], n[0]), y = wrapped(w->at[1], n[1]), x = wrapped(w->at[2], n[2]);
    return along == NULL ? one : along[axis == 2 ? z * n[1] + y : axis == 1 ? z * n[2] + x : y * n[2] + x];
}

/* Adds `factor` times the value at the end of a way to a row: to the weights of the points that it comes
 * from, and to the constant at the end of the row. */
static void add_value(const scene *s, way w, double factor, const int64_t from[3], double *row) {
    const reference *r = s->r;
    double *constant = &row[STENCIL_POINTS_MAX];
    const int axis = axis_of(&w);
    if (axis < 0) {
        int found = r->point_count / 2;
        for (int k = 0; k < r->point_count; k++)
            if (r->offset[k][0] == w.at[0] - from[0] && r->offset[k][1] == w.at[1] - from[1] &&
                r->offset[k][2] == w.at[2] - from[2])
                found = k;
        row[found] += factor;
        return;
    }
    const int met = between(s, &w, axis);
    if (met >= LOW_WALL) {
        const int side = met - LOW_WALL, entry = s->spec->spacing_count == 1 ? 0 : axis - (3 - s->spec->rank);
        const stencil_wall_kind wall = s->wall[axis][side];
        const double h = s->spec->spacing_count == 0 ? 1.0 : s->spec->spacing[entry];
        const int steps = abs(w.left[axis]);
        const double apart = (goes_through_cells(wall) ? 2.0 * steps : 2.0 * steps - 1.0) * h;
        const double rate = number_of_wall(s, axis, side, STENCIL_NUMBER_EXCHANGE,
                                           s->spec->exchange[axis][side], &w) *
                            apart,
                     ambient = number_of_wall(s, axis, side, STENCIL_NUMBER_AMBIENT,
                                              s->spec->ambient[axis][side], &w);
        if (wall == STENCIL_WALL_FLUX || wall == STENCIL_WALL_FLUX_NODE)
            *constant += factor * (apart * number_of_wall(s, axis, side, STENCIL_NUMBER_FLUX,
                                                          s->spec->flux[axis][side], &w));
        if (wall == STENCIL_WALL_EXCHANGE) {
            *constant += factor * (rate / (1.0 + rate / 2.0) * ambient);
            factor = factor * ((1.0 - rate / 2.0) / (1.0 + rate / 2.0));
        }
        if (wall == STENCIL_WALL_EXCHANGE_NODE) {
            way in_wall = w;
            in_wall.left[axis] = 0;
            *constant += factor * (rate * ambient);
            add_value(s, in_wall, -factor * rate, from, row);
        }
    }
    make_step(s, &w, axis, met);
    add_value(s, w, factor, from, row);
}

static const int orders[6][3] = {{2, 1, 0}, {2, 0, 1}, {1, 2, 0}, {1, 0, 2}, {0, 2, 1}, {0, 1, 2}};

/* Adds a point of a cell to its row; returns whether the way to it meets more than plain mirrors. */
static bool add_point(const scene *s, const int64_t from[3], int k, double weight, double *row) {
    const int32_t *offset = s->r->offset[k];
    int64_t end[6][3];
    bool more = false, alike = true;
    for (int i = 0; i < 6; i++) {
        way w = {{from[0], from[1], from[2]}, {offset[0], offset[1], offset[2]}, orders[i]};
        bool straight = true;
        for (int axis = axis_of(&w); axis >= 0; axis = axis_of(&w)) {
            const int met = between(s, &w, axis);
            straight = straight && met == NOTHING;
            more = more || met == OBSTACLE ||
                   (met >= LOW_WALL && s->wall[axis][met - LOW_WALL] != STENCIL_WALL_MIRROR);
            make_step(s, &w, axis, met);
        }
        if (straight) {
            row[k] += weight;
            return false;
        }
        memcpy(end[i], w.at, sizeof end[i]);
        alike = alike && memcmp(end[i], end[0], sizeof end[i]) == 0;
    }
    if (!more) /* reference_step() finds the images of mirrors by itself */
        row[k] += weight;
    else if (alike)
        add_value(s, (way){{from[0], from[1], from[2]}, {offset[0], offset[1], offset[2]}, orders[0]}, weight,
                  from, row);
    else
        row[s->r->point_count / 2] += weight;
    return more;
}

/* Tells whether a cell is one of the outermost that a fixed side keeps. */
static bool is_fixed_side(const scene *s, const int64_t at[3]) {
    for (int axis = 0; axis < 3; axis++)
        if (s->r->boundary[axis] == STENCIL_MIRROR &&
            ((s->wall[axis][0] == STENCIL_WALL_FIXED && at[axis] < s->r->reach[axis]) ||
             (s->wall[axis][1] == STENCIL_WALL_FIXED && at[axis] >= s->r->extent[axis] - s->r->reach[axis])))
            return true;
    return false;
}

/* The weights that a cell has without walls. */
static const double *row_before(const reference *r, int64_t i) {
    return r->row == NULL || r->row[i] == 0 ? r->weight
                                            : r->row_weights + (size_t)r->row[i] * STENCIL_POINTS_MAX;
}

/* Tells whether a row is one that the file has, other than row 0. */
static bool is_given(const reference *r, int given, const double *row) {
    const size_t bytes = (size_t)r->point_count * sizeof *row;
    for (int k = 1; k < given && row[STENCIL_POINTS_MAX] == 0; k++)
        if (memcmp(r->row_weights + (size_t)k * STENCIL_POINTS_MAX, row, bytes) == 0)
            return true;
    return false;
}

/* Writes what each point of a cell reads, in place of weights; returns whether any meets more than mirrors.
 */
static bool add_values(const scene *s, const int64_t from[3], double *row) {
    const int points = s->r->point_count;
    bool more = false;
    for (int k = 0; k < points; k++) {
        double one[STENCIL_POINTS_MAX + 1] = {0}, *to = row + 4 * (ptrdiff_t)k;
        more = add_point(s, from, k, 1.0, one) || more;
        to[0] = one[k];
        to[1] = k == points / 2 ? 0 : one[points - 1 - k];
        to[2] = k == points / 2 ? 0 : one[points / 2];
        to[3] = one[STENCIL_POINTS_MAX];
    }
    return more;
}

/* Looks for a row among those made; appends it. Errors: NO_MEMORY. */
static stencil_status store_row(reference *r, const double *row, int32_t *own) {
    const size_t bytes = sizeof *r->made;
    for (int m = 0; m < r->made_count; m++)
        if (memcmp(r->made[m], row, bytes) == 0) {
            *own = m;
            return STENCIL_OK;
        }
    void *more = realloc(r->made, (size_t)(r->made_count + 1) * bytes);
    CHECK(more != NULL, NO_MEMORY, "no memory for the reference's rows of weights");
    r->made = more;
    memcpy(r->made[r->made_count], row, bytes);
    *own = r->made_count++;
    return STENCIL_OK;
}

/* Tells whether a row that was made adds anything that does not depend on cells. */
static bool adds_constant(const reference *r, const double *made) {
    bool adds = !r->by_value && made[STENCIL_POINTS_MAX] != 0;
    for (int k = 0; k < r->point_count && r->by_value; k++)
        adds = adds || made[4 * k + 3] != 0;
    return adds;
}

/* Finds which of the rows made own cells have beside those of the file, other than what the cell has without
 * walls. */
static void find_needed(reference *r, const stencil_spec *spec) {
    for (int64_t own = 0; own < reference_own_rows(r); own++) {
        int64_t z, y;
        reference_own_row(r, own, &z, &y);
        for (int64_t x = 0, i = reference_number(r, z, y, 0); x < r->extent[STENCIL_X]; x++, i++) {
            const double *row = r->own[i] < 0 ? NULL : r->made[r->own[i]];
            if (row != NULL && (row[STENCIL_POINTS_MAX] != 0 ||
                                memcmp(row_before(r, i), row, (size_t)r->point_count * sizeof *row) != 0))
                r->needed[r->own[i]] = !is_given(r, spec->class_count, row);
        }
    }
}

/* Counts the rows that cells have beside row 0: those of the file, and those made that are needed. */
static stencil_status count_rows(reference *r, const stencil_spec *spec) {
    for (int m = 0; m < r->made_count; m++)
        r->adds_constants = r->adds_constants || adds_constant(r, r->made[m]);
    r->needed = calloc((size_t)r->made_count + 1, 1);
    CHECK(r->needed != NULL, NO_MEMORY, "no memory for the reference's rows of weights");
    if (r->face != NULL) /* beside coefficients nothing becomes a part of the source */
        return STENCIL_OK;
    find_needed(r, spec);
    r->row_count = spec->class_count > 0 ? spec->class_count - 1 : 0;
    for (int m = 0; m < r->made_count; m++)
        r->row_count += r->needed[m];
    return STENCIL_OK;
}

/* Adds a row unless it is there, or there is no room. */
static void add_row(reference_rows *rows, const double *row) {
    for (int i = 0; i < rows->count; i++)
        if (memcmp(rows->row[i], row, sizeof rows->row[i]) == 0)
            return;
    if (rows->count < REFERENCE_ROWS)
        memcpy(rows->row[rows->count++], row, sizeof *rows->row);
}

void reference_add_rows(const reference *r, reference_rows *rows) {
    for (int m = 0; m < r->made_count; m++)
        if (r->needed[m])
            add_row(rows, r->made[m]);
}

void reference_join_rows(reference_rows *rows, const reference_rows *more) {
    for (int i = 0; i < more->count; i++)
        add_row(rows, more->row[i]);
}

stencil_status reference_walls(reference *r, const stencil_spec *spec, const uint8_t *insulated) {
    scene s = {.r = r, .spec = spec, .insulated = insulated};
    const int64_t cells = reference_cells(r);
    bool any = insulated != NULL;
    for (int i = 0; i < 6; i++) {
        const stencil_wall_kind given = spec->wall[i / 2][i % 2];
        const stencil_boundary stated =
            spec->boundary_count == 0 || i / 2 < 3 - spec->rank
                ? STENCIL_FIXED
                : spec->boundary[spec->boundary_count == 1 ? 0 : i / 2 - (3 - spec->rank)];
        s.wall[i / 2][i % 2] = given != STENCIL_WALL_NONE ? given : kind_of(stated);
        any = any || s.wall[i / 2][i % 2] != kind_of(r->boundary[i / 2]);
    }
    if (!any)
        return STENCIL_OK;
    r->still = calloc((size_t)cells, 1);
    r->own = malloc((size_t)cells * sizeof *r->own);
    CHECK(r->still != NULL && r->own != NULL, NO_MEMORY, "no memory for the reference's walls");
    for (int64_t i = 0; i < cells; i++) {
        int64_t at[3];
        const double *base = row_before(r, i);
        double row[STENCIL_POINTS_MAX + 1] = {0};
        const bool updated = reference_is_inner(r, i, at);
        bool more = false;
        r->own[i] = -1;
        r->still[i] = (r->fixed != NULL && r->fixed[i] != 0) || (insulated != NULL && insulated[i] != 0) ||
                      is_fixed_side(&s, at);
        double faces[7];
        if (r->face != NULL && updated && !r->still[i]) {
            reference_face_weights(r, i, faces);
            base = faces;
        }
        if (r->by_value && updated && !r->still[i])
            more = add_values(&s, at, row);
        for (int k = 0; k < r->point_count && updated && !r->still[i] && !r->by_value; k++)
            more = (base[k] != 0 && add_point(&s, at, k, base[k], row)) || more;
        if (more)
            TRY(store_row(r, row, &r->own[i]));
    }
    r->fixed = r->still;
    return count_rows(r, spec);
}

bool reference_walls_in_source(const reference *r) {
    bool along = false;
    for (int i = 0; i < 6; i++)
        for (int which = 0; which < STENCIL_NUMBER_COUNT; which++)
            along = along || r->along[i / 2][i % 2][which] != NULL;
    enum { ROWS_MOST = 252 }; /* beside row 0 */
    return along && r->row_count > ROWS_MOST && r->rows[0] == 0;
}

void reference_move_constants(reference *r, void *b) {
    for (int64_t i = 0; i < reference_cells(r); i++) {
        const double constant =
                         r->own[i] < 0 || r->still[i] != 0 ? 0.0 : r->made[r->own[i]][STENCIL_POINTS_MAX],
                     sum = reference_value(r, b, i) + constant;
        if (constant != 0 && r->precision == STENCIL_FLOAT64)
            ((double *)b)[i] = sum;
        else if (constant != 0)
            ((float *)b)[i] = (float)sum;
    }
    for (int m = 0; m < r->made_count; m++)
        r->made[m][STENCIL_POINTS_MAX] = 0;
}

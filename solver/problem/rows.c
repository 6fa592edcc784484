#include "solver/problem/rows.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "kernels/sweep.h"
#include "solver/problem/faces.h"
#include "solver/problem/palette.h"

stencil_mesh stencil_classes_mesh(const stencil_problem *problem) {
    stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    mesh.precision = STENCIL_BYTE;
    return mesh;
}

static stencil_mesh kinds_mesh(const stencil_problem *problem) {
    stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    mesh.precision = STENCIL_TWO_BYTES;
    return mesh;
}

/* A row: the weights of all points of the shape and, at STENCIL_SOURCE_WEIGHT, the constant. */
typedef struct row {
    double of[STENCIL_WEIGHTS];
} row;

/* Returns the place of a point of the problem's shape among the weights of a row as given; -1: none. */
static int given_place(const stencil_problem *problem, int k, const int32_t offset[3]) {
    const stencil_spec *spec = &problem->spec;
    const int skip = STENCIL_AXES - spec->rank;
    if (spec->offset_count == 0)
        return k;
    for (int i = 0; i < spec->offset_count; i++)
        if (memcmp(spec->offset[i], offset + skip, (size_t)spec->rank * sizeof *offset) == 0)
            return i;
    return -1;
}

static bool is_finite(const stencil_problem *problem, double value) {
    return isfinite(problem->precision == STENCIL_FLOAT32 ? (float)value : value);
}

/* Fails since a problem needs more rows than there may be. */
static stencil_status refuse_rows(int most) {
    FAIL(BAD_DATA,
         "the cells beside walls and insulated cells need more than %d rows of weights: give fewer points, "
         "obstacles with straighter outlines, or walls whose `exchange` has fewer values",
         most);
}

stencil_status stencil_rows_begin(stencil_problem *problem, const double *weights, int most, bool *full) {
    const int points = problem->spec.weight_count;
    int32_t offset[STENCIL_POINTS_MAX][3];
    stencil_palette_destroy(problem);
    problem->has_constants = false;
    *full = false;
    if (!problem->spec.classed && !stencil_problem_derives_classes(problem))
        return STENCIL_OK;
    TRY(stencil_palette_begin(problem, most));
    const int shape_points = stencil_shape_offsets(problem->shape, offset);
    for (int c = 1; c < problem->spec.class_count; c++) {
        row given = {.of = {0}};
        for (int k = 0; k < shape_points; k++) {
            const int at = given_place(problem, k, offset[k]);
            const double value = at < 0 ? 0.0 : weights[c * points + at];
            CHECK(is_finite(problem, value), BAD_DATA,
                  "/stencil/weights[%d][%d] (%g) is not a finite number in %s", c, at, value,
                  stencil_precision_name(problem->precision));
            given.of[k] = value;
        }
        *full = stencil_palette_is_full(problem);
        if (*full)
            return refuse_rows(most);
        TRY(stencil_palette_add(problem, given.of));
    }
    return STENCIL_OK;
}

/* Kinds of the cells of a box and of those around it, and what is known of the problem's points. */
typedef struct view {
    const stencil_problem *problem;
    stencil_problem *adds; /* the same, whose palette gets rows that are missing, and counts the cells of all;
                              NULL: none may be missing */
    bool *full;            /* set where there is no room for a row */
    bool alike;            /* cells along a wall are alike: no side has numbers that differ along it */
    stencil_cells kind;
    stencil_faces faces; /* of the cells of the box, where each has a row of its own: coefficients are rows */
    int32_t offset[STENCIL_POINTS_MAX][3];
    int points;
} view;

static stencil_cell_kind kind_at(const view *v, const int64_t cell[3]) {
    return ((const stencil_cell_kind *)v->kind.at)[stencil_cells_offset(&v->kind, cell)];
}

/* Tells which wall is between a cell and the next one in a direction, -1 or 1; -1: none. */
static int side_between(const view *v, int axis, int64_t next) {
    const int64_t low = v->problem->first[axis], high = low + v->problem->extent[axis];
    if (v->problem->boundary[axis] == STENCIL_PERIODIC || (next >= low && next < high))
        return -1;
    return next < low ? STENCIL_LOW : STENCIL_HIGH;
}

/* Tells whether a walk is turned about by more than ghost cells do: by an insulated cell, where `side` is
 * negative, or by a wall other than a mirror half a cell beyond. */
static bool is_own(const view *v, int axis, int side) {
    return side < 0 || v->problem->wall[axis][side] != STENCIL_WALL_MIRROR;
}

/* Moves a cell as the walk of a point goes in an order of the axes; returns whether it never turned. *own is
 * set where ghost cells would not do. */
static bool walk(const view *v, const int order[3], const int32_t offset[3], int64_t cell[3], bool *own) {
    bool straight = true;
    for (int i = 0; i < STENCIL_AXES; i++) {
        const int axis = order[i];
        int turn = offset[axis] < 0 ? -1 : 1;
        for (int left = abs(offset[axis]); left > 0;) {
            int64_t next[3] = {cell[0], cell[1], cell[2]};
            next[axis] += turn;
            const int side = side_between(v, axis, next[axis]);
            const bool stops = side >= 0 || kind_at(v, next) == STENCIL_KIND_INSULATED;
            if (!stops)
                cell[axis] = next[axis];
            else
                turn = -turn;
            *own = *own || (stops && is_own(v, axis, side));
            straight = straight && !stops;
            left -= side < 0 || !stencil_wall_is_node(v->problem->wall[axis][side]);
        }
    }
    return straight;
}

/* The walk of one point, which leaves factors of cells, and constants, in a row. */
typedef struct walker {
    const view *v;
    const int32_t *offset; /* of the point */
    const int64_t *from;   /* the cell */
    row *row;
} walker;

/* Index of a point of the shape; that of the cell itself where the shape has no such point. */
static int point_at(const view *v, const int64_t offset[3]) {
    int centre = v->points / 2;
    for (int k = 0; k < v->points; k++)
        if (v->offset[k][0] == offset[0] && v->offset[k][1] == offset[1] && v->offset[k][2] == offset[2])
            return k;
    return centre;
}

/* A number of a wall, at a cell beside it. */
static double number_at(const stencil_problem *p, int axis, int side, stencil_wall_number which,
                        const int64_t cell[3]) {
    const stencil_spec *spec = &p->spec;
    int64_t at = 0;
    if (!spec->along[axis][side][which])
        return which == STENCIL_NUMBER_FLUX       ? spec->flux[axis][side]
               : which == STENCIL_NUMBER_EXCHANGE ? spec->exchange[axis][side]
                                                  : spec->ambient[axis][side];
    for (int a = 0; a < STENCIL_AXES; a++) {
        const int64_t n = p->extent[a], i = cell[a] - p->first[a];
        if (a != axis)
            at = at * n + (i % n + n) % n; /* walks go on around periodic axes */
    }
    return p->tables->along[axis][side][which][at];
}

static void follow(const walker *w, int rank, const int64_t start[3], double factor);

/* Turns a walk about at a wall, `left` cells before its end, the step at the wall included. Returns the
 * factor of what follows. */
static double turn_about(const walker *w, int axis, int side, int left, const int64_t cell[3],
                         double factor) {
    const stencil_problem *p = w->v->problem;
    const stencil_wall_kind wall = p->wall[axis][side];
    const double h = stencil_spec_spacing(&p->spec, axis);
    const bool node = stencil_wall_is_node(wall);
    const double length = (node ? 2.0 * left : 2.0 * left - 1.0) * h;
    double *constant = &w->row->of[STENCIL_SOURCE_WEIGHT];
    if (stencil_wall_has_flux(wall))
        *constant += factor * (length * number_at(p, axis, side, STENCIL_NUMBER_FLUX, cell));
    if (!stencil_wall_exchanges(wall))
        return factor;
    const double ambient = number_at(p, axis, side, STENCIL_NUMBER_AMBIENT, cell),
                 rate = number_at(p, axis, side, STENCIL_NUMBER_EXCHANGE, cell) * length;
    if (node) {
        *constant += factor * (rate * ambient);
        follow(w, axis, cell, -factor * rate);
        return factor;
    }
    *constant += factor * (rate / (1.0 + rate / 2.0) * ambient);
    return factor * ((1.0 - rate / 2.0) / (1.0 + rate / 2.0));
}

/* Goes on along the axes before `rank` (x is the last one, and comes first), from a cell, and adds the factor
 * to the point of the cell where the walk ends. */
static void follow(const walker *w, int rank, const int64_t start[3], double factor) {
    const view *v = w->v;
    int64_t cell[3] = {start[0], start[1], start[2]};
    for (int axis = rank - 1; axis >= 0; axis--) {
        int turn = w->offset[axis] < 0 ? -1 : 1;
        for (int left = abs(w->offset[axis]); left > 0;) {
            int64_t next[3] = {cell[0], cell[1], cell[2]};
            next[axis] += turn;
            const int side = side_between(v, axis, next[axis]);
            if (side < 0 && kind_at(v, next) != STENCIL_KIND_INSULATED) {
                cell[axis] = next[axis];
                left--;
                continue;
            }
            if (side >= 0)
                factor = turn_about(w, axis, side, left, cell, factor);
            turn = -turn;
            left -= side < 0 || !stencil_wall_is_node(v->problem->wall[axis][side]);
        }
    }
    const int64_t offset[3] = {cell[0] - w->from[0], cell[1] - w->from[1], cell[2] - w->from[2]};
    w->row->of[point_at(v, offset)] += factor;
}

/* How a point is read: where it is, where ghost cells show the image of a mirror, or elsewhere. */
typedef enum reach { REACH_STRAIGHT, REACH_GHOST, REACH_IMAGE, REACH_SELF } reach;

static reach reach_of(const view *v, const int64_t from[3], const int32_t offset[3], bool *own) {
    static const int orders[6][3] = {{2, 1, 0}, {2, 0, 1}, {1, 2, 0}, {1, 0, 2}, {0, 2, 1}, {0, 1, 2}};
    int64_t first[3] = {0, 0, 0};
    bool same = true, met = false;
    for (int i = 0; i < 6; i++) {
        int64_t cell[3] = {from[0], from[1], from[2]};
        if (walk(v, orders[i], offset, cell, &met))
            return REACH_STRAIGHT;
        if (i == 0)
            memcpy(first, cell, sizeof first);
        same = same && memcmp(first, cell, sizeof first) == 0;
    }
    *own = *own || met;
    return !met ? REACH_GHOST : same ? REACH_IMAGE : REACH_SELF;
}

/* Makes the row of a cell whose row is `base`; false: it needs none but that, since ghost cells do. */
static bool make_row(const view *v, const int64_t cell[3], const double *base, row *made) {
    bool own = false;
    *made = (row){.of = {0}};
    for (int k = 0; k < v->points; k++) {
        const walker w = {v, v->offset[k], cell, made};
        if (base[k] == 0)
            continue;
        switch (reach_of(v, cell, v->offset[k], &own)) {
        case REACH_STRAIGHT:
        case REACH_GHOST:
            made->of[k] += base[k];
            break;
        case REACH_IMAGE:
            follow(&w, STENCIL_AXES, cell, base[k]);
            break;
        default:
            made->of[v->points / 2] += base[k];
            break;
        }
    }
    return own;
}

/* Makes the row of a cell whose weights are fields: what each of its points reads. A wall, or an insulated
 * cell, leads to the opposite point, to the cell itself, or to both. */
static bool make_reads(const view *v, const int64_t cell[3], row *made) {
    const int centre = v->points / 2;
    double one[STENCIL_POINTS_MAX] = {0};
    bool own = false;
    *made = (row){.of = {0}};
    for (int k = 0; k < v->points; k++) {
        row read;
        one[k] = 1.0;
        own = make_row(v, cell, one, &read) || own;
        one[k] = 0.0;
        double *to = made->of + STENCIL_READS * (ptrdiff_t)k;
        to[STENCIL_READ_STRAIGHT] = read.of[k];
        to[STENCIL_READ_OPPOSITE] = k == centre ? 0.0 : read.of[v->points - 1 - k];
        to[STENCIL_READ_CENTRE] = k == centre ? 0.0 : read.of[centre];
        to[STENCIL_READ_CONSTANT] = read.of[STENCIL_SOURCE_WEIGHT];
    }
    return own;
}

/* Tells whether a row adds anything that does not depend on cells. */
static bool adds_constant(const stencil_problem *problem, const row *r) {
    bool adds = r->of[STENCIL_SOURCE_WEIGHT] != 0;
    for (int k = 0; k < problem->shape->point_count && stencil_problem_has_fields(problem); k++)
        adds = adds || r->of[STENCIL_READS * k + STENCIL_READ_CONSTANT] != 0;
    return adds;
}

bool stencil_cell_is_beside_fixed(const stencil_problem *p, const int64_t cell[3]) {
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        if (p->boundary[axis] == STENCIL_MIRROR &&
            ((p->wall[axis][STENCIL_LOW] == STENCIL_WALL_FIXED && cell[axis] < p->radius[axis]) ||
             (p->wall[axis][STENCIL_HIGH] == STENCIL_WALL_FIXED &&
              cell[axis] >= p->n[axis] - p->radius[axis])))
            return true;
    return false;
}

/* Tells whether a wall that ghost cells do not make is within the reach of a cell. */
static bool is_beside_wall(const stencil_problem *p, const int64_t cell[3]) {
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        if ((cell[axis] < p->radius[axis] && p->wall[axis][STENCIL_LOW] >= STENCIL_WALL_MIRROR_NODE) ||
            (cell[axis] >= p->n[axis] - p->radius[axis] &&
             p->wall[axis][STENCIL_HIGH] >= STENCIL_WALL_MIRROR_NODE))
            return true;
    return false;
}

/* Copies the kinds around a cell to `around`, nx consecutive ones of each row; returns whether any is
 * insulated. */
static bool look_around(const view *v, const int64_t cell[3], uint8_t *around) {
    const int64_t *r = v->problem->radius;
    bool any = false;
    int64_t at[3] = {0, 0, cell[STENCIL_X] - r[STENCIL_X]};
    for (at[0] = cell[0] - r[0]; at[0] <= cell[0] + r[0]; at[0]++)
        for (at[1] = cell[1] - r[1]; at[1] <= cell[1] + r[1]; at[1]++) {
            const stencil_cell_kind *from =
                (const stencil_cell_kind *)v->kind.at + stencil_cells_offset(&v->kind, at);
            for (int64_t x = 0; x <= 2 * r[STENCIL_X]; x++, around++) {
                *around = from[x] == STENCIL_KIND_INSULATED;
                any = any || *around != 0;
            }
        }
    return any;
}

/* The situation of the last cell that got a row, and the number of that; 0: that of plain cells. Cells along
 * a wall are alike. */
typedef struct memo {
    bool known;
    stencil_cell_kind kind;
    int number;
    double base[7]; /* weights that /k gives the cell */
    int64_t beside[3][2];
    uint8_t around[7 * 7 * 7];
} memo;

/* Finds the number of a row, which is that of the cell's kind where it is `base`. */
static stencil_status find_number(const view *v, const row *wanted, const double *base, memo *here) {
    const stencil_problem *p = v->problem;
    row plain = {.of = {0}};
    memcpy(plain.of, base, (size_t)v->points * sizeof *base);
    here->number = here->kind;
    if (memcmp(plain.of, wanted->of, sizeof wanted->of) == 0)
        return STENCIL_OK;
    here->number = stencil_palette_find(p, wanted->of);
    if (here->number > 0)
        return STENCIL_OK;
    CHECK(v->adds != NULL, BAD_DATA, "%s was changed while it was read", stencil_spec_classes(&p->spec));
    *v->full = stencil_palette_is_full(p);
    if (*v->full)
        return refuse_rows(p->palette_count);
    for (int k = 0; k < STENCIL_WEIGHTS; k++)
        CHECK(is_finite(p, wanted->of[k]), BAD_DATA,
              "the walls of the problem lead to weights that are no finite numbers in %s",
              stencil_precision_name(p->precision));
    TRY(stencil_palette_add(v->adds, wanted->of));
    here->number = p->palette_count;
    return STENCIL_OK;
}

/* Returns the weights that a cell of the kind of a row has away from walls. */
static const double *base_of(const stencil_problem *p, stencil_cell_kind kind) {
    return kind == STENCIL_KIND_PLAIN ? p->weight : stencil_problem_row(p, kind);
}

/* Finds the row of a cell of a row's kind beside a wall or an insulated cell. */
static stencil_status find_beside(const view *v, memo *last, const int64_t cell[3], memo *here) {
    const stencil_problem *p = v->problem;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        here->beside[axis][0] = stencil_smaller(cell[axis], p->radius[axis]);
        here->beside[axis][1] = stencil_smaller(p->n[axis] - 1 - cell[axis], p->radius[axis]);
    }
    if (v->alike && last->known && last->kind == here->kind &&
        memcmp(last->beside, here->beside, sizeof last->beside) == 0 &&
        memcmp(last->around, here->around, sizeof last->around) == 0 &&
        memcmp(last->base, here->base, sizeof last->base) == 0) {
        here->number = last->number;
        return STENCIL_OK;
    }
    const bool rows = p->coefficients == STENCIL_COEFFICIENTS_ROWS;
    const double *base = base_of(p, here->kind);
    double whole[STENCIL_POINTS_MAX] = {0};
    row wanted;
    here->number = here->kind;
    const double *plain = rows ? p->weight : base; /* of cells that need no row */
    bool own = true;
    if (rows) {
        memcpy(whole, here->base, (size_t)v->points * sizeof *whole);
        make_row(v, cell, whole, &wanted);
    } else {
        own = stencil_problem_has_fields(p) ? make_reads(v, cell, &wanted) : make_row(v, cell, base, &wanted);
    }
    if (own) {
        if (v->adds != NULL && adds_constant(p, &wanted))
            v->adds->has_constants = true;
        if (p->walls_in_source)
            wanted.of[STENCIL_SOURCE_WEIGHT] = 0;
        TRY(find_number(v, &wanted, plain, here));
    }
    *last = *here;
    last->known = true;
    return STENCIL_OK;
}

/* Refuses a cell of a row that does not exist. */
static stencil_status refuse_cell(const stencil_problem *problem, const int64_t cell[3]) {
    char text[96] = "";
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        stencil_text_add(text, sizeof text, "%s%" PRId64, text[0] != '\0' ? ", " : "",
                         cell[axis] - problem->first[axis]);
    FAIL(BAD_DATA, "/class[%s] names no row of /stencil/weights, which has rows 0 to %d", text,
         problem->spec.class_count - 1);
}

/* Writes what a cell has: its class or, to an array of two bytes, the number of the row that this does not
 * name. */
static void put_class(const view *v, const stencil_cells *to, int64_t x, uint8_t class_of, int number) {
    if (to->precision == STENCIL_BYTE)
        ((uint8_t *)to->at)[x] = class_of;
    else
        ((uint16_t *)to->at)[x] = class_of == STENCIL_CLASS_WIDE ? (uint16_t)number : 0;
    if (v->adds != NULL && number > 0)
        stencil_palette_count(v->adds, number);
}

/* Finds the classes of a row of cells, from cell `at` on. */
static stencil_status find_row(const view *v, memo *last, const int64_t at[3], int64_t count,
                               const stencil_cells *to) {
    const stencil_problem *p = v->problem;
    const int rows = p->spec.classed ? p->spec.class_count : 1;
    const bool each = p->coefficients == STENCIL_COEFFICIENTS_ROWS;
    memo here = {.known = true};
    for (int64_t x = 0; x < count; x++) {
        const int64_t cell[3] = {at[0], at[1], at[2] + x};
        const stencil_cell_kind kind = kind_at(v, cell);
        here.kind = kind;
        if (kind == STENCIL_KIND_DRIVEN) {
            put_class(v, to, x, STENCIL_CLASS_DRIVEN, 0);
        } else if (kind == STENCIL_KIND_KEPT || kind == STENCIL_KIND_INSULATED ||
                   stencil_cell_is_beside_fixed(p, cell)) {
            put_class(v, to, x, STENCIL_CLASS_KEPT, 0);
        } else if (kind >= rows) {
            return refuse_cell(p, cell);
        } else {
            const bool wall = is_beside_wall(p, cell),
                       insulated = p->spec.insulated && look_around(v, cell, here.around);
            here.number = kind;
            if (each) {
                double weight[STENCIL_POINTS_MAX] = {0};
                stencil_faces_weights(p, &v->faces, cell, weight);
                memcpy(here.base, weight, sizeof here.base);
            }
            if (wall || insulated || each)
                TRY(find_beside(v, last, cell, &here));
            put_class(v, to, x, stencil_palette_class(p, here.number), here.number);
        }
    }
    return STENCIL_OK;
}

static stencil_status find_box(view *v, const stencil_reader *from, const stencil_box *box,
                               const stencil_cells *to) {
    const stencil_problem *p = v->problem;
    const stencil_mesh mesh = kinds_mesh(p);
    const stencil_box all = stencil_box_grow(box, p->radius);
    memo last = {.known = false};
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, stencil_box_cells(&all) * (int64_t)sizeof(stencil_cell_kind),
                             "the kinds of the cells"));
    v->kind = stencil_cells_dense(STENCIL_TWO_BYTES, memory, &all);
    v->alike = !stencil_spec_has_arrays(&p->spec);
    v->points = stencil_shape_offsets(p->shape, v->offset);
    stencil_status status = stencil_boxes_fill(from, &mesh, STENCIL_ARRAY_KIND, &all, &v->kind);
    if (status == STENCIL_OK && p->coefficients == STENCIL_COEFFICIENTS_ROWS)
        status = stencil_faces_load(&v->faces, p, from, box);
    for (int64_t r = 0; r < box->n[0] * box->n[1] && status == STENCIL_OK; r++) {
        const int64_t at[3] = {box->first[0] + r / box->n[1], box->first[1] + r % box->n[1], box->first[2]};
        const stencil_cells there = stencil_cells_from(to, at);
        status = find_row(v, &last, at, box->n[2], &there);
    }
    stencil_faces_destroy(&v->faces);
    free(memory);
    return status;
}

stencil_status stencil_classes_add(stencil_problem *problem, const stencil_reader *from,
                                   const stencil_box *box, const stencil_cells *to, bool *full) {
    return find_box(&(view){.problem = problem, .adds = problem, .full = full}, from, box, to);
}

stencil_status stencil_classes_read(const stencil_problem *problem, const stencil_reader *from,
                                    const stencil_box *box, const stencil_cells *to) {
    return find_box(&(view){.problem = problem}, from, box, to);
}

/* Adds the constant of a cell of row `kind` beside a wall to its source term. */
static stencil_status add_constant(const view *v, const int64_t cell[3], stencil_cell_kind kind,
                                   const stencil_cells *b) {
    const stencil_problem *p = v->problem;
    row made;
    if (!make_row(v, cell, base_of(p, kind), &made) || made.of[STENCIL_SOURCE_WEIGHT] == 0)
        return STENCIL_OK;
    const stencil_cells at = stencil_cells_from(b, cell);
    const double value = stencil_cells_value(&at, 0) + made.of[STENCIL_SOURCE_WEIGHT];
    CHECK(is_finite(p, value), BAD_DATA, "the walls of the problem add numbers that are not finite in %s",
          stencil_precision_name(p->precision));
    stencil_cells_set(&at, 0, value);
    return STENCIL_OK;
}

stencil_status stencil_classes_add_constants(const stencil_problem *problem, const stencil_reader *from,
                                             const stencil_box *box, const stencil_cells *b) {
    const stencil_box all = stencil_box_grow(box, problem->radius);
    const stencil_mesh mesh = kinds_mesh(problem);
    const int rows = problem->spec.classed ? problem->spec.class_count : 1;
    view v = {.problem = problem};
    void *memory = NULL;
    if (!problem->walls_in_source || stencil_box_cells(box) == 0)
        return STENCIL_OK;
    TRY(stencil_memory_alloc(&memory, stencil_box_cells(&all) * (int64_t)sizeof(stencil_cell_kind),
                             "the kinds of the cells"));
    v.kind = stencil_cells_dense(STENCIL_TWO_BYTES, memory, &all);
    v.points = stencil_shape_offsets(problem->shape, v.offset);
    stencil_status status = stencil_boxes_fill(from, &mesh, STENCIL_ARRAY_KIND, &all, &v.kind);
    for (int64_t i = 0; i < stencil_box_cells(box) && status == STENCIL_OK; i++) {
        const int64_t line = i / box->n[2],
                      cell[3] = {box->first[0] + line / box->n[1], box->first[1] + line % box->n[1],
                                 box->first[2] + i % box->n[2]};
        const stencil_cell_kind kind = kind_at(&v, cell);
        if (kind < rows && is_beside_wall(problem, cell) && !stencil_cell_is_beside_fixed(problem, cell))
            status = add_constant(&v, cell, kind, b);
    }
    free(memory);
    return status;
}

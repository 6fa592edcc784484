#include "solver/problem/pockets.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "kernels/sweep.h"
#include "solver/problem/classes.h"
#include "solver/problem/faces.h"

/* A run of updated cells of a row of the array, from x = first to end - 1. */
typedef struct run {
    int64_t first, end,
        parent;  /* parent: index of a run of the same pocket; its own: it stands for the pocket */
    int64_t row; /* number of its row in the array */
    /* The number of the pocket's cells; the same, where cells in a wall count by their part inside, and with
     * /k by the sum of their faces; the sum of what a step adds to cells that count so, and that of its
     * absolute values. */
    double cells, weight, gain, size;
    bool anchored; /* joined to a cell that keeps its value, or to a wall that exchanges */
} run;

/* All runs of the rows so far. */
typedef struct search {
    const stencil_problem *problem;
    const stencil_reader *from;
    run *runs;
    int64_t count, room;
    int64_t *row_first; /* [rows + 1]: the first run of each row of the array */
    uint8_t *still;     /* whether a cell keeps its value, for each cell of the array */
} search;

static int64_t head_of(search *s, int64_t i) {
    while (s->runs[i].parent != i) {
        s->runs[i].parent = s->runs[s->runs[i].parent].parent;
        i = s->runs[i].parent;
    }
    return i;
}

static void join(search *s, int64_t a, int64_t b) {
    int64_t low = head_of(s, a), high = head_of(s, b);
    if (low == high)
        return;
    if (low > high) {
        const int64_t other = low;
        low = high;
        high = other;
    }
    run *to = &s->runs[low], *from = &s->runs[high];
    from->parent = low;
    to->cells += from->cells;
    to->weight += from->weight;
    to->gain += from->gain;
    to->size += from->size;
    to->anchored = to->anchored || from->anchored;
}

/* Kinds of cells here: not there, keeping its value, updated. */
enum { GONE, STILL, FREE };

static int state_of(const stencil_problem *p, stencil_cell_kind kind, const int64_t cell[3]) {
    if (kind == STENCIL_KIND_INSULATED)
        return GONE;
    if (kind == STENCIL_KIND_KEPT)
        return STILL;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const bool low = p->wall[axis][STENCIL_LOW] == STENCIL_WALL_FIXED,
                   high = p->wall[axis][STENCIL_HIGH] == STENCIL_WALL_FIXED;
        const int64_t at = cell[axis] - p->first[axis];
        if ((low && at < p->radius[axis]) || (high && at >= p->extent[axis] - p->radius[axis]))
            return STILL;
    }
    return FREE;
}

/* What stands at the sides of a cell: whether it exchanges with a wall; the part of it inside of walls. */
static bool exchanges(const stencil_problem *p, const int64_t cell[3], double *weight) {
    bool any = false;
    *weight = 1.0;
    for (int i = 2 * (STENCIL_AXES - p->rank); i < 2 * STENCIL_AXES; i++) {
        const int64_t end = i % 2 == 0 ? p->first[i / 2] : p->first[i / 2] + p->extent[i / 2] - 1;
        if (cell[i / 2] != end)
            continue;
        any = any || stencil_wall_exchanges(p->wall[i / 2][i % 2]);
        *weight *= stencil_wall_is_node(p->wall[i / 2][i % 2]) ? 0.5 : 1.0;
    }
    return any;
}

static stencil_status add_run(search *s, int64_t row, int64_t x) {
    if (s->count == s->room) {
        const int64_t room = s->room == 0 ? 1024 : 2 * s->room;
        void *more = realloc(s->runs, (size_t)room * sizeof *s->runs);
        CHECK(more != NULL, NO_MEMORY, "no memory for the pockets of the field");
        s->runs = more;
        s->room = room;
    }
    s->runs[s->count] = (run){.first = x, .end = x, .parent = s->count, .row = row};
    s->count++;
    return STENCIL_OK;
}

/* Anchors runs of a row beside which cells of another row keep their values, and joins those that touch. */
static void touch(search *s, int64_t row, int64_t other) {
    const int64_t nx = s->problem->extent[STENCIL_X];
    const uint8_t *still = s->still + other * nx, *own = s->still + row * nx;
    int64_t k = s->row_first[other];
    for (int64_t i = s->row_first[row]; i < s->row_first[row + 1]; i++) {
        const run *r = &s->runs[i];
        bool anchored = false;
        for (int64_t x = r->first; x < r->end; x++)
            anchored = anchored || still[x] != 0;
        if (anchored)
            s->runs[head_of(s, i)].anchored = true;
        while (k < s->row_first[other + 1] && s->runs[k].end <= r->first)
            k++;
        for (int64_t j = k; j < s->row_first[other + 1] && s->runs[j].first < r->end; j++)
            join(s, i, j);
    }
    for (int64_t j = s->row_first[other]; j < s->row_first[other + 1]; j++)
        for (int64_t x = s->runs[j].first; x < s->runs[j].end; x++)
            if (own[x] != 0) {
                s->runs[head_of(s, j)].anchored = true;
                break;
            }
}

/* A row of cells: their kinds, stencil_classes_rows(), the source term and, with /k, the faces of those that
 * are updated. */
typedef struct line {
    const stencil_cell_kind *kind;
    const uint16_t *of;
    stencil_cells b; /* `at` NULL: there is none */
    const stencil_faces *faces;
} line;

/* Returns what a step adds to a cell, and by which factor it counts in sums that steps keep: the matrix of
 * differences, which has no such factors, is symmetric. size: the sum of the absolute values of what it adds,
 * the flux of walls and the source, whose rounding errors are in proportion to it. */
static double gain_of(const stencil_problem *p, const line *l, const int64_t cell[3], int64_t x,
                      double *factor, double *size) {
    const bool varied = l->of[x] > 0 && l->of[x] <= p->palette_count;
    const double *row = varied ? stencil_problem_row(p, l->of[x]) : NULL;
    double made[STENCIL_WEIGHTS];
    *factor = p->coefficients != STENCIL_COEFFICIENTS_NONE ? stencil_faces_sum(p, l->faces, cell) : 1.0;
    if (row != NULL && stencil_problem_has_fields(p)) {
        stencil_faces_row(p, l->faces, cell, row, made);
        row = made;
    }
    const double flux = row != NULL ? row[STENCIL_SOURCE_WEIGHT] : 0.0,
                 source = l->b.at != NULL ? stencil_cells_value(&l->b, x) : 0.0;
    *size = fabs(flux) + fabs(source);
    return flux + source;
}

/* Takes a row of cells: finds its runs, and joins them to those of the rows before. */
static stencil_status take_row(search *s, int64_t row, const line *l) {
    const stencil_problem *p = s->problem;
    const int64_t nx = p->extent[STENCIL_X], ny = p->extent[STENCIL_Y];
    int64_t cell[3] = {row / ny + p->first[0], row % ny + p->first[1], 0};
    uint8_t *still = s->still + row * nx;
    bool inside = false;
    s->row_first[row] = s->count;
    for (int64_t x = 0; x < nx; x++) {
        cell[STENCIL_X] = x + p->first[STENCIL_X];
        const int state = state_of(p, l->kind[x], cell);
        still[x] = state == STILL;
        if (state != FREE) {
            if (state == STILL && inside)
                s->runs[s->count - 1].anchored = true;
            inside = false;
            continue;
        }
        if (!inside)
            TRY(add_run(s, row, x));
        run *r = &s->runs[s->count - 1];
        double weight, factor, size;
        if (!inside && x > 0 && still[x - 1] != 0)
            r->anchored = true;
        inside = true;
        if (exchanges(p, cell, &weight))
            r->anchored = true;
        const double gain = gain_of(p, l, cell, x, &factor, &size);
        weight *= factor;
        r->end = x + 1;
        r->cells++;
        r->weight += weight;
        r->gain += weight * gain;
        r->size += weight * size;
    }
    s->row_first[row + 1] = s->count;
    if (p->boundary[STENCIL_X] == STENCIL_PERIODIC && s->count > s->row_first[row]) {
        run *first = &s->runs[s->row_first[row]], *last = &s->runs[s->count - 1];
        if (first->first == 0 && last->end == nx)
            join(s, s->row_first[row], s->count - 1);
        if ((first->first == 0 && still[nx - 1] != 0) || (last->end == nx && still[0] != 0))
            s->runs[head_of(s, first->first == 0 ? s->row_first[row] : s->count - 1)].anchored = true;
    }
    if (row % ny > 0)
        touch(s, row, row - 1);
    if (row % ny == ny - 1 && p->boundary[STENCIL_Y] == STENCIL_PERIODIC)
        touch(s, row, row - ny + 1);
    if (row >= ny)
        touch(s, row, row - ny);
    if (row / ny == p->extent[STENCIL_Z] - 1 && row / ny > 0 && p->boundary[STENCIL_Z] == STENCIL_PERIODIC)
        touch(s, row, row % ny);
    return STENCIL_OK;
}

/* Memory for some rows of a plane. */
enum { BAND_ROWS = 64 };
typedef struct band {
    stencil_cell_kind *kind;
    uint16_t *of, *own; /* stencil_classes_rows() of all cells, and of updated ones alone */
    void *source;
} band;

/* Takes `count` rows of a plane, of which it reads kinds of all cells, classes and source of updated ones. */
static stencil_status take_band(search *s, const band *to, int64_t row, int64_t count) {
    const stencil_problem *p = s->problem;
    const int64_t nx = p->extent[STENCIL_X], ny = p->extent[STENCIL_Y];
    const stencil_box all = {.first = {row / ny + p->first[0], row % ny + p->first[1], p->first[2]},
                             .n = {1, count, nx}},
                      inner = {.n = {p->n[0], p->n[1], p->n[2]}}, own = stencil_box_common(&all, &inner);
    const stencil_cells kinds = stencil_cells_dense(STENCIL_TWO_BYTES, to->kind, &all),
                        rows = stencil_cells_dense(STENCIL_TWO_BYTES, to->of, &all),
                        b = stencil_cells_dense(p->precision, to->source, &all);
    const bool has_source = stencil_problem_has_source(p);
    stencil_faces faces = {0};
    stencil_status status = STENCIL_OK;
    for (int64_t i = 0; i < count * nx; i++)
        to->of[i] = STENCIL_ROW_KEPT;
    TRY(s->from->read(s->from->context, STENCIL_ARRAY_KIND, &all, &kinds));
    if (stencil_box_cells(&own) > 0) {
        const stencil_cells to_rows = stencil_cells_from(&rows, own.first),
                            from_rows = stencil_cells_dense(STENCIL_TWO_BYTES, to->own, &own),
                            to_b = stencil_cells_from(&b, own.first);
        TRY(stencil_classes_rows(p, s->from, &own, to->own));
        stencil_cells_copy(&to_rows, &from_rows, own.n);
        if (has_source)
            TRY(s->from->read(s->from->context, STENCIL_ARRAY_B, &own, &to_b));
        if (p->coefficients != STENCIL_COEFFICIENTS_NONE)
            TRY(stencil_faces_load(&faces, p, s->from, &own));
    }
    for (int64_t i = 0; i < count && status == STENCIL_OK; i++) {
        const int64_t at[3] = {all.first[0], all.first[1] + i, all.first[2]};
        const line l = {.kind = to->kind + i * nx,
                        .of = to->of + i * nx,
                        .b = has_source ? stencil_cells_from(&b, at) : (stencil_cells){0},
                        .faces = &faces};
        status = take_row(s, row + i, &l);
    }
    stencil_faces_destroy(&faces);
    return status;
}

static void count_pockets(search *s, stencil_pockets *found) {
    const stencil_problem *p = s->problem;
    const int64_t ny = p->extent[STENCIL_Y];
    const double unit = p->precision == STENCIL_FLOAT64 ? 1e-12 : 1e-6;
    for (int64_t i = 0; i < s->count; i++) {
        const run *r = &s->runs[i];
        if (r->parent != i || r->anchored)
            continue;
        const bool unsolvable = fabs(r->gain) > unit * r->size;
        if (found->count == 0 || (unsolvable && found->unsolvable == 0)) {
            found->first[0] = r->row / ny;
            found->first[1] = r->row % ny;
            found->first[2] = r->first;
            found->gain = r->gain / r->weight;
            found->sum = r->gain;
        }
        found->count++;
        found->cells += (int64_t)r->cells;
        found->unsolvable += unsolvable;
    }
}

stencil_status stencil_pockets_find(const stencil_problem *problem, const stencil_reader *from,
                                    stencil_pockets *pockets) {
    const int64_t nx = problem->extent[STENCIL_X],
                  rows = problem->extent[STENCIL_Z] * problem->extent[STENCIL_Y];
    search s = {.problem = problem, .from = from};
    *pockets = (stencil_pockets){0};
    s.row_first = calloc((size_t)rows + 1, sizeof *s.row_first);
    s.still = malloc((size_t)(rows * nx));
    const size_t cells = (size_t)(BAND_ROWS * nx);
    const band to = {malloc(cells * sizeof *to.kind), malloc(cells * sizeof *to.of),
                     malloc(cells * sizeof *to.own), calloc(cells, sizeof(double))};
    const bool made = s.row_first != NULL && s.still != NULL && to.kind != NULL && to.of != NULL &&
                      to.own != NULL && to.source != NULL;
    stencil_status status = made ? STENCIL_OK : ERROR(NO_MEMORY, "no memory for the pockets of the field");
    for (int64_t row = 0, count = 0; row < rows && status == STENCIL_OK; row += count) {
        const int64_t left = problem->extent[STENCIL_Y] - row % problem->extent[STENCIL_Y];
        count = stencil_smaller(left, BAND_ROWS);
        status = take_band(&s, &to, row, count);
    }
    if (status == STENCIL_OK)
        count_pockets(&s, pockets);
    free(s.row_first);
    free(s.still);
    free(s.runs);
    free(to.kind);
    free(to.of);
    free(to.own);
    free(to.source);
    return status;
}

bool stencil_pockets_are_possible(const stencil_problem *problem) {
    bool fixed = false;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        fixed =
            fixed || problem->boundary[axis] == STENCIL_FIXED || stencil_problem_is_half_fixed(problem, axis);
    return stencil_problem_relaxes(problem) &&
           (!stencil_problem_is_separable(problem) ||
            (problem->coefficients != STENCIL_COEFFICIENTS_NONE && !fixed));
}

void stencil_pockets_tell(const stencil_problem *problem, const stencil_pockets *pockets, const char *field,
                          char text[STENCIL_POCKETS_CHARS]) {
    text[0] = '\0';
    stencil_text_add(text, STENCIL_POCKETS_CHARS, "cells around %s", field);
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        stencil_text_add(text, STENCIL_POCKETS_CHARS, "[%lld]", (long long)pockets->first[axis]);
    stencil_text_add(
        text, STENCIL_POCKETS_CHARS,
        " are joined to no fixed cell and to no wall that exchanges, and a step adds %.3g to their "
        "mean: there is no solution",
        pockets->gain);
}

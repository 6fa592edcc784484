#include "solver/problem/defect.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/sweep.h"
#include "solver/problem/classes.h"
#include "solver/problem/faces.h"
#include "solver/problem/spectrum.h"

/* A visit of all updated cells, slab by slab. */
typedef struct pass pass;
struct pass {
    const stencil_problem *problem;
    const stencil_reader *from;
    const char *what;    /* purpose of the memory, for messages */
    stencil_box box;     /* the updated cells of the current slab */
    stencil_cells u;     /* u in that box, and around it as far as a step reads */
    stencil_cells b;     /* the source in that box; `at` NULL: there is none */
    const uint16_t *of;  /* stencil_classes_rows() of that box; NULL: all cells are plain */
    stencil_faces faces; /* of the cells of that box; empty: weights are no fields of faces */
    void (*take)(pass *pass);
};

/* Reads an array in the box of the current slab into memory that the caller frees. */
static stencil_status read_slab(const pass *p, stencil_array array, stencil_precision precision,
                                stencil_cells *cells) {
    void *memory = NULL;
    TRY(stencil_memory_alloc(
        &memory, stencil_box_cells(&p->box) * (int64_t)stencil_precision_bytes(precision), p->what));
    *cells = stencil_cells_dense(precision, memory, &p->box);
    return p->from->read(p->from->context, array, &p->box, cells);
}

static stencil_status take_slab(void *context, const stencil_box *slab, const stencil_cells *u) {
    pass *p = context;
    void *rows = NULL;
    stencil_status status = STENCIL_OK;
    p->box = *slab;
    p->u = stencil_cells_from(u, slab->first);
    p->b.at = NULL;
    if (stencil_problem_has_source(p->problem))
        status = read_slab(p, STENCIL_ARRAY_B, p->problem->precision, &p->b);
    if (status == STENCIL_OK && stencil_problem_has_classes(p->problem))
        status = stencil_memory_alloc(&rows, stencil_box_cells(slab) * (int64_t)sizeof *p->of, p->what);
    if (status == STENCIL_OK && rows != NULL)
        status = stencil_classes_rows(p->problem, p->from, slab, rows);
    p->of = rows;
    if (status == STENCIL_OK && stencil_problem_has_fields(p->problem))
        status = stencil_faces_load(&p->faces, p->problem, p->from, slab);
    if (status == STENCIL_OK)
        p->take(p);
    stencil_faces_destroy(&p->faces);
    free(p->b.at);
    free(rows);
    return status;
}

/* The number of the row of a cell of the current slab. Cells that keep their values are no part of any sum.
 */
static uint16_t number_at(const pass *p, int64_t z, int64_t y, int64_t x) {
    return p->of == NULL ? 0 : p->of[(z * p->box.n[STENCIL_Y] + y) * p->box.n[STENCIL_X] + x];
}

/* Returns the row of weights of a cell of the current slab: that of its class, that of plain cells or, in
 * `made`, what its faces give it. */
static const double *row_at(const pass *p, int64_t z, int64_t y, int64_t x, double made[STENCIL_WEIGHTS]) {
    const stencil_problem *problem = p->problem;
    const uint16_t number = number_at(p, z, y, x);
    const double *row =
        number > 0 && number < STENCIL_ROW_DRIVEN ? stencil_problem_row(problem, number) : NULL;
    const int64_t cell[3] = {p->box.first[0] + z, p->box.first[1] + y, p->box.first[2] + x};
    if (stencil_problem_has_fields(problem)) {
        stencil_faces_row(problem, &p->faces, cell, row, made);
        return made;
    }
    if (row != NULL)
        return row;
    memset(made, 0, STENCIL_WEIGHTS * sizeof *made);
    memcpy(made, problem->weight, (size_t)problem->shape->point_count * sizeof *made);
    return made;
}

static stencil_status make_pass(pass *p) {
    const int64_t *n = p->problem->n, *radius = p->problem->radius;
    const stencil_mesh mesh = stencil_problem_mesh(p->problem, 1);
    const stencil_box whole = {.n = {n[0], n[1], n[2]}};
    const stencil_slabs slabs = {p->from, &mesh, STENCIL_ARRAY_U, {radius[0], radius[1], radius[2]}, 0};
    return stencil_slabs_visit(&slabs, &whole, take_slab, p);
}

/* Sums over cells, of values times `scale`, and the largest absolute values. MODE_U and MODE_R are sums of u
 * and r times the slowest mode, MODE2 that of the mode's squares. */
enum { R2, R, B2, B, U2, U, TERMS2, MODE_U, MODE_R, MODE2, SUMS };
enum { LARGEST_R, LARGEST_U, LARGEST_B, LARGEST_TERM, LARGEST };
typedef struct sums {
    double sum[SUMS], largest[LARGEST];
} sums;

/* A visit of all updated cells that computes sums. */
typedef struct cells {
    pass pass; /* first member, so that pass->take() gets all of the structure */
    double weight[3], scale;
    int32_t offset[STENCIL_POINTS_MAX][3];
    const double *mode[3]; /* factors of the slowest mode along each axis; NULL: not asked for */
    sums *share;           /* [SHARES] */
} cells;

/* Computes what a cell would become with a row of weights of its own, less the source; *terms gets the sum of
 * absolute values. Points of weight 0 are not read. */
static double row_sum(const cells *c, int64_t at, const double *row, double *terms) {
    const stencil_problem *problem = c->pass.problem;
    const stencil_cells *u = &c->pass.u;
    const double constant = c->scale * row[STENCIL_SOURCE_WEIGHT];
    double sum = constant;
    *terms += fabs(constant);
    for (int k = 0; k < problem->shape->point_count; k++) {
        const int64_t there = at + c->offset[k][0] * u->plane + c->offset[k][1] * u->row + c->offset[k][2];
        const double term = row[k] != 0 ? row[k] * (c->scale * stencil_cells_value(u, there)) : 0.0;
        sum += term;
        *terms += fabs(term);
    }
    return sum;
}

/* Adds the terms of a cell to the sums, without those of the slowest mode; returns r. */
static double add_cell(const cells *c, int64_t at, int64_t at_b, const double *row, sums *s) {
    const int64_t stride[3] = {c->pass.u.plane, c->pass.u.row, 1};
    const double u = c->scale * stencil_cells_value(&c->pass.u, at);
    const double b = c->pass.b.at != NULL
                         ? c->scale * stencil_cells_value(&c->pass.b, at_b) / c->pass.problem->spec.omega
                         : 0.0;
    double sum = 0.0, terms = fabs(b) + fabs(u);
    if (row != NULL) /* a step makes u + omega r */
        sum = (row_sum(c, at, row, &terms) - u) / c->pass.problem->spec.omega + u;
    for (int axis = STENCIL_AXES - c->pass.problem->rank; axis < STENCIL_AXES && row == NULL; axis++) {
        const double low = c->scale * stencil_cells_value(&c->pass.u, at - stride[axis]),
                     high = c->scale * stencil_cells_value(&c->pass.u, at + stride[axis]);
        sum += c->weight[axis] * (low + high);
        terms += c->weight[axis] * (fabs(low) + fabs(high));
    }
    const double r = sum + b - u;
    const double value[MODE_U] = {r * r, r, b * b, b, u * u, u, terms * terms},
                 size[LARGEST] = {fabs(r), fabs(u), fabs(b), terms};
    for (int k = 0; k < MODE_U; k++)
        s->sum[k] += value[k];
    for (int k = 0; k < LARGEST; k++)
        s->largest[k] = size[k] > s->largest[k] ? size[k] : s->largest[k];
    return r;
}

static void add_sums(sums *to, const sums *from) {
    for (int k = 0; k < SUMS; k++)
        to->sum[k] += from->sum[k];
    for (int k = 0; k < LARGEST; k++)
        to->largest[k] = fmax(to->largest[k], from->largest[k]);
}

/* Shares of rows: sums go row by row, then by shares, the same for any number of threads and slabs. */
enum { SHARES = 4096 };

/* Adds the rows of a share that are in the slab to the sums of the share's earlier rows. */
static void add_share(const cells *c, int64_t share, sums *s) {
    const stencil_box *box = &c->pass.box;
    const int64_t ny = c->pass.problem->n[STENCIL_Y], rows = c->pass.problem->n[STENCIL_Z] * ny;
    const int64_t first = box->first[STENCIL_Z] * ny + box->first[STENCIL_Y],
                  last = first + box->n[STENCIL_Z] * box->n[STENCIL_Y];
    const int64_t start = stencil_share(rows, SHARES, share), end = stencil_share(rows, SHARES, share + 1);
    for (int64_t r = start > first ? start : first; r < stencil_smaller(end, last); r++) {
        sums row = {0};
        const int64_t z = r / ny - box->first[STENCIL_Z], y = r % ny - box->first[STENCIL_Y];
        for (int64_t x = 0; x < box->n[STENCIL_X]; x++) {
            const int64_t at = z * c->pass.u.plane + y * c->pass.u.row + x;
            const uint16_t number = number_at(&c->pass, z, y, x);
            if (number == STENCIL_ROW_KEPT)
                continue;
            double made[STENCIL_WEIGHTS];
            const bool own = number != 0 || c->pass.problem->coefficients != STENCIL_COEFFICIENTS_NONE;
            const double residual = add_cell(c, at, z * c->pass.b.plane + y * c->pass.b.row + x,
                                             own ? row_at(&c->pass, z, y, x, made) : NULL, &row);
            if (c->mode[0] == NULL)
                continue;
            const double mode = c->mode[STENCIL_Z][r / ny] * c->mode[STENCIL_Y][r % ny] *
                                c->mode[STENCIL_X][box->first[STENCIL_X] + x];
            row.sum[MODE_U] += mode * c->scale * stencil_cells_value(&c->pass.u, at);
            row.sum[MODE_R] += mode * residual;
            row.sum[MODE2] += mode * mode;
        }
        add_sums(s, &row);
    }
}

static void add_slab(pass *pass) {
    cells *c = (cells *)pass;
#pragma omp parallel for schedule(dynamic, 8) if (stencil_box_cells(&pass->box) > 1 << 14)
    for (int64_t k = 0; k < SHARES; k++)
        add_share(c, k, &c->share[k]);
}

static stencil_status sum_up(cells *c, sums *all) {
    c->share = calloc(SHARES, sizeof *c->share);
    CHECK(c->share != NULL, NO_MEMORY, "no memory for the error bound");
    const stencil_status status = make_pass(&c->pass);
    *all = (sums){0};
    for (int64_t k = 0; k < SHARES; k++)
        add_sums(all, &c->share[k]);
    free(c->share);
    return status;
}

/* Root mean square about the mean. */
static double spread(double squares, double sum, double count) {
    const double mean = sum / count, square = squares / count - mean * mean;
    return square > 0 ? sqrt(square) : 0.0;
}

static void finish_defect(const stencil_problem *problem, const sums *s, double scale, stencil_defect *d) {
    const double count = (double)stencil_problem_updated_cells(problem);
    const bool free_constant = stencil_spectrum_of(problem).up_to_constant;
    const double half_unit = problem->precision == STENCIL_FLOAT64 ? 0x1p-53 : 0x1p-24;
    /* The factor covers the rounding of the sums of squares, in rows of at most 2^31 cells. */
    const double sums_rounding = 1.0 + 1e-6;
    /* Roundings that weights, products and sums put on a term at most, see add_cell(). */
    const int roundings = 2 * problem->rank + 12;
    *d = (stencil_defect){
        .rms = sums_rounding *
               (free_constant ? spread(s->sum[R2], s->sum[R], count) : sqrt(s->sum[R2] / count)) / scale,
        .mean = s->sum[R] / count / scale,
        .source_mean = s->sum[B] / count / scale,
        .source_size = sqrt(s->sum[B2] / count) / scale,
        .size = (free_constant ? spread(s->sum[U2], s->sum[U], count) : sqrt(s->sum[U2] / count)) / scale,
        .rounding = sums_rounding / scale *
                    (roundings * 0x1p-53 * sqrt(s->sum[TERMS2] / count) +
                     (half_unit + 0x1p-50) * sqrt(s->sum[B2] / count)),
    };
    const bool largest = problem->stop.norm == STENCIL_NORM_MAX;
    d->norm = (largest ? s->largest[LARGEST_R] : sqrt(s->sum[R2] / count)) / scale;
    d->magnitude = (largest ? s->largest[LARGEST_U] : sqrt(s->sum[U2] / count)) / scale;
}

bool stencil_defect_unsolvable(const stencil_problem *problem, const stencil_defect *d) {
    const double unit = problem->precision == STENCIL_FLOAT64 ? 1e-12 : 1e-6;
    return stencil_spectrum_of(problem).up_to_constant && fabs(d->source_mean) > unit * d->source_size;
}

/* Sums up again with another scale if squares of the field leave the range of a double. */
static stencil_status sum_up_scaled(cells *c, sums *s) {
    stencil_shape_offsets(c->pass.problem->shape, c->offset);
    for (int axis = STENCIL_AXES - c->pass.problem->rank; axis < STENCIL_AXES; axis++)
        c->weight[axis] = stencil_neighbour_weight(c->pass.problem, axis);
    TRY(sum_up(c, s));
    const double largest = s->largest[LARGEST_TERM];
    if (!isfinite(largest) || largest == 0 || (largest <= 1e140 && largest >= 1e-100))
        return STENCIL_OK;
    c->scale = ldexp(1.0, -(ilogb(largest) > -1000 ? ilogb(largest) : -1000));
    return sum_up(c, s);
}

stencil_status stencil_defect_of(const stencil_problem *problem, const stencil_reader *from,
                                 stencil_defect *defect) {
    cells c = {.pass = {problem, from, "the error bound", .take = add_slab}, .scale = 1.0};
    sums s;
    TRY(sum_up_scaled(&c, &s));
    finish_defect(problem, &s, c.scale, defect);
    return STENCIL_OK;
}

/* The slowest mode of an axis, 1 on axes that are not fixed. */
static void fill_mode(const stencil_problem *problem, int axis, double *mode) {
    const int64_t n = problem->n[axis];
    const bool waves = axis >= STENCIL_AXES - problem->rank && problem->boundary[axis] == STENCIL_FIXED;
    for (int64_t i = 0; i < n; i++)
        mode[i] = waves ? sin(3.14159265358979323846 * (double)(i + 1) / (double)(n + 1)) : 1.0;
}

/* Since (I - J)(u* - u) = r, the part of the solution u* in a mode follows from those of u and r. */
stencil_status stencil_outlook_of(const stencil_problem *problem, const stencil_reader *from,
                                  stencil_outlook *outlook) {
    const int64_t *n = problem->n;
    const stencil_spectrum spectrum = stencil_spectrum_of(problem);
    cells c = {.pass = {problem, from, "the error bound", .take = add_slab}, .scale = 1.0};
    void *memory = NULL;
    stencil_defect d;
    sums s;
    TRY(stencil_memory_alloc(&memory, (n[0] + n[1] + n[2]) * (int64_t)sizeof(double), "the slowest mode"));
    double *mode = memory;
    for (int axis = 0; axis < STENCIL_AXES; mode += n[axis++]) {
        fill_mode(problem, axis, mode);
        c.mode[axis] = mode;
    }
    const stencil_status status = sum_up_scaled(&c, &s);
    free(memory);
    TRY(status);
    finish_defect(problem, &s, c.scale, &d);
    /* Kept cells mix the modes of the box: no part of the solution follows from sums with one of them. */
    const double part = problem->kept > 0
                            ? 0
                            : s.sum[MODE_U] + (spectrum.up_to_constant ? 0 : s.sum[MODE_R] / spectrum.least),
                 size = fabs(part) / sqrt(s.sum[MODE2] * (double)stencil_problem_updated_cells(problem)) /
                        c.scale;
    const double source =
        problem->stop.norm == STENCIL_NORM_MAX ? s.largest[LARGEST_B] / c.scale : d.source_size;
    const bool counts = problem->spec.kind == STENCIL_KIND_POISSON;
    *outlook = (stencil_outlook){.first = problem->spec.omega * (counts ? fmax(d.norm, source) : d.norm),
                                 .size = isfinite(size) ? size : 0.0,
                                 .source_mean = d.source_mean,
                                 .unsolvable = stencil_defect_unsolvable(problem, &d)};
    return STENCIL_OK;
}

double stencil_resolution(const stencil_problem *problem, double size) {
    double sum = 0.0, roundings = 4.0;
    const int points = problem->shape->point_count;
    const bool faces = problem->coefficients != STENCIL_COEFFICIENTS_NONE;
    for (int k = 0; k < points; k++) {
        const double weight = !faces ? problem->weight[k] : k == points / 2 ? 0.0 : 1.0 / (points - 1);
        sum += fabs(weight);
        roundings += weight != 0 ? sum : 0.0; /* adding 0 times u is exact */
    }
    return roundings * (problem->precision == STENCIL_FLOAT64 ? 0x1p-53 : 0x1p-24) * size;
}

stencil_error_bound stencil_error_bound_of(const stencil_problem *problem, const stencil_defect *defect) {
    const bool estimated = problem->estimate.known;
    const double absolute = (estimated ? problem->estimate.stretch : 1.0) * (defect->rms + defect->rounding) /
                            stencil_spectrum_of(problem).least;
    if (!isfinite(absolute) || stencil_defect_unsolvable(problem, defect))
        return (stencil_error_bound){0};
    /* A field that differs from a constant only by rounding has the size of the constant. */
    const bool constant = stencil_spectrum_of(problem).up_to_constant &&
                          defect->norm <= stencil_resolution(problem, defect->magnitude);
    const double whole = (constant ? fmax(defect->size, defect->magnitude) : defect->size) + absolute;
    return (stencil_error_bound){
        .known = true,
        .absolute = absolute,
        .relative = whole > 0 ? absolute / whole : 0.0,
        .estimated = estimated,
    };
}

/* A visit of all updated cells that finds changes lost to rounding. */
typedef struct loss {
    pass pass; /* first member, so that pass->take() gets all of the structure */
    int32_t offset[STENCIL_POINTS_MAX][3];
    stencil_lost lost;
} loss;

/* The change of a cell in a step; 0 where rounding of doubles explains it. */
static double lost_change(const loss *l, int64_t at, double b, const double *weight) {
    const stencil_problem *problem = l->pass.problem;
    const stencil_cells *u = &l->pass.u;
    const double old = stencil_cells_value(u, at);
    double sum = b - old, terms = fabs(b) + fabs(old);
    sum += weight[STENCIL_SOURCE_WEIGHT];
    for (int k = 0; k < problem->shape->point_count; k++) {
        const int64_t there = at + l->offset[k][0] * u->plane + l->offset[k][1] * u->row + l->offset[k][2];
        const double term = weight[k] != 0 ? weight[k] * stencil_cells_value(u, there) : 0.0;
        sum += term;
        terms += fabs(term);
    }
    const double rounding = (problem->shape->point_count + 3) * 0x1p-53 * terms;
    return fabs(sum) > rounding ? fabs(sum) : 0.0;
}

static void find_lost(pass *pass) {
    loss *l = (loss *)pass;
    const stencil_cells *u = &pass->u, *b = &pass->b;
    const int64_t *n = pass->box.n;
    for (int64_t i = 0; i < n[0] * n[1] * n[2]; i++) {
        const int64_t z = i / (n[1] * n[2]), y = i / n[2] % n[1], x = i % n[2];
        const int64_t at = z * u->plane + y * u->row + x;
        double made[STENCIL_WEIGHTS];
        const double source = b->at != NULL ? stencil_cells_value(b, z * b->plane + y * b->row + x) : 0.0,
                     change = number_at(pass, z, y, x) == STENCIL_ROW_KEPT
                                  ? 0.0
                                  : lost_change(l, at, source, row_at(pass, z, y, x, made));
        if (change > l->lost.change)
            l->lost = (stencil_lost){change, stencil_cells_value(u, at)};
    }
}

stencil_status stencil_lost_of(const stencil_problem *problem, const stencil_reader *from,
                               stencil_lost *lost) {
    loss l = {.pass = {problem, from, "changes that are rounded away", .take = find_lost}};
    stencil_shape_offsets(problem->shape, l.offset);
    const stencil_status status = make_pass(&l.pass);
    *lost = l.lost;
    return status;
}

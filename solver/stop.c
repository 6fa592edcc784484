#include "solver/stop.h"

#include <math.h>
#include <stdlib.h>

static const double pi = 3.14159265358979323846;

/* Roundings that weights, products and sums put on a term of the defect at most, see add_cell(). */
static int rounding_count(const stencil_problem *problem) {
    return 2 * problem->rank + 12;
}

/* 1/h^2 of an axis over S, the weight of a neighbour at omega = 1; 0 along z in 2D. */
static void neighbour_weights(const stencil_problem *problem, double weight[3]) {
    double sum = 0.0;
    weight[STENCIL_Z] = 0.0;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++) {
        const double h = stencil_problem_spacing(problem, axis);
        weight[axis] = 1.0 / (h * h);
        sum += 2.0 * weight[axis];
    }
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        weight[axis] /= sum;
}

/* 2 - 2 cos theta of the k-th mode of an axis. */
static double axis_eigenvalue(const stencil_problem *problem, int axis, double k) {
    const double n = (double)problem->n[axis];
    const double half = problem->boundary[axis] == STENCIL_FIXED      ? pi * k / (2.0 * (n + 1.0))
                        : problem->boundary[axis] == STENCIL_PERIODIC ? pi * k / n
                                                                      : pi * k / (2.0 * n);
    return 4.0 * sin(half) * sin(half);
}

stencil_spectrum stencil_spectrum_of(const stencil_problem *problem) {
    stencil_spectrum s = {.up_to_constant = true};
    double weight[3], first = INFINITY;
    neighbour_weights(problem, weight);
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++) {
        const bool fixed = problem->boundary[axis] == STENCIL_FIXED;
        const int64_t n = problem->n[axis];
        const double last = fixed                                         ? (double)n
                            : problem->boundary[axis] == STENCIL_PERIODIC ? (double)(n / 2)
                                                                          : (double)(n - 1);
        const double least = weight[axis] * axis_eigenvalue(problem, axis, 1.0);
        s.most += weight[axis] * axis_eigenvalue(problem, axis, last);
        s.least += fixed ? least : 0.0;
        s.up_to_constant = s.up_to_constant && !fixed;
        first = least < first ? least : first;
    }
    if (s.up_to_constant)
        s.least = first;
    return s;
}

/* Part of r that a step adds to u; heat is a relaxation, too, with omega = alpha dt S. */
static double damping(const stencil_problem *problem) {
    double sum = 0.0;
    if (problem->spec.kind != STENCIL_KIND_HEAT)
        return problem->spec.omega;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++) {
        const double h = stencil_problem_spacing(problem, axis);
        sum += 2.0 / (h * h);
    }
    return problem->spec.diffusivity * problem->spec.dt * sum;
}

double stencil_contraction(const stencil_problem *problem) {
    const stencil_spectrum s = stencil_spectrum_of(problem);
    const double omega = damping(problem);
    return fmax(fabs(1.0 - omega * s.least), fabs(1.0 - omega * s.most));
}

double stencil_predicted_steps(const stencil_problem *problem) {
    if (!stencil_problem_relaxes(problem) || !(problem->stop.rtol > 0))
        return NAN;
    const double contraction = stencil_contraction(problem);
    return contraction < 1.0 ? 1.0 + ceil(log(problem->stop.rtol) / log(contraction)) : INFINITY;
}

static double load(const stencil_field *field, int64_t at) {
    return field->layout.precision == STENCIL_FLOAT64 ? ((const double *)field->data)[at]
                                                      : (double)((const float *)field->data)[at];
}

/* Value of a chunk of the source term: the terms of a residual with 0 as the old value. */
static double source_chunk(const stencil_problem *problem, int64_t chunk) {
    const stencil_layout *l = &problem->b.layout;
    const int64_t row = (problem->n[STENCIL_X] + STENCIL_CHUNK_CELLS - 1) / STENCIL_CHUNK_CELLS;
    const int64_t first = chunk % row * STENCIL_CHUNK_CELLS, line = chunk / row;
    const int64_t at =
        l->origin + line / problem->n[STENCIL_Y] * l->plane + line % problem->n[STENCIL_Y] * l->row + first;
    double term[STENCIL_CHUNK_CELLS] = {0};
    for (int64_t i = 0; i < STENCIL_CHUNK_CELLS && first + i < problem->n[STENCIL_X]; i++) {
        const double b = load(&problem->b, at + i);
        term[i] = problem->stop.norm == STENCIL_NORM_MAX ? fabs(b) : b * b;
    }
    return stencil_chunk_join(term, problem->stop.norm);
}

stencil_status stencil_source_norm(const stencil_problem *problem, double *norm) {
    const stencil_norm kind = problem->stop.norm;
    int64_t count = stencil_chunk_count(problem->n);
    void *memory = NULL;
    *norm = 0.0;
    if (problem->b.data == NULL)
        return STENCIL_OK;
    TRY(stencil_memory_alloc(&memory, 2 * count * (int64_t)sizeof(double), "the norm of the source term"));
    double *from = memory, *to = from + count;
#pragma omp parallel for schedule(static)
    for (int64_t chunk = 0; chunk < count; chunk++)
        from[chunk] = source_chunk(problem, chunk);
    while (count > 1) {
        const int64_t groups = stencil_fold_count(count);
#pragma omp parallel for schedule(static)
        for (int64_t g = 0; g < groups; g++)
            to[g] = stencil_fold_group(from, count, g, kind);
        double *const swap = from;
        from = to;
        to = swap;
        count = groups;
    }
    *norm = stencil_residual_finish(from[0], stencil_problem_updated_cells(problem), kind);
    free(memory);
    return STENCIL_OK;
}

/* Sums over cells, of values times `scale`. */
typedef struct sums {
    double r2, r, largest_r, b2, b, u2, u, terms2, largest_term;
} sums;

/* What a pass over the cells needs. */
typedef struct cells {
    const stencil_problem *problem;
    double weight[3], scale;
    int64_t stride[3];
} cells;

static void add_cell(const cells *c, int64_t at, sums *s) {
    const stencil_field *field = &c->problem->u;
    const double u = c->scale * load(field, at);
    const double b =
        c->problem->b.data != NULL ? c->scale * load(&c->problem->b, at) / c->problem->spec.omega : 0.0;
    double sum = 0.0, terms = fabs(b) + fabs(u);
    for (int axis = STENCIL_AXES - c->problem->rank; axis < STENCIL_AXES; axis++) {
        const double low = c->scale * load(field, at - c->stride[axis]),
                     high = c->scale * load(field, at + c->stride[axis]);
        sum += c->weight[axis] * (low + high);
        terms += c->weight[axis] * (fabs(low) + fabs(high));
    }
    const double r = sum + b - u;
    s->r2 += r * r;
    s->r += r;
    s->b2 += b * b;
    s->b += b;
    s->u2 += u * u;
    s->u += u;
    s->terms2 += terms * terms;
    s->largest_r = fabs(r) > s->largest_r ? fabs(r) : s->largest_r;
    s->largest_term = terms > s->largest_term ? terms : s->largest_term;
}

static void add_sums(sums *to, const sums *from) {
    to->r2 += from->r2;
    to->r += from->r;
    to->b2 += from->b2;
    to->b += from->b;
    to->u2 += from->u2;
    to->u += from->u;
    to->terms2 += from->terms2;
    to->largest_r = fmax(to->largest_r, from->largest_r);
    to->largest_term = fmax(to->largest_term, from->largest_term);
}

/* Row by row and then in shares of rows: the same sums whatever the number of threads. */
enum { SHARES = 4096 };

static void add_share(const cells *c, int64_t share, sums *s) {
    const int64_t *n = c->problem->n, rows = n[STENCIL_Z] * n[STENCIL_Y];
    const stencil_layout *l = &c->problem->u.layout;
    for (int64_t r = rows / SHARES * share + (share < rows % SHARES ? share : rows % SHARES),
                 end = rows / SHARES * (share + 1) + (share + 1 < rows % SHARES ? share + 1 : rows % SHARES);
         r < end; r++) {
        sums row = {0};
        const int64_t at = l->origin + r / n[STENCIL_Y] * l->plane + r % n[STENCIL_Y] * l->row;
        for (int64_t x = 0; x < n[STENCIL_X]; x++)
            add_cell(c, at + x, &row);
        add_sums(s, &row);
    }
}

static stencil_status sum_up(const cells *c, sums *all) {
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, SHARES * (int64_t)sizeof(sums), "the error bound"));
    sums *share = memory;
#pragma omp parallel for schedule(dynamic, 8)
    for (int64_t k = 0; k < SHARES; k++)
        add_share(c, k, &share[k]);
    *all = (sums){0};
    for (int64_t k = 0; k < SHARES; k++)
        add_sums(all, &share[k]);
    free(memory);
    return STENCIL_OK;
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
    /* The sums of squares themselves are rounded, too: in rows of at most 2^31 cells. */
    const double sums_rounding = 1.0 + 1e-6;
    *d = (stencil_defect){
        .rms = sums_rounding * (free_constant ? spread(s->r2, s->r, count) : sqrt(s->r2 / count)) / scale,
        .mean = s->r / count / scale,
        .source_mean = s->b / count / scale,
        .source_size = sqrt(s->b2 / count) / scale,
        .size = (free_constant ? spread(s->u2, s->u, count) : sqrt(s->u2 / count)) / scale,
        .rounding = sums_rounding / scale *
                    (rounding_count(problem) * 0x1p-53 * sqrt(s->terms2 / count) +
                     (half_unit + 0x1p-50) * sqrt(s->b2 / count)),
    };
    d->norm = problem->stop.norm == STENCIL_NORM_MAX ? s->largest_r / scale : sqrt(s->r2 / count) / scale;
}

stencil_status stencil_defect_of(stencil_problem *problem, stencil_defect *defect) {
    const stencil_layout *l = &problem->u.layout;
    cells c = {.problem = problem, .scale = 1.0, .stride = {l->plane, l->row, 1}};
    sums s;
    stencil_field_fill_rims(&problem->u, problem->boundary, problem->radius);
    neighbour_weights(problem, c.weight);
    TRY(sum_up(&c, &s));
    /* Squares of very large or very small fields leave the range of a double. */
    if (isfinite(s.largest_term) && s.largest_term > 0 &&
        (s.largest_term > 1e140 || s.largest_term < 1e-100)) {
        c.scale = ldexp(1.0, -ilogb(s.largest_term));
        TRY(sum_up(&c, &s));
    }
    finish_defect(problem, &s, c.scale, defect);
    return STENCIL_OK;
}

/* Whether there is no solution: a constant part of the source that is more than its rounding. */
static bool unsolvable(const stencil_problem *problem, const stencil_defect *d) {
    const double unit = problem->precision == STENCIL_FLOAT64 ? 1e-12 : 1e-6;
    return stencil_spectrum_of(problem).up_to_constant && fabs(d->source_mean) > unit * d->source_size;
}

stencil_error_bound stencil_error_bound_of(const stencil_problem *problem, const stencil_defect *defect) {
    const double absolute = (defect->rms + defect->rounding) / stencil_spectrum_of(problem).least;
    if (!isfinite(absolute) || unsolvable(problem, defect))
        return (stencil_error_bound){0};
    const double whole = defect->size + absolute;
    return (stencil_error_bound){
        .known = true, .absolute = absolute, .relative = whole > 0 ? absolute / whole : 0.0};
}

/* Whether w(k) = w(-k) for all points: their ascending order is its own mirror image. */
static bool is_symmetric(const stencil_problem *problem) {
    const int count = problem->shape->point_count;
    for (int k = 0; k < count; k++)
        if (problem->weight[k] != problem->weight[count - 1 - k])
            return false;
    return true;
}

int64_t stencil_stagnation_window(const stencil_problem *problem) {
    const int64_t every = problem->stop.check_every;
    double least = fmax(100.0 * (double)every, 10000.0);
    if (!is_symmetric(problem) ||
        (problem->stop.norm == STENCIL_NORM_MAX && problem->spec.kind == STENCIL_KIND_NONE))
        return INT64_MAX;
    if (problem->stop.norm == STENCIL_NORM_MAX) {
        const double cells = (double)stencil_problem_updated_cells(problem);
        least = fmax(least, (1.0 + log(cells)) / (damping(problem) * stencil_spectrum_of(problem).least));
    }
    if (!(least < (double)STENCIL_STEPS_DEFAULT_CRITERION * 1e5))
        return INT64_MAX;
    return ((int64_t)least + every - 1) / every * every;
}

bool stencil_stagnated(const double *residual, const int64_t *residual_step, int64_t count, int64_t window,
                       int64_t step) {
    double last = INFINITY, before = INFINITY;
    if (window > step / 2)
        return false;
    for (int64_t i = count - 1; i >= 0 && residual_step[i] > step - 2 * window; i--) {
        double *smallest = residual_step[i] > step - window ? &last : &before;
        *smallest = residual[i] < *smallest ? residual[i] : *smallest;
    }
    return isfinite(before) && last >= before * (1.0 - 0x1p-30);
}

/* How much the mode with alternating signs is left of itself by a step; 0 where the boundary has none. */
static double checkerboard_factor(const stencil_problem *problem) {
    int32_t offset[STENCIL_POINTS_MAX][3];
    double factor = 0.0;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        if (problem->boundary[axis] != STENCIL_PERIODIC || problem->n[axis] % 2 != 0)
            return 0.0;
    const int count = stencil_shape_offsets(problem->shape, offset);
    for (int k = 0; k < count; k++)
        factor +=
            (offset[k][0] + offset[k][1] + offset[k][2]) % 2 == 0 ? problem->weight[k] : -problem->weight[k];
    return fabs(factor);
}

stencil_stagnation stencil_stagnation_of(const stencil_problem *problem, const stencil_defect *defect,
                                         double residual, double residual_first) {
    const double unit = problem->precision == STENCIL_FLOAT64 ? 0x1p-53 : 0x1p-24;
    if (residual > 2.0 * residual_first || (defect != NULL && stencil_contraction(problem) > 1.0 + 1e-9))
        return STENCIL_STAGNATION_GROWTH;
    if (defect != NULL && unsolvable(problem, defect) &&
        problem->spec.omega * fabs(defect->source_mean) > 0.5 * residual)
        return STENCIL_STAGNATION_SOURCE;
    if (checkerboard_factor(problem) > 1.0 - 1e-6)
        return STENCIL_STAGNATION_CHECKERBOARD;
    return residual <= 100.0 * problem->shape->point_count * unit * stencil_field_largest(&problem->u)
               ? STENCIL_STAGNATION_ROUNDING
               : STENCIL_STAGNATION_MODE;
}

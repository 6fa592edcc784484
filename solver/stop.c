#include "solver/stop.h"

#include <math.h>
#include <stdlib.h>

#include "solver/cycle.h"

const char *const stencil_reason_names[STENCIL_REASON_COUNT] = {
    [STENCIL_REASON_NONE] = "none",
    [STENCIL_REASON_FIXED_POINT] = "fixed_point",
    [STENCIL_REASON_CONVERGED_RTOL] = "converged_rtol",
    [STENCIL_REASON_CONVERGED_ATOL] = "converged_atol",
    [STENCIL_REASON_DIVERGED] = "diverged",
    [STENCIL_REASON_INTERRUPTED] = "interrupted",
    [STENCIL_REASON_STAGNATED] = "stagnated",
    [STENCIL_REASON_STEPS] = "steps",
    [STENCIL_REASON_NOT_CONVERGED] = "not_converged",
};

static const double pi = 3.14159265358979323846;

/* 1/h^2 of an axis over S, the weight of a neighbour at omega = 1. */
static double neighbour_weight(const stencil_problem *problem, int axis) {
    const double h = stencil_spec_spacing(&problem->spec, axis);
    return 1.0 / (h * h) / stencil_spec_diagonal(&problem->spec);
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
    double first = INFINITY;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++) {
        const bool fixed = problem->boundary[axis] == STENCIL_FIXED;
        const int64_t n = problem->n[axis];
        const double last = fixed                                         ? (double)n
                            : problem->boundary[axis] == STENCIL_PERIODIC ? (double)(n / 2)
                                                                          : (double)(n - 1);
        const double weight = neighbour_weight(problem, axis),
                     least = weight * axis_eigenvalue(problem, axis, 1.0);
        s.most += weight * axis_eigenvalue(problem, axis, last);
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
    const stencil_spec *spec = &problem->spec;
    return spec->kind == STENCIL_KIND_HEAT ? spec->diffusivity * spec->dt * stencil_spec_diagonal(spec)
                                           : spec->omega;
}

double stencil_contraction(const stencil_problem *problem) {
    const stencil_spectrum s = stencil_spectrum_of(problem);
    const double omega = damping(problem);
    return fmax(fabs(1.0 - omega * s.least), fabs(1.0 - omega * s.most));
}

double stencil_predicted_steps(const stencil_problem *problem) {
    const double cycle = stencil_cycle_contraction(problem);
    if (!stencil_problem_relaxes(problem) || !(problem->stop.rtol > 0))
        return NAN;
    if (!isnan(cycle))
        return problem->cycle.length *
               fmax(ceil(log(problem->stop.rtol / stencil_cycle_excess(problem)) / log(cycle)), 1.0);
    const double contraction = stencil_contraction(problem);
    return contraction < 1.0 ? 1.0 + ceil(log(problem->stop.rtol) / log(contraction)) : INFINITY;
}

/* Sums over cells, of values times `scale`, and the largest of two of them. */
enum { R2, R, B2, B, U2, U, TERMS2, SUMS };
typedef struct sums {
    double sum[SUMS], largest_r, largest_term;
} sums;

/* What a pass over the cells needs. */
typedef struct cells {
    const stencil_problem *problem;
    const stencil_reader *from;
    double weight[3], scale;
    sums *share;        /* [SHARES] */
    stencil_box box;    /* the rows at hand: */
    stencil_cells u, b; /* from their first cell on; b.at may be NULL */
} cells;

static void add_cell(const cells *c, int64_t at, int64_t at_b, sums *s) {
    const int64_t stride[3] = {c->u.plane, c->u.row, 1};
    const double u = c->scale * stencil_cells_value(&c->u, at);
    const double b =
        c->b.at != NULL ? c->scale * stencil_cells_value(&c->b, at_b) / c->problem->spec.omega : 0.0;
    double sum = 0.0, terms = fabs(b) + fabs(u);
    for (int axis = STENCIL_AXES - c->problem->rank; axis < STENCIL_AXES; axis++) {
        const double low = c->scale * stencil_cells_value(&c->u, at - stride[axis]),
                     high = c->scale * stencil_cells_value(&c->u, at + stride[axis]);
        sum += c->weight[axis] * (low + high);
        terms += c->weight[axis] * (fabs(low) + fabs(high));
    }
    const double r = sum + b - u;
    const double value[SUMS] = {r * r, r, b * b, b, u * u, u, terms * terms};
    for (int k = 0; k < SUMS; k++)
        s->sum[k] += value[k];
    s->largest_r = fabs(r) > s->largest_r ? fabs(r) : s->largest_r;
    s->largest_term = terms > s->largest_term ? terms : s->largest_term;
}

static void add_sums(sums *to, const sums *from) {
    for (int k = 0; k < SUMS; k++)
        to->sum[k] += from->sum[k];
    to->largest_r = fmax(to->largest_r, from->largest_r);
    to->largest_term = fmax(to->largest_term, from->largest_term);
}

/* Row by row and then in shares of rows: the same sums whatever the number of threads, and of slabs. */
enum { SHARES = 4096 };

/* Those of a share's rows that are there; their shares have come as far as the row before. */
static void add_share(const cells *c, int64_t share, sums *s) {
    const stencil_box *box = &c->box;
    const int64_t ny = c->problem->n[STENCIL_Y], rows = c->problem->n[STENCIL_Z] * ny;
    const int64_t first = box->first[STENCIL_Z] * ny + box->first[STENCIL_Y],
                  last = first + box->n[STENCIL_Z] * box->n[STENCIL_Y];
    const int64_t start = stencil_share(rows, SHARES, share), end = stencil_share(rows, SHARES, share + 1);
    for (int64_t r = start > first ? start : first; r < stencil_smaller(end, last); r++) {
        sums row = {0};
        const int64_t z = r / ny - box->first[STENCIL_Z], y = r % ny - box->first[STENCIL_Y];
        for (int64_t x = 0; x < box->n[STENCIL_X]; x++)
            add_cell(c, z * c->u.plane + y * c->u.row + x, z * c->b.plane + y * c->b.row + x, &row);
        add_sums(s, &row);
    }
}

static stencil_status add_slab(void *context, const stencil_box *slab, const stencil_cells *u) {
    cells *c = context;
    const stencil_problem *problem = c->problem;
    void *memory = NULL;
    stencil_status status = STENCIL_OK;
    c->box = *slab;
    c->u = stencil_cells_from(u, slab->first);
    if (problem->spec.source != STENCIL_SOURCE_NONE) {
        TRY(stencil_memory_alloc(
            &memory, stencil_box_cells(slab) * (int64_t)stencil_precision_bytes(problem->precision),
            "the error bound"));
        c->b = stencil_cells_dense(problem->precision, memory, slab);
        status = c->from->read(c->from->context, STENCIL_ARRAY_B, slab, &c->b);
    }
#pragma omp parallel for schedule(dynamic, 8)
    for (int64_t k = 0; k < SHARES; k++)
        add_share(c, k, &c->share[k]);
    free(memory);
    return status;
}

static stencil_status sum_up(cells *c, sums *all) {
    const int64_t *n = c->problem->n, *radius = c->problem->radius;
    const stencil_mesh mesh = stencil_problem_mesh(c->problem, 1);
    const stencil_box whole = {.n = {n[0], n[1], n[2]}};
    const stencil_slabs slabs = {c->from, &mesh, STENCIL_ARRAY_U, {radius[0], radius[1], radius[2]}, 0};
    c->share = calloc(SHARES, sizeof *c->share);
    CHECK(c->share != NULL, NO_MEMORY, "no memory for the error bound");
    const stencil_status status = stencil_slabs_visit(&slabs, &whole, add_slab, c);
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
    /* The sums of squares themselves are rounded, too: in rows of at most 2^31 cells. */
    const double sums_rounding = 1.0 + 1e-6;
    /* Those that weights, products and sums put on a term at most, see add_cell(). */
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
    d->norm =
        problem->stop.norm == STENCIL_NORM_MAX ? s->largest_r / scale : sqrt(s->sum[R2] / count) / scale;
}

stencil_status stencil_defect_of(const stencil_problem *problem, const stencil_reader *from,
                                 stencil_defect *defect) {
    cells c = {.problem = problem, .from = from, .scale = 1.0};
    sums s;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        c.weight[axis] = neighbour_weight(problem, axis);
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

/* The same of accelerated problems: some cycles, in the norm max as many as sqrt(cells) of a residual, and
 * what it may be too large by, need to be gone. */
static int64_t cycle_window(const stencil_problem *problem) {
    enum { CYCLES = 4 };
    const double every = (double)problem->stop.check_every,
                 cells = (double)stencil_problem_updated_cells(problem);
    double least = CYCLES * every;
    if (problem->stop.norm == STENCIL_NORM_MAX)
        least = fmax(least, -problem->cycle.length * (1.0 + log(cells * stencil_cycle_excess(problem))) /
                                log(stencil_cycle_contraction(problem)));
    return least < 1e15 ? (int64_t)(every * ceil(least / every)) : INT64_MAX;
}

int64_t stencil_stagnation_window(const stencil_problem *problem) {
    const int64_t every = problem->stop.check_every;
    if (problem->cycle.length > 1)
        return cycle_window(problem);
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

bool stencil_stagnated(const stencil_history *history, int64_t window, int64_t step) {
    double last = INFINITY, before = INFINITY;
    if (window > step / 2)
        return false;
    for (int64_t i = history->count - 1; i >= 0 && history->step[i] > step - 2 * window; i--) {
        double *smallest = history->step[i] > step - window ? &last : &before;
        *smallest = history->residual[i] < *smallest ? history->residual[i] : *smallest;
    }
    return isfinite(before) && last >= before * (1.0 - 0x1p-30);
}

/* How much the mode with alternating signs is left of itself by a step; 0 where the boundary has none. */
static double checkerboard_factor(const stencil_problem *problem) {
    int32_t offset[STENCIL_POINTS_MAX][3];
    double factor = 0.0;
    if (problem->cycle.length > 1)
        return 0.0;
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
                                         double largest, double residual, double residual_first) {
    const double unit = problem->precision == STENCIL_FLOAT64 ? 0x1p-53 : 0x1p-24;
    const bool no_solution = defect != NULL && unsolvable(problem, defect) &&
                             problem->spec.omega * fabs(defect->source_mean) > 0.5 * residual;
    /* Large steps on the way of a cycle have large rounding errors, of which some are left. */
    if (problem->cycle.length > 1 && !no_solution && residual <= 1e5 * unit * largest)
        return STENCIL_STAGNATION_ROUNDING;
    if (residual > 2.0 * residual_first || (defect != NULL && stencil_contraction(problem) > 1.0 + 1e-9))
        return STENCIL_STAGNATION_GROWTH;
    if (no_solution)
        return STENCIL_STAGNATION_SOURCE;
    if (checkerboard_factor(problem) > 1.0 - 1e-6)
        return STENCIL_STAGNATION_CHECKERBOARD;
    return residual <= 100.0 * problem->shape->point_count * unit * largest ? STENCIL_STAGNATION_ROUNDING
                                                                            : STENCIL_STAGNATION_MODE;
}

/* Whether the criterion is relative to the norm of the source term. */
static bool wants_partials(const stencil_problem *problem) {
    return stencil_stop_has_criterion(&problem->stop) && problem->spec.kind == STENCIL_KIND_POISSON &&
           problem->spec.source != STENCIL_SOURCE_NONE;
}

int64_t stencil_intake_bytes(const stencil_problem *problem) {
    return wants_partials(problem) ? stencil_values_bytes(stencil_partial_count(problem->n)) : 0;
}

/* A partial sum, of the terms of a residual with 0 as the old value. */
static double source_partial(const stencil_cells *b, int64_t at, int64_t count, stencil_norm norm) {
    double term[STENCIL_PARTIAL_CELLS] = {0};
    for (int64_t i = 0; i < STENCIL_PARTIAL_CELLS && i < count; i++) {
        const double value = stencil_cells_value(b, at + i);
        term[i] = norm == STENCIL_NORM_MAX ? fabs(value) : value * value;
    }
    return stencil_partial_sum(term, norm);
}

static stencil_status take_partials(stencil_intake *intake, const stencil_box *box, const stencil_cells *b) {
    const stencil_problem *problem = intake->problem;
    const int64_t *n = box->n, *first = box->first;
    void *memory = intake->partial;
    if (memory == NULL)
        TRY(stencil_memory_alloc(&memory, stencil_intake_bytes(problem), "the norm of the source term"));
    intake->partial = memory;
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < n[STENCIL_Z] * n[STENCIL_Y]; r++) {
        const int64_t z = r / n[STENCIL_Y], y = r % n[STENCIL_Y];
        double *to = intake->partial + stencil_partial_at(problem->n, first[0] + z, first[1] + y, first[2]);
        for (int64_t x = 0; x < n[STENCIL_X]; x += STENCIL_PARTIAL_CELLS)
            *to++ = source_partial(b, z * b->plane + y * b->row + x, n[STENCIL_X] - x, problem->stop.norm);
    }
    return STENCIL_OK;
}

stencil_status stencil_intake_read(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    stencil_intake *intake = context;
    const stencil_problem *problem = intake->problem;
    const double start_s = stencil_clock_s();
    TRY(intake->from->read(intake->from->context, array, box, to));
    intake->read_s += stencil_clock_s() - start_s;
    /* Changes are some 1e-20 of the values before a run ends, and this norm squares them. */
    if (stencil_stop_has_criterion(&problem->stop) && problem->stop.norm == STENCIL_NORM_L2)
        intake->largest = fmax(intake->largest, stencil_cells_largest(to, box->n));
    return array == STENCIL_ARRAY_B && wants_partials(problem) ? take_partials(intake, box, to) : STENCIL_OK;
}

stencil_status stencil_intake_finish(const stencil_intake *intake, double *source_norm) {
    const stencil_problem *problem = intake->problem;
    const int64_t count = stencil_partial_count(problem->n);
    const stencil_norm norm = problem->stop.norm;
    const double largest = intake->largest;
    CHECK(
        largest == 0 || !isfinite(largest) || (largest > 1e-130 && largest < 1e150), BAD_DATA,
        "the largest value is %g: the norm l2 squares changes, which would leave the range of numbers; give "
        "--norm max, or scale the field",
        largest);
    *source_norm = 0;
    if (intake->partial != NULL)
        *source_norm = stencil_residual_finish(
            stencil_combine_all(intake->partial, count, intake->partial + count, norm),
            stencil_problem_updated_cells(problem), norm);
    return STENCIL_OK;
}

#include "solver/problem/stop.h"

#include <math.h>
#include <stdlib.h>

#include "solver/problem/cycle.h"
#include "solver/problem/factors.h"
#include "solver/problem/spectrum.h"

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
    [STENCIL_REASON_CONVERGED_PRECISION] = "converged_precision",
};

/* Factor of r that a step adds to u; heat counts as a relaxation with omega = alpha dt S. */
static double damping(const stencil_problem *problem) {
    const stencil_spec *spec = &problem->spec;
    double sum = 0.0;
    if (spec->kind != STENCIL_KIND_HEAT)
        return spec->omega;
    if (spec->has_k)
        return spec->k.diagonal * spec->dt;
    if (spec->diffusivity_count <= 1)
        return stencil_spec_diffusivity(spec, STENCIL_X) * spec->dt * stencil_spec_diagonal(spec);
    for (int axis = STENCIL_AXES - spec->rank; axis < STENCIL_AXES; axis++) {
        const double h = stencil_spec_spacing(spec, axis);
        sum += 2.0 * stencil_spec_diffusivity(spec, axis) / (h * h);
    }
    return sum * spec->dt;
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
    if (!(stencil_spectrum_of(problem).least > 0))
        return NAN;
    return contraction < 1.0 ? 1.0 + ceil(log(problem->stop.rtol) / log(contraction)) : INFINITY;
}

static bool relaxes_beside_k(const stencil_problem *problem) {
    return problem->coefficients != STENCIL_COEFFICIENTS_NONE && stencil_problem_relaxes(problem);
}

/* Tells whether the matrix of a step is symmetric: whether w(k) = w(-k) for all points k, whose ascending
 * order is its own mirror image, and no cell has a row that breaks the symmetry, as rows of /class and walls
 * through cells do. Beside /k that of a relaxation is symmetric where each cell counts by the sum of its
 * faces, which says something of norms where eigenvalues are known: fading_steps(). */
static bool is_symmetric(const stencil_problem *problem) {
    const int count = problem->shape->point_count;
    bool nodes = false;
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        nodes = nodes || stencil_wall_is_node(problem->wall[i / 2][i % 2]);
    if (problem->varied > 0 && (problem->spec.classed || nodes))
        return false;
    if (relaxes_beside_k(problem))
        return stencil_problem_is_separable(problem);
    for (int k = 0; k < count; k++)
        if (problem->weight[k] != problem->weight[count - 1 - k])
            return false;
    return true;
}

/* Returns the number of steps as a multiple of check_every; INT64_MAX: more than any run makes. */
static int64_t whole_checks(const stencil_problem *problem, double steps) {
    const int64_t every = problem->stop.check_every;
    if (!(steps < (double)STENCIL_STEPS_DEFAULT_CRITERION * 1e5))
        return INT64_MAX;
    return ((int64_t)steps + every - 1) / every * every;
}

/* Stagnation window of accelerated problems: some cycles; in the norm max as many as take sqrt(cells) and
 * excess off a residual. */
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

/* Steps after which norms of all that fades are under 1/e of what they were, by the contraction of a step in
 * the norm in which its matrix is symmetric, and by how far norms may be apart: the maximum norm by
 * sqrt(cells); with /k the root of the largest ratio of sums of faces, which is at most that of k. The
 * eigenvalues of -div k grad over these sums are as far from 0 and from 2 as least k / most k times the
 * distance of the box's. A mode that keeps its size, at 0 or at 2, does not fade. */
static double fading_steps(const stencil_problem *problem) {
    const bool beside_k = relaxes_beside_k(problem);
    const stencil_spectrum s = beside_k ? stencil_spectrum_of_plain(problem) : stencil_spectrum_of(problem);
    const double ratio = beside_k ? problem->spec.k.least / problem->spec.k.most : 1.0,
                 apart = (problem->stop.norm == STENCIL_NORM_MAX
                              ? log((double)stencil_problem_updated_cells(problem))
                              : 0.0) -
                         0.5 * log(ratio);
    const double low = damping(problem) * ratio * s.least,
                 high = 2.0 - damping(problem) * (2.0 - ratio * (2.0 - s.most));
    return (1.0 + apart) / (high > 1e-13 ? fmin(low, high) : low);
}

int64_t stencil_stagnation_window(const stencil_problem *problem) {
    const int64_t every = problem->stop.check_every;
    if (problem->cycle.length > 1)
        return cycle_window(problem);
    double least = fmax(100.0 * (double)every, 10000.0);
    if (!is_symmetric(problem) ||
        (problem->stop.norm == STENCIL_NORM_MAX && problem->spec.kind == STENCIL_KIND_NONE))
        return INT64_MAX;
    if (problem->stop.norm == STENCIL_NORM_MAX || relaxes_beside_k(problem))
        least = fmax(least, fading_steps(problem));
    return whole_checks(problem, least);
}

int64_t stencil_constant_window(const stencil_problem *problem) {
    const bool largest = problem->stop.norm == STENCIL_NORM_MAX;
    const int64_t every = problem->stop.check_every;
    double least = fmax(STENCIL_CONSTANT_CHECKS * (double)every, 100000.0), cells = 0.0, squares = 0.0;
    if (problem->cycle.length > 1 || stencil_problem_in_time(problem) ||
        (largest && problem->spec.kind == STENCIL_KIND_NONE))
        return INT64_MAX;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        cells += (double)problem->n[axis];
        squares += (double)problem->n[axis] * (double)problem->n[axis];
    }
    return whole_checks(problem, fmax(least, largest ? squares / damping(problem) : 10.0 * cells));
}

bool stencil_is_constant(const stencil_history *history, int64_t window, int64_t step) {
    const int64_t end = history->count;
    int64_t first = end;
    if (window > step)
        return false;
    while (first > 0 && history->step[first - 1] > step - window)
        first--;
    const double *seen = history->residual + first;
    const int64_t count = end - first;
    for (int64_t period = 1; period <= count / 10 && count >= STENCIL_CONSTANT_CHECKS; period++) {
        int64_t same = period;
        while (same < count && seen[same] == seen[same - period])
            same++;
        if (same == count)
            return true;
    }
    return false;
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

/* Tells whether rounding has a part in the last residual: exact l2 norms fall by the contraction of the
 * cycles since the residual before, and by that of all cycles since the first one, but for the excess. */
static bool shows_rounding(const stencil_problem *problem, const stencil_history *history, double first) {
    const int64_t i = history->count - 1;
    const double before = i > 0 ? history->residual[i - 1] : stencil_cycle_excess(problem) * first,
                 cycles =
                     (double)(history->step[i] - (i > 0 ? history->step[i - 1] : 0)) / problem->cycle.length,
                 left = pow(stencil_cycle_contraction(problem), cycles);
    /* A residual above the geometric mean of the one before and its exact successor is mostly rounding. */
    return left <= 0.5 && history->residual[i] > (i > 0 ? sqrt(left) : left) * before;
}

/* The fraction of the first residual that is asked for or resolved, whichever is larger. */
static double part_asked(const stencil_problem *problem, double first, double threshold) {
    return fmax(threshold / first, problem->precision == STENCIL_FLOAT64 ? 0x1p-53 : 0x1p-24);
}

/* Tells whether the completed cycles would meet the criterion in exact arithmetic. */
static bool cycles_suffice(const stencil_problem *problem, double cycles, double first, double threshold) {
    return pow(stencil_cycle_contraction(problem), cycles) <= part_asked(problem, first, threshold);
}

int64_t stencil_turn_first(const stencil_problem *problem, double first, double threshold) {
    const double left = stencil_cycle_contraction(problem), most = 0x1p40;
    if (isnan(left) || problem->stop.norm != STENCIL_NORM_L2 ||
        problem->coefficients != STENCIL_COEFFICIENTS_NONE || !(first > 0) || !(left < 1))
        return INT64_MAX;
    double cycles = fmax(floor(log(part_asked(problem, first, threshold)) / log(left)) - 2, 0);
    if (!(cycles < most))
        return INT64_MAX;
    while (!cycles_suffice(problem, cycles, first, threshold))
        cycles++;
    return (int64_t)cycles * problem->cycle.length;
}

bool stencil_turns_plain(const stencil_problem *problem, const stencil_history *history, double first,
                         double threshold) {
    const int64_t i = history->count - 1;
    /* With /k norms fall by the contraction only where cells are weighed by the sums of their faces. */
    if (i < 0 || isnan(stencil_cycle_contraction(problem)) ||
        stencil_cycle_end(problem, history->step[i]) != history->step[i])
        return false;
    const int64_t step = history->step[i], window = stencil_stagnation_window(problem);
    const bool enough = problem->stop.norm == STENCIL_NORM_L2 &&
                        problem->coefficients == STENCIL_COEFFICIENTS_NONE &&
                        cycles_suffice(problem, (double)step / problem->cycle.length, first, threshold);
    return (enough && shows_rounding(problem, history, first)) ||
           (step % window == 0 && stencil_stagnated(history, window, step));
}

/* Tells whether a field of alternating signs goes on so beyond both sides of an axis: periodic with an even
 * number of cells, or mirrored in walls through cells of the star of an equation. */
static bool alternates_along(const stencil_problem *problem, int axis) {
    const stencil_wall_kind *wall = problem->wall[axis];
    if (problem->boundary[axis] == STENCIL_PERIODIC)
        return problem->n[axis] % 2 == 0;
    return problem->spec.kind != STENCIL_KIND_NONE && stencil_wall_is_node(wall[0]) &&
           stencil_wall_is_node(wall[1]) && !stencil_wall_exchanges(wall[0]) &&
           !stencil_wall_exchanges(wall[1]);
}

/* Factor of the mode with alternating signs in a step; 0 where the boundary, or a cell, excludes that mode.
 */
static double checkerboard_factor(const stencil_problem *problem) {
    int32_t offset[STENCIL_POINTS_MAX][3];
    double factor = 0.0;
    const bool rows = problem->coefficients != STENCIL_COEFFICIENTS_NONE;
    if (problem->cycle.length > 1 || problem->kept > 0 || problem->spec.insulated || problem->spec.classed ||
        (rows && !stencil_problem_relaxes(problem)))
        return 0.0;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        if (!alternates_along(problem, axis))
            return 0.0;
    if (rows) /* neighbours have omega in all, however they share it */
        return fabs(1.0 - 2.0 * problem->spec.omega);
    const int count = stencil_shape_offsets(problem->shape, offset);
    for (int k = 0; k < count; k++)
        factor +=
            (offset[k][0] + offset[k][1] + offset[k][2]) % 2 == 0 ? problem->weight[k] : -problem->weight[k];
    return fabs(factor);
}

bool stencil_keeps_checkerboard(const stencil_problem *problem) {
    return checkerboard_factor(problem) > 1.0 - 1e-6;
}

stencil_stagnation stencil_stagnation_of(const stencil_problem *problem, const stencil_defect *defect,
                                         double largest, double residual, double residual_first) {
    const double unit = problem->precision == STENCIL_FLOAT64 ? 0x1p-53 : 0x1p-24;
    const bool no_solution = defect != NULL && stencil_defect_unsolvable(problem, defect) &&
                             problem->spec.omega * fabs(defect->source_mean) > 0.5 * residual;
    /* Large steps on the way of a cycle have large rounding errors, of which some are left. */
    if (problem->cycle.length > 1 && !no_solution && residual <= 1e5 * unit * largest)
        return STENCIL_STAGNATION_ROUNDING;
    if (residual > 2.0 * residual_first || (defect != NULL && stencil_contraction(problem) > 1.0 + 1e-9))
        return STENCIL_STAGNATION_GROWTH;
    if (no_solution)
        return STENCIL_STAGNATION_SOURCE;
    if (stencil_keeps_checkerboard(problem))
        return STENCIL_STAGNATION_CHECKERBOARD;
    return residual <= 100.0 * problem->shape->point_count * unit * largest ? STENCIL_STAGNATION_ROUNDING
                                                                            : STENCIL_STAGNATION_MODE;
}

/* Tells whether the criterion is relative to the norm of the source term. */
static bool wants_partials(const stencil_problem *problem) {
    return stencil_stop_has_criterion(&problem->stop) && problem->spec.kind == STENCIL_KIND_POISSON &&
           stencil_problem_has_source(problem);
}

int64_t stencil_intake_bytes(const stencil_problem *problem) {
    return wants_partials(problem) ? stencil_values_bytes(stencil_partial_count(problem->n)) : 0;
}

/* A partial sum of the source term, computed like one of a residual whose old values are 0. */
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
    if (memory == NULL && intake->sums == NULL)
        TRY(stencil_memory_alloc(&memory, stencil_intake_bytes(problem), "the norm of the source term"));
    intake->partial = memory;
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < n[STENCIL_Z] * n[STENCIL_Y]; r++) {
        const int64_t z = r / n[STENCIL_Y], y = r % n[STENCIL_Y];
        const int64_t at[] = {first[STENCIL_Z] + z, first[STENCIL_Y] + y, first[STENCIL_X]};
        double *to = intake->sums != NULL
                         ? stencil_reduction_at(intake->sums, at[0], at[1], at[2])
                         : intake->partial + stencil_partial_at(problem->n, at[0], at[1], at[2]);
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
    if (problem->precision == STENCIL_FLOAT64 && problem->stop.norm == STENCIL_NORM_L2 &&
        stencil_array_has_values(array))
        intake->largest = fmax(intake->largest, stencil_cells_largest(to, box->n));
    return array == STENCIL_ARRAY_B && wants_partials(problem) ? take_partials(intake, box, to) : STENCIL_OK;
}

int stencil_norm_exponent(const stencil_problem *problem, double largest) {
    const bool fits = largest == 0 || !isfinite(largest) || (largest > 1e-130 && largest < 1e150);
    const bool sums = stencil_problem_sum_arrays(problem) > 1 || problem->spec.driven_count > 0;
    if (fits || problem->stop.norm != STENCIL_NORM_L2 || problem->has_constants || sums)
        return 0; /* steps that add constants are not linear in the cells */
    if (largest > 1)
        return -512; /* squares of scaled values overflow only where values do */
    return -ilogb(largest) < 1000 ? -ilogb(largest) : 1000; /* 2^1000 is finite */
}

double stencil_intake_finish(const stencil_intake *intake) {
    const stencil_problem *problem = intake->problem;
    const int64_t count = stencil_partial_count(problem->n);
    const stencil_norm norm = problem->stop.norm;
    if (intake->sums != NULL)
        return stencil_residual_finish(stencil_reduction_all(intake->sums, norm, NULL),
                                       stencil_problem_updated_cells(problem), norm);
    if (intake->partial == NULL)
        return 0;
    return stencil_residual_finish(stencil_combine_all(intake->partial, count, intake->partial + count, norm),
                                   stencil_problem_updated_cells(problem), norm);
}

#include "solver/problem/bounds.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/sweep.h"
#include "solver/problem/classes.h"
#include "solver/problem/cycle.h"
#include "solver/problem/spectrum.h"
#include "solver/problem/stop.h"

bool stencil_bounds_are_estimated(const stencil_problem *problem) {
    bool fixed = false;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        fixed =
            fixed || problem->boundary[axis] == STENCIL_FIXED || stencil_problem_is_half_fixed(problem, axis);
    return stencil_problem_relaxes(problem) && problem->coefficients == STENCIL_COEFFICIENTS_NONE &&
           (!stencil_problem_is_separable(problem) || (problem->kept > 0 && !fixed));
}

bool stencil_bounds_are_needed(const stencil_problem *problem) {
    return stencil_bounds_are_estimated(problem) &&
           (stencil_stop_has_criterion(&problem->stop) || stencil_cycle_accelerates(&problem->cycle));
}

/* The matrix, and vectors [n_z + 2][n_y + 2][n_x + 2] with a ghost cell on each side, 0 in kept cells. */
typedef struct matrix {
    const stencil_problem *problem;
    uint16_t *of;        /* stencil_classes_rows() of all updated cells */
    double *part[3];     /* what a cell counts along each axis: 1/2 in walls through cells */
    double *row;         /* [rows of cells]: sums over a row */
    int64_t stride[2];   /* of a plane, and of a row of cells */
    int64_t n[3], cells; /* cells of a vector, ghost cells included */
} matrix;

static double *first_of(const matrix *m, double *v, int64_t z, int64_t y) {
    return v + (z + 1) * m->stride[0] + (y + 1) * m->stride[1] + 1;
}

/* Fills the ghost cells of a vector along an axis: mirrored ones are beside half-cell mirrors, others are
 * read by no row. */
static void fill_ghosts(const matrix *m, double *v, int axis) {
    const stencil_boundary boundary = m->problem->boundary[axis];
    const int64_t step[3] = {m->stride[0], m->stride[1], 1}, last = m->n[axis] - 1;
    const int a = axis == 0 ? 1 : 0, b = axis == 2 ? 1 : 2;
    if (axis < STENCIL_AXES - m->problem->rank)
        return;
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < m->n[a]; i++)
        for (int64_t k = 0; k < m->n[b]; k++) {
            double *at = first_of(m, v, 0, 0) + i * step[a] + k * step[b];
            const double low = at[0], high = at[last * step[axis]];
            at[-step[axis]] = boundary == STENCIL_PERIODIC ? high : boundary == STENCIL_MIRROR ? low : 0.0;
            at[(last + 1) * step[axis]] = boundary == STENCIL_PERIODIC ? low
                                          : boundary == STENCIL_MIRROR ? high
                                                                       : 0.0;
        }
}

/* A cell of J v: its row, from which constants are left out. */
static double row_of(const matrix *m, const double *at, const double *weight) {
    const int64_t step[3] = {m->stride[0], m->stride[1], 1};
    double sum = 0.0;
    for (int k = 0, axis = STENCIL_AXES - m->problem->rank; axis < STENCIL_AXES; axis++, k++)
        sum += weight[k] * at[-step[axis]];
    const int rank = m->problem->rank;
    sum += weight[rank] * at[0];
    for (int k = rank + 1, axis = STENCIL_AXES - 1; axis >= STENCIL_AXES - rank; axis--, k++)
        sum += weight[k] * at[step[axis]];
    return sum;
}

/* What the cells of a row count along z and y. */
static double part_of(const matrix *m, int64_t r) {
    return m->part[0][r / m->n[1]] * m->part[1][r % m->n[1]];
}

/* Sums up m->row in the order of the rows, the same for any number of threads. */
static double sum_rows(const matrix *m) {
    double sum = 0.0;
    for (int64_t r = 0; r < m->n[0] * m->n[1]; r++)
        sum += m->row[r];
    return sum;
}

/* Sets w = (I - J) v / omega - beta w, with J in steps of the problem's omega; returns the product of w and
 * v. */
static double apply(const matrix *m, double *v, double *w, double beta) {
    const stencil_problem *p = m->problem;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        fill_ghosts(m, v, axis);
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < m->n[0] * m->n[1]; r++) {
        const int64_t nx = m->n[2];
        const double *from = first_of(m, v, r / m->n[1], r % m->n[1]);
        double *to = first_of(m, w, r / m->n[1], r % m->n[1]), sum = 0.0;
        const uint16_t *of = m->of + r * nx;
        for (int64_t x = 0; x < nx; x++) {
            if (of[x] >= STENCIL_ROW_DRIVEN)
                continue;
            const double *weight = of[x] == 0 ? p->weight : stencil_problem_row(p, of[x]);
            to[x] = (from[x] - row_of(m, from + x, weight)) / p->spec.omega - beta * to[x];
            sum += m->part[2][x] * (to[x] * from[x]);
        }
        m->row[r] = part_of(m, r) * sum;
    }
    return sum_rows(m);
}

/* Subtracts alpha v from w; returns the norm of what is left. */
static double subtract(const matrix *m, double *w, double *v, double alpha) {
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < m->n[0] * m->n[1]; r++) {
        const double *from = first_of(m, v, r / m->n[1], r % m->n[1]);
        double *to = first_of(m, w, r / m->n[1], r % m->n[1]), sum = 0.0;
        for (int64_t x = 0; x < m->n[2]; x++) {
            to[x] -= alpha * from[x];
            sum += m->part[2][x] * (to[x] * to[x]);
        }
        m->row[r] = part_of(m, r) * sum;
    }
    return sqrt(sum_rows(m));
}

static void scale(const matrix *m, double *v, double factor) {
#pragma omp parallel for schedule(static)
    for (int64_t i = 0; i < m->cells; i++)
        v[i] *= factor;
}

/* Numbers from 1/2 to 3/2 in updated cells: SplitMix64 of the number of a cell. */
static void begin_vector(const matrix *m, double *v) {
    for (int64_t i = 0; i < m->n[0] * m->n[1] * m->n[2]; i++) {
        const int64_t line = i / m->n[2];
        uint64_t z = ((uint64_t)i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
        z ^= z >> 31;
        if (m->of[i] < STENCIL_ROW_DRIVEN)
            first_of(m, v, line / m->n[1], line % m->n[1])[i % m->n[2]] = 0.5 + (double)(z >> 11) * 0x1p-53;
    }
}

/* The tridiagonal matrix of Lanczos' method: [count] on the diagonal, [count - 1] beside it. */
typedef struct tridiagonal {
    double *alpha, *beta, *pivot, *vector;
    int count;
} tridiagonal;

/* Factorises T - shift: returns how many of its eigenvalues are below the shift (Sturm). */
static int factorise(const tridiagonal *t, double shift) {
    int below = 0;
    for (int i = 0; i < t->count; i++) {
        const double beside = i > 0 ? t->beta[i - 1] * t->beta[i - 1] / t->pivot[i - 1] : 0.0;
        t->pivot[i] = t->alpha[i] - shift - beside;
        if (t->pivot[i] == 0.0)
            t->pivot[i] = 1e-300;
        below += t->pivot[i] < 0;
    }
    return below;
}

/* Returns the least eigenvalue from below, by bisection, and in *last the last component of its vector, of
 * length 1, by inverse iteration, whose pivots are positive there. */
static double least_of(const tridiagonal *t, double most, double *last) {
    double low = 0.0, high = most;
    while (high - low > 1e-6 * high && high > 1e-15) {
        const double middle = 0.5 * (low + high);
        *(factorise(t, middle) > 0 ? &high : &low) = middle;
    }
    double *x = t->vector;
    for (int i = 0; i < t->count; i++)
        x[i] = 1.0;
    for (int turn = 0; turn < 3; turn++) {
        double squares = 0.0;
        factorise(t, low * (1.0 - 1e-6));
        for (int i = 1; i < t->count; i++)
            x[i] -= t->beta[i - 1] / t->pivot[i - 1] * x[i - 1];
        for (int i = t->count - 1; i >= 0; i--) {
            x[i] /= t->pivot[i];
            if (i < t->count - 1)
                x[i] -= t->beta[i] / t->pivot[i] * x[i + 1];
            squares += x[i] * x[i];
        }
        for (int i = 0; i < t->count; i++)
            x[i] /= sqrt(squares);
    }
    *last = fabs(x[t->count - 1]);
    return low;
}

/* The largest absolute sum of a row of I - J bounds all eigenvalues (Gershgorin). */
static double most_of(const stencil_problem *p) {
    const int points = p->shape->point_count;
    double most = 0.0;
    for (int c = 0; c <= p->palette_count; c++) {
        const double *row = c == 0 ? p->weight : stencil_problem_row(p, c);
        double sum = 0.0;
        for (int k = 0; k < points; k++)
            sum += fabs((k == points / 2 ? 1.0 : 0.0) - row[k]);
        most = fmax(most, sum / p->spec.omega);
    }
    return most * (1.0 + 1e-12);
}

/* Estimates the largest eigenvalue in the same way: the least one of bound - T, whose own are not larger than
 * those of the matrix. */
static void find_most(const tridiagonal *t, double bound, double beta, stencil_estimate *estimate) {
    double last;
    for (int i = 0; i < t->count; i++)
        t->alpha[i] = bound - t->alpha[i];
    const double below = least_of(t, bound, &last);
    estimate->seen = bound - below;
    estimate->most = bound - fmax(0.9 * (below - beta * last), 0.0);
}

enum { STEPS_MOST = 20000, LOOKS_FROM = 16 };

/* Makes steps of Lanczos' method until the least eigenvalue is known well enough, `most_steps` at most. */
static void iterate(const matrix *m, double *v, double *w, const tridiagonal *of, int most_steps,
                    stencil_estimate *estimate) {
    tridiagonal t = *of;
    const double most = most_of(m->problem);
    double norm = subtract(m, v, w, 0.0), beta = 0.0;
    int next = LOOKS_FROM;
    for (; t.count < most_steps && norm > 0;) {
        scale(m, v, 1.0 / norm);
        t.alpha[t.count] = apply(m, v, w, beta);
        beta = norm = subtract(m, w, v, t.alpha[t.count]);
        t.beta[t.count++] = beta;
        double *other = v;
        v = w;
        w = other;
        estimate->steps = t.count;
        const bool ends = beta <= 1e-14 * most;
        if (t.count < next && !ends && t.count < most_steps)
            continue;
        next = t.count + t.count / 8;
        double last;
        const double theta = least_of(&t, most, &last), error = ends ? 0.0 : beta * last;
        if (!(theta > 1e-13))
            return; /* singular, or as good as that */
        if (error <= 0.05 * theta) {
            estimate->least = 0.9 * (theta - error);
            estimate->bound = most;
            find_most(&t, most, ends ? 0.0 : beta, estimate);
            estimate->known = true;
            return;
        }
        if (ends)
            return;
    }
}

static stencil_status read_classes(const matrix *m, const stencil_reader *from) {
    const stencil_box all = {.n = {m->n[0], m->n[1], m->n[2]}};
    if (stencil_problem_has_classes(m->problem))
        return stencil_classes_rows(m->problem, from, &all, m->of);
    memset(m->of, 0, (size_t)stencil_box_cells(&all) * sizeof *m->of);
    return STENCIL_OK;
}

static void fill_parts(const matrix *m) {
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        for (int64_t i = 0; i < m->n[axis]; i++)
            m->part[axis][i] = 1.0;
        if (stencil_wall_is_node(m->problem->wall[axis][0]))
            m->part[axis][0] *= 0.5;
        if (stencil_wall_is_node(m->problem->wall[axis][1]))
            m->part[axis][m->n[axis] - 1] *= 0.5;
    }
}

stencil_status stencil_bounds_estimate(stencil_problem *problem, const stencil_reader *from,
                                       double most_updates) {
    matrix m = {.problem = problem};
    tridiagonal t = {.count = 0};
    const double start_s = stencil_clock_s(), cells = (double)stencil_problem_cells(problem);
    const int most_steps = (int)fmin(most_updates / cells, STEPS_MOST);
    stencil_estimate *estimate = &problem->estimate;
    *estimate = (stencil_estimate){.stretch = 1.0};
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        if (stencil_wall_is_node(problem->wall[axis][0]) || stencil_wall_is_node(problem->wall[axis][1]))
            estimate->stretch *= sqrt(2.0);
    if (!stencil_bounds_are_estimated(problem) || most_steps < LOOKS_FROM)
        return STENCIL_OK;
    m.cells = 1;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        m.n[axis] = problem->n[axis];
        m.cells *= m.n[axis] + 2;
    }
    m.stride[1] = m.n[2] + 2;
    m.stride[0] = (m.n[1] + 2) * m.stride[1];
    double *v = calloc((size_t)m.cells, sizeof *v), *w = calloc((size_t)m.cells, sizeof *w);
    double *lists =
        calloc((size_t)(m.n[0] + m.n[1] + m.n[2] + m.n[0] * m.n[1] + 4 * STEPS_MOST), sizeof *lists);
    m.of = malloc((size_t)(m.n[0] * m.n[1] * m.n[2]) * sizeof *m.of);
    stencil_status status = STENCIL_OK;
    if (v != NULL && w != NULL && lists != NULL && m.of != NULL) {
        double *at = lists;
        for (int axis = 0; axis < STENCIL_AXES; at += m.n[axis++])
            m.part[axis] = at;
        m.row = at;
        t.alpha = m.row + m.n[0] * m.n[1];
        t.beta = t.alpha + STEPS_MOST;
        t.pivot = t.beta + STEPS_MOST;
        t.vector = t.pivot + STEPS_MOST;
        fill_parts(&m);
        status = read_classes(&m, from);
        begin_vector(&m, v);
        if (status == STENCIL_OK)
            iterate(&m, v, w, &t, most_steps, estimate);
    }
    free(v);
    free(w);
    free(lists);
    free(m.of);
    estimate->seconds = stencil_clock_s() - start_s;
    return status;
}

bool stencil_estimate_is_refuted(const stencil_problem *problem, const stencil_history *history,
                                 double resolution) {
    const double cycle = stencil_cycle_contraction(problem),
                 step = isnan(cycle) ? stencil_contraction(problem) : pow(cycle, 1.0 / problem->cycle.length),
                 floor = (isnan(cycle) ? 100.0 : 1e4) * resolution;
    if (!problem->estimate.known || problem->estimate.stretch > 1 || problem->stop.norm != STENCIL_NORM_L2)
        return false;
    for (int64_t i = 1; i < history->count; i++) {
        const int64_t steps = history->step[i] - history->step[i - 1];
        if (history->residual[i] > floor && steps > 0 &&
            stencil_cycle_end(problem, history->step[i]) == history->step[i] &&
            history->residual[i] > (1.0 + 1e-6) * pow(step, (double)steps) * history->residual[i - 1])
            return true;
    }
    return false;
}

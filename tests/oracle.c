#include "oracle.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool comes_before(const int32_t a[3], const int32_t b[3]) {
    if (a[0] != b[0])
        return a[0] < b[0];
    if (a[1] != b[1])
        return a[1] < b[1];
    return a[2] < b[2];
}

void oracle_points_sort(oracle_problem *problem) {
    for (int i = 0; i < problem->point_count; i++)
        for (int j = i + 1; j < problem->point_count; j++) {
            if (!comes_before(problem->offset[j], problem->offset[i]))
                continue;
            int32_t offset[3];
            memcpy(offset, problem->offset[i], sizeof offset);
            memcpy(problem->offset[i], problem->offset[j], sizeof offset);
            memcpy(problem->offset[j], offset, sizeof offset);
            const double weight = problem->weight[i];
            problem->weight[i] = problem->weight[j];
            problem->weight[j] = weight;
        }
}

static void add_point(oracle_problem *problem, int axis, int distance, double weight) {
    const int k = problem->point_count++;
    memset(problem->offset[k], 0, sizeof problem->offset[k]);
    problem->offset[k][axis] = distance;
    problem->weight[k] = weight;
}

/* -div grad u = f by central differences: sum over axes of (2u - u_before - u_after) / h^2 = f, solved for
 * the centre and damped. */
void oracle_laplace(oracle_problem *problem, int rank, const double *h, double omega, double *source_factor) {
    double diagonal = 0.0;
    for (int a = 0; a < rank; a++)
        diagonal += 2.0 / (h[a] * h[a]);
    problem->point_count = 0;
    add_point(problem, 2, 0, 1.0 - omega);
    for (int a = 0; a < rank; a++) {
        add_point(problem, 3 - rank + a, -1, omega / (h[a] * h[a]) / diagonal);
        add_point(problem, 3 - rank + a, +1, omega / (h[a] * h[a]) / diagonal);
    }
    oracle_points_sort(problem);
    *source_factor = omega / diagonal;
}

/* u + a dt sum over axes of (u_before - 2u + u_after) / h^2. */
void oracle_heat(oracle_problem *problem, int rank, const double *h, double diffusivity, double dt) {
    double all = 0.0;
    problem->point_count = 0;
    for (int a = 0; a < rank; a++) {
        const double share = diffusivity * dt / (h[a] * h[a]);
        add_point(problem, 3 - rank + a, -1, share);
        add_point(problem, 3 - rank + a, +1, share);
        all += share;
    }
    add_point(problem, 2, 0, 1.0 - 2.0 * all);
    oracle_points_sort(problem);
}

int64_t oracle_reach(const oracle_problem *problem, int axis) {
    int64_t reach = 0;
    for (int k = 0; k < problem->point_count; k++)
        if (labs((long)problem->offset[k][axis]) > reach)
            reach = labs((long)problem->offset[k][axis]);
    return reach;
}

int64_t oracle_image(int64_t i, int64_t n, stencil_boundary boundary) {
    if (i >= 0 && i < n)
        return i;
    if (boundary == STENCIL_PERIODIC)
        return ((i % n) + n) % n;
    /* Mirrored at both edges the axis has the period 2n: 0 1 … n-1 n-1 … 1 0. */
    const int64_t phase = ((i % (2 * n)) + 2 * n) % (2 * n);
    return phase < n ? phase : 2 * n - 1 - phase;
}

/* First and one past the last updated cell of each axis. */
static void updated_range(const oracle_problem *problem, int64_t low[3], int64_t high[3]) {
    for (int axis = 0; axis < 3; axis++) {
        const int64_t rim = problem->boundary[axis] == STENCIL_FIXED ? oracle_reach(problem, axis) : 0;
        low[axis] = rim;
        high[axis] = problem->extent[axis] - rim;
    }
}

/* Element of the array that point k of cell (z, y, x) reads. */
static int64_t read_from(const oracle_problem *problem, int k, int64_t z, int64_t y, int64_t x) {
    const int64_t *n = problem->extent;
    const int64_t from_z = oracle_image(z + problem->offset[k][0], n[0], problem->boundary[0]);
    const int64_t from_y = oracle_image(y + problem->offset[k][1], n[1], problem->boundary[1]);
    const int64_t from_x = oracle_image(x + problem->offset[k][2], n[2], problem->boundary[2]);
    return (from_z * n[1] + from_y) * n[2] + from_x;
}

static float new_value_float32(const oracle_problem *problem, const float *u, int64_t z, int64_t y,
                               int64_t x) {
    float sum = (float)problem->weight[0] * u[read_from(problem, 0, z, y, x)];
    for (int k = 1; k < problem->point_count; k++)
        sum = fmaf((float)problem->weight[k], u[read_from(problem, k, z, y, x)], sum);
    if (problem->source == NULL)
        return sum;
    const float source =
        ((const float *)problem->source)[(z * problem->extent[1] + y) * problem->extent[2] + x];
    return problem->source_factor == 0 ? sum + source : fmaf((float)problem->source_factor, source, sum);
}

static double new_value_float64(const oracle_problem *problem, const double *u, int64_t z, int64_t y,
                                int64_t x) {
    double sum = problem->weight[0] * u[read_from(problem, 0, z, y, x)];
    for (int k = 1; k < problem->point_count; k++)
        sum = fma(problem->weight[k], u[read_from(problem, k, z, y, x)], sum);
    if (problem->source == NULL)
        return sum;
    const double source =
        ((const double *)problem->source)[(z * problem->extent[1] + y) * problem->extent[2] + x];
    return problem->source_factor == 0 ? sum + source : fma(problem->source_factor, source, sum);
}

void oracle_step(const oracle_problem *problem, const void *u, void *next) {
    const int64_t *n = problem->extent;
    int64_t low[3], high[3];
    updated_range(problem, low, high);
    memcpy(next, u, (size_t)(n[0] * n[1] * n[2]) * stencil_precision_bytes(problem->precision));
    for (int64_t z = low[0]; z < high[0]; z++)
        for (int64_t y = low[1]; y < high[1]; y++)
            for (int64_t x = low[2]; x < high[2]; x++) {
                const int64_t at = (z * n[1] + y) * n[2] + x;
                if (problem->precision == STENCIL_FLOAT64)
                    ((double *)next)[at] = new_value_float64(problem, u, z, y, x);
                else
                    ((float *)next)[at] = new_value_float32(problem, u, z, y, x);
            }
}

static double join(double a, double b, stencil_norm norm) {
    if (norm == STENCIL_NORM_L2)
        return a + b;
    return isnan(a) || isnan(b) ? NAN : fmax(a, b);
}

/* The balanced tree over count values (a power of two), adjacent ones first. */
static double tree(const double *value, int count, stencil_norm norm) {
    if (count == 1)
        return value[0];
    return join(tree(value, count / 2, norm), tree(value + count / 2, count / 2, norm), norm);
}

static double change(const oracle_problem *problem, const void *u, const void *next, int64_t at) {
    if (problem->precision == STENCIL_FLOAT64)
        return ((const double *)next)[at] - ((const double *)u)[at];
    return (double)((const float *)next)[at] - (double)((const float *)u)[at];
}

/* The values of all chunks of 64 cells in their order; *count of them, owned by the caller. */
static double *chunk_values(const oracle_problem *problem, const void *u, const void *next, stencil_norm norm,
                            int64_t *count) {
    const int64_t *n = problem->extent;
    int64_t low[3], high[3];
    updated_range(problem, low, high);
    *count = (high[0] - low[0]) * (high[1] - low[1]) * ((high[2] - low[2] + 63) / 64);
    double *value = calloc((size_t)*count, sizeof *value);
    int64_t chunk = 0;
    for (int64_t z = low[0]; z < high[0]; z++)
        for (int64_t y = low[1]; y < high[1]; y++)
            for (int64_t x0 = low[2]; x0 < high[2]; x0 += 64) {
                double term[64] = {0};
                for (int64_t x = x0; x < x0 + 64 && x < high[2]; x++) {
                    const double d = change(problem, u, next, (z * n[1] + y) * n[2] + x);
                    term[x - x0] = norm == STENCIL_NORM_L2 ? d * d : fabs(d);
                }
                value[chunk++] = tree(term, 64, norm);
            }
    return value;
}

double oracle_residual(const oracle_problem *problem, const void *u, const void *next, stencil_norm norm) {
    int64_t count = 0;
    double *value = chunk_values(problem, u, next, norm, &count);
    while (count > 1) {
        const int64_t groups = (count + 1023) / 1024;
        double *folded = calloc((size_t)groups, sizeof *folded);
        for (int64_t g = 0; g < groups; g++) {
            double v[1024] = {0}, lane[256];
            for (int64_t i = 0; i < 1024 && g * 1024 + i < count; i++)
                v[i] = value[g * 1024 + i];
            for (int t = 0; t < 256; t++)
                lane[t] = join(join(join(v[t], v[t + 256], norm), v[t + 512], norm), v[t + 768], norm);
            folded[g] = tree(lane, 256, norm);
        }
        free(value);
        value = folded;
        count = groups;
    }
    int64_t low[3], high[3];
    updated_range(problem, low, high);
    const double cells = (double)((high[0] - low[0]) * (high[1] - low[1]) * (high[2] - low[2]));
    const double result = norm == STENCIL_NORM_L2 ? sqrt(value[0] / cells) : value[0];
    free(value);
    return isnan(result) ? NAN : result;
}

void oracle_trace_make(oracle_trace *trace, const oracle_problem *problem, const void *initial,
                       int64_t steps) {
    trace->steps = steps;
    trace->cells = problem->extent[0] * problem->extent[1] * problem->extent[2];
    trace->cell_bytes = stencil_precision_bytes(problem->precision);
    const size_t state_bytes = (size_t)trace->cells * trace->cell_bytes;
    trace->state = malloc((size_t)(steps + 1) * state_bytes);
    for (int norm = 0; norm < STENCIL_NORM_COUNT; norm++)
        trace->residual[norm] = calloc((size_t)steps + 1, sizeof(double));
    memcpy(trace->state, initial, state_bytes);
    for (int64_t s = 1; s <= steps; s++) {
        const char *before = trace->state + (size_t)(s - 1) * state_bytes;
        char *after = trace->state + (size_t)s * state_bytes;
        const oracle_problem *now =
            problem->cycle_length > 0 ? &problem->cycle[(s - 1) % problem->cycle_length] : problem;
        oracle_step(now, before, after);
        for (int norm = 0; norm < STENCIL_NORM_COUNT; norm++)
            trace->residual[norm][s] = oracle_residual(problem, before, after, (stencil_norm)norm);
    }
}

void oracle_trace_destroy(oracle_trace *trace) {
    free(trace->state);
    for (int norm = 0; norm < STENCIL_NORM_COUNT; norm++)
        free(trace->residual[norm]);
    *trace = (oracle_trace){0};
}

const void *oracle_trace_state(const oracle_trace *trace, int64_t step) {
    return trace->state + (size_t)step * (size_t)trace->cells * trace->cell_bytes;
}

bool oracle_looks_at(int64_t step, int64_t check_every, int64_t end) {
    return step > 0 && (step % check_every == 0 || step == end);
}

oracle_end oracle_trace_end(const oracle_trace *trace, const oracle_stop *stop) {
    const bool criterion = !isnan(stop->rtol) || !isnan(stop->atol);
    const double *residual = trace->residual[stop->norm];
    const stencil_reason done = criterion ? STENCIL_REASON_NOT_CONVERGED : STENCIL_REASON_STEPS;
    if (stop->steps == 0)
        return (oracle_end){0, done};
    if (criterion && !isfinite(residual[1]))
        return (oracle_end){1, STENCIL_REASON_DIVERGED};
    if (criterion && residual[1] == 0)
        return (oracle_end){1, STENCIL_REASON_FIXED_POINT};
    const double first = residual[1] > stop->first_least ? residual[1] : stop->first_least;
    for (int64_t s = 1; s <= stop->steps; s++) {
        if (!oracle_looks_at(s, stop->check_every, stop->steps))
            continue;
        if (!isfinite(residual[s]))
            return (oracle_end){s, STENCIL_REASON_DIVERGED};
        if (criterion && residual[s] == 0)
            return (oracle_end){s, STENCIL_REASON_FIXED_POINT};
        if (residual[s] < stop->rtol * first)
            return (oracle_end){s, STENCIL_REASON_CONVERGED_RTOL};
        if (residual[s] < stop->atol)
            return (oracle_end){s, STENCIL_REASON_CONVERGED_ATOL};
    }
    return (oracle_end){stop->steps, done};
}

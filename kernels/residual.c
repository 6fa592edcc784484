#include "kernels/residual.h"

#include <math.h>

int64_t stencil_chunk_count(const int64_t n[3]) {
    return n[0] * n[1] * ((n[2] + STENCIL_CHUNK_CELLS - 1) / STENCIL_CHUNK_CELLS);
}

int64_t stencil_fold_count(int64_t value_count) {
    return (value_count + STENCIL_FOLD_VALUES - 1) / STENCIL_FOLD_VALUES;
}

int64_t stencil_fold_scratch_count(int64_t value_count) {
    int64_t count = 1;
    for (int64_t level = value_count; level > 1;) {
        level = stencil_fold_count(level);
        count += level;
    }
    return count;
}

stencil_fold stencil_fold_first(const double *values, int64_t count, double *scratch) {
    return (stencil_fold){values, count, scratch, stencil_fold_count(count)};
}

stencil_fold stencil_fold_next(const stencil_fold *fold) {
    return stencil_fold_first(fold->to, fold->groups, fold->to + fold->groups);
}

static double larger(double a, double b) {
    if (isnan(a) || isnan(b))
        return NAN;
    return a > b ? a : b;
}

/* The balanced tree over `count` (a power of two) values, in place. */
static double tree(double *v, int count, stencil_norm norm) {
    for (int half = count / 2; half > 0; half /= 2) {
        if (norm == STENCIL_NORM_MAX)
            for (int i = 0; i < half; i++)
                v[i] = larger(v[2 * i], v[2 * i + 1]);
        else
            for (int i = 0; i < half; i++)
                v[i] = v[2 * i] + v[2 * i + 1];
    }
    return v[0];
}

double stencil_chunk_join(double term[STENCIL_CHUNK_CELLS], stencil_norm norm) {
    return tree(term, STENCIL_CHUNK_CELLS, norm);
}

double stencil_fold_group(const double *v, int64_t value_count, int64_t group, stencil_norm norm) {
    double s[STENCIL_FOLD_LANES];
    const int64_t first = group * STENCIL_FOLD_VALUES;
    for (int t = 0; t < STENCIL_FOLD_LANES; t++) {
        double sum = first + t < value_count ? v[first + t] : 0.0;
        for (int j = 1; j < STENCIL_FOLD_VALUES / STENCIL_FOLD_LANES; j++) {
            const int64_t at = first + t + j * (int64_t)STENCIL_FOLD_LANES;
            const double value = at < value_count ? v[at] : 0.0;
            sum = norm == STENCIL_NORM_MAX ? larger(sum, value) : sum + value;
        }
        s[t] = sum;
    }
    return tree(s, STENCIL_FOLD_LANES, norm);
}

double stencil_fold_all(const double *values, int64_t count, double *scratch, stencil_norm norm) {
    stencil_fold fold = stencil_fold_first(values, count, scratch);
    for (; fold.count > 1; fold = stencil_fold_next(&fold)) {
#pragma omp parallel for schedule(static) if (fold.groups > 64)
        for (int64_t g = 0; g < fold.groups; g++)
            fold.to[g] = stencil_fold_group(fold.from, fold.count, g, norm);
    }
    return fold.from[0];
}

double stencil_residual_finish(double value, int64_t updated_cells, stencil_norm norm) {
    if (isnan(value))
        return NAN;
    return norm == STENCIL_NORM_MAX ? value : sqrt(value / (double)updated_cells);
}

#include "kernels/residual.h"

int64_t stencil_levels_count(int64_t value_count) {
    int64_t count = 1;
    for (int64_t level = value_count; level > 1;) {
        level = stencil_level_count(level);
        count += level;
    }
    return count;
}

double stencil_combine(const double *v, int64_t value_count, int64_t group, stencil_norm norm) {
    double s[STENCIL_COMBINE_LANES];
    const int64_t first = group * STENCIL_COMBINE_VALUES;
    for (int t = 0; t < STENCIL_COMBINE_LANES; t++) {
        double sum = first + t < value_count ? v[first + t] : 0.0;
        for (int j = 1; j < STENCIL_COMBINE_VALUES / STENCIL_COMBINE_LANES; j++) {
            const int64_t at = first + t + j * (int64_t)STENCIL_COMBINE_LANES;
            const double value = at < value_count ? v[at] : 0.0;
            sum = stencil_combine_two(sum, value, norm);
        }
        s[t] = sum;
    }
    for (int left = STENCIL_COMBINE_LANES / 2; left > 0; left /= 2)
        stencil_combine_pairs(s, s, left, norm);
    return s[0];
}

double stencil_combine_all(const double *values, int64_t count, double *scratch, stencil_norm norm) {
    stencil_level level = stencil_level_first(values, count, scratch);
    for (; level.count > 1; level = stencil_level_next(&level)) {
#pragma omp parallel for schedule(static) if (level.results > 64)
        for (int64_t g = 0; g < level.results; g++)
            level.to[g] = stencil_combine(level.from, level.count, g, norm);
    }
    return level.from[0];
}

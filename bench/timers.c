#include "bench/timers.h"

#include <math.h>

void stencil_timer_offset(const int64_t *sent_and_back, const int64_t *seen, int rounds, double *offset_s,
                          double *error_s) {
    int64_t low = INT64_MIN, high = INT64_MAX;
    for (int i = 0; i < rounds; i++) {
        const int64_t least = seen[i] - sent_and_back[2 * i + 1], most = seen[i] - sent_and_back[2 * i];
        low = least > low ? least : low;
        high = most < high ? most : high;
    }
    *offset_s = 0.5e-9 * ((double)low + (double)high);
    *error_s = 0.5e-9 * fabs((double)high - (double)low);
}

void stencil_kernel_spans_join(const stencil_kernel_span *span, const double *offset_s, int count,
                               double *time_s, double *skew_s) {
    double first_s = INFINITY, last_begin_s = -INFINITY, last_s = -INFINITY;
    for (int i = 0; i < count; i++) { /* relative to the first GPU: doubles cannot hold ns since 1970 */
        const double begin_s = 1e-9 * (double)(span[i].begin - span[0].begin) - offset_s[i],
                     end_s = 1e-9 * (double)(span[i].end - span[0].begin) - offset_s[i];
        first_s = fmin(first_s, begin_s);
        last_begin_s = fmax(last_begin_s, begin_s);
        last_s = fmax(last_s, end_s);
    }
    *time_s = last_s - first_s;
    *skew_s = last_begin_s - first_s;
}

#include "solver/report.h"

#include <stdlib.h>

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

void stencil_report_destroy(stencil_report *report) {
    if (report == NULL)
        return;
    free(report->residual);
    free(report->residual_step);
    report->residual = NULL;
    report->residual_step = NULL;
    report->history_count = 0;
}

/* Capacity doubles: it is full whenever the count is a power of two. */
static bool grow(void **array, int64_t count, size_t element_bytes) {
    if (count > 0 && (count & (count - 1)) != 0)
        return true;
    void *larger = realloc(*array, (size_t)(count > 0 ? 2 * count : 1) * element_bytes);
    if (larger == NULL)
        return false;
    *array = larger;
    return true;
}

stencil_status stencil_report_add(stencil_report *report, int64_t step, double residual) {
    const int64_t count = report->history_count;
    CHECK(grow((void **)&report->residual, count, sizeof(double)) &&
              grow((void **)&report->residual_step, count, sizeof(int64_t)),
          NO_MEMORY, "no memory for a residual history of %lld entries: raise --check-every",
          (long long)count);
    report->residual[count] = residual;
    report->residual_step[count] = step;
    report->history_count = count + 1;
    return STENCIL_OK;
}

int64_t stencil_report_steps_done(const stencil_report *report) {
    return report->steps - report->steps_before;
}

double stencil_report_step_us(const stencil_report *report) {
    const int64_t steps = stencil_report_steps_done(report);
    return steps > 0 ? 1e6 * report->compute_s / (double)steps : 0.0;
}

double stencil_report_cells_per_s(const stencil_report *report) {
    const double updates = (double)report->updated_cells * (double)stencil_report_steps_done(report);
    return report->compute_s > 0 ? updates / report->compute_s : 0.0;
}

double stencil_report_bytes_per_s(const stencil_report *report) {
    return stencil_report_cells_per_s(report) * report->bytes_per_cell;
}

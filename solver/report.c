#include "solver/report.h"

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
    if (report != NULL)
        stencil_history_destroy(&report->history);
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

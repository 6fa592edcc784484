/* Report of what a run did: filled by stencil_run_drive(), printed by app/, stored by inputs/writer. */
#pragma once

#include "solver/device/stores.h"
#include "solver/problem/stop.h"

typedef struct stencil_report {
    stencil_reason reason;
    bool reached;          /* what was asked for: exit code 0 */
    int64_t steps;         /* done since the problem's start; u is the field after them */
    int64_t steps_before;  /* of these, made by earlier runs */
    double residual_first; /* of step 1, see stencil_stop; NaN: no criterion was given */
    double threshold;      /* what the residual has to be under; NaN: no criterion was given */
    double resolution;  /* residual that the precision resolves in this field, see stencil_resolution(); NaN:
                           not known */
    int64_t plain_from; /* steps before the last stretch of an accelerated problem; -1: none was made */
    stencil_history history;       /* those of earlier runs included; owned */
    stencil_stagnation stagnation; /* why, where the reason is STAGNATED */
    stencil_error_bound bound;     /* of laplace and poisson with a criterion */
    stencil_lost lost;             /* changes of the next step, where the last one has changed no cell */
    double subnormal; /* part of the cells of u in the end that are subnormal numbers, which slow CPUs
                         down; 0 on a GPU */
    char strategy[32];
    char backend[8];  /* "cpu" or "gpu" */
    char device[160]; /* "NVIDIA H200" or "2 threads, avx512" */
    int64_t updated_cells;
    double bytes_per_cell; /* that must move per update: read u, write u, read b where there is one, once for
                              each pass */
    stencil_store_report stores;
    double read_s;    /* cells from the reader */
    double prepare_s; /* memory, kernel loading, cells to their devices */
    double replan_s;  /* of it, between the steps: changes to other plans */
    double compute_s; /* all steps, residuals and decisions included */
    double drive_s;   /* the same with what the host does around launches; on a CPU the same */
    double finish_s;  /* what the end means: the bound on the error */
} stencil_report;

/* NULL-safe. */
static inline void stencil_report_destroy(stencil_report *report) {
    if (report != NULL)
        stencil_history_destroy(&report->history);
}

/* Steps that this run has made. */
static inline int64_t stencil_report_steps_done(const stencil_report *report) {
    return report->steps - report->steps_before;
}

/* Rates over compute_s; 0 when no step was done. */
static inline double stencil_report_step_us(const stencil_report *report) {
    const int64_t steps = stencil_report_steps_done(report);
    return steps > 0 ? 1e6 * report->compute_s / (double)steps : 0.0;
}
static inline double stencil_report_cells_per_s(const stencil_report *report) {
    const double updates = (double)report->updated_cells * (double)stencil_report_steps_done(report);
    return report->compute_s > 0 ? updates / report->compute_s : 0.0;
}
static inline double stencil_report_bytes_per_s(const stencil_report *report) {
    return stencil_report_cells_per_s(report) * report->bytes_per_cell;
}

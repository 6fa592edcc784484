/* Report of a run: filled in by stencil_run_drive(), printed by app/, stored by inputs/writer. */
#pragma once

#include "solver/device/stores.h"
#include "solver/problem/stop.h"

/* What a run's last plan has made. */
typedef struct stencil_made {
    int64_t batches, checks, steps;
} stencil_made;

typedef struct stencil_report {
    stencil_reason reason;
    bool reached;            /* the run did what the problem asked for; exit code 0 */
    int64_t steps;           /* number of steps since the problem's start that the final u has gone through */
    int64_t steps_before;    /* number of these steps that earlier runs made */
    double residual_first;   /* residual of step 1, see stencil_stop; NaN: no criterion was given */
    double threshold;        /* limit that the residual has to fall below; NaN: no criterion was given */
    double resolution;       /* smallest residual that the precision resolves; NaN: unknown */
    int64_t plain_from;      /* steps before the final plain steps of an accelerated problem, or -1 */
    stencil_history history; /* residuals, including those of earlier runs; owned */
    stencil_stagnation stagnation; /* cause of stagnation, if `reason` is STENCIL_REASON_STAGNATED */
    stencil_error_bound bound; /* bound on the error; known for laplace and poisson with a criterion only */
    bool estimate_refuted; /* residuals fell more slowly than the estimate of eigenvalues allows: no bound */
    stencil_lost lost; /* changes that rounding lost in a further step, if the last step changed no cell */
    double subnormal;  /* fraction of subnormal numbers in the final u, which slow CPUs down; 0 on a GPU */
    char strategy[32];
    char backend[8];  /* "cpu" or "gpu" */
    char device[160]; /* "NVIDIA H200", "2 threads, avx512" */
    stencil_made made;
    int64_t cells;         /* cells that a step goes through, kept ones included */
    double bytes_per_cell; /* least memory traffic of an update: read u and b, write u, once per pass */
    stencil_store_report stores;
    double read_s;    /* seconds to read the initial cells */
    double prepare_s; /* seconds to allocate memory, load kernels and copy cells to their devices */
    double replan_s;  /* part of prepare_s between steps, spent on changes to other plans */
    double compute_s; /* seconds of all steps, including residuals and stopping decisions */
    double drive_s;   /* compute_s and the host's work around launches; on a CPU equal to compute_s */
    double finish_s;  /* seconds to evaluate the end of the run, such as the bound on the error */
} stencil_report;

/* Frees what the report owns; NULL is allowed. */
static inline void stencil_report_destroy(stencil_report *report) {
    if (report != NULL)
        stencil_history_destroy(&report->history);
}

/* Returns the number of steps that this run has made. */
static inline int64_t stencil_report_steps_done(const stencil_report *report) {
    return report->steps - report->steps_before;
}

/* Rates over compute_s; 0 if the run made no step. */
static inline double stencil_report_step_us(const stencil_report *report) {
    const int64_t steps = stencil_report_steps_done(report);
    return steps > 0 ? 1e6 * report->compute_s / (double)steps : 0.0;
}
static inline double stencil_report_cells_per_s(const stencil_report *report) {
    const double updates = (double)report->cells * (double)stencil_report_steps_done(report);
    return report->compute_s > 0 ? updates / report->compute_s : 0.0;
}
static inline double stencil_report_bytes_per_s(const stencil_report *report) {
    return stencil_report_cells_per_s(report) * report->bytes_per_cell;
}

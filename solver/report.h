/* What a run did: filled by stencil_run(), printed by app/, stored by inputs/writer. */
#ifndef STENCIL_SOLVER_REPORT_H
#define STENCIL_SOLVER_REPORT_H

#include "base/base.h"

typedef enum stencil_reason {
    STENCIL_REASON_NONE,
    STENCIL_REASON_STEPS,         /* all steps done, no tolerance asked for */
    STENCIL_REASON_CONVERGED,     /* residual under the tolerance */
    STENCIL_REASON_NOT_CONVERGED, /* all steps done, residual not under the tolerance */
    STENCIL_REASON_DIVERGED,      /* residual not finite */
    STENCIL_REASON_INTERRUPTED,   /* stopped at a step boundary on request */
    STENCIL_REASON_COUNT
} stencil_reason;

/* "steps", "converged", "not_converged", "diverged", "interrupted". */
extern const char *const stencil_reason_names[STENCIL_REASON_COUNT];

/* How a CPU stored results in the end, and what it tried before: the slowest thread's best step, NaN where
 * nothing was tried (to the end). */
typedef struct stencil_store_report {
    int threads, streaming_threads;
    double cached_step_s, streaming_step_s;
} stencil_store_report;

typedef struct stencil_report {
    stencil_reason reason;
    int64_t steps;          /* steps done; u is the field after them */
    int64_t history_count;  /* residuals looked at */
    double *residual;       /* [history_count], owned */
    int64_t *residual_step; /* [history_count], owned */
    char strategy[32];
    char backend[8];  /* "cpu" or "gpu" */
    char device[160]; /* "NVIDIA H200" or "2 threads, avx512" */
    int64_t updated_cells;
    double bytes_per_cell; /* that must move per update: read u, write u, read b where there is one */
    stencil_store_report stores;
    double prepare_s; /* device memory, kernel loading, upload */
    double compute_s; /* all steps, residuals and decisions included */
    double finish_s;  /* download */
} stencil_report;

void stencil_report_destroy(stencil_report *report);

/* Appends one residual to the history. */
stencil_status stencil_report_add(stencil_report *report, int64_t step, double residual);

/* Rates over compute_s; 0 when no step was done. */
double stencil_report_step_us(const stencil_report *report);
double stencil_report_cells_per_s(const stencil_report *report);
double stencil_report_bytes_per_s(const stencil_report *report);

#endif

/* The plain reference of the tests: what a run must give, computed the slow and obvious way. It knows nothing
 * of padded layouts, rims, chunks of threads or kernels: arrays are plain u[nz][ny][nx], a neighbour beyond
 * the edge is found by mapping its index, and every state is kept. It shares names of types with the product,
 * no code. */
#ifndef STENCIL_TESTS_ORACLE_H
#define STENCIL_TESTS_ORACLE_H

#include "solver/report.h"
#include "solver/spec.h"

/* Everything per axis is in (z, y, x); a 2D problem has extent 1 and offset 0 in z. */
typedef struct oracle_problem {
    int64_t extent[3]; /* cells of the array, fixed rims included */
    stencil_precision precision;
    stencil_boundary boundary[3];
    int point_count;
    int32_t offset[STENCIL_POINTS_MAX][3]; /* ascending (oracle_points_sort) */
    double weight[STENCIL_POINTS_MAX];     /* rounded to `precision` before use */
    double source_factor;                  /* of `source`, rounded to `precision`; 0: added as it is */
    const void *source; /* [nz][ny][nx] of `precision`, read at updated cells; NULL: none */
    int cycle_length;   /* 0: every step is as above; else step s is that of cycle[(s - 1) % cycle_length] */
    const struct oracle_problem *cycle;
} oracle_problem;

/* All states of a run of `steps` steps. */
typedef struct oracle_trace {
    int64_t steps;
    int64_t cells; /* of the array */
    size_t cell_bytes;
    char *state;                          /* [steps + 1][cells] of `precision`, owned */
    double *residual[STENCIL_NORM_COUNT]; /* [steps + 1], owned; entry s belongs to step s, entry 0 unused */
} oracle_trace;

/* How a run ends: the step after which it stops, why, and how often the residual was looked at. */
typedef struct oracle_end {
    int64_t step;
    stencil_reason reason;
} oracle_end;

/* Brings the points into ascending (z, y, x) order, the order of summation; weights travel along. */
void oracle_points_sort(oracle_problem *problem);

/* The points and weights that discretise an equation on `rank` axes with the spacing h (array order, `rank`
 * entries), and the factor that turns f into the source term. */
void oracle_laplace(oracle_problem *problem, int rank, const double *h, double omega, double *source_factor);
void oracle_heat(oracle_problem *problem, int rank, const double *h, double diffusivity, double dt);

/* Cells along an axis that the points reach: the width of a fixed rim. */
int64_t oracle_reach(const oracle_problem *problem, int axis);

/* Index that cell `i` of an axis of n cells stands for under a periodic or mirror boundary. */
int64_t oracle_image(int64_t i, int64_t n, stencil_boundary boundary);

/* One step: next = step(u), cells of fixed rims copied. */
void oracle_step(const oracle_problem *problem, const void *u, void *next);

/* The residual next - u in the canonical order of kernels/residual.h. */
double oracle_residual(const oracle_problem *problem, const void *u, const void *next, stencil_norm norm);

/* Runs `steps` steps from `initial`, keeping every state and both residuals. Freed by oracle_trace_destroy.
 */
void oracle_trace_make(oracle_trace *trace, const oracle_problem *problem, const void *initial,
                       int64_t steps);
void oracle_trace_destroy(oracle_trace *trace);

/* The state after step s. */
const void *oracle_trace_state(const oracle_trace *trace, int64_t step);

/* Whether the residual of step s is looked at in a run that looks every `check_every` steps and ends after
 * `end`. */
bool oracle_looks_at(int64_t step, int64_t check_every, int64_t end);

/* A stop rule; rtol and atol NAN: no such limit. The first residual counts as first_least at least. */
typedef struct oracle_stop {
    int64_t steps, check_every; /* steps <= trace->steps */
    stencil_norm norm;
    double rtol, atol, first_least;
} oracle_stop;

/* Where a run with this stop rule ends. */
oracle_end oracle_trace_end(const oracle_trace *trace, const oracle_stop *stop);

#endif

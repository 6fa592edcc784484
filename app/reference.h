/* A second, plain implementation of the arithmetic, for `stencil verify`: dense arrays, every neighbour
 * looked up through a table of the boundary. It shares the named point sets with the solver and nothing else:
 * weights, boundaries, update and residual are written down here again, from docs/format.md. */
#ifndef STENCIL_APP_REFERENCE_H
#define STENCIL_APP_REFERENCE_H

#include "solver/problem.h"

typedef struct reference {
    stencil_precision precision;
    int64_t extent[3]; /* cells of the arrays (z, y, x) */
    int64_t n[3];      /* updated cells */
    int64_t origin[3]; /* array index of the first updated cell */
    int64_t *index[3]; /* owned; index[a][i + STENCIL_RADIUS_MAX] is the array index of cell i of axis a,
                          i = -STENCIL_RADIUS_MAX … n + STENCIL_RADIUS_MAX - 1; -1: a cell of value 0 */
    int point_count;
    int32_t offset[STENCIL_POINTS_MAX][3]; /* ascending */
    double weight[STENCIL_POINTS_MAX];     /* rounded to the precision */
    double source_scale;
    stencil_norm norm;
    /* Dense arrays [nz][ny][nx] of the precision, owned; the caller fills u[0], with the field before the
     * first step that it wants, and, where there is one, b
     * (already scaled). u[s % 2] is the field after s steps. */
    void *u[2];
    void *b;       /* NULL: no source term */
    void *zeros;   /* a row of zeros */
    double *chunk; /* residual: chunk values, then folded in place */
    int64_t chunk_count;
} reference;

/* Derives everything from the problem (resolved, without fields) and allocates the arrays, b only where the
 * problem has a source. NO_MEMORY with need and have. On failure nothing is left to destroy. */
stencil_status reference_create(reference *reference, const stencil_problem *problem);
void reference_destroy(reference *reference);

/* Copies u[0] to u[1], so that both have the field and the cells that are not updated. To be called once u[0]
 * is filled. */
void reference_start(reference *reference);

/* Makes step number `step` (1, 2, …) from u[(step - 1) % 2] into u[step % 2]. */
void reference_step(reference *reference, int64_t step);

/* The residual of the step just made. */
double reference_residual(reference *reference, int64_t step);

/* Norm of the source term, 0 without one. */
double reference_source_norm(reference *reference);

#endif

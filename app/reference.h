/* A second, plain implementation of the arithmetic, for `stencil verify` and the tests: dense arrays
 * [nz][ny][nx], every neighbour beyond the edge found by mapping its index. It shares the named point sets
 * with the solver and nothing else: weights, boundaries, update and residual are written down here again,
 * from docs/format.md. */
#pragma once

#include "solver/problem/problem.h"

/* Definition of a step. Everything per axis is in (z, y, x); a 2D problem has extent 1 and offset 0 in z. */
typedef struct reference {
    stencil_precision precision;
    int64_t extent[3]; /* cells of the arrays, boundary cells included */
    stencil_boundary boundary[3];
    int64_t reach[3];        /* of the points that were given */
    int64_t low[3], high[3]; /* first and one past the last updated cell */
    int point_count;
    int32_t offset[STENCIL_POINTS_MAX][3]; /* ascending */
    double weight[STENCIL_POINTS_MAX]; /* 0 where the point was not given; rounded to the precision in use */
    /* Steps whose damping follows a cycle: its length (0: none), what `weight` is at omega = 1, the
     * eigenvalues that the roots lie between, and the damping of the step that was begun last. */
    int64_t cycle, plain_from; /* plain_from: the steps behind so many are plain; -1: none is */
    double plain[STENCIL_POINTS_MAX], least, most, omega;
    double source_scale;  /* b = source_scale f, or q, rounded to the precision; 1 for /b */
    double source_factor; /* of b in a step, rounded to the precision; 1: added as it is */
    double scale;         /* power of two that its arrays are multiplied by, see reference_scale() */
} reference;

/* Derives everything from what the author states, and the point set on which the problem runs. */
void reference_init(reference *r, const stencil_spec *spec, const stencil_shape *shape);

/* Gives the step that follows `step` steps its weights. The residual of one is what it changes over omega. */
void reference_begin_step(reference *r, int64_t step);

/* Index of the cell that stands for cell `i`, inside or not, of a periodic or mirrored axis of n cells. */
int64_t reference_image(int64_t i, int64_t n, stencil_boundary boundary);

/* One step: next = step(u), cells that are not updated copied. b (NULL: none) is read at updated cells. */
void reference_step(const reference *r, const void *u, const void *b, void *next);

/* Element i of an array, in double; NULL: zeros. */
double reference_value(const reference *r, const void *array, int64_t i);

/* Chooses `scale` by the largest value of the fields before the first step (b NULL: none), as docs/format.md
 * has it. */
void reference_scale(reference *r, void *u, void *b);

/* Norm of next - u over the updated cells; u NULL: zeros. NO_MEMORY. */
stencil_status reference_residual(const reference *r, stencil_norm norm, const void *u, const void *next,
                                  double *residual);

/* A problem as its author states it: what an input file's attributes and the command line say, before
 * anything is derived. The reader fills it, options override it, stencil_problem_resolve() turns it into a
 * problem, and the writer stores it again. Everything per axis is in array order: (y, x) or (z, y, x). */
#ifndef STENCIL_SOLVER_SPEC_H
#define STENCIL_SOLVER_SPEC_H

#include "kernels/points.h"
#include "kernels/residual.h"
#include "solver/parts/layout.h"

typedef enum stencil_kind {
    STENCIL_KIND_NONE,    /* points and weights are given directly */
    STENCIL_KIND_LAPLACE, /* weights derived from the spacing, see stencil_problem_resolve() */
    STENCIL_KIND_POISSON,
    STENCIL_KIND_HEAT,
    STENCIL_KIND_COUNT
} stencil_kind;

typedef enum stencil_source {
    STENCIL_SOURCE_NONE,
    STENCIL_SOURCE_B, /* dataset /b: added as it is */
    STENCIL_SOURCE_F, /* dataset /f: right-hand side of poisson, scaled by resolve */
} stencil_source;

/* Names as they stand in files and options ("j2d5pt", "laplace", "fixed", "l2", …), indexed by the
 * enumerations, NULL behind the last one; kind NONE has the name "". */
extern const char *const stencil_shape_names[STENCIL_SHAPE_COUNT + 1];
extern const char *const stencil_kind_names[STENCIL_KIND_COUNT + 1];
extern const char *const stencil_boundary_names[STENCIL_BOUNDARY_COUNT + 1];
extern const char *const stencil_norm_names[STENCIL_NORM_COUNT + 1];

enum { STENCIL_FINGERPRINT_CHARS = 17 };

/* Zero-initialise with stencil_spec_init(). "Not given" is written beside each field. */
typedef struct stencil_spec {
    int rank;                              /* 2 or 3 */
    int64_t extent[3];                     /* cells of /u in array order, `rank` entries used */
    stencil_precision precision;           /* of the fields and of the arithmetic */
    char stencil[32];                      /* name of a point set; "" not given */
    int offset_count;                      /* 0: not given */
    int32_t offset[STENCIL_POINTS_MAX][3]; /* `rank` entries used each, any order */
    int weight_count;                      /* 0: not given */
    double weight[STENCIL_POINTS_MAX];     /* beside `offset`, or in the ascending order of `stencil` */
    stencil_kind kind;
    int boundary_count; /* 0 (fixed everywhere), 1 (one for all axes) or rank */
    stencil_boundary boundary[3];
    int spacing_count; /* 0 (1.0 everywhere), 1 or rank */
    double spacing[3];
    double omega;       /* NaN: not given (1) */
    double diffusivity; /* NaN: not given (1) */
    double dt;          /* NaN: not given (the largest stable one) */
    int64_t steps;      /* -1: not given */
    double rtol, atol;  /* of the stop rule, see stencil_stop; NaN: not given */
    stencil_norm norm;
    int64_t check_every; /* 0: not given */
    stencil_source source;
    /* What earlier runs have left in the file; -1, NaN and "": nothing. */
    int64_t steps_total;                         /* steps from the problem's start to /u */
    int64_t checked_every;                       /* check_every of the file itself, 0: not given */
    double residual_first;                       /* see stencil_stop */
    double time, time_first;                     /* physical time of /u, and of the problem's start */
    char fingerprint[STENCIL_FINGERPRINT_CHARS]; /* of the problem that those steps were made of */
} stencil_spec;

void stencil_spec_init(stencil_spec *spec);

/* Distance of grid points along an axis (STENCIL_Z, …), 1 where nothing is given; and the sum of 2/h^2 over
 * the axes: S of stencil_problem_resolve(). */
double stencil_spec_spacing(const stencil_spec *spec, int axis);
double stencil_spec_diagonal(const stencil_spec *spec);

#endif

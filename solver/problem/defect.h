/* Distance of a field of laplace or poisson from the solution of its discrete equations, in double: the
 * residual field, the bound on the error, and predictions before the first step. */
#pragma once

#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

/* Defect of a field: r = J u + f/S - u, the residual at omega = 1, computed in double. All in the root mean
 * square over the updated cells but `norm` and `magnitude`. */
typedef struct stencil_defect {
    double rms;                      /* r less its mean, where the solution is known up to a constant */
    double norm;                     /* r in the norm of the stop rule */
    double mean;                     /* mean of r */
    double source_mean, source_size; /* mean and rms of f/S */
    double size;                     /* u less its mean, where the solution is known up to a constant */
    double magnitude;                /* u in the norm of the stop rule, its mean included */
    double rounding; /* bound on the rounding of r, c * 2^-53 * sum of |terms|, c the roundings of a term,
                        plus that of b */
} stencil_defect;
/* Computes the defect of a field slab by slab. Errors: NO_MEMORY; those of the reader. */
stencil_status stencil_defect_of(const stencil_problem *problem, const stencil_reader *from,
                                 stencil_defect *defect);

/* Tells whether there is no solution: no axis is fixed, and the source has a mean beyond its rounding. */
bool stencil_defect_unsolvable(const stencil_problem *problem, const stencil_defect *defect);

/* ||u* - u|| <= (||r|| + rounding) / lambda_min, u* the solution of the discrete equations with the given
 * source, in the root mean square over the updated cells. */
typedef struct stencil_error_bound {
    bool known;      /* false for other problems, no criterion, a source without a solution */
    double absolute; /* bound on ||u* - u|| */
    double relative; /* absolute / (||u|| + absolute): at least this part of ||u*|| may be missing */
    bool estimated;  /* lambda_min is an estimate (bounds.h), and so is the bound */
} stencil_error_bound;
stencil_error_bound stencil_error_bound_of(const stencil_problem *problem, const stencil_defect *defect);
/* Bound on the relative error from which on a field is no approximation of the solution. */
#define STENCIL_UNSOLVED 0.1
/* Bound that rests on an estimate up to which a field is taken for one. */
#define STENCIL_UNSOLVED_ESTIMATED 0.01

/* Facts about a relaxation that are known before its first step. */
typedef struct stencil_outlook {
    double first;       /* residual that rtol will be relative to, see stencil_stop */
    double size;        /* least size of the solution, rms: that of its part in the slowest mode */
    double source_mean; /* mean of f/S */
    bool unsolvable;    /* no axis is fixed and the source has a mean other than 0: there is no solution */
} stencil_outlook;
/* Computes the outlook slab by slab. Errors: NO_MEMORY; those of the reader. */
stencil_status stencil_outlook_of(const stencil_problem *problem, const stencil_reader *from,
                                  stencil_outlook *outlook);

/* The change that a step would make in exact arithmetic and that the run's precision rounds away. */
typedef struct stencil_lost {
    double change; /* largest change beyond the rounding of doubles; 0: there is none */
    double value;  /* value of u in the cell with that change */
} stencil_lost;
/* Finds the lost change, for any problem whose step leaves all cells as they are in the precision of the run.
 * Errors: NO_MEMORY; those of the reader. */
stencil_status stencil_lost_of(const stencil_problem *problem, const stencil_reader *from,
                               stencil_lost *lost);

/* The residual of a plain step at omega = 1 that the precision of the run resolves in a field of that size:
 * c * unit roundoff * size. No field that is the exact solution rounded to nearest has to have a smaller one,
 * hence c = 2 (rounding of u, through I - J, whose norm is at most 2) + 1 (the weights') + 1 (the source
 * term's)
 *     + sum over the points of non-zero weight, in their order, of the partial sum of |weights| (one rounding
 * each), which is 6.5 in 2D and 7.5 in 3D where the spacing is the same along all axes. */
double stencil_resolution(const stencil_problem *problem, double size);

/* The eigenvalues of a relaxation, problems laplace and poisson.
 *
 * Write the relaxation at omega = 1 as u' = J u + f/S. J is symmetric, its eigenvectors are products of sines
 * and cosines, and I - J has the eigenvalues (2/S) sum over axes of (1 - cos theta_a)/h_a^2 with
 *   theta_a = pi k/(n+1) on a fixed axis of n updated cells, k = 1 … n,
 *             pi (k - 1/2)/(n + 1/2) on one that is fixed on one side and mirrored on the other, k = 1 … n,
 *             2 pi k/n on a periodic one, pi k/n on a mirrored one, k = 0 … n-1. */
#pragma once

#include "solver/problem/problem.h"

/* Eigenvalues of I - J. Where no axis is fixed the constant has the eigenvalue 0 and is left out: the
 * solution is known up to a constant. Kept cells strike rows and columns from the matrix, whose eigenvalues
 * then lie between those without kept cells (Cauchy's interlace theorem): `least` and `most` are bounds. With
 * kept cells and no fixed axis, and where walls or insulated cells make rows of weights (a narrow passage has
 * a smaller eigenvalue than the box), they are the estimates of problem->estimate, or `least` is 0, which
 * says that it is not known. */
typedef struct stencil_spectrum {
    double least, most;
    bool up_to_constant;
} stencil_spectrum;
stencil_spectrum stencil_spectrum_of(const stencil_problem *problem);

/* The same as if there was no /k, which only its k.least and k.most say more about (cycle.c). */
stencil_spectrum stencil_spectrum_of_plain(const stencil_problem *problem);

/* Bound of all eigenvalues of I - J by Gershgorin's discs, without /class: 2, and more where walls through
 * cells exchange, which add to the cells' own part and nothing to that of their neighbours. Without an
 * estimate, or beside /k, all that is known. */
double stencil_spectrum_bound(const stencil_problem *problem);

/* 1/h^2 of an axis over S: the weight of its two neighbours at omega = 1. */
double stencil_neighbour_weight(const stencil_problem *problem, int axis);

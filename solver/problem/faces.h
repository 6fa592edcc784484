/* Faces between cells of problems with /k: div(k grad u) with the harmonic mean of k at each face.
 *
 * The face between cell i and the next one along an axis, i + e, has k = 2 / (1/k(i) + 1/k(i + e)), computed
 * as low (high / ((low + high) / 2)) of the smaller and the larger one, which is the same from both sides and
 * exact where they are equal. In a wall half a cell beyond it is the k of the cell beside it (its image has
 * the same), in a wall through cells that of the face on the other side of the cell, and towards a cell of
 * /insulated that of the other cell. The face's weight, with h the spacing along the axis, is
 *   heat:             W = k dt / h^2
 *   laplace, poisson: W = k / k_most / h^2 / S, k_most the largest k and S = sum over the axes of 2 / h^2
 * in double, in the order written, rounded to the precision T of the run once. From then on all is in T. With
 * the faces of a cell in ascending order of its points (z-, y-, x-, x+, y+, z+) a step has the weights
 *   heat:             W for the neighbours; ((1 - W_z-) - W_y-) - … - W_z+ for the cell
 *   laplace, poisson: W R for the neighbours, R = omega / (((W_z- + W_y-) + …) + W_z+); 1 - omega for the
 *                     cell, with omega and 1 - omega rounded to T
 * All readers of cells have the arrays STENCIL_ARRAY_FACE + axis: element i is the face between i and i + e,
 * from i = -1 on (stencil_faces_box()). */
#pragma once

#include "kernels/residual.h"
#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

/* The box of faces along an axis that cells of a box have: one more layer before it. */
stencil_box stencil_faces_box(const stencil_box *box, int axis);

/* Reads a box of faces along an axis, which may reach beyond periodic ends. Errors: those of the reader. */
stencil_status stencil_faces_fill(const stencil_problem *problem, const stencil_reader *from, int axis,
                                  const stencil_box *box, const stencil_cells *to);

/* Makes a box of faces from STENCIL_ARRAY_K (float64, in whatever precision the problem is) and, with
 * /insulated, STENCIL_ARRAY_KIND of a reader: what readers of files do for STENCIL_ARRAY_FACE + axis. Errors:
 * NO_MEMORY; those of the reader. */
stencil_status stencil_faces_make(const stencil_problem *problem, const stencil_reader *from, int axis,
                                  const stencil_box *box, const stencil_cells *to);

/* The faces of the cells of a box in memory. */
typedef struct stencil_faces {
    stencil_cells of[3]; /* along each axis; `at` NULL for z in 2D */
    void *memory;        /* owned */
} stencil_faces;
/* Errors: NO_MEMORY; those of the reader. Destroy is safe on zeroed memory. */
stencil_status stencil_faces_load(stencil_faces *faces, const stencil_problem *problem,
                                  const stencil_reader *from, const stencil_box *cells);
void stencil_faces_destroy(stencil_faces *faces);

/* The sum, in double, of the rounded weights of a cell's faces, in their order. */
double stencil_faces_sum(const stencil_problem *problem, const stencil_faces *faces, const int64_t cell[3]);

/* Computes the weights of all points of a cell in a plain step, as said above: numbers of the precision. */
void stencil_faces_weights(const stencil_problem *problem, const stencil_faces *faces, const int64_t cell[3],
                           double weight[STENCIL_POINTS_MAX]);

/* Computes, in double, the weights of all points of a cell as a step takes them, and behind them, at
 * STENCIL_SOURCE_WEIGHT, what it adds: `reads` is the row of the cell's class, NULL where it has none. */
void stencil_faces_row(const stencil_problem *problem, const stencil_faces *faces, const int64_t cell[3],
                       const double *reads, double row[STENCIL_WEIGHTS]);

/* Sets the weights of the problem to those of a step that takes fields of faces. */
void stencil_faces_begin(stencil_problem *problem);

/* k of a face between two cells. */
double stencil_face_k(double a, double b);

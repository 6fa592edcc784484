/* Pockets of a relaxation: cells that are joined to each other, but to no cell that keeps its value and to no
 * wall that exchanges. Their solution is known up to a constant, if there is one at all. */
#pragma once

#include "solver/problem/boxes.h"
#include "solver/problem/problem.h"

typedef struct stencil_pockets {
    int64_t count, cells; /* pockets, and cells of all of them */
    int64_t
        unsolvable;   /* pockets whose source and fluxes do not add up to 0, so that they have no solution */
    int64_t first[3]; /* the first cell of the first one, or of the first unsolvable one; of the array */
    double gain;      /* what a step adds to the mean of that one, in which cells in walls count by their part
                         inside, and with /k by the sum of their faces */
    double sum;       /* the same, to the sum in which they count so */
} stencil_pockets;

/* Tells whether a problem may have pockets that its cells have to be looked at for. (A box whose eigenvalues
 * are known, without /k, is one or is not by its axes: defect.h tells whether its source has a mean.) */
bool stencil_pockets_are_possible(const stencil_problem *problem);

/* Finds the pockets of problem laplace or poisson, whose classes have been found. `from` has kinds of cells
 * (rows.h) and the source term. Errors: NO_MEMORY; those of the reader. */
stencil_status stencil_pockets_find(const stencil_problem *problem, const stencil_reader *from,
                                    stencil_pockets *pockets);

/* Writes why a problem with an unsolvable pocket has no solution; field: the name of its cells. */
enum { STENCIL_POCKETS_CHARS = 320 };
void stencil_pockets_tell(const stencil_problem *problem, const stencil_pockets *pockets, const char *field,
                          char text[STENCIL_POCKETS_CHARS]);

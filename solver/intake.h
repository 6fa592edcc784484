/* What a run learns of the cells while they are read. Internal to solver/. */
#ifndef STENCIL_SOLVER_INTAKE_H
#define STENCIL_SOLVER_INTAKE_H

#include "solver/boxes.h"
#include "solver/problem.h"

/* Begins with `from` and `problem`. */
typedef struct stencil_intake {
    const stencil_reader *from;
    const stencil_problem *problem;
    double largest;  /* absolute value, where the criterion wants it; else 0 */
    double *partial; /* values of b, where the criterion wants them, owned; with room to combine them */
    double read_s;   /* time that reading took */
} stencil_intake;

/* Memory that it takes while cells are read. */
int64_t stencil_intake_bytes(const stencil_problem *problem);

/* `read` of a stencil_reader, whose context is the intake: hands on what it sees. Boxes of b end along x
 * where partial sums of the residual do, or the problem does. */
stencil_status stencil_intake_read(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to);

/* After all of it: the norm of the source term b of a step, in the canonical order of kernels/residual.h,
 * where the criterion is relative to it, else 0. BAD_DATA where the norm of changes would leave the range of
 * numbers. */
stencil_status stencil_intake_finish(const stencil_intake *intake, double *source_norm);

#endif

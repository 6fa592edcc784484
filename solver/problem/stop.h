/* Rules for the end of a run and its interpretation: findings while the cells are read, the distance of a
 * relaxation from its solution, the number of steps it takes, and why a residual no longer falls. All but the
 * findings are for problems laplace and poisson unless stated. The spectrum is that of spectrum.h. */
#pragma once

#include "kernels/sweep.h"
#include "solver/parts/reduction.h"
#include "solver/problem/defect.h"

/* "fixed_point", "converged_rtol", "steps", … as in the enumeration. */
extern const char *const stencil_reason_names[STENCIL_REASON_COUNT];

/* Bound on the factor by which a step multiplies the error, max |1 - omega lambda| over the spectrum; 1 or
 * more: the error need not shrink. */
double stencil_contraction(const stencil_problem *problem);

/* Bound on the steps until the residual is rtol times the first residual; INFINITY: perhaps never; NaN: not
 * known (problems other than laplace and poisson, no rtol). */
double stencil_predicted_steps(const stencil_problem *problem);

/* Tells whether the mode with alternating signs keeps its size, or grows, in each step. */
bool stencil_keeps_checkerboard(const stencil_problem *problem);

/* Why a residual no longer falls. */
typedef enum stencil_stagnation {
    STENCIL_STAGNATION_NONE,
    STENCIL_STAGNATION_GROWTH,       /* the residual grows: the iteration is unstable */
    STENCIL_STAGNATION_CHECKERBOARD, /* the mode with alternating signs is not damped */
    STENCIL_STAGNATION_SOURCE,       /* no axis is fixed and the source has a mean: there is no solution */
    STENCIL_STAGNATION_ROUNDING,     /* the precision resolves no smaller residual */
    STENCIL_STAGNATION_MODE          /* some mode of these weights neither shrinks nor grows */
} stencil_stagnation;

/* Steps of the windows over which stagnation is judged, a multiple of check_every; INT64_MAX: never judged.
 *
 * Symmetric weights make the l2 norms of residuals log-convex in the step: norms that have stopped falling
 * never fall again; in accelerated problems this holds at the ends of cycles. The maximum norm may stand
 * still while the boundary's influence travels, but after k steps it is at most sqrt(cells) * contraction^k
 * times its value before, for laplace, poisson and heat, whose spectrum is known. So may the l2 norm beside
 * /k, where log-convex are norms in which cells count by the sum of their faces. Residuals of other weights
 * may rise first, for an unknown number of steps. */
int64_t stencil_stagnation_window(const stencil_problem *problem);

/* Tells whether the residuals of checked steps up to `step`, the end of a window, have stopped falling: the
 * least one of the last window is not below that of the window before by one part in 2^30. */
bool stencil_stagnated(const stencil_history *history, int64_t window, int64_t step);

/* Steps of the windows over which it is judged whether residuals repeat themselves, for any weights, a
 * multiple of check_every; INT64_MAX: never judged.
 *
 * Rounding ends in a cycle of few fields, whose residuals repeat to the last bit. So do those of a pattern
 * that is carried along, until it comes to a wall, and the largest change, while the boundary's influence
 * spreads. Hence the window is ten times as long as a pattern takes along all axes at a cell a step; for the
 * norm max as long as the influence takes. The norm max of given weights, which may spread it more slowly, is
 * never judged, nor are factors that change in time. */
enum { STENCIL_CONSTANT_CHECKS = 1000 };
int64_t stencil_constant_window(const stencil_problem *problem);

/* Tells whether the residuals of the last window up to `step`, 1000 or more, are equal to the last bit, or
 * repeat themselves ten times or more. */
bool stencil_is_constant(const stencil_history *history, int64_t window, int64_t step);

/* Tells whether an accelerated problem switches to its last phase, a cycle of plain steps, at the last entry
 * of the history. The answer depends on the history, its first residual and the threshold alone, so that
 * every run and `verify` switch at the same step. The switch comes where the cycles so far would, in exact
 * arithmetic, leave as little error as was asked for (or as the precision resolves) but the residual has
 * fallen less than exact arithmetic guarantees, and where the residual stagnates: the rest is rounding error,
 * most of which plain steps remove. `threshold`: the residual that meets the criterion. */
bool stencil_turns_plain(const stencil_problem *problem, const stencil_history *history, double first,
                         double threshold);

/* The first step at which an accelerated problem may switch to plain steps without stagnation: from there on
 * batches end at residual checks, so that none runs beyond the switch. INT64_MAX: never. */
int64_t stencil_turn_first(const stencil_problem *problem, double first, double threshold);

/* Returns why the residual no longer falls, for any problem; `defect` is NULL where the problem is no
 * relaxation. `largest`: the largest |u|. */
stencil_stagnation stencil_stagnation_of(const stencil_problem *problem, const stencil_defect *defect,
                                         double largest, double residual, double residual_first);

/* Findings about the cells of any problem while they are read. The caller sets `from` and `problem` first. */
typedef struct stencil_intake {
    const stencil_reader *from;
    const stencil_problem *problem;
    double largest;  /* largest absolute value, found where the norm squares changes; else 0 */
    double *partial; /* owned: partial sums of b, and space to combine them, where the criterion needs them */
    stencil_reduction
        *sums;     /* borrowed: those of a rank, in place of `partial`; NULL: there is one process */
    double read_s; /* seconds spent reading */
} stencil_intake;

/* Bytes of memory that an intake takes while cells are read. */
int64_t stencil_intake_bytes(const stencil_problem *problem);

/* The `read` function of a stencil_reader whose context is a stencil_intake: passes the cells of intake->from
 * on. Boxes of b must end along x at the end of a partial sum of the residual, or of the problem. */
stencil_status stencil_intake_read(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to);

/* Computes the norm of the source term b after all cells are read, summed in the order of kernels/residual.h;
 * 0 where the criterion is not relative to it. */
double stencil_intake_finish(const stencil_intake *intake);

/* Exponent of the power of two that scales the cells of a run (docs/format.md), so that the l2 norm can
 * square changes of 1e-20 of the values: 0 where the largest absolute value of u and b lies between 1e-130
 * and 1e150, -512 where it is larger, else the exponent (at most 1000) that brings it between 1 and 2. Steps
 * are linear, so an unscaled run has the same bits where no value of either run is subnormal. */
int stencil_norm_exponent(const stencil_problem *problem, double largest);

/* Rules that decide the end of a run and what it means: what reading tells of the cells, how far a relaxation
 * is from its solution, how many steps it takes, and why a residual no longer falls. Everything but the first
 * is about problems laplace and poisson unless it says otherwise. The spectrum is that of spectrum.h. */
#pragma once

#include "kernels/sweep.h"
#include "solver/problem/defect.h"

/* "fixed_point", "converged_rtol", "steps", … as in the enumeration. */
extern const char *const stencil_reason_names[STENCIL_REASON_COUNT];

/* Factor by which a step shrinks the error at least, max |1 - omega lambda| over the spectrum; 1 or more: it
 * need not shrink at all. */
double stencil_contraction(const stencil_problem *problem);

/* Steps after which the residual is rtol times the first one at the latest; INFINITY: perhaps never; NaN: not
 * known (other weights, no rtol). */
double stencil_predicted_steps(const stencil_problem *problem);

/* Why a residual no longer falls. */
typedef enum stencil_stagnation {
    STENCIL_STAGNATION_NONE,
    STENCIL_STAGNATION_GROWTH,       /* it grows: the iteration is unstable */
    STENCIL_STAGNATION_CHECKERBOARD, /* the mode with alternating signs is not damped */
    STENCIL_STAGNATION_SOURCE,       /* no axis is fixed and the source has a mean: there is no solution */
    STENCIL_STAGNATION_ROUNDING,     /* the precision resolves no less */
    STENCIL_STAGNATION_MODE          /* some mode of these weights neither shrinks nor grows */
} stencil_stagnation;

/* Steps of the windows over which stagnation is judged, a multiple of check_every; INT64_MAX: it is not.
 *
 * Symmetric weights make the l2 norms of residuals log-convex in the step: once they do not fall, they never
 * will; of accelerated problems that is so for ends of cycles. The largest change may stand still for as long
 * as the boundary's influence travels, but after k steps it is at most sqrt(cells) * contraction^k times what
 * it was: known for laplace, poisson and heat, whose spectrum is known. Residuals of other weights may rise
 * first, and nobody knows for how long. */
int64_t stencil_stagnation_window(const stencil_problem *problem);

/* Tells whether the residuals of checked steps up to `step`, the end of a window, have stopped falling: the
 * smallest of the last window is not under that of the window before by one part in 2^30. Any problem. */
bool stencil_stagnated(const stencil_history *history, int64_t window, int64_t step);

/* Tells whether an accelerated problem turns to its last stretch, a cycle of plain steps, at the last entry
 * of the history: follows from the history, its first residual and the limit alone, so that every run and
 * `verify` turn at the same step. It does where the cycles that are made leave as little of the error in
 * exact arithmetic as was asked for (or as the precision resolves), while the residual falls less than that
 * arithmetic has it fall at least, and where it stagnates: what is left is rounding, most of which plain
 * steps take away. `threshold`: of the residual. */
bool stencil_turns_plain(const stencil_problem *problem, const stencil_history *history, double first,
                         double threshold);

/* The first step at which it may turn, but for stagnation: from there on batches end where residuals are
 * checked, so that no time loop goes on behind a turn. INT64_MAX: never. */
int64_t stencil_turn_first(const stencil_problem *problem, double first, double threshold);

/* Any problem; `defect` is NULL for those that are no relaxations. `largest`: of |u|. */
stencil_stagnation stencil_stagnation_of(const stencil_problem *problem, const stencil_defect *defect,
                                         double largest, double residual, double residual_first);

/* Findings about the cells of any problem while they are read. The caller sets `from` and `problem` first. */
typedef struct stencil_intake {
    const stencil_reader *from;
    const stencil_problem *problem;
    double largest;  /* absolute value, where the norm squares changes in the range of numbers; else 0 */
    double *partial; /* values of b, where the criterion wants them, owned; with room to combine them */
    double read_s;   /* time that reading took */
} stencil_intake;

/* Bytes of memory that an intake takes while cells are read. */
int64_t stencil_intake_bytes(const stencil_problem *problem);

/* `read` of a stencil_reader, whose context is the intake: hands on what it sees. Boxes of b end along x
 * where partial sums of the residual do, or the problem does. */
stencil_status stencil_intake_read(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to);

/* Finds, when all cells are read, the norm of the source term b of a step, in the canonical order of
 * kernels/residual.h, where the criterion is relative to it, else 0. */
void stencil_intake_finish(const stencil_intake *intake, double *source_norm);

/* Exponent of the power of two that the cells of a run are multiplied by, so that the norm l2 can square
 * their changes, which are some 1e-20 of the values before a run ends: 0 where the largest absolute value of
 * u and b lies between 1e-130 and 1e150, -512 where it is larger, else the one that brings it between 1 and 2
 * (1000 at most). Steps are linear, so the bits of the result stay those of the unscaled field where no value
 * of either is subnormal. docs/format.md has it, too. */
int stencil_norm_exponent(const stencil_problem *problem, double largest);

/* The resident sweep in 2D and 3D: what the files of its host share. */
#pragma once

#include "kernels/sweeps/resident3d.h"
#include "solver/plan/sweep.h"

/* What a plan's tiles follow from. */
typedef struct subject {
    const stencil_problem *problem;
    const stencil_tuning *tuning;
    double clocks_per_s; /* of a multiprocessor */
    int64_t shared_bytes;
    int radius, parts;                 /* one above the other */
    int slots;                         /* blocks of a part that are there at once */
    bool f64, general, source, linked; /* some tiles are on other GPUs than those beside them */
} subject;

extern const stencil_sweep_table resident_3d;

/* Steps of a pass at most; what its kernels can in either rank, the plain ones and besides the general ones.
 */
enum {
    RESIDENT_DEPTH = 16,
    RESIDENT_CAN = STENCIL_CAN(GPU) | STENCIL_CAN(LOOP) | STENCIL_CAN(WORDS) | STENCIL_CAN(SHORT_MIRROR) |
                   STENCIL_CAN(EVERY_STEP) | STENCIL_CAN(LAST_STEP) | STENCIL_CAN(NARROW),
    RESIDENT_CAN_GENERAL = RESIDENT_CAN | STENCIL_CAN_GENERAL
};
stencil_pass_limits resident_limits(const stencil_problem *problem, bool general);
void resident_enter(stencil_plan *plan);

subject resident_subject(const stencil_plan *plan, const stencil_problem *problem,
                         const stencil_machine *machine);

/* The refusal of a field that no tiles are found for; a multiprocessor holds `most` cells. */
stencil_pass_layout resident_refused(const subject *s, int64_t most);

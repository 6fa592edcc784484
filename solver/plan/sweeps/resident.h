/* The resident sweep in 2D and 3D: what the files of its host share. */
#pragma once

#include "kernels/sweeps/resident3d.h"
#include "solver/plan/sweep.h"

/* The properties of a plan that its tiles follow from. */
typedef struct subject {
    const stencil_problem *problem;
    const stencil_tuning *tuning;
    double clocks_per_s; /* of a multiprocessor */
    int64_t shared_bytes;
    int radius, parts;                 /* one above the other */
    int slots;                         /* blocks of a part that are there at once */
    bool f64, general, source, linked; /* some tiles are on other GPUs than those beside them */
} subject;

enum { RESIDENT_DEPTH = 16 }; /* steps of a pass at most */

/* The tiles of a rank, which have a compiled shape and some warps, of which warps_z lie one behind the other
 * along z. */
typedef struct resident_rank {
    int depth;      /* steps of a pass where nobody asks, at most */
    bool each_step; /* tiles exchange ghost cells behind each step, not behind each pass */
    /* The warps of a tile, at most; 0: there is no such shape. */
    int (*warps_most)(const stencil_problem *problem, int shape);
    /* Cells (z, y, x) that a tile holds. */
    void (*extent)(const stencil_problem *problem, const stencil_resident *tiles, int64_t cells[3]);
    /* Completes a layout, whose tiles have a shape and warps, for passes of `depth` steps: how many tiles,
     * their memory, and what a step and an exchange take. false: such tiles do not cover the field. */
    bool (*lay)(const subject *s, stencil_pass_layout *layout, int depth);
    /* Wavefronts of shared memory that a warp takes in a step. */
    double (*wavefronts)(const stencil_problem *problem, const stencil_resident *tiles);
} resident_rank;
extern const resident_rank resident_rank_2d, resident_rank_3d;

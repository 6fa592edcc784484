/* Declarations that the host files of the resident sweep share, for 2D and 3D. */
#pragma once

#include "kernels/sweeps/resident3d.h"
#include "solver/plan/sweep.h"

/* The properties of a plan that determine the tiles of its resident sweep. */
typedef struct subject {
    const stencil_problem *problem;
    const stencil_tuning *tuning;
    double clocks_per_s; /* clock rate of a multiprocessor */
    int64_t shared_bytes;
    int radius, parts;                          /* parts are stacked along y */
    int slots;                                  /* blocks of a part resident at once */
    bool f64, general, source, classed, linked; /* linked: some neighbouring tiles are on different GPUs */
} subject;

enum { RESIDENT_DEPTH = 16 }; /* most steps of a pass of the resident sweep */

/* The resident sweep for a rank. A tile has a compiled shape and some warps, warps_z of them along z. */
typedef struct resident_rank {
    int depth;      /* most steps of a pass where the options name none */
    bool each_step; /* tiles exchange ghost cells after each step, not after each pass */
    /* Tells whether the loop checks steps inside, without a launch for each of them. */
    bool (*checks)(const stencil_problem *problem);
    /* Most warps of a tile of the compiled shape with index `shape`; 0: there is no such shape. */
    int (*warps_most)(const stencil_problem *problem, int shape);
    /* Cells (z, y, x) that a tile holds. */
    void (*extent)(const stencil_problem *problem, const stencil_resident *tiles, int64_t cells[3]);
    /* Completes a layout whose tiles have a shape and warps, for passes of `depth` steps: number and memory
     * of tiles, seconds of a step, an exchange and a check inside the loop. false: such tiles cannot cover
     * the field. */
    bool (*lay)(const subject *s, stencil_pass_layout *layout, int depth);
    /* Wavefronts of shared memory that a warp takes in a step. */
    double (*wavefronts)(const stencil_problem *problem, const stencil_resident *tiles);
} resident_rank;
extern const resident_rank resident_rank_2d, resident_rank_3d;

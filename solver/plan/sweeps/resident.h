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

/* In 3D: steps of a pass, which is only what is counted, since each step has its exchange. */
enum { RESIDENT_BOX_DEPTH = 8 };

/* A way to lay the tiles of a 3D field, and what a step and the exchange behind it take. */
typedef struct box_layout {
    stencil_resident tiles;
    stencil_box_memory memory;
    double step_s, exchange_s;
} box_layout;

stencil_box_shape resident_box_shape(const stencil_problem *problem, const stencil_resident *tiles);
/* With the shape and the warps of `tiles`, in passes of `depth` steps; false: they do not cover the field. */
bool resident_box_lay(const subject *s, box_layout *l, const stencil_resident *tiles, int depth);
/* The one that is predicted to be quickest. */
bool resident_box_find(const subject *s, box_layout *best, int depth);
int64_t resident_box_most(const subject *s); /* cells that a multiprocessor holds */
/* Bytes of device memory for the words of all tiles. */
int64_t resident_box_bytes(const box_layout *l, bool f64);
stencil_pass_work resident_box_work(const stencil_problem *problem, const stencil_resident *tiles, int steps);

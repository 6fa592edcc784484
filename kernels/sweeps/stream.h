/* Shapes of long streams of the stream sweep, for its kernels and for the host that shapes tiles. */
#pragma once

#include "kernels/points.h"

/* Streams of so many rows (2D) or planes (3D) and more are made with partial sums (stream_sums.cuh), shorter
 * ones with a window of rows (stream.cuh), which begins with less. Kernels are compiled with this and with
 * what follows, so neither is a value of solver/machine/tuning/: all GPUs that run this code have the same.
 */
enum { STENCIL_STREAM_LONG = 16 };

/* Partial sums of a point set. */
typedef struct stencil_stream_sums {
    int rows;    /* of y that a thread makes side by side in 3D; 1 in 2D */
    int ahead;   /* rows (2D) or planes on their way while one is added; 0: all streams have a window */
    int blocks;  /* on a multiprocessor, which share its registers and shared memory; with a window too */
    int longest; /* stream; its 2 radius rows that are added in vain want it long */
} stencil_stream_sums;

/* Sets that are at the copy's bandwidth with a window have no sums. Measured on an H200
 * (docs/log/2026-11-23.md, "A ring in shared memory"). launched: a step is a launch; persistent loops have
 * fewer registers left. */
STENCIL_CONSTANT stencil_stream_sums stencil_stream_sums_of(int rank, int radius, bool f64, bool launched) {
    const stencil_stream_sums none = {1, 0, 2, 0}, flat = {1, 6, 2, 32},
                              flat_box3 = {1, 6, 2, f64 ? 64 : 256}, far = {launched ? 4 : 2, 1, 2, 64},
                              near = {4, 1, 2, 64};
    if (rank == 2)
        return radius == 1 ? none : radius == 2 ? flat : flat_box3;
    /* With one plane ahead rings leave the most to L1, where lines are found that several warps read. */
    return radius == 1 ? near : far;
}

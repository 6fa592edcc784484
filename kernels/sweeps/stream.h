/* Shapes of long streams of the stream sweep, for its kernels and for the host that shapes tiles. */
#pragma once

#include "kernels/points.h"

/* Streams of this many rows (2D) or planes (3D) and more are made with partial sums (stream_sums.cuh),
 * shorter ones with a window of rows (stream.cuh), which starts faster. Kernels are compiled with it, so it
 * is not in solver/machine/tuning/. */
enum { STENCIL_STREAM_LONG = 16 };

/* Parameters of the partial sums that long streams of a point set are made with. */
typedef struct stencil_stream_sums {
    int rows;    /* adjacent rows along y that a thread makes in 3D; 1 in 2D */
    int ahead;   /* rows (2D) or planes (3D) that are being loaded while one is added; 0: all streams use a
                    window */
    int blocks;  /* blocks on a multiprocessor, which share its registers and shared memory; also for streams
                    with a window */
    int longest; /* longest stream; long ones amortize the 2 radius extra rows at the start */
} stencil_stream_sums;

/* Returns how partial sums are used for a point set: not at all if a window already reaches copy bandwidth.
 * Measured on an H200 (docs/log/2026-11-23.md, "A ring in shared memory"). launched: each step is a launch;
 * persistent loops have fewer registers left. */
STENCIL_CONSTANT stencil_stream_sums stencil_stream_sums_of(int rank, int radius, bool f64, bool launched) {
    const stencil_stream_sums none = {1, 0, 2, 0}, flat = {1, 6, 2, 32},
                              flat_box3 = {1, 6, 2, f64 ? 64 : 256}, far = {launched ? 4 : 2, 1, 2, 64},
                              near = {4, 1, 2, 64};
    if (rank == 2)
        return radius == 1 ? none : radius == 2 ? flat : flat_box3;
    /* With one plane ahead, rings leave the most space to L1, where several warps find the same lines. */
    return radius == 1 ? near : far;
}

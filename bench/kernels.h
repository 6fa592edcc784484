/* What the .cu files of the benchmarks and of their harness hand to the host's side: kernels, what these are
 * given and what they say. A kernel takes one argument, and a table ends in a row without a name. Internal to
 * bench/. */
#ifndef STENCIL_BENCH_KERNELS_H
#define STENCIL_BENCH_KERNELS_H

#include "sync/barrier.h"

#ifdef __cplusplus
#define STENCIL_C           extern "C"
#define STENCIL_KERNEL(...) reinterpret_cast<const void *>(&__VA_ARGS__)
#else
#define STENCIL_C extern
#endif
#define STENCIL_KERNELS STENCIL_C const void *const

/* A kernel and the name of its row. */
typedef struct stencil_named_kernel {
    const char *name;
    const void *kernel;
} stencil_named_kernel;

/* The clock that is seen: int64_t *, one thread; [0] cycles in [1] ns. */
STENCIL_KERNELS stencil_clock_kernel;

/* Any number made of any other; below `numbers`, a power of two, all of them make one ring. */
STENCIL_ANYWHERE uint32_t stencil_next_number(uint32_t number, uint32_t numbers) {
    return (1664525u * number + 1013904223u) & (numbers - 1);
}

/* Writes the next numbers of 0 … count - 1 to words that are `stride` apart. numbers 0: any ones. */
typedef struct stencil_fill {
    uint32_t *place;
    int64_t count;
    uint32_t stride, numbers;
} stencil_fill;
STENCIL_KERNELS stencil_fill_kernel;

/* grid, multi-grid, partial */

/* Argument of a kernel that passes a barrier. */
typedef struct stencil_passes {
    stencil_barrier_state state;
    int64_t passes;
    uint32_t *word[STENCIL_PARTS_MAX]; /* of each part: a word for each block, zeroed; for verification */
    uint32_t *count; /* how often a block had not arrived when another one that waits for it went on; in
                        benchmark partial, threads that came to their end */
    uint32_t blocks; /* of each part */
} stencil_passes;

/* A barrier and its kernels. [1] verifies: everybody looks each time whether those that it waits for have
 * arrived, on other GPUs first, and some come late. */
typedef struct stencil_passes_kernel {
    stencil_barrier_info info;
    const void *kernel[2];
} stencil_passes_kernel;

/* By the numbers of barriers.def, and beside them: the library's grid.sync() as it is, and `cluster` with the
 * hardware's barrier, both without a time limit, to see what one costs; and what is planted to see that it is
 * found: a barrier that arrives without releasing what its block wrote, without waiting for it even. */
enum {
    STENCIL_PASSES_LIBRARY = STENCIL_BARRIER_none,
    STENCIL_PASSES_HARDWARE = STENCIL_BARRIER_COUNT,
    STENCIL_PASSES_FAULT,
    STENCIL_PASSES_COUNT
};
STENCIL_C const stencil_passes_kernel stencil_grid_kernels[STENCIL_PASSES_COUNT];

/* A kernel with a stencil_passes, in which the part that does not synchronise ends its work instead. */
typedef struct stencil_partial_kernel {
    const char *kind, *name;
    const void *kernel;
    unsigned threads;
    bool grid;                  /* a block on every multiprocessor; else a single one */
    stencil_barrier_id barrier; /* of barriers.def; none: without a time limit */
} stencil_partial_kernel;
STENCIL_C const stencil_partial_kernel stencil_partial_kernels[];

#endif

/* The CPU versions of the kernels: they update the same cells by the same expression, vectorised along rows.
 * Each instruction set has its own compiled copy; all copies give the same bits. */
#pragma once

#include "kernels/sweep.h"

/* The least stack of a thread that runs CPU sweeps, which keep up to 64 KiB of results on the stack. */
#define STENCIL_CPU_STACK_BYTES (256 * 1024)

/* Arguments of a CPU sweep for one pass. */
typedef struct stencil_cpu_pass {
    stencil_sweep_id sweep;
    int from;            /* the buffer that the pass reads; it writes the other one */
    int64_t first, last; /* range of rows to update (row = z*ny + y) */
    int steps;           /* steps of the pass, 1 … the depth of the plan */
    const stencil_weights *weights[STENCIL_DEPTH_MAX]; /* [steps]: the weights of each step */
    bool streaming;             /* results bypass the cache (for fields larger than the cache) */
    int64_t tile[STENCIL_AXES]; /* for sweeps of several steps at once: rows (3D) and columns of a strip;
                                   columns are a multiple of STENCIL_PARTIAL_CELLS */
    void *scratch; /* what a sweep of several steps keeps between steps: stencil_pipeline_bytes() bytes, on a
                      64-byte boundary */
    double *partial; /* the part's first partial sum of the residual; NULL: the last step is not checked */
    stencil_norm norm;
    const stencil_classes *classes; /* classes of the part's cells; NULL: all cells are plain */
    const stencil_sums
        *sums;            /* arrays with factors in time, of passes of one step; NULL: one source at most */
    const double *factor; /* [STENCIL_STEP_FACTORS]: factors of the step, not rounded yet */
} stencil_cpu_pass;

/* Returns the rows (2D) or planes (3D) of a step that the pipeline sweep updates before those of the next
 * step; stencil_pipeline_ring() returns how many rows or planes of a step its ring buffer keeps, the most
 * recent ones of a strip: a power of two. */
static inline int64_t stencil_pipeline_group(int rank) {
    return rank == 2 ? 4 : 2;
}
static inline int64_t stencil_pipeline_ring(int rank, int radius) {
    const int64_t least = 2 * radius + stencil_pipeline_group(rank);
    return least <= 4 ? 4 : least <= 8 ? 8 : 16;
}
/* Returns the columns, and stencil_pipeline_rows() the rows (3D only), that a strip is extended by on each
 * side. A strip that another strip continues along y has at least as many rows itself. */
static inline int64_t stencil_pipeline_columns(int depth, int radius) {
    const int64_t line = 64 / (int64_t)sizeof(float);
    return ((int64_t)depth * radius + 2 * line - 1) / line * line; /* rounded up to whole cache lines */
}
static inline int64_t stencil_pipeline_rows(int rank, int depth, int radius) {
    return rank == 2 ? 0 : (int64_t)depth * radius;
}
/* Returns the cells between rows of a ring buffer; stencil_pipeline_plane() returns those between its rows
 * (2D) or planes (3D). */
static inline int64_t stencil_pipeline_row(int depth, int radius, int64_t columns) {
    return columns + 2 * stencil_pipeline_columns(depth, radius);
}
static inline int64_t stencil_pipeline_plane(int rank, int depth, int radius,
                                             const int64_t tile[STENCIL_AXES]) {
    const int64_t rows = rank == 2 ? 1 : tile[STENCIL_Y] + 2 * stencil_pipeline_rows(rank, depth, radius);
    return rows * stencil_pipeline_row(depth, radius, tile[STENCIL_X]);
}
static inline int64_t stencil_pipeline_ring_bytes(int rank, int depth, int radius,
                                                  const int64_t tile[STENCIL_AXES], int64_t cell_bytes) {
    return depth * stencil_pipeline_ring(rank, radius) * stencil_pipeline_plane(rank, depth, radius, tile) *
           cell_bytes;
}
/* Returns the scratch bytes of a pass of at most `planes` planes: the ring buffers, the rows before seams
 * between strips, with some extra so that a strip does not overwrite rows that it still reads, and one row
 * that nobody writes, but that vectors at the end of the last row read. */
static inline int64_t stencil_pipeline_bytes(int rank, int depth, int radius,
                                             const int64_t tile[STENCIL_AXES], int64_t planes,
                                             int64_t cell_bytes) {
    const int64_t rows =
        rank == 2 ? 0
                  : (depth - 1) * 2 * radius *
                        (planes + 2 * (int64_t)radius * (depth - 1) + stencil_pipeline_ring(rank, radius));
    return stencil_pipeline_ring_bytes(rank, depth, radius, tile, cell_bytes) +
           (rows + 1) * stencil_pipeline_row(depth, radius, tile[STENCIL_X]) * cell_bytes;
}

/* A CPU sweep: updates the rows of a pass and writes the copies of their edge cells. */
typedef void (*stencil_cpu_sweep)(const stencil_domain *domain, const stencil_cpu_pass *pass);

/* Copies `count` bytes, with stores that bypass the cache where the instruction set has them (the upper bound
 * for streaming sweeps); both addresses aligned to 64 bytes, count a multiple of 64. */
typedef void (*stencil_cpu_copy)(void *to, const void *from, int64_t count);

/* The sweeps and the copy function of one instruction set, made by cpu_isa.c. */
typedef struct stencil_cpu_table {
    const char *name;                                        /* "avx512", "avx2" or "baseline" */
    const stencil_cpu_sweep *sweep[STENCIL_PRECISION_COUNT]; /* [STENCIL_SHAPE_COUNT] */
    stencil_cpu_copy copy;
} stencil_cpu_table;

/* Returns the table for the instruction set of a name; NULL where this build or this CPU has not got it. */
const stencil_cpu_table *stencil_cpu_named(const char *name);

/* Takes the instruction set of a name in place of the best one from now on, before any other thread asks;
 * false where this build or this CPU has not got it. The program takes the one that the environment names. */
#define STENCIL_CPU_ISA_VARIABLE "STENCIL_CPU_ISA"
bool stencil_cpu_take(const char *name);

/* Returns the table for the best instruction set of this CPU, or for the one that was taken. */
const stencil_cpu_table *stencil_cpu_best(void);

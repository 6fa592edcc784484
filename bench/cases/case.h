/* A case of the study: an application made of phases, each of which needs all that the one before has made.
 * What the GPU runs and what a CPU runs is the same source.
 *
 * Case NAME is two files and a line of cases.def:
 *
 *   NAME.cuh   the phases, C and CUDA at once, in these names:
 *                NAME_arguments                     sizes and arrays; at most STENCIL_CASE_ARGUMENTS_BYTES
 *                enum NAME_lanes, NAME_shared_bytes threads of a block, and memory that they share
 *                enum NAME_resident                 blocks that a multiprocessor is to have room for, which
 *                                                   says how many registers there are; 0: the compiler does
 *                NAME_phases(arguments)             how many there are; not 0
 *                NAME_phase(arguments, i, block)    a block's share of phase i = 0, 1, …
 *   NAME.c     sizes, data and the plain version, as STENCIL_CASE_BODY(NAME, …) (bench/cases/problem.h)
 *
 * and, where a library makes the same result, stencil_case_ceiling_NAME() (bench/cases/ceiling.h).
 *
 * A phase is written for a block of lanes. On a GPU a lane is a thread; on a CPU a thread is a block and
 * makes its lanes one after the other, so what a lane knows ends with CASE_LANES(): what another one needs
 * stands in block.shared, behind a CASE_SYNC(). A run reads its inputs, and overwrites everything else before
 * it reads it: runs can follow each other. Neither names a barrier; the line in cases.def says whether blocks
 * depend on the ones before and after them alone, in a ring, so that `neighbor` will do. */
#pragma once

#include "sync/barrier.h"

/* One of `blocks` blocks that share the work of a phase. */
typedef struct stencil_case_block {
    uint32_t number, blocks;
    /* NAME_shared_bytes, its own; worth nothing at the beginning of a phase, unless the case keeps things
     * there (bench/cases/problem.h) */
    void *shared;
} stencil_case_block;

enum { STENCIL_CASE_ARGUMENTS_BYTES = 192, STENCIL_CASE_SHARED_MAX = 48 * 1024 };

/* CASE_LANES(t, lanes): for every lane t of a block, 0 … lanes - 1. CASE_SYNC(): what lanes have written to
 * shared memory before it they all read behind it. CASE_ITEMS(i, count, block): for the lanes' items of
 * `count` that need nothing of each other. CASE_GROUPS(g, count, block): for the block's items of `count`,
 * all lanes together; the first thing that they do with shared memory stands behind a CASE_SYNC(). */
#ifdef __CUDA_ARCH__
#define CASE_LANES(t, lanes) for (uint32_t t = threadIdx.x, more_ = 1; more_ != 0; more_ = 0)
#define CASE_SYNC()          __syncthreads()
#define CASE_ITEMS(i, count, block)                                                                          \
    for (int64_t i = (int64_t)(block).number * blockDim.x + threadIdx.x; i < (count);                        \
         i += (int64_t)(block).blocks * blockDim.x)
#define CASE_GROUPS(g, count, block)                                                                         \
    for (int64_t g = (int64_t)(block).number; g < (count); g += (int64_t)(block).blocks)
#else
#define CASE_LANES(t, lanes) for (uint32_t t = 0; t < (uint32_t)(lanes); t++)
#define CASE_SYNC()          (void)0
#define CASE_SHARE(i, count, block)                                                                          \
    for (int64_t i = stencil_share(count, (block).blocks, (block).number),                                   \
                 end_##i = stencil_share(count, (block).blocks, (int64_t)(block).number + 1);                \
         i < end_##i; i++)
#define CASE_ITEMS(i, count, block)  CASE_SHARE(i, count, block)
#define CASE_GROUPS(g, count, block) CASE_SHARE(g, count, block)
#endif

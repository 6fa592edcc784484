/* A benchmark case: an application made of phases, each of which needs all results of the previous phase. GPU
 * and CPU run the same source.
 *
 * Case NAME is two files and a line of cases.def:
 *
 *   NAME.cuh   the phases, C and CUDA at once, in these names:
 *                NAME_arguments                     sizes and arrays; at most STENCIL_CASE_ARGUMENTS_BYTES
 *                enum NAME_lanes, NAME_shared_bytes threads of a block, and bytes of its shared memory
 *                enum NAME_resident                 blocks to fit on a multiprocessor, which limits registers
 *                                                   per thread; 0: the compiler chooses
 *                NAME_phases(arguments)             number of phases; not 0
 *                NAME_phase(arguments, i, block)    a block's share of phase i = 0, 1, …
 *   NAME.c     sizes, data and the plain version, as STENCIL_CASE_BODY(NAME, …) (bench/cases/problem.h)
 *
 * and, where a library makes the same result, stencil_case_ceiling_NAME() (bench/cases/problem.h).
 *
 * A phase is written for a block of lanes. On a GPU a lane is a thread; on a CPU a thread is a block and
 * runs its lanes one after the other, so a lane's local variables end with CASE_LANES(), and data for other
 * lanes are in block.shared, to be read after a CASE_SYNC(). A run overwrites every array but its inputs
 * before reading it, so that runs can be repeated. Phases name no barrier; the line in cases.def says whether
 * a block depends only on the previous and the next block, in a ring, so that barrier `neighbor` suffices. */
#pragma once

#include "sync/barrier.h"

/* Block `number` of the `blocks` blocks that share the work of a phase. */
typedef struct stencil_case_block {
    uint32_t number, blocks;
    /* The block's shared memory of NAME_shared_bytes bytes; undefined at the beginning of a phase, unless the
     * case's body sets `keeps` (bench/cases/problem.h) */
    void *shared;
} stencil_case_block;

enum { STENCIL_CASE_ARGUMENTS_BYTES = 192, STENCIL_CASE_SHARED_MAX = 48 * 1024 };

/* CASE_LANES(t, lanes) loops over the lanes t = 0 … lanes - 1 of a block. CASE_SYNC() is __syncthreads(), or
 * nothing on a CPU. CASE_ITEMS(i, count, block) loops over a lane's share of `count` independent items;
 * CASE_SHARE(i, count, block) does so where a block's items are to follow each other, as in a ring of blocks.
 * CASE_GROUPS(g, count, block) loops over the block's share of `count` items, each processed by all lanes;
 * the body starts with a CASE_SYNC() before it accesses shared memory. */
#ifdef __CUDA_ARCH__
#define CASE_LANES(t, lanes) for (uint32_t t = threadIdx.x, more_ = 1; more_ != 0; more_ = 0)
#define CASE_SYNC()          __syncthreads()
#define CASE_ITEMS(i, count, block)                                                                          \
    for (int64_t i = (int64_t)(block).number * blockDim.x + threadIdx.x; i < (count);                        \
         i += (int64_t)(block).blocks * blockDim.x)
#define CASE_SHARE(i, count, block)                                                                          \
    for (int64_t i = stencil_share(count, (block).blocks, (block).number) + threadIdx.x,                     \
                 end_##i = stencil_share(count, (block).blocks, (int64_t)(block).number + 1);                \
         i < end_##i; i += blockDim.x)
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

/* What the .cu files of the benchmarks and of their harness hand to the host's side: kernels, what these are
 * given and what they say. Tables of kernels, declared here as STENCIL_KERNELS name[COUNT], are defined there
 * as an array of STENCIL_KERNEL(kernel). Functions with STENCIL_C find kernels by their arguments; NULL:
 * there is no such one. Internal to bench/. */
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

/* The clock that is seen: (int64_t *seen), one thread; seen[0] cycles in seen[1] ns. */
STENCIL_KERNELS stencil_clock_kernel;

/* add */

enum { STENCIL_ADDS_UNROLLED = 512 };

typedef struct stencil_add_seen {
    int64_t cycles;
    float sum;
} stencil_add_seen;

/* (int64_t loops, float one, stencil_add_seen *seen): starts at 0 and adds `one` 512 x loops times, each
 * addition waiting for the last. */
STENCIL_KERNELS stencil_add_kernel;

/* block, warp, memory: operations inside a multiprocessor */

/* What a warp saw: the first lane that takes part writes it. */
typedef struct stencil_sm_record {
    int64_t start, end; /* clock of multiprocessor `sm` */
    uint32_t sm;
    uint32_t wrong; /* results that were not right, all lanes */
} stencil_sm_record;

/* The argument of every such kernel. */
typedef struct stencil_sm_arguments {
    int64_t repeats;           /* a multiple of what the kernel unrolls */
    int size;                  /* of a group, where it is not known at compile time */
    stencil_sm_record *record; /* [blocks][warps in a block], at least 32; zeroed */
} stencil_sm_arguments;

/* Repeats of timed kernels of block and warp must be a multiple of this. */
enum { STENCIL_SM_UNROLLED = 64 };

/* __syncthreads(), timed; or, with other things than time in mind, checked that it holds, once per repeat. */
enum { STENCIL_BLOCK_TIMED, STENCIL_BLOCK_CHECKED, STENCIL_BLOCK_KERNELS };
STENCIL_KERNELS stencil_block_kernels[STENCIL_BLOCK_KERNELS];

typedef enum stencil_warp_operation {
    STENCIL_WARP_NOTHING, /* the loop APART with an instruction of one cycle in it */
    STENCIL_WARP_SYNCWARP,
    STENCIL_WARP_TILE,      /* tiles of `size` lanes: 1, 2, 4, 8, 16, 32 */
    STENCIL_WARP_COALESCED, /* the first `size` lanes, in a branch of their own */
    STENCIL_WARP_SHUFFLE_TILE,
    STENCIL_WARP_SHUFFLE_COALESCED,
    STENCIL_WARP_OPERATION_COUNT
} stencil_warp_operation;

typedef enum stencil_warp_loop {
    STENCIL_WARP_TOGETHER, /* the compiler knows that the lanes go together: a barrier of the warp does
                              nothing */
    STENCIL_WARP_APART,    /* it does not know; not unrolled */
    STENCIL_WARP_CHECK     /* each result is looked at */
} stencil_warp_loop;

/* NULL where there is no such kernel. The arguments' `size` has to be `size`. */
STENCIL_C const void *stencil_warp_kernel(stencil_warp_operation operation, int size, stencil_warp_loop loop);

/* A chain of `nodes` (a power of two) places, `stride` words of 4 bytes apart; each holds the number of the
 * next. All of them make one ring: next = (1664525 x node + 1013904223) modulo nodes. */
typedef struct stencil_memory_chain {
    uint32_t *place;
    uint32_t nodes, stride;
} stencil_memory_chain;

static inline uint32_t stencil_memory_next(uint32_t node, uint32_t nodes) {
    return (1664525u * node + 1013904223u) & (nodes - 1);
}

typedef struct stencil_memory_seen {
    int64_t cycles;
    uint32_t node; /* where the chase ended */
} stencil_memory_seen;

typedef enum stencil_memory_kernel {
    /* One thread follows a chain from `first` for `steps` steps, a multiple of 16: (stencil_memory_chain,
     * uint32_t first, int64_t steps, stencil_memory_seen *). */
    STENCIL_MEMORY_CHASE_CACHED,  /* through L1 */
    STENCIL_MEMORY_CHASE_L2,      /* past L1 */
    STENCIL_MEMORY_CHASE_ACQUIRE, /* ld.acquire at device scope, as a barrier polls */
    STENCIL_MEMORY_CHASE_SHARED,  /* a chain of 4096 words in shared memory, whose `place` is not used */
    STENCIL_MEMORY_FILL,          /* fills a chain: (stencil_memory_chain) */
    STENCIL_MEMORY_COPY, /* 16 bytes a thread at a time: (const void *from, void *to, int64_t vectors) */
    /* Every block reads all of it `passes` times, past L1, and adds up the words by exclusive or: (const void
     * *from, int64_t vectors, int64_t passes, uint32_t *result [blocks]). */
    STENCIL_MEMORY_READ,
    /* With a stencil_sm_arguments: a thread reads 16 bytes of shared memory per repeat (a multiple of 32);
     * or, 000 Fig. 10, adds doubles in shared memory, 8 bytes per repeat (a multiple of 16). */
    STENCIL_MEMORY_SHARED_READ,
    STENCIL_MEMORY_SHARED_SUM,
    STENCIL_MEMORY_KERNELS
} stencil_memory_kernel;
STENCIL_KERNELS stencil_memory_kernels[STENCIL_MEMORY_KERNELS];

/* launch, host-barrier; the kernels of launch take no arguments, as its method asks for */

typedef enum stencil_launch_kernel {
    STENCIL_LAUNCH_NULL,
    STENCIL_LAUNCH_COUNT, /* adds 1 to a counter in a way that loses additions where two kernels overlap */
    STENCIL_LAUNCH_MARK,  /* (uint32_t *word, uint32_t round): spins some microseconds, more for some rounds,
                             then  stores the round */
    /* Sleeps 10 us a unit, as 10 nanosleeps of 1000; spins 20 000 cycles a unit. So many units. */
    STENCIL_LAUNCH_SLEEP_1,
    STENCIL_LAUNCH_SLEEP_5,
    STENCIL_LAUNCH_SLEEP_10,
    STENCIL_LAUNCH_SLEEP_50,
    STENCIL_LAUNCH_SPIN_1,
    STENCIL_LAUNCH_SPIN_5,
    STENCIL_LAUNCH_SPIN_10,
    STENCIL_LAUNCH_SPIN_50,
    STENCIL_LAUNCH_KERNELS,
    STENCIL_LAUNCH_LONGER = 2 /* so many further on: ten times the units */
} stencil_launch_kernel;
/* All but MARK wait for the kernel before where they are launched programmatically. */
STENCIL_KERNELS stencil_launch_kernels[STENCIL_LAUNCH_KERNELS];

/* The counter of the current device: reads it into *count and zeroes it. Returns a cudaError_t. */
STENCIL_C int stencil_launch_take_count(uint32_t *count);

/* grid, multi-grid */

/* Argument of a kernel that passes a barrier. */
typedef struct stencil_passes {
    stencil_barrier_state state;
    int64_t passes;
    uint32_t *word[STENCIL_PARTS_MAX]; /* of each part: a word for each block, zeroed; for verification */
    uint32_t *missing; /* how often a block had not arrived when another one that waits for it went on */
    uint32_t blocks;   /* of each part */
} stencil_passes;

/* A barrier and its kernels with a stencil_passes. [1] verifies: everybody looks each time whether those that
 * it waits for have arrived, on other GPUs first, and some come late. */
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

/* peer */

typedef struct stencil_peer_seen {
    int64_t cycles;
    uint32_t failed; /* waited in vain */
} stencil_peer_seen;

typedef enum stencil_peer_kernel {
    STENCIL_PEER_PUT, /* (const void *from, void *to, int64_t vectors): 16 bytes a thread at a time */
    /* (int64_t repeats, uint32_t *words): every thread adds 1 at system scope to a word of its own block,
     * [blocks][32], one in 32 threads to each. */
    STENCIL_PEER_ADDS,
    /* A chain of operations on one word, each of which waits for the last: (int64_t repeats, uint32_t *word,
     * stencil_peer_seen *seen): one thread, a multiple of 16; `word` is 0. */
    STENCIL_PEER_LOAD,    /* ld.acquire.sys */
    STENCIL_PEER_ADD_GPU, /* atom.add of device scope */
    STENCIL_PEER_ADD_SYS, /* of system scope */
    /* A flag to and fro, polled with ld.acquire.sys: (int64_t rounds, uint32_t *mine, uint32_t *theirs, bool
     * first, stencil_peer_seen *seen): one thread; `mine` is in its own memory, both words are 0. It stores
     * the number of the round to `theirs` and waits for it in `mine`, or, where it is not the first, the
     * other way round. */
    STENCIL_PEER_RELAXED,     /* st.relaxed.sys: the flag alone */
    STENCIL_PEER_RELEASE_GPU, /* orders what the GPU sees, not what its peers do */
    STENCIL_PEER_RELEASE_SYS, /* what a barrier across GPUs needs */
    STENCIL_PEER_KERNELS
} stencil_peer_kernel;
STENCIL_KERNELS stencil_peer_kernels[STENCIL_PEER_KERNELS];

/* order */

enum { STENCIL_ORDER_LANES = 32 };

/* What each lane of one warp saw: the clock before and after, and the value of a shuffle that takes the
 * number of the next lane (other barriers: that number). */
typedef struct stencil_order_seen {
    int64_t before[STENCIL_ORDER_LANES], after[STENCIL_ORDER_LANES];
    int32_t value[STENCIL_ORDER_LANES];
} stencil_order_seen;

/* What is told by its name and, where it shuffles, by the values: a kernel with a stencil_order_seen * for
 * one warp, each lane of which goes through a branch of its own. The last one is the counterproof: no
 * barrier. */
typedef struct stencil_order_kernel {
    const char *name; /* NULL behind the last one */
    const void *kernel;
    bool shuffles;
} stencil_order_kernel;
STENCIL_C const stencil_order_kernel stencil_order_kernels[];

/* partial */

typedef struct stencil_partial_work {
    stencil_barrier_state state; /* of those with a time limit */
    uint32_t *done;              /* threads that came to their end */
} stencil_partial_work;

/* A kernel with a stencil_partial_work, in which the part that does not synchronise ends its work instead. */
typedef struct stencil_partial_kernel {
    const char *kind, *name; /* NULL behind the last one */
    const void *kernel;
    unsigned threads;
    bool grid;                  /* a block on every multiprocessor; else a single one */
    stencil_barrier_id barrier; /* of barriers.def; none: without a time limit */
} stencil_partial_kernel;
STENCIL_C const stencil_partial_kernel stencil_partial_kernels[];

#endif

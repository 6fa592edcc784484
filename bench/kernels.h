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

/* add */

enum { STENCIL_ADDS_UNROLLED = 512 };

typedef struct stencil_add_seen {
    int64_t cycles;
    float sum;
} stencil_add_seen;

/* Starts at 0 and adds `one` 512 x loops times, each addition waiting for the last. */
typedef struct stencil_add_work {
    int64_t loops;
    float one;
    stencil_add_seen *seen;
} stencil_add_work;
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

/* How an operation of a group is repeated. */
typedef enum stencil_group_loop {
    STENCIL_LOOP_TOGETHER, /* the compiler knows that the lanes go together: a barrier of the warp does
                              nothing */
    STENCIL_LOOP_APART,    /* it does not know; not unrolled */
    STENCIL_LOOP_CHECKED,  /* each result is looked at; not to be timed */
    STENCIL_LOOP_COUNT
} stencil_group_loop;

/* An operation of groups of `least` to `most` lanes, which stencil_sm_arguments.size says. */
typedef struct stencil_group_kernel {
    const char *name;
    const void *kernel[STENCIL_LOOP_COUNT]; /* NULL: there is none */
    int least, most;
    bool shuffles;
} stencil_group_kernel;

STENCIL_C const stencil_group_kernel stencil_block_kernel; /* __syncthreads(), of all threads of a block */
STENCIL_C const stencil_group_kernel stencil_warp_kernels[];

/* memory */

/* `nodes` (a power of two) places, `stride` words of 4 bytes apart; each holds the number of the next. */
typedef struct stencil_chain {
    uint32_t *place;
    uint32_t nodes, stride;
} stencil_chain;

typedef struct stencil_chase_seen {
    int64_t cycles;
    uint32_t node; /* where the chase ended */
} stencil_chase_seen;

/* One thread follows a chain from `first` for `steps` steps, a multiple of 16. */
typedef struct stencil_chase_work {
    stencil_chain chain;
    uint32_t first;
    int64_t steps;
    stencil_chase_seen *seen;
} stencil_chase_work;

/* In shared memory (a chain of 4096 words, whose `place` is not used); through L1; past L1, one word, with
 * ld.acquire at device scope, as a barrier polls; past L1, the same for memory that L2 does not hold. */
enum { STENCIL_CHASES = 5 };
STENCIL_C const stencil_named_kernel stencil_chase_kernels[STENCIL_CHASES];

/* The copy moves 16 bytes a thread at a time. To read: every block reads all of `from` `passes` times, past
 * L1, and adds up the words by exclusive or. */
typedef struct stencil_vector_work {
    const void *from;
    void *to;
    int64_t vectors, passes;
    uint32_t *result; /* [blocks] */
} stencil_vector_work;
STENCIL_KERNELS stencil_copy_kernel;
STENCIL_KERNELS stencil_read_kernel;

/* With a stencil_sm_arguments: a thread reads 16 bytes of shared memory per repeat (a multiple of 32); or,
 * 000 Fig. 10, adds doubles in shared memory, 8 bytes per repeat (a multiple of 16). */
STENCIL_KERNELS stencil_shared_read_kernel;
STENCIL_KERNELS stencil_shared_sum_kernel;

/* launch, host-barrier */

/* What marks a round: it spins some microseconds, more for some rounds, then stores the round. */
typedef struct stencil_launch_mark {
    uint32_t *word, round;
} stencil_launch_mark;

/* All but MARK wait for the kernel before where they are launched programmatically, and take no arguments, as
 * the method of launch asks for. */
enum {
    STENCIL_LAUNCH_NULL,
    STENCIL_LAUNCH_COUNT, /* adds 1 to a counter in a way that loses additions where two kernels overlap */
    STENCIL_LAUNCH_MARK,
    /* 1, 5, 10, 50 units: sleeps 10 us a unit, as 10 nanosleeps of 1000; spins 20 000 cycles a unit. */
    STENCIL_LAUNCH_SLEEP,
    STENCIL_LAUNCH_SPIN = STENCIL_LAUNCH_SLEEP + 4,
    STENCIL_LAUNCH_KERNELS = STENCIL_LAUNCH_SPIN + 4,
    STENCIL_LAUNCH_LONGER = 2 /* so many further on: ten times the units */
};
STENCIL_KERNELS stencil_launch_kernels[STENCIL_LAUNCH_KERNELS];

/* The counter of the current device: reads it into *count and zeroes it. Returns a cudaError_t. */
STENCIL_C int stencil_launch_take_count(uint32_t *count);

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

/* peer */

typedef struct stencil_peer_seen {
    int64_t cycles;
    uint32_t failed; /* waited in vain */
} stencil_peer_seen;

typedef struct stencil_peer_work {
    int64_t repeats;
    uint32_t *word, *theirs;
    bool first;
    stencil_peer_seen *seen;
} stencil_peer_work;

/* Stores 16 bytes a thread at a time: a stencil_vector_work. */
STENCIL_KERNELS stencil_put_kernel;
/* Every thread adds 1 at system scope to a word of its own block, [blocks][32], one in 32 threads to each. */
STENCIL_C const stencil_named_kernel stencil_adds_kernel;
/* One thread repeats an operation on one word, which is 0, a multiple of 16 times, each of which waits for
 * the last: a load first, which leaves the word alone, then additions. */
STENCIL_C const stencil_named_kernel stencil_chain_kernels[];
/* A flag to and fro, polled with ld.acquire.sys, by one thread on each side; `word` is in its own memory,
 * both words are 0. It stores the number of the round to `theirs` and waits for it in `word`, or, where it is
 * not the first, the other way round. The store: the flag alone; a release that orders what the GPU sees, not
 * what its peers do; one that a barrier across GPUs needs. */
STENCIL_C const stencil_named_kernel stencil_ping_kernels[];

/* order */

enum { STENCIL_ORDER_LANES = 32 };

/* What each lane of one warp saw: the clock before and after, and the value of a shuffle that takes the
 * number of the next lane (other barriers: that number). */
typedef struct stencil_order_seen {
    int64_t before[STENCIL_ORDER_LANES], after[STENCIL_ORDER_LANES];
    int32_t value[STENCIL_ORDER_LANES];
} stencil_order_seen;

/* With a stencil_order_seen * for one warp, each lane of which goes through a branch of its own. The last one
 * is the counterproof: no barrier. */
typedef struct stencil_order_kernel {
    const char *name;
    const void *kernel;
    bool shuffles;
} stencil_order_kernel;
STENCIL_C const stencil_order_kernel stencil_order_kernels[];

/* partial */

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

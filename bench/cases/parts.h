/* Cases whose problem is spread over several parts (a GPU each or, on a CPU, a thread each): the
 * distribution, runs in each order that synchronises parts, and the benchmark. Internal to bench/. */
#pragma once

#include "bench/cases/loop.h"
#include "bench/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Returns the largest number of parts: GPUs of the options (1 without peer access), or CPU threads. */
int stencil_parts_most(const stencil_bench *b);

enum { STENCIL_PARTS_ORDERS_MAX = 8, STENCIL_PARTS_ARRAYS_MAX = 4, STENCIL_PART_BYTES = 384 };

/* Data of a part, which its case defines; the first STENCIL_CASE_ARGUMENTS_BYTES are its phases' arguments.
 */
typedef struct stencil_part {
    unsigned char bytes[STENCIL_PART_BYTES] __attribute__((aligned(16)));
} stencil_part;

/* An array of a part. INPUT: filled from `host`, or zeros; SCRATCH: overwritten before the run that is
 * verified; RESULT: a scratch array that is copied to `host` after that run. */
typedef struct stencil_parts_array {
    int part;
    stencil_case_array_kind kind;
    void *host;
    size_t bytes;
    void *memory; /* the part's copy; NULL: to be allocated and zeroed; on a CPU `host`, if not NULL */
} stencil_parts_array;

/* A problem, spread over parts. The caller fills in the first three members. */
typedef struct stencil_parts_spread {
    const struct stencil_parts_case *of;
    const stencil_case_problem *problem;
    int parts;

    uint32_t blocks; /* largest number of blocks of a part; 1 on a CPU */
    stencil_part part[STENCIL_PARTS_MAX];
    int array_count;
    stencil_parts_array array[STENCIL_PARTS_MAX * STENCIL_PARTS_ARRAYS_MAX];
    const struct stencil_device *device[STENCIL_PARTS_MAX]; /* [parts]: GPU of each part; NULL: a CPU */
} stencil_parts_spread;

/* Runs of a spread problem in one order. The caller fills in the first three members. */
typedef struct stencil_parts_loop {
    const stencil_parts_spread *spread;
    int order;        /* index into the case's order[] */
    double timeout_s; /* longest wait at a barrier */

    /* Fault planted in the next runs of a persistent kernel; `absent` counts the blocks of all parts, and is
     * the last block initially. */
    stencil_fault fault;
    stencil_part part[STENCIL_PARTS_MAX];
    stencil_barrier_state team;             /* barrier of CPU threads; GPUs use its neighbour lists, too */
    stencil_status (*ceiling)(void *state); /* makes a run by a vendor library and waits for all parts */
    void *ceiling_state;                    /* argument of `ceiling`; lasts until the benchmark ends */
    struct stencil_parts_kernel *kernel;    /* state on GPUs; NULL: the loop runs on a CPU */
} stencil_parts_loop;

/* A case over parts. Its benchmark has a row for each size, number of parts and order. */
typedef struct stencil_parts_case {
    const char *name, *of;      /* name in messages; name of the case with its problems and phases */
    stencil_case_sizes size[2]; /* default sizes on a CPU, on GPUs */
    struct {
        const char *name;           /* name of the order; NULL ends the array */
        stencil_barrier_id barrier; /* barrier of a persistent kernel, where faults can be planted; none: the
                                       host synchronises the parts */
        bool ceiling, gpus,
            apart; /* a vendor library's order; GPUs only; measured only when `apart` is set */
    } order[STENCIL_PARTS_ORDERS_MAX + 1];
    bool one_leader;   /* one host thread launches on all GPUs; else a host thread per GPU */
    bool each_has_all; /* each part has the whole result; else a piece of the result */
    /* Fills in the data of part `part`, and what other parts need of it, with arrays from
     * stencil_parts_memory(). Called from the last part to the first; all parts are zeroed before. */
    stencil_status (*spread)(stencil_bench *b, stencil_parts_spread *spread, int part);
    /* Allocates additional memory of an order, until the benchmark ends. `why`, "" before, receives a reason
     * when this machine cannot run the order. */
    stencil_status (*create)(stencil_bench *b, stencil_parts_loop *loop, char why[96]);
    /* steps() returns the number of steps of a run that the host synchronises, with a barrier of all parts
     * after each step. step() runs a part's share of step 0, 1, …; on GPUs it enqueues the share in the
     * part's stream, with the part's GPU current. step() returns 0, or a cudaError_t. */
    int (*steps)(const stencil_parts_loop *loop);
    int (*step)(const stencil_parts_loop *loop, int part, int step);
} stencil_parts_case;

/* Spreads a problem over parts, with memory that lasts until the benchmark ends. */
stencil_status stencil_parts_spread_create(stencil_bench *b, stencil_parts_spread *spread);
/* Allocates the memory of a part that `array` describes, until the benchmark ends, and stores its address in
 * *to. Leaves the part's GPU current. */
stencil_status stencil_parts_memory(stencil_bench *b, stencil_parts_spread *spread,
                                    const stencil_parts_array *array, void *to);

/* Prepares a loop over parts, whose resources last until the benchmark ends; the loop must not move. `why`,
 * "" before, receives a reason when the device cannot run the order. */
stencil_status stencil_parts_loop_create(stencil_bench *b, stencil_parts_loop *loop, char why[96]);
/* Makes and times `count` runs, each from the first launch until all parts have ended. Errors: INTERNAL when
 * a wait at a barrier timed out. */
stencil_status stencil_parts_loop_run(stencil_parts_loop *loop, int64_t count, double *time_s);
/* Makes a run from overwritten memory and checks that its result is the expected one to the bit, or within
 * the error bound for a vendor library. */
stencil_status stencil_parts_loop_verify(stencil_parts_loop *loop);

/* Functions for step() of a case: run a phase of a part (with one block, or all blocks of the part), and copy
 * bytes from one part's memory to another part's. Both return 0, or a cudaError_t. */
int stencil_parts_phase(const stencil_parts_loop *loop, int part, int64_t phase, bool one_block);
int stencil_parts_copy(const stencil_parts_loop *loop, int from_part, int to_part, const void *from, void *to,
                       size_t bytes);

/* Measures the orders of a case over parts whose `apart` flag equals `apart`. */
stencil_status stencil_parts_measure(stencil_bench *b, const stencil_parts_case *of, bool apart);

#ifdef STENCIL_HAVE_CUDA
/* Waits for all work enqueued on the GPUs of all parts. */
stencil_status stencil_parts_wait(const stencil_parts_spread *spread);
#endif

#ifdef __cplusplus
}
#endif

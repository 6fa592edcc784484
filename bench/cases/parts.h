/* Cases that several parts share, a GPU each or, on a CPU, a thread each: how a problem is spread over them,
 * one loop that runs it by everything that keeps parts in order, and the benchmark. Internal to bench/. */
#pragma once

#include "bench/cases/loop.h"
#include "bench/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most parts of a problem: GPUs of the options (1 if they cannot reach each other's memory), or threads. */
int stencil_parts_most(const stencil_bench *b);

enum { STENCIL_PARTS_ORDERS_MAX = 8, STENCIL_PARTS_ARRAYS_MAX = 4, STENCIL_PART_BYTES = 384 };

/* A part in its case's own terms; the first STENCIL_CASE_ARGUMENTS_BYTES are the arguments of its phases. */
typedef struct stencil_part {
    unsigned char bytes[STENCIL_PART_BYTES] __attribute__((aligned(16)));
} stencil_part;

/* Memory of a part, in bytes. INPUT: what `host` has, or zeros, kept; SCRATCH: spoiled before a run is
 * verified; RESULT: spoiled, too, and brought to `host` after that run. */
typedef struct stencil_parts_array {
    int part;
    stencil_case_array_kind kind;
    void *host;
    size_t bytes;
    void *memory; /* NULL: to be made, zeroed; on a CPU it is `host`, where there is one */
} stencil_parts_array;

/* A problem, spread over parts. The first three members are the caller's to fill in. */
typedef struct stencil_parts_spread {
    const struct stencil_parts_case *of;
    const stencil_case_problem *problem;
    int parts;

    uint32_t blocks; /* of a part, at most; on a CPU 1 */
    stencil_part part[STENCIL_PARTS_MAX];
    int array_count;
    stencil_parts_array array[STENCIL_PARTS_MAX * STENCIL_PARTS_ARRAYS_MAX];
    const struct stencil_device *device[STENCIL_PARTS_MAX]; /* [parts]; NULL: a CPU */
} stencil_parts_spread;

/* Runs of a spread problem in one order. The first three members are the caller's to fill in. */
typedef struct stencil_parts_loop {
    const stencil_parts_spread *spread;
    int order;        /* of the case's */
    double timeout_s; /* of a wait at a barrier */

    /* The fault of the next runs of a persistent kernel; `absent` is a number among all blocks, the last one
     * at first. */
    stencil_fault fault;
    stencil_part part[STENCIL_PARTS_MAX];
    stencil_barrier_state team;             /* a CPU's; its lists of neighbours are those of GPUs, too */
    stencil_status (*ceiling)(void *state); /* a run by a library, until all parts have ended */
    void *ceiling_state;                    /* until the benchmark ends */
    struct stencil_parts_kernel *kernel;    /* NULL: a CPU */
} stencil_parts_loop;

/* A case over parts. Its benchmark has rows over sizes and the number of parts, for
 * everything that keeps these in order. */
typedef struct stencil_parts_case {
    const char *name, *of;      /* as messages name it; the case that its problems and phases are of */
    stencil_case_sizes size[2]; /* where nobody asks, on a CPU, on GPUs */
    struct {
        const char *name;           /* NULL behind the last one */
        stencil_barrier_id barrier; /* of a persistent kernel, whose waits have a time limit: faults are
                                       planted there; none: the host leads */
        bool ceiling, gpus, apart;  /* a library's; has no CPU side; not among those that run together */
    } order[STENCIL_PARTS_ORDERS_MAX + 1];
    bool one_leader;   /* one thread of the host leads all GPUs; else a thread leads each */
    bool each_has_all; /* the result; else a piece of it */
    /* Fills in what part `part` knows, and what others know of it; its memory is made by
     * stencil_parts_memory(). All parts are zeroed before; the last one comes first. */
    stencil_status (*spread)(stencil_bench *b, stencil_parts_spread *spread, int part);
    /* Allocates memory that an order needs besides, which lasts until the benchmark ends. Sets *why, ""
     * before, to a reason where this machine cannot. */
    stencil_status (*create)(stencil_bench *b, stencil_parts_loop *loop, char why[96]);
    /* Returns the number of steps of a run that the host leads, behind each of which all parts wait for each
     * other; a part's share of step 0, 1, … On GPUs it is queued in the stream of the part, whose GPU is
     * current. 0, or what CUDA says. */
    int (*steps)(const stencil_parts_loop *loop);
    int (*step)(const stencil_parts_loop *loop, int part, int step);
} stencil_parts_case;

/* Spreads a problem, until the benchmark ends. */
stencil_status stencil_parts_spread_create(stencil_bench *b, stencil_parts_spread *spread);
/* Makes what `array` says until the benchmark ends, and writes its address to where `to` points. Leaves the
 * GPU of the part the current one. */
stencil_status stencil_parts_memory(stencil_bench *b, stencil_parts_spread *spread,
                                    const stencil_parts_array *array, void *to);

/* Makes ready to run, until the benchmark ends; the loop stays where it is. *why, "" before: a reason where
 * the device cannot run it. */
stencil_status stencil_parts_loop_create(stencil_bench *b, stencil_parts_loop *loop, char why[96]);
/* `count` runs, each from the first launch until all parts have ended. INTERNAL: somebody waited in vain. */
stencil_status stencil_parts_loop_run(stencil_parts_loop *loop, int64_t count, double *time_s);
/* A run from spoiled memory: whether its result is the problem's, to the bit; a ceiling's, within its bound.
 */
stencil_status stencil_parts_loop_verify(stencil_parts_loop *loop);

/* Steps of a case call these: a phase by as many blocks as a part has, or by one; a copy of bytes from a
 * part's memory to that of another one. */
int stencil_parts_phase(const stencil_parts_loop *loop, int part, int64_t phase, bool one_block);
int stencil_parts_copy(const stencil_parts_loop *loop, int from_part, int to_part, const void *from, void *to,
                       size_t bytes);

/* bench/cases/parts_measure.c: all orders but those apart, or these alone. */
stencil_status stencil_parts_measure(stencil_bench *b, const stencil_parts_case *of, bool apart);

#ifdef STENCIL_HAVE_CUDA
/* Waits for everything that was queued. */
stencil_status stencil_parts_wait(const stencil_parts_spread *spread);
#endif

#ifdef __cplusplus
}
#endif

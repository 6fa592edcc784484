/* Runs of a case's problem, spread over parts (a GPU each or, on a CPU, a thread each; one part: the blocks
 * of a GPU, or a team of threads), with its phases ordered in each possible way: one launch per phase, a CUDA
 * graph of such launches, steps that the host synchronises, a persistent kernel with a barrier; on a CPU a
 * parallel region per phase, or a team of threads with the barrier's CPU twin. Internal to bench/. */
#pragma once

#include "bench/cases/problem.h"
#include "bench/device.h"
#include "bench/timers.h"
#include "kernels/sweep.h"
#include "solver/attribution/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The argument of a case's CUDA kernels. */
typedef struct stencil_case_launch {
    stencil_barrier_state state;
    int64_t phase, phases;     /* index of the phase (with one launch per phase), and number of phases */
    stencil_fault fault;       /* fault planted in a persistent kernel; step i = 1, 2, … ends phase i - 1 */
    stencil_trace trace;       /* trace with marks in ns; step i = 1, 2, … ends phase i - 1 */
    stencil_kernel_span *span; /* on this GPU, when its kernels run; NULL: not noted */
    bool special;              /* a fault, a trace or a span is set */
    unsigned char arguments[STENCIL_CASE_ARGUMENTS_BYTES] __attribute__((aligned(16)));
} stencil_case_launch;

/* Orders of a problem in one part, the ways to run phases one after the other: a barrier's number, or a
 * constant listed here. */
enum {
    STENCIL_CASE_IMPLICIT = STENCIL_BARRIER_none, /* one launch per phase; the host waits once, at the end */
    STENCIL_CASE_ALONE = STENCIL_BARRIER_COUNT,   /* one block, or thread, runs all phases */
    STENCIL_CASE_STREAM,                          /* one launch per phase, then a stream synchronisation */
    STENCIL_CASE_DEVICE,                          /* one launch per phase, then a device synchronisation */
    STENCIL_CASE_EVENT,                           /* one launch per phase, then a wait for an event */
    STENCIL_CASE_GRAPH,                           /* one launch per phase, all in a CUDA graph */
    STENCIL_CASE_CEILING,                         /* the vendor library's version of the case */
    STENCIL_CASE_SAMPLE,                          /* a version in the structure of a CUDA sample */
    STENCIL_CASE_ORDERS,
    STENCIL_CASE_CPU_ORDERS = STENCIL_CASE_STREAM
};

/* An order of phases, and its benchmark row. */
typedef struct stencil_case_order {
    const char *name;           /* NULL ends an array of orders */
    const char *strategy;       /* the solver's strategy that runs time steps in the same way; NULL: none */
    stencil_barrier_id barrier; /* barrier of a persistent kernel, where faults can be planted; none: launches
                                   or, with several parts, the host synchronise the phases */
    bool ceiling, gpus,
        apart; /* a vendor library's order, or a sample's; GPUs only; measured only when `apart` is set */
} stencil_case_order;

enum { STENCIL_PARTS_ARRAYS_MAX = 4, STENCIL_PART_BYTES = 384 };

/* Data of a part, as its case defines, beginning with STENCIL_CASE_ARGUMENTS_BYTES of arguments of phases. */
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
    void *memory; /* array in the part's memory; NULL: to be allocated; on a CPU `host`, if not NULL */
} stencil_parts_array;

/* A problem, spread over parts. The caller fills in the members before the blank line. */
typedef struct stencil_parts_spread {
    const struct stencil_parts_case *of;
    const stencil_case_problem *problem;
    int parts;
    uint32_t asked; /* blocks of a part, or threads, that share its work; 0: as many as there is work for */

    int64_t most;    /* number of blocks of a part, or threads on a CPU, that can be resident at once */
    uint32_t blocks; /* number of blocks of a part that share its work, at most `most` */
    stencil_part part[STENCIL_PARTS_MAX];
    int array_count;
    stencil_parts_array array[STENCIL_PARTS_MAX * STENCIL_PARTS_ARRAYS_MAX];
    const struct stencil_device *device[STENCIL_PARTS_MAX]; /* [parts]: GPU of each part; NULL: a CPU */
} stencil_parts_spread;

/* Runs of a spread problem in one order. The caller fills in the members before the blank line. */
typedef struct stencil_case_loop {
    const stencil_parts_spread *spread;
    int order;        /* index into the case's order[] */
    uint32_t blocks;  /* number of blocks of a part, or of threads; 0: as in the spread problem */
    double timeout_s; /* longest wait at a barrier */

    /* Fault planted in the next runs of a persistent loop, for tests; `absent` counts the blocks of all
     * parts, and is the last block initially. */
    stencil_fault fault;
    uint32_t workers; /* blocks or threads that run the first phase of a problem in one part */
    double bytes;     /* bytes that a run moves through memory; 0: unknown */
    const char *name; /* name of the order, or of the vendor library */
    uint32_t *ring;   /* neighbour lists of all blocks, as by stencil_ring_create(); NULL: not needed */
    stencil_part part[STENCIL_PARTS_MAX];
    stencil_trace trace;
    stencil_kernel_span *span[STENCIL_PARTS_MAX]; /* in each part's memory; NULL: kernels note no times */
    stencil_barrier_state team;                   /* barrier of a team of CPU threads */
    stencil_status (*ceiling)(const struct stencil_case_loop *loop); /* enqueues a library's run */
    void *ceiling_state;          /* private data of `ceiling`, until the benchmark ends */
    struct stencil_case_gpu *gpu; /* state on GPUs; NULL: the loop runs on a CPU */
} stencil_case_loop;

/* A case over parts. Its benchmark has a row for each size, number of parts and order. */
typedef struct stencil_parts_case {
    const char *name, *of;      /* name in messages; name of the case with its problems and phases */
    stencil_case_sizes size[2]; /* default sizes on a CPU, on GPUs */
    stencil_case_order order[STENCIL_CASE_ORDERS + 1];
    bool one_part;   /* one part's blocks share each phase, and runs are enqueued without waits in between */
    bool one_leader; /* one host thread launches on all GPUs; else a host thread per GPU */
    bool each_has_all; /* each part has the whole result; else a piece of the result */
    /* Fills in the data of part `part`, and what other parts need of it, with arrays from
     * stencil_parts_memory(). Called from the last part to the first; all parts are zeroed before. */
    stencil_status (*spread)(stencil_bench *b, stencil_parts_spread *spread, int part);
    stencil_case_create *create; /* allocates what an order needs in addition, until the benchmark ends */
    /* steps() returns the number of steps of a run that the host synchronises, with a barrier of all parts
     * after each step. step() runs a part's share of step 0, 1, …; on GPUs it enqueues the share in the
     * part's stream, with the part's GPU current. step() returns 0, or a cudaError_t. */
    int (*steps)(const stencil_case_loop *loop);
    int (*step)(const stencil_case_loop *loop, int part, int step);
} stencil_parts_case;

/* Any case in one part; its orders are the constants above. Members `name`, `of` and `size` are not set. */
extern const stencil_parts_case stencil_one_part;

static inline bool stencil_case_is_persistent(const stencil_parts_case *of, int order) {
    return of->order[order].barrier != STENCIL_BARRIER_none;
}

/* Returns the largest number of parts: GPUs of the options (1 without peer access), or CPU threads. */
int stencil_parts_most(const stencil_bench *b);
/* Finds how many blocks of a part are resident at once with every barrier of a case's orders. */
stencil_status stencil_parts_resident(const stencil_bench *b, const stencil_parts_case *of,
                                      const stencil_case_body *body, int parts, int64_t *blocks);

/* Spreads a problem over parts, with memory that lasts until the benchmark ends. */
stencil_status stencil_parts_spread_create(stencil_bench *b, stencil_parts_spread *spread);
/* Allocates the memory of a part that `array` describes, until the benchmark ends, and stores its address in
 * *to. Leaves the part's GPU current. */
stencil_status stencil_parts_memory(stencil_bench *b, stencil_parts_spread *spread,
                                    const stencil_parts_array *array, void *to);

/* Prepares a loop of runs, whose resources last until the benchmark ends; the loop must not move, and may get
 * fewer blocks. `why`, "" before, receives a reason when the device cannot run the order. */
stencil_status stencil_case_loop_create(stencil_bench *b, stencil_case_loop *loop, char why[96]);

/* Makes and times `count` runs in sequence, from the first launch until all parts have ended. Errors:
 * INTERNAL when a wait at a barrier timed out; the loop cannot be used afterwards. */
stencil_status stencil_case_loop_run(stencil_case_loop *loop, int64_t count, double *time_s);

/* Makes a run, with all arrays except inputs overwritten before, and checks that all results are the expected
 * ones to the bit, or within the error bound for a vendor library. */
stencil_status stencil_case_loop_verify(stencil_case_loop *loop);

/* Makes a traced run and sets `inside` to how its participants spend the time of a mean phase, except the
 * last phase. The caller destroys `inside`, after failures too; `inside` has no samples with a single phase,
 * with several parts or in a CUDA graph. */
stencil_status stencil_case_loop_attribute(stencil_case_loop *loop, stencil_inside *inside);

/* Functions for step() of a case: run a phase of a part with a number of blocks (ignored on a CPU), and copy
 * bytes from one part's memory to another part's. Both return 0, or a cudaError_t. */
int stencil_parts_phase(const stencil_case_loop *loop, int part, int64_t phase, uint32_t blocks);
int stencil_parts_copy(const stencil_case_loop *loop, int from_part, int to_part, const void *from, void *to,
                       size_t bytes);

/* Measures the orders of a case over parts whose `apart` flag equals `apart`. */
stencil_status stencil_parts_measure(stencil_bench *b, const stencil_parts_case *of, bool apart);

/* Returns the predicted seconds of a run with `blocks` blocks, `share` of those that fit at once, of a case
 * whose in_flight is not 0, on a calibrated GPU; NaN: unknown. Model of L. Zhang et al. (reduction.cuh),
 * section 7.1: Little's law gives the bandwidth for the bytes in flight (equation 1); a run takes latency,
 * synchronisation and the time of the remaining bytes (equations 2 and 3). Equations 4 and 5 give the sizes
 * where two orders take the same time. */
double stencil_case_predict(const stencil_case_problem *problem, int order, double blocks, double share,
                            const stencil_calibration *calibration);

/* Allocates memory on a GPU, which becomes current, or on the host (device NULL), until the benchmark ends,
 * copies `from` to it (NULL: zeros) and stores its address in *to. stencil_case_memory_spoil() sets all
 * bits of such memory; stencil_case_memory_read() copies such memory to `to` on the host. */
stencil_status stencil_case_memory(stencil_bench *b, const struct stencil_device *device, const void *from,
                                   size_t bytes, void *to);
stencil_status stencil_case_memory_spoil(const struct stencil_device *device, void *memory, size_t bytes);
stencil_status stencil_case_memory_read(const struct stencil_device *device, void *to, const void *memory,
                                        size_t bytes);

#ifdef STENCIL_HAVE_CUDA
/* Functions that do for a problem on GPUs the work of stencil_case_loop_create() and, in orders in which the
 * host does not synchronise parts, of stencil_case_loop_run(). */
stencil_status stencil_case_gpu_create(stencil_bench *b, stencil_case_loop *loop, char why[96]);
stencil_status stencil_case_gpu_run(stencil_case_loop *loop, int64_t count, double *time_s);
/* Enqueues a phase of a part, with a number of blocks. Returns a cudaError_t. */
int stencil_case_gpu_phase(const stencil_case_loop *loop, int part, int64_t phase, uint32_t blocks);
/* Copies marks of a loop's trace from the host to the GPU, or (`back`) from the GPU to the host. */
stencil_status stencil_case_gpu_mark(stencil_case_loop *loop, int64_t *host, size_t count, bool back);
/* Sets where the kernels of each part note when they start and end; `span` NULL: nowhere. */
void stencil_case_gpu_set_spans(stencil_case_loop *loop, stencil_kernel_span *const *span);
/* Makes some runs whose kernels note when they start and end, and sets the row's kernels_s, skew_s and
 * timer_error_s to medians. Graphs and vendor libraries, whose kernels note nothing, leave the row as is. */
stencil_status stencil_case_spans(stencil_bench *b, stencil_case_loop *loop, stencil_bench_row *row);
/* Sets up the GPUs of a spread problem's parts; leaves the first part's GPU current. */
stencil_status stencil_case_gpu_devices(stencil_bench *b, stencil_parts_spread *spread);
#endif

#ifdef __cplusplus
}
#endif

/* Runs of a problem, by every means that keeps its phases in order: a launch for each phase, a graph of
 * these, a persistent kernel under any barrier; on a CPU a parallel region for each phase, or a team under
 * the barrier's twin. Internal to bench/. */
#pragma once

#include "bench/benchmark.h"
#include "bench/cases/problem.h"
#include "kernels/sweep.h"
#include "solver/attribution/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The argument of a case's kernels. */
typedef struct stencil_case_launch {
    stencil_barrier_state state;
    int64_t phase, phases; /* which one, of a launch for each; how many in all */
    stencil_fault fault;   /* of a persistent loop, in steps 1, 2, …: step i ends phase i - 1 */
    stencil_trace trace;   /* `mark` in ns of one clock; the same steps */
    bool special;          /* there is a fault, or a trace */
    unsigned char arguments[STENCIL_CASE_ARGUMENTS_BYTES] __attribute__((aligned(16)));
} stencil_case_launch;

/* Orders, the means that keep phases in order: a barrier, by its number, or one of these. */
enum {
    STENCIL_CASE_IMPLICIT = STENCIL_BARRIER_none, /* a launch for each phase, waited for at the end */
    STENCIL_CASE_ALONE = STENCIL_BARRIER_COUNT,   /* one block, or thread, makes all of them */
    STENCIL_CASE_STREAM,                          /* waited for after each: for the stream, */
    STENCIL_CASE_DEVICE,                          /* for the device, */
    STENCIL_CASE_EVENT,                           /* for an event */
    STENCIL_CASE_GRAPH,                           /* launches in a graph */
    STENCIL_CASE_CEILING,                         /* whatever the library of the ceiling does */
    STENCIL_CASE_ORDERS,
    STENCIL_CASE_CPU_ORDERS = STENCIL_CASE_STREAM
};
/* An order's name, and the strategy that does with steps what the order does with phases; NULL: none. */
typedef struct stencil_case_order {
    const char *name, *strategy;
} stencil_case_order;
stencil_case_order stencil_case_order_at(int order);
static inline bool stencil_case_is_persistent(int order) {
    return order != STENCIL_CASE_IMPLICIT && order < STENCIL_BARRIER_COUNT;
}

typedef struct stencil_case_gpu stencil_case_gpu;

/* Returns how many blocks share `wanted` pieces of work where no more than `most` are resident: with as
 * many as possible the last round would be one of few blocks. */
static inline uint32_t stencil_case_blocks(int64_t wanted, int64_t most) {
    const int64_t rounds = (wanted + most - 1) / most;
    return rounds < 1 ? 1 : (uint32_t)((wanted + rounds - 1) / rounds);
}

/* A problem and the way to run it: the first part is the caller's to fill in. */
typedef struct stencil_case_loop {
    const stencil_case_problem *problem;
    int order;
    uint32_t blocks;     /* on a CPU: threads */
    double timeout_s;    /* of a wait at a barrier */
    stencil_fault fault; /* of the next runs of a persistent loop; for tests */

    uint32_t workers;     /* that make its first phase, blocks or threads */
    double bytes;         /* that a run has to move; 0: nobody says */
    const char *name;     /* of the order, or of the ceiling's library */
    const uint32_t *ring; /* lists of neighbours; NULL: not needed */
    stencil_trace trace;
    stencil_barrier_state team; /* a CPU's */
    stencil_case_gpu *gpu;      /* NULL: a CPU */
} stencil_case_loop;

/* Makes ready to run, until the benchmark ends; the loop stays where it is, and may get fewer blocks. *why,
 * "" before: a reason where the device cannot run it so. */
stencil_status stencil_case_loop_create(stencil_bench *b, stencil_case_loop *loop, char why[96]);

/* Makes `count` runs, one behind the other. INTERNAL where a participant waited in vain at a barrier; the
 * loop is of no use any more then. */
stencil_status stencil_case_loop_run(stencil_case_loop *loop, int64_t count, double *time_s);

/* Makes a run from spoiled arrays and checks all of its results. */
stencil_status stencil_case_loop_verify(stencil_case_loop *loop);

/* Makes a run whose participants note where their time goes, and the mean phase of it; a phase that has no
 * other behind it is left out. `inside` is the caller's to destroy, with failures too; without samples where
 * there is but one phase, or in a graph. */
stencil_status stencil_case_loop_attribute(stencil_case_loop *loop, stencil_inside *inside);

/* A thread of a CPU that makes phases as a block does, beside others of its team. */
typedef struct stencil_case_thread {
    const stencil_case_body *body;
    const void *arguments;
    stencil_barrier_id barrier;
    const stencil_barrier_state *team;
    const stencil_fault *fault;
    const stencil_trace *trace; /* NULL: nothing is noted */
    uint32_t number;            /* in the team */
    stencil_case_block block;
} stencil_case_thread;

/* Makes all phases, late or absent before a barrier as the fault says. Where somebody gives up at a barrier
 * the thread stands in the alarm, and all of them return. */
void stencil_case_persist(const stencil_case_thread *thread);

/* bench/cases/measure.c: what benchmarks of cases have in common. */

enum { STENCIL_CASE_LATE_NS = 20000 }; /* of blocks or threads whose lateness must not matter */
#define STENCIL_CASE_SAMPLE_S 0.02     /* of a sample */
double
stencil_case_timeout_s(const stencil_bench *b); /* of a wait at a barrier; shorter where a fault is planted */

/* Makes a problem, until the benchmark ends, on the host. */
stencil_status stencil_case_keep(stencil_bench *b, const stencil_case *of, int64_t n, int64_t repeats,
                                 stencil_case_problem **made);
/* Measures all sizes that are asked for, which are checked before, or the case's own: where a fault is
 * planted the largest one alone. */
stencil_status stencil_case_measure_sizes(stencil_bench *b, const stencil_case *of,
                                          const stencil_case_sizes *sizes, const void *how,
                                          stencil_status (*measure)(stencil_bench *b, const void *how,
                                                                    int64_t n));
/* Takes samples of all rows from number `first` on, and compares those of the kinds "order" and "ceiling"
 * with the fastest of kind "order" among them: of_fastest. Of rows with a planted fault: that it is found. */
stencil_status stencil_case_take(stencil_bench *b, int first);

/* bench/cases/predict.c: seconds that a run in this order takes of `blocks` blocks, `share` of those that fit
 * at once, of a case with bytes in flight, on GPUs that were calibrated so. NaN: nothing is known. By L.
 * Zhang et al. (reduction.cuh), section 7.1: Little's law says what blocks that have so much under way get
 * from memory (equation 1), and a run is latency, synchronisation and the bytes beyond those (equations 2 and
 * 3). Where two of these are the same lie the switch points of equations 4 and 5. */
double stencil_case_predict(const stencil_case_problem *problem, int order, double blocks, double share,
                            const stencil_calibration *calibration);

/* bench/cases/gpu.c: memory of a GPU, which is the current one then, or of the host (device NULL). It is made
 * until the benchmark ends, with what `from` has or zeros, and its address written to where `to` points; all
 * its bits are set; it is brought to the host, unless it is there. */
stencil_status stencil_case_memory(stencil_bench *b, const struct stencil_device *device, const void *from,
                                   size_t bytes, void *to);
stencil_status stencil_case_memory_spoil(const struct stencil_device *device, void *memory, size_t bytes);
stencil_status stencil_case_memory_read(const struct stencil_device *device, void *to, const void *memory,
                                        size_t bytes);

#ifdef STENCIL_HAVE_CUDA
/* The same as above on GPU gpu[0] of the options. */
stencil_status stencil_case_gpu_create(stencil_bench *b, stencil_case_loop *loop, char why[96]);
stencil_status stencil_case_gpu_run(stencil_case_loop *loop, int64_t count, double *time_s);
/* Marks of the trace, there and back. */
stencil_status stencil_case_gpu_mark(stencil_case_loop *loop, int64_t *host, size_t count, bool back);
/* Copies all inputs of a problem to the current device until the benchmark ends, and has room for the rest.
 */
stencil_status stencil_case_gpu_upload(stencil_bench *b, stencil_case_problem *problem);
/* Blocks that are resident at once under any barrier. */
stencil_status stencil_case_gpu_resident(const stencil_case *of, int64_t *blocks);
#endif

#ifdef __cplusplus
}
#endif

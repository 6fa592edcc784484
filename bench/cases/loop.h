/* Runs of a case's problem with its phases ordered in each possible way: one launch per phase, a CUDA graph
 * of such launches, a persistent kernel with a barrier; on a CPU a parallel region per phase, or a team of
 * threads with the barrier's CPU twin. Internal to bench/. */
#pragma once

#include "bench/benchmark.h"
#include "bench/cases/problem.h"
#include "kernels/sweep.h"
#include "solver/attribution/timeline.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The argument of a case's CUDA kernels. */
typedef struct stencil_case_launch {
    stencil_barrier_state state;
    int64_t phase, phases; /* index of the phase (with one launch per phase), and number of phases */
    stencil_fault fault;   /* fault planted in a persistent kernel; step i = 1, 2, … ends phase i - 1 */
    stencil_trace trace;   /* trace with marks in ns; step i = 1, 2, … ends phase i - 1 */
    bool special;          /* a fault or a trace is set */
    unsigned char arguments[STENCIL_CASE_ARGUMENTS_BYTES] __attribute__((aligned(16)));
} stencil_case_launch;

/* Orders, the ways to run phases one after the other: a barrier's number, or a constant listed here. */
enum {
    STENCIL_CASE_IMPLICIT = STENCIL_BARRIER_none, /* one launch per phase; the host waits once, at the end */
    STENCIL_CASE_ALONE = STENCIL_BARRIER_COUNT,   /* one block, or thread, runs all phases */
    STENCIL_CASE_STREAM,                          /* one launch per phase, then a stream synchronisation */
    STENCIL_CASE_DEVICE,                          /* one launch per phase, then a device synchronisation */
    STENCIL_CASE_EVENT,                           /* one launch per phase, then a wait for an event */
    STENCIL_CASE_GRAPH,                           /* one launch per phase, all in a CUDA graph */
    STENCIL_CASE_CEILING,                         /* the vendor library's version of the case */
    STENCIL_CASE_ORDERS,
    STENCIL_CASE_CPU_ORDERS = STENCIL_CASE_STREAM
};
/* Name of an order of phases, and the solver's strategy that runs time steps in the same way; NULL: none. */
typedef struct stencil_case_order {
    const char *name, *strategy;
} stencil_case_order;
stencil_case_order stencil_case_order_at(int order);
static inline bool stencil_case_is_persistent(int order) {
    return order != STENCIL_CASE_IMPLICIT && order < STENCIL_BARRIER_COUNT;
}

typedef struct stencil_case_gpu stencil_case_gpu;

/* Returns a number of blocks, at most `most`, that share `wanted` pieces of work evenly: with `most` blocks
 * the last pass could leave most blocks idle. */
static inline uint32_t stencil_case_blocks(int64_t wanted, int64_t most) {
    const int64_t rounds = (wanted + most - 1) / most;
    return rounds < 1 ? 1 : (uint32_t)((wanted + rounds - 1) / rounds);
}

/* A problem and the order to run it in. The caller fills in the members before the blank line. */
typedef struct stencil_case_loop {
    const stencil_case_problem *problem;
    int order;
    uint32_t blocks;     /* number of blocks, or of threads on a CPU */
    double timeout_s;    /* longest wait at a barrier */
    stencil_fault fault; /* fault planted in the next runs of a persistent loop, for tests */

    uint32_t workers;     /* blocks or threads that run the first phase */
    double bytes;         /* bytes that a run moves through memory; 0: unknown */
    const char *name;     /* name of the order, or of the vendor library */
    const uint32_t *ring; /* neighbour lists of the blocks; NULL: not needed */
    stencil_trace trace;
    stencil_barrier_state team; /* barrier of a team of CPU threads */
    stencil_case_gpu *gpu;      /* state on the GPU; NULL: the loop runs on a CPU */
} stencil_case_loop;

/* Prepares a loop, whose resources last until the benchmark ends; the loop must not move, and may get fewer
 * blocks. `why`, "" before, receives a reason when the device cannot run the order. */
stencil_status stencil_case_loop_create(stencil_bench *b, stencil_case_loop *loop, char why[96]);

/* Makes `count` runs in sequence and returns their time. Errors: INTERNAL when a wait at a barrier timed out;
 * the loop cannot be used afterwards. */
stencil_status stencil_case_loop_run(stencil_case_loop *loop, int64_t count, double *time_s);

/* Makes a run, with all arrays except inputs overwritten before, and checks all results. */
stencil_status stencil_case_loop_verify(stencil_case_loop *loop);

/* Makes a traced run and sets `inside` to how its participants spend the time of a mean phase, except the
 * last phase. The caller destroys `inside`, after failures too; it has no samples with a single phase or in a
 * CUDA graph. */
stencil_status stencil_case_loop_attribute(stencil_case_loop *loop, stencil_inside *inside);

/* A CPU thread of a team, which runs phases as a block does. */
typedef struct stencil_case_thread {
    const stencil_case_body *body;
    const void *arguments;
    stencil_barrier_id barrier;
    const stencil_barrier_state *team;
    const stencil_fault *fault;
    const stencil_trace *trace; /* where times are recorded; NULL: no trace */
    uint32_t number;            /* index of the thread in its team */
    stencil_case_block block;
} stencil_case_thread;

/* Runs all phases in a thread of a team, delayed or absent at a barrier as its fault says. When a thread's
 * wait times out, the alarm names that thread, and all threads return. */
void stencil_case_persist(const stencil_case_thread *thread);

enum { STENCIL_CASE_LATE_NS = 20000 }; /* delay of blocks or threads in tests that must not change results */
#define STENCIL_CASE_SAMPLE_S 0.02     /* duration of a timing sample, in seconds */
double
stencil_case_timeout_s(const stencil_bench *b); /* time limit of barrier waits; shorter with planted faults */

/* Makes a problem on the host that lasts until the benchmark ends. */
stencil_status stencil_case_keep(stencil_bench *b, const stencil_case *of, int64_t n, int64_t repeats,
                                 stencil_case_problem **made);
/* Calls `measure` for each size of the options, all checked first, or each default size of the case; with a
 * planted fault, only for the largest default size. */
stencil_status stencil_case_measure_sizes(stencil_bench *b, const stencil_case *of,
                                          const stencil_case_sizes *sizes, const void *how,
                                          stencil_status (*measure)(stencil_bench *b, const void *how,
                                                                    int64_t n));
/* Takes timing samples of all rows from index `first` on, and sets of_fastest of kinds "order" and "ceiling"
 * relative to the fastest row of kind "order". Rows with a planted fault are checked to report the fault. */
stencil_status stencil_case_take(stencil_bench *b, int first);

/* Returns the predicted seconds of a run with `blocks` blocks, `share` of those that fit at once, of a case
 * whose in_flight is not 0, on a calibrated GPU; NaN: unknown. Model of L. Zhang et al. (reduction.cuh),
 * section 7.1: Little's law gives the bandwidth for the bytes in flight (equation 1); a run takes latency,
 * synchronisation and the time of the remaining bytes (equations 2 and 3). Equations 4 and 5 give the sizes
 * where two orders take the same time. */
double stencil_case_predict(const stencil_case_problem *problem, int order, double blocks, double share,
                            const stencil_calibration *calibration);

/* Allocates memory on a GPU, which becomes current, or on the host (device NULL), until the benchmark ends,
 * copies `from` to it (NULL: zeros) and stores its address in *to. The _spoil() function sets all its bits;
 * _read() copies it to host memory `to`. */
stencil_status stencil_case_memory(stencil_bench *b, const struct stencil_device *device, const void *from,
                                   size_t bytes, void *to);
stencil_status stencil_case_memory_spoil(const struct stencil_device *device, void *memory, size_t bytes);
stencil_status stencil_case_memory_read(const struct stencil_device *device, void *to, const void *memory,
                                        size_t bytes);

#ifdef STENCIL_HAVE_CUDA
/* stencil_case_loop_create() and _run() on GPU gpu[0] of the options. */
stencil_status stencil_case_gpu_create(stencil_bench *b, stencil_case_loop *loop, char why[96]);
stencil_status stencil_case_gpu_run(stencil_case_loop *loop, int64_t count, double *time_s);
/* Copies marks of a loop's trace from the host to the GPU, or (`back`) from the GPU to the host. */
stencil_status stencil_case_gpu_mark(stencil_case_loop *loop, int64_t *host, size_t count, bool back);
/* Allocates all arrays of a problem on the current device until the benchmark ends, and copies the inputs. */
stencil_status stencil_case_gpu_upload(stencil_bench *b, stencil_case_problem *problem);
/* Finds how many blocks of a case are resident at once with every barrier. */
stencil_status stencil_case_gpu_resident(const stencil_case *of, int64_t *blocks);
#endif

#ifdef __cplusplus
}
#endif

/* Several GPUs that share a problem, a part each: their streams, memory that all of them reach, and a
 * persistent kernel of a case over all of them. Internal to bench/. */
#pragma once

#include "bench/cases/loop.h"
#include "bench/device.h"
#include "sync/host.h"

/* How many there are here: GPUs of the options, as far as they reach each other's memory, or threads. */
int stencil_parts_most(const stencil_bench *b);

enum { STENCIL_PARTS_ORDERS_MAX = 8 };

/* What the benchmark of a case over parts is made of (bench/cases/parts_measure.c): rows over sizes and the
 * number of parts, for everything that keeps these in order. */
typedef struct stencil_parts_case {
    const char *of; /* the case that its problems are of */
    struct {
        int64_t least, most, factor;
    } size[2]; /* where nobody asks, on a CPU, on GPUs */
    struct {
        const char *name;          /* NULL behind the last one */
        bool persistent;           /* its waits have a time limit: faults are planted there */
        bool ceiling, gpus, apart; /* a library's; has no CPU side; not among those that run together */
    } order[STENCIL_PARTS_ORDERS_MAX + 1];
    /* Spreads a problem over parts of some blocks each; makes ready to run it: *loop, and what is wrong with
     * its next runs. Until the benchmark ends. *why, "" before: a reason where this machine cannot. */
    stencil_status (*spread)(stencil_bench *b, const stencil_case_problem *problem, int parts, void **spread,
                             uint32_t *blocks);
    stencil_status (*create)(stencil_bench *b, const void *spread, int order, double timeout_s, void **loop,
                             stencil_fault **fault, char why[96]);
    stencil_status (*run)(void *loop, int64_t count, double *time_s);
    stencil_status (*verify)(void *loop);
} stencil_parts_case;

/* All orders but those apart, or these alone. */
stencil_status stencil_parts_measure(stencil_bench *b, const stencil_parts_case *of, bool apart);

#ifdef STENCIL_HAVE_CUDA
#ifdef __cplusplus
extern "C" {
#endif

typedef struct stencil_parts {
    int count;
    stencil_device device[STENCIL_PARTS_MAX];
} stencil_parts;

/* The first `count` GPUs of the options, until the benchmark ends. */
stencil_status stencil_parts_create(stencil_bench *b, int count, stencil_parts *parts);
/* Memory of part `part`, zeroed, until the benchmark ends; from: what is copied there, or NULL. */
stencil_status stencil_parts_memory(stencil_bench *b, const stencil_parts *parts, int part, void *to,
                                    const void *from, size_t bytes);
/* Waits for everything that was queued. */
stencil_status stencil_parts_wait(const stencil_parts *parts);

/* A persistent kernel over all parts, of the same number of blocks in each. The first part is the caller's to
 * fill in. */
typedef struct stencil_parts_loop {
    const stencil_parts *parts;
    const void *kernel; /* case_persistent<…> of kernels.cuh */
    stencil_barrier_id id;
    stencil_grid grid;
    double timeout_s;
    const uint32_t *first, *list;                  /* of a barrier that needs them: whom blocks wait for */
    stencil_case_launch launch[STENCIL_PARTS_MAX]; /* phases and arguments */

    stencil_barrier *barrier;
} stencil_parts_loop;

/* How many of its blocks every part holds at once. */
stencil_status stencil_parts_resident(const stencil_parts *parts, const void *kernel, unsigned lanes,
                                      int64_t *blocks);
/* Makes the barrier, until the benchmark ends; the loop stays where it is. *why, "" before: a reason where
 * these GPUs cannot run it. */
stencil_status stencil_parts_loop_create(stencil_bench *b, stencil_parts_loop *loop, char why[96]);
/* A run, from the first launch until all parts have ended: some blocks late, or the last block of the last
 * part absent, as `fault` says. And whether a block waited in vain since: INTERNAL. */
stencil_status stencil_parts_loop_run(stencil_parts_loop *loop, const stencil_fault *fault);
stencil_status stencil_parts_loop_check(const stencil_parts_loop *loop);

#ifdef __cplusplus
}
#endif
#endif

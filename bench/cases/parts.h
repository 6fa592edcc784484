/* Several GPUs that share a problem, a part each: their streams, memory that all of them reach, and a
 * persistent kernel of a case over all of them. Internal to bench/. */
#pragma once

#include "bench/cases/loop.h"
#include "bench/device.h"
#include "sync/host.h"

/* How many parts are measured: 1, then twice as many each time, then all. Begins behind 0; 0 comes behind the
 * last one. */
static inline int stencil_next_parts(int parts, int all) {
    const int next = parts == 0 ? 1 : 2 * parts;
    return parts == all ? 0 : next < all ? next : all;
}

/* How many there are here: GPUs of the options, as far as they reach each other's memory, or threads. */
int stencil_parts_most(const stencil_bench *b);

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

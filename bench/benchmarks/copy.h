/* The ceilings: what copying reaches on a device, which is what a sweep that moves every cell once in and
 * once out can reach at best. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_COPY_H
#define STENCIL_BENCH_COPY_H

#include "bench/benchmark.h"
#include "solver/field.h"

/* A copy that is timed again and again. */
typedef struct stencil_ceiling {
    int64_t bytes; /* read, and as many written; a multiple of 64 */
    /* CPU: host memory on 64-byte boundaries, borrowed, and what the field has at the time; a GPU brings its
     * own. */
    const void *from;
    const stencil_field *to;
    int way, threads; /* filled in for each row */
} stencil_ceiling;

/* Appends a row of kind "copy" for every way to copy on this device. A sample copies all bytes. The
 * destination is overwritten with something else before, and compared after timing: INTERNAL where it
 * differs. */
stencil_status stencil_ceiling_add_rows(const stencil_ceiling *ceiling, stencil_bench *b);

/* Host memory, copied by `threads` threads in equal shares of whole pages: the shares
 * in which stencil_memory_alloc() touches it. */
void stencil_parallel_copy(void *to, const void *from, int64_t bytes, int threads);

#endif

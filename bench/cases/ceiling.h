/* The ceiling of a case: a vendor library's time for the same result on the same GPU. A case with a ceiling
 * names it in its body; only one file calls the library. Rows of ceilings have the kind "ceiling". Internal
 * to bench/. */
#pragma once

#include "bench/cases/problem.h"
#include "bench/device.h"

#ifdef STENCIL_HAVE_CUDA
/* A run by a library. Members before the blank line are set by the caller of stencil_case_ceiling_NAME(). */
struct stencil_case_ceiling {
    const stencil_case_problem *problem;
    const void *arguments; /* the problem's NAME_arguments, with pointers to device arrays */
    cudaStream_t stream;

    const char *name; /* name of the benchmark row */
    double bytes;     /* least bytes that a run reads and writes; 0: unknown */
    void *state;      /* private data, until the benchmark ends; device memory of state_bytes, if not 0 */
    size_t state_bytes;
    /* Enqueues a run of the library, from inputs to results. */
    stencil_status (*run)(const struct stencil_case_ceiling *ceiling);
    /* Enqueues CUB's operation with *bytes of temporary memory or, when `memory` is NULL, sets *bytes to the
     * memory needed. */
    stencil_status (*queue)(const struct stencil_case_ceiling *ceiling, void *memory, size_t *bytes);
};
#endif

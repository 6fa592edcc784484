/* The honest ceiling of a case: what a library takes for the same result on the same GPU. A case that has one
 * says so in its body, and one file is all that knows the library. Its rows have the kind "ceiling".
 * Internal to bench/. */
#pragma once

#include "bench/cases/problem.h"
#include "bench/device.h"

#ifdef STENCIL_HAVE_CUDA
/* The first part is set where stencil_case_ceiling_NAME(), a stencil_case_ceiling_make, is called. */
struct stencil_case_ceiling {
    const stencil_case_problem *problem;
    const void *arguments; /* the problem's, with the arrays of the device */
    cudaStream_t stream;

    const char *name; /* of the row */
    double bytes;     /* that a run has to read and write at least; 0: nobody says */
    void *state;      /* its own, until the benchmark ends; so many bytes, if it is memory of the device */
    size_t state_bytes;
    /* Queues a run, from the inputs to the results. */
    stencil_status (*run)(const struct stencil_case_ceiling *ceiling);
    /* CUB's operation in place of a graph: queues it with *bytes of memory, or, without memory, says how much
     * it needs. */
    stencil_status (*queue)(const struct stencil_case_ceiling *ceiling, void *memory, size_t *bytes);
};
#endif

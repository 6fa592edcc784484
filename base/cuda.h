/* Macros that return failures of the CUDA runtime to the caller. A build without CUDA has only
 * STENCIL_ON_GPU(). */
#pragma once

#include "base/base.h"

#ifdef STENCIL_HAVE_CUDA
#include <cuda_runtime_api.h>

/* Returns from the function when a CUDA call fails: NO_MEMORY for out of memory, INTERNAL otherwise. */
#define TRY_CUDA(call) TRY_CUDA_STATE(call, #call)

/* Returns from the function when a cudaError_t is a failure: NO_MEMORY for out of memory, INTERNAL otherwise.
 * `call` is the text of the CUDA call that returned it. */
#define TRY_CUDA_STATE(state, call)                                                                          \
    do {                                                                                                     \
        const cudaError_t cuda_ = (state);                                                                   \
        if (cuda_ != cudaSuccess)                                                                            \
            return stencil_error_set(                                                                        \
                cuda_ == cudaErrorMemoryAllocation ? STENCIL_NO_MEMORY : STENCIL_INTERNAL, __FILE__,         \
                __LINE__, call, "CUDA: %s (%s)", cudaGetErrorString(cuda_), call);                           \
    } while (0)

/* Pointer to a function of the GPU code; NULL in a build without CUDA. */
#define STENCIL_ON_GPU(function) function
#else
#define STENCIL_ON_GPU(function) NULL
#endif

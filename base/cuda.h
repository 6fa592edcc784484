/* Failures of CUDA as statuses. For rooms that link the runtime; without CUDA there is nothing in it. */
#ifndef STENCIL_BASE_CUDA_H
#define STENCIL_BASE_CUDA_H

#include "base/status.h"

#ifdef STENCIL_HAVE_CUDA
#include <cuda_runtime_api.h>

/* Hands a CUDA failure on: out of memory as NO_MEMORY, everything else as INTERNAL. */
#define TRY_CUDA(call)                                                                                       \
    do {                                                                                                     \
        const cudaError_t cuda_ = (call);                                                                    \
        if (cuda_ != cudaSuccess)                                                                            \
            return stencil_error_set(                                                                        \
                cuda_ == cudaErrorMemoryAllocation ? STENCIL_NO_MEMORY : STENCIL_INTERNAL, __FILE__,         \
                __LINE__, #call, "CUDA: %s (%s)", cudaGetErrorString(cuda_), #call);                         \
    } while (0)
#endif

#endif

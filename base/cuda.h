/* Macros that hand failures of the CUDA runtime on. Without CUDA only STENCIL_ON_GPU() is there. */
#pragma once

#include "base/base.h"

#ifdef STENCIL_HAVE_CUDA
#include <cuda_runtime_api.h>

/* Hands a CUDA failure on: out of memory as NO_MEMORY, everything else as INTERNAL. */
#define TRY_CUDA(call) TRY_CUDA_STATE(call, #call)

/* The same of a state that was looked at before; `call`, a string, is what gave it. */
#define TRY_CUDA_STATE(state, call)                                                                          \
    do {                                                                                                     \
        const cudaError_t cuda_ = (state);                                                                   \
        if (cuda_ != cudaSuccess)                                                                            \
            return stencil_error_set(                                                                        \
                cuda_ == cudaErrorMemoryAllocation ? STENCIL_NO_MEMORY : STENCIL_INTERNAL, __FILE__,         \
                __LINE__, call, "CUDA: %s (%s)", cudaGetErrorString(cuda_), call);                           \
    } while (0)

/* A function of the GPU side; none in a build without CUDA. */
#define STENCIL_ON_GPU(function) function
#else
#define STENCIL_ON_GPU(function) NULL
#endif

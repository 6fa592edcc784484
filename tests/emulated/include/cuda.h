/* The part of the CUDA driver's interface that this project uses, for the emulated GPU. */
#pragma once

#include <stdint.h>

#include "cuda_runtime_api.h"

typedef enum cudaError_enum { CUDA_SUCCESS = 0 } CUresult;
typedef cudaStream_t CUstream;
typedef uintptr_t CUdeviceptr;
typedef uint32_t cuuint32_t;
enum { CU_STREAM_WRITE_VALUE_DEFAULT = 0, CU_STREAM_WAIT_VALUE_GEQ = 0 };

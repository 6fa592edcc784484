/* The compute capabilities that the kernels of this build were compiled for. */
#include "base/cuda.h"
#include "kernels/table.h"

/* The compute capability that this device code was compiled for; each device code in the build has its own
 * value. */
#ifdef __CUDA_ARCH__
static __device__ int compiled_for = __CUDA_ARCH__ / 10;
#else
static __device__ int compiled_for;
#endif

extern "C" int stencil_code_expected(int capability) {
    static const int architectures[] = {__CUDA_ARCH_LIST__}; /* 900 for 9.0 */
    int best = 0;
    for (const int architecture : architectures)
        if (architecture / 10 <= capability && architecture / 10 > best)
            best = architecture / 10;
    return best;
}

extern "C" stencil_status stencil_code_loaded(int *capability) {
    TRY_CUDA(cudaMemcpyFromSymbol(capability, compiled_for, sizeof *capability));
    return STENCIL_OK;
}

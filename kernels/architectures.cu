/* Which GPUs the kernels of this build were compiled for. */
#include "kernels/table.h"

extern "C" int stencil_code_expected(int capability) {
    static const int compiled_for[] = {__CUDA_ARCH_LIST__}; /* 900 for 9.0 */
    int best = 0;
    for (const int architecture : compiled_for)
        if (architecture / 10 <= capability && architecture / 10 > best)
            best = architecture / 10;
    return best;
}

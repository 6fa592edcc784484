/* Chooses the instruction set of the CPU sweeps at run time. */
#include "kernels/cpu.h"

extern const stencil_cpu_table stencil_cpu_table_baseline;
#ifdef STENCIL_CPU_X86
extern const stencil_cpu_table stencil_cpu_table_avx2, stencil_cpu_table_avx512;
#endif

const stencil_cpu_table *stencil_cpu_best(void) {
#ifdef STENCIL_CPU_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
        return &stencil_cpu_table_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &stencil_cpu_table_avx2;
#endif
    return &stencil_cpu_table_baseline;
}

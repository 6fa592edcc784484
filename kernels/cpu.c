/* Chooses the instruction set of the CPU sweeps at run time. */
#include "kernels/cpu.h"

extern const stencil_cpu_table stencil_cpu_table_baseline;
#ifdef STENCIL_CPU_X86
extern const stencil_cpu_table stencil_cpu_table_avx2, stencil_cpu_table_avx512;
#endif

static const stencil_cpu_table *best(const char **name) {
#ifdef STENCIL_CPU_X86
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
        *name = "avx512";
        return &stencil_cpu_table_avx512;
    }
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        *name = "avx2";
        return &stencil_cpu_table_avx2;
    }
#endif
    *name = "baseline";
    return &stencil_cpu_table_baseline;
}

stencil_cpu_sweep stencil_cpu_sweep_find(stencil_shape_id shape, stencil_precision precision) {
    const char *name;
    return best(&name)->sweep[shape][precision];
}

stencil_cpu_copy stencil_cpu_copy_find(void) {
    const char *name;
    return best(&name)->copy;
}

const char *stencil_cpu_isa(void) {
    const char *name;
    best(&name);
    return name;
}

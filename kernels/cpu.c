/* Chooses the instruction set of the CPU sweeps at run time. */
#include <string.h>

#include "kernels/cpu.h"

extern const stencil_cpu_table stencil_cpu_table_baseline;
#ifdef STENCIL_CPU_X86
extern const stencil_cpu_table stencil_cpu_table_avx2;
#endif
#ifdef STENCIL_CPU_AVX512
extern const stencil_cpu_table stencil_cpu_table_avx512;
#endif

const stencil_cpu_table *stencil_cpu_named(const char *name) {
    if (strcmp(name, "baseline") == 0)
        return &stencil_cpu_table_baseline;
#ifdef STENCIL_CPU_X86
    if (strcmp(name, "avx2") == 0 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        return &stencil_cpu_table_avx2;
#endif
#ifdef STENCIL_CPU_AVX512
    if (strcmp(name, "avx512") == 0 && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        return &stencil_cpu_table_avx512;
#endif
    return NULL;
}

/* The table that the program has taken; NULL: none. The library leaves it at that. */
static const stencil_cpu_table *taken = NULL;

bool stencil_cpu_take(const char *name) {
    taken = stencil_cpu_named(name);
    return taken != NULL;
}

const stencil_cpu_table *stencil_cpu_best(void) {
    static const char *const names[] = {"avx512", "avx2", "baseline"};
    const stencil_cpu_table *table = taken;
    for (int i = 0; table == NULL; i++)
        table = stencil_cpu_named(names[i]);
    return table;
}

/* All CPU sweeps for one instruction set. The build compiles this file once for each, with CPU_ISA naming it
 * and the compiler's flags choosing it, so that fma is one instruction wherever the CPU has one. */
#include "kernels/cpu_isa.h"

#define CPU_PASTE_(a, b) a##_##b
#define CPU_PASTE(a, b)  CPU_PASTE_(a, b)

#define STENCIL_SHAPE(name, rank, rule, radius, count, text)                                                 \
    static void name##_f32(const stencil_domain *domain, const stencil_cpu_pass *pass) {                     \
        sweep_f32(domain, pass, (cpu_points){rank, STENCIL_##rule, radius});                                 \
    }                                                                                                        \
    static void name##_f64(const stencil_domain *domain, const stencil_cpu_pass *pass) {                     \
        sweep_f64(domain, pass, (cpu_points){rank, STENCIL_##rule, radius});                                 \
    }
#include "kernels/stencils.def"
#undef STENCIL_SHAPE

const stencil_cpu_table CPU_PASTE(stencil_cpu_table, CPU_ISA) = {
    .sweep =
        {
#define STENCIL_SHAPE(name, rank, rule, radius, count, text)                                                 \
    [STENCIL_SHAPE_##name] = {[STENCIL_FLOAT32] = name##_f32, [STENCIL_FLOAT64] = name##_f64},
#include "kernels/stencils.def"
#undef STENCIL_SHAPE
        },
    .copy = copy_streaming,
};

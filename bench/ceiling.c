#include "bench/ceiling.h"

#include <stdio.h>

stencil_status stencil_ceiling_add_rows(const stencil_ceiling *ceiling, stencil_bench *b,
                                        stencil_bench_case_sampler sample) {
    const char *const *name =
        ceiling->backend == STENCIL_BACKEND_GPU ? stencil_ceiling_gpu_names : stencil_ceiling_cpu_names;
    for (; *name != NULL; name++) {
        TRY(stencil_bench_add(b, &(stencil_bench_subject){"copy", *name, .unit = "s/copy", .sample = sample},
                              NULL, 0));
        stencil_bench_row *row = stencil_bench_last(b);
        row->bytes = 2.0 * (double)ceiling->bytes;
        snprintf(row->formula, sizeof row->formula, "read %lld + write %lld", (long long)ceiling->bytes,
                 (long long)ceiling->bytes);
    }
    return STENCIL_OK;
}

stencil_status stencil_ceiling_sample(const stencil_ceiling *ceiling, int way, int64_t iterations,
                                      double *time_s) {
    return ceiling->backend == STENCIL_BACKEND_GPU
               ? stencil_ceiling_gpu_sample(ceiling, way, iterations, time_s)
               : stencil_ceiling_cpu_sample(ceiling, way, iterations, time_s);
}

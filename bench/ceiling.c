#include "bench/ceiling.h"

#include <stdio.h>

stencil_status stencil_ceiling_add_rows(const stencil_ceiling *ceiling, stencil_bench_result *result,
                                        int *first) {
    const char *const *name =
        ceiling->backend == STENCIL_BACKEND_GPU ? stencil_ceiling_gpu_names : stencil_ceiling_cpu_names;
    *first = result->row_count;
    for (; *name != NULL; name++) {
        int index;
        TRY(stencil_bench_add_row(result, "copy", *name, "s/copy", &index));
        stencil_bench_row *row = &result->row[index];
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

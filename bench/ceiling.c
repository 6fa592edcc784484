#include "bench/ceiling.h"

#include <stdio.h>

typedef struct ceiling_way {
    const stencil_ceiling *ceiling;
    int way;
} ceiling_way;

static stencil_status sample(stencil_bench *b, void *what, int64_t iterations, double *time_s) {
    (void)b;
    const ceiling_way *w = what;
    return w->ceiling->backend == STENCIL_BACKEND_GPU
               ? stencil_ceiling_gpu_sample(w->ceiling, w->way, iterations, time_s)
               : stencil_ceiling_cpu_sample(w->ceiling, w->way, iterations, time_s);
}

stencil_status stencil_ceiling_add_rows(const stencil_ceiling *ceiling, stencil_bench *b) {
    const char *const *name =
        ceiling->backend == STENCIL_BACKEND_GPU ? stencil_ceiling_gpu_names : stencil_ceiling_cpu_names;
    for (ceiling_way w = {.ceiling = ceiling}; name[w.way] != NULL; w.way++) {
        TRY(STENCIL_BENCH_ADD(b, w, "copy", name[w.way], "s/copy", .sample = sample));
        stencil_bench_row *row = stencil_bench_last(b);
        row->bytes = 2.0 * (double)ceiling->bytes;
        snprintf(row->formula, sizeof row->formula, "read %lld + write %lld", (long long)ceiling->bytes,
                 (long long)ceiling->bytes);
    }
    return STENCIL_OK;
}

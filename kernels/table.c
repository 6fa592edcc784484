#include "kernels/table.h"

#include <stdio.h>
#include <string.h>

static const char *const sweep_names[STENCIL_SWEEP_COUNT] = {"stream", "stamped"};

const char *stencil_kernel_text(const stencil_kernel *kernel, char text[STENCIL_KERNEL_CHARS]) {
    snprintf(text, STENCIL_KERNEL_CHARS, "%s %s %s %s", stencil_shapes[kernel->shape].name,
             stencil_precision_name(kernel->precision), sweep_names[kernel->sweep],
             stencil_barriers[kernel->barrier].name);
    return text;
}

stencil_kernel stencil_kernel_key(int index) {
    const int barriers = STENCIL_BARRIER_COUNT, sweeps = STENCIL_SWEEP_COUNT * barriers,
              precisions = STENCIL_PRECISION_COUNT * sweeps;
    return (stencil_kernel){.shape = (stencil_shape_id)(index / precisions),
                            .precision = (stencil_precision)(index % precisions / sweeps),
                            .sweep = (stencil_sweep_id)(index % sweeps / barriers),
                            .barrier = (stencil_barrier_id)(index % barriers)};
}

bool stencil_kernel_read(stencil_kernel *kernel, const char *text) {
    for (int i = 0; i < STENCIL_KERNEL_KEYS; i++) {
        char name[STENCIL_KERNEL_CHARS];
        *kernel = stencil_kernel_key(i);
        if (strcmp(stencil_kernel_text(kernel, name), text) == 0)
            return true;
    }
    return false;
}

#ifdef STENCIL_HAVE_CUDA
#define STENCIL_SHAPE(name, rank, rule, radius, count, text)                                                 \
    extern const stencil_kernel *stencil_kernels_##name(void);
#include "kernels/stencils.def"
#undef STENCIL_SHAPE

static const stencil_kernel *rows_of(stencil_shape_id shape) {
    switch (shape) {
#define STENCIL_SHAPE(name, rank, rule, radius, count, text)                                                 \
    case STENCIL_SHAPE_##name:                                                                               \
        return stencil_kernels_##name();
#include "kernels/stencils.def"
#undef STENCIL_SHAPE
    case STENCIL_SHAPE_COUNT:
        break;
    }
    return NULL;
}

const stencil_kernel *stencil_kernel_find(stencil_shape_id shape, stencil_precision precision,
                                          stencil_sweep_id sweep, stencil_barrier_id barrier) {
    const stencil_kernel *row = rows_of(shape);
    if (row == NULL)
        return NULL;
    for (const stencil_kernel *end =
             row + STENCIL_SWEEP_COUNT * STENCIL_BARRIER_COUNT * STENCIL_PRECISION_COUNT;
         row < end; row++)
        if (row->precision == precision && row->sweep == sweep && row->barrier == barrier)
            return row->function != NULL ? row : NULL;
    return NULL;
}
#else
const stencil_kernel *stencil_kernel_find(stencil_shape_id shape, stencil_precision precision,
                                          stencil_sweep_id sweep, stencil_barrier_id barrier) {
    (void)shape, (void)precision, (void)sweep, (void)barrier;
    return NULL;
}

const void *stencil_fold_kernel(void) {
    return NULL;
}
#endif

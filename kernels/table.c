#include "kernels/table.h"

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
                                          stencil_sweep_id sweep, stencil_exchange_id exchange,
                                          stencil_barrier_id barrier) {
    const stencil_kernel *row = rows_of(shape);
    if (row == NULL)
        return NULL;
    for (const stencil_kernel *end = row + STENCIL_KERNEL_ROWS; row < end; row++)
        if (row->precision == precision && row->sweep == sweep && row->exchange == exchange &&
            row->barrier == barrier)
            return row->function != NULL ? row : NULL;
    return NULL;
}
#else
const stencil_kernel *stencil_kernel_find(stencil_shape_id shape, stencil_precision precision,
                                          stencil_sweep_id sweep, stencil_exchange_id exchange,
                                          stencil_barrier_id barrier) {
    (void)shape, (void)precision, (void)sweep, (void)exchange, (void)barrier;
    return NULL;
}

const void *stencil_fold_kernel(void) {
    return NULL;
}

const void *stencil_meet_kernel(void) {
    return NULL;
}
#endif

#include "kernels/table.h"

#include <stdio.h>
#include <string.h>

static const char *const sweep_names[STENCIL_SWEEP_COUNT] = {
#define STENCIL_SWEEP(name, exchanges, text) #name,
#include "kernels/sweeps.def"
#undef STENCIL_SWEEP
};

const char *stencil_kernel_text(const stencil_kernel *kernel, char text[STENCIL_KERNEL_CHARS]) {
    snprintf(text, STENCIL_KERNEL_CHARS, "%s %s %s %s%s", stencil_shapes[kernel->shape].name,
             stencil_precision_name(kernel->precision), sweep_names[kernel->sweep],
             stencil_barriers[kernel->barrier].name, kernel->exchange == STENCIL_EXCHANGE_LL ? " ll" : "");
    return text;
}

stencil_kernel stencil_kernel_key(int index) {
    stencil_kernel key = {.barrier = (stencil_barrier_id)(index % STENCIL_BARRIER_COUNT)};
    index /= STENCIL_BARRIER_COUNT;
    key.precision = (stencil_precision)(index % STENCIL_PRECISION_COUNT);
    index /= STENCIL_PRECISION_COUNT;
    key.exchange = (stencil_exchange_id)(index % STENCIL_EXCHANGE_COUNT);
    index /= STENCIL_EXCHANGE_COUNT;
    key.sweep = (stencil_sweep_id)(index % STENCIL_SWEEP_COUNT);
    key.shape = (stencil_shape_id)(index / STENCIL_SWEEP_COUNT);
    return key;
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

static const stencil_kernel *(*const rows_of[])(void) = {
#define STENCIL_SHAPE(name, rank, rule, radius, count, text) stencil_kernels_##name,
#include "kernels/stencils.def"
#undef STENCIL_SHAPE
};

const stencil_kernel *stencil_kernel_find(stencil_shape_id shape, stencil_precision precision,
                                          stencil_sweep_id sweep, stencil_exchange_id exchange,
                                          stencil_barrier_id barrier) {
    const stencil_kernel *row = rows_of[shape]();
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

const void *stencil_combine_kernel(void) {
    return NULL;
}
#endif

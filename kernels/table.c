#include "kernels/table.h"

#include <stdio.h>
#include <string.h>

const char *const stencil_sweep_names[] = {
#define STENCIL_SWEEP(name, exchanges, text) #name,
#include "kernels/sweeps.def"
    NULL,
};

const char *stencil_kernel_text(const stencil_kernel *kernel, char text[STENCIL_KERNEL_CHARS]) {
    snprintf(text, STENCIL_KERNEL_CHARS, "%s %s %s %s%s", stencil_shapes[kernel->shape].name,
             stencil_precision_name(kernel->precision), stencil_sweep_names[kernel->sweep],
             stencil_barriers[kernel->barrier].name, kernel->exchange == STENCIL_EXCHANGE_LL ? " ll" : "");
    return text;
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
    extern const stencil_kernel *stencil_kernels_##name(void);                                               \
    extern void stencil_deep_##name(stencil_kernel *kernel, bool general, bool loop);                        \
    extern const void *stencil_resident_##name(stencil_precision precision, bool general, int shape);
#include "kernels/stencils.def"
#endif

const stencil_kernel *stencil_kernel_find(const stencil_kernel *key) {
#ifdef STENCIL_HAVE_CUDA
    static const stencil_kernel *(*const rows_of[])(void) = {
#define STENCIL_SHAPE(name, rank, rule, radius, count, text) stencil_kernels_##name,
#include "kernels/stencils.def"
    };
    const stencil_kernel *row = rows_of[key->shape]() + stencil_kernel_index(key) % STENCIL_KERNEL_ROWS;
    return row->function != NULL ? row : NULL;
#else
    (void)key;
    return NULL;
#endif
}

void stencil_kernel_deepen(stencil_kernel *kernel, bool general, bool loop) {
#ifdef STENCIL_HAVE_CUDA
    static void (*const deepen[])(stencil_kernel *, bool, bool) = {
#define STENCIL_SHAPE(name, rank, rule, radius, count, text) stencil_deep_##name,
#include "kernels/stencils.def"
    };
    deepen[kernel->shape](kernel, general, loop);
#else
    (void)kernel, (void)general, (void)loop;
#endif
}

const void *stencil_resident_kernel(stencil_shape_id set, stencil_precision precision, bool general,
                                    int shape) {
#ifdef STENCIL_HAVE_CUDA
    static const void *(*const loop_of[])(stencil_precision, bool, int) = {
#define STENCIL_SHAPE(name, rank, rule, radius, count, text) stencil_resident_##name,
#include "kernels/stencils.def"
    };
    return loop_of[set](precision, general, shape);
#else
    (void)set, (void)precision, (void)general, (void)shape;
    return NULL;
#endif
}

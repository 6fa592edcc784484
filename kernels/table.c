#include "kernels/table.h"

#include <stdio.h>
#include <string.h>

const char *const stencil_sweep_names[] = {
#define STENCIL_SWEEP(name, exchanges, text) #name,
#include "kernels/sweeps.def"
    NULL,
};

stencil_kernel stencil_kernel_key(int index) {
    const int precision = index / STENCIL_BARRIER_COUNT, exchange = precision / STENCIL_PRECISION_COUNT,
              sweep = exchange / STENCIL_EXCHANGE_COUNT, shape = sweep / STENCIL_SWEEP_COUNT;
    return (stencil_kernel){.shape = (stencil_shape_id)shape,
                            .precision = (stencil_precision)(precision % STENCIL_PRECISION_COUNT),
                            .sweep = (stencil_sweep_id)(sweep % STENCIL_SWEEP_COUNT),
                            .exchange = (stencil_exchange_id)(exchange % STENCIL_EXCHANGE_COUNT),
                            .barrier = (stencil_barrier_id)(index % STENCIL_BARRIER_COUNT),
                            .depth = 1};
}

int stencil_kernel_index(const stencil_kernel *key) {
    const int sweep = (int)key->shape * STENCIL_SWEEP_COUNT + (int)key->sweep,
              precision = (sweep * STENCIL_EXCHANGE_COUNT + (int)key->exchange) * STENCIL_PRECISION_COUNT +
                          (int)key->precision;
    return precision * STENCIL_BARRIER_COUNT + (int)key->barrier;
}

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
    extern void stencil_steps_##name(stencil_kernel *kernel);                                                \
    extern void stencil_deep_##name(stencil_kernel *kernel, bool general, bool loop);                        \
    extern const void *stencil_resident_##name(stencil_precision precision, bool general, int shape);
#include "kernels/stencils.def"
#endif

bool stencil_kernel_is_compiled(stencil_sweep_id sweep, stencil_exchange_id exchange,
                                stencil_barrier_id barrier) {
    return exchange == STENCIL_EXCHANGE_STORE ||
           (stencil_sweep_has_ll(sweep) && stencil_barriers[barrier].needs == STENCIL_NEEDS_NEIGHBORS);
}

bool stencil_kernel_find(stencil_kernel *kernel) {
#ifdef STENCIL_HAVE_CUDA
    static void (*const find[])(stencil_kernel *) = {
#define STENCIL_SHAPE(name, rank, rule, radius, count, text) stencil_steps_##name,
#include "kernels/stencils.def"
    };
    kernel->depth = 1;
    if (stencil_kernel_is_compiled(kernel->sweep, kernel->exchange, kernel->barrier))
        find[kernel->shape](kernel);
#endif
    return kernel->function != NULL;
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

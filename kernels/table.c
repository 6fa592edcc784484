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
    snprintf(text, STENCIL_KERNEL_CHARS, "%s %s %s %s%s%s", stencil_shapes[kernel->shape].name,
             stencil_precision_name(kernel->precision), stencil_sweep_names[kernel->sweep],
             stencil_barriers[kernel->barrier].name, kernel->exchange == STENCIL_EXCHANGE_LL ? " ll" : "",
             kernel->fielded   ? " fields"
             : kernel->classed ? " classes"
                               : "");
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

/* The functions that kernels/shard.cuh, classed.cuh, fielded.cuh, deep.cuh, deep_classed.cuh, resident.cuh
 * and resident_classed.cuh define for one point set. */
typedef struct set_kernels {
    void (*steps)(stencil_kernel *kernel), (*classed)(stencil_kernel *kernel),
        (*fielded)(stencil_kernel *kernel);
    void (*deep)(stencil_kernel *kernel, bool general, bool loop);
    void (*deep_classed)(stencil_kernel *kernel, bool general, bool loop);
    const void *(*resident)(stencil_precision precision, bool general, int shape);
    const void *(*resident_classed)(stencil_precision precision, bool general, int shape);
} set_kernels;
#define STENCIL_SET(name)                                                                                    \
    extern void stencil_steps_##name(stencil_kernel *kernel);                                                \
    extern void stencil_classed_##name(stencil_kernel *kernel);                                              \
    extern void stencil_fielded_##name(stencil_kernel *kernel);                                              \
    extern void stencil_deep_##name(stencil_kernel *kernel, bool general, bool loop);                        \
    extern const void *stencil_resident_##name(stencil_precision precision, bool general, int shape);
#include "kernels/sets.def"
#ifndef STENCIL_FEW_KERNELS
#define STENCIL_SET(name)                                                                                    \
    extern void stencil_deep_classed_##name(stencil_kernel *kernel, bool general, bool loop);                \
    extern const void *stencil_resident_classed_##name(stencil_precision precision, bool general, int shape);
#include "kernels/sets.def"
#define STENCIL_UNLESS_FEW(function) function
#else
#define STENCIL_UNLESS_FEW(function) NULL
#endif
static const set_kernels sets[STENCIL_SHAPE_COUNT + 1] = {
#define STENCIL_SET(name)                                                                                    \
    [STENCIL_SHAPE_##name] = {stencil_steps_##name,                                                          \
                              stencil_classed_##name,                                                        \
                              stencil_fielded_##name,                                                        \
                              stencil_deep_##name,                                                           \
                              STENCIL_UNLESS_FEW(stencil_deep_classed_##name),                               \
                              stencil_resident_##name,                                                       \
                              STENCIL_UNLESS_FEW(stencil_resident_classed_##name)},
#include "kernels/sets.def"
    [STENCIL_SHAPE_COUNT] = {NULL, NULL, NULL, NULL, NULL, NULL, NULL},
};

bool stencil_kernel_is_compiled(stencil_sweep_id sweep, stencil_exchange_id exchange,
                                stencil_barrier_id barrier) {
    return exchange == STENCIL_EXCHANGE_STORE ||
           (stencil_sweep_has_ll(sweep) && stencil_barriers[barrier].needs == STENCIL_NEEDS_NEIGHBORS);
}

bool stencil_kernel_find(stencil_kernel *kernel) {
    const set_kernels *of = &sets[kernel->shape];
    kernel->depth = 1;
    if (of->steps != NULL && stencil_kernel_is_compiled(kernel->sweep, kernel->exchange, kernel->barrier))
        (kernel->fielded ? of->fielded : kernel->classed ? of->classed : of->steps)(kernel);
    return kernel->function != NULL;
}

void stencil_kernel_deepen(stencil_kernel *kernel, bool general, bool loop) {
    const set_kernels *of = &sets[kernel->shape];
    void (*const deep)(stencil_kernel *, bool, bool) = kernel->classed ? of->deep_classed : of->deep;
    if (deep != NULL)
        deep(kernel, general, loop);
}

const void *stencil_resident_kernel(const stencil_kernel *kernel, bool general, int shape) {
    const set_kernels *of = &sets[kernel->shape];
    const void *(*const resident)(stencil_precision, bool, int) =
        kernel->classed ? of->resident_classed : of->resident;
    return resident != NULL ? resident(kernel->precision, general, shape) : NULL;
}

/* Kernel of long_lists_test.c. */
#ifndef STENCIL_TESTS_LONG_LISTS_H
#define STENCIL_TESTS_LONG_LISTS_H

#include "sync/barrier.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Argument of the kernel: block 0 is late in every pass, and block 1 looks after each pass whether it has
 * come. */
typedef struct long_lists_passes {
    stencil_barrier_state state;
    int64_t passes;
    uint32_t *done;    /* passes that block 0 has begun, zeroed */
    uint32_t *missing; /* how often it had not come, zeroed */
} long_lists_passes;

const void *long_lists_kernel(void);

#ifdef __cplusplus
}
#endif
#endif

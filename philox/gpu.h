/* Random cells made on a GPU: words by cuRAND, cells as stencil_random_fill() makes them, with the same bits.
 * cuRAND is loaded once somebody asks for it; a build needs its header only. */
#pragma once

#include "philox/philox.h"

typedef struct stencil_random_gpu stencil_random_gpu;

/* Returns the cells from which on a GPU makes a field sooner than the threads of this process, since it has
 * to be started. */
int64_t stencil_random_gpu_pays(void);

/* Prepares GPU `device`, which becomes the current one. *gpu, NULL after failures, is closed by the caller;
 * NULL is allowed. Errors: UNAVAILABLE: no such GPU, or none that can be used, or no cuRAND; NO_MEMORY. */
stencil_status stencil_random_gpu_open(stencil_random_gpu **gpu, int device,
                                       const stencil_random_cells *cells);
void stencil_random_gpu_close(stencil_random_gpu *gpu);

/* Both make the cells from number `first` on, and return when they are there: there[count] is in the memory
 * of the GPU, to[count] on the host. Errors: NO_MEMORY; INTERNAL: the GPU or cuRAND fails, or (only _read
 * looks) its words are not those of the stream. */
stencil_status stencil_random_gpu_make(stencil_random_gpu *gpu, uint64_t first, int64_t count, double *there);
stencil_status stencil_random_gpu_read(stencil_random_gpu *gpu, uint64_t first, int64_t count, double *to);

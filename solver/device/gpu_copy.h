/* A copy of the field of a run on GPUs, in memory of the same GPUs. The run goes on while another thread
 * reads the copy: it has a stream and staging memory of its own. Internal to solver/. */
#pragma once

#include "solver/device/gpu.h"

typedef struct stencil_gpu_copy stencil_gpu_copy;

#ifdef STENCIL_HAVE_CUDA
/* Copies a buffer of all parts, between steps; *copy is created or, for another cut than before, created
 * anew: allocations wait for the GPU, so that none is made elsewhere. Errors: NO_MEMORY: a GPU has no room,
 * and *copy is NULL then. */
stencil_status stencil_gpu_copy_take(stencil_gpu_copy **copy, const stencil_gpu_run *run, int buffer);

/* Reads a box of cells of the copy into host memory, in any one thread. */
stencil_status stencil_gpu_copy_read(stencil_gpu_copy *copy, const stencil_box *box, const stencil_cells *to);

/* Frees the copy; NULL is allowed. */
void stencil_gpu_copy_destroy(stencil_gpu_copy *copy);
#endif

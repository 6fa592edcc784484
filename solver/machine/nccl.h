/* Messages by NCCL between ranks that have a GPU each: in a stream, so that hosts do not wait for them. The
 * library is loaded at run time, once somebody asks for it; a build needs its header only. */
#pragma once

#include "base/cuda.h"
#include "base/world.h"

typedef struct stencil_nccl stencil_nccl;

/* Returns "" where messages by NCCL are possible here, else the reason why they are not. */
const char *stencil_nccl_unavailable(void);

#ifdef STENCIL_HAVE_CUDA
/* Joins all ranks of `world`, whose current devices are different GPUs. All ranks call it. *nccl is closed by
 * the caller, after failures too; NULL is allowed. Errors: UNAVAILABLE, NO_MEMORY, INTERNAL: NCCL says why.
 */
stencil_status stencil_nccl_open(stencil_nccl **nccl, stencil_world *world);
void stencil_nccl_close(stencil_nccl *nccl);

/* Queues the exchange of messages, in memory of the device, that both ends list in the same order: once the
 * stream is behind it, they have been sent and have come. May be captured in a graph. Errors: INTERNAL. */
stencil_status stencil_nccl_exchange(stencil_nccl *nccl, const stencil_message *message, int count,
                                     cudaStream_t stream);
#endif

/* A run on one GPU: device memory, stream, and what its time loops share. Internal to solver/. Without CUDA
 * only the declarations are there. */
#ifndef STENCIL_SOLVER_GPU_H
#define STENCIL_SOLVER_GPU_H

#include "kernels/table.h"
#include "solver/run.h"

#ifdef STENCIL_HAVE_CUDA
#include <cuda_runtime_api.h>

/* Hands a CUDA failure on: out of memory as NO_MEMORY, everything else as INTERNAL. */
#define TRY_CUDA(call)                                                                                       \
    do {                                                                                                     \
        const cudaError_t cuda_ = (call);                                                                    \
        if (cuda_ != cudaSuccess)                                                                            \
            return stencil_error_set(                                                                        \
                cuda_ == cudaErrorMemoryAllocation ? STENCIL_NO_MEMORY : STENCIL_INTERNAL, __FILE__,         \
                __LINE__, #call, "CUDA: %s (%s)", cudaGetErrorString(cuda_), #call);                         \
    } while (0)
#endif

/* A function of the GPU side; none in a build without CUDA. */
#ifdef STENCIL_HAVE_CUDA
#define STENCIL_ON_GPU(function) function
#else
#define STENCIL_ON_GPU(function) NULL
#endif

typedef struct stencil_gpu_run stencil_gpu_run;

#ifdef STENCIL_HAVE_CUDA
struct stencil_gpu_run {
    const stencil_plan *plan;
    const stencil_kernel *kernel;
    stencil_sweep sweep; /* what every launch starts from */
    stencil_layout layout;
    cudaStream_t stream;
    cudaEvent_t begin, end, step_done;
    bool alarmed; /* a barrier was given up: what the driver keeps of it may be wrong, the device is reset */
    bool programmatic;                                  /* the device has programmatic dependent launch */
    stencil_status (*after_step)(stencil_gpu_run *gpu); /* of a loop driven by the host, or NULL */
    double last_residual;
    uint32_t *barrier_words, *neighbor_first, *neighbor; /* device */
    void *u[2], *b;
    double *chunk, *fold, *history;
    stencil_control *control;      /* device */
    stencil_mailbox *mailbox;      /* pinned, mapped */
    double *value;                 /* pinned: the folded residual of host loops */
    stencil_control *control_host; /* pinned */
    double *history_host;          /* pinned, STENCIL_HISTORY_MAX */
};

/* Residuals that one launch can keep. */
enum { STENCIL_HISTORY_MAX = 65536 };

/* Takes the device, loads the kernels, allocates, uploads. */
stencil_status stencil_gpu_create(stencil_gpu_run *gpu, const stencil_plan *plan,
                                  const stencil_problem *problem);
/* Brings the field after `steps` steps back into problem->u. */
stencil_status stencil_gpu_finish(stencil_gpu_run *gpu, stencil_problem *problem, int64_t steps);
void stencil_gpu_destroy(stencil_gpu_run *gpu);

/* Launches the step that follows `step` steps, looked at when it is time to. */
stencil_status stencil_gpu_launch_step(stencil_gpu_run *gpu, int64_t step);
/* The same, never looked at; `programmatic`: its blocks may be set up before the launch before it has ended.
 */
stencil_status stencil_gpu_launch_plain(stencil_gpu_run *gpu, int64_t step, bool programmatic);

/* Folds the chunk values of the last step with launches of their own and waits for the residual. */
stencil_status stencil_gpu_residual(stencil_gpu_run *gpu, double *residual);
#endif

/* Device memory of a run in bytes. */
int64_t stencil_gpu_bytes(const stencil_problem *problem);

#endif

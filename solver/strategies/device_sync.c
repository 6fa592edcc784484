/* The host waits for the whole device after every step. */
#include "solver/strategy.h"

#ifdef STENCIL_HAVE_CUDA
static stencil_status after_step(stencil_gpu_part *gpu) {
    (void)gpu;
    TRY_CUDA(cudaDeviceSynchronize());
    return STENCIL_OK;
}
#endif

const stencil_strategy stencil_strategy_device_sync = {
    .barrier = STENCIL_BARRIER_none,
    .batch_cpu = stencil_host_loop_cpu,
    .batch_gpu = STENCIL_ON_GPU(stencil_host_loop_gpu),
    .after_step = STENCIL_ON_GPU(after_step),
};

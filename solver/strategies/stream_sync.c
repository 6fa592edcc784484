/* The host waits for the stream after every step (explicit CPU synchronisation of Xiao and Feng, IPDPS 2010).
 */
#include "solver/strategy.h"

#ifdef STENCIL_HAVE_CUDA
static stencil_status after_step(stencil_gpu_part *gpu) {
    TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    return STENCIL_OK;
}
#endif

const stencil_strategy stencil_strategy_stream_sync = {
    .barrier = STENCIL_BARRIER_none,
    .batch_cpu = stencil_host_loop_cpu,
    .batch_gpu = STENCIL_ON_GPU(stencil_host_loop_gpu),
    .after_step = STENCIL_ON_GPU(after_step),
};

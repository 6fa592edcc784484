/* Strategies with a launch per step (solver/run/host_loop.c), which wait for different things. */
#include "solver/run/strategy.h"

#ifdef STENCIL_HAVE_CUDA
static stencil_status queue_launch(stencil_gpu_run *run, const stencil_batch *batch, stencil_pass *pass) {
    (void)batch;
    return stencil_gpu_advance(&run->part[0], pass);
}

static stencil_status queue_stream_sync(stencil_gpu_run *run, const stencil_batch *batch,
                                        stencil_pass *pass) {
    TRY(queue_launch(run, batch, pass));
    return stencil_gpu_wait(&run->part[0]);
}

static stencil_status queue_device_sync(stencil_gpu_run *run, const stencil_batch *batch,
                                        stencil_pass *pass) {
    TRY(queue_launch(run, batch, pass));
    TRY_CUDA(cudaDeviceSynchronize());
    return STENCIL_OK;
}

static stencil_status queue_event_sync(stencil_gpu_run *run, const stencil_batch *batch, stencil_pass *pass) {
    const stencil_gpu_part *gpu = &run->part[0];
    TRY(queue_launch(run, batch, pass));
    TRY_CUDA(cudaEventRecord(gpu->step_done, gpu->stream));
    TRY_CUDA(cudaEventSynchronize(gpu->step_done));
    return STENCIL_OK;
}
#endif

/* A launch per step: the end of a kernel is the barrier, and the host waits only when it checks a residual
 * (implicit CPU synchronisation of Xiao and Feng, IPDPS 2010). */
const stencil_strategy stencil_strategy_relaunch = {.queue_gpu = STENCIL_ON_GPU(queue_launch),
                                                    .queue_ahead = STENCIL_ON_GPU(queue_launch)};

/* The host waits for the stream after every step (explicit CPU synchronisation of Xiao and Feng). */
const stencil_strategy stencil_strategy_stream_sync = {.queue_gpu = STENCIL_ON_GPU(queue_stream_sync)};

/* The host waits for the whole device after every step. */
const stencil_strategy stencil_strategy_device_sync = {.queue_gpu = STENCIL_ON_GPU(queue_device_sync)};

/* The host records an event after every step and waits for it. */
const stencil_strategy stencil_strategy_event_sync = {.queue_gpu = STENCIL_ON_GPU(queue_event_sync)};

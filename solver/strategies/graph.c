/* A CUDA graph of many steps, replayed. Between two residual checks all steps of a cycle of length 1
 * are alike but for the buffer they start from, so two graphs, one for each, serve the whole run; what does
 * not fill a graph, and the steps that are checked, are launched as usual. Inside a graph the launches are
 * programmatic: the next step's blocks are set up while this step's drain, and wait for its end
 * (griddepcontrol.wait) before they read. On a CPU there is nothing to replay: a parallel loop per step. */
#include <stdlib.h>

#include "solver/strategy.h"

/* Steps of a graph: even, so that a replay ends in the buffer that it started from. */
enum { GRAPH_STEPS = 64 };

#ifdef STENCIL_HAVE_CUDA
/* None of them is checked. */
static stencil_status launch_steps(const stencil_gpu_part *gpu, int64_t first) {
    stencil_kernel_args args = gpu->args;
    args.schedule.check_every = INT64_MAX;
    args.schedule.check_step = 0;
    for (int64_t step = first; step < first + GRAPH_STEPS; step++)
        TRY(stencil_gpu_launch(gpu, &args, step, gpu->programmatic && step > first, gpu->stream));
    return STENCIL_OK;
}

static stencil_status capture(stencil_gpu_part *gpu, int64_t first, cudaGraphExec_t *executable) {
    cudaGraph_t graph = NULL;
    TRY_CUDA(cudaStreamBeginCapture(gpu->stream, cudaStreamCaptureModeThreadLocal));
    const stencil_status status = launch_steps(gpu, first);
    const cudaError_t ended = cudaStreamEndCapture(gpu->stream, &graph);
    cudaError_t made = cudaSuccess;
    if (status == STENCIL_OK && ended == cudaSuccess)
        made = cudaGraphInstantiate(executable, graph, 0);
    if (graph != NULL)
        cudaGraphDestroy(graph);
    TRY(status);
    TRY_CUDA(ended);
    TRY_CUDA(made);
    TRY_CUDA(cudaGraphUpload(*executable, gpu->stream));
    return STENCIL_OK;
}

/* Steps that can be made from `step` on before the next one that is checked, and the last of the batch. */
static int64_t plain_steps(const stencil_schedule *schedule, int64_t step, int64_t end) {
    const int64_t to_check = schedule->check_every - 1 - step % schedule->check_every;
    return to_check < end - 1 - step ? to_check : end - 1 - step;
}

/* A graph holds the weights of the steps from 0 or 1 on: it fits where a cycle begins again there. */
static stencil_status queue_gpu(stencil_gpu_run *run, const stencil_batch *batch, int64_t *step) {
    stencil_gpu_part *gpu = &run->part[0];
    const cudaGraphExec_t *graph = run->loop;
    const bool fits = (*step - *step % 2) % run->cycle_length == 0;
    if (!fits || plain_steps(&run->schedule, *step, batch->first + batch->count) < GRAPH_STEPS)
        return stencil_gpu_launch_step(gpu, (*step)++);
    TRY_CUDA(cudaGraphLaunch(graph[*step % 2], gpu->stream));
    *step += GRAPH_STEPS;
    return STENCIL_OK;
}

static stencil_status open_gpu(stencil_gpu_run *run) {
    stencil_gpu_part *gpu = &run->part[0];
    cudaGraphExec_t *graph = run->loop = calloc(2, sizeof *graph);
    CHECK(graph != NULL, NO_MEMORY, "no memory for a graph");
    for (int parity = 0; parity < 2; parity++)
        TRY(capture(gpu, parity, &graph[parity]));
    return stencil_gpu_wait(gpu);
}

static void close_gpu(stencil_gpu_run *run) {
    cudaGraphExec_t *graph = run->loop;
    for (int parity = 0; parity < 2 && graph != NULL; parity++)
        if (graph[parity] != NULL)
            cudaGraphExecDestroy(graph[parity]);
    free(graph);
}
#endif

const stencil_strategy stencil_strategy_graph = {
    .replayed = GRAPH_STEPS,
    .queue_gpu = STENCIL_ON_GPU(queue_gpu),
    .open_gpu = STENCIL_ON_GPU(open_gpu),
    .close_gpu = STENCIL_ON_GPU(close_gpu),
};

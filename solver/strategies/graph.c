/* A CUDA graph of many steps, replayed. Between two looks at the residual all steps are alike but for the
 * buffer they start from, so two graphs, one for each, serve the whole run; what does not fill a graph, and
 * the steps that are looked at, are launched as usual. Inside a graph the launches are programmatic: the next
 * step's blocks are set up while this step's drain, and wait for its end (griddepcontrol.wait) before they
 * read. On a CPU there is nothing to replay: a parallel loop per step. */
#include "solver/strategy.h"

#ifdef STENCIL_HAVE_CUDA
/* Steps of a graph: even, so that a replay ends in the buffer that it started from. */
enum { GRAPH_STEPS = 64 };

static stencil_status launch_steps(stencil_gpu_run *gpu, int64_t first, int64_t count, bool programmatic) {
    for (int64_t step = first; step < first + count; step++)
        TRY(stencil_gpu_launch_plain(gpu, step, programmatic && step > first));
    return STENCIL_OK;
}

static stencil_status capture(stencil_gpu_run *gpu, int64_t first, cudaGraphExec_t *executable) {
    cudaGraph_t graph = NULL;
    TRY_CUDA(cudaStreamBeginCapture(gpu->stream, cudaStreamCaptureModeThreadLocal));
    const stencil_status status = launch_steps(gpu, first, GRAPH_STEPS, gpu->programmatic);
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

/* Steps that can be made from `step` on before the next one that is looked at. */
static int64_t plain_steps(const stencil_schedule *schedule, int64_t step) {
    const int64_t to_check = schedule->check_every - 1 - step % schedule->check_every;
    const int64_t to_last = schedule->last_step - 1 - step;
    return to_check < to_last ? to_check : to_last;
}

static stencil_status run_with(stencil_gpu_team *team, cudaGraphExec_t graph[2], const stencil_watch *watch,
                               stencil_report *report) {
    stencil_gpu_run *gpu = &team->part[0];
    TRY_CUDA(cudaEventRecord(gpu->begin, gpu->stream));
    int64_t step = 0;
    while (step < team->schedule.last_step && report->reason == STENCIL_REASON_NONE) {
        if (plain_steps(&team->schedule, step) >= GRAPH_STEPS) {
            TRY_CUDA(cudaGraphLaunch(graph[step % 2], gpu->stream));
            step += GRAPH_STEPS;
        } else {
            TRY(stencil_gpu_launch_step(gpu, step));
            step++;
        }
        TRY(stencil_host_loop_look(team, watch, step, report));
    }
    TRY_CUDA(cudaEventRecord(gpu->end, gpu->stream));
    TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    return STENCIL_OK;
}

static stencil_status run_gpu(stencil_gpu_team *team, const stencil_watch *watch, stencil_report *report) {
    stencil_gpu_run *gpu = &team->part[0];
    cudaGraphExec_t graph[2] = {NULL, NULL};
    stencil_status status = STENCIL_OK;
    for (int parity = 0; parity < 2 && status == STENCIL_OK; parity++)
        status = capture(gpu, parity, &graph[parity]);
    if (status == STENCIL_OK)
        status = stencil_gpu_wait(gpu);
    if (status == STENCIL_OK)
        status = run_with(team, graph, watch, report);
    for (int parity = 0; parity < 2; parity++)
        if (graph[parity] != NULL)
            cudaGraphExecDestroy(graph[parity]);
    return status;
}
#endif

const stencil_strategy stencil_strategy_graph = {
    .barrier = STENCIL_BARRIER_none,
    .run_cpu = stencil_host_loop_cpu,
    .run_gpu = STENCIL_ON_GPU(run_gpu),
};

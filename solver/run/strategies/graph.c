/* A CUDA graph of many passes, replayed. Between two residual checks, with a cycle of length 1, passes differ
 * only in the buffer they start from, so two graphs, one per buffer, serve the whole run; passes that do not
 * fill a graph or whose last step is checked are launched as usual. Inside a graph the launches are
 * programmatic: the blocks of the next pass are scheduled while the current pass drains, and wait for its end
 * (griddepcontrol.wait) before they read. On a CPU this strategy is a parallel loop per step. */
#include <stdlib.h>

#include "solver/run/strategy.h"

/* Number of passes in a graph; even, so that a replay ends in the buffer that it started from. */
enum { GRAPH_PASSES = 64 };

#ifdef STENCIL_HAVE_CUDA
/* Launches the passes of a graph during its capture; no step of a graph is checked. */
static stencil_status launch_passes(const stencil_gpu_part *gpu, int from) {
    stencil_kernel_args args = gpu->args;
    args.schedule.check_every = INT64_MAX;
    args.schedule.check_step = 0;
    const int32_t depth = gpu->plan->depth;
    for (int k = 0; k < GRAPH_PASSES; k++) {
        const stencil_pass pass = {from + (int64_t)k * depth, depth, k % 2 == 0 ? from : !from};
        const bool alone = gpu->run->nccl == NULL; /* else a message is between two launches */
        TRY(stencil_gpu_launch(gpu, &args, &pass, gpu->programmatic && alone && k > 0, gpu->stream));
        if (!alone) {
            TRY(stencil_gpu_send(gpu, &pass, gpu->stream));
            TRY(stencil_gpu_exchange(gpu, &pass, gpu->edges_done));
        }
    }
    return STENCIL_OK;
}

static stencil_status capture(stencil_gpu_part *gpu, int from, cudaGraphExec_t *executable) {
    cudaGraph_t graph = NULL;
    TRY_CUDA(cudaStreamBeginCapture(gpu->stream, cudaStreamCaptureModeThreadLocal));
    const stencil_status status = launch_passes(gpu, from);
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

/* Tells whether a graph is replayed for the pass: as many steps follow before the next checked pass and the
 * last pass of the batch. Graphs hold the weights from step 0 or 1 on, so a cycle must begin at the same
 * buffer; with factors that change in time none is replayed. */
static bool replays(const stencil_gpu_run *run, const stencil_batch *batch, const stencil_pass *pass) {
    const stencil_schedule *schedule = &run->schedule;
    const int64_t depth = run->plan->depth, most = stencil_checked_most(schedule, depth),
                  to_check = schedule->check_every - pass->first % schedule->check_every,
                  to_end = batch->first + batch->count - pass->first,
                  plain = stencil_smaller(to_check, to_end) - (most > 1 ? most : 1);
    return run->factors.factor == NULL && (pass->first - pass->from) % run->cycle_length == 0 &&
           plain >= GRAPH_PASSES * depth;
}

/* Queues the next pass while the host waits for a residual. A graph cannot be queued like that: its second
 * pass would overwrite the result if the residual ends the run. */
static stencil_status queue_ahead(stencil_gpu_run *run, const stencil_batch *batch, stencil_pass *pass) {
    if (!replays(run, batch, pass))
        return stencil_gpu_launch_pass(&run->part[0], pass);
    pass->steps = 0;
    return STENCIL_OK;
}

static stencil_status queue_gpu(stencil_gpu_run *run, const stencil_batch *batch, stencil_pass *pass) {
    stencil_gpu_part *gpu = &run->part[0];
    const cudaGraphExec_t *graph = run->loop;
    const int depth = run->plan->depth;
    if (!replays(run, batch, pass))
        return stencil_gpu_advance(gpu, pass);
    TRY_CUDA(cudaGraphLaunch(graph[pass->from], gpu->stream));
    *pass = (stencil_pass){pass->first + (int64_t)(GRAPH_PASSES - 1) * depth, depth, !pass->from};
    return STENCIL_OK;
}

static stencil_status open_gpu(stencil_gpu_run *run) {
    stencil_gpu_part *gpu = &run->part[0];
    cudaGraphExec_t *graph = run->loop = calloc(2, sizeof *graph);
    CHECK(graph != NULL, NO_MEMORY, "no memory for a graph");
    for (int from = 0; from < 2; from++)
        TRY(capture(gpu, from, &graph[from]));
    return stencil_gpu_wait(gpu);
}

static void close_gpu(stencil_gpu_run *run) {
    cudaGraphExec_t *graph = run->loop;
    for (int from = 0; from < 2 && graph != NULL; from++)
        if (graph[from] != NULL)
            cudaGraphExecDestroy(graph[from]);
    free(graph);
}
#endif

const stencil_strategy stencil_strategy_graph = {
    .replayed = GRAPH_PASSES,
    .queue_gpu = STENCIL_ON_GPU(queue_gpu),
    .queue_ahead = STENCIL_ON_GPU(queue_ahead),
    .open_gpu = STENCIL_ON_GPU(open_gpu),
    .close_gpu = STENCIL_ON_GPU(close_gpu),
};

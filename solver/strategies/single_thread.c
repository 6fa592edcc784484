/* One host thread drives all GPUs: a step of a part waits, in its stream, for the event behind the step
 * before of every part that it exchanges cells with. That is enough in both directions: what it reads has
 * arrived, and the ghost cells that it writes into have been read, since two buffers take turns. The host
 * waits only where it checks a residual. On a CPU a step is a parallel loop over all parts. */
#include "solver/strategy.h"

#ifdef STENCIL_HAVE_CUDA
/* Parts that part `part` exchanges cells with. */
static uint32_t partners(const stencil_gpu_run *run, int part) {
    uint32_t set = 0;
    const stencil_domain *d = &run->part[part].args.domain;
    for (int p = 0; p < run->parts; p++) {
        const void *theirs = run->part[p].args.domain.u[0];
        for (int direction = 0; direction < STENCIL_DIRECTIONS; direction++)
            if (p != part && d->image[direction][0] == theirs)
                set |= 1u << p;
    }
    return set;
}

/* `after`: a step of this batch comes before it. */
static stencil_status queue_step(stencil_gpu_run *run, const uint32_t *partner, int64_t step, bool after) {
    for (int p = 0; p < run->parts; p++) {
        stencil_gpu_part *gpu = &run->part[p];
        TRY(stencil_gpu_take(gpu));
        for (int other = 0; other < run->parts && after; other++)
            if (partner[p] >> other & 1)
                TRY_CUDA(cudaStreamWaitEvent(gpu->stream, run->part[other].made[(step + 1) % 2], 0));
        TRY(stencil_gpu_advance(gpu, step));
        TRY_CUDA(cudaEventRecord(gpu->made[step % 2], gpu->stream));
    }
    return STENCIL_OK;
}

static stencil_status mark(stencil_gpu_run *run, bool begin) {
    for (int p = 0; p < run->parts; p++) {
        stencil_gpu_part *gpu = &run->part[p];
        TRY(stencil_gpu_take(gpu));
        TRY_CUDA(cudaEventRecord(begin ? gpu->begin : gpu->end, gpu->stream));
    }
    return STENCIL_OK;
}

static stencil_status batch_gpu(stencil_gpu_run *run, const stencil_batch *batch, stencil_outcome *outcome) {
    const int64_t end = batch->first + batch->count;
    uint32_t partner[STENCIL_PARTS_MAX];
    for (int p = 0; p < run->parts; p++)
        partner[p] = partners(run, p);
    TRY(mark(run, true));
    for (int64_t step = batch->first; step < end && outcome->reason == STENCIL_REASON_NONE; step++) {
        TRY(queue_step(run, partner, step, step > batch->first));
        TRY(stencil_host_loop_queued(run, batch, step + 1, outcome));
    }
    TRY(mark(run, false));
    for (int p = 0; p < run->parts; p++)
        TRY(stencil_gpu_wait(&run->part[p]));
    return STENCIL_OK;
}
#endif

const stencil_strategy stencil_strategy_single_thread = {
    .barrier = STENCIL_BARRIER_none,
    .spans = true,
    .copies = true,
    .batch_cpu = stencil_host_loop_cpu,
    .batch_gpu = STENCIL_ON_GPU(batch_gpu),
};

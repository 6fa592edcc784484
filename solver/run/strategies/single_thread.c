/* One host thread drives all GPUs: a step of a part waits, in its stream, for events recorded after the
 * previous step of all parts that it exchanges cells with. This orders both directions: the ghost cells that
 * the step reads have arrived, and the ghost cells that it overwrites have been read, since two buffers
 * alternate. The host waits only when it checks a residual. */
#include "solver/run/strategy.h"

#ifdef STENCIL_HAVE_CUDA
/* Returns the set of parts that part `part` exchanges cells with, a bit per part. */
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

static stencil_status queue_gpu(stencil_gpu_run *run, const stencil_batch *batch, stencil_pass *pass) {
    for (int p = 0; p < run->parts; p++) {
        stencil_gpu_part *gpu = &run->part[p];
        TRY_CUDA(cudaSetDevice(gpu->device));
        for (int other = 0; other < run->parts && pass->first > batch->first; other++)
            if (gpu->partners >> other & 1)
                TRY_CUDA(cudaStreamWaitEvent(gpu->stream, run->part[other].made[!pass->from], 0));
        TRY(stencil_gpu_advance(gpu, pass));
        TRY_CUDA(cudaEventRecord(gpu->made[pass->from], gpu->stream));
    }
    return STENCIL_OK;
}

static stencil_status open_gpu(stencil_gpu_run *run) {
    for (int p = 0; p < run->parts; p++)
        run->part[p].partners = partners(run, p);
    return STENCIL_OK;
}
#endif

const stencil_strategy stencil_strategy_single_thread = {
    .queue_gpu = STENCIL_ON_GPU(queue_gpu),
    .open_gpu = STENCIL_ON_GPU(open_gpu),
};

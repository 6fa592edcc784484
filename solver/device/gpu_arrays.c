/* Cells that come from arrays of other programs in the memory of the GPU, and go there. */
#include "solver/device/gpu.h"

#ifdef STENCIL_HAVE_CUDA
#include <string.h>

/* Describes the move of a box between a part's buffer and an array. */
static stencil_array_move move_of(const stencil_gpu_run *run, int part, int buffer, const stencil_box *box,
                                  const stencil_gpu_array *a) {
    const stencil_cells cells = stencil_buffer_cells(&run->buffers, part, buffer, box->first);
    const stencil_problem *problem = a->problem;
    stencil_array_move m = {.other = *a->at,
                            .own = cells.at,
                            .row = cells.row,
                            .plane = cells.plane,
                            .wide = cells.precision == STENCIL_FLOAT64,
                            .scale = a->scale,
                            .again = a->again,
                            .norm = problem->stop.norm};
    m.same = m.wide == m.other.wide && a->scale == 1 && a->again == 1;
    memcpy(m.first, box->first, sizeof m.first);
    memcpy(m.n, box->n, sizeof m.n);
    memcpy(m.size, problem->n, sizeof m.size);
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        m.periodic[axis] = problem->boundary[axis] == STENCIL_PERIODIC;
        m.mirror[axis] = problem->boundary[axis] == STENCIL_MIRROR;
    }
    return m;
}

static stencil_status launch(const stencil_gpu_part *gpu, const void *kernel, int64_t blocks,
                             stencil_array_move *m) {
    enum { BLOCKS_MOST = 1 << 16 };
    void *arguments[] = {m};
    if (blocks > 0)
        TRY_CUDA(cudaLaunchKernel(kernel, (dim3){(unsigned)stencil_smaller(blocks, BLOCKS_MOST), 1, 1},
                                  (dim3){STENCIL_BLOCK_THREADS, 1, 1}, arguments, 0, gpu->stream));
    return STENCIL_OK;
}

/* Allocates the memory of what a run finds in arrays, once. */
static stencil_status allocate(stencil_gpu_run *run, const stencil_problem *problem, bool sums) {
    if (run->taken == NULL)
        TRY_CUDA(cudaMalloc((void **)&run->taken, sizeof *run->taken));
    if (sums && run->partials == NULL)
        TRY_CUDA(cudaMalloc((void **)&run->partials,
                            (size_t)stencil_partial_count(problem->n) * sizeof *run->partials));
    return STENCIL_OK;
}

/* Queues the partial sums of the cells that a box has in its part. */
static stencil_status queue_sums(const stencil_gpu_part *gpu, stencil_array_move *m) {
    const int64_t in_row = (m->n[STENCIL_X] + STENCIL_PARTIAL_CELLS - 1) / STENCIL_PARTIAL_CELLS,
                  sums = m->n[STENCIL_Z] * m->n[STENCIL_Y] * in_row;
    m->partial = gpu->run->partials;
    return launch(gpu, stencil_sum_kernel(), (sums + STENCIL_BLOCK_THREADS - 1) / STENCIL_BLOCK_THREADS, m);
}

stencil_status stencil_gpu_take(stencil_gpu_run *run, int part, stencil_array array, const stencil_box *box,
                                const stencil_gpu_array *from, stencil_taken *taken) {
    const int buffer = stencil_buffer_of(array, 0);
    const stencil_gpu_part *gpu = stencil_gpu_part_of(run, part);
    const size_t bytes = (size_t)stencil_layout_bytes(&run->plan->cut.layout);
    void *const *at = stencil_buffers_part(&run->buffers, part);
    stencil_taken *const here = run->staging; /* pinned */
    stencil_array_move m = move_of(run, part, buffer, box, from);
    *taken = (stencil_taken){0, UINT64_MAX};
    TRY_CUDA(cudaSetDevice(gpu->device));
    TRY(allocate(run, from->problem, from->sums));
    m.taken = run->taken;
    *here = *taken;
    TRY_CUDA(cudaMemcpyAsync(run->taken, here, sizeof *here, cudaMemcpyHostToDevice, gpu->stream));
    /* Padding has to be valid in both buffers of u. A source comes in several boxes and has none. */
    if (array == STENCIL_ARRAY_U)
        TRY_CUDA(cudaMemsetAsync(at[buffer], 0, bytes, gpu->stream));
    TRY(launch(gpu, stencil_move_kernel(), m.n[STENCIL_Z] * m.n[STENCIL_Y], &m));
    if (from->sums)
        TRY(queue_sums(gpu, &m));
    if (array == STENCIL_ARRAY_U)
        TRY_CUDA(cudaMemcpyAsync(at[stencil_buffer_of(array, 1)], at[buffer], bytes, cudaMemcpyDeviceToDevice,
                                 gpu->stream));
    TRY_CUDA(cudaMemcpyAsync(here, run->taken, sizeof *here, cudaMemcpyDeviceToHost, gpu->stream));
    TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    *taken = *here;
    return STENCIL_OK;
}

stencil_status stencil_gpu_give(stencil_gpu_run *run, int part, int buffer, const stencil_box *box,
                                const stencil_gpu_array *to) {
    const stencil_gpu_part *gpu = stencil_gpu_part_of(run, part);
    stencil_array_move m = move_of(run, part, buffer, box, to);
    m.writes = true;
    TRY_CUDA(cudaSetDevice(gpu->device));
    TRY(launch(gpu, stencil_move_kernel(), m.n[STENCIL_Z] * m.n[STENCIL_Y], &m));
    TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    return STENCIL_OK;
}

stencil_status stencil_gpu_sums(const stencil_gpu_run *run, const stencil_problem *problem, double *to) {
    if (run->partials == NULL)
        return STENCIL_OK;
    TRY_CUDA(cudaMemcpy(to, run->partials, (size_t)stencil_partial_count(problem->n) * sizeof *to,
                        cudaMemcpyDeviceToHost));
    return STENCIL_OK;
}
#endif

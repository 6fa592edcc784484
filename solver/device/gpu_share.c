/* Shares of lines of warps in the rows of passes for classes of cells (solver/plan/sweeps/pipeline_share.h).
 */
#include "solver/device/gpu.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>

#include "solver/plan/sweeps/pipeline_share.h"

/* Memory for the shares of a part, for one length of a pass at a time: kinds of rows on the device and here,
 * sums of what rows cost. */
typedef struct sharing {
    const stencil_gpu_part *gpu;
    const stencil_problem *problem;
    stencil_row_kind *there, *kind;
    uint32_t *cost;
} sharing;

/* Lets the GPU find the kinds of all rows in a pass of `steps` steps, and gets them. */
static stencil_status find_kinds(const sharing *s, const stencil_share_rows *rows, int steps) {
    enum { BLOCKS_MOST = 4096, WARPS = STENCIL_BLOCK_THREADS / 32 };
    const int64_t count = (int64_t)rows->strips.count * stencil_share_count(rows),
                  blocks = stencil_smaller((count + WARPS - 1) / WARPS, BLOCKS_MOST);
    stencil_kernel_args args = s->gpu->args;
    void *arguments[] = {&args};
    args.class_passes.share = NULL;
    args.class_passes.kind = s->there;
    args.class_passes.steps = steps;
    TRY_CUDA(cudaLaunchKernel(s->gpu->plan->kernel.kinds, (dim3){(unsigned)blocks, 1, 1},
                              (dim3){STENCIL_BLOCK_THREADS, 1, 1}, arguments, 0, s->gpu->stream));
    TRY_CUDA(cudaStreamSynchronize(s->gpu->stream));
    TRY_CUDA(cudaMemcpy(s->kind, s->there, (size_t)count * sizeof *s->kind, cudaMemcpyDeviceToHost));
    return STENCIL_OK;
}

/* Makes the shares of all lengths of a pass: share[(steps - 1) * (lines + 1) + line]. */
static stencil_status make_shares(const sharing *s, int64_t lines, int64_t *share) {
    const stencil_plan *plan = s->gpu->plan;
    for (int steps = 1; steps <= plan->depth; steps++) {
        stencil_share_rows rows;
        stencil_share_lay_out(&rows, plan, s->problem, s->gpu->part, steps);
        rows.kind = s->kind;
        TRY(find_kinds(s, &rows, steps));
        stencil_share_costs(&rows, &plan->tuning, s->cost);
        stencil_share_lines(&rows, s->cost, lines, share + (steps - 1) * (lines + 1));
    }
    return STENCIL_OK;
}

/* Allocates memory for the most rows, those of the longest pass, and makes the shares. */
static stencil_status share_part(const stencil_gpu_part *gpu, const stencil_problem *problem) {
    const stencil_plan *plan = gpu->plan;
    stencil_share_rows most;
    stencil_share_lay_out(&most, plan, problem, gpu->part, plan->depth);
    const int64_t lines = stencil_share_line_count(plan, problem),
                  numbers = stencil_share_numbers(plan, problem),
                  count = (int64_t)most.strips.count * (stencil_share_count(&most) + 1);
    const size_t bytes = (size_t)numbers * sizeof(int64_t);
    sharing s = {.gpu = gpu, .problem = problem};
    void *share = NULL, *kind = NULL, *cost = NULL;
    stencil_status status = stencil_memory_alloc(&share, (int64_t)bytes, "the shares of lines of warps");
    if (status == STENCIL_OK)
        status = stencil_memory_alloc(&kind, count * (int64_t)sizeof *s.kind, "the kinds of rows");
    if (status == STENCIL_OK)
        status = stencil_memory_alloc(&cost, count * (int64_t)sizeof *s.cost, "the costs of rows");
    if (status == STENCIL_OK)
        status = stencil_to_device(&s.there, NULL, (size_t)count * sizeof *s.kind);
    s.kind = kind, s.cost = cost;
    if (status == STENCIL_OK)
        status = make_shares(&s, lines, share);
    if (status == STENCIL_OK)
        status = stencil_gpu_put((void *)gpu->args.class_passes.share, share, bytes);
    cudaFree(s.there);
    free(share);
    free(kind);
    free(cost);
    return status;
}

stencil_status stencil_gpu_share(const stencil_gpu_run *run, const stencil_problem *problem, int part) {
    const stencil_gpu_part *gpu = stencil_gpu_part_of(run, part);
    if (gpu->args.class_passes.share == NULL)
        return STENCIL_OK;
    TRY_CUDA(cudaSetDevice(gpu->device));
    return share_part(gpu, problem);
}
#endif

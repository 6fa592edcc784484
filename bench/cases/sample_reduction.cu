/* The sum of case reduction in the structure of CUDA's sample "reduction": each thread adds up values in a
 * stride of the grid, two in a round; a block joins its threads' sums in a tree, by shuffles of tiles of
 * cooperative groups and by shared memory; and a second kernel, of one block, adds up the blocks' sums. It is
 * checked within the bound of error, as its order of additions is another one. */
#include <cooperative_groups.h>

#include "bench/cases/loop.h"
#include "bench/cases/reduction.cuh"

namespace {

namespace groups = cooperative_groups;

enum { THREADS = 256, WARPS = THREADS / 32, EACH = 2 };

__device__ double sum_of_tile(const groups::thread_block_tile<32> &tile, double sum) {
    for (unsigned half = 16; half > 0; half /= 2)
        sum += tile.shfl_down(sum, half);
    return sum;
}

__global__ void __launch_bounds__(THREADS) sum_blocks(const double *values, int64_t count, double *sums) {
    __shared__ double of_warp[WARPS];
    const groups::thread_block block = groups::this_thread_block();
    const groups::thread_block_tile<32> tile = groups::tiled_partition<32>(block);
    double sum = 0;
    for (int64_t i = (int64_t)blockIdx.x * EACH * THREADS + threadIdx.x; i < count;
         i += (int64_t)gridDim.x * EACH * THREADS) {
        sum += values[i];
        if (i + THREADS < count)
            sum += values[i + THREADS];
    }
    sum = sum_of_tile(tile, sum);
    if (tile.thread_rank() == 0)
        of_warp[tile.meta_group_rank()] = sum;
    block.sync();
    if (tile.meta_group_rank() > 0)
        return;
    sum = sum_of_tile(tile, tile.thread_rank() < WARPS ? of_warp[tile.thread_rank()] : 0);
    if (tile.thread_rank() == 0)
        sums[blockIdx.x] = sum;
}

struct sample {
    unsigned blocks;
    double *sums; /* [blocks] */
};

stencil_status run(const stencil_case_loop *loop) {
    const sample *s = static_cast<const sample *>(loop->ceiling_state);
    const stencil_device *gpu = loop->spread->device[0];
    const reduction_arguments *r = reinterpret_cast<const reduction_arguments *>(loop->part);
    TRY(stencil_launch(*gpu, sum_blocks, s->blocks, THREADS, reinterpret_cast<const double *>(r->values),
                       loop->spread->problem->n, s->sums));
    return stencil_launch(*gpu, sum_blocks, 1, THREADS, (const double *)s->sums, (int64_t)s->blocks, r->sum);
}

} // namespace

stencil_status stencil_case_sample_reduction(stencil_bench *b, stencil_case_loop *loop, char[96]) {
    const stencil_grid grid = {.blocks = 1, .block_x = THREADS, .block_y = 1};
    const int64_t wanted = (loop->spread->problem->n + EACH * THREADS - 1) / (EACH * THREADS);
    int64_t resident;
    sample *s;
    TRY(stencil_bench_memory(b, &s, sizeof *s));
    TRY(stencil_device_resident(b, 1, reinterpret_cast<const void *>(sum_blocks), &grid, &resident));
    s->blocks = (unsigned)stencil_smaller(wanted, resident);
    loop->name = "CUDA sample's way";
    loop->ceiling = run;
    loop->ceiling_state = s;
    return stencil_device_memory(b, &s->sums, s->blocks * sizeof *s->sums);
}

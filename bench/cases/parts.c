#include "bench/cases/parts.h"

#include <stdio.h>
#include <string.h>

int stencil_parts_most(const stencil_bench *b) {
    int most = b->machine->cpu_threads;
#ifdef STENCIL_HAVE_CUDA
    char why[96];
    if (b->options->backend == STENCIL_BACKEND_GPU)
        most = stencil_device_peers(b, why, sizeof why) ? b->options->gpu_count : 1;
#endif
    return most < STENCIL_PARTS_MAX ? most : STENCIL_PARTS_MAX;
}

#ifdef STENCIL_HAVE_CUDA
stencil_status stencil_parts_create(stencil_bench *b, int count, stencil_parts *parts) {
    parts->count = count;
    for (int p = count - 1; p >= 0; p--) { /* the first one is the current one then */
        TRY(stencil_device_create(b, p, &parts->device[p]));
        TRY(stencil_peers_reach(parts->device[p].gpu, b->options->gpu, count));
    }
    return STENCIL_OK;
}

stencil_status stencil_parts_memory(stencil_bench *b, const stencil_parts *parts, int part, void *to,
                                    const void *from, size_t bytes) {
    void **memory = to;
    TRY_CUDA(cudaSetDevice(parts->device[part].gpu));
    TRY(stencil_device_memory(b, to, bytes > 0 ? bytes : 1));
    if (from != NULL)
        TRY_CUDA(cudaMemcpy(*memory, from, bytes, cudaMemcpyHostToDevice));
    else
        TRY_CUDA(cudaMemset(*memory, 0, bytes));
    TRY_CUDA(cudaDeviceSynchronize());
    return STENCIL_OK;
}

stencil_status stencil_parts_wait(const stencil_parts *parts) {
    for (int p = 0; p < parts->count; p++)
        TRY_CUDA(cudaStreamSynchronize(parts->device[p].stream));
    return STENCIL_OK;
}

stencil_status stencil_parts_resident(const stencil_parts *parts, const void *kernel, unsigned lanes,
                                      int64_t *blocks) {
    const stencil_grid grid = {.blocks = 1, .block_x = lanes, .block_y = 1};
    *blocks = INT32_MAX;
    for (int p = parts->count - 1; p >= 0; p--) {
        int64_t resident;
        TRY_CUDA(cudaSetDevice(parts->device[p].gpu));
        TRY(stencil_grid_resident(kernel, &grid, &resident));
        *blocks = stencil_smaller(*blocks, resident);
    }
    return STENCIL_OK;
}

static void destroy_barrier(void *kept) {
    stencil_barrier *barrier = kept;
    if (barrier->start != NULL)
        stencil_barrier_destroy(barrier);
}

stencil_status stencil_parts_loop_create(stencil_bench *b, stencil_parts_loop *loop, char why[96]) {
    const stencil_barrier_info *info = &stencil_barriers[loop->id];
    const stencil_gpu least = stencil_device_least(b, loop->parts->count);
    stencil_barrier_shape shape = {.info = info, .parts = loop->parts->count, .timeout_s = loop->timeout_s};
    if (!least.cooperative)
        snprintf(why, 96, "a GPU has no cooperative launch");
    else if (stencil_gpu_code(&least) < info->capability)
        snprintf(why, 96, "needs GPU code for compute capability %d.%d", info->capability / 10,
                 info->capability % 10);
    if (why[0] != '\0')
        return STENCIL_OK;
    for (int p = 0; p < shape.parts; p++) {
        shape.device[p] = loop->parts->device[p].gpu;
        shape.first[p + 1] = loop->grid.blocks * (uint32_t)(p + 1);
    }
    TRY(stencil_bench_memory(b, &loop->barrier, sizeof *loop->barrier));
    TRY(stencil_bench_keep(b, destroy_barrier, loop->barrier));
    TRY(stencil_barrier_create(loop->barrier, &shape));
    if (info->needs == STENCIL_NEEDS_NEIGHBORS)
        TRY(stencil_barrier_set_neighbors(loop->barrier, loop->first, loop->list, false));
    for (int p = 0; p < shape.parts; p++)
        loop->launch[p].state = loop->barrier->state[p];
    return STENCIL_OK;
}

stencil_status stencil_parts_loop_run(stencil_parts_loop *loop, const stencil_fault *fault) {
    const int parts = loop->parts->count;
    for (int p = 0; p < parts; p++) {
        stencil_case_launch *launch = &loop->launch[p];
        launch->fault = *fault;
        launch->fault.absent = loop->grid.blocks - 1;
        if (p + 1 < parts)
            launch->fault.absent_step = 0;
        launch->special = fault->delay_ns != 0 || fault->absent_step != 0;
        TRY_CUDA(cudaSetDevice(loop->parts->device[p].gpu));
        TRY(stencil_grid_launch(loop->kernel, &loop->grid, launch, loop->parts->device[p].stream));
    }
    return stencil_parts_wait(loop->parts);
}

stencil_status stencil_parts_loop_check(const stencil_parts_loop *loop) {
    return stencil_barrier_check(loop->barrier);
}
#endif

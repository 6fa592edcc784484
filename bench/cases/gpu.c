/* Runs of cases on GPUs. */
#include <stdio.h>
#include <string.h>

#include "bench/cases/loop.h"

stencil_status stencil_case_memory(stencil_bench *b, const struct stencil_device *device, const void *from,
                                   size_t bytes, void *to) {
    void *memory = NULL;
#ifdef STENCIL_HAVE_CUDA
    if (device != NULL) {
        TRY_CUDA(cudaSetDevice(device->gpu));
        TRY(stencil_device_memory(b, &memory, bytes > 0 ? bytes : 1));
        if (from != NULL)
            TRY_CUDA(cudaMemcpy(memory, from, bytes, cudaMemcpyHostToDevice));
        else
            TRY_CUDA(cudaMemset(memory, 0, bytes));
        TRY_CUDA(cudaDeviceSynchronize());
    }
#endif
    if (device == NULL)
        TRY(stencil_bench_memory(b, &memory, bytes));
    if (device == NULL && from != NULL)
        memcpy(memory, from, bytes);
    memcpy(to, &memory, sizeof memory);
    return STENCIL_OK;
}

stencil_status stencil_case_memory_spoil(const struct stencil_device *device, void *memory, size_t bytes) {
#ifdef STENCIL_HAVE_CUDA
    if (device != NULL) {
        TRY_CUDA(cudaSetDevice(device->gpu));
        TRY_CUDA(cudaMemset(memory, 0xff, bytes));
        TRY_CUDA(cudaDeviceSynchronize());
        return STENCIL_OK;
    }
#endif
    (void)device;
    memset(memory, 0xff, bytes);
    return STENCIL_OK;
}

stencil_status stencil_case_memory_read(const struct stencil_device *device, void *to, const void *memory,
                                        size_t bytes) {
#ifdef STENCIL_HAVE_CUDA
    if (device != NULL) {
        TRY_CUDA(cudaSetDevice(device->gpu));
        return stencil_device_read(device, to, memory, bytes);
    }
#endif
    (void)device;
    if (memory != to)
        memcpy(to, memory, bytes);
    return STENCIL_OK;
}

#ifdef STENCIL_HAVE_CUDA
enum { CLUSTER_BLOCKS = 4 };

static stencil_grid grid_of(const stencil_case_body *body, stencil_barrier_id barrier, uint32_t blocks) {
    stencil_grid grid = {.blocks = blocks, .block_x = body->lanes, .block_y = 1};
    if (stencil_barriers[barrier].needs == STENCIL_NEEDS_CLUSTERS)
        grid.cluster_blocks = CLUSTER_BLOCKS;
    return grid;
}
#endif

/* Barriers of clusters do not limit the number: clusters depend on the GPU's groups of multiprocessors, so
 * that a loop with such a barrier gets as many blocks as fit. */
stencil_status stencil_parts_resident(const stencil_bench *b, const stencil_parts_case *of,
                                      const stencil_case_body *body, int parts, int64_t *blocks) {
    *blocks = of->one_part ? b->machine->cpu_threads : 1;
#ifdef STENCIL_HAVE_CUDA
    if (b->options->backend != STENCIL_BACKEND_GPU)
        return STENCIL_OK;
    *blocks = INT32_MAX;
    for (int i = 0; of->order[i].name != NULL; i++) {
        const stencil_grid grid = grid_of(body, of->order[i].barrier, 1);
        int64_t resident = *blocks;
        if (stencil_case_is_persistent(of, i) && grid.cluster_blocks == 0)
            TRY(stencil_device_resident(b, parts, body->kernels->persistent[of->order[i].barrier], &grid,
                                        &resident));
        *blocks = stencil_smaller(*blocks, resident);
    }
#else
    (void)body, (void)parts;
#endif
    return STENCIL_OK;
}

#ifdef STENCIL_HAVE_CUDA
stencil_status stencil_case_gpu_devices(stencil_bench *b, stencil_parts_spread *s) {
    stencil_device *device;
    TRY(stencil_bench_memory(b, &device, (size_t)s->parts * sizeof *device));
    for (int p = s->parts - 1; p >= 0; p--) {
        s->device[p] = &device[p];
        TRY(stencil_device_create(b, p, &device[p]));
        TRY(stencil_peers_reach(device[p].gpu, b->options->gpu, s->parts));
    }
    return STENCIL_OK;
}

/* State of a loop on GPUs: the kernel, its grid and barrier, and the kernel's argument for each part. */
typedef struct stencil_case_gpu {
    const void *kernel; /* kernel of one phase, or persistent kernel */
    stencil_grid grid;
    stencil_barrier barrier;
    cudaGraphExec_t graph;
    stencil_case_launch launch[STENCIL_PARTS_MAX];
} stencil_case_gpu;

static void destroy_gpu(void *kept) {
    stencil_case_gpu *gpu = kept;
    cudaFree(gpu->launch[0].trace.mark);
    if (gpu->barrier.start != NULL)
        stencil_barrier_destroy(&gpu->barrier);
}

/* Tells whether a loop runs a problem in one part, in order `order`: STENCIL_CASE_IMPLICIT or the like. */
static bool is_in(const stencil_case_loop *loop, int order) {
    return loop->spread->of->one_part && loop->order == order;
}

/* Returns the number of blocks of a phase's launch: those of the loop's grid where a run is traced, the
 * user asks for a number of blocks, or the case has no groups(). */
static uint32_t phase_blocks(const stencil_case_loop *loop, int64_t phase) {
    const stencil_case_body *body = loop->spread->problem->of->body;
    if (body->groups == NULL || loop->spread->asked > 0 || loop->gpu->launch[0].trace.mark != NULL)
        return loop->gpu->grid.blocks;
    return (uint32_t)stencil_smaller(body->groups(loop->part, phase), INT32_MAX);
}

int stencil_case_gpu_phase(const stencil_case_loop *loop, int part, int64_t phase, uint32_t blocks) {
    stencil_case_gpu *gpu = loop->gpu;
    gpu->launch[part].phase = phase;
    return cudaLaunchKernel(loop->spread->problem->of->body->kernels->phase, (dim3){blocks, 1, 1},
                            (dim3){gpu->grid.block_x, 1, 1}, (void *[]){&gpu->launch[part]}, 0,
                            loop->spread->device[part]->stream);
}

static stencil_status launch_phases(const void *what) {
    const stencil_case_loop *loop = what;
    const stencil_device *device = loop->spread->device[0];
    for (int64_t phase = 0; phase < loop->gpu->launch[0].phases; phase++) {
        TRY_CUDA(stencil_case_gpu_phase(loop, 0, phase, phase_blocks(loop, phase)));
        if (loop->order == STENCIL_CASE_STREAM)
            TRY_CUDA(cudaStreamSynchronize(device->stream));
        if (loop->order == STENCIL_CASE_DEVICE)
            TRY_CUDA(cudaDeviceSynchronize());
        if (loop->order == STENCIL_CASE_EVENT) {
            TRY_CUDA(cudaEventRecord(device->done, device->stream));
            TRY_CUDA(cudaEventSynchronize(device->done));
        }
    }
    return STENCIL_OK;
}

/* Loads a loop's kernel on all GPUs, and reduces the grid of a persistent kernel to the blocks that can
 * be resident at once; `why` receives a reason when no block can. */
static stencil_status fit(const stencil_bench *b, stencil_case_loop *loop, char why[96]) {
    const stencil_parts_spread *s = loop->spread;
    const stencil_barrier_id barrier = s->of->order[loop->order].barrier;
    const stencil_gpu least = stencil_device_least(b, s->parts);
    stencil_grid *grid = &loop->gpu->grid;
    const unsigned cluster = grid->cluster_blocks > 1 ? grid->cluster_blocks : 1;
    int64_t resident = 0;
    if (barrier == STENCIL_BARRIER_none)
        return stencil_device_resident(b, s->parts, loop->gpu->kernel, grid, &resident);
    if (!least.cooperative)
        snprintf(why, 96, "%s GPU has no cooperative launch", s->of->one_part ? "the" : "a");
    else if (stencil_device_has_code(&least, stencil_barriers[barrier].capability, why))
        TRY(stencil_device_resident(b, s->parts, loop->gpu->kernel, grid, &resident));
    loop->blocks = (uint32_t)stencil_smaller(loop->blocks, resident) / cluster * cluster;
    grid->blocks = loop->blocks;
    if (loop->blocks == 0 && why[0] == '\0')
        snprintf(why, 96, "there is work for less than a cluster of %u blocks", cluster);
    return STENCIL_OK;
}

static stencil_status create_barrier(const stencil_bench *b, stencil_case_loop *loop) {
    const stencil_parts_spread *s = loop->spread;
    stencil_case_gpu *gpu = loop->gpu;
    TRY(stencil_device_barrier(
        b, &gpu->barrier,
        &(stencil_barrier_shape){.info = &stencil_barriers[s->of->order[loop->order].barrier],
                                 .parts = s->parts,
                                 .first = {0, loop->blocks},
                                 .timeout_s = loop->timeout_s},
        loop->ring));
    for (int p = 0; p < s->parts; p++)
        gpu->launch[p].state = gpu->barrier.state[p];
    return STENCIL_OK;
}

stencil_status stencil_case_gpu_create(stencil_bench *b, stencil_case_loop *loop, char why[96]) {
    const stencil_parts_spread *s = loop->spread;
    const stencil_case_body *body = s->problem->of->body;
    const stencil_barrier_id barrier = s->of->order[loop->order].barrier;
    const bool persistent = barrier != STENCIL_BARRIER_none;
    TRY(stencil_bench_memory(b, &loop->gpu, sizeof *loop->gpu));
    stencil_case_gpu *gpu = loop->gpu;
    TRY(stencil_bench_keep(b, destroy_gpu, gpu));
    if (loop->ceiling != NULL)
        return STENCIL_OK;
    for (int p = 0; p < s->parts; p++) {
        gpu->launch[p].phases = body->phases(&loop->part[p]);
        memcpy(gpu->launch[p].arguments, &loop->part[p], sizeof gpu->launch[p].arguments);
    }
    gpu->kernel = persistent || is_in(loop, STENCIL_CASE_ALONE) ? body->kernels->persistent[barrier]
                                                                : body->kernels->phase;
    gpu->grid = grid_of(body, barrier, loop->blocks);
    TRY(fit(b, loop, why));
    loop->workers = persistent ? loop->blocks : phase_blocks(loop, 0);
    if (why[0] != '\0')
        return STENCIL_OK;
    if (persistent)
        return create_barrier(b, loop);
    return is_in(loop, STENCIL_CASE_GRAPH)
               ? stencil_device_capture(b, s->device[0], launch_phases, loop, &gpu->graph)
               : STENCIL_OK;
}

/* Enqueues a run on the GPUs of all parts. */
static stencil_status enqueue(const stencil_case_loop *loop) {
    const stencil_parts_spread *s = loop->spread;
    stencil_case_gpu *gpu = loop->gpu;
    if (loop->ceiling != NULL)
        return loop->ceiling(loop);
    if (is_in(loop, STENCIL_CASE_ALONE))
        return stencil_device_launch(s->device[0], gpu->kernel, 1, gpu->grid.block_x,
                                     (void *[]){&gpu->launch[0]});
    if (is_in(loop, STENCIL_CASE_GRAPH)) {
        TRY_CUDA(cudaGraphLaunch(gpu->graph, s->device[0]->stream));
        return STENCIL_OK;
    }
    if (!stencil_case_is_persistent(s->of, loop->order))
        return launch_phases(loop);
    for (int p = 0; p < s->parts; p++) {
        if (!s->of->one_part)
            TRY_CUDA(cudaSetDevice(s->device[p]->gpu));
        TRY(stencil_grid_launch(gpu->kernel, &gpu->grid, &gpu->launch[p], s->device[p]->stream));
    }
    return STENCIL_OK;
}

static stencil_status wait_for(const stencil_parts_spread *s) {
    for (int p = 0; p < s->parts; p++)
        TRY_CUDA(cudaStreamSynchronize(s->device[p]->stream));
    return STENCIL_OK;
}

stencil_status stencil_case_gpu_run(stencil_case_loop *loop, int64_t count, double *time_s) {
    const stencil_parts_spread *s = loop->spread;
    const stencil_fault fault = loop->fault;
    stencil_case_gpu *gpu = loop->gpu;
    for (int p = 0; p < s->parts; p++) {
        stencil_case_launch *launch = &gpu->launch[p];
        launch->fault = fault;
        launch->fault.absent = fault.absent % loop->blocks;
        if (fault.absent / loop->blocks != (uint32_t)p)
            launch->fault.absent_step = 0;
        launch->special = fault.delay_ns != 0 || fault.absent_step != 0 || launch->trace.mark != NULL ||
                          launch->span != NULL;
    }
    const double start_s = stencil_clock_s();
    for (int64_t i = 0; i < count; i++) {
        TRY(enqueue(loop));
        if (!s->of->one_part || i + 1 == count)
            TRY(wait_for(s));
    }
    *time_s = stencil_clock_s() - start_s;
    return stencil_case_is_persistent(s->of, loop->order) ? stencil_barrier_check(&gpu->barrier) : STENCIL_OK;
}

void stencil_case_gpu_set_spans(stencil_case_loop *loop, stencil_kernel_span *const *span) {
    for (int p = 0; p < loop->spread->parts; p++) {
        loop->span[p] = loop->gpu->launch[p].span = span != NULL ? span[p] : NULL;
        loop->gpu->launch[p].special = span != NULL;
    }
}

stencil_status stencil_case_gpu_mark(stencil_case_loop *loop, int64_t *host, size_t count, bool back) {
    stencil_trace *trace = &loop->gpu->launch[0].trace;
    if (!back) {
        *trace = loop->trace;
        return stencil_to_device(&trace->mark, NULL, count * sizeof *host);
    }
    TRY(stencil_device_read(loop->spread->device[0], host, trace->mark, count * sizeof *host));
    TRY_CUDA(cudaFree(trace->mark));
    *trace = (stencil_trace){0};
    return STENCIL_OK;
}
#endif

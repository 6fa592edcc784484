/* Runs of cases on a GPU. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "bench/cases/ceiling.h"
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
/* GPU state of a loop. */
struct stencil_case_gpu {
    const stencil_device *device; /* the problem's device */
    stencil_case_launch launch;
    const void *kernel; /* kernel of one phase, or persistent kernel */
    stencil_grid grid;
    stencil_barrier barrier;
    cudaGraphExec_t graph;
    stencil_case_ceiling ceiling;
};

enum { CLUSTER_BLOCKS = 4 };

static stencil_grid grid_of(const stencil_case *of, int order, uint32_t blocks) {
    stencil_grid grid = {.blocks = blocks, .block_x = of->body->lanes, .block_y = 1};
    if (stencil_case_is_persistent(order) && stencil_barriers[order].needs == STENCIL_NEEDS_CLUSTERS)
        grid.cluster_blocks = CLUSTER_BLOCKS;
    return grid;
}

/* Finds how many blocks are resident with every barrier but those with clusters, which depend on the GPU's
 * groups of multiprocessors and get as many blocks as fit. */
stencil_status stencil_case_gpu_resident(const stencil_case *of, int64_t *blocks) {
    *blocks = INT32_MAX;
    for (int order = STENCIL_CASE_IMPLICIT + 1; order < STENCIL_BARRIER_COUNT; order++) {
        const stencil_grid grid = grid_of(of, order, 1);
        int64_t resident = *blocks;
        if (grid.cluster_blocks == 0)
            TRY(stencil_grid_resident(of->body->kernels->persistent[order], &grid, &resident));
        *blocks = stencil_smaller(*blocks, resident);
    }
    return STENCIL_OK;
}

stencil_status stencil_case_gpu_upload(stencil_bench *b, stencil_case_problem *p) {
    stencil_device *device;
    TRY(stencil_bench_memory(b, &device, sizeof *device));
    TRY(stencil_device_create(b, 0, device));
    p->device = device;
    for (int i = 0; i < p->array_count; i++) {
        stencil_case_array *a = &p->array[i];
        TRY(stencil_case_memory(b, device, a->kind == STENCIL_CASE_INPUT ? a->memory : NULL,
                                stencil_case_array_bytes(a), &a->device));
    }
    return STENCIL_OK;
}

static void destroy_gpu(void *kept) {
    stencil_case_gpu *gpu = kept;
    cudaFree(gpu->launch.trace.mark);
    if (gpu->barrier.start != NULL)
        stencil_barrier_destroy(&gpu->barrier);
}

/* Returns the number of blocks of a phase's launch; in traced runs all blocks are resident. */
static unsigned phase_blocks(const stencil_case_loop *loop, int64_t phase) {
    const stencil_case_problem *p = loop->problem;
    if (p->of->body->groups == NULL || loop->gpu->launch.trace.mark != NULL)
        return loop->gpu->grid.blocks;
    return (unsigned)stencil_smaller(p->of->body->groups(p->arguments, phase), INT32_MAX);
}

static stencil_status launch_phases(const void *what) {
    const stencil_case_loop *loop = what;
    stencil_case_gpu *gpu = loop->gpu;
    stencil_case_launch launch = gpu->launch;
    for (launch.phase = 0; launch.phase < launch.phases; launch.phase++) {
        TRY(stencil_device_launch(gpu->device, gpu->kernel, phase_blocks(loop, launch.phase),
                                  gpu->grid.block_x, (void *[]){&launch}));
        if (loop->order == STENCIL_CASE_STREAM)
            TRY_CUDA(cudaStreamSynchronize(gpu->device->stream));
        if (loop->order == STENCIL_CASE_DEVICE)
            TRY_CUDA(cudaDeviceSynchronize());
        if (loop->order == STENCIL_CASE_EVENT) {
            TRY_CUDA(cudaEventRecord(gpu->device->done, gpu->device->stream));
            TRY_CUDA(cudaEventSynchronize(gpu->device->done));
        }
    }
    return STENCIL_OK;
}

static stencil_status create_barrier(const stencil_bench *b, stencil_case_loop *loop) {
    stencil_case_gpu *gpu = loop->gpu;
    TRY(stencil_device_barrier(b, &gpu->barrier,
                               &(stencil_barrier_shape){.info = &stencil_barriers[loop->order],
                                                        .parts = 1,
                                                        .first = {0, loop->blocks},
                                                        .timeout_s = loop->timeout_s},
                               loop->ring));
    gpu->launch.state = gpu->barrier.state[0];
    return STENCIL_OK;
}

/* Reduces a loop's blocks to those that its barrier can have; `why` receives a reason when it can have none.
 */
static stencil_status fit(const stencil_bench *b, stencil_case_loop *loop, char why[96]) {
    const stencil_gpu *gpu = &b->machine->gpu[loop->gpu->device->gpu];
    const unsigned cluster = loop->gpu->grid.cluster_blocks > 1 ? loop->gpu->grid.cluster_blocks : 1;
    int64_t resident = 0;
    if (!gpu->cooperative)
        snprintf(why, 96, "the GPU has no cooperative launch");
    else if (stencil_device_has_code(gpu, stencil_barriers[loop->order].capability, why))
        TRY(stencil_grid_resident(loop->gpu->kernel, &loop->gpu->grid, &resident));
    loop->blocks = (uint32_t)stencil_smaller(loop->blocks, resident) / cluster * cluster;
    loop->gpu->grid.blocks = loop->blocks;
    if (loop->blocks == 0 && why[0] == '\0')
        snprintf(why, 96, "there is work for less than a cluster of %u blocks", cluster);
    return STENCIL_OK;
}

bool stencil_ceiling_load(const char *name, const stencil_ceiling_symbol *symbols, char why[96]) {
    char beside[96];
    void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
    snprintf(beside, sizeof beside, "/usr/local/cuda/lib64/%s", name);
    if (library == NULL)
        library = dlopen(beside, RTLD_NOW | RTLD_LOCAL);
    for (; library != NULL && symbols->name != NULL; symbols++) {
        void *const found = dlsym(library, symbols->name);
        memcpy(symbols->function, &found, sizeof found);
        if (found == NULL)
            library = NULL;
    }
    if (library == NULL)
        snprintf(why, 96, "there is no %s here", name);
    return library != NULL;
}

static stencil_status run_queue(const stencil_case_ceiling *c) {
    size_t bytes = c->state_bytes;
    return c->queue(c, c->state, &bytes);
}

static stencil_status create_ceiling(stencil_bench *b, stencil_case_loop *loop, char why[96]) {
    stencil_case_gpu *gpu = loop->gpu;
    if (loop->problem->of->body->ceiling == NULL) {
        snprintf(why, 96, "no library makes this result");
        return STENCIL_OK;
    }
    gpu->ceiling = (stencil_case_ceiling){
        .problem = loop->problem, .arguments = gpu->launch.arguments, .stream = gpu->device->stream};
    TRY(loop->problem->of->body->ceiling(b, &gpu->ceiling, why));
    if (gpu->ceiling.queue != NULL) {
        TRY(gpu->ceiling.queue(&gpu->ceiling, NULL, &gpu->ceiling.state_bytes));
        TRY(stencil_device_memory(b, &gpu->ceiling.state, gpu->ceiling.state_bytes));
        gpu->ceiling.run = run_queue;
    }
    loop->name = gpu->ceiling.name;
    loop->bytes = gpu->ceiling.bytes;
    return STENCIL_OK;
}

/* Sets the number of phases and the arguments of the case, with the arrays of the device. */
static void fill_launch(const stencil_case_problem *p, stencil_case_launch *launch) {
    launch->phases = p->of->body->phases(p->arguments);
    memcpy(launch->arguments, p->arguments, sizeof p->arguments);
    for (int i = 0; i < p->array_count; i++)
        memcpy(launch->arguments + p->array[i].pointer_at, &p->array[i].device, sizeof p->array[i].device);
}

stencil_status stencil_case_gpu_create(stencil_bench *b, stencil_case_loop *loop, char why[96]) {
    const stencil_case_problem *p = loop->problem;
    const stencil_case_kernels *kernels = p->of->body->kernels;
    const bool persistent = stencil_case_is_persistent(loop->order);
    struct cudaFuncAttributes attributes;
    TRY(stencil_bench_memory(b, &loop->gpu, sizeof *loop->gpu));
    stencil_case_gpu *gpu = loop->gpu;
    TRY(stencil_bench_keep(b, destroy_gpu, gpu));
    gpu->device = p->device;
    fill_launch(p, &gpu->launch);
    if (loop->order == STENCIL_CASE_CEILING)
        return create_ceiling(b, loop, why);
    gpu->kernel = loop->order == STENCIL_CASE_ALONE ? kernels->persistent[STENCIL_BARRIER_none]
                  : persistent                      ? kernels->persistent[loop->order]
                                                    : kernels->phase;
    gpu->grid = grid_of(p->of, loop->order, loop->blocks);
    TRY_CUDA(
        cudaFuncGetAttributes(&attributes, gpu->kernel)); /* loads the kernel before a graph is captured */
    if (persistent)
        TRY(fit(b, loop, why));
    loop->workers = persistent ? loop->blocks : phase_blocks(loop, 0);
    if (why[0] != '\0')
        return STENCIL_OK;
    if (persistent)
        return create_barrier(b, loop);
    return loop->order == STENCIL_CASE_GRAPH
               ? stencil_device_capture(b, gpu->device, launch_phases, loop, &gpu->graph)
               : STENCIL_OK;
}

stencil_status stencil_case_gpu_run(stencil_case_loop *loop, int64_t count, double *time_s) {
    stencil_case_gpu *gpu = loop->gpu;
    const bool persistent = stencil_case_is_persistent(loop->order);
    const cudaStream_t stream = gpu->device->stream;
    gpu->launch.fault = loop->fault;
    gpu->launch.special =
        loop->fault.delay_ns != 0 || loop->fault.absent_step != 0 || gpu->launch.trace.mark != NULL;
    const double start_s = stencil_clock_s();
    for (int64_t i = 0; i < count; i++) {
        if (loop->order == STENCIL_CASE_ALONE)
            TRY(stencil_device_launch(gpu->device, gpu->kernel, 1, gpu->grid.block_x,
                                      (void *[]){&gpu->launch}));
        else if (persistent)
            TRY(stencil_grid_launch(gpu->kernel, &gpu->grid, &gpu->launch, stream));
        else if (loop->order == STENCIL_CASE_GRAPH)
            TRY_CUDA(cudaGraphLaunch(gpu->graph, stream));
        else if (loop->order == STENCIL_CASE_CEILING)
            TRY(gpu->ceiling.run(&gpu->ceiling));
        else
            TRY(launch_phases(loop));
    }
    TRY_CUDA(cudaStreamSynchronize(stream));
    *time_s = stencil_clock_s() - start_s;
    return persistent ? stencil_barrier_check(&gpu->barrier) : STENCIL_OK;
}

stencil_status stencil_case_gpu_mark(stencil_case_loop *loop, int64_t *host, size_t count, bool back) {
    stencil_trace *trace = &loop->gpu->launch.trace;
    if (!back) {
        *trace = loop->trace;
        return stencil_to_device(&trace->mark, NULL, count * sizeof *host);
    }
    TRY(stencil_device_read(loop->gpu->device, host, trace->mark, count * sizeof *host));
    TRY_CUDA(cudaFree(trace->mark));
    *trace = (stencil_trace){0};
    return STENCIL_OK;
}
#endif

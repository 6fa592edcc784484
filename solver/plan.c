/* What a run will do: backend, device, kernel, tiles and launch shape, memory. */
#include <stdio.h>
#include <string.h>

#include "solver/strategy.h"

static stencil_status choose_backend(stencil_plan *plan, const stencil_run_options *options,
                                     const stencil_machine *machine) {
    const bool asked = options->gpu_count > 0 || options->backend == STENCIL_BACKEND_GPU;
    CHECK(!(asked && options->backend == STENCIL_BACKEND_CPU), USAGE,
          "--gpus and --device cpu contradict each other: give one of the two");
    plan->backend = asked || machine->gpu_count > 0 ? STENCIL_BACKEND_GPU : STENCIL_BACKEND_CPU;
    if (options->backend == STENCIL_BACKEND_CPU)
        plan->backend = STENCIL_BACKEND_CPU;
    if (plan->backend == STENCIL_BACKEND_CPU) {
        if (options->backend != STENCIL_BACKEND_CPU)
            snprintf(plan->note, sizeof plan->note, "no GPU (%s): using the CPU", machine->no_gpu_reason);
        return STENCIL_OK;
    }
    CHECK(machine->gpu_count > 0, UNAVAILABLE, "no GPU here (%s): leave --gpus out or give --device cpu",
          machine->no_gpu_reason);
    for (int i = 0; i < options->gpu_count; i++)
        CHECK(options->gpu[i] < machine->gpu_count, UNAVAILABLE,
              "--gpus asks for GPU %d, this machine has %d (0 … %d)", options->gpu[i], machine->gpu_count,
              machine->gpu_count - 1);
    CHECK(options->gpu_count <= 1, USAGE, "strategy %s runs on one GPU: give --gpus 1 or --gpus ID,",
          plan->strategy);
    plan->gpu = options->gpu_count > 0 ? options->gpu[0] : 0;
    return STENCIL_OK;
}

static stencil_status check_host_memory(stencil_plan *plan) {
    char need[32], have[32];
    CHECK(plan->host_bytes < plan->host_available_bytes, NO_MEMORY,
          "the run needs %s of host memory, %s is available", stencil_bytes_text(plan->host_bytes, need),
          stencil_bytes_text(plan->host_available_bytes, have));
    return STENCIL_OK;
}

static int64_t field_count(const stencil_problem *problem) {
    return problem->spec.source != STENCIL_SOURCE_NONE ? 2 : 1;
}

#ifdef STENCIL_HAVE_CUDA
/* Longer marches gained nothing on an H200: docs/performance.md. */
enum { MARCH_MAX = 8 };

/* Threads of a block along x and y: as the kernel likes it, less wide where the rows are short. */
static void choose_block(stencil_plan *plan, const stencil_problem *problem, const stencil_kernel *kernel) {
    plan->block_x = kernel->block_x;
    while (plan->block_x > 32 && problem->n[STENCIL_X] <= plan->block_x / 2 * kernel->vector_cells)
        plan->block_x /= 2;
    plan->block_y = STENCIL_BLOCK_THREADS / plan->block_x;
}

/* Length of the march. Rounds of tiles over the resident blocks, times the rows of a tile and what its first
 * row costs extra, is what a step takes: long marches reload less, short ones fill the device evenly. */
static int64_t choose_march(const stencil_plan *plan, const stencil_problem *problem, int64_t across,
                            int64_t length, int64_t slots) {
    const double overhead = 0.5 + 0.5 * problem->shape->radius;
    int64_t best = 1;
    double best_cost = 0;
    for (int64_t march = 1; march <= MARCH_MAX; march *= 2) {
        const int64_t per_tile = problem->rank == 3 ? march : march * plan->block_y;
        const int64_t tiles = across * ((length + per_tile - 1) / per_tile);
        const double cost = (double)((tiles + slots - 1) / slots) * ((double)march + overhead);
        if (march == 1 || cost < best_cost) {
            best = march;
            best_cost = cost;
        }
    }
    return best;
}

static stencil_status choose_tiles(stencil_plan *plan, const stencil_problem *problem, int vector_cells,
                                   int64_t slots) {
    const int64_t *n = problem->n;
    const int64_t width = (int64_t)plan->block_x * vector_cells;
    const int64_t columns = (n[STENCIL_X] + width - 1) / width;
    plan->tile[STENCIL_X] = width;
    if (problem->rank == 3) {
        plan->tile[STENCIL_Y] = plan->block_y;
        const int64_t across = columns * ((n[STENCIL_Y] + plan->block_y - 1) / plan->block_y);
        plan->tile[STENCIL_Z] = choose_march(plan, problem, across, n[STENCIL_Z], slots);
    } else {
        plan->tile[STENCIL_Z] = 1;
        plan->tile[STENCIL_Y] = plan->block_y * choose_march(plan, problem, columns, n[STENCIL_Y], slots);
    }
    plan->tile_count = 1;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        /* Kernels count cells of an axis in 32 bits, a tile beyond the end included. */
        const int64_t most = INT32_MAX - plan->tile[axis] - 16;
        CHECK(n[axis] <= most, UNAVAILABLE,
              "axis %c has %lld cells, the GPU kernels take up to %lld along an axis: use --device cpu",
              "zyx"[axis], (long long)n[axis], (long long)most);
    }
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        plan->tile_count *= (n[axis] + plan->tile[axis] - 1) / plan->tile[axis];
    CHECK(plan->tile_count <= INT32_MAX, UNAVAILABLE,
          "the field has %lld tiles, one launch covers up to %d: use --device cpu",
          (long long)plan->tile_count, INT32_MAX);
    return STENCIL_OK;
}

/* Blocks of a cluster; a processing cluster of the device has 16 or 18 multiprocessors. */
enum { CLUSTER_BLOCKS = 4 };

/* The grid becomes a whole number of clusters, as many as fit at once at the most. */
static stencil_status fit_clusters(stencil_plan *plan, const stencil_kernel *kernel) {
    cudaLaunchAttribute attribute = {.id = cudaLaunchAttributeClusterDimension,
                                     .val.clusterDim = {CLUSTER_BLOCKS, 1, 1}};
    const cudaLaunchConfig_t config = {.gridDim = {CLUSTER_BLOCKS, 1, 1},
                                       .blockDim = {(unsigned)plan->block_x, (unsigned)plan->block_y, 1},
                                       .attrs = &attribute,
                                       .numAttrs = 1};
    int clusters = 0;
    TRY_CUDA(cudaOccupancyMaxActiveClusters(&clusters, kernel->function, &config));
    CHECK(clusters > 0, UNAVAILABLE, "GPU %d cannot hold a cluster of %d blocks of kernel %s", plan->gpu,
          CLUSTER_BLOCKS, plan->kernel);
    const int needed = (plan->grid_blocks + CLUSTER_BLOCKS - 1) / CLUSTER_BLOCKS;
    plan->grid_blocks = CLUSTER_BLOCKS * (needed < clusters ? needed : clusters);
    plan->cluster_blocks = CLUSTER_BLOCKS;
    return STENCIL_OK;
}

static stencil_status plan_gpu(stencil_plan *plan, const stencil_problem *problem,
                               const stencil_strategy *strategy, const stencil_machine *machine) {
    const stencil_gpu *gpu = &machine->gpu[plan->gpu];
    const stencil_kernel *kernel =
        stencil_kernel_find(problem->shape->id, problem->precision, STENCIL_SWEEP_stream, strategy->barrier);
    CHECK(kernel != NULL, INTERNAL, "no kernel for %s", plan->kernel);
    TRY_CUDA(cudaSetDevice(plan->gpu));
    struct cudaFuncAttributes attributes;
    const cudaError_t state = cudaFuncGetAttributes(&attributes, kernel->function);
    CHECK(state != cudaErrorNoKernelImageForDevice && state != cudaErrorInvalidDeviceFunction, UNAVAILABLE,
          "this build has no kernels for GPU %d (compute capability %d.%d): build with "
          "-DCMAKE_CUDA_ARCHITECTURES=%d",
          plan->gpu, gpu->capability / 10, gpu->capability % 10, gpu->capability);
    TRY_CUDA(state);
    plan->registers = attributes.numRegs;
    TRY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&plan->blocks_per_sm, kernel->function,
                                                           STENCIL_BLOCK_THREADS, 0));
    CHECK(plan->blocks_per_sm > 0, UNAVAILABLE, "GPU %d cannot hold a block of kernel %s", plan->gpu,
          plan->kernel);
    const int64_t slots = (int64_t)plan->blocks_per_sm * gpu->sm_count;
    choose_block(plan, problem, kernel);
    TRY(choose_tiles(plan, problem, kernel->vector_cells, slots));
    plan->grid_blocks = (int)plan->tile_count;
    if (strategy->cooperative && plan->tile_count > slots)
        plan->grid_blocks = (int)slots;
    if (stencil_barriers[plan->barrier].needs == STENCIL_NEEDS_CLUSTERS)
        TRY(fit_clusters(plan, kernel));
    size_t free_bytes = 0, total_bytes = 0;
    TRY_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
    plan->device_bytes = stencil_gpu_bytes(problem);
    plan->device_available_bytes = (int64_t)free_bytes;
    char need[32], have[32];
    CHECK(plan->device_bytes < plan->device_available_bytes, NO_MEMORY,
          "the run needs %s of memory on GPU %d, %s is free", stencil_bytes_text(plan->device_bytes, need),
          plan->gpu, stencil_bytes_text(plan->device_available_bytes, have));
    /* A look at the mailbox crosses the bus: about once a millisecond, by the time that memory needs for a
     * step. */
    const double step_s = 2e-6 + 16.0 * (double)stencil_problem_updated_cells(problem) / 4e12;
    plan->poll_every = (int64_t)(1e-3 / step_s) + 1;
    return STENCIL_OK;
}
#else
static stencil_status plan_gpu(stencil_plan *plan, const stencil_problem *problem,
                               const stencil_strategy *strategy, const stencil_machine *machine) {
    (void)problem, (void)strategy;
    FAIL(UNAVAILABLE, "no GPU here (%s): use --device cpu instead of %s", machine->no_gpu_reason,
         plan->kernel);
}
#endif

static void plan_cpu(stencil_plan *plan, const stencil_problem *problem, const stencil_machine *machine) {
    plan->threads = machine->cpu_threads;
    plan->streaming = stencil_cpu_streams(problem, machine->cpu_cache_bytes);
    const int64_t rows = problem->n[STENCIL_Z] * problem->n[STENCIL_Y];
    plan->tile[STENCIL_Z] = 1;
    plan->tile[STENCIL_Y] = (rows + plan->threads - 1) / plan->threads;
    plan->tile[STENCIL_X] = problem->n[STENCIL_X];
    plan->tile_count = plan->threads;
    plan->host_bytes += stencil_cpu_bytes(problem);
}

const char *stencil_strategy_unavailable(int index, stencil_backend backend, const stencil_machine *machine) {
    const stencil_strategy *strategy = stencil_strategy_row(index);
    if (backend == STENCIL_BACKEND_CPU)
        return strategy->run_cpu != NULL ? "" : "has no CPU twin";
    if (machine->gpu_count == 0)
        return machine->no_gpu_reason;
    if (strategy->run_gpu == NULL)
        return "built without CUDA";
    if (machine->gpu[0].capability < stencil_barriers[strategy->barrier].capability)
        return "the GPU is too old for its barrier";
    if (strategy->cooperative && !machine->gpu[0].cooperative)
        return "the GPU has no cooperative launch";
    return "";
}

stencil_status stencil_plan_make(stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_run_options *options, const stencil_machine *machine) {
    *plan = (stencil_plan){0};
    const char *sync = options->sync != NULL ? options->sync : "relaunch";
    const int index = stencil_strategy_index(sync);
    CHECK(index >= 0, USAGE, "--sync %s: unknown strategy; 'stencil info' lists them", sync);
    const stencil_strategy *strategy = stencil_strategy_row(index);
    snprintf(plan->strategy, sizeof plan->strategy, "%s", sync);
    plan->barrier = strategy->barrier;
    plan->cluster_blocks = 1;
    plan->patience = options->patience;
    if (!(plan->patience.timeout_s > 0))
        plan->patience.timeout_s = STENCIL_TIMEOUT_DEFAULT_S;
    snprintf(plan->kernel, sizeof plan->kernel, "%s %s stream %s", problem->shape->name,
             stencil_precision_name(problem->precision), stencil_barriers[strategy->barrier].name);
    TRY(choose_backend(plan, options, machine));
    const char *why = stencil_strategy_unavailable(index, plan->backend, machine);
    CHECK(why[0] == '\0', UNAVAILABLE, "--sync %s is not available here: %s", sync, why);
    plan->host_bytes = field_count(problem) * stencil_layout_bytes(&problem->layout);
    plan->host_available_bytes = stencil_memory_available_bytes();
    if (plan->backend == STENCIL_BACKEND_CPU)
        plan_cpu(plan, problem, machine);
    TRY(check_host_memory(plan));
    return plan->backend == STENCIL_BACKEND_GPU ? plan_gpu(plan, problem, strategy, machine) : STENCIL_OK;
}

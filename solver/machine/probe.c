/* The only place that asks the driver what the machine is. */
#include "solver/machine/machine.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernels/cpu.h"
#include "sync/host.h"

/* Reads a number about a cache of CPU 0 from a file, in bytes where it has a unit; 0: no such file. */
static int64_t cache_says(int index, const char *what) {
    char path[96], unit = 0;
    long long number = 0;
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, what);
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return 0;
    const int found = fscanf(file, "%lld%c", &number, &unit);
    fclose(file);
    if (found < 1 || number < 0 || number >= 1 << 20)
        return 0;
    return found < 2 || unit == '\n' ? number : number * (unit == 'K' ? 1 << 10 : unit == 'M' ? 1 << 20 : 0);
}

/* Bytes of the cache that one core can fill, of a level or, for level 0, of the last one; 0: unknown. The C
 * library is asked last, since it reports a whole socket's cache on some processors. */
static int64_t cache_bytes(int level) {
    int64_t bytes = 0;
    for (int index = 0; index < 8; index++) {
        const int64_t size = cache_says(index, "size");
        if (size > bytes && (level == 0 || cache_says(index, "level") == level))
            bytes = size;
    }
#ifdef _SC_LEVEL3_CACHE_SIZE
    if (bytes == 0 && level == 0)
        bytes = sysconf(_SC_LEVEL3_CACHE_SIZE);
    if (bytes <= 0)
        bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
    return bytes > 0 ? bytes : 0;
}

#ifdef STENCIL_HAVE_CUDA
static stencil_status probe_gpu(stencil_gpu *gpu, int device) {
    struct cudaDeviceProp p;
    int clusters = 0;
    TRY_CUDA(cudaGetDeviceProperties(&p, device));
    snprintf(gpu->name, sizeof gpu->name, "%.120s", p.name);
    TRY_CUDA(cudaDeviceGetPCIBusId(gpu->bus_id, sizeof gpu->bus_id, device));
    gpu->sm_count = p.multiProcessorCount;
    gpu->capability = 10 * p.major + p.minor;
    gpu->code = stencil_code_expected(gpu->capability);
    gpu->memory_bytes = (int64_t)p.totalGlobalMem;
    gpu->l2_bytes = p.l2CacheSize;
    gpu->shared_per_sm_bytes = (int64_t)p.sharedMemPerMultiprocessor;
    TRY_CUDA(cudaDeviceGetAttribute(&gpu->clock_khz, cudaDevAttrClockRate, device));
    gpu->shared_per_block_bytes = (int64_t)p.sharedMemPerBlockOptin;
    gpu->registers_per_sm = p.regsPerMultiprocessor;
    gpu->threads_per_sm = p.maxThreadsPerMultiProcessor;
    gpu->blocks_per_sm = p.maxBlocksPerMultiProcessor;
    gpu->cooperative = p.cooperativeLaunch != 0;
    TRY_CUDA(cudaDeviceGetAttribute(&clusters, cudaDevAttrClusterLaunch, device));
    gpu->clusters = clusters != 0;
    return STENCIL_OK;
}

static stencil_status probe_gpus(stencil_machine *machine, int streams) {
    int count = 0;
    /* Streams that share a queue keep each other's kernels from starting. The driver reads this once. */
    char queues[16];
    snprintf(queues, sizeof queues, "%d", streams);
    if (streams > 0)
        setenv("CUDA_DEVICE_MAX_CONNECTIONS", queues, 0);
    const cudaError_t state = cudaGetDeviceCount(&count);
    /* Both answers mean that there is none, whatever the driver calls it. */
    if (state == cudaErrorNoDevice || state == cudaErrorInsufficientDriver || count == 0) {
        cudaGetLastError();
        snprintf(machine->no_gpu_reason, sizeof machine->no_gpu_reason, "%s",
                 state == cudaErrorInsufficientDriver ? "no NVIDIA driver, or one older than CUDA needs"
                                                      : "no GPU found");
        return STENCIL_OK;
    }
    TRY_CUDA_STATE(state, "cudaGetDeviceCount(&count)");
    TRY_CUDA(cudaDriverGetVersion(&machine->driver_version));
    machine->gpu_count = count < STENCIL_GPUS_MAX ? count : STENCIL_GPUS_MAX;
    for (int i = 0; i < machine->gpu_count; i++) {
        TRY(probe_gpu(&machine->gpu[i], i));
        for (int j = 0; j < machine->gpu_count; j++) {
            int access = i == j;
            if (i != j)
                TRY_CUDA(cudaDeviceCanAccessPeer(&access, i, j));
            machine->peer[i][j] = access != 0;
        }
    }
    return STENCIL_OK;
}

/* Asks the driver for the number of clusters of a kernel that are resident at once on a GPU. */
static stencil_status ask_clusters(int *clusters, const void *function, const char *gpu, int shared_bytes) {
    stencil_tuning tuning;
    int64_t blocks;
    stencil_tuning_find(&tuning, gpu);
    const unsigned of_cluster = (unsigned)tuning.cluster_blocks;
    const stencil_grid grid = {.blocks = of_cluster,
                               .block_x = STENCIL_BLOCK_THREADS,
                               .block_y = 1,
                               .cluster_blocks = of_cluster,
                               .shared_bytes = (unsigned)shared_bytes};
    TRY_CUDA(cudaFuncSetAttribute(function, cudaFuncAttributeMaxDynamicSharedMemorySize, shared_bytes));
    TRY(stencil_grid_resident(function, &grid, &blocks));
    *clusters = (int)(blocks / of_cluster);
    return STENCIL_OK;
}

/* Asks for the resident clusters of blocks that fill a multiprocessor each, by half of its shared memory. */
static stencil_status ask_clusters_at_once(stencil_gpu *gpu, const stencil_kernel *kernel) {
    if (gpu->clusters && gpu->clusters_at_once == 0)
        TRY(ask_clusters(&gpu->clusters_at_once, kernel->function, gpu->name,
                         (int)(gpu->shared_per_sm_bytes / 2)));
    TRY_CUDA(cudaFuncSetAttribute(kernel->function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                  kernel->step_bytes));
    return STENCIL_OK;
}

static stencil_status ask_attributes(stencil_kernel_attributes *row, const stencil_kernel *kernel,
                                     stencil_gpu *gpu) {
    struct cudaFuncAttributes attributes;
    const cudaError_t state = cudaFuncGetAttributes(&attributes, kernel->function);
    row->image = state != cudaErrorNoKernelImageForDevice && state != cudaErrorInvalidDeviceFunction;
    if (!row->image) {
        cudaGetLastError();
        return STENCIL_OK;
    }
    TRY_CUDA_STATE(state, "cudaFuncGetAttributes(&attributes, kernel->function)");
    TRY(stencil_code_loaded(&gpu->code));
    row->registers = attributes.numRegs;
    row->shared_bytes = (int)attributes.sharedSizeBytes + kernel->step_bytes;
    if (row->shared_bytes > gpu->shared_per_block_bytes)
        return STENCIL_OK; /* no block fits */
    TRY(ask_clusters_at_once(gpu, kernel));
    TRY_CUDA(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        &row->blocks_per_sm, kernel->function, STENCIL_BLOCK_THREADS, (size_t)kernel->step_bytes));
    return stencil_barriers[kernel->barrier].needs == STENCIL_NEEDS_CLUSTERS
               ? ask_clusters(&row->clusters, kernel->function, gpu->name, kernel->step_bytes)
               : STENCIL_OK;
}

/* Asks a GPU for its free memory, and for the attributes of a kernel into `row`; row NULL: memory only. */
static stencil_status ask_one(stencil_machine *machine, int gpu, const stencil_kernel *kernel,
                              stencil_kernel_attributes *row) {
    size_t free_bytes = 0, total_bytes = 0;
    TRY_CUDA(cudaSetDevice(gpu));
    if (row != NULL)
        TRY(ask_attributes(row, kernel, &machine->gpu[gpu]));
    TRY_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
    machine->gpu[gpu].free_bytes = (int64_t)free_bytes;
    return STENCIL_OK;
}

stencil_status stencil_machine_ask_kernel(stencil_machine *machine, const int *gpu, int count,
                                          const stencil_kernel *kernel) {
    stencil_kernel_attributes *row[STENCIL_GPUS_MAX] = {0};
    stencil_error error[STENCIL_GPUS_MAX] = {{0}};
    for (int i = 0; i < count; i++) {
        const stencil_kernel_attributes *known = stencil_machine_kernel(machine, gpu[i], kernel);
        if (known != NULL && known->gpu == gpu[i])
            continue;
        CHECK(machine->kernel_count < STENCIL_MACHINE_KERNELS_MAX, INTERNAL,
              "more than %d kernels in the description of a machine", STENCIL_MACHINE_KERNELS_MAX);
        row[i] = &machine->kernel[machine->kernel_count++];
        *row[i] = (stencil_kernel_attributes){.kernel = *kernel, .gpu = gpu[i]};
        row[i]->kernel.function = row[i]->kernel.deep = NULL;
    }
/* The first question to a GPU makes its context. */
#pragma omp parallel for num_threads(count) schedule(static, 1)
    for (int i = 0; i < count; i++)
        if (ask_one(machine, gpu[i], kernel, row[i]) != STENCIL_OK)
            error[i] = *stencil_error_last();
    for (int i = 0; i < count; i++)
        if (error[i].status != STENCIL_OK)
            return stencil_error_adopt(&error[i]);
    return STENCIL_OK;
}
#else
stencil_status stencil_machine_ask_kernel(stencil_machine *machine, const int *gpu, int count,
                                          const stencil_kernel *kernel) {
    (void)machine, (void)kernel, (void)count;
    FAIL(UNAVAILABLE, "GPU %d: built without CUDA", gpu[0]);
}
#endif

stencil_status stencil_machine_ask_all(stencil_machine *machine) {
    for (int gpu = 0; gpu < machine->gpu_count; gpu++)
        for (int i = 0; i < STENCIL_KERNEL_KEYS; i++) {
            stencil_kernel kernel = stencil_kernel_key(i);
            if (stencil_kernel_find(&kernel) && machine->kernel_count < STENCIL_MACHINE_KERNELS_MAX &&
                stencil_barriers[kernel.barrier].capability <= stencil_gpu_code(&machine->gpu[gpu]) &&
                stencil_machine_kernel(machine, gpu, &kernel) == NULL)
                TRY(stencil_machine_ask_kernel(machine, &gpu, 1, &kernel));
        }
    return STENCIL_OK;
}

stencil_status stencil_machine_probe(stencil_machine *machine, int streams) {
    *machine = (stencil_machine){0};
    machine->cpu_threads = omp_get_max_threads();
    machine->cpu_processors = stencil_processors();
    snprintf(machine->cpu_isa, sizeof machine->cpu_isa, "%s", stencil_cpu_best()->name);
    machine->cpu_cache_bytes = cache_bytes(0);
    machine->cpu_core_bytes = cache_bytes(2);
    machine->host_available_bytes = stencil_memory_available_bytes();
#ifdef STENCIL_HAVE_CUDA
    TRY_CUDA(cudaRuntimeGetVersion(&machine->runtime_version));
    TRY(probe_gpus(machine, streams));
#else
    (void)streams;
    snprintf(machine->no_gpu_reason, sizeof machine->no_gpu_reason, "built without CUDA");
#endif
    stencil_calibration_defaults(machine);
    return STENCIL_OK;
}

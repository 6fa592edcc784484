#include "solver/device.h"

#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "kernels/cpu.h"
#include "solver/gpu.h"

/* Last-level cache that one core can fill. The C library's answer is that of a whole socket on some
 * processors. */
static int64_t cache_bytes(void) {
    int64_t bytes = 0;
    for (int index = 0; index < 8; index++) {
        char path[96], unit = 0;
        long long size = 0;
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", index);
        FILE *file = fopen(path, "r");
        if (file == NULL)
            break;
        if (fscanf(file, "%lld%c", &size, &unit) == 2 && (unit == 'K' || unit == 'M') && size < 1 << 20) {
            size *= unit == 'K' ? 1 << 10 : 1 << 20;
            bytes = size > bytes ? size : bytes;
        }
        fclose(file);
    }
#ifdef _SC_LEVEL3_CACHE_SIZE
    if (bytes == 0) {
        const long l3 = sysconf(_SC_LEVEL3_CACHE_SIZE), l2 = sysconf(_SC_LEVEL2_CACHE_SIZE);
        bytes = l3 > 0 ? l3 : l2 > 0 ? l2 : 0;
    }
#endif
    return bytes;
}

static void probe_cpu(stencil_machine *machine) {
    machine->cpu_threads = omp_get_max_threads();
    machine->cpu_isa = stencil_cpu_isa();
    machine->cpu_cache_bytes = cache_bytes();
}

#ifdef STENCIL_HAVE_CUDA
static stencil_status probe_gpu(stencil_gpu *gpu, int device) {
    struct cudaDeviceProp p;
    TRY_CUDA(cudaGetDeviceProperties(&p, device));
    snprintf(gpu->name, sizeof gpu->name, "%.120s", p.name);
    TRY_CUDA(cudaDeviceGetPCIBusId(gpu->bus_id, sizeof gpu->bus_id, device));
    gpu->sm_count = p.multiProcessorCount;
    gpu->capability = 10 * p.major + p.minor;
    gpu->memory_bytes = (int64_t)p.totalGlobalMem;
    gpu->l2_bytes = p.l2CacheSize;
    gpu->shared_per_sm_bytes = (int64_t)p.sharedMemPerMultiprocessor;
    TRY_CUDA(cudaDeviceGetAttribute(&gpu->clock_khz, cudaDevAttrClockRate, device));
    gpu->cooperative = p.cooperativeLaunch != 0;
    return STENCIL_OK;
}

static stencil_status probe_gpus(stencil_machine *machine) {
    int count = 0;
    /* Parts that share a GPU wait for each other: streams that share a queue of the driver would keep one of
     * them from starting. The driver reads this once; 8 is its default, 32 the most. */
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    const cudaError_t state = cudaGetDeviceCount(&count);
    /* Both answers mean that there is none, whatever the driver calls it. */
    if (state == cudaErrorNoDevice || state == cudaErrorInsufficientDriver || count == 0) {
        cudaGetLastError();
        snprintf(machine->no_gpu_reason, sizeof machine->no_gpu_reason, "%s",
                 state == cudaErrorInsufficientDriver ? "no NVIDIA driver, or one older than CUDA needs"
                                                      : "no GPU found");
        return STENCIL_OK;
    }
    TRY_CUDA(state);
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
#endif

stencil_status stencil_machine_probe(stencil_machine *machine) {
    *machine = (stencil_machine){0};
    probe_cpu(machine);
#ifdef STENCIL_HAVE_CUDA
    TRY_CUDA(cudaRuntimeGetVersion(&machine->runtime_version));
    return probe_gpus(machine);
#else
    snprintf(machine->no_gpu_reason, sizeof machine->no_gpu_reason, "built without CUDA");
    return STENCIL_OK;
#endif
}

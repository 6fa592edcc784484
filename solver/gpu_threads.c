/* A host thread for each part of a run. */
#include "solver/gpu.h"

#ifdef STENCIL_HAVE_CUDA
#include <omp.h>

#include "solver/machine/topology.h"

/* Takes the part's device and, with several parts, a place near it; where that is not possible the thread
 * stays where it is. */
static stencil_status take_place(const stencil_gpu_part *gpu, stencil_pin **pin) {
    char bus_id[32];
    TRY(stencil_gpu_take(gpu));
    if (gpu->run->parts == 1)
        return STENCIL_OK;
    TRY_CUDA(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, gpu->device));
    *pin = stencil_pin_near(bus_id);
    return STENCIL_OK;
}

stencil_status stencil_gpu_each(stencil_gpu_run *run, stencil_status (*function)(stencil_gpu_part *, void *),
                                void *context) {
    stencil_error error[STENCIL_PARTS_MAX] = {{0}};
    int threads = 0, ready = 0;
#pragma omp parallel num_threads(run->parts)
    {
        const int part = omp_get_thread_num();
        stencil_pin *pin = NULL;
#pragma omp single
        threads = omp_get_num_threads();
        if (threads == run->parts && take_place(&run->part[part], &pin) != STENCIL_OK)
            error[part] = *stencil_error_last();
        else
            __atomic_add_fetch(&ready, 1, __ATOMIC_RELAXED);
/* The function may hold barriers: it is called by all or by none. */
#pragma omp barrier
        if (threads == run->parts && __atomic_load_n(&ready, __ATOMIC_RELAXED) == threads &&
            function(&run->part[part], context) != STENCIL_OK)
            error[part] = *stencil_error_last();
        stencil_pin_release(pin);
    }
    CHECK(threads == run->parts, UNAVAILABLE, "OpenMP gave %d threads for %d parts: raise OMP_THREAD_LIMIT",
          threads, run->parts);
    for (int part = 0; part < run->parts; part++)
        if (error[part].status != STENCIL_OK)
            return stencil_error_adopt(&error[part]);
    return STENCIL_OK;
}
#endif

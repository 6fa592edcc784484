/* A host thread for each part of a run. */
#include "solver/gpu.h"

#ifdef STENCIL_HAVE_CUDA
#include <omp.h>

#include "solver/topology.h"

static stencil_status call_pinned(stencil_gpu_run *gpu, stencil_status (*function)(stencil_gpu_run *, void *),
                                  void *context) {
    stencil_pin *pin = NULL;
    TRY(stencil_gpu_take(gpu));
    if (gpu->team->parts > 1) {
        char bus_id[32];
        TRY_CUDA(cudaDeviceGetPCIBusId(bus_id, sizeof bus_id, gpu->device));
        pin = stencil_pin_near(bus_id); /* where that is not possible the thread stays where it is */
    }
    const stencil_status status = function(gpu, context);
    stencil_pin_release(pin);
    return status;
}

stencil_status stencil_gpu_each(stencil_gpu_team *team, stencil_status (*function)(stencil_gpu_run *, void *),
                                void *context) {
    stencil_error error[STENCIL_PARTS_MAX] = {{0}};
    int threads = 0;
#pragma omp parallel num_threads(team->parts)
    {
        const int part = omp_get_thread_num();
#pragma omp single
        threads = omp_get_num_threads();
        if (threads == team->parts && call_pinned(&team->part[part], function, context) != STENCIL_OK)
            error[part] = *stencil_error_last();
    }
    CHECK(threads == team->parts, UNAVAILABLE, "OpenMP gave %d threads for %d parts: raise OMP_THREAD_LIMIT",
          threads, team->parts);
    for (int part = 0; part < team->parts; part++)
        if (error[part].status != STENCIL_OK)
            return stencil_error_adopt(&error[part]);
    return STENCIL_OK;
}
#endif

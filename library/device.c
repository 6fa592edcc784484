/* Arrays in the memory of a GPU: where they are, and when they may be read. */
#include "library/inside.h"

#include <stdlib.h>
#include <string.h>

#include "base/cuda.h"

#ifdef STENCIL_HAVE_CUDA
/* Checks that kernels can read the cells of an array where they lie. */
static stencil_status check_aligned(const stencil_array_t *array, const char *name) {
    const int64_t bytes = array->type == STENCIL_TYPE_FLOAT64   ? (int64_t)sizeof(double)
                          : array->type == STENCIL_TYPE_FLOAT32 ? (int64_t)sizeof(float)
                                                                : 1;
    bool aligned = (intptr_t)array->data % bytes == 0;
    for (int axis = 0; axis < 3; axis++)
        aligned = aligned && array->stride[axis] % bytes == 0;
    CHECK(aligned, USAGE,
          "array %s is in the memory of a GPU, and not all of its cells are where a number may be", name);
    return STENCIL_OK;
}

stencil_status stencil_array_locate(stencil_array_t *array, const char *name,
                                    const stencil_session_t *session) {
    struct cudaPointerAttributes found = {.type = cudaMemoryTypeUnregistered};
    CHECK(array->memory == STENCIL_MEMORY_HOST || session->machine.gpu_count > 0, UNAVAILABLE,
          "array %s is in the memory of a GPU, and there is none here", name);
    if (session->machine.gpu_count > 0 && cudaPointerGetAttributes(&found, array->data) != cudaSuccess)
        (void)cudaGetLastError();
    const bool managed = found.type == cudaMemoryTypeManaged && array->memory == STENCIL_MEMORY_DEVICE,
               on_device = found.type == cudaMemoryTypeDevice || managed;
    CHECK(array->memory == STENCIL_MEMORY_HOST || on_device, USAGE,
          "array %s is said to be in the memory of a GPU, where CUDA knows of none at its address", name);
    if (!on_device)
        return STENCIL_OK;
    array->memory = STENCIL_MEMORY_DEVICE;
    array->device = found.device;
    TRY(check_aligned(array, name));
    TRY_CUDA(cudaSetDevice(array->device));
    TRY_CUDA(cudaStreamSynchronize(array->stream));
    return STENCIL_OK;
}

stencil_status stencil_array_fetch(stencil_array_t *array, int rank, const int64_t *extent, void **memory) {
    int64_t low = 0, high = array->type == STENCIL_TYPE_FLOAT64   ? (int64_t)sizeof(double)
                            : array->type == STENCIL_TYPE_FLOAT32 ? (int64_t)sizeof(float)
                                                                  : 1;
    if (array->memory != STENCIL_MEMORY_DEVICE)
        return STENCIL_OK;
    for (int axis = 0; axis < rank; axis++) {
        const int64_t last = array->stride[axis] * (extent[axis] - 1);
        low += last < 0 ? last : 0;
        high += last > 0 ? last : 0;
    }
    TRY(stencil_memory_alloc(memory, high - low, "an array of a GPU"));
    TRY_CUDA(cudaSetDevice(array->device));
    TRY_CUDA(cudaMemcpy(*memory, (char *)array->data + low, (size_t)(high - low), cudaMemcpyDeviceToHost));
    array->data = (char *)*memory - low;
    array->memory = STENCIL_MEMORY_HOST;
    return STENCIL_OK;
}
#else
stencil_status stencil_array_locate(stencil_array_t *array, const char *name,
                                    const stencil_session_t *session) {
    (void)session;
    CHECK(array->memory == STENCIL_MEMORY_HOST, UNAVAILABLE,
          "array %s is in the memory of a GPU, and this library was built without CUDA", name);
    return STENCIL_OK;
}

stencil_status stencil_array_fetch(stencil_array_t *array, int rank, const int64_t *extent, void **memory) {
    (void)array, (void)rank, (void)extent, (void)memory;
    return STENCIL_OK;
}
#endif

bool stencil_array_is_beside(const stencil_array_t *array, const stencil_plan *plan) {
    bool beside = array->memory == STENCIL_MEMORY_DEVICE && plan->backend == STENCIL_BACKEND_GPU;
    for (int part = 0; part < plan->cut.parts && beside; part++)
        beside = plan->part[part].gpu == array->device;
    return beside;
}

stencil_status stencil_array_check_beside(const stencil_array_t *array, const char *name,
                                          const stencil_plan *plan) {
    if (array->memory != STENCIL_MEMORY_DEVICE || stencil_array_is_beside(array, plan))
        return STENCIL_OK;
    CHECK(plan->backend == STENCIL_BACKEND_GPU, UNAVAILABLE,
          "array %s is in the memory of GPU %d, and the plan is for the CPU: ask for device gpu", name,
          (int)array->device);
    FAIL(UNAVAILABLE, "array %s is in the memory of GPU %d, and the plan runs on GPU %d", name,
         (int)array->device, plan->part[0].gpu);
}

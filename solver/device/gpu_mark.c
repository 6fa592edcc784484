/* Marks of groups of cells and bits of cells on a GPU, made by the GPU from the classes that it has. */
#include "solver/device/gpu.h"

#ifdef STENCIL_HAVE_CUDA
#include <string.h>

stencil_status stencil_gpu_mark(const stencil_gpu_run *run, int part) {
    enum { BLOCKS_MOST = 4096, GROUPS = STENCIL_BLOCK_THREADS / 32 };
    const stencil_gpu_part *gpu = stencil_gpu_part_of(run, part);
    const stencil_marks marks = stencil_marks_of(run->buffers.cut);
    stencil_marking m = {.classes = stencil_classes_of(&run->buffers, part),
                         .row = gpu->args.domain.row,
                         .plane = gpu->args.domain.plane};
    void *arguments[] = {&m};
    memcpy(m.first, marks.first, sizeof m.first);
    memcpy(m.count, marks.count, sizeof m.count);
    const int64_t groups = m.count[0] * m.count[1] * m.count[2],
                  blocks = stencil_smaller((groups + GROUPS - 1) / GROUPS, BLOCKS_MOST);
    TRY_CUDA(cudaSetDevice(gpu->device));
    TRY_CUDA(cudaLaunchKernel(stencil_mark_kernel(), (dim3){(unsigned)blocks, 1, 1},
                              (dim3){STENCIL_BLOCK_THREADS, 1, 1}, arguments, 0, gpu->stream));
    TRY_CUDA(cudaStreamSynchronize(gpu->stream));
    return STENCIL_OK;
}
#endif

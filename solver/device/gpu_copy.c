#include "solver/device/gpu_copy.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>

#include "solver/plan/memory.h"
#include "solver/problem/boxes.h"

struct stencil_gpu_copy {
    int parts;
    int device[STENCIL_PARTS_MAX];
    cudaStream_t stream[STENCIL_PARTS_MAX]; /* streams that copy to the host beside the run's own */
    stencil_buffers buffers;                /* device memory of the copy, owned, in buffer 0 */
    void *staging;                          /* pinned memory for a slab of a part, with its gaps */
    int64_t staging_bytes;
};

/* Memory of a GPU that stays free beside a copy. */
#define SPARE_BYTES ((size_t)512 << 20)

/* Checks that the copies of all parts on a part's GPU fit into its free memory. */
static stencil_status check_room(const stencil_gpu_run *run, int part, size_t bytes) {
    size_t available = 0, all = 0, needed = SPARE_BYTES;
    for (int q = 0; q < run->parts; q++)
        needed += run->part[q].device == run->part[part].device ? bytes : 0;
    TRY_CUDA(cudaSetDevice(run->part[part].device));
    TRY_CUDA(cudaMemGetInfo(&available, &all));
    CHECK(available >= needed, NO_MEMORY, "GPU %d has no memory for a copy of the field",
          run->part[part].device);
    return STENCIL_OK;
}

static stencil_status fill(stencil_gpu_copy *copy, const stencil_gpu_run *run) {
    const size_t bytes = (size_t)stencil_layout_bytes(&run->plan->cut.layout);
    copy->buffers = (stencil_buffers){.cut = run->buffers.cut};
    copy->staging_bytes = stencil_gpu_staging_bytes(&run->plan->cut.layout);
    for (int p = 0; p < run->parts; p++)
        TRY(check_room(run, p, bytes));
    for (int p = 0; p < run->parts; p++) {
        copy->device[p] = run->part[p].device;
        copy->parts = p + 1;
        TRY_CUDA(cudaSetDevice(copy->device[p]));
        TRY_CUDA(cudaStreamCreateWithFlags(&copy->stream[p], cudaStreamNonBlocking));
        TRY_CUDA(cudaMalloc(&copy->buffers.at[p][0], bytes));
    }
    TRY_CUDA(cudaHostAlloc(&copy->staging, (size_t)copy->staging_bytes, cudaHostAllocPortable));
    return STENCIL_OK;
}

static stencil_status create(stencil_gpu_copy **copy, const stencil_gpu_run *run) {
    *copy = calloc(1, sizeof **copy);
    CHECK(*copy != NULL, NO_MEMORY, "no memory for a copy of the field");
    const stencil_status status = fill(*copy, run);
    if (status != STENCIL_OK) {
        stencil_gpu_copy_destroy(*copy);
        *copy = NULL;
        cudaGetLastError(); /* a failed allocation must not be taken for one of a step */
    }
    return status;
}

stencil_status stencil_gpu_copy_take(stencil_gpu_copy **copy, const stencil_gpu_run *run, int buffer) {
    const size_t bytes = (size_t)stencil_layout_bytes(&run->plan->cut.layout);
    if (*copy != NULL && (*copy)->buffers.cut != run->buffers.cut) {
        stencil_gpu_copy_destroy(*copy);
        *copy = NULL;
    }
    if (*copy == NULL)
        TRY(create(copy, run));
    for (int p = 0; p < run->parts; p++) {
        TRY_CUDA(cudaSetDevice(run->part[p].device));
        TRY_CUDA(cudaMemcpyAsync((*copy)->buffers.at[p][0], run->buffers.at[p][buffer], bytes,
                                 cudaMemcpyDeviceToDevice, run->part[p].stream));
    }
    for (int p = 0; p < run->parts; p++) {
        TRY_CUDA(cudaSetDevice(run->part[p].device));
        TRY_CUDA(cudaStreamSynchronize(run->part[p].stream));
    }
    return STENCIL_OK;
}

/* Copies cells of one part in slabs that fit into the staging memory with their gaps. */
static stencil_status read_part(stencil_gpu_copy *copy, int part, const stencil_box *box,
                                const stencil_cells *to) {
    const stencil_layout *l = &copy->buffers.cut->layout;
    const int64_t cells_max = copy->staging_bytes / (int64_t)stencil_precision_bytes(l->precision);
    stencil_box gaps = *box, slab;
    gaps.n[STENCIL_X] = l->row;
    gaps.n[STENCIL_Y] = l->plane / l->row;
    slab = stencil_slab_first(&gaps, cells_max);
    TRY_CUDA(cudaSetDevice(copy->device[part]));
    do {
        const stencil_box cells = stencil_box_common(&slab, box);
        if (stencil_box_cells(&cells) == 0)
            continue;
        const stencil_cells there = stencil_buffer_cells(&copy->buffers, part, 0, cells.first),
                            out = stencil_cells_from(to, cells.first);
        stencil_cells here = there;
        here.at = copy->staging;
        TRY_CUDA(cudaMemcpyAsync(here.at, there.at, stencil_cells_span(&here, cells.n),
                                 cudaMemcpyDeviceToHost, copy->stream[part]));
        TRY_CUDA(cudaStreamSynchronize(copy->stream[part]));
        stencil_cells_copy(&out, &here, cells.n);
    } while (stencil_slab_next(&slab, &gaps, cells_max));
    return STENCIL_OK;
}

stencil_status stencil_gpu_copy_read(stencil_gpu_copy *copy, const stencil_box *box,
                                     const stencil_cells *to) {
    const stencil_cut *cut = copy->buffers.cut;
    for (int part = 0; part < copy->parts; part++) {
        const stencil_box held = stencil_cut_cells(cut, part), cells = stencil_box_common(&held, box);
        if (stencil_box_cells(&cells) > 0)
            TRY(read_part(copy, part, &cells, to));
    }
    return STENCIL_OK;
}

void stencil_gpu_copy_destroy(stencil_gpu_copy *copy) {
    if (copy == NULL)
        return;
    for (int p = 0; p < copy->parts; p++) {
        cudaSetDevice(copy->device[p]);
        cudaFree(copy->buffers.at[p][0]);
        if (copy->stream[p] != NULL)
            cudaStreamDestroy(copy->stream[p]);
    }
    cudaFreeHost(copy->staging);
    if (copy->parts > 0)
        cudaSetDevice(copy->device[0]);
    free(copy);
}
#endif

/* Memory of devices that parts own, and copies of their cells to and from the host. */
#include "solver/device/gpu.h"

#ifdef STENCIL_HAVE_CUDA
#include <string.h>

stencil_status stencil_gpu_own(stencil_gpu_part *gpu, void *to, const void *from, size_t bytes) {
    const stencil_status status = stencil_to_device(to, from, bytes);
    gpu->memory[gpu->memory_count++] = *(void **)to;
    return status;
}

stencil_status stencil_gpu_put(void *to, const void *from, size_t bytes) {
    TRY_CUDA(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
    TRY_CUDA(cudaStreamSynchronize(NULL));
    return STENCIL_OK;
}

stencil_status stencil_gpu_own_reached(stencil_gpu_part *gpu, void *to, size_t bytes) {
    return stencil_gpu_own(gpu, to, NULL, gpu->plan->spans_ranks ? stencil_mapping_bytes(bytes) : bytes);
}

/* Tells whether the gaps between the rows, or planes, of the box hold no cells that the part updates. */
static bool covers_lines(const stencil_box *box, const stencil_cut *cut, int part) {
    const stencil_box own = stencil_cut_box(cut, part);
    bool covers = true;
    for (int axis = box->n[STENCIL_Z] > 1 ? STENCIL_Y : STENCIL_X; axis <= STENCIL_X; axis++)
        covers = covers && box->first[axis] <= own.first[axis] &&
                 box->first[axis] + box->n[axis] >= own.first[axis] + own.n[axis];
    return covers;
}

/* Copies cells to the device: at once with the gaps between rows, or by rows if these hold other cells. */
static stencil_status put(const stencil_cells *to, const stencil_cells *from, const int64_t n[STENCIL_AXES],
                          bool whole) {
    const size_t cell = stencil_precision_bytes(from->precision), row = (size_t)from->row * cell;
    if (whole) {
        TRY_CUDA(cudaMemcpy(to->at, from->at, stencil_cells_span(from, n), cudaMemcpyHostToDevice));
        return STENCIL_OK;
    }
    for (int64_t z = 0; z < n[STENCIL_Z]; z++) {
        const int64_t plane = z * from->plane * (int64_t)cell;
        TRY_CUDA(cudaMemcpy2D((char *)to->at + plane, row, (const char *)from->at + plane, row,
                              (size_t)n[STENCIL_X] * cell, (size_t)n[STENCIL_Y], cudaMemcpyHostToDevice));
    }
    return STENCIL_OK;
}

/* Copies the box in slabs that fit into the staging memory with their gaps: a transfer for each. */
stencil_status stencil_gpu_move(const stencil_gpu_run *run, int part, int buffer, const stencil_box *box,
                                const stencil_reader *from, const stencil_cells *to) {
    const stencil_buffers *b = &run->buffers;
    const stencil_layout *l = &b->cut->layout;
    const stencil_array array = stencil_array_of(buffer);
    const int64_t cells_max = run->staging_bytes / (int64_t)stencil_precision_bytes(l->precision);
    const bool whole = covers_lines(box, b->cut, part);
    stencil_box gaps = *box, slab;
    gaps.n[STENCIL_X] = l->row;
    gaps.n[STENCIL_Y] = l->plane / l->row;
    slab = stencil_slab_first(&gaps, cells_max);
    TRY_CUDA(cudaSetDevice(stencil_gpu_part_of(run, part)->device));
    do {
        const stencil_box cells = stencil_box_common(&slab, box);
        const stencil_cells there = stencil_buffer_cells(b, part, buffer, cells.first);
        stencil_cells here = there;
        here.at = run->staging;
        const size_t bytes = stencil_cells_span(&here, cells.n);
        if (stencil_box_cells(&cells) == 0)
            continue;
        if (from != NULL) {
            TRY(stencil_array_axis(array) >= 0
                    ? from->read(from->context, array, &cells, &here)
                    : stencil_boxes_fill(from, &b->cut->mesh, array, &cells, &here));
            TRY(put(&there, &here, cells.n, whole));
        } else {
            const stencil_cells out = stencil_cells_from(to, cells.first);
            TRY_CUDA(cudaMemcpy(here.at, there.at, bytes, cudaMemcpyDeviceToHost));
            stencil_cells_copy(&out, &here, cells.n);
        }
    } while (stencil_slab_next(&slab, &gaps, cells_max));
    return STENCIL_OK;
}

/* Both buffers get all cells, so that ghost cells and padding are valid in both. The gaps between rows are
 * zero, in the staging memory, too, because all slabs have their gaps at the same offsets. */
stencil_status stencil_gpu_load(const stencil_gpu_run *run, int part, stencil_array array,
                                const stencil_box *box, const stencil_reader *from) {
    const int buffer = stencil_buffer_of(array, 0);
    const size_t bytes = (size_t)stencil_layout_bytes(&run->plan->cut.layout);
    void *const *at = stencil_buffers_part(&run->buffers, part);
    memset(run->staging, 0, (size_t)run->staging_bytes);
    TRY(stencil_gpu_move(run, part, buffer, box, from, NULL));
    if (array == STENCIL_ARRAY_U)
        TRY_CUDA(cudaMemcpy(at[stencil_buffer_of(array, 1)], at[buffer], bytes, cudaMemcpyDeviceToDevice));
    TRY_CUDA(cudaDeviceSynchronize()); /* the streams that launch kernels do not wait for this copy */
    return STENCIL_OK;
}

stencil_status stencil_gpu_keep(const stencil_gpu_run *run, int buffer, void *to) {
    TRY_CUDA(cudaMemcpy(to, run->buffers.at[0][buffer], (size_t)stencil_layout_bytes(&run->plan->cut.layout),
                        cudaMemcpyDeviceToHost));
    return STENCIL_OK;
}

stencil_status stencil_gpu_restore(const stencil_gpu_run *run, const void *from) {
    for (int k = 0; k < 2; k++)
        TRY_CUDA(cudaMemcpy(run->buffers.at[0][STENCIL_BUFFER_U + k], from,
                            (size_t)stencil_layout_bytes(&run->plan->cut.layout), cudaMemcpyHostToDevice));
    TRY_CUDA(cudaDeviceSynchronize()); /* the streams that launch kernels do not wait for these copies */
    return STENCIL_OK;
}
#endif

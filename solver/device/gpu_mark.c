/* Marks of groups of cells on a GPU, made on the host from the classes that it loads. */
#include "solver/device/gpu.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>

/* Copies the marks of the rows of one plane of a part, `groups` of each row, to the device. */
static stencil_status put(const stencil_classes *c, const uint8_t *mark, const int64_t first[3], int64_t rows,
                          int64_t groups) {
    const uint8_t *to = c->mark + first[STENCIL_Z] * c->mark_plane + first[STENCIL_Y] * c->mark_row;
    TRY_CUDA(cudaMemcpy2D((void *)(uintptr_t)to, (size_t)c->mark_row, mark, (size_t)groups, (size_t)groups,
                          (size_t)rows, cudaMemcpyHostToDevice));
    return STENCIL_OK;
}

stencil_status stencil_gpu_mark(const stencil_gpu_run *run, int part, const stencil_box *rows,
                                const stencil_cells *of) {
    const stencil_classes c = stencil_classes_of(&run->buffers, part);
    const stencil_box own = stencil_cut_box(run->buffers.cut, part), here = stencil_box_from(rows, own.first);
    const int64_t ny = rows->n[STENCIL_Y], nx = rows->n[STENCIL_X],
                  groups = (nx + STENCIL_GROUP_CELLS - 1) / STENCIL_GROUP_CELLS;
    stencil_status status = STENCIL_OK;
    CHECK(here.first[STENCIL_X] == 0 && nx == own.n[STENCIL_X], INTERNAL,
          "classes of a part of a row are loaded, which has no marks of its own");
    uint8_t *const mark = malloc((size_t)(groups * ny));
    CHECK(mark != NULL, NO_MEMORY, "no memory for the marks of %lld rows", (long long)ny);
    for (int64_t z = 0; z < rows->n[STENCIL_Z] && status == STENCIL_OK; z++) {
        const int64_t first[3] = {here.first[STENCIL_Z] + z, here.first[STENCIL_Y], 0};
        for (int64_t y = 0; y < ny; y++)
            stencil_marks_make(mark + y * groups, (const uint8_t *)of->at + z * of->plane + y * of->row, 0,
                               groups, 0, nx);
        status = put(&c, mark, first, ny, groups);
    }
    free(mark);
    return status;
}
#endif

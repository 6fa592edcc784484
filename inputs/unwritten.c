/* Counts cells that were never written, which HDF5 reads as the fill value (0 by default) without an error.
 */
#include "inputs/chunks.h"
#include "inputs/h5.h"
#include "inputs/reading.h"

/* Counts points of a selection that lie in a block; negative on failure. */
static hssize_t points_in(hid_t within, const hsize_t *start, const hsize_t *count) {
    STENCIL_HANDLE common = H5Scopy(within);
    return common < 0 || H5Sselect_hyperslab(common, H5S_SELECT_AND, start, NULL, count, NULL) < 0
               ? -1
               : H5Sget_select_npoints(common);
}

/* Counts cells of a selection in the chunk that starts at `start`, clipped to the dataset. */
static int64_t cells_of(const stencil_chunk_grid *grid, const hsize_t *start, hid_t within) {
    hsize_t count[H5S_MAX_RANK];
    stencil_chunk_part(grid, start, count);
    const hssize_t points = points_in(within, start, count);
    return points > 0 ? (int64_t)points : 0;
}

/* Counts cells of a selection in unallocated chunks, by a query for every possible chunk. */
static int64_t missing_cells(hid_t dataset, const stencil_chunk_grid *grid, hid_t within, hsize_t total) {
    enum { LOOKS = 1024 };
    const hsize_t origin[H5S_MAX_RANK] = {0};
    hsize_t start[H5S_MAX_RANK] = {0};
    int64_t cells = 0;
    for (hsize_t k = 0; k < total; k++) {
        if (k % LOOKS == 0) /* a dataset has finitely many chunks: each is progress */
            stencil_reading_progress(1);
        if (stencil_chunk_is_absent(dataset, start))
            cells += cells_of(grid, start, within);
        stencil_chunk_next(grid, origin, grid->extent, start);
    }
    return cells;
}

/* Counts cells of a selection outside allocated chunks. HDF5 enumerates the chunks from the first for each
 * index. */
static int64_t cells_beside(hid_t dataset, const stencil_chunk_grid *grid, hid_t within, hid_t space,
                            hsize_t known) {
    int64_t cells = (int64_t)H5Sget_select_npoints(within);
    for (hsize_t k = 0; k < known; k++) {
        hsize_t start[H5S_MAX_RANK], bytes = 0;
        haddr_t address = HADDR_UNDEF;
        unsigned mask;
        if (H5Dget_chunk_info(dataset, space, k, start, &mask, &address, &bytes) >= 0)
            cells -= cells_of(grid, start, within);
    }
    return cells;
}

int64_t stencil_cells_unwritten(hid_t dataset, hid_t within) {
    enum { FEW = 4096 };
    STENCIL_HANDLE space = H5Dget_space(dataset);
    const hid_t of = within > 0 ? within : space;
    H5D_space_status_t status = H5D_SPACE_STATUS_ERROR;
    hsize_t known = 0, total = 1;
    stencil_chunk_grid grid;
    if (stencil_dataset_layout(dataset) == H5D_CONTIGUOUS && !stencil_dataset_elsewhere(dataset) &&
        space >= 0 && H5Dget_space_status(dataset, &status) >= 0 && status == H5D_SPACE_STATUS_NOT_ALLOCATED)
        return (int64_t)H5Sget_select_npoints(of);
    if (!stencil_chunk_grid_read(&grid, dataset))
        return 0;
    for (int axis = 0; axis < grid.rank; axis++)
        total *= (grid.extent[axis] + grid.size[axis] - 1) / grid.size[axis];
    if (total <= FEW) /* counting the chunks of a damaged index may take forever */
        return missing_cells(dataset, &grid, of, total);
    if (H5Dget_num_chunks(dataset, space, &known) < 0 || known >= total)
        return 0;
    return known == 0 || known < total / known ? cells_beside(dataset, &grid, of, space, known)
                                               : missing_cells(dataset, &grid, of, total);
}

/* Adds an unlimited selection, clipped to the dataset. */
static herr_t add_unlimited(hid_t mapped, hid_t selection, const hsize_t *extent, int rank) {
    hsize_t start[H5S_MAX_RANK], stride[H5S_MAX_RANK], count[H5S_MAX_RANK], block[H5S_MAX_RANK];
    if (H5Sget_regular_hyperslab(selection, start, stride, count, block) < 0)
        return -1;
    for (int axis = 0; axis < rank; axis++) {
        const hsize_t left = extent[axis] > start[axis] ? extent[axis] - start[axis] : 0;
        if (left == 0)
            return 0;
        if (block[axis] == H5S_UNLIMITED)
            block[axis] = left;
        if (count[axis] == H5S_UNLIMITED)
            count[axis] = (left + stride[axis] - 1) / stride[axis];
    }
    return H5Sselect_hyperslab(mapped, H5S_SELECT_OR, start, stride, count, block);
}

/* Adds the blocks of a selection to `mapped`. */
static herr_t add_blocks(hid_t mapped, hid_t selection, int rank) {
    const hssize_t count = H5Sget_select_hyper_nblocks(selection);
    herr_t failed = count < 0 ? -1 : 0;
    for (hssize_t i = 0; i < count && failed >= 0; i++) {
        hsize_t corner[2 * H5S_MAX_RANK], size[H5S_MAX_RANK];
        failed = H5Sget_select_hyper_blocklist(selection, (hsize_t)i, 1, corner);
        for (int axis = 0; axis < rank; axis++)
            size[axis] = corner[rank + axis] - corner[axis] + 1;
        if (failed >= 0)
            failed = H5Sselect_hyperslab(mapped, H5S_SELECT_OR, corner, NULL, size, NULL);
    }
    return failed;
}

int64_t stencil_cells_unmapped(hid_t create, hid_t space) {
    const hsize_t origin[H5S_MAX_RANK] = {0};
    hsize_t extent[H5S_MAX_RANK];
    size_t count = 0;
    const int rank = H5Sget_simple_extent_dims(space, extent, NULL);
    const hssize_t all = H5Sget_simple_extent_npoints(space);
    STENCIL_HANDLE mapped = H5Scopy(space);
    herr_t failed =
        rank < 1 || mapped < 0 || H5Pget_virtual_count(create, &count) < 0 ? -1 : H5Sselect_none(mapped);
    for (size_t i = 0; i < count && failed >= 0; i++) {
        STENCIL_HANDLE selection = H5Pget_virtual_vspace(create, i);
        const H5S_sel_type type = selection < 0 ? H5S_SEL_ERROR : H5Sget_select_type(selection);
        if (type == H5S_SEL_ALL)
            return 0;
        if (type == H5S_SEL_HYPERSLABS)
            failed = H5Sis_regular_hyperslab(selection) > 0 ? add_unlimited(mapped, selection, extent, rank)
                                                            : add_blocks(mapped, selection, rank);
    }
    /* Points of the mapped blocks within the dataset; a block may extend beyond it. */
    const hssize_t points = failed < 0 ? all : points_in(mapped, origin, extent);
    return points < 0 || points > all ? 0 : (int64_t)(all - points);
}

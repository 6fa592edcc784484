#define _DEFAULT_SOURCE /* pread, preadv */

#include "inputs/stored.h"

#include <errno.h>
#include <inttypes.h>
#include <omp.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "inputs/h5.h"
#include "inputs/reading.h"
#include "solver/problem/rows.h"

int stencil_stored_dataset(const stencil_input *input, stencil_array array) {
    return array == STENCIL_ARRAY_U   ? (int)STENCIL_SOURCE_NONE
           : array == STENCIL_ARRAY_B ? (int)input->problem->spec.source
                                      : input->kind;
}

/* Has the reading process read a box (dataset indices), as many cells at a time as the memory shared with
 * that process holds. */
static stencil_status read_there(stencil_input *input, int dataset, const stencil_box *box,
                                 const stencil_cells *to) {
    const int64_t most = STENCIL_WINDOW_BYTES / (int64_t)stencil_precision_bytes(to->precision);
    stencil_box slab = stencil_slab_first(box, most);
    do {
        const stencil_ask ask = {.request = STENCIL_REQUEST_CELLS,
                                 .dataset = dataset,
                                 .precision = to->precision,
                                 .threads = omp_get_max_threads(),
                                 .box = slab};
        stencil_say say;
        int64_t cell[3];
        TRY(stencil_reading_ask(input->process, &ask, &say, -1));
        for (int axis = 0; axis < STENCIL_AXES; axis++)
            cell[axis] = to->first[axis] + slab.first[axis] - box->first[axis];
        const stencil_cells part = stencil_cells_from(to, cell),
                            from = stencil_cells_dense(to->precision, stencil_reading_window(input->process),
                                                       &slab);
        stencil_cells_copy(&part, &from, slab.n);
    } while (stencil_slab_next(&slab, box, most));
    return STENCIL_OK;
}

/* Reads rows that are contiguous in the file and strided in memory; false: not all could be read. */
static bool read_rows(int fd, char *to, int64_t stride, int64_t row, int64_t count, int64_t offset) {
    enum { ROWS_MOST = 64 };
    for (int64_t first = 0; first < count;) {
        struct iovec part[ROWS_MOST];
        const int rows = (int)stencil_smaller(ROWS_MOST, count - first);
        for (int i = 0; i < rows; i++)
            part[i] = (struct iovec){to + (first + i) * stride, (size_t)row};
        ssize_t got = preadv(fd, part, rows, (off_t)(offset + first * row));
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        first += got / row;
        if (got % row == 0)
            continue;
        if (stencil_h5_bytes(fd, offset + first * row, to + first * stride, NULL, row) != row)
            return false; /* preadv() has read a part of this row */
        first++;
    }
    return true;
}

static const stencil_place *place_of(const stencil_input *input, stencil_array array) {
    return array == STENCIL_ARRAY_K ? &input->facts.k_place : &input->facts.place[array];
}

/* Reads a box directly from a contiguous dataset in native format that has the problem's extent. */
static stencil_status read_here(const stencil_input *input, stencil_array array, const stencil_box *box,
                                const stencil_cells *to) {
    enum { BYTES_MOST = 8 << 20 }; /* most bytes of rows that a thread reads at a time */
    const int64_t *n = box->n, *extent = input->problem->extent,
                  cell = (int64_t)stencil_precision_bytes(to->precision), row = n[STENCIL_X] * cell,
                  whole = extent[STENCIL_X] * cell;
    const bool rows_follow = n[STENCIL_X] == extent[STENCIL_X];
    int64_t most = rows_follow ? BYTES_MOST / row + 1 : 1;
    most = stencil_smaller(most, n[STENCIL_Y]);
    const int64_t pieces = (n[STENCIL_Y] + most - 1) / most;
    int failed = 0;
#pragma omp parallel for schedule(dynamic) reduction(| : failed)
    for (int64_t k = 0; k < n[STENCIL_Z] * pieces; k++) {
        const int64_t z = k / pieces, y = k % pieces * most, count = stencil_smaller(most, n[STENCIL_Y] - y);
        const int64_t offset =
            place_of(input, array)->offset +
            ((z + box->first[STENCIL_Z]) * extent[STENCIL_Y] + y + box->first[STENCIL_Y]) * whole +
            box->first[STENCIL_X] * cell;
        char *at = (char *)to->at + (z * to->plane + y * to->row) * cell;
        failed |= !read_rows(input->fd, at, to->row * cell, row, count, offset);
    }
    CHECK(!failed, BAD_DATA, "'%s': cannot read %s: the file ends before it, it is damaged", input->path,
          stencil_array_name(&input->facts, stencil_stored_dataset(input, array)));
    return STENCIL_OK;
}

stencil_status stencil_stored_read(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    stencil_input *input = context;
    const stencil_box there = stencil_box_from(box, input->problem->first);
    const stencil_place *place = place_of(input, array);
    stencil_cells cells = *to;
    cells.precision = input->read_as;
    return place->offset > 0 && place->precision == cells.precision
               ? read_here(input, array, &there, &cells)
               : read_there(input, stencil_stored_dataset(input, array), &there, &cells);
}

stencil_status stencil_numbers_visit(stencil_input *input, int dataset, const stencil_box *box,
                                     stencil_slab_visitor *visit, void *context) {
    const stencil_reader from = {stencil_stored_read, input};
    stencil_mesh mesh = stencil_classes_mesh(input->problem);
    mesh.precision = STENCIL_FLOAT64;
    const stencil_slabs slabs = {&from, &mesh, STENCIL_ARRAY_CLASS, .cell_bytes = sizeof(double)};
    input->read_as = STENCIL_FLOAT64;
    input->kind = dataset;
    return stencil_slabs_visit(&slabs, box, visit, context);
}

stencil_status stencil_input_refuse(stencil_input *input, int dataset, const int64_t cell[3]) {
    const stencil_problem *problem = input->problem;
    char index[80] = "";
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        stencil_text_add(index, sizeof index, "[%" PRId64 "]", cell[axis] - problem->first[axis]);
    FAIL(BAD_DATA, "'%s': %s%s is NaN or infinite in %s: mend it, or use --allow-nonfinite", input->path,
         stencil_array_name(&input->facts, dataset), index, stencil_precision_name(problem->precision));
}

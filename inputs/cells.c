/* The cells of an input: read here where they stand in the file as they are in memory, else by the process
 * that reads it; converted, scaled, looked at. */
#define _DEFAULT_SOURCE /* pread, preadv */

#include "inputs/inputs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/words.h"
#include "inputs/h5.h"
#include "inputs/reading.h"
#include "solver/problem/digest.h"

static stencil_source source_of(const stencil_input *input, stencil_array array) {
    return array == STENCIL_ARRAY_U ? STENCIL_SOURCE_NONE : input->problem->spec.source;
}

static const char *dataset_name(const stencil_input *input, stencil_array array) {
    return array == STENCIL_ARRAY_U ? input->facts.field : stencil_source_names[source_of(input, array)];
}

/* As large a part of a box as the window has room for: whole planes, else whole rows, else a piece of one. */
static void window_part(const int64_t n[3], int64_t cell_bytes, int64_t part[3]) {
    int64_t room = STENCIL_WINDOW_BYTES / cell_bytes;
    for (int axis = STENCIL_X; axis >= STENCIL_Z; axis--) {
        part[axis] = stencil_smaller(n[axis], room > 0 ? room : 1);
        room = part[axis] == n[axis] ? room / n[axis] : 1;
    }
}

/* A box in indices of the dataset, by way of the window. */
static stencil_status read_there(stencil_input *input, stencil_source source, const stencil_box *box,
                                 const stencil_cells *to) {
    const int64_t *n = box->n;
    int64_t part[3];
    window_part(n, (int64_t)stencil_precision_bytes(to->precision), part);
    for (int64_t z = 0; z < n[STENCIL_Z]; z += part[STENCIL_Z])
        for (int64_t y = 0; y < n[STENCIL_Y]; y += part[STENCIL_Y])
            for (int64_t x = 0; x < n[STENCIL_X]; x += part[STENCIL_X]) {
                const int64_t at[3] = {z, y, x},
                              first[3] = {z + to->first[0], y + to->first[1], x + to->first[2]};
                stencil_ask_cells ask = {source, to->precision, omp_get_max_threads(), {{0}, {0}}};
                for (int axis = STENCIL_Z; axis < STENCIL_AXES; axis++) {
                    ask.box.first[axis] = box->first[axis] + at[axis];
                    ask.box.n[axis] = stencil_smaller(part[axis], n[axis] - at[axis]);
                }
                TRY(stencil_reading_ask(input->process, STENCIL_REQUEST_cells, &ask, &(stencil_nothing){0},
                                        -1));
                const stencil_cells there = stencil_cells_from(to, first);
                const stencil_cells from =
                    stencil_cells_dense(to->precision, stencil_reading_window(input->process), &ask.box);
                stencil_cells_copy(&there, &from, ask.box.n);
            }
    return STENCIL_OK;
}

/* Reads rows that follow each other in the file and lie apart in memory; false: not all of them. */
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
        const int64_t done = got % row, rest = row - done; /* of a row */
        if (stencil_h5_bytes(fd, offset + first * row + done, to + first * stride + done, rest) != rest)
            return false;
        first++;
    }
    return true;
}

/* The same box where the numbers of the dataset, of that extent, stand one after the other. */
static stencil_status read_here(const stencil_input *input, stencil_array array, const stencil_box *box,
                                const stencil_cells *to) {
    enum { BYTES_MOST = 8 << 20 }; /* of rows that a thread reads at a time */
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
            input->facts.place[array].offset +
            ((z + box->first[STENCIL_Z]) * extent[STENCIL_Y] + y + box->first[STENCIL_Y]) * whole +
            box->first[STENCIL_X] * cell;
        char *at = (char *)to->at + (z * to->plane + y * to->row) * cell;
        failed |= !read_rows(input->fd, at, to->row * cell, row, count, offset);
    }
    CHECK(!failed, BAD_DATA, "'%s': cannot read %s: the file ends before it, it is damaged", input->path,
          dataset_name(input, array));
    return STENCIL_OK;
}

/* Reads numbers as they are stored, converted to input->read_as. */
static stencil_status read_as(void *context, stencil_array array, const stencil_box *box,
                              const stencil_cells *to) {
    stencil_input *input = context;
    const stencil_box there = stencil_box_from(box, input->problem->first);
    const stencil_place *place = &input->facts.place[array];
    stencil_cells cells = *to;
    cells.precision = input->read_as;
    input->array = array;
    return place->offset > 0 && place->precision == cells.precision
               ? read_here(input, array, &there, &cells)
               : read_there(input, source_of(input, array), &there, &cells);
}

/* Reads boxes of the numbers as they are stored, as double. */
static stencil_reader as_stored(stencil_input *input, const stencil_problem *problem) {
    input->problem = problem;
    input->read_as = STENCIL_FLOAT64;
    return (stencil_reader){read_as, input};
}

typedef struct scaling {
    const stencil_values *values;
    double scale;
    const stencil_cells *to;
} scaling;

/* The values of a slab, unpacked, times the scale and rounded once. */
static stencil_status store_scaled(void *context, const stencil_box *slab, const stencil_cells *cells) {
    const scaling *s = context;
    const stencil_cells to = stencil_cells_from(s->to, slab->first);
    const int64_t *n = slab->n, nx = n[STENCIL_X];
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < n[STENCIL_Z] * n[STENCIL_Y]; r++) {
        const int64_t at = r / n[STENCIL_Y] * to.plane + r % n[STENCIL_Y] * to.row;
        const double *from = (const double *)cells->at + r * nx;
        if (to.precision == STENCIL_FLOAT64)
            for (int64_t x = 0; x < nx; x++)
                ((double *)to.at)[at + x] = s->scale * stencil_values_unpack(s->values, from[x]);
        else
            for (int64_t x = 0; x < nx; x++)
                ((float *)to.at)[at + x] = (float)(s->scale * stencil_values_unpack(s->values, from[x]));
    }
    return STENCIL_OK;
}

/* /f and /q, and what is packed, go through double whatever the precision, so that they are rounded only
 * once. */
static stencil_status read_scaled(stencil_input *input, stencil_array array, const stencil_box *box,
                                  const stencil_cells *to) {
    const stencil_reader from = as_stored(input, input->problem);
    const stencil_mesh mesh = stencil_problem_mesh(input->problem, 1);
    const stencil_slabs slabs = {&from, &mesh, array, .cell_bytes = sizeof(double)};
    const bool scaled = array == STENCIL_ARRAY_B && input->problem->spec.source != STENCIL_SOURCE_B;
    return stencil_slabs_visit(
        &slabs, box, store_scaled,
        &(scaling){&input->facts.values[array], scaled ? input->problem->source_scale : 1, to});
}

static stencil_status read_box(void *context, stencil_array array, const stencil_box *box,
                               const stencil_cells *to) {
    stencil_input *input = context;
    const stencil_problem *problem = input->problem;
    const bool scaled = array == STENCIL_ARRAY_B && problem->spec.source != STENCIL_SOURCE_B;
    if (input->facts.values[array].packed || scaled)
        return read_scaled(input, array, box, to);
    input->read_as = problem->precision;
    return read_as(input, array, box, to);
}

/* The first cell of a slab whose value is not finite. Where NaN means that there is none, those that no step
 * uses are left alone. */
static bool find_nonfinite(const stencil_input *input, const stencil_box *slab, const stencil_cells *cells,
                           int64_t cell[3]) {
    const int64_t *n = slab->n;
    int64_t at[3];
    if (!stencil_cells_find_nonfinite(cells, n, at))
        return false;
    int64_t i = (at[STENCIL_Z] * n[STENCIL_Y] + at[STENCIL_Y]) * n[STENCIL_X] + at[STENCIL_X];
    for (; i < n[STENCIL_Z] * n[STENCIL_Y] * n[STENCIL_X]; i++) {
        const int64_t z = i / n[STENCIL_X] / n[STENCIL_Y], y = i / n[STENCIL_X] % n[STENCIL_Y],
                      x = i % n[STENCIL_X];
        const double value = stencil_cells_value(cells, z * cells->plane + y * cells->row + x);
        cell[STENCIL_Z] = slab->first[STENCIL_Z] + z;
        cell[STENCIL_Y] = slab->first[STENCIL_Y] + y;
        cell[STENCIL_X] = slab->first[STENCIL_X] + x;
        if (!isfinite(value) && (!isnan(value) || !input->facts.values[input->array].has_nan ||
                                 stencil_values_used(input->problem, cell, false)))
            return true;
    }
    return false;
}

/* Fails with the index (array order of /u) of the first such value. */
static stencil_status check_finite(void *context, const stencil_box *slab, const stencil_cells *cells) {
    const stencil_input *input = context;
    const stencil_problem *problem = input->problem;
    int64_t cell[3];
    char index[STENCIL_CELL_CHARS];
    if (!find_nonfinite(input, slab, cells, cell))
        return STENCIL_OK;
    stencil_cell_text(problem, cell, index);
    FAIL(BAD_DATA, "'%s': %s%s is NaN or infinite in %s: mend it, or use --allow-nonfinite", input->path,
         dataset_name(input, input->array), index, stencil_precision_name(problem->precision));
}

/* Cells without a value, and those out of range. */
static stencil_status check_values(stencil_input *input, stencil_array array, bool allow_nan) {
    const stencil_reader stored = as_stored(input, input->problem);
    const stencil_values_check check = {&input->facts.values[array], input->problem, input->path,
                                        dataset_name(input, array), allow_nan};
    return stencil_values_check_all(&check, &stored, array);
}

/* Boxes come in any order: where one has such a value, the first one of all is looked for. */
static stencil_status read_finite(void *context, stencil_array array, const stencil_box *box,
                                  const stencil_cells *to) {
    stencil_input *input = context;
    const stencil_reader all = {read_box, context};
    const stencil_mesh mesh = stencil_problem_mesh(input->problem, 1);
    const stencil_box whole = stencil_digest_array(input->problem, array);
    const stencil_slabs slabs = {.from = &all, .mesh = &mesh, .array = array};
    int64_t found[3];
    TRY(read_box(context, array, box, to));
    if (input->judged[array] || !stencil_cells_find_nonfinite(to, box->n, found))
        return STENCIL_OK;
    if (input->facts.values[array].has_nan)
        TRY(check_values(input, array, false));
    TRY(stencil_slabs_visit(&slabs, &whole, check_finite, context));
    input->judged[array] = true;
    return STENCIL_OK;
}

stencil_reader stencil_input_reader(stencil_input *input, const stencil_problem *problem,
                                    bool allow_nonfinite) {
    input->problem = problem;
    return (stencil_reader){allow_nonfinite ? read_box : read_finite, input};
}

stencil_status stencil_input_check_written(stencil_input *input, const stencil_problem *problem, bool allow,
                                           stencil_notes *notes) {
    const int64_t u = input->facts.unwritten[STENCIL_ARRAY_U],
                  cells = problem->extent[0] * problem->extent[1] * problem->extent[2];
    CHECK(u == 0 || allow, BAD_DATA,
          "'%s': %" PRId64 " of %" PRId64 " cells of %s were never written: write them, or use "
          "--allow-unwritten to take what HDF5 gives there (the fill value, most often 0)",
          input->path, u, cells, input->facts.field);
    stencil_values *values = &input->facts.values[STENCIL_ARRAY_U];
    if (u > 0 && values->by_default) {
        values->marker_count--;
        values->by_default = false;
    }
    input->problem = problem;
    for (int array = STENCIL_ARRAY_U; array < STENCIL_ARRAY_COUNT; array++)
        if (input->facts.unwritten[array] > 0)
            stencil_notes_warn(
                notes,
                "%" PRId64 " of %" PRId64 " cells of %s were never written: they have the fill "
                "value, most often 0",
                input->facts.unwritten[array], cells, dataset_name(input, (stencil_array)array));
    return STENCIL_OK;
}

stencil_status stencil_input_check(stencil_input *input, const stencil_problem *problem,
                                   bool allow_nonfinite) {
    input->problem = problem;
    const int count = stencil_problem_has_source(problem) ? STENCIL_ARRAY_COUNT : STENCIL_ARRAY_U + 1;
    for (int array = STENCIL_ARRAY_U; array < count; array++) {
        const stencil_values *values = &input->facts.values[array];
        const bool limited = values->least > -INFINITY || values->most < INFINITY;
        /* Of NaN alone the reader finds out for itself. */
        if (limited || values->marker_count > (values->has_nan ? 1 : 0))
            TRY(check_values(input, (stencil_array)array, allow_nonfinite));
    }
    return STENCIL_OK;
}

#include "solver/problem/boxes.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>

/* Fills a box along the first axis that it exceeds: cells inside, then layers outside, if possible by copies.
 */
stencil_status stencil_boxes_fill(const stencil_reader *reader, const stencil_mesh *mesh, stencil_array array,
                                  const stencil_box *box, const stencil_cells *to) {
    const stencil_box all = stencil_mesh_array(mesh), present = stencil_box_common(box, &all);
    int axis = 0;
    while (axis < STENCIL_AXES && present.n[axis] == box->n[axis])
        axis++;
    if (axis == STENCIL_AXES)
        return reader->read(reader->context, array, box, to);
    const int64_t low = present.first[axis], end = low + present.n[axis];
    stencil_box some = *box;
    some.first[axis] = low;
    some.n[axis] = end - low;
    if (low < end) {
        const stencil_cells inside = stencil_cells_from(to, some.first);
        TRY(stencil_boxes_fill(reader, mesh, array, &some, &inside));
    }
    some.n[axis] = 1;
    for (int64_t i = box->first[axis]; i < box->first[axis] + box->n[axis]; i++) {
        if (i >= low && i < end)
            continue;
        some.first[axis] = i;
        stencil_cells line = stencil_cells_from(to, some.first);
        some.first[axis] = line.first[axis] = stencil_boundary_image(i, mesh->n[axis], mesh->boundary[axis]);
        if (some.first[axis] >= low && some.first[axis] < end) {
            const stencil_cells shown = stencil_cells_from(to, some.first);
            stencil_cells_copy(&line, &shown, some.n);
        } else {
            TRY(stencil_boxes_fill(reader, mesh, array, &some, &line));
        }
    }
    return STENCIL_OK;
}

stencil_status stencil_field_create(stencil_field *field, const stencil_layout *layout, const char *what) {
    *field = (stencil_field){.layout = *layout};
    const stencil_status status = stencil_memory_alloc(&field->memory, stencil_layout_bytes(layout), what);
    field->data = field->memory;
    return status;
}

/* 4K aliasing: a core delays a load whose address equals that of a recent store in the last 12 bits. That
 * hits cells of both buffers with the same page offset, and columns if rows are whole pages apart. */
stencil_status stencil_field_create_apart(stencil_field *field, const stencil_field *other,
                                          const char *what) {
    enum { PAGE_BYTES = 4096, LINE_BYTES = 128, APART_BYTES = PAGE_BYTES / 2 + LINE_BYTES };
    *field = (stencil_field){.layout = other->layout};
    TRY(stencil_memory_alloc(&field->memory, stencil_layout_bytes(&other->layout) + PAGE_BYTES, what));
    const uintptr_t shift = (uintptr_t)other->data - (uintptr_t)field->memory + APART_BYTES;
    field->data = (char *)field->memory + shift % PAGE_BYTES;
    return STENCIL_OK;
}

void stencil_field_destroy(stencil_field *field) {
    if (field == NULL)
        return;
    free(field->memory);
    field->data = field->memory = NULL;
}

stencil_cells stencil_field_cells(const stencil_field *field) {
    return stencil_cells_in(&field->layout, field->data, (const int64_t[]){0, 0, 0});
}

stencil_status stencil_fields_read(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    const stencil_fields *fields = context;
    const int in_sum = stencil_array_in_sum(array);
    const stencil_field *field = array == STENCIL_ARRAY_U     ? fields->u
                                 : array == STENCIL_ARRAY_B   ? fields->b
                                 : in_sum > 0                 ? fields->more[in_sum - 1]
                                 : array == STENCIL_ARRAY_K   ? fields->k
                                 : array == STENCIL_ARRAY_ROW ? fields->rows
                                                              : fields->kinds;
    const stencil_cells all = stencil_field_cells(field), from = stencil_cells_from(&all, box->first);
    stencil_cells_copy(to, &from, box->n);
    return STENCIL_OK;
}

/* Most cells of a slab: as many rows of a box as fit into the buffer. */
static int64_t slab_cells(const stencil_box *box, int64_t cell_bytes) {
    const int64_t cells = STENCIL_SLAB_BYTES / cell_bytes;
    return cells > box->n[STENCIL_X] ? cells : box->n[STENCIL_X];
}

int64_t stencil_slab_bytes(const stencil_mesh *mesh) {
    const int64_t cell_bytes = (int64_t)stencil_precision_bytes(mesh->precision);
    const stencil_box array = stencil_mesh_array(mesh),
                      slab = stencil_slab_first(&array, slab_cells(&array, cell_bytes));
    return stencil_box_cells(&slab) * cell_bytes;
}

stencil_status stencil_slabs_visit(const stencil_slabs *slabs, const stencil_box *box,
                                   stencil_slab_visitor *visit, void *context) {
    const stencil_precision precision = slabs->mesh->precision;
    const int64_t cell_bytes =
                      slabs->cell_bytes > 0 ? slabs->cell_bytes : (int64_t)stencil_precision_bytes(precision),
                  cells_max = slab_cells(box, cell_bytes);
    stencil_box slab = stencil_slab_first(box, cells_max), all = stencil_box_grow(&slab, slabs->around);
    stencil_status status = STENCIL_OK;
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, stencil_box_cells(&all) * cell_bytes, "a slab of cells"));
    do {
        all = stencil_box_grow(&slab, slabs->around);
        const stencil_cells cells = stencil_cells_dense(precision, memory, &all);
        status = stencil_boxes_fill(slabs->from, slabs->mesh, slabs->array, &all, &cells);
        if (status == STENCIL_OK)
            status = visit(context, &slab, &cells);
    } while (status == STENCIL_OK && stencil_slab_next(&slab, box, cells_max));
    free(memory);
    return status;
}

/* Element of the first cell of a row. */
static int64_t row_start(const stencil_cells *cells, const int64_t n[3], int64_t row) {
    return row / n[STENCIL_Y] * cells->plane + row % n[STENCIL_Y] * cells->row;
}

double stencil_cells_largest(const stencil_cells *cells, const int64_t n[3]) {
    const int64_t rows = n[STENCIL_Z] * n[STENCIL_Y];
    double largest = 0.0;
#pragma omp parallel for schedule(static) reduction(max : largest) if (rows * n[STENCIL_X] > 1 << 18)
    for (int64_t r = 0; r < rows; r++)
        for (int64_t x = 0, at = row_start(cells, n, r); x < n[STENCIL_X]; x++) {
            const double magnitude = fabs(stencil_cells_value(cells, at + x));
            largest = magnitude > largest ? magnitude : largest; /* NaN is left out */
        }
    return largest;
}

void stencil_cells_scale(const stencil_cells *cells, const int64_t n[3], int exponent) {
    const int64_t rows = n[STENCIL_Z] * n[STENCIL_Y];
#pragma omp parallel for schedule(static) if (rows * n[STENCIL_X] > 1 << 14)
    for (int64_t r = 0; r < rows; r++) {
        const int64_t start = row_start(cells, n, r);
        for (int64_t at = start; at < start + n[STENCIL_X]; at++)
            stencil_cells_set(cells, at, scalbn(stencil_cells_value(cells, at), exponent));
    }
}

/* Tells whether all cells of a row are finite, without an early exit: at the speed of memory. */
static bool all_finite(const stencil_cells *cells, int64_t at, int64_t count) {
    int bad = 0;
    for (int64_t i = 0; i < count; i++)
        bad |= !(fabs(stencil_cells_value(cells, at + i)) <= DBL_MAX);
    return bad == 0;
}

bool stencil_cells_find_nonfinite(const stencil_cells *cells, const int64_t n[3], int64_t found[3]) {
    const int64_t rows = n[STENCIL_Z] * n[STENCIL_Y];
    int64_t bad = rows;
#pragma omp parallel for reduction(min : bad) schedule(static) if (rows * n[STENCIL_X] > 1 << 18)
    for (int64_t r = 0; r < rows; r++)
        if (r < bad && !all_finite(cells, row_start(cells, n, r), n[STENCIL_X]))
            bad = r;
    if (bad == rows)
        return false;
    found[STENCIL_Z] = bad / n[STENCIL_Y];
    found[STENCIL_Y] = bad % n[STENCIL_Y];
    found[STENCIL_X] = 0;
    while (isfinite(stencil_cells_value(cells, row_start(cells, n, bad) + found[STENCIL_X])))
        found[STENCIL_X]++;
    return true;
}

/* Counts the subnormal values of a row by their bits: arithmetic on them would be slow. */
static int64_t count_subnormal(const stencil_cells *row, int64_t count) {
    const bool f64 = row->precision == STENCIL_FLOAT64;
    const uint64_t least = UINT64_C(1) << (f64 ? 52 : 23), unsigned_bits = f64 ? INT64_MAX : INT32_MAX;
    int64_t found = 0;
    for (int64_t i = 0; i < count; i++) {
        const uint64_t bits = f64 ? ((const uint64_t *)row->at)[i] : ((const uint32_t *)row->at)[i],
                       size = bits & unsigned_bits; /* the sign is masked out */
        found += size != 0 && size < least;
    }
    return found;
}

/* Row number i of `count` that are spread over `rows` aperiodically, by the golden ratio. */
static int64_t spread_row(int64_t i, int64_t count, int64_t rows) {
    static const double golden = 0.61803398874989485;
    const double place = golden * (double)i;
    return count == rows ? i : stencil_smaller((int64_t)((place - floor(place)) * (double)rows), rows - 1);
}

stencil_status stencil_boxes_subnormal(const stencil_reader *from, const stencil_mesh *mesh, double *share) {
    const int64_t most = 1 << 22;
    const stencil_box array = stencil_mesh_array(mesh);
    const int64_t length = array.n[STENCIL_X], rows = array.n[STENCIL_Z] * array.n[STENCIL_Y],
                  count = stencil_smaller(rows, most / length + 1);
    stencil_box row = {.n = {1, 1, length}};
    stencil_status status = STENCIL_OK;
    int64_t found = 0;
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, length * (int64_t)stencil_precision_bytes(mesh->precision),
                             "a row of cells"));
    for (int64_t i = 0; i < count && status == STENCIL_OK; i++) {
        const int64_t number = spread_row(i, count, rows);
        row.first[STENCIL_Z] = array.first[STENCIL_Z] + number / array.n[STENCIL_Y];
        row.first[STENCIL_Y] = array.first[STENCIL_Y] + number % array.n[STENCIL_Y];
        row.first[STENCIL_X] = array.first[STENCIL_X];
        const stencil_cells cells = stencil_cells_dense(mesh->precision, memory, &row);
        status = from->read(from->context, STENCIL_ARRAY_U, &row, &cells);
        found += status == STENCIL_OK ? count_subnormal(&cells, length) : 0;
    }
    free(memory);
    *share = (double)found / ((double)count * (double)length);
    return status;
}

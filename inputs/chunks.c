/* Reads packed chunks one by one; all threads unpack chunks whose filters inputs/filters.c can undo, and
 * HDF5 unpacks all others. Unlike HDF5 1.10, this code detects chunks that are too short. */
#include "inputs/chunks.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "inputs/filters.h"

/* Bytes of chunks that are unpacked at a time; most bytes and most chunks that stay in memory unpacked, since
 * several reads may each need a part of one chunk. */
#define BATCH_BYTES ((size_t)64 << 20)
#define KEPT_BYTES  ((size_t)256 << 20)
#define KEPT_CHUNKS ((size_t)4096) /* few, since unpacked chunks are searched linearly */

/* A chunk that is being read or is kept in memory. */
typedef struct chunk {
    hsize_t first[3]; /* index of the chunk's first cell */
    void *cells;      /* unpacked cells, owned; NULL: not unpacked yet */
    void *packed;     /* packed bytes, owned; NULL: unpacked already, or not in the file */
    size_t bytes;     /* size of `packed` */
    uint32_t skipped; /* bit mask of the filters that the chunk has not passed */
    const char *fault;
} chunk;

struct stencil_chunks {
    hid_t dataset; /* borrowed */
    stencil_chunk_grid grid;
    stencil_filters filters;
    hid_t stored, type; /* HDF5 types of cells: in the file, owned; in memory, borrowed */
    size_t cell;        /* bytes of a cell of `type` */
    chunk *kept;        /* ring buffer of unpacked chunks; NULL: none yet */
    size_t kept_count, kept_next;
};

bool stencil_chunk_grid_read(stencil_chunk_grid *grid, hid_t dataset) {
    STENCIL_HANDLE create = H5Dget_create_plist(dataset), space = H5Dget_space(dataset);
    grid->rank = space < 0 ? -1 : H5Sget_simple_extent_dims(space, grid->extent, NULL);
    bool known = create >= 0 && grid->rank > 0 && H5Pget_layout(create) == H5D_CHUNKED &&
                 H5Pget_chunk(create, H5S_MAX_RANK, grid->size) == grid->rank;
    for (int axis = 0; axis < grid->rank && known; axis++)
        known = grid->size[axis] > 0;
    return known;
}

void stencil_chunk_part(const stencil_chunk_grid *grid, const hsize_t *first, hsize_t *count) {
    for (int axis = 0; axis < grid->rank; axis++) {
        const hsize_t left = grid->extent[axis] - first[axis];
        count[axis] = grid->size[axis] < left ? grid->size[axis] : left;
    }
}

bool stencil_chunk_next(const stencil_chunk_grid *grid, const hsize_t *from, const hsize_t *count,
                        hsize_t *first) {
    for (int axis = grid->rank - 1; axis >= 0; axis--) {
        first[axis] += grid->size[axis];
        if (first[axis] < from[axis] + count[axis])
            return true;
        first[axis] = from[axis] / grid->size[axis] * grid->size[axis];
    }
    return false;
}

int64_t stencil_dataset_chunk_bytes(hid_t dataset) {
    const int64_t most = INT64_C(1) << 32; /* most bytes of a chunk in HDF5 */
    stencil_chunk_grid grid;
    STENCIL_HANDLE type = H5Dget_type(dataset);
    if (type < 0 || !stencil_chunk_grid_read(&grid, dataset))
        return 0;
    int64_t bytes = (int64_t)H5Tget_size(type);
    for (int axis = 0; axis < grid.rank; axis++)
        if (grid.size[axis] > (hsize_t)most || !stencil_multiply(bytes, (int64_t)grid.size[axis], &bytes))
            return most;
    return stencil_smaller(bytes, most);
}

static bool describe(stencil_chunks *c) {
    STENCIL_HANDLE create = H5Dget_create_plist(c->dataset);
    unsigned options = 0;
    c->stored = H5Dget_type(c->dataset);
    if (create < 0 || c->stored < 0 || !stencil_chunk_grid_read(&c->grid, c->dataset) || c->grid.rank > 3 ||
        H5Pget_chunk_opts(create, &options) < 0 || options != 0)
        return false;
    const size_t element = H5Tget_size(c->stored), bytes = (size_t)stencil_dataset_chunk_bytes(c->dataset);
    return bytes > 0 && bytes < UINT32_MAX &&
           stencil_filters_read(&c->filters, create, bytes / element, element);
}

stencil_chunks *stencil_chunks_open(hid_t dataset) {
    stencil_chunks *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->dataset = dataset;
    if (describe(c))
        return c;
    stencil_chunks_close(c);
    return NULL;
}

static void drop(chunk *k) {
    free(k->cells);
    free(k->packed);
}

static void forget_kept(stencil_chunks *c) {
    for (size_t i = 0; i < c->kept_count; i++)
        drop(&c->kept[i]);
    free(c->kept);
    c->kept = NULL;
    c->kept_count = c->kept_next = 0;
}

hid_t stencil_chunks_dataset(hid_t file, const char *name, hid_t usual) {
    hid_t dataset = H5Dopen2(file, name, usual);
    STENCIL_HANDLE create = dataset < 0 ? -1 : H5Dget_create_plist(dataset);
    if (create < 0 || H5Pget_layout(create) != H5D_CHUNKED || H5Pget_nfilters(create) < 1)
        return dataset;
    STENCIL_HANDLE none = H5Pcreate(H5P_DATASET_ACCESS);
    if (none < 0 || H5Pset_chunk_cache(none, 0, 0, 1.0) < 0)
        return dataset;
    H5Dclose(dataset);
    return H5Dopen2(file, name, none);
}

void stencil_chunks_close(stencil_chunks *c) {
    if (c == NULL)
        return;
    forget_kept(c);
    stencil_handle_close(&c->stored);
    free(c);
}

/* Has HDF5 read a chunk in its stored type into `cells`, memory of a whole chunk. Returns NULL, or what is
 * wrong. */
static const char *read_cells(const stencil_chunks *c, const chunk *k, void *cells) {
    const hsize_t origin[3] = {0, 0, 0};
    hsize_t count[3];
    stencil_chunk_part(&c->grid, k->first, count);
    STENCIL_HANDLE file = H5Dget_space(c->dataset),
                   memory = H5Screate_simple(c->grid.rank, c->grid.size, NULL);
    return H5Sselect_hyperslab(file, H5S_SELECT_SET, k->first, NULL, count, NULL) < 0 ||
                   H5Sselect_hyperslab(memory, H5S_SELECT_SET, origin, NULL, count, NULL) < 0 ||
                   H5Dread(c->dataset, c->stored, memory, file, H5P_DEFAULT, cells) < 0
               ? stencil_h5_reason()
               : NULL;
}

/* Reads a chunk twice to detect a filter whose output is too short: the rest of its memory keeps what
 * malloc() filled it with, which differs between the two reads. HDF5 must not cache chunks of the dataset. */
static const char *read_twice(const stencil_chunks *c, chunk *k) {
#ifdef M_PERTURB
    void *again = calloc(c->filters.elements, c->filters.element);
    const char *fault = again == NULL ? stencil_filters_no_memory : NULL;
    mallopt(M_PERTURB, 0x55);
    if (fault == NULL)
        fault = read_cells(c, k, k->cells);
    mallopt(M_PERTURB, 0xaa);
    if (fault == NULL)
        fault = read_cells(c, k, again);
    mallopt(M_PERTURB, 0);
    if (fault == NULL && memcmp(k->cells, again, c->filters.elements * c->filters.element) != 0)
        fault = "a packed chunk holds fewer bytes than a chunk has";
    free(again);
    return fault;
#else
    return read_cells(c, k, k->cells);
#endif
}

static const char *read_by_hdf5(const stencil_chunks *c, chunk *k) {
    k->cells = calloc(c->filters.elements, c->filters.element);
    return k->cells == NULL                           ? stencil_filters_no_memory
           : stencil_filters_are_checked(&c->filters) ? read_cells(c, k, k->cells)
                                                      : read_twice(c, k);
}

/* Undoes a chunk's filters, up to the first that only HDF5 can undo. */
static void unpack(const stencil_chunks *c, chunk *k) {
    stencil_bytes b = {k->packed, k->bytes};
    k->fault = stencil_filters_undo(&c->filters, k->skipped, &b);
    k->packed = NULL;
    k->cells = b.at;
}

bool stencil_chunk_is_absent(hid_t dataset, const hsize_t *first) {
    hsize_t size = 0, counted = 0;
    haddr_t address = 0;
    unsigned skipped = 0;
    uint32_t mask = 0;
    char byte;
    if (H5Dget_chunk_storage_size(dataset, first, &size) >= 0) /* since HDF5 1.12, size 0 for absent chunks */
        return size == 0 && H5Dread_chunk(dataset, H5P_DEFAULT, first, &mask, &byte) < 0;
    /* HDF5's message tells of an absent chunk without a search of all chunks. */
    return strstr(stencil_h5_reason(), "not allocated") != NULL ||
           (H5Dget_chunk_info_by_coord(dataset, first, &skipped, &address, &counted) >= 0 &&
            address == HADDR_UNDEF);
}

/* Reads a chunk's packed bytes. Returns NULL, or what is wrong. */
static const char *fetch(const stencil_chunks *c, chunk *k) {
    hsize_t size = 0;
    if (stencil_chunk_is_absent(c->dataset, k->first))
        return NULL;
    if (H5Dget_chunk_storage_size(c->dataset, k->first, &size) < 0)
        return stencil_h5_reason();
    if (size == 0)
        return "a packed chunk holds fewer bytes than a chunk has";
    if (size > stencil_filters_packed_most(&c->filters))
        return "a packed chunk is larger than a chunk";
    k->bytes = (size_t)size;
    k->packed = malloc(k->bytes);
    if (k->packed == NULL)
        return stencil_filters_no_memory;
    if (H5Dread_chunk(c->dataset, H5P_DEFAULT, k->first, &k->skipped, k->packed) < 0)
        return stencil_h5_reason();
    if ((c->filters.others & ~k->skipped) == 0)
        return NULL;
    unpack(c, k); /* checks that the first filter that only HDF5 undoes has enough bytes */
    free(k->cells);
    k->cells = NULL;
    return k->fault != NULL ? k->fault : read_by_hdf5(c, k);
}

/* Fills an absent chunk with the dataset's fill value. */
static const char *fill(const stencil_chunks *c, chunk *k) {
    STENCIL_HANDLE create = H5Dget_create_plist(c->dataset);
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    k->cells = calloc(c->filters.elements, c->cell);
    char value[64] = "";
    if (k->cells == NULL)
        return stencil_filters_no_memory;
    if (create < 0 || H5Pfill_value_defined(create, &defined) < 0 || defined != H5D_FILL_VALUE_USER_DEFINED)
        return NULL;
    if (c->cell > sizeof value || H5Pget_fill_value(create, c->type, value) < 0)
        return stencil_h5_reason();
    for (size_t i = 0; i < c->filters.elements; i++)
        memcpy((char *)k->cells + i * c->cell, value, c->cell);
    return NULL;
}

static const char *convert(const stencil_chunks *c, chunk *k) {
    if (H5Tequal(c->stored, c->type) > 0)
        return NULL;
    const size_t room = c->filters.element > c->cell ? c->filters.element : c->cell;
    void *more = realloc(k->cells, c->filters.elements * room);
    if (more == NULL)
        return stencil_filters_no_memory;
    k->cells = more;
    return H5Tconvert(c->stored, c->type, c->filters.elements, more, NULL, H5P_DEFAULT) < 0
               ? stencil_h5_reason()
               : NULL;
}

/* A box of the dataset, and its destination in memory. */
typedef struct request {
    hsize_t first[3], count[3]; /* first cell and cells along each axis of the dataset, [rank] */
    const stencil_box *box;     /* the same box, with three axes */
    const stencil_cells *to;    /* destination; NULL: chunks are only checked */
} request;

/* Copies the part of a chunk that lies in the requested box, row by row. */
static void scatter(const stencil_chunks *c, const chunk *k, const request *r) {
    stencil_box whole = {.n = {1, 1, 1}};
    for (int axis = 0, skip = STENCIL_AXES - c->grid.rank; axis < c->grid.rank; axis++) {
        whole.first[axis + skip] = (int64_t)k->first[axis];
        whole.n[axis + skip] = (int64_t)c->grid.size[axis];
    }
    const stencil_box part = stencil_box_common(&whole, r->box),
                      in_chunk = stencil_box_from(&part, whole.first),
                      in_box = stencil_box_from(&part, r->box->first);
    const int64_t cell = (int64_t)c->cell, *from = in_chunk.first, *at = in_box.first;
    for (int64_t z = 0; z < part.n[STENCIL_Z]; z++)
        for (int64_t y = 0; y < part.n[STENCIL_Y]; y++) {
            const int64_t row = (from[STENCIL_Z] + z) * whole.n[STENCIL_Y] + from[STENCIL_Y] + y,
                          source = row * whole.n[STENCIL_X] + from[STENCIL_X],
                          target = (at[STENCIL_Z] + z) * r->to->plane + (at[STENCIL_Y] + y) * r->to->row +
                                   at[STENCIL_X];
            memcpy((char *)r->to->at + target * cell, (const char *)k->cells + source * cell,
                   (size_t)(part.n[STENCIL_X] * cell));
        }
}

static const chunk *find_kept(const stencil_chunks *c, const hsize_t first[3]) {
    for (size_t i = 0; i < c->kept_count; i++)
        if (memcmp(c->kept[i].first, first, 3 * sizeof *first) == 0)
            return &c->kept[i];
    return NULL;
}

/* Keeps unpacked chunks in memory, in a ring buffer that replaces the oldest chunks when full. */
static void keep(stencil_chunks *c, chunk *batch, size_t count) {
    const size_t one = c->filters.elements * c->cell, room = one < KEPT_BYTES ? KEPT_BYTES / one : 1,
                 most = room < KEPT_CHUNKS ? room : KEPT_CHUNKS;
    if (c->kept == NULL)
        c->kept = calloc(most, sizeof *c->kept);
    for (size_t i = 0; i < count; i++) {
        chunk *place = c->kept != NULL ? &c->kept[c->kept_next] : &batch[i];
        drop(place);
        if (c->kept == NULL)
            continue;
        *place = batch[i];
        c->kept_next = (c->kept_next + 1) % most;
        c->kept_count += c->kept_count < most;
    }
}

/* Reads and unpacks `count` chunks, of which `first` is set. Returns NULL, or what is wrong. */
static const char *unpack_batch(const stencil_chunks *c, chunk *batch, size_t count) {
    const char *fault = NULL;
    for (size_t i = 0; i < count && fault == NULL; i++)
        fault = fetch(c, &batch[i]);
    if (fault == NULL) {
#pragma omp parallel for schedule(dynamic)
        for (size_t i = 0; i < count; i++)
            if (batch[i].packed != NULL)
                unpack(c, &batch[i]);
    }
    for (size_t i = 0; i < count && fault == NULL; i++)
        fault = batch[i].fault;
    return fault;
}

/* Unpacks a batch of chunks, copies their cells to the destination (if any) and keeps the chunks in memory.
 * Frees the chunks where there is no destination, or after a fault. */
static const char *read_batch(stencil_chunks *c, chunk *batch, size_t count, const request *r) {
    const char *fault = unpack_batch(c, batch, count);
    for (size_t i = 0; i < count && fault == NULL && r->to != NULL; i++)
        fault = batch[i].cells == NULL ? fill(c, &batch[i]) : convert(c, &batch[i]);
    if (fault != NULL || r->to == NULL) {
        for (size_t i = 0; i < count; i++)
            drop(&batch[i]);
        return fault;
    }
#pragma omp parallel for schedule(dynamic)
    for (size_t i = 0; i < count; i++)
        scatter(c, &batch[i], r);
    keep(c, batch, count);
    return NULL;
}

/* Processes the chunks that intersect a requested box, in array order. Returns NULL, or what is wrong. */
static const char *go_over(stencil_chunks *c, const request *r) {
    const hsize_t most = BATCH_BYTES / (c->filters.elements * c->filters.element) + 1;
    hsize_t first[3] = {0, 0, 0}, room = 1;
    bool more = true;
    for (int axis = 0; axis < c->grid.rank; axis++) {
        const hsize_t size = c->grid.size[axis], along = r->count[axis] / size + 2; /* at most so many */
        room = along < most / room ? room * along : most;
        first[axis] = r->first[axis] / size * size;
        more = more && r->count[axis] > 0;
    }
    chunk *batch = calloc(room, sizeof *batch);
    const char *fault = batch == NULL ? stencil_filters_no_memory : NULL;
    while (more && fault == NULL) {
        size_t count = 0;
        for (; more && count < room; more = stencil_chunk_next(&c->grid, r->first, r->count, first)) {
            const chunk *kept = find_kept(c, first);
            if (kept != NULL) {
                scatter(c, kept, r);
                continue;
            }
            batch[count] = (chunk){0};
            memcpy(batch[count++].first, first, sizeof first);
        }
        fault = read_batch(c, batch, count, r);
    }
    free(batch);
    return fault;
}

const char *stencil_chunks_read(stencil_chunks *c, hid_t dataset, const stencil_box *box, hid_t type,
                                const stencil_cells *to) {
    request r = {.box = box, .to = to};
    if (c == NULL)
        return stencil_h5_box(dataset, box, type, to, false) < 0 ? stencil_h5_reason() : NULL;
    if (c->type != type) { /* the unpacked chunks in memory have cells of another type */
        forget_kept(c);
        c->type = type;
        c->cell = H5Tget_size(type);
    }
    for (int axis = 0, skip = STENCIL_AXES - c->grid.rank; axis < c->grid.rank; axis++) {
        r.first[axis] = (hsize_t)box->first[axis + skip];
        r.count[axis] = (hsize_t)box->n[axis + skip];
    }
    return go_over(c, &r);
}

const char *stencil_chunks_check(hid_t dataset) {
    stencil_chunks *c = stencil_chunks_open(dataset);
    request all = {.to = NULL};
    if (c == NULL)
        return NULL;
    memcpy(all.count, c->grid.extent, sizeof all.count);
    const char *fault = go_over(c, &all);
    stencil_chunks_close(c);
    return fault;
}

/* Chunks that have passed filters. Those of gzip, shuffle and fletcher32 are unpacked here: HDF5 1.10 takes
 * whatever comes out of a stream for a whole chunk, and reads behind its end where that was too short. They
 * are read one by one and unpacked by all threads. A chunk that has passed another filter is left to HDF5.
 *
 * Filters: "HDF5 File Format Specification", IV.A.2.l (Filter Pipeline); Fletcher's checksum of 1982 over
 * 16-bit words, the first byte of a word being the higher one. */
#include "inputs/chunks.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/base.h"

enum { CHECKSUM_BYTES = 4, FILTERS_MAX = 32, VALUES_MAX = 8 };

/* Bytes that are unpacked at a time, and bytes of unpacked chunks that stay in memory, since slabs cut
 * through chunks. */
#define BATCH_BYTES ((size_t)64 << 20)
#define KEPT_BYTES  ((size_t)256 << 20)
#define KEPT_CHUNKS ((size_t)4096) /* they are searched one by one */

/* A chunk in memory. */
typedef struct chunk {
    hsize_t first[3]; /* its first cell */
    void *cells;      /* owned; NULL: not unpacked yet */
    void *packed;     /* owned, until then; NULL: it has no place in the file */
    size_t bytes;     /* of `packed` */
    uint32_t skipped; /* bits of the filters that it has not passed */
    const char *fault;
} chunk;

struct stencil_chunks {
    hid_t dataset; /* borrowed */
    int rank, filter_count;
    H5Z_filter_t filter[FILTERS_MAX];
    unsigned value[FILTERS_MAX][VALUES_MAX]; /* the first parameters of each */
    uint32_t others;                         /* bits of those that are HDF5's affair */
    hsize_t extent[3], size[3];              /* of the dataset, and of a chunk, in cells; [rank] */
    size_t elements, element;                /* cells of a chunk; bytes of one as it is stored */
    size_t shuffled;                         /* bytes of what the shuffle filter takes for one */
    hid_t stored, type; /* types: as stored, owned; of the kept cells, borrowed, 0 before the first */
    size_t cell;        /* bytes of that one */
    chunk *kept;
    size_t kept_count;
};

static bool is_alone(const stencil_chunks *c, H5Z_filter_t filter) {
    int count = 0;
    for (int i = 0; i < c->filter_count; i++)
        count += c->filter[i] == filter;
    return count == 1;
}

/* Tells whether there are filters, each once. */
static bool find_filters(stencil_chunks *c, hid_t create) {
    c->filter_count = H5Pget_nfilters(create);
    if (c->filter_count < 1 || c->filter_count > FILTERS_MAX)
        return false;
    for (int i = 0; i < c->filter_count; i++) {
        size_t values = VALUES_MAX;
        unsigned flags, config;
        c->filter[i] = H5Pget_filter2(create, (unsigned)i, &flags, &values, c->value[i], 0, NULL, &config);
        if (c->filter[i] == H5Z_FILTER_SHUFFLE)
            c->shuffled = c->value[i][0];
        if (c->filter[i] != H5Z_FILTER_DEFLATE && c->filter[i] != H5Z_FILTER_SHUFFLE &&
            c->filter[i] != H5Z_FILTER_FLETCHER32)
            c->others |= UINT32_C(1) << i;
    }
    for (int i = 0; i < c->filter_count; i++)
        if (!is_alone(c, c->filter[i]))
            return false;
    return true;
}

static bool describe(stencil_chunks *c) {
    STENCIL_HANDLE create = H5Dget_create_plist(c->dataset), space = H5Dget_space(c->dataset);
    unsigned options = 0;
    hsize_t most[H5S_MAX_RANK];
    c->stored = H5Dget_type(c->dataset);
    c->rank = space < 0 ? -1 : H5Sget_simple_extent_ndims(space);
    if (create < 0 || c->stored < 0 || H5Pget_layout(create) != H5D_CHUNKED || c->rank < 1 || c->rank > 3 ||
        H5Sget_simple_extent_dims(space, c->extent, most) != c->rank ||
        H5Pget_chunk(create, 3, c->size) != c->rank || H5Pget_chunk_opts(create, &options) < 0 ||
        options != 0 || !find_filters(c, create))
        return false;
    c->element = H5Tget_size(c->stored);
    int64_t elements = 1, bytes = 0;
    bool counted = c->element > 0;
    for (int axis = 0; axis < c->rank; axis++)
        counted = counted && c->size[axis] > 0 && c->size[axis] <= UINT32_MAX &&
                  stencil_multiply(elements, (int64_t)c->size[axis], &elements);
    c->elements = (size_t)elements;
    return counted && stencil_multiply(elements, (int64_t)c->element, &bytes) && bytes < UINT32_MAX;
}

stencil_chunks *stencil_chunks_open(hid_t dataset) {
#if H5_VERSION_GE(1, 10, 5)
    stencil_chunks *c = calloc(1, sizeof *c);
    if (c == NULL)
        return NULL;
    c->dataset = dataset;
    if (describe(c))
        return c;
    stencil_chunks_close(c);
#else
    (void)dataset, (void)describe;
#endif
    return NULL;
}

static void drop(chunk *k) {
    free(k->cells);
    free(k->packed);
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
    for (size_t i = 0; i < c->kept_count; i++)
        drop(&c->kept[i]);
    free(c->kept);
    stencil_handle_close(&c->stored);
    free(c);
}

/* A chunk's bytes on their way through the filters. */
typedef struct bytes {
    unsigned char *at; /* owned */
    size_t count;
} bytes;

/* The most bytes that a packed chunk has: gzip and its like add less to cells that they cannot pack. */
static size_t largest_packed(const stencil_chunks *c) {
    const size_t whole = c->elements * c->element;
    return whole + whole / 8 + 4096;
}

/* So many bytes, or (not exact) at most so many. NULL, or what is wrong; so for the two below. */
static const char *inflate_bytes(bytes *b, size_t wanted, bool exact) {
    z_stream stream = {.next_in = b->at, .avail_in = (uInt)b->count, .avail_out = (uInt)(wanted + 1)};
    unsigned char *out = malloc(wanted + 1);
    if (out == NULL || inflateInit(&stream) != Z_OK) {
        free(out);
        return stencil_chunks_no_memory;
    }
    stream.next_out = out;
    const int ended = inflate(&stream, Z_FINISH);
    const size_t count = stream.total_out;
    inflateEnd(&stream);
    free(b->at);
    *b = (bytes){out, count};
    if (!exact && ended == Z_STREAM_END && count <= wanted)
        return NULL;
    return count < wanted && ended == Z_STREAM_END ? "a packed chunk holds fewer bytes than a chunk has"
           : count > wanted                        ? "a packed chunk holds more bytes than a chunk has"
           : ended != Z_STREAM_END                 ? "inflate() failed"
                                                   : NULL;
}

static uint32_t fletcher32(const unsigned char *at, size_t count) {
    enum { WORDS = 360 }; /* whose sums fit into 32 bits */
    uint32_t one = 0, two = 0;
    for (size_t i = 0; i < count;) {
        for (int k = 0; k < WORDS && i < count; k++, i += 2) {
            one += (uint32_t)at[i] << 8 | (i + 1 < count ? at[i + 1] : 0U);
            two += one;
        }
        one = (one & 0xffff) + (one >> 16);
        two = (two & 0xffff) + (two >> 16);
    }
    one = (one & 0xffff) + (one >> 16);
    two = (two & 0xffff) + (two >> 16);
    return two << 16 | one;
}

/* Some versions of HDF5 have written the bytes of each half in the other order. */
static const char *check_sum(bytes *b) {
    if (b->count < CHECKSUM_BYTES)
        return "a checksum is missing";
    b->count -= CHECKSUM_BYTES;
    const unsigned char *end = b->at + b->count;
    const uint32_t sum = fletcher32(b->at, b->count),
                   given = end[0] | (uint32_t)end[1] << 8 | (uint32_t)end[2] << 16 | (uint32_t)end[3] << 24,
                   swapped = (sum & 0xff00ff) << 8 | (sum >> 8 & 0xff00ff);
    return given == sum || given == swapped ? NULL : "data error detected by Fletcher32 checksum";
}

/* The k-th bytes of all elements stand together, for each k. */
static inline void gather(unsigned char *restrict out, const unsigned char *restrict in, size_t count,
                          size_t size) {
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < size; k++)
            out[i * size + k] = in[k * count + i];
}

static const char *unshuffle(bytes *b, size_t size) {
    const size_t count = size > 0 ? b->count / size : 0;
    if (size < 2 || count < 2)
        return NULL;
    unsigned char *out = malloc(b->count);
    if (out == NULL)
        return stencil_chunks_no_memory;
    if (size == 8)
        gather(out, b->at, count, 8);
    else if (size == 4)
        gather(out, b->at, count, 4);
    else
        gather(out, b->at, count, size);
    memcpy(out + count * size, b->at + count * size, b->count - count * size);
    free(b->at);
    b->at = out;
    return NULL;
}

/* The filters in the reverse order of writing. */
static void unpack(const stencil_chunks *c, chunk *k) {
    const size_t whole = c->elements * c->element;
    bytes b = {k->packed, k->bytes};
    size_t before = whole; /* a filter: bytes that it was given */
    for (int i = 0; i < c->filter_count; i++)
        before += c->filter[i] == H5Z_FILTER_FLETCHER32 && (k->skipped >> i & 1) == 0 ? CHECKSUM_BYTES : 0;
    for (int i = c->filter_count - 1; i >= 0 && k->fault == NULL; i--) {
        if ((k->skipped >> i & 1) != 0)
            continue;
        if (c->filter[i] == H5Z_FILTER_FLETCHER32) {
            before -= CHECKSUM_BYTES;
            k->fault = check_sum(&b);
        } else
            k->fault = c->filter[i] == H5Z_FILTER_DEFLATE ? inflate_bytes(&b, before, true)
                                                          : unshuffle(&b, c->shuffled);
    }
    if (k->fault == NULL && b.count != whole)
        k->fault = "a chunk has another size than it should have";
    k->packed = NULL;
    k->cells = b.at;
}

/* Its cells, as they are stored, into memory of that size. NULL, or what is wrong. */
static const char *read_cells(const stencil_chunks *c, const chunk *k, void *cells) {
    const hsize_t origin[3] = {0, 0, 0};
    hsize_t count[3];
    for (int axis = 0; axis < c->rank; axis++) {
        const hsize_t left = c->extent[axis] - k->first[axis];
        count[axis] = c->size[axis] < left ? c->size[axis] : left;
    }
    STENCIL_HANDLE file = H5Dget_space(c->dataset), memory = H5Screate_simple(c->rank, c->size, NULL);
    return H5Sselect_hyperslab(file, H5S_SELECT_SET, k->first, NULL, count, NULL) < 0 ||
                   H5Sselect_hyperslab(memory, H5S_SELECT_SET, origin, NULL, count, NULL) < 0 ||
                   H5Dread(c->dataset, c->stored, memory, file, H5P_DEFAULT, cells) < 0
               ? stencil_h5_reason()
               : NULL;
}

/* A filter that ends early leaves the rest of its memory as it is: read again, with other things in all new
 * memory, that rest is another one. Who opens the dataset lets HDF5 keep no chunks. */
static const char *read_twice(const stencil_chunks *c, chunk *k) {
#ifdef M_PERTURB
    const size_t whole = c->elements * c->element;
    void *again = calloc(c->elements, c->element);
    const char *fault = again == NULL ? stencil_chunks_no_memory : NULL;
    mallopt(M_PERTURB, 0x55);
    if (fault == NULL)
        fault = read_cells(c, k, k->cells);
    mallopt(M_PERTURB, 0xaa);
    if (fault == NULL)
        fault = read_cells(c, k, again);
    mallopt(M_PERTURB, 0);
    if (fault == NULL && memcmp(k->cells, again, whole) != 0)
        fault = "a packed chunk holds fewer bytes than a chunk has";
    free(again);
    return fault;
#else
    return read_cells(c, k, k->cells);
#endif
}

static const char *read_by_hdf5(const stencil_chunks *c, chunk *k) {
    bool known = true;
    for (int i = 0; i < c->filter_count; i++)
        known = known && ((c->others >> i & 1) == 0 || c->filter[i] == H5Z_FILTER_SCALEOFFSET ||
                          c->filter[i] == H5Z_FILTER_NBIT);
    k->cells = calloc(c->elements, c->element);
    return k->cells == NULL ? stencil_chunks_no_memory
           : known          ? read_cells(c, k, k->cells)
                            : read_twice(c, k);
}

bool stencil_chunk_is_absent(hid_t dataset, const hsize_t *first) {
    hsize_t size = 0, counted = 0;
    haddr_t address = 0;
    unsigned skipped = 0;
    uint32_t mask = 0;
    char byte;
    if (H5Dget_chunk_storage_size(dataset, first, &size) >= 0) /* 0 for absent ones since 1.12 */
        return size == 0 && H5Dread_chunk(dataset, H5P_DEFAULT, first, &mask, &byte) < 0;
    /* It says so, which spares to go over all chunks. */
    return strstr(stencil_h5_reason(), "not allocated") != NULL ||
           (H5Dget_chunk_info_by_coord(dataset, first, &skipped, &address, &counted) >= 0 &&
            address == HADDR_UNDEF);
}

static uint32_t number_at(const unsigned char *at) {
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

/* Tells whether so many bytes can be what another filter made of a whole chunk: HDF5 reads behind the end of
 * fewer. Of filters that are not its own nobody knows.
 *
 * H5Zscaleoffset.c: a head of 21 bytes, which begins with the bits of a number, and the numbers; H5Znbit.c:
 * the bits of the numbers; H5Zszip.c: the bytes that there were, and the rest. */
static bool is_enough(const stencil_chunks *c, int i, const bytes *b) {
    enum { HEAD = 21, SCALE_INTEGER = 2, SZIP_HEAD = 4 };
    const unsigned *value = c->value[i];
    const uint64_t whole = (uint64_t)c->elements * c->element;
    if (c->filter[i] == H5Z_FILTER_SCALEOFFSET) {
        const uint64_t bits = b->count >= HEAD ? number_at(b->at) : 0;
        if (value[0] == SCALE_INTEGER && value[1] == 8 * c->element) /* it leaves them as they are */
            return b->count >= whole;
        return b->count >= HEAD && value[2] == c->elements && value[4] == c->element &&
               bits <= 8 * c->element && b->count >= HEAD + (value[2] * bits + 7) / 8;
    }
    if (c->filter[i] == H5Z_FILTER_NBIT)
        return value[2] == c->elements &&
               b->count >= (value[1] != 0 ? whole : ((uint64_t)value[2] * value[6] + 7) / 8);
    if (c->filter[i] == H5Z_FILTER_SZIP)
        return b->count >= SZIP_HEAD && number_at(b->at) == whole;
    return true;
}

/* The same of a chunk's bytes as they are stored, which pass the filters up to that one. */
static const char *check_others(const stencil_chunks *c, const chunk *k) {
    bytes b = {malloc(k->bytes > 0 ? k->bytes : 1), k->bytes};
    const char *fault = NULL;
    if (b.at == NULL)
        return stencil_chunks_no_memory;
    memcpy(b.at, k->packed, k->bytes);
    for (int i = c->filter_count - 1; i >= 0 && fault == NULL; i--) {
        if ((k->skipped >> i & 1) != 0)
            continue;
        if ((c->others >> i & 1) != 0) {
            fault = is_enough(c, i, &b) ? NULL : "a packed chunk holds fewer bytes than a chunk has";
            break;
        }
        fault = c->filter[i] == H5Z_FILTER_FLETCHER32 ? check_sum(&b)
                : c->filter[i] == H5Z_FILTER_DEFLATE  ? inflate_bytes(&b, largest_packed(c), false)
                                                      : unshuffle(&b, c->shuffled);
    }
    free(b.at);
    return fault;
}

/* Its packed bytes; NULL, or what is wrong. */
static const char *fetch(const stencil_chunks *c, chunk *k) {
    hsize_t size = 0;
    if (stencil_chunk_is_absent(c->dataset, k->first))
        return NULL;
    if (H5Dget_chunk_storage_size(c->dataset, k->first, &size) < 0)
        return stencil_h5_reason();
    if (size == 0)
        return "a packed chunk holds fewer bytes than a chunk has";
    if (size > largest_packed(c))
        return "a packed chunk is larger than a chunk";
    k->bytes = (size_t)size;
    k->packed = malloc(k->bytes);
    if (k->packed == NULL)
        return stencil_chunks_no_memory;
    if (H5Dread_chunk(c->dataset, H5P_DEFAULT, k->first, &k->skipped, k->packed) < 0)
        return stencil_h5_reason();
    if ((c->others & ~k->skipped) == 0)
        return NULL;
    const char *fault = check_others(c, k);
    free(k->packed);
    k->packed = NULL;
    return fault != NULL ? fault : read_by_hdf5(c, k);
}

/* Cells that nobody wrote. */
static const char *fill(const stencil_chunks *c, chunk *k) {
    STENCIL_HANDLE create = H5Dget_create_plist(c->dataset);
    H5D_fill_value_t defined = H5D_FILL_VALUE_UNDEFINED;
    k->cells = calloc(c->elements, c->cell);
    char value[64] = "";
    if (k->cells == NULL)
        return stencil_chunks_no_memory;
    if (create < 0 || H5Pfill_value_defined(create, &defined) < 0 || defined != H5D_FILL_VALUE_USER_DEFINED)
        return NULL;
    if (c->cell > sizeof value || H5Pget_fill_value(create, c->type, value) < 0)
        return stencil_h5_reason();
    for (size_t i = 0; i < c->elements; i++)
        memcpy((char *)k->cells + i * c->cell, value, c->cell);
    return NULL;
}

static const char *convert(const stencil_chunks *c, chunk *k) {
    if (H5Tequal(c->stored, c->type) > 0)
        return NULL;
    const size_t room = c->element > c->cell ? c->element : c->cell;
    void *more = realloc(k->cells, c->elements * room);
    if (more == NULL)
        return stencil_chunks_no_memory;
    k->cells = more;
    return H5Tconvert(c->stored, c->type, c->elements, more, NULL, H5P_DEFAULT) < 0 ? stencil_h5_reason()
                                                                                    : NULL;
}

/* A part of the dataset, and where it goes. */
typedef struct request {
    hsize_t first[3], count[3]; /* [rank] */
    const stencil_cells *to;
} request;

/* Copies what a chunk has of it, row by row. */
static void scatter(const stencil_chunks *c, const chunk *k, const request *r) {
    hsize_t low[3] = {0, 0, 0}, high[3] = {1, 1, 1}, in_chunk[3] = {1, 1, 1}, from[3] = {0, 0, 0},
            at[3] = {0, 0, 0};
    const int skip = 3 - c->rank;
    for (int axis = skip; axis < 3; axis++) {
        const hsize_t begin = k->first[axis - skip], end = begin + c->size[axis - skip],
                      wanted = r->first[axis - skip], wanted_end = wanted + r->count[axis - skip];
        low[axis] = begin > wanted ? begin : wanted;
        high[axis] = end < wanted_end ? end : wanted_end;
        in_chunk[axis] = c->size[axis - skip];
        from[axis] = begin;
        at[axis] = wanted;
    }
    const size_t row = (size_t)(high[2] - low[2]) * c->cell;
    for (hsize_t z = low[0]; z < high[0]; z++)
        for (hsize_t y = low[1]; y < high[1]; y++) {
            const size_t source =
                (size_t)(((z - from[0]) * in_chunk[1] + (y - from[1])) * in_chunk[2] + (low[2] - from[2]));
            const int64_t target = (int64_t)(z - at[0]) * r->to->plane + (int64_t)(y - at[1]) * r->to->row +
                                   (int64_t)(low[2] - at[2]);
            memcpy((char *)r->to->at + target * (int64_t)c->cell, (const char *)k->cells + source * c->cell,
                   row);
        }
}

/* The next chunk of those that a request meets, in array order; false behind the last one. */
static bool next(const stencil_chunks *c, const request *r, hsize_t first[3]) {
    for (int axis = c->rank - 1; axis >= 0; axis--) {
        first[axis] += c->size[axis];
        if (first[axis] < r->first[axis] + r->count[axis])
            return true;
        first[axis] = r->first[axis] / c->size[axis] * c->size[axis];
    }
    return false;
}

static const chunk *find_kept(const stencil_chunks *c, const hsize_t first[3]) {
    for (size_t i = 0; i < c->kept_count; i++)
        if (memcmp(c->kept[i].first, first, 3 * sizeof *first) == 0)
            return &c->kept[i];
    return NULL;
}

/* Takes over unpacked chunks, in place of the oldest ones where they would be too many. */
static void keep(stencil_chunks *c, chunk *batch, size_t count) {
    const size_t one = c->elements * c->cell, room = one < KEPT_BYTES ? KEPT_BYTES / one : 1,
                 most = room < KEPT_CHUNKS ? room : KEPT_CHUNKS;
    size_t from = count > most ? count - most : 0, gone = 0;
    for (size_t i = 0; i < from; i++)
        drop(&batch[i]);
    if (c->kept_count + (count - from) > most)
        gone = c->kept_count + (count - from) - most;
    for (size_t i = 0; i < gone; i++)
        drop(&c->kept[i]);
    c->kept_count -= gone;
    if (gone > 0)
        memmove(c->kept, c->kept + gone, c->kept_count * sizeof *c->kept);
    chunk *more = realloc(c->kept, (c->kept_count + count - from) * sizeof *more);
    if (more == NULL) {
        for (; from < count; from++)
            drop(&batch[from]);
        return;
    }
    c->kept = more;
    memcpy(more + c->kept_count, batch + from, (count - from) * sizeof *more);
    c->kept_count += count - from;
}

/* Unpacks chunks whose places are known. NULL, or what is wrong. */
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

/* The same, and copies from them; then all are dropped where something is wrong. */
static const char *read_batch(stencil_chunks *c, chunk *batch, size_t count, const request *r) {
    const char *fault = unpack_batch(c, batch, count);
    for (size_t i = 0; i < count && fault == NULL; i++) {
        fault = batch[i].cells == NULL ? fill(c, &batch[i]) : convert(c, &batch[i]);
    }
    if (fault != NULL) {
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

/* Chunks that are unpacked at a time: no more than there are. */
static size_t batch_room(const stencil_chunks *c, const request *r) {
    const hsize_t most = BATCH_BYTES / (c->elements * c->element) + 1;
    hsize_t count = 1;
    for (int axis = 0; axis < c->rank; axis++) {
        const hsize_t last = (r->first[axis] + r->count[axis] - 1) / c->size[axis],
                      along = last - r->first[axis] / c->size[axis] + 1;
        count = along < most && count < most ? count * along : most;
    }
    return (size_t)(count < most ? count : most);
}

/* Drops what was kept as another type. */
static void set_type(stencil_chunks *c, hid_t type) {
    if (c->type == type)
        return;
    for (size_t i = 0; i < c->kept_count; i++)
        drop(&c->kept[i]);
    c->kept_count = 0;
    c->type = type;
    c->cell = H5Tget_size(type);
}

const char *stencil_chunks_read(stencil_chunks *c, const stencil_box *box, hid_t type,
                                const stencil_cells *to) {
    const int skip = STENCIL_AXES - c->rank;
    request r = {.to = to};
    hsize_t first[3] = {0, 0, 0};
    const char *fault = NULL;
    bool more = true;
    set_type(c, type);
    for (int axis = 0; axis < c->rank; axis++) {
        r.first[axis] = (hsize_t)box->first[axis + skip];
        r.count[axis] = (hsize_t)box->n[axis + skip];
        first[axis] = r.first[axis] / c->size[axis] * c->size[axis];
        more = more && r.count[axis] > 0;
    }
    const size_t room = batch_room(c, &r);
    chunk *batch = calloc(room, sizeof *batch);
    if (batch == NULL)
        return stencil_chunks_no_memory;
    while (more && fault == NULL) {
        size_t count = 0;
        while (more && count < room) {
            const chunk *kept = find_kept(c, first);
            if (kept != NULL)
                scatter(c, kept, &r);
            else {
                batch[count] = (chunk){0};
                memcpy(batch[count++].first, first, sizeof first);
            }
            more = next(c, &r, first);
        }
        if (count > 0)
            fault = read_batch(c, batch, count, &r);
    }
    free(batch);
    return fault;
}

const char *stencil_chunks_check(hid_t dataset) {
    stencil_chunks *c = stencil_chunks_open(dataset);
    request all = {.to = NULL};
    hsize_t first[3] = {0, 0, 0};
    bool more = c != NULL;
    for (int axis = 0; c != NULL && axis < c->rank; axis++) {
        all.count[axis] = c->extent[axis];
        more = more && c->extent[axis] > 0;
    }
    const size_t room = more ? batch_room(c, &all) : 0;
    chunk *batch = more ? calloc(room, sizeof *batch) : NULL;
    const char *fault = more && batch == NULL ? stencil_chunks_no_memory : NULL;
    while (more && fault == NULL) {
        size_t count = 0;
        for (; more && count < room; more = next(c, &all, first)) {
            batch[count] = (chunk){0};
            memcpy(batch[count++].first, first, sizeof first);
        }
        fault = unpack_batch(c, batch, count);
        for (size_t i = 0; i < count; i++)
            drop(&batch[i]);
    }
    free(batch);
    stencil_chunks_close(c);
    return fault;
}

const char stencil_chunks_no_memory[] = "memory allocation failed";

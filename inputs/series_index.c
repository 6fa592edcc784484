#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* ftruncate */
#endif

#include "inputs/series_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "inputs/h5.h"

enum {
    PAGE_BYTES = 4096,
    HEAD_BYTES = 24,  /* of a node: signature, type, level, entries used, siblings */
    USED_AT = 6,      /* within the head */
    FILE_END_AT = 44, /* in superblock 1: the end of what readers may read */
    MOST = STENCIL_SERIES_NODE_CHUNKS
};
#define NOWHERE UINT64_MAX
/* Largest size of a frame that counts for what lies ahead. */
#define AHEAD_MOST (UINT64_C(1) << 30)
/* Number of a frame behind all others, for the bounds of nodes. */
#define BEHIND (INT64_C(1) << 40)

/* The file is little endian, as HDF5's metadata is; so are the machines that this is built for. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "metadata is written as it is in memory");

stencil_status stencil_series_put(const stencil_series *s, uint64_t at, const void *from, int64_t bytes) {
    CHECK(stencil_h5_bytes(s->fd, (int64_t)at, NULL, from, bytes) == bytes, IO,
          "cannot write '%s': %s; make room or choose another output file", s->sink.path, strerror(errno));
    return STENCIL_OK;
}

static bool get(const stencil_series *s, uint64_t at, void *to, int64_t bytes) {
    return stencil_h5_bytes(s->fd, (int64_t)at, to, NULL, bytes) == bytes;
}

/* A key has the bytes of a chunk, its mask of filters, and the offset of its first cell with one of 0 for the
 * bytes of a cell. */
static int64_t key_bytes(const stencil_series *s, int dataset) {
    return 8 + 8 * (s->array[dataset].axes + 2);
}

/* A node of the index of a dataset. */
typedef struct node {
    int dataset;
    uint64_t at;
} node;

static uint64_t key_at(const stencil_series *s, node of, int64_t i) {
    return of.at + HEAD_BYTES + (uint64_t)(i * (key_bytes(s, of.dataset) + 8));
}

/* Returns the place of the address that belongs to key i. */
static uint64_t address_at(const stencil_series *s, node of, int64_t i) {
    return key_at(s, of, i) + (uint64_t)key_bytes(s, of.dataset);
}

static int64_t node_bytes(const stencil_series *s, int dataset) {
    return HEAD_BYTES + MOST * (key_bytes(s, dataset) + 8) + key_bytes(s, dataset);
}

static stencil_status put_key(const stencil_series *s, node of, int64_t i, const int64_t offset[4],
                              int64_t bytes) {
    const stencil_series_array *array = &s->array[of.dataset];
    uint64_t key[7] = {(uint64_t)bytes, /* the mask, the upper half, is 0: all filters were applied */
                       (uint64_t)offset[0]};
    for (int k = 0; k < array->axes; k++)
        key[2 + k] = (uint64_t)offset[1 + array->axis[k]];
    return stencil_series_put(s, key_at(s, of, i), key, key_bytes(s, of.dataset));
}

static stencil_status put_used(const stencil_series *s, uint64_t node, int64_t used) {
    const uint16_t number = (uint16_t)used;
    return stencil_series_put(s, node + USED_AT, &number, sizeof number);
}

/* Writes a node without entries behind all else. */
static stencil_status make_node(stencil_series *s, int dataset, int level, uint64_t left, uint64_t *at) {
    const int64_t bytes = node_bytes(s, dataset);
    unsigned char *block = calloc(1, (size_t)bytes);
    CHECK(block != NULL, NO_MEMORY, "no memory to write '%s'", s->sink.path);
    const uint64_t sibling[2] = {left, NOWHERE};
    memcpy(block, "TREE", 4);
    block[4] = 1; /* of chunks */
    block[5] = (unsigned char)level;
    memcpy(block + 8, sibling, sizeof sibling);
    *at = s->at.used;
    const stencil_status status = stencil_series_put(s, *at, block, bytes);
    free(block);
    TRY(status);
    s->at.used += (uint64_t)(bytes + 7) / 8 * 8;
    return put_key(s, (node){dataset, *at}, 0, (const int64_t[]){BEHIND, 0, 0, 0}, 0);
}

/* Has /VTKHDF/Steps/Values show `count` frames, in one write. */
static stencil_status put_vtk_count(stencil_series *s, int64_t count) {
    const stencil_series_places *at = &s->at;
    const int64_t bytes = (int64_t)(at->vtk_bytes + 8 - at->vtk_extent), sum = 8 * count;
    unsigned char header[PAGE_BYTES];
    CHECK(bytes >= 24 && bytes <= PAGE_BYTES && get(s, at->vtk_extent, header, bytes), IO,
          "cannot read '%s' again", s->sink.path);
    memcpy(header, &count, sizeof count);
    memcpy(header + 8, &count, sizeof count); /* the largest extent */
    memcpy(header + bytes - 8, &sum, sizeof sum);
    TRY(stencil_series_put(s, at->vtk_extent, header, bytes));
    s->vtk_count = s->vtk_next = count;
    return STENCIL_OK;
}

stencil_status stencil_index_create(stencil_series *s, const uint64_t index[STENCIL_SERIES_DATASETS]) {
    s->at.used = s->at.end;
    for (int d = 0; d < STENCIL_SERIES_DATASETS; d++) {
        if (!stencil_series_has(s, d))
            continue;
        uint64_t *root = stencil_series_root(&s->at, d);
        s->array[d].leaf = 0;
        TRY(make_node(s, d, 1, NOWHERE, root));
        TRY(stencil_series_put(s, index[d], root, sizeof *root));
    }
    return put_vtk_count(s, 0);
}

/* Enters something into a node that has `used` entries: its bound and address first, so that readers find no
 * half of it. */
static stencil_status enter(const stencil_series *s, node of, int64_t used, const int64_t offset[4],
                            int64_t bytes, uint64_t address) {
    TRY(put_key(s, of, used + 1, (const int64_t[]){BEHIND, 0, 0, 0}, 0));
    TRY(stencil_series_put(s, address_at(s, of, used), &address, sizeof address));
    TRY(put_key(s, of, used, offset, bytes));
    return put_used(s, of.at, used + 1);
}

/* Makes the file longer, without taking space, and returns its end; 0: no file may be as long as that. */
static uint64_t lengthen(const stencil_series *s, uint64_t end) {
    return ftruncate(s->fd, (off_t)end) == 0 ? end : 0;
}

/* Sets the end that the file states, behind which readers refuse addresses. It lies ahead by some frames: a
 * reader that looks at the end as it opens the file then finds what has come since. The file is longer than
 * that for a while before it says so: a reader looks at its length first. */
static stencil_status reach(stencil_series *s) {
    const uint64_t frame = (s->at.used - s->at.end) / (uint64_t)(s->at.count + 1),
                   batch = 32 * (frame < AHEAD_MOST ? frame : AHEAD_MOST), enough = s->at.used + batch;
    if (s->stated >= enough)
        return STENCIL_OK;
    if (s->length < enough)
        s->length = lengthen(s, enough + batch);
    s->stated = s->length != 0 ? s->length : s->at.used;
    CHECK(s->length != 0 || ftruncate(s->fd, (off_t)s->at.used) == 0, IO, "cannot write '%s': %s",
          s->sink.path, strerror(errno));
    TRY(stencil_series_put(s, FILE_END_AT, &s->stated, sizeof s->stated));
    s->length = lengthen(s, s->stated + 2 * batch);
    return STENCIL_OK;
}

void stencil_index_trim(stencil_series *s) {
    if (stencil_series_put(s, FILE_END_AT, &s->at.used, sizeof s->at.used) != STENCIL_OK ||
        ftruncate(s->fd, (off_t)s->at.used) != 0)
        return; /* the file is longer than it needs to be */
    s->stated = s->at.used;
}

stencil_status stencil_index_add(stencil_series *s, int dataset, int64_t number, const int64_t offset[4],
                                 uint64_t address, int64_t bytes) {
    const int64_t used = number % MOST;
    uint64_t *leaf = &s->array[dataset].leaf;
    if (used == 0) {
        const uint64_t left = *leaf != 0 ? *leaf : NOWHERE, root = *stencil_series_root(&s->at, dataset);
        TRY(make_node(s, dataset, 0, left, leaf));
        TRY(enter(s, (node){dataset, *leaf}, 0, offset, bytes, address));
        /* Readers refuse addresses behind the end that the file states. */
        TRY(reach(s));
        if (left != NOWHERE)
            TRY(stencil_series_put(s, left + 16, leaf, sizeof *leaf));
        return enter(s, (node){dataset, root}, number / MOST, offset, bytes, *leaf);
    }
    return enter(s, (node){dataset, *leaf}, used, offset, bytes, address);
}

/* Seconds that a reader has between its looks at NSteps and at Values. */
static const double settling_s = 0.1;

void stencil_series_settle(stencil_series *s) {
    if (s->vtk_next > s->vtk_count && stencil_clock_s() >= s->vtk_next_s + settling_s &&
        put_vtk_count(s, s->vtk_next) != STENCIL_OK)
        return; /* VTK finds the last times to be 0 */
    if (s->vtk_next == s->vtk_count) {
        s->vtk_next = s->at.count;
        s->vtk_next_s = s->shown_s;
    }
}

void stencil_index_settle_all(stencil_series *s) {
    const double left_s = s->shown_s + settling_s - stencil_clock_s();
    if (s->vtk_count == s->at.count)
        return;
    if (left_s > 0)
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * left_s)}, NULL);
    (void)put_vtk_count(s, s->at.count);
}

/* Sets a number in the page of the counts. */
static void set(unsigned char page[PAGE_BYTES], uint64_t at, int64_t value) {
    memcpy(page + at % PAGE_BYTES, &value, sizeof value);
}

stencil_status stencil_index_show(stencil_series *s, int64_t count) {
    unsigned char page[PAGE_BYTES] = {0};
    stencil_series_places *at = &s->at;
    if (count > at->count)
        TRY(reach(s));
    const uint64_t first = at->extent[0] / PAGE_BYTES * PAGE_BYTES;
    const int64_t got = stencil_h5_bytes(s->fd, (int64_t)first, page, NULL, PAGE_BYTES);
    CHECK(got > 0, IO, "cannot read '%s' again", s->sink.path);
    for (int d = 0; d < STENCIL_SERIES_DATASETS; d++) {
        if (!stencil_series_has(s, d))
            continue;
        const uint64_t extent = *stencil_series_extent(at, d);
        set(page, extent + 8 * (uint64_t)(s->array[d].axes + 1), count); /* largest extents follow */
        set(page, extent, count);
    }
    set(page, at->step_extent + 8, count);
    set(page, at->time_extent + 8, count);
    set(page, at->step_extent, count);
    set(page, at->time_extent, count);
    set(page, at->step_bytes, 8 * count);
    set(page, at->time_bytes, 8 * count);
    set(page, at->steps_count, count);
    TRY(stencil_series_put(s, first, page, got));
    at->count = count;
    s->shown_s = stencil_clock_s();
    return STENCIL_OK;
}

/* Tells whether all counts are the same number, not less than that of series->at. */
static bool has_counts(stencil_series *s) {
    stencil_series_places *at = &s->at;
    int64_t is[6] = {0};
    const uint64_t place[6] = {at->extent[0],   at->step_extent, at->time_extent,
                               at->steps_count, at->step_bytes,  at->time_bytes};
    for (int i = 0; i < 6; i++)
        if (place[i] / PAGE_BYTES != place[0] / PAGE_BYTES || !get(s, place[i], &is[i], 8))
            return false;
    for (int d = 0; d < STENCIL_SERIES_DATASETS; d++) {
        const uint64_t extent = *stencil_series_extent(at, d);
        int64_t count = 0;
        if (stencil_series_has(s, d)
                ? extent / PAGE_BYTES != place[0] / PAGE_BYTES || !get(s, extent, &count, 8) || count != is[0]
                : extent != 0)
            return false;
    }
    return is[0] >= at->count && is[1] == is[0] && is[2] == is[0] && is[3] == is[0] && is[4] == 8 * is[0] &&
           is[5] == is[4];
}

/* Returns the chunks that a dataset's frames have, and the nodes that list them. */
static int64_t chunk_count(const stencil_series *s, int dataset) {
    const int64_t *chunks = s->array[dataset].chunks;
    return s->at.count * chunks[0] * chunks[1] * chunks[2];
}
static int64_t leaf_count(const stencil_series *s, int dataset) {
    return (chunk_count(s, dataset) + MOST - 1) / MOST;
}

/* Tells whether a node of an index stands at a place behind what HDF5 made. */
static bool is_node(const stencil_series *s, uint64_t at) {
    char sign[4];
    return at >= s->at.end && at < s->at.used && get(s, at, sign, 4) && memcmp(sign, "TREE", 4) == 0;
}

/* Finds the node of a dataset's index that has its last chunk. */
static bool find_leaf(stencil_series *s, int dataset) {
    const node root = {dataset, *stencil_series_root(&s->at, dataset)};
    uint64_t *leaf = &s->array[dataset].leaf;
    return chunk_count(s, dataset) <= (int64_t)MOST * MOST && is_node(s, root.at) &&
           get(s, address_at(s, root, leaf_count(s, dataset) - 1), leaf, sizeof *leaf) && is_node(s, *leaf);
}

/* Takes the entries of later chunks out of a dataset's index. */
static bool cut_index(stencil_series *s, int dataset) {
    const int64_t leaves = leaf_count(s, dataset), rest = chunk_count(s, dataset) - (leaves - 1) * MOST;
    return put_used(s, *stencil_series_root(&s->at, dataset), leaves) == STENCIL_OK &&
           put_used(s, s->array[dataset].leaf, rest) == STENCIL_OK;
}

bool stencil_index_restore(stencil_series *s) {
    stencil_series_places *at = &s->at;
    struct stat file;
    uint64_t step = 0;
    bool sound =
        at->count > 0 && at->count <= at->capacity && fstat(s->fd, &file) == 0 && S_ISREG(file.st_mode) &&
        at->used <= (uint64_t)file.st_size && at->step + 8 * (uint64_t)at->capacity <= at->end &&
        at->time + 8 * (uint64_t)at->capacity <= at->end && at->vtk + 8 * (uint64_t)at->capacity <= at->end &&
        at->vtk_extent < at->end && at->extent[0] < at->end && has_counts(s);
    for (int d = 0; d < STENCIL_SERIES_DATASETS && sound; d++)
        sound = !stencil_series_has(s, d) || find_leaf(s, d);
    if (!sound || !get(s, at->step + 8 * (uint64_t)(at->count - 1), &step, 8))
        return false;
    s->last_step = (int64_t)step;
    /* Readers lose the frames first, then the index, then the file. */
    sound = put_vtk_count(s, at->count) == STENCIL_OK && stencil_index_show(s, at->count) == STENCIL_OK;
    for (int d = 0; d < STENCIL_SERIES_DATASETS && sound; d++)
        sound = !stencil_series_has(s, d) || cut_index(s, d);
    return sound && stencil_series_put(s, FILE_END_AT, &at->used, sizeof at->used) == STENCIL_OK &&
           ftruncate(s->fd, (off_t)at->used) == 0;
}

int64_t stencil_index_pack(void *to, int64_t most, const void *from, int64_t bytes) {
    uLongf packed = (uLongf)most;
    return compress2(to, &packed, from, (uLong)bytes, 1) == Z_OK ? (int64_t)packed : 0;
}

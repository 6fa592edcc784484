#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* O_CLOEXEC with open(), fdatasync, sync_file_range */
#endif

#include "inputs/series.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "inputs/file.h"
#include "inputs/image.h"
#include "inputs/result_names.h"
#include "inputs/series_index.h"
#include "solver/problem/change.h"

/* Bytes of rows that are read and written at once, and of a chunk, which readers unpack as a whole. */
#define ROWS_BYTES   (INT64_C(16) << 20)
#define PACKED_BYTES (INT64_C(8) << 20)
#define PLAIN_BYTES  (INT64_C(1) << 30)
/* Entries of the lists of steps and times: as many as are not worth a thought, and as the index has. */
#define CAPACITY_LEAST INT64_C(65536)
#define CAPACITY_MOST  ((int64_t)STENCIL_SERIES_NODE_CHUNKS * STENCIL_SERIES_NODE_CHUNKS)

static int64_t cell_bytes(const stencil_series_array *array) {
    return (int64_t)stencil_precision_bytes(array->precision);
}

static int64_t chunk_bytes(const stencil_series_array *array) {
    return array->chunk[0] * array->chunk[1] * array->chunk[2] * cell_bytes(array);
}

stencil_status stencil_series_name(const char *output, char name[PATH_MAX]) {
    CHECK(stencil_marked_name(output, STENCIL_MARK_SERIES, name), USAGE,
          "'%s' is too long for the name of its series", output);
    return STENCIL_OK;
}

/* Sets the chunks that a frame of an array has: split along slow axes as often as needed. */
static void set_chunks(const stencil_series *s, stencil_series_array *array) {
    int64_t left = (s->at.compress ? PACKED_BYTES : PLAIN_BYTES) / cell_bytes(array);
    for (int axis = STENCIL_X; axis >= 0; axis--) {
        array->chunk[axis] = s->at.n[axis];
        if (axis < STENCIL_X && array->chunk[axis] > left)
            array->chunk[axis] = left > 0 ? left : 1;
        left /= array->chunk[axis];
        array->chunks[axis] = (s->at.n[axis] + array->chunk[axis] - 1) / array->chunk[axis];
    }
}

/* Sets which cells are saved, of which arrays. */
static stencil_status set_form(stencil_series *s, const stencil_problem *problem,
                               const stencil_series_form *form) {
    static const char *const names[] = {"z", "y", "x"};
    s->problem = problem;
    s->at.compress = form->compress;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int64_t all = problem->extent[axis], end = form->end[axis] > 0 ? form->end[axis] : all;
        s->at.first[axis] = form->first[axis];
        s->at.stride[axis] = form->stride[axis] > 0 ? form->stride[axis] : 1;
        CHECK(form->first[axis] >= 0 && form->first[axis] < end && end <= all, USAGE,
              "--save-region: %s has the cells 0 to %" PRId64 ": a region from %" PRId64 " to before %" PRId64
              " is not in them",
              names[axis], all - 1, form->first[axis], end);
        s->at.n[axis] = (end - form->first[axis] + s->at.stride[axis] - 1) / s->at.stride[axis];
    }
    s->arrays = form->residual ? STENCIL_SERIES_ARRAYS : 1;
    int axis[STENCIL_AXES];
    const int axes = stencil_image_axes(s->at.n, axis);
    s->flat = axes < problem->rank;
    for (int a = 0; a < s->arrays; a++) {
        stencil_series_array *array = &s->array[a], *flat = &s->array[STENCIL_SERIES_ARRAYS + a];
        array->precision = a == STENCIL_SERIES_U ? problem->precision : STENCIL_FLOAT64;
        array->axes = problem->rank;
        for (int k = 0; k < array->axes; k++)
            array->axis[k] = STENCIL_AXES - problem->rank + k;
        set_chunks(s, array);
        *flat = *array;
        flat->axes = axes;
        memcpy(flat->axis, axis, sizeof axis);
    }
    return STENCIL_OK;
}

static stencil_status allocate(stencil_series *s) {
    const stencil_series_array *widest = &s->array[s->arrays - 1];
    const int64_t row = s->at.stride[STENCIL_X] * s->at.n[STENCIL_X] * cell_bytes(widest);
    int64_t chunk = 0;
    for (int a = 0; a < s->arrays; a++)
        chunk = chunk_bytes(&s->array[a]) > chunk ? chunk_bytes(&s->array[a]) : chunk;
    TRY(stencil_memory_alloc(&s->buffer, row > ROWS_BYTES ? row : ROWS_BYTES, "rows of a series"));
    if (s->at.compress)
        TRY(stencil_memory_alloc(&s->packed, 2 * chunk + chunk / 1000 + 64, "packed frames of a series"));
    return STENCIL_OK;
}

stencil_status stencil_series_create(stencil_series *s, const char *path, bool replace,
                                     const stencil_problem *problem, const stencil_series_form *form,
                                     int64_t most) {
    enum { PADS = 8, PAD = 512 };
    *s = (stencil_series){.fd = -1, .last_step = -1};
    TRY(set_form(s, problem, form));
    TRY(allocate(s));
    s->at.capacity = most > CAPACITY_LEAST ? stencil_smaller(most, CAPACITY_MOST) : CAPACITY_LEAST;
    TRY(stencil_sink_open(&s->sink, path, replace, NULL, STENCIL_SINK_PLAIN));
    s->fd = s->sink.fd;
    uint64_t index[STENCIL_SERIES_DATASETS];
    bool fits = false;
    for (int i = 0; i < PADS && !fits; i++)
        TRY(stencil_series_lay_out(s, i * PAD, index, &fits));
    CHECK(fits, INTERNAL, "'%s': HDF5 has made it in an unknown form", path);
    return stencil_index_create(s, index);
}

/* An array's frame on its way: the reader of its cells. */
typedef struct frame {
    const stencil_series_array *array;
    int number; /* of the array */
    stencil_reader from;
} frame;

/* Reads `count` saved rows from (z, y) on into the buffer, without gaps. */
static stencil_status read_rows(stencil_series *s, const frame *f, int64_t z, int64_t y, int64_t count) {
    const stencil_mesh mesh = stencil_problem_mesh(s->problem, 1);
    const stencil_box all = stencil_mesh_array(&mesh);
    const int64_t *stride = s->at.stride, bytes = cell_bytes(f->array);
    const int64_t at[3] = {z, y, 0};
    stencil_box box = {.n = {1, (count - 1) * stride[1] + 1, (s->at.n[2] - 1) * stride[2] + 1}};
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        box.first[axis] = all.first[axis] + s->at.first[axis] + at[axis] * stride[axis];
    const stencil_cells cells = stencil_cells_dense(f->array->precision, s->buffer, &box);
    TRY(f->from.read(f->from.context, STENCIL_ARRAY_U, &box, &cells));
    if (stride[1] == 1 && stride[2] == 1)
        return STENCIL_OK;
    char *to = s->buffer;
    for (int64_t i = 0; i < count; i++)
        for (int64_t k = 0; k < s->at.n[2]; k++, to += bytes)
            memmove(to, (const char *)s->buffer + (i * stride[1] * box.n[2] + k * stride[2]) * bytes,
                    (size_t)bytes);
    return STENCIL_OK;
}

/* Writes the rows of a chunk, (z, y) of which is its first cell, to the file at `to`, or into memory. */
static stencil_status write_rows(stencil_series *s, const frame *f, int64_t z, int64_t y, uint64_t to,
                                 char *memory) {
    const int64_t *chunk = f->array->chunk, row = s->at.n[STENCIL_X] * cell_bytes(f->array),
                  read = row * s->at.stride[STENCIL_Y] * s->at.stride[STENCIL_X];
    int64_t most = ROWS_BYTES / read;
    most = most > 1 ? most : 1;
    for (int64_t k = 0; k < chunk[0] && z + k < s->at.n[0]; k++)
        for (int64_t i = 0, some; i < chunk[1] && y + i < s->at.n[1]; i += some) {
            some = stencil_smaller(most, stencil_smaller(chunk[1], s->at.n[1] - y) - i);
            const int64_t at = (k * chunk[1] + i) * row;
            TRY(read_rows(s, f, z + k, y + i, some));
            if (memory != NULL)
                memcpy(memory + at, s->buffer, (size_t)(some * row));
            else
                TRY(stencil_series_put(s, to + (uint64_t)at, s->buffer, some * row));
        }
    return STENCIL_OK;
}

/* Writes a chunk behind all others and enters it into the index. */
static stencil_status write_chunk(stencil_series *s, const frame *f, int64_t number, int64_t z, int64_t y) {
    const int64_t bytes = chunk_bytes(f->array);
    const uint64_t to = s->at.used;
    int64_t taken = bytes;
    if (s->at.compress) {
        char *plain = s->packed, *packed = plain + bytes;
        memset(plain, 0, (size_t)bytes);
        TRY(write_rows(s, f, z, y, 0, plain));
        taken = stencil_index_pack(packed, bytes + bytes / 1000 + 64, plain, bytes);
        CHECK(taken > 0, INTERNAL, "'%s': cannot pack a chunk", s->sink.path);
        TRY(stencil_series_put(s, to, packed, taken));
    } else {
        TRY(write_rows(s, f, z, y, to, NULL));
    }
    s->at.used = (to + (uint64_t)taken + 7) / 8 * 8;
    const int64_t offset[4] = {s->at.count, z, y, 0};
    TRY(stencil_index_add(s, f->number, number, offset, to, taken));
    return s->flat ? stencil_index_add(s, STENCIL_SERIES_ARRAYS + f->number, number, offset, to, taken)
                   : STENCIL_OK;
}

static stencil_status write_frame(stencil_series *s, const frame *f) {
    const stencil_series_array *array = f->array;
    const int64_t chunks = array->chunks[0] * array->chunks[1] * array->chunks[2];
    CHECK((s->at.count + 1) * chunks <= CAPACITY_MOST && s->at.count < s->at.capacity, IO,
          "'%s' is full: it has %" PRId64 " frames; save fewer", s->sink.path, s->at.count);
    for (int64_t z = 0; z < array->chunks[0]; z++)
        for (int64_t y = 0; y < array->chunks[1]; y++)
            TRY(write_chunk(s, f, s->at.count * chunks + z * array->chunks[1] + y, z * array->chunk[0],
                            y * array->chunk[1]));
    return STENCIL_OK;
}

static stencil_status append(stencil_series *s, const stencil_reader *from, int64_t step, double time) {
    stencil_change change = {s->problem, *from, step};
    const stencil_reader reader[STENCIL_SERIES_ARRAYS] = {*from, {stencil_change_read, &change}};
    for (int a = 0; a < s->arrays; a++)
        TRY(write_frame(s, &(frame){&s->array[a], a, reader[a]}));
    TRY(stencil_series_put(s, s->at.step + 8 * (uint64_t)s->at.count, &step, 8));
    TRY(stencil_series_put(s, s->at.time + 8 * (uint64_t)s->at.count, &time, 8));
    TRY(stencil_series_put(s, s->at.vtk + 8 * (uint64_t)s->at.count, &time, 8));
    stencil_series_settle(s);
    return stencil_index_show(s, s->at.count + 1);
}

/* Has the disk begin with a frame, and waits until it has the one before: else the system keeps frames in
 * memory for half a minute, and the end of the run waits for all of them. What cannot be begun is written at
 * the end. */
static void write_back(stencil_series *s, uint64_t from) {
    enum { LEAST_BYTES = 1 << 20 };
    if (s->behind == 0)
        s->behind = from;
    if (s->at.used - s->behind < LEAST_BYTES)
        return; /* a few frames together */
    (void)sync_file_range(s->fd, (off64_t)from, (off64_t)(s->at.used - from), SYNC_FILE_RANGE_WRITE);
    if (s->behind < from)
        (void)sync_file_range(s->fd, (off64_t)s->behind, (off64_t)(from - s->behind),
                              SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                                  SYNC_FILE_RANGE_WAIT_AFTER);
    s->behind = from;
}

stencil_status stencil_series_append(stencil_series *s, const stencil_reader *from, int64_t step,
                                     double time) {
    const double start_s = stencil_clock_s();
    const uint64_t begin = s->at.used;
    TRY(append(s, from, step, time));
    write_back(s, begin);
    s->last_step = step;
    if (!s->named)
        TRY(stencil_sink_commit(&s->sink));
    s->named = true;
    s->write_s = stencil_clock_s() - start_s;
    return STENCIL_OK;
}

stencil_status stencil_series_sync(const stencil_series *s) {
    CHECK(fdatasync(s->fd) == 0, IO, "cannot write '%s': %s", s->sink.path, strerror(errno));
    return STENCIL_OK;
}

/* The text of the places is their numbers in hexadecimal, in the order of the structure, without those of
 * flat datasets where there are none. */
enum {
    PLACES = sizeof(stencil_series_places) / sizeof(uint64_t),
    PLAIN_PLACES = offsetof(stencil_series_places, flat_extent) / sizeof(uint64_t)
};
_Static_assert(PLACES * 17 < STENCIL_SERIES_TEXT, "the text has room for all places");

void stencil_series_text(const stencil_series *s, char text[STENCIL_SERIES_TEXT]) {
    uint64_t place[PLACES];
    int length = 0;
    const int count = s->flat ? PLACES : PLAIN_PLACES;
    memcpy(place, &s->at, sizeof place);
    text[0] = '\0';
    for (int i = 0; i < count && s->named; i++)
        length += snprintf(text + length, STENCIL_SERIES_TEXT - (size_t)length, "%" PRIx64 "%s", place[i],
                           i + 1 < count ? " " : "");
}

bool stencil_series_read_places(const char *text, stencil_series_places *p) {
    uint64_t place[PLACES] = {0};
    int count = 0;
    for (bool more = true; more && count < PLACES; count++) {
        char *end;
        place[count] = strtoull(text, &end, 16);
        if (end == text || (*end != ' ' && *end != '\0'))
            return false;
        more = *end == ' ';
        text = end + more;
    }
    memcpy(p, place, sizeof place);
    return *text == '\0' && (count == PLACES || count == PLAIN_PLACES);
}

bool stencil_series_gap(const char **text, int64_t gap[2]) {
    char *end;
    gap[0] = strtoll(*text, &end, 10);
    if (end == *text || *end != ':' || gap[0] < 0)
        return false;
    *text = end + 1;
    gap[1] = strtoll(*text, &end, 10);
    gap[1] = end == *text ? -1 : gap[1];
    *text = end + (*end == ' ');
    return true;
}

/* Tells whether frames have the same cells in the same form. */
static bool has_form(const stencil_series_places *a, const stencil_series_places *b) {
    return memcmp(a->first, b->first, sizeof a->first) == 0 && memcmp(a->n, b->n, sizeof a->n) == 0 &&
           memcmp(a->stride, b->stride, sizeof a->stride) == 0 && a->compress == b->compress;
}

stencil_status stencil_series_resume(stencil_series *s, const char *path, const char *places,
                                     const stencil_problem *problem, const stencil_series_form *form) {
    *s = (stencil_series){.fd = -1, .last_step = -1};
    s->sink.path = path;
    s->sink.fd = -1;
    TRY(set_form(s, problem, form));
    TRY(allocate(s));
    s->fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    CHECK(s->fd >= 0, NO_INPUT, "the series of the run, '%s', cannot be opened: %s", path, strerror(errno));
    s->sink.fd = s->fd;
    const stencil_series_places asked = s->at;
    const bool read = stencil_series_read_places(places, &s->at);
    CHECK(!read || has_form(&s->at, &asked), USAGE,
          "'%s' has frames of other cells, or in another form: leave out --save-region, --save-stride and "
          "--compress",
          path);
    s->flat = s->flat && s->at.flat_extent[0] != 0; /* older series have none */
    CHECK(read && stencil_index_restore(s), BAD_DATA, "'%s' is not the series of this run, or is damaged",
          path);
    s->named = true;
    return STENCIL_OK;
}

void stencil_series_close(stencil_series *s) {
    if (s->named && s->fd >= 0 && s->at.count > 0) {
        stencil_index_settle_all(s);
        stencil_index_trim(s);
    }
    if (s->sink.path != NULL)
        stencil_sink_close(&s->sink);
    free(s->buffer);
    free(s->packed);
    *s = (stencil_series){.fd = -1};
}

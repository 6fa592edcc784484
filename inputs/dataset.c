#define _DEFAULT_SOURCE /* realpath */

#include "inputs/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/words.h"
#include "inputs/chunks.h"
#include "inputs/filters.h"
#include "inputs/reading.h"

enum {
    NAME_CHARS = 4096,
    DEPTH_MAX = 8, /* most levels of nested virtual datasets */
    GAP_MAX = 100,
    SOURCES_MAX = 10000 /* most sources of nested virtual datasets, each counted as often as named */
};

/* A dataset in a file. It is not kept open, since HDF5 keeps the first view of an open virtual dataset. */
typedef struct stored {
    hid_t file;
    const char *path, *name; /* path of the file, name of the dataset */
    hid_t create, access;    /* HDF5 properties of creation and of access */
    hid_t space;             /* the dataset's dataspace */
    hsize_t bytes;           /* bytes of the dataset's values */
    int depth;
    int64_t *unwritten; /* counter of cells that were never written */
    int64_t *sources;   /* counter of sources that may still be checked */
    bool chunks;        /* whether chunks of sources are unpacked, to find short chunks */
} stored;

/* Gets the directory in which HDF5 looks for other files, from the environment, with a slash; "": none. */
static void prefix_of(const stored *s, ssize_t (*get)(hid_t, char *, size_t), char prefix[NAME_CHARS]) {
    const ssize_t length = get(s->access, prefix, NAME_CHARS - 1);
    snprintf(prefix + (length > 0 ? length : 0), 2, "%s", length > 0 ? "/" : "");
}

static stencil_status check_stored(hid_t file, const char *path, const char *name, const stored *of,
                                   int64_t *unwritten, int64_t *sources);

/* A source of a virtual dataset: its file, its name and the selection that is mapped. */
typedef struct source {
    const char *file, *name;
    hid_t taken; /* selection of the source that is mapped */
} source;

/* Counts mapped cells of a source that were never written. A partly mapped source that is itself virtual
 * counts only if all of it was never written. `below`: unwritten cells of the whole source. */
static void count_unwritten(const stored *s, const source *from, hid_t file, int64_t below) {
    STENCIL_ITEM dataset = stencil_item_dataset(file, from->name);
    const hssize_t all = dataset.count, taken = H5Sget_select_npoints(from->taken);
    const bool whole = taken < 0 || (hsize_t)taken == H5S_UNLIMITED || taken == all;
    if (below > 0 && (whole || below == all))
        *s->unwritten += whole ? below : taken;
    else if (below > 0)
        *s->unwritten += stencil_cells_unwritten(dataset.id, from->taken);
}

/* Tells whether the file `path` has the source, and checks it; *status is the check's error. */
static bool holds(const stored *s, const char *path, const source *from, stencil_status *status) {
    hid_t opened = -1;
    int64_t below = 0;
    STENCIL_HANDLE file = stencil_h5_open(path, &opened) != STENCIL_OK ? -1 : opened;
    if (file < 0 || H5Oexists_by_name(file, from->name, H5P_DEFAULT) <= 0)
        return false;
    *status = check_stored(file, path, from->name, s, &below, s->sources);
    if (*status == STENCIL_OK)
        count_unwritten(s, from, file, below);
    return true;
}

/* Looks for a source of a virtual dataset in the directories that HDF5 searches. */
static stencil_status check_source(const stored *s, const source *from) {
    const char *file = from->file;
    char place[4][NAME_CHARS], candidate[2 * NAME_CHARS], *real = realpath(s->path, NULL);
    const char *given = strcmp(file, ".") == 0 ? s->path : file;
    /* HDF5 also tries the last part of an absolute path. */
    const char *near = file[0] == '/' ? stencil_path_last(file) : file;
    const char *const beside[] = {s->path, real != NULL ? real : s->path};
    place[0][0] = '\0';
    prefix_of(s, H5Pget_virtual_prefix, place[1]);
    for (int i = 0; i < 2; i++)
        snprintf(place[2 + i], NAME_CHARS, "%.*s", (int)(stencil_path_last(beside[i]) - beside[i]),
                 beside[i]);
    free(real);
    stencil_status status = STENCIL_OK;
    CHECK(s->depth == 0 || (*s->sources)-- > 0, BAD_DATA,
          "'%s': the virtual datasets that %s is made of have more than %d sources: copy its values into one "
          "that "
          "is not virtual",
          s->path, s->name, SOURCES_MAX);
    for (int i = 0; i < 4; i++) {
        const int length = snprintf(candidate, sizeof candidate, "%s%s", place[i], i == 0 ? given : near);
        if (length < (int)sizeof candidate && holds(s, candidate, from, &status))
            return status;
    }
    FAIL(BAD_DATA,
         "'%s': %s is a virtual dataset, and its source %s in '%s' is missing or cannot be read: bring that "
         "file back",
         s->path, s->name, from->name, file);
}

/* Returns the number of cells of a virtual dataset when up to `gap` consecutive numbered sources may be
 * missing. */
static hssize_t cells_with_gaps(const stored *s, hsize_t gap) {
    STENCIL_HANDLE access = H5Pcreate(H5P_DATASET_ACCESS);
    const bool set = access >= 0 && H5Pset_virtual_printf_gap(access, gap) >= 0;
    STENCIL_HANDLE dataset = set ? H5Dopen2(s->file, s->name, access) : -1;
    STENCIL_HANDLE space = dataset < 0 ? -1 : H5Dget_space(dataset);
    return space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
}

/* Checks all sources of a virtual dataset. A name with a % stands for numbered sources, as many as exist,
 * with no number missing in between. */
static stencil_status check_virtual(const stored *s) {
    size_t count = 0;
    hssize_t made = 0;
    CHECK(H5Pget_virtual_count(s->create, &count) >= 0, BAD_DATA, "'%s' is damaged: %s has no sources (%s)",
          s->path, s->name, stencil_h5_reason());
    for (size_t i = 0; i < count; i++) {
        char file[NAME_CHARS], name[NAME_CHARS];
        CHECK(H5Pget_virtual_filename(s->create, i, file, sizeof file) >= 0 &&
                  H5Pget_virtual_dsetname(s->create, i, name, sizeof name) >= 0,
              BAD_DATA, "'%s' is damaged: %s has a source without a name (%s)", s->path, s->name,
              stencil_h5_reason());
        STENCIL_HANDLE taken = H5Pget_virtual_srcspace(s->create, i);
        if (strchr(file, '%') == NULL && strchr(name, '%') == NULL) {
            TRY(check_source(s, &(source){file, name, taken}));
            continue;
        }
        STENCIL_HANDLE whole = H5Pget_virtual_vspace(s->create, i); /* its extent at creation */
        const hssize_t had = whole < 0 ? 0 : H5Sget_simple_extent_npoints(whole);
        made = had > made ? had : made;
    }
    const hssize_t cells = cells_with_gaps(s, 0);
    CHECK(cells == cells_with_gaps(s, GAP_MAX) && cells >= made, BAD_DATA,
          "'%s': %s is a virtual dataset, and some of its numbered sources are missing: bring them back",
          s->path, s->name);
    *s->unwritten += stencil_cells_unmapped(s->create, s->space);
    return STENCIL_OK;
}

/* Checks the sizes of external files, since HDF5 reads zeros beyond the end of one. */
static stencil_status check_external(const stored *s, int count) {
    char prefix[NAME_CHARS], file[NAME_CHARS], candidate[2 * NAME_CHARS];
    hsize_t left = s->bytes;
    prefix_of(s, H5Pget_efile_prefix, prefix);
    for (int i = 0; i < count && left > 0; i++) {
        off_t offset = 0;
        hsize_t size = 0;
        struct stat found;
        CHECK(H5Pget_external(s->create, (unsigned)i, sizeof file, file, &offset, &size) >= 0, BAD_DATA,
              "'%s' is damaged: %s has a file without a name (%s)", s->path, s->name, stencil_h5_reason());
        snprintf(candidate, sizeof candidate, "%s%s", file[0] == '/' ? "" : prefix, file);
        const hsize_t part = size < left ? size : left; /* H5F_UNLIMITED exceeds every other size */
        CHECK(stat(candidate, &found) == 0 && S_ISREG(found.st_mode), BAD_DATA,
              "'%s': the values of %s are in the file '%s', which is missing: bring it back", s->path,
              s->name, candidate);
        CHECK((hsize_t)found.st_size >= (hsize_t)offset + part, BAD_DATA,
              "'%s': the values of %s are in the file '%s', which is too short: bring it back", s->path,
              s->name, candidate);
        left -= part;
    }
    return STENCIL_OK;
}

/* Checks that a dataset can be read whole. `of`: the virtual dataset that has this dataset as a source; for a
 * dataset that is no source, depth -1. *unwritten has to be 0 before. *sources is decremented. */
static stencil_status check_stored(hid_t file, const char *path, const char *name, const stored *of,
                                   int64_t *unwritten, int64_t *sources) {
    const int depth = of->depth + 1;
    const hid_t object = H5Oopen(file, name, H5P_DEFAULT);
    const bool is_dataset = object >= 0 && H5Iget_type(object) == H5I_DATASET;
    STENCIL_HANDLE create = is_dataset ? H5Dget_create_plist(object) : -1;
    STENCIL_HANDLE access = is_dataset ? H5Dget_access_plist(object) : -1;
    const hsize_t bytes = is_dataset ? (hsize_t)stencil_dataset_bytes(object) : 0;
    STENCIL_HANDLE space = is_dataset ? H5Dget_space(object) : -1;
    const stored s = {file, path, name, create, access, space, bytes, depth, unwritten, sources, of->chunks};
    const H5D_layout_t layout = create < 0 ? H5D_LAYOUT_ERROR : H5Pget_layout(create);
    const stencil_status filters =
        is_dataset ? stencil_h5_check_filters(object, path, name, false) : STENCIL_OK;
    if (is_dataset && layout != H5D_VIRTUAL)
        *unwritten = stencil_cells_unwritten(object, 0);
    const char *fault = depth > 0 && s.chunks && is_dataset ? stencil_chunks_check(object) : NULL;
    stencil_handle_close(&object);
    TRY(filters);
    CHECK(fault == NULL, BAD_DATA, "'%s': cannot read %s (%s): it is damaged", path, name, fault);
    CHECK(depth < DEPTH_MAX, BAD_DATA, "'%s': the sources of %s never end", path, name);
    return layout == H5D_VIRTUAL      ? check_virtual(&s)
           : layout == H5D_CONTIGUOUS ? check_external(&s, H5Pget_external_count(create))
                                      : STENCIL_OK;
}

/* Gets type and shape of an open dataset. */
static stencil_status describe(stencil_dataset *d, const char *advice, bool truths) {
    STENCIL_ITEM item = stencil_item_of(d->id);
    const bool truth = truths && item.type_class == H5T_ENUM;
    CHECK(item.type >= 0, BAD_DATA, "'%s' is damaged: %s has no type (%s)", d->path, d->name,
          stencil_h5_reason());
    /* Of numbers that say which row a cell has, .astype(bool) would keep two. */
    const bool rows = strcmp(d->name, stencil_source_names[STENCIL_DATASET_CLASS]) == 0;
    d->floating = item.type_class == H5T_FLOAT;
    d->element_bytes = H5Tget_size(item.type);
    CHECK((d->floating && !truths) || truth || item.type_class == H5T_INTEGER, BAD_DATA,
          "'%s': %s holds %s; %s", d->path, d->name, stencil_h5_class_text(item.type_class),
          truths           ? (rows ? "give integers, the numbers of rows (in NumPy: .astype(int))"
                                   : "give truth values or integers (in NumPy: .astype(bool))")
          : advice != NULL ? advice
                           : "give floating-point numbers or integers");
    CHECK(truth || stencil_h5_is_sound(item.type), BAD_DATA, "'%s' is damaged: %s has a type that cannot be",
          d->path, d->name);
    snprintf(d->is.type, sizeof d->is.type, "%s%zu",
             d->floating                              ? "float"
             : H5Tget_sign(item.type) == H5T_SGN_NONE ? "uint"
                                                      : "int",
             8 * d->element_bytes);
    hsize_t size[H5S_MAX_RANK];
    d->is.rank = item.space < 0 ? -1 : H5Sget_simple_extent_dims(item.space, size, NULL);
    CHECK(d->is.rank >= 0, BAD_DATA, "'%s' is damaged: %s has no shape (%s)", d->path, d->name,
          stencil_h5_reason());
    CHECK(H5Sget_simple_extent_type(item.space) != H5S_NULL, BAD_DATA, "'%s': %s is empty; %s", d->path,
          d->name, advice != NULL ? advice : "give [ny][nx] or [nz][ny][nx]");
    int64_t bytes = sizeof(double);
    d->is.count = 1;
    for (int axis = 0; axis < d->is.rank; axis++) {
        d->is.extent[axis] = (int64_t)size[axis];
        CHECK(size[axis] <= INT64_MAX && stencil_multiply(bytes, d->is.extent[axis], &bytes), BAD_DATA,
              "'%s': the dimensions of %s multiply to more cells than can be counted", d->path, d->name);
        d->is.count *= d->is.extent[axis];
    }
    return STENCIL_OK;
}

stencil_status stencil_dataset_check_sources(hid_t file, const char *path, const char *name) {
    int64_t sources = SOURCES_MAX, unwritten = 0;
    return check_stored(file, path, name, &(stored){.depth = -1, .chunks = true}, &unwritten, &sources);
}

/* Finds the file position of a contiguous dataset in native format; offset 0: it is stored otherwise. */
static stencil_place place_of(const stencil_dataset *dataset, hid_t file) {
    stencil_place place = {0, STENCIL_FLOAT64};
    STENCIL_HANDLE type = H5Dget_type(dataset->id);
    if (type < 0 || stencil_dataset_layout(dataset->id) != H5D_CONTIGUOUS ||
        stencil_dataset_elsewhere(dataset->id) || !stencil_file_holds(file, dataset->name))
        return place;
    const haddr_t offset = H5Dget_offset(dataset->id);
    const bool single = H5Tequal(type, H5T_NATIVE_FLOAT) > 0;
    if (offset == HADDR_UNDEF || offset > INT64_MAX || !(single || H5Tequal(type, H5T_NATIVE_DOUBLE) > 0))
        return place;
    return (stencil_place){(int64_t)offset, single ? STENCIL_FLOAT32 : STENCIL_FLOAT64};
}

static stencil_status open_dataset(stencil_dataset *dataset, hid_t file, const char *path, const char *name,
                                   const char *advice, bool truths) {
    H5L_info_t info;
    const htri_t exists = H5Lexists(file, name, H5P_DEFAULT);
    *dataset = (stencil_dataset){.path = path, .name = name};
    stencil_reading_at("%s", name);
    if (exists < 0 && advice == NULL)
        TRY(stencil_h5_check_version(path, name));
    /* A name given with `advice` comes from a user: its groups may be missing, which HDF5 takes for an error.
     */
    CHECK(exists >= 0 || advice != NULL, BAD_DATA, "'%s' is damaged: cannot look for %s (%s)", path, name,
          stencil_h5_reason());
    if (exists <= 0)
        return STENCIL_OK;
    CHECK(H5Lget_info(file, name, &info, H5P_DEFAULT) < 0 || info.type == H5L_TYPE_HARD ||
              H5Oexists_by_name(file, name, H5P_DEFAULT) > 0,
          BAD_DATA, "'%s': %s is a link that leads nowhere; %s", path, name,
          advice != NULL ? advice : "mend the link, or give the values as a dataset");
    int64_t sources = SOURCES_MAX;
    TRY(check_stored(file, path, name, &(stored){.depth = -1}, &dataset->unwritten, &sources));
    dataset->id = H5Oopen(file, name, H5P_DEFAULT);
    if (dataset->id < 0)
        TRY(stencil_h5_check_version(path, name));
    CHECK(dataset->id >= 0, BAD_DATA, "'%s': cannot open %s (%s)", path, name, stencil_h5_reason());
    const H5I_type_t is = H5Iget_type(dataset->id);
    CHECK(is == H5I_DATASET, BAD_DATA, "'%s': %s is a %s; %s", path, name,
          is == H5I_GROUP ? "group" : "named type", advice != NULL ? advice : "give a dataset");
    stencil_handle_close(&dataset->id);
    dataset->id = stencil_chunks_dataset(file, name, H5P_DEFAULT);
    CHECK(dataset->id >= 0, BAD_DATA, "'%s': cannot open %s (%s)", path, name, stencil_h5_reason());
    dataset->is.exists = true;
    TRY(describe(dataset, advice, truths));
    dataset->is.chunk_bytes = stencil_dataset_chunk_bytes(dataset->id);
    dataset->is.place = place_of(dataset, file);
    dataset->chunks = dataset->is.rank > 0 ? stencil_chunks_open(dataset->id) : NULL;
    return STENCIL_OK;
}

stencil_status stencil_dataset_open(stencil_dataset *dataset, hid_t file, const char *path, const char *name,
                                    const char *advice) {
    return open_dataset(dataset, file, path, name, advice, false);
}

stencil_status stencil_dataset_open_truths(stencil_dataset *dataset, hid_t file, const char *path,
                                           const char *name) {
    return open_dataset(dataset, file, path, name, NULL, true);
}

static stencil_status read_chunks(const stencil_dataset *d, const hsize_t *at, const hsize_t *n,
                                  hid_t memory_type, void *values) {
    const int skip = STENCIL_AXES - d->is.rank;
    stencil_box box = {.n = {1, 1, 1}};
    for (int axis = 0; axis < d->is.rank; axis++) {
        box.first[axis + skip] = (int64_t)at[axis];
        box.n[axis + skip] = (int64_t)n[axis];
    }
    const stencil_cells to = stencil_cells_dense(STENCIL_FLOAT64, values, &box);
    const char *fault = stencil_chunks_read(d->chunks, d->id, &box, memory_type, &to);
    CHECK(fault != stencil_filters_no_memory, NO_MEMORY, "no memory to unpack a chunk of %s of '%s'", d->name,
          d->path);
    CHECK(fault == NULL, BAD_DATA, "'%s': %s cannot be read (%s): it is damaged", d->path, d->name, fault);
    return STENCIL_OK;
}

/* The block read has whole inner axes, a range along the next axis, and one index on each outer axis. */
stencil_status stencil_dataset_read(const stencil_dataset *dataset, int64_t first, int64_t most,
                                    hid_t memory_type, void *values, int64_t *count) {
    hsize_t at[H5S_MAX_RANK], n[H5S_MAX_RANK];
    bool whole = true;
    *count = 1;
    for (int axis = dataset->is.rank - 1; axis >= 0; axis--) {
        const int64_t extent = dataset->is.extent[axis], index = first % extent, left = extent - index,
                      room = most / *count;
        const int64_t take = !whole || room < 1 ? 1 : left < room ? left : room;
        at[axis] = (hsize_t)index;
        n[axis] = (hsize_t)take;
        whole = whole && take == extent;
        first /= extent;
        *count *= take;
    }
    if (dataset->chunks != NULL)
        return read_chunks(dataset, at, n, memory_type, values);
    STENCIL_HANDLE space = H5Dget_space(dataset->id);
    STENCIL_HANDLE memory =
        dataset->is.rank > 0 ? H5Screate_simple(dataset->is.rank, n, NULL) : H5Scopy(space);
    if (dataset->is.rank > 0)
        H5Sselect_hyperslab(space, H5S_SELECT_SET, at, NULL, n, NULL);
    if (H5Dread(dataset->id, memory_type, memory, space, H5P_DEFAULT, values) >= 0)
        return STENCIL_OK;
    TRY(stencil_h5_check_filters(dataset->id, dataset->path, dataset->name, true));
    FAIL(BAD_DATA, "'%s': %s cannot be read: it is damaged", dataset->path, dataset->name);
}

void stencil_dataset_close(stencil_dataset *dataset) {
    stencil_chunks_close(dataset->chunks);
    dataset->chunks = NULL;
    stencil_handle_close(&dataset->id);
    dataset->id = 0;
}

int64_t stencil_dataset_bytes(hid_t dataset) {
    STENCIL_ITEM item = stencil_item_of(dataset);
    int64_t bytes = 0;
    if (item.count > 0 && !stencil_multiply((int64_t)item.count, (int64_t)H5Tget_size(item.type), &bytes))
        bytes = INT64_MAX;
    return bytes;
}

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/file.h"
#include "kernels/classes.h"
#include "solver/problem/digest.h"

/* An attribute of the root group that describes a problem, with all that is needed to read and write it. */
typedef struct row {
    stencil_attribute is;
    size_t at;            /* offset of the value in the spec */
    size_t count_at;      /* offset in the spec of a per-axis list's length; 0: no list */
    const char *new_name; /* current name of what this old name meant; never written */
    bool past;            /* whether only runs write the attribute */
} row;

#define TEXT(member)     STENCIL_ATTRIBUTE_TEXT, .chars = sizeof((stencil_spec *)NULL)->member
#define WORD(names)      STENCIL_ATTRIBUTE_WORD, .words = names
#define REAL(bound, say) STENCIL_ATTRIBUTE_REAL, .least = bound, .wanted = say
#define WHOLE(bound)     STENCIL_ATTRIBUTE_WHOLE, .least = bound
#define AT(member)       .at = offsetof(stencil_spec, member)
#define LIST(member)     AT(member), .count_at = offsetof(stencil_spec, member##_count)
#define ALL_AXES         "one for all axes or one per axis"
/* The attributes of a side. */
#define SIDE_ROWS(name, axis, side)                                                                          \
    {{"boundary_" name, WORD(stencil_wall_names)}, AT(wall[axis][side])},                                    \
        {{"flux_" name, REAL(-1, "one number")}, AT(flux[axis][side])},                                      \
        {{"exchange_" name, REAL(1, "one number > 0")}, AT(exchange[axis][side])}, {                         \
        {"ambient_" name, REAL(-1, "one number")}, AT(ambient[axis][side])                                   \
    }
static const row rows[] = {
    {{"field", TEXT(field)}, AT(field)},
    {{"stencil", TEXT(stencil), .words = stencil_shape_names}, AT(stencil)},
    {{"problem", WORD(stencil_kind_names)}, AT(kind)},
    {{"norm", WORD(stencil_norm_names)}, AT(norm)},
    {{"boundary", WORD(stencil_boundary_names), .wanted = ALL_AXES " of"}, LIST(boundary)},
    SIDE_ROWS("z-", 0, 0),
    SIDE_ROWS("z+", 0, 1),
    SIDE_ROWS("y-", 1, 0),
    SIDE_ROWS("y+", 1, 1),
    SIDE_ROWS("x-", 2, 0),
    SIDE_ROWS("x+", 2, 1),
    {{"omega", REAL(1, "one number > 0")}, AT(omega)},
    {{"accelerate", TEXT(accelerate), .wanted = "none, chebyshev or chebyshev:M"}, AT(accelerate)},
    {{"diffusivity", REAL(1, "numbers > 0, " ALL_AXES)}, LIST(diffusivity)},
    {{"dt", REAL(1, "one number > 0")}, AT(dt)},
    {{"rtol", REAL(0, "one number >= 0")}, AT(rtol)},
    {{"atol", REAL(0, "one number >= 0")}, AT(atol)},
    {{"tolerance", REAL(0, "one number >= 0")}, AT(atol), .new_name = "atol"},
    {{"spacing", REAL(1, "numbers > 0, " ALL_AXES)}, LIST(spacing)},
    {{"steps", WHOLE(0)}, AT(steps)},
    {{"time_end", REAL(-1, "one number")}, AT(time_end)},
    {{"check_every", WHOLE(1)}, AT(check_every)},
    {{"residual_first", REAL(0, "one number >= 0"), .infinite = true}, AT(residual_first), .past = true},
    {{"steps_total", WHOLE(0)}, AT(steps_total), .past = true},
    {{"plain_from", WHOLE(0)}, AT(plain_from), .past = true},
    {{"eigenvalue_least", REAL(1, "one number > 0")}, AT(eigenvalue[0]), .past = true},
    {{"eigenvalue_most", REAL(1, "one number > 0")}, AT(eigenvalue[1]), .past = true},
    {{"time", REAL(-1, "one number")}, AT(time), .past = true},
    {{"time_first", REAL(-1, "one number")}, AT(time_first), .past = true},
    {{"fingerprint", TEXT(fingerprint), .wanted = "what a run has written, or nothing"},
     AT(fingerprint),
     .past = true},
    {{"digest_u", TEXT(digest_u), .wanted = "what a run has written, or nothing"},
     AT(digest_u),
     .past = true},
    {{"digest_b", TEXT(digest_b), .wanted = "what a run has written, or nothing"},
     AT(digest_b),
     .past = true},
    {{"digest_class", TEXT(digest_class), .wanted = "what a run has written, or nothing"},
     AT(digest_class),
     .past = true},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows };

/* The most numbers in a dataset of /stencil: weights of all classes of cells. */
enum { PALETTE_MAX = STENCIL_ROWS_MAX * STENCIL_POINTS_MAX };

/* The newest version of the format that this program reads. A file states the oldest one whose readers do
 * not take it for something else: 2 where it has cells of several kinds, walls of single sides, or /q, which
 * older ones take for the user's own; 3 where it has values in time. */
enum { FORMAT_VERSION = 3 };
static const char format_prefix[] = "stencil ";
static const stencil_attribute format_attribute = {"format", STENCIL_ATTRIBUTE_TEXT, STENCIL_WORD_MAX,
                                                   .wanted = ""};

stencil_status stencil_format_read(hid_t file, const char *path, bool *foreign) {
    char text[STENCIL_WORD_MAX], *end = text;
    long version = 0;
    stencil_attribute_text(file, format_attribute.name, text, sizeof text);
    if (strncmp(text, format_prefix, sizeof format_prefix - 1) == 0)
        version = strtol(text + sizeof format_prefix - 1, &end, 10);
    *foreign = H5Aexists(file, format_attribute.name) > 0 && (version < 1 || *end != '\0');
    CHECK(
        *foreign || version <= FORMAT_VERSION, BAD_DATA,
        "'%s' has the format 'stencil %ld', made by a newer version of stencil: this one reads 'stencil %d'",
        path, version, FORMAT_VERSION);
    CHECK(*foreign || version < 2 || H5Aexists(file, "series") <= 0, BAD_DATA,
          "'%s' is a series of frames, no problem: run the result beside it, or a frame as the /u of a file",
          path);
    return STENCIL_OK;
}

/* The further arrays of a sum, and the factors of all of them. */
#define SUM_NAMES(name)                                                                                      \
    {name "_factor", STENCIL_OBJECT, false}, {name "2", STENCIL_OBJECT, false},                              \
        {name "2_factor", STENCIL_OBJECT, false}, {name "3", STENCIL_OBJECT, false},                         \
        {name "3_factor", STENCIL_OBJECT, false}, {name "4", STENCIL_OBJECT, false}, {                       \
        name "4_factor", STENCIL_OBJECT, false                                                               \
    }
static const stencil_known others[] = {
    {"format", STENCIL_ATTRIBUTE, true},
    {"b", STENCIL_OBJECT, false},
    {"f", STENCIL_OBJECT, false},
    {"q", STENCIL_OBJECT, false},
    {"fixed", STENCIL_OBJECT, false},
    {"class", STENCIL_OBJECT, false},
    {"insulated", STENCIL_OBJECT, false},
    {"k", STENCIL_OBJECT, false},
    {"stencil", STENCIL_OBJECT, false},
    SUM_NAMES("b"),
    SUM_NAMES("q"),
    {"fixed_value", STENCIL_OBJECT, false},
    SUM_NAMES("fixed_value"),
    {"residual", STENCIL_OBJECT, true},
    {"residual_step", STENCIL_OBJECT, true},
    {"provenance", STENCIL_OBJECT, true},
    {"VTKHDF", STENCIL_OBJECT, true},
    {"offsets", STENCIL_MEMBER, false},
    {"weights", STENCIL_MEMBER, false},
#define ALONG_SIDE(side)                                                                                     \
    {"flux_" side, STENCIL_OBJECT, false}, {"exchange_" side, STENCIL_OBJECT, false}, {                      \
        "ambient_" side, STENCIL_OBJECT, false                                                               \
    }
    ALONG_SIDE("z-"),
    ALONG_SIDE("z+"),
    ALONG_SIDE("y-"),
    ALONG_SIDE("y+"),
    ALONG_SIDE("x-"),
    ALONG_SIDE("x+"),
};
enum { OTHER_COUNT = sizeof others / sizeof *others };

stencil_known stencil_format_name(int index) {
    const row *r = rows + index - OTHER_COUNT;
    return index < OTHER_COUNT               ? others[index]
           : index < OTHER_COUNT + ROW_COUNT ? (stencil_known){r->is.name, STENCIL_ATTRIBUTE, r->past}
                                             : (stencil_known){NULL, STENCIL_ATTRIBUTE, false};
}

const stencil_known *stencil_object_known(const char *name) {
    for (const stencil_known *k = others; k < others + OTHER_COUNT; k++)
        if (k->place == STENCIL_OBJECT && strcmp(k->name, name) == 0)
            return k;
    return NULL;
}

static stencil_status read_row(const row *r, hid_t file, const char *path, stencil_spec *spec) {
    void *at = (char *)spec + r->at;
    const bool has_new = r->new_name != NULL && !isnan(*(double *)at);
    stencil_attribute is = r->is;
    int count = 0;
    is.axes = r->count_at != 0 ? spec->rank : 0;
    TRY(stencil_attribute_read(file, path, &is, at, &count));
    CHECK(count == 0 || !has_new, BAD_DATA,
          "'%s' has both attributes '%s' and '%s', its old name: give %s alone", path, r->new_name, is.name,
          r->new_name);
    if (r->count_at != 0)
        *(int *)((char *)spec + r->count_at) = count;
    return STENCIL_OK;
}

static stencil_status read_attributes(hid_t file, const char *path, stencil_spec *spec) {
    for (const row *r = rows; r < rows + ROW_COUNT; r++) {
        if (r->at == offsetof(stencil_spec, field)) /* read by stencil_field_choose() */
            continue;
        const stencil_status status = read_row(r, file, path, spec);
        /* An attribute `time` that is no number is the user's own and no error. */
        if (status != STENCIL_OK && r->at != offsetof(stencil_spec, time))
            return status;
    }
    spec->checked_every = spec->check_every;
    return STENCIL_OK;
}

/* Returns the number of values that a spec has for an attribute. */
static int count_of(const row *r, const stencil_spec *spec) {
    return r->count_at != 0 ? *(const int *)((const char *)spec + r->count_at) : 1;
}

static bool is_given(const stencil_attribute *is, const void *at) {
    switch (is->type) {
    case STENCIL_ATTRIBUTE_TEXT:
        return *(const char *)at != '\0';
    case STENCIL_ATTRIBUTE_WORD:
        return is->words[*(const int *)at][0] != '\0';
    case STENCIL_ATTRIBUTE_REAL:
        return !isnan(*(const double *)at);
    default:
        return *(const int64_t *)at >= is->least;
    }
}

bool stencil_spec_says(const stencil_spec *spec, const char *attribute, double number) {
    const row *r = rows;
    while (r < rows + ROW_COUNT && strcmp(r->is.name, attribute) != 0)
        r++;
    if (r == rows + ROW_COUNT || r->is.type < STENCIL_ATTRIBUTE_REAL)
        return false;
    const void *at = (const char *)spec + r->at;
    const int count = count_of(r, spec);
    bool says = r->is.type == STENCIL_ATTRIBUTE_WHOLE && (double)*(const int64_t *)at == number;
    for (int i = 0; i < count && r->is.type == STENCIL_ATTRIBUTE_REAL; i++)
        says = says || ((const double *)at)[i] == number;
    return says;
}

void stencil_spec_forget(stencil_spec *spec) {
    stencil_spec none;
    stencil_spec_init(&none);
    for (const row *r = rows; r < rows + ROW_COUNT; r++)
        if (r->past && r->at != offsetof(stencil_spec, time))
            memcpy((char *)spec + r->at, (const char *)&none + r->at,
                   r->is.type == STENCIL_ATTRIBUTE_TEXT ? r->is.chars
                                                        : sizeof(double)); /* also the size of an int64_t */
}

/* Opens and checks a small dataset in /stencil of one or two axes, with a value for each stencil point, for
 * each of its axes or of the classes of cells. Id and count are 0 where it does not exist. */
static stencil_status open_table(stencil_dataset *d, hid_t file, const char *path, const char *name,
                                 int points_at) {
    TRY(stencil_dataset_open(d, file, path, name, NULL));
    if (d->id == 0)
        return STENCIL_OK;
    CHECK(d->is.rank == 1 || d->is.rank == 2, BAD_DATA,
          "'%s': %s has rank %d; offsets are [n][rank], weights are [n], or [classes][n] beside /class", path,
          name, d->is.rank);
    const int64_t points = d->is.extent[d->is.rank == 1 ? 0 : points_at];
    CHECK(points_at == 0 || d->is.rank == 1 || (d->is.extent[0] > 0 && d->is.extent[0] <= STENCIL_ROWS_MAX),
          BAD_DATA, "'%s': %s has %" PRId64 " rows; give one for each class of cells, 1 to %d", path, name,
          d->is.extent[0], STENCIL_ROWS_MAX);
    CHECK(d->is.count > 0 && points <= STENCIL_POINTS_MAX && d->is.count <= PALETTE_MAX, BAD_DATA,
          "'%s': %s has %" PRId64 " entries; give 1 to %d points", path, name, points, STENCIL_POINTS_MAX);
    return STENCIL_OK;
}

static stencil_status read_offsets(hid_t file, const char *path, stencil_spec *spec) {
    STENCIL_DATASET d = {0};
    double value[STENCIL_POINTS_MAX * 3];
    TRY(open_table(&d, file, path, "/stencil/offsets", 0));
    if (d.id == 0)
        return STENCIL_OK;
    CHECK(d.is.rank == 2 && d.is.extent[1] == spec->rank, BAD_DATA,
          "'%s': /stencil/offsets has the wrong shape; give [n][%d], one row (%s) per point", path,
          spec->rank, spec->rank == 2 ? "y, x" : "z, y, x");
    TRY(stencil_dataset_read(&d, 0, d.is.count, H5T_NATIVE_DOUBLE, value, &d.is.count));
    spec->offset_count = (int)d.is.extent[0];
    for (int i = 0; i < spec->offset_count * spec->rank; i++) {
        const int k = i / spec->rank, axis = i % spec->rank;
        CHECK(fabs(value[i]) <= STENCIL_RADIUS_MAX && value[i] == floor(value[i]), BAD_DATA,
              "'%s': /stencil/offsets[%d][%d] is %g; give whole numbers from %d to %d", path, k, axis,
              value[i], -STENCIL_RADIUS_MAX, STENCIL_RADIUS_MAX);
        spec->offset[k][axis] = (int32_t)value[i];
    }
    return STENCIL_OK;
}

/* Reads the weights: a list, or a row for each class of cells, of which the spec gets row 0 and a hash. */
static stencil_status read_weights(hid_t file, const char *path, stencil_spec *spec) {
    STENCIL_DATASET d = {0};
    static double value[PALETTE_MAX];
    TRY(open_table(&d, file, path, "/stencil/weights", 1));
    if (d.id == 0)
        return STENCIL_OK;
    TRY(stencil_dataset_read(&d, 0, d.is.count, H5T_NATIVE_DOUBLE, value, &d.is.count));
    spec->weight_count = (int)d.is.extent[d.is.rank - 1];
    memcpy(spec->weight, value, (size_t)spec->weight_count * sizeof *value);
    if (d.is.rank == 2) {
        spec->class_count = (int)d.is.extent[0];
        spec->palette_hash = stencil_palette_hash(value, d.is.count);
    }
    return STENCIL_OK;
}

/* The name of the dataset that a number of a wall is, where it is one. */
static const char *along_name(int axis, int side, int which, char name[24]) {
    snprintf(name, 24, "/%s_%c%c", stencil_wall_number_names[which], "zyx"[axis], "-+"[side]);
    return name;
}

/* Finds out which numbers of walls are datasets. */
static void find_along(hid_t file, stencil_spec *spec) {
    char name[24];
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        for (int which = 0; which < STENCIL_NUMBER_COUNT; which++)
            spec->along[i / 2][i % 2][which] =
                H5Lexists(file, along_name(i / 2, i % 2, which, name), H5P_DEFAULT) > 0;
}

stencil_status stencil_along_write(hid_t file, const char *path, const stencil_spec *spec,
                                   const stencil_tables *tables) {
    char name[24];
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        for (int which = 0; which < STENCIL_NUMBER_COUNT; which++) {
            int64_t extent[STENCIL_AXES];
            int rank = 0;
            for (int k = 0; k < spec->rank; k++)
                if (k != stencil_list_index(spec->rank, i / 2))
                    extent[rank++] = spec->extent[k];
            if (spec->along[i / 2][i % 2][which])
                TRY(stencil_h5_write(file, path, along_name(i / 2, i % 2, which, name), rank, extent,
                                     H5T_IEEE_F64LE, tables->along[i / 2][i % 2][which]));
        }
    return STENCIL_OK;
}

/* The most rows of a table of factors over time. */
enum { TABLE_ROWS_MAX = 1 << 24 };

/* Looks for a table of factors, and says how many rows it has; of: the array that it is a factor of, which
 * the problem has or not. */
static stencil_status read_table(hid_t file, const char *path, const char *name, const char *of, bool has,
                                 int64_t *rows) {
    STENCIL_DATASET d = {0};
    TRY(stencil_dataset_open(&d, file, path, name, NULL));
    if (d.id == 0)
        return STENCIL_OK;
    CHECK(has, BAD_DATA, "'%s' has %s, but no %s that it is a factor of", path, name, of);
    CHECK(d.is.rank == 2 && d.is.extent[1] == 2 && d.is.extent[0] > 0, BAD_DATA,
          "'%s': %s has the wrong shape; give [n][2], a row (time, factor) for each entry of the table", path,
          name);
    CHECK(d.is.extent[0] <= TABLE_ROWS_MAX, BAD_DATA,
          "'%s': %s has %" PRId64 " rows; at most %d are possible", path, name, d.is.extent[0],
          TABLE_ROWS_MAX);
    *rows = d.is.extent[0];
    return STENCIL_OK;
}

/* Looks for the tables of all factors. */
static stencil_status read_tables(hid_t file, const char *path, stencil_spec *spec) {
    const stencil_source sources[] = {STENCIL_SOURCE_B, STENCIL_SOURCE_Q};
    for (int k = 0; k < STENCIL_SUM_ARRAYS; k++) {
        for (int i = 0; i < 2; i++) {
            const bool has = spec->source == sources[i] && (k == 0 || k < spec->source_count);
            TRY(read_table(file, path, stencil_table_name(sources[i], k),
                           stencil_source_names[stencil_source_dataset(sources[i], k)], has,
                           &spec->table[k].count));
        }
        const int driven = STENCIL_SUM_ARRAYS + k;
        TRY(read_table(file, path, stencil_table_name(spec->source, driven),
                       stencil_source_names[STENCIL_DATASET_VALUE + k], k < spec->driven_count,
                       &spec->table[driven].count));
    }
    return STENCIL_OK;
}

stencil_status stencil_spec_read(hid_t file, const char *path, stencil_spec *spec) {
    TRY(read_attributes(file, path, spec));
    find_along(file, spec);
    TRY(read_tables(file, path, spec));
    const htri_t exists = H5Lexists(file, "stencil", H5P_DEFAULT);
    CHECK(exists >= 0, BAD_DATA, "'%s' is damaged: cannot look for /stencil (%s)", path, stencil_h5_reason());
    if (exists == 0)
        return STENCIL_OK;
    STENCIL_HANDLE group = H5Gopen2(file, "stencil", H5P_DEFAULT);
    CHECK(group >= 0, BAD_DATA, "'%s': /stencil is no group; give a group with offsets and weights", path);
    TRY(read_offsets(file, path, spec));
    return read_weights(file, path, spec);
}

/* Tells whether readers of the format's version 1 take the problem for another one. */
static bool needs_second(const stencil_spec *spec) {
    bool sides = false;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        for (int side = 0; side < STENCIL_SIDES; side++)
            sides = sides || spec->wall[axis][side] != STENCIL_WALL_NONE;
    return spec->source == STENCIL_SOURCE_Q || spec->fixed || spec->classed || spec->insulated || sides;
}

/* Tells whether readers of the format's version 2 take what changes in time, or from cell to cell, for
 * constant. */
static bool needs_third(const stencil_spec *spec) {
    bool tables = spec->source_count > 1 || spec->driven_count > 0;
    if (spec->has_k || spec->diffusivity_count > 1)
        return true;
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++)
        tables = tables || spec->table[k].count > 0;
    return tables;
}

stencil_status stencil_spec_write(hid_t file, const char *path, const stencil_spec *spec) {
    char format[STENCIL_WORD_MAX];
    snprintf(format, sizeof format, "%s%d", format_prefix,
             needs_third(spec)    ? 3
             : needs_second(spec) ? 2
                                  : 1);
    TRY(stencil_attribute_write(file, path, &format_attribute, 1, format));
    for (const row *r = rows; r < rows + ROW_COUNT; r++) {
        const void *at = (const char *)spec + r->at;
        const int count = count_of(r, spec);
        if (count > 0 && r->new_name == NULL && is_given(&r->is, at))
            TRY(stencil_attribute_write(file, path, &r->is, count, at));
    }
    return STENCIL_OK;
}

/* Returns how many numbers a row has that are numbers, and given. */
static int numbers_of(const row *r, const stencil_spec *spec) {
    const bool number = r->is.type == STENCIL_ATTRIBUTE_REAL || r->is.type == STENCIL_ATTRIBUTE_WHOLE;
    return number && r->new_name == NULL && is_given(&r->is, (const char *)spec + r->at) ? count_of(r, spec)
                                                                                         : 0;
}

stencil_status stencil_spec_digest(const stencil_spec *spec, const stencil_history *history,
                                   char text[STENCIL_DIGEST_CHARS]) {
    int64_t count = 0;
    for (const row *r = rows; r < rows + ROW_COUNT; r++)
        count += numbers_of(r, spec);
    stencil_box all = {.n = {1, 1, count + 2 * history->count}};
    double *number = calloc((size_t)all.n[STENCIL_X] + 1, sizeof *number), *to = number;
    CHECK(number != NULL, NO_MEMORY, "no memory for the digest of the numbers of a run");
    for (const row *r = rows; r < rows + ROW_COUNT; to += numbers_of(r, spec), r++)
        memcpy(to, (const char *)spec + r->at, (size_t)numbers_of(r, spec) * sizeof *to);
    if (history->count > 0) {
        memcpy(to, history->residual, (size_t)history->count * sizeof *to);
        memcpy(to + history->count, history->step, (size_t)history->count * sizeof *to);
    }
    const stencil_cells cells = stencil_cells_dense(STENCIL_FLOAT64, number, &all);
    stencil_digest digest = {{0}};
    stencil_digest_add(&digest, &all, &all, &cells);
    stencil_digest_text(&digest, text);
    free(number);
    return STENCIL_OK;
}

stencil_status stencil_input_same_numbers(const stencil_spec *spec, const stencil_history *history,
                                          const stencil_provenance *made, bool *same) {
    char now[STENCIL_DIGEST_CHARS];
    TRY(stencil_spec_digest(spec, history, now));
    *same = made->digest_numbers[0] == '\0' || strcmp(now, made->digest_numbers) == 0;
    return STENCIL_OK;
}

stencil_status stencil_points_write(hid_t file, const char *path, const stencil_spec *spec,
                                    const double *palette) {
    if (spec->weight_count == 0)
        return STENCIL_OK;
    STENCIL_HANDLE group = H5Gcreate2(file, "stencil", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
    TRY(stencil_h5_check_written(group >= 0, path, "/stencil"));
    int32_t offset[STENCIL_POINTS_MAX * 3];
    for (int i = 0; i < spec->offset_count * spec->rank; i++)
        offset[i] = spec->offset[i / spec->rank][i % spec->rank];
    const int64_t offsets[2] = {spec->offset_count, spec->rank},
                  weights[2] = {spec->class_count, spec->weight_count};
    const bool rows = spec->class_count > 0;
    if (spec->offset_count > 0)
        TRY(stencil_h5_write(file, path, "/stencil/offsets", 2, offsets, H5T_STD_I32LE, offset));
    return stencil_h5_write(file, path, "/stencil/weights", rows ? 2 : 1, rows ? weights : weights + 1,
                            H5T_IEEE_F64LE, rows ? palette : spec->weight);
}

stencil_status stencil_tables_write(hid_t file, const char *path, const stencil_spec *spec,
                                    double *const table[STENCIL_STEP_FACTORS]) {
    for (int k = 0; k < STENCIL_STEP_FACTORS; k++) {
        const int64_t shape[2] = {spec->table[k].count, 2};
        if (shape[0] > 0)
            TRY(stencil_h5_write(file, path, stencil_table_name(spec->source, k), 2, shape, H5T_IEEE_F64LE,
                                 table[k]));
    }
    return STENCIL_OK;
}

/* Reads the name of the file that an external link of a group leads to, by which results of older versions
 * name their series; "": there is no such link, or its name has no room. */
static void read_link(hid_t group, const char *name, char *file, size_t size) {
    char value[2 * 4096];
    const char *path, *object;
    H5L_info_t info;
    file[0] = '\0';
    if (H5Lexists(group, name, H5P_DEFAULT) > 0 && H5Lget_info(group, name, &info, H5P_DEFAULT) >= 0 &&
        info.type == H5L_TYPE_EXTERNAL && info.u.val_size <= sizeof value &&
        H5Lget_val(group, name, value, sizeof value, H5P_DEFAULT) >= 0 &&
        H5Lunpack_elink_val(value, info.u.val_size, NULL, &path, &object) >= 0 && strlen(path) < size)
        memcpy(file, path, strlen(path) + 1);
}

stencil_status stencil_h5_input_provenance(const stencil_h5_input *input, stencil_provenance *provenance) {
    const stencil_attribute steps = {.name = "steps_done", .type = STENCIL_ATTRIBUTE_WHOLE};
    const stencil_attribute name = {"input", STENCIL_ATTRIBUTE_TEXT, .chars = sizeof provenance->input,
                                    .wanted = "one file name"};
    int found = 0, named = 0;
    *provenance = (stencil_provenance){0};
    STENCIL_HANDLE group = stencil_h5_group(input->file, "provenance");
    if (group >= 0)
        TRY(stencil_attribute_read(group, input->path, &steps, &provenance->steps_done, &found));
    if (found == 0 && group >= 0 && H5Lexists(input->file, "difference", H5P_DEFAULT) > 0 &&
        stencil_attribute_text(group, "a", provenance->input, sizeof provenance->input) &&
        stencil_attribute_text(group, "b", provenance->less, sizeof provenance->less))
        return STENCIL_OK;
    CHECK(found > 0, BAD_DATA,
          "'%s' has no attribute steps_done of /provenance: it was not written by 'stencil run'",
          input->path);
    CHECK(H5Lexists(input->file, "residual", H5P_DEFAULT) > 0, BAD_DATA,
          "'%s' has no dataset /residual: give a result of 'stencil run'", input->path);
    TRY(stencil_attribute_read(group, input->path, &name, provenance->input, &named));
    stencil_attribute_text(group, "output", provenance->output, sizeof provenance->output);
    stencil_attribute_text(group, "series_places", provenance->series, sizeof provenance->series);
    if (!stencil_attribute_text(group, "series", provenance->series_file, sizeof provenance->series_file))
        read_link(group, "series", provenance->series_file, sizeof provenance->series_file);
    stencil_attribute_text(group, "series_gaps", provenance->gaps, sizeof provenance->gaps);
    stencil_attribute_text(group, "digest_numbers", provenance->digest_numbers,
                           sizeof provenance->digest_numbers);
    stencil_attribute_text(group, "options", provenance->options, sizeof provenance->options);
    return STENCIL_OK;
}

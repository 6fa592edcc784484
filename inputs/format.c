/* What belongs to the format, and what is the user's own: noted where it looks as if it were ours, and kept
 * in the result. */
#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"
#include "inputs/attributes.h"
#include "inputs/file.h"
#include "inputs/h5.h"

enum { FORMAT_VERSION = 1 };
static const char format_prefix[] = "stencil ";
static const stencil_attribute format_attribute = {"format", STENCIL_ATTRIBUTE_TEXT, STENCIL_WORD_MAX,
                                                   .wanted = ""};

/* Where a name stands: attribute of the root group, dataset or group in it, dataset in /stencil. */
typedef enum name_place { ATTRIBUTE, OBJECT, MEMBER } name_place;

/* A name of the format: a user gives it, or only a run writes it. What stands in a file under other names is
 * the user's own. */
typedef struct known {
    const char *name; /* NULL: none */
    name_place place;
    bool past;
} known;

static const known others[] = {
    {"format", ATTRIBUTE, true},
    {"u", OBJECT, false},
    {"b", OBJECT, false},
    {"f", OBJECT, false},
    {"stencil", OBJECT, false},
    {"residual", OBJECT, true},
    {"residual_step", OBJECT, true},
    {"provenance", OBJECT, true},
    {"offsets", MEMBER, false},
    {"weights", MEMBER, false},
};
enum { OTHERS = sizeof others / sizeof *others };

/* The index-th name: the spec's attributes come last. */
static known name_at(int index) {
    known attribute = {.place = ATTRIBUTE};
    if (index < OTHERS)
        return others[index];
    attribute.name = stencil_spec_attribute(index - OTHERS, &attribute.past);
    return attribute;
}

static bool is_known(name_place place, const char *name) {
    known k;
    for (int i = 0; (k = name_at(i)).name != NULL; i++)
        if (k.place == place && strcmp(k.name, name) == 0)
            return true;
    return false;
}

/* The attribute's N of "stencil N"; 0: there is none. `foreign`, where it is something else. */
static long format_version(hid_t file, bool *foreign) {
    char text[STENCIL_WORD_MAX] = "", *end = text;
    int count = 0;
    const stencil_status status = stencil_attribute_read(file, "", &format_attribute, text, &count);
    const size_t prefix = sizeof format_prefix - 1;
    long version = 0;
    if (status == STENCIL_OK && strncmp(text, format_prefix, prefix) == 0 &&
        isdigit((unsigned char)text[prefix]))
        version = strtol(text + prefix, &end, 10);
    *foreign = status != STENCIL_OK || (count > 0 && (version < 1 || *end != '\0'));
    return *foreign ? 0 : version;
}

stencil_status stencil_format_check(hid_t file, const char *path) {
    bool foreign = false;
    const long version = format_version(file, &foreign);
    CHECK(
        version <= FORMAT_VERSION, BAD_DATA,
        "'%s' has the format 'stencil %ld', made by a newer version of stencil: this one reads 'stencil %d'",
        path, version, FORMAT_VERSION);
    return STENCIL_OK;
}

stencil_status stencil_format_write(hid_t file, const char *path) {
    char text[32];
    snprintf(text, sizeof text, "%s%d", format_prefix, FORMAT_VERSION);
    return stencil_attribute_write(file, path, &format_attribute, 1, text);
}

/* What notes are looked for in: a kind of place, or the attributes of /u. */
typedef struct search {
    stencil_notes *notes;
    name_place place;
    const char *of; /* "", " of /u" */
    int rank;       /* of /u */
    hsize_t size[H5S_MAX_RANK];
} search;

/* How far `word` is from a name: a third of the letters may be wrong, of short words none but their case. -1:
 * another word. */
static int distance(const char *word, const char *name) {
    const size_t length = strlen(word);
    const int letters = stencil_edit_distance(word, name), most = length < 4 ? 0 : (int)length / 3;
    if (letters >= STENCIL_WORD_MAX ||
        (letters > most && (length < 3 || strncasecmp(word, name, length) != 0)))
        return -1;
    return letters <= most ? letters : most;
}

/* The name that `word` may have meant, of equally near ones one of the same place. */
static known nearest(const search *s, const char *word) {
    known found = {NULL, ATTRIBUTE, false}, k;
    int least = INT_MAX;
    for (int i = 0; (k = name_at(i)).name != NULL; i++) {
        const bool elsewhere = k.place != s->place || s->of[0] != '\0';
        const int far = k.past ? -1 : distance(word, k.name);
        if (far >= 0 && 2 * far + elsewhere < least) {
            found = k;
            least = 2 * far + elsewhere;
        }
    }
    return found;
}

static const char *describe(name_place place, const char *name, const char *of, char text[160]) {
    if (place == ATTRIBUTE)
        snprintf(text, 160, "attribute '%s'%s", name, of);
    else
        snprintf(text, 160, "%s/%s", place == MEMBER ? "/stencil" : "", name);
    return text;
}

/* Whether a note was made. */
static bool note_name(const search *s, const char *name) {
    char what[160], meant[160];
    if (s->of[0] == '\0' && is_known(s->place, name))
        return true;
    const known near = nearest(s, name);
    if (near.name == NULL)
        return false;
    const char *of = s->place == ATTRIBUTE && s->of[0] == '\0' ? "" : " of the root group";
    stencil_notes_add(s->notes, "%s is not used: did you mean %s?", describe(s->place, name, s->of, what),
                      describe(near.place, near.name, of, meant));
    return true;
}

static herr_t note_attribute(hid_t object, const char *name, const H5A_info_t *info, void *data) {
    (void)object, (void)info;
    note_name(data, name);
    return 0;
}

/* Shape of a dataset; rank -1 where there is none. */
static int dataset_shape(hid_t group, const char *name, hsize_t size[H5S_MAX_RANK]) {
    STENCIL_HANDLE object = H5Oopen(group, name, H5P_DEFAULT);
    STENCIL_HANDLE space = object >= 0 && H5Iget_type(object) == H5I_DATASET ? H5Dget_space(object) : -1;
    return space < 0 ? -1 : H5Sget_simple_extent_dims(space, size, NULL);
}

/* Coordinates of all cells have the shape of /u, too, and are meant for readers. */
static bool is_coordinate(const char *name) {
    return strlen(name) == 1 && strchr("xyzXYZ", name[0]) != NULL;
}

static herr_t note_object(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    const search *s = data;
    hsize_t size[H5S_MAX_RANK];
    (void)info;
    if (!note_name(s, name) && s->place == OBJECT && !is_coordinate(name) &&
        dataset_shape(group, name, size) == s->rank &&
        memcmp(size, s->size, (size_t)s->rank * sizeof *size) == 0)
        stencil_notes_add(s->notes, "/%s has the shape of /u, but is not used", name);
    return 0;
}

void stencil_input_notes(const stencil_input *input, stencil_notes *notes) {
    const hid_t file = input->file;
    search root = {.notes = notes, .place = ATTRIBUTE, .of = ""}, on_u = root, in_stencil = root;
    bool foreign = false;
    format_version(file, &foreign);
    if (foreign)
        stencil_notes_add(notes, "attribute 'format' is none of stencil's: replaced in the result");
    H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_INC, NULL, note_attribute, &root);
    on_u.of = " of /u";
    STENCIL_HANDLE u = H5Dopen2(file, "u", H5P_DEFAULT);
    if (u >= 0)
        H5Aiterate2(u, H5_INDEX_NAME, H5_ITER_INC, NULL, note_attribute, &on_u);
    root.place = OBJECT;
    root.rank = dataset_shape(file, "u", root.size);
    H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, note_object, &root);
    in_stencil.place = MEMBER;
    STENCIL_HANDLE group =
        H5Lexists(file, "stencil", H5P_DEFAULT) > 0 ? H5Gopen2(file, "stencil", H5P_DEFAULT) : -1;
    if (group >= 0)
        H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, note_object, &in_stencil);
}

typedef struct transfer {
    hid_t to;
    stencil_notes *notes;
    const char *of; /* "" or " of /u" */
} transfer;

/* Values in memory have the type that they have in the file, so that nothing is converted. */
static herr_t copy_values(hid_t from, const char *name, hid_t to) {
    STENCIL_HANDLE given = H5Aget_type(from), space = H5Aget_space(from);
    STENCIL_HANDLE type = given < 0 ? -1 : H5Tcopy(given);
    if (type < 0 || space < 0)
        return -1;
    STENCIL_HANDLE made = H5Acreate2(to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    const hssize_t count = made < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    if (count <= 0)
        return (herr_t)count;
    void *values = calloc((size_t)count, H5Tget_size(type));
    if (values == NULL)
        return -1;
    herr_t failed = H5Aread(from, type, values);
    if (failed >= 0) {
        failed = H5Awrite(made, type, values);
        if (failed < 0)
            stencil_h5_reason();
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, values);
    }
    free(values);
    return failed;
}

/* References are addresses in the other file. */
static bool holds_references(hid_t attribute) {
    STENCIL_HANDLE type = H5Aget_type(attribute);
    return type >= 0 && H5Tdetect_class(type, H5T_REFERENCE) > 0;
}

static void note_lost(const transfer *t, const char *kind, const char *name, const char *of,
                      const char *why) {
    if (t->notes != NULL)
        stencil_notes_add(t->notes, "%s%s%s%s is not kept in the result: %s", kind, name,
                          kind[0] == '/' ? "" : "'", of, why);
}

static herr_t copy_attribute(hid_t object, const char *name, const H5A_info_t *info, void *data) {
    const transfer *t = data;
    (void)info;
    if (t->of[0] == '\0' && is_known(ATTRIBUTE, name))
        return 0;
    STENCIL_HANDLE attribute = H5Aopen(object, name, H5P_DEFAULT);
    if (attribute >= 0 && holds_references(attribute))
        note_lost(t, "attribute '", name, t->of, "it refers to objects of its file");
    else if (attribute < 0 || copy_values(attribute, name, t->to) < 0)
        note_lost(t, "attribute '", name, t->of, stencil_h5_reason());
    return 0;
}

static herr_t copy_link(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    const transfer *t = data;
    if (is_known(OBJECT, name))
        return 0;
    /* A soft or external link stays one: what it leads to may be large, or nowhere. */
    const herr_t failed = info->type == H5L_TYPE_HARD
                              ? H5Ocopy(group, name, t->to, name, H5P_DEFAULT, H5P_DEFAULT)
                              : H5Lcopy(group, name, t->to, name, H5P_DEFAULT, H5P_DEFAULT);
    if (failed < 0)
        note_lost(t, "/", name, "", stencil_h5_reason());
    return 0;
}

void stencil_own_copy(hid_t from, hid_t to, stencil_notes *notes) {
    STENCIL_HANDLE u = H5Dopen2(from, "u", H5P_DEFAULT), new_u = H5Dopen2(to, "u", H5P_DEFAULT);
    transfer root = {to, notes, ""}, on_u = {new_u, notes, " of /u"};
    H5Aiterate2(from, H5_INDEX_NAME, H5_ITER_INC, NULL, copy_attribute, &root);
    H5Literate(from, H5_INDEX_NAME, H5_ITER_INC, NULL, copy_link, &root);
    if (u >= 0 && new_u >= 0)
        H5Aiterate2(u, H5_INDEX_NAME, H5_ITER_INC, NULL, copy_attribute, &on_u);
}

#include "inputs/format.h"

#include <ctype.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"
#include "inputs/attributes.h"
#include "inputs/h5.h"
#include "inputs/spec_file.h"

enum { FORMAT_VERSION = 1 };
static const char format_prefix[] = "stencil ";
static const stencil_attribute format_attribute = {"format", STENCIL_ATTRIBUTE_TEXT, STENCIL_WORD_MAX,
                                                   .wanted = ""};

/* A name of the format: a user gives it, or only a run writes it. What stands in a file under other names is
 * the user's own. */
typedef struct known {
    const char *name; /* NULL: none */
    stencil_name_place place;
    bool past;
} known;

/* The index-th name: of the spec's attributes, then of all else. */
static known name_at(int index) {
    static const known others[] = {
        {"format", STENCIL_NAME_ATTRIBUTE, true},
        {"u", STENCIL_NAME_OBJECT, false},
        {"b", STENCIL_NAME_OBJECT, false},
        {"f", STENCIL_NAME_OBJECT, false},
        {"stencil", STENCIL_NAME_OBJECT, false},
        {"residual", STENCIL_NAME_OBJECT, true},
        {"residual_step", STENCIL_NAME_OBJECT, true},
        {"provenance", STENCIL_NAME_OBJECT, true},
        {"offsets", STENCIL_NAME_MEMBER, false},
        {"weights", STENCIL_NAME_MEMBER, false},
        {NULL, STENCIL_NAME_MEMBER, false},
    };
    int attributes = 0;
    bool past;
    for (const char *name; (name = stencil_spec_attribute(attributes, &past)) != NULL; attributes++)
        if (attributes == index)
            return (known){name, STENCIL_NAME_ATTRIBUTE, past};
    return others[index - attributes];
}

bool stencil_format_knows(stencil_name_place place, const char *name) {
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
    stencil_name_place place;
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
    known found = {NULL, STENCIL_NAME_ATTRIBUTE, false}, k;
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

static const char *describe(stencil_name_place place, const char *name, const char *of, char text[160]) {
    if (place == STENCIL_NAME_ATTRIBUTE)
        snprintf(text, 160, "attribute '%s'%s", name, of);
    else
        snprintf(text, 160, "%s/%s", place == STENCIL_NAME_MEMBER ? "/stencil" : "", name);
    return text;
}

/* Whether a note was made. */
static bool note_name(const search *s, const char *name) {
    char what[160], meant[160];
    if (s->of[0] == '\0' && stencil_format_knows(s->place, name))
        return true;
    const known near = nearest(s, name);
    if (near.name == NULL)
        return false;
    const char *of = s->place == STENCIL_NAME_ATTRIBUTE && s->of[0] == '\0' ? "" : " of the root group";
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
    if (!note_name(s, name) && s->place == STENCIL_NAME_OBJECT && !is_coordinate(name) &&
        dataset_shape(group, name, size) == s->rank &&
        memcmp(size, s->size, (size_t)s->rank * sizeof *size) == 0)
        stencil_notes_add(s->notes, "/%s has the shape of /u, but is not used", name);
    return 0;
}

void stencil_format_notes(hid_t file, stencil_notes *notes) {
    search root = {.notes = notes, .place = STENCIL_NAME_ATTRIBUTE, .of = ""}, on_u = root, in_stencil = root;
    bool foreign = false;
    format_version(file, &foreign);
    if (foreign)
        stencil_notes_add(notes, "attribute 'format' is none of stencil's: replaced in the result");
    H5Aiterate2(file, H5_INDEX_NAME, H5_ITER_INC, NULL, note_attribute, &root);
    on_u.of = " of /u";
    STENCIL_HANDLE u = H5Dopen2(file, "u", H5P_DEFAULT);
    if (u >= 0)
        H5Aiterate2(u, H5_INDEX_NAME, H5_ITER_INC, NULL, note_attribute, &on_u);
    root.place = STENCIL_NAME_OBJECT;
    root.rank = dataset_shape(file, "u", root.size);
    H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, note_object, &root);
    in_stencil.place = STENCIL_NAME_MEMBER;
    STENCIL_HANDLE group =
        H5Lexists(file, "stencil", H5P_DEFAULT) > 0 ? H5Gopen2(file, "stencil", H5P_DEFAULT) : -1;
    if (group >= 0)
        H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, NULL, note_object, &in_stencil);
}

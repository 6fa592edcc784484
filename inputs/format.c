/* Objects and attributes that the file format does not define: the user is told of names that look as if
 * meant for the format, and all are copied to the result. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/words.h"
#include "inputs/axes.h"
#include "inputs/file.h"
#include "inputs/reading.h"

/* An object or attribute that the format does not define, and the visit that found it. */
typedef struct own {
    const stencil_h5_input *input;
    stencil_notes *notes;
    void (*visit)(const struct own *own);
    const stencil_spec *spec; /* for notes: spec of the problem */
    hid_t to, to_field;       /* for copies: the result's file, and its field */
    bool elsewhere;           /* whether the field is a link to another file */
    stencil_name_place place;
    hid_t at; /* the group or object that has the name */
    const char *name;
    H5L_type_t link; /* type of the link, unless the name is an attribute's */
} own;

/* Returns the index-th name of the format; the field's name comes first. */
static stencil_known name_at(const own *own, int index) {
    return index == 0 ? (stencil_known){own->input->facts.field + 1, STENCIL_OBJECT, false}
                      : stencil_format_name(index - 1);
}

static bool is_known(const own *own, stencil_name_place place) {
    stencil_known k;
    if (place == STENCIL_OBJECT && stencil_axes_made(own->input->file, own->name))
        return true;
    for (int i = 0; (k = name_at(own, i)).name != NULL; i++)
        if (k.place == place && strcmp(k.name, own->name) == 0)
            return !(own->input->facts.field_passed_over && place == STENCIL_ATTRIBUTE &&
                     strcmp(k.name, "field") == 0);
    return false;
}

/* Describes a name for messages, such as "attribute 'alpha' of /u" or "/uu". */
static void describe(const own *own, stencil_name_place place, const char *name, char *text, size_t size) {
    if (place == STENCIL_ATTRIBUTE)
        snprintf(text, size, "attribute '%s'", name);
    else if (place == STENCIL_FIELD_ATTRIBUTE)
        snprintf(text, size, "attribute '%s' of %s", name, own->input->facts.field);
    else
        snprintf(text, size, "%s/%s", place == STENCIL_MEMBER ? "/stencil" : "", name);
}

static herr_t visit_name(own *o, hid_t at, const char *name) {
    o->at = at;
    o->name = name;
    if (!is_known(o, o->place))
        o->visit(o);
    return 0;
}

static herr_t visit_attribute(hid_t at, const char *name, const H5A_info_t *info, void *data) {
    (void)info;
    return visit_name(data, at, name);
}

static herr_t visit_link(hid_t at, const char *name, const H5L_info_t *info, void *data) {
    ((own *)data)->link = info->type;
    return visit_name(data, at, name);
}

/* Visits all names in the file that the format does not define. False: some could not be visited, see
 * stencil_h5_reason(). */
static bool visit_own(own *o) {
    const hid_t file = o->input->file;
    STENCIL_HANDLE u = H5Dopen2(file, o->input->facts.field, H5P_DEFAULT);
    STENCIL_HANDLE group = stencil_h5_group(file, "stencil");
    const hid_t at[STENCIL_PLACES] = {file, u, file, group};
    bool all = true;
    for (; o->place < STENCIL_PLACES; o->place++) {
        const herr_t visited =
            at[o->place] < 0 ? 0
            : o->place <= STENCIL_FIELD_ATTRIBUTE
                ? H5Aiterate2(at[o->place], H5_INDEX_NAME, H5_ITER_INC, NULL, visit_attribute, o)
                : H5Literate(at[o->place], H5_INDEX_NAME, H5_ITER_INC, NULL, visit_link, o);
        if (visited < 0)
            stencil_h5_reason();
        all = all && visited >= 0;
    }
    return all;
}

/* Tells whether `word` may be a misspelt `name`: typing errors rarely change the first letter, and a word of
 * up to 3 letters resembles too many names. */
static bool may_be(const char *word, const char *name) {
    return tolower((unsigned char)word[0]) == tolower((unsigned char)name[0]) &&
           (strlen(word) > 3 || strcasecmp(word, name) == 0);
}

/* Returns the format's name that was probably meant, preferring equally near names of the same place; none
 * for names of units, such as time_unit, and for `time`. */
static stencil_known nearest(const own *own) {
    stencil_nearest near = {.word = own->name, .strict = 2};
    stencil_known found = {NULL, STENCIL_ATTRIBUTE, false}, k;
    if (strstr(own->name, "unit") != NULL || strcmp(own->name, "time") == 0)
        return found;
    for (int elsewhere = 0; elsewhere <= 1; elsewhere++)
        for (int i = 0; (k = name_at(own, i)).name != NULL; i++) {
            const char *before = near.name;
            if (!k.past && (k.place != own->place) == elsewhere && may_be(own->name, k.name))
                stencil_nearest_offer(&near, k.name);
            if (near.name != before)
                found = k;
        }
    return found;
}

/* Tells whether an object of the field's shape has coordinates of all cells: it is x, y or z, or the field's
 * attribute `coordinates` (CF) names it. */
static bool is_coordinate(const own *own) {
    char text[256] = "";
    if (strlen(own->name) == 1 && strchr("xyzXYZ", own->name[0]) != NULL)
        return true;
    STENCIL_HANDLE field = H5Dopen2(own->input->file, own->input->facts.field, H5P_DEFAULT);
    if (!stencil_attribute_text(field, "coordinates", text, sizeof text))
        return false;
    for (char *rest = text, *word; (word = strtok_r(rest, " ", &rest)) != NULL;)
        if (strcmp(word, own->name) == 0)
            return true;
    return false;
}

/* Tells whether an object is the field itself under another name. */
static bool is_field(const own *own) {
    H5O_info_t this, field;
    return H5Oget_info_by_name1(own->at, own->name, &this, H5P_DEFAULT) >= 0 &&
           H5Oget_info_by_name1(own->input->file, own->input->facts.field, &field, H5P_DEFAULT) >= 0 &&
           this.fileno == field.fileno && this.addr == field.addr;
}

static void note_own(const own *own) {
    stencil_notes *notes = own->notes;
    char what[160], meant[160];
    const stencil_known near = nearest(own);
    STENCIL_ITEM array = stencil_item_dataset(own->place == STENCIL_OBJECT ? own->at : -1, own->name),
                 field = stencil_item_dataset(array.space >= 0 ? own->at : -1, own->input->facts.field);
    describe(own, own->place, own->name, what, sizeof what);
    stencil_reading_at("%s", what);
    if (own->place == STENCIL_ATTRIBUTE && strcmp(own->name, "field") == 0) /* noted elsewhere */
        return;
    if (own->place != STENCIL_MEMBER && !is_known(own, STENCIL_ATTRIBUTE) &&
        stencil_alias_note(&(stencil_named){own->at, own->name, what, own->place}, own->spec, notes))
        return;
    const stencil_named named = {own->at, own->name, what, own->place};
    if (stencil_side_note(&named, notes) || stencil_factor_note(&named, notes))
        return;
    if (near.name != NULL) {
        describe(own, near.place, near.name, meant, sizeof meant);
        stencil_notes_warn(
            notes, "%s is not used: did you mean %s%s?", what, meant,
            near.place == STENCIL_ATTRIBUTE && own->place != STENCIL_ATTRIBUTE ? " of the root group" : "");
    } else if (field.space >= 0 && H5Sextent_equal(array.space, field.space) > 0 && !is_coordinate(own) &&
               !is_field(own))
        stencil_notes_warn(notes, "/%s has the shape of %s, but is not used", own->name,
                           own->input->facts.field);
}

/* Tells whether a run wrote the file, by /provenance, since results of version 0.1.0 have no attribute
 * steps_total. */
static bool is_of_run(hid_t file) {
    STENCIL_HANDLE group = stencil_h5_group(file, "provenance");
    return group >= 0 && H5Aexists(group, "steps_done") > 0;
}

void stencil_h5_input_notes(const stencil_h5_input *input, const stencil_spec *file, const stencil_spec *spec,
                            stencil_notes *notes) {
    if (input->facts.other_steps > 0)
        stencil_notes_warn(
            notes, "the file's %" PRId64 " step%s made another field: those of %s count from 0",
            input->facts.other_steps, stencil_plural(input->facts.other_steps), input->facts.field);
    const bool of_run = file->steps_total >= 0 || input->facts.other_steps > 0 || is_of_run(input->file);
    stencil_known k;
    for (int i = 0; (k = stencil_format_name(i)).name != NULL && !of_run; i++)
        if (k.place == STENCIL_OBJECT && k.past && H5Lexists(input->file, k.name, H5P_DEFAULT) > 0)
            stencil_notes_warn(notes, "/%s is not in the result: it has that name for what a run leaves",
                               k.name);
    if (input->facts.foreign)
        stencil_notes_warn(notes, "attribute 'format' is none of stencil's: replaced in the result");
    if (input->facts.field_passed_over)
        stencil_notes_warn(notes, "attribute 'field' names no dataset here: /u is solved");
    for (int array = STENCIL_ARRAY_U; array < STENCIL_ARRAY_COUNT; array++)
        if (input->facts.values[array].packed)
            stencil_notes_warn(notes,
                               "%s is packed: its values are the stored numbers times scale_factor %g plus "
                               "add_offset %g; %s",
                               array == STENCIL_ARRAY_U ? input->facts.field : "the source",
                               input->facts.values[array].scale, input->facts.values[array].offset,
                               array == STENCIL_ARRAY_U ? "a result has those"
                                                        : "a result keeps it as it is");
    stencil_effect_notes(input->file, file->kind, spec, notes);
    visit_own(&(own){.input = input, .notes = notes, .visit = note_own, .spec = spec});
}

static void copy_own(const own *own) {
    const char *name = own->name, *why = NULL;
    char what[160];
    herr_t failed = 0;
    describe(own, own->place, name, what, sizeof what);
    stencil_reading_at("%s, which is copied", what);
    if (own->place <= STENCIL_FIELD_ATTRIBUTE)
        why = own->place == STENCIL_ATTRIBUTE
                  ? stencil_attribute_copy(own->at, name, own->to, false)
                  : stencil_attribute_copy(own->at, name, own->to_field, own->elsewhere);
    else if (own->place == STENCIL_OBJECT && own->link == H5L_TYPE_HARD)
        failed = stencil_object_copy(own->at, own->to, name, 0, own->notes);
    else if (own->place == STENCIL_OBJECT) /* soft and external links are copied as links */
        failed = H5Lcopy(own->at, name, own->to, name, H5P_DEFAULT, H5P_DEFAULT);
    if (failed < 0)
        why = stencil_h5_reason();
    if (why != NULL)
        stencil_notes_warn(own->notes, "%s is not kept in the result: %s", what, why);
}

void stencil_own_copy(const stencil_h5_input *from, hid_t to, stencil_notes *notes) {
    STENCIL_HANDLE u = H5Dopen2(to, from->facts.field, H5P_DEFAULT);
    own o = {.input = from,
             .notes = notes,
             .visit = copy_own,
             .to = to,
             .to_field = u,
             .elsewhere = !stencil_file_holds(from->file, from->facts.field)};
    if (!visit_own(&o))
        stencil_notes_warn(notes, "some of what is the user's own is not kept in the result: %s",
                           stencil_h5_reason());
}

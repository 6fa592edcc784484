/* What the attributes of the root group say of a problem: each is a row, by which it is read and written. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/words.h"
#include "inputs/attributes.h"
#include "inputs/inputs.h"
#include "inputs/spec_file.h"

typedef struct row {
    const char *name;
    stencil_attribute_type type;
    size_t at, size;          /* in the spec */
    size_t count_at;          /* there: number of values, of a list per axis; 0: it is none */
    const char *wanted;       /* what is allowed, for messages */
    const char *const *words; /* of which; NULL: anything */
    bool index;               /* the index of a word stands in the spec, an enumeration */
    int64_t least;            /* of whole numbers; of real ones: 1 means more than 0, -1 any */
    const char *new_name;     /* of what had this name in earlier versions; not written */
    bool past;                /* only a run writes it */
} row;

#define AT(member)           offsetof(stencil_spec, member), sizeof((stencil_spec *)NULL)->member
#define LIST(member)         .count_at = offsetof(stencil_spec, member##_count)
#define TEXT(member, ...)    STENCIL_ATTRIBUTE_TEXT, AT(member), __VA_ARGS__
#define WORD(member, names)  TEXT(member, .words = names, .index = true)
#define REAL(member, bound)  STENCIL_ATTRIBUTE_REAL, AT(member), .least = bound
#define WHOLE(member, bound) STENCIL_ATTRIBUTE_WHOLE, AT(member), .least = bound
#define ALL_AXES             "one for all axes or one per axis"
static const row rows[] = {
    {"stencil", TEXT(stencil, .words = stencil_shape_names), .wanted = "one of"},
    {"problem", WORD(kind, stencil_kind_names), .wanted = "one of"},
    {"norm", WORD(norm, stencil_norm_names), .wanted = "one of"},
    {"boundary", WORD(boundary, stencil_boundary_names), LIST(boundary), .wanted = ALL_AXES " of"},
    {"omega", REAL(omega, 1), .wanted = "one number > 0"},
    {"diffusivity", REAL(diffusivity, 1), .wanted = "one number > 0"},
    {"dt", REAL(dt, 1), .wanted = "one number > 0"},
    {"rtol", REAL(rtol, 0), .wanted = "one number >= 0"},
    {"atol", REAL(atol, 0), .wanted = "one number >= 0"},
    {"tolerance", REAL(atol, 0), .new_name = "atol", .wanted = "one number >= 0"},
    {"spacing", REAL(spacing, 1), LIST(spacing), .wanted = "numbers > 0, " ALL_AXES},
    {"steps", WHOLE(steps, 0)},
    {"check_every", WHOLE(check_every, 1)},
    {"residual_first", REAL(residual_first, 0), .past = true, .wanted = "one number >= 0"},
    {"steps_total", WHOLE(steps_total, 0), .past = true},
    {"time", REAL(time, -1), .past = true, .wanted = "one number"},
    {"time_first", REAL(time_first, -1), .past = true, .wanted = "one number"},
    {"fingerprint", TEXT(fingerprint, .past = true), .wanted = "what a run has written, or nothing"},
};
enum { ROW_COUNT = sizeof rows / sizeof *rows, WANTED_CHARS = 320 };

const char *stencil_spec_attribute(int index, bool *past) {
    *past = index < ROW_COUNT && rows[index].past;
    return index < ROW_COUNT ? rows[index].name : NULL;
}

static void describe(const row *r, char text[WANTED_CHARS]) {
    snprintf(text, WANTED_CHARS, "%s", r->wanted != NULL ? r->wanted : "");
    if (r->type == STENCIL_ATTRIBUTE_WHOLE)
        snprintf(text, WANTED_CHARS, "a whole number from %" PRId64 " to %" PRId64, r->least,
                 STENCIL_STEPS_MAX);
    const char *divider = ": ";
    for (int i = 0; r->words != NULL && r->words[i] != NULL; i++)
        if (r->words[i][0] != '\0') {
            stencil_text_add(text, WANTED_CHARS, "%s%s", divider, r->words[i]);
            divider = ", ";
        }
}

static stencil_status read_row(const row *r, hid_t file, const char *path, stencil_spec *spec) {
    char wanted[WANTED_CHARS], text[STENCIL_AXES][STENCIL_ATTRIBUTE_CHARS], *at = (char *)spec + r->at;
    double *real = (double *)at;
    const bool has_new = r->new_name != NULL && !isnan(*real);
    describe(r, wanted);
    const stencil_attribute attribute = {
        r->name,           wanted,      r->type, r->count_at != 0 ? spec->rank : 1, r->least,
        STENCIL_STEPS_MAX, sizeof *text};
    const bool is_text = r->type == STENCIL_ATTRIBUTE_TEXT, is_real = r->type == STENCIL_ATTRIBUTE_REAL;
    int count = 0;
    TRY(stencil_attribute_read(file, path, &attribute, is_text ? (void *)text : at, &count));
    CHECK(count == 0 || !has_new, BAD_DATA,
          "'%s' has both attributes '%s' and '%s', its old name: give %s alone", path, r->new_name, r->name,
          r->new_name);
    CHECK(!is_text || count <= 1 || count == spec->rank, BAD_DATA,
          "'%s': attribute '%s' has %d values; give one for all axes or %d, one per axis", path, r->name,
          count, spec->rank);
    CHECK(count <= 1 || count == spec->rank, BAD_DATA, "'%s': attribute '%s' has %d values; give %s", path,
          r->name, count, wanted);
    for (int i = 0; i < count; i++) {
        CHECK(!is_real || r->least < 0 || real[i] > 0 || (real[i] == 0 && r->least == 0), BAD_DATA,
              "'%s': attribute '%s' is %g; give %s", path, r->name, real[i], wanted);
        const int found = is_text && r->words != NULL ? stencil_name_find(text[i], r->words) : 0;
        CHECK(found >= 0 && (r->words == NULL || text[i][0] != '\0'), BAD_DATA,
              "'%s': attribute '%s' is '%s'; give %s", path, r->name, text[i], wanted);
        if (r->index)
            ((int *)at)[i] = found;
        else if (is_text)
            snprintf(at, r->size, "%s", text[i]);
    }
    if (r->count_at != 0)
        *(int *)((char *)spec + r->count_at) = count;
    return STENCIL_OK;
}

stencil_status stencil_spec_read_attributes(hid_t file, const char *path, stencil_spec *spec) {
    for (int i = 0; i < ROW_COUNT; i++) {
        const stencil_status status = read_row(&rows[i], file, path, spec);
        /* A time that is no number is the user's own affair. */
        if (status != STENCIL_OK && rows[i].at != offsetof(stencil_spec, time))
            return status;
        if (status != STENCIL_OK)
            spec->time = NAN;
    }
    spec->checked_every = spec->check_every;
    return STENCIL_OK;
}

/* Writes what is given. */
stencil_status stencil_spec_write_attributes(hid_t file, const char *path, const stencil_spec *spec) {
    for (const row *r = rows; r < rows + ROW_COUNT; r++) {
        const char *at = (const char *)spec + r->at, *text[STENCIL_AXES] = {at};
        const int count = r->count_at != 0 ? *(const int *)((const char *)spec + r->count_at) : 1;
        for (int i = 0; i < count && r->index; i++)
            text[i] = r->words[((const int *)at)[i]];
        const bool given = r->type == STENCIL_ATTRIBUTE_TEXT   ? text[0][0] != '\0'
                           : r->type == STENCIL_ATTRIBUTE_REAL ? !isnan(*(const double *)at)
                                                               : *(const int64_t *)at >= r->least;
        if (count > 0 && given && r->new_name == NULL)
            TRY(stencil_attribute_write(file, path, r->name, r->type, count,
                                        r->type == STENCIL_ATTRIBUTE_TEXT ? (const void *)text : at));
    }
    return STENCIL_OK;
}

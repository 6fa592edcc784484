/* Choice of the dataset that is the field: the one asked for, else the one that the attribute `field` names,
 * else /u. */
#include <stdio.h>
#include <string.h>

#include "base/words.h"
#include "inputs/file.h"

#define USUAL "/u"

/* Returns why a field cannot have that name, or NULL. */
static const char *find_fault(const char *name) {
    name += name[0] == '/';
    const bool dots = strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
    return name[0] == '\0' || dots                ? "that is no name"
           : strchr(name, '/') != NULL            ? "a field stands in the root group"
           : strlen(name) + 2 > STENCIL_FIELD_MAX ? "that is too long"
           : stencil_object_known(name) != NULL   ? "that is the name of something else"
                                                  : NULL;
}

static bool holds(hid_t file, const char *name) {
    return H5Lexists(file, name, H5P_DEFAULT) > 0;
}

/* A search for the dataset that a mistyped name means. */
typedef struct search {
    stencil_nearest near;
    char name[STENCIL_FIELD_MAX]; /* the nearest name, copied, since HDF5's names do not persist */
} search;

static herr_t offer(hid_t file, const char *name, const H5L_info_t *info, void *data) {
    search *s = data;
    (void)file, (void)info;
    if (find_fault(name) == NULL && strcmp(name, &USUAL[1]) != 0)
        stencil_nearest_offer(&s->near, name);
    if (s->near.name == name) {
        snprintf(s->name, sizeof s->name, "%s", name);
        s->near.name = s->name;
    }
    return 0;
}

static bool find_near(hid_t file, const char *name, char found[STENCIL_FIELD_MAX]) {
    search s = {.near = {.word = name + (name[0] == '/'), .strict = 1}};
    H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, offer, &s);
    if (s.near.name == NULL)
        return false;
    snprintf(found, STENCIL_FIELD_MAX, "/%.*s", STENCIL_FIELD_MAX - 2, s.name);
    return true;
}

/* Stores a dataset's name, given with or without "/", as "/name", and "" for /u. */
static void take(const char *name, char field[STENCIL_FIELD_MAX]) {
    snprintf(field, STENCIL_FIELD_MAX, "/%s", name + (name[0] == '/'));
    if (strcmp(field, USUAL) == 0)
        field[0] = '\0';
}

stencil_status stencil_field_choose(hid_t file, const char *path, const char *asked,
                                    char field[STENCIL_FIELD_MAX], bool *passed_over) {
    char stated[STENCIL_FIELD_MAX] = "", other[STENCIL_FIELD_MAX];
    const char *fault = asked != NULL ? find_fault(asked) : NULL;
    field[0] = '\0';
    *passed_over = false;
    CHECK(fault == NULL, USAGE, "--field %s: %s; give the name of a dataset in the root group of '%s'", asked,
          fault, path);
    if (asked != NULL) {
        take(asked, field);
        return STENCIL_OK;
    }
    const bool read = stencil_attribute_text(file, "field", stated, sizeof stated);
    if (!read && H5Aexists(file, "field") <= 0)
        return STENCIL_OK;
    fault = read ? find_fault(stated) : "it is no text";
    /* An attribute `field` that names no dataset may mean something else if the file has /u, unless a run
     * wrote it or it is mistyped. */
    const bool near = fault == NULL && !holds(file, stated) && find_near(file, stated, other),
               exists = fault != NULL && read && stated[0] != '\0' && holds(file, stated);
    CHECK(!near, BAD_DATA, "'%s': attribute 'field' is '%s', which is no dataset: did you mean %s?", path,
          stated, other);
    if (fault != NULL || (!holds(file, stated) && holds(file, USUAL))) {
        CHECK(holds(file, USUAL) && !exists && H5Aexists(file, "steps_total") <= 0, BAD_DATA,
              "'%s': attribute 'field' is '%s': %s; give the name of a dataset in the root group", path,
              stated, fault != NULL ? fault : "there is no such dataset");
        *passed_over = true;
        return STENCIL_OK;
    }
    take(stated, field);
    return STENCIL_OK;
}

/* Finds the first dataset that could be a field. */
static herr_t find_candidate(hid_t file, const char *name, const H5L_info_t *info, void *found) {
    STENCIL_ITEM d =
        stencil_item_dataset(info->type == H5L_TYPE_HARD && find_fault(name) == NULL ? file : -1, name);
    const int rank = d.type_class == H5T_FLOAT ? H5Sget_simple_extent_ndims(d.space) : 0;
    if (rank != 2 && rank != 3)
        return 0;
    snprintf(found, STENCIL_FIELD_MAX, "/%s", name);
    return 1;
}

stencil_status stencil_field_refuse_missing(hid_t file, const char *path, const stencil_spec *spec) {
    char other[STENCIL_FIELD_MAX] = "";
    const char *name = stencil_spec_field(spec);
    if (!find_near(file, name, other))
        H5Literate(file, H5_INDEX_NAME, H5_ITER_INC, NULL, find_candidate, other);
    CHECK(other[0] == '\0', BAD_DATA,
          "'%s' has no dataset %s: give the initial values as %s, or say which dataset they are: --field %s",
          path, name, name, other);
    FAIL(BAD_DATA, "'%s' has no dataset %s: give the initial values as %s", path, name, name);
}

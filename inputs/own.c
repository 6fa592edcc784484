/* The user's own in a file: kept in the result. */
#include <stdlib.h>
#include <string.h>

#include "inputs/format.h"
#include "inputs/h5.h"

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
    if (t->of[0] == '\0' && stencil_format_knows(STENCIL_NAME_ATTRIBUTE, name))
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
    if (stencil_format_knows(STENCIL_NAME_OBJECT, name))
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

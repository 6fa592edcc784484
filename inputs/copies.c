/* Copies objects and attributes to another file, avoiding faults of HDF5's copy functions. */
#include <stdio.h>

#include "base/words.h"
#include "inputs/file.h"

enum { NAME_CHARS = 1024 };

const char *stencil_attribute_copy(hid_t from, const char *name, hid_t to, bool from_elsewhere) {
    STENCIL_ITEM item = stencil_item_attribute(from, name);
    if (stencil_item_refers(&item)) /* references are copied by stencil_references_copy() */
        return from_elsewhere ? "it refers to objects of another file" : NULL;
    return stencil_item_copy(&item, to, name, NULL, NULL) < 0 ? stencil_h5_reason() : NULL;
}

/* State of copying an object with its members and attributes. */
typedef struct copied {
    hid_t to;
    const char *name; /* name of the object */
    int depth;        /* nesting depth of groups */
    stencil_notes *notes;
} copied;
enum { DEPTH_MAX = 32 };

static herr_t copy_attribute(hid_t from, const char *name, const H5A_info_t *info, void *data) {
    const copied *c = data;
    (void)info;
    const char *why = stencil_attribute_copy(from, name, c->to, false);
    if (why != NULL)
        stencil_notes_warn(c->notes, "attribute '%s' of %s is not kept in the result: %s", name, c->name,
                           why);
    return 0;
}

void stencil_attributes_copy(hid_t from, hid_t to, const char *name, stencil_notes *notes) {
    copied c = {to, name, 0, notes};
    if (H5Aiterate2(from, H5_INDEX_NAME, H5_ITER_INC, NULL, copy_attribute, &c) < 0)
        stencil_notes_warn(notes, "attributes of %s are not kept in the result: %s", name,
                           stencil_h5_reason());
}

/* Copies an object's attributes, unless the copy already has some. */
static void copy_attributes_of(hid_t from, hid_t to, const char *name, stencil_notes *notes) {
    H5O_info_t info;
    if (from >= 0 && to >= 0 && H5Oget_info1(to, &info) >= 0 && info.num_attrs == 0)
        stencil_attributes_copy(from, to, name, notes);
}

static herr_t copy_link(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    const copied *c = data;
    char path[NAME_CHARS];
    if (info->type != H5L_TYPE_HARD)
        return 0;
    snprintf(path, sizeof path, "/%s/%s", c->name, name);
    STENCIL_HANDLE from = H5Oopen(group, name, H5P_DEFAULT), to = H5Oopen(c->to, name, H5P_DEFAULT);
    copy_attributes_of(from, to, path, c->notes);
    return 0;
}

/* Copies an object and its members by HDF5 without attributes, then the attributes one by one: HDF5 1.10
 * crashes when copying variable-length texts in densely stored attributes. */
static herr_t copy_whole(hid_t from, hid_t to, const char *name, stencil_notes *notes) {
    STENCIL_HANDLE how = H5Pcreate(H5P_OBJECT_COPY);
    if (how < 0 || H5Pset_copy_object(how, H5O_COPY_WITHOUT_ATTR_FLAG) < 0 ||
        H5Ocopy(from, name, to, name, how, H5P_DEFAULT) < 0)
        return -1;
    STENCIL_HANDLE object = H5Oopen(from, name, H5P_DEFAULT), copy = H5Oopen(to, name, H5P_DEFAULT);
    copy_attributes_of(object, copy, name + (name[0] == '/'), notes);
    if (object >= 0 && copy >= 0 && H5Iget_type(object) == H5I_GROUP)
        H5Lvisit(object, H5_INDEX_NAME, H5_ITER_NATIVE, copy_link, &(copied){copy, name, 0, notes});
    return 0;
}

/* Tells whether an object is a dataset of variable-length values with a fill value, for which HDF5 copies an
 * address in the heap of the original file. */
static bool has_far_fill(hid_t object) {
    STENCIL_ITEM d = stencil_item_of(object);
    STENCIL_HANDLE create = d.type < 0 ? -1 : H5Dget_create_plist(object);
    H5D_fill_value_t fill = H5D_FILL_VALUE_UNDEFINED;
    return create >= 0 && (H5Tdetect_class(d.type, H5T_VLEN) > 0 || H5Tis_variable_str(d.type) > 0) &&
           H5Pfill_value_defined(create, &fill) >= 0 && fill == H5D_FILL_VALUE_USER_DEFINED;
}

static herr_t find_far_fill(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    (void)data;
    STENCIL_HANDLE object = info->type == H5L_TYPE_HARD ? H5Oopen(group, name, H5P_DEFAULT) : -1;
    return object >= 0 && has_far_fill(object);
}

/* Recreates a dataset of variable-length values from its values, without its fill value. */
static herr_t copy_values(hid_t from, hid_t to, const char *name) {
    hsize_t size[H5S_MAX_RANK];
    STENCIL_ITEM d = stencil_item_of(from);
    STENCIL_HANDLE old = H5Dget_create_plist(from), create = H5Pcreate(H5P_DATASET_CREATE);
    if (d.count < 0 || old < 0 || create < 0)
        return -1;
    if (H5Pget_layout(old) == H5D_CHUNKED) {
        const int rank = H5Pget_chunk(old, H5S_MAX_RANK, size);
        if (rank < 1 || H5Pset_chunk(create, rank, size) < 0)
            return -1;
    }
    STENCIL_HANDLE made = H5Dcreate2(to, name, d.type, d.space, H5P_DEFAULT, create, H5P_DEFAULT);
    return made < 0 ? -1 : stencil_item_copy(&d, made, NULL, NULL, NULL);
}

/* Copies a member of a group, for groups in which HDF5 cannot copy some member. */
static herr_t copy_member(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    const copied *c = data;
    const herr_t failed = info->type == H5L_TYPE_HARD
                              ? stencil_object_copy(group, c->to, name, c->depth + 1, c->notes)
                              : H5Lcopy(group, name, c->to, name, H5P_DEFAULT, H5P_DEFAULT);
    if (failed < 0)
        stencil_notes_warn(c->notes, "'%s' of /%s is not kept in the result: %s", name, c->name,
                           stencil_h5_reason());
    return 0;
}

herr_t stencil_object_copy(hid_t from, hid_t to, const char *name, int depth, stencil_notes *notes) {
    const char *plain = name + (name[0] == '/');
    STENCIL_HANDLE object = H5Oopen(from, name, H5P_DEFAULT);
    const bool is_group = object >= 0 && H5Iget_type(object) == H5I_GROUP;
    if (object < 0 || depth > DEPTH_MAX)
        return -1;
    if (has_far_fill(object)) {
        if (copy_values(object, to, name) < 0)
            return -1;
    } else if (is_group && H5Lvisit(object, H5_INDEX_NAME, H5_ITER_NATIVE, find_far_fill, NULL) > 0) {
        STENCIL_HANDLE made = H5Gcreate2(to, name, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
        copied c = {made, plain, depth, notes};
        if (made < 0 || H5Literate(object, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, copy_member, &c) < 0)
            return -1;
    } else
        return copy_whole(from, to, name, notes);
    STENCIL_HANDLE copy = H5Oopen(to, name, H5P_DEFAULT);
    copy_attributes_of(object, copy, plain, notes);
    return 0;
}

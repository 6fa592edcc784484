/* Copies of objects and of attributes in another file, where HDF5's own ones break. */
#include <stdio.h>
#include <stdlib.h>

#include "base/words.h"
#include "inputs/file.h"

enum { NAME_CHARS = 1024 };

/* Values in memory have the type that they have in the file, so that nothing is converted. */
const char *stencil_attribute_copy(hid_t from, const char *name, hid_t to, bool from_elsewhere) {
    STENCIL_HANDLE attribute = H5Aopen(from, name, H5P_DEFAULT);
    STENCIL_HANDLE given = attribute < 0 ? -1 : H5Aget_type(attribute);
    STENCIL_HANDLE type = given < 0 ? -1 : H5Tcopy(given), space = type < 0 ? -1 : H5Aget_space(attribute);
    if (type >= 0 && stencil_type_refers(type)) /* stencil_references_copy() */
        return from_elsewhere ? "it refers to objects of another file" : NULL;
    STENCIL_HANDLE made = space < 0 ? -1 : H5Acreate2(to, name, type, space, H5P_DEFAULT, H5P_DEFAULT);
    const hssize_t count = made < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    if (count == 0)
        return NULL;
    void *values = count < 0 ? NULL : calloc((size_t)count, H5Tget_size(type));
    herr_t failed = values == NULL ? -1 : H5Aread(attribute, type, values);
    if (failed >= 0) {
        failed = H5Awrite(made, type, values);
        if (failed < 0)
            stencil_h5_reason();
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, values);
    }
    free(values);
    return failed < 0 ? stencil_h5_reason() : NULL;
}

/* An object whose attributes are copied. */
typedef struct copied {
    hid_t to;
    const char *name;
    stencil_notes *notes;
} copied;

static herr_t copy_visited(hid_t from, const char *name, const H5A_info_t *info, void *data) {
    const copied *c = data;
    (void)info;
    const char *why = stencil_attribute_copy(from, name, c->to, false);
    if (why != NULL && c->notes != NULL)
        stencil_notes_warn(c->notes, "attribute '%s' of %s is not kept in the result: %s", name, c->name,
                           why);
    return 0;
}

void stencil_attributes_copy(hid_t from, hid_t to, const char *name, stencil_notes *notes) {
    copied c = {to, name, notes};
    if (H5Aiterate2(from, H5_INDEX_NAME, H5_ITER_INC, NULL, copy_visited, &c) < 0 && notes != NULL)
        stencil_notes_warn(notes, "attributes of %s are not kept in the result: %s", name,
                           stencil_h5_reason());
}

/* An object of the user's own and its copy, which has no attributes yet. */
typedef struct twin {
    hid_t to;
    const char *name;
    stencil_notes *notes;
} twin;

static void copy_attributes_of(hid_t from, hid_t to, const char *name, stencil_notes *notes) {
    H5O_info_t info;
    if (from >= 0 && to >= 0 && H5Oget_info1(to, &info) >= 0 && info.num_attrs == 0)
        stencil_attributes_copy(from, to, name, notes);
}

static herr_t copy_link(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    const twin *t = data;
    char path[NAME_CHARS];
    if (info->type != H5L_TYPE_HARD)
        return 0;
    snprintf(path, sizeof path, "/%s/%s", t->name, name);
    STENCIL_HANDLE from = H5Oopen(group, name, H5P_DEFAULT), to = H5Oopen(t->to, name, H5P_DEFAULT);
    copy_attributes_of(from, to, path, t->notes);
    return 0;
}

/* Copies an object and all that is in it with HDF5, but for attributes. HDF5 1.10 copies texts of variable
 * length in them without what it needs for it, and crashes, where an object has so many that it keeps them
 * apart. */
static herr_t copy_whole(hid_t from, hid_t to, const char *name, stencil_notes *notes) {
    STENCIL_HANDLE how = H5Pcreate(H5P_OBJECT_COPY);
    if (how < 0 || H5Pset_copy_object(how, H5O_COPY_WITHOUT_ATTR_FLAG) < 0 ||
        H5Ocopy(from, name, to, name, how, H5P_DEFAULT) < 0)
        return -1;
    STENCIL_HANDLE object = H5Oopen(from, name, H5P_DEFAULT), copy = H5Oopen(to, name, H5P_DEFAULT);
    copy_attributes_of(object, copy, name + (name[0] == '/'), notes);
    if (object >= 0 && copy >= 0 && H5Iget_type(object) == H5I_GROUP)
        H5Lvisit(object, H5_INDEX_NAME, H5_ITER_NATIVE, copy_link, &(twin){copy, name, notes});
    return 0;
}

/* Tells whether an object is a dataset of values of variable length with a fill value: of that HDF5 copies
 * the place in the heap of the other file. */
static bool has_far_fill(hid_t object) {
    STENCIL_HANDLE type = H5Iget_type(object) == H5I_DATASET ? H5Dget_type(object) : -1;
    STENCIL_HANDLE create = type < 0 ? -1 : H5Dget_create_plist(object);
    H5D_fill_value_t fill = H5D_FILL_VALUE_UNDEFINED;
    return create >= 0 && (H5Tdetect_class(type, H5T_VLEN) > 0 || H5Tis_variable_str(type) > 0) &&
           H5Pfill_value_defined(create, &fill) >= 0 && fill == H5D_FILL_VALUE_USER_DEFINED;
}

static herr_t find_far_fill(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    (void)data;
    STENCIL_HANDLE object = info->type == H5L_TYPE_HARD ? H5Oopen(group, name, H5P_DEFAULT) : -1;
    return object >= 0 && has_far_fill(object);
}

/* Makes such a dataset anew from its values, without the fill value. */
static herr_t copy_values(hid_t from, hid_t to, const char *name) {
    hsize_t size[H5S_MAX_RANK];
    STENCIL_HANDLE type = H5Dget_type(from), space = H5Dget_space(from), old = H5Dget_create_plist(from),
                   create = H5Pcreate(H5P_DATASET_CREATE);
    const hssize_t count = space < 0 ? -1 : H5Sget_simple_extent_npoints(space);
    if (type < 0 || count < 0 || old < 0 || create < 0)
        return -1;
    if (H5Pget_layout(old) == H5D_CHUNKED) {
        const int rank = H5Pget_chunk(old, H5S_MAX_RANK, size);
        if (rank < 1 || H5Pset_chunk(create, rank, size) < 0)
            return -1;
    }
    STENCIL_HANDLE made = H5Dcreate2(to, name, type, space, H5P_DEFAULT, create, H5P_DEFAULT);
    if (made < 0 || count == 0)
        return made < 0 ? -1 : 0;
    void *values = calloc((size_t)count, H5Tget_size(type));
    herr_t failed = values == NULL ? -1 : H5Dread(from, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
    if (failed >= 0) {
        failed = H5Dwrite(made, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, values);
        if (failed < 0)
            stencil_h5_reason();
        H5Dvlen_reclaim(type, space, H5P_DEFAULT, values);
    }
    free(values);
    return failed;
}

/* A group that is copied object by object, since one in it cannot be copied by HDF5. */
typedef struct apart {
    hid_t to; /* the copy of the group */
    const char *name;
    int depth;
    stencil_notes *notes;
} apart;
enum { DEPTH_MAX = 32 };

static herr_t copy_object(hid_t from, hid_t to, const char *name, int depth, stencil_notes *notes);

static herr_t copy_member(hid_t group, const char *name, const H5L_info_t *info, void *data) {
    const apart *a = data;
    const herr_t failed = info->type == H5L_TYPE_HARD
                              ? copy_object(group, a->to, name, a->depth + 1, a->notes)
                              : H5Lcopy(group, name, a->to, name, H5P_DEFAULT, H5P_DEFAULT);
    if (failed < 0 && a->notes != NULL)
        stencil_notes_warn(a->notes, "'%s' of /%s is not kept in the result: %s", name, a->name,
                           stencil_h5_reason());
    return 0;
}

static herr_t copy_object(hid_t from, hid_t to, const char *name, int depth, stencil_notes *notes) {
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
        apart a = {made, plain, depth, notes};
        if (made < 0 || H5Literate(object, H5_INDEX_NAME, H5_ITER_NATIVE, NULL, copy_member, &a) < 0)
            return -1;
    } else
        return copy_whole(from, to, name, notes);
    STENCIL_HANDLE copy = H5Oopen(to, name, H5P_DEFAULT);
    copy_attributes_of(object, copy, plain, notes);
    return 0;
}

herr_t stencil_object_copy(hid_t from, hid_t to, const char *name, stencil_notes *notes) {
    return copy_object(from, to, name, 0, notes);
}

/* Object references of dimension scales (DIMENSION_LIST, REFERENCE_LIST) and of the user's own attributes and
 * datasets. HDF5 leaves references empty in copies of objects in another file; this code makes references
 * point to the copies. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/axes.h"
#include "inputs/file.h"
#include "inputs/reading.h"

/* Addresses of an object in the input and of its copy in the result (0: no copy). */
typedef struct pair {
    hobj_ref_t from, to;
    int64_t order; /* order of finding: of several names of an object the first counts */
    bool past;     /* whether a run writes the object anew */
    bool array;    /* whether it is the field or a source */
} pair;

typedef struct transfer {
    const stencil_h5_input *input;
    hid_t from, to; /* input and result file */
    int64_t count, room;
    pair *pairs;   /* pairs, [count], sorted by find_pairs() */
    int64_t empty; /* references of the current attribute without a target in the result */
    bool full;     /* memory for more pairs ran out */
    hid_t object;  /* the result's object being processed, and its pair */
    const pair *pair;
    stencil_notes *notes;
} transfer;

static int compare_pairs(const void *left, const void *right) {
    const pair *a = left, *b = right;
    return a->from != b->from ? (a->from < b->from ? -1 : 1) : (a->order > b->order) - (a->order < b->order);
}

/* Adds the pair of the objects called `name` in both files. */
static void add_pair(transfer *t, const char *name, bool array) {
    const stencil_known *known = stencil_object_known(name);
    pair p = {.order = t->count, .past = known != NULL && known->past, .array = array};
    if (t->count == t->room) {
        const int64_t room = 2 * t->room + 64;
        pair *more = realloc(t->pairs, (size_t)room * sizeof *more);
        t->full = more == NULL;
        if (t->full)
            return;
        t->pairs = more;
        t->room = room;
    }
    if (H5Rcreate(&p.from, t->from, name, H5R_OBJECT, -1) < 0)
        return;
    if (H5Rcreate(&p.to, t->to, name, H5R_OBJECT, -1) < 0)
        p.to = 0;
    t->pairs[t->count++] = p;
}

static herr_t visit_link(hid_t file, const char *name, const H5L_info_t *info, void *data) {
    transfer *t = data;
    (void)file;
    if (info->type == H5L_TYPE_HARD)
        add_pair(t, name, false);
    return t->full ? -1 : 0;
}

/* Finds all pairs. An array that a run reads gets its format name in the result, whatever links to it. */
static bool find_pairs(transfer *t) {
    add_pair(t, "/", false);
    if (stencil_file_holds(t->from, t->input->facts.field))
        add_pair(t, t->input->facts.field, true);
    for (int source = STENCIL_SOURCE_NONE + 1; source < STENCIL_DATASET_COUNT; source++)
        if (stencil_file_holds(t->from, stencil_source_names[source]))
            add_pair(t, stencil_source_names[source], true);
    H5Lvisit(t->from, H5_INDEX_NAME, H5_ITER_INC, visit_link, t);
    if (t->count > 0)
        qsort(t->pairs, (size_t)t->count, sizeof *t->pairs, compare_pairs);
    return !t->full;
}

static int compare_key(const void *key, const void *element) {
    const hobj_ref_t from = *(const hobj_ref_t *)key, other = ((const pair *)element)->from;
    return (from > other) - (from < other);
}

static hobj_ref_t counterpart(transfer *t, hobj_ref_t from) {
    const pair *found = bsearch(&from, t->pairs, (size_t)t->count, sizeof *t->pairs, compare_key);
    while (found != NULL && found > t->pairs && found[-1].from == from)
        found--;
    const hobj_ref_t to = found != NULL ? found->to : 0;
    t->empty += to == 0 && from != 0;
    return to;
}

/* Replaces a reference to a region of a dataset. */
static void replace_region(transfer *t, hid_t type, void *value) {
    const hdset_reg_ref_t nothing = {0};
    hdset_reg_ref_t made = {0};
    hobj_ref_t of = 0;
    if (H5Tget_size(type) == sizeof nothing && memcmp(value, &nothing, sizeof nothing) == 0)
        return;
    STENCIL_HANDLE from = H5Tequal(type, H5T_STD_REF_DSETREG) > 0
                              ? H5Rdereference2(t->from, H5P_DEFAULT, H5R_DATASET_REGION, value)
                              : -1;
    STENCIL_HANDLE space = from < 0 ? -1 : H5Rget_region(t->from, H5R_DATASET_REGION, value);
    const bool known = space >= 0 && H5Rcreate(&of, from, ".", H5R_OBJECT, -1) >= 0;
    of = known ? counterpart(t, of) : 0;
    STENCIL_HANDLE to = of == 0 ? -1 : H5Rdereference2(t->to, H5P_DEFAULT, H5R_OBJECT, &of);
    if (to < 0 || H5Rcreate(&made, to, ".", H5R_DATASET_REGION, space) < 0)
        t->empty++;
    memset(value, 0, H5Tget_size(type));
    memcpy(value, &made, sizeof made < H5Tget_size(type) ? sizeof made : H5Tget_size(type));
}

static void replace_all(void *context, hid_t type, char *values, size_t count);

/* Replaces the references in a value in memory, of any nested type. */
static void replace(transfer *t, hid_t type, H5T_class_t type_class, hid_t base, char *value) {
    hobj_ref_t reference;
    if (type_class == H5T_VLEN) {
        const hvl_t *list = (const void *)value;
        replace_all(t, base, list->p, list->len);
    } else if (type_class == H5T_ARRAY) {
        replace_all(t, base, value, H5Tget_size(type) / H5Tget_size(base));
    } else if (type_class == H5T_COMPOUND) {
        for (int i = 0; i < H5Tget_nmembers(type); i++) {
            STENCIL_HANDLE member = H5Tget_member_type(type, (unsigned)i);
            replace_all(t, member, value + H5Tget_member_offset(type, (unsigned)i), 1);
        }
    } else if (H5Tequal(type, H5T_STD_REF_OBJ) > 0) {
        memcpy(&reference, value, sizeof reference);
        reference = counterpart(t, reference);
        memcpy(value, &reference, sizeof reference);
    } else {
        replace_region(t, type, value);
    }
}

static void replace_all(void *context, hid_t type, char *values, size_t count) {
    transfer *t = context;
    const H5T_class_t type_class = H5Tget_class(type);
    STENCIL_HANDLE base = type_class == H5T_VLEN || type_class == H5T_ARRAY ? H5Tget_super(type) : -1;
    if (type_class == H5T_REFERENCE || H5Tdetect_class(type, H5T_REFERENCE) > 0)
        for (size_t i = 0; i < count; i++)
            replace(t, type, type_class, base, values + i * H5Tget_size(type));
}

/* Notes references that cannot be kept. `attribute`: NULL for a dataset's values. */
static void note_loss(const transfer *t, const char *attribute, const char *why) {
    char name[STENCIL_WORD_MAX] = "?", what[2 * STENCIL_WORD_MAX] = "values";
    H5Rget_name(t->to, H5R_OBJECT, &t->pair->to, name, sizeof name);
    if (attribute != NULL)
        snprintf(what, sizeof what, "attribute '%s'", attribute);
    stencil_notes_warn(t->notes, "%s of %s %s not kept in the result: %s", what, name,
                       attribute != NULL ? "is" : "are", why);
}

/* Replaces the references in an attribute, or (NULL) in the dataset itself. */
static void mend_item(transfer *t, const stencil_item *from, const char *attribute) {
    if (from->count <= 0 || !stencil_item_refers(from))
        return;
    t->empty = 0;
    if (stencil_item_copy(from, t->object, attribute, replace_all, t) < 0)
        note_loss(t, attribute, stencil_h5_reason());
    else if (t->empty > 0)
        note_loss(t, attribute, "it refers to what the result does not have");
}

static herr_t visit_attribute(hid_t from, const char *name, const H5A_info_t *info, void *data) {
    const transfer *t = data;
    const bool of_run = t->pair->array && strcmp(name, "DIMENSION_LIST") == 0; /* attached anew, where so */
    (void)info;
    if (of_run && stencil_axes_made(t->from, "x"))
        return 0;
    STENCIL_ITEM item = stencil_item_attribute(from, name);
    mend_item(data, &item, name);
    return 0;
}

static void mend_object(transfer *t, const pair *p) {
    STENCIL_HANDLE from = H5Rdereference2(t->from, H5P_DEFAULT, H5R_OBJECT, &p->from);
    STENCIL_HANDLE to = H5Rdereference2(t->to, H5P_DEFAULT, H5R_OBJECT, &p->to);
    if (from < 0 || to < 0)
        return;
    t->object = to;
    t->pair = p;
    H5Aiterate2(from, H5_INDEX_NAME, H5_ITER_INC, NULL, visit_attribute, t);
    STENCIL_ITEM values = stencil_item_of(from);
    if (values.id >= 0 && !stencil_dataset_elsewhere(from))
        mend_item(t, &values, NULL);
}

void stencil_references_copy(const stencil_h5_input *from, hid_t to, stencil_notes *notes) {
    transfer t = {.input = from, .from = from->file, .to = to, .notes = notes};
    stencil_reading_at("references to objects");
    if (find_pairs(&t))
        for (int64_t i = 0; i < t.count; i++) {
            if (i > 0 && t.pairs[i - 1].from == t.pairs[i].from) /* another name of the same object */
                t.pairs[i].array = t.pairs[i].array || t.pairs[i - 1].array;
            if (t.pairs[i].to != 0 && !t.pairs[i].past) /* the run does not write the object anew */
                mend_object(&t, &t.pairs[i]);
        }
    free(t.pairs);
}

/* A result whose field has dimension scales gives /residual a scale as well: netCDF-4 readers reject a
 * dataset without scales among others with them, or give it a dimension of another name. */
#define STEPS "residual_step"

/* netCDF-4's number of a dimension, unique in a file; netCDF-4 would give a scale without a number the number
 * of another dimension. */
#define DIMENSION_NUMBER "_Netcdf4Dimid"

/* Writes an attribute with one value, as a scalar or as a list. */
static herr_t write_attribute(hid_t object, const char *name, bool list, hid_t type, const void *value) {
    const hsize_t one = 1;
    STENCIL_HANDLE space = list ? H5Screate_simple(1, &one, NULL) : H5Screate(H5S_SCALAR);
    return stencil_attribute_make(object, name, type, space, type, value);
}

static herr_t write_text(hid_t object, const char *name, const char *text) {
    STENCIL_HANDLE type = H5Tcopy(H5T_C_S1);
    return type < 0 || H5Tset_size(type, strlen(text) + 1) < 0
               ? -1
               : write_attribute(object, name, false, type, text);
}

/* Attaches a dimension scale by the two attributes of "HDF5 Dimension Scale Specification": the dataset's
 * list of scales, and the scale's list of datasets. */
static herr_t attach(hid_t file, hid_t residual, hid_t scale) {
    struct {
        hobj_ref_t dataset;
        int dimension;
    } use = {0};
    hobj_ref_t reference = 0;
    hvl_t list = {1, &reference};
    STENCIL_HANDLE uses = H5Tcreate(H5T_COMPOUND, sizeof use), lists = H5Tvlen_create(H5T_STD_REF_OBJ);
    if (uses < 0 || lists < 0 || H5Rcreate(&use.dataset, file, "residual", H5R_OBJECT, -1) < 0 ||
        H5Rcreate(&reference, file, STEPS, H5R_OBJECT, -1) < 0 ||
        H5Tinsert(uses, "dataset", 0, H5T_STD_REF_OBJ) < 0 ||
        H5Tinsert(uses, "dimension", sizeof use.dataset, H5T_NATIVE_INT) < 0)
        return -1;
    const herr_t failed = write_attribute(scale, "REFERENCE_LIST", true, uses, &use);
    return failed < 0 ? failed : write_attribute(residual, "DIMENSION_LIST", true, lists, &list);
}

/* Finds the largest netCDF-4 dimension number in a file; -1: the file has none. */
static herr_t find_number(hid_t file, const char *name, const H5L_info_t *info, void *largest) {
    int64_t number = -1;
    STENCIL_HANDLE object = info->type == H5L_TYPE_HARD ? H5Oopen(file, name, H5P_DEFAULT) : -1;
    STENCIL_ITEM a = stencil_item_attribute(object, DIMENSION_NUMBER);
    if (a.count == 1 && stencil_item_is_number(&a) && H5Aread(a.id, H5T_NATIVE_INT64, &number) >= 0 &&
        number > *(int64_t *)largest)
        *(int64_t *)largest = number;
    return 0;
}

stencil_status stencil_history_attach(hid_t file, const char *path, const char *field) {
    STENCIL_HANDLE u = H5Dopen2(file, field, H5P_DEFAULT), residual = H5Dopen2(file, "residual", H5P_DEFAULT),
                   scale = H5Dopen2(file, STEPS, H5P_DEFAULT);
    int64_t largest = -1;
    if (u < 0 || H5Aexists(u, "DIMENSION_LIST") <= 0)
        return STENCIL_OK;
    H5Lvisit(file, H5_INDEX_NAME, H5_ITER_NATIVE, find_number, &largest);
    const int number = (int)largest + 1;
    return stencil_h5_check_written(
        write_text(scale, "CLASS", "DIMENSION_SCALE") >= 0 && write_text(scale, "NAME", STEPS) >= 0 &&
            (largest < 0 || write_attribute(scale, DIMENSION_NUMBER, false, H5T_NATIVE_INT, &number) >= 0) &&
            attach(file, residual, scale) >= 0,
        path, "the scale of /residual");
}

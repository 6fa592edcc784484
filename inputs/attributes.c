/* Reads and writes attributes of the file format; each one that cannot be read has an error message. */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/words.h"
#include "inputs/h5.h"
#include "inputs/reading.h"

enum { WANTED_CHARS = 320 };

/* State of reading an attribute of the format. */
typedef struct opened {
    const stencil_attribute *is;
    const char *path;
    const stencil_item *item;
} opened;

/* Fails with "'path': attribute 'name' <what is wrong>; give <what is allowed>". */
__attribute__((format(printf, 2, 3))) static stencil_status refuse(const opened *a, const char *format, ...) {
    const stencil_attribute *is = a->is;
    char wrong[2 * STENCIL_WORD_MAX], wanted[WANTED_CHARS];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(wrong, sizeof wrong, format, arguments);
    va_end(arguments);
    snprintf(wanted, sizeof wanted, "%s", is->wanted != NULL ? is->wanted : "one of");
    if (is->type == STENCIL_ATTRIBUTE_WHOLE)
        snprintf(wanted, sizeof wanted, "a whole number from %" PRId64 " to %" PRId64, is->least,
                 STENCIL_STEPS_MAX);
    if (is->words != NULL)
        stencil_names_add(stencil_text_add(wanted, sizeof wanted, ": "), sizeof wanted, is->words);
    FAIL(BAD_DATA, "'%s': attribute '%s' %s; give %s", a->path, is->name, wrong, wanted);
}

static stencil_status read_as(const opened *a, hid_t type, void *values) {
    CHECK(type >= 0 && H5Aread(a->item->id, type, values) >= 0, BAD_DATA,
          "'%s': cannot read attribute '%s' (%s)", a->path, a->is->name, stencil_h5_reason());
    return STENCIL_OK;
}

static stencil_status store_text(const opened *a, int index, const char *text, void *values) {
    const stencil_attribute *is = a->is;
    const int found = is->words != NULL ? stencil_name_find(text, is->words) : 0;
    if (found < 0 || (is->words != NULL && text[0] == '\0'))
        return refuse(a, "is '%.*s'", STENCIL_WORD_MAX - 1, text);
    if (is->type == STENCIL_ATTRIBUTE_WORD)
        ((int *)values)[index] = found;
    else
        snprintf(values, is->chars, "%s", text);
    return STENCIL_OK;
}

static stencil_status read_texts(const opened *a, void *values) {
    const bool variable = H5Tis_variable_str(a->item->type) > 0;
    const size_t size = variable ? sizeof(char *) : H5Tget_size(a->item->type) + 1;
    STENCIL_HANDLE type = H5Tcopy(H5T_C_S1);
    /* HDF5 converts widths and paddings of strings, but not character sets. */
    const bool made = type >= 0 && H5Tset_cset(type, H5Tget_cset(a->item->type)) >= 0 &&
                      H5Tset_size(type, variable ? H5T_VARIABLE : size) >= 0;
    char *found = calloc((size_t)a->item->count, size);
    CHECK(found != NULL, NO_MEMORY, "no memory for attribute '%s'", a->is->name);
    const stencil_status read = read_as(a, made ? type : -1, found);
    stencil_status status = read;
    for (int i = 0; i < a->item->count && status == STENCIL_OK; i++) {
        const char *text = variable ? ((char **)(void *)found)[i] : found + (size_t)i * size;
        status = store_text(a, i, text != NULL ? text : "", values);
    }
    if (read == STENCIL_OK && variable)
        H5Dvlen_reclaim(type, a->item->space, H5P_DEFAULT, found);
    free(found);
    return status;
}

/* Reads numbers by way of double, in which all integers of the format are exact. */
static stencil_status read_numbers(const opened *a, void *values) {
    const stencil_attribute *is = a->is;
    const bool whole = is->type == STENCIL_ATTRIBUTE_WHOLE;
    double number[STENCIL_AXES];
    TRY(read_as(a, H5T_NATIVE_DOUBLE, number));
    for (int i = 0; i < a->item->count; i++) {
        const double value = number[i], least = (double)is->least;
        if (whole ? !(value == floor(value) && value >= least && value <= (double)STENCIL_STEPS_MAX)
                  : !((isfinite(value) || (is->infinite && !isnan(value))) &&
                      (is->least < 0 || value > 0 || value == least)))
            return a->item->type_class == H5T_INTEGER ? refuse(a, "is %.0f", value)
                                                      : refuse(a, "is %g", value);
        if (whole)
            *(int64_t *)values = (int64_t)value;
        else
            ((double *)values)[i] = value;
    }
    return STENCIL_OK;
}

stencil_status stencil_attribute_read(hid_t object, const char *path, const stencil_attribute *attribute,
                                      void *values, int *count) {
    const char *name = attribute->name;
    stencil_reading_at("attribute '%s'", name);
    const htri_t exists = H5Aexists(object, name);
    *count = 0;
    if (exists < 0)
        TRY(stencil_h5_check_version(path, ""));
    CHECK(exists >= 0, BAD_DATA, "'%s' is damaged: cannot read its attributes (%s)", path,
          stencil_h5_reason());
    if (exists == 0)
        return STENCIL_OK;
    STENCIL_ITEM item = stencil_item_attribute(object, name);
    if (item.space < 0)
        TRY(stencil_h5_check_version(path, name));
    CHECK(item.space >= 0, BAD_DATA, "'%s' is damaged: cannot read attribute '%s' (%s)", path, name,
          stencil_h5_reason());
    const opened a = {attribute, path, &item};
    if (item.count <= 0)
        return refuse(&a, "is empty");
    if (item.count != 1 && item.count != attribute->axes)
        return refuse(&a, "has %lld values", (long long)item.count);
    *count = (int)item.count;
    const H5T_class_t type_class = item.type_class;
    const bool text = attribute->type <= STENCIL_ATTRIBUTE_WORD;
    if (text ? type_class != H5T_STRING : type_class != H5T_FLOAT && type_class != H5T_INTEGER)
        return refuse(&a, "is %s", stencil_h5_class_text(type_class));
    CHECK(text || stencil_h5_is_sound(item.type), BAD_DATA,
          "'%s' is damaged: attribute '%s' has a type that cannot be", path, name);
    return text ? read_texts(&a, values) : read_numbers(&a, values);
}

bool stencil_attribute_text(hid_t object, const char *name, char *text, size_t chars) {
    const stencil_attribute is = {.name = name, .type = STENCIL_ATTRIBUTE_TEXT, .chars = chars};
    int count = 0;
    text[0] = '\0';
    if (stencil_attribute_read(object, "", &is, text, &count) == STENCIL_OK && count == 1)
        return true;
    text[0] = '\0';
    return false;
}

stencil_status stencil_attribute_write(hid_t object, const char *path, const stencil_attribute *attribute,
                                       int count, const void *values) {
    const hsize_t size = (hsize_t)count;
    STENCIL_HANDLE space = count == 1 ? H5Screate(H5S_SCALAR) : H5Screate_simple(1, &size, NULL);
    STENCIL_HANDLE string = H5Tcopy(H5T_C_S1);
    CHECK(string >= 0 && H5Tset_size(string, H5T_VARIABLE) >= 0 && H5Tset_cset(string, H5T_CSET_UTF8) >= 0,
          INTERNAL, "HDF5 makes no string type: %s", stencil_h5_reason());
    const hid_t types[][2] = {[STENCIL_ATTRIBUTE_TEXT] = {string, string},
                              [STENCIL_ATTRIBUTE_WORD] = {string, string},
                              [STENCIL_ATTRIBUTE_REAL] = {H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE},
                              [STENCIL_ATTRIBUTE_WHOLE] = {H5T_STD_I64LE, H5T_NATIVE_INT64}};
    const char *text[STENCIL_AXES] = {values};
    for (int i = 0; i < count && attribute->type == STENCIL_ATTRIBUTE_WORD; i++)
        text[i] = attribute->words[((const int *)values)[i]];
    const hid_t *type = types[attribute->type];
    CHECK(stencil_attribute_make(object, attribute->name, type[0], space, type[1],
                                 attribute->type <= STENCIL_ATTRIBUTE_WORD ? (const void *)text : values) >=
              0,
          IO, "cannot write '%s': attribute '%s': %s", path, attribute->name, stencil_h5_reason());
    return STENCIL_OK;
}

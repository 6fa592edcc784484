/* Attributes of HDF5 objects, read tolerantly (scalar or array, any width, any kind of string) and written
 * plainly. */
#ifndef STENCIL_INPUTS_ATTRIBUTES_H
#define STENCIL_INPUTS_ATTRIBUTES_H

#include <hdf5.h>

#include "base/base.h"

/* Room for a word of the format. */
enum { STENCIL_ATTRIBUTE_CHARS = 64 };

/* What the values are in the program, and in a file that we write. */
typedef enum stencil_attribute_type {
    STENCIL_ATTRIBUTE_TEXT, /* read: char[][chars], cut; written: const char *[], UTF-8 */
    STENCIL_ATTRIBUTE_REAL, /* double; read: of any numbers, BAD_DATA where they are not finite */
    STENCIL_ATTRIBUTE_WHOLE /* int64_t; read: one, of whole floating-point numbers, too */
} stencil_attribute_type;

/* What is to be read. `wanted` serves messages: "'path': attribute 'name' is …; give <wanted>". */
typedef struct stencil_attribute {
    const char *name, *wanted;
    stencil_attribute_type type;
    int count_max;
    int64_t least, most; /* of a WHOLE one */
    size_t chars;        /* of each TEXT one */
} stencil_attribute;

/* *count is 0 where there is no such attribute. BAD_DATA: wrong type or length. */
stencil_status stencil_attribute_read(hid_t object, const char *path, const stencil_attribute *attribute,
                                      void *values, int *count);

/* A new attribute: a scalar for count 1, else an array. IO on failure. */
stencil_status stencil_attribute_write(hid_t object, const char *path, const char *name,
                                       stencil_attribute_type type, int count, const void *values);

#endif

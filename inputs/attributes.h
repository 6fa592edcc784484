/* Attributes of HDF5 objects, read tolerantly (scalar or array, any width, any kind of string) and written
 * plainly. */
#ifndef STENCIL_INPUTS_ATTRIBUTES_H
#define STENCIL_INPUTS_ATTRIBUTES_H

#include <hdf5.h>

#include "base/base.h"

/* What the values are in the program; in a file that we write: float64, int64, UTF-8. */
typedef enum stencil_attribute_type {
    STENCIL_ATTRIBUTE_TEXT, /* char[]; one */
    STENCIL_ATTRIBUTE_WORD, /* an enumeration, the index of a word */
    STENCIL_ATTRIBUTE_REAL, /* double; finite */
    STENCIL_ATTRIBUTE_WHOLE /* int64_t, at most STENCIL_STEPS_MAX */
} stencil_attribute_type;

typedef struct stencil_attribute {
    const char *name;
    stencil_attribute_type type;
    size_t chars;             /* room of a TEXT, which is cut */
    const char *const *words; /* that a TEXT or WORD may be, "" not; NULL: anything */
    int64_t least;            /* that a WHOLE may be; a REAL: 1 means more than 0, -1 any */
    int axes;                 /* a list: one value for all of them or one for each; 0: one value */
    const char *wanted;       /* what is allowed, beside words and limits */
} stencil_attribute;

/* *count is 0 where there is no such attribute. BAD_DATA with what is allowed: a wrong type, length or value.
 */
stencil_status stencil_attribute_read(hid_t object, const char *path, const stencil_attribute *attribute,
                                      void *values, int *count);

/* A new attribute: a scalar for count 1, else an array. IO on failure. */
stencil_status stencil_attribute_write(hid_t object, const char *path, const stencil_attribute *attribute,
                                       int count, const void *values);

#endif

/* Attributes of HDF5 objects, read tolerantly (scalar or array, any width, any kind of string) and written
 * plainly. `path` and `wanted` serve messages: "'path': attribute 'name' is …; give <wanted>". */
#ifndef STENCIL_INPUTS_ATTRIBUTES_H
#define STENCIL_INPUTS_ATTRIBUTES_H

#include <hdf5.h>

#include "base/base.h"

enum { STENCIL_ATTRIBUTE_CHARS = 64 };

/* Up to `count_max` values; *count is 0 where there is no such attribute. BAD_DATA: wrong type or length.
 * Longer strings are cut to their first STENCIL_ATTRIBUTE_CHARS - 1 bytes. */
stencil_status stencil_attribute_strings(hid_t object, const char *path, const char *name, const char *wanted,
                                         int count_max, char text[][STENCIL_ATTRIBUTE_CHARS], int *count);
/* Integers are converted; values that are not finite are BAD_DATA. */
stencil_status stencil_attribute_doubles(hid_t object, const char *path, const char *name, const char *wanted,
                                         int count_max, double *values, int *count);
/* Of floating-point values, whole ones are taken; `least` … `most`. */
stencil_status stencil_attribute_integer(hid_t object, const char *path, const char *name, const char *wanted,
                                         int64_t least, int64_t most, int64_t *value, int *count);

/* New attributes: a scalar for count 1, else an array; strings are UTF-8 of variable length. IO on failure.
 */
stencil_status stencil_attribute_write_strings(hid_t object, const char *path, const char *name, int count,
                                               const char *const *text);
stencil_status stencil_attribute_write_doubles(hid_t object, const char *path, const char *name, int count,
                                               const double *values);
stencil_status stencil_attribute_write_integer(hid_t object, const char *path, const char *name,
                                               int64_t value);

#endif

/* JSON for programs: what every --json does. */
#ifndef STENCIL_APP_JSON_H
#define STENCIL_APP_JSON_H

#include <jansson.h>

#include "app/target.h"

/* A real number; null where it is NaN or infinite, which JSON cannot say. */
json_t *json_number(double value);

/* A text, with text_utf8() of bytes that JSON cannot say; null for NULL and "". */
json_t *json_text(const char *text);

/* An array of `count` real or whole numbers. */
json_t *json_numbers(const double *values, int64_t count);
json_t *json_integers(const int64_t *values, int64_t count);

/* Reads a file; *root is owned by the caller. NO_INPUT; BAD_DATA: no JSON. The file's name is not in the
 * message. */
stencil_status json_read(const char *path, json_t **root);

/* Writes `root` (consumed; NULL: NO_MEMORY) to `target`, indented, real numbers with 17 digits. A file
 * appears whole or not at all, in place of an existing one only with `force`. Does nothing where target is
 * NULL; what does not arrive at standard output is told by output_check(). */
stencil_status json_write(const char *target, bool force, json_t *root);

#endif

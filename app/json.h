/* Files that a command writes in addition to its main result: JSON for programs, CSV and others. */
#pragma once

#include <stdio.h>

#include "records/description.h"

/* Makes a JSON number of a double; null for NaN and infinities, which JSON does not have. */
#define json_number stencil_record_number

/* Makes a JSON string of a text, through text_utf8() where it is not UTF-8; null for NULL and "". */
json_t *json_text(const char *text);

/* Make JSON arrays of `count` real or whole numbers. */
json_t *json_numbers(const double *values, int64_t count);
json_t *json_integers(const int64_t *values, int64_t count);

/* Reads a JSON file; *root is owned by the caller. Errors, whose messages do not name the file: NO_INPUT,
 * NO_MEMORY; BAD_DATA: no JSON. */
stencil_status json_read(const char *path, json_t **root);

/* Returns what JSON written by this program is, and which command reads it: "the description of a machine:
 * …"; NULL: this program has not written it. */
const char *json_what(const json_t *root);

/* Tells whether `target` (a file name, "-" or NULL) is standard output. */
bool target_is_stdout(const char *target);

/* Checks, before a command's work, that the file `target` (NULL: none) can be written. An existing file may
 * be replaced only with `force`, and the file `input` (may be NULL) never. `option` ("--json") is named in
 * messages. Errors: CANNOT_CREATE. */
stencil_status target_check(const char *option, const char *target, bool force, const char *input);
/* Checks that two options do not name one file for their output; `what`: the contents of `other` ("JSON").
 * Paths that are NULL, standard output or no regular files pass. Errors: USAGE. */
stencil_status target_check_apart(const char *option, const char *path, const char *other, const char *what);

/* Function that prints an output file; false: failed, for the reason in errno, which may be 0. */
typedef bool (*target_printer)(FILE *out, const void *content);

/* Writes what `print` prints to `target` (NULL: nothing). A file appears whole or not at all, and replaces an
 * existing file only with `force`. Failures of standard output are found by output_check(). */
stencil_status target_write(const char *option, const char *target, bool force, target_printer print,
                            const void *content);

/* Writes JSON, as target_write() does: `root` (consumed; NULL: NO_MEMORY), indented, real numbers with the
 * fewest digits that read back as the same value. */
stencil_status json_write(const char *option, const char *target, bool force, json_t *root);

/* Files that a command writes beside its main result: JSON for programs, and its like. */
#pragma once

#include <stdio.h>

#include "base/record.h"

/* A real number; null where it is NaN or infinite, which JSON cannot say. */
#define json_number stencil_record_number

/* A text, with text_utf8() of bytes that JSON cannot say; null for NULL and "". */
json_t *json_text(const char *text);

/* An array of `count` real or whole numbers. */
json_t *json_numbers(const double *values, int64_t count);
json_t *json_integers(const int64_t *values, int64_t count);

/* Reads a file; *root is owned by the caller. NO_INPUT, NO_MEMORY; BAD_DATA: no JSON. The file's name is not
 * in the message. */
stencil_status json_read(const char *path, json_t **root);

/* app/json_what.c: what JSON that a command of this program writes is, and which command reads it: "the
 * description of a machine: …". NULL: no command has written it. */
const char *json_what(const json_t *root);

/* Tells whether `target` (a file name, "-" or NULL) is standard output. */
bool target_is_stdout(const char *target);

/* CANNOT_CREATE where `target` cannot be written: looked at before the work that it will report. An existing
 * file is replaced only with `force`, and `input` (may be NULL) never. `option` ("--json") is named in
 * messages. Nothing to check where target is NULL. */
stencil_status target_check(const char *option, const char *target, bool force, const char *input);
/* USAGE: two options name one file, which only the last one would be found in; `what` it is for the other one
 * ("JSON"). Of paths of which one is NULL, standard output or no regular file nothing is said. */
stencil_status target_check_apart(const char *option, const char *path, const char *other, const char *what);

/* Prints what the file holds; false: it could not, errno says why or is 0. */
typedef bool (*target_printer)(FILE *out, const void *content);

/* Writes to `target`. A file appears whole or not at all, in place of an existing one only with `force`. Does
 * nothing where target is NULL; what does not arrive at standard output is told by output_check(). */
stencil_status target_write(const char *option, const char *target, bool force, target_printer print,
                            const void *content);

/* The same with `root` (consumed; NULL: NO_MEMORY), indented, real numbers with the fewest digits that read
 * back the same. */
stencil_status json_write(const char *option, const char *target, bool force, json_t *root);

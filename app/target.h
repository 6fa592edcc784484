/* Files that a command writes beside its main result: --json and its like. */
#ifndef STENCIL_APP_TARGET_H
#define STENCIL_APP_TARGET_H

#include <stdio.h>

#include "base/base.h"

/* Whether `target` (a file name, "-" or NULL) is standard output. */
bool target_is_stdout(const char *target);

/* CANNOT_CREATE where `target` cannot be written: looked at before the work that it will report. An existing
 * file is replaced only with `force`, and `input` (may be NULL) never. `option` ("--json") is named in
 * messages. Nothing to check where target is NULL. */
stencil_status target_check(const char *option, const char *target, bool force, const char *input);

/* Prints what the file holds; false: it could not, errno says why or is 0. */
typedef bool (*target_printer)(FILE *out, const void *content);

/* Writes to `target`. A file appears whole or not at all, in place of an existing one only with `force`. Does
 * nothing where target is NULL; what does not arrive at standard output is told by output_check(). */
stencil_status target_write(const char *option, const char *target, bool force, target_printer print,
                            const void *content);

#endif

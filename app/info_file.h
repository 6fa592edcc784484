/* stencil info FILE: what a file is, and whether its cells are those that its digests are of. */
#pragma once

#include "app/options.h"

/* Reads a problem, a result, a checkpoint, a series or a file of differences, prints what it is, and writes
 * it as JSON where `json` is not NULL. Errors: BAD_DATA: it is none of these, or its cells are not those that
 * a run has written, which is told after the report; NO_INPUT; CANNOT_CREATE; those of the reader. */
stencil_status info_file(const char *path, const char *json, bool force);

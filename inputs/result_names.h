/* Names of files beside a result, which have a mark before its suffix: "p.out.h5" -> "p.out.ckpt.h5". */
#pragma once

#include <limits.h>

#include "base/base.h"

/* The marks of a result's checkpoint, of the one before it, and of its series. */
#define STENCIL_MARK_CHECKPOINT ".ckpt"
#define STENCIL_MARK_BEFORE     ".ckpt.prev"
#define STENCIL_MARK_SERIES     ".series"

/* Returns the length of a name without its suffix .h5 or .hdf5. */
size_t stencil_stem_length(const char *path);

/* Makes the name of a file with a mark beside the result `output`, whose suffix it has, or .h5. Returns false
 * if it is too long. */
bool stencil_marked_name(const char *output, const char *mark, char name[PATH_MAX]);

/* Returns the length of the stem `length` bytes long without the mark; `length` where it does not end in it.
 */
size_t stencil_unmarked_length(const char *path, size_t length, const char *mark);

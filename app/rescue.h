/* A result that cannot be written where it was asked for. */
#ifndef STENCIL_APP_RESCUE_H
#define STENCIL_APP_RESCUE_H

#include "inputs/inputs.h"

/* After a failure `status` of writing what `options` describes: tries the same directory, the current one and
 * the one for temporary files under another name. `name` is that of the file, which the message then ends
 * with, or "". Returns `status`. */
stencil_status rescue_result(stencil_status status, const stencil_output_options *options,
                             const stencil_problem *problem, const stencil_reader *from,
                             const stencil_report *report, char *name, size_t size);

#endif

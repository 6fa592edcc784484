/* Options that state a problem: the same for `run`, where they override the file, and for `new`, where they
 * are stored in it. */
#ifndef STENCIL_APP_PROBLEM_OPTIONS_H
#define STENCIL_APP_PROBLEM_OPTIONS_H

#include "app/options.h"
#include "solver/problem.h"

/* Tables with offsets into stencil_spec. */
extern const option problem_option_table[];
extern const option stop_option_table[];

/* Overrides *spec with the options that were given. A problem replaces a stencil, its points and weights, and
 * a stencil replaces a problem. USAGE: a list does not suit spec->rank (0: not known yet), or an option has
 * no effect on the problem that *spec then states. */
stencil_status problem_options_apply(const invocation *call, stencil_spec *spec);

#endif

/* Options that state a problem: the same for `run`, where they override the file, and for `new`, where they
 * are stored in it. */
#ifndef STENCIL_APP_PROBLEM_OPTIONS_H
#define STENCIL_APP_PROBLEM_OPTIONS_H

#include "app/options.h"
#include "solver/spec.h"

typedef struct problem_options {
    int problem; /* index in stencil_kind_names, less the first, which cannot be given */
    int stencil; /* stencil_shapes[] */
    option_list boundary, spacing;
    double omega, diffusivity, dt;
    int precision;
    int64_t steps;
    double rtol, atol; /* INFINITY: "none" */
    int norm;
    int64_t check_every;
} problem_options;

/* Tables with offsets into problem_options. */
extern const option problem_option_table[];
extern const option stop_option_table[];

/* Overrides *spec with the options that were given. A problem replaces a stencil, its points and weights, and
 * a stencil replaces a problem. USAGE: a list does not suit spec->rank (0: not known yet). */
stencil_status problem_options_apply(const problem_options *options, stencil_spec *spec);

/* USAGE for an option that has no effect on the problem that *spec, the options applied, states. */
stencil_status problem_options_check_effect(const problem_options *options, const stencil_spec *spec);

#endif

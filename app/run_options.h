/* Options of `stencil run`, and the run options that follow from them. */
#pragma once

#include "app/choice.h"
#include "app/keeper.h"
#include "app/options.h"
#include "app/report.h"
#include "solver/run/run.h"

/* Values of the options, zero where not given. */
typedef struct run_options {
    stencil_spec problem; /* has only values of given options, see problem_options_apply() */
    stencil_run_options run;
    int64_t threads;
    int cut_count, absent_part, late, flip_count;
    double rank_timeout_s; /* of ranks */
    int64_t latency_ns;    /* of messages between them */
    const char *machine, *field;
    reading_options reading;
    run_targets files;
    auto_options open;
    keeper_options keeper;
    const char *scrub;
    bool attribute, explain, allow_nonfinite, allow_unwritten, resume;
} run_options;
extern const option run_option_table[];

/* Makes the options of a run of a field with `rank` axes from the command line, whose values are run_options:
 * faults to inject, and --cut. Errors: USAGE. */
stencil_status run_options_complete(const invocation *call, int rank, stencil_run_options *run);

/* Choice of a run's plan; candidate plans, for people and as JSON; and files of wisdom: which plans earlier
 * runs measured to be the quickest, kept in this user's cache or in a file that a site shares. */
#pragma once

#include <jansson.h>

#include "app/text.h"
#include "solver/run/tune.h"

/* Values of --sync and --sweep: "auto" and all strategies or sweeps; NULL after the last one. */
extern const char *const choice_syncs[], *const choice_sweeps[];

/* Row of the option --depth in a table of options (app/options.h). */
#define DEPTH_OPTION(structure, member)                                                                      \
    .name = "depth", .type = OPTION_INTEGER, OPTION_IN(structure, member), .argument = "D",                  \
    .help = "steps that --sweep pipeline makes for each time that it reads the field, resident from one "    \
            "exchange to the next (in 3D it exchanges behind each); auto: as suits it",                      \
    .preset = "auto", .minimum = 1, .maximum = STENCIL_DEPTH_MAX, .automatic = true

/* Choice of a run's plan. Zero-initialised by the caller, who calls stencil_choice_destroy(&choice) in the
 * end. */
typedef struct auto_choice {
    stencil_choice choice;
    stencil_tune tune;
    bool wise; /* the plan was taken from wisdom */
    char wisdom[TEXT_NAME_SIZE];
} auto_choice;

typedef struct auto_options {
    stencil_effort effort;
    const char *wisdom; /* path from wisdom_path() */
    bool dry_run;       /* a dry run: nothing is measured */
    int quiet;          /* number of --quiet options; 0: progress is shown */
} auto_options;

/* Chooses among the candidate plans: by wisdom, else by predictions, for which a long run measures the
 * machine first. Prepares a->tune, which then observes the run. Errors: those of making plans. */
stencil_status auto_choose(auto_choice *a, const stencil_problem *problem, stencil_machine *machine,
                           const auto_options *options, stencil_notes *notes);

/* Keeps the run's measurements as wisdom, after its result is written. A failure is noted where the user has
 * named the file (`named`). */
void auto_keep(const auto_choice *a, const stencil_problem *problem, const stencil_machine *machine,
               bool named, stencil_notes *notes);

/* Finds, in *rival, the quickest candidate plan other than the one that made the steps, on the devices that
 * the options ask for: by this run's measurement (samples > 0), else by prediction. Its `possible` is false
 * where there is no such plan. */
void choice_rival(const stencil_choice *choice, const stencil_problem *problem,
                  const stencil_machine *machine, stencil_candidate *rival);

/* Returns a candidate plan's name: "central, stream, 2 GPUs". */
const char *choice_name(const stencil_candidate *candidate, char text[64]);

/* Print to standard output, 80 columns wide: possible plans with the terms of their predicted times; or all
 * plans, impossible ones too, with what was measured and why each was not chosen. */
void choice_print_terms(const stencil_choice *choice, const stencil_problem *problem);
void choice_print_reasons(const stencil_choice *choice);

/* Returns the candidate plans as a JSON array, owned by the caller. */
json_t *choice_json(const stencil_choice *choice);

/* Returns the path of the wisdom file: `file`, links followed; for NULL this user's; for "off" "". */
const char *wisdom_path(const char *file, char path[TEXT_NAME_SIZE]);

/* Checks that entries may be added to the file `path` that the user has given for this option ("wisdom"): it
 * is wisdom of this version, empty, or missing. Errors: BAD_DATA, UNAVAILABLE, NO_INPUT, NO_MEMORY, USAGE. */
stencil_status wisdom_check(const char *option, const char *path);

/* Returns the index of the candidate that a wisdom file has as quickest for this problem, and stores its time
 * in the candidate; -1: none is known. Entries that are damaged, or of another driver or build, are ignored
 * with a note, too uncertain ones without. */
int wisdom_find(const char *path, stencil_choice *choice, const stencil_problem *problem,
                const stencil_machine *machine, stencil_notes *notes);

/* Adds the measured time of the chosen plan to a wisdom file, safely against other processes. A damaged file
 * is replaced where it is the cache's own, not one that the user named (`named`). Errors: CANNOT_CREATE, IO,
 * and those of wisdom_check(). */
stencil_status wisdom_keep(const char *path, bool named, const stencil_choice *choice,
                           const stencil_problem *problem, const stencil_machine *machine);

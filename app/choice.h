/* Choice of a run's plan; candidates, for people and as JSON; and what runs have found out about which of
 * them is the quickest ("wisdom"), for later ones: in this user's cache, or in a file that a site hands
 * round. */
#pragma once

#include <jansson.h>

#include "app/text.h"
#include "solver/run/tune.h"

/* Values of --sync and --sweep: "auto" and all strategies or sweeps; NULL behind the last one. */
extern const char *const choice_syncs[], *const choice_sweeps[];

/* The row of --depth, with app/options.h. */
#define DEPTH_OPTION(structure, member)                                                                      \
    .name = "depth", .type = OPTION_INTEGER, OPTION_IN(structure, member), .argument = "D",                  \
    .help = "steps that --sweep pipeline makes for each time that it reads the field, resident from one "    \
            "exchange to the next (in 3D it exchanges behind each); auto: as suits it",                      \
    .preset = "auto", .minimum = 1, .maximum = STENCIL_DEPTH_MAX, .automatic = true

/* Zero-initialised and given to stencil_choice_destroy(&choice) in the end. */
typedef struct auto_choice {
    stencil_choice choice;
    stencil_tune tune;
    bool wise; /* an earlier run knew */
    char wisdom[TEXT_NAME_SIZE];
} auto_choice;

typedef struct auto_options {
    stencil_effort effort;
    const char *wisdom; /* wisdom_path() */
    bool dry_run;       /* nothing is measured */
    int quiet;          /* how often that was said; 0: progress is shown */
} auto_options;

/* Decides what a choice leaves open: by wisdom, else by predictions, for which a long run measures the
 * machine first; and prepares the tuning, which is to observe the run. What the plans fail with. */
stencil_status auto_choose(auto_choice *a, const stencil_problem *problem, stencil_machine *machine,
                           const auto_options *options, stencil_notes *notes);

/* After the result is written: keeps what was found out. A failure is noted where the user has `named` the
 * file. */
void auto_keep(const auto_choice *a, const stencil_problem *problem, const stencil_machine *machine,
               bool named, stencil_notes *notes);

/* The quickest plan on the devices that were asked for but the one that made the steps: by what this run has
 * measured of it (samples > 0), else by prediction. Where there is none, it is not `possible`. */
void choice_rival(const stencil_choice *choice, const stencil_problem *problem,
                  const stencil_machine *machine, stencil_candidate *rival);

/* "central, stream, 2 GPUs" (returned). */
const char *choice_name(const stencil_candidate *candidate, char text[64]);

/* To standard output, at 80 columns: possible plans with the terms of their predicted times; or what was
 * measured of them and why they were not chosen, the impossible ones as well. */
void choice_print_terms(const stencil_choice *choice, const stencil_problem *problem);
void choice_print_reasons(const stencil_choice *choice);

/* An array of candidates; and who has chosen among them: "prediction", "wisdom", "measurement". */
json_t *choice_json(const stencil_choice *choice);
const char *choice_by(const auto_choice *a);

/* Finds the file of wisdom (returned): `file`, this user's for NULL, "" for "off"; links are followed. */
const char *wisdom_path(const char *file, char path[TEXT_NAME_SIZE]);

/* Checks that entries may be added to the file `path` that the user has given for this option ("wisdom"): it
 * is wisdom of this version, or empty, or missing. BAD_DATA, UNAVAILABLE, NO_INPUT, NO_MEMORY, USAGE. */
stencil_status wisdom_check(const char *option, const char *path);

/* The candidate that was the quickest for a problem like this one, with what it took; -1: nobody knows. What
 * is damaged, or of another driver or build, is ignored with a note; what was too uncertain, without. */
int wisdom_find(const char *path, stencil_choice *choice, const stencil_problem *problem,
                const stencil_machine *machine, stencil_notes *notes);

/* Keeps what was measured of the chosen one. Other processes may do the same. CANNOT_CREATE, IO, and what
 * wisdom_check() fails with; but the user's own file, which nobody has `named`, is written anew where it is
 * damaged. */
stencil_status wisdom_keep(const char *path, bool named, const stencil_choice *choice,
                           const stencil_problem *problem, const stencil_machine *machine);

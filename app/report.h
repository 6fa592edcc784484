/* Reports of `run`: a text for people, and all of it as JSON for programs. */
#pragma once

#include <jansson.h>
#include <stdio.h>

#include "app/choice.h"
#include "inputs/inputs.h"
#include "solver/run/run.h"

/* Everything that is known of a run. */
typedef struct run_record {
    stencil_output output;            /* with where it comes from; its path NULL: none is written */
    char output_name[TEXT_NAME_SIZE]; /* the path, where nobody gave one */
    stencil_problem problem;
    stencil_machine machine;
    auto_choice choice;
    stencil_notes notes;
    int notes_shown;
    bool done; /* false: before it, or a dry run; the rest is not known */
    stencil_report report;
    double write_s;
    int exit_code;
} run_record;

/* The plan of its choice that makes the steps, or has made the last ones. */
static inline const stencil_plan *run_record_plan(const run_record *run) {
    return &run->choice.choice.item[run->choice.choice.chosen].plan;
}

/* To standard output, at 80 columns: what is going to run (before it does), what came of it, and for a dry
 * run the plan. explain: with all that could have been chosen. */
void report_print_head(const run_record *run);
void report_print_result(const run_record *run, bool explain);
void report_print_plan(run_record *run, bool explain);

/* The equation of a problem, in symbols and with its numbers: "−∇²u = f, by Jacobi iteration, ω 1, spacing
 * 0.5 × 0.5" (returned). ascii: in symbols that need no translation. */
enum { REPORT_EQUATION_CHARS = 512 };
char *report_equation_text(const stencil_problem *problem, bool ascii, char text[REPORT_EQUATION_CHARS]);

/* "rtol 1e-08", "atol 1e-06", "rtol 1e-08, atol 1e-06" (returned). */
const char *report_criteria_text(const stencil_stop *stop, char text[96]);
#define REPORT_CRITERIA(stop) report_criteria_text(stop, (char[96]){""})

/* When a run is going to end; and who has chosen the plan, where there was a choice. */
void report_print_limits(const stencil_stop *stop);
void report_print_choice(const run_record *run);

/* Prints how many steps a pass makes, in which tiles, and which passes are shorter; nothing for one step. */
void report_print_passes(const run_record *run);

/* Print what of each resource a step of a cell needs, and so the best rate that there can be, the least
 * first; and how much of each was used by so many cells per second, where peaks are not nominal. The JSON
 * holds both (cells_per_s 0: it has not run), and is owned by the caller. */
void report_print_bound(const run_record *run);
void report_print_used(const run_record *run, double cells_per_s);
json_t *report_bound_json(const run_record *run, double cells_per_s);

/* Prints the notes that were not shown yet; for a quiet run (1) those that change what the result means, to
 * standard error, a line each; for a quieter one (2) none. */
void report_print_notes(run_record *run, int quiet);

/* Notes what the source term of a run means where it is not what an equation calls its source, or is missing.
 * `file`: the problem as the options found it. */
void report_note_source(run_record *run, const stencil_spec *file);

/* Notes what the cells tell of the end before the first step of laplace and poisson: a limit of the residual
 * below what the precision resolves, or that there is no solution: BAD_DATA where there is a criterion.
 * NO_MEMORY; what the reader fails with. */
stencil_status report_note_outlook(run_record *record, const stencil_reader *cells);

/* Notes what is to be said about the end of a run: before it begins, when it is known from which step it goes
 * on, and when the end is known. */
void report_note_start(run_record *run, const stencil_spec *file); /* file: as the options found it */
void report_note_origin(run_record *run);
void report_note_end(run_record *run);

/* To standard error: one line of what went wrong in a run that ended with an exit code other than 0. */
void report_print_failure(const run_record *run);

/* With schema_version; numbers that are not finite are null. Owned by the caller, NULL without memory. */
json_t *report_json(const run_record *run);

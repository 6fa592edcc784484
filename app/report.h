/* Reports of the command `run`: a text for people, and JSON with all of its contents for programs. */
#pragma once

#include <jansson.h>

#include "app/choice.h"
#include "inputs/claim.h"
#include "inputs/inputs.h"
#include "solver/problem/pockets.h"
#include "solver/run/run.h"

/* The GPUs of several ranks, each by its number among those that the rank sees. */
typedef struct ranks_gpus {
    int own;                   /* that of this rank */
    int sharing;               /* the most ranks that share a GPU */
    int of[STENCIL_PARTS_MAX]; /* those of the first ranks; known to rank 0 */
    bool reach;                /* the GPUs, one for each rank, reach each other's memory */
} ranks_gpus;

/* All data of a run that reports use. */
typedef struct run_record {
    stencil_output output;            /* result file, with its provenance; its path NULL: none is written */
    char output_name[TEXT_NAME_SIZE]; /* path of the result where the options give none */
    stencil_problem problem;
    stencil_machine machine;
    ranks_gpus gpus;
    auto_choice choice;
    stencil_pockets pockets; /* by report_note_pockets() */
    stencil_notes notes;
    int notes_shown;
    bool done; /* false: not run yet, or a dry run; members below are not set */
    stencil_report report;
    double write_s;
    int exit_code;
    stencil_claim claim; /* on the name of the result */
} run_record;

/* Returns the plan that makes the steps of a run, or has made its last steps. */
static inline const stencil_plan *run_record_plan(const run_record *run) {
    return &run->choice.choice.item[run->choice.choice.chosen].plan;
}

/* Print to standard output, 80 columns wide: the problem and machine before the run, the result after it, and
 * the plan of a dry run. explain: with all candidate plans. */
void report_print_head(const run_record *run);
void report_print_result(const run_record *run, bool explain);
void report_print_plan(const run_record *run, bool explain);

/* Writes what /k says: "k from 0.2 to 400, 2 materials: a palette". Returns `text`. */
char *report_coefficients_text(const stencil_problem *problem, char text[160]);

/* Returns the equation of a problem, in symbols and with its numbers: "−∇²u = f, by Jacobi iteration, ω 1,
 * spacing 0.5 × 0.5". ascii: in ASCII symbols. */
enum { REPORT_EQUATION_CHARS = 512 };
char *report_equation_text(const stencil_problem *problem, bool ascii, char text[REPORT_EQUATION_CHARS]);

/* Prints what changes in time: sources, and values of driven cells, with their tables; else nothing. */
void report_print_times(const stencil_problem *problem);
/* Adds a note where a criterion may end a run whose factors still change. */
void report_note_times(run_record *run);

/* Returns the stopping criteria as text: "rtol 1e-08, atol 1e-06", or only those that are set. */
const char *report_criteria_text(const stencil_stop *stop, char text[96]);
#define REPORT_CRITERIA(stop) report_criteria_text(stop, (char[96]){""})

/* Prints how the plan of a run was chosen, where there were several. */
void report_print_choice(const run_record *run);

/* Prints the number of steps of a pass, its tiles, and which passes are shorter; nothing for single-step
 * passes. */
void report_print_passes(const run_record *run);

/* Roofline of a run. report_print_used(): the used share of each resource at a rate of cells_per_s, where
 * peaks were measured. The JSON has the peaks and needs too (cells_per_s 0: not run yet); owned by the
 * caller. */
void report_print_used(const run_record *run, double cells_per_s);
json_t *report_bound_json(const run_record *run, double cells_per_s);

/* Prints the notes of a run that were not shown yet. quiet 1: only notes that change what the result means,
 * to standard error, a line each; quiet 2: none. */
void report_print_notes(run_record *run, int quiet);

/* Adds a note where a run's source term is missing, or is not the source of the equation. `file`: the problem
 * before options were applied. */
void report_note_source(run_record *run, const stencil_spec *file);

/* Finds pockets, cells that are joined to no fixed one, and adds a note, before the first step of laplace or
 * poisson, where insulated cells and walls leave some; estimates eigenvalues, and adds a note where the
 * iteration grows. Errors: BAD_DATA where one has no solution and there
 * is a stopping criterion; NO_MEMORY; those of the reader, which has kinds of cells. */
stencil_status report_note_pockets(run_record *record, const stencil_reader *cells);

/* Returns an omega, of two digits, with which no mode grows if no eigenvalue is larger than `most`. */
double report_omega(double most);

/* Adds notes, before the first step of laplace or poisson, where the cells show that the residual limit is
 * below what the precision resolves, or that no solution exists. Errors: BAD_DATA where none exists and there
 * is a stopping criterion; NO_MEMORY; those of the reader. */
stencil_status report_note_outlook(run_record *record, const stencil_reader *cells);

/* Writes the names of the arrays that are not those of the file's digests, as "u and f", or nothing; returns
 * `text`. */
enum { REPORT_ARRAYS = 200 };
const char *report_changed_arrays(const stencil_problem *problem, char text[REPORT_ARRAYS]);

/* Checks the numbers of a result or a checkpoint, from which a run goes on, by their digest. Errors:
 * BAD_DATA: they are not those that a run has written; NO_MEMORY. */
stencil_status report_check_numbers(const char *path, const stencil_spec *spec,
                                    const stencil_history *history, const stencil_provenance *made);

/* Add notes about how a run ends: before its start, when its first step number is known, and at its end. */
void report_note_start(run_record *run, const stencil_spec *file); /* file: problem before options */
void report_note_origin(run_record *run);
void report_note_end(run_record *run);

/* Prints to standard error a line that says why a run ended with an exit code other than 0. */
void report_print_failure(const run_record *run);

/* Returns the report as JSON, non-finite numbers as null; owned by the caller, NULL without memory. */
json_t *report_json(const run_record *run);

/* Output files that the options name (NULL: not given), and whether existing files are replaced. */
typedef struct run_targets {
    const char *output, *json, *trace;
    bool force, no_output;
    bool in_place; /* the output is the result that a resumed run goes on from */
} run_targets;

/* Names the result and, where `claims`, claims that name. Errors: USAGE; CANNOT_CREATE: another run has it.
 */
stencil_status run_output_claim(run_record *record, const run_targets *targets, bool claims);

/* Checks output files before computing, so that writing does not fail after it, and opens the result file, if
 * one is wanted. A dry run adds a note where the result would replace a file. Errors: USAGE, CANNOT_CREATE,
 * IO. */
stencil_status run_output_prepare(run_record *record, const run_targets *targets, bool dry_run);

/* Writes the run's cells to the result file, where one was opened, and closes it; cells of a diverged run do
 * not replace its input. After a failure the result may exist under another name, which the message has. */
stencil_status run_output_write(run_record *record, stencil_run *run);

/* Text that follows the message of an error after which the result file `path` is complete. */
#define COMPLETE(path) TEXT_LONG("; '%s' holds the complete result", path)

/* Closes and removes a result file that was opened but not written. */
void run_output_close(run_record *record);

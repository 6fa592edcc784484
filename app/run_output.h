/* Output files of the command `run`: checked before the first step; the result is written at the end. */
#pragma once

#include "app/report.h"

/* Output files that the options name (NULL: not given), and whether existing files are replaced. */
typedef struct run_targets {
    const char *output, *json, *trace;
    bool force, no_output;
} run_targets;

/* Checks output files before computing, so that writing does not fail after it, and opens the result file, if
 * one is wanted. A dry run adds a note where the result would replace a file. Errors: USAGE, CANNOT_CREATE,
 * IO. */
stencil_status run_output_prepare(run_record *record, const run_targets *targets, bool dry_run);

/* Writes the run's cells to the result file, where one was opened, and closes it; cells of a diverged run do
 * not replace its input. After a failure the result may exist under another name, which the message has. */
stencil_status run_output_write(run_record *record, stencil_run *run);

/* Closes and removes a result file that was opened but not written. */
void run_output_close(run_record *record);

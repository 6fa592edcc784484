/* The files of `run`: found to be possible before the first step, and the result written in the end. */
#pragma once

#include "app/report.h"

/* Files that the options name (NULL: not given), and how they are written. */
typedef struct run_targets {
    const char *output, *json, *trace;
    bool force, no_output;
} run_targets;

/* Everything that can be known to fail at the end is found here, before computing. Opens the result, unless
 * there is to be none. A dry run notes that the result would have to replace a file. USAGE, CANNOT_CREATE,
 * IO. */
stencil_status run_output_prepare(run_record *record, const run_targets *targets, bool dry_run);

/* Writes the run's cells, where a result was opened, and closes it; not those of a run that diverged over its
 * own input. After a failure there may be one under another name, which the error tells. */
stencil_status run_output_write(run_record *record, stencil_run *run);

/* Leaves nothing of a result that was not written. */
void run_output_close(run_record *record);

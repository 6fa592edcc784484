/* --attribute and --trace: where the time of a run went, for people, as JSON, and as a timeline. */
#pragma once

#include "app/report.h"
#include "solver/attribution/attribution.h"

/* Attribution that the options ask for, filled once the run is done and its result written. */
typedef struct attribution {
    bool wanted, known; /* --attribute; and it could be made */
    const char *trace;  /* --trace: where to; NULL: not asked for */
    bool traced;        /* `timeline` has steps for it */
    stencil_wall wall;  /* of the run without what was made for this */
    stencil_attribution steps;
    stencil_candidate rival; /* the quickest other plan, where one is possible */
    stencil_timeline timeline;
} attribution;

/* Makes what is asked for. Where that is not possible, or interrupted, a note says so. */
stencil_status attribution_make(attribution *attribution, stencil_run *run, run_record *record);
void attribution_destroy(attribution *attribution);

/* To standard output, at 80 columns; nothing where there is none. */
void attribution_print(const attribution *attribution, const run_record *record);

/* Owned by the caller. */
json_t *attribution_json(const attribution *attribution, const run_record *record);

/* "thread 3", "block 17 of part 1 (SM 40)", "SM 40" (returned). */
const char *attribution_who(const stencil_timeline *timeline, int participant, char text[64]);
#define WHO(timeline, participant) attribution_who(timeline, participant, (char[64]){""})

/* The target_printer of --trace, Chrome's trace events: a process for each part, a thread for each
 * participant, an event for each phase of a step. content: a stencil_timeline. */
bool attribution_print_trace(FILE *out, const void *content);

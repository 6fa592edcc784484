/* Options --attribute and --trace: where the time of a run went, for people, as JSON, and as a timeline. */
#pragma once

#include "app/report.h"
#include "solver/attribution/attribution.h"

/* Attribution of a run's time, filled after the run's result is written. */
typedef struct attribution {
    bool wanted, known; /* wanted: --attribute is given; known: the attribution was made */
    const char *trace;  /* file of --trace; NULL: not given */
    bool traced;        /* `timeline` has steps for --trace */
    stencil_wall wall;  /* wall time of the run, without the attribution */
    stencil_attribution steps;
    stencil_candidate rival; /* quickest plan other than the run's, if one is possible */
    stencil_timeline timeline;
} attribution;

/* Makes the attribution and trace that options ask for; if impossible or interrupted, adds a note. */
stencil_status attribution_make(attribution *attribution, stencil_run *run, run_record *record);
void attribution_destroy(attribution *attribution);

/* Prints an attribution, if there is one, to standard output, 80 columns wide. */
void attribution_print(const attribution *attribution, const run_record *record);

/* Returns an attribution as JSON, owned by the caller. */
json_t *attribution_json(const attribution *attribution, const run_record *record);

/* Returns a participant's name: "thread 3", "block 17 of part 1 (SM 40)", "SM 40". */
const char *attribution_who(const stencil_timeline *timeline, int participant, char text[64]);
#define WHO(timeline, participant) attribution_who(timeline, participant, (char[64]){""})

/* The target_printer of --trace, Chrome's trace events: a process for each part, a thread for each
 * participant, an event for each phase of a step. content: a stencil_timeline. */
bool attribution_print_trace(FILE *out, const void *content);

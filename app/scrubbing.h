/* `--scrub`: the share of time that it may take, and what the report says of it. */
#pragma once

#include "app/keeper.h"
#include "solver/run/scrub.h"

/* State of scrubbing; zero-initialised: off. */
typedef struct scrubbing {
    double share;         /* 0: off */
    stencil_scrub *scrub; /* NULL: not computing yet, or off */
} scrubbing;

/* Reads the option: "on", "off", or a share such as "1%"; NULL: off. Errors: USAGE. */
stencil_status scrubbing_prepare(scrubbing *s, const char *option);

/* Begins to scrub a run; *observer does nothing where it is off. Errors: NO_MEMORY. */
stencil_status scrubbing_open(scrubbing *s, stencil_run *run, stencil_observer *observer);

/* Adds to the message of an error that scrubbing has found which checkpoints there are. Returns `status`. */
stencil_status scrubbing_explain(const scrubbing *s, stencil_status status, const keeper *k);

/* Prints lines of the report, and makes the part of its JSON (NULL: off). */
void scrubbing_print(const scrubbing *s, const stencil_report *report);
json_t *scrubbing_json(const scrubbing *s, const stencil_report *report);

void scrubbing_close(scrubbing *s);

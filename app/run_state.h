/* The state of the command `run`, and its stages up to the first step. */
#pragma once

#include "app/attribution.h"
#include "app/resume.h"
#include "app/run_options.h"
#include "app/scrubbing.h"

/* State of a `run` command; released by run_close(). */
typedef struct run_state {
    run_options options; /* first member: options_parse() fills the beginning of this state */
    const invocation *call;
    stencil_input input;
    stencil_run *run;
    run_record record;
    attribution attribution;
    keeper keeper;
    scrubbing scrubbing;
    resumption *resumed;         /* NULL: the run is not resumed */
    char recorded_options[4096]; /* options that a checkpoint records */
    bool forced;                 /* the command line itself has --force */
    double start_s;              /* clock when the command began */
    bool races;                  /* plans are timed in the first steps, and the quickest makes the others */
} run_state;

static inline stencil_world *run_world(const run_state *state) {
    return state->call->world;
}

/* Tells whether this process prints and writes: it is the only one, or rank 0. */
static inline bool run_leads(const run_state *state) {
    return stencil_world_leads(run_world(state));
}

/* Ends a stage that all ranks have made; and one that rank 0 has made for all. */
static inline stencil_status run_by_all(const run_state *state, stencil_status status) {
    return stencil_world_agree(run_world(state), status);
}
static inline stencil_status run_by_first(const run_state *state, stencil_status status) {
    return stencil_world_heed(run_world(state), status);
}

/* plan: reads the problem of the input, chooses a plan for it and opens the result. load: reads the cells and
 * begins the files of the run. note_plan: adds notes about the plan that makes the steps, or has made the
 * last ones. Errors: all that a user can cause before the first step. */
stencil_status run_plan(run_state *state);
stencil_status run_load(run_state *state);
void run_note_plan(run_state *state);

#pragma once

#include "solver/run/report.h"

/* Callbacks during a run, made by the thread that called stencil_run_drive(). Callbacks that are not needed
 * are NULL. */
typedef struct stencil_observer {
    void *context;
    /* Returns the first step after `step` at whose end the run has to stop and call `at`. */
    int64_t (*next)(void *context, int64_t step);
    /* Called at the end of each step that `next` returned, with the report up to that step; may end the run
     * by setting report->reason. */
    stencil_status (*at)(void *context, stencil_report *report);
    /* Called whenever the run polls, within batches, too. step: number of steps known to be done; residual:
     * the last one checked, or NaN. Returns false to end the run at the next step boundary that polls; an
     * accelerated run ends at the end of its cycle or, if that is more than a second away, goes back to the
     * beginning of the cycle. */
    bool (*poll)(void *context, int64_t step, double residual);
    /* the observer reads no cells, so steps of `next` need not be the end of a cycle in accelerated problems
     */
    bool any_step;
} stencil_observer;
typedef struct stencil_observers {
    const stencil_observer *item;
    int count;
} stencil_observers;

/* Polls all observers, see `poll` of stencil_observer; returns false if any observer wants the run to end. */
bool stencil_observers_poll(const stencil_observers *observers, int64_t step, double residual);

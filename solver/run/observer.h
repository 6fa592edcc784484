#pragma once

#include "solver/run/report.h"

/* Somebody who looks at a run while it goes, from the thread that called stencil_run_drive(). Functions that
 * do not apply are NULL. */
typedef struct stencil_observer {
    void *context;
    /* The first step after `step` at whose end it wants to be called: the run stops there for it. */
    int64_t (*next)(void *context, int64_t step);
    /* Called at the end of such a step, with all that the run knows by then; it may end the run by giving the
     * report a reason. */
    stencil_status (*at)(void *context, stencil_report *report);
    /* Called wherever the run polls, on the way too: `step` steps are done, as far as is known; residual: the
     * last one checked of late, or NaN. false: the run is to end at the next step boundary that polls; an
     * accelerated one at the end of its cycle, or, where that is longer than a second away, where the cycle
     * began. */
    bool (*poll)(void *context, int64_t step, double residual);
    /* `next`: it does not look at cells: it need not wait for the end of a cycle of an accelerated problem.
     */
    bool any_step;
} stencil_observer;
typedef struct stencil_observers {
    const stencil_observer *item;
    int count;
} stencil_observers;

/* Polls all of them: `step` steps are done, `residual` is the last one known, or NaN. false: somebody wants
 * the run to end. */
bool stencil_observers_poll(const stencil_observers *observers, int64_t step, double residual);

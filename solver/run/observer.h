#pragma once

#include "solver/run/report.h"

/* Bits that ranks tell each other at a poll: the lower ones are the observers'. */
#define STENCIL_OBSERVER_BITS 48

/* Callbacks during a run, or NULL, made by the thread that called stencil_run_drive(). */
typedef struct stencil_observer {
    void *context;
    /* Returns the first step after `step` at whose end the run has to stop and call `at`. */
    int64_t (*next)(void *context, int64_t step);
    /* Called after each step that `next` returned; may end the run by setting report->reason. */
    stencil_status (*at)(void *context, stencil_report *report);
    /* Called whenever the run polls, within batches, too. step: number of steps known to be done; residual:
     * the last one checked, or NaN. Returns false to end the run at the next step that polls; an accelerated
     * run ends with its cycle or, if that takes more than a second, goes back to its begin. */
    bool (*poll)(void *context, int64_t step, double residual);
    /* the observer may be called within a cycle: it reads no cells, or no result is made of them */
    bool any_step;
    /* Called after `poll`, or NULL. Returns true to have the run pause at the next step at which it can and
     * call `at`, whatever `next` says; an accelerated run pauses at ends of cycles only. */
    bool (*wants)(void *context);
    /* Several ranks poll at the same steps, and then know what any of them wants; `next`, `at` and
     * `wants` are called in rank 0 only. Or both NULL: says returns bits that this rank tells all ranks at a
     * poll, below STENCIL_OBSERVER_BITS; hears gets those that any rank has told. */
    uint64_t (*says)(void *context);
    void (*hears)(void *context, uint64_t bits);
} stencil_observer;
typedef struct stencil_observers {
    const stencil_observer *item;
    int count;
} stencil_observers;

/* Polls all observers, see `poll` of stencil_observer; returns false if any observer wants the run to end. */
bool stencil_observers_poll(const stencil_observers *observers, int64_t step, double residual);

/* Returns the bits of all observers; and hands bits to all. */
uint64_t stencil_observers_say(const stencil_observers *observers);
void stencil_observers_hear(const stencil_observers *observers, uint64_t bits);

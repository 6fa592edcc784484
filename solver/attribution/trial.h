/* Batches made after a run to time its steps, which destroy the cells of the run. Internal to solver/. */
#pragma once

#include "solver/attribution/timeline.h"
#include "solver/run/drive.h"

typedef struct stencil_trial {
    stencil_run *run;
    const stencil_observers *observers;
    int64_t next;  /* step number before the next batch, larger than in any barrier word */
    int from;      /* index of the buffer that holds the cells before the next batch */
    bool whole;    /* no cycle of weights is left unfinished in the cells, whatever `next` says */
    int depth;     /* steps in a pass; the functions below, and timelines, call a pass a step */
    bool launches; /* GPU strategies with launches: multiprocessors record unchecked steps */
    const struct stencil_gpu_marks *marks; /* [parts], borrowed: receive time stamps; NULL: none */
} stencil_trial;

stencil_trial stencil_trial_of(stencil_run *run, const stencil_observers *observers);

/* Makes `count` steps, checked every `check_every` steps (INT64_MAX: never), without the parts that `without`
 * names; *time_s: seconds of the steps. Errors: INTERRUPTED by an observer; BAD_DATA if the field does not
 * stay finite; those of a batch. */
stencil_status stencil_trial_time(stencil_trial *trial, int64_t count, int64_t check_every,
                                  const stencil_trace *without, double *time_s);

/* Makes *count steps and records time stamps of `samples` of them, at a distance of `every` (odd). With a
 * launch per step the samples are consecutive steps in mid-batch (`every` is 1), and the timeline has one
 * sample fewer, as only the end of the first is known. A strategy that replays graphs records one replay, and
 * raises *count to at least that and one more step. The caller must destroy *timeline even on failure. */
stencil_status stencil_trial_record(stencil_trial *trial, int64_t *count, int64_t check_every, uint32_t every,
                                    uint32_t samples, stencil_timeline *timeline, double *time_s);

/* Returns the number of steps of the trial between two checks of the run. */
static inline int64_t stencil_trial_check_every(const stencil_trial *t) {
    const int64_t passes = t->run->schedule.check_every / t->depth;
    return passes > 0 ? passes : 1;
}

/* Weights the samples so that checked steps have the share that they have in the run. */
void stencil_trial_weigh(const stencil_trial *trial, stencil_timeline *timeline);

/* Returns the fault that a trial simulates: the plan's delays, unless computation is left out; no absence. */
static inline stencil_fault stencil_trial_fault(const stencil_plan *plan, const stencil_trace *trace) {
    stencil_fault fault = plan->wait.fault;
    fault.absent_step = 0;
    return trace->without_compute ? (stencil_fault){0} : fault;
}

#ifdef STENCIL_HAVE_CUDA
/* Time stamps of one part, in an allocation of `bytes` on the device, which `mark` points to. */
typedef struct stencil_gpu_marks {
    int64_t *mark;               /* [count], as [samples][participants][STENCIL_MARKS] */
    stencil_clock_pair *pair[2]; /* clock comparisons before and after the batch */
    uint32_t *place;
    size_t count, bytes;
    uint32_t places, participants;
} stencil_gpu_marks;

/* Sets the parts of a step that the next launches leave out, and marks[parts] to record to (NULL: none). */
void stencil_gpu_set_trace(stencil_gpu_run *run, const stencil_trace *trace, const stencil_gpu_marks *marks);

/* Makes `count` steps without order in one launch per part, to time the computation without barriers. */
stencil_status stencil_gpu_unordered(stencil_gpu_run *run, int64_t first, int64_t count);

/* create: allocates marks[parts], zeroed by the caller, for `samples` sampled steps. take: converts the marks
 * of a part to time stamps, after the batch. destroy: frees the marks, also those of a failed create. */
stencil_status stencil_gpu_marks_create(stencil_gpu_run *run, uint32_t samples, stencil_gpu_marks *marks);
stencil_status stencil_gpu_marks_take(stencil_gpu_run *run, int part, const stencil_gpu_marks *marks,
                                      bool launches, stencil_timeline *timeline);
void stencil_gpu_marks_destroy(stencil_gpu_run *run, stencil_gpu_marks *marks);
#endif

/* Batches made after a run to time its steps, which destroy the cells of the run. Internal to solver/. */
#pragma once

#include "solver/attribution/account.h"
#include "solver/run/drive.h"

/* Launches, and batches of the run's kind, that a timeline has at most. */
enum { STENCIL_TRIAL_LAUNCHES = 256 };
/* Largest distance between samples that are placed at checked passes. */
enum { STENCIL_TRIAL_EVERY = 4096 };

typedef struct stencil_trial {
    stencil_run *run;
    const stencil_observers *observers;
    int64_t next;        /* step number before the next batch, larger than in any barrier word */
    int from;            /* index of the buffer that holds the cells before the next batch */
    bool whole;          /* no cycle of weights is left unfinished in the cells, whatever `next` says */
    int depth;           /* steps in a pass; `count` of the functions below counts as many steps */
    int64_t whole_count; /* batches with this multiple of passes are whole cycles of weights */
    bool exits;          /* a persistent loop ends its launch for each check: checked passes are no samples */
    bool launches;       /* GPU strategies with launches: multiprocessors record unchecked steps */
    const struct stencil_gpu_marks *marks; /* [parts], borrowed: receive time stamps; NULL: none */
    stencil_makeup
        made; /* makeup of the last trial, of stencil_trial_record() of the part that it recorded */
    stencil_stretch stretch[STENCIL_TRIAL_LAUNCHES]; /* batches of the last trial that may note launches */
    int stretches, launches_made;                    /* launches_made: by all of `stretch` */
} stencil_trial;

stencil_trial stencil_trial_of(stencil_run *run, const stencil_observers *observers);

/* Makes count * depth steps in the batches that the run would make, checked every `check_every` steps
 * (INT64_MAX: never), without the parts that `without` names; *time_s: seconds of the steps. Errors:
 * INTERRUPTED by an observer; BAD_DATA if the field does not stay finite; those of a batch. */
stencil_status stencil_trial_time(stencil_trial *trial, int64_t count, int64_t check_every,
                                  const stencil_trace *without, double *time_s);

/* Makes *count * depth steps, checked every `check_every` steps, and records time stamps of `samples` passes,
 * at a distance of `every` (odd), placed so that as many as possible are checked. With a launch per pass the
 * samples are consecutive passes in mid-batch (`every` is 1), and the timeline has one sample fewer, as only
 * the end of the first is known. A strategy that replays graphs records one replay, and raises *count to at
 * least that and one more pass. Elsewhere the launches are recorded, too, and a persistent loop on GPUs
 * records no pass of fewer steps than `depth`. The caller must destroy *timeline even on failure. */
stencil_status stencil_trial_record(stencil_trial *trial, int64_t *count, int64_t check_every, uint32_t every,
                                    uint32_t samples, stencil_timeline *timeline, double *time_s);

/* Returns the number of passes from one check to the next, of steps that are checked at this distance. */
static inline int64_t stencil_trial_passes(const stencil_trial *t, int64_t check_every) {
    return check_every == INT64_MAX
               ? INT64_MAX
               : stencil_pass_count(&(stencil_schedule){.check_every = check_every,
                                                        .checked_most = t->run->schedule.checked_most},
                                    t->depth, 0, check_every);
}

/* Weights the samples so that checked passes have the share that they have in the run, and the share that
 * they have in batches that are checked every `check_every` steps. */
void stencil_trial_weigh(const stencil_trial *trial, int64_t check_every, stencil_timeline *timeline);

/* Returns the fault that a trial simulates: the plan's delays, unless computation is left out; no absence. */
static inline stencil_fault stencil_trial_fault(const stencil_plan *plan, const stencil_trace *trace) {
    stencil_fault fault = plan->wait.fault;
    fault.absent_step = 0;
    return trace->without_compute ? (stencil_fault){0} : fault;
}

#ifdef STENCIL_HAVE_CUDA
/* Time stamps of one part, in an allocation of `bytes` on the device, which `mark` points to. */
typedef struct stencil_gpu_marks {
    int64_t *mark;     /* [count], as [samples][participants][STENCIL_NOTES] */
    int64_t *launched; /* [launches][participants][STENCIL_LAUNCH_MARKS] */
    uint32_t launches;
    stencil_clock_pair *pair[2]; /* clock comparisons before and after the batch */
    uint32_t *place;             /* [samples + launches][participants] */
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

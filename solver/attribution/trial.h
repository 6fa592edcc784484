/* Batches beside a run: timed, with something left out, or with moments noted; what they make of the cells is
 * worthless. Internal to solver/. */
#pragma once

#include "solver/attribution/timeline.h"
#include "solver/run/drive.h"

typedef struct stencil_trial {
    stencil_run *run;
    const stencil_observers *observers;
    int64_t next;  /* steps before the next batch: words that carry a step never carry an old one */
    int depth;     /* steps of a pass: what is called a step below, and in a timeline, is a pass */
    bool launches; /* on GPUs, driven by the host: multiprocessors note moments, of steps that are not checked
                      (the host's share in those cannot be seen there) */
    const struct stencil_gpu_marks *marks; /* [parts]: where they note moments now; NULL: nowhere */
} stencil_trial;

stencil_trial stencil_trial_of(stencil_run *run, const stencil_observers *observers);

/* Makes `count` steps, checked every so many (INT64_MAX: never), as `without` says. INTERRUPTED by an
 * observer; BAD_DATA where the field does not stay finite. */
stencil_status stencil_trial_time(stencil_trial *trial, int64_t count, int64_t check_every,
                                  const stencil_trace *without, double *time_s);

/* Makes *count steps and notes the moments of `samples` of them, each `every`-th (odd). Of launches these are
 * steps in the middle that follow each other (`every` is 1), the first one only to see its end: a sample
 * less. A loop that replays steps notes one replay, and makes *count at least that and a step behind it. The
 * timeline is the caller's, with failures too. */
stencil_status stencil_trial_record(stencil_trial *trial, int64_t *count, int64_t check_every, uint32_t every,
                                    uint32_t samples, stencil_timeline *timeline, double *time_s);

/* Steps from one check of the run to the next, as the trial counts them. */
static inline int64_t stencil_trial_check_every(const stencil_trial *t) {
    const int64_t passes = t->run->schedule.check_every / t->depth;
    return passes > 0 ? passes : 1;
}

/* Gives checked samples the weight that such steps have in the run, however many there are among them. */
void stencil_trial_weigh(const stencil_trial *trial, stencil_timeline *timeline);

/* Returns the fault of a trial: who is late comes late where there is compute; nobody stays away. */
static inline stencil_fault stencil_trial_fault(const stencil_plan *plan, const stencil_trace *trace) {
    stencil_fault fault = plan->wait.fault;
    fault.absent_step = 0;
    return trace->without_compute ? (stencil_fault){0} : fault;
}

#ifdef STENCIL_HAVE_CUDA
/* Device memory for what a part's launches note. */
typedef struct stencil_gpu_marks {
    int64_t *mark;
    uint32_t *place;
    stencil_clock_pair *pair[2]; /* before the batch, behind it */
    uint32_t places, participants;
} stencil_gpu_marks;

/* Sets what the next launches note, at marks[parts] (NULL: nothing), and leave out. */
void stencil_gpu_set_trace(stencil_gpu_run *run, const stencil_trace *trace, const stencil_gpu_marks *marks);

/* Makes the tiles of `count` steps in one launch, in place of a batch driven by the host. */
stencil_status stencil_gpu_unordered(stencil_gpu_run *run, int64_t first, int64_t count);

/* marks[parts], zeroed by the caller: memory for `samples`, before a batch; moments of a part in `timeline`,
 * after it. Destroy has to follow. */
stencil_status stencil_gpu_marks_create(stencil_gpu_run *run, uint32_t samples, stencil_gpu_marks *marks);
stencil_status stencil_gpu_marks_take(stencil_gpu_run *run, int part, const stencil_gpu_marks *marks,
                                      bool launches, stencil_timeline *timeline);
void stencil_gpu_marks_destroy(stencil_gpu_run *run, stencil_gpu_marks *marks);
#endif

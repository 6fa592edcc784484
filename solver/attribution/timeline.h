/* Timelines of the participants of a barrier (blocks, CPU threads, multiprocessors) from time stamps of a
 * step. A timeline has no gaps, so the parts of a step add up to its wall-clock time, for each participant
 * and for their mean. Arithmetic only; solver/attribution/trial.h records the time stamps. */
#pragma once

#include "kernels/trace.h"
#include "sync/barrier.h"

typedef struct stencil_moments {
    double at_s[STENCIL_MARKS]; /* seconds on the clock of the group; NaN in at_s[0]: not in the step */
    double spent_s[STENCIL_SPENTS];
} stencil_moments;

/* Moments of a launch of a persistent loop, or of a team of threads. */
typedef struct stencil_launch_moments {
    double at_s[STENCIL_LAUNCH_MARKS]; /* NaN in at_s[0]: the launch noted nothing */
} stencil_launch_moments;

/* A batch of the run's own kind among those of a timeline. */
typedef struct stencil_stretch {
    int launches; /* number of its launches in the timeline, which follow those of earlier batches */
    double time_s;
} stencil_stretch;

typedef struct stencil_sample {
    int64_t step;
    bool checked; /* the residual of the step was computed */
    bool all; /* in this step every participant waited for all others, also where the barrier is one between
             neighbours */
    double weight;     /* relative to other samples: as many such steps as the run has */
    double in_batches; /* the same for the batches */
} stencil_sample;

typedef struct stencil_who {
    int part;  /* part of the run that the participant belongs to; -1: all parts */
    int place; /* multiprocessor that the participant runs on; -1: the participant is a CPU thread */
} stencil_who;

/* Time stamps of the sampled steps of a batch. A zeroed timeline is empty. */
typedef struct stencil_timeline {
    const char *unit; /* kind of participants: "thread", "block" or "SM" */
    int participants, samples;
    stencil_moments *moment; /* [samples][participants], owned */
    stencil_sample *sample;  /* [samples], owned */
    int launches, batches;
    stencil_launch_moments *launch; /* [launches][participants], owned; NULL: no launches were noted */
    stencil_stretch *batch;         /* [batches], owned; NULL as well */
    stencil_who *who;               /* [participants], owned */
    /* Groups of participants with a common clock, by which waits are measured: a GPU, or all threads. */
    int groups;
    int group_first[STENCIL_PARTS_MAX + 1];
    /* Participants that participant p waits for, of any group: neighbor[neighbor_first[p] … neighbor_first[p
     * + 1]), borrowed. NULL: p waits for all. */
    const uint32_t *neighbor_first, *neighbor;
} stencil_timeline;

/* Allocates a timeline whose samples have the weights 1. Errors: NO_MEMORY. After success and failure the
 * caller must call stencil_timeline_destroy(). */
stencil_status stencil_timeline_create(stencil_timeline *timeline, int participants, int samples);
void stencil_timeline_destroy(stencil_timeline *timeline);

/* Allocates launches and batches of a timeline, zeroed. Errors: NO_MEMORY. */
stencil_status stencil_timeline_create_launches(stencil_timeline *timeline, int launches, int batches);

/* Concatenates timelines of the same participants. Errors: NO_MEMORY; destroy *whole even then. */
stencil_status stencil_timeline_join(const stencil_timeline *piece, int pieces, stencil_timeline *whole);

/* Returns the seconds that recording a moment takes: the shortest interval from the end of a step to the
 * begin of the next, or from leaving the barrier to the end of a step, where nothing is in between; 0 if no
 * two consecutive steps were sampled. */
double stencil_timeline_note_s(const stencil_timeline *timeline);

/* Subtracts note_s from the interval between any two time stamps recorded in a step. */
void stencil_timeline_take_off(stencil_timeline *timeline, double note_s);

/* Bins of waits at a barrier: bin k counts waits from 2^k ns to 2^(k + 1) ns; the first bin counts shorter
 * waits, too, and the last bin longer ones. */
enum { STENCIL_WAIT_BINS = 24 };

typedef struct stencil_waits {
    double mean_s, p95_s, longest_s;
    int slowest; /* participant with the longest mean wait */
    int64_t bin[STENCIL_WAIT_BINS];
} stencil_waits;

/* Waits that one participant caused for others. */
typedef struct stencil_blame {
    int participant;
    int last_in;     /* steps in which it arrived last of all that others waited for */
    double caused_s; /* imbalance of others due to the participant, mean over all, per step */
} stencil_blame;

/* Seconds per step, means over participants and samples; step_s is the sum of launch_s to after_s. */
typedef struct stencil_inside {
    double step_s;
    double launch_s; /* seconds since the preceding step; 0 in a persistent loop */
    double compute_s;
    double halo_s;            /* seconds of exchanging ghost cells, also within a pass */
    double imbalance_s;       /* seconds from the arrival at the barrier to the last arrival */
    double latency_s;         /* seconds from the last arrival to leaving the barrier */
    double after_s;           /* seconds of residual, stopping decision and polls, also within a pass */
    double batch_step_s;      /* step time with as many steps of each kind as the batches have */
    double slowest_compute_s; /* compute time of the participant with the longest one */
    double between_s;         /* part of imbalance_s in which a group waited for the slowest group */
    int slow_group;           /* slowest group of participants; -1: there is only one group */
    stencil_waits wait;       /* waits at the barrier: imbalance and latency */
    stencil_blame *blame;     /* [blame_count], sorted from the largest caused_s; owned */
    int blame_count;          /* number of participants */
    int samples;
} stencil_inside;

/* Analyses a timeline. Errors: NO_MEMORY; BAD_DATA if time stamps are disordered; *inside is then zeroed. */
stencil_status stencil_timeline_analyse(const stencil_timeline *timeline, stencil_inside *inside);
void stencil_inside_destroy(stencil_inside *inside);

/* Seconds of the batches of a timeline whose launches were noted, without gaps: time_s is the sum of
 * outside_s to between_s. Means over participants. */
typedef struct stencil_spans {
    int batches, launches; /* numbers of batches, and of their launches that noted moments */
    double time_s;
    double outside_s; /* seconds of batches before their first launch begins and after their last one ends */
    double start_s; /* seconds until a participant begins after the first, and after it ends until the last */
    double load_s, loop_s, store_s; /* seconds of loading cells on chip, of the steps, of storing cells */
    double between_s;               /* seconds between launches of a batch */
} stencil_spans;

/* Adds up the launches of a timeline; zeroed if none were noted. */
stencil_spans stencil_timeline_spans(const stencil_timeline *timeline);

/* Clock of a participant: at second s it shows origin + (s - offset_s) / tick_s ticks. */
typedef struct stencil_tick_clock {
    int64_t origin;
    double tick_s, offset_s;
} stencil_tick_clock;

/* Converts the ticks of a group's participants, mark[samples][participants of the group][STENCIL_NOTES], to
 * time stamps. place: [samples][participants], which of the clocks a participant had; NULL: participant p has
 * clock[p]. launches: `mark` begins with one more sample, of the step before the timeline. */
void stencil_trial_take(stencil_timeline *timeline, int group, const int64_t *mark,
                        const stencil_tick_clock *clock, const uint32_t *place, bool launches);

/* Converts the ticks of launches, launched[launches][participants of the group][STENCIL_LAUNCH_MARKS].
 * place: [launches][participants], else as above: a block of one launch may be elsewhere than that of the one
 * before. */
void stencil_trial_take_launches(stencil_timeline *timeline, int group, const int64_t *launched,
                                 const stencil_tick_clock *clock, const uint32_t *place);

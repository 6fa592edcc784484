/* Timelines of the participants of a barrier (blocks, CPU threads, multiprocessors) in a step, from moments
 * that each of them noted: one timeline per participant without gaps, so what it is divided into adds up to
 * the wall clock, for each of them and for their mean. Pure arithmetic; solver/attribution/trial.h has the
 * moments noted. */
#pragma once

#include "kernels/trace.h"
#include "sync/barrier.h"

typedef struct stencil_moments {
    double
        at_s[STENCIL_MARKS]; /* by one clock for all of a group; the first NaN: it had no part in the step */
} stencil_moments;

typedef struct stencil_sample {
    int64_t step;
    bool checked; /* its residual was */
    bool all;     /* everybody waited for everybody, whatever the barrier */
    double weight;
} stencil_sample;

typedef struct stencil_who {
    int part;  /* -1: of all parts */
    int place; /* its multiprocessor; -1: a thread */
} stencil_who;

/* The sampled steps of a batch. Zeroed: empty. */
typedef struct stencil_timeline {
    const char *unit; /* of participants: "thread", "block", "SM" */
    int participants, samples;
    stencil_moments *moment; /* [samples][participants], owned */
    stencil_sample *sample;  /* [samples], owned */
    stencil_who *who;        /* [participants], owned */
    /* Groups of participants with one clock (of a GPU, or all threads); waits are seen within them only. */
    int groups;
    int group_first[STENCIL_PARTS_MAX + 1];
    /* Participants that p waits for: neighbor[neighbor_first[p] … neighbor_first[p + 1]), of other groups,
     * too; borrowed. NULL: all. */
    const uint32_t *neighbor_first, *neighbor;
} stencil_timeline;

/* NO_MEMORY. Samples have the weight 1; destroy has to follow. */
stencil_status stencil_timeline_create(stencil_timeline *timeline, int participants, int samples);
void stencil_timeline_destroy(stencil_timeline *timeline);

/* Joins timelines of batches of the same participants, one after the other. NO_MEMORY; destroy *whole. */
stencil_status stencil_timeline_join(const stencil_timeline *piece, int pieces, stencil_timeline *whole);

/* The shortest time from the end of a step to the beginning of the next one, both noted, in a loop that does
 * nothing between them: what a pair of notes takes by itself; 0 where no steps follow each other. */
double stencil_timeline_note_s(const stencil_timeline *timeline);

/* Takes note_s off the time between any two notes of a step. */
void stencil_timeline_take_off(stencil_timeline *timeline, double note_s);

/* Waits at the barrier that took from 2^k ns to 2^(k + 1) ns; the first bin has the shorter ones, too. */
enum { STENCIL_WAIT_BINS = 24 };

typedef struct stencil_waits {
    double mean_s, p95_s, longest_s;
    int slowest; /* who waited longest on average */
    int64_t bin[STENCIL_WAIT_BINS];
} stencil_waits;

/* A participant that others waited for. */
typedef struct stencil_blame {
    int participant;
    int last_in;     /* samples in which it was the last to arrive of those whom somebody waited for */
    double caused_s; /* imbalance that others had for it, per step, mean over all participants */
} stencil_blame;

/* Means over participants and samples, per step. step = launch + compute + halo + imbalance + latency +
 * after. */
typedef struct stencil_inside {
    double step_s;
    double launch_s; /* from the end of the step before until it begins; 0 in a persistent loop */
    double compute_s;
    double halo_s;
    double imbalance_s;       /* from a participant's own arrival to that of the last one that it waits for */
    double latency_s;         /* from there until it leaves the barrier */
    double after_s;           /* residual, decision, polls */
    double unweighted_s;      /* a step as sampled, all weights 1 */
    double slowest_compute_s; /* of the participant that computes longest */
    double between_s;         /* of the imbalance: groups that waited for another one, */
    int slow_group;           /* this one; -1: there is one group */
    stencil_waits wait;       /* imbalance and latency */
    stencil_blame *blame;     /* [blame_count], who caused most first; owned */
    int blame_count;          /* participants */
    int samples;
} stencil_inside;

/* NO_MEMORY; BAD_DATA where a participant's moments are not in order. *inside is zeroed on failure. */
stencil_status stencil_timeline_analyse(const stencil_timeline *timeline, stencil_inside *inside);
void stencil_inside_destroy(stencil_inside *inside);

/* A participant's clock: second s when it shows origin + (s - offset_s) / tick_s. */
typedef struct stencil_tick_clock {
    int64_t origin;
    double tick_s, offset_s;
} stencil_tick_clock;

/* Turns what a trial has noted, marks of a group's participants, [samples][participants of the
 * group][STENCIL_MARKS], into moments of the timeline. launches: there is a sample more, of the step before
 * the first one. */
void stencil_trial_take(stencil_timeline *timeline, int group, const int64_t *mark,
                        const stencil_tick_clock *clock, bool launches);

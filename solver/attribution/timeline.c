#include "solver/attribution/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

stencil_status stencil_timeline_create(stencil_timeline *t, int participants, int samples) {
    const size_t count = (size_t)participants;
    *t = (stencil_timeline){.participants = participants, .samples = samples, .groups = 1};
    t->group_first[1] = participants;
    t->moment = calloc(count * (size_t)samples, sizeof *t->moment);
    t->sample = calloc((size_t)samples, sizeof *t->sample);
    t->who = calloc(count, sizeof *t->who);
    CHECK(t->moment != NULL && t->sample != NULL && t->who != NULL, NO_MEMORY,
          "no memory for the moments of %d steps", samples);
    for (int i = 0; i < samples; i++)
        t->sample[i].weight = t->sample[i].in_batches = 1;
    return STENCIL_OK;
}

stencil_status stencil_timeline_create_launches(stencil_timeline *t, int launches, int batches) {
    t->launch = calloc((size_t)launches * (size_t)t->participants + 1, sizeof *t->launch);
    t->batch = calloc((size_t)batches + 1, sizeof *t->batch);
    CHECK(t->launch != NULL && t->batch != NULL, NO_MEMORY, "no memory for the moments of %d launches",
          launches);
    t->launches = launches;
    t->batches = batches;
    return STENCIL_OK;
}

void stencil_timeline_destroy(stencil_timeline *t) {
    free(t->moment);
    free(t->sample);
    free(t->launch);
    free(t->batch);
    free(t->who);
    *t = (stencil_timeline){0};
}

stencil_status stencil_timeline_join(const stencil_timeline *piece, int pieces, stencil_timeline *whole) {
    int samples = 0, launches = 0, batches = 0;
    for (int i = 0; i < pieces; i++) {
        samples += piece[i].samples;
        launches += piece[i].launches;
        batches += piece[i].batches;
    }
    const stencil_timeline *last = &piece[pieces - 1];
    const size_t count = (size_t)last->participants;
    TRY(stencil_timeline_create(whole, last->participants, samples));
    TRY(stencil_timeline_create_launches(whole, launches, batches));
    whole->unit = last->unit;
    whole->groups = last->groups;
    memcpy(whole->group_first, last->group_first, sizeof whole->group_first);
    whole->neighbor_first = last->neighbor_first;
    whole->neighbor = last->neighbor;
    memcpy(whole->who, last->who, count * sizeof *whole->who);
    for (size_t i = 0, to = 0; i < (size_t)pieces; to += (size_t)piece[i++].samples) {
        memcpy(whole->sample + to, piece[i].sample, (size_t)piece[i].samples * sizeof *whole->sample);
        memcpy(whole->moment + to * count, piece[i].moment,
               (size_t)piece[i].samples * count * sizeof *whole->moment);
    }
    stencil_launch_moments *launch = whole->launch;
    stencil_stretch *batch = whole->batch;
    for (int i = 0; i < pieces; i++) {
        for (size_t k = 0; k < (size_t)piece[i].launches * count; k++)
            *launch++ = piece[i].launch[k];
        for (int k = 0; k < piece[i].batches; k++)
            *batch++ = piece[i].batch[k];
    }
    return STENCIL_OK;
}

static bool absent(const stencil_moments *m) {
    return isnan(m->at_s[0]);
}

double stencil_timeline_note_s(const stencil_timeline *t) {
    double note_s = INFINITY;
    for (int i = 0; i + 1 < t->samples; i++)
        for (int p = 0; p < t->participants && t->sample[i + 1].step == t->sample[i].step + 1; p++) {
            const stencil_moments *m = &t->moment[i * t->participants + p], *next = m + t->participants;
            if (absent(m) || absent(next))
                continue;
            const double left_s = m->at_s[STENCIL_MARK_LEFT], end_s = m->at_s[STENCIL_MARK_END];
            note_s = fmin(note_s, next->at_s[STENCIL_MARK_BEGIN] - end_s);
            note_s = end_s > left_s ? fmin(note_s, end_s - left_s) : note_s;
        }
    return isinf(note_s) ? 0 : fmax(note_s, 0);
}

void stencil_timeline_take_off(stencil_timeline *t, double note_s) {
    for (int i = 0; i < t->samples * t->participants; i++) {
        double *at_s = t->moment[i].at_s, noted_s = at_s[0], off_s = 0;
        for (int k = 1; k < STENCIL_MARKS && !absent(&t->moment[i]); k++) {
            off_s += at_s[k] > noted_s ? note_s : 0; /* equal time stamps come from one recording */
            noted_s = at_s[k];
            at_s[k] = fmax(noted_s - off_s, at_s[k - 1]);
        }
    }
}

/* Running sums over samples, for each participant and group. */
typedef struct sums {
    const stencil_timeline *t;
    stencil_inside *inside;
    double *wait_s;    /* [waits]: waits of all participants in all samples */
    double *waited_s;  /* [participants]: weighted sum of waits */
    double *compute_s; /* [participants]: weighted sum of compute times */
    double *weight;    /* [participants]: sum of weights */
    double latency_s[STENCIL_PARTS_MAX], group_weight[STENCIL_PARTS_MAX];
    double all_weight, all_in_batches;
    size_t waits;
} sums;

/* Returns when a participant arrives at the barrier, after its computations and halo exchange. */
static double arrival(const stencil_moments *m) {
    return m->at_s[STENCIL_MARK_EXCHANGED];
}

/* Returns participant p if it arrived later than participant `last` (-1: nobody), else `last`. */
static int later(const stencil_moments *step, int last, int p) {
    return !absent(&step[p]) && (last < 0 || arrival(&step[p]) > arrival(&step[last])) ? p : last;
}

/* Returns the participant of a group that arrived last of participant `self` and those that it waits for. */
static int last_of_list(const stencil_timeline *t, const stencil_moments *step, int group, int self) {
    int last = self;
    for (uint32_t i = t->neighbor_first[self]; i < t->neighbor_first[self + 1]; i++) {
        const int p = (int)t->neighbor[i];
        if (p >= t->group_first[group] && p < t->group_first[group + 1])
            last = later(step, last, p);
    }
    return last;
}

static int bin_of(double wait_s) {
    const double ns = 1e9 * wait_s;
    const int bin = ns >= 2 ? (int)log2(ns) : 0;
    return bin < STENCIL_WAIT_BINS ? bin : STENCIL_WAIT_BINS - 1;
}

/* Adds the time stamps of participant p in a step where it waited for participant `last`. */
static void add_moments(sums *s, const stencil_moments *step, int group, int p, int last,
                        const stencil_sample *sample) {
    stencil_inside *inside = s->inside;
    const double weight = sample->weight;
    const double *at = step[p].at_s, *spent = step[p].spent_s;
    const double swept_s = at[STENCIL_MARK_SWEPT] - at[STENCIL_MARK_BEGIN],
                 kept_s = fmin(spent[STENCIL_SPENT_KEPT], swept_s),
                 exchange_s = fmin(spent[STENCIL_SPENT_EXCHANGE], swept_s - kept_s),
                 compute_s = swept_s - kept_s - exchange_s;
    const double passed_s = at[STENCIL_MARK_LEFT] - arrival(&step[p]),
                 check_s = fmin(spent[STENCIL_SPENT_CHECK], passed_s), wait_s = passed_s - check_s;
    const double imbalance_s = fmin(fmax(arrival(&step[last]) - arrival(&step[p]), 0), wait_s);
    inside->launch_s += weight * (at[STENCIL_MARK_BEGIN] - at[STENCIL_MARK_LAUNCHED]);
    inside->compute_s += weight * compute_s;
    inside->halo_s += weight * (at[STENCIL_MARK_EXCHANGED] - at[STENCIL_MARK_SWEPT] + exchange_s);
    inside->imbalance_s += weight * imbalance_s;
    inside->latency_s += weight * (wait_s - imbalance_s);
    inside->after_s += weight * (at[STENCIL_MARK_END] - at[STENCIL_MARK_LEFT] + kept_s + check_s);
    inside->batch_step_s += sample->in_batches * (at[STENCIL_MARK_END] - at[STENCIL_MARK_LAUNCHED]);
    inside->wait.bin[bin_of(wait_s)]++;
    inside->blame[last].caused_s += weight * imbalance_s;
    s->wait_s[s->waits++] = wait_s;
    s->waited_s[p] += weight * wait_s;
    s->compute_s[p] += weight * compute_s;
    s->weight[p] += weight;
    s->latency_s[group] += weight * (wait_s - imbalance_s);
    s->group_weight[group] += weight;
    s->all_weight += weight;
    s->all_in_batches += sample->in_batches;
}

static bool in_order(const stencil_moments *m) {
    for (int k = 0; k + 1 < STENCIL_MARKS; k++)
        if (!(m->at_s[k] <= m->at_s[k + 1]))
            return false;
    return true;
}

static stencil_status add_sample(sums *s, int group, int i) {
    const stencil_timeline *t = s->t;
    const stencil_moments *step = t->moment + (size_t)i * (size_t)t->participants;
    const stencil_sample *sample = &t->sample[i];
    const int first = t->group_first[group], end = t->group_first[group + 1];
    int all = -1, waited_for = -1; /* participant that arrived last: of all; of all that others waited for */
    for (int p = first; p < end; p++)
        all = later(step, all, p);
    for (int p = first; p < end; p++) {
        if (absent(&step[p]))
            continue;
        CHECK(in_order(&step[p]), BAD_DATA, "%s %d noted moments of a step that are not in order", t->unit,
              p);
        const int last = t->neighbor_first != NULL && !sample->all ? last_of_list(t, step, group, p) : all;
        add_moments(s, step, group, p, last, sample);
        if (last != p)
            waited_for = later(step, waited_for, last);
    }
    if (waited_for >= 0)
        s->inside->blame[waited_for].last_in++;
    return STENCIL_OK;
}

static int longer_first(const void *a, const void *b) {
    const stencil_blame *x = a, *y = b;
    return x->caused_s != y->caused_s ? (x->caused_s < y->caused_s) - (x->caused_s > y->caused_s)
                                      : x->participant - y->participant;
}

/* Divides the sums by their weights, and sorts waits and blames. */
static void finish(sums *s) {
    stencil_inside *inside = s->inside;
    double *const mean[] = {&inside->launch_s,    &inside->compute_s, &inside->halo_s,
                            &inside->imbalance_s, &inside->latency_s, &inside->after_s};
    for (size_t i = 0; i < sizeof mean / sizeof *mean; i++)
        inside->step_s += *mean[i] /= s->all_weight;
    inside->batch_step_s /= s->all_in_batches;
    double longest_s = -1;
    for (int p = 0; p < s->t->participants; p++) {
        inside->blame[p].caused_s /= s->all_weight;
        if (s->weight[p] == 0)
            continue;
        inside->slowest_compute_s = fmax(inside->slowest_compute_s, s->compute_s[p] / s->weight[p]);
        if (s->waited_s[p] / s->weight[p] > longest_s) {
            longest_s = s->waited_s[p] / s->weight[p];
            inside->wait.slowest = p;
        }
    }
    qsort(inside->blame, (size_t)s->t->participants, sizeof *inside->blame, longer_first);
    stencil_sort(s->wait_s, s->waits);
    inside->wait.mean_s = inside->imbalance_s + inside->latency_s;
    inside->wait.p95_s = s->wait_s[(size_t)ceil(0.95 * (double)s->waits) - 1];
    inside->wait.longest_s = s->wait_s[s->waits - 1];
}

/* Estimates the waits between groups, whose clocks cannot be compared: the barrier latency of a group less
 * the least latency of all groups is a wait for the group with the least. */
static void compare_groups(sums *s) {
    stencil_inside *inside = s->inside;
    int least = 0;
    for (int g = 0; g < s->t->groups; g++) {
        s->latency_s[g] /= s->group_weight[g];
        if (s->latency_s[g] < s->latency_s[least])
            least = g;
    }
    inside->slow_group = least;
    inside->between_s = inside->latency_s - s->latency_s[least];
    inside->latency_s -= inside->between_s;
    inside->imbalance_s += inside->between_s;
}

static stencil_status analyse(sums *s) {
    const stencil_timeline *t = s->t;
    CHECK(s->wait_s != NULL && s->inside->blame != NULL, NO_MEMORY, "no memory for what happened in %d steps",
          t->samples);
    s->waited_s = s->wait_s + (size_t)t->samples * (size_t)t->participants;
    s->compute_s = s->waited_s + t->participants;
    s->weight = s->compute_s + t->participants;
    for (int p = 0; p < t->participants; p++)
        s->inside->blame[p].participant = p;
    for (int i = 0; i < t->samples; i++)
        for (int group = 0; group < t->groups; group++)
            TRY(add_sample(s, group, i));
    CHECK(s->all_weight > 0, BAD_DATA, "no %s noted a moment of a step", t->unit);
    finish(s);
    if (t->groups > 1)
        compare_groups(s);
    return STENCIL_OK;
}

stencil_status stencil_timeline_analyse(const stencil_timeline *timeline, stencil_inside *inside) {
    const size_t participants = (size_t)timeline->participants;
    sums s = {.t = timeline, .inside = inside};
    *inside = (stencil_inside){
        .slow_group = -1, .blame_count = timeline->participants, .samples = timeline->samples};
    s.wait_s = calloc(((size_t)timeline->samples + 3) * participants, sizeof *s.wait_s);
    inside->blame = calloc(participants, sizeof *inside->blame);
    const stencil_status status = analyse(&s);
    free(s.wait_s);
    if (status != STENCIL_OK)
        stencil_inside_destroy(inside);
    return status;
}

void stencil_inside_destroy(stencil_inside *inside) {
    free(inside->blame);
    *inside = (stencil_inside){0};
}

static double seconds_of(const stencil_tick_clock *clock, int64_t ticks) {
    return clock->offset_s + clock->tick_s * (double)(ticks - clock->origin);
}

void stencil_trial_take(stencil_timeline *timeline, int group, const int64_t *mark,
                        const stencil_tick_clock *clock, const uint32_t *place, bool launches) {
    const int first = timeline->group_first[group], count = timeline->group_first[group + 1] - first;
    double ended_s = NAN; /* end of the preceding sampled step */
    for (int i = -(int)launches; i < timeline->samples; i++) {
        double last_s = -INFINITY;
        for (int p = 0; p < count; p++, mark += STENCIL_NOTES) {
            const stencil_tick_clock *c = &clock[place != NULL ? *place++ : (uint32_t)p];
            stencil_moments m;
            for (int k = 0; k < STENCIL_SPENTS; k++)
                m.spent_s[k] = c->tick_s * (double)mark[STENCIL_MARKS + k];
            for (int k = 0; k < STENCIL_MARKS; k++)
                m.at_s[k] = seconds_of(c, mark[k]);
            if (mark[STENCIL_MARK_LAUNCHED] == 0)
                m.at_s[STENCIL_MARK_LAUNCHED] = launches ? ended_s : m.at_s[STENCIL_MARK_BEGIN];
            if (mark[STENCIL_MARK_EXCHANGED] == 0)
                m.at_s[STENCIL_MARK_EXCHANGED] = m.at_s[STENCIL_MARK_SWEPT];
            if (mark[STENCIL_MARK_SWEPT] == 0) /* no block of the step ran on this multiprocessor */
                m.at_s[STENCIL_MARK_LAUNCHED] = NAN;
            else
                last_s = fmax(last_s, m.at_s[STENCIL_MARK_SWEPT]);
            if (i >= 0)
                timeline->moment[i * timeline->participants + first + p] = m;
        }
        for (int p = first; p < first + count && i >= 0; p++) {
            double *at_s = timeline->moment[i * timeline->participants + p].at_s;
            if (launches)
                at_s[STENCIL_MARK_LEFT] = at_s[STENCIL_MARK_END] = last_s;
            for (int k = 1; k < STENCIL_MARKS && !isnan(at_s[0]); k++) /* clocks are exact to some ns */
                at_s[k] = fmax(at_s[k], at_s[k - 1]);
        }
        ended_s = last_s;
    }
}

void stencil_trial_take_launches(stencil_timeline *t, int group, const int64_t *launched,
                                 const stencil_tick_clock *clock, const uint32_t *place) {
    const int first = t->group_first[group], count = t->group_first[group + 1] - first;
    for (int i = 0; i < t->launches; i++)
        for (int p = 0; p < count; p++, launched += STENCIL_LAUNCH_MARKS) {
            const stencil_tick_clock *c = &clock[place != NULL ? *place++ : (uint32_t)p];
            double *at_s = t->launch[i * t->participants + first + p].at_s;
            int64_t ticks = launched[STENCIL_LAUNCH_ENTERED];
            for (int k = 0; k < STENCIL_LAUNCH_MARKS; k++) {
                ticks = launched[k] > ticks ? launched[k] : ticks; /* 0: as the moment before */
                at_s[k] = seconds_of(c, ticks);
            }
            if (launched[STENCIL_LAUNCH_ENTERED] == 0 || launched[STENCIL_LAUNCH_LOOPED] == 0)
                at_s[STENCIL_LAUNCH_ENTERED] = NAN;
        }
}

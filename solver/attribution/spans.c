/* Adds up the launches of a timeline: what a batch takes beside its steps. */
#include <math.h>

#include "solver/attribution/timeline.h"

/* The launches of a batch, as one group of participants saw them. */
typedef struct group {
    const stencil_timeline *t;
    int first, end;          /* participants */
    double begun_s, ended_s; /* of the last launch seen: its first ENTERED, its last STORED */
} group;

static bool noted(const stencil_launch_moments *launch, int p) {
    return !isnan(launch[p].at_s[STENCIL_LAUNCH_ENTERED]);
}

/* Finds when a launch begins and ends; returns false if a participant of the group noted nothing. */
static bool see_launch(group *g, const stencil_launch_moments *launch) {
    g->begun_s = INFINITY;
    g->ended_s = -INFINITY;
    for (int p = g->first; p < g->end; p++) {
        if (!noted(launch, p))
            return false;
        g->begun_s = fmin(g->begun_s, launch[p].at_s[STENCIL_LAUNCH_ENTERED]);
        g->ended_s = fmax(g->ended_s, launch[p].at_s[STENCIL_LAUNCH_STORED]);
    }
    return true;
}

static void add_launch(const group *g, const stencil_launch_moments *launch, stencil_spans *s) {
    for (int p = g->first; p < g->end; p++) {
        const double *at = launch[p].at_s;
        s->start_s += at[STENCIL_LAUNCH_ENTERED] - g->begun_s + g->ended_s - at[STENCIL_LAUNCH_STORED];
        s->load_s += at[STENCIL_LAUNCH_LOADED] - at[STENCIL_LAUNCH_ENTERED];
        s->loop_s += at[STENCIL_LAUNCH_LOOPED] - at[STENCIL_LAUNCH_LOADED];
        s->store_s += at[STENCIL_LAUNCH_STORED] - at[STENCIL_LAUNCH_LOOPED];
    }
}

/* Adds a batch of a group; returns the number of its launches that noted moments. */
static int add_group(group *g, const stencil_launch_moments *launch, const stencil_stretch *batch,
                     stencil_spans *s) {
    const int count = g->end - g->first;
    double first_s = 0, last_s = 0;
    int seen = 0;
    for (int i = 0; i < batch->launches; i++, launch += g->t->participants) {
        if (!see_launch(g, launch))
            continue;
        if (seen++ == 0)
            first_s = g->begun_s;
        else
            s->between_s += count * (g->begun_s - last_s);
        last_s = g->ended_s;
        add_launch(g, launch, s);
    }
    if (seen > 0)
        s->outside_s += count * (batch->time_s - (last_s - first_s));
    return seen;
}

stencil_spans stencil_timeline_spans(const stencil_timeline *t) {
    stencil_spans s = {0};
    const stencil_launch_moments *launch = t->launch;
    for (int b = 0; b < t->batches; launch += t->batch[b++].launches * t->participants) {
        int seen = 0;
        for (int k = 0; k < t->groups; k++) {
            group g = {t, t->group_first[k], t->group_first[k + 1], 0, 0};
            seen = add_group(&g, launch, &t->batch[b], &s);
        }
        if (seen == 0)
            continue;
        s.batches++;
        s.launches += seen;
        s.time_s += t->batch[b].time_s;
    }
    double *const mean[] = {&s.outside_s, &s.start_s, &s.load_s, &s.loop_s, &s.store_s, &s.between_s};
    for (size_t i = 0; i < sizeof mean / sizeof *mean; i++)
        *mean[i] /= t->participants;
    return s;
}

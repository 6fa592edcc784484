#include "solver/attribution/attribution.h"

#include <math.h>
#include <string.h>

#include "solver/attribution/trial.h"

enum { ROUNDS = 5, TRIES = 3, STEPS_MIN = 16, STEPS_MAX = 8192, CHECKED_SAMPLES = 8 };
/* Numbers of sampled steps in a batch: SAMPLES_MIN to SAMPLES_MAX, on a CPU at least steps / SPARSE_CPU. The
 * cost of time stamps is measured first, by PROBE consecutive samples in a batch of PROBE_STEPS steps. */
enum { SAMPLES_MAX = 512, SAMPLES_MIN = 4, SPARSE_CPU = 8, PROBE = 128, PROBE_STEPS = 512 };
/* Distance between samples in a persistent kernel, where even the steps between samples take longer. */
enum { KERNEL_EVERY = 9 };
/* Largest fractions by which time stamps may lengthen a batch: the goal, and the limit. */
static const double cost_wanted = 0.005, cost_most = 0.01;

/* Kinds of batches; each kind is timed once per round. */
typedef enum kind {
    WHOLE,
    WITHOUT_BARRIER,
    WITHOUT_COMPUTE,
    EMPTY,
    EMPTY_FEW,      /* EMPTY with STEPS_MIN steps */
    WITHOUT_COPIES, /* WHOLE without the halo copies of the host */
    CHECKED,
    TRACED,
    KINDS
} kind;

typedef struct experiment {
    stencil_trial trial;
    int64_t steps, check_every;
    uint32_t every, samples; /* distance and number of samples in TRACED batches */
    double noting_s, note_s; /* see stencil_attribution; noting_s: the largest value so far */
    stencil_timeline timeline[ROUNDS];
    int64_t count[KINDS]; /* number of steps in a batch of each kind */
    double time_s[KINDS][ROUNDS];
} experiment;

static bool is_timed(const experiment *e, kind k) {
    return k != WITHOUT_COPIES || (e->trial.launches && e->trial.run->on.plan->halo == STENCIL_HALO_COPY &&
                                   e->trial.run->on.plan->cut.parts > 1);
}

static stencil_status time_kind(experiment *e, kind k, int round) {
    const bool empty = k == EMPTY || k == EMPTY_FEW;
    const stencil_trace without = {.without_barrier = k == WITHOUT_BARRIER || empty,
                                   .without_compute = k == WITHOUT_COMPUTE || empty,
                                   .without_copies = k == WITHOUT_COPIES};
    double *time_s = &e->time_s[k][round];
    e->count[k] = k == EMPTY_FEW ? STEPS_MIN : e->steps;
    if (k != TRACED)
        return stencil_trial_time(&e->trial, e->count[k], k == CHECKED ? e->check_every : INT64_MAX, &without,
                                  time_s);
    stencil_timeline_destroy(&e->timeline[round]);
    return stencil_trial_record(&e->trial, &e->count[k], e->check_every, e->every, e->samples,
                                &e->timeline[round], time_s);
}

static int64_t common(int64_t a, int64_t b) {
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Chooses which steps of a traced batch have time stamps (at most `most`) and which are checked. The distance
 * of such steps is coprime to those of checks and polls, so that they include both in proportion. */
static void set_samples(experiment *e, int64_t most) {
    e->check_every = stencil_smaller(stencil_trial_check_every(&e->trial), e->steps / 4);
    if (e->trial.launches) {
        e->every = 1;
        e->samples = (uint32_t)stencil_smaller(most, e->steps);
        return;
    }
    const bool all = e->trial.run->on.cpu != NULL;
    int64_t every = all ? ((e->steps + most - 1) / most) | 1 : KERNEL_EVERY;
    const int64_t noted = all ? e->steps / every : stencil_smaller(most, e->steps / every),
                  polls = (e->trial.run->on.plan->poll_every + e->trial.depth - 1) / e->trial.depth;
    e->check_every = stencil_smaller(e->check_every, (ROUNDS * noted + 7) / CHECKED_SAMPLES);
    while (common(every, e->check_every) > 1 || common(every, polls) > 1)
        every += 2;
    const int64_t fit = (e->steps - 1) / every + 1;
    e->every = (uint32_t)every;
    e->samples = (uint32_t)(all ? fit : stencil_smaller(most, fit));
}

/* Returns the kind of untraced batch that has checks where TRACED batches have them. */
static kind untraced(const experiment *e) {
    return e->trial.launches ? WHOLE : CHECKED;
}

/* Measures the relative cost of time stamps in a batch, and the seconds that they add to a sampled step. */
static stencil_status measure_cost(experiment *e, double *cost) {
    double plain_s = INFINITY, traced_s = INFINITY;
    for (int try = 0; try < TRIES; try++) {
        TRY(time_kind(e, untraced(e), 0));
        TRY(time_kind(e, TRACED, 0));
        plain_s = fmin(plain_s, e->time_s[untraced(e)][0] / (double)e->steps);
        traced_s = fmin(traced_s, e->time_s[TRACED][0] / (double)e->count[TRACED]);
    }
    const int noted = e->timeline[0].samples + e->trial.launches;
    *cost = traced_s / plain_s - 1;
    e->noting_s = fmax((traced_s - plain_s) * (double)e->count[TRACED] / noted, e->noting_s);
    return STENCIL_OK;
}

/* Chooses the number of sampled steps so that time stamps cost little: first from the cost in consecutive
 * steps, then from the cost in the steps chosen. */
static stencil_status choose_samples(experiment *e) {
    const int64_t steps = e->steps, sparse = e->trial.run->on.cpu != NULL ? steps / SPARSE_CPU : 0,
                  least = sparse > SAMPLES_MIN ? sparse : SAMPLES_MIN;
    double cost = INFINITY;
    e->steps = stencil_smaller(steps, PROBE_STEPS);
    e->every = 1;
    e->samples = (uint32_t)stencil_smaller(e->steps, PROBE);
    TRY(measure_cost(e, &cost));
    e->note_s =
        e->trial.run->on.plan->barrier != STENCIL_BARRIER_none ? stencil_timeline_note_s(&e->timeline[0]) : 0;
    const double step_s = e->time_s[untraced(e)][0] / (double)e->steps;
    e->steps = steps;
    for (int try = 0; try < TRIES && (try == 0 || cost > cost_most); try++) {
        const double most = fmin(cost_wanted * step_s * (double)steps / e->noting_s, SAMPLES_MAX);
        set_samples(e, most > (double)least ? (int64_t)most : stencil_smaller(least, SAMPLES_MAX));
        if (e->samples <= least)
            break;
        TRY(measure_cost(e, &cost));
    }
    return STENCIL_OK;
}

/* Chooses the number of steps so that all rounds take about `budget_s` seconds in total, after a warm-up. */
static stencil_status choose_steps(experiment *e, double budget_s) {
    e->steps = STEPS_MIN;
    set_samples(e, SAMPLES_MAX);
    for (kind k = WHOLE; k < KINDS; k++)
        if (is_timed(e, k))
            TRY(time_kind(e, k, 0));
    for (; e->steps < STEPS_MAX; e->steps *= 2) {
        TRY(time_kind(e, CHECKED, 0));
        if (2 * e->time_s[CHECKED][0] * KINDS * ROUNDS > budget_s)
            break;
    }
    return choose_samples(e);
}

/* Returns a quantile (0 to 1) of the times of a kind of batch over all rounds. */
static double quantile(const experiment *e, kind k, double place) {
    double time_s[ROUNDS];
    memcpy(time_s, e->time_s[k], sizeof time_s);
    stencil_sort(time_s, ROUNDS);
    return time_s[(int)(place * (ROUNDS - 1))];
}

/* Returns the time of a batch without steps, extrapolated from empty batches of two lengths. */
static double launch_of(const experiment *e) {
    const double all_s = quantile(e, EMPTY, 0), few_s = quantile(e, EMPTY_FEW, 0);
    const double of_few = (double)e->count[EMPTY_FEW] / (double)e->count[EMPTY];
    return of_few < 1 ? fmin(fmax((few_s - of_few * all_s) / (1 - of_few), 0), all_s) : all_s;
}

/* Computes the model of Xiao and Feng from the quickest batch of each kind. */
static stencil_removal removal_of(const experiment *e) {
    const double total_s = quantile(e, WHOLE, 0), start_s = quantile(e, EMPTY, 0), steps = (double)e->steps;
    stencil_removal r = {.steps = e->steps, .total_s = total_s, .start_s = start_s, .launch_s = launch_of(e)};
    r.compute_s = fmax(quantile(e, WITHOUT_BARRIER, 0) - start_s, 0) / steps;
    r.barrier_s = fmax(quantile(e, WITHOUT_COMPUTE, 0) - start_s, 0) / steps;
    r.share = total_s > start_s ? steps * r.compute_s / (total_s - start_s) : NAN;
    r.spread = (quantile(e, WHOLE, 0.75) - quantile(e, WHOLE, 0.25)) / (2 * quantile(e, WHOLE, 0.5));
    return r;
}

/* Adds the host's halo copies and checks between launches, measured by batches without either. */
static void add_host(const experiment *e, stencil_inside *inside) {
    const double steps = (double)e->steps, whole_s = quantile(e, WHOLE, 0.5),
                 checks_s = fmax(quantile(e, CHECKED, 0.5) - whole_s, 0) / steps;
    const double halo_s =
        is_timed(e, WITHOUT_COPIES) ? fmax(whole_s - quantile(e, WITHOUT_COPIES, 0.5), 0) / steps : 0;
    const double copies_s = fmin(halo_s, inside->launch_s);
    inside->launch_s -= copies_s;
    inside->halo_s += copies_s;
    inside->after_s += checks_s * (double)e->check_every / (double)stencil_trial_check_every(&e->trial);
    inside->step_s += inside->after_s;
}

/* Analyses the time stamps of all traced batches as one timeline. */
static stencil_status look_inside(experiment *e, stencil_attribution *a) {
    const double steps = (double)e->steps, count = (double)e->count[TRACED],
                 plain_s = quantile(e, untraced(e), 0.5);
    TRY(stencil_timeline_join(e->timeline, ROUNDS, &a->timeline));
    stencil_timeline_take_off(&a->timeline, e->note_s);
    stencil_trial_weigh(&e->trial, &a->timeline);
    TRY(stencil_timeline_analyse(&a->timeline, &a->inside));
    a->traced_s = quantile(e, TRACED, 0.5) / count;
    a->untraced_s = plain_s / steps;
    a->noted = (e->timeline[0].samples + e->trial.launches) / count;
    a->noting_s = fmax(quantile(e, TRACED, 0) / count - quantile(e, untraced(e), 0) / steps, 0) / a->noted;
    a->note_s = e->note_s;
    a->covered = fmin(a->inside.unweighted_s * steps / (plain_s - fmin(a->removal.launch_s, plain_s)), 1);
    if (e->trial.launches)
        add_host(e, &a->inside);
    return STENCIL_OK;
}

static stencil_status experiment_run(experiment *e, double budget_s, stencil_attribution *a) {
    TRY(choose_steps(e, budget_s));
    /* kinds alternate, so that a disturbance of the machine affects all kinds alike */
    for (int round = 0; round < ROUNDS; round++)
        for (kind k = WHOLE; k < KINDS; k++)
            if (is_timed(e, k))
                TRY(time_kind(e, k, round));
    a->removal = removal_of(e);
    return look_inside(e, a);
}

stencil_status stencil_attribute(stencil_run *run, const stencil_observers *observers, double budget_s,
                                 stencil_attribution *attribution) {
    experiment e = {.trial = stencil_trial_of(run, observers)};
    *attribution = (stencil_attribution){.pass_steps = e.trial.depth, .model = {NAN, NAN, NAN}};
    const stencil_status status = experiment_run(&e, budget_s, attribution);
    for (int round = 0; round < ROUNDS; round++)
        stencil_timeline_destroy(&e.timeline[round]);
    attribution->timeline.neighbor_first = attribution->timeline.neighbor =
        NULL; /* the run owns both lists */
    if (status != STENCIL_OK)
        stencil_attribution_destroy(attribution);
    return status;
}

void stencil_attribution_destroy(stencil_attribution *attribution) {
    stencil_inside_destroy(&attribution->inside);
    stencil_timeline_destroy(&attribution->timeline);
    *attribution = (stencil_attribution){0};
}

stencil_status stencil_attribution_record(stencil_run *run, const stencil_observers *observers, int steps,
                                          stencil_timeline *timeline) {
    stencil_trial trial = stencil_trial_of(run, observers);
    int64_t count = steps;
    double time_s;
    const stencil_status status = stencil_trial_record(&trial, &count, stencil_trial_check_every(&trial), 1,
                                                       (uint32_t)steps, timeline, &time_s);
    timeline->neighbor_first = timeline->neighbor = NULL;
    return status;
}

void stencil_attribution_divide(const stencil_attribution *a, const stencil_report *report,
                                const stencil_wall *wall, double row_s[STENCIL_TIME_ROWS]) {
    const stencil_inside *in = &a->inside;
    const double own_s = fmax(report->compute_s - wall->race_s, 0),
                 launch_s = fmin(a->removal.launch_s, own_s),
                 scale = a->covered * (own_s - launch_s) / in->step_s;
    row_s[STENCIL_TIME_START] = wall->start_s;
    row_s[STENCIL_TIME_SEARCH] = report->compute_s - own_s + report->replan_s;
    row_s[STENCIL_TIME_LAUNCH] = report->drive_s - report->compute_s + launch_s + scale * in->launch_s;
    row_s[STENCIL_TIME_COMPUTE] = scale * in->compute_s;
    row_s[STENCIL_TIME_LATENCY] = scale * in->latency_s;
    row_s[STENCIL_TIME_IMBALANCE] = scale * in->imbalance_s;
    row_s[STENCIL_TIME_HALO] = scale * in->halo_s;
    row_s[STENCIL_TIME_CHECKS] = scale * in->after_s;
    row_s[STENCIL_TIME_FINISH] = report->finish_s + wall->write_s;
    row_s[STENCIL_TIME_REST] = wall->wall_s;
    for (int row = 0; row < STENCIL_TIME_REST; row++)
        row_s[STENCIL_TIME_REST] -= row_s[row];
}

stencil_step_times stencil_attribution_inside(const stencil_attribution *a) {
    const stencil_inside *in = &a->inside;
    return (stencil_step_times){in->launch_s, in->slowest_compute_s,
                                in->step_s - in->after_s - in->launch_s - in->slowest_compute_s};
}

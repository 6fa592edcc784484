#include "solver/attribution/attribution.h"

#include <math.h>
#include <string.h>

#include "solver/attribution/trial.h"

enum {
    ROUNDS = 5,
    QUIET = 3,
    TRIES = 3,
    STEPS_MIN = 16,
    STEPS_MAX = 8192,
    CHECKED_SAMPLES = 8, /* of all rounds; CHECKED_ROUND: of one */
    CHECKED_ROUND = 3,
    CYCLES_BUDGETS = 4
};
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
    int64_t steps;           /* passes in a batch */
    int64_t check_every;     /* steps from check to check in CHECKED and TRACED batches */
    uint32_t every, samples; /* distance and number of samples in TRACED batches */
    double noting_s, note_s; /* see stencil_attribution; noting_s: the largest value so far */
    stencil_timeline timeline[ROUNDS];
    int64_t count[KINDS]; /* number of steps in a batch of each kind */
    double time_s[KINDS][ROUNDS];
    stencil_makeup made[KINDS][ROUNDS];
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
    if (k != TRACED) {
        TRY(stencil_trial_time(&e->trial, e->count[k], k == CHECKED ? e->check_every : INT64_MAX, &without,
                               time_s));
    } else {
        stencil_timeline_destroy(&e->timeline[round]);
        TRY(stencil_trial_record(&e->trial, &e->count[k], e->check_every, e->every, e->samples,
                                 &e->timeline[round], time_s));
    }
    e->made[k][round] = e->trial.made;
    e->trial.exits = k == CHECKED ? e->trial.made.exits > 0 : e->trial.exits;
    return STENCIL_OK;
}

static int64_t common(int64_t a, int64_t b) {
    while (b != 0) {
        const int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* Returns the distance between samples, `noted` in a batch, with which some of them are passes with a check
 * and some are not, where checks are `passes` apart, and changes that distance to a multiple of it. What a
 * checked pass takes depends on the distance where blocks wait for neighbours alone: all wait there for the
 * slowest. */
static int64_t place_at_checks(const experiment *e, int64_t every, int64_t noted, int64_t *passes) {
    const int64_t wanted = CHECKED_ROUND * *passes / noted, most = *passes / 2;
    if (e->trial.run->on.cpu == NULL)
        every = stencil_smaller(wanted > every ? wanted : every, most) | 1;
    const int64_t turn = (*passes + every / 2) / every;
    *passes = (turn > 2 ? turn : 2) * every;
    return every;
}

/* Chooses which passes of a traced batch have time stamps (at most `most`) and which steps are checked: about
 * as in the run. Where samples are many, their distance is coprime to those of checks and polls, so that they
 * include both in proportion. */
static void set_samples(experiment *e, int64_t most) {
    const int64_t depth = e->trial.depth, quarter = e->steps / 4;
    e->check_every = stencil_smaller(e->trial.run->schedule.check_every, (quarter > 0 ? quarter : 1) * depth);
    if (e->trial.launches) {
        e->every = 1;
        e->samples = (uint32_t)stencil_smaller(most, e->steps);
        return;
    }
    const bool all = e->trial.run->on.cpu != NULL;
    int64_t every = all ? ((e->steps + most - 1) / most) | 1 : KERNEL_EVERY;
    const int64_t noted = all ? e->steps / every : stencil_smaller(most, e->steps / every),
                  polls = (e->trial.run->on.plan->poll_every + e->trial.depth - 1) / e->trial.depth;
    int64_t passes = stencil_trial_passes(&e->trial, e->check_every);
    /* On chip the stages of a check are in the passes behind it: these must be sampled as they come. */
    const bool in_stages = e->trial.run->on.plan->layout.kind == STENCIL_PASS_ON_CHIP;
    if (!e->trial.exits && !in_stages && ROUNDS * noted < CHECKED_SAMPLES * passes) {
        every = place_at_checks(e, every, noted, &passes);
        e->check_every = passes * depth;
    } else {
        while (common(every, passes) > 1 || common(every, polls) > 1)
            every += 2;
    }
    const int64_t fit = every < e->steps ? e->steps / every : 1;
    e->every = (uint32_t)every;
    e->samples = (uint32_t)(all ? fit : stencil_smaller(most, fit));
}

/* Returns the kind of untraced batch that has checks where TRACED batches have them. */
static kind untraced(const experiment *e) {
    return e->trial.launches ? WHOLE : CHECKED;
}

/* Returns the number of passes, or of the next larger number of whole cycles of weights. */
static int64_t whole(const experiment *e, int64_t passes) {
    const int64_t unit = e->trial.whole_count;
    return (passes + unit - 1) / unit * unit;
}

/* Measures the relative cost of time stamps in a batch, as far as equal batches do not differ as much, and
 * the seconds that they add to a sampled step. */
static stencil_status measure_cost(experiment *e, double *cost) {
    double plain_s = INFINITY, slowest_s = 0, traced_s = INFINITY;
    for (int try = 0; try < TRIES; try++) {
        TRY(time_kind(e, untraced(e), 0));
        TRY(time_kind(e, TRACED, 0));
        const double step_s = e->time_s[untraced(e)][0] / (double)e->steps;
        plain_s = fmin(plain_s, step_s), slowest_s = fmax(slowest_s, step_s);
        traced_s = fmin(traced_s, e->time_s[TRACED][0] / (double)e->count[TRACED]);
    }
    const int noted = e->timeline[0].samples + e->trial.launches;
    *cost = traced_s / slowest_s - 1;
    e->noting_s = fmax((traced_s - plain_s) * (double)e->count[TRACED] / noted, e->noting_s);
    return STENCIL_OK;
}

/* Returns what to take off between two moments of a persistent loop, after a batch that notes each step: what
 * a note takes by itself, or on a GPU, where batches alike take the same time, what a note made steps longer
 * by, within a third more. A step has a note more than there are times between its moments. In loops on chip
 * notes lengthen what is between steps, too, which is not taken off. */
static double note_of(const experiment *e) {
    enum { NOTES = STENCIL_MARK_END - STENCIL_MARK_BEGIN + 1 };
    const bool loop = e->trial.run->on.plan->barrier != STENCIL_BARRIER_none;
    const double pair_s = loop ? stencil_timeline_note_s(&e->timeline[0]) : 0;
    const bool on_chip = e->trial.run->on.plan->layout.kind == STENCIL_PASS_ON_CHIP;
    return loop && e->trial.run->on.gpu != NULL && !on_chip
               ? fmin(fmax(pair_s, e->noting_s / NOTES), 4 * pair_s / 3)
               : pair_s;
}

/* Chooses the number of sampled steps so that time stamps cost little: first from the cost in consecutive
 * steps, then on a CPU from the cost in the steps chosen. On a GPU, what a batch with samples takes besides
 * them, a launch more, does not depend on their number. */
static stencil_status choose_samples(experiment *e) {
    const int64_t steps = e->steps, sparse = e->trial.run->on.cpu != NULL ? steps / SPARSE_CPU : 0,
                  least = sparse > SAMPLES_MIN ? sparse : SAMPLES_MIN;
    double cost = INFINITY;
    e->steps = whole(e, stencil_smaller(steps, PROBE_STEPS));
    e->every = 1;
    e->samples = (uint32_t)stencil_smaller(e->steps, PROBE);
    TRY(measure_cost(e, &cost));
    e->note_s = note_of(e);
    const double step_s = e->time_s[untraced(e)][0] / (double)e->steps;
    e->steps = steps;
    for (int try = 0; try < TRIES && (try == 0 || cost > cost_most); try++) {
        const double most = fmin(cost_wanted * step_s * (double)steps / e->noting_s, SAMPLES_MAX);
        set_samples(e, most > (double)least ? (int64_t)most : stencil_smaller(least, SAMPLES_MAX));
        if (e->samples <= least || e->trial.run->on.gpu != NULL)
            break;
        TRY(measure_cost(e, &cost));
    }
    return STENCIL_OK;
}

/* Makes all batches whole cycles of an accelerated problem, unless these take many times the budget. */
static void choose_cycles(experiment *e, double budget_s) {
    const int64_t length = e->trial.run->problem->cycle.length,
                  unit = length / common(length, e->trial.depth);
    const double pass_s = e->time_s[CHECKED][0] / (double)e->steps;
    if (e->trial.run->accelerated && (double)unit * pass_s * KINDS * ROUNDS <= CYCLES_BUDGETS * budget_s)
        e->trial.whole_count = unit;
}

/* Chooses the number of steps so that all rounds take about `budget_s` seconds in total, after a warm-up. */
static stencil_status choose_steps(experiment *e, double budget_s) {
    e->steps = STEPS_MIN;
    set_samples(e, SAMPLES_MAX);
    for (kind k = WHOLE; k < KINDS; k++)
        if (is_timed(e, k))
            TRY(time_kind(e, k, 0));
    choose_cycles(e, budget_s);
    for (e->steps = whole(e, e->steps); e->steps < STEPS_MAX; e->steps *= 2) {
        set_samples(e, SAMPLES_MAX);
        TRY(time_kind(e, CHECKED, 0));
        if (2 * e->time_s[CHECKED][0] * KINDS * ROUNDS > budget_s)
            break;
    }
    return choose_samples(e);
}

/* Quantile of the rounds that is the median of the quickest QUIET: the others were disturbed. */
static const double quiet_middle = (QUIET / 2) / (ROUNDS - 1.0);

/* Puts the traced batches, and their timelines, in the order of their times. */
static void sort_traced(experiment *e) {
    double *time_s = e->time_s[TRACED];
    for (int i = 0; i < ROUNDS; i++)
        for (int k = i + 1; k < ROUNDS; k++) {
            if (time_s[k] >= time_s[i])
                continue;
            const double later_s = time_s[i];
            const stencil_timeline later = e->timeline[i];
            time_s[i] = time_s[k], e->timeline[i] = e->timeline[k];
            time_s[k] = later_s, e->timeline[k] = later;
        }
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

/* Returns the mean makeup of a kind of batch, per round. */
static stencil_makeup made_of(const experiment *e, kind k) {
    stencil_makeup mean = {0};
    for (int round = 0; round < ROUNDS; round++) {
        const stencil_makeup *m = &e->made[k][round];
        mean.batches += m->batches / ROUNDS;
        mean.launches += m->launches / ROUNDS;
        mean.checks += m->checks / ROUNDS;
        mean.exits += m->exits / ROUNDS;
        mean.passes += m->passes / ROUNDS;
        mean.loop_steps += m->loop_steps / ROUNDS;
        mean.steps += m->steps / ROUNDS;
    }
    return mean;
}

/* Notes lengthen the gap between two launches: it is what steps without notes take beside what goes on within
 * a launch, where notes are not between the moments. What a batch takes besides its steps is not theirs. */
static void time_launch(const experiment *e, stencil_inside *inside) {
    const double noted_s = inside->step_s, within_s = noted_s - inside->launch_s,
                 step_s = (quantile(e, WHOLE, quiet_middle) - launch_of(e)) / (double)e->steps;
    inside->launch_s = fmax(step_s - within_s, 0);
    inside->step_s = within_s + inside->launch_s;
    inside->batch_step_s *= inside->step_s / noted_s;
}

/* Moves the host's halo copies between launches, measured by batches without them, from the launch. */
static void move_copies(const experiment *e, stencil_inside *inside) {
    const double halo_s =
        fmax(quantile(e, WHOLE, 0.5) - quantile(e, WITHOUT_COPIES, 0.5), 0) / (double)e->steps;
    const double copies_s = fmin(halo_s, inside->launch_s);
    inside->launch_s -= copies_s;
    inside->halo_s += copies_s;
}

/* Makes the account of a batch whose checks are seen only by what they add to a batch without: each is an
 * exit, and a step costs what it costs in a batch without. */
static void account_by_difference(const experiment *e, stencil_attribution *a) {
    stencil_account *account = &a->account;
    const double checks_s = quantile(e, CHECKED, quiet_middle) - quantile(e, WHOLE, quiet_middle);
    for (int c = 0; c < STENCIL_CAUSES; c++) {
        account->step_s[c] += account->pass_s[c] / e->trial.depth;
        account->pass_s[c] = 0;
    }
    a->made.exits = a->made.checks;
    a->made.loop_steps = a->made.steps;
    if (a->made.checks > 0)
        account->exit_s[STENCIL_CAUSE_CHECK] = fmax(checks_s, 0) / a->made.checks;
}

/* Makes the account from the time stamps: of passes, and of launches where these have noted any. */
static void make_account(const experiment *e, stencil_attribution *a) {
    const stencil_spans spans = stencil_timeline_spans(&a->timeline);
    const stencil_makeup traced = made_of(e, TRACED);
    const bool gpu_loop = e->trial.run->on.gpu != NULL && !e->trial.launches;
    a->made = made_of(e, CHECKED);
    stencil_account_add_pass(&a->account, &a->inside, gpu_loop ? e->trial.depth : 0);
    stencil_account_add_spans(&a->account, &spans, &traced);
    if (spans.batches == 0)
        a->account.batch_s[STENCIL_CAUSE_LAUNCH] = a->removal.launch_s;
    if (e->trial.launches || (e->trial.exits && spans.launches <= spans.batches))
        account_by_difference(e, a);
}

/* Sets cause_s and covered from the account and the makeup of CHECKED batches. */
static void close_account(const experiment *e, stencil_attribution *a) {
    const double passes = (double)e->steps, in_batches = a->inside.batch_step_s / a->inside.step_s;
    stencil_makeup m = a->made;
    stencil_account whole = a->account;
    double ignored_s[STENCIL_CAUSES];
    for (int c = 0; c < STENCIL_CAUSES; c++) {
        whole.pass_s[c] *= in_batches;
        whole.step_s[c] *= in_batches;
    }
    a->covered = stencil_account_of(&whole, &m, ignored_s) / quantile(e, CHECKED, quiet_middle);
    m.exits *= (double)a->check_every / (double)a->run_check_every;
    a->step_s = stencil_account_of(&a->account, &m, a->cause_s) / passes;
    for (int c = 0; c < STENCIL_CAUSES; c++)
        a->cause_s[c] /= passes;
}

/* Analyses the time stamps of the quickest traced batches as one timeline. */
static stencil_status look_inside(experiment *e, stencil_attribution *a) {
    const double steps = (double)e->steps, count = (double)e->count[TRACED];
    sort_traced(e);
    TRY(stencil_timeline_join(e->timeline, QUIET, &a->timeline));
    stencil_timeline_take_off(&a->timeline, e->note_s);
    if (!e->trial.exits)
        stencil_trial_weigh(&e->trial, e->check_every, &a->timeline);
    TRY(stencil_timeline_analyse(&a->timeline, &a->inside));
    if (e->trial.launches)
        time_launch(e, &a->inside);
    if (is_timed(e, WITHOUT_COPIES))
        move_copies(e, &a->inside);
    a->check_every = e->check_every;
    a->run_check_every = e->trial.run->schedule.check_every;
    make_account(e, a);
    close_account(e, a);
    a->traced_s = quantile(e, TRACED, quiet_middle) / count;
    a->untraced_s = quantile(e, CHECKED, quiet_middle) / steps;
    a->noted = (e->timeline[0].samples + e->trial.launches) / count;
    a->noting_s = fmax(quantile(e, TRACED, 0) / count - quantile(e, untraced(e), 0) / steps, 0) / a->noted;
    a->note_s = e->note_s;
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
    const stencil_status status = stencil_trial_record(&trial, &count, run->schedule.check_every, 1,
                                                       (uint32_t)steps, timeline, &time_s);
    timeline->neighbor_first = timeline->neighbor = NULL;
    return status;
}

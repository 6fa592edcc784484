#include "solver/run/tune.h"

#include <math.h>
#include <stdio.h>

#include "solver/plan/model.h"

const char *const stencil_effort_names[] = {"estimate", "measure", "patient", "exhaustive", NULL};

/* Constants of a race. They limit its cost and describe errors of predictions and samples; none of them
 * depends on a GPU. run_s: seconds of the run per plan that is timed in it; turn_*: limits of the seconds
 * that a plan's steps in a round take, turn_share as a fraction of the run. */
static const double run_s = 0.05, turn_least_s = 0.5e-3, turn_most_s[] = {0, 4e-3, 10e-3, 5e-3},
                    turn_share = 0.01;
/* Factors by which a plan may be slower than the best plan. within: predicted time of plans to be timed;
 * hopeless: best sample, to stay in the race after the second round. */
static const double within[] = {1, 1.5, 3, INFINITY}, hopeless = 1.5;
/* Handicaps in the choice of the next plan to time. alike: similar plans have similar errors of predictions,
 * so another kind is timed first; same_sweep: plans of a sweep differ less than predictions err. */
static const double alike = 1.25, same_sweep = 3;
/* Upper limit on the fraction of the run's steps that the race takes. */
static const double part_of_run = 0.25;
/* SAMPLES_LEAST: samples that the last remaining racer gets, so that its measured time can be kept. */
enum { GRAPH_STEPS = 64, WARM = 8, SAMPLES_LEAST = 4 };

double stencil_tune_steps(const stencil_problem *problem) {
    const double left = (double)(problem->stop.steps - problem->origin.steps),
                 predicted = stencil_predicted_steps(problem) - (double)problem->origin.steps;
    /* the limit on steps is rarely reached and says little */
    return !stencil_stop_has_criterion(&problem->stop) ? left
           : isnan(predicted)                          ? 0.01 * left
                                                       : fmax(fmin(left, predicted), 0);
}

static stencil_candidate *candidate_of(const stencil_tune *t, int racer) {
    return &t->choice->item[t->racer[racer].candidate];
}

/* Completes a candidate's plan by its kernel's attributes from the driver; false: it is impossible. */
static bool plan_here(stencil_candidate *c, const stencil_problem *problem, stencil_machine *machine) {
    if (stencil_plan_here(&c->plan, problem, &c->options, machine) != STENCIL_OK) {
        snprintf(c->why, sizeof c->why, "%.150s", stencil_error_last()->message);
        return false;
    }
    c->cost = stencil_model_step(&c->plan, problem, machine);
    return true;
}

static bool is_alike(const stencil_plan *a, const stencil_plan *b) {
    return (a->barrier == STENCIL_BARRIER_none) == (b->barrier == STENCIL_BARRIER_none) &&
           a->sweep == b->sweep && a->backend == b->backend && a->cut.parts == b->cut.parts;
}

/* Returns the index of the next candidate to time; -1: none is predicted to take at most most_s. */
static int pick(const stencil_tune *t, double most_s) {
    int best = -1;
    double best_s = INFINITY;
    for (int i = 0; i < t->choice->possible; i++) {
        const stencil_candidate *c = &t->choice->item[i];
        bool open = c->why[0] == '\0' && c->cost.step_s <= most_s, kind = false, sweep = false;
        for (int k = 0; k < t->count; k++) {
            const stencil_plan *racer = &candidate_of(t, k)->plan;
            open = open && t->racer[k].candidate != i;
            kind = kind || is_alike(racer, &c->plan);
            sweep = sweep || (racer->sweep == c->plan.sweep && racer->backend == c->plan.backend);
        }
        const double s = (kind ? alike : 1) * (sweep ? same_sweep : 1) * c->cost.step_s;
        if (open && s < best_s) {
            best = i;
            best_s = s;
        }
    }
    return best;
}

/* Rounds the number of steps up to whole passes, since a shorter pass costs as much. */
static int64_t whole_passes(const stencil_candidate *c, double steps) {
    const int64_t depth = c->plan.depth > 1 ? c->plan.depth : 1;
    return ((int64_t)fmin(fmax(ceil(steps), 2), 1 << 24) + depth - 1) / depth * depth;
}

/* Adds a racer after those that share its cell arrays, because a change to other arrays copies the cells. */
static void add_racer(stencil_tune *t, int candidate) {
    const stencil_candidate *c = &t->choice->item[candidate];
    const stencil_plan *plan = &c->plan;
    int at = t->count;
    while (at > 0 && !stencil_plans_share_cells(&candidate_of(t, at - 1)->plan, plan))
        at--;
    at = at > 0 ? at : t->count;
    for (int k = t->count++; k > at; k--)
        t->racer[k] = t->racer[k - 1];
    t->racer[at] =
        (stencil_racer){.candidate = candidate, .steps = whole_passes(c, t->turn_s / c->cost.step_s)};
}

/* Returns the step where a racer's steps in a round end: a checked step, so that all racers have as many
 * checks; if checks are rare, the step after full CUDA graphs, unless launches hardly count. */
static int64_t turn_end(const stencil_tune *t, int64_t step, int64_t steps) {
    const int64_t every = t->problem->stop.check_every;
    if (every <= 4 * steps)
        return (step + steps + every - 1) / every * every;
    return steps < GRAPH_STEPS ? step + steps
                               : step + (steps + GRAPH_STEPS - 1) / GRAPH_STEPS * GRAPH_STEPS + 1;
}

/* Removes the last racers until the race fits into part_of_run of the steps. */
static void limit_steps(stencil_tune *t, double steps) {
    for (; t->count > 1; t->count--) {
        double round = 0;
        for (int k = 0; k < t->count; k++)
            round += (double)turn_end(t, 0, t->racer[k].steps);
        if (round * t->rounds <= part_of_run * steps)
            return;
    }
}

stencil_status stencil_tune_start(stencil_tune *t, stencil_choice *choice, const stencil_problem *problem,
                                  stencil_machine *machine, stencil_effort effort) {
    *t = (stencil_tune){.choice = choice, .problem = problem, .mark = -1};
    while (!plan_here(&choice->item[choice->chosen], problem, machine)) {
        const stencil_error error = *stencil_error_last();
        const int next = pick(t, INFINITY);
        if (next < 0)
            return stencil_error_adopt(&error);
        choice->chosen = next;
    }
    const double step_s = choice->item[choice->chosen].cost.step_s, steps = stencil_tune_steps(problem);
    t->turn_s = fmax(fmin(turn_share * steps * step_s, turn_most_s[effort]), turn_least_s);
    /* runs on several GPUs have more kinds of plans */
    const int most[] = {1, choice->asked.gpu_count > 1 ? 4 : 3, 12, STENCIL_RACE_MAX};
    const bool all = effort == STENCIL_EFFORT_EXHAUSTIVE;
    const int rounds[] = {1, 6, STENCIL_ROUNDS_MAX, 8};
    t->rounds = rounds[effort];
    add_racer(t, choice->chosen);
    while (t->count < most[effort] && (all || (t->count + 1) * run_s <= steps * step_s)) {
        const int next = pick(t, within[effort] * step_s);
        if (next < 0)
            break;
        if (plan_here(&choice->item[next], problem, machine))
            add_racer(t, next);
    }
    if (!all)
        limit_steps(t, steps);
    return STENCIL_OK;
}

/* Sets a candidate's measured time to the median of its samples, without the first one if there are more. Its
 * uncertainty is half of the interquartile range; of two samples the range of all, of one the time. */
static void evaluate(const stencil_tune *t, int k) {
    const stencil_racer *r = &t->racer[k];
    stencil_candidate *c = candidate_of(t, k);
    double sorted[STENCIL_ROUNDS_MAX];
    const int first = r->samples > 1, n = c->samples = r->samples - first;
    for (int i = 0; i < n; i++)
        sorted[i] = r->sample[first + i];
    stencil_sort(sorted, (size_t)n);
    c->step_s = (sorted[n / 2] + sorted[(n - 1) / 2]) / 2;
    c->spread_s = n > 2   ? (sorted[3 * n / 4] - sorted[n / 4]) / 2
                  : first ? fmax(sorted[n - 1], r->sample[0]) - fmin(sorted[0], r->sample[0])
                          : c->step_s;
}

static double least_s(const stencil_racer *r) {
    double least = INFINITY;
    for (int i = 0; i < r->samples; i++)
        least = fmin(least, r->sample[i]);
    return least;
}

/* Ends a round of the race: slow racers leave, but none after one sample, which may be disturbed. */
static void end_round(stencil_tune *t) {
    double best_s = INFINITY;
    for (int k = 0; k < t->count; k++)
        best_s = fmin(best_s, candidate_of(t, k)->step_s);
    int left = 0;
    for (int k = 0; k < t->count; k++)
        if (t->racer[k].samples < 2 || least_s(&t->racer[k]) <= hopeless * best_s)
            t->racer[left++] = t->racer[k];
    t->count = left;
    t->turn = 0;
}

static double pessimistic_s(const stencil_candidate *c) {
    return c->step_s + c->spread_s;
}

/* Makes the run use the plan of the current racer; on failure returns false and removes the racer. */
static bool lets_run(stencil_tune *t) {
    stencil_candidate *c = candidate_of(t, t->turn);
    if (stencil_run_replan(t->run, &c->plan) == STENCIL_OK) {
        t->choice->chosen = t->racer[t->turn].candidate;
        return true;
    }
    snprintf(c->why, sizeof c->why, "%.150s", stencil_error_last()->message);
    t->count--;
    for (int k = t->turn; k < t->count; k++)
        t->racer[k] = t->racer[k + 1];
    return false;
}

/* Ends the race: the best racer whose plan can be used continues the run, else the current plan. */
static void finish(stencil_tune *t) {
    t->done = true;
    do {
        t->turn = 0;
        for (int k = 1; k < t->count; k++)
            if (pessimistic_s(candidate_of(t, k)) < pessimistic_s(candidate_of(t, t->turn)))
                t->turn = k;
    } while (t->count > 0 && !lets_run(t));
    stencil_run_settle(t->run);
}

/* Starts the steps of the next racer, or ends the race. */
static void go_on(stencil_tune *t) {
    do {
        if (t->turn >= t->count)
            end_round(t);
        const int samples = t->count > 0 ? t->racer[t->turn].samples : t->rounds;
        if (samples == t->rounds || (t->count == 1 && samples >= SAMPLES_LEAST)) {
            finish(t);
            return;
        }
    } while (!lets_run(t));
}

static int64_t first_turn(const stencil_tune *t, int racer) {
    return whole_passes(candidate_of(t, racer), (double)t->racer[racer].steps / WARM);
}

static int64_t next_look(void *context, int64_t step) {
    stencil_tune *t = context;
    if (t->done || (t->mark < 0 && t->count < 2))
        return INT64_MAX;
    if (t->mark < 0) {
        t->mark = step;
        t->next = turn_end(t, step, first_turn(t, 0));
    }
    return t->next;
}

static stencil_status look(void *context, stencil_report *report) {
    stencil_tune *t = context;
    stencil_racer *r = &t->racer[t->turn];
    const double step_s = (report->compute_s - t->mark_s) / (double)(report->steps - t->mark);
    r->sample[r->samples++] = step_s;
    evaluate(t, t->turn);
    if (step_s * (double)r->steps > t->turn_s) /* slower than predicted: make fewer steps */
        r->steps = whole_passes(candidate_of(t, t->turn), t->turn_s / step_s);
    t->turn++;
    go_on(t);
    t->mark = report->steps;
    t->mark_s = report->compute_s;
    r = &t->racer[t->turn];
    t->next = turn_end(t, t->mark, r->samples == 0 ? first_turn(t, t->turn) : r->steps);
    return STENCIL_OK;
}

stencil_observer stencil_tune_observer(stencil_tune *t) {
    return (stencil_observer){.context = t, .next = next_look, .at = look, .any_step = true};
}

/* Writes a ratio as "25 % slower" or "41.8 times as long". */
static void explain_ratio(char why[STENCIL_WHY_CHARS], const char *before, double ratio) {
    snprintf(why, STENCIL_WHY_CHARS, ratio > 10 ? "%s%.3g times as long" : "%s%.3g %% slower", before,
             ratio > 10 ? ratio : 100 * (ratio - 1));
}

void stencil_tune_explain(const stencil_tune *t) {
    const stencil_choice *choice = t->choice;
    stencil_candidate *best = &choice->item[choice->chosen];
    const bool cut_short = t->next > 0 && !t->done; /* a race has begun but not ended */
    if (cut_short)
        snprintf(best->why, sizeof best->why, "made the last steps; the race was not over");
    for (int i = 0; i < choice->possible; i++) {
        stencil_candidate *c = &choice->item[i];
        const double measured = c->step_s / best->step_s, predicted = c->cost.step_s / best->cost.step_s;
        if (c == best || c->why[0] != '\0')
            continue;
        if (cut_short && c->samples > 0)
            snprintf(c->why, sizeof c->why, "timed, but the run ended before the race");
        else if (t->done && c->samples > 0 && measured > 1)
            explain_ratio(c->why, "", measured);
        else if (t->done && c->samples > 0)
            snprintf(c->why, sizeof c->why, "quicker by less than its noise");
        else if (predicted > 1.01)
            explain_ratio(c->why, "predicted ", predicted);
        else
            snprintf(c->why, sizeof c->why, "predicted as quick, not timed");
    }
}

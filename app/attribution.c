#include "app/attribution.h"

#include <math.h>
#include <string.h>

#include "app/json.h"
#include "app/signals.h"
#include "app/table.h"

/* Seconds that the steps made for an attribution may take, if steps are short; and steps of a timeline. */
static const double budget_s = 1.0;
enum { TRACE_STEPS = 200 };

#define ROW(cause) (STENCIL_TIME_CAUSES + STENCIL_CAUSE_##cause)
static const struct {
    const char *name, *key;
} rows[STENCIL_TIME_ROWS] = {
    [STENCIL_TIME_START] = {"start-up (machine, plan, memory, read)", "start"},
    [STENCIL_TIME_SEARCH] = {"finding the plan (steps included)", "search"},
    [ROW(LAUNCH)] = {"launch", "launch"},
    [ROW(LOAD)] = {"loading the field on chip", "load"},
    [ROW(COMPUTE)] = {"compute", "compute"},
    [ROW(LATENCY)] = {"barrier latency", "latency"},
    [ROW(IMBALANCE)] = {"imbalance", "imbalance"},
    [ROW(HALO)] = {"halo exchange", "halo"},
    [ROW(CHECK)] = {"residual, stop checks, progress", "checks"},
    [ROW(STORE)] = {"storing the field from chip", "store"},
    [STENCIL_TIME_SLOWER] = {"passes slower than those noted", "slower"},
    [STENCIL_TIME_FINISH] = {"finish (error bound, transfer, write)", "finish"},
};

static bool keep_going(void *context, int64_t step, double residual) {
    (void)context, (void)step, (void)residual;
    return signals_caught == 0;
}

/* Turns a failure of attribution's batches, barrier timeouts included, into a note: the run is done. */
static stencil_status note_failure(stencil_status status, run_record *record) {
    if (status == STENCIL_OK ||
        (status == STENCIL_INTERNAL && run_record_plan(record)->barrier == STENCIL_BARRIER_none))
        return status;
    stencil_notes_add(&record->notes, "no attribution: %s", stencil_error_last()->message);
    return STENCIL_OK;
}

stencil_status attribution_make(attribution *a, stencil_run *run, run_record *record) {
    const stencil_observers observers = {&(stencil_observer){.poll = keep_going}, 1};
    if ((a->wanted || a->trace != NULL) && stencil_report_steps_done(&record->report) == 0)
        return note_failure(ERROR(UNAVAILABLE, "no step was made"), record);
    if (a->wanted) {
        const stencil_status status = stencil_attribute(run, &observers, budget_s, &a->steps);
        a->known = status == STENCIL_OK;
        TRY(note_failure(status, record));
        const stencil_cost model =
            stencil_model_pass(run_record_plan(record), &record->problem, &record->machine);
        a->steps.model = (stencil_step_times){model.launch_s, model.compute_s, model.barrier_s};
        choice_rival(&record->choice.choice, &record->problem, &record->machine, &a->rival);
    }
    if (a->trace != NULL && a->known == a->wanted) {
        const stencil_status status = stencil_attribution_record(run, &observers, TRACE_STEPS, &a->timeline);
        a->traced = status == STENCIL_OK;
        TRY(note_failure(status, record));
    }
    return STENCIL_OK;
}

void attribution_destroy(attribution *a) {
    stencil_attribution_destroy(&a->steps);
    stencil_timeline_destroy(&a->timeline);
}

/* Time in seconds as a text in microseconds; "-" for NaN. */
#define MICROSECONDS(seconds) (isnan(seconds) ? "-" : TEXT_NUMBER(1e6 * (seconds)))

static const stencil_calibration *costs_of(const run_record *record) {
    return run_record_plan(record)->backend == STENCIL_BACKEND_GPU ? &record->machine.gpu_costs
                                                                   : &record->machine.cpu_costs;
}

static bool is_of_steps(int row) {
    return row != STENCIL_TIME_START && row != STENCIL_TIME_SEARCH && row != STENCIL_TIME_FINISH;
}

/* Returns the time of the steps of the run's last plan, without the times before and after these steps. */
static double steps_time_s(const attribution *a, const double *row_s) {
    double all_s = a->wall.wall_s;
    for (int row = 0; row < STENCIL_TIME_ROWS; row++)
        all_s -= is_of_steps(row) ? 0 : row_s[row];
    return all_s;
}

/* Returns the time of a step with the plan that the run ended with, in µs. */
static double own_step_us(const run_record *record) {
    const stencil_tune *t = &record->choice.tune;
    const double steps = (double)(record->report.steps - t->mark);
    return t->done && steps > 0 ? 1e6 * (record->report.compute_s - t->mark_s) / steps
                                : stencil_report_step_us(&record->report);
}

/* Prints, as a sentence, the share of the steps' time in which a run waited. */
static void print_answer(const attribution *a, const run_record *record, const double *row_s) {
    const double percent = 100 / steps_time_s(a, row_s);
    const bool launched = run_record_plan(record)->barrier == STENCIL_BARRIER_none;
    const double waited_s = row_s[ROW(LATENCY)] + row_s[ROW(IMBALANCE)] + (launched ? row_s[ROW(LAUNCH)] : 0);
    PRINT("Waiting",
          "%.3g %% of the time of its steps this run was waiting %s; %.3g %% because %ss finish at different "
          "times",
          percent * waited_s, launched ? "for the next step to begin" : "at barriers",
          percent * row_s[ROW(IMBALANCE)], a->steps.timeline.unit);
}

/* Prints a plan that is quicker than the run's by measurement, or by prediction beyond the prediction error;
 * or that no such plan is known. */
static void print_rival(const attribution *a, const run_record *record) {
    const bool measured = a->rival.samples > 0;
    const double own_us = own_step_us(record),
                 other_us = 1e6 * (measured ? a->rival.step_s : a->rival.cost.step_s);
    const stencil_choice *choice = &record->choice.choice;
    const double predicted_us = measured ? own_us : 1e6 * choice->item[choice->chosen].cost.step_s;
    if (a->rival.possible && other_us < fmin(own_us, predicted_us) / (measured ? 1.02 : 1.1))
        PRINT("Quicker", "--sync %s --sweep %s would take %s µs per step instead of %s, as %s",
              a->rival.options.sync, a->rival.options.sweep, TEXT_NUMBER(other_us), TEXT_NUMBER(own_us),
              measured                     ? "was measured in this run"
              : costs_of(record)->measured ? "is predicted for this machine"
                                           : "general figures say (stencil calibrate measures this machine)");
    else
        PRINT("Quicker", "%s", "no other strategy or sweep is known, or predicted, to gain a tenth");
}

static void print_rows(const attribution *a, const run_record *record, const double *row_s) {
    const double steps = (double)stencil_report_steps_done(&record->report);
    table t = {0};
    table_add_columns(&t, "<where the time went\t>µs/step\t>% of_steps\t>% of_all");
    for (int row = 0; row <= STENCIL_TIME_ROWS; row++) {
        const bool all = row == STENCIL_TIME_ROWS, of_steps = !all && is_of_steps(row);
        const double s = all ? a->wall.wall_s : row_s[row];
        if ((row == STENCIL_TIME_SEARCH || row == STENCIL_TIME_SLOWER || row == ROW(HALO) ||
             row == ROW(LOAD) || row == ROW(STORE)) &&
            s == 0)
            continue;
        table_add_line(&t, "%s\t%s\t%s\t%.1f", all ? "wall clock" : rows[row].name, MICROSECONDS(s / steps),
                       of_steps ? TEXT("%.1f", 100 * s / steps_time_s(a, row_s)) : "-",
                       100 * s / a->wall.wall_s);
    }
    fputc('\n', stdout);
    table_print(stdout, &t);
    fputc('\n', stdout);
}

/* Prints that the parts of a batch, each measured by itself, do not add up to its time. */
static void print_sum(const attribution *a) {
    static const double apart_most = 0.05;
    const double apart = a->steps.covered - 1;
    if (fabs(apart) > apart_most)
        PRINT("Sum",
              "the parts, measured one by one, add up to %.0f %% %s than a batch without notes takes%s",
              100 * fabs(apart), apart < 0 ? "less" : "more",
              apart < 0 ? ": passes that are not noted are slower, where the machine is not quiet. Run again"
                        : ": passes that are noted take longer. The rows above are shares of the run's time");
}

/* Returns why batches took another time than the run's own steps, from what is known of both; `text` is room
 * for it. */
static const char *why_apart(const attribution *a, const run_record *record, bool run_slower,
                             char text[static 160]) {
    static const double noise_most = 0.1, short_s = 0.1, long_s = 2;
    const stencil_attribution *s = &a->steps;
    const double own_s = record->report.compute_s - a->wall.race_s;
    return s->removal.spread > noise_most ? "batches alike differ as much, the machine is not quiet"
           : run_slower && own_s < short_s
               ? "the run was short, and its first steps found cold caches, new pages and slow clocks"
           : s->check_every < s->run_check_every && run_record_plan(record)->depth > 1
               ? stencil_text_add(text, 160, "batches check a residual every %s, the run every %s",
                                  TEXT_COUNTED(s->check_every, "step"), TEXT_COUNT(s->run_check_every))
           : run_slower && own_s > long_s ? "the run was long: a processor that is hot lowers its clock, or "
                                            "other programs had a share of it"
           : run_slower ? "other programs, or a lower clock, held up the run but not the batches"
                        : "other programs, or a lower clock, held up the batches but not the run";
}

/* Sets the times of a pass of the run's last plan, and what batches say of it for the same launches and
 * checks. */
static void compare_passes(const attribution *a, const run_record *record, double *own_s, double *batch_s) {
    double cause_s[STENCIL_CAUSES];
    const double steps = (double)(stencil_report_steps_done(&record->report) - a->wall.race_steps),
                 passes = fmax(steps, 1) / a->steps.pass_steps;
    *own_s = (record->report.compute_s - a->wall.race_s) / passes;
    *batch_s = stencil_attribution_predict(&a->steps, &record->report, &a->wall, cause_s) / passes;
}

/* Prints the time of a batch beside that of the run, and why they differ, if they do by a tenth. */
static void print_batches(const attribution *a, const run_record *record) {
    static const double apart_most = 0.1;
    const stencil_attribution *s = &a->steps;
    double own_s, batch_s;
    compare_passes(a, record, &own_s, &batch_s);
    PRINT("Batches",
          "%s µs per step, in the run %s; with moments noted in %.3g %% of the steps %s in place of %s",
          MICROSECONDS(batch_s), MICROSECONDS(own_s), 100 * s->noted, MICROSECONDS(s->traced_s),
          MICROSECONDS(s->untraced_s));
    if (fabs(own_s / batch_s - 1) >= apart_most)
        PRINT("", "the run's own steps took %.0f %% %s: %s", 100 * fabs(own_s / batch_s - 1),
              own_s > batch_s ? "longer" : "less", why_apart(a, record, own_s > batch_s, (char[160]){""}));
}

/* Adds a table row for one view of a step: its times, and the share of compute. */
static void add_view(table *t, const char *name, const stencil_step_times *step, double share) {
    table_add_line(t, "%s\t%s\t%s\t%s\t%.3f\t%s", name, MICROSECONDS(step->launch_s),
                   MICROSECONDS(step->compute_s), MICROSECONDS(step->barrier_s), share,
                   share > 0 && share < 1 ? TEXT("%.2f", 1 / share) : "-");
}

static double share_of(const stencil_step_times *step) {
    const double launch_s = isnan(step->launch_s) ? 0 : step->launch_s;
    return step->compute_s / (launch_s + step->compute_s + step->barrier_s);
}

static stencil_step_times removal_step(const stencil_removal *r) {
    return (stencil_step_times){NAN, r->compute_s, r->barrier_s};
}

/* Tells whether a batch of steps takes longer without barriers, by more than equal batches differ. */
static bool drifts(const stencil_removal *r) {
    return r->share > 1 + fmax(2 * r->spread, 0.02);
}

/* Prints which of two differing compute times to trust, and why. */
static void print_difference(const stencil_attribution *a, const char *name, double other_s) {
    const double inside_s = stencil_attribution_inside(a).compute_s,
                 apart = fabs(other_s - inside_s) / fmax(other_s, inside_s);
    const bool removal = strcmp(name, "removal") == 0, drift = drifts(&a->removal);
    if (!(apart > 0.2))
        return;
    const char *why = a->removal.spread > 0.1
                          ? "neither: batches alike differ as much, the machine is not quiet"
                      : a->noting_s > 0.1 * a->untraced_s && removal && !drift
                          ? "removal: noting moments makes steps as short as these longer"
                      : removal ? "inside: without barriers the caches hold other things"
                                : "inside: it was measured, with this problem";
    PRINT("Views", "%s and inside are %.0f %% apart in compute. Believe %s.", name, 100 * apart, why);
}

static void print_views(const stencil_attribution *a, bool calibrated) {
    const stencil_step_times removal = removal_step(&a->removal), inside = stencil_attribution_inside(a);
    table t = {0};
    table_add_columns(&t, "<view of_a step\t>launch_µs\t>compute_µs\t>barrier_µs\t>share of_compute p\t>1/p");
    add_view(&t, "removal", &removal, a->removal.share);
    add_view(&t, "inside", &inside, share_of(&inside));
    add_view(&t, calibrated ? "model" : "model *", &a->model, share_of(&a->model));
    table_print(stdout, &t);
    puts(calibrated ? "" : "* of general figures: stencil calibrate measures this machine\n");
    const stencil_removal *r = &a->removal;
    PRINT("Removal", "T = t_O + M (t_C + t_S): %s µs = %s + %s (%s + %s) and what these do not explain%s",
          MICROSECONDS(r->total_s), MICROSECONDS(r->start_s), TEXT_COUNT(r->steps),
          MICROSECONDS(r->compute_s), MICROSECONDS(r->barrier_s),
          r->share > 0
              ? TEXT("; a perfect barrier would make steps at most %.2f times as fast", fmax(1 / r->share, 1))
              : "");
    if (drifts(r))
        PRINT("", "without barriers the batch is slower than with them (p > 1): blocks or threads that do "
                  "not wait for each other drift apart, and lose what the caches held of their neighbours' "
                  "cells; p says nothing of what a better barrier would gain");
    print_difference(a, "removal", a->removal.compute_s);
    print_difference(a, "model", a->model.compute_s);
}

/* Returns a time as text: "64 ns", "4.1 µs", "1.05 ms". */
static const char *short_time(double seconds, char text[TEXT_SIZE]) {
    const double ns = 1e9 * seconds;
    if (ns < 1e3)
        snprintf(text, TEXT_SIZE, "%.0f ns", ns);
    else
        snprintf(text, TEXT_SIZE, ns < 1e6 ? "%.3g µs" : "%.3g ms", ns < 1e6 ? 1e-3 * ns : 1e-6 * ns);
    return text;
}
#define SHORT_TIME(seconds) short_time(seconds, (char[TEXT_SIZE]){""})

/* Prints the histogram of waits, two bins to a line with a bar of up to 50 columns. */
static void print_waits(const stencil_attribution *a) {
    static const char bar[] = "##################################################";
    const stencil_waits *w = &a->inside.wait;
    int64_t all = 0;
    for (int k = 0; k < STENCIL_WAIT_BINS; k++)
        all += w->bin[k];
    table t = {0};
    table_add_columns(&t, "<waits of\t>%\t<");
    for (int k = 0; k < STENCIL_WAIT_BINS; k += 2) {
        const double part = (double)(w->bin[k] + w->bin[k + 1]) / (double)all;
        if (part == 0)
            continue;
        const char *end = TEXT("to %s", SHORT_TIME(1e-9 * (double)(1 << (k + 2))));
        table_add_line(&t, "%s %s\t%.1f\t%.*s", SHORT_TIME(k == 0 ? 0 : 1e-9 * (double)(1 << k)),
                       k + 2 < STENCIL_WAIT_BINS ? end : "and more", 100 * part, (int)ceil(50 * part), bar);
    }
    table_print(stdout, &t);
    fputc('\n', stdout);
    PRINT("Waits", "mean %s, 95 %% under %s, longest %s; %s waits longest", SHORT_TIME(w->mean_s),
          SHORT_TIME(w->p95_s), SHORT_TIME(w->longest_s), WHO(&a->timeline, w->slowest));
}

static void print_blame(const stencil_attribution *a) {
    const stencil_inside *in = &a->inside;
    for (int i = 0; i < in->blame_count && i < 3 && in->blame[i].caused_s > 0; i++)
        PRINT(i == 0 ? "Waited for" : "", "%s: %s µs of each step, last to arrive in %.0f %% of them",
              WHO(&a->timeline, in->blame[i].participant), MICROSECONDS(in->blame[i].caused_s),
              100.0 * in->blame[i].last_in / in->samples);
    if (in->slow_group >= 0)
        PRINT("", "part %d, by other parts: %s µs of each step", in->slow_group, MICROSECONDS(in->between_s));
}

void attribution_print(const attribution *a, const run_record *record) {
    double row_s[STENCIL_TIME_ROWS];
    if (!a->known)
        return;
    const stencil_attribution *s = &a->steps;
    stencil_attribution_divide(s, &record->report, &a->wall, row_s);
    print_answer(a, record, row_s);
    print_rival(a, record);
    print_rows(a, record, row_s);
    print_sum(a);
    if (s->pass_steps > 1)
        PRINT("Passes", "%s makes %d steps at once, which are called a step from here on",
              stencil_sweep_infos[run_record_plan(record)->sweep].name, s->pass_steps);
    print_views(s, costs_of(record)->measured);
    print_waits(s);
    print_blame(s);
    print_batches(a, record);
    PRINT("Noting", "%s%s",
          s->noting_s > 0 ? TEXT("makes a step %s µs longer, which `inside` shows as parts of it",
                                 MICROSECONDS(s->noting_s))
                          : "makes no step longer, as far as can be seen",
          s->note_s > 0 ? TEXT("; %s µs between any two moments, what a pair of notes takes by itself, were "
                               "taken off",
                               MICROSECONDS(s->note_s))
                        : "");
}

static json_t *step_json(const stencil_step_times *step, double share) {
    return json_pack("{s:o, s:o, s:o, s:o}", "launch_us", json_number(1e6 * step->launch_s), "compute_us",
                     json_number(1e6 * step->compute_s), "barrier_us", json_number(1e6 * step->barrier_s),
                     "share", json_number(share));
}

static json_t *blame_json(const stencil_attribution *a) {
    json_t *array = json_array();
    for (int i = 0; i < a->inside.blame_count && a->inside.blame[i].caused_s > 0; i++) {
        const stencil_blame *blame = &a->inside.blame[i];
        const stencil_who *who = &a->timeline.who[blame->participant];
        const int first = who->part > 0 ? a->timeline.group_first[who->part] : 0;
        json_array_append_new(array, json_pack("{s:s, s:i, s:i, s:i, s:o, s:i}", "unit", a->timeline.unit,
                                               "number", blame->participant - first, "part", who->part, "sm",
                                               who->place, "caused_us", json_number(1e6 * blame->caused_s),
                                               "last_in_samples", blame->last_in));
    }
    return array;
}

static json_t *inside_json(const stencil_attribution *a) {
    const stencil_inside *in = &a->inside;
    const stencil_step_times step = stencil_attribution_inside(a);
    json_t *json = step_json(&step, share_of(&step));
    const double *cause_s = a->cause_s;
    const struct {
        const char *key;
        double s;
    } value[] = {{"step_us", a->step_s},
                 {"launch_us", cause_s[STENCIL_CAUSE_LAUNCH]},
                 {"load_us", cause_s[STENCIL_CAUSE_LOAD]},
                 {"compute_mean_us", cause_s[STENCIL_CAUSE_COMPUTE]},
                 {"latency_us", cause_s[STENCIL_CAUSE_LATENCY]},
                 {"imbalance_us", cause_s[STENCIL_CAUSE_IMBALANCE]},
                 {"halo_us", cause_s[STENCIL_CAUSE_HALO]},
                 {"checks_us", cause_s[STENCIL_CAUSE_CHECK]},
                 {"store_us", cause_s[STENCIL_CAUSE_STORE]},
                 {"between_parts_us", in->between_s},
                 {"wait_mean_us", in->wait.mean_s},
                 {"wait_p95_us", in->wait.p95_s},
                 {"wait_longest_us", in->wait.longest_s},
                 {"traced_us", a->traced_s},
                 {"untraced_us", a->untraced_s},
                 {"noting_us", a->noting_s},
                 {"note_us", a->note_s}};
    for (size_t i = 0; i < sizeof value / sizeof *value; i++)
        json_object_set_new(json, value[i].key, json_number(1e6 * value[i].s));
    json_object_set_new(json, "sum", json_number(a->covered));
    json_object_set_new(json, "samples", json_integer(in->samples));
    json_object_set_new(json, "check_every", json_integer(a->check_every));
    json_object_set_new(json, "participants", json_integer(in->blame_count));
    json_object_set_new(json, "waits_by_power_of_2_ns", json_integers(in->wait.bin, STENCIL_WAIT_BINS));
    json_object_set_new(json, "blame", blame_json(a));
    return json;
}

static json_t *rival_json(const attribution *a) {
    const stencil_candidate *c = &a->rival;
    return !c->possible
               ? json_null()
               : json_pack("{s:s, s:s, s:f, s:b}", "sync", c->options.sync, "sweep", c->options.sweep,
                           "step_us", 1e6 * (c->samples > 0 ? c->step_s : c->cost.step_s), "measured",
                           c->samples > 0);
}

json_t *attribution_json(const attribution *a, const run_record *record) {
    const stencil_removal *r = &a->steps.removal;
    const stencil_step_times removal = removal_step(r);
    double row_s[STENCIL_TIME_ROWS];
    stencil_attribution_divide(&a->steps, &record->report, &a->wall, row_s);
    json_t *seconds = json_object(), *removed = step_json(&removal, r->share);
    for (int row = 0; row < STENCIL_TIME_ROWS; row++)
        json_object_set_new(seconds, rows[row].key, json_number(row_s[row]));
    double own_s, batch_s;
    compare_passes(a, record, &own_s, &batch_s);
    json_t *inside = inside_json(&a->steps);
    json_object_set_new(inside, "run_us", json_number(1e6 * own_s));
    json_object_set_new(inside, "batch_us", json_number(1e6 * batch_s));
    json_object_set_new(removed, "steps", json_integer(r->steps));
    json_object_set_new(removed, "total_us", json_number(1e6 * r->total_s));
    json_object_set_new(removed, "start_us", json_number(1e6 * r->start_s));
    json_object_set_new(removed, "spread", json_number(r->spread));
    return json_pack("{s:o, s:o, s:o, s:i, s:o, s:o, s:o, s:o}", "wall_s", json_number(a->wall.wall_s),
                     "steps_s", json_number(steps_time_s(a, row_s)), "seconds", seconds, "pass_steps",
                     a->steps.pass_steps, "removal", removed, "inside", inside, "model",
                     step_json(&a->steps.model, share_of(&a->steps.model)), "quicker", rival_json(a));
}

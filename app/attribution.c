#include "app/attribution.h"

#include <math.h>
#include <string.h>

#include "app/json.h"
#include "app/signals.h"
#include "app/table.h"

/* How long the batches may take where steps are short, how many steps a timeline shows, and events. */
static const double budget_s = 1.0;
enum { TRACE_STEPS = 200, TRACE_MOMENTS = 40000 };

static const struct {
    const char *name, *key;
} rows[STENCIL_TIME_ROWS] = {
    [STENCIL_TIME_START] = {"start-up (machine, plan, memory, read)", "start"},
    [STENCIL_TIME_LAUNCH] = {"launch", "launch"},
    [STENCIL_TIME_COMPUTE] = {"compute", "compute"},
    [STENCIL_TIME_LATENCY] = {"barrier latency", "latency"},
    [STENCIL_TIME_IMBALANCE] = {"imbalance", "imbalance"},
    [STENCIL_TIME_HALO] = {"halo exchange", "halo"},
    [STENCIL_TIME_CHECKS] = {"residual, stop checks, progress", "checks"},
    [STENCIL_TIME_FINISH] = {"finish (error bound, transfer, write)", "finish"},
    [STENCIL_TIME_REST] = {"left over", "rest"},
};

static bool keep_going(void *context, int64_t step, double residual) {
    (void)context, (void)step, (void)residual;
    return signals_caught == 0;
}

/* What is no fault of the run is a note. */
static stencil_status note_failure(stencil_status status, run_record *record) {
    if (status != STENCIL_INTERRUPTED && status != STENCIL_BAD_DATA && status != STENCIL_UNAVAILABLE &&
        status != STENCIL_NO_MEMORY)
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
    }
    if (a->trace != NULL) {
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

/* "thread 3", "block 17 of part 1 (SM 40)", "SM 40". */
static const char *who_text(const stencil_timeline *t, int p, char text[64]) {
    const stencil_who *who = &t->who[p];
    const int first = who->part > 0 ? t->group_first[who->part] : 0;
    snprintf(text, 64, "%s %d", t->unit, p - first);
    if (t->groups > 1)
        stencil_text_add(text, 64, " of part %d", who->part);
    return who->place >= 0 && strcmp(t->unit, "SM") != 0 ? stencil_text_add(text, 64, " (SM %d)", who->place)
                                                         : text;
}
#define WHO(timeline, p) who_text(timeline, p, (char[64]){""})

static const char *microseconds(double seconds, char text[TEXT_SIZE]) {
    return isnan(seconds) ? "-" : text_number(1e6 * seconds, text);
}
#define MICROSECONDS(seconds) microseconds(seconds, (char[TEXT_SIZE]){""})

static bool is_launched(const run_record *record) {
    return record->plan.barrier == STENCIL_BARRIER_none;
}

/* The time of the run's steps: what is neither before nor behind them. */
static double steps_time_s(const attribution *a, const double *row_s) {
    return a->wall.wall_s - row_s[STENCIL_TIME_START] - row_s[STENCIL_TIME_FINISH];
}

/* The answer in a sentence. */
static void print_answer(const attribution *a, const run_record *record, const double *row_s) {
    const double percent = 100 / steps_time_s(a, row_s);
    const bool launched = is_launched(record);
    const double waited_s = row_s[STENCIL_TIME_LATENCY] + row_s[STENCIL_TIME_IMBALANCE] +
                            (launched ? row_s[STENCIL_TIME_LAUNCH] : 0);
    PRINT("Waiting",
          "%.3g %% of the time of its steps this run was waiting %s; %.3g %% because %ss finish at different "
          "times",
          percent * waited_s, launched ? "for the next step to begin" : "at barriers",
          percent * row_s[STENCIL_TIME_IMBALANCE], a->steps.timeline.unit);
}

static void print_rows(const attribution *a, const run_record *record, const double *row_s) {
    const double steps = (double)stencil_report_steps_done(&record->report);
    table t = {0};
    table_add_column(&t, "where the time went", true, 0);
    table_add_column(&t, "µs/step", false, 0);
    table_add_column(&t, "% of_steps", false, 0);
    table_add_column(&t, "% of_all", false, 0);
    for (int row = 0; row <= STENCIL_TIME_ROWS; row++) {
        const bool all = row == STENCIL_TIME_ROWS,
                   of_steps = !all && row != STENCIL_TIME_START && row != STENCIL_TIME_FINISH;
        const double s = all ? a->wall.wall_s : row_s[row];
        if (row == STENCIL_TIME_HALO && record->plan.cut.parts == 1)
            continue;
        table_add_row(&t);
        table_add_cell(&t, "%s", all ? "wall clock" : rows[row].name);
        table_add_cell(&t, "%s", MICROSECONDS(s / steps));
        table_add_cell(&t, of_steps ? "%.1f" : "-", 100 * s / steps_time_s(a, row_s));
        table_add_cell(&t, "%.1f", 100 * s / a->wall.wall_s);
    }
    fputc('\n', stdout);
    table_print(stdout, &t);
    table_destroy(&t);
    fputc('\n', stdout);
}

/* A view of a step: times of it, and the share that compute has. */
static void add_view(table *t, const char *name, const stencil_step_times *step, double share) {
    table_add_row(t);
    table_add_cell(t, "%s", name);
    table_add_cell(t, "%s", MICROSECONDS(step->launch_s));
    table_add_cell(t, "%s", MICROSECONDS(step->compute_s));
    table_add_cell(t, "%s", MICROSECONDS(step->barrier_s));
    table_add_cell(t, "%.3f", share);
    table_add_cell(t, share > 0 && share < 1 ? "%.2f" : "-", 1 / share);
}

static double share_of(const stencil_step_times *step) {
    const double launch_s = isnan(step->launch_s) ? 0 : step->launch_s;
    return step->compute_s / (launch_s + step->compute_s + step->barrier_s);
}

static stencil_step_times removal_step(const stencil_removal *r) {
    return (stencil_step_times){NAN, r->compute_s, r->barrier_s};
}

/* Whether a batch takes longer without its barriers, by more than batches alike differ. */
static bool drifts(const stencil_removal *r) {
    return r->share > 1 + fmax(2 * r->spread, 0.02);
}

/* Which of two views of the compute to believe, and why. */
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

static void print_views(const stencil_attribution *a) {
    const stencil_step_times removal = removal_step(&a->removal), inside = stencil_attribution_inside(a);
    table t = {0};
    static const char *const columns[] = {"view of_a step", "launch_µs",          "compute_µs",
                                          "barrier_µs",     "share of_compute p", "1/p"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        table_add_column(&t, columns[i], i == 0, 0);
    add_view(&t, "removal", &removal, a->removal.share);
    add_view(&t, "inside", &inside, share_of(&inside));
    if (!isnan(a->model.compute_s))
        add_view(&t, "model", &a->model, share_of(&a->model));
    table_print(stdout, &t);
    table_destroy(&t);
    fputc('\n', stdout);
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

/* "64 ns", "4.1 µs", "1.05 ms". */
static const char *short_time(double seconds, char text[TEXT_SIZE]) {
    const double ns = 1e9 * seconds;
    snprintf(text, TEXT_SIZE,
             ns < 1e3   ? "%.0f ns"
             : ns < 1e6 ? "%.3g µs"
                        : "%.3g ms",
             ns < 1e3   ? ns
             : ns < 1e6 ? 1e-3 * ns
                        : 1e-6 * ns);
    return text;
}
#define SHORT_TIME(seconds) short_time(seconds, (char[TEXT_SIZE]){""})

/* How many waits were how long, four bins of the histogram to a line with a bar of up to 50 columns. */
static void print_waits(const stencil_attribution *a) {
    static const char bar[] = "##################################################";
    const stencil_waits *w = &a->inside.wait;
    int64_t all = 0;
    for (int k = 0; k < STENCIL_WAIT_BINS; k++)
        all += w->bin[k];
    table t = {0};
    table_add_column(&t, "waits of", true, 0);
    table_add_column(&t, "%", false, 0);
    table_add_column(&t, "", true, 0);
    for (int k = 0; k < STENCIL_WAIT_BINS; k += 2) {
        const double part = (double)(w->bin[k] + w->bin[k + 1]) / (double)all;
        if (part == 0)
            continue;
        table_add_row(&t);
        table_add_cell(&t, k + 2 < STENCIL_WAIT_BINS ? "%s to %s" : "%s and more",
                       SHORT_TIME(k == 0 ? 0 : 1e-9 * (double)(1 << k)),
                       SHORT_TIME(1e-9 * (double)(1 << (k + 2))));
        table_add_cell(&t, "%.1f", 100 * part);
        table_add_cell(&t, "%.*s", (int)ceil(50 * part), bar);
    }
    table_print(stdout, &t);
    table_destroy(&t);
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
    print_rows(a, record, row_s);
    print_views(s);
    print_waits(s);
    print_blame(s);
    PRINT("Batches",
          "%s µs per step, in the run %s; with moments noted in %.2g %% of the steps %s (%+.1f %%)",
          MICROSECONDS(s->untraced_s), MICROSECONDS(1e-6 * stencil_report_step_us(&record->report)),
          100 * s->noted, MICROSECONDS(s->traced_s), 100 * (s->traced_s / s->untraced_s - 1));
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
    const struct {
        const char *key;
        double s;
    } value[] = {{"step_us", in->step_s},
                 {"compute_mean_us", in->compute_s},
                 {"latency_us", in->latency_s},
                 {"imbalance_us", in->imbalance_s},
                 {"halo_us", in->halo_s},
                 {"checks_us", in->after_s},
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
    json_object_set_new(json, "samples", json_integer(in->samples));
    json_object_set_new(json, "participants", json_integer(in->blame_count));
    json_object_set_new(json, "waits_by_power_of_2_ns", json_integers(in->wait.bin, STENCIL_WAIT_BINS));
    json_object_set_new(json, "blame", blame_json(a));
    return json;
}

json_t *attribution_json(const attribution *a, const run_record *record) {
    const stencil_removal *r = &a->steps.removal;
    const stencil_step_times removal = removal_step(r);
    double row_s[STENCIL_TIME_ROWS];
    stencil_attribution_divide(&a->steps, &record->report, &a->wall, row_s);
    json_t *seconds = json_object(), *removed = step_json(&removal, r->share);
    for (int row = 0; row < STENCIL_TIME_ROWS; row++)
        json_object_set_new(seconds, rows[row].key, json_number(row_s[row]));
    json_object_set_new(removed, "steps", json_integer(r->steps));
    json_object_set_new(removed, "total_us", json_number(1e6 * r->total_s));
    json_object_set_new(removed, "start_us", json_number(1e6 * r->start_s));
    json_object_set_new(removed, "spread", json_number(r->spread));
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "wall_s", json_number(a->wall.wall_s), "steps_s",
                     json_number(steps_time_s(a, row_s)), "seconds", seconds, "removal", removed, "inside",
                     inside_json(&a->steps), "model",
                     isnan(a->steps.model.compute_s) ? json_null()
                                                     : step_json(&a->steps.model, share_of(&a->steps.model)));
}

/* From which mark to the next one a participant does what. */
static const char *const phases[STENCIL_MARKS - 1] = {
    [STENCIL_MARK_LAUNCHED] = "launch",
    [STENCIL_MARK_BEGIN] = "compute",
    [STENCIL_MARK_SWEPT] = "halo",
    [STENCIL_MARK_EXCHANGED] = "wait",
    [STENCIL_MARK_LEFT] = "residual, checks",
};

static void print_step(FILE *out, const stencil_timeline *t, int i, int p, double origin_s) {
    const double *at_s = t->moment[i * t->participants + p].at_s;
    for (int k = 0; k < STENCIL_MARKS - 1 && !isnan(at_s[0]); k++)
        if (at_s[k + 1] > at_s[k])
            fprintf(out,
                    ",\n{\"name\":\"%s\",\"ph\":\"X\",\"pid\":%d,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,"
                    "\"args\":{\"step\":%lld}}",
                    phases[k], t->who[p].part > 0 ? t->who[p].part : 0, p, 1e6 * (at_s[k] - origin_s),
                    1e6 * (at_s[k + 1] - at_s[k]), (long long)t->sample[i].step);
}

bool attribution_print_trace(FILE *out, const void *content) {
    const stencil_timeline *t = content;
    const int most = TRACE_MOMENTS / t->participants, samples = t->samples < most ? t->samples : most;
    fprintf(out,
            "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n{\"name\":\"process_name\",\"ph\":\"M\","
            "\"pid\":0,\"args\":{\"name\":\"%s\"}}",
            t->who[0].part < 0 ? "CPU" : "part 0");
    for (int group = 1; group < t->groups; group++)
        fprintf(out, ",\n{\"name\":\"process_name\",\"ph\":\"M\",\"pid\":%d,\"args\":{\"name\":\"part %d\"}}",
                group, group);
    for (int p = 0; p < t->participants; p++)
        fprintf(out,
                ",\n{\"name\":\"thread_name\",\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"%s\"}}",
                t->who[p].part > 0 ? t->who[p].part : 0, p, WHO(t, p));
    for (int group = 0; group < t->groups; group++) {
        double origin_s = INFINITY; /* of the group's clock */
        for (int p = t->group_first[group]; p < t->group_first[group + 1]; p++)
            origin_s = fmin(origin_s, t->moment[p].at_s[0]);
        for (int i = 0; i < samples && !isinf(origin_s); i++)
            for (int p = t->group_first[group]; p < t->group_first[group + 1]; p++)
                print_step(out, t, i, p, origin_s);
    }
    return fputs("\n]}\n", out) != EOF && ferror(out) == 0;
}

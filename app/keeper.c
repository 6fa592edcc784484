#include "app/keeper.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/duration.h"
#include "app/signals.h"
#include "solver/problem/cycle.h"

#define AT(field) OPTION_AT(keeper_options, field)
const option keeper_option_table[] = {
    {"checkpoint-every", 0, OPTION_TEXT, AT(checkpoint_every), "N|TIME",
     .help = "write a checkpoint beside the result every N steps or TIME (10min, 1h), from which --resume "
             "goes on: OUTPUT.ckpt.h5, with the one before as OUTPUT.ckpt.prev.h5; both go when the result "
             "is written",
     .contradicts = {"no-output"}, .because = "checkpoints are named after the result",
     .tag = OPTION_RESUMED},
    {"keep-checkpoints", 0, OPTION_FLAG, AT(keep_checkpoints), NULL,
     .help = "leave the last checkpoints beside the result", .tag = OPTION_RESUMED},
    {"time-limit", 0, OPTION_TEXT, AT(time_limit), "TIME",
     .help = "end so early that the result is written TIME after the start (23:50:00, 1-12:00:00, 90min); "
             "exit code 75 where steps are left, which --resume OUTPUT makes",
     .tag = OPTION_RESUMED},
    {SAVER_OPTIONS(keeper_options, save)},
    {NULL},
};

stencil_status keeper_prepare(keeper *k, const keeper_options *options, double start_s) {
    const char *every = options->checkpoint_every, *limit = options->time_limit;
    double limit_s = INFINITY;
    *k = (keeper){.deadline_s = INFINITY, .seen = {-1, -1, 0}, .keeps = options->keep_checkpoints};
    if (every != NULL && !duration_parse(every, &k->every_s)) {
        char *end;
        errno = 0;
        k->every_steps = strspn(every, "0123456789") == strlen(every) ? strtoll(every, &end, 10) : 0;
        CHECK(k->every_steps > 0 && errno == 0 && k->every_steps <= STENCIL_STEPS_MAX, USAGE,
              "--checkpoint-every: '%s' is neither a number of steps nor a time such as 10min or 1h", every);
        k->every_s = 0;
    }
    CHECK(limit == NULL || duration_parse(limit, &limit_s), USAGE,
          "--time-limit: '%s' is no time such as 23:50:00 (hours, minutes, seconds), 1-12:00:00 or 90min",
          limit);
    k->deadline_s = start_s + limit_s;
    k->other_s = fmin(0.1 * limit_s, 0.5);
    return saver_prepare(&k->saver, &options->save);
}

/* Checks that no file which a checkpoint would replace is somebody else's. */
static stencil_status check_free(const keeper *k) {
    const stencil_output *output = &k->record->output;
    for (int before = 0; before <= 1; before++) {
        char name[PATH_MAX];
        TRY(stencil_checkpoint_name(output->path, before, name));
        CHECK(
            k->resumed || output->force || access(name, F_OK) != 0, CANNOT_CREATE,
            "'%s' exists, a checkpoint of an earlier run: use --force to replace it; that run goes on with: "
            "stencil --resume %s",
            name, TEXT_QUOTE(name));
    }
    return STENCIL_OK;
}

static stencil_status open_checkpoints(keeper *k, const stencil_reader *cells) {
    signals_hold();
    const stencil_status status =
        stencil_checkpoints_open(&k->checkpoints, &k->record->output, &k->record->problem, cells);
    for (int i = 0; i < 2; i++)
        signals_guard_also(i, k->checkpoints.room[i].sink.temporary);
    signals_release();
    k->opened = status == STENCIL_OK;
    k->checkpoints.drops_last = k->drops_last;
    if (status == STENCIL_OK)
        return STENCIL_OK;
    const stencil_error seen = *stencil_error_last();
    stencil_checkpoints_close(&k->checkpoints);
    return stencil_error_adopt(&seen);
}

/* Says how the run goes on where its series cannot be opened; with --force begins a new one. */
static stencil_status replace_series(keeper *k, stencil_status status) {
    saver *s = &k->saver;
    const stencil_output *output = &k->record->output;
    const int64_t step = k->record->problem.origin.steps;
    char checkpoint[PATH_MAX];
    if (status == STENCIL_CANNOT_CREATE && !k->resumed &&
        stencil_checkpoint_name(output->path, false, checkpoint) == STENCIL_OK &&
        access(checkpoint, F_OK) == 0)
        return text_around(
            status, "",
            TEXT_LONG("; the run that it is of goes on with: stencil --resume %s", TEXT_QUOTE(checkpoint)));
    if (!k->resumed || (status != STENCIL_NO_INPUT && status != STENCIL_BAD_DATA))
        return status;
    if (!k->forced)
        return text_around(
            status, "",
            TEXT_LONG("; put it back, or have a new one in its place, with frames from step %" PRId64
                      " on: stencil --resume %s --force",
                      step, TEXT_QUOTE(output->input_path)));
    TRY(saver_begin_anew(s, output->path, step));
    stencil_notes_warn(&k->record->notes, "'%s' was lost or damaged: a new one begins with step %" PRId64,
                       s->path, step);
    return STENCIL_OK;
}

/* Notes that no frame will be saved, where the times of frames are all before or behind those of the run. */
static void note_no_time(keeper *k, int64_t step) {
    const saver *s = &k->saver;
    const int64_t end = s->problem->stop.steps;
    if (s->step == 0 || s->series.at.count > 0 || saver_next(s, step - 1) <= end)
        return;
    const bool past = s->last < saver_time(s, step);
    stencil_notes_warn(&k->record->notes, "no time of --save-times is within the run, which %s at t = %.6g",
                       past ? "begins" : "ends", saver_time(s, past ? step : end));
}

static stencil_status open_series(keeper *k, const stencil_provenance *made) {
    saver *s = &k->saver;
    stencil_output *output = &k->record->output;
    if (!s->wanted)
        return STENCIL_OK;
    signals_hold();
    stencil_status status =
        saver_open(s, &k->record->problem, output->path, k->resumed || output->force, made->series);
    const bool lost = status != STENCIL_OK;
    if (lost)
        status = replace_series(k, status);
    signals_guard_also(2, s->series.sink.temporary);
    signals_release();
    TRY(status);
    output->series = k->series_places;
    output->series_path = s->path;
    output->series_gaps = s->gaps;
    const int64_t step = k->record->problem.origin.steps;
    if (!lost && saver_take_gaps(s, made->gaps, step))
        stencil_notes_warn(&k->record->notes,
                           "'%s' has no frames from step %" PRId64 " to before step %" PRId64
                           ", which could not be written",
                           s->path, s->lost_step, step);
    note_no_time(k, step);
    stencil_series_text(&s->series, k->series_places);
    if (!s->form.residual || k->inline_only)
        return STENCIL_OK;
    const stencil_status kept = stencil_snapshot_keep_arrays(k->snapshot, k->run);
    k->inline_only = kept == STENCIL_NO_MEMORY; /* the run has the arrays itself */
    return k->inline_only ? STENCIL_OK : kept;
}

stencil_status keeper_open(keeper *k, run_record *record, stencil_run *run, const stencil_reader *cells,
                           const stencil_provenance *made) {
    k->record = record;
    k->run = run;
    if (record->output.path == NULL)
        return STENCIL_OK;
    k->inline_only =
        !stencil_world_alone(run_record_plan(record)->world); /* ranks have no copy of the field */
    TRY(stencil_job_open(&k->job));
    TRY(stencil_snapshot_create(&k->snapshot, &record->problem));
    TRY(open_series(k, made));
    if (k->every_steps == 0 && k->every_s == 0)
        return STENCIL_OK;
    TRY(check_free(k));
    return open_checkpoints(k, cells);
}

/* Appends a frame. */
static stencil_status write_frame(keeper *k, const stencil_reader *from) {
    saver *s = &k->saver;
    const stencil_status status =
        stencil_series_append(&s->series, from, k->report.steps, saver_time(s, k->report.steps));
    s->written += status == STENCIL_OK;
    s->slowest_s = fmax(s->slowest_s, s->series.write_s);
    stencil_series_text(&s->series, k->series_places);
    return status;
}

/* Notes that a frame is not written, nor any that would follow: there is no gap within the series. */
static void lose_frame(keeper *k) {
    k->frame_error = *stencil_error_last();
    saver_lose(&k->saver, k->saver.taken_step);
}

/* Writes the frame and the checkpoint of k->report, from the snapshot or, in line, from the run. Returns the
 * error of the checkpoint; that of the frame is kept apart. */
static stencil_status write_files(void *context) {
    keeper *k = context;
    const stencil_reader from = k->inline_only ? (stencil_reader){stencil_run_read, k->run}
                                               : (stencil_reader){stencil_snapshot_read, k->snapshot};
    if (!k->inline_only) /* the calling thread is the job's own */
        omp_set_num_threads(k->threads);
    if (k->frame_asked && write_frame(k, &from) != STENCIL_OK)
        lose_frame(k);
    if (!k->checkpoint_asked)
        return STENCIL_OK;
    if (k->saver.opened && k->saver.series.named) /* a checkpoint has all frames before it */
        TRY(stencil_series_sync(&k->saver.series));
    return stencil_checkpoints_write(&k->checkpoints, &k->record->problem, &from, &k->report);
}

/* Counts a checkpoint that could not be written, and tells of the first one. */
static void complain(keeper *k, int64_t step) {
    k->failed++;
    k->failed_step = step;
    if (k->quiet < 2 && k->failed == 1)
        fprintf(stderr, "stencil: no checkpoint of step %" PRId64 ", the run goes on: %s\n", step,
                TEXT_ESCAPE(stencil_error_last()->message));
}

/* Takes over what the job has found, which the run's thread looks at while the next one is made. Of a frame
 * that is lost the error is told again when the run ends; where it is the run's first, that ends the run. */
static void note_written(keeper *k) {
    if (k->saver.failed && !k->saver.ended && k->begun && k->quiet < 2)
        fprintf(stderr, "stencil: no frame of step %" PRId64 " and later ones, the run goes on: %s\n",
                k->saver.taken_step, TEXT_ESCAPE(k->frame_error.message));
    k->saver.ended = k->saver.failed;
    k->write_s = k->checkpoints.count > 0 ? k->checkpoints.write_s : 0;
}

/* Waits for the job, in time that steps could have had, and tells where it failed: the run goes on, and its
 * next checkpoint may succeed. Where memory was short, the copy gives way: it is written in line from then
 * on. */
static void await(keeper *k) {
    const double start_s = stencil_clock_s();
    const stencil_status written =
        k->job != NULL && stencil_job_begun(k->job) ? stencil_job_end(k->job) : STENCIL_OK;
    if (written != STENCIL_OK)
        complain(k, k->report.steps);
    if (written == STENCIL_NO_MEMORY ||
        (k->saver.failed && !k->saver.ended && k->frame_error.status == STENCIL_NO_MEMORY)) {
        stencil_snapshot_drop(k->snapshot);
        k->inline_only = true;
    }
    note_written(k);
    k->wait_s += stencil_clock_s() - start_s;
}

/* Returns the seconds that the end of the run takes, with its result: as long as a checkpoint took, or what a
 * slow disk takes; a pass over the cells for the bound of the error; and what else the end of a process
 * takes. */
static double ending_s(const keeper *k) {
    static const double slow_bytes_per_s = 100e6, pass_bytes_per_s = 1e9;
    const double bytes = (double)stencil_sink_array_bytes(&k->record->problem);
    const double write_s = k->record->output.path == NULL ? 0
                           : k->write_s > 0               ? 1.3 * k->write_s
                                                          : bytes / slow_bytes_per_s;
    const bool busy = k->job != NULL && stencil_job_busy(k->job);
    return k->other_s + bytes / pass_bytes_per_s + (busy ? 2 : 1) * write_s;
}

/* Notes how long a cycle takes, at the ends of cycles. */
static void note_cycle(keeper *k, int64_t step, double now_s) {
    const int64_t length = k->record->problem.cycle.length;
    if (step % length != 0 || step <= k->cycle_step)
        return;
    if (k->cycle_step > 0)
        k->cycle_s = (now_s - k->cycle_at_s) * (double)length / (double)(step - k->cycle_step);
    k->cycle_step = step;
    k->cycle_at_s = now_s;
}

/* Says once, of a run that writes no file, that SIGUSR1 asks in vain. */
static void refuse_asked(keeper *k) {
    signals_asked = 0;
    if (!k->told_asked && k->quiet < 2)
        fputs("stencil: SIGUSR1 asks for a checkpoint, which a run with --no-output does not have: it goes "
              "on\n",
              stderr);
    k->told_asked = true;
}

/* Ends the run where the limit of time leaves just enough to write; at the end of a cycle of dampings also
 * where it leaves no time for another one. */
static bool poll(void *context, int64_t step, double residual) {
    keeper *k = context;
    (void)residual;
    if (signals_asked && k->job == NULL)
        refuse_asked(k);
    if (k->saver.opened && !stencil_job_busy(k->job))
        stencil_series_settle(&k->saver.series);
    if (isinf(k->deadline_s) || k->limited)
        return !k->limited;
    const double now_s = stencil_clock_s(), left_s = k->deadline_s - now_s - ending_s(k);
    const bool cycles = stencil_cycle_accelerates(&k->record->problem.cycle);
    if (cycles)
        note_cycle(k, step, now_s);
    k->limited = left_s <= 0 || (cycles && step == k->cycle_step && left_s < k->cycle_s);
    return !k->limited;
}

static bool is_due(const keeper *k, int64_t step) {
    return signals_asked || (k->every_steps > 0 && step >= k->next_step) ||
           (k->every_s > 0 && stencil_clock_s() >= k->due_s);
}

static bool wants(void *context) {
    keeper *k = context;
    const bool due =
        signals_asked || (k->every_s > 0 && stencil_clock_s() >= k->due_s) || saver_is_late(&k->saver);
    return k->job != NULL && due && !stencil_job_busy(k->job);
}

static int64_t next_checkpoint(const keeper *k, int64_t step) {
    if (k->every_steps == 0 || k->job == NULL)
        return INT64_MAX;
    return step - step % k->every_steps + k->every_steps;
}

static int64_t next(void *context, int64_t step) {
    const keeper *k = context;
    return stencil_smaller(next_checkpoint(k, step), saver_next(&k->saver, step));
}

static stencil_status copy_report(keeper *k, const stencil_report *report) {
    stencil_history history = k->report.history;
    history.count = 0;
    k->report = *report;
    for (int64_t i = 0; i < report->history.count; i++) {
        const stencil_status status =
            stencil_history_add(&history, report->history.step[i], report->history.residual[i]);
        if (status != STENCIL_OK) {
            k->report.history = history;
            return status;
        }
    }
    k->report.history = history;
    k->report.reason = STENCIL_REASON_INTERRUPTED;
    return STENCIL_OK;
}

/* Returns the threads that write beside the steps: one beside steps on a CPU, which have all of its threads.
 * The plan may be another one at the next pause, and is looked at between steps only. */
static int threads_beside(const keeper *k) {
    const stencil_plan *plan = run_record_plan(k->record);
    return plan->backend == STENCIL_BACKEND_CPU ? 1 : omp_get_max_threads();
}

/* Begins to write what was asked for, between two steps; in line, where no memory has room for a copy.
 * Errors: those of reading the run's cells. */
static stencil_status begin_files(keeper *k, const stencil_report *report) {
    const double start_s = stencil_clock_s();
    TRY(copy_report(k, report));
    const stencil_status copied =
        k->inline_only ? STENCIL_NO_MEMORY : stencil_snapshot_take(k->snapshot, k->run);
    k->inline_only = copied == STENCIL_NO_MEMORY;
    if (copied != STENCIL_OK && !k->inline_only)
        return copied;
    k->copy_s += stencil_clock_s() - start_s;
    k->threads = threads_beside(k);
    if (!k->inline_only) {
        stencil_job_begin(k->job, write_files, k);
        return STENCIL_OK;
    }
    const double written_s = stencil_clock_s();
    if (write_files(k) != STENCIL_OK)
        complain(k, report->steps);
    note_written(k);
    k->wait_s += stencil_clock_s() - written_s;
    return STENCIL_OK;
}

/* Does the same, and tells what cannot be begun: the run goes on. Errors: those after which it cannot. */
static stencil_status take(keeper *k, const stencil_report *report) {
    const stencil_reader cells = {stencil_run_read, k->run};
    if (k->checkpoint_asked && !k->opened && open_checkpoints(k, &cells) != STENCIL_OK) {
        complain(k, report->steps); /* asked for by a signal alone */
        k->checkpoint_asked = false;
    }
    if (!k->checkpoint_asked && !k->frame_asked)
        return STENCIL_OK;
    if (k->frame_asked)
        saver_took(&k->saver, report->steps);
    const stencil_status status = begin_files(k, report);
    if (status == STENCIL_OK || status == STENCIL_INTERNAL || status == STENCIL_UNAVAILABLE)
        return status;
    if (k->checkpoint_asked)
        complain(k, report->steps);
    if (k->frame_asked)
        lose_frame(k);
    note_written(k);
    return STENCIL_OK;
}

/* Sets what is due after a step. A checkpoint is not, where the result comes soon. */
static bool ask(keeper *k, int64_t step) {
    const double now_s = stencil_clock_s();
    k->frame_asked = saver_is_due(&k->saver, step) || saver_is_late(&k->saver);
    k->checkpoint_asked = is_due(k, step) && step < k->record->problem.stop.steps &&
                          now_s + ending_s(k) + k->checkpoints.write_s <= k->deadline_s;
    if (is_due(k, step)) {
        signals_asked = 0;
        k->next_step = next_checkpoint(k, step);
        k->due_s = now_s + k->every_s;
    }
    return k->frame_asked || k->checkpoint_asked;
}

static stencil_status at(void *context, stencil_report *report) {
    keeper *k = context;
    const int64_t step = report->steps;
    if (k->job == NULL || !(is_due(k, step) || saver_is_due(&k->saver, step) || saver_is_late(&k->saver)))
        return STENCIL_OK;
    await(k); /* by steps, the last one may still be being written */
    if (!ask(k, step))
        return STENCIL_OK;
    return take(k, report);
}

stencil_observer keeper_observer(keeper *k) {
    k->due_s = stencil_clock_s() + k->every_s;
    k->next_step = next_checkpoint(k, k->record->problem.origin.steps);
    return (stencil_observer){.context = k, .next = next, .at = at, .poll = poll, .wants = wants};
}

void keeper_look(void *context, progress_files *files) {
    keeper *k = context;
    if (k->job == NULL)
        return;
    if (!stencil_job_busy(k->job)) /* else the job changes what follows */
        k->seen = (progress_files){.checkpoint = k->checkpoints.count > 0 ? k->checkpoints.step : -1,
                                   .checkpoint_s = k->checkpoints.done_s,
                                   .frame = k->saver.opened ? k->saver.series.last_step : -1};
    *files = k->seen;
}

stencil_status keeper_begin(keeper *k) {
    saver *s = &k->saver;
    const int64_t steps = k->record->problem.origin.steps;
    const stencil_report report = {.steps = steps};
    if (!s->opened) {
        k->begun = true;
        return STENCIL_OK;
    }
    s->due_s = stencil_clock_s() + s->every_s;
    s->next_step = saver_next(s, steps - 1 > s->series.last_step ? steps - 1 : s->series.last_step);
    const bool missing =
        s->lost_step == steps || (s->lost_step >= 0 && s->lost_step < steps && s->every_s > 0);
    k->frame_asked = saver_is_due(s, steps) || missing || (s->every_s > 0 && !s->series.named);
    k->checkpoint_asked = false;
    const stencil_status status = k->frame_asked ? take(k, &report) : STENCIL_OK;
    await(k);
    k->begun = true;
    return s->ended ? stencil_error_adopt(&k->frame_error) : status;
}

/* Finds the names of checkpoints that the result makes superfluous; returns false where there are none. */
static bool find_superfluous(const keeper *k, stencil_checkpoints *files) {
    const stencil_report *report = &k->record->report;
    const char *result = k->record->output.path;
    *files = (stencil_checkpoints){0};
    return !k->keeps && result != NULL && report->reason != STENCIL_REASON_DIVERGED &&
           (k->opened || k->resumed) && stencil_checkpoint_name(result, false, files->path) == STENCIL_OK &&
           stencil_checkpoint_name(result, true, files->before) == STENCIL_OK;
}

static stencil_status remove_older(void *context) {
    stencil_checkpoints files;
    if (find_superfluous(context, &files))
        stencil_checkpoints_remove_older(&files);
    return STENCIL_OK;
}

stencil_status keeper_end(keeper *k) {
    if (k->job == NULL)
        return STENCIL_OK;
    await(k);
    k->checkpoint_asked = false; /* a run that ended at a check was not looked at there */
    k->frame_asked = saver_is_due(&k->saver, k->record->report.steps);
    if (k->frame_asked) {
        TRY(take(k, &k->record->report));
        await(k);
    }
    stencil_snapshot_drop(k->snapshot); /* the result is written from the run's cells */
    if (k->saver.opened && k->saver.series.named && !k->saver.ended &&
        stencil_series_sync(&k->saver.series) != STENCIL_OK) {
        k->frame_error = *stencil_error_last(); /* readers find the frames now, and may later not */
        k->saver.failed = k->saver.ended = true;
    }
    return STENCIL_OK;
}

void keeper_make_room(keeper *k) {
    if (k->job != NULL)
        stencil_job_begin(k->job, remove_older, k);
}

void keeper_finish(keeper *k) {
    stencil_checkpoints files;
    if (k->job != NULL && stencil_job_begun(k->job))
        (void)stencil_job_end(k->job);
    if (find_superfluous(k, &files))
        stencil_checkpoints_remove(&files);
}

void keeper_close(keeper *k) {
    stencil_job_close(k->job);
    k->job = NULL;
    signals_hold();
    for (int i = 0; i < 2; i++)
        signals_guard_also(i, NULL);
    signals_guard_also(2, NULL);
    stencil_checkpoints_close(&k->checkpoints);
    if (k->saver.opened)
        stencil_series_close(&k->saver.series);
    signals_release();
    stencil_snapshot_destroy(k->snapshot);
    k->snapshot = NULL;
    stencil_history_destroy(&k->report.history);
}

/* stencil run: reads a problem, solves it, reports, writes the result. */
#include <string.h>

#include "app/json.h"
#include "app/progress.h"
#include "app/ranks.h"
#include "app/run_state.h"
#include "app/signals.h"
#include "app/text.h"
#include "solver/run/run.h"

static void run_close(run_state *state) {
    scrubbing_close(&state->scrubbing);
    keeper_close(&state->keeper);
    run_output_close(&state->record);
    stencil_claim_release(&state->record.claim);
    attribution_destroy(&state->attribution);
    stencil_run_close(state->run);
    stencil_choice_destroy(&state->record.choice.choice);
    stencil_report_destroy(&state->record.report);
    stencil_problem_destroy(&state->record.problem);
    stencil_input_close(&state->input);
}

/* Observer's poll function: draws progress; returns whether the run goes on. */
static bool go_on(void *context, int64_t step, double residual) {
    progress_poll(context, step, residual);
    return signals_caught == 0;
}

/* Ends the files that were begun beside the steps. */
static stencil_status end_files(void *context) {
    return keeper_end(context);
}

/* Makes the steps as one of several ranks, of which rank 0 alone has the observers that write. */
static stencil_status compute_beside(run_state *state) {
    progress progress;
    progress_start(&progress, &state->record.problem, true);
    const stencil_observer all[] = {
        {&progress, .poll = go_on},
        {run_world(state), .says = ranks_say, .hears = ranks_hear},
    };
    const stencil_observers observers = {all, sizeof all / sizeof *all};
    signals_catch();
    TRY(stencil_run_drive(state->run, &observers, &state->record.report));
    return stencil_run_lead(state->run, end_files, NULL, NULL, 0);
}

static stencil_status compute(run_state *state) {
    progress progress;
    progress_start(&progress, &state->record.problem, state->options.open.quiet > 0);
    progress.look = keeper_look;
    progress.look_context = &state->keeper;
    run_record *record = &state->record;
    stencil_observer scrub;
    TRY(scrubbing_open(&state->scrubbing, state->run, &scrub));
    /* Scrubbing begins with the plan that tuning chooses; after a fault no checkpoint is written. */
    const stencil_observer all[] = {{&progress, .poll = go_on},
                                    stencil_tune_observer(&record->choice.tune),
                                    scrub,
                                    keeper_observer(&state->keeper),
                                    {run_world(state), .says = ranks_say, .hears = ranks_hear}};
    const stencil_observers observers = {all, sizeof all / sizeof *all};
    signals_catch();
    stencil_status status = stencil_run_drive(state->run, &observers, &record->report);
    progress_end(&progress);
    const stencil_error failure = *stencil_error_last();
    /* A rank that has failed gives no cells, so that there is no stage to lead. */
    const stencil_status kept = status == STENCIL_OK || stencil_world_alone(run_world(state))
                                    ? stencil_run_lead(state->run, end_files, &state->keeper, NULL, 0)
                                    : status;
    if (status != STENCIL_OK)
        status = scrubbing_explain(&state->scrubbing, stencil_error_adopt(&failure), &state->keeper);
    else
        status = kept;
    if (state->races)
        run_note_plan(state);
    if (status == STENCIL_OK)
        stencil_tune_explain(&record->choice.tune);
    return text_name_out_of_memory(status, state->record.output.input_path);
}

/* Makes the attribution of time, after the result is written, since it overwrites the run's cells. */
static stencil_status attribute(run_state *state) {
    attribution *a = &state->attribution;
    a->wall.write_s = state->record.write_s;
    a->wall.wall_s = stencil_clock_s() - state->start_s;
    a->wall.race_s = state->record.choice.tune.mark_s;
    a->wall.race_steps =
        a->wall.race_s > 0 ? state->record.choice.tune.mark - state->record.report.steps_before : 0;
    a->wanted =
        state->options.attribute && (state->options.open.quiet == 0 || state->options.files.json != NULL);
    a->trace = state->options.files.trace;
    return attribution_make(a, state->run, &state->record);
}

/* Exit codes where a run ended without reaching its stopping criterion, and where the limit of time ended it
 * (EX_TEMPFAIL of sysexits.h: try again). */
enum { EXIT_NOT_CONVERGED = 2, EXIT_TIME_LIMIT = 75 };

/* Returns the exit code of a run; a signal after the last step does not count as an interruption. */
static int report_exit_code(const stencil_report *report, bool limited) {
    if (report->reason == STENCIL_REASON_INTERRUPTED && limited && signals_caught == 0)
        return EXIT_TIME_LIMIT;
    if (report->reason == STENCIL_REASON_INTERRUPTED)
        return 128 + (signals_caught != 0 ? signals_caught : SIGINT);
    return report->reached ? 0 : EXIT_NOT_CONVERGED;
}

/* Prints and writes reports of a run. `failed`: error of writing the result or of attribution, told last. */
static stencil_status tell(run_state *state, int quiet, stencil_status failed) {
    const run_options *options = &state->options;
    run_record *record = &state->record;
    const stencil_error failure = *stencil_error_last();
    report_print_notes(record, quiet);
    if (quiet == 0) {
        report_print_result(record, options->explain);
        keeper_print(&state->keeper);
        scrubbing_print(&state->scrubbing, &record->report);
        attribution_print(&state->attribution, record);
    }
    json_t *json = options->files.json != NULL ? report_json(record) : NULL;
    if (json != NULL) { /* NULL is not added */
        json_object_set_new(json, "checkpoints", keeper_json(&state->keeper));
        json_object_set_new(json, "scrub", scrubbing_json(&state->scrubbing, &record->report));
    }
    if (json != NULL && state->attribution.known)
        json_object_set_new(json, "attribution", attribution_json(&state->attribution, record));
    stencil_status status = json_write("--json", options->files.json, options->files.force, json);
    if (status == STENCIL_OK && state->attribution.traced)
        status = target_write("--trace", options->files.trace, options->files.force, attribution_print_trace,
                              &state->attribution.timeline);
    if (status == STENCIL_OK)
        status = output_check();
    keeper_print_failed(&state->keeper);
    if (failed != STENCIL_OK)
        return stencil_error_adopt(&failure);
    if (status == STENCIL_OK && record->report.reason == STENCIL_REASON_INTERRUPTED)
        keeper_print_end(&state->keeper);
    else if (status == STENCIL_OK && record->exit_code != 0)
        report_print_failure(record);
    const char *path = record->output.path;
    return path != NULL ? text_around(status, "", COMPLETE(path)) : status;
}

/* Takes over what the file of a resumed run says of the run, and notes what checkpoints record. */
static stencil_status take_resumption(run_state *state) {
    const resumption *r = state->resumed;
    stencil_output *output = &state->record.output;
    run_targets *files = &state->options.files;
    if (r != NULL) {
        if (files->output == NULL && !files->no_output) {
            files->output = r->output;
            files->in_place = r->in_place;
        }
        /* A --force that the file records stands for a result that was there when the run began. */
        if (!state->forced && !files->in_place && files->output != NULL &&
            resume_is_superseded(r, files->output))
            files->force = false;
        output->first_input = r->made.input;
        output->first_steps = r->made.steps_done;
        state->keeper.resumed = true;
        state->keeper.forced = state->forced;
        state->keeper.drops_last = r->fell_back;
    }
    output->options = state->recorded_options;
    return resume_options_text(state->call, OPTION_RESUMED, files->in_place, state->recorded_options);
}

/* Checks options and takes over what a resumed run has recorded, before any file is opened. */
static stencil_status prepare(run_state *state) {
    run_options *options = &state->options;
    CHECK(options->files.trace == NULL || !target_is_stdout(options->files.trace), USAGE,
          "--trace -: standard output has the report: give a file name");
    CHECK(options->files.output == NULL || strcmp(options->files.output, "-") != 0, USAGE,
          "--output -: a result is an HDF5 file and does not go to standard output: give a file name, ./- "
          "for a file called -");
    TRY(ranks_check(state->call, options));
    TRY(keeper_prepare(&state->keeper, &options->keeper, state->start_s));
    state->keeper.quiet = options->open.quiet;
    TRY(scrubbing_prepare(&state->scrubbing, options->scrub));
    return take_resumption(state);
}

/* Claims the name of the result, and checks the file that the run goes on from. */
static stencil_status claim(run_state *state) {
    const run_options *options = &state->options;
    TRY(run_output_claim(&state->record, &options->files, run_leads(state) && !options->open.dry_run));
    return run_leads(state) ? resume_check_unchanged(state->resumed) : STENCIL_OK;
}

static stencil_status write_result(void *context) {
    run_state *state = context;
    return run_output_write(&state->record, state->run);
}

/* Writes the result of a run whose steps are made, and what else it leaves. */
static stencil_status finish(run_state *state) {
    run_record *record = &state->record;
    if (run_leads(state))
        keeper_make_room(&state->keeper);
    stencil_status failed = stencil_run_lead(state->run, write_result, state, NULL, 0);
    if (!run_leads(state))
        return failed;
    if (failed == STENCIL_OK)
        keeper_finish(&state->keeper);
    /* keeper_print_end() tells what became of the series of a run that was ended before its last step. */
    if (failed == STENCIL_OK && state->keeper.saver.ended &&
        record->report.reason != STENCIL_REASON_INTERRUPTED) {
        failed = stencil_error_adopt(&state->keeper.frame_error);
        if (record->output.path != NULL)
            text_around(failed, "", COMPLETE(record->output.path));
    }
    auto_keep(&record->choice, &record->problem, &record->machine, state->options.open.wisdom != NULL,
              &record->notes);
    if (failed == STENCIL_OK && (failed = attribute(state)) != STENCIL_OK && record->output.path != NULL)
        text_around(failed, "", COMPLETE(record->output.path));
    record->done = true;
    report_note_end(record);
    record->exit_code = failed == STENCIL_OK ? report_exit_code(&record->report, state->keeper.limited)
                                             : stencil_status_exit_code(failed);
    return failed;
}

/* Prints and writes the plan of a dry run. */
static stencil_status tell_plan(run_state *state, int quiet) {
    const run_options *options = &state->options;
    run_record *record = &state->record;
    if (quiet == 0)
        report_print_plan(record, options->explain);
    return json_write("--json", options->files.json, options->files.force,
                      options->files.json != NULL ? report_json(record) : NULL);
}

static stencil_status run_stages(run_state *state) {
    run_options *options = &state->options;
    run_record *record = &state->record;
    TRY(run_by_all(state, prepare(state)));
    TRY(run_by_first(state, claim(state)));
    TRY(run_plan(state));
    /* Notes are not printed where JSON on standard output has them. */
    const int quiet =
        options->open.quiet == 0 && target_is_stdout(options->files.json) ? 2 : options->open.quiet;
    if (options->open.dry_run)
        report_note_origin(record);
    else
        TRY(run_load(state));
    if (quiet == 0)
        report_print_head(record);
    report_print_notes(record, quiet);
    if (options->open.dry_run)
        return run_by_first(state, run_leads(state) ? tell_plan(state, quiet) : STENCIL_OK);
    output_flush();
    state->attribution.wall.start_s = stencil_clock_s() - state->start_s;
    TRY(run_leads(state) ? compute(state) : compute_beside(state));
    const stencil_status failed = finish(state);
    const stencil_status told =
        run_by_first(state, run_leads(state) ? tell(state, quiet, failed) : STENCIL_OK);
    stencil_world_tell(run_world(state), 0, &record->exit_code, sizeof record->exit_code);
    return told;
}

static stencil_status run_run(invocation *call) {
    run_state *state = call->values;
    const double start_s = stencil_clock_s();
    const reading_options reading = state->options.reading;
    const bool forced = state->options.files.force;
    resumption *resumed = NULL;
    stencil_status status = STENCIL_OK;
    signals_catch_ask();
    const run_targets *files = &state->options.files;
    state->call = call;
    if (run_leads(state) && state->options.resume && files->output == NULL && !files->no_output &&
        !state->options.open.dry_run)
        status = resume_check_idle(call->operand[0]);
    status = run_by_first(state, status);
    if (status == STENCIL_OK && state->options.resume) {
        const int64_t threads = ranks_threads(call->world, state->options.threads);
        status = stencil_world_agree(call->world, resume_begin(&resumed, call, &reading, threads));
        state->call = call; /* the options were read again, into a new state */
    }
    if (!run_leads(state))
        state->options.open.quiet = 2;
    state->resumed = resumed;
    state->start_s = start_s;
    state->forced = forced;
    state->record.output =
        (stencil_output){.input_path = call->operand[0], .command_line = call->command_line};
    if (status == STENCIL_OK)
        status = run_stages(state);
    call->exit_code = state->record.exit_code;
    run_close(state);
    resume_end(resumed);
    return status;
}

const command command_run = {
    .name = "run",
    .usage = "[run] [options] INPUT",
    .summary = "solves the problem in an HDF5 file",
    .details = "Options override the attributes of the input. Lists per axis are in array order, (y, x) or "
               "(z, y, x), unlike --size of 'stencil new', which starts with x. The first SIGINT, SIGTERM or "
               "SIGHUP ends the run at a step boundary, within 16 steps on a CPU and about a millisecond on "
               "a GPU, and writes the result; what comes within a second of it is the same wish, a later one "
               "ends the run at once. With --accelerate it ends with a cycle, or after a second with the "
               "field that the cycle began with.\nExit codes: 0 converged or all steps done, 2 not "
               "converged, stagnated or diverged (the result is written), 128 + signal interrupted; 'stencil "
               "help' lists the others.",
    .options = run_option_table,
    .values_size = sizeof(run_state),
    .operand_min = 1,
    .operand_max = 1,
    .alone = true,
    .ranks = RANKS_ALL,
    .run = run_run,
};

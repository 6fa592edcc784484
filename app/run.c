/* stencil run: reads a problem, solves it, reports, writes the result. */
#include <inttypes.h>
#include <string.h>

#include "app/attribution.h"
#include "app/json.h"
#include "app/machine.h"
#include "app/progress.h"
#include "app/ranks.h"
#include "app/resume.h"
#include "app/run_options.h"
#include "app/scrubbing.h"
#include "app/signals.h"
#include "app/text.h"
#include "solver/problem/classes.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/origin.h"
#include "solver/run/run.h"

/* State of a `run` command; released by run_close(). */
typedef struct run_state {
    run_options options; /* first member: options_parse() fills the beginning of this state */
    const invocation *call;
    stencil_input input;
    stencil_run *run;
    run_record record;
    attribution attribution;
    keeper keeper;
    scrubbing scrubbing;
    resumption *resumed;         /* NULL: the run is not resumed */
    char recorded_options[4096]; /* options that a checkpoint records */
    bool forced;                 /* the command line itself has --force */
    double start_s;              /* clock when the command began */
    bool races;                  /* plans are timed in the first steps, and the quickest makes the others */
} run_state;

static stencil_world *world_of(const run_state *state) {
    return state->call->world;
}

/* Tells whether this process prints and writes: it is the only one, or rank 0. */
static bool leads(const run_state *state) {
    return stencil_world_leads(world_of(state));
}

/* Ends a stage that all ranks have made; and one that rank 0 has made for all. */
static stencil_status by_all(const run_state *state, stencil_status status) {
    return stencil_world_agree(world_of(state), status);
}
static stencil_status by_first(const run_state *state, stencil_status status) {
    return stencil_world_heed(world_of(state), status);
}

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

static stencil_status describe_problem(run_state *state) {
    run_record *record = &state->record;
    const char *path = record->output.input_path;
    const stencil_input_options how = reading_options_of(&state->options.reading, state->options.field);
    stencil_spec spec;
    record->output.input = &state->input;
    TRY(stencil_input_open(&state->input, path, &how, &spec));
    const stencil_spec file = spec;
    TRY(problem_options_apply(state->call, &spec));
    TRY(stencil_input_grid(&state->input, &spec, &record->notes));
    TRY(stencil_input_notes(&state->input, &file, &spec, &record->notes));
    TRY(text_name_file(stencil_problem_resolve(&record->problem, &spec), path));
    const stencil_reader cells =
        stencil_input_reader(&state->input, &record->problem, state->options.allow_nonfinite);
    TRY(text_name_file(stencil_coefficients_find(&record->problem, &spec, &cells), path));
    TRY(text_name_file(stencil_classes_find(&record->problem, &cells, &state->input.tables), path));
    report_note_source(record, &file);
    if (record->problem.walls_in_source)
        stencil_notes_add(&record->notes,
                          "walls have more numbers than there are rows of weights: what they add is "
                          "part of the source term, an array as large as the field");
    report_note_times(record);
    report_note_start(record, &file);
    return STENCIL_OK;
}

/* Checks that the participant that options make late exists in the plan. */
static stencil_status check_late(const run_state *state) {
    const stencil_plan *plan = run_record_plan(&state->record);
    const stencil_part_plan *last = &plan->part[plan->cut.owned - 1];
    const bool gpu = plan->backend == STENCIL_BACKEND_GPU;
    const int64_t count = gpu ? (int64_t)last->first_block + last->grid_blocks : plan->threads;
    CHECK(!options_given(state->call, "inject-late") || state->options.late < count, USAGE,
          "--inject-late %d has no effect: the last %s is %" PRId64, state->options.late,
          gpu ? "block" : "thread", count - 1);
    return STENCIL_OK;
}

static stencil_status make_plan(run_state *state) {
    run_record *record = &state->record;
    stencil_run_options run;
    TRY(run_options_complete(state->call, record->problem.rank, &run));
    run.world = world_of(state);
    stencil_choice *choice = &record->choice.choice;
    const stencil_status status = stencil_choice_make(choice, &record->problem, &run, &record->machine);
    /* The message names the input file: the size of its problem takes the memory. */
    return text_name_out_of_memory(status, record->output.input_path);
}

/* Adds a note where the strategy or sweep that the options ask for is predicted to be much slower than the
 * plan that would be taken without them. */
static void note_slow(run_record *record) {
    static const double much = 1.5;
    const stencil_choice *choice = &record->choice.choice;
    const stencil_run_options *asked = &choice->asked;
    const bool sync = asked->sync != NULL, sweep = asked->sweep != NULL;
    const double step_s = choice->item[choice->chosen].cost.step_s;
    stencil_candidate other;
    if (!sync && !sweep)
        return;
    choice_rival(choice, &record->problem, &record->machine, &other);
    if (other.possible && step_s >= much * other.cost.step_s)
        stencil_notes_add(&record->notes, "predicted: %s µs per step; without %s%s%s %s (%s)",
                          TEXT_NUMBER(1e6 * step_s), sync ? "--sync" : "", sync && sweep ? " and " : "",
                          sweep ? "--sweep" : "", TEXT_NUMBER(1e6 * other.cost.step_s),
                          choice_name(&other, (char[64]){""}));
}

/* Adds notes about the plan that makes the steps, or has made the last steps. */
static void note_plan(run_state *state) {
    run_record *record = &state->record;
    const stencil_plan *plan = run_record_plan(record);
    stencil_notes_take(&record->notes, &plan->notes);
    note_slow(record);
    if (plan->backend == STENCIL_BACKEND_CPU && state->options.machine == NULL)
        threads_note(plan->threads, &record->notes);
    const int asked = record->choice.choice.asked.gpu_count,
              used = plan->backend == STENCIL_BACKEND_GPU ? plan->cut.parts : 0;
    if (used < asked)
        stencil_notes_add(&record->notes, "%d of %d GPUs used: with more of them it would take longer", used,
                          asked);
}

/* Chooses the plan for the local machine, or for the described machine without measurements. */
static stencil_status decide(run_state *state) {
    run_record *record = &state->record;
    auto_choice *choice = &record->choice;
    const auto_options *open = &state->options.open;
    choice->tune.choice = &choice->choice;
    if (!stencil_world_alone(world_of(state))) /* which choose alike, by what is predicted */
        TRY(text_name_out_of_memory(stencil_tune_start(&choice->tune, &choice->choice, &record->problem,
                                                       &record->machine, STENCIL_EFFORT_ESTIMATE),
                                    record->output.input_path));
    else if (state->options.machine == NULL)
        TRY(text_name_out_of_memory(
            auto_choose(choice, &record->problem, &record->machine, open, &record->notes),
            record->output.input_path));
    if (open->dry_run)
        stencil_tune_explain(&choice->tune);
    state->races = choice->tune.count > 1;
    if (!state->races) /* a note on this plan would stay where another plan proves quicker */
        note_plan(state);
    return check_late(state);
}

/* Refuses options that the plan does not use. */
static stencil_status check_effect(const run_state *state) {
    const stencil_run_options *run = &state->options.run;
    const stencil_plan *plan = run_record_plan(&state->record);
    CHECK(plan->cut.parts > 1 || (run->halo == STENCIL_HALO_AUTO && !run->overlap), USAGE,
          "--%s has no effect in one part: leave it out, or give --gpus or --parts",
          run->overlap ? "overlap" : "halo");
    CHECK(plan->barrier != STENCIL_BARRIER_none || state->record.choice.choice.asked.sync == NULL ||
              !options_given(state->call, "barrier-timeout"),
          USAGE, "--barrier-timeout is for persistent loops: it has no effect on --sync %s",
          stencil_strategy_at(plan->strategy).name);
    return STENCIL_OK;
}

/* Finds out whether the cells are those of the steps that the file counts. */
static stencil_status check_origin(void *context) {
    run_state *state = context;
    const stencil_reader cells = {stencil_run_read, state->run};
    return stencil_origin_check(&state->record.problem, &cells);
}

/* Begins the files of a run whose cells are loaded. */
static stencil_status begin_files(void *context) {
    run_state *state = context;
    run_record *record = &state->record;
    const stencil_reader cells = {stencil_run_read, state->run};
    report_note_origin(record);
    if (record->output.path != NULL) {
        TRY(stencil_output_begin(&record->output, &record->problem));
        TRY(stencil_input_check_unchanged(&state->input));
    }
    TRY(report_note_outlook(record, &cells));
    TRY(keeper_open(&state->keeper, record, state->run, &cells,
                    state->resumed != NULL ? &state->resumed->made : &(stencil_provenance){0}));
    return keeper_begin(&state->keeper);
}

/* Checks the cells of the file as far as plans and steps depend on it: in each rank. */
static stencil_status check_cells(run_state *state) {
    const bool nonfinite = state->options.allow_nonfinite;
    stencil_problem *problem = &state->record.problem;
    const stencil_reader from = stencil_input_reader(&state->input, problem, nonfinite);
    TRY(stencil_input_check(&state->input, problem, nonfinite));
    return report_note_pockets(&state->record, &from);
}

static stencil_status load_cells(run_state *state) {
    run_record *record = &state->record;
    stencil_problem *problem = &record->problem;
    stencil_input *input = &state->input;
    const stencil_reader from = stencil_input_reader(input, problem, state->options.allow_nonfinite);
    TRY(by_all(state, check_cells(state)));
    TRY(stencil_run_open(&state->run, run_record_plan(record), problem, &from));
    record->choice.tune.run = state->run;
    stencil_input_rest(input);
    TRY(by_all(state, stencil_input_check_unchanged(input)));
    stencil_origin_arrays *arrays = &problem->origin.arrays;
    TRY(stencil_run_lead(state->run, check_origin, state, arrays, sizeof *arrays));
    if (!leads(state))
        TRY(stencil_origin_take(problem, *arrays));
    CHECK(state->resumed == NULL || !problem->origin.recounted, USAGE,
          "'%s': --resume goes on with the problem of the file: other options make another problem of it, "
          "which is run without --resume",
          input->path);
    return stencil_run_lead(state->run, begin_files, state, NULL, 0);
}

static stencil_status load(run_state *state) {
    run_record *record = &state->record;
    stencil_status status = stencil_input_load_history(&state->input, &record->problem);
    if (status == STENCIL_OK)
        status = stencil_input_check_written(&state->input, &record->problem, state->options.allow_unwritten,
                                             &record->notes);
    TRY(by_all(state, status));
    return text_name_out_of_memory(load_cells(state), record->output.input_path);
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
        {world_of(state), .says = ranks_say, .hears = ranks_hear},
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
                                    {world_of(state), .says = ranks_say, .hears = ranks_hear}};
    const stencil_observers observers = {all, sizeof all / sizeof *all};
    signals_catch();
    stencil_status status = stencil_run_drive(state->run, &observers, &record->report);
    progress_end(&progress);
    const stencil_error failure = *stencil_error_last();
    /* Where a rank has failed, the others do not come here to give their cells. */
    const stencil_status kept = status == STENCIL_OK || stencil_world_alone(world_of(state))
                                    ? stencil_run_lead(state->run, end_files, &state->keeper, NULL, 0)
                                    : status;
    if (status != STENCIL_OK)
        status = scrubbing_explain(&state->scrubbing, stencil_error_adopt(&failure), &state->keeper);
    else
        status = kept;
    if (state->races)
        note_plan(state);
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

/* Keeps reports and results from replacing the file of --wisdom or of --machine. */
static stencil_status check_apart(const run_state *state) {
    const run_options *options = &state->options;
    const struct {
        const char *option, *path;
    } written[] = {{"--output", state->record.output.path},
                   {"--json", options->files.json},
                   {"--trace", options->files.trace}};
    for (size_t i = 0; i < sizeof written / sizeof *written; i++) {
        TRY(target_check_apart(written[i].option, written[i].path, options->open.wisdom, "--wisdom"));
        TRY(target_check_apart(written[i].option, written[i].path, options->machine, "--machine"));
    }
    return STENCIL_OK;
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
    TRY(ranks_check(world_of(state), options));
    TRY(keeper_prepare(&state->keeper, &options->keeper, state->start_s));
    state->keeper.quiet = options->open.quiet;
    TRY(scrubbing_prepare(&state->scrubbing, options->scrub));
    return take_resumption(state);
}

/* Claims the name of the result, and checks the file that the run goes on from. */
static stencil_status claim(run_state *state) {
    const run_options *options = &state->options;
    TRY(run_output_claim(&state->record, &options->files, leads(state) && !options->open.dry_run));
    return leads(state) ? resume_check_unchanged(state->resumed) : STENCIL_OK;
}

/* Reads the problem and chooses a plan for it. */
static stencil_status plan_run(run_state *state) {
    run_options *options = &state->options;
    run_record *record = &state->record;
    TRY(by_all(state, describe_problem(state)));
    const bool shared = stencil_gpus_are_shared(options->run.gpu, options->run.gpu_count);
    const int64_t threads = ranks_threads(world_of(state), options->threads);
    TRY(by_all(state, machine_find(&record->machine, options->machine, threads,
                                   shared ? STENCIL_STREAMS_SHARED : STENCIL_STREAMS_PART, &record->notes)));
    ranks_share_machine(world_of(state), &record->machine);
    TRY(by_all(state, make_plan(state)));
    TRY(by_all(state, check_effect(state)));
    TRY(by_first(state, leads(state) ? run_output_prepare(record, &options->files, options->open.dry_run)
                                     : STENCIL_OK));
    TRY(by_all(state, check_apart(state)));
    return by_all(state, decide(state));
}

static stencil_status write_result(void *context) {
    run_state *state = context;
    return run_output_write(&state->record, state->run);
}

/* Writes the result of a run whose steps are made, and what else it leaves. */
static stencil_status finish(run_state *state) {
    run_record *record = &state->record;
    stencil_status failed = stencil_run_lead(state->run, write_result, state, NULL, 0);
    if (!leads(state))
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
    TRY(by_all(state, prepare(state)));
    TRY(by_first(state, claim(state)));
    TRY(plan_run(state));
    /* Notes are not printed where JSON on standard output has them. */
    const int quiet =
        options->open.quiet == 0 && target_is_stdout(options->files.json) ? 2 : options->open.quiet;
    if (options->open.dry_run)
        report_note_origin(record);
    else
        TRY(load(state));
    if (quiet == 0)
        report_print_head(record);
    report_print_notes(record, quiet);
    if (options->open.dry_run)
        return by_first(state, leads(state) ? tell_plan(state, quiet) : STENCIL_OK);
    output_flush();
    state->attribution.wall.start_s = stencil_clock_s() - state->start_s;
    TRY(leads(state) ? compute(state) : compute_beside(state));
    const stencil_status failed = finish(state);
    const stencil_status told = by_first(state, leads(state) ? tell(state, quiet, failed) : STENCIL_OK);
    stencil_world_tell(world_of(state), 0, &record->exit_code, sizeof record->exit_code);
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
    if (leads(state) && state->options.resume && files->output == NULL && !files->no_output &&
        !state->options.open.dry_run)
        status = resume_check_idle(call->operand[0]);
    status = by_first(state, status);
    if (status == STENCIL_OK && state->options.resume) {
        const int64_t threads = ranks_threads(call->world, state->options.threads);
        status = stencil_world_agree(call->world, resume_begin(&resumed, call, &reading, threads));
        state->call = call; /* the options were read again, into a new state */
    }
    if (!leads(state))
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

/* stencil run: reads a problem, solves it, reports, writes the result. */
#include <inttypes.h>
#include <string.h>

#include "app/attribution.h"
#include "app/options.h"
#include "app/choice.h"
#include "app/json.h"
#include "app/machine.h"
#include "app/progress.h"
#include "app/report.h"
#include "app/signals.h"
#include "app/text.h"
#include "solver/problem/classes.h"
#include "solver/problem/origin.h"
#include "solver/run/run.h"

typedef struct run_options {
    stencil_spec problem; /* has only values of given options, see problem_options_apply() */
    stencil_run_options run;
    int64_t threads;
    int cut_count, absent_part, late;
    const char *machine, *field;
    reading_options reading;
    run_targets files;
    auto_options open;
    bool attribute, explain, allow_nonfinite, allow_unwritten;
} run_options;

#define AT(field) OPTION_AT(run_options, field)
static const option run_table[] = {
    {.heading = "Where and how"},
    {"sync", 0, OPTION_NAME, AT(run.sync), "NAME",
     .help = "how steps are kept in order; auto: as is quickest, also on fewer GPUs than --gpus allows, or "
             "on the CPU (on several GPUs grid means multi-grid)",
     .names = choice_syncs, .preset = "auto", .automatic = true},
    {"sweep", 0, OPTION_NAME, AT(run.sweep), "NAME", .help = "how a step is made; the result is the same",
     .names = choice_sweeps, .preset = "auto", .automatic = true},
    {DEPTH_OPTION(run_options, run.depth)},
    {"effort", 0, OPTION_CHOICE, AT(open.effort), "HOW",
     .help = "what auto goes by: estimate, what is predicted; measure, the best two or three timed in the "
             "run's first steps; patient, more of them for longer; exhaustive, all of them",
     .preset = "measure", .names = stencil_effort_names},
    {"wisdom", 0, OPTION_TEXT, AT(open.wisdom), "FILE",
     .help = "where auto finds and keeps what was measured; off: nowhere (default: wisdom.json in "
             "$XDG_CACHE_HOME/stencil or ~/.cache/stencil)"},
    {"explain", 0, OPTION_FLAG, AT(explain), NULL,
     .help = "print all plans with their times, and why they were not chosen"},
    {"device", 0, OPTION_CHOICE, AT(run.backend), "WHERE", .help = "auto takes a GPU where there is one",
     .preset = "auto", .names = stencil_backend_names},
    {"gpus", 'g', OPTION_DEVICES, AT(run.gpu), "N|LIST",
     .help = "how many (2), or which ones (0,2 or 2,); each gets a part of the field, and one named several "
             "times (0,0) that many; means --device gpu",
     .contradicts = {"device cpu"}, .count_offset = offsetof(run_options, run.gpu_count)},
    {THREADS_OPTION(run_options, threads)},
    {.heading = "Several GPUs"},
    {"parts", 0, OPTION_INTEGER, AT(run.parts), "N",
     .help = "cut a run on the CPU as one on N GPUs is; means --device cpu",
     .contradicts = {"gpus", "device gpu"}, .because = "--parts cuts a run on the CPU", .minimum = 1,
     .maximum = STENCIL_PARTS_MAX},
    {"cut", 0, OPTION_INTEGER, AT(run.cut), "LIST",
     .help = "parts along each axis, in array order, as in 4,1 (default: along the slowest axis, or along "
             "the one or two where fewer bytes cross)",
     .minimum = 1, .maximum = STENCIL_PARTS_MAX, .most = STENCIL_AXES,
     .count_offset = offsetof(run_options, cut_count)},
    {"halo", 0, OPTION_CHOICE, AT(run.halo), "HOW",
     .help = "how ghost cells get to other parts: stored by the kernel, copied (openmp, single-thread), or "
             "sent in words that carry their step (ll; neighbor on GPUs)",
     .preset = "auto", .names = stencil_halo_names,
     .renamed = (const char *const[]){"peer", "store", "stamped", "ll", NULL}},
    {"overlap", 0, OPTION_FLAG, AT(run.overlap), NULL,
     .help = "openmp, single-thread: compute what others need first, copy it while the rest is computed"},
    {.heading = "Input"},
    {"field", 0, OPTION_TEXT, AT(field), "NAME", .help = FIELD_HELP},
    {"allow-nonfinite", 0, OPTION_FLAG, AT(allow_nonfinite), NULL, .help = "accept NaN and Inf in the input"},
    {"allow-unwritten", 0, OPTION_FLAG, AT(allow_unwritten), NULL,
     .help = "accept cells of u that nobody wrote, with the fill value"},
    {READING_OPTIONS(run_options, reading)},
    {.heading = "When to stop (overrides the file's attributes)",
     .table = stop_option_table,
     .offset = offsetof(run_options, problem)},
    {.heading = "Problem (overrides the file's attributes)",
     .table = problem_option_table,
     .offset = offsetof(run_options, problem)},
    {.heading = "Output"},
    {"output", 'o', OPTION_TEXT, AT(files.output), "FILE",
     .help = "result (default: INPUT with .out.h5 for .h5; of a result .out2.h5, then .out3.h5 …); INPUT "
             "itself, with --force, goes on in place: the result replaces it when it is complete"},
    {"force", 'f', OPTION_FLAG, AT(files.force), NULL,
     .help = "replace existing files, INPUT included where it is the output"},
    {"no-output", 0, OPTION_FLAG, AT(files.no_output), NULL, .help = "write no result",
     .contradicts = {"output"}},
    {"json", 0, OPTION_TEXT, AT(files.json), "FILE",
     .help = "write the report as JSON; - writes it to standard output in place of the report for people"},
    {"attribute", 0, OPTION_FLAG, AT(attribute), NULL,
     .help = "tell where the time went: batches of steps are made after the run for it, and thrown away",
     .contradicts = {"dry-run"}, .because = "a dry run makes no steps"},
    {"trace", 0, OPTION_TEXT, AT(files.trace), "FILE",
     .help = "write what every thread, block or SM did in some steps made after the run, as Chrome trace "
             "events, for Perfetto",
     .contradicts = {"dry-run"}, .because = "a dry run makes no steps"},
    {"dry-run", 0, OPTION_FLAG, AT(open.dry_run), NULL,
     .help = "print memory, partitions and launch shape, then stop"},
    {"machine", 0, OPTION_TEXT, AT(machine), "FILE",
     .help = "plan for the machine that stencil info --json has described there, not for this one",
     .needs = "dry-run"},
    {"quiet", 'q', OPTION_FLAG, AT(open.quiet), NULL,
     .help = "print neither report nor progress, and of the notes only those that change what the result "
             "means, on standard error; twice (-qq): none of them"},
    /* The options that follow test a barrier before it is trusted. */
    {.heading = "Barriers of persistent loops"},
    {"barrier-timeout", 0, OPTION_REAL, AT(run.wait.timeout_s), "S",
     .help = "a block that waits longer than this for others ends the run, exit code 70", .preset = "10",
     .maximum = 1000000000, .positive = true},
    {"inject-delay", 0, OPTION_INTEGER, AT(run.wait.fault.delay_ns), "NS",
     .help = "make a random quarter of the blocks late by up to NS nanoseconds before each barrier; the "
             "result must not change",
     .minimum = 1, .maximum = 1000000000},
    {"inject-seed", 0, OPTION_INTEGER, AT(run.wait.fault.seed), "N",
     .help = "of who is late and how much (1)", .needs = "inject-delay", .minimum = 0, .maximum = UINT32_MAX},
    {"inject-late", 0, OPTION_INTEGER, AT(late), "N",
     .help = "with --inject-delay: not a random quarter of the blocks is late, but block N (on a CPU: thread "
             "N) at every barrier, by NS",
     .needs = "inject-delay", .minimum = 0, .maximum = INT32_MAX - 1},
    {"inject-absent", 0, OPTION_INTEGER, AT(run.wait.fault.absent_step), "STEP",
     .help = "block 1 never arrives after step STEP: the run must end with exit code 70", .minimum = 1,
     .maximum = INT64_MAX},
    {"inject-illegal", 0, OPTION_INTEGER, AT(run.wait.illegal_step), "STEP",
     .help = "a kernel on GPU 0 writes to an illegal address before step STEP: likewise", .minimum = 1,
     .maximum = INT64_MAX},
    {"inject-absent-part", 0, OPTION_INTEGER, AT(absent_part), "N",
     .help = "with --inject-absent: not block 1, but all blocks of part N (from 0 on)",
     .needs = "inject-absent", .minimum = 0, .maximum = STENCIL_PARTS_MAX - 1},
    {NULL},
};

/* State of a `run` command; released by run_close(). */
typedef struct run_state {
    run_options options; /* first member: options_parse() fills the beginning of this state */
    const invocation *call;
    stencil_input input;
    stencil_run *run;
    run_record record;
    attribution attribution;
    double start_s; /* clock when the command began */
    bool races;     /* plans are timed in the first steps, and the quickest makes the others */
} run_state;

static void run_close(run_state *state) {
    run_output_close(&state->record);
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
    TRY(text_name_file(stencil_classes_find(&record->problem, &cells, state->input.palette), path));
    report_note_source(record, &file);
    report_note_start(record, &file);
    return STENCIL_OK;
}

/* Makes run options from the command line: faults to inject, and --cut for this rank. Errors: USAGE. */
static stencil_status complete_options(const invocation *call, int rank, stencil_run_options *run) {
    const run_options *options = call->values;
    *run = options->run;
    run->wait.fault.absent = 1;
    if (!options_given(call, "inject-seed"))
        run->wait.fault.seed = 1;
    if (options_given(call, "inject-late"))
        run->wait.fault.late = 1 + (uint32_t)options->late;
    if (options_given(call, "inject-absent-part"))
        run->wait.fault.absent_part = 1 + (uint32_t)options->absent_part;
    CHECK(options->cut_count == 0 || options->cut_count == rank, USAGE,
          "--cut: the field has %d axes: give a number of parts for each, such as %s", rank,
          rank == 2 ? "4,1" : "2,2,1");
    if (options->cut_count == 2)
        memcpy(run->cut, (const int[]){1, run->cut[0], run->cut[1]}, sizeof run->cut);
    return STENCIL_OK;
}

/* Checks that the participant that options make late exists in the plan. */
static stencil_status check_late(const run_state *state) {
    const stencil_plan *plan = run_record_plan(&state->record);
    const stencil_part_plan *last = &plan->part[plan->cut.parts - 1];
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
    TRY(complete_options(state->call, record->problem.rank, &run));
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
    if (state->options.machine == NULL)
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

static stencil_status load_cells(run_state *state) {
    run_record *record = &state->record;
    stencil_problem *problem = &record->problem;
    stencil_input *input = &state->input;
    const stencil_reader from = stencil_input_reader(input, problem, state->options.allow_nonfinite);
    TRY(stencil_input_check(input, problem, state->options.allow_nonfinite));
    TRY(report_note_pockets(record, &from));
    TRY(stencil_run_open(&state->run, run_record_plan(record), problem, &from));
    record->choice.tune.run = state->run;
    stencil_input_rest(input);
    TRY(stencil_input_check_unchanged(input));
    const stencil_reader cells = {stencil_run_read, state->run};
    TRY(stencil_origin_check(problem, &cells));
    report_note_origin(record);
    if (record->output.path != NULL) {
        TRY(stencil_output_begin(&record->output, problem));
        TRY(stencil_input_check_unchanged(input));
    }
    return report_note_outlook(record, &cells);
}

static stencil_status load(run_state *state) {
    run_record *record = &state->record;
    TRY(stencil_input_load_history(&state->input, &record->problem));
    TRY(stencil_input_check_written(&state->input, &record->problem, state->options.allow_unwritten,
                                    &record->notes));
    return text_name_out_of_memory(load_cells(state), record->output.input_path);
}

/* Observer's poll function: draws progress; returns whether the run goes on. */
static bool go_on(void *context, int64_t step, double residual) {
    progress_poll(context, step, residual);
    return signals_caught == 0;
}

static stencil_status compute(run_state *state) {
    progress progress;
    progress_start(&progress, &state->record.problem, state->options.open.quiet > 0);
    run_record *record = &state->record;
    const stencil_observer all[] = {{&progress, .poll = go_on}, stencil_tune_observer(&record->choice.tune)};
    const stencil_observers observers = {all, 2};
    signals_catch();
    const stencil_status status = stencil_run_drive(state->run, &observers, &record->report);
    progress_end(&progress);
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
    a->wanted =
        state->options.attribute && (state->options.open.quiet == 0 || state->options.files.json != NULL);
    a->trace = state->options.files.trace;
    return attribution_make(a, state->run, &state->record);
}

/* Exit code where a run ended without reaching its stopping criterion. */
enum { EXIT_NOT_CONVERGED = 2 };

/* Returns the exit code of a run; a signal after the last step does not count as an interruption. */
static int report_exit_code(const stencil_report *report) {
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
        attribution_print(&state->attribution, record);
    }
    json_t *json = options->files.json != NULL ? report_json(record) : NULL;
    if (json != NULL && state->attribution.known)
        json_object_set_new(json, "attribution", attribution_json(&state->attribution, record));
    stencil_status status = json_write("--json", options->files.json, options->files.force, json);
    if (status == STENCIL_OK && state->attribution.traced)
        status = target_write("--trace", options->files.trace, options->files.force, attribution_print_trace,
                              &state->attribution.timeline);
    if (status == STENCIL_OK)
        status = output_check();
    if (failed != STENCIL_OK)
        return stencil_error_adopt(&failure);
    if (status == STENCIL_OK && record->exit_code != 0)
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

static stencil_status run_stages(run_state *state) {
    run_options *options = &state->options;
    run_record *record = &state->record;
    CHECK(options->files.trace == NULL || !target_is_stdout(options->files.trace), USAGE,
          "--trace -: standard output has the report: give a file name");
    CHECK(options->files.output == NULL || strcmp(options->files.output, "-") != 0, USAGE,
          "--output -: a result is an HDF5 file and does not go to standard output: give a file name, ./- "
          "for a file called -");
    TRY(describe_problem(state));
    const bool shared = stencil_gpus_are_shared(options->run.gpu, options->run.gpu_count);
    TRY(machine_find(&record->machine, options->machine, options->threads,
                     shared ? STENCIL_STREAMS_SHARED : STENCIL_STREAMS_PART, &record->notes));
    TRY(make_plan(state));
    TRY(check_effect(state));
    TRY(run_output_prepare(record, &options->files, options->open.dry_run));
    TRY(check_apart(state));
    TRY(decide(state));
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
    if (options->open.dry_run) {
        if (quiet == 0)
            report_print_plan(record, options->explain);
        return json_write("--json", options->files.json, options->files.force,
                          options->files.json != NULL ? report_json(record) : NULL);
    }
    output_flush();
    state->attribution.wall.start_s = stencil_clock_s() - state->start_s;
    TRY(compute(state));
    stencil_status failed = run_output_write(record, state->run);
    auto_keep(&record->choice, &record->problem, &record->machine, options->open.wisdom != NULL,
              &record->notes);
    if (failed == STENCIL_OK && (failed = attribute(state)) != STENCIL_OK && record->output.path != NULL)
        text_around(failed, "", COMPLETE(record->output.path));
    record->done = true;
    report_note_end(record);
    record->exit_code =
        failed == STENCIL_OK ? report_exit_code(&record->report) : stencil_status_exit_code(failed);
    return tell(state, quiet, failed);
}

static stencil_status run_run(invocation *call) {
    run_state *state = call->values;
    state->call = call;
    state->start_s = stencil_clock_s();
    state->record.output =
        (stencil_output){.input_path = call->operand[0], .command_line = call->command_line};
    const stencil_status status = run_stages(state);
    call->exit_code = state->record.exit_code;
    run_close(state);
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
    .options = run_table,
    .values_size = sizeof(run_state),
    .operand_min = 1,
    .operand_max = 1,
    .alone = true,
    .run = run_run,
};

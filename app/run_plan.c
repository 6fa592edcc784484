/* The stages of `stencil run` up to the first step: problem, machine, plan, cells. */
#include <inttypes.h>
#include <string.h>

#include "app/json.h"
#include "app/machine.h"
#include "app/ranks.h"
#include "app/run_state.h"
#include "app/text.h"
#include "solver/problem/classes.h"
#include "solver/problem/coefficients.h"
#include "solver/problem/origin.h"

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
    const stencil_part_plan *last = &plan->part[stencil_plan_parts(plan) - 1];
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
    run.world = run_world(state);
    run.rank_gpu = record->gpus.own;
    run.rank_sharing = record->gpus.sharing;
    run.ranks_reach = record->gpus.reach;
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

void run_note_plan(run_state *state) {
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
    if (!stencil_world_alone(run_world(state))) { /* which choose alike, by what is predicted */
        const stencil_status status = stencil_tune_start(&choice->tune, &choice->choice, &record->problem,
                                                         &record->machine, STENCIL_EFFORT_ESTIMATE);
        TRY(run_by_all(state, text_name_out_of_memory(status, record->output.input_path)));
        TRY(ranks_check_plan(run_world(state), run_record_plan(record)));
    } else if (state->options.machine == NULL)
        TRY(text_name_out_of_memory(
            auto_choose(choice, &record->problem, &record->machine, open, &record->notes),
            record->output.input_path));
    if (open->dry_run)
        stencil_tune_explain(&choice->tune);
    state->races = choice->tune.count > 1;
    if (!state->races) /* a note on this plan would stay where another plan proves quicker */
        run_note_plan(state);
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

/* Checks that options do not ask for fewer steps than the file has made. */
static stencil_status check_goes_on(const run_state *state) {
    const stencil_problem *problem = &state->record.problem;
    const bool time = options_given(state->call, "time");
    CHECK((!time && !options_given(state->call, "steps")) || problem->stop.steps >= problem->origin.steps,
          USAGE, "--%s: '%s' is of step %s, and fewer are asked for, %s", time ? "time" : "steps",
          state->record.output.input_path, TEXT_COUNT(problem->origin.steps),
          TEXT_COUNT(problem->stop.steps));
    return STENCIL_OK;
}

/* Begins the files of a run whose cells are loaded. */
static stencil_status begin_files(void *context) {
    run_state *state = context;
    run_record *record = &state->record;
    const stencil_reader cells = {stencil_run_read, state->run};
    report_note_origin(record);
    TRY(check_goes_on(state));
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

/* Tells whether rank 0 has the same text; every rank asks at the same time. */
static bool is_of_first(run_state *state, const char *text) {
    char first[128] = "";
    if (run_leads(state))
        snprintf(first, sizeof first, "%s", text);
    stencil_world_tell(run_world(state), 0, first, sizeof first);
    return strcmp(first, text) == 0;
}

/* Checks that this rank has the problem of rank 0: its file of the same name may be another one, or its
 * options others. */
static stencil_status check_same_problem(run_state *state) {
    const stencil_problem *problem = &state->record.problem;
    char text[128];
    snprintf(text, sizeof text, "%s %lld %lld %lld %.17g", problem->fingerprint,
             (long long)problem->origin.steps, (long long)problem->stop.steps,
             (long long)problem->stop.check_every, problem->stop.rtol);
    CHECK(is_of_first(state, text), BAD_DATA,
          "'%s' and the options give another problem than in rank 0: all ranks need the same file and the "
          "same options",
          state->record.output.input_path);
    return STENCIL_OK;
}

/* The same for the cells, of which three rows are compared. */
static stencil_status check_same_cells(run_state *state, const stencil_reader *from) {
    enum { MOST = 4096 };
    const stencil_problem *problem = &state->record.problem;
    const int64_t *n = problem->n;
    stencil_digest digest = {0};
    stencil_status status = STENCIL_OK;
    double memory[MOST];
    char text[STENCIL_DIGEST_CHARS];
    for (int i = 0; i < 3 && status == STENCIL_OK; i++) {
        const stencil_box row = {.first = {(n[STENCIL_Z] - 1) * i / 2, (n[STENCIL_Y] - 1) * i / 2, 0},
                                 .n = {1, 1, stencil_smaller(n[STENCIL_X], MOST)}};
        const stencil_box array = stencil_digest_array(problem, STENCIL_ARRAY_U);
        const stencil_cells cells = stencil_cells_dense(problem->precision, memory, &row);
        status = from->read(from->context, STENCIL_ARRAY_U, &row, &cells);
        if (status == STENCIL_OK)
            stencil_digest_add(&digest, &array, &row, &cells);
    }
    stencil_digest_text(&digest, text);
    const bool same = is_of_first(state, text);
    TRY(status);
    CHECK(same, BAD_DATA, "/u of '%s' is not that of rank 0: all ranks need the same file",
          state->record.output.input_path);
    return STENCIL_OK;
}

static stencil_status load_cells(run_state *state) {
    run_record *record = &state->record;
    stencil_problem *problem = &record->problem;
    stencil_input *input = &state->input;
    const stencil_reader from = stencil_input_reader(input, problem, state->options.allow_nonfinite);
    TRY(run_by_all(state, check_cells(state)));
    if (!stencil_world_alone(run_world(state)))
        TRY(run_by_all(state, check_same_cells(state, &from)));
    TRY(stencil_run_open(&state->run, run_record_plan(record), problem, &from));
    record->choice.tune.run = state->run;
    record->output.run = stencil_world_alone(run_world(state)) ? NULL : state->run;
    stencil_input_rest(input);
    TRY(run_by_all(state, stencil_input_check_unchanged(input)));
    stencil_origin_arrays *arrays = &problem->origin.arrays;
    TRY(stencil_run_lead(state->run, check_origin, state, arrays, sizeof *arrays));
    if (!run_leads(state))
        TRY(stencil_origin_take(problem, *arrays));
    CHECK(state->resumed == NULL || !problem->origin.recounted, USAGE,
          "'%s': --resume goes on with the problem of the file: other options make another problem of it, "
          "which is run without --resume",
          input->path);
    return stencil_run_lead(state->run, begin_files, state, NULL, 0);
}

stencil_status run_load(run_state *state) {
    run_record *record = &state->record;
    stencil_status status = stencil_input_load_history(&state->input, &record->problem);
    if (status == STENCIL_OK)
        status = stencil_input_check_written(&state->input, &record->problem, state->options.allow_unwritten,
                                             &record->notes);
    TRY(run_by_all(state, status));
    return text_name_out_of_memory(load_cells(state), record->output.input_path);
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

stencil_status run_plan(run_state *state) {
    run_options *options = &state->options;
    run_record *record = &state->record;
    TRY(run_by_all(state, describe_problem(state)));
    if (!stencil_world_alone(run_world(state)))
        TRY(run_by_all(state, check_same_problem(state)));
    const bool shared = stencil_gpus_are_shared(options->run.gpu, options->run.gpu_count);
    const int64_t threads = ranks_threads(run_world(state), options->threads);
    TRY(run_by_all(state,
                   machine_find(&record->machine, options->machine, threads,
                                shared ? STENCIL_STREAMS_SHARED : STENCIL_STREAMS_PART, &record->notes)));
    TRY(ranks_share_machine(run_world(state), &record->machine, &record->gpus));
    TRY(ranks_find_reach(run_world(state), &record->machine, &options->run, &record->gpus));
    TRY(run_by_all(state, make_plan(state)));
    TRY(run_by_all(state, check_effect(state)));
    TRY(run_by_first(state, run_leads(state)
                                ? run_output_prepare(record, &options->files, options->open.dry_run)
                                : STENCIL_OK));
    TRY(run_by_all(state, check_apart(state)));
    return run_by_all(state, decide(state));
}

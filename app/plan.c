/* stencil plan: predicted times of all possible plans, on the local machine or on a machine that a file
 * describes. */
#include <stdlib.h>
#include <string.h>

#include "app/choice.h"
#include "app/json.h"
#include "app/machine.h"
#include "app/options.h"
#include "app/scaling.h"
#include "app/table.h"
#include "app/text.h"
#include "solver/problem/coefficients.h"

typedef struct plan_options {
    stencil_spec problem; /* has only values of given options, see problem_options_apply() */
    stencil_run_options run;
    int64_t threads;
    reading_options reading;
    const char *machine, *sizes, *json, *field;
    scaling_options scaling;
    bool force;
} plan_options;

#define AT(field) OPTION_AT(plan_options, field)
static const option plan_table[] = {
    {.heading = "Where"},
    {"machine", 0, OPTION_TEXT, AT(machine), "FILE",
     .help = "a machine that stencil info --json or stencil calibrate --json has described, not this one; or "
             "a cluster that stencil bench message --cluster has described, for up to all of its devices"},
    {"device", 0, OPTION_CHOICE, AT(run.backend), "WHERE", .help = "auto takes a GPU where there is one",
     .preset = "auto", .names = stencil_backend_names},
    {"gpus", 'g', OPTION_DEVICES, AT(run.gpu), "N|LIST",
     .help = "how many at most (2), or which ones (0,2 or 2,)", .contradicts = {"device cpu"},
     .count_offset = offsetof(plan_options, run.gpu_count)},
    {THREADS_OPTION(plan_options, threads)},
    {.heading = "Plans"},
    {"sync", 0, OPTION_NAME, AT(run.sync), "NAME", .help = "only this way to keep steps in order",
     .names = choice_syncs, .automatic = true},
    {"sweep", 0, OPTION_NAME, AT(run.sweep), "NAME", .help = "only this way to make a step",
     .names = choice_sweeps, .automatic = true},
    {DEPTH_OPTION(plan_options, run.depth)},
    {.heading = "Field, in place of INPUT"},
    {"size", 0, OPTION_SIZE, AT(problem.extent), "NXxNY[xNZ]", .help = "cells, x first",
     .contradicts = {"sizes"}, .count_offset = offsetof(plan_options, problem.rank)},
    {"sizes", 0, OPTION_TEXT, AT(sizes), "A..B",
     .help = "from A to B cells along each axis: at which size another plan becomes the quickest"},
    {.heading = "Cluster, that --machine describes"},
    {"nodes", 0, OPTION_INTEGER, AT(scaling.nodes), "N", .help = "so many nodes, not those of the file",
     .minimum = 1, .maximum = SCALING_DEVICES_MAX},
    {"overlap", 0, OPTION_FLAG, AT(run.overlap), NULL,
     .help = "on CPUs: rows that others need are computed first and travel while the rest is computed"},
    {"noise", 0, OPTION_REAL, AT(scaling.noise), "P",
     .help = "simulate passes whose times vary by P % (standard deviation), which neighbours wait for",
     .maximum = 100},
    {"late", 0, OPTION_REAL, AT(scaling.late_us), "US",
     .help = "simulate a rank in the middle that takes US µs more for each pass"},
    {"seed", 0, OPTION_INTEGER, AT(scaling.seed), "N", .help = "other times of passes", .preset = "1",
     .minimum = 0, .maximum = INT64_MAX},
    {.heading = "Input"},
    {"field", 0, OPTION_TEXT, AT(field), "NAME", .help = FIELD_HELP},
    {READING_OPTIONS(plan_options, reading)},
    {.heading = "Problem", .table = problem_option_table, .offset = offsetof(plan_options, problem)},
    {.heading = "Output"},
    {"json", 0, OPTION_TEXT, AT(json), "FILE",
     .help = "write it as JSON; - writes it to standard output in place of the table"},
    {"output", 'o', OPTION_TEXT, AT(scaling.output), "FILE",
     .help = "picture of the scaling of a cluster, by its suffix: .png, .svg, .pdf"},
    {"force", 'f', OPTION_FLAG, AT(force), NULL, .help = "replace existing files"},
    {NULL},
};

typedef struct plan_state {
    plan_options options; /* first member: options_parse() fills the beginning of this state */
    stencil_machine machine;
    stencil_cluster cluster;
    stencil_notes notes;
    stencil_spec spec;
    const char *path; /* input file that states the problem; NULL: options state the problem */
} plan_state;

/* Reads what the cells of /k say together, on which the largest dt depends. */
static stencil_status read_coefficients(stencil_input *input, stencil_spec *spec) {
    stencil_problem problem;
    if (!spec->has_k)
        return STENCIL_OK;
    TRY(stencil_problem_resolve(&problem, spec));
    const stencil_reader cells = stencil_input_reader(input, &problem, true);
    const stencil_status status = stencil_coefficients_find(&problem, spec, &cells);
    spec->k = problem.spec.k;
    stencil_problem_destroy(&problem);
    return status;
}

/* Reads the problem from a file or from options; it has no size yet where --sizes is given. */
static stencil_status find_spec(plan_state *state, const invocation *call) {
    const plan_options *o = &state->options;
    stencil_spec *spec = &state->spec;
    CHECK(call->operand_count == 0 || (o->problem.rank == 0 && o->sizes == NULL), USAGE,
          "--%s and INPUT contradict each other: give one of them", o->sizes != NULL ? "sizes" : "size");
    CHECK(call->operand_count > 0 || o->problem.rank > 0 || o->sizes != NULL, USAGE,
          "neither a file nor --size is given: such as --size 1024x1024");
    stencil_spec_init(spec);
    if (call->operand_count > 0) {
        state->path = call->operand[0];
        stencil_input input = {0};
        const stencil_input_options how = reading_options_of(&o->reading, o->field);
        stencil_status status = stencil_input_open(&input, call->operand[0], &how, spec);
        if (status == STENCIL_OK)
            status = problem_options_apply(call, spec);
        if (status == STENCIL_OK)
            status = stencil_input_grid(&input, spec, &state->notes);
        if (status == STENCIL_OK)
            status = text_name_file(read_coefficients(&input, spec), call->operand[0]);
        stencil_input_close(&input);
        return status;
    }
    const stencil_shape *shape = stencil_shape_find(o->problem.stencil);
    spec->rank = o->sizes == NULL ? o->problem.rank : shape != NULL ? shape->rank : 2;
    memcpy(spec->extent, o->problem.extent, sizeof spec->extent);
    TRY(problem_options_apply(call, spec));
    if (spec->kind == STENCIL_KIND_NONE && spec->stencil[0] == '\0')
        snprintf(spec->stencil, sizeof spec->stencil, "%s", spec->rank == 3 ? "j3d7pt" : "j2d5pt");
    return STENCIL_OK;
}

static stencil_status choose(plan_state *state, const stencil_spec *spec, stencil_problem *problem,
                             stencil_choice *choice) {
    const stencil_status status = stencil_problem_resolve(problem, spec);
    TRY(state->path != NULL ? text_name_file(status, state->path) : status);
    const stencil_status made = stencil_choice_make(choice, problem, &state->options.run, &state->machine);
    const char *name = state->path != NULL ? state->path : state->options.machine;
    return name != NULL ? text_name_out_of_memory(made, name) : made;
}

static stencil_status rank_plans(plan_state *state) {
    stencil_problem problem = {0};
    stencil_choice choice = {0};
    stencil_status status = choose(state, &state->spec, &problem, &choice);
    if (status == STENCIL_OK && !target_is_stdout(state->options.json)) {
        choice_print_terms(&choice, &problem);
        for (int i = 0; i < state->notes.count; i++)
            PRINT("Note", "%s", TEXT_ESCAPE(state->notes.line[i]));
    }
    if (status == STENCIL_OK && state->options.json != NULL)
        status = json_write("--json", state->options.json, state->options.force,
                            json_pack("{s:i, s:s, s:o}", "schema_version", 1, "version", STENCIL_VERSION,
                                      "plans", choice_json(&choice)));
    stencil_choice_destroy(&choice);
    stencil_problem_destroy(&problem);
    return status;
}

/* Quickest plan at a grid size: its name and its time per step. */
typedef struct best_of {
    char name[64];
    double step_s;
} best_of;

/* Finds the quickest plan at an extent, or plan `before` where it is as quick within the prediction error. */
static stencil_status find_best(plan_state *state, int64_t extent, const char *before, best_of *best) {
    static const double as_good = 1.03;
    stencil_problem problem = {0};
    stencil_choice choice = {0};
    stencil_spec spec = state->spec;
    for (int axis = 0; axis < spec.rank; axis++)
        spec.extent[axis] = extent;
    const stencil_status status = choose(state, &spec, &problem, &choice);
    for (int i = -1; i < choice.possible && status == STENCIL_OK; i++) {
        const stencil_candidate *c = &choice.item[i < 0 ? choice.chosen : i];
        char name[64];
        choice_name(c, name);
        if (i < 0 || (strcmp(name, before) == 0 && c->cost.step_s < as_good * best->step_s)) {
            *best = (best_of){.step_s = c->cost.step_s};
            snprintf(best->name, sizeof best->name, "%s", name);
        }
    }
    stencil_choice_destroy(&choice);
    stencil_problem_destroy(&problem);
    return status;
}

/* Tells whether a failure is due to the size, not to the machine or to an option at any size. */
static bool is_of_size(stencil_status status) {
    return status == STENCIL_USAGE || status == STENCIL_BAD_DATA || status == STENCIL_NO_MEMORY;
}

/* Adds table rows for all ranges of sizes, from the first size that can be cut to *end, the first that does
 * not fit, or above `to`. Sizes grow by 2 %, about the prediction error. */
static stencil_status find_switches(plan_state *state, table *t, int64_t from, int64_t to, int64_t *end) {
    best_of best = {.name = ""}, next = best;
    stencil_status status = STENCIL_OK;
    for (*end = from; *end <= to; *end += 1 + *end / 50) {
        status = find_best(state, *end, best.name, &next);
        const bool found = best.name[0] != '\0';
        if (status != STENCIL_OK && (found || !is_of_size(status)))
            return is_of_size(status) ? STENCIL_OK : status;
        if (status != STENCIL_OK)
            continue;
        if (strcmp(next.name, best.name) != 0)
            table_add_line(t, "%lld\t%s\t%s", (long long)*end, next.name, TEXT_NUMBER(1e6 * next.step_s));
        best = next;
    }
    return status;
}

static stencil_status show_switches(plan_state *state) {
    char *end = NULL;
    const char *text = state->options.sizes;
    const int64_t from = strtoll(text, &end, 10),
                  to = strncmp(end, "..", 2) == 0 ? strtoll(end + 2, &end, 10) : 0;
    CHECK(*end == '\0' && from >= 8 && to > from && to <= 1 << 20, USAGE,
          "--sizes: '%s' is not a range such as 64..16384, from 8 to 1048576", text);
    table t = {0};
    int64_t last;
    table_add_columns(&t, ">from\t<quickest\t>µs/step_predicted");
    const stencil_status status = find_switches(state, &t, from, to, &last);
    if (status == STENCIL_OK)
        table_print(stdout, &t);
    if (status == STENCIL_OK && last <= to) {
        fputc('\n', stdout);
        text_print_wrapped(
            stdout,
            TEXT_LONG("from %lld on: does not fit (%s)", (long long)last, stencil_error_last()->message), 0,
            4);
    }
    table_destroy(&t);
    return status;
}

/* Reads the cluster that --machine names. *is: it is one; otherwise whatever the file is. */
static stencil_status find_cluster(plan_state *state, bool *is) {
    const char *path = state->options.machine;
    json_t *root = NULL;
    *is = path != NULL && json_read(path, &root) == STENCIL_OK && stencil_cluster_is(root);
    const stencil_status status = *is ? stencil_cluster_read(&state->cluster, root) : STENCIL_OK;
    json_decref(root);
    return text_prefix(text_name_file(status, path), "--machine");
}

/* Refuses options that have no effect on a cluster, or without one. */
static stencil_status check_cluster(const invocation *call, bool is) {
    static const char *const others[] = {"gpus", "device", "threads", "sizes", NULL}, *const own[] = {
                                                                                          "nodes",  "noise",
                                                                                          "late",   "seed",
                                                                                          "output", "overlap",
                                                                                          NULL};
    for (const char *const *name = is ? others : own; *name != NULL; name++)
        CHECK(!options_given(call, *name), USAGE,
              is ? "--%s has no effect on a cluster: leave it out"
                 : "--%s is for a cluster, which --machine describes: leave it out",
              *name);
    return STENCIL_OK;
}

static stencil_status plan_cluster(plan_state *state) {
    CHECK(!state->options.run.overlap || !state->cluster.gpu, USAGE,
          "--overlap is for ranks on CPUs, and this cluster has GPUs: leave it out");
    const plan_options *o = &state->options;
    stencil_problem problem;
    TRY(scaling_check(&state->cluster, &o->scaling, o->json, o->force));
    const stencil_status resolved = stencil_problem_resolve(&problem, &state->spec);
    TRY(state->path != NULL ? text_name_file(resolved, state->path) : resolved);
    const stencil_status status =
        scaling_show(&state->cluster, &problem, &o->run, &o->scaling, o->json, o->force);
    stencil_problem_destroy(&problem);
    return status == STENCIL_BAD_DATA ? text_prefix(text_name_file(status, o->machine), "--machine") : status;
}

static stencil_status plan_run(invocation *call) {
    plan_state *state = call->values;
    const plan_options *o = &state->options;
    CHECK(o->sizes == NULL || o->json == NULL, USAGE,
          "--sizes and --json: a range is printed, give one of them");
    bool of_cluster;
    CHECK(!o->force || o->json != NULL || o->scaling.output != NULL, USAGE,
          "--force has no effect without --json or --output: give one of them");
    TRY(find_cluster(state, &of_cluster));
    TRY(check_cluster(call, of_cluster));
    TRY(find_spec(state, call));
    TRY(target_check_apart("--json", o->json, o->machine, "--machine"));
    TRY(target_check("--json", o->json, o->force, NULL));
    if (of_cluster)
        return plan_cluster(state);
    TRY(machine_find(&state->machine, o->machine, o->threads, STENCIL_STREAMS_PART, &state->notes));
    if (o->machine == NULL && state->machine.gpu_count == 0)
        threads_note(state->machine.cpu_threads, &state->notes);
    return o->sizes != NULL ? show_switches(state) : rank_plans(state);
}

const command command_plan = {
    .name = "plan",
    .usage = "plan [options] [INPUT]",
    .summary = "predicts the time of a step for every possible plan",
    .details =
        "Predictions come from what stencil calibrate has measured on the machine, or from general "
        "figures. No GPU is needed for a machine in a file.\n"
        "For a cluster: how a step of the problem is predicted to scale over 1, 2, 4, … of its devices "
        "(strong), and of fields as large on each of them (weak).",
    .options = plan_table,
    .values_size = sizeof(plan_state),
    .operand_max = 1,
    .run = plan_run,
};

/* stencil bench: measures this machine, as tables for people, JSON and CSV for programs, and plots. */
#include "app/bench.h"
#include "app/choice.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "app/json.h"
#include "app/machine.h"
#include "app/options.h"
#include "app/progress.h"
#include "app/ranks.h"
#include "app/signals.h"
#include "app/text.h"

enum { NAME_COLUMNS = 17, CHOSEN_MAX = 64 };

typedef struct bench_options {
    stencil_bench_options measure; /* measure.spec has only values that were given */
    int64_t threads;
    double margin; /* difference of results that counts as none, in per cent */
    reading_options reading;
    const char *from, *against, *child, *sizes, *blocks, *field;
    const char *json, *csv, *md, *cluster, *plot; /* output files and directory as given; NULL: not given */
    bool list, fail, force, quiet;
} bench_options;

/* State of a `bench` command. */
typedef struct bench_state {
    bench_options options; /* first member: options_parse() fills the beginning of this state */
    stencil_bench_report report;
    bench_earlier then;
    stencil_bench_ranks ranks; /* of a launcher */
    stencil_error failure;     /* first error of a benchmark; later benchmarks still run */
} bench_state;

#define AT(field) OPTION_AT(bench_options, field)
/* Options of `bench` for what to measure and how. */
static const option measure_table[] = {
    {.heading = "What"},
    {"list", 'l', OPTION_FLAG, AT(list), NULL, .help = "list the benchmarks, then stop"},
    {"samples", 'n', OPTION_INTEGER, AT(measure.samples), "N",
     .help = "samples of each row (default: 7, and more where they spread too much)", .minimum = 1,
     .maximum = STENCIL_BENCH_SAMPLES_MAX, .tag = STENCIL_BENCH_USES_SAMPLES},
    {"max-noise", 0, OPTION_REAL, AT(measure.max_noise), "P",
     .help = "samples may spread by P % (standard deviation); wider rows are marked with ~", .preset = "5",
     .positive = true, .tag = STENCIL_BENCH_USES_SAMPLES},
    {"timeout", 0, OPTION_REAL, AT(measure.timeout_s), "S",
     .help = "take no further samples in a benchmark after S seconds, once each row has 5; where even these "
             "take longer than 4 S, fewer have to do, at least one of each row",
     .preset = "8", .tag = STENCIL_BENCH_USES_SAMPLES},
    {"iterations", 0, OPTION_INTEGER, AT(measure.iterations), "N",
     .help = "steps, copies, … in one sample (default: as many as take about 0.1 s)", .minimum = 1,
     .maximum = INT32_MAX, .tag = STENCIL_BENCH_USES_ITERATIONS},
    {"repeats", 0, OPTION_INTEGER, AT(measure.repeats), "N",
     .help = "repetitions in the kernels of published methods (default: as published)", .minimum = 1,
     .maximum = INT32_MAX, .tag = STENCIL_BENCH_USES_REPEATS},
    {"inject-fault", 0, OPTION_FLAG, AT(measure.inject_fault), NULL,
     .help = "for tests: plant a barrier that does not hold; must end with exit code 70",
     .tag = STENCIL_BENCH_USES_FAULT},
    {.heading = "Where"},
    {"device", 0, OPTION_CHOICE, AT(measure.backend), "WHERE", .help = "auto takes a GPU where there is one",
     .preset = "auto", .names = stencil_backend_names},
    {"gpus", 'g', OPTION_DEVICES, AT(measure.gpu), "N|LIST",
     .help = "how many (2), or which ones (0,2 or 2,); means --device gpu (default: all)",
     .contradicts = {"device cpu"}, .count_offset = offsetof(bench_options, measure.gpu_count)},
    {THREADS_OPTION(bench_options, threads)},
    {.heading = "Size"},
    {"size", 0, OPTION_SIZE, AT(measure.spec.extent), "NXxNY[xNZ]",
     .help = "cells, x first (default: 8192x8192, 512x512x512, or what a benchmark needs)",
     .count_offset = offsetof(bench_options, measure.spec.rank), .tag = STENCIL_BENCH_USES_SIZE},
    {"sizes", 0, OPTION_TEXT, AT(sizes), "A..B|LIST",
     .help = "edges of squares or cubes, or elements of a case: from A on, doubled up to B, or a list",
     .contradicts = {"size"}, .tag = STENCIL_BENCH_USES_EDGES | STENCIL_BENCH_USES_ELEMENTS},
    {"blocks", 0, OPTION_TEXT, AT(blocks), "A..B|LIST",
     .help =
         "blocks of a GPU, or threads of a CPU, that share each phase of a case, each in turn (default: as "
         "many as there is work for and as are resident)",
     .tag = STENCIL_BENCH_USES_BLOCKS},
    {"sweep", 0, OPTION_NAME, AT(measure.sweep), "NAME", .help = "only this one", .names = choice_sweeps + 1,
     .tag = STENCIL_BENCH_USES_EDGES},
    {.heading = "Input"},
    {"field", 0, OPTION_TEXT, AT(field), "NAME", .help = FIELD_HELP},
    {READING_OPTIONS(bench_options, reading)},
    {.heading = "Problem", .table = problem_option_table, .offset = offsetof(bench_options, measure.spec)},
    {NULL},
};
static const option bench_table[] = {
    {.table = measure_table},
    {.heading = "Output"},
    {"json", 0, OPTION_TEXT, AT(json), "FILE",
     .help = "write all samples as JSON; - writes it to standard output in place of the tables",
     .contradicts = {"from"}},
    {"csv", 0, OPTION_TEXT, AT(csv), "FILE", .help = "write the statistics of all rows as CSV; - as above"},
    {"md", 0, OPTION_TEXT, AT(md), "FILE", .help = "write the tables as Markdown; - as above"},
    {"cluster", 0, OPTION_TEXT, AT(cluster), "FILE",
     .help = "write the machine and its links as a cluster, which stencil plan --machine reads",
     .contradicts = {"from"}, .tag = STENCIL_BENCH_USES_RANKS},
    {"plot", 0, OPTION_TEXT, AT(plot), "DIR", .help = "draw PNGs into DIR, with python3 and matplotlib"},
    {"force", 'f', OPTION_FLAG, AT(force), NULL, .help = "replace existing files"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), NULL, .help = "print no table and no progress"},
    {.heading = "Comparison"},
    {"against", 0, OPTION_TEXT, AT(against), "FILE",
     .help = "compare with the JSON of an earlier run: same, faster, slower or unclear for each row"},
    {"margin", 0, OPTION_REAL, AT(margin), "P", .help = "what differs by less than P % is the same",
     .preset = "3", .needs = "against"},
    {"fail", 0, OPTION_FLAG, AT(fail), NULL, .help = "end with exit code 1 where a row is slower or changed",
     .needs = "against"},
    {.heading = "Earlier run"},
    {"from", 0, OPTION_TEXT, AT(from), "FILE",
     .help = "measure nothing: the tables and files of an earlier run, from its JSON; NAMEs select"},
    {.heading = ""}, /* option by which this program starts itself again; --help does not show it */
    {"child", 0, OPTION_TEXT, AT(child), "NAME", .help = "answer the question of a benchmark"},
    {NULL},
};

/* Command line by which a benchmark starts this program again for a measurement that may hang or crash. */
static const char *const child_command[] = {"/proc/self/exe", "bench", "--child", NULL};

/* Tells whether an operand selects a benchmark: by the benchmark's name, or as "cases", which selects all
 * cases. */
static bool names(const char *operand, const char *benchmark) {
    const int index = stencil_name_find(benchmark, stencil_bench_names);
    return strcmp(operand, benchmark) == 0 ||
           (strcmp(operand, STENCIL_BENCH_CASES) == 0 && index >= 0 && stencil_bench_is_case(index));
}

/* Refuses a name that selects no result of the report read from `file`, or for NULL no benchmark. */
static stencil_status check_name(const char *file, const stencil_bench_report *report, const char *name) {
    stencil_nearest nearest = {.word = name};
    for (int i = 0; file != NULL ? i < report->result_count : stencil_bench_names[i] != NULL; i++) {
        const char *there = file != NULL ? report->result[i].benchmark : stencil_bench_names[i];
        if (names(name, there))
            return STENCIL_OK;
        stencil_nearest_offer(&nearest, there);
    }
    if (file == NULL)
        stencil_nearest_offer(&nearest, STENCIL_BENCH_CASES);
    char shown[128];
    text_escape(name, shown, sizeof shown);
    const char *what = file == NULL
                           ? TEXT_LONG("unknown benchmark '%s'", shown)
                           : TEXT_LONG("--from: '%.1000s' holds no benchmark '%s'", TEXT_ESCAPE(file), shown);
    CHECK(nearest.name == NULL, USAGE, "%s, did you mean '%s'?", what, nearest.name);
    FAIL(USAGE, "%s%s", what, file == NULL ? ": 'stencil bench --list' lists them" : "");
}

/* Tells whether an operand is a file with a problem. */
static bool is_file(const char *operand) {
    const size_t length = strlen(operand);
    return strchr(operand, '/') != NULL || (length > 3 && strcmp(operand + length - 3, ".h5") == 0);
}

static bool go_on(void) {
    return signals_caught == 0;
}

/* Makes the options of a measurement. *file: the operand that is an input file, whose problem is used; NULL:
 * none. */
static stencil_status make_options(const invocation *call, stencil_bench_options *bench, const char **file) {
    const bench_state *state = call->values;
    const bench_options *options = call->values;
    const stencil_spec *given = &options->measure.spec;
    *bench = options->measure;
    bench->max_noise /= 100;
    if (bench->gpu_count > 0)
        bench->backend = STENCIL_BACKEND_GPU;
    bench->ranks = stencil_world_alone(call->world) ? NULL : &state->ranks;
    bench->child_command = bench->ranks != NULL ? NULL : child_command; /* a child is not of the launcher's */
    bench->child_arguments = (const char *const *)call->argv;
    bench->go_on = go_on;
    bench->progress = !options->quiet && progress_possible() ? progress_line : NULL;
    bench->one_precision = options_given(call, "precision");
    stencil_spec_init(&bench->spec);
    bench->spec.rank = given->rank;
    memcpy(bench->spec.extent, given->extent, sizeof given->extent);
    if (options->sizes != NULL)
        TRY(bench_read_list("--sizes", options->sizes, bench->edge, &bench->edge_count));
    if (options->blocks != NULL)
        TRY(bench_read_list("--blocks", options->blocks, bench->blocks, &bench->block_count));
    *file = NULL;
    for (int i = 0; i < call->operand_count; i++)
        if (is_file(call->operand[i])) {
            CHECK(*file == NULL && given->rank == 0 && options->sizes == NULL, USAGE,
                  "'%.1000s' has one problem: give neither another file nor --size or --sizes",
                  TEXT_ESCAPE(call->operand[i]));
            const stencil_input_options how = reading_options_of(&options->reading, options->field);
            TRY(bench_read_file(*file = call->operand[i], &how, &bench->spec));
        }
    return problem_options_apply(call, &bench->spec);
}

/* Finds the benchmarks that the operands name, in their order ("cases": all cases). Where no benchmark is
 * named: all, without long ones unless `long_ones`. */
static stencil_status find_benchmarks(const invocation *call, bool long_ones, int index[CHOSEN_MAX],
                                      int *count) {
    bool named = false;
    *count = 0;
    for (int i = 0; i <= call->operand_count; i++) {
        const char *operand = i < call->operand_count ? call->operand[i] : NULL; /* NULL: nothing is named */
        if (operand != NULL ? is_file(operand) : named)
            continue;
        named = true;
        if (operand != NULL)
            TRY(check_name(NULL, NULL, operand));
        for (int k = 0; stencil_bench_names[k] != NULL; k++)
            if (operand != NULL ? names(operand, stencil_bench_names[k])
                                : long_ones || !stencil_bench_is_long(k)) {
                CHECK(*count < CHOSEN_MAX, USAGE, "more than %d benchmarks", CHOSEN_MAX);
                index[(*count)++] = k;
            }
    }
    return STENCIL_OK;
}

static stencil_status print_list(const invocation *call) {
    int index[CHOSEN_MAX], count;
    TRY(find_benchmarks(call, true, index, &count));
    for (int i = 0; i < count; i++)
        text_print_wrapped(stdout, stencil_bench_summary(index[i]),
                           printf("%-*s ", NAME_COLUMNS, stencil_bench_names[index[i]]), NAME_COLUMNS + 1);
    return STENCIL_OK;
}

static stencil_status read_report(const char *option, const char *path, stencil_bench_report *report) {
    json_t *root = NULL;
    stencil_status status = json_read(path, &root);
    if (status == STENCIL_OK && !stencil_bench_is_report(root) && json_what(root) != NULL)
        status = ERROR(BAD_DATA, "this is %s", json_what(root));
    if (status == STENCIL_OK)
        status = stencil_bench_report_read(root, report);
    json_decref(root);
    return text_prefix(text_name_file(status, path), option);
}

/* Keeps, of a report that was read, the results that operands name (none named: all), in the file's order. */
static stencil_status choose_results(const invocation *call, stencil_bench_report *report) {
    const bench_options *options = call->values;
    const int all = report->result_count;
    for (int k = 0; k < call->operand_count; k++)
        TRY(check_name(options->from, report, call->operand[k]));
    report->result_count = 0;
    for (int i = 0; i < all; i++) {
        bool chosen = call->operand_count == 0;
        for (int k = 0; k < call->operand_count; k++)
            chosen = chosen || names(call->operand[k], report->result[i].benchmark);
        if (chosen)
            report->result[report->result_count++] = report->result[i];
        else
            stencil_bench_result_destroy(&report->result[i]);
    }
    return STENCIL_OK;
}

/* Refuses options for measuring next to --from, which measures nothing. */
static stencil_status refuse_measuring(const invocation *call) {
    for (int i = 0; i < call->given_count; i++)
        CHECK(!options_has(measure_table, call->given[i].option), USAGE,
              "--from measures nothing: --%s means nothing beside it", call->given[i].option->name);
    return STENCIL_OK;
}

/* Returns the STENCIL_BENCH_USES_… flag of an option; 0: all benchmarks use the option. */
static unsigned use_of(const option *given) {
    if (!options_has(problem_option_table, given))
        return given->tag;
    return strcmp(given->name, "precision") == 0 ? STENCIL_BENCH_USES_SIZE
           : strcmp(given->name, "stencil") == 0 ? STENCIL_BENCH_USES_PROBLEM | STENCIL_BENCH_USES_STENCIL
                                                 : STENCIL_BENCH_USES_PROBLEM;
}

/* Refuses options that none of the chosen benchmarks uses. */
static stencil_status refuse_unused(const invocation *call, const stencil_bench_report *report,
                                    const int *index, const char *file) {
    const int count = report->result_count;
    unsigned used = 0;
    for (int i = 0; i < count; i++)
        used |= stencil_bench_uses(index[i], &report->options, &report->machine);
    CHECK(file == NULL || (used & STENCIL_BENCH_USES_PROBLEM) != 0, USAGE,
          "'%.1000s' has no effect on %s: leave it out", TEXT_ESCAPE(file), stencil_bench_names[index[0]]);
    for (int i = 0; i < call->given_count; i++) {
        const unsigned use = use_of(call->given[i].option);
        CHECK(use == 0 || (use & used) != 0, USAGE, "--%s has no effect on %s: leave it out",
              call->given[i].option->name,
              count == 1 ? stencil_bench_names[index[0]] : "the benchmarks that are named");
    }
    return STENCIL_OK;
}

static int count_on_stdout(const bench_options *options) {
    return target_is_stdout(options->json) + target_is_stdout(options->csv) + target_is_stdout(options->md);
}

/* Checks, before anything is measured, that outputs can be written, and reads the report of --against. */
static stencil_status open_outputs(bench_state *state) {
    const bench_options *options = &state->options;
    const char *const input[] = {options->against, options->from};
    CHECK(count_on_stdout(options) <= 1, USAGE,
          "--json, --csv and --md: only one of them can be standard output");
    for (int i = 0; i < 2; i++) {
        TRY(target_check("--json", options->json, options->force, input[i]));
        TRY(target_check("--csv", options->csv, options->force, input[i]));
        TRY(target_check("--md", options->md, options->force, input[i]));
        TRY(target_check("--cluster", options->cluster, options->force, input[i]));
    }
    TRY(target_check_apart("--cluster", options->cluster, options->json, "--json"));
    TRY(target_check_apart("--csv", options->csv, options->json, "--json"));
    TRY(target_check_apart("--md", options->md, options->json, "--json"));
    TRY(target_check_apart("--md", options->md, options->csv, "--csv"));
    if (options->plot != NULL)
        TRY(bench_plot_check(&state->report, options->plot, options->force));
    state->then.path = options->against;
    state->then.margin = options->margin / 100;
    return options->against != NULL ? read_report("--against", options->against, &state->then.report)
                                    : STENCIL_OK;
}

/* Returns the stream for tables; NULL: no tables are wanted, or standard output has other contents. */
static FILE *tables_to(const bench_options *options) {
    return options->quiet || count_on_stdout(options) > 0 ? NULL : stdout;
}

static void print_result(const bench_state *state, int result) {
    if (tables_to(&state->options) == NULL)
        return;
    fputs(result > 0 ? "\n" : "", stdout);
    bench_print(stdout, &state->report.result[result], state->report.options.max_noise);
    fflush(stdout);
}

/* Writes all output files, and the comparison with the earlier report. */
static stencil_status write_outputs(invocation *call) {
    const bench_state *state = call->values;
    const bench_options *options = &state->options;
    const stencil_bench_report *report = &state->report;
    json_t *verdicts = NULL, *root = NULL;
    int worse = 0;
    if (tables_to(options) != NULL)
        bench_print_levels(stdout, report);
    if (options->against != NULL)
        TRY(bench_against_compare(&state->then, report, tables_to(options), &verdicts, &worse));
    if (options->json != NULL)
        root = stencil_bench_report_json(report);
    json_object_set(root, "against", verdicts); /* stores nothing where root or verdicts is NULL */
    json_decref(verdicts);
    TRY(json_write("--json", options->json, options->force, root));
    TRY(target_write("--csv", options->csv, options->force, bench_print_csv, report));
    TRY(target_write("--md", options->md, options->force, bench_print_markdown, report));
    if (options->cluster != NULL)
        TRY(bench_cluster_write(report, options->cluster, options->force));
    if (options->plot != NULL)
        TRY(bench_plot(report, options->force ? "--force" : "--no-force", options->plot));
    if (options->fail && worse > 0)
        call->exit_code = stencil_status_exit_code(STENCIL_DIFFERENT);
    return STENCIL_OK;
}

/* Runs the chosen benchmarks one by one. After an interruption the report has the results up to then. */
static stencil_status measure(const invocation *call, bench_state *state) {
    const double start_s = stencil_clock_s();
    stencil_bench_report *report = &state->report;
    stencil_bench_options *bench = &report->options;
    int index[CHOSEN_MAX];
    const char *file;
    stencil_notes notes = {0};
    stencil_bench_report_init(report);
    report->command_line = call->command_line;
    report->started_s = (int64_t)time(NULL);
    report->result = calloc(CHOSEN_MAX, sizeof *report->result);
    CHECK(report->result != NULL, NO_MEMORY, "no memory for the results");
    TRY(find_benchmarks(call, false, index, &report->result_count));
    for (int i = 0; i < report->result_count; i++)
        report->result[i].benchmark = stencil_bench_names[index[i]];
    TRY(make_options(call, bench, &file));
    TRY(open_outputs(state));
    const bool shared = stencil_gpus_are_shared(bench->gpu, bench->gpu_count);
    TRY(machine_find(&report->machine, NULL, state->options.threads,
                     shared ? STENCIL_STREAMS_SHARED : STENCIL_STREAMS_DEFAULT, &notes));
    TRY(stencil_bench_check(bench, &report->machine));
    TRY(refuse_unused(call, report, index, file));
    signals_catch();
    for (int i = 0; i < report->result_count; i++) {
        const stencil_status status =
            stencil_bench_run(index[i], bench, &report->machine, &report->result[i]);
        if (status != STENCIL_OK && state->failure.status == STENCIL_OK)
            state->failure = *stencil_error_last();
        progress_say(state->options.quiet, "");
        print_result(state, i);
    }
    report->seconds = stencil_clock_s() - start_s;
    return STENCIL_OK;
}

/* Reads the report of an earlier run (--from), which replaces a measurement. */
static stencil_status read_earlier(const invocation *call, bench_state *state) {
    stencil_bench_report *report = &state->report;
    TRY(refuse_measuring(call));
    TRY(read_report("--from", state->options.from, report));
    TRY(choose_results(call, report));
    TRY(open_outputs(state));
    for (int i = 0; i < report->result_count; i++)
        print_result(state, i);
    return STENCIL_OK;
}

static stencil_status bench_alone(invocation *call) {
    bench_state *state = call->values;
    if (state->options.child != NULL) {
        const char *file;
        signals_collect(); /* the parent process decides when this child process ends */
        TRY(make_options(call, &state->report.options, &file));
        return stencil_bench_child_main(state->options.child, &state->report.options);
    }
    if (state->options.list)
        return print_list(call);
    stencil_status status = state->options.from != NULL ? read_earlier(call, state) : measure(call, state);
    if (status == STENCIL_OK)
        status = write_outputs(call);
    stencil_bench_report_destroy(&state->report);
    stencil_bench_report_destroy(&state->then.report);
    return status == STENCIL_OK && state->failure.status != STENCIL_OK ? stencil_error_adopt(&state->failure)
                                                                       : status;
}

/* Refuses what ranks do not measure: all but `message`. */
static stencil_status check_ranks(const invocation *call) {
    const bench_options *options = call->values;
    bool messages = options->from != NULL || options->list;
    for (int i = 0; i < call->operand_count && options->from == NULL; i++) {
        const bool is = strcmp(call->operand[i], "message") == 0;
        CHECK(is || is_file(call->operand[i]), USAGE,
              "'stencil bench %s' measures with one process: start it once, without mpirun or srun",
              TEXT_ESCAPE(call->operand[i]));
        messages = messages || is;
    }
    CHECK(messages, USAGE,
          "'stencil bench' measures with one process: start it once, or measure messages between ranks: "
          "stencil bench message");
    return STENCIL_OK;
}

/* Rank 0 measures; the others take part where it asks them to. */
static stencil_status bench_run(invocation *call) {
    bench_state *state = call->values;
    stencil_world *world = call->world;
    if (stencil_world_alone(world))
        return bench_alone(call);
    state->ranks = (stencil_bench_ranks){world, ranks_say, ranks_hear, world};
    TRY(stencil_world_agree(world, check_ranks(call)));
    stencil_status status = STENCIL_OK;
    if (stencil_world_leads(world)) {
        status = bench_alone(call);
        stencil_bench_dismiss(&state->ranks);
    } else {
        signals_catch();
        stencil_bench_serve(&state->ranks);
    }
    TRY(stencil_world_heed(world, status));
    stencil_world_tell(world, 0, &call->exit_code, sizeof call->exit_code);
    return STENCIL_OK;
}

const command command_bench = {
    .name = "bench",
    .usage = "bench [options] [NAME …] [INPUT.h5]",
    .summary = "measures what synchronisation costs on this machine, bandwidth and strategies",
    .details = "Without a NAME all benchmarks run but strategies, speed and the cases (applications of the "
               "study; the NAME `cases` is all of them), which take minutes; --list names them. The problem "
               "can come from a file. noise is the standard deviation of the samples over their median, "
               "estimated from their quantiles. GB/s are bytes that must move over the median time. A "
               "benchmark that finds a wrong result (a barrier that does not hold, strategies that give "
               "different bits) fails with exit code 70 after the others have run; what may hang or crash "
               "runs in a process of its own. Interrupted, it shows and writes what was measured until then.",
    .options = bench_table,
    .values_size = sizeof(bench_state),
    .operand_max = OPTION_OPERANDS_MAX,
    .alone = true,
    .ranks = RANKS_ALL,
    .run = bench_run,
};

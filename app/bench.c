/* stencil bench: measures this machine, as tables for people and JSON for programs. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/commands.h"
#include "app/json.h"
#include "app/problem_options.h"
#include "app/text.h"
#include "app/threads.h"
#include "bench/bench.h"

enum { LABEL_COLUMNS = 12, NAME_COLUMNS = 11 };

typedef struct bench_options {
    problem_options problem;
    option_list size;
    int device;
    option_devices gpus;
    int64_t threads, samples, iterations;
    double max_time;
    const char *json;
    bool list, force, quiet;
} bench_options;

/* In the order of stencil_backend. */
static const char *device_choice(int index) {
    static const char *const names[] = {"auto", "cpu", "gpu", NULL};
    return names[index];
}

#define AT(field) offsetof(bench_options, field)
static const option measure_table[] = {
    {"list", 'l', OPTION_FLAG, AT(list), NULL, .help = "list the benchmarks, then stop"},
    {"samples", 'n', OPTION_INTEGER, AT(samples), "N", .help = "samples of everything that is timed",
     .preset = "11", .minimum = 1, .maximum = STENCIL_BENCH_SAMPLES_MAX},
    {"iterations", 0, OPTION_INTEGER, AT(iterations), "N",
     .help = "steps, copies, … in one sample (default: as many as take about 0.4 s)", .minimum = 1,
     .maximum = INT32_MAX},
    {"max-time", 0, OPTION_REAL, AT(max_time), "S",
     .help = "begin no further round of samples after S seconds, once there are 3", .preset = "60"},
    {NULL},
};
static const option place_table[] = {
    {"device", 0, OPTION_CHOICE, AT(device), "WHERE", .help = "auto takes a GPU where there is one",
     .preset = "auto", .choice = device_choice},
    {"gpus", 'g', OPTION_DEVICES, AT(gpus), "1|ID,", .help = "GPU 0 (1), or GPU ID; means --device gpu",
     .maximum = 1},
    {"threads", 'j', OPTION_INTEGER, AT(threads), "N", .help = "CPU threads (default: as OpenMP decides)",
     .minimum = 1, .maximum = THREADS_MAX},
    {NULL},
};
static const option size_table[] = {
    {"size", 0, OPTION_SIZE, AT(size), "NXxNY[xNZ]",
     .help = "cells, x first (default: 8192x8192, 512x512x512, or what a benchmark needs)"},
    {NULL},
};
static const option output_table[] = {
    {"json", 0, OPTION_TEXT, AT(json), "FILE",
     .help = "write all samples as JSON; - writes it to standard output in place of the tables"},
    {"force", 'f', OPTION_FLAG, AT(force), NULL, .help = "replace an existing file"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), NULL, .help = "print no table and no progress"},
    {NULL},
};
static const option_group bench_groups[] = {
    {"What", measure_table, 0},  {"Where", place_table, 0},
    {"Size", size_table, 0},     {"Problem", problem_option_table, AT(problem)},
    {"Output", output_table, 0}, {NULL},
};

/* One table row; the unit of all times is `scale` seconds. */
static void print_row(FILE *out, const stencil_bench_row *row, double scale) {
    const char *per = strchr(row->unit, '/');
    fprintf(out, "%-*s ", NAME_COLUMNS, row->name);
    if (row->skipped[0] != '\0') {
        options_print_wrapped(out, row->skipped, fprintf(out, "skipped: ") + NAME_COLUMNS + 1,
                              NAME_COLUMNS + 1);
        return;
    }
    const stencil_statistics *s = &row->statistics;
    fprintf(out, "%-5s %10.5g %6.2f%% %10.5g %10.5g", per != NULL ? per + 1 : "", s->median / scale,
            100 * s->mad / s->median, s->p5 / scale, s->p95 / scale);
    if (row->cells > 0)
        fprintf(out, " %7.4g", 1e-9 * stencil_bench_cells_per_s(row));
    else
        fprintf(out, " %7s", "");
    if (row->bytes > 0)
        fprintf(out, " %7.5g", 1e-9 * stencil_bench_bytes_per_s(row));
    if (!isnan(row->ratio))
        fprintf(out, " %4.0f%%", 100 * row->ratio);
    fputc('\n', out);
}

static void print_rows(FILE *out, const stencil_bench_result *result) {
    double longest_s = 0;
    for (int i = 0; i < result->row_count; i++)
        longest_s = fmax(longest_s, result->row[i].statistics.median);
    const double scale = longest_s >= 0.1 ? 1e-3 : 1e-6;
    fprintf(out, "\n%-*s %-5s %10s %7s %10s %10s %7s %7s %5s\n", NAME_COLUMNS, "", "per",
            scale == 1e-3   ? "median ms"
            : longest_s > 0 ? "median us"
                            : "",
            "noise", "p5", "p95", "Gcell/s", "GB/s", "copy");
    for (int i = 0; i < result->row_count; i++)
        print_row(out, &result->row[i], scale);
    fputc('\n', out);
    const char *last = "";
    for (int i = 0; i < result->row_count; i++) {
        const stencil_bench_row *row = &result->row[i];
        if (row->formula[0] != '\0' && strcmp(row->formula, last) != 0)
            fprintf(out, "Bytes       per %s: %s\n", strchr(row->unit, '/') + 1, row->formula);
        last = row->formula;
    }
}

static void print_parameters(FILE *out, const stencil_bench_result *result) {
    char text[1024] = "", number[TEXT_SIZE];
    size_t used = 0;
    for (int i = 0; i < result->parameter_count && used < sizeof text; i++) {
        const stencil_bench_parameter *p = &result->parameter[i];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %s", i > 0 ? ", " : "", p->name,
                                 p->text[0] != '\0' ? p->text : text_count(p->number, number));
    }
    if (used > 0)
        options_print_wrapped(out, text, fprintf(out, "Parameters  "), LABEL_COLUMNS);
}

static void print_result(FILE *out, const stencil_bench_result *result) {
    fprintf(out, "Benchmark   ");
    options_print_wrapped(out, result->benchmark, LABEL_COLUMNS, LABEL_COLUMNS);
    if (result->skipped[0] != '\0') {
        options_print_wrapped(out, result->skipped, fprintf(out, "Skipped     "), LABEL_COLUMNS);
        return;
    }
    fprintf(out, "Device      %s: %s\n", result->backend == STENCIL_BACKEND_GPU ? "GPU" : "CPU",
            result->device);
    print_parameters(out, result);
    int64_t samples = 0;
    for (int i = 0; i < result->row_count; i++)
        samples = result->row[i].sample_count > samples ? result->row[i].sample_count : samples;
    fprintf(out, "Samples     %lld of each row, in turns; noise: median absolute deviation\n",
            (long long)samples);
    print_rows(out, result);
    for (int i = 0; i < result->note_count; i++)
        options_print_wrapped(out, result->note[i],
                              fprintf(out, "%-*s", LABEL_COLUMNS, i == 0 ? "Notes" : ""), LABEL_COLUMNS);
}

static void show_progress(void *context, const char *what) {
    (void)context;
    fprintf(stderr, "\r%.79s\033[K", what);
    fflush(stderr);
}

static bool progress_wanted(const bench_options *options) {
    const char *no_color = getenv("NO_COLOR"), *terminal = getenv("TERM");
    return !options->quiet && isatty(STDERR_FILENO) && (no_color == NULL || no_color[0] == '\0') &&
           (terminal == NULL || strcmp(terminal, "dumb") != 0);
}

static void print_list(FILE *out) {
    for (int i = 0; i < stencil_bench_count(); i++)
        options_print_wrapped(out, stencil_bench_summary(i),
                              fprintf(out, "%-*s ", NAME_COLUMNS, stencil_bench_name(i)), NAME_COLUMNS + 1);
}

static const char *name_of(const void *context, int index) {
    (void)context;
    return stencil_bench_name(index);
}

static stencil_status find_benchmark(const char *name, int *index) {
    for (*index = 0; *index < stencil_bench_count(); ++*index)
        if (strcmp(stencil_bench_name(*index), name) == 0)
            return STENCIL_OK;
    const char *nearest = options_nearest(name, name_of, NULL);
    CHECK(nearest == NULL, USAGE, "unknown benchmark '%s', did you mean '%s'?", name, nearest);
    FAIL(USAGE, "unknown benchmark '%s': 'stencil bench --list' lists them", name);
}

static stencil_status make_options(const bench_options *options, stencil_bench_options *bench) {
    CHECK(options->gpus.count == 0 || options->device != STENCIL_BACKEND_CPU, USAGE,
          "--gpus and --device cpu contradict each other: give one of them");
    stencil_bench_options_init(bench);
    bench->backend = options->gpus.count > 0 ? STENCIL_BACKEND_GPU : (stencil_backend)options->device;
    bench->gpu = options->gpus.count > 0 ? options->gpus.id[0] : 0;
    bench->samples = options->samples;
    bench->iterations = options->iterations > 0 ? options->iterations : 0;
    bench->max_s = options->max_time;
    bench->progress = progress_wanted(options) ? show_progress : NULL;
    stencil_spec *spec = &bench->spec;
    spec->rank = options->size.count;
    for (int i = 0; i < spec->rank; i++)
        spec->extent[i] = options->size.value[spec->rank - 1 - i];
    problem_options problem = options->problem;
    problem.steps = problem.norm = -1; /* no options of this command */
    problem.tolerance = NAN;
    problem_options_apply(&problem, spec);
    return STENCIL_OK;
}

/* Which benchmarks: those named, or all. */
static stencil_status choose_benchmarks(const invocation *call, int *index, int *count) {
    *count = call->operand_count > 0 ? call->operand_count : stencil_bench_count();
    for (int i = 0; i < *count; i++) {
        index[i] = i;
        if (call->operand_count > 0)
            TRY(find_benchmark(call->operand[i], &index[i]));
    }
    return STENCIL_OK;
}

static stencil_status run_all(const invocation *call, const int *index, int count,
                              stencil_bench_result *result) {
    const bench_options *options = call->values;
    const int64_t started_s = (int64_t)time(NULL);
    stencil_bench_options bench;
    stencil_machine machine;
    TRY(make_options(options, &bench));
    TRY(json_check_target(options->json, options->force, NULL));
    TRY(threads_start(options->threads));
    TRY(stencil_machine_probe(&machine));
    for (int i = 0; i < count; i++) {
        const stencil_status status = stencil_bench_run(index[i], &bench, &machine, &result[i]);
        if (bench.progress != NULL)
            show_progress(NULL, "");
        TRY(status);
        if (options->quiet || json_is_stdout(options->json))
            continue;
        if (i > 0)
            putchar('\n');
        print_result(stdout, &result[i]);
        fflush(stdout);
    }
    return json_write(options->json, options->force,
                      options->json == NULL ? NULL
                                            : stencil_bench_json(result, count, &bench, &machine,
                                                                 call->command_line, started_s));
}

static stencil_status bench_run(const invocation *call, int *exit_code) {
    (void)exit_code;
    const bench_options *options = call->values;
    if (options->list) {
        print_list(stdout);
        return STENCIL_OK;
    }
    const int most =
        stencil_bench_count() > OPTION_OPERANDS_MAX ? stencil_bench_count() : OPTION_OPERANDS_MAX;
    int count, *index = calloc((size_t)most, sizeof *index);
    stencil_bench_result *result = calloc((size_t)most, sizeof *result);
    stencil_status status = STENCIL_OK;
    if (index == NULL || result == NULL)
        status = stencil_error_set(STENCIL_NO_MEMORY, __FILE__, __LINE__, "", "no memory for the results");
    if (status == STENCIL_OK)
        status = choose_benchmarks(call, index, &count);
    if (status == STENCIL_OK)
        status = run_all(call, index, count, result);
    for (int i = 0; result != NULL && i < most; i++)
        stencil_bench_result_destroy(&result[i]);
    free(result);
    free(index);
    return status;
}

const command command_bench = {
    .name = "bench",
    .usage = "bench [options] [NAME …]",
    .summary = "measures bandwidth and strategies on this machine",
    .details = "Without a NAME all benchmarks run; --list names them. GB/s are bytes that must move over the "
               "median time; the last column holds them against the best copy of the same run. sweep fails "
               "with exit code 70 where two strategies give different bits.",
    .groups = bench_groups,
    .values_size = sizeof(bench_options),
    .operand_max = OPTION_OPERANDS_MAX,
    .run = bench_run,
};

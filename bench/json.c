/* Writes benchmark results as JSON and reads them back, for --json, --from and child processes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "records/description.h"
#include "bench/bench.h"
#include "bench/revision.h"

/* Writes the parameters of a result, or the axes of a row, as a JSON object. */
static json_t *write_parameters(const stencil_member *m, const void *record) {
    json_t *object = json_object();
    const stencil_bench_parameter *p = (const void *)((const char *)record + m->offset);
    const int count = *(const int *)((const char *)record + m->list_count);
    for (const stencil_bench_parameter *end = p + count; p < end; p++)
        json_object_set_new(object, p->name,
                            p->text[0] != '\0' ? json_string(p->text) : json_integer(p->number));
    return object;
}

static stencil_status read_parameters(const stencil_member *m, const json_t *value, void *record) {
    stencil_bench_parameter *p = (void *)((char *)record + m->offset);
    const size_t most = m->size / sizeof *p, count = json_object_size(value);
    CHECK(count <= most, BAD_DATA, "\"%s\" has more than %zu members", m->name, most);
    *(int *)(void *)((char *)record + m->list_count) = (int)count;
    for (void *at = json_object_iter((json_t *)value); at != NULL;
         at = json_object_iter_next((json_t *)value, at), p++) {
        const bool is_text = json_is_string(json_object_iter_value(at));
        *p = (stencil_bench_parameter){.name = json_object_iter_key(at)};
        const stencil_member text[] = {{p->name, STENCIL_MEMBER(TEXT, stencil_bench_parameter, text)},
                                       {NULL}};
        const stencil_member number[] = {{p->name, STENCIL_MEMBER(INTEGER, stencil_bench_parameter, number)},
                                         {NULL}};
        TRY(stencil_record_read(value, is_text ? text : number, p));
    }
    return STENCIL_OK;
}

static json_t *write_samples(const stencil_member *m, const void *record) {
    (void)m;
    const stencil_bench_row *row = record;
    json_t *samples = json_array();
    for (int64_t i = 0; i < row->sample_count; i++)
        json_array_append_new(samples, stencil_record_number(row->sample[i]));
    return samples;
}

/* Reads the samples of a row and computes its statistics. */
static stencil_status read_samples(const stencil_member *m, const json_t *value, void *record) {
    (void)m;
    stencil_bench_row *row = record;
    const size_t count = json_array_size(value);
    CHECK(count <= STENCIL_BENCH_SAMPLES_MAX, BAD_DATA, "\"samples\" has more than %d members",
          STENCIL_BENCH_SAMPLES_MAX);
    if (count == 0)
        return STENCIL_OK;
    row->sample = malloc(2 * count * sizeof *row->sample); /* samples, then scratch memory */
    CHECK(row->sample != NULL, NO_MEMORY, "no memory for %zu samples", count);
    for (size_t i = 0; i < count; i++) {
        const json_t *sample = json_array_get(value, i);
        CHECK(json_is_number(sample) || json_is_null(sample), BAD_DATA,
              "\"samples\" holds something that is not a number");
        row->sample[i] = json_is_null(sample) ? NAN : json_number_value(sample);
    }
    row->sample_count = (int64_t)count;
    row->statistics = stencil_statistics_of(row->sample, (int)count, row->sample + count);
    return STENCIL_OK;
}

#define STATISTIC(member)                                                                                    \
    { #member, STENCIL_MEMBER(REAL, stencil_statistics, member) }
static const stencil_member statistics_members[] = {
    STATISTIC(median),   STATISTIC(mad),     STATISTIC(p5),     STATISTIC(p95),
    STATISTIC(smallest), STATISTIC(largest), STATISTIC(spread), {NULL}};

static json_t *write_statistics(const stencil_member *m, const void *record) {
    (void)m;
    const stencil_bench_row *row = record;
    return row->sample_count > 0 ? stencil_record_write(json_object(), statistics_members, &row->statistics)
                                 : json_null();
}

/* Writes the rate of a row in the bytes or cells at `offset`. */
static json_t *write_rate(const stencil_member *m, const void *record) {
    const double rate = stencil_bench_rate(record, *(const double *)((const char *)record + m->offset));
    return rate > 0 ? stencil_record_number(rate) : json_null();
}

static const stencil_member lane_members[] = {
    {"before", STENCIL_MEMBER(REAL, stencil_bench_lanes, before), .count = STENCIL_BENCH_LANES},
    {"after", STENCIL_MEMBER(REAL, stencil_bench_lanes, after), .count = STENCIL_BENCH_LANES},
    {NULL},
};

static json_t *write_lanes(const stencil_member *m, const void *record) {
    (void)m;
    const stencil_bench_lanes *lanes = &((const stencil_bench_row *)record)->lanes;
    return lanes->known ? stencil_record_write(json_object(), lane_members, lanes) : json_null();
}

static stencil_status read_lanes(const stencil_member *m, const json_t *value, void *record) {
    (void)m;
    stencil_bench_lanes *lanes = &((stencil_bench_row *)record)->lanes;
    lanes->known = json_is_object(value);
    return lanes->known ? stencil_record_read(value, lane_members, lanes) : STENCIL_OK;
}

/* Writes the number at `offset` of a row, which follows from other members. */
static json_t *write_derived(const stencil_member *m, const void *record) {
    return stencil_record_number(*(const double *)((const char *)record + m->offset));
}

#define GAIN(member)                                                                                         \
    { #member, STENCIL_MEMBER(DERIVED, stencil_bench_row, gains.member), .write = write_derived }
#define PARAMETERS        .write = write_parameters, .read = read_parameters
#define ROW(kind, member) STENCIL_MEMBER(kind, stencil_bench_row, member)
static const stencil_member row_members[] = {
    {"name", ROW(TEXT, name)},
    {"kind", ROW(NAME, kind)},
    {"axes", ROW(OBJECT, axis), .list_count = offsetof(stencil_bench_row, axis_count), PARAMETERS},
    {"unit", ROW(NAME, unit)},
    {"higher_is_better", ROW(FLAG, higher_is_better)},
    {"method", ROW(NAME, method), .or_null = true},
    {"method_sd", ROW(REAL, method_sd)},
    {"iterations", ROW(INTEGER, iterations)},
    {"samples", STENCIL_MEMBER_ARRAY, .write = write_samples, .read = read_samples},
    {"statistics", STENCIL_MEMBER_DERIVED, .write = write_statistics},
    {"noisy", ROW(FLAG, noisy)},
    {"bytes", ROW(RATE, bytes)},
    {"bytes_formula", ROW(TEXT, formula), .or_null = true},
    {"cells", ROW(RATE, cells)},
    {"bytes_per_s", ROW(DERIVED, bytes), .write = write_rate},
    {"cells_per_s", ROW(DERIVED, cells), .write = write_rate},
    {"ratio_to_copy", ROW(REAL, ratio)},
    {"predicted", ROW(REAL, predicted), .newer = true},
    {"sync_share", ROW(REAL, sync_share), .newer = true},
    {"of_fastest", ROW(REAL, of_fastest), .newer = true},
    {"sync_measured", ROW(REAL, sync_measured), .newer = true},
    {"speedup", ROW(REAL, speedup), .newer = true},
    {"workers", ROW(REAL, workers), .newer = true},
    {"t_o", ROW(REAL, t_o), .newer = true},
    {"t_c", ROW(REAL, t_c), .newer = true},
    {"t_s", ROW(REAL, t_s), .newer = true},
    {"kernels_s", ROW(REAL, kernels_s), .newer = true},
    {"skew_s", ROW(REAL, skew_s), .newer = true},
    {"timer_error_s", ROW(REAL, timer_error_s), .newer = true},
    {"of_nominal", ROW(DERIVED, of_nominal), .write = write_derived},
    GAIN(most_by_sync),
    GAIN(most_by_computing),
    GAIN(sync_times),
    GAIN(computing_times),
    GAIN(by_sync),
    GAIN(by_computing),
    GAIN(over_implicit),
    GAIN(sync_s),
    GAIN(computing_s),
    {"lanes", ROW(OBJECT, lanes), .write = write_lanes, .read = read_lanes, .newer = true, .or_null = true},
    {"outcome", ROW(TEXT, outcome), .or_null = true},
    {"skipped", ROW(TEXT, skipped), .or_null = true},
    {NULL},
};

/* Units of bars, as in published tables. */
const char *const stencil_bar_units[] = {"gcell_per_s", "us_per_step", NULL};
#define BAR(kind, member) STENCIL_MEMBER(kind, stencil_bench_bar, member)
#define USED(resource)                                                                                       \
    .type = STENCIL_MEMBER_REAL, .size = sizeof(double),                                                     \
    .offset = offsetof(stencil_bench_bar, bound.used[STENCIL_RESOURCE_##resource])
static const stencil_member bound_members[] = {
    {"resource", BAR(TEXT, bound.resource), .or_null = true},
    {"memory", USED(MEMORY)},
    {"shared_memory", USED(SHARED)},
    {"arithmetic", USED(ARITHMETIC)},
    {NULL},
};
static const stencil_member bar_members[] = {
    {"case", BAR(TEXT, name)},
    {"axes", BAR(OBJECT, axis), .list_count = offsetof(stencil_bench_bar, axis_count), PARAMETERS,
     .newer = true, .or_null = true},
    {"unit", BAR(CHOICE, unit), .names = stencil_bar_units},
    {"best_by", BAR(TEXT, best_by)},
    {"best_other", BAR(REAL, best_other)},
    {"reach", BAR(REAL, reach)},
    {"aim", BAR(REAL, aim)},
    {"measured", BAR(REAL, measured)},
    {"noisy", BAR(FLAG, noisy), .newer = true, .or_null = true},
    {"plain", BAR(REAL, plain)},
    {"loop", BAR(REAL, loop), .newer = true},
    {"sweep", BAR(TEXT, sweep), .or_null = true},
    {"depth", BAR(INTEGER, depth)},
    {"strategy", BAR(TEXT, strategy), .or_null = true},
    {"steps", BAR(INTEGER, steps)},
    {"samples", BAR(INTEGER, samples)},
    {"bound", STENCIL_MEMBER_OBJECT, .members = bound_members},
    {"skipped", BAR(TEXT, skipped), .or_null = true},
    {NULL},
};

static json_t *write_fits(const stencil_member *m, const void *record) {
    (void)m;
    stencil_bench_fit fit[STENCIL_BENCH_FITS_MAX];
    const int count = stencil_bench_fits(record, fit);
    json_t *fits = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(fits,
                              json_pack("{s:s,s:s,s:s,s:i,s:o,s:f,s:f,s:f}", "barrier", fit[i].barrier,
                                        "model", fit[i].model, "per", fit[i].per, "points", fit[i].points,
                                        "each", stencil_record_number(fit[i].each_s), "rest", fit[i].rest_s,
                                        "residual", fit[i].residual_s, "residual_of_mean", fit[i].relative));
    return fits;
}

#define LIST(count, type)    .list_count = offsetof(stencil_bench_result, count), .element = sizeof(type)
#define RESULT(kind, member) #member, STENCIL_MEMBER(kind, stencil_bench_result, member)
static const stencil_member result_members[] = {
    {RESULT(NAME, benchmark)},
    {RESULT(CHOICE, backend), .names = stencil_backend_names},
    {RESULT(TEXT, device)},
    {RESULT(REAL, clock_hz), .count = 2},
    {RESULT(REAL, seconds)},
    {"parameters", STENCIL_MEMBER(OBJECT, stencil_bench_result, parameter),
     .list_count = offsetof(stencil_bench_result, parameter_count), PARAMETERS},
    {"rows", STENCIL_MEMBER(LIST, stencil_bench_result, row), LIST(row_count, stencil_bench_row),
     .members = row_members, .owned = true},
    {"bars", STENCIL_MEMBER(LIST, stencil_bench_result, bar), LIST(bar_count, stencil_bench_bar),
     .members = bar_members, .owned = true, .newer = true, .or_null = true},
    {"fits", STENCIL_MEMBER_DERIVED, .write = write_fits},
    {"notes", STENCIL_MEMBER(LIST, stencil_bench_result, note),
     LIST(note_count, char[STENCIL_BENCH_NOTE_SIZE])},
    {RESULT(TEXT, skipped), .or_null = true},
    {RESULT(TEXT, failed), .or_null = true},
    {NULL},
};

json_t *stencil_bench_result_json(const stencil_bench_result *result) {
    return stencil_record_write(json_object(), result_members, result);
}

/* Checks the benchmark name of a result, which becomes part of file names. */
static stencil_status check_name(const stencil_bench_result *result) {
    const char *name = result->benchmark;
    CHECK(name[0] != '\0' && name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0', BAD_DATA,
          "\"benchmark\" is not a name");
    return STENCIL_OK;
}

stencil_status stencil_bench_result_read(const json_t *object, stencil_bench_result *result) {
    *result = (stencil_bench_result){.source = json_incref((json_t *)object)};
    TRY(stencil_record_read(object, result_members, result));
    stencil_bench_derive(result);
    return check_name(result);
}

/* Measuring options that a report contains. */
#define OPTION(kind, member) #member, STENCIL_MEMBER(kind, stencil_bench_options, member)
static const stencil_member option_members[] = {
    {OPTION(INTEGER, samples)},
    {OPTION(INTEGER, iterations)},
    {OPTION(INTEGER, repeats)},
    {OPTION(REAL, max_noise)},
    {OPTION(REAL, timeout_s)},
    {OPTION(FLAG, inject_fault)},
    {NULL},
};
#define REPORT(kind, member) STENCIL_MEMBER(kind, stencil_bench_report, member)
/* Members of "cuda" in a report: kernel_driver, which stencil_machine lacks, and the CUDA versions. */
static const stencil_member cuda_members[] = {
    {"driver_version", REPORT(INTEGER, machine.driver_version), .maximum = INT32_MAX},
    {"runtime_version", REPORT(INTEGER, machine.runtime_version), .maximum = INT32_MAX},
    {"kernel_driver", REPORT(NAME, kernel_driver), .or_null = true},
    {NULL},
};
static const stencil_member machine_members[] = {{"cuda", STENCIL_MEMBER_OBJECT, .members = cuda_members},
                                                 {NULL}};

static const stencil_member report_members[] = {
    {"command_line", REPORT(NAME, command_line)},
    {"started_s", REPORT(INTEGER, started_s)},
    {"seconds", REPORT(REAL, seconds)},
    {"version", REPORT(NAME, version)},
    {"git_revision", REPORT(NAME, git_revision)},
    {"compiler", REPORT(NAME, compiler)},
    {"options", REPORT(OBJECT, options), .members = option_members},
    {"machine", STENCIL_MEMBER_OBJECT, .members = machine_members},
    {"results", REPORT(LIST, result), .list_count = offsetof(stencil_bench_report, result_count),
     .element = sizeof(stencil_bench_result), .members = result_members, .owned = true},
    {NULL},
};

/* Returns the version of the GPU driver's kernel module; "": no module. */
static const char *kernel_driver_version(void) {
    static char version[32];
    char word[256] = "";
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    /* The version is the first number with points: "NVRM version: … Kernel Module … 580.65.06". */
    while (file != NULL && version[0] == '\0' && fscanf(file, "%255s", word) == 1)
        if (word[0] != '.' && strchr(word, '.') != NULL && strspn(word, "0123456789.") == strlen(word))
            snprintf(version, sizeof version, "%.31s", word);
    if (file != NULL)
        fclose(file);
    return version;
}

void stencil_bench_report_init(stencil_bench_report *report) {
    report->version = STENCIL_VERSION;
    report->git_revision = STENCIL_GIT_REVISION;
    report->compiler = __VERSION__;
    report->kernel_driver = kernel_driver_version();
}

double stencil_bench_bar_reached(const stencil_bench_bar *bar) {
    return bar->unit == STENCIL_US_PER_STEP ? bar->reach / bar->measured : bar->measured / bar->reach;
}

static json_t *levels_json(const stencil_bench_report *report) {
    stencil_bench_level level[STENCIL_BENCH_LEVELS_MAX];
    const int count = stencil_bench_levels(report, level);
    json_t *levels = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(levels,
                              json_pack("{s:s,s:s,s:I,s:i,s:o,s:I,s:o}", "level", level[i].level, "name",
                                        level[i].name, "threads", (json_int_t)level[i].threads, "gpus",
                                        level[i].gpus, "one_block", stencil_record_number(level[i].one_s),
                                        "full_blocks_per_sm", (json_int_t)level[i].full_blocks, "full",
                                        stencil_record_number(level[i].full_s)));
    return levels;
}

json_t *stencil_bench_report_json(const stencil_bench_report *report) {
    json_t *bars = json_array(), *machine = json_object();
    json_t *root = stencil_record_write(json_pack("{s:i}", "schema_version", STENCIL_BENCH_SCHEMA_VERSION),
                                        report_members, report);
    stencil_machine_write(&report->machine, machine);
    json_object_update_missing(json_object_get(root, "machine"), machine);
    json_decref(machine);
    for (int i = 0; i < report->result_count; i++)
        json_array_extend(
            bars, json_object_get(json_array_get(json_object_get(root, "results"), (size_t)i), "bars"));
    if (json_array_size(bars) > 0)
        json_object_set(root, "rows", bars);
    json_decref(bars);
    json_object_set_new(root, "levels", levels_json(report));
    return root;
}

bool stencil_bench_is_report(const json_t *root) {
    const json_t *first = json_is_array(root) ? json_array_get(root, 0) : root;
    return json_is_integer(json_object_get(first, "schema_version")) &&
           json_is_array(json_object_get(first, "results"));
}

/* Appends a text member of `report` to the same member of `all`, without duplicates. */
static void add_text(json_t *all, const char *member, const json_t *report) {
    const char *have = json_string_value(json_object_get(all, member)),
               *text = json_string_value(json_object_get(report, member));
    if (have != NULL && text != NULL && strstr(have, text) == NULL)
        json_object_set_new(all, member, json_sprintf("%s; %s", have, text));
}

/* Joins reports into one, *all, owned by the caller: options and machine of the first, results of all. */
static stencil_status join_reports(const json_t *list, json_t **all) {
    static const char *const texts[] = {"command_line", "version", "git_revision", "compiler"};
    *all = json_copy(json_array_get(list, 0));
    json_t *results = json_array();
    double seconds = 0;
    size_t at;
    const json_t *report;
    json_array_foreach(list, at, report) {
        seconds += json_number_value(json_object_get(report, "seconds"));
        json_array_extend(results, json_object_get(report, "results"));
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
            add_text(*all, texts[i], report);
    }
    const bool complete = json_object_set_new(*all, "seconds", json_real(seconds)) == 0 &&
                          json_object_set_new(*all, "results", results) == 0;
    CHECK(complete, NO_MEMORY, "no memory for the reports");
    return STENCIL_OK;
}

/* Checks the schema version of a report, or of every report in a list. */
static stencil_status check_version(const json_t *root) {
    const json_t *version = json_object_get(root, "schema_version");
    CHECK(stencil_bench_is_report(root), BAD_DATA, "not written by 'stencil bench --json'");
    CHECK(json_integer_value(version) == STENCIL_BENCH_SCHEMA_VERSION, BAD_DATA,
          "has schema version %lld, %d is read", (long long)json_integer_value(version),
          STENCIL_BENCH_SCHEMA_VERSION);
    return STENCIL_OK;
}

stencil_status stencil_bench_report_read(json_t *root, stencil_bench_report *report) {
    *report = (stencil_bench_report){.result_count = 0};
    CHECK(stencil_bench_is_report(root), BAD_DATA, "not written by 'stencil bench --json'");
    for (size_t i = 0; i < json_array_size(root); i++)
        TRY(check_version(json_array_get(root, i)));
    if (json_is_array(root))
        TRY(join_reports(root, &report->source));
    else
        report->source = json_incref(root);
    root = report->source;
    TRY(check_version(root));
    TRY(stencil_record_read(root, report_members, report));
    for (int i = 0; i < report->result_count; i++) {
        stencil_bench_derive(&report->result[i]);
        TRY(check_name(&report->result[i]));
    }
    return STENCIL_OK;
}

void stencil_bench_report_destroy(stencil_bench_report *report) {
    for (int i = 0; i < report->result_count; i++)
        stencil_bench_result_destroy(&report->result[i]);
    free(report->result);
    json_decref(report->source);
    *report = (stencil_bench_report){.result = NULL};
}

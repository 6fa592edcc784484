/* Where the results of stencil bench go: files, plots, verdicts. */
#include "app/bench.h"
#include "app/json.h"
#include "app/target.h"

/* No output may replace a file that is read. */
static stencil_status check_files(const bench_outputs *outputs, const char *input) {
    TRY(target_check("--json", outputs->json, outputs->force, input));
    TRY(target_check("--csv", outputs->csv, outputs->force, input));
    return target_check("--md", outputs->md, outputs->force, input);
}

static int count_on_stdout(const bench_outputs *outputs) {
    return target_is_stdout(outputs->json) + target_is_stdout(outputs->csv) + target_is_stdout(outputs->md);
}

stencil_status bench_outputs_open(const bench_outputs *outputs, const bench_report *report,
                                  bench_report *then) {
    CHECK(count_on_stdout(outputs) <= 1, USAGE,
          "--json, --csv and --md: only one of them can be standard output");
    TRY(check_files(outputs, outputs->against));
    TRY(check_files(outputs, report->path));
    for (int i = 0; i < report->count; i++)
        TRY(bench_plot_check(outputs->plot, outputs->force, &report->result[i].benchmark, 1));
    return outputs->against != NULL ? bench_report_read(then, "--against", outputs->against) : STENCIL_OK;
}

static bool tables_wanted(const bench_outputs *outputs) {
    return !outputs->quiet && count_on_stdout(outputs) == 0;
}

void bench_outputs_print(const bench_outputs *outputs, const bench_report *report, int result) {
    if (!tables_wanted(outputs))
        return;
    fputs(result > 0 ? "\n" : "", stdout);
    bench_print(stdout, &report->result[result], report->origin.max_noise);
    fflush(stdout);
}

static stencil_status write_json(const bench_outputs *outputs, const bench_report *report, json_t *verdicts) {
    json_t *root = NULL;
    if (outputs->json != NULL)
        root = stencil_bench_json(report->result, report->count, &report->options, &report->machine,
                                  &report->origin);
    if (root != NULL && verdicts != NULL)
        json_object_set(root, "against", verdicts);
    return json_write(outputs->json, outputs->force, root);
}

static stencil_status write_files(const bench_outputs *outputs, const bench_report *report,
                                  json_t *verdicts) {
    TRY(write_json(outputs, report, verdicts));
    TRY(target_write("--csv", outputs->csv, outputs->force, bench_print_csv, report));
    TRY(target_write("--md", outputs->md, outputs->force, bench_print_markdown, report));
    return outputs->plot != NULL ? bench_plot(report, outputs->plot, outputs->force) : STENCIL_OK;
}

stencil_status bench_outputs_write(const bench_outputs *outputs, const bench_report *report,
                                   const bench_report *then, int *exit_code) {
    json_t *verdicts = NULL;
    int worse = 0;
    stencil_status status = STENCIL_OK;
    if (outputs->against != NULL)
        status = bench_against_compare(then, outputs->margin / 100, report,
                                       tables_wanted(outputs) ? stdout : NULL, &verdicts, &worse);
    if (status == STENCIL_OK)
        status = write_files(outputs, report, verdicts);
    json_decref(verdicts);
    if (outputs->fail && worse > 0)
        *exit_code = stencil_status_exit_code(STENCIL_DIFFERENT);
    return status;
}

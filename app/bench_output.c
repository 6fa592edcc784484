/* Where the results of stencil bench go: files, plots, verdicts. */
#include "app/bench.h"
#include "app/json.h"
#include "app/target.h"

/* No output may replace a file that is read. */
static stencil_status check_files(const bench_outputs *outputs, const char *input) {
    TRY(json_check_target(outputs->json, outputs->force, input));
    TRY(target_check("--csv", outputs->csv, outputs->force, input));
    return target_check("--md", outputs->md, outputs->force, input);
}

stencil_status bench_outputs_check(const bench_outputs *outputs, const char *from, const char *const *name,
                                   int count) {
    const char *const target[] = {outputs->json, outputs->csv, outputs->md};
    int to_stdout = 0;
    for (int i = 0; i < 3; i++)
        to_stdout += target_is_stdout(target[i]);
    CHECK(to_stdout <= 1, USAGE, "--json, --csv and --md: only one of them can be standard output");
    TRY(check_files(outputs, outputs->against));
    TRY(check_files(outputs, from));
    return bench_plot_check(outputs->plot, outputs->force, name, count);
}

bool bench_tables_wanted(const bench_outputs *outputs) {
    return !outputs->quiet && !target_is_stdout(outputs->json) && !target_is_stdout(outputs->csv) &&
           !target_is_stdout(outputs->md);
}

static stencil_status write_json(const bench_outputs *outputs, const bench_report *report, json_t *against) {
    json_t *root = NULL;
    if (outputs->json != NULL)
        root = stencil_bench_json(report->result, report->count, report->options, report->machine,
                                  report->origin);
    if (root != NULL && against != NULL)
        json_object_set(root, "against", against);
    return json_write(outputs->json, outputs->force, root);
}

static stencil_status write_files(const bench_outputs *outputs, const bench_report *report, json_t *against) {
    TRY(write_json(outputs, report, against));
    TRY(target_write("--csv", outputs->csv, outputs->force, bench_print_csv, report));
    TRY(target_write("--md", outputs->md, outputs->force, bench_print_markdown, report));
    return outputs->plot != NULL ? bench_plot(report, outputs->plot, outputs->force) : STENCIL_OK;
}

stencil_status bench_outputs_write(const bench_outputs *outputs, const bench_report *report,
                                   const bench_against *against, int *exit_code) {
    json_t *verdicts = NULL;
    int worse = 0;
    stencil_status status = STENCIL_OK;
    if (against->file.path != NULL)
        status = bench_against_compare(against, report, bench_tables_wanted(outputs) ? stdout : NULL,
                                       &verdicts, &worse);
    if (status == STENCIL_OK)
        status = write_files(outputs, report, verdicts);
    json_decref(verdicts);
    if (outputs->fail && worse > 0)
        *exit_code = stencil_status_exit_code(STENCIL_DIFFERENT);
    return status;
}

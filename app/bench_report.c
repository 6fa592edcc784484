/* Results in a file that `stencil bench --json` wrote, on any machine. */
#include <stdlib.h>
#include <string.h>

#include "app/bench.h"
#include "app/json.h"
#include "app/options.h"
#include "app/text.h"
#include "base/words.h"

static stencil_status read_file(bench_report *report) {
    TRY(json_read(report->path, &report->root));
    const json_t *version = json_object_get(report->root, "schema_version");
    const json_t *results = json_object_get(report->root, "results");
    CHECK(json_is_integer(version) && json_is_array(results), BAD_DATA,
          "not written by 'stencil bench --json'");
    CHECK(json_integer_value(version) == STENCIL_BENCH_SCHEMA_VERSION, BAD_DATA,
          "has schema version %lld, %d is read", (long long)json_integer_value(version),
          STENCIL_BENCH_SCHEMA_VERSION);
    const size_t count = json_array_size(results);
    report->result = calloc(count + 1, sizeof *report->result);
    CHECK(report->result != NULL, NO_MEMORY, "no memory for its results");
    for (size_t i = 0; i < count; i++)
        TRY(stencil_bench_result_read(json_array_get(results, i), &report->result[report->count++]));
    return STENCIL_OK;
}

stencil_status bench_report_read(bench_report *report, const char *option, const char *path) {
    report->path = path;
    return text_prefix(text_name_file(read_file(report), path), option);
}

static stencil_status check_name(const bench_report *report, const char *name) {
    char file[TEXT_NAME_SIZE / 2], shown[128];
    stencil_nearest nearest = {name, NULL, 0};
    for (int i = 0; i < report->count; i++) {
        if (strcmp(report->result[i].benchmark, name) == 0)
            return STENCIL_OK;
        stencil_nearest_offer(&nearest, report->result[i].benchmark);
    }
    text_escape(name, shown, sizeof shown);
    text_escape(report->path, file, sizeof file);
    CHECK(nearest.name == NULL, USAGE, "--from: '%s' holds no benchmark '%s', did you mean '%s'?", file,
          shown, nearest.name);
    FAIL(USAGE, "--from: '%s' holds no benchmark '%s'", file, shown);
}

stencil_status bench_report_choose(bench_report *report, const char *const *name, int count) {
    for (int i = 0; i < count; i++)
        TRY(check_name(report, name[i]));
    const int all = report->count;
    report->count = 0;
    for (int i = 0; i < all; i++) {
        bool chosen = count == 0;
        for (int k = 0; k < count; k++)
            chosen = chosen || strcmp(name[k], report->result[i].benchmark) == 0;
        if (!chosen)
            stencil_bench_result_destroy(&report->result[i]);
        else
            report->result[report->count++] = report->result[i];
    }
    return text_prefix(text_name_file(stencil_bench_origin_read(report->root, &report->origin), report->path),
                       "--from");
}

void bench_report_destroy(bench_report *report) {
    for (int i = 0; i < report->count; i++)
        stencil_bench_result_destroy(&report->result[i]);
    free(report->result);
    json_decref(report->root);
}

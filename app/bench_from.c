/* stencil bench --from: the report of an earlier run, on any machine, without measuring. */
#include <stdlib.h>
#include <string.h>

#include "app/bench.h"
#include "app/options.h"
#include "app/text.h"
#include "base/words.h"

static stencil_status check_name(const bench_file *from, const char *name) {
    char file[TEXT_NAME_SIZE / 2], shown[128];
    stencil_nearest nearest = {name, NULL, 0};
    for (int i = 0; i < from->result_count; i++) {
        if (strcmp(from->result[i].benchmark, name) == 0)
            return STENCIL_OK;
        stencil_nearest_offer(&nearest, from->result[i].benchmark);
    }
    text_escape(name, shown, sizeof shown);
    text_escape(from->path, file, sizeof file);
    CHECK(nearest.name == NULL, USAGE, "--from: '%s' holds no benchmark '%s', did you mean '%s'?", file,
          shown, nearest.name);
    FAIL(USAGE, "--from: '%s' holds no benchmark '%s'", file, shown);
}

static bool is_chosen(const char *benchmark, const char *const *name, int count) {
    for (int i = 0; i < count; i++)
        if (strcmp(name[i], benchmark) == 0)
            return true;
    return count == 0;
}

/* Prints and writes what was chosen: result[count], whose names are name[count]. */
static stencil_status report_results(const bench_file *from, const stencil_bench_result *result,
                                     const char *const *name, int count, const bench_outputs *outputs,
                                     int *exit_code) {
    stencil_bench_origin origin;
    bench_against against = {.margin = 0};
    TRY(text_prefix(text_name_file(stencil_bench_origin_read(from->root, &origin), from->path), "--from"));
    TRY(bench_outputs_check(outputs, from->path, name, count));
    if (outputs->against != NULL)
        TRY(bench_against_open(&against, outputs->against, outputs->margin / 100));
    for (int i = 0; i < count && bench_tables_wanted(outputs); i++) {
        fputs(i > 0 ? "\n" : "", stdout);
        bench_print(stdout, &result[i], origin.max_noise);
    }
    const bench_report report = {.result = result, .count = count, .origin = &origin};
    const stencil_status status = bench_outputs_write(outputs, &report, &against, exit_code);
    bench_against_close(&against);
    return status;
}

static stencil_status report_file(const bench_file *from, const char *const *name, int count,
                                  const bench_outputs *outputs, int *exit_code) {
    for (int i = 0; i < count; i++)
        TRY(check_name(from, name[i]));
    /* Copies whose rows stay the file's. */
    const size_t most = (size_t)from->result_count + 1;
    stencil_bench_result *result = calloc(most, sizeof *result);
    const char **chosen = calloc(most, sizeof *chosen);
    stencil_status status = STENCIL_OK;
    int chosen_count = 0;
    for (int i = 0; i < from->result_count && result != NULL && chosen != NULL; i++)
        if (is_chosen(from->result[i].benchmark, name, count)) {
            result[chosen_count] = from->result[i];
            chosen[chosen_count++] = from->result[i].benchmark;
        }
    if (result == NULL || chosen == NULL)
        status = stencil_error_set(STENCIL_NO_MEMORY, __FILE__, __LINE__, "", "no memory for the results");
    else
        status = report_results(from, result, chosen, chosen_count, outputs, exit_code);
    free(result);
    free(chosen);
    return status;
}

stencil_status bench_from(const char *path, const char *const *name, int count, const bench_outputs *outputs,
                          int *exit_code) {
    bench_file from;
    CHECK(outputs->json == NULL, USAGE, "--from and --json contradict each other: give one of them");
    TRY(bench_file_open(&from, "--from", path));
    const stencil_status status = report_file(&from, name, count, outputs, exit_code);
    bench_file_close(&from);
    return status;
}

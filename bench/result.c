/* Functions that fill in benchmark results, and quantities derived from results. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/benchmark.h"

void stencil_bench_result_destroy(stencil_bench_result *result) {
    if (result == NULL)
        return;
    for (int i = 0; i < result->row_count; i++)
        free(result->row[i].sample);
    free(result->row);
    free(result->bar);
    json_decref(result->source);
    *result = (stencil_bench_result){0};
}

void stencil_bench_add_number(stencil_bench_result *result, const char *name, int64_t number) {
    result->parameter[result->parameter_count++] = (stencil_bench_parameter){.name = name, .number = number};
}

void stencil_bench_add_text(stencil_bench_result *result, const char *name, const char *text) {
    stencil_bench_parameter *parameter = &result->parameter[result->parameter_count];
    stencil_bench_add_number(result, name, 0);
    snprintf(parameter->text, sizeof parameter->text, "%s", text);
}

void stencil_bench_note(stencil_bench *b, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(b->result->note[b->result->note_count++], sizeof b->result->note[0], format, arguments);
    va_end(arguments);
}

stencil_status stencil_bench_skip(stencil_bench_result *result, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->skipped, sizeof result->skipped, format, arguments);
    va_end(arguments);
    return STENCIL_OK;
}

bool stencil_bench_axis(const stencil_bench_row *row, const char *name, int64_t *number) {
    for (int i = 0; i < row->axis_count; i++)
        if (strcmp(row->axis[i].name, name) == 0) {
            *number = row->axis[i].number;
            return true;
        }
    return false;
}

double stencil_bench_rate(const stencil_bench_row *row, double amount) {
    return row->sample_count > 0 ? amount / row->statistics.median : 0;
}

double stencil_bench_best_copy(const stencil_bench_result *result, int first) {
    double best = 0;
    for (int i = first; i < result->row_count; i++)
        if (strcmp(result->row[i].kind, "copy") == 0)
            best = fmax(best, stencil_bench_rate(&result->row[i], result->row[i].bytes));
    return best;
}

void stencil_bench_fill_ratios(stencil_bench_result *result, int first) {
    const double best = stencil_bench_best_copy(result, first);
    for (int i = first; i < result->row_count; i++) {
        const double rate = stencil_bench_rate(&result->row[i], result->row[i].bytes);
        result->row[i].ratio = best > 0 && rate > 0 ? rate / best : NAN;
    }
}

bool stencil_bench_is_wanted(const stencil_bench_options *options) {
    return options->go_on == NULL || options->go_on();
}

stencil_status stencil_bench_check_wanted(const stencil_bench_options *options, const char *benchmark) {
    CHECK(stencil_bench_is_wanted(options), INTERRUPTED, "%s is interrupted", benchmark);
    return STENCIL_OK;
}

/* Results that were written as JSON. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"

static const char *type_name(json_type type) {
    static const char *const names[] = {
        [JSON_OBJECT] = "an object",       [JSON_ARRAY] = "an array", [JSON_STRING] = "a string",
        [JSON_INTEGER] = "a whole number", [JSON_REAL] = "a number",  [JSON_TRUE] = "true or false",
        [JSON_FALSE] = "true or false",    [JSON_NULL] = "null"};
    return names[type];
}

/* The member `key`, which has to be there with that type; `or_null`: null is as good. */
static stencil_status member(const json_t *object, const char *key, json_type type, bool or_null,
                             const json_t **value) {
    *value = json_object_get(object, key);
    CHECK(*value != NULL, BAD_DATA, "\"%s\" is missing", key);
    const bool is_null = json_is_null(*value);
    const bool fits = type == JSON_REAL   ? json_is_number(*value)
                      : type == JSON_TRUE ? json_is_boolean(*value)
                                          : json_typeof(*value) == type;
    CHECK(fits || (or_null && is_null), BAD_DATA, "\"%s\" is not %s", key, type_name(type));
    return STENCIL_OK;
}

/* NULL where the member is null. */
static stencil_status read_text(const json_t *object, const char *key, bool or_null, const char **text) {
    const json_t *value;
    TRY(member(object, key, JSON_STRING, or_null, &value));
    *text = json_string_value(value);
    return STENCIL_OK;
}

/* Into an array; "" where the member is null. */
static stencil_status copy_text(const json_t *object, const char *key, bool or_null, char *text,
                                size_t size) {
    const char *value;
    TRY(read_text(object, key, or_null, &value));
    CHECK(value == NULL || strlen(value) < size, BAD_DATA, "\"%s\" has more than %zu characters", key,
          size - 1);
    snprintf(text, size, "%s", value != NULL ? value : "");
    return STENCIL_OK;
}

/* `missing` where the member is null. */
static stencil_status read_number(const json_t *object, const char *key, double missing, double *number) {
    const json_t *value;
    TRY(member(object, key, JSON_REAL, true, &value));
    *number = json_is_null(value) ? missing : json_number_value(value);
    return STENCIL_OK;
}

static stencil_status read_flag(const json_t *object, const char *key, bool *flag) {
    const json_t *value;
    TRY(member(object, key, JSON_TRUE, false, &value));
    *flag = json_is_true(value);
    return STENCIL_OK;
}

static stencil_status read_parameters(const json_t *object, const char *key, stencil_bench_parameter *to,
                                      int most, int *count) {
    const json_t *all;
    TRY(member(object, key, JSON_OBJECT, false, &all));
    CHECK(json_object_size(all) <= (size_t)most, BAD_DATA, "\"%s\" has more than %d members", key, most);
    for (void *at = json_object_iter((json_t *)all); at != NULL;
         at = json_object_iter_next((json_t *)all, at)) {
        stencil_bench_parameter *p = &to[(*count)++];
        *p = (stencil_bench_parameter){.name = json_object_iter_key(at)};
        if (json_is_string(json_object_iter_value(at)))
            TRY(copy_text(all, p->name, false, p->text, sizeof p->text));
        else {
            const json_t *number;
            TRY(member(all, p->name, JSON_INTEGER, false, &number));
            p->number = json_integer_value(number);
        }
    }
    return STENCIL_OK;
}

static stencil_status read_samples(const json_t *object, stencil_bench_row *row) {
    const json_t *all;
    TRY(member(object, "samples", JSON_ARRAY, false, &all));
    const size_t count = json_array_size(all);
    CHECK(count <= STENCIL_BENCH_SAMPLES_MAX, BAD_DATA, "\"samples\" has more than %d members",
          STENCIL_BENCH_SAMPLES_MAX);
    if (count == 0)
        return STENCIL_OK;
    double *scratch = malloc(count * sizeof *scratch);
    row->sample = malloc(count * sizeof *row->sample);
    bool numbers = true;
    for (size_t i = 0; i < count && scratch != NULL && row->sample != NULL; i++) {
        const json_t *value = json_array_get(all, i);
        numbers = numbers && (json_is_number(value) || json_is_null(value));
        row->sample[i] = json_is_null(value) ? NAN : json_number_value(value);
    }
    if (scratch != NULL && row->sample != NULL && numbers) {
        row->sample_count = (int64_t)count;
        row->statistics = stencil_statistics_of(row->sample, (int)count, scratch);
    }
    free(scratch);
    CHECK(numbers, BAD_DATA, "\"samples\" holds something that is not a number");
    CHECK(row->sample_count > 0, NO_MEMORY, "no memory for %zu samples", count);
    return STENCIL_OK;
}

/* Rates and statistics follow from the samples and are not read. */
static stencil_status read_row(const json_t *object, stencil_bench_row *row) {
    CHECK(json_is_object(object), BAD_DATA, "a row is not an object");
    const json_t *iterations;
    TRY(copy_text(object, "name", false, row->name, sizeof row->name));
    TRY(read_text(object, "kind", false, &row->kind));
    TRY(read_text(object, "unit", false, &row->unit));
    TRY(read_parameters(object, "axes", row->axis, STENCIL_BENCH_AXES_MAX, &row->axis_count));
    TRY(read_flag(object, "higher_is_better", &row->higher_is_better));
    TRY(read_text(object, "method", true, &row->method));
    TRY(read_number(object, "method_sd", NAN, &row->method_sd));
    TRY(member(object, "iterations", JSON_INTEGER, false, &iterations));
    row->iterations = json_integer_value(iterations);
    TRY(read_samples(object, row));
    TRY(read_flag(object, "noisy", &row->noisy));
    TRY(read_number(object, "bytes", 0, &row->bytes));
    TRY(copy_text(object, "bytes_formula", true, row->formula, sizeof row->formula));
    TRY(read_number(object, "cells", 0, &row->cells));
    TRY(read_number(object, "ratio_to_copy", NAN, &row->ratio));
    TRY(copy_text(object, "outcome", true, row->outcome, sizeof row->outcome));
    return copy_text(object, "skipped", true, row->skipped, sizeof row->skipped);
}

static stencil_status read_rows(const json_t *object, stencil_bench_result *result) {
    const json_t *rows;
    TRY(member(object, "rows", JSON_ARRAY, false, &rows));
    const size_t count = json_array_size(rows);
    result->row = calloc(count > 0 ? count : 1, sizeof *result->row);
    CHECK(result->row != NULL, NO_MEMORY, "no memory for %zu rows", count);
    for (size_t i = 0; i < count; i++) {
        result->row_count++;
        TRY(read_row(json_array_get(rows, i), &result->row[i]));
    }
    return STENCIL_OK;
}

static stencil_status read_notes(const json_t *object, stencil_bench_result *result) {
    const json_t *notes;
    TRY(member(object, "notes", JSON_ARRAY, false, &notes));
    CHECK(json_array_size(notes) <= STENCIL_BENCH_NOTES_MAX, BAD_DATA, "\"notes\" has more than %d members",
          STENCIL_BENCH_NOTES_MAX);
    for (size_t i = 0; i < json_array_size(notes); i++) {
        const char *text = json_string_value(json_array_get(notes, i));
        CHECK(text != NULL, BAD_DATA, "a note is not a string");
        snprintf(result->note[result->note_count++], sizeof result->note[0], "%s", text);
    }
    return STENCIL_OK;
}

static stencil_status read_clock(const json_t *object, stencil_bench_result *result) {
    const json_t *clocks;
    TRY(member(object, "clock_hz", JSON_ARRAY, false, &clocks));
    for (size_t i = 0; i < 2; i++) {
        const json_t *value = json_array_get(clocks, i);
        result->clock_hz[i] = json_is_number(value) ? json_number_value(value) : NAN;
    }
    return STENCIL_OK;
}

stencil_status stencil_bench_result_read(const json_t *object, stencil_bench_result *result) {
    *result = (stencil_bench_result){.source = json_incref((json_t *)object)};
    CHECK(json_is_object(object), BAD_DATA, "a result is not an object");
    const char *backend;
    TRY(read_text(object, "benchmark", false, &result->benchmark));
    /* Files are named after it. */
    CHECK(result->benchmark[0] != '\0' &&
              result->benchmark[strspn(result->benchmark, "abcdefghijklmnopqrstuvwxyz0123456789-")] == '\0',
          BAD_DATA, "\"benchmark\" is not a name");
    TRY(read_text(object, "backend", false, &backend));
    result->backend = strcmp(backend, "gpu") == 0 ? STENCIL_BACKEND_GPU : STENCIL_BACKEND_CPU;
    TRY(copy_text(object, "device", false, result->device, sizeof result->device));
    TRY(read_clock(object, result));
    TRY(read_number(object, "seconds", NAN, &result->seconds));
    TRY(read_parameters(object, "parameters", result->parameter, STENCIL_BENCH_PARAMETERS_MAX,
                        &result->parameter_count));
    TRY(read_rows(object, result));
    TRY(read_notes(object, result));
    TRY(copy_text(object, "skipped", true, result->skipped, sizeof result->skipped));
    return copy_text(object, "failed", true, result->failed, sizeof result->failed);
}

static stencil_status read_integer(const json_t *object, const char *key, int64_t *number) {
    const json_t *value;
    TRY(member(object, key, JSON_INTEGER, false, &value));
    *number = json_integer_value(value);
    return STENCIL_OK;
}

static stencil_status read_version(const json_t *object, const char *key, int *version) {
    int64_t number;
    TRY(read_integer(object, key, &number));
    CHECK(number >= 0 && number <= INT32_MAX, BAD_DATA, "\"%s\" is not a version", key);
    *version = (int)number;
    return STENCIL_OK;
}

stencil_status stencil_bench_origin_read(const json_t *root, stencil_bench_origin *origin) {
    const json_t *options, *machine, *cuda;
    *origin = (stencil_bench_origin){.kernel_driver = NULL};
    TRY(read_text(root, "command_line", false, &origin->command_line));
    TRY(read_integer(root, "started_s", &origin->started_s));
    TRY(read_number(root, "seconds", NAN, &origin->seconds));
    TRY(read_text(root, "version", false, &origin->version));
    TRY(read_text(root, "git_revision", false, &origin->git_revision));
    TRY(read_text(root, "compiler", false, &origin->compiler));
    TRY(member(root, "options", JSON_OBJECT, false, &options));
    TRY(read_number(options, "max_noise", STENCIL_BENCH_MAX_NOISE_DEFAULT, &origin->max_noise));
    TRY(member(root, "machine", JSON_OBJECT, false, &machine));
    TRY(member(machine, "cuda", JSON_OBJECT, false, &cuda));
    TRY(read_version(cuda, "driver_version", &origin->driver_version));
    TRY(read_version(cuda, "runtime_version", &origin->runtime_version));
    TRY(read_text(cuda, "kernel_driver", true, &origin->kernel_driver));
    if (origin->kernel_driver == NULL)
        origin->kernel_driver = "";
    return STENCIL_OK;
}

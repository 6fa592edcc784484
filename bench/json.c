/* Results for programs. */
#include <math.h>

#include "bench/bench.h"

static json_t *number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text_or_null(const char *text) {
    return text != NULL && text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *statistics_json(const stencil_statistics *s) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "median", number(s->median), "mad",
                     number(s->mad), "p5", number(s->p5), "p95", number(s->p95), "smallest",
                     number(s->smallest), "largest", number(s->largest), "spread", number(s->spread));
}

/* null where the thing has no such rate. */
static json_t *rate(double value) {
    return value > 0 ? number(value) : json_null();
}

static json_t *parameters_json(const stencil_bench_parameter *parameter, int count) {
    json_t *object = json_object();
    for (int i = 0; i < count; i++) {
        const stencil_bench_parameter *p = &parameter[i];
        json_object_set_new(object, p->name,
                            p->text[0] != '\0' ? json_string(p->text) : json_integer(p->number));
    }
    return object;
}

static json_t *samples_json(const stencil_bench_row *row) {
    json_t *samples = json_array();
    for (int64_t i = 0; i < row->sample_count; i++)
        json_array_append_new(samples, number(row->sample[i]));
    return samples;
}

static json_t *row_json(const stencil_bench_row *row) {
    json_t *what = json_pack("{s:s, s:s, s:o, s:s, s:b, s:o, s:o, s:I}", "name", row->name, "kind", row->kind,
                             "axes", parameters_json(row->axis, row->axis_count), "unit", row->unit,
                             "higher_is_better", row->higher_is_better, "method", text_or_null(row->method),
                             "method_sd", number(row->method_sd), "iterations", (json_int_t)row->iterations);
    json_t *found =
        json_pack("{s:o, s:o, s:b, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "samples", samples_json(row),
                  "statistics", row->sample_count > 0 ? statistics_json(&row->statistics) : json_null(),
                  "noisy", row->noisy, "bytes", rate(row->bytes), "bytes_formula", text_or_null(row->formula),
                  "cells", rate(row->cells), "bytes_per_s", rate(stencil_bench_bytes_per_s(row)),
                  "cells_per_s", rate(stencil_bench_cells_per_s(row)), "ratio_to_copy", number(row->ratio),
                  "outcome", text_or_null(row->outcome), "skipped", text_or_null(row->skipped));
    if (json_object_update(what, found) != 0) {
        json_decref(what);
        what = NULL;
    }
    json_decref(found);
    return what;
}

json_t *stencil_bench_result_json(const stencil_bench_result *result) {
    json_t *rows = json_array(), *notes = json_array();
    for (int i = 0; i < result->row_count; i++)
        json_array_append_new(rows, row_json(&result->row[i]));
    for (int i = 0; i < result->note_count; i++)
        json_array_append_new(notes, json_string(result->note[i]));
    return json_pack("{s:s, s:s, s:s, s:[o, o], s:o, s:o, s:o, s:o, s:o, s:o}", "benchmark",
                     result->benchmark, "backend", result->backend == STENCIL_BACKEND_GPU ? "gpu" : "cpu",
                     "device", result->device, "clock_hz", rate(result->clock_hz[0]),
                     rate(result->clock_hz[1]), "seconds", number(result->seconds), "parameters",
                     parameters_json(result->parameter, result->parameter_count), "rows", rows, "notes",
                     notes, "skipped", text_or_null(result->skipped), "failed", text_or_null(result->failed));
}

static json_t *machine_json(const stencil_machine *machine) {
    json_t *gpus = json_array();
    for (int i = 0; i < machine->gpu_count; i++) {
        const stencil_gpu *gpu = &machine->gpu[i];
        json_array_append_new(gpus,
                              json_pack("{s:i, s:s, s:i, s:f, s:I, s:I, s:i}", "id", i, "name", gpu->name,
                                        "sm_count", gpu->sm_count, "capability", gpu->capability / 10.0,
                                        "memory_bytes", (json_int_t)gpu->memory_bytes, "l2_bytes",
                                        (json_int_t)gpu->l2_bytes, "clock_khz", gpu->clock_khz));
    }
    return json_pack("{s:{s:i, s:s, s:I}, s:o, s:{s:i, s:i, s:o}}", "cpu", "threads", machine->cpu_threads,
                     "isa", machine->cpu_isa, "cache_bytes", (json_int_t)machine->cpu_cache_bytes, "gpus",
                     gpus, "cuda", "driver_version", machine->driver_version, "runtime_version",
                     machine->runtime_version, "kernel_driver", text_or_null(stencil_bench_kernel_driver()));
}

static json_t *options_json(const stencil_bench_options *options) {
    return json_pack("{s:I, s:I, s:I, s:f, s:f, s:b}", "samples", (json_int_t)options->samples, "iterations",
                     (json_int_t)options->iterations, "repeats", (json_int_t)options->repeats, "max_noise",
                     options->max_noise, "timeout_s", options->timeout_s, "inject_fault",
                     options->inject_fault);
}

void stencil_bench_origin_init(stencil_bench_origin *origin, const stencil_bench_options *options,
                               const stencil_machine *machine) {
    *origin = (stencil_bench_origin){.command_line = "",
                                     .max_noise = options->max_noise,
                                     .version = STENCIL_VERSION,
                                     .git_revision = stencil_bench_revision(),
                                     .compiler = __VERSION__,
                                     .driver_version = machine->driver_version,
                                     .runtime_version = machine->runtime_version,
                                     .kernel_driver = stencil_bench_kernel_driver()};
}

json_t *stencil_bench_json(const stencil_bench_result *result, int result_count,
                           const stencil_bench_options *options, const stencil_machine *machine,
                           const stencil_bench_origin *origin) {
    json_t *results = json_array();
    for (int i = 0; i < result_count; i++)
        json_array_append_new(results, stencil_bench_result_json(&result[i]));
    return json_pack("{s:i, s:s, s:s, s:s, s:s, s:I, s:f, s:o, s:o, s:o}", "schema_version",
                     STENCIL_BENCH_SCHEMA_VERSION, "version", STENCIL_VERSION, "git_revision",
                     stencil_bench_revision(), "compiler", __VERSION__, "command_line", origin->command_line,
                     "started_s", (json_int_t)origin->started_s, "seconds", origin->seconds, "options",
                     options_json(options), "machine", machine_json(machine), "results", results);
}

/* Results for programs. */
#include <math.h>

#include "bench/bench.h"

static json_t *number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

static json_t *text_or_null(const char *text) {
    return text[0] != '\0' ? json_string(text) : json_null();
}

static json_t *statistics_json(const stencil_statistics *s) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "median", number(s->median), "mad", number(s->mad),
                     "p5", number(s->p5), "p95", number(s->p95), "smallest", number(s->smallest), "largest",
                     number(s->largest));
}

/* null where the thing has no such rate. */
static json_t *rate(double value) {
    return value > 0 ? number(value) : json_null();
}

static json_t *row_json(const stencil_bench_row *row) {
    json_t *samples = json_array();
    for (int64_t i = 0; i < row->sample_count; i++)
        json_array_append_new(samples, number(row->sample[i]));
    return json_pack("{s:s, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "name", row->name,
                     "kind", row->kind, "unit", row->unit, "iterations", (json_int_t)row->iterations,
                     "samples", samples, "statistics",
                     row->sample_count > 0 ? statistics_json(&row->statistics) : json_null(), "bytes",
                     rate(row->bytes), "bytes_formula", text_or_null(row->formula), "cells", rate(row->cells),
                     "bytes_per_s", rate(stencil_bench_bytes_per_s(row)), "cells_per_s",
                     rate(stencil_bench_cells_per_s(row)), "ratio_to_copy", number(row->ratio), "skipped",
                     text_or_null(row->skipped));
}

static json_t *parameters_json(const stencil_bench_result *result) {
    json_t *object = json_object();
    for (int i = 0; i < result->parameter_count; i++) {
        const stencil_bench_parameter *p = &result->parameter[i];
        json_object_set_new(object, p->name,
                            p->text[0] != '\0' ? json_string(p->text) : json_integer(p->number));
    }
    return object;
}

static json_t *result_json(const stencil_bench_result *result) {
    json_t *rows = json_array(), *notes = json_array();
    for (int i = 0; i < result->row_count; i++)
        json_array_append_new(rows, row_json(&result->row[i]));
    for (int i = 0; i < result->note_count; i++)
        json_array_append_new(notes, json_string(result->note[i]));
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o}", "benchmark", result->benchmark, "backend",
                     result->backend == STENCIL_BACKEND_GPU ? "gpu" : "cpu", "device", result->device,
                     "parameters", parameters_json(result), "rows", rows, "notes", notes, "skipped",
                     text_or_null(result->skipped));
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
    return json_pack("{s:{s:i, s:s, s:I}, s:o, s:{s:i, s:i}}", "cpu", "threads", machine->cpu_threads, "isa",
                     machine->cpu_isa, "cache_bytes", (json_int_t)machine->cpu_cache_bytes, "gpus", gpus,
                     "cuda", "driver_version", machine->driver_version, "runtime_version",
                     machine->runtime_version);
}

json_t *stencil_bench_json(const stencil_bench_result *result, int result_count,
                           const stencil_bench_options *options, const stencil_machine *machine,
                           const char *command_line, int64_t started_s) {
    json_t *results = json_array();
    for (int i = 0; i < result_count; i++)
        json_array_append_new(results, result_json(&result[i]));
    return json_pack("{s:i, s:s, s:s, s:s, s:I, s:{s:I, s:I, s:f}, s:o, s:o}", "schema_version",
                     STENCIL_BENCH_SCHEMA_VERSION, "version", STENCIL_VERSION, "compiler", __VERSION__,
                     "command_line", command_line, "started_s", (json_int_t)started_s, "options", "samples",
                     (json_int_t)options->samples, "iterations", (json_int_t)options->iterations, "max_s",
                     options->max_s, "machine", machine_json(machine), "results", results);
}

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "bench/benchmark.h"

#define STENCIL_BENCHMARK(name, text) extern const stencil_benchmark stencil_benchmark_##name;
#include "bench/benchmarks.def"
#undef STENCIL_BENCHMARK

static const struct {
    const char *name, *summary;
    const stencil_benchmark *benchmark;
} benchmarks[] = {
#define STENCIL_BENCHMARK(name, text) {#name, text, &stencil_benchmark_##name},
#include "bench/benchmarks.def"
#undef STENCIL_BENCHMARK
};

int stencil_bench_count(void) {
    return (int)(sizeof benchmarks / sizeof *benchmarks);
}

const char *stencil_bench_name(int index) {
    return index < stencil_bench_count() ? benchmarks[index].name : NULL;
}

const char *stencil_bench_summary(int index) {
    return benchmarks[index].summary;
}

void stencil_bench_options_init(stencil_bench_options *options) {
    *options = (stencil_bench_options){
        .backend = STENCIL_BACKEND_AUTO,
        .samples = STENCIL_BENCH_SAMPLES_DEFAULT,
        .max_s = STENCIL_BENCH_MAX_S_DEFAULT,
    };
    stencil_spec_init(&options->spec);
}

static stencil_status choose_device(stencil_bench_options *options, const stencil_machine *machine,
                                    stencil_bench_result *result) {
    if (options->backend == STENCIL_BACKEND_AUTO)
        options->backend = machine->gpu_count > 0 ? STENCIL_BACKEND_GPU : STENCIL_BACKEND_CPU;
    result->backend = options->backend;
    if (options->backend == STENCIL_BACKEND_CPU) {
        snprintf(result->device, sizeof result->device, "%d thread%s, %s", machine->cpu_threads,
                 machine->cpu_threads == 1 ? "" : "s", machine->cpu_isa);
        return STENCIL_OK;
    }
    CHECK(machine->gpu_count > 0, UNAVAILABLE, "no GPU here (%s): give --device cpu", machine->no_gpu_reason);
    CHECK(options->gpu >= 0 && options->gpu < machine->gpu_count, UNAVAILABLE,
          "--gpus asks for GPU %d, this machine has %d (0 … %d)", options->gpu, machine->gpu_count,
          machine->gpu_count - 1);
    snprintf(result->device, sizeof result->device, "%s", machine->gpu[options->gpu].name);
    return STENCIL_OK;
}

stencil_status stencil_bench_run(int index, const stencil_bench_options *options,
                                 const stencil_machine *machine, stencil_bench_result *result) {
    *result = (stencil_bench_result){.benchmark = stencil_bench_name(index)};
    CHECK(options->samples >= 1 && options->samples <= STENCIL_BENCH_SAMPLES_MAX, USAGE,
          "--samples: a row has 1 to %d samples", STENCIL_BENCH_SAMPLES_MAX);
    stencil_bench_options chosen = *options;
    TRY(choose_device(&chosen, machine, result));
    const bool on_gpu = chosen.backend == STENCIL_BACKEND_GPU;
    const stencil_benchmark *benchmark = benchmarks[index].benchmark;
    const stencil_benchmark_function run = on_gpu ? benchmark->run_gpu : benchmark->run_cpu;
    if (run == NULL)
        return stencil_bench_skip(result, "does not apply to a %s", on_gpu ? "GPU" : "CPU");
    return run(&chosen, machine, result);
}

void stencil_bench_result_destroy(stencil_bench_result *result) {
    if (result == NULL)
        return;
    for (int i = 0; i < result->row_count; i++)
        free(result->row[i].sample);
    free(result->row);
    *result = (stencil_bench_result){0};
}

stencil_status stencil_bench_add_row(stencil_bench_result *result, const char *kind, const char *name,
                                     const char *unit, int *index) {
    stencil_bench_row *rows = realloc(result->row, (size_t)(result->row_count + 1) * sizeof *rows);
    CHECK(rows != NULL, NO_MEMORY, "no memory for the results of %s", result->benchmark);
    result->row = rows;
    *index = result->row_count++;
    rows[*index] = (stencil_bench_row){.kind = kind, .unit = unit, .iterations = 1, .ratio = NAN};
    snprintf(rows[*index].name, sizeof rows[*index].name, "%s", name);
    return STENCIL_OK;
}

static stencil_bench_parameter *add_parameter(stencil_bench_result *result, const char *name) {
    stencil_bench_parameter *parameter = &result->parameter[result->parameter_count++];
    *parameter = (stencil_bench_parameter){.name = name};
    return parameter;
}

void stencil_bench_add_number(stencil_bench_result *result, const char *name, int64_t number) {
    add_parameter(result, name)->number = number;
}

void stencil_bench_add_text(stencil_bench_result *result, const char *name, const char *text) {
    stencil_bench_parameter *parameter = add_parameter(result, name);
    snprintf(parameter->text, sizeof parameter->text, "%s", text);
}

void stencil_bench_add_note(stencil_bench_result *result, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->note[result->note_count++], sizeof result->note[0], format, arguments);
    va_end(arguments);
}

stencil_status stencil_bench_skip(stencil_bench_result *result, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(result->skipped, sizeof result->skipped, format, arguments);
    va_end(arguments);
    return STENCIL_OK;
}

double stencil_bench_bytes_per_s(const stencil_bench_row *row) {
    return row->sample_count > 0 ? row->bytes / row->statistics.median : 0;
}

double stencil_bench_cells_per_s(const stencil_bench_row *row) {
    return row->sample_count > 0 ? row->cells / row->statistics.median : 0;
}

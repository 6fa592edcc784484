#include <math.h>
#include <stdio.h>

#include "base/words.h"
#include "bench/device.h"

/* Traits of benchmarks, which determine the options that a benchmark uses. SIZED: copies arrays; SOLVED:
 * solves a problem; REPEATED: repeats an operation (calibrated on a CPU, as a method requires on a GPU);
 * STATED: states outcomes in child processes and uses no options. FAULT: can plant a fault; EDGES: uses edges
 * and sweep; NAMED: uses the stencil; RANKS: measures links between ranks; MANY_GPUS: uses all of gpu[0 …
 * gpu_count), not only gpu[0]. */
enum {
    SIZED = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_ITERATIONS | STENCIL_BENCH_USES_SIZE,
    SOLVED = SIZED | STENCIL_BENCH_USES_PROBLEM,
    REPEATED = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_ITERATIONS | STENCIL_BENCH_USES_REPEATS,
    STATED = 0,
    FAULT = STENCIL_BENCH_USES_FAULT,
    EDGES = STENCIL_BENCH_USES_EDGES,
    NAMED = STENCIL_BENCH_USES_STENCIL,
    RANKS = STENCIL_BENCH_USES_RANKS,
    MANY_GPUS = 2 * STENCIL_BENCH_USES_BLOCKS,
    LONG = 2 * MANY_GPUS, /* takes minutes: runs only where the user names the benchmark */
    OF_STUDY = 2 * LONG,  /* an application of the study */
    SAMPLED = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_ITERATIONS | STENCIL_BENCH_USES_ELEMENTS,
    APPLICATION = SAMPLED | FAULT | LONG | OF_STUDY
};

#define NONE          NULL
#define RUN(function) function
static const struct {
    const char *summary;
    stencil_benchmark_function run_cpu, run_gpu;
    unsigned traits;
} benchmarks[] = {
#define STENCIL_BENCHMARK(id, name, cpu, gpu, traits, text) {text, cpu, STENCIL_ON_GPU(gpu), traits},
#include "bench/benchmarks.def"
#undef STENCIL_BENCHMARK
};

const char *const stencil_bench_names[] = {
#define STENCIL_BENCHMARK(id, name, cpu, gpu, traits, text) name,
#include "bench/benchmarks.def"
#undef STENCIL_BENCHMARK
    NULL,
};

const char *stencil_bench_summary(int index) {
    return benchmarks[index].summary;
}

static stencil_backend choose_backend(stencil_backend asked, const stencil_machine *machine) {
    if (asked != STENCIL_BACKEND_AUTO)
        return asked;
    return machine->gpu_count > 0 ? STENCIL_BACKEND_GPU : STENCIL_BACKEND_CPU;
}

/* Begins a result: sets the back-end, all GPUs where the user names none, and the device name for reports. */
static stencil_status start(int index, stencil_bench_options *options, const stencil_machine *machine,
                            stencil_bench_result *result) {
    *result = (stencil_bench_result){.benchmark = stencil_bench_names[index], .clock_hz = {NAN, NAN}};
    result->backend = options->backend = choose_backend(options->backend, machine);
    if (options->backend == STENCIL_BACKEND_CPU) {
        snprintf(result->device, sizeof result->device, "%d thread%s, %s", machine->cpu_threads,
                 stencil_plural(machine->cpu_threads), machine->cpu_isa);
        return STENCIL_OK;
    }
    CHECK(machine->gpu_count > 0, UNAVAILABLE, "no GPU here (%s): leave %s out", machine->no_gpu_reason,
          options->gpu_count > 0 ? "--gpus" : "--device gpu");
    TRY(stencil_gpus_check(machine, options->gpu, options->gpu_count));
    if (options->gpu_count == 0)
        for (options->gpu_count = 0; options->gpu_count < machine->gpu_count; options->gpu_count++)
            options->gpu[options->gpu_count] = options->gpu_count;
    if ((benchmarks[index].traits & MANY_GPUS) != 0 && options->gpu_count > 1)
        snprintf(result->device, sizeof result->device, "%d x ", options->gpu_count);
    stencil_text_add(result->device, sizeof result->device, "%s", machine->gpu[options->gpu[0]].name);
    return STENCIL_OK;
}

stencil_status stencil_bench_check(const stencil_bench_options *options, const stencil_machine *machine) {
    stencil_bench_options chosen = *options;
    stencil_bench_result result;
    return start(0, &chosen, machine, &result);
}

bool stencil_bench_is_long(int index) {
    return (benchmarks[index].traits & LONG) != 0;
}

bool stencil_bench_is_case(int index) {
    return (benchmarks[index].traits & OF_STUDY) != 0;
}

unsigned stencil_bench_uses(int index, const stencil_bench_options *options, const stencil_machine *machine) {
    const bool on_gpu = choose_backend(options->backend, machine) == STENCIL_BACKEND_GPU;
    const unsigned other = on_gpu ? STENCIL_BENCH_USES_ITERATIONS : STENCIL_BENCH_USES_REPEATS;
    const unsigned traits = benchmarks[index].traits;
    if ((on_gpu ? benchmarks[index].run_gpu : benchmarks[index].run_cpu) == NULL)
        return ~0u;
    return (traits & REPEATED) == REPEATED && (traits & STENCIL_BENCH_USES_ELEMENTS) == 0 ? traits & ~other
                                                                                          : traits;
}

static double cpu_clock_hz(void) {
    FILE *file = fopen("/proc/cpuinfo", "r");
    double highest = NAN, mhz;
    char line[512];
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "cpu MHz : %lf", &mhz) == 1 && mhz > 0)
            highest = fmax(highest, 1e6 * mhz); /* fmax() ignores NaN */
    if (file != NULL)
        fclose(file);
    return highest;
}

/* Measures the clock of the first GPU; for a CPU, reads the highest core clock that the system reports. */
static stencil_status see_clock(stencil_bench *b, double *hz) {
#ifdef STENCIL_HAVE_CUDA
    if (b->options->backend == STENCIL_BACKEND_GPU)
        return stencil_device_clock(b, b->options->gpu[0], hz);
#endif
    (void)b;
    *hz = cpu_clock_hz();
    return STENCIL_OK;
}

/* Runs a benchmark whose options and result start() has filled in. */
static stencil_status run_here(int index, int stated, const stencil_bench_options *options,
                               const stencil_machine *machine, stencil_bench_result *result) {
    const unsigned traits = benchmarks[index].traits;
    const bool states = (traits & STENCIL_BENCH_USES_SAMPLES) == STATED;
    const bool on_gpu = options->backend == STENCIL_BACKEND_GPU;
    const stencil_benchmark_function run = on_gpu ? benchmarks[index].run_gpu : benchmarks[index].run_cpu;
    if (run == NULL)
        return stencil_bench_skip(result, "does not apply to a %s", on_gpu ? "GPU" : "CPU");
    if (options->inject_fault && !(traits & FAULT))
        return stencil_bench_skip(result, "has no fault to plant");
    if (states && options->child_command == NULL)
        return stencil_bench_skip(result, "needs child processes");
    CHECK(stated == 0 || states, USAGE, "%s states nothing", result->benchmark);
    const double start_s = stencil_clock_s();
    stencil_bench b = {.options = options, .machine = machine, .result = result, .stated = stated};
    stencil_status status = see_clock(&b, &result->clock_hz[0]);
    if (status == STENCIL_OK)
        status = run(&b);
    /* After a failure or a statement the device may hang, so its clock is not measured. */
    if (status == STENCIL_OK && stated == 0)
        status = see_clock(&b, &result->clock_hz[1]);
    stencil_bench_end(&b);
    stencil_bench_derive(result);
    result->seconds = stencil_clock_s() - start_s;
    if (status == STENCIL_OK && options->inject_fault && result->skipped[0] == '\0')
        status = ERROR(INTERNAL, "%s: the planted fault was not found", result->benchmark);
    return status;
}

/* A child process counts as hanging after the larger of hang_least_s and hang_timeouts times
 * options->timeout_s, by which time sampling has ended. */
static const double hang_least_s = 60, hang_timeouts = 15;

stencil_status stencil_bench_run_in_child(int index, const stencil_bench_options *options,
                                          const stencil_machine *machine, stencil_bench_result *result) {
    const stencil_bench b = {.options = options, .machine = machine};
    const unsigned sizes = STENCIL_BENCH_USES_EDGES | STENCIL_BENCH_USES_ELEMENTS;
    const int turns =
        (stencil_bench_uses(index, options, machine) & sizes) != 0 ? STENCIL_BENCH_EDGES_MAX : 1;
    const double timeout_s = turns * (hang_least_s + hang_timeouts * options->timeout_s);
    bool timed_out;
    const char *name = stencil_bench_names[index];
    const stencil_status status = stencil_bench_in_child(&b, name, 0, timeout_s, result, &timed_out);
    result->benchmark = name;
    CHECK(!timed_out, INTERNAL, "%s hangs: its child process was ended after %.0f s", name, timeout_s);
    return status;
}

stencil_status stencil_bench_run(int index, const stencil_bench_options *options,
                                 const stencil_machine *machine, stencil_bench_result *result) {
    stencil_bench_options chosen = *options;
    TRY(start(index, &chosen, machine, result));
    if (!stencil_bench_is_wanted(options)) {
        TRY(stencil_bench_skip(result, STENCIL_BENCH_NOT_REACHED));
        return stencil_bench_check_wanted(options, result->benchmark);
    }
    const bool alone = chosen.backend == STENCIL_BACKEND_GPU && options->child_command != NULL &&
                       benchmarks[index].run_gpu != NULL;
    const stencil_status status = alone ? stencil_bench_run_in_child(index, &chosen, machine, result)
                                        : run_here(index, 0, &chosen, machine, result);
    if (status != STENCIL_OK)
        snprintf(result->failed, sizeof result->failed, "%.500s", stencil_error_last()->message);
    return status;
}

static stencil_status run_named(const char *name, int stated, const stencil_bench_options *options,
                                const stencil_machine *machine, stencil_bench_result *result) {
    const int index = stencil_name_find(name, stencil_bench_names);
    stencil_bench_options chosen = *options;
    CHECK(index >= 0, USAGE, "unknown benchmark '%s'", name);
    TRY(start(index, &chosen, machine, result));
    return run_here(index, stated, &chosen, machine, result);
}

stencil_status stencil_bench_child_main(const char *name, const stencil_bench_options *options) {
    return stencil_bench_answer(name, options, run_named);
}

/* stencil info: what this machine and this build can do, or what a file is. */
#include <omp.h>

#include "app/options.h"
#include "app/info_file.h"
#include "app/json.h"
#include "app/text.h"
#include "inputs/h5.h"
#include "solver/plan/plan.h"

typedef struct info_options {
    const char *json;
    bool force;
} info_options;

#define AT(field) OPTION_AT(info_options, field)
static const option info_table[] = {
    {.heading = "Options"},
    {"json", 0, OPTION_TEXT, AT(json), "FILE",
     .help =
         "write it as JSON, of the machine with the limits of all kernels, for run --machine; - writes it to "
         "standard output"},
    {"force", 'f', OPTION_FLAG, AT(force), NULL, .help = "replace an existing file", .needs = "json"},
    {NULL},
};

static void print_gpus(const stencil_machine *machine) {
    if (machine->gpu_count == 0)
        PRINT("GPUs", "none: %s", machine->no_gpu_reason);
    for (int i = 0; i < machine->gpu_count; i++) {
        const stencil_gpu *gpu = &machine->gpu[i];
        char processors[64];
        int node;
        stencil_topology_near(gpu->bus_id, processors, sizeof processors, &node);
        const int code = stencil_gpu_code(gpu);
        PRINT(TEXT("GPU %d", i), "%s\n%s, %s L2 cache, compute capability %d.%d%s\n%d SM%s at %.2f GHz%s%s",
              gpu->name, TEXT_BYTES(gpu->memory_bytes), TEXT_BYTES(gpu->l2_bytes), gpu->capability / 10,
              gpu->capability % 10,
              code < gpu->capability ? TEXT(", code for %d.%d", code / 10, code % 10) : "", gpu->sm_count,
              stencil_plural(gpu->sm_count), 1e-6 * gpu->clock_khz,
              gpu->cooperative ? "" : ", no cooperative launch",
              processors[0] != '\0'
                  ? TEXT("\nPCI %s, near CPUs %s of NUMA node %d", gpu->bus_id, processors, node)
                  : "");
    }
}

static void print_peers(const stencil_machine *machine) {
    if (machine->gpu_count < 2)
        return;
    fputs("Peers       row reads memory of column:\n               ", stdout);
    for (int j = 0; j < machine->gpu_count; j++)
        printf(" %3d", j);
    for (int i = 0; i < machine->gpu_count; i++) {
        printf("\n            %3d", i);
        for (int j = 0; j < machine->gpu_count; j++)
            printf(" %3s", i == j ? "." : machine->peer[i][j] ? "yes" : "no");
    }
    fputc('\n', stdout);
}

/* Prints strategies, a line each: what the strategy is, or why a device cannot run it. A missing GPU is told
 * on a separate line. */
static void print_strategies(const stencil_machine *machine) {
    fputs("\nStrategies (--sync)\n                CPU GPU\n", stdout);
    for (int i = 0; i < stencil_strategy_count(); i++) {
        const stencil_strategy_info info = stencil_strategy_at(i);
        const char *cpu = stencil_strategy_unavailable(i, STENCIL_BACKEND_CPU, machine);
        const char *gpu = stencil_strategy_unavailable(i, STENCIL_BACKEND_GPU, machine);
        printf("  %-13s %-3s %-3s %s\n", info.name, cpu[0] == '\0' ? "yes" : "no",
               gpu[0] == '\0' ? "yes" : "no",
               gpu[0] != '\0' && machine->gpu_count > 0 ? gpu
               : cpu[0] != '\0'                         ? cpu
                                                        : info.summary);
    }
    if (machine->gpu_count == 0)
        printf("  GPU: %s\n", machine->no_gpu_reason);
}

static void print_info(const stencil_machine *machine, const char *why) {
    printf("stencil %s\n\n", STENCIL_VERSION);
    const int64_t cache = machine->cpu_cache_bytes;
    const int on = machine->cpu_processors;
    PRINT("CPU", "%d thread%s%s (%s),\n%s kernels%s", machine->cpu_threads,
          stencil_plural(machine->cpu_threads),
          on > 0 && on < machine->cpu_threads ? TEXT(" on %d processor%s", on, stencil_plural(on)) : "", why,
          machine->cpu_isa, cache > 0 ? TEXT(", %s last-level cache", TEXT_BYTES(cache)) : "");
    PRINT("Memory", "%s available", TEXT_BYTES(machine->host_available_bytes));
    if (machine->driver_version > 0)
        PRINT("CUDA", "driver %s, runtime %s", TEXT_CUDA(machine->driver_version),
              TEXT_CUDA(machine->runtime_version));
    PRINT("Built with", "HDF5 %s, %s", stencil_h5_version(), STENCIL_BUILT_WITH);
    print_gpus(machine);
    print_peers(machine);
    print_strategies(machine);
    fputs("\nSweeps (--sweep)\n", stdout);
    for (const stencil_sweep_info *info = stencil_sweep_infos; info->name != NULL; info++)
        printf("  %-13s %s\n", info->name, info->summary);
    fputs("\nStencils (--stencil)\n", stdout);
    for (int i = 0; i < STENCIL_SHAPE_COUNT; i++)
        printf("  %-13s %2d points: %s\n", stencil_shapes[i].name, stencil_shapes[i].point_count,
               stencil_shapes[i].description);
}

/* Lists all strategies for JSON; "unavailable" is null, or why a strategy cannot run. */
static json_t *strategies_json(const stencil_machine *machine) {
    json_t *array = json_array();
    for (int i = 0; i < stencil_strategy_count(); i++) {
        const stencil_strategy_info info = stencil_strategy_at(i);
        json_array_append_new(
            array,
            json_pack("{s:s, s:s, s:b, s:b, s:{s:o, s:o}}", "name", info.name, "summary", info.summary,
                      "persistent", info.barrier != STENCIL_BARRIER_none, "spans", info.spans, "unavailable",
                      "cpu", json_text(stencil_strategy_unavailable(i, STENCIL_BACKEND_CPU, machine)), "gpu",
                      json_text(stencil_strategy_unavailable(i, STENCIL_BACKEND_GPU, machine))));
    }
    return array;
}

/* Describes the machine in JSON, with all that plans need, as `run --machine` reads it. */
static json_t *info_json(const stencil_machine *machine, const char *why) {
    json_t *root = json_pack("{s:i, s:s, s:s, s:s}", "schema_version", 1, "version", STENCIL_VERSION, "hdf5",
                             stencil_h5_version(), "built_with", STENCIL_BUILT_WITH);
    stencil_machine_write(machine, root);
    json_object_set_new(json_object_get(root, "cpu"), "threads_because", json_text(why));
    json_object_set_new(root, "strategies", strategies_json(machine));
    json_t *sweeps = json_array(), *stencils = json_array();
    for (const stencil_sweep_info *info = stencil_sweep_infos; info->name != NULL; info++)
        json_array_append_new(sweeps, json_pack("{s:s, s:s}", "name", info->name, "summary", info->summary));
    for (const stencil_shape *shape = stencil_shapes; shape < stencil_shapes + STENCIL_SHAPE_COUNT; shape++)
        json_array_append_new(stencils, json_pack("{s:s, s:i, s:i, s:i, s:s}", "name", shape->name, "rank",
                                                  shape->rank, "radius", shape->radius, "points",
                                                  shape->point_count, "description", shape->description));
    json_object_set_new(root, "sweeps", sweeps);
    json_object_set_new(root, "stencils", stencils);
    return root;
}

static stencil_status info_run(invocation *call) {
    const info_options *options = call->values;
    TRY(target_check("--json", options->json, options->force, call->operand[0]));
    stencil_machine machine = {0};
    char why[THREADS_WHY_SIZE];
    threads_default_why(why);
    omp_set_num_threads((int)stencil_smaller(threads_default(), THREADS_MAX));
    if (call->operand_count > 0)
        return info_file(call->operand[0], options->json, options->force);
    TRY(stencil_machine_probe(&machine, STENCIL_STREAMS_PART));
    if (!target_is_stdout(options->json))
        print_info(&machine, why);
    if (options->json == NULL)
        return STENCIL_OK;
    TRY(stencil_machine_ask_all(&machine));
    return json_write("--json", options->json, options->force, info_json(&machine, why));
}

const command command_info = {
    .name = "info",
    .usage = "info [options] [FILE]",
    .summary = "shows devices, strategies and stencils, or what a file is",
    .details =
        "FILE is a problem, a result, a checkpoint, a series or a file of differences: info tells which, and "
        "the digests of its cells, which two machines can compare. Where a run has written other cells or "
        "numbers than it has now, the exit code is 65.",
    .options = info_table,
    .values_size = sizeof(info_options),
    .operand_max = 1,
    .run = info_run,
};

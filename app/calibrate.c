/* stencil calibrate: measures this machine for predictions and --sync auto. */
#include "app/bench.h"
#include "app/json.h"
#include "app/machine.h"
#include "app/options.h"
#include "app/signals.h"
#include "app/text.h"
#include "solver/run.h"

typedef struct calibrate_options {
    stencil_backend backend;
    int64_t threads;
    double seconds, noise;
    const char *json;
    bool force, quiet;
} calibrate_options;

#define LITERALLY(number) #number
#define PRESET(number)    LITERALLY(number)
#define AT(field)         OPTION_AT(calibrate_options, field)
static const option calibrate_table[] = {
    {.heading = "Options"},
    {"device", 0, OPTION_CHOICE, AT(backend), "WHERE", .help = "what to measure; auto: all there is",
     .preset = "auto", .names = stencil_backend_names},
    {"threads", 'j', OPTION_INTEGER, AT(threads), "N", .help = "CPU threads (default: as OpenMP decides)",
     .minimum = 1, .maximum = THREADS_MAX},
    {"seconds", 0, OPTION_REAL, AT(seconds), "S",
     .help = "time for each kind of device; what does not fit in keeps general figures",
     .preset = PRESET(MACHINE_CALIBRATION_S), .maximum = 3600, .positive = true},
    {"noise", 0, OPTION_REAL, AT(noise), "PERCENT",
     .help = "keep nothing where a quarter of the times is less certain than that",
     .preset = PRESET(MACHINE_NOISE_PERCENT)},
    {"json", 0, OPTION_TEXT, AT(json), "FILE",
     .help = "write the machine with its figures, for plan --machine and run --machine; - writes it to "
             "standard output in place of the tables"},
    {"force", 'f', OPTION_FLAG, AT(force), NULL, .help = "replace an existing file", .needs = "json"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), NULL, .help = "print no table and no progress"},
    {NULL},
};

static void print_costs(const stencil_calibration *c, bool several) {
    table t = {0};
    table_add_column(&t, "µs of a step_without compute", true, 0);
    table_add_column(&t, "few_blocks", false, 0);
    table_add_column(&t, "all_blocks", false, 0);
    table_add_column(&t, "check", false, 0);
    if (several) {
        table_add_column(&t, "2_parts", false, 0);
        table_add_column(&t, TEXT("%d_parts", c->most_parts), false, 0);
    }
    for (int i = 0; i < STENCIL_STRATEGIES; i++) {
        const stencil_sync_cost *s = &c->sync[i];
        table_add_row(&t);
        table_add_cell(&t, "%s", stencil_strategy_at(i).name);
        table_add_cell(&t, "%s", TEXT_NUMBER(1e6 * s->few_s));
        table_add_cell(&t, "%s", TEXT_NUMBER(1e6 * s->all_s));
        table_add_cell(&t, "%s", TEXT_NUMBER(1e6 * s->check_s));
        for (int most = 0; most < 2 && several && stencil_strategy_at(i).spans; most++)
            table_add_cell(&t, "%s", TEXT_NUMBER(1e6 * (most ? s->most_s : s->two_s)));
    }
    table_print(stdout, &t);
    table_destroy(&t);
}

/* A column for each sweep and precision in cache and in memory; of launched kernels, or those that stay. */
static void print_rates(const stencil_calibration *c, stencil_loop loop, const char *title) {
    table t = {0};
    table_add_column(&t, title, true, 0);
    for (int k = 0; k < STENCIL_SWEEP_COUNT * STENCIL_PRECISION_COUNT * STENCIL_DISTANCES; k++)
        table_add_column(&t,
                         TEXT("%s_%s_%s",
                              stencil_sweep_infos[k / STENCIL_DISTANCES / STENCIL_PRECISION_COUNT].name,
                              stencil_precision_names[k / STENCIL_DISTANCES % STENCIL_PRECISION_COUNT],
                              k % STENCIL_DISTANCES == STENCIL_NEAR ? "cache" : "memory"),
                         false, 0);
    for (int shape = 0; shape < STENCIL_SHAPE_COUNT; shape++) {
        table_add_row(&t);
        table_add_cell(&t, "%s", stencil_shapes[shape].name);
        for (int k = 0; k < STENCIL_SWEEP_COUNT * STENCIL_PRECISION_COUNT * STENCIL_DISTANCES; k++) {
            const double rate =
                c->rate[shape][k / STENCIL_DISTANCES % STENCIL_PRECISION_COUNT]
                       [k / STENCIL_DISTANCES / STENCIL_PRECISION_COUNT][loop][k % STENCIL_DISTANCES];
            table_add_cell(&t, "%s", rate > 0 ? TEXT_NUMBER(1e-9 * rate) : "–");
        }
    }
    table_print(stdout, &t);
    table_destroy(&t);
}

static void print_calibration(const stencil_machine *machine, bool gpu) {
    const stencil_calibration *c = gpu ? &machine->gpu_costs : &machine->cpu_costs;
    printf("%s\n\n", gpu ? TEXT("%d x %s", machine->gpu_count, machine->gpu[0].name)
                         : TEXT("CPU, %d threads, %s", machine->cpu_threads, machine->cpu_isa));
    print_costs(c, gpu && machine->gpu_count > 1);
    fputc('\n', stdout);
    print_rates(c, STENCIL_LOOP_LAUNCHED, gpu ? "Gcell/s,_launched" : "Gcell/s");
    if (gpu) {
        fputc('\n', stdout);
        print_rates(c, STENCIL_LOOP_PERSISTENT, "Gcell/s,_persistent");
    }
    printf("\ncache: up to %s of arrays; memory: from %s on\n",
           TEXT_BYTES((int64_t)c->set_bytes[STENCIL_NEAR]), TEXT_BYTES((int64_t)c->set_bytes[STENCIL_FAR]));
}

/* One kind of device: measured, printed. */
static stencil_status calibrate(stencil_machine *machine, bool gpu, const calibrate_options *options) {
    TRY(machine_calibrate(machine, gpu, options->seconds, 0.01 * options->noise, options->quiet));
    if (!options->quiet && !target_is_stdout(options->json))
        print_calibration(machine, gpu);
    return machine_keep_costs(machine, gpu);
}

static stencil_status calibrate_run(const invocation *call, int *exit_code) {
    const calibrate_options *options = call->values;
    (void)exit_code;
    stencil_machine *machine = &(stencil_machine){0};
    stencil_notes ignored = {0}; /* what is measured anew */
    TRY(target_check("--json", options->json, options->force, NULL));
    TRY(machine_find(machine, NULL, options->threads, STENCIL_STREAMS_PART, &ignored));
    CHECK(options->backend != STENCIL_BACKEND_GPU || machine->gpu_count > 0, UNAVAILABLE,
          "no GPU here (%s): leave --device gpu out", machine->no_gpu_reason);
    signals_catch();
    if (options->backend != STENCIL_BACKEND_CPU && machine->gpu_count > 0)
        TRY(calibrate(machine, true, options));
    if (options->backend != STENCIL_BACKEND_GPU)
        TRY(calibrate(machine, false, options));
    if (options->json == NULL)
        return STENCIL_OK;
    TRY(stencil_machine_ask_all(machine));
    json_t *root = json_pack("{s:i, s:s}", "schema_version", 1, "version", STENCIL_VERSION);
    stencil_machine_write(machine, root);
    return json_write(options->json, options->force, root);
}

const command command_calibrate = {
    .name = "calibrate",
    .usage = "calibrate [options]",
    .summary = "measures what steps cost here, for predictions and --sync auto",
    .details = "Takes up to 8 seconds for each kind of device, once: what was found is kept in "
               "$XDG_CACHE_HOME/stencil or ~/.cache/stencil for this device, driver and build.",
    .options = calibrate_table,
    .values_size = sizeof(calibrate_options),
    .run = calibrate_run,
};

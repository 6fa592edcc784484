/* stencil calibrate: measures this machine for predictions and --sync auto. */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "app/choice.h"
#include "app/json.h"
#include "app/machine.h"
#include "app/options.h"
#include "app/progress.h"
#include "app/signals.h"
#include "app/table.h"
#include "app/text.h"
#include "bench/check.h"
#include "solver/machine/tuned.h"
#include "solver/plan/plan.h"

typedef struct calibrate_options {
    stencil_run_options run; /* run options that --check uses */
    stencil_backend backend;
    int64_t threads, problems, seed;
    double seconds, noise;
    const char *json, *tuning;
    bool force, quiet;
} calibrate_options;

enum { CHECK_MAX = 1000 };

#define LITERALLY(number) #number
#define PRESET(number)    LITERALLY(number)
#define AT(field)         OPTION_AT(calibrate_options, field)
static const option calibrate_table[] = {
    {.heading = "Options"},
    {"device", 0, OPTION_CHOICE, AT(backend), "WHERE", .help = "what to measure; auto: all there is",
     .preset = "auto", .names = stencil_backend_names},
    {THREADS_OPTION(calibrate_options, threads)},
    {"seconds", 0, OPTION_REAL, AT(seconds), "S",
     .help = "time for each kind of device; what does not fit in keeps general figures",
     .preset = PRESET(MACHINE_CALIBRATION_S), .maximum = 3600, .positive = true},
    {"noise", 0, OPTION_REAL, AT(noise), "PERCENT",
     .help = "keep nothing where a quarter of the times is less certain than that",
     .preset = PRESET(MACHINE_NOISE_PERCENT)},
    {"check", 0, OPTION_INTEGER, AT(problems), "N",
     .help = "then draw N problems, time every plan on each, and compare the one that auto takes with the "
             "fastest",
     .minimum = 1, .maximum = CHECK_MAX},
    {"seed", 0, OPTION_INTEGER, AT(seed), "N", .help = "of the problems", .preset = "1", .needs = "check",
     .minimum = 0, .maximum = UINT32_MAX},
    {"gpus", 'g', OPTION_DEVICES, AT(run.gpu), "N|LIST",
     .help = "that auto may use there: how many (2), or which ones (0,2 or 2,)", .needs = "check",
     .contradicts = {"device cpu"}, .count_offset = offsetof(calibrate_options, run.gpu_count)},
    {"json", 0, OPTION_TEXT, AT(json), "FILE",
     .help = "write the machine with its figures, for plan --machine and run --machine, and the cases of "
             "--check; - writes it to standard output in place of the tables"},
    {"emit-tuning", 0, OPTION_TEXT, AT(tuning), "FILE",
     .help = "write what was measured of the GPU as its file for solver/machine/tuning/, from which builds "
             "have what a GPU is; - writes it to standard output in place of the tables",
     .contradicts = {"device cpu"}},
    {"force", 'f', OPTION_FLAG, AT(force), NULL, .help = "replace an existing file"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), NULL, .help = "print no table and no progress"},
    {NULL},
};

static void print_costs(const stencil_calibration *c, bool several) {
    table t = {0};
    table_add_columns(&t, "<µs of a step_without compute\t>few_blocks\t>all_blocks\t>check");
    if (several)
        table_add_columns(&t, TEXT(">2_parts\t>%d_parts", c->most_parts));
    for (int i = 0; i < STENCIL_STRATEGIES; i++) {
        const stencil_sync_cost *s = &c->sync[i];
        table_add_line(&t, "%s\t%s\t%s\t%s", stencil_strategy_at(i).name, TEXT_NUMBER(1e6 * s->few_s),
                       TEXT_NUMBER(1e6 * s->all_s), TEXT_NUMBER(1e6 * s->check_s));
        for (int most = 0; most < 2 && several && stencil_strategy_at(i).spans; most++)
            table_add_cell(&t, "%s", TEXT_NUMBER(1e6 * (most ? s->most_s : s->two_s)));
    }
    table_print(stdout, &t);
}

/* Prints calibrated rates, of launched or persistent kernels (`loop`): a column for each sweep and precision,
 * in cache and in memory, that has a rate. */
static void print_rates(const stencil_calibration *c, stencil_loop loop, const char *title) {
    enum { COLUMNS = STENCIL_SWEEP_COUNT * STENCIL_PRECISION_COUNT * STENCIL_DISTANCES };
    double rate[STENCIL_SHAPE_COUNT][COLUMNS];
    bool has_rates[COLUMNS] = {false};
    for (int shape = 0; shape < STENCIL_SHAPE_COUNT; shape++)
        for (int k = 0; k < COLUMNS; k++) {
            rate[shape][k] =
                c->rate[shape][k / STENCIL_DISTANCES % STENCIL_PRECISION_COUNT]
                       [k / STENCIL_DISTANCES / STENCIL_PRECISION_COUNT][loop][k % STENCIL_DISTANCES];
            has_rates[k] |= rate[shape][k] > 0;
        }
    table t = {0};
    table_add_columns(&t, title);
    for (int k = 0; k < COLUMNS; k++)
        if (has_rates[k])
            table_add_columns(&t,
                              TEXT(">%s_%s_%s",
                                   stencil_sweep_infos[k / STENCIL_DISTANCES / STENCIL_PRECISION_COUNT].name,
                                   stencil_precision_names[k / STENCIL_DISTANCES % STENCIL_PRECISION_COUNT],
                                   k % STENCIL_DISTANCES == STENCIL_NEAR ? "cache" : "memory"));
    for (int shape = 0; shape < STENCIL_SHAPE_COUNT; shape++) {
        table_add_line(&t, "%s", stencil_shapes[shape].name);
        for (int k = 0; k < COLUMNS; k++)
            if (has_rates[k])
                table_add_cell(&t, "%s", rate[shape][k] > 0 ? TEXT_NUMBER(1e-9 * rate[shape][k]) : "–");
    }
    table_print(stdout, &t);
}

static void print_calibration(const stencil_machine *machine, bool gpu) {
    const stencil_calibration *c = gpu ? &machine->gpu_costs : &machine->cpu_costs;
    printf("%s\n\n", gpu ? TEXT("%d x %s", machine->gpu_count, machine->gpu[0].name)
                         : TEXT("CPU, %d threads, %s", machine->cpu_threads, machine->cpu_isa));
    print_costs(c, gpu && machine->gpu_count > 1);
    fputc('\n', stdout);
    print_rates(c, STENCIL_LOOP_LAUNCHED, gpu ? "<Gcell/s,_launched" : "<Gcell/s");
    if (gpu) {
        fputc('\n', stdout);
        print_rates(c, STENCIL_LOOP_PERSISTENT, "<Gcell/s,_persistent");
    }
    printf("\ncache: up to %s of arrays; memory: from %s on\n",
           TEXT_BYTES((int64_t)c->set_bytes[STENCIL_NEAR]), TEXT_BYTES((int64_t)c->set_bytes[STENCIL_FAR]));
}

static bool shows_tables(const calibrate_options *options) {
    return !options->quiet && !target_is_stdout(options->json) && !target_is_stdout(options->tuning);
}

/* Measures and prints the calibration of the GPUs or the CPU. A failure to store it goes to `kept`. */
static stencil_status calibrate(stencil_machine *machine, bool gpu, const calibrate_options *options,
                                stencil_error *kept) {
    TRY(machine_calibrate(machine, gpu, options->seconds, 0.01 * options->noise, options->quiet));
    if (shows_tables(options))
        print_calibration(machine, gpu);
    if (machine_keep_costs(machine, gpu) != STENCIL_OK)
        *kept = *stencil_error_last();
    return STENCIL_OK;
}

static bool show(void *context, int done, const char *problem) {
    const calibrate_options *options = context;
    progress_say(options->quiet,
                 TEXT("problem %d of %lld: %s", done + 1, (long long)options->problems, problem));
    return signals_caught == 0;
}

static bool go_on(void *context) {
    (void)context;
    return signals_caught == 0;
}

/* Prints the plans that --sync auto chose for each problem, and how choices and predictions agree with what
 * was measured. */
static void print_check(const stencil_check_case *cases, int count) {
    table t = {0};
    char name[64], fastest[64];
    double off[CHECK_MAX], loss_sum = 0, worst = 0;
    int close = 0, predicted = 0; /* number of cases within 5 % of the fastest plan; predicted within 25 % */
    table_add_columns(&t, "<problem\t<auto\t>µs/step\t>predicted\t>loss\t<?fastest");
    for (int i = 0; i < count; i++) {
        const stencil_check_case *c = &cases[i];
        const double loss = stencil_check_loss(c), error = stencil_check_error(c);
        table_add_line(&t, "%s\t%s\t%s\t%+.0f%%\t%.1f%%\t%s", c->problem, choice_name(&c->chosen, name),
                       TEXT_NUMBER(1e6 * c->chosen.step_s), 100 * error, 100 * loss,
                       loss > 0 ? choice_name(&c->fastest, fastest) : "");
        off[i] = fabs(error);
        close += loss <= 0.05;
        predicted += off[i] <= 0.25;
        loss_sum += loss / count;
        worst = fmax(worst, loss);
    }
    stencil_sort(off, (size_t)count);
    table_print(stdout, &t);
    printf("\nauto         within 5 %% of the fastest plan in %d of %d problems\n"
           "loss         %.2f %% in the mean, %.1f %% at most\n"
           "predictions  within 25 %% in %d of %d problems, median error %.1f %%\n",
           close, count, 100 * loss_sum, 100 * worst, predicted, count, 100 * off[count / 2]);
}

static json_t *check_json(const stencil_check_case *cases, int count) {
    json_t *array = json_array();
    char name[64], best[64];
    for (int i = 0; i < count; i++) {
        const stencil_check_case *c = &cases[i];
        json_array_append_new(
            array,
            json_pack("{s:s, s:s, s:f, s:f, s:s, s:f, s:f, s:f, s:f, s:i, s:I}", "problem", c->problem,
                      "auto", choice_name(&c->chosen, name), "auto_us_per_step", 1e6 * c->chosen.step_s,
                      "auto_spread_us", 1e6 * c->chosen.spread_s, "best", choice_name(&c->fastest, best),
                      "best_us_per_step", 1e6 * c->fastest.step_s, "best_spread_us",
                      1e6 * c->fastest.spread_s, "predicted_us_per_step", 1e6 * c->chosen.cost.step_s, "loss",
                      stencil_check_loss(c), "plans", c->plans, "steps", (json_int_t)c->steps));
    }
    return array;
}

/* Draws random problems and prints the choices of --sync auto; *cases: array for JSON, if there are any. */
static stencil_status check(stencil_machine *machine, const calibrate_options *options, json_t **cases) {
    stencil_check_options o = {.problems = (int)options->problems,
                               .seed = (uint64_t)options->seed,
                               .run = options->run,
                               .progress = show,
                               .poll = go_on,
                               .context = (void *)options};
    o.run.backend = o.run.gpu_count > 0 ? STENCIL_BACKEND_GPU : options->backend;
    int count;
    stencil_check_case *all = calloc((size_t)options->problems, sizeof *all);
    CHECK(all != NULL, NO_MEMORY, "no memory for %lld problems", (long long)options->problems);
    const stencil_status status = stencil_check_choice(&o, machine, all, &count);
    progress_say(options->quiet, "");
    if (count > 0 && shows_tables(options)) {
        fputc('\n', stdout);
        print_check(all, count);
    }
    *cases = check_json(all, count);
    free(all);
    return status;
}

static stencil_status write_json(stencil_machine *machine, const calibrate_options *options,
                                 const char *command_line, json_t *cases) {
    TRY(stencil_machine_ask_all(machine));
    json_t *root = json_pack("{s:i, s:s, s:s}", "schema_version", 1, "version", STENCIL_VERSION,
                             "command_line", command_line);
    stencil_machine_write(machine, root);
    if (cases != NULL)
        json_object_set(root, "cases", cases);
    return json_write("--json", options->json, options->force, root);
}

/* The target_printer of --emit-tuning; `content` is the machine. */
static bool print_tuning(FILE *out, const void *content) {
    char date[16] = "";
    struct tm utc;
    const time_t now = time(NULL);
    if (gmtime_r(&now, &utc) != NULL)
        strftime(date, sizeof date, "%Y-%m-%d", &utc);
    stencil_tuning_write(out, content, date);
    return ferror(out) == 0;
}

/* Checks, before anything is measured, that output files can be written. */
static stencil_status check_targets(const calibrate_options *options) {
    CHECK(!options->force || options->json != NULL || options->tuning != NULL, USAGE,
          "--force has no effect without --json: give both");
    TRY(target_check("--json", options->json, options->force, NULL));
    TRY(target_check("--emit-tuning", options->tuning, options->force, NULL));
    CHECK(!target_is_stdout(options->json) || !target_is_stdout(options->tuning), USAGE,
          "--json and --emit-tuning both ask for standard output: give one of them a file");
    return target_check_apart("--emit-tuning", options->tuning, options->json, "JSON");
}

static stencil_status calibrate_run(invocation *call) {
    const calibrate_options *options = call->values;
    stencil_machine *machine = &(stencil_machine){0};
    stencil_notes ignored = {0}; /* notes about a calibration that is replaced */
    TRY(check_targets(options));
    TRY(machine_find(machine, NULL, options->threads, STENCIL_STREAMS_PART, &ignored));
    CHECK(options->backend != STENCIL_BACKEND_GPU || machine->gpu_count > 0, UNAVAILABLE,
          "no GPU here (%s): leave --device gpu out", machine->no_gpu_reason);
    CHECK(options->tuning == NULL || machine->gpu_count > 0, UNAVAILABLE,
          "no GPU here (%s): leave --emit-tuning out", machine->no_gpu_reason);
    signals_catch();
    stencil_error kept = {.status = STENCIL_OK};
    if (options->backend != STENCIL_BACKEND_CPU && machine->gpu_count > 0)
        TRY(calibrate(machine, true, options, &kept));
    TRY(target_write("--emit-tuning", options->tuning, options->force, print_tuning, machine));
    if (options->backend != STENCIL_BACKEND_GPU)
        TRY(calibrate(machine, false, options, &kept));
    json_t *cases = NULL;
    const stencil_status status = options->problems > 0 ? check(machine, options, &cases) : STENCIL_OK;
    const stencil_error failure = status != STENCIL_OK ? *stencil_error_last() : kept;
    stencil_status written = STENCIL_OK;
    if (options->json != NULL && (status == STENCIL_OK || json_array_size(cases) > 0))
        written = write_json(machine, options, call->command_line, cases);
    json_decref(cases);
    return failure.status != STENCIL_OK ? stencil_error_adopt(&failure) : written;
}

const command command_calibrate = {
    .name = "calibrate",
    .usage = "calibrate [options]",
    .summary = "measures what steps cost here, for predictions and --sync auto",
    .details = "Takes up to 8 seconds for each kind of device, once: what was found is kept in "
               "$XDG_CACHE_HOME/stencil or ~/.cache/stencil for this device, driver and build. --check makes "
               "two runs of each problem, which have to give the same bits: one in which all plans take "
               "turns, and one in which auto chooses, without wisdom.",
    .options = calibrate_table,
    .values_size = sizeof(calibrate_options),
    .alone = true,
    .ranks = RANKS_NONE,
    .run = calibrate_run,
};

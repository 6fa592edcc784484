#include "app/choice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/json.h"
#include "app/machine.h"
#include "app/signals.h"
#include "app/table.h"
#include "app/text.h"

const char *const choice_syncs[] = {
    "auto",
#define STENCIL_STRATEGY(id, name, parts, text) name,
#include "solver/machine/strategies.def"
#define STENCIL_BARRIER(id, name, capability, needs, text) name,
#include "sync/barriers.def"
    NULL,
};

const char *const choice_sweeps[] = {
    "auto",
#define STENCIL_SWEEP(name, exchanges, text) #name,
#include "kernels/sweeps.def"
    NULL,
};

/* Returns the devices of a candidate plan: "CPU", "GPU", "4 GPUs"; of an impossible plan, as far as known. */
static const char *device_text(const stencil_candidate *c, char text[32]) {
    const stencil_plan *plan = &c->plan;
    const int parts = c->possible ? plan->cut.parts : c->options.gpu_count;
    const bool known = c->possible || plan->backend != STENCIL_BACKEND_AUTO;
    const bool cpu = (known ? plan->backend : c->options.backend) == STENCIL_BACKEND_CPU;
    snprintf(text, 32, cpu ? "CPU" : parts > 1 ? "%d GPUs" : "GPU", parts);
    return text;
}

const char *choice_name(const stencil_candidate *c, char text[64]) {
    char device[32];
    snprintf(text, 64, "%s, %s, %s", c->options.sync, c->options.sweep, device_text(c, device));
    return text;
}

static double known_s(const stencil_candidate *c) {
    return c->samples > 0 ? c->step_s : c->cost.step_s;
}

/* Replaces *rival by each possible candidate that is quicker, except the run's own. */
static void look_for_rival(const stencil_choice *choice, const stencil_candidate *own,
                           stencil_candidate *rival) {
    for (int i = 0; i < choice->possible; i++) {
        const stencil_candidate *c = &choice->item[i];
        const bool same = c->plan.strategy == own->plan.strategy && c->plan.sweep == own->plan.sweep &&
                          c->plan.backend == own->plan.backend && c->plan.cut.parts == own->plan.cut.parts;
        if (!same && (!rival->possible || known_s(c) < known_s(rival)))
            *rival = *c;
    }
}

void choice_rival(const stencil_choice *choice, const stencil_problem *problem,
                  const stencil_machine *machine, stencil_candidate *rival) {
    const stencil_candidate *own = &choice->item[choice->chosen];
    stencil_run_options open = choice->asked;
    stencil_choice all = {0};
    *rival = (stencil_candidate){.possible = false};
    if (open.sync == NULL && open.sweep == NULL) {
        look_for_rival(choice, own, rival);
        return;
    }
    open.sync = open.sweep = NULL;
    if (stencil_choice_make(&all, problem, &open, machine) == STENCIL_OK)
        look_for_rival(&all, own, rival);
    stencil_choice_destroy(&all);
}

/* Table columns for possible plans; plan_cells() returns the cells of a row in these columns. */
#define PLAN_COLUMNS "<--sweep\t>depth\t<on\t>µs/step_predicted"
static const char *plan_cells(const stencil_candidate *c, char text[160]) {
    char device[32];
    snprintf(text, 160, "%s\t%d\t%s\t%s", c->options.sweep, c->plan.depth, device_text(c, device),
             TEXT_NUMBER(1e6 * c->cost.step_s));
    return text;
}

void choice_print_terms(const stencil_choice *choice, const stencil_problem *problem) {
    enum { TERMS = 5 };
    const double cells = (double)stencil_problem_cells(problem);
    bool halos = false; /* some plan has several parts, which exchange halos */
    for (int i = 0; i < choice->possible; i++)
        halos = halos || choice->item[i].cost.halo_s > 0;
    table t = {0};
    char plan[160];
    table_add_columns(&t, "<--sync\t" PLAN_COLUMNS "\t>launch\t>barrier\t>compute\t>check");
    table_add_columns(&t, halos ? ">halo\t>?Gcell/s" : ">?Gcell/s");
    for (int i = 0; i < choice->possible; i++) {
        const stencil_cost *c = &choice->item[i].cost;
        const double term_s[TERMS] = {c->launch_s, c->barrier_s, c->compute_s, c->check_s, c->halo_s};
        table_add_line(&t, "%s\t%s", choice->item[i].options.sync, plan_cells(&choice->item[i], plan));
        for (int k = 0; k < TERMS - !halos; k++)
            table_add_cell(&t, "%.2f", 1e6 * term_s[k]);
        table_add_cell(&t, "%.4g", 1e-9 * cells / c->step_s);
    }
    table_print(stdout, &t);
    if (t.column[t.column_count - 1].hidden)
        PRINT("Gcell/s", "%s divided by the µs per step (no room for a column)", TEXT_NUMBER(1e-3 * cells));
}

/* Printing state of a candidate plan: candidates that are alike share a row. */
typedef struct telling {
    const stencil_candidate *of;
    const char *reason;
    char device[32];
    unsigned sweeps; /* bits of the sweeps with which its strategy fails for this reason */
    bool told;
} telling;

/* Returns why a candidate is impossible, without leading names that its table row has already. */
static const char *reason_of(const stencil_choice *choice, const stencil_candidate *c) {
    const char *const starts[] = {TEXT("--sync %s ", c->options.sync),
                                  TEXT("--sweep %s is not available here: ", c->options.sweep),
                                  TEXT("--sweep %s: ", c->options.sweep)};
    if (c == &choice->item[choice->chosen] && c->why[0] == '\0')
        return "chosen";
    for (size_t i = 0; i < sizeof starts / sizeof *starts && !c->possible; i++)
        if (strncmp(c->why, starts[i], strlen(starts[i])) == 0)
            return c->why + strlen(starts[i]);
    return c->why;
}

static unsigned sweep_bit(const stencil_candidate *c) {
    return 1U << stencil_name_find(c->options.sweep, choice_sweeps);
}

static bool is_same_case(const telling *a, const telling *b) {
    return a->of->possible == b->of->possible && strcmp(a->device, b->device) == 0 &&
           strcmp(a->reason, b->reason) == 0;
}

/* Tells whether one table row serves for both candidates. */
static bool is_alike(const telling *a, const telling *b) {
    const stencil_candidate *x = a->of, *y = b->of;
    if (!is_same_case(a, b) || a->sweeps != b->sweeps)
        return false;
    return !x->possible ||
           (x->samples + y->samples == 0 && x->plan.depth == y->plan.depth &&
            strcmp(x->options.sweep, y->options.sweep) == 0 && x->cost.step_s == y->cost.step_s);
}

static telling *tellings_make(const stencil_choice *choice) {
    telling *list = calloc((size_t)choice->count + 1, sizeof *list);
    for (int i = 0; i < choice->count && list != NULL; i++) {
        list[i].of = &choice->item[i];
        list[i].reason = reason_of(choice, list[i].of);
        device_text(list[i].of, list[i].device);
    }
    for (int i = choice->possible; i < choice->count && list != NULL; i++)
        for (int j = choice->possible; j < choice->count; j++)
            if (is_same_case(&list[i], &list[j]) &&
                strcmp(list[i].of->options.sync, list[j].of->options.sync) == 0)
                list[i].sweeps |= sweep_bit(list[j].of);
    return list;
}

/* Returns the strategies of all candidates like list[first], and marks these as told: "lock, central", or
 * "any strategy" for all of several on the device. */
static const char *take_names(telling *list, int count, int first, char text[256]) {
    bool all = true;
    int names = 0;
    text[0] = '\0';
    for (int i = 0; i < count; i++) {
        const stencil_candidate *c = list[i].of;
        const bool alike = !list[i].told && is_alike(&list[first], &list[i]);
        if (alike && strcmp(c->options.sweep, list[first].of->options.sweep) == 0)
            stencil_text_add(text, 256, "%s%s", names++ > 0 ? ", " : "", c->options.sync);
        all = all && (alike || strcmp(list[first].device, list[i].device) != 0 ||
                      (list[first].sweeps & sweep_bit(c)) == 0);
        list[i].told = list[i].told || alike;
    }
    return all && names > 1 && !list[first].of->possible ? "any strategy" : text;
}

/* Returns names of the sweeps in a bit set: "stream, naive", or "any sweep". */
static const char *sweeps_text(unsigned sweeps, char text[128]) {
    int names = 0;
    text[0] = '\0';
    for (int i = 1; choice_sweeps[i] != NULL; i++)
        if ((sweeps >> i & 1) != 0)
            stencil_text_add(text, 128, "%s%s", names++ > 0 ? ", " : "", choice_sweeps[i]);
    return names == STENCIL_SWEEP_COUNT ? "any sweep" : text;
}

static void print_impossible(const stencil_choice *choice, telling *list) {
    char names[256], sweeps[128];
    const char *label = "Cannot run";
    for (int i = choice->possible; i < choice->count; i++) {
        if (list[i].told)
            continue;
        const char *strategies = take_names(list, choice->count, i, names);
        PRINT(label, "%s on %s, %s: %s", sweeps_text(list[i].sweeps, sweeps), list[i].device, strategies,
              list[i].reason);
        label = "";
    }
}

void choice_print_reasons(const stencil_choice *choice) {
    char names[256], plan[160];
    telling *list = tellings_make(choice);
    table t = {0};
    table_add_columns(&t, PLAN_COLUMNS "\t>measured\t<--sync");
    for (int i = 0; i < choice->possible && list != NULL; i++) {
        const stencil_candidate *c = list[i].of;
        if (list[i].told)
            continue;
        table_add_line(&t, "%s\t%s\t" TABLE_SPAN "%s: %s", plan_cells(c, plan),
                       c->samples > 0 ? TEXT_NUMBER(1e6 * c->step_s) : "–",
                       take_names(list, choice->possible, i, names), list[i].reason);
    }
    table_print(stdout, &t);
    if (list != NULL)
        print_impossible(choice, list);
    free(list);
}

json_t *choice_json(const stencil_choice *choice) {
    json_t *plans = json_array();
    for (int i = 0; i < choice->count; i++) {
        const stencil_candidate *c = &choice->item[i];
        const stencil_cost *cost = &c->cost;
        char device[32];
        json_t *depth = c->possible ? json_integer(c->plan.depth) : json_null();
        json_t *terms = c->possible
                            ? json_pack("{s:f, s:f, s:f, s:f, s:f, s:f}", "step_us", 1e6 * cost->step_s,
                                        "launch_us", 1e6 * cost->launch_s, "barrier_us",
                                        1e6 * cost->barrier_s, "compute_us", 1e6 * cost->compute_s, "halo_us",
                                        1e6 * cost->halo_s, "check_us", 1e6 * cost->check_s)
                            : json_null();
        json_array_append_new(plans,
                              json_pack("{s:s, s:s, s:o, s:s, s:o, s:o, s:o, s:b, s:o}", "sync",
                                        c->options.sync, "sweep", c->options.sweep, "depth", depth, "on",
                                        device_text(c, device), "predicted", terms, "measured_us",
                                        json_number(c->samples > 0 ? 1e6 * c->step_s : NAN), "spread_us",
                                        json_number(c->samples > 0 ? 1e6 * c->spread_s : NAN), "chosen",
                                        i == choice->chosen, "why", json_text(c->why)));
    }
    return plans;
}

/* Least length of a run that calibrates the machine, in calibration times. */
enum { WORTH_CALIBRATIONS = 10 };

/* Calibrates the machine where the run is long enough and there is no calibration yet. */
static stencil_status calibrate(auto_choice *a, const stencil_problem *problem, stencil_machine *machine,
                                bool quiet, stencil_notes *notes) {
    const stencil_candidate *c = &a->choice.item[a->choice.chosen];
    const bool gpu = c->plan.backend == STENCIL_BACKEND_GPU;
    const double run_s = stencil_tune_steps(problem) * c->cost.step_s;
    if (a->choice.asked.sync != NULL || (gpu ? machine->gpu_costs : machine->cpu_costs).measured ||
        run_s < WORTH_CALIBRATIONS * MACHINE_CALIBRATION_S)
        return STENCIL_OK;
    const stencil_run_options asked = a->choice.asked;
    signals_catch();
    const stencil_status status =
        machine_calibrate(machine, gpu, MACHINE_CALIBRATION_S, 0.01 * MACHINE_NOISE_PERCENT, quiet);
    if (status == STENCIL_INTERRUPTED) /* the signal also ends the run, which writes its result */
        return STENCIL_OK;
    if (status != STENCIL_OK)
        stencil_notes_add(notes, "no calibration: %s", stencil_error_last()->message);
    else
        (void)machine_keep_costs(machine, gpu); /* after a failure the next run calibrates again */
    stencil_choice_destroy(&a->choice);
    return stencil_choice_make(&a->choice, problem, &asked, machine);
}

stencil_status auto_choose(auto_choice *a, const stencil_problem *problem, stencil_machine *machine,
                           const auto_options *options, stencil_notes *notes) {
    const stencil_wait_policy *wait = &a->choice.asked.wait; /* faults make a measurement worthless */
    const bool late = wait->fault.delay_ns != 0 || wait->fault.absent_step != 0 || wait->illegal_step != 0 ||
                      wait->flip_step != 0;
    wisdom_path(late ? "off" : options->wisdom, a->wisdom);
    if (options->wisdom != NULL && a->wisdom[0] != '\0')
        TRY(wisdom_check("wisdom", a->wisdom));
    stencil_effort effort = late || options->dry_run ? STENCIL_EFFORT_ESTIMATE : options->effort;
    if (effort != STENCIL_EFFORT_ESTIMATE)
        TRY(calibrate(a, problem, machine, options->quiet > 0, notes));
    const int found = options->effort >= STENCIL_EFFORT_PATIENT || a->choice.possible < 2
                          ? -1
                          : wisdom_find(a->wisdom, &a->choice, problem, machine, notes);
    if (found >= 0) {
        a->choice.chosen = found;
        a->wise = true;
        effort = STENCIL_EFFORT_ESTIMATE;
    }
    return stencil_tune_start(&a->tune, &a->choice, problem, machine, effort);
}

void auto_keep(const auto_choice *a, const stencil_problem *problem, const stencil_machine *machine,
               bool named, stencil_notes *notes) {
    if (a->tune.done && a->wisdom[0] != '\0' &&
        wisdom_keep(a->wisdom, named, &a->choice, problem, machine) != STENCIL_OK && named)
        stencil_notes_add(notes, "wisdom is not kept: %s", stencil_error_last()->message);
}

#include "solver/plan/choose.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/plan/sweep.h"

/* Factor by which a candidate on another device than the usual one must be quicker, since predictions err. */
static const double other_device = 1.25;
/* Factor within which predicted times count as equal. */
static const double as_good = 1.01;

/* Devices to try: GPUs of the options from the first on, or the CPU. */
typedef struct devices {
    stencil_backend backend;
    int gpus; /* 0: as many as in the options */
} devices;
enum { DEVICES_MAX = 8 };

static bool counts_are_open(const stencil_run_options *o) {
    return o->sync == NULL && o->cut[0] + o->cut[1] + o->cut[2] == 0 && o->halo == STENCIL_HALO_AUTO &&
           !o->overlap && o->parts == 0 && o->wait.fault.absent_step == 0 &&
           !stencil_gpus_are_shared(o->gpu, o->gpu_count);
}

/* Lists the devices to try, those of the options first, and returns how many they are. */
static int devices_of(devices list[DEVICES_MAX], const stencil_run_options *o,
                      const stencil_machine *machine) {
    int count = 0;
    list[count++] = (devices){o->backend, o->gpu_count};
    if (!counts_are_open(o))
        return count;
    for (int gpus = 1; gpus < o->gpu_count && count < DEVICES_MAX; gpus *= 2)
        list[count++] = (devices){STENCIL_BACKEND_GPU, gpus};
    if (o->backend == STENCIL_BACKEND_AUTO && o->gpu_count == 0 && machine->gpu_count > 0)
        list[count++] = (devices){STENCIL_BACKEND_CPU, 0};
    return count;
}

/* Makes a candidate's plan and predicts its step, or notes why there is no plan. */
static void try_candidate(stencil_candidate *c, const stencil_problem *problem,
                          const stencil_machine *machine) {
    c->possible = stencil_plan_make(&c->plan, problem, &c->options, machine) == STENCIL_OK;
    if (c->possible)
        c->cost = stencil_model_step(&c->plan, problem, machine);
    else
        snprintf(c->why, sizeof c->why, "%.150s", stencil_error_last()->message);
}

/* Tells whether two candidates run the same code: strategies with equal `team` and no barrier on a CPU. */
static bool is_same(const stencil_candidate *a, const stencil_candidate *b) {
    const stencil_plan *x = &a->plan, *y = &b->plan;
    const stencil_strategy_info s = stencil_strategy_at(x->strategy), t = stencil_strategy_at(y->strategy);
    return a->possible && b->possible && x->sweep == y->sweep && x->backend == y->backend &&
           x->cut.parts == y->cut.parts && x->barrier == y->barrier && x->barrier == STENCIL_BARRIER_none &&
           x->backend == STENCIL_BACKEND_CPU && s.team == t.team;
}

static bool is_known(const stencil_choice *choice, const stencil_candidate *c) {
    for (int i = 0; i < choice->count; i++)
        if (is_same(&choice->item[i], c))
            return true;
    return false;
}

static int by_time(const void *a, const void *b) {
    const stencil_candidate *x = a, *y = b;
    if (x->possible != y->possible)
        return x->possible ? -1 : 1;
    const double more_s = x->cost.step_s - y->cost.step_s;
    return more_s != 0 ? (more_s > 0) - (more_s < 0) : x->order - y->order;
}

/* Predicted seconds of a candidate's step, with a penalty on other devices than the usual ones. */
static double comparable_s(const stencil_candidate *c, const devices *usual) {
    const bool same = c->options.gpu_count == usual->gpus && c->options.backend == usual->backend;
    return c->cost.step_s * (same ? 1 : other_device);
}

/* Finds the candidate that comes first in the order of strategies among the fastest. */
static int find_best(const stencil_choice *choice, const devices *usual) {
    double best_s = INFINITY;
    int best = 0;
    for (int i = 0; i < choice->possible; i++) {
        const double time_s = comparable_s(&choice->item[i], usual);
        best_s = time_s < best_s ? time_s : best_s;
    }
    for (int i = 0, order = INT_MAX; i < choice->possible; i++) {
        const stencil_candidate *c = &choice->item[i];
        if (comparable_s(c, usual) <= as_good * best_s && c->order < order) {
            best = i;
            order = c->order;
        }
    }
    return best;
}

/* Returns the options, with sync "neighbor" where they name a persistent loop as sweep and no sync. */
static stencil_run_options with_barrier(const stencil_run_options *options, const stencil_problem *problem) {
    stencil_run_options first = *options;
    const bool loops = stencil_world_alone(options->world) || options->ranks_reach;
    const int sweep = options->sweep != NULL && options->sync == NULL && loops
                          ? stencil_name_find(options->sweep, stencil_sweep_names)
                          : -1;
    if (sweep >= 0 && !stencil_sweep_can((stencil_sweep_id)sweep, problem, STENCIL_NEED_LAUNCHES))
        first.sync = "neighbor";
    return first;
}

stencil_status stencil_choice_make(stencil_choice *choice, const stencil_problem *problem,
                                   const stencil_run_options *options, const stencil_machine *machine) {
    devices device[DEVICES_MAX];
    const int device_count = devices_of(device, options, machine), strategies = stencil_strategy_count();
    const int most = device_count * strategies * STENCIL_SWEEP_COUNT;
    bool usual = false; /* a full or missing GPU is no reason to take another one */
    *choice = (stencil_choice){.item = calloc((size_t)most, sizeof *choice->item), .asked = *options};
    CHECK(choice->item != NULL, NO_MEMORY, "no memory for %d plans", most);
    for (int i = 0; i < most; i++) {
        const devices *on = &device[i / STENCIL_SWEEP_COUNT / strategies];
        const int strategy = i / STENCIL_SWEEP_COUNT % strategies;
        const stencil_sweep_info *sweep = &stencil_sweep_infos[i % STENCIL_SWEEP_COUNT];
        const char *sync = stencil_strategy_at(strategy).name;
        if ((options->sync != NULL && strcmp(options->sync, sync) != 0) ||
            (options->sweep != NULL && strcmp(options->sweep, sweep->name) != 0))
            continue;
        stencil_candidate *c = &choice->item[choice->count];
        *c = (stencil_candidate){.options = *options, .order = i};
        c->options.sync = sync;
        c->options.sweep = sweep->name;
        c->options.backend = on->backend;
        c->options.gpu_count = on->gpus;
        try_candidate(c, problem, machine);
        usual = usual || (c->possible && on == &device[0]);
        if ((c->possible && c->plan.strategy != strategy && options->sync == NULL) || is_known(choice, c))
            continue;
        choice->possible += c->possible;
        choice->count++;
    }
    qsort(choice->item, (size_t)choice->count, sizeof *choice->item, by_time);
    if (!usual) { /* the usual plan says why; a field too small for its parts goes to fewer devices */
        stencil_plan none;
        const stencil_run_options first = with_barrier(options, problem);
        const stencil_status status = stencil_plan_make(&none, problem, &first, machine);
        if (status != STENCIL_USAGE || choice->possible == 0 || options->gpu_count < 2)
            return status;
    }
    choice->chosen = find_best(choice, &device[0]);
    return STENCIL_OK;
}

void stencil_choice_destroy(stencil_choice *choice) {
    free(choice->item);
    *choice = (stencil_choice){0};
}

#include "solver/run/calibrate.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#include "solver/plan/model.h"
#include "solver/plan/sweep.h"
#include "solver/run/run.h"

/* Constants of a calibration, none of which depends on a GPU. A timed batch of steps lasts at least batch_s;
 * more than BATCHES batches are timed, or fewer (at least two) if these take longer than long_s. */
static const double batch_s = 1e-3, long_s = 15e-3;
static const double filling[STENCIL_FILLINGS] = {0.05, 0.9,
                                                 2}; /* fields of small sizes, in units of row_cells() */
/* Size of fields in GPU memory over the smallest such size, since tiles fit badly into short rows. */
static const double far_sets = 2.5;
#define STEPS_MAX (INT64_C(1) << 50)
enum { NOISY_TIMES = 16, BATCHES = 3, STEPS_FIRST = 128, CPU_ROW_CELLS = 4096 };

typedef struct work {
    stencil_machine *machine;
    stencil_calibration *costs;
    bool gpu;
    stencil_backend backend;
    double start_s, seconds, noise;
    stencil_calibrate_progress *progress;
    void *context;
    int reference[STENCIL_LOOP_COUNT]; /* index of the strategy that times the kernels of each loop */
    int timed, noisy;                  /* number of timings, and of unreliable timings */
    stencil_problem problem;           /* problem and plan of the last timed step */
    stencil_plan plan;
} work;

/* Configuration of a timed run. */
typedef struct subject {
    stencil_shape_id shape;
    stencil_precision precision;
    int sweep, strategy, gpus;
    double cells;
    int64_t check_every;
} subject;

static bool is_noisy(const work *w) {
    return 4 * w->noisy > w->timed;
}

/* Tells whether the calibration has used up its time, or its timings are too noisy to go on. */
static bool time_is_over(const work *w) {
    return (w->timed > NOISY_TIMES && is_noisy(w)) || stencil_clock_s() - w->start_s >= w->seconds;
}

static stencil_status tell(const work *w, const char *what) {
    const double done = (stencil_clock_s() - w->start_s) / w->seconds;
    CHECK(w->progress(w->context, done, what), INTERRUPTED, "calibration interrupted");
    return STENCIL_OK;
}

/* An observer that times batches of steps: it doubles their length up to batch_s, then keeps the quickest. */
typedef struct stopwatch {
    int64_t steps;
    int64_t next;
    double start_s, mark_s, step_s, second_s; /* step_s, second_s: of the quickest batches */
    int batches;
} stopwatch;

static int64_t next_look(void *context, int64_t step) {
    const stopwatch *t = context;
    return t->next > step ? t->next : step + t->steps;
}

static stencil_status look(void *context, stencil_report *report) {
    stopwatch *t = context;
    const double now_s = report->compute_s, batch = now_s - t->mark_s, step_s = batch / (double)t->steps;
    t->mark_s = now_s;
    if (batch < batch_s && t->batches == 0) {
        t->steps = (int64_t)fmin(fmax(2 * batch_s / fmax(step_s, 1e-9), 2), 1 << 20);
        t->start_s = now_s;
    } else {
        t->second_s = fmin(t->second_s, fmax(step_s, t->step_s));
        t->step_s = fmin(t->step_s, step_s);
        t->batches++;
    }
    t->next = report->steps + t->steps;
    if (t->batches > BATCHES || (t->batches > 1 && now_s - t->start_s > long_s))
        report->reason = STENCIL_REASON_STEPS;
    return STENCIL_OK;
}

/* Fills a box of cells with values that depend on x only. */
static stencil_status fill(void *context, stencil_array array, const stencil_box *box,
                           const stencil_cells *to) {
    (void)context, (void)array;
#pragma omp parallel for collapse(2)
    for (int64_t z = 0; z < box->n[STENCIL_Z]; z++)
        for (int64_t y = 0; y < box->n[STENCIL_Y]; y++)
            for (int64_t x = 0; x < box->n[STENCIL_X]; x++)
                stencil_cells_set(to, z * to->plane + y * to->row + x, (double)(x % 64));
    return STENCIL_OK;
}

static stencil_status state(stencil_problem *problem, const subject *s) {
    const stencil_shape *shape = &stencil_shapes[s->shape];
    stencil_spec spec;
    stencil_spec_init(&spec);
    spec.rank = shape->rank;
    for (int axis = 0; axis < shape->rank; axis++)
        spec.extent[axis] = (int64_t)round(pow(s->cells, 1.0 / shape->rank)) + 2 * shape->radius;
    spec.precision = s->precision;
    spec.steps = STEPS_MAX;
    spec.check_every = s->check_every > 0 ? s->check_every : STEPS_MAX;
    snprintf(spec.stencil, sizeof spec.stencil, "%s", shape->name);
    return stencil_problem_resolve(problem, &spec);
}

/* Measures the seconds of a step, and keeps its problem and plan. */
static stencil_status time_step(work *w, const subject *s, double *step_s) {
    const bool gpu = w->gpu;
    stencil_problem *const problem = &w->problem;
    stencil_plan *const plan = &w->plan;
    stencil_run_options options = {.sync = stencil_strategy_at(s->strategy).name,
                                   .sweep = stencil_sweep_infos[s->sweep].name,
                                   .backend = w->backend,
                                   .gpu_count = gpu ? s->gpus : 0};
    for (int i = 0; i < options.gpu_count; i++)
        options.gpu[i] = i;
    TRY(state(problem, s));
    TRY(stencil_plan_here(plan, problem, &options, w->machine));
    if (!gpu && plan->depth > 1) { /* the depth of a pass is chosen again without the costs measured so far */
        stencil_sweep_suit(plan, problem, w->machine);
        options.depth = plan->depth;
        TRY(stencil_plan_here(plan, problem, &options, w->machine));
    }
    stencil_run *run = NULL;
    stencil_report report = {0};
    const int64_t first = gpu ? STEPS_FIRST : 2;
    stopwatch watch = {.steps = first, .next = first, .step_s = INFINITY, .second_s = INFINITY};
    const stencil_observers observers = {&(stencil_observer){&watch, .next = next_look, .at = look}, 1};
    const stencil_reader from = {fill, NULL};
    TRY(stencil_run_open(&run, plan, problem, &from));
    const stencil_status status = stencil_run_drive(run, &observers, &report);
    stencil_run_close(run);
    stencil_report_destroy(&report);
    *step_s = watch.step_s;
    w->timed++;
    w->noisy += watch.second_s > (1 + w->noise) * watch.step_s;
    return status;
}

/* Measures the synchronisation cost of a step: its time without the predicted time of cells and halos. */
static stencil_status measure_sync(work *w, const subject *s, double *seconds) {
    double step_s;
    TRY(time_step(w, s, &step_s));
    const stencil_cost cost = stencil_model_step(&w->plan, &w->problem, w->machine);
    *seconds = fmax(step_s - cost.compute_s - cost.halo_s + w->costs->latency_s, w->costs->latency_s);
    return STENCIL_OK;
}

/* Sets *cells to the unit of field sizes: a row in each tile of all resident blocks, a vector per thread. */
static stencil_status row_cells(work *w, double *cells) {
    const subject s = {STENCIL_SHAPE_j2d5pt, STENCIL_FLOAT32, 0, w->reference[0], 1, 65536, 0};
    double unused;
    TRY(time_step(w, &s, &unused)); /* the step wakes up the device, too */
    *cells = (double)w->machine->cpu_threads * CPU_ROW_CELLS;
    if (w->gpu)
        *cells = (double)w->plan.blocks_per_sm * w->machine->gpu[0].sm_count * STENCIL_BLOCK_THREADS *
                 w->plan.kernel.cells;
    return STENCIL_OK;
}

/* Measures a kernel's cells per second, from the slope between two field sizes that fit into one wave of
 * tiles, and the cost of a further wave, from a third size with several waves. */
static stencil_status measure_loop(work *w, stencil_loop loop, double row) {
    const double sizes[] = {0.9 * row, 3.6 * row, 14 * row};
    const bool gpu = w->gpu;
    double step_s[3], n[3], rounds = 1;
    subject s = {STENCIL_SHAPE_j2d5pt, STENCIL_FLOAT32, 0, w->reference[loop], 1, 0, 0};
    for (int i = 0; i < 3; i++) {
        s.cells = sizes[i];
        TRY(tell(w, stencil_strategy_at(s.strategy).name));
        TRY(time_step(w, &s, &step_s[i]));
        n[i] = (double)stencil_problem_cells(&w->problem);
        if (gpu)
            rounds = ceil(stencil_model_rounds(&w->plan, w->machine));
    }
    const double cell_s =
        gpu ? (step_s[1] - step_s[0]) / (n[1] - n[0]) : (step_s[2] - step_s[0]) / (n[2] - n[0]);
    if (!(cell_s > 0))
        return STENCIL_OK; /* the slope is noise, so the previous rate is kept */
    const double more_s = step_s[2] - step_s[1] - (n[2] - n[1]) * cell_s;
    w->costs->round_s[loop] = rounds > 1 ? fmax(more_s, 0) / (rounds - 1) : 0;
    w->costs->rate[s.shape][s.precision][s.sweep][loop][STENCIL_NEAR] = 1 / cell_s;
    return STENCIL_OK;
}

static stencil_status measure_strategy(work *w, int strategy, double row) {
    stencil_sync_cost *cost = &w->costs->sync[strategy];
    subject s = {STENCIL_SHAPE_j2d5pt, STENCIL_FLOAT32, 0, strategy, 1, 0.23 * row, 0};
    double checked_s, few_s, all_s;
    TRY(measure_sync(w, &s, &few_s));
    s.check_every = 1;
    TRY(measure_sync(w, &s, &checked_s));
    s = (subject){STENCIL_SHAPE_j2d5pt, STENCIL_FLOAT32, 0, strategy, 1, 3.6 * row, 0};
    TRY(measure_sync(w, &s, &all_s));
    *cost = (stencil_sync_cost){few_s, all_s, cost->two_s, cost->most_s, fmax(checked_s - few_s, 0)};
    const bool gpus = w->gpu && w->machine->gpu_count > 1 && stencil_strategy_at(strategy).spans;
    for (int most = 0; most < 2 && gpus; most++) {
        s.gpus = most ? w->costs->most_parts : 2;
        s.cells = 0.23 * row * s.gpus;
        TRY(measure_sync(w, &s, most ? &cost->most_s : &cost->two_s));
    }
    return STENCIL_OK;
}

/* Timing of a step on a field; `cells` is the size asked for, then the actual size. */
typedef struct timed_cells {
    double cells, seconds; /* seconds of the step without synchronisation and check */
    double full;           /* utilisation of the waves of its tiles, from 0 to 1 */
    double made;           /* value of stencil_model_made() */
} timed_cells;

static stencil_status measure_cells(work *w, subject s, stencil_loop loop, timed_cells *t) {
    double *step_s = w->costs->step_s[s.shape][s.precision][s.sweep][loop];
    double all_s;
    s.cells = t->cells;
    TRY(time_step(w, &s, &all_s));
    const double before_s = step_s[STENCIL_FEW];
    step_s[STENCIL_FEW] = fmax(before_s, DBL_MIN); /* any value: only the rest is used */
    const stencil_cost cost = stencil_model_step(&w->plan, &w->problem, w->machine);
    step_s[STENCIL_FEW] = before_s;
    t->cells = (double)stencil_problem_cells(&w->problem);
    t->full = stencil_model_full(&w->plan, w->machine);
    t->made = stencil_model_made(&w->plan, &w->problem);
    t->seconds = fmax(all_s - cost.step_s + cost.compute_s, 0.1 * all_s);
    return STENCIL_OK;
}

/* Measures the step times of small fields (fillings), and the cells per second of larger fields in cache
 * (near, as if all waves were full) and in memory (far). */
static stencil_status measure_rate(work *w, subject s, stencil_loop loop, double row) {
    enum { LAST = STENCIL_FILLINGS - 1, BEYOND, FAR, SIZES };
    stencil_calibration *c = w->costs;
    const double bytes = 2.0 * (double)stencil_precision_bytes(s.precision), *set = c->set_bytes;
    timed_cells t[SIZES];
    for (int i = 0; i < STENCIL_FILLINGS; i++)
        t[i].cells = c->cells[i];
    t[BEYOND].cells = fmin(14 * row, 0.9 * set[STENCIL_NEAR] / bytes);
    t[FAR].cells = (w->gpu ? far_sets : 1.02) * set[STENCIL_FAR] / bytes;
    for (int i = 0; i < SIZES; i++)
        TRY(measure_cells(w, s, loop, &t[i]));
    for (int i = STENCIL_FEW + 1; i <= BEYOND; i++)
        t[i].seconds = t[STENCIL_FEW].seconds + (t[i].seconds - t[STENCIL_FEW].seconds) * t[i].full;
    double *rate = c->rate[s.shape][s.precision][s.sweep][loop],
           *step_s = c->step_s[s.shape][s.precision][s.sweep][loop];
    rate[STENCIL_NEAR] = (t[BEYOND].cells - t[LAST].cells) /
                         fmax(t[BEYOND].seconds - t[LAST].seconds, 0.1 * t[BEYOND].seconds);
    rate[STENCIL_FAR] = t[FAR].cells / fmax(t[FAR].seconds - t[STENCIL_FEW].seconds, 0.3 * t[FAR].seconds);
    for (int i = 0; i < STENCIL_FILLINGS; i++)
        step_s[i] = t[i].seconds;
    return STENCIL_OK;
}

/* Measures the cells per second, in cache (near) and in memory (far), of GPU passes of several steps. */
static stencil_status measure_passes(work *w, subject s, stencil_loop loop) {
    stencil_calibration *c = w->costs;
    const double bytes = 2.0 * (double)stencil_precision_bytes(s.precision),
                 sets[STENCIL_DISTANCES] = {0.9 * c->set_bytes[STENCIL_NEAR],
                                            far_sets * c->set_bytes[STENCIL_FAR]};
    for (int distance = 0; distance < STENCIL_DISTANCES; distance++) {
        timed_cells t = {.cells = sets[distance] / bytes};
        TRY(measure_cells(w, s, loop, &t));
        c->rate[s.shape][s.precision][s.sweep][loop][distance] =
            t.made * t.cells / fmax(t.seconds - c->latency_s, 0.1 * t.seconds);
    }
    return STENCIL_OK;
}

/* Orders sweeps by their importance for a calibration: those guessed to be slow come after all others. */
static void order_sweeps(int sweep[STENCIL_SWEEP_COUNT]) {
    int count = 0;
    for (int slow = 0; slow < 2; slow++)
        for (int i = 0; i < STENCIL_SWEEP_COUNT; i++)
            if ((stencil_sweep_infos[i].host->guess > 1) == slow)
                sweep[count++] = i;
}

/* Measures all stencil shapes and precisions of a sweep before the next sweep. */
static stencil_status measure_rates(work *w, double row) {
    const int loops = w->gpu ? STENCIL_LOOP_COUNT : 1;
    int ordered[STENCIL_SWEEP_COUNT];
    order_sweeps(ordered);
    for (int i = 0; i < STENCIL_SWEEP_COUNT * STENCIL_SHAPE_COUNT * STENCIL_PRECISION_COUNT * loops; i++) {
        const int loop = i % loops, precision = i / loops % STENCIL_PRECISION_COUNT,
                  shape = i / loops / STENCIL_PRECISION_COUNT % STENCIL_SHAPE_COUNT,
                  sweep = ordered[i / loops / STENCIL_PRECISION_COUNT / STENCIL_SHAPE_COUNT];
        const subject s = {
            (stencil_shape_id)shape, (stencil_precision)precision, sweep, w->reference[loop], 1, 0, 0};
        subject any = s;
        any.cells = row;
        TRY(state(&w->problem, &any));
        if (time_is_over(w))
            return STENCIL_OK;
        if (stencil_sweep_unavailable((stencil_sweep_id)sweep, &w->problem, w->backend)[0] != '\0' ||
            /* sweeps that keep cells on chip are not measured: they use costs of machine/tuning.h */
            !stencil_sweep_can((stencil_sweep_id)sweep, &w->problem, STENCIL_NEED_LAUNCHES))
            continue;
        TRY(tell(w, stencil_shapes[shape].name));
        const bool passes = w->gpu && stencil_sweep_infos[sweep].host->depth > 1;
        const stencil_status status =
            passes ? measure_passes(w, s, (stencil_loop)loop) : measure_rate(w, s, (stencil_loop)loop, row);
        if (status != STENCIL_UNAVAILABLE) /* a kernel that this GPU cannot run stays unmeasured */
            TRY(status);
    }
    return STENCIL_OK;
}

/* Measures all costs of a calibration until its time is used up. */
static stencil_status measure(work *w) {
    const bool gpu = w->gpu;
    double row;
    if (gpu && w->machine->gpu_count > 1)
        w->costs->most_parts = w->machine->gpu_count;
    TRY(row_cells(w, &row));
    for (int loop = 0; loop < (gpu ? STENCIL_LOOP_COUNT : 1); loop++)
        TRY(measure_loop(w, (stencil_loop)loop, row));
    for (int i = 0; i < stencil_strategy_count() && !time_is_over(w); i++) {
        if (stencil_strategy_unavailable(i, w->backend, w->machine)[0] != '\0')
            continue;
        TRY(tell(w, stencil_strategy_at(i).name));
        TRY(measure_strategy(w, i, row));
    }
    for (int i = 0; i < STENCIL_FILLINGS; i++)
        w->costs->cells[i] = filling[i] * row;
    return measure_rates(w, row);
}

stencil_status stencil_calibrate(stencil_machine *machine, bool gpu, double seconds, double noise,
                                 stencil_calibrate_progress *progress, void *context) {
    work w = {.machine = machine,
              .costs = gpu ? &machine->gpu_costs : &machine->cpu_costs,
              .gpu = gpu,
              .backend = gpu ? STENCIL_BACKEND_GPU : STENCIL_BACKEND_CPU,
              .start_s = stencil_clock_s(),
              .seconds = seconds,
              .noise = noise,
              .progress = progress,
              .context = context,
              .reference = {stencil_name_find(gpu ? "graph" : "relaunch", stencil_strategy_names),
                            stencil_name_find("central", stencil_strategy_names)}};
    const stencil_calibration before = *w.costs;
    const stencil_status status = measure(&w);
    if (status != STENCIL_OK || is_noisy(&w))
        *w.costs = before;
    TRY(status);
    CHECK(!is_noisy(&w), UNAVAILABLE,
          "this machine is too busy to be measured: of %d times %d spread by more than %g %%", w.timed,
          w.noisy, 100 * noise);
    w.costs->measured = true;
    return STENCIL_OK;
}

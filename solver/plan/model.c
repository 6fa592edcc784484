#include "solver/plan/model.h"

#include <math.h>

#include "solver/plan/sweep.h"

double stencil_little_time(const stencil_little *w, double amount) {
    return w->latency + w->sync + fmax(amount - w->latency * w->throughput, 0) / w->throughput;
}

double stencil_little_switch(const stencil_little *basic, const stencil_little *more) {
    const double sync = more->sync - basic->sync, under_way = more->latency * more->throughput,
                 by_4 = (basic->latency + sync) * basic->throughput;
    if (sync <= 0)
        return 0;
    if (by_4 <= under_way)
        return by_4;
    return more->throughput > basic->throughput
               ? sync * more->throughput * basic->throughput / (more->throughput - basic->throughput)
               : INFINITY;
}

double stencil_model_far(const stencil_calibration *c, double set_bytes) {
    const double near = c->set_bytes[STENCIL_NEAR], far = c->set_bytes[STENCIL_FAR];
    return set_bytes <= near ? 0 : set_bytes >= far ? 1 : log(set_bytes / near) / log(far / near);
}

double stencil_model_rounds(const stencil_plan *plan, const stencil_machine *machine) {
    const stencil_part_plan *part = &plan->part[0];
    const int slots = plan->blocks_per_sm * machine->gpu[part->gpu].sm_count / part->sharing;
    return (double)part->tile_count / (slots > 0 ? slots : 1);
}

double stencil_model_full(const stencil_plan *plan, const stencil_machine *machine) {
    const bool listed =
        plan->backend == STENCIL_BACKEND_GPU && plan->barrier != STENCIL_BARRIER_none && plan->depth == 1;
    const double rounds = listed ? stencil_model_rounds(plan, machine) : 1;
    return rounds > 1 ? rounds / ceil(rounds) : 1;
}

static bool is_deep_on_gpu(const stencil_plan *plan) {
    return plan->backend == STENCIL_BACKEND_GPU && plan->depth > 1;
}

double stencil_model_made(const stencil_plan *plan, const stencil_problem *problem) {
    return is_deep_on_gpu(plan) ? stencil_sweep_mean(plan, problem).longest : 1;
}

/* Seconds of a cell by bytes that must move and fma. On a CPU a thread waits for memory in one step of a pass
 * and finds the rows of the others in its cache; in 3D, where rows are short, a single step computes nothing
 * meanwhile. On a GPU all stages work at once, those too that a short pass has no steps for, until the
 * slowest line of tiles is through. */
static double guess_s(const stencil_calibration *c, const stencil_plan *plan, const stencil_problem *problem,
                      stencil_loop loop, stencil_distance distance) {
    const double steps = stencil_sweep_pass_steps(plan, problem), made = stencil_model_made(plan, problem),
                 bytes_s =
                     stencil_sweep_traffic(plan, problem) / c->bytes_per_s[loop][problem->rank - 2][distance],
                 point_s = problem->shape->point_count / c->fma_per_s[problem->precision],
                 beside_s = stencil_sweep_beside(plan, problem) * 7 / c->fma_per_s[problem->precision],
                 fma_s = (1 + stencil_sweep_again(plan, problem)) * point_s + beside_s;
    if (is_deep_on_gpu(plan)) {
        const int most = stencil_sweep_limits(plan, problem).depth;
        const stencil_pass_cost *cost = &plan->layout.cost;
        const double cell_s = point_s + cost->beside / c->fma_per_s[problem->precision];
        return fmax(bytes_s, made * cell_s / cost->fma * (1 + plan->tuning.idle_stage * (most / steps - 1)));
    }
    if (plan->backend == STENCIL_BACKEND_GPU)
        return fmax(bytes_s, fma_s);
    if (stencil_sweep_table_of(plan->sweep, problem)->cpu_waits)
        return (plan->depth > 1 ? plan->tuning.cpu_fetched : 1) * bytes_s + fma_s;
    return fmax(bytes_s, fma_s / steps) + fma_s * (steps - 1) / steps;
}

/* Factor on a cell's measured time, for passes of other steps than were measured: a ratio of guesses. */
static double of_measured(const stencil_calibration *c, const stencil_plan *plan,
                          const stencil_problem *problem, const stencil_machine *machine, stencil_loop loop,
                          stencil_distance distance) {
    if (plan->depth == 1)
        return 1;
    stencil_plan measured = *plan;
    stencil_problem unchecked = *problem;
    unchecked.stop.check_every = unchecked.stop.steps = INT64_MAX / 2;
    stencil_sweep_suit(&measured, &unchecked, machine);
    unchecked.stop.check_every = INT64_C(1000) * measured.depth;
    return guess_s(c, plan, problem, loop, distance) / guess_s(c, &measured, &unchecked, loop, distance) *
           stencil_model_made(&measured, &unchecked);
}

/* Seconds that a cell takes in a stream of them, near or far: as this kind of kernel was measured, else
 * bytes that must move and fma. With a source there are more bytes. */
static double cell_s(const stencil_calibration *c, const stencil_plan *plan, const stencil_problem *problem,
                     const stencil_machine *machine, stencil_loop loop, stencil_distance distance) {
    const stencil_pass_cost *cost = &plan->layout.cost;
    const stencil_loop of = cost->launched ? STENCIL_LOOP_LAUNCHED : loop;
    const double measured =
        c->rate[problem->shape->id][problem->precision][plan->variant->by->sweep][of][distance];
    if (measured > 0)
        return of_measured(c, plan, problem, machine, of, distance) * stencil_problem_arrays(problem) / 2.0 /
               (measured * cost->cells);
    return stencil_sweep_infos[plan->sweep].host->guess * guess_s(c, plan, problem, of, distance) /
           (cost->cells * cost->loop);
}

/* The arrays of all parts on a device. */
static double set_bytes_of(const stencil_plan *plan, const stencil_problem *problem) {
    const int parts = plan->backend == STENCIL_BACKEND_GPU ? plan->part[0].sharing : plan->cut.parts;
    return stencil_problem_arrays(problem) * (double)stencil_layout_bytes(&plan->cut.layout) * parts;
}

/* Seconds that near cells add to a step of the first filling: on straight lines from one filling to the next,
 * as this kind of kernel was timed (times `factor`), and each_s for each cell beyond the last. */
static double near_s(const stencil_calibration *c, const double step_s[STENCIL_FILLINGS], double cells,
                     double each_s, double factor) {
    double sum_s = fmax(cells - c->cells[STENCIL_FILLINGS - 1], 0) * each_s;
    for (int i = 1; i < STENCIL_FILLINGS; i++) {
        const double share = (cells - c->cells[i - 1]) / (c->cells[i] - c->cells[i - 1]);
        sum_s += factor * fmin(fmax(share, 0), 1) * fmax(step_s[i] - step_s[i - 1], 0);
    }
    return sum_s;
}

/* Little's law: the first loads' latency, then so many cells a second; tiles that are not resident at once
 * wait for a round, where nobody has timed that. Parts that share a GPU share what it can do. */
static double compute_s(const stencil_calibration *c, const stencil_plan *plan,
                        const stencil_problem *problem, const stencil_machine *machine, stencil_loop loop) {
    const bool gpu = plan->backend == STENCIL_BACKEND_GPU;
    const stencil_part_plan *part = &plan->part[0];
    const double *step_s = c->step_s[problem->shape->id][problem->precision][plan->variant->by->sweep][loop];
    const double far = stencil_model_far(c, set_bytes_of(plan, problem)),
                 near_each_s = cell_s(c, plan, problem, machine, loop, STENCIL_NEAR),
                 far_each_s = cell_s(c, plan, problem, machine, loop, STENCIL_FAR);
    const double cells = gpu ? (double)stencil_box_cells(&part->box) * part->sharing
                             : (double)plan->share_rows * plan->threads * (double)problem->n[STENCIL_X];
    if (step_s[STENCIL_FEW] > 0 && !is_deep_on_gpu(plan))
        return step_s[STENCIL_FEW] +
               (1 - far) *
                   near_s(c, step_s, cells, near_each_s,
                          of_measured(c, plan, problem, machine, loop, STENCIL_NEAR)) /
                   stencil_model_full(plan, machine) +
               far * cells * far_each_s;
    const double each_s = near_each_s + far * (far_each_s - near_each_s);
    if (!gpu)
        return cells * each_s;
    const double rounds = is_deep_on_gpu(plan) ? 1 : ceil(stencil_model_rounds(plan, machine));
    const double first_s = c->latency_s * (c->measured ? 1 : stencil_sweep_infos[plan->sweep].host->guess);
    return first_s + (1 - far) * (rounds - 1) * c->round_s[loop] + cells * each_s;
}

/* Interpolates between few blocks (a quarter of those that fit) and all. */
double stencil_model_sync(const stencil_calibration *c, int index, double share) {
    const stencil_sync_cost *cost = &c->sync[index];
    return cost->few_s + fmax(share - 0.25, 0) / 0.75 * (cost->all_s - cost->few_s);
}

/* Seconds of a step with nothing to compute; across parts, by the logarithm of their number. */
static double sync_s(const stencil_calibration *c, const stencil_plan *plan, const stencil_machine *machine) {
    const stencil_sync_cost *cost = &c->sync[plan->strategy];
    const int parts = plan->cut.parts;
    if (parts > 1) {
        const double most = c->most_parts > 2 ? log2((double)parts / 2) / log2(c->most_parts / 2.0) : 0;
        return cost->two_s + fmax(most, 0) * (cost->most_s - cost->two_s);
    }
    if (plan->backend == STENCIL_BACKEND_CPU)
        return cost->few_s; /* all threads take part whatever there is to do */
    return stencil_model_sync(c, plan->strategy, fmin(stencil_model_rounds(plan, machine), 1));
}

/* Cells of the part that sends most, to parts on other devices, in bytes; *copies: boxes of them. */
static double halo_bytes(const stencil_plan *plan, const stencil_problem *problem, int *copies) {
    const stencil_cut *cut = &plan->cut;
    double most = 0;
    for (int p = 0; p < cut->parts; p++) {
        const int64_t *n = plan->part[p].box.n;
        double bytes = 0;
        int boxes = 0;
        for (int axis = 0; axis < STENCIL_AXES; axis++)
            for (int side = 0; side < 2; side++) {
                const stencil_side at = stencil_cut_side(cut, p, axis, side);
                if (at.beyond < 0 || at.beyond == p || plan->part[at.beyond].gpu == plan->part[p].gpu)
                    continue;
                bytes += (double)at.ghosts * (double)stencil_box_cells(&plan->part[p].box) / (double)n[axis];
                boxes++;
            }
        if (bytes > most)
            *copies = boxes;
        most = fmax(most, bytes);
    }
    return most * (double)stencil_precision_bytes(problem->precision);
}

static double halo_s(const stencil_calibration *c, const stencil_plan *plan, const stencil_problem *problem) {
    int copies = 0;
    if (plan->backend == STENCIL_BACKEND_CPU || plan->cut.parts == 1)
        return 0;
    const double bytes = halo_bytes(plan, problem, &copies);
    const double words = plan->halo == STENCIL_HALO_LL ? 2 : 1; /* half of each is the number of the step */
    return words * bytes / c->peer_bytes_per_s + (plan->halo == STENCIL_HALO_COPY ? copies * c->copy_s : 0);
}

stencil_cost stencil_model_step(const stencil_plan *plan, const stencil_problem *problem,
                                const stencil_machine *machine) {
    const bool gpu = plan->backend == STENCIL_BACKEND_GPU, persistent = plan->barrier != STENCIL_BARRIER_none;
    const stencil_calibration *c = gpu ? &machine->gpu_costs : &machine->cpu_costs;
    const stencil_loop loop = gpu && persistent ? STENCIL_LOOP_PERSISTENT : STENCIL_LOOP_LAUNCHED;
    /* A deep sweep keeps its steps in order once for so many of them. */
    const double depth = stencil_sweep_pass_steps(plan, problem);
    const double order_s = fmax(sync_s(c, plan, machine) - c->latency_s, 0) / depth;
    const stencil_pass_layout *l = &plan->layout;
    const bool on_chip = l->kind == STENCIL_PASS_ON_CHIP;
    stencil_cost cost = {0};
    if (on_chip) {
        cost.compute_s = l->step_s;
        cost.halo_s = l->exchange_s * (l->each_step ? depth : 1) / depth;
        cost.launch_s = plan->tuning.resident_launch_s / (double)stencil_sweep_passes(plan, problem).steps;
    } else {
        cost.compute_s = compute_s(c, plan, problem, machine, loop);
        cost.halo_s = halo_s(c, plan, problem) / depth;
    }
    if (on_chip && stencil_barriers[plan->barrier].needs == STENCIL_NEEDS_NEIGHBORS)
        cost.barrier_s = 0; /* words tell of themselves */
    else if (persistent)
        cost.barrier_s = l->each_step ? depth * order_s : order_s;
    else
        cost.launch_s = order_s;
    if (persistent && plan->wait.steps_per_launch > 0)
        cost.launch_s = c->sync[0].few_s /* of relaunch */ / (double)plan->wait.steps_per_launch;
    /* A check behind passes of several steps is a launch between two others, as in relaunch. */
    const bool apart = gpu && persistent && plan->depth > 1;
    cost.check_s = (apart ? c->sync[0].check_s + c->sync[0].few_s : c->sync[plan->strategy].check_s) /
                   (double)stencil_sweep_passes(plan, problem).steps;
    cost.step_s = cost.launch_s + cost.barrier_s + cost.compute_s + cost.halo_s + cost.check_s;
    return cost;
}

stencil_cost stencil_model_pass(const stencil_plan *plan, const stencil_problem *problem,
                                const stencil_machine *machine) {
    stencil_cost cost = stencil_model_step(plan, problem, machine);
    /* Cells come with each step. What keeps steps in order comes once for a pass, and a step has its share of
     * that in passes of the mean length; launches of a persistent loop come after so many steps. */
    const double once = stencil_sweep_pass_steps(plan, problem), steps = plan->depth;
    cost.launch_s *= plan->barrier != STENCIL_BARRIER_none ? steps : once;
    cost.barrier_s *= once;
    cost.halo_s *= once;
    cost.compute_s *= steps;
    cost.check_s = 0;
    cost.step_s = cost.launch_s + cost.barrier_s + cost.compute_s + cost.halo_s;
    return cost;
}

const char *const stencil_resource_names[] = {"memory", "shared memory", "arithmetic", NULL};

double stencil_bound_rate(const stencil_bound *bound, stencil_resource resource) {
    return bound->need[resource] > 0 ? bound->peak[resource] / bound->need[resource] : INFINITY;
}

/* Fused multiply-adds of a multiprocessor in a clock, from each compute capability on (CUDA C++ Programming
 * Guide, throughput of native arithmetic instructions): so no value of solver/machine/tuning/. */
static double fma_per_clock(int capability, stencil_precision precision) {
    static const struct {
        int capability, f32, f64;
    } rows[] = {{70, 64, 32},  {75, 64, 2},    {80, 64, 32}, {86, 128, 2},
                {90, 128, 64}, {100, 128, 64}, {103, 128, 2}};
    int fma = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].capability <= capability)
            fma = precision == STENCIL_FLOAT64 ? rows[i].f64 : rows[i].f32;
    return fma;
}

stencil_bound stencil_model_bound(const stencil_plan *plan, const stencil_problem *problem,
                                  const stencil_machine *machine) {
    const bool gpu = plan->backend == STENCIL_BACKEND_GPU, persistent = plan->barrier != STENCIL_BARRIER_none;
    const stencil_calibration *c = gpu ? &machine->gpu_costs : &machine->cpu_costs;
    const stencil_loop loop = gpu && persistent ? STENCIL_LOOP_PERSISTENT : STENCIL_LOOP_LAUNCHED;
    const double far = stencil_model_far(c, set_bytes_of(plan, problem)),
                 *bytes_per_s = c->bytes_per_s[loop][problem->rank - 2];
    stencil_bound bound = {
        .peak = {1 / ((1 - far) / bytes_per_s[STENCIL_NEAR] + far / bytes_per_s[STENCIL_FAR]), 0,
                 c->fma_per_s[problem->precision]},
        .nominal = !gpu};
    if (gpu) {
        const stencil_gpu *on = &machine->gpu[plan->part[0].gpu];
        const double clocks = on->sm_count * 1e3 * on->clock_khz;
        int gpus = 0;
        for (int p = 0; p < plan->cut.parts; p++)
            gpus += plan->part[p].leads;
        bound.peak[STENCIL_RESOURCE_MEMORY] *= gpus;
        bound.peak[STENCIL_RESOURCE_SHARED] = gpus * clocks;
        bound.peak[STENCIL_RESOURCE_ARITHMETIC] =
            gpus * clocks * fma_per_clock(on->capability, problem->precision);
    }
    const stencil_pass_work made = stencil_sweep_mean(plan, problem);
    bound.need[STENCIL_RESOURCE_MEMORY] = stencil_sweep_traffic(plan, problem);
    bound.need[STENCIL_RESOURCE_SHARED] = made.wavefronts;
    bound.need[STENCIL_RESOURCE_ARITHMETIC] = problem->shape->point_count * made.cells;
    for (int r = 0; r < STENCIL_RESOURCE_COUNT; r++)
        if (stencil_bound_rate(&bound, (stencil_resource)r) < stencil_bound_rate(&bound, bound.least))
            bound.least = (stencil_resource)r;
    return bound;
}

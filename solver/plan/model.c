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

/* Estimates the seconds of a cell from its bytes of traffic and its fma. On a CPU one step of a pass waits
 * for memory, the other steps find their rows in cache; a single step in 3D, with short rows, does not
 * overlap memory and arithmetic. On a GPU all stages of a pass run at once, idle ones of a short pass
 * included, until the slowest line of tiles is done. */
static double guess_s(const stencil_calibration *c, const stencil_plan *plan, const stencil_problem *problem,
                      stencil_loop loop, stencil_distance distance) {
    static const bool waits[] = {false, true}; /* short rows in 3D: a CPU waits for memory, or computes */
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
    if (waits[problem->rank - 2])
        return (plan->depth > 1 ? plan->tuning.cpu_fetched : 1) * bytes_s + fma_s;
    return fmax(bytes_s, fma_s / steps) + fma_s * (steps - 1) / steps;
}

/* Factor from the measured time of a cell to that in passes of other lengths: a ratio of estimates. */
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

/* Seconds per cell of a large field, in cache or in memory: by the measured rate of the kernel's kind, else
 * estimated from traffic and fma. A source adds traffic. */
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

/* Bytes of the arrays of all parts on a device. */
static double set_bytes_of(const stencil_plan *plan, const stencil_problem *problem) {
    const int parts = plan->backend == STENCIL_BACKEND_GPU ? plan->part[0].sharing : stencil_plan_parts(plan);
    return stencil_problem_arrays(problem) * (double)stencil_layout_bytes(&plan->cut.layout) * parts;
}

/* Seconds that cells in cache add to an empty step: interpolated linearly between the measured fillings of
 * the kernel's kind (times `factor`), plus each_s for each cell beyond the last filling. */
static double near_s(const stencil_calibration *c, const double step_s[STENCIL_FILLINGS], double cells,
                     double each_s, double factor) {
    double sum_s = fmax(cells - c->cells[STENCIL_FILLINGS - 1], 0) * each_s;
    for (int i = 1; i < STENCIL_FILLINGS; i++) {
        const double share = (cells - c->cells[i - 1]) / (c->cells[i] - c->cells[i - 1]);
        sum_s += factor * fmin(fmax(share, 0), 1) * fmax(step_s[i] - step_s[i - 1], 0);
    }
    return sum_s;
}

/* Seconds of a step's cells by Little's law: the latency of the first loads, then cells at a rate that parts
 * on one GPU share. Each further wave of tiles adds a fixed time unless measured times include it. */
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

/* Interpolates the cost between few blocks (a quarter of the resident ones) and all resident blocks. */
double stencil_model_sync(const stencil_calibration *c, int index, double share) {
    const stencil_sync_cost *cost = &c->sync[index];
    return cost->few_s + fmax(share - 0.25, 0) / 0.75 * (cost->all_s - cost->few_s);
}

/* Seconds of a step without cells; for several parts interpolated in the logarithm of their number. */
static double sync_s(const stencil_calibration *c, const stencil_plan *plan, const stencil_machine *machine) {
    const stencil_sync_cost *cost = &c->sync[plan->strategy];
    const int parts = stencil_plan_parts(plan);
    if (parts > 1) {
        const double most = c->most_parts > 2 ? log2((double)parts / 2) / log2(c->most_parts / 2.0) : 0;
        return cost->two_s + fmax(most, 0) * (cost->most_s - cost->two_s);
    }
    if (plan->backend == STENCIL_BACKEND_CPU)
        return cost->few_s; /* all CPU threads take part in every step */
    const double share = fmin(stencil_model_rounds(plan, machine), 1),
                 own_s = stencil_model_sync(c, plan->strategy, share);
    /* Before a rank sends its messages, the host waits for the stream. */
    return plan->halo != STENCIL_HALO_MESSAGE
               ? own_s
               : fmax(own_s,
                      stencil_model_sync(c, stencil_name_find("stream-sync", stencil_strategy_names), share));
}

/* Bytes of ghost cells, in *copies boxes, that a part sends to other devices: the most of any part. */
static double halo_bytes(const stencil_plan *plan, const stencil_problem *problem, int *copies) {
    const stencil_cut *cut = &plan->cut;
    double most = 0;
    for (int p = 0; p < stencil_plan_parts(plan); p++) {
        const int64_t *n = plan->part[p].box.n;
        double bytes = 0;
        int boxes = 0;
        for (int axis = 0; axis < STENCIL_AXES; axis++)
            for (int side = 0; side < 2; side++) {
                const stencil_side at = stencil_cut_side(cut, p, axis, side);
                if (at.beyond < 0 || stencil_plan_on_one_gpu(plan, at.beyond, p))
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
    if (plan->backend == STENCIL_BACKEND_CPU || stencil_plan_parts(plan) == 1)
        return 0; /* ranks have messages */
    const double bytes = halo_bytes(plan, problem, &copies);
    const double words = plan->halo == STENCIL_HALO_LL ? 2 : 1; /* half of each LL word is its flag */
    return words * bytes / c->peer_bytes_per_s + (plan->halo == STENCIL_HALO_COPY ? copies * c->copy_s : 0);
}

static int sides_of(const stencil_cut *cut, int axis) {
    return stencil_cut_sides(cut->count[axis], cut->mesh.boundary[axis] == STENCIL_PERIODIC);
}

/* Bytes of ghost cells that a rank sends after a pass, one that has a neighbour on each side that is cut. */
static double sent_bytes(const stencil_plan *plan) {
    const stencil_cut *cut = &plan->cut;
    const stencil_box *box = &plan->part[0].box;
    double cells = 0;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        cells += sides_of(cut, axis) * (double)cut->layout.ghost[axis] * (double)stencil_box_cells(box) /
                 (double)box->n[axis];
    }
    return cells * (double)stencil_precision_bytes(cut->mesh.precision);
}

/* With --overlap between ranks: the share of a part's rows that no other rank needs. */
static double inner_share(const stencil_plan *plan) {
    const stencil_cut *cut = &plan->cut;
    double share =
        cut->count[STENCIL_X] > 1 ? 0 : 1; /* where rows are cut, each has cells that others need */
    for (int axis = STENCIL_Z; axis <= STENCIL_Y; axis++)
        share *= fmax(
            1 - sides_of(cut, axis) * (double)cut->layout.ghost[axis] / (double)plan->part[0].box.n[axis], 0);
    return share;
}

/* Seconds of the messages after a pass of `steps` steps, each of compute_s: all travel at once. With
 * --overlap they do so while rows that no other rank needs are computed; processors have their overhead.
 * Where GPUs store at the receiver, hosts tell each other that they have, and wait for their own GPU. */
static double messages_s(const stencil_plan *plan, const stencil_machine *machine, double steps,
                         double compute_s) {
    if (plan->halo != STENCIL_HALO_MESSAGE)
        return 0;
    if (plan->maps)
        return plan->tuning.mapped_pass_s + sent_bytes(plan) / machine->gpu_costs.peer_bytes_per_s;
    const double message_s = stencil_link_message_s(&machine->link, sent_bytes(plan)),
                 travel_s = message_s - 2 * machine->link.overhead_s;
    return message_s - (plan->overlap ? fmin(travel_s, inner_share(plan) * steps * compute_s) : 0);
}

/* Seconds of the messages of a residual: a round for each of its levels, and one for its value. A loop across
 * ranks that leaves for a check meets twice, and its hosts exchange what the GPUs have combined. */
static double reduction_s(const stencil_plan *plan, const stencil_problem *problem,
                          const stencil_machine *machine) {
    if (plan->spans_ranks && plan->depth > 1 && !stencil_plan_checks_inside(plan))
        return 3 * stencil_link_message_s(&machine->link, sizeof(double));
    if (plan->halo != STENCIL_HALO_MESSAGE)
        return 0;
    const double partials = (double)stencil_partial_count(problem->n);
    return (1 + ceil(log(partials) / log(STENCIL_COMBINE_VALUES))) *
           stencil_link_message_s(&machine->link, sizeof(double));
}

stencil_cost stencil_model_step(const stencil_plan *plan, const stencil_problem *problem,
                                const stencil_machine *machine) {
    const bool gpu = plan->backend == STENCIL_BACKEND_GPU, persistent = plan->barrier != STENCIL_BARRIER_none;
    const stencil_calibration *c = gpu ? &machine->gpu_costs : &machine->cpu_costs;
    const stencil_loop loop = gpu && persistent ? STENCIL_LOOP_PERSISTENT : STENCIL_LOOP_LAUNCHED;
    /* Passes of several steps synchronize once per pass. */
    const double depth = stencil_sweep_pass_steps(plan, problem);
    const double order_s = fmax(sync_s(c, plan, machine) - c->latency_s, 0) / depth;
    const stencil_pass_layout *l = &plan->layout;
    const bool on_chip = l->kind == STENCIL_PASS_ON_CHIP;
    stencil_cost cost = {0};
    if (on_chip) {
        cost.compute_s = l->step_s;
        cost.halo_s = l->exchange_s * (l->each_step ? depth : 1) / depth;
        cost.launch_s =
            stencil_plan_checks_inside(plan)
                ? 0
                : plan->tuning.resident_launch_s / (double)stencil_sweep_passes(plan, problem).steps;
    } else {
        cost.compute_s = compute_s(c, plan, problem, machine, loop);
        cost.halo_s = (halo_s(c, plan, problem) + messages_s(plan, machine, depth, cost.compute_s)) / depth;
    }
    if (on_chip && stencil_barriers[plan->barrier].needs == STENCIL_NEEDS_NEIGHBORS)
        cost.barrier_s = 0; /* LL words need no barrier */
    else if (persistent)
        cost.barrier_s = l->each_step ? depth * order_s : order_s;
    else
        cost.launch_s = order_s;
    if (persistent && plan->wait.steps_per_launch > 0)
        cost.launch_s = c->sync[0].few_s /* the cost of relaunch */ / (double)plan->wait.steps_per_launch;
    /* A residual check after passes of several steps is a separate launch, as with --sync relaunch. On chip
     * it reads and writes the field, as a launch does. */
    const bool inside = stencil_plan_checks_inside(plan),
               apart = gpu && persistent && plan->depth > 1 && !inside;
    const double check_s = apart    ? c->sync[0].check_s + c->sync[0].few_s
                           : inside ? l->check_s
                                    : c->sync[plan->strategy].check_s;
    cost.check_s =
        (check_s + reduction_s(plan, problem, machine)) / (double)stencil_sweep_passes(plan, problem).steps;
    cost.step_s = cost.launch_s + cost.barrier_s + cost.compute_s + cost.halo_s + cost.check_s;
    return cost;
}

stencil_cost stencil_model_pass(const stencil_plan *plan, const stencil_problem *problem,
                                const stencil_machine *machine) {
    stencil_cost cost = stencil_model_step(plan, problem, machine);
    /* Computing is paid per step. Synchronization is paid per pass, so a step has its share in a pass of mean
     * length; launches of a persistent loop are paid every steps_per_launch steps. */
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

/* Fused multiply-adds per clock of a multiprocessor, by compute capability (CUDA C++ Programming Guide,
 * throughput of native arithmetic instructions). */
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
        for (int p = 0; p < stencil_plan_parts(plan); p++)
            gpus += plan->part[p].leads;
        if (stencil_plan_ranks(plan) > 1)
            gpus = (stencil_plan_ranks(plan) + plan->part[0].sharing - 1) / plan->part[0].sharing;
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

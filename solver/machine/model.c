#include "solver/machine/model.h"

#include <math.h>

#include "solver/sweep.h"

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
    const bool listed = plan->backend == STENCIL_BACKEND_GPU && plan->barrier != STENCIL_BARRIER_none;
    const double rounds = listed ? stencil_model_rounds(plan, machine) : 1;
    return rounds > 1 ? rounds / ceil(rounds) : 1;
}

static double guess_of(const stencil_plan *plan) {
    const double guess = stencil_sweep_infos[plan->sweep].host->guess;
    return guess > 0 ? guess : 1;
}

/* Seconds that a cell takes in a stream of them, near or far: as this kind of kernel was measured, else
 * bytes that must move and fma. With a source there are more bytes. */
static double cell_s(const stencil_calibration *c, const stencil_plan *plan, const stencil_problem *problem,
                     stencil_loop loop, stencil_distance distance) {
    const double bytes = stencil_sweep_traffic(plan->sweep, problem);
    const double measured = c->rate[problem->shape->id][problem->precision][plan->sweep][loop][distance];
    const double bandwidth = c->bytes_per_s[loop][problem->rank - 2][distance];
    if (measured > 0)
        return stencil_problem_arrays(problem) / 2.0 / measured;
    return guess_of(plan) *
           fmax(bytes / bandwidth, problem->shape->point_count / c->fma_per_s[problem->precision]);
}

/* The arrays of all parts on a device. */
static double set_bytes_of(const stencil_plan *plan, const stencil_problem *problem) {
    const int parts = plan->backend == STENCIL_BACKEND_GPU ? plan->part[0].sharing : plan->cut.parts;
    return stencil_problem_arrays(problem) * (double)stencil_layout_bytes(&plan->cut.layout) * parts;
}

/* What cells that are near take beside the first few, as this kind of kernel was timed with them: on straight
 * lines from one filling to the next, and on from the last one. */
static double near_s(const stencil_calibration *c, const double step_s[STENCIL_FILLINGS], double cells,
                     double each_s) {
    double sum_s = fmax(cells - c->cells[STENCIL_FILLINGS - 1], 0) * each_s;
    for (int i = 1; i < STENCIL_FILLINGS; i++) {
        const double share = (cells - c->cells[i - 1]) / (c->cells[i] - c->cells[i - 1]);
        sum_s += fmin(fmax(share, 0), 1) * fmax(step_s[i] - step_s[i - 1], 0);
    }
    return sum_s;
}

/* Little's law: the first loads' latency, then so many cells a second; tiles that are not resident at once
 * wait for a round, where nobody has timed that. Parts that share a GPU share what it can do. */
static double compute_s(const stencil_calibration *c, const stencil_plan *plan,
                        const stencil_problem *problem, const stencil_machine *machine, stencil_loop loop) {
    const bool gpu = plan->backend == STENCIL_BACKEND_GPU;
    const stencil_part_plan *part = &plan->part[0];
    const double *step_s = c->step_s[problem->shape->id][problem->precision][plan->sweep][loop];
    const double far = stencil_model_far(c, set_bytes_of(plan, problem)),
                 near_each_s = cell_s(c, plan, problem, loop, STENCIL_NEAR),
                 far_each_s = cell_s(c, plan, problem, loop, STENCIL_FAR);
    const double cells = gpu ? (double)stencil_box_cells(&part->box) * part->sharing
                             : (double)plan->tile[STENCIL_Y] * plan->threads * (double)plan->tile[STENCIL_X];
    if (step_s[STENCIL_FEW] > 0)
        return step_s[STENCIL_FEW] +
               (1 - far) * near_s(c, step_s, cells, near_each_s) / stencil_model_full(plan, machine) +
               far * cells * far_each_s;
    const double each_s = near_each_s + far * (far_each_s - near_each_s);
    if (!gpu)
        return cells * each_s;
    const double rounds = ceil(stencil_model_rounds(plan, machine));
    const double first_s = c->latency_s * (c->measured ? 1 : guess_of(plan));
    return first_s + (1 - far) * (rounds - 1) * c->round_s[loop] + cells * each_s;
}

/* Of a step with nothing to compute: between few blocks (a quarter of those that fit) and all; across parts,
 * by the logarithm of how many. */
static double sync_s(const stencil_calibration *c, const stencil_plan *plan, const stencil_machine *machine) {
    const stencil_sync_cost *cost = &c->sync[plan->strategy];
    const int parts = plan->cut.parts;
    if (parts > 1) {
        const double most = c->most_parts > 2 ? log2((double)parts / 2) / log2(c->most_parts / 2.0) : 0;
        return cost->two_s + fmax(most, 0) * (cost->most_s - cost->two_s);
    }
    if (plan->backend == STENCIL_BACKEND_CPU)
        return cost->few_s; /* all threads take part whatever there is to do */
    const double share = fmin(stencil_model_rounds(plan, machine), 1);
    return cost->few_s + fmax(share - 0.25, 0) / 0.75 * (cost->all_s - cost->few_s);
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
    const double depth = stencil_sweep_infos[plan->sweep].host->depth;
    const double order_s = fmax(sync_s(c, plan, machine) - c->latency_s, 0) / depth;
    stencil_cost cost = {.compute_s = compute_s(c, plan, problem, machine, loop),
                         .halo_s = halo_s(c, plan, problem) / depth};
    if (persistent)
        cost.barrier_s = order_s;
    else
        cost.launch_s = order_s;
    if (persistent && plan->wait.steps_per_launch > 0)
        cost.launch_s = c->sync[0].few_s /* of relaunch */ / (double)plan->wait.steps_per_launch;
    cost.check_s = c->sync[plan->strategy].check_s / (double)problem->stop.check_every;
    cost.step_s = cost.launch_s + cost.barrier_s + cost.compute_s + cost.halo_s + cost.check_s;
    return cost;
}

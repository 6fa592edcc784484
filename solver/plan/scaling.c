#include "solver/plan/scaling.h"

#include <math.h>
#include <string.h>

#include "solver/plan/choose.h"
#include "solver/plan/sweep.h"

/* The rank at a place, wrapped at periodic ends; -1: there is none. */
static int rank_at(const stencil_rank_grid *g, const int place[3]) {
    int rank = 0;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        int k = place[axis];
        if (k < 0 || k >= g->count[axis]) {
            if (!g->periodic[axis])
                return -1;
            k = (k + g->count[axis]) % g->count[axis];
        }
        rank = rank * g->count[axis] + k;
    }
    return rank;
}

/* Cells of a box along an axis in which the part that it goes to lies no further: those of the part, and the
 * ghost cells of sides that no other part is beyond. */
static int64_t along(const stencil_rank_grid *g, const int place[3], int axis) {
    const bool around = g->periodic[axis] && g->count[axis] > 1;
    const int ends = around ? 0 : (place[axis] == 0) + (place[axis] == g->count[axis] - 1);
    return g->n[axis] + ends * g->ghosts[axis];
}

/* Adds the cells that go into a direction. */
static void add_direction(const stencil_rank_grid *g, int rank, const int place[3], const int direction[3],
                          stencil_rank_peers *peers) {
    int there[3], i = 0;
    double bytes = g->bytes;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        if (direction[axis] != 0 && g->count[axis] == 1)
            return;
        there[axis] = place[axis] + direction[axis];
        bytes *= (double)(direction[axis] != 0 ? g->ghosts[axis] : along(g, place, axis));
    }
    const int peer = rank_at(g, there);
    if (peer < 0 || peer == rank)
        return;
    while (i < peers->count && peers->peer[i] != peer)
        i++;
    if (i == peers->count) {
        peers->peer[i] = peer;
        peers->bytes[peers->count++] = 0;
    }
    peers->bytes[i] += bytes;
}

void stencil_rank_peers_find(const stencil_rank_grid *g, int rank, stencil_rank_peers *peers) {
    int place[3], direction[3], rest = rank;
    peers->count = 0;
    for (int axis = STENCIL_X; axis >= STENCIL_Z; rest /= g->count[axis--])
        place[axis] = rest % g->count[axis];
    for (int k = 0; k < 27; k++) {
        direction[0] = k / 9 - 1;
        direction[1] = k / 3 % 3 - 1;
        direction[2] = k % 3 - 1;
        if (direction[0] != 0 || direction[1] != 0 || direction[2] != 0)
            add_direction(g, rank, place, direction, peers);
    }
}

/* The inputs of a prediction. */
typedef struct guess {
    const stencil_cluster *cluster;
    const stencil_problem *problem;
    const stencil_run_options *options;
    int devices, nodes, here; /* here: devices of a node that is full */
} guess;

/* Time of a device for a step of its own cells. */
typedef struct device_time {
    bool possible;
    const char *sync, *sweep;
    double step_s, compute_s;
    int64_t check_every, poll_every; /* steps */
} device_time;

/* Tells whether a prediction of a device is one of a node. */
static bool shares_node(const guess *g) {
    return !g->cluster->gpu && !(g->cluster->cells_per_s > 0);
}

static int stages(int of) {
    return of > 1 ? (int)ceil(log2(of)) : 0;
}

/* Seconds of a reduction over all devices: a tree in each node, and one over nodes, of messages of a number.
 */
static double reduction_s(const guess *g) {
    return stages(g->here) * stencil_link_message_s(&g->cluster->inside, sizeof(double)) +
           stages(g->nodes) * stencil_link_message_s(&g->cluster->between, sizeof(double));
}

/* Bytes per second at which messages are packed; infinite where they are not known. */
static double pack_rate(const guess *g) {
    const stencil_calibration *c =
        g->cluster->gpu ? &g->cluster->machine.gpu_costs : &g->cluster->machine.cpu_costs;
    return g->cluster->known_machine
               ? c->bytes_per_s[STENCIL_LOOP_LAUNCHED][g->problem->rank - 2][STENCIL_FAR]
               : INFINITY;
}

/* Sets the messages of the rank for which they take longest, and the seconds of an exchange. The latency is
 * that of the slowest link in use for all ranks, since each waits for its neighbours and they for theirs. */
static void predict_exchange(const guess *g, const stencil_rank_grid *grid, stencil_prediction *p) {
    const stencil_cluster *c = g->cluster;
    const double shared = c->lanes > 0 ? fmax(1, (double)g->here / c->lanes) : 1, packs = pack_rate(g);
    double most_s = -1;
    for (int rank = 0; rank < g->devices; rank++) {
        stencil_rank_peers peers;
        double time_s = 0, bytes = 0, busy_s = 0;
        stencil_rank_peers_find(grid, rank, &peers);
        for (int i = 0; i < peers.count; i++) {
            const bool leaves = peers.peer[i] / c->devices != rank / c->devices;
            stencil_link link = leaves ? c->between : c->inside;
            link.both_byte_s *= leaves ? shared : 1;
            time_s += stencil_link_further_s(&link, peers.bytes[i]);
            busy_s += 2 * link.overhead_s;
            bytes += peers.bytes[i];
        }
        time_s += 4 * bytes / packs; /* packed and unpacked: read and written each time */
        busy_s += 4 * bytes / packs;
        if (time_s <= most_s)
            continue;
        most_s = time_s;
        p->messages = peers.count;
        p->message_bytes = bytes;
        p->travel_s = most_s - busy_s;
    }
    const double latency_s = g->nodes > 1 ? c->between.latency_s : c->inside.latency_s;
    p->exchange_s = latency_s + most_s;
    p->travel_s += latency_s;
}

static int sides_of(const stencil_rank_grid *grid, int axis) {
    return stencil_cut_sides(grid->count[axis], grid->periodic[axis]);
}

/* With --overlap: the share of a part's rows that no other part needs, which are computed while messages
 * travel; and the rows that a pass of `depth` steps computes twice, as it makes edge rows and the others
 * apart. */
static double inner_share(const stencil_rank_grid *grid, int64_t radius, int depth, double *twice) {
    double share = 1;
    *twice = 0;
    for (int axis = STENCIL_Z; axis <= STENCIL_Y; axis++) {
        const double sides = sides_of(grid, axis), n = (double)grid->n[axis];
        share *= fmax(1 - sides * (double)grid->ghosts[axis] / n, 0);
        *twice += sides * (double)radius * (depth - 1) / n;
    }
    if (grid->count[STENCIL_X] > 1) /* each row has cells that others need */
        share = 0;
    *twice = share > 0 ? *twice : 0;
    return share;
}

/* Cells that a part computes for a cell of its own in a pass, the mean over its steps: step k of d updates
 * the ghost cells that the steps after it read. */
static double grown(const stencil_rank_grid *grid, int64_t radius, int depth) {
    double sum = 0, own = 1;
    for (int later = 0; later < depth; later++) {
        double cells = 1;
        for (int axis = 0; axis < STENCIL_AXES; axis++) {
            const int sides = sides_of(grid, axis);
            cells *= (double)(grid->n[axis] + sides * radius * later);
        }
        own = later == 0 ? cells : own;
        sum += cells;
    }
    return sum / depth / own;
}

/* The problem that a device has: its part, of which what is cut has ghost cells in place of its boundary. On
 * CPUs it is that of a node, whose ranks share processors, caches and memory: as many parts above each other.
 */
static stencil_status part_problem(const guess *g, const stencil_rank_grid *grid, stencil_problem *part) {
    const stencil_problem *whole = g->problem;
    const int slow = STENCIL_AXES - whole->rank, parts = shares_node(g) ? g->here : 1;
    int64_t ghost[3];
    *part = *whole;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        if (grid->count[axis] > 1)
            part->boundary[axis] = STENCIL_FIXED;
        part->n[axis] = grid->n[axis] * (axis == slow ? parts : 1);
        part->extent[axis] =
            part->n[axis] + 2 * (part->boundary[axis] == STENCIL_FIXED ? whole->radius[axis] : 0);
        ghost[axis] = axis < slow ? 0 : whole->shape->radius;
    }
    return stencil_layout_init(&part->layout, whole->precision, part->n, ghost);
}

/* Tells whether a plan can be one of several ranks: on GPUs the host launches each pass, and sends then. */
static bool sends(const stencil_candidate *c) {
    return c->plan.backend == STENCIL_BACKEND_CPU || stencil_strategy_at(c->plan.strategy).sends;
}

static stencil_run_options device_options(const guess *g, int depth) {
    stencil_run_options options = *g->options;
    options.depth = depth;
    options.backend = g->cluster->gpu ? STENCIL_BACKEND_GPU : STENCIL_BACKEND_CPU;
    options.gpu_count = g->cluster->gpu ? 1 : 0;
    options.gpu[0] = 0;
    options.overlap = options.overlap && depth > 0 && !g->cluster->gpu;
    return options;
}

/* Finds the quickest plan of a device for passes of `depth` steps (0: of any number) of its part, alone where
 * `one`. */
static stencil_status device_step(const guess *g, const stencil_problem *problem, int depth, bool one,
                                  device_time *time, int *made_depth) {
    const stencil_run_options options = device_options(g, depth);
    stencil_choice choice = {0};
    *time = (device_time){.possible = false};
    const stencil_status status = stencil_choice_make(&choice, problem, &options, &g->cluster->machine);
    for (int i = 0; i < choice.possible && status == STENCIL_OK && !time->possible; i++) {
        const stencil_candidate *c = &choice.item[one ? choice.chosen : i];
        if (!one && (!sends(c) || c->plan.depth != depth))
            continue;
        *time = (device_time){true,
                              c->options.sync,
                              c->options.sweep,
                              c->cost.step_s,
                              c->cost.compute_s,
                              stencil_sweep_passes(&c->plan, problem).steps,
                              c->plan.poll_every};
        *made_depth = c->plan.depth;
    }
    stencil_choice_destroy(&choice);
    return status;
}

/* The time of a device whose rate is given. */
static device_time rated(const guess *g, const stencil_problem *problem) {
    const double step_s =
        (double)stencil_box_cells(&(stencil_box){.n = {problem->n[0], problem->n[1], problem->n[2]}}) /
        g->cluster->cells_per_s;
    const int64_t every = problem->stop.check_every;
    return (device_time){true, NULL, NULL, step_s, step_s, every, every};
}

static stencil_status predict_one(const guess *g, stencil_prediction *p) {
    const stencil_problem *problem = g->problem;
    device_time time;
    p->depth = g->options->depth > 0 ? g->options->depth : 1;
    memcpy(p->grid.n, problem->n, sizeof p->grid.n);
    if (g->cluster->cells_per_s > 0)
        time = rated(g, problem);
    else
        TRY(device_step(g, problem, g->options->depth, true, &time, &p->depth));
    p->sync = time.sync;
    p->sweep = time.sweep;
    p->own_s = p->step_s = time.step_s;
    p->pass_steps = p->depth;
    return STENCIL_OK;
}

/* Predicts a step in passes of `depth` steps, of parts that are laid out; false: there are no such passes. */
static bool predict_depth(const guess *g, const stencil_rank_grid *grid, int depth, stencil_prediction *p) {
    stencil_problem part;
    device_time time;
    if (part_problem(g, grid, &part) != STENCIL_OK)
        return false;
    if (g->cluster->cells_per_s > 0)
        time = rated(g, &part);
    else if (device_step(g, &part, depth, false, &time, &(int){0}) != STENCIL_OK || !time.possible)
        return false;
    predict_exchange(g, grid, p);
    p->grid = *grid;
    p->depth = depth;
    p->sync = time.sync;
    p->sweep = time.sweep;
    p->own_s = time.step_s;
    p->again_s = time.compute_s * (grown(grid, g->problem->shape->radius, depth) - 1);
    /* Whole passes lie between two checks, and between polls. */
    const double checks = (double)time.check_every, polls = (double)time.poll_every;
    p->pass_steps = checks / ceil(checks / depth);
    if (g->options->overlap) {
        double twice;
        const double inner = inner_share(grid, g->problem->shape->radius, depth, &twice);
        p->again_s += twice * time.compute_s;
        p->exchange_s -= fmin(p->travel_s, inner * p->pass_steps * time.compute_s);
    }
    p->message_s = p->exchange_s / p->pass_steps;
    p->reduction_s = reduction_s(g);
    p->reduce_every = fmax(fmin(checks, polls), p->pass_steps);
    p->reduce_s = p->reduction_s / p->reduce_every;
    p->step_s = p->own_s + p->again_s + p->message_s + p->reduce_s;
    return true;
}

/* The grid of parts for passes of `depth` steps: the cut of a run with as many ranks or, weak, as many fields
 * side by side. */
static stencil_status lay_out(const guess *g, bool weak, int depth, stencil_rank_grid *grid) {
    const stencil_problem *problem = g->problem;
    const stencil_mesh mesh = stencil_problem_mesh(problem, depth);
    stencil_cut cut = {0};
    *grid =
        (stencil_rank_grid){.count = {1, 1, 1}, .bytes = (int)stencil_precision_bytes(problem->precision)};
    if (weak) {
        const int slow = STENCIL_AXES - problem->rank;
        int faster = (int)sqrt(g->devices);
        while (g->devices % faster != 0)
            faster--;
        grid->count[slow] = g->devices / faster;
        grid->count[slow + 1] = faster;
        for (int axis = 0; axis < STENCIL_AXES; axis++)
            CHECK(grid->count[axis] == 1 || mesh.ghosts[axis] <= mesh.n[axis], USAGE,
                  "a field of so few cells has no room for the ghost cells of %d steps", depth);
    } else {
        TRY(stencil_cut_make(&cut, &mesh, g->devices, g->options->cut));
        memcpy(grid->count, cut.count, sizeof grid->count);
    }
    const stencil_box largest =
        weak ? (stencil_box){.n = {mesh.n[0], mesh.n[1], mesh.n[2]}} : stencil_cut_box(&cut, 0);
    memcpy(grid->n, largest.n, sizeof grid->n);
    memcpy(grid->ghosts, mesh.ghosts, sizeof grid->ghosts);
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        grid->periodic[axis] = mesh.wraps[axis] > 0 && mesh.boundary[axis] == STENCIL_PERIODIC;
    return STENCIL_OK;
}

stencil_status stencil_cluster_predict(const stencil_cluster *cluster, const stencil_problem *problem,
                                       const stencil_run_options *options, int devices, bool weak,
                                       stencil_prediction *prediction) {
    const guess g = {.cluster = cluster,
                     .problem = problem,
                     .options = options,
                     .devices = devices,
                     .nodes = (devices + cluster->devices - 1) / cluster->devices,
                     .here = (int)stencil_smaller(devices, cluster->devices)};
    const int asked = options->depth, last = asked > 0 ? asked : STENCIL_DEPTH_MAX;
    stencil_status status = STENCIL_OK;
    *prediction = (stencil_prediction){
        .devices = devices, .nodes = g.nodes, .grid.count = {1, 1, 1}, .step_s = INFINITY};
    CHECK(g.nodes == 1 || cluster->known_between, BAD_DATA,
          "it does not know the link \"between\" nodes, and %d devices are on %d of them", devices, g.nodes);
    if (devices == 1)
        return predict_one(&g, prediction);
    for (int depth = asked > 0 ? asked : 1; depth <= last && status == STENCIL_OK; depth++) {
        stencil_prediction other = *prediction;
        stencil_rank_grid grid;
        status = lay_out(&g, weak, depth, &grid);
        if (status == STENCIL_OK && predict_depth(&g, &grid, depth, &other) &&
            other.step_s < prediction->step_s)
            *prediction = other;
    }
    if (isfinite(prediction->step_s))
        return STENCIL_OK; /* deeper passes have no room */
    TRY(status);
    const stencil_error why = *stencil_error_last();
    FAIL(UNAVAILABLE, "no plan for %d devices: %.150s", devices, why.message);
}

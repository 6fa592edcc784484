/* What steps cost where nobody has measured it: costs.def, for this machine. */
#include <math.h>
#include <string.h>

#include "solver/machine/machine.h"

/* The GPU that costs.def is of. */
static const double sm_clocks = 132 * 1980000.0;
enum { FAR_SETS = 2, CPU_NEAR_BYTES = 1 << 19, CPU_FAR_BYTES = 64 << 20 };
/* CPU threads that the memory of costs.def is for: with more of them there is more of it. */
static const double memory_threads = 4.5;

/* The row of costs.def that has the name; zeros: none has. */
static stencil_sync_cost cost_named(const char *wanted, double factor) {
    static const struct {
        const char *name;
        double us[5];
    } rows[] = {
#define STENCIL_COST(name, ...) {name, {__VA_ARGS__}},
#define STENCIL_BANDWIDTH(...)
#include "solver/machine/costs.def"
#undef STENCIL_COST
#undef STENCIL_BANDWIDTH
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const double *us = rows[i].us, unit = 1e-6 * factor;
        if (strcmp(rows[i].name, wanted) == 0)
            return (stencil_sync_cost){unit * us[0], unit * us[1], unit * us[2], unit * us[3], unit * us[4]};
    }
    return (stencil_sync_cost){0};
}

static void set_sync(stencil_calibration *c, bool gpu, double factor) {
    for (int i = 0; i < STENCIL_STRATEGIES; i++) {
        const stencil_strategy_info info = stencil_strategy_at(i);
        const bool persistent = info.barrier != STENCIL_BARRIER_none;
        c->sync[i] = cost_named(gpu ? info.name : "", factor);
        if (c->sync[i].few_s == 0)
            c->sync[i] = cost_named(
                gpu ? (persistent ? "barriers" : "launches") : (persistent ? "threads" : "loops"), factor);
    }
}

/* Of all ranks, or of both where the row has rank 0. */
static void set_bandwidth(stencil_calibration *c, bool gpu, double near_factor, double far_factor) {
#define STENCIL_COST(...)
#define STENCIL_BANDWIDTH(loop, rank, near_gb, far_gb)                                                       \
    for (int r = 0; r < 2; r++)                                                                              \
        if (((rank) == 0) == !gpu && ((rank) == 0 || (rank) == r + 2)) {                                     \
            c->bytes_per_s[STENCIL_LOOP_##loop][r][STENCIL_NEAR] = 1e9 * (near_gb)*near_factor;              \
            c->bytes_per_s[STENCIL_LOOP_##loop][r][STENCIL_FAR] = 1e9 * (far_gb)*far_factor;                 \
        }
#include "solver/machine/costs.def"
#undef STENCIL_COST
#undef STENCIL_BANDWIDTH
}

void stencil_calibration_defaults(stencil_machine *machine) {
    const stencil_gpu *gpu = &machine->gpu[0];
    stencil_calibration *c = &machine->cpu_costs, *g = &machine->gpu_costs;
    stencil_tuning tuning;
    stencil_tuning_find(&tuning, gpu->name);
    const int processors = machine->cpu_processors > 0 ? machine->cpu_processors : machine->cpu_threads;
    const double threads = machine->cpu_threads, at_once = fmin(threads, processors),
                 cache = (double)machine->cpu_cache_bytes;
    *c = (stencil_calibration){.most_parts = STENCIL_PARTS_MAX,
                               .fma_per_s = {at_once * 3.2e10, at_once * 1.6e10}};
    c->set_bytes[STENCIL_NEAR] = CPU_NEAR_BYTES * at_once;
    /* A shared host reports more cache than one has. */
    c->set_bytes[STENCIL_FAR] =
        fmax(fmin(cache > 0 ? cache : INFINITY, CPU_FAR_BYTES), 4 * c->set_bytes[STENCIL_NEAR]);
    c->peer_bytes_per_s = tuning.cpu_bytes_per_s;
    set_sync(c, false, threads);
    set_bandwidth(c, false, at_once, fmax(1, at_once / memory_threads));
    const double size =
        gpu->sm_count > 0 && gpu->clock_khz > 0 ? gpu->sm_count * (double)gpu->clock_khz / sm_clocks : 1;
    *g = (stencil_calibration){.latency_s = tuning.latency_s,
                               .round_s = {tuning.round_s, tuning.round_s},
                               .fma_per_s = {size * tuning.fma_per_s, size * tuning.fma_per_s / 2},
                               .peer_bytes_per_s = tuning.peer_bytes_per_s,
                               .copy_s = tuning.copy_s,
                               .most_parts = 4};
    g->set_bytes[STENCIL_NEAR] = gpu->l2_bytes > 0 ? 0.55 * (double)gpu->l2_bytes : 1;
    g->set_bytes[STENCIL_FAR] = FAR_SETS * g->set_bytes[STENCIL_NEAR];
    set_sync(g, true, 1);
    set_bandwidth(g, true, size, size);
}

/* Sets the costs of steps of a machine that was not calibrated: scaled constants of its GPU's file. */
#include <math.h>
#include <string.h>

#include "solver/machine/machine.h"
#include "solver/machine/tuned.h"

static void set_sync(stencil_calibration *c, const stencil_tuning *t, bool gpu, double factor) {
    for (int i = 0; i < STENCIL_STRATEGIES; i++) {
        const stencil_strategy_info info = stencil_strategy_at(i);
        const bool persistent = info.barrier != STENCIL_BARRIER_none;
        const double unit = 1e-6 * factor;
        const stencil_sync_us *us = persistent ? &t->sync_threads : &t->sync_loops;
        if (gpu)
            us = (const void *)((const char *)t + stencil_tuned_sync(info.name, persistent)->offset);
        c->sync[i] = (stencil_sync_cost){unit * us->few, unit * us->all, unit * us->two, unit * us->most,
                                         unit * us->check};
    }
}

static void set_cpu(stencil_calibration *c, const stencil_tuning *t, const stencil_machine *machine) {
    const int processors = machine->cpu_processors > 0 ? machine->cpu_processors : machine->cpu_threads;
    const double threads = machine->cpu_threads, at_once = fmin(threads, processors),
                 cache = (double)machine->cpu_cache_bytes, fma_per_s = at_once * t->cpu_fma_per_s;
    *c = (stencil_calibration){.most_parts = STENCIL_PARTS_MAX, .fma_per_s = {fma_per_s, fma_per_s / 2}};
    c->set_bytes[STENCIL_NEAR] = t->cpu_near_bytes * at_once;
    /* A shared host reports a larger cache than one process gets. */
    c->set_bytes[STENCIL_FAR] =
        fmax(fmin(cache > 0 ? cache : INFINITY, t->cpu_far_bytes), 4 * c->set_bytes[STENCIL_NEAR]);
    c->peer_bytes_per_s = t->cpu_bytes_per_s;
    set_sync(c, t, false, threads);
    for (int i = 0; i < 2 * STENCIL_LOOP_COUNT; i++) {
        double *const bytes_per_s = c->bytes_per_s[i / 2][i % 2];
        bytes_per_s[STENCIL_NEAR] = t->cpu_near * at_once;
        bytes_per_s[STENCIL_FAR] = t->cpu_far * fmax(1, at_once / t->cpu_memory_threads);
    }
}

static void set_gpu(stencil_calibration *c, const stencil_tuning *t, const stencil_gpu *gpu) {
    const double bytes_per_s[] = {t->launched_2d_near,   t->launched_2d_far,    t->launched_3d_near,
                                  t->launched_3d_far,    t->persistent_2d_near, t->persistent_2d_far,
                                  t->persistent_3d_near, t->persistent_3d_far},
                 size = gpu->sm_count > 0 && gpu->clock_khz > 0
                            ? gpu->sm_count * (double)gpu->clock_khz / t->sm_khz
                            : 1;
    *c = (stencil_calibration){.latency_s = t->latency_s,
                               .round_s = {t->round_launched_s, t->round_persistent_s},
                               .fma_per_s = {size * t->fma_per_s, size * t->fma_per_s / 2},
                               .peer_bytes_per_s = t->peer_bytes_per_s,
                               .copy_s = t->copy_s,
                               .most_parts = 4}; /* parts that default.def has sync_ costs of */
    c->set_bytes[STENCIL_NEAR] = gpu->l2_bytes > 0 ? t->near_l2 * (double)gpu->l2_bytes : 1;
    c->set_bytes[STENCIL_FAR] = t->far_sets * c->set_bytes[STENCIL_NEAR];
    set_sync(c, t, true, 1);
    for (int i = 0; i < 2 * STENCIL_LOOP_COUNT * STENCIL_DISTANCES; i++)
        (&c->bytes_per_s[0][0][0])[i] = bytes_per_s[i] * size;
}

void stencil_calibration_defaults(stencil_machine *machine) {
    stencil_tuning tuning;
    stencil_tuning_find(&tuning, machine->gpu[0].name);
    set_cpu(&machine->cpu_costs, &tuning, machine);
    set_gpu(&machine->gpu_costs, &tuning, &machine->gpu[0]);
}

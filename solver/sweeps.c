/* The registry of sweeps, made of kernels/sweeps.def. */
#include "solver/sweep.h"

#define STENCIL_SWEEP(name, exchanges, text) extern const stencil_sweep_host stencil_sweep_##name;
#include "kernels/sweeps.def"
#undef STENCIL_SWEEP

static const stencil_sweep_host *const rows[] = {
#define STENCIL_SWEEP(name, exchanges, text) &stencil_sweep_##name,
#include "kernels/sweeps.def"
#undef STENCIL_SWEEP
};

const stencil_sweep_info stencil_sweep_infos[] = {
#define STENCIL_SWEEP(name, exchanges, text) {#name, text},
#include "kernels/sweeps.def"
#undef STENCIL_SWEEP
    {NULL, NULL},
};

const stencil_sweep_host *stencil_sweep_row(stencil_sweep_id sweep) {
    return rows[sweep];
}

double stencil_sweep_traffic(stencil_sweep_id sweep, const stencil_problem *problem) {
    if (rows[sweep]->traffic != NULL)
        return rows[sweep]->traffic(problem);
    return stencil_problem_arrays(problem) * (double)stencil_precision_bytes(problem->precision);
}

const char *stencil_sweep_unavailable(stencil_sweep_id sweep, const stencil_problem *problem) {
    return rows[sweep]->unavailable != NULL ? rows[sweep]->unavailable(problem) : "";
}

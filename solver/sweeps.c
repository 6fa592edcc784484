/* The registry of sweeps, made of kernels/sweeps.def. */
#include "solver/sweep.h"

#define STENCIL_SWEEP(name, exchanges, text) extern const stencil_sweep_host stencil_sweep_##name;
#include "kernels/sweeps.def"

const stencil_sweep_info stencil_sweep_infos[] = {
#define STENCIL_SWEEP(name, exchanges, text) {#name, text, &stencil_sweep_##name},
#include "kernels/sweeps.def"
    {0},
};

double stencil_sweep_traffic(stencil_sweep_id sweep, const stencil_problem *problem) {
    const stencil_sweep_host *host = stencil_sweep_infos[sweep].host;
    if (host->traffic != NULL)
        return host->traffic(problem);
    return stencil_problem_arrays(problem) * (double)stencil_precision_bytes(problem->precision);
}

const char *stencil_sweep_unavailable(stencil_sweep_id sweep, const stencil_problem *problem) {
    const stencil_sweep_host *host = stencil_sweep_infos[sweep].host;
    return host->unavailable != NULL ? host->unavailable(problem) : "";
}

/* A launch per step, queued in a stream: the end of a kernel is the barrier, and the host waits only where it
 * checks a residual (implicit CPU synchronisation of Xiao and Feng, IPDPS 2010). */
#include "solver/strategy.h"

const stencil_strategy stencil_strategy_relaunch = {
    .barrier = STENCIL_BARRIER_none,
    .batch_cpu = stencil_host_loop_cpu,
    .batch_gpu = STENCIL_ON_GPU(stencil_host_loop_gpu),
};

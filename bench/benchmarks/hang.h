/* Kernels that may never end. Internal to bench/benchmarks/. */
#ifndef STENCIL_BENCH_HANG_H
#define STENCIL_BENCH_HANG_H

#include "base/base.h"

#ifdef STENCIL_HAVE_CUDA
/* Waits at most `limit_s` for everything launched on the current device's default stream. *ended false:
 * something still runs, and this process can do no more than answer and end, which it then does without
 * waiting for the device. For child processes only. */
stencil_status stencil_wait_or_give_up(double limit_s, bool *ended);
#endif

#endif

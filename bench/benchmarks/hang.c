#include "bench/benchmarks/hang.h"

#include "base/cuda.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Registered last, so it runs first: what the driver registered might wait for a kernel that never ends. */
static void leave_at_once(void) {
    _exit(EXIT_SUCCESS);
}

stencil_status stencil_wait_or_give_up(double limit_s, bool *ended) {
    const double start_s = stencil_clock_s();
    *ended = false;
    for (;;) {
        const cudaError_t state = cudaStreamQuery(NULL);
        if (state == cudaSuccess)
            break;
        if (state != cudaErrorNotReady)
            TRY_CUDA(state);
        if (stencil_clock_s() - start_s > limit_s) {
            CHECK(atexit(leave_at_once) == 0, INTERNAL, "cannot arrange to leave a kernel that does not end");
            return STENCIL_OK;
        }
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
    *ended = true;
    return STENCIL_OK;
}
#endif

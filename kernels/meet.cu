/* Whether kernels run beside each other: each counts itself and waits, for so long, until all have. */
#include "kernels/table.h"
#include "sync/memory.cuh"

/* word[0]: how many have come; word[1]: not 0 when somebody waited in vain. */
static __global__ void meet(uint32_t *word, uint32_t goal, uint64_t timeout_ns) {
    const uint64_t start_ns = stencil::device_clock_ns();
    atomicAdd(word, 1u);
    while (stencil::load_relaxed(word) < goal)
        if (stencil::device_clock_ns() - start_ns > timeout_ns) {
            word[1] = 1;
            return;
        }
}

extern "C" const void *stencil_meet_kernel(void) {
    return reinterpret_cast<const void *>(&meet);
}

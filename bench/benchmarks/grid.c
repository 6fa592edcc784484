/* One pass of every grid barrier, over blocks per multiprocessor and threads per block (000 section 5.3, Fig.
 * 7; Zhang et al., A Study of Synchronization Methods in Modern GPUs, Table 8): the library's grid.sync(),
 * and the very types that the persistent loops use. `neighbor` waits for the two neighbours in a ring. */
#include "bench/benchmarks/cpu.h"
#include "bench/benchmarks/passes.h"
#include "bench/method.h"

#ifdef STENCIL_HAVE_CUDA
/* Barriers that one GPU has. With a planted fault only what shows it: few shapes. */
static stencil_status add_cases(stencil_bench *b) {
    const bool plant = b->options->inject_fault;
    for (int id = 0; id < (plant ? STENCIL_PASSES_COUNT : STENCIL_PASSES_FAULT); id++) {
        stencil_passes_case c = {.barrier = stencil_grid_kernels[id], .gpus = 1};
        while (c.barrier.info.needs != STENCIL_NEEDS_PEERS &&
               stencil_next_shape(&c.blocks_per_sm, &c.threads, plant ? 2 : STENCIL_BLOCKS_MAX,
                                  plant ? 256 : 32))
            TRY(stencil_passes_add(b, &c, false));
    }
    return STENCIL_OK;
}

stencil_status stencil_measure_grid(stencil_bench *b) {
    return stencil_passes_run(b, 1, add_cases);
}
#endif

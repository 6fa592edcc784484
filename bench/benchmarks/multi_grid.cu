/* One pass of the barriers across GPUs, over the number of GPUs, blocks per multiprocessor and threads per
 * block (000 section 6, Fig. 5, 8, 9). Maps for two GPUs and for all; the three shapes of 000 Fig. 5 for
 * numbers between. `neighbor` waits for the two neighbours in a ring of all blocks of all GPUs. */
#include "bench/benchmarks/passes.cuh"

/* The fastest, the slowest and a usual shape: 000 Fig. 5. */
static bool in_figure_5(int blocks, int threads) {
    return (blocks == 1 && (threads == 32 || threads == 256 || threads == 1024)) ||
           (blocks == 32 && threads == 64);
}

static stencil_status add_cases(stencil_bench *b) {
    const bool plant = b->options->inject_fault;
    const int all = b->options->gpu_count;
    for (int gpus = 1; gpus <= all; gpus++) {
        const bool map = (gpus == 2 || gpus == all) && !plant;
        passes_case c = {.barrier = grid_kernels[STENCIL_BARRIER_multi_grid], .gpus = gpus};
        while (stencil_next_shape(&c.blocks_per_sm, &c.threads, STENCIL_BLOCKS_MAX, 32))
            if (map || in_figure_5(c.blocks_per_sm, c.threads))
                TRY(passes_add(b, &c, true));
        c.blocks_per_sm = 1;
        c.threads = 256;
        c.barrier = grid_kernels[STENCIL_BARRIER_neighbor];
        TRY(passes_add(b, &c, true));
        /* Waits for the blocks of its own GPU, and releases nothing to the others. */
        c.barrier = grid_kernels[STENCIL_BARRIER_central];
        c.barrier.info = grid_kernels[PASSES_FAULT].info;
        if (plant && gpus > 1)
            TRY(passes_add(b, &c, true));
    }
    return STENCIL_OK;
}

stencil_status stencil_measure_multi_grid(stencil_bench *b) {
    if (b->options->inject_fault && b->options->gpu_count < 2)
        return stencil_bench_skip(b->result, "a fault between GPUs needs two");
    return passes_run(b, b->options->gpu_count, add_cases);
}

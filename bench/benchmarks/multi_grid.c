/* One pass of the barriers across GPUs, over the number of GPUs, blocks per multiprocessor and threads per
 * block (000 section 6, Fig. 5, 8, 9). Maps for two GPUs and for all; the three shapes of 000 Fig. 5 for
 * numbers between. `neighbor` waits for the two neighbours in a ring of all blocks of all GPUs. */
#include "bench/benchmarks/passes.h"
#include "bench/method.h"

#ifdef STENCIL_HAVE_CUDA
enum { PART_THREADS = 256 };
static const double part_timeout_s = 0.3;
static const stencil_barrier_info fault = {.name = "planted fault"};

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
        stencil_passes_case c = {.info = &stencil_barriers[STENCIL_BARRIER_multi_grid],
                                 .kernel = stencil_multi_grid_kernels[STENCIL_MULTI_GRID_WHOLE],
                                 .gpus = gpus};
        while (stencil_next_shape(&c.blocks_per_sm, &c.threads, STENCIL_BLOCKS_MAX, 32))
            if (map || in_figure_5(c.blocks_per_sm, c.threads))
                TRY(stencil_passes_add(b, &c, true));
        c.blocks_per_sm = 1;
        c.threads = 256;
        c.info = &stencil_barriers[STENCIL_BARRIER_neighbor];
        c.kernel = stencil_multi_grid_kernels[STENCIL_MULTI_GRID_NEIGHBOR];
        TRY(stencil_passes_add(b, &c, true));
        c.info = &fault;
        c.kernel = stencil_multi_grid_kernels[STENCIL_MULTI_GRID_FAULT];
        if (plant && gpus > 1)
            TRY(stencil_passes_add(b, &c, true));
    }
    return STENCIL_OK;
}

static stencil_status run_gpu(stencil_bench *b) {
    const stencil_bench_options *o = b->options;
    stencil_passes_bench p;
    for (int i = 0; i < o->gpu_count; i++)
        if (!b->machine->gpu[o->gpu[i]].cooperative)
            return stencil_bench_skip(b->result, "GPU %d has no cooperative launch", o->gpu[i]);
    if (!stencil_device_peers(b))
        return STENCIL_OK;
    if (o->inject_fault && o->gpu_count < 2)
        return stencil_bench_skip(b->result, "a fault between GPUs needs two");
    TRY(stencil_passes_begin(b, &p, o->gpu_count));
    TRY(add_cases(b));
    return stencil_passes_measure(b);
}

/* Only a part synchronises, once: the question of the benchmark partial. */
static stencil_status run_part(stencil_bench *b, const stencil_passes_bench *p, bool half_the_blocks,
                               int *outcome) {
    stencil_passes_case *c;
    uint32_t blocks[STENCIL_PARTS_MAX], done;
    int64_t resident;
    TRY(stencil_bench_memory(b, &c, sizeof *c));
    c->info = &stencil_barriers[STENCIL_BARRIER_multi_grid];
    c->kernel = stencil_multi_grid_kernels[STENCIL_MULTI_GRID_PART];
    c->gpus = p->gpu_count;
    c->grid = (stencil_grid){.blocks = (unsigned)p->sm_count, .block_x = PART_THREADS, .block_y = 1};
    for (int part = 0; part < c->gpus; part++) {
        blocks[part] = half_the_blocks ? c->grid.blocks / 2 : part < c->gpus / 2 ? c->grid.blocks : 0;
        TRY_CUDA(cudaSetDevice(p->gpu[part]));
        TRY(stencil_grid_resident(c->kernel[0], &c->grid, &resident)); /* loads it */
    }
    TRY(stencil_passes_make(b, c, part_timeout_s));
    TRY(stencil_passes_launch(p, c, 1, false, blocks));
    const stencil_status status = stencil_barrier_check(&c->barrier, NULL);
    TRY(stencil_passes_counted(c, STENCIL_PASSES_DONE, &done));
    *outcome = done != c->grid.blocks * (uint32_t)c->gpus ? STENCIL_PARTIAL_LOSES
               : status != STENCIL_OK                     ? STENCIL_PARTIAL_GIVES_UP
                                                          : STENCIL_PARTIAL_COMPLETES;
    return STENCIL_OK;
}

/* Of the first GPUs, so many, half synchronise, or half the blocks of each. */
static stencil_status child(stencil_bench *b, const int question[STENCIL_BENCH_NUMBERS],
                            int answer[STENCIL_BENCH_NUMBERS]) {
    stencil_passes_bench p;
    CHECK(question[0] > 1 && question[0] <= b->options->gpu_count, USAGE, "multi-grid: no such question");
    TRY(stencil_passes_begin(b, &p, question[0]));
    return run_part(b, &p, question[1], answer);
}
#endif

const stencil_benchmark stencil_benchmark_multi_grid = {
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .child = STENCIL_ON_GPU(child),
    .many_gpus = true,
    .fault = true,
    .gpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_REPEATS,
};

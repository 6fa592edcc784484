/* One pass of the barriers across GPUs, over the number of GPUs, blocks per multiprocessor and threads per
 * block (000 section 6, Fig. 5, 8, 9). Maps for two GPUs and for all; the three shapes of 000 Fig. 5 for
 * numbers between. `neighbor` waits for the two neighbours in a ring of all blocks of all GPUs. */
#include "bench/benchmarks/partial.h"
#include "bench/benchmarks/passes.h"

#ifdef STENCIL_HAVE_CUDA
enum { CASES_MAX = 64 * STENCIL_GPUS_MAX, PART_THREADS = 256 };
static const double part_timeout_s = 0.3;
static const stencil_barrier_info fault = {.name = "planted fault"};

static stencil_status add_case(stencil_passes_bench *b, stencil_bench_result *result, int id, int gpus,
                               int blocks_per_sm, int threads) {
    const stencil_passes_case c = {
        .info = id == STENCIL_PASSES_FAULT ? &fault : &stencil_barriers[id],
        .kernel = {stencil_multi_grid_kernel(id, false), stencil_multi_grid_kernel(id, true)},
        .gpus = gpus,
        .blocks_per_sm = blocks_per_sm,
        .threads = threads};
    return stencil_passes_add(b, result, &c, true);
}

/* The fastest, the slowest and a usual shape: 000 Fig. 5. */
static bool in_figure_5(int blocks, int threads) {
    return (blocks == 1 && (threads == 32 || threads == 256 || threads == 1024)) ||
           (blocks == 32 && threads == 64);
}

static stencil_status add_cases(stencil_passes_bench *b, const stencil_bench_options *options,
                                stencil_bench_result *result) {
    for (int gpus = 1; gpus <= b->gpu_count; gpus++) {
        const bool map = (gpus == 2 || gpus == b->gpu_count) && !options->inject_fault;
        for (int blocks = 1; blocks <= STENCIL_PASSES_BLOCKS_MAX; blocks *= 2)
            for (int threads = 32; threads <= 1024 && blocks * threads <= STENCIL_PASSES_THREADS_MAX;
                 threads *= 2)
                if (map || in_figure_5(blocks, threads))
                    TRY(add_case(b, result, STENCIL_BARRIER_multi_grid, gpus, blocks, threads));
        TRY(add_case(b, result, STENCIL_BARRIER_neighbor, gpus, 1, 256));
        if (options->inject_fault && gpus > 1)
            TRY(add_case(b, result, STENCIL_PASSES_FAULT, gpus, 1, 256));
    }
    return STENCIL_OK;
}

static stencil_status run_gpu(const stencil_bench_options *options, const stencil_machine *machine,
                              stencil_bench_result *result) {
    for (int i = 0; i < options->gpu_count; i++) {
        if (!machine->gpu[options->gpu[i]].cooperative)
            return stencil_bench_skip(result, "GPU %d has no cooperative launch", options->gpu[i]);
        for (int j = 0; j < options->gpu_count; j++)
            if (!machine->peer[options->gpu[i]][options->gpu[j]])
                return stencil_bench_skip(result, "GPU %d has no access to the memory of GPU %d",
                                          options->gpu[i], options->gpu[j]);
    }
    if (options->inject_fault && options->gpu_count < 2)
        return stencil_bench_skip(result, "a fault between GPUs needs two");
    stencil_passes_bench b;
    stencil_status status = stencil_passes_create(&b, options, options->gpu_count, CASES_MAX);
    if (status == STENCIL_OK)
        status = add_cases(&b, options, result);
    if (status == STENCIL_OK)
        status = stencil_passes_measure(&b, options, result);
    stencil_passes_destroy(&b);
    return status;
}

/* Only a part synchronises, once: the question of the benchmark partial. */
static stencil_status run_part(stencil_passes_bench *b, bool half_the_blocks,
                               stencil_partial_outcome *outcome) {
    stencil_passes_case *c = b->cases;
    *c = (stencil_passes_case){
        .info = &stencil_barriers[STENCIL_BARRIER_multi_grid],
        .kernel = {stencil_multi_grid_part_kernel()},
        .gpus = b->gpu_count,
        .grid = {.blocks = (unsigned)b->sm_count, .block_x = PART_THREADS, .block_y = 1},
    };
    uint32_t blocks[STENCIL_PARTS_MAX], done;
    int64_t resident;
    for (int part = 0; part < c->gpus; part++) {
        blocks[part] = half_the_blocks ? c->grid.blocks / 2 : part < c->gpus / 2 ? c->grid.blocks : 0;
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY(stencil_grid_resident(c->kernel[0], &c->grid, &resident)); /* loads it */
    }
    TRY(stencil_passes_make(b, c, part_timeout_s));
    TRY(stencil_passes_launch(b, c, 1, false, blocks));
    const stencil_status status = stencil_barrier_check(&c->barrier, NULL);
    TRY(stencil_passes_counted(c, STENCIL_PASSES_DONE, &done));
    *outcome = done != c->grid.blocks * (uint32_t)c->gpus ? STENCIL_PARTIAL_LOSES
               : status != STENCIL_OK                     ? STENCIL_PARTIAL_GIVES_UP
                                                          : STENCIL_PARTIAL_COMPLETES;
    return STENCIL_OK;
}

static stencil_status child(const stencil_bench_options *options, const void *question, size_t question_size,
                            void *answer, size_t answer_size) {
    const stencil_multi_grid_part *part = question;
    stencil_passes_bench b;
    CHECK(question_size == sizeof *part && answer_size == sizeof(stencil_partial_outcome) &&
              part->gpu_count > 1 && part->gpu_count <= STENCIL_GPUS_MAX,
          USAGE, "multi-grid: no such question");
    stencil_status status = stencil_passes_create(&b, options, part->gpu_count, 1);
    if (status == STENCIL_OK)
        status = run_part(&b, part->blocks, answer);
    stencil_passes_destroy(&b);
    return status;
}
#endif

const stencil_benchmark stencil_benchmark_multi_grid = {
    .run_gpu = STENCIL_ON_GPU(run_gpu),
    .child = STENCIL_ON_GPU(child),
    .many_gpus = true,
    .fault = true,
    .gpu_uses = STENCIL_BENCH_USES_SAMPLES | STENCIL_BENCH_USES_REPEATS,
};

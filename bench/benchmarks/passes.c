#include "bench/benchmarks/passes.h"

#ifdef STENCIL_HAVE_CUDA
#include <stdlib.h>

#include "bench/benchmarks/ring.h"

enum { CLUSTER_BLOCKS = 4, VERIFIED_PASSES = 200 };
static const double timeout_s = 2;

static stencil_status take_gpu(stencil_passes_bench *b, int i) {
    int sm_count, major, minor;
    TRY_CUDA(cudaSetDevice(b->gpu[i]));
    TRY_CUDA(cudaDeviceGetAttribute(&sm_count, cudaDevAttrMultiProcessorCount, b->gpu[i]));
    TRY_CUDA(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, b->gpu[i]));
    TRY_CUDA(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, b->gpu[i]));
    if (i == 0 || sm_count < b->sm_count)
        b->sm_count = sm_count;
    if (i == 0 || 10 * major + minor < b->capability)
        b->capability = 10 * major + minor;
    TRY(stencil_peers_reach(b->gpu[i], b->gpu, b->gpu_count));
    TRY_CUDA(cudaMalloc((void **)&b->word[i],
                        (size_t)(sm_count * STENCIL_PASSES_BLOCKS_MAX) * sizeof *b->word[i]));
    return STENCIL_OK;
}

stencil_status stencil_passes_create(stencil_passes_bench *b, const stencil_bench_options *options,
                                     int gpu_count, int case_count) {
    *b = (stencil_passes_bench){.gpu = options->gpu,
                                .gpu_count = gpu_count,
                                .more = stencil_repeats_more(options),
                                .case_count = case_count,
                                .cases = calloc((size_t)case_count, sizeof *b->cases)};
    CHECK(b->cases != NULL, NO_MEMORY, "no memory for %d rows", case_count);
    for (int i = 0; i < gpu_count; i++)
        TRY(take_gpu(b, i));
    return STENCIL_OK;
}

void stencil_passes_destroy(stencil_passes_bench *b) {
    for (int i = 0; i < b->gpu_count; i++)
        cudaFree(b->word[i]);
    for (int i = 0; i < b->case_count && b->cases != NULL; i++)
        stencil_barrier_destroy(&b->cases[i].barrier);
    free(b->cases);
    *b = (stencil_passes_bench){0};
}

stencil_status stencil_passes_make(const stencil_passes_bench *b, stencil_passes_case *c, double limit_s) {
    stencil_barrier_shape shape = {.info = c->info, .parts = c->gpus, .timeout_s = limit_s};
    for (int part = 0; part < c->gpus; part++) {
        shape.device[part] = b->gpu[part];
        shape.first[part + 1] = c->grid.blocks * (uint32_t)(part + 1);
    }
    const uint32_t all = shape.first[c->gpus];
    uint32_t *first;
    TRY(stencil_barrier_create(&c->barrier, &shape));
    if (shape.info->needs != STENCIL_NEEDS_NEIGHBORS)
        return STENCIL_OK;
    TRY(stencil_ring_create(&first, all));
    const stencil_status status = stencil_barrier_set_neighbors(&c->barrier, first, first + all + 1, false);
    free(first);
    return status;
}

stencil_status stencil_passes_launch(const stencil_passes_bench *b, const stencil_passes_case *c,
                                     int64_t passes, bool verify, const uint32_t *blocks) {
    for (int part = 0; part < c->gpus; part++) {
        uint32_t *const spare = stencil_barrier_spare(&c->barrier, part);
        stencil_passes p = {.state = c->barrier.state[part],
                            .passes = passes,
                            .missing = spare + STENCIL_PASSES_MISSING,
                            .done = spare + STENCIL_PASSES_DONE,
                            .blocks = blocks != NULL ? blocks[part] : c->grid.blocks};
        for (int other = 0; other < c->gpus; other++)
            p.word[other] = b->word[other];
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY(stencil_grid_launch(c->kernel[verify], &c->grid, &p, NULL));
    }
    for (int part = 0; part < c->gpus; part++) {
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

stencil_status stencil_passes_counted(const stencil_passes_case *c, int which, uint32_t *sum) {
    *sum = 0;
    for (int part = 0; part < c->gpus; part++) {
        uint32_t seen;
        TRY_CUDA(cudaMemcpy(&seen, stencil_barrier_spare(&c->barrier, part) + which, sizeof seen,
                            cudaMemcpyDeviceToHost));
        *sum += seen;
    }
    return STENCIL_OK;
}

/* From fresh words, which are there before anybody starts. */
static stencil_status pass(const stencil_passes_bench *b, stencil_passes_case *c, int64_t passes, bool verify,
                           double *time_s) {
    uint32_t missing;
    for (int part = 0; part < c->gpus; part++) {
        TRY_CUDA(cudaSetDevice(b->gpu[part]));
        TRY_CUDA(cudaMemset(b->word[part], 0, c->grid.blocks * sizeof *b->word[part]));
    }
    TRY(stencil_barrier_restart(&c->barrier));
    const double start_s = stencil_clock_s();
    TRY(stencil_passes_launch(b, c, passes, verify, NULL));
    *time_s = stencil_clock_s() - start_s;
    TRY(stencil_barrier_check(&c->barrier, NULL));
    TRY(stencil_passes_counted(c, STENCIL_PASSES_MISSING, &missing));
    CHECK(missing == 0, INTERNAL,
          "barrier %s, %d GPU%s, %u blocks of %d threads each, does not hold: %u times a block had not "
          "arrived",
          c->info->name, c->gpus, stencil_plural(c->gpus), c->grid.blocks, c->threads, missing);
    return STENCIL_OK;
}

static stencil_status sample(void *context, int row, double *value) {
    stencil_passes_bench *b = context;
    stencil_passes_case *c = &b->cases[row];
    double low_s = 0, high_s = 0;
    TRY(pass(b, c, STENCIL_REPEATS, false, &low_s));
    TRY(pass(b, c, STENCIL_REPEATS + b->more, false, &high_s));
    *value = stencil_two_counts_add(&c->two, high_s, low_s);
    return STENCIL_OK;
}

/* Whether all blocks can be resident at once, timed and verified. */
static stencil_status fits(const stencil_passes_bench *b, const stencil_passes_case *c, bool *all) {
    *all = true;
    for (int part = 0; part < c->gpus; part++)
        for (int verify = 0; verify < 2; verify++) {
            int64_t blocks;
            TRY_CUDA(cudaSetDevice(b->gpu[part]));
            TRY(stencil_grid_resident(c->kernel[verify], &c->grid, &blocks));
            *all = *all && blocks >= c->grid.blocks;
        }
    return STENCIL_OK;
}

stencil_status stencil_passes_add(stencil_passes_bench *b, stencil_bench_result *result,
                                  const stencil_passes_case *asked, bool gpus_axis) {
    const int capability = asked->info->capability;
    int row;
    bool all;
    TRY(stencil_bench_add_row(result, "barrier", asked->info->name, "s/pass", &row));
    CHECK(row < b->case_count, INTERNAL, "%s: more rows than places", result->benchmark);
    if (gpus_axis)
        stencil_bench_set_axis(result, row, "gpus", asked->gpus);
    stencil_bench_set_axis(result, row, "blocks_per_sm", asked->blocks_per_sm);
    stencil_bench_set_axis(result, row, "threads", asked->threads);
    result->row[row].method = STENCIL_METHOD_TWO_COUNTS;
    stencil_passes_case *c = &b->cases[row];
    *c = *asked;
    c->two.difference = (double)b->more;
    c->grid = (stencil_grid){
        .blocks = (unsigned)(b->sm_count * c->blocks_per_sm), .block_x = (unsigned)c->threads, .block_y = 1};
    if (c->info->needs == STENCIL_NEEDS_CLUSTERS) {
        c->grid.cluster_blocks = CLUSTER_BLOCKS;
        c->grid.blocks -= c->grid.blocks % CLUSTER_BLOCKS;
    }
    if (b->capability < capability) {
        stencil_bench_skip_row(result, row, "needs compute capability %d.%d", capability / 10,
                               capability % 10);
        return STENCIL_OK;
    }
    TRY(fits(b, c, &all));
    if (all)
        return stencil_passes_make(b, c, timeout_s);
    stencil_bench_skip_row(result, row, "%u blocks of %d threads are not resident at once", c->grid.blocks,
                           c->threads);
    return STENCIL_OK;
}

stencil_status stencil_passes_measure(stencil_passes_bench *b, const stencil_bench_options *options,
                                      stencil_bench_result *result) {
    double time_s;
    stencil_bench_add_number(result, "passes", STENCIL_REPEATS);
    stencil_bench_add_number(result, "more_passes", b->more);
    stencil_bench_add_number(result, "blocks_per_cluster", CLUSTER_BLOCKS);
    TRY(stencil_bench_measure_values(result, options, sample, b));
    for (int row = 0; row < result->row_count; row++) {
        if (result->row[row].skipped[0] != '\0')
            continue;
        result->row[row].method_sd = stencil_two_counts_sd(&b->cases[row].two);
        TRY(pass(b, &b->cases[row], VERIFIED_PASSES, true, &time_s));
    }
    stencil_bench_add_note(result,
                           "Verified: after timing, %d passes of each in which every thread looked whether a "
                           "block that it waits for had arrived%s, some of them late.",
                           VERIFIED_PASSES, b->gpu_count > 1 ? ", on other GPUs too" : "");
    return STENCIL_OK;
}
#endif

#include "bench/benchmarks/passes.h"

#include <stdio.h>

#include "bench/benchmarks/cpu.h"
#include "bench/method.h"

#ifdef STENCIL_HAVE_CUDA
enum { CLUSTER_BLOCKS = 4, VERIFIED_PASSES = 200 };
static const double timeout_s = 2;

static stencil_status take_gpu(stencil_bench *b, stencil_passes_bench *p, int i) {
    const stencil_gpu *gpu = &b->machine->gpu[p->gpu[i]];
    TRY_CUDA(cudaSetDevice(p->gpu[i]));
    if (i == 0 || gpu->sm_count < p->sm_count)
        p->sm_count = gpu->sm_count;
    if (i == 0 || gpu->capability < p->capability)
        p->capability = gpu->capability;
    TRY(stencil_peers_reach(p->gpu[i], p->gpu, p->gpu_count));
    return stencil_device_memory(b, &p->word[i],
                                 (size_t)(gpu->sm_count * STENCIL_BLOCKS_MAX) * sizeof *p->word[i]);
}

stencil_status stencil_passes_begin(stencil_bench *b, stencil_passes_bench *p, int gpu_count) {
    *p = (stencil_passes_bench){.gpu = b->options->gpu, .gpu_count = gpu_count};
    b->own = p;
    for (int i = 0; i < gpu_count; i++)
        TRY(take_gpu(b, p, i));
    return STENCIL_OK;
}

static void release_barrier(void *barrier) {
    stencil_barrier_destroy(barrier);
}

stencil_status stencil_passes_make(stencil_bench *b, stencil_passes_case *c, double limit_s) {
    const stencil_passes_bench *p = b->own;
    stencil_barrier_shape shape = {.info = c->info, .parts = c->gpus, .timeout_s = limit_s};
    for (int part = 0; part < c->gpus; part++) {
        shape.device[part] = p->gpu[part];
        shape.first[part + 1] = c->grid.blocks * (uint32_t)(part + 1);
    }
    const uint32_t all = shape.first[c->gpus];
    uint32_t *first;
    TRY(stencil_bench_keep(b, release_barrier, &c->barrier));
    TRY(stencil_barrier_create(&c->barrier, &shape));
    if (shape.info->needs != STENCIL_NEEDS_NEIGHBORS)
        return STENCIL_OK;
    TRY(stencil_ring_create(&first, all));
    const stencil_status status = stencil_barrier_set_neighbors(&c->barrier, first, first + all + 1, false);
    free(first);
    return status;
}

stencil_status stencil_passes_launch(const stencil_passes_bench *p, const stencil_passes_case *c,
                                     int64_t passes, bool verify, const uint32_t *blocks) {
    for (int part = 0; part < c->gpus; part++) {
        uint32_t *const spare = stencil_barrier_spare(&c->barrier, part);
        stencil_passes arguments = {.state = c->barrier.state[part],
                                    .passes = passes,
                                    .missing = spare + STENCIL_PASSES_MISSING,
                                    .done = spare + STENCIL_PASSES_DONE,
                                    .blocks = blocks != NULL ? blocks[part] : c->grid.blocks};
        for (int other = 0; other < c->gpus; other++)
            arguments.word[other] = p->word[other];
        TRY_CUDA(cudaSetDevice(p->gpu[part]));
        TRY(stencil_grid_launch(c->kernel[verify], &c->grid, &arguments, NULL));
    }
    for (int part = 0; part < c->gpus; part++) {
        TRY_CUDA(cudaSetDevice(p->gpu[part]));
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
static stencil_status pass(const stencil_passes_bench *p, stencil_passes_case *c, int64_t passes, bool verify,
                           double *time_s) {
    uint32_t missing;
    for (int part = 0; part < c->gpus; part++) {
        TRY_CUDA(cudaSetDevice(p->gpu[part]));
        TRY_CUDA(cudaMemset(p->word[part], 0, c->grid.blocks * sizeof *p->word[part]));
    }
    TRY(stencil_barrier_restart(&c->barrier));
    const double start_s = stencil_clock_s();
    TRY(stencil_passes_launch(p, c, passes, verify, NULL));
    *time_s = stencil_clock_s() - start_s;
    TRY(stencil_barrier_check(&c->barrier, NULL));
    TRY(stencil_passes_counted(c, STENCIL_PASSES_MISSING, &missing));
    CHECK(missing == 0, INTERNAL,
          "barrier %s, %d GPU%s, %u blocks of %d threads each, does not hold: %u times a block had not "
          "arrived",
          c->info->name, c->gpus, stencil_plural(c->gpus), c->grid.blocks, c->threads, missing);
    return STENCIL_OK;
}

static stencil_status sample(stencil_bench *b, void *what, int64_t passes, double *time_s) {
    return pass(b->own, what, passes, false, time_s);
}

static stencil_status verify(stencil_bench *b, void *what) {
    double time_s;
    return pass(b->own, what, VERIFIED_PASSES, true, &time_s);
}

/* Whether all blocks can be resident at once, timed and verified. */
static stencil_status fits(const stencil_passes_bench *p, const stencil_passes_case *c, bool *all) {
    *all = true;
    for (int part = 0; part < c->gpus; part++)
        for (int verify = 0; verify < 2; verify++) {
            int64_t blocks;
            TRY_CUDA(cudaSetDevice(p->gpu[part]));
            TRY(stencil_grid_resident(c->kernel[verify], &c->grid, &blocks));
            *all = *all && blocks >= c->grid.blocks;
        }
    return STENCIL_OK;
}

stencil_status stencil_passes_add(stencil_bench *b, const stencil_passes_case *asked, bool gpus_axis) {
    const stencil_passes_bench *p = b->own;
    const int capability = asked->info->capability;
    stencil_passes_case c = *asked;
    char why[96] = "";
    bool all = true;
    c.grid = (stencil_grid){
        .blocks = (unsigned)(p->sm_count * c.blocks_per_sm), .block_x = (unsigned)c.threads, .block_y = 1};
    if (c.info->needs == STENCIL_NEEDS_CLUSTERS) {
        c.grid.cluster_blocks = CLUSTER_BLOCKS;
        c.grid.blocks -= c.grid.blocks % CLUSTER_BLOCKS;
    }
    if (p->capability < capability)
        snprintf(why, sizeof why, "needs compute capability %d.%d", capability / 10, capability % 10);
    else
        TRY(fits(p, &c, &all));
    if (!all)
        snprintf(why, sizeof why, "%u blocks of %d threads are not resident at once", c.grid.blocks,
                 c.threads);
    TRY(STENCIL_BENCH_ADD(b, c, "barrier", c.info->name, "s/pass", STENCIL_METHOD_TWO_COUNTS,
                          .sample = sample, .verify = verify,
                          .axis = {{gpus_axis ? "gpus" : NULL, c.gpus},
                                   {"blocks_per_sm", c.blocks_per_sm},
                                   {"threads", c.threads}},
                          .count = STENCIL_REPEATS, .more = stencil_repeats_more(b->options),
                          .skipped = why));
    return why[0] != '\0'
               ? STENCIL_OK
               : stencil_passes_make(b, stencil_bench_what(b, b->result->row_count - 1), timeout_s);
}

stencil_status stencil_passes_measure(stencil_bench *b) {
    stencil_bench_add_number(b->result, "passes", STENCIL_REPEATS);
    stencil_bench_add_number(b->result, "more_passes", stencil_repeats_more(b->options));
    stencil_bench_add_number(b->result, "blocks_per_cluster", CLUSTER_BLOCKS);
    TRY(stencil_bench_take(b));
    stencil_bench_note(b,
                       "Verified: after timing, %d passes of each in which every thread looked whether a "
                       "block that it waits for had arrived%s, some of them late.",
                       VERIFIED_PASSES,
                       ((const stencil_passes_bench *)b->own)->gpu_count > 1 ? ", on other GPUs too" : "");
    return STENCIL_OK;
}
#endif

#include "bench/benchmarks/passes.h"

#include <stdio.h>
#include <stdlib.h>

#include "bench/benchmarks/cpu.h"
#include "bench/method.h"

#ifdef STENCIL_HAVE_CUDA
enum { CLUSTER_BLOCKS = 4, VERIFIED_PASSES = 200 };
static const double timeout_s = 2;

/* What stands behind stencil_bench.own. */
typedef struct passes {
    stencil_gpu least;                /* of all GPUs */
    uint32_t *word[STENCIL_GPUS_MAX]; /* device */
} passes;

static void release_barrier(void *barrier) {
    stencil_barrier_destroy(barrier);
}

/* Makes the barrier of a case, which stays where it is until the benchmark ends. */
static stencil_status make_barrier(stencil_bench *b, stencil_passes_case *c) {
    stencil_barrier_shape shape = {.info = &c->barrier.info, .parts = c->gpus, .timeout_s = timeout_s};
    for (int part = 0; part < c->gpus; part++) {
        shape.device[part] = b->options->gpu[part];
        shape.first[part + 1] = c->grid.blocks * (uint32_t)(part + 1);
    }
    const uint32_t all = shape.first[c->gpus];
    uint32_t *first;
    TRY(stencil_bench_keep(b, release_barrier, &c->words));
    TRY(stencil_barrier_create(&c->words, &shape));
    if (shape.info->needs != STENCIL_NEEDS_NEIGHBORS)
        return STENCIL_OK;
    TRY(stencil_ring_create(&first, all));
    const stencil_status status = stencil_barrier_set_neighbors(&c->words, first, first + all + 1, false);
    free(first);
    return status;
}

/* Launches the kernel on every GPU and waits for all of them. */
static stencil_status launch(const stencil_bench *b, const stencil_passes_case *c, int64_t count,
                             bool verify) {
    const passes *p = b->own;
    const int *gpu = b->options->gpu;
    for (int part = 0; part < c->gpus; part++) {
        stencil_passes arguments = {.state = c->words.state[part],
                                    .passes = count,
                                    .missing = stencil_barrier_spare(&c->words, part),
                                    .blocks = c->grid.blocks};
        for (int other = 0; other < c->gpus; other++)
            arguments.word[other] = p->word[other];
        TRY_CUDA(cudaSetDevice(gpu[part]));
        TRY(stencil_grid_launch(c->barrier.kernel[verify], &c->grid, &arguments, NULL));
    }
    for (int part = 0; part < c->gpus; part++) {
        TRY_CUDA(cudaSetDevice(gpu[part]));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    return STENCIL_OK;
}

/* From fresh words, which are there before anybody starts. */
static stencil_status pass(stencil_bench *b, stencil_passes_case *c, int64_t count, bool verify,
                           double *time_s) {
    uint32_t missing = 0, seen;
    for (int part = 0; part < c->gpus; part++) {
        TRY_CUDA(cudaSetDevice(b->options->gpu[part]));
        TRY_CUDA(cudaMemset(((const passes *)b->own)->word[part], 0, c->grid.blocks * sizeof(uint32_t)));
    }
    TRY(stencil_barrier_restart(&c->words));
    const double start_s = stencil_clock_s();
    TRY(launch(b, c, count, verify));
    *time_s = stencil_clock_s() - start_s;
    TRY(stencil_barrier_check(&c->words, NULL));
    for (int part = 0; part < c->gpus; part++, missing += seen)
        TRY_CUDA(
            cudaMemcpy(&seen, stencil_barrier_spare(&c->words, part), sizeof seen, cudaMemcpyDeviceToHost));
    CHECK(missing == 0, INTERNAL,
          "barrier %s, %d GPU%s, %u blocks of %d threads each, does not hold: %u times a block had not "
          "arrived",
          c->barrier.info.name, c->gpus, stencil_plural(c->gpus), c->grid.blocks, c->threads, missing);
    return STENCIL_OK;
}

static stencil_status sample(stencil_bench *b, void *what, int64_t count, double *time_s) {
    return pass(b, what, count, false, time_s);
}

static stencil_status verify(stencil_bench *b, void *what) {
    double time_s;
    return pass(b, what, VERIFIED_PASSES, true, &time_s);
}

/* Whether all blocks can be resident at once, timed and verified. */
static stencil_status fits(const stencil_bench *b, const stencil_passes_case *c, bool *all) {
    *all = true;
    for (int part = 0; part < c->gpus; part++)
        for (int verify = 0; verify < 2; verify++) {
            int64_t blocks;
            TRY_CUDA(cudaSetDevice(b->options->gpu[part]));
            TRY(stencil_grid_resident(c->barrier.kernel[verify], &c->grid, &blocks));
            *all = *all && blocks >= c->grid.blocks;
        }
    return STENCIL_OK;
}

stencil_status stencil_passes_add(stencil_bench *b, const stencil_passes_case *asked, bool gpus_axis) {
    const passes *p = b->own;
    const int capability = asked->barrier.info.capability;
    stencil_passes_case c = *asked;
    char why[96] = "";
    bool all = true;
    c.grid = (stencil_grid){.blocks = (unsigned)(p->least.sm_count * c.blocks_per_sm),
                            .block_x = (unsigned)c.threads,
                            .block_y = 1};
    if (c.barrier.info.needs == STENCIL_NEEDS_CLUSTERS) {
        c.grid.cluster_blocks = CLUSTER_BLOCKS;
        c.grid.blocks -= c.grid.blocks % CLUSTER_BLOCKS;
    }
    if (p->least.capability < capability)
        snprintf(why, sizeof why, "needs compute capability %d.%d", capability / 10, capability % 10);
    else
        TRY(fits(b, &c, &all));
    if (!all)
        snprintf(why, sizeof why, "%u blocks of %d threads are not resident at once", c.grid.blocks,
                 c.threads);
    TRY(STENCIL_BENCH_ADD(b, c, "barrier", c.barrier.info.name, "s/pass", STENCIL_METHOD_TWO_COUNTS,
                          .sample = sample, .verify = verify,
                          .axis = {{gpus_axis ? "gpus" : NULL, c.gpus},
                                   {"blocks_per_sm", c.blocks_per_sm},
                                   {"threads", c.threads}},
                          .count = STENCIL_REPEATS, .more = stencil_repeats_more(b->options),
                          .skipped = why));
    return why[0] != '\0' ? STENCIL_OK : make_barrier(b, stencil_bench_what(b, b->result->row_count - 1));
}

stencil_status stencil_passes_run(stencil_bench *b, int gpu_count, stencil_benchmark_function add_cases) {
    const stencil_bench_options *o = b->options;
    passes p = {.least = stencil_device_least(b, gpu_count)};
    char why[64];
    b->own = &p;
    if (!p.least.cooperative)
        return stencil_bench_skip(b->result, "a GPU has no cooperative launch");
    if (gpu_count > 1 && !stencil_device_peers(b, why, sizeof why))
        return stencil_bench_skip(b->result, "%s", why);
    for (int i = 0; i < gpu_count; i++) {
        TRY_CUDA(cudaSetDevice(o->gpu[i]));
        TRY(stencil_peers_reach(o->gpu[i], o->gpu, gpu_count));
        TRY(stencil_device_memory(b, &p.word[i],
                                  (size_t)b->machine->gpu[o->gpu[i]].sm_count * STENCIL_BLOCKS_MAX *
                                      sizeof *p.word[i]));
    }
    stencil_bench_add_number(b->result, "passes", STENCIL_REPEATS);
    stencil_bench_add_number(b->result, "more_passes", stencil_repeats_more(o));
    stencil_bench_add_number(b->result, "blocks_per_cluster", CLUSTER_BLOCKS);
    stencil_bench_note(b,
                       "Verified: after timing, %d passes of each in which every thread looked whether a "
                       "block that it waits for had arrived%s, some of them late.",
                       VERIFIED_PASSES, gpu_count > 1 ? ", on other GPUs too" : "");
    TRY(add_cases(b));
    return stencil_bench_take(b);
}
#endif

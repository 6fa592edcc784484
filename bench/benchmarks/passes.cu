#include "bench/benchmarks/passes.cuh"

#include <stdio.h>
#include <string.h>

enum { CLUSTER_BLOCKS = 4, VERIFIED_PASSES = 200 };
static const double timeout_s = 2;

/* What stands behind stencil_bench.own. */
struct passes_bench {
    stencil_gpu least;                /* of all GPUs */
    uint32_t *word[STENCIL_GPUS_MAX]; /* device */
};

stencil_status passes_load(const stencil_bench *b, const passes_case *c, int which, bool *resident) {
    *resident = true;
    for (int part = 0; part < c->gpus; part++) {
        int64_t blocks;
        TRY_CUDA(cudaSetDevice(b->options->gpu[part]));
        TRY(stencil_grid_resident(reinterpret_cast<const void *>(c->barrier.kernel[which]), &c->grid,
                                  &blocks));
        *resident = *resident && blocks >= c->grid.blocks;
    }
    return STENCIL_OK;
}

stencil_status passes_make(stencil_bench *b, passes_case *c, double limit_s) {
    stencil_barrier_shape shape = {.info = &c->barrier.info, .parts = c->gpus, .timeout_s = limit_s};
    for (int part = 0; part < c->gpus; part++) {
        shape.device[part] = b->options->gpu[part];
        shape.first[part + 1] = c->grid.blocks * (uint32_t)(part + 1);
        TRY_CUDA(cudaSetDevice(shape.device[part]));
        TRY(stencil_peers_reach(shape.device[part], b->options->gpu, c->gpus));
    }
    const uint32_t all = shape.first[c->gpus];
    uint32_t *first;
    TRY(stencil_barrier_create(&c->memory, &shape));
    if (shape.info->needs != STENCIL_NEEDS_NEIGHBORS)
        return STENCIL_OK;
    TRY(stencil_ring_create(b, &first, all));
    return stencil_barrier_set_neighbors(&c->memory, first, first + all + 1, false);
}

stencil_status passes_launch(const passes_case *c, int64_t count, int which) {
    for (int part = 0; part < c->gpus; part++) {
        passes arguments = {.state = c->memory.state[part],
                            .passes = count,
                            .count = stencil_barrier_spare(&c->memory, part),
                            .blocks = c->grid.blocks};
        memcpy(arguments.word, c->word, sizeof c->word);
        TRY_CUDA(cudaSetDevice(c->memory.shape.device[part]));
        TRY(stencil_grid_launch(reinterpret_cast<const void *>(c->barrier.kernel[which]), &c->grid,
                                &arguments, NULL));
    }
    return STENCIL_OK;
}

stencil_status passes_count(const passes_case *c, uint32_t *count) {
    uint32_t seen;
    *count = 0;
    for (int part = 0; part < c->gpus; part++, *count += seen)
        TRY_CUDA(
            cudaMemcpy(&seen, stencil_barrier_spare(&c->memory, part), sizeof seen, cudaMemcpyDeviceToHost));
    return STENCIL_OK;
}

/* From fresh words, which are there before anybody starts. */
static stencil_status pass(passes_case *c, int64_t count, bool verify, double *time_s) {
    const int *gpu = c->memory.shape.device;
    uint32_t missing;
    for (int part = 0; part < c->gpus; part++) {
        TRY_CUDA(cudaSetDevice(gpu[part]));
        TRY_CUDA(cudaMemset(c->word[part], 0, c->grid.blocks * sizeof *c->word[part]));
    }
    TRY(stencil_barrier_restart(&c->memory));
    const double start_s = stencil_clock_s();
    TRY(passes_launch(c, count, verify));
    for (int part = 0; part < c->gpus; part++) {
        TRY_CUDA(cudaSetDevice(gpu[part]));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    *time_s = stencil_clock_s() - start_s;
    TRY(stencil_barrier_check(&c->memory, NULL));
    TRY(passes_count(c, &missing));
    CHECK(missing == 0, INTERNAL,
          "barrier %s, %d GPU%s, %u blocks of %d threads each, does not hold: %u times a block had not "
          "arrived",
          c->barrier.info.name, c->gpus, stencil_plural(c->gpus), c->grid.blocks, c->threads, missing);
    return STENCIL_OK;
}

static stencil_status sample(stencil_bench *, void *what, int64_t count, double *time_s) {
    return pass(static_cast<passes_case *>(what), count, false, time_s);
}

static stencil_status verify(stencil_bench *, void *what) {
    double time_s;
    return pass(static_cast<passes_case *>(what), VERIFIED_PASSES, true, &time_s);
}

stencil_status passes_add(stencil_bench *b, const passes_case *asked, bool gpus_axis) {
    const passes_bench *p = static_cast<passes_bench *>(b->own);
    const int capability = asked->barrier.info.capability;
    passes_case c = *asked;
    char why[96] = "";
    bool resident = true;
    memcpy(c.word, p->word, sizeof c.word);
    c.grid = {.blocks = (unsigned)(p->least.sm_count * c.blocks_per_sm),
              .block_x = (unsigned)c.threads,
              .block_y = 1};
    if (c.barrier.info.needs == STENCIL_NEEDS_CLUSTERS) {
        c.grid.cluster_blocks = CLUSTER_BLOCKS;
        c.grid.blocks -= c.grid.blocks % CLUSTER_BLOCKS;
    }
    if (p->least.capability < capability)
        snprintf(why, sizeof why, "needs compute capability %d.%d", capability / 10, capability % 10);
    for (int which = 0; which < 2 && why[0] == '\0' && resident; which++)
        TRY(passes_load(b, &c, which, &resident));
    if (!resident)
        snprintf(why, sizeof why, "%u blocks of %d threads are not resident at once", c.grid.blocks,
                 c.threads);
    TRY(STENCIL_BENCH_ADD(b, c, "barrier", c.barrier.info.name, "s/pass", STENCIL_METHOD_TWO_COUNTS,
                          .sample = sample, .verify = verify,
                          .axis = {{gpus_axis ? "gpus" : NULL, c.gpus},
                                   {"blocks_per_sm", c.blocks_per_sm},
                                   {"threads", c.threads}},
                          .count = STENCIL_REPEATS, .more = stencil_repeats_more(b->options),
                          .skipped = why));
    if (why[0] != '\0')
        return STENCIL_OK;
    passes_case *made = static_cast<passes_case *>(stencil_bench_what(b, b->result->row_count - 1));
    TRY(stencil_bench_keep(
        b, [](void *kept) { stencil_barrier_destroy(static_cast<stencil_barrier *>(kept)); }, &made->memory));
    return passes_make(b, made, timeout_s);
}

stencil_status passes_run(stencil_bench *b, int gpu_count, stencil_benchmark_function add_cases) {
    const stencil_bench_options *o = b->options;
    passes_bench p = {.least = stencil_device_least(b, gpu_count)};
    char why[64];
    b->own = &p;
    if (!p.least.cooperative)
        return stencil_bench_skip(b->result, "a GPU has no cooperative launch");
    if (gpu_count > 1 && !stencil_device_peers(b, why, sizeof why))
        return stencil_bench_skip(b->result, "%s", why);
    for (int i = 0; i < gpu_count; i++) {
        TRY_CUDA(cudaSetDevice(o->gpu[i]));
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

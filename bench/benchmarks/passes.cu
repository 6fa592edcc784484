/* Launches, timing and verification of barriers between the blocks of all GPUs. */
#include <string.h>

#include "bench/benchmarks/passes.cuh"

stencil_status passes_load(const stencil_bench *b, const passes_case *c, int which, bool *resident) {
    int64_t blocks;
    TRY(stencil_device_resident(b, c->gpus, reinterpret_cast<const void *>(c->barrier.kernel[which]),
                                &c->grid, &blocks));
    *resident = blocks >= c->grid.blocks;
    return STENCIL_OK;
}

stencil_status passes_make(stencil_bench *b, passes_case *c, double limit_s) {
    const stencil_barrier_shape shape = {
        .info = &c->barrier.info, .parts = c->gpus, .first = {0, c->grid.blocks}, .timeout_s = limit_s};
    uint32_t *first;
    for (int part = 0; part < c->gpus; part++) {
        TRY_CUDA(cudaSetDevice(b->options->gpu[part]));
        TRY(stencil_peers_reach(b->options->gpu[part], b->options->gpu, c->gpus));
        TRY(stencil_device_memory(b, &c->word[part], c->grid.blocks * sizeof *c->word[part]));
    }
    TRY(stencil_ring_create(b, &first, (uint32_t)c->gpus * c->grid.blocks));
    return stencil_device_barrier(b, &c->memory, &shape, first);
}

stencil_status passes_make_kept(stencil_bench *b, passes_case *c) {
    TRY(stencil_bench_keep(
        b, [](void *kept) { stencil_barrier_destroy(static_cast<stencil_barrier *>(kept)); }, &c->memory));
    return passes_make(b, c, PASSES_TIMEOUT_S);
}

stencil_status passes_launch(const passes_case *c, int64_t count, int which) {
    for (int part = 0; part < c->gpus; part++) {
        passes arguments = {.state = c->memory.state[part],
                            .passes = count,
                            .count = stencil_barrier_spare(&c->memory, part),
                            .blocks = c->grid.blocks,
                            .cycles = c->cycles};
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

stencil_status passes_sample(stencil_bench *b, void *what, int64_t count, double *time_s) {
    passes_case *c = static_cast<passes_case *>(what);
    const int *gpu = c->memory.shape.device;
    uint32_t missing;
    for (int part = 0; part < c->gpus; part++) {
        TRY_CUDA(cudaSetDevice(gpu[part]));
        TRY_CUDA(cudaMemset(c->word[part], 0, c->grid.blocks * sizeof *c->word[part]));
    }
    TRY(stencil_barrier_restart(&c->memory));
    const double start_s = stencil_clock_s();
    TRY(passes_launch(c, count, b->verifying));
    for (int part = 0; part < c->gpus; part++) {
        TRY_CUDA(cudaSetDevice(gpu[part]));
        TRY_CUDA(cudaDeviceSynchronize());
    }
    *time_s = stencil_clock_s() - start_s;
    TRY(stencil_barrier_check(&c->memory));
    TRY(passes_count(c, &missing));
    CHECK(missing == 0, INTERNAL,
          "barrier %s, %d GPU%s, %u blocks of %d threads each, does not hold: %u times a block had not "
          "arrived",
          c->barrier.info.name, c->gpus, stencil_plural(c->gpus), c->grid.blocks, c->threads, missing);
    return STENCIL_OK;
}

/* The barrier between blocks that find out which of them are resident (T. Sorensen et al., "Portable
 * inter-workgroup barrier synchronisation for GPUs", OOPSLA 2016), beside cooperative launches: rows of
 * benchmark `grid`. All launches are ordinary ones. */
#include <stdio.h>

#include "bench/benchmarks/passes.cuh"
#include "sync/discovery.cuh"

/* Argument of pass_found(). */
struct found_passes {
    stencil_barrier_state state;
    stencil_discovery *poll;
    int64_t passes;
    uint32_t *word;    /* [blocks launched], zeroed: the pass of each block found, for verification */
    uint32_t *missing; /* times that a thread left the barrier too early */
};

/* Finds the blocks that run at the same time, which then pass the barrier; with Verify as pass() does. */
template <bool Verify>
static __global__ void __launch_bounds__(1024, 2) pass_found(const __grid_constant__ found_passes p) {
    __shared__ uint32_t number, count;
    unsigned missing = 0;
    if (threadIdx.x == 0)
        count = stencil::take_part(p.state, p.poll, &number);
    __syncthreads();
    if (count == 0)
        return;
    stencil::discovered_barrier barrier(p.state, p.poll, gridDim.x, number, count);
    for (int64_t i = 1; i <= p.passes; i++) {
        if (Verify && threadIdx.x == blockDim.x - 1) {
            if ((number + i) % 8 == 0)
                __nanosleep(2000);
            __stcg(p.word + number, (uint32_t)i);
        }
        barrier.sync(i);
        if (Verify) {
            const uint32_t other = (number + 1 + threadIdx.x + (uint32_t)i * blockDim.x) % count;
            missing += stencil::load_relaxed(p.word + other) < (uint32_t)i;
        }
    }
    if (Verify && missing > 0)
        atomicAdd(p.missing, missing);
}

/* Ordinary launches of a number of blocks and threads; `counts`: a sample is the number of blocks found. */
struct found_case {
    unsigned blocks, threads;
    bool counts;
    int64_t resident; /* blocks that fit at once, as the driver says */
    stencil_discovery *poll;
    uint32_t *word;
    stencil_barrier memory;
};

/* Checks what the blocks found: as many numbers as blocks, and no more than fit. */
static stencil_status check_found(found_case *c, uint32_t *count) {
    stencil_discovery poll;
    uint32_t missing;
    TRY(stencil_barrier_check(&c->memory));
    TRY_CUDA(cudaMemcpy(&poll, c->poll, sizeof poll, cudaMemcpyDeviceToHost));
    TRY_CUDA(
        cudaMemcpy(&missing, stencil_barrier_spare(&c->memory, 0), sizeof missing, cudaMemcpyDeviceToHost));
    CHECK(poll.count > 0 && (int64_t)poll.count <= c->resident && poll.ticket == c->blocks + poll.count,
          INTERNAL, "%u of %u blocks of %u threads were found, where %lld fit", poll.count, c->blocks,
          c->threads, (long long)c->resident);
    CHECK(missing == 0, INTERNAL,
          "the barrier of %u blocks found does not hold: %u times a block was missing", poll.count, missing);
    *count = poll.count;
    return STENCIL_OK;
}

static stencil_status sample_found(stencil_bench *b, void *what, int64_t passes, double *value) {
    found_case *c = static_cast<found_case *>(what);
    stencil_bench_row *row = &b->result->row[b->row];
    uint32_t count = 0;
    TRY_CUDA(cudaSetDevice(c->memory.shape.device[0]));
    TRY_CUDA(cudaMemset(c->poll, 0, stencil_discovery_bytes(c->blocks)));
    TRY_CUDA(cudaMemset(c->word, 0, c->blocks * sizeof *c->word));
    TRY(stencil_barrier_restart(&c->memory));
    TRY_CUDA(cudaDeviceSynchronize());
    const found_passes p = {.state = c->memory.state[0],
                            .poll = c->poll,
                            .passes = passes,
                            .word = c->word,
                            .missing = stencil_barrier_spare(&c->memory, 0)};
    const double start_s = stencil_clock_s();
    (b->verifying ? pass_found<true> : pass_found<false>)<<<c->blocks, c->threads>>>(p);
    TRY_CUDA(cudaGetLastError());
    TRY_CUDA(cudaDeviceSynchronize());
    *value = stencil_clock_s() - start_s;
    TRY(check_found(c, &count));
    if (c->counts)
        *value = count;
    else
        row->workers = count;
    return STENCIL_OK;
}

/* Sets the number of resident blocks of a case: the larger one of its two kernels. */
static stencil_status find_resident(const stencil_bench *b, found_case *c) {
    const stencil_grid grid = {.blocks = 1, .block_x = c->threads, .block_y = 1};
    int64_t verified;
    TRY(stencil_device_resident(b, 1, reinterpret_cast<const void *>(pass_found<false>), &grid,
                                &c->resident));
    TRY(stencil_device_resident(b, 1, reinterpret_cast<const void *>(pass_found<true>), &grid, &verified));
    c->resident = verified > c->resident ? verified : c->resident;
    return STENCIL_OK;
}

/* Creates the memory of the case of the row that was added last. */
static stencil_status make_found(stencil_bench *b) {
    found_case *c = static_cast<found_case *>(stencil_bench_what(b, b->result->row_count - 1));
    const stencil_barrier_shape shape = {.info = &stencil_barriers[STENCIL_BARRIER_lock_free],
                                         .parts = 1,
                                         .first = {0, c->blocks},
                                         .timeout_s = PASSES_TIMEOUT_S};
    TRY(stencil_bench_keep(
        b, [](void *kept) { stencil_barrier_destroy(static_cast<stencil_barrier *>(kept)); }, &c->memory));
    TRY(stencil_device_barrier(b, &c->memory, &shape, NULL));
    TRY(stencil_device_memory(b, &c->poll, stencil_discovery_bytes(c->blocks)));
    return stencil_device_memory(b, &c->word, c->blocks * sizeof *c->word);
}

/* Adds a row of passes with as many blocks as those of the other barriers. */
static stencil_status add_passes(stencil_bench *b, int sm_count, int blocks_per_sm, int threads) {
    found_case c = {.blocks = (unsigned)(sm_count * blocks_per_sm), .threads = (unsigned)threads};
    TRY(find_resident(b, &c));
    TRY(STENCIL_BENCH_ADD(
        b, c, "barrier", "discovered", "s/pass", STENCIL_METHOD_TWO_COUNTS, .sample = sample_found,
        .verified = PASSES_VERIFIED, .axis = {{"blocks_per_sm", blocks_per_sm}, {"threads", threads}},
        .count = STENCIL_REPEATS, .more = stencil_repeats(b->options, STENCIL_REPEATS_MORE)));
    return make_found(b);
}

/* Adds a row of how many blocks are found where four times as many are launched as fit. */
static stencil_status add_counts(stencil_bench *b, int threads) {
    enum { TIMES = 4 };
    found_case c = {.threads = (unsigned)threads, .counts = true};
    TRY(find_resident(b, &c));
    c.blocks = (unsigned)(TIMES * c.resident);
    TRY(STENCIL_BENCH_ADD(b, c, "discovery", "blocks found", "blocks", .sample = sample_found,
                          .verified = PASSES_VERIFIED, .axis = {{"threads", threads}}, .count = 1));
    stencil_bench_last(b)->workers = (double)c.resident;
    return make_found(b);
}

stencil_status passes_add_discovery(stencil_bench *b) {
    const int sm_count = stencil_device_least(b, 1).sm_count;
    int blocks = 0, threads = 0;
    while (stencil_next_shape(&blocks, &threads, STENCIL_BLOCKS_MAX, 32))
        TRY(add_passes(b, sm_count, blocks, threads));
    for (threads = 32; threads <= STENCIL_BLOCK_THREADS_MAX; threads *= 2)
        TRY(add_counts(b, threads));
    stencil_bench_note(b,
                       "discovered: blocks of an ordinary launch that found out which of them are resident "
                       "(Sorensen et al., OOPSLA 2016); blocks found: of four times as many as fit, which "
                       "are the workers. Verified: no more blocks than fit, and that they wait.");
    return STENCIL_OK;
}

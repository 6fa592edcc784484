/* Benchmark `warp`: barriers and shuffles of a warp (000 Table 2; Zhang et al., A Study of Synchronization
 * Methods in Modern GPUs, Table 4): __syncwarp(), tiles and coalesced groups of every size. Latency: one
 * warp; throughput: the best of all numbers of blocks and threads that fit on a multiprocessor. Benchmark
 * `block`: __syncthreads() (000 section 5.2, Fig. 6; Zhang et al., Table 5): latency of one block of 32 to
 * 1024 threads, and throughput over blocks per multiprocessor and threads per block.
 *
 * Since compute capability 7.0 the lanes of a warp may diverge, and a barrier is a NOP where the compiler can
 * prove convergence. So barriers are timed in a convergent loop, which gives their cost in most code, and in
 * a loop that the compiler must assume to be divergent: row "loop" is the cost of that loop, empty. */
#include "bench/benchmarks/sm.cuh"

using namespace stencil;

/* Operation that rotates values by one thread, so that each value's final position is known. The source rank
 * is hidden from the compiler, which would hoist the choice of the source lane in a coalesced group. */
template <class Group> struct shuffle : group_operation<Group> {
    int next, value;
    __device__ explicit shuffle(const sm_arguments &)
        : next((this->group.thread_rank() + 1) % this->group.size()), value(this->group.thread_rank()) {}
    __device__ void once() {
        int source = next;
        asm volatile("" : "+r"(source) : "r"(value));
        value = this->group.shfl(value, source);
    }
    __device__ unsigned wrong(int64_t times) {
        return value != (int)((this->group.thread_rank() + times) % this->group.size());
    }
};

/* Operation of a single instruction, which keeps the compiler from removing the empty loop. */
struct nothing : sm_operation {
    unsigned seen = 0, change = threadIdx.x;
    __device__ explicit nothing(const sm_arguments &) {}
    __device__ void once() {
        asm volatile("xor.b32 %0, %0, %1;" : "+r"(seen) : "r"(change));
    }
    __device__ unsigned wrong(int64_t times) {
        return seen != (times % 2 == 0 ? 0 : change);
    }
};

enum { CHECKED_REPEATS = 6, BARRIER_REPEATS = 200 };

/* Sets the blocks and threads of a case to those of the highest throughput. */
static stencil_status choose_shape(stencil_bench *b, sm_case *c) {
    sm_case tried = *c;
    double best = 0, value;
    while (stencil_next_shape(&tried.blocks_per_sm, &tried.threads, STENCIL_BLOCKS_MAX, 32)) {
        TRY(sm_sample(b, &tried, tried.timing->throughput_repeats, &value));
        if (value > best) {
            best = value;
            *c = tried;
        }
    }
    return STENCIL_OK;
}

/* Adds a latency row for one warp and a throughput row for the best shape. Verified is the convergent loop;
 * the number of shuffles is no multiple of a group size, so that misplaced values are detected. */
static stencil_status add_rows(stencil_bench *b, sm_case c, bool apart) {
    TRY(STENCIL_BENCH_ADD(b, c, apart ? "latency, lanes apart" : "latency", c.name, "cycles",
                          STENCIL_METHOD_GPU_CLOCK, .sample = sm_sample, .verify = apart ? NULL : sm_verify,
                          .axis = {{"size", c.size}}, .count = c.timing->latency_repeats));
    c.scale = 1;
    TRY(choose_shape(b, &c));
    return STENCIL_BENCH_ADD(b, c, apart ? "throughput, lanes apart" : "throughput", c.name,
                             "operations/cycle", STENCIL_METHOD_SM_CLOCK, .sample = sm_sample,
                             .axis = {{"size", c.size}}, .count = c.timing->throughput_repeats);
}

/* An operation with the kernels that time it in the convergent and in the divergent loop (NULL: not timed)
 * and the kernel that verifies it, for all group sizes from `least` to `most`. */
struct operation {
    const char *name;
    sm_kernel *together, *apart, *checked;
    int least, most;
    int64_t checks;
};

template <class Group> static operation barrier_of(const char *name, int least, int most) {
    return {name,
            time_operation<barrier<Group>, SM_UNROLLED>,
            time_divergent<barrier<Group>>,
            time_operation<checked_barrier<Group>, 1>,
            least,
            most,
            BARRIER_REPEATS};
}

template <class Group, int Unrolled> static operation shuffle_of(const char *name, int least, int most) {
    return {name,           time_operation<shuffle<Group>, Unrolled>,
            nullptr,        time_operation<shuffle<Group>, 1>,
            least,          most,
            CHECKED_REPEATS};
}

#define BARRIER(size)   barrier_of<tile<size>>("tile", size, size)
#define SHUFFLE(size)   shuffle_of<tile<size>, SM_UNROLLED>("shuffle, tile", size, size)
#define EACH_TILE(what) what(1), what(2), what(4), what(8), what(16), what(32)
/* Operations of the benchmarks. Long code is unrolled less, to fit into the instruction cache. */
static const operation operations[] = {
    {"loop", nullptr, time_divergent<nothing>, nullptr, 32, 32, 0},
    barrier_of<whole_warp>("__syncwarp", 32, 32),
    EACH_TILE(BARRIER),
    barrier_of<coalesced>("coalesced", 1, 32),
    EACH_TILE(SHUFFLE),
    shuffle_of<coalesced, 8>("shuffle, coalesced", 1, 32),
};

stencil_status stencil_measure_warp(stencil_bench *b) {
    sm_timing timing;
    TRY(sm_begin(b, &timing, SM_UNROLLED));
    for (int apart = 0; apart < 2; apart++)
        for (const operation &o : operations) {
            sm_case c = {.timing = &timing,
                         .kernel = apart ? o.apart : o.together,
                         .name = o.name,
                         .threads = 32,
                         .checked = o.checked,
                         .checked_threads = STENCIL_BLOCK_THREADS_MAX,
                         .checks = o.checks};
            for (c.size = o.least; c.size <= o.most && c.kernel != nullptr; c.size++)
                TRY(add_rows(b, c, apart));
        }
    stencil_bench_note(b, "Throughput: operations of warps per cycle on one multiprocessor, the median of "
                          "all, with the blocks and threads that gave most.");
    stencil_bench_note(b, "Where the compiler knows that lanes go together, a barrier is a NOP; \"lanes "
                          "apart\": in a loop of which it does not know; \"loop\": that loop alone.");
    stencil_bench_note(b, "Verified: after timing, barriers that all lanes checked, some of them late; in "
                          "every shuffle run, who has whose value.");
    return stencil_bench_take(b);
}

stencil_status stencil_measure_block(stencil_bench *b) {
    sm_timing timing;
    sm_case c = {.timing = &timing,
                 .kernel = time_operation<barrier<whole_block>, SM_UNROLLED>,
                 .name = "__syncthreads",
                 .checked = time_operation<checked_barrier<whole_block>, 1>,
                 .checks = BARRIER_REPEATS};
    TRY(sm_begin(b, &timing, SM_UNROLLED));
    for (c.threads = 32; c.threads <= STENCIL_BLOCK_THREADS_MAX; c.threads += 32) {
        c.checked_threads = c.threads;
        TRY(STENCIL_BENCH_ADD(b, c, "latency", c.name, "cycles", STENCIL_METHOD_GPU_CLOCK,
                              .sample = sm_sample, .verify = sm_verify, .axis = {{"threads", c.threads}},
                              .count = timing.latency_repeats));
    }
    c.scale = 1;
    while (stencil_next_shape(&c.blocks_per_sm, &c.threads, STENCIL_BLOCKS_MAX, 32))
        TRY(STENCIL_BENCH_ADD(b, c, "throughput", c.name, "warps/cycle", STENCIL_METHOD_SM_CLOCK,
                              .sample = sm_sample,
                              .axis = {{"blocks_per_sm", c.blocks_per_sm}, {"threads", c.threads}},
                              .count = timing.throughput_repeats));
    stencil_bench_note(b, "Throughput: arrivals of warps per cycle on one multiprocessor, the median of all; "
                          "a block's barrier is as many as it has warps.");
    stencil_bench_note(b,
                       "Verified: after timing, %d barriers of each block size in which every thread looked "
                       "whether another one had arrived.",
                       BARRIER_REPEATS);
    return stencil_bench_take(b);
}

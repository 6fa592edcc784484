/* Parts of a pass of the barriers `lock` and `lock-free`, by the terms of S. Xiao and W. Feng (IPDPS 2010):
 * rows of benchmark `grid`. */
#include "bench/benchmarks/passes.cuh"

/* Base of barriers that time their parts, as the first thread of the first block sees them, by the clock of
 * its multiprocessor. Reading the clock counts towards the parts. */
template <class Self> struct timed_barrier : stencil::counted_barrier<Self> {
    long long cycles[PASSES_PARTS] = {}, last = 0;
    using stencil::counted_barrier<Self>::counted_barrier;
    __device__ __forceinline__ void begin() {
        last = clock64();
    }
    template <int Part> __device__ __forceinline__ void end() {
        const long long now = clock64();
        cycles[Part] += now - last;
        last = now;
    }
};

/* Barrier `lock`, timed: t_s, t_a and t_c of Xiao and Feng (IPDPS 2010). */
struct timed_lock : timed_barrier<timed_lock> {
    using timed_barrier<timed_lock>::timed_barrier;
    __device__ void sync(int64_t step) {
        goal += gridDim.x;
        begin();
        __syncthreads();
        end<0>();
        if (stencil::thread_in_block() == 0) {
            uint32_t *mutex = stencil_barrier_counter(&s, 0);
            stencil::fence();
            const uint32_t seen = stencil::count_relaxed(mutex);
            const bool last_to_come = stencil_reached(seen + 1, goal);
            end<1>();
            if (!last_to_come)
                stencil::spin(s, step, [&] { return stencil_reached(stencil::load_relaxed(mutex), goal); });
            stencil::fence();
            end<2>();
        }
        __syncthreads();
        end<0>();
    }
};

/* Barrier `lock-free`, timed: t_s, t_SI, t_CI, t_SO and t_CO; the first block is the one that gathers. */
struct timed_lock_free : timed_barrier<timed_lock_free> {
    using timed_barrier<timed_lock_free>::timed_barrier;
    __device__ __forceinline__ void gather(int64_t step) {
        uint32_t *arrived = stencil_barrier_arrived(&s), *released = stencil_barrier_released(&s);
        for (uint32_t b = threadIdx.x; b < gridDim.x; b += blockDim.x)
            stencil::spin(s, step, [&] { return stencil_reached(stencil::load_acquire(arrived + b), goal); });
        end<2>();
        __syncthreads();
        end<0>();
        for (uint32_t b = threadIdx.x; b < gridDim.x; b += blockDim.x)
            stencil::store_release(released + b, goal);
        end<3>();
    }
    __device__ void sync(int64_t step) {
        goal++;
        begin();
        __syncthreads();
        end<0>();
        if (stencil::thread_in_block() == 0)
            stencil::store_release(stencil_barrier_arrived(&s) + blockIdx.x, goal);
        end<1>();
        if (blockIdx.x == 0)
            gather(step);
        if (stencil::thread_in_block() == 0) {
            const uint32_t *mine = stencil_barrier_released(&s) + blockIdx.x;
            stencil::spin(s, step, [&] { return stencil_reached(stencil::load_acquire(mine), goal); });
        }
        end<4>();
        __syncthreads();
        end<0>();
    }
};

/* Passes a timed barrier, whose first thread then stores the cycles of each part. */
template <class Barrier>
static __global__ void __launch_bounds__(1024, 2) timed_pass(const __grid_constant__ passes p) {
    Barrier barrier(p.state);
    for (int64_t i = 1; i <= p.passes; i++)
        barrier.sync(i);
    if (blockIdx.x == 0 && threadIdx.x == 0)
        for (int part = 0; part < PASSES_PARTS; part++)
            p.cycles[part] = barrier.cycles[part];
    barrier.leave();
}

/* The timed barriers, and the names of their parts. */
static const struct {
    passes_kernel barrier;
    const char *part[PASSES_PARTS + 1];
} timed[] = {
    {{{STENCIL_BARRIER_none, "lock, timed", 70, STENCIL_NEEDS_NOTHING, ""},
      {timed_pass<timed_lock>, pass<timed_lock, true>}},
     {"lock: t_s", "lock: t_a", "lock: t_c"}},
    {{{STENCIL_BARRIER_none, "lock-free, timed", 70, STENCIL_NEEDS_NOTHING, ""},
      {timed_pass<timed_lock_free>, pass<timed_lock_free, true>}},
     {"lock-free: t_s", "lock-free: t_SI", "lock-free: t_CI", "lock-free: t_SO", "lock-free: t_CO"}},
};

enum { TIMED_THREADS = 256 };

/* A part of a timed barrier. */
struct timed_case {
    passes_case of; /* first: passes_sample() takes a passes_case */
    int part;
};

/* Times `count` passes, and sets *cycles to those of one part in a pass. */
static stencil_status sample_part(stencil_bench *b, void *what, int64_t count, double *cycles) {
    const timed_case *c = static_cast<timed_case *>(what);
    int64_t all[PASSES_PARTS];
    TRY(passes_sample(b, what, count, cycles));
    if (b->verifying)
        return STENCIL_OK;
    TRY_CUDA(cudaMemcpy(all, c->of.cycles, sizeof all, cudaMemcpyDeviceToHost));
    *cycles = (double)all[c->part] / (double)count;
    CHECK(all[c->part] > 0, INTERNAL, "barrier %s: part %d took no time", c->of.barrier.info.name, c->part);
    return STENCIL_OK;
}

stencil_status passes_add_parts(stencil_bench *b) {
    for (const auto &t : timed)
        for (int part = 0; part < PASSES_PARTS && t.part[part] != nullptr; part++)
            for (int blocks = 1; blocks <= 8; blocks *= 8) {
                timed_case c = {.of = {.barrier = t.barrier, .gpus = 1, .threads = TIMED_THREADS},
                                .part = part};
                bool resident = true;
                c.of.grid = {.blocks = (unsigned)(stencil_device_least(b, 1).sm_count * blocks),
                             .block_x = TIMED_THREADS,
                             .block_y = 1};
                for (int which = 0; which < 2 && resident; which++)
                    TRY(passes_load(b, &c.of, which, &resident));
                TRY(STENCIL_BENCH_ADD(b, c, "part", t.part[part], "cycles/pass", STENCIL_METHOD_GPU_CLOCK,
                                      .sample = sample_part, .verified = PASSES_VERIFIED,
                                      .axis = {{"blocks_per_sm", blocks}},
                                      .count = stencil_repeats(b->options, STENCIL_REPEATS_MORE),
                                      .skipped = resident ? NULL : "its blocks are not resident at once"));
                if (!resident)
                    continue;
                timed_case *made = static_cast<timed_case *>(stencil_bench_what(b, b->result->row_count - 1));
                TRY(passes_make_kept(b, &made->of));
                TRY(stencil_device_memory(b, &made->of.cycles, PASSES_PARTS * sizeof *made->of.cycles));
            }
    stencil_bench_add_number(b->result, "threads_of_parts", TIMED_THREADS);
    stencil_bench_note(
        b, "Parts of a pass of lock and lock-free: as the first block's first thread sees them, by "
           "the clock of its multiprocessor, reading the clock included. t_s: all "
           "__syncthreads(); t_a: the addition; t_SI, t_SO: the stores; t_c, t_CI, t_CO: polling.");
    return STENCIL_OK;
}

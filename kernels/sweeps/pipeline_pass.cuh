/* A pass of several steps on a GPU, and the kernels around it. */
#pragma once

#include "kernels/sweeps/pipeline_classed.cuh"
#include "kernels/sweeps/pipeline_mirror.cuh"

namespace stencil {

/* Passes that make all rows alike, or for classes of cells. */
template <class P, class T, stencil_pipeline_kind Kind>
using pipeline_rows = std::conditional_t<pipeline_line<P, T, Kind>::classed, pipeline_classed<P, T, Kind>,
                                         pipeline_sums<P, T, Kind>>;

template <class P, class T, stencil_pipeline_kind Kind> struct pipeline : pipeline_rows<P, T, Kind> {
    using base = pipeline_rows<P, T, Kind>;
    using base::general, base::checked, base::classed, base::mirrored, base::mirror_row, base::radius,
        base::levels, base::cells, base::rows, base::stages, base::hands, base::old_slots, base::depth,
        base::vector, base::lines, base::slots, base::weights, base::row_bytes, base::slot_bytes,
        base::ring_bytes, base::to_next, base::start, base::load_rows, base::store_rows;
    using typename base::line, typename base::piece, typename base::turn, typename base::beside_turn,
        typename base::stage_warp;
    using step_weights = cycle_weights<T, P::count, uint32_t>;
    /* Warps that sum, or find out what rows are, have a group of four of their own where all four copying
     * warps are busy: two for each of two lines. Registers are reallocated for groups of four warps. */
    static constexpr bool apart = (checked || base::varied) && lines == 2;
    static constexpr int threads = 32 * (STENCIL_PIPELINE_WARPS + 4 + 4 * apart);
    static constexpr bool has_loop = Kind != STENCIL_PIPELINE_CHECKED;
    /* Tells whether a loop keeps its turn in shared memory, where the kernel has no registers left for it:
     * warps change their number, and the compiler counts on the least. */
    static constexpr bool shares_turns = true;
    /* The warps that copy, sum or find the codes of rows are the oldest in passes that have some of the
     * latter two: the oldest get an issue slot whenever they can use one, 2 % of a checked pass in float64,
     * docs/log/2026-11-28.md. */
    static constexpr int helpers = checked || base::varied ? threads / 32 - STENCIL_PIPELINE_WARPS : 0;

    /* Returns the number of the thread's warp, counted from the first one that makes steps. */
    __device__ __forceinline__ static int warp_number() {
        const int warp = (int)threadIdx.x / 32 - helpers;
        return warp < 0 ? warp + threads / 32 : warp;
    }
    /* Tells whether the thread may start bulk copies. */
    __device__ __forceinline__ static bool copies() {
        return warp_number() >= STENCIL_PIPELINE_WARPS;
    }

    /* Tells whether prepare() has to be called, by all blocks, before a pass starts. All parts get the same
     * answer, also those without a mirrored side, since their blocks wait for each other afterwards. */
    __device__ __forceinline__ static bool needs_rows(const stencil_kernel_args &s,
                                                      const stencil_pass &pass) {
        return general && pass.steps > 1 && s.mirrors_rows;
    }
    /* Makes the rows beyond sides mirrored along y that a pass reads. */
    __device__ __forceinline__ static void prepare(const stencil_kernel_args &s, const stencil_pass &pass) {
        using mirror = pipeline_mirror<P, T, classed>;
        extern __shared__ __align__(128) char shared[];
        static_assert(!general || 2 * sizeof(T) * mirror::height * mirror::width <= (size_t)base::bytes, "");
        mirror::run(s, pass, reinterpret_cast<T(*)[mirror::height][mirror::width]>(shared));
    }

    /* Waits, in the stage of the checked step, until the summing warp has read the slot `old_slots` before
     * this one: the rows of the second ring are then free. */
    __device__ __forceinline__ static void await_summed(const turn &u) {
        const bool around = u.left > slots - old_slots; /* the slot waited for is at the end of the ring */
        wait_warp(u.barrier + 2 * to_next + ((around ? slots : 0) - old_slots) * 8, u.parity ^ around);
    }
    /* Returns the first row that a stage needs: the stages before it have made fewer rows than were loaded,
     * but where the rows begin with the part and its boundary. */
    __device__ __forceinline__ static int first_needed(const line &l, const piece &p, int stage) {
        const int made = levels * stage - (checked && stage > l.check_stage ? l.idle : 0);
        return l.closed[0][0] && p.from == -radius ? p.from : p.from + radius * made;
    }
    /* Makes a stage's steps of the line's rows; called by a warp. weights_at: weights of the first step in
     * shared memory. */
    __device__ __forceinline__ static void make_plain_steps(const stencil_kernel_args &s, const line &l,
                                                            uint32_t ring, int stage, uint32_t weights_at) {
        stage_warp warp;
        turn u(ring, stage + (checked && stage > l.check_stage), 0);
        if (__shfl_sync(~0u, stage >= l.stages, 0)) {
            base::template walk<true>(l, [&](const piece &p) {
                for (int left = p.count; left > 0; left -= rows, u.next()) {
                    wait_warp(u.barrier, u.parity);
                    arrive(u.barrier + to_next);
                }
            });
            return;
        }
        beside_turn f(ring, general ? -radius * levels * stage : 0);
        warp.clear();
        base::template walk<true>(l, [&](const piece &p) {
            /* Two bits of a register tell which outer cells of the lane are boundary cells; in checked
             * passes, whose warps have registers left, two values do. */
            const bool ends[2] = {lane() == 0 && l.closed[1][0] && p.strip == 0,
                                  lane() == 31 && l.closed[1][1] && p.last};
            const int sides = checked ? 0 : opaque(ends[0] + 2 * ends[1]);
            const bool left = checked ? ends[0] : sides & 1, right = checked ? ends[1] : sides & 2;
            pipeline_level<step_weights> own = {{0, &s.domain}, 0, {0, 0}};
            if (general) {
                own.mirrored[0] = left ? mirrored(s, STENCIL_X, 0) : 0;
                own.mirrored[1] = right ? mirrored(s, STENCIL_X, 1) : 0;
            }
            const bool summed = checked && __shfl_sync(~0u, stage == l.check_stage, 0);
            const uint32_t mine = (lane() * cells + (p.x & (vector - 1))) * (uint32_t)sizeof(T);
            /* The levels that make a step are begin_made … end_made - 1. */
            const int begin_made = checked ? __shfl_sync(~0u, summed ? l.idle : 0, 0) : 0,
                      end_made = __shfl_sync(
                          ~0u, l.steps + (checked && stage >= l.check_stage ? l.idle : 0) - stage * levels,
                          0);
            const bool whole = begin_made == 0 && end_made >= levels;
            const int low = __shfl_sync(~0u, l.closed[0][0] ? 0 : INT_MIN / 2, 0),
                      high = __shfl_sync(~0u, l.closed[0][1] ? l.ny : INT_MAX / 2, 0);
            int y = p.from - radius * levels * stage;
            const int end = y + p.count;
            /* Rows of whole slots from the first row on that the stage needs, and up to the last one. */
            const int first = y + max(first_needed(l, p, stage) - y, 0) / rows * rows,
                      last = y + min((high - y + radius * (levels + 1) + rows - 1) / rows * rows, p.count);
            /* Rows of whole slots that contain no boundary row at any level. */
            const int plain = !whole ? INT_MAX / 2 : low == 0 ? radius * levels : INT_MIN / 2;
            const int begin = max(first, min(y + (plain - y + rows - 1) / rows * rows, last)),
                      stop = max(begin, min(y + (high - y) / rows * rows, last));
            auto skip = [&](int to) {
#pragma unroll 1
                for (; y < to; y += rows) {
                    wait_warp(u.barrier, u.parity);
                    if (general || checked)
                        for (int b = 0; b < rows; b++)
                            f.next();
                    arrive(u.barrier + to_next);
                    u.next();
                }
            };
            auto pass = [&](auto edge, int to) {
                /* The loops for edge rows and for inner rows together have to fit into the instruction cache.
                 */
                constexpr int unrolled = decltype(edge)::value ? 1 : rows;
#pragma unroll 1
                for (; y < to; y += rows) {
                    wait_warp(u.barrier, u.parity);
                    if (summed)
                        await_summed(u);
#pragma unroll unrolled
                    for (int b = 0; b < rows; b++) {
                        T c[cells];
                        warp.load(c, u.slot + b * row_bytes + mine);
#pragma unroll
                        for (int t = 0; t < levels; t++) {
                            constexpr bool Edge = decltype(edge)::value;
                            const int row = y + b - radius * t;
                            const bool kept = (checked && t < begin_made) || t >= end_made;
                            if (checked && t == levels - 1 && summed)
                                warp.store(c, f.at + mine);
                            const cells_kept keep = {left, right, kept, low, high};
                            const auto at = [&](int to, int v) {
                                return to * l.row + p.x + (int)lane() * cells + v;
                            };
                            if constexpr (general) {
                                if (Edge)
                                    mirror_row(s, l, stage * levels + t, row, p.x + lane() * cells, c);
                                own.weights.at =
                                    weights_at + (stage * levels + t) * weights * (uint32_t)sizeof(T);
                                own.source = s.domain.b != nullptr ? f.before(radius * t) + mine : 0;
                                warp.template level<Edge>(t, c, own, keep, row, at, plain_rows<T>());
                            } else {
                                warp.template level<Edge>(t, c, weights_of<T>(s.domain), keep, row, at);
                            }
                            end_block(s.depth);
                        }
                        if (general || checked)
                            f.next();
                        warp.store(c, u.slot + b * row_bytes + mine);
                    }
                    arrive(u.barrier + to_next);
                    u.next();
                }
            };
#pragma unroll 1
            for (int part = 0; part < 5; part++)
                if (part % 4 == 0)
                    skip(part == 0 ? first : end);
                else if (part == 2)
                    pass(std::false_type(), stop);
                else
                    pass(std::true_type(), part == 1 ? begin : last);
        });
    }

    /* Calls each(address, number of arriving threads) for the barriers of all slots, divided among the
     * block's threads. All lanes of a stage arrive, one lane of a loader or storer. */
    template <class Each> __device__ __forceinline__ static void for_barriers(uint32_t rings, Each each) {
        for (int i = threadIdx.x; i < lines * (hands + 2) * slots; i += blockDim.x) {
            const int ring = i / ((hands + 2) * slots);
            const int hand = i / slots % (hands + 2);
            each(rings + ring * (ring_bytes - (hands + 2) * slots * 8) + slots * slot_bytes + i * 8,
                 hand > 0 && hand <= hands ? 32 : 1);
        }
    }

    /* Registers of a thread at first, in warps that make steps, copy, and sum or find out what rows are. The
     * latter release as many as the former request, or the block would wait forever. */
    static constexpr int registers = 65536 / threads / 8 * 8,
                         step_registers = apart          ? 208
                                          : checked      ? 224
                                          : base::varied ? 232
                                                         : 240,
                         copy_registers = apart          ? 24
                                          : checked      ? 56
                                          : base::varied ? 40
                                                         : 24,
                         apart_registers = 72;
    static_assert(STENCIL_PIPELINE_WARPS * step_registers + 4 * copy_registers +
                          4 * apart * apart_registers <=
                      threads / 32 * registers,
                  "");
    /* The registers of a warp that makes steps in a loop: with more of them ptxas 13.0 spills more sums of
     * the star of 5 points in float32, three times as many. */
    static constexpr int loop_registers =
        P::rule == STENCIL_STAR && radius == 1 && sizeof(T) == 4 && !general && !classed ? 232
                                                                                         : step_registers;

    /* Does what a line's two further warps have to do, in the one with number `share`. */
    __device__ __forceinline__ static void help(const stencil_kernel_args &s, const line &l, uint32_t ring,
                                                int share) {
        if constexpr (checked)
            base::sum_rows(s, l, ring, share);
        if constexpr (base::varied)
            base::find_rows(s, l, ring, share);
    }

    /* Makes a pass, in a loop of passes or by itself. again: the pass before it had as many steps, and went
     * from the other buffer to this one. A scheduler runs every fourth warp and prefers the oldest, so each
     * of two lines has two stages that are the oldest of their scheduler: a line with four would finish
     * early, and the other line alone cannot keep the multiprocessor busy. */
    template <bool Loop = false>
    __device__ __forceinline__ static void run(const stencil_kernel_args &s, const stencil_pass &pass,
                                               bool again = false) {
        extern __shared__ __align__(128) char shared[];
        static_assert((stages == 4 && lines == 2) || (stages == 8 && lines == 1), "");
        __shared__ line l[lines];
        const uint32_t rings = shared_address(shared);
        const int warp = __shfl_sync(~0u, warp_number(), 0), scheduler = warp % 4;
        if (threadIdx.x < lines && Loop && again)
            l[threadIdx.x].turn();
        else if (threadIdx.x < lines)
            start(s, pass, l[threadIdx.x], (int)threadIdx.x);
        const uint32_t weights_at = rings + lines * ring_bytes;
        if constexpr (general)
            step_weights::put(weights_at, s, pass.first, 0, depth);
        if constexpr (base::varied)
            base::table::put(s, shared + base::bytes - base::table_bytes,
                             rings + base::bytes - base::table_bytes);
        for_barriers(rings, [](uint32_t barrier, int threads) { init_barrier(barrier, threads); });
        publish_barriers();
        __syncthreads();
        if (warp < STENCIL_PIPELINE_WARPS) { /* the order of these branches makes the compiler reallocate
                                                registers */
            more_registers<Loop ? loop_registers : step_registers>();
            const int number = lines == 2 ? warp / 4 ^ scheduler / 2 : 0,
                      stage = lines == 2 ? scheduler : warp;
            if constexpr (classed)
                base::make_steps(s, l[number], rings + number * ring_bytes, stage, weights_at);
            else
                make_plain_steps(s, l[number], rings + number * ring_bytes, stage, weights_at);
        } else if (!apart || warp < STENCIL_PIPELINE_WARPS + 4) {
            fewer_registers<copy_registers>();
            const int number = scheduler / 2;
            if (number < lines && lane() == 0) {
                if (scheduler % 2 == 0)
                    load_rows(s, l[number], rings + number * ring_bytes);
                else
                    store_rows(l[number], rings + number * ring_bytes);
            }
            if (number >= lines)
                help(s, l[0], rings, scheduler % 2);
        } else if constexpr (apart) {
            fewer_registers<apart_registers>();
            const int number = scheduler / 2;
            help(s, l[number], rings + number * ring_bytes, scheduler % 2);
        }
    }

    /* Call after run() if another pass follows: resets registers and barriers. */
    __device__ __forceinline__ static void end() {
        extern __shared__ __align__(128) char shared[];
        __syncthreads();
        __syncwarp();
        if (warp_number() < STENCIL_PIPELINE_WARPS)
            fewer_registers<registers>();
        else
            more_registers<registers>();
        for_barriers(shared_address(shared), [](uint32_t barrier, int) { drop_barrier(barrier); });
        __syncthreads();
    }
};

/* Makes a pass of several steps in a separate launch; copies of edge cells follow (kernels/copies.cu). For
 * attribution, full passes record timestamps, and passes are also run without synchronization, as the rows of
 * one grid. */
template <class Pass>
__global__ void __launch_bounds__(Pass::threads, 1)
    pipeline_kernel(const __grid_constant__ stencil_kernel_args s) {
    await_launch_before();
#if STENCIL_HAS_BULK_COPIES
    const int64_t sample =
        s.step_count == s.depth ? stencil_trace_sample(&s.trace, s.step_first / s.depth + 1) : -1;
    if (s.trace.without_compute || is_over(s))
        return;
    if (sample >= 0)
        put_launched(s, sample,
                     STENCIL_MARK_BEGIN); /* inlined, since a call would reserve registers of the warps */
    const int32_t from = (int32_t)((s.step_first + blockIdx.y) & 1);
    Pass::run(s, {s.step_first, (int32_t)s.step_count, from});
    if (sample >= 0)
        put_launched(s, sample, STENCIL_MARK_SWEPT);
#else
    __trap();
#endif
}

} // namespace stencil

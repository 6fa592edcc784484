/* Residual checks inside the persistent loops of the resident sweep. In a checked step each tile sums the
 * residual of its rows as far as its cells allow, and keeps a copy of its cells (resident_nodes.cuh). While
 * tiles make further steps, the blocks go on with the sum in its canonical order (kernels/residual.h), one
 * stage behind an exchange of ghost cells, where a block would only wait for words of other tiles. Where
 * there is time until the next checked step, a pass lies between two stages, so that no block waits for
 * others:
 *
 *   1. sum      each block computes its share of the part's partial sums, when all tiles have summed their
 * rows
 *   2. combine  a warp combines a group of 1024 partial sums, when all partial sums are there
 *   3. decide   one warp of each part combines the groups and writes the residual and the verdict
 *   4. obey     all blocks read the verdict in the same pass, and go on or leave
 *
 * If the verdict ends the run, tiles take the cells that they have kept, and later steps are forgotten. A
 * check is decided before the next checked step, and before the loop ends.
 *
 * Each stage counts what is done in stencil_control.counted, with release, and the next stage waits for the
 * counter, with acquire. Several parts count in the memory of all of them. */
#pragma once

#include "kernels/persistent.cuh"

namespace stencil {

/* The parts of a pass that has a checked step, where all steps of a pass are made at once: steps before the
 * checked one, the checked one, and the rest, which is all steps of other passes. The first and the last part
 * may have no step. */
enum check_part { check_before, check_step, check_rest };

enum check_stage { check_none, check_sum, check_combine, check_decide, check_obey };

/* The checks of a tile's loop, in shared memory: part of the tile's data. */
struct check_place {
    int64_t next, multiple; /* next step to check; next multiple of check_every */
    int64_t step;           /* the step of the check that is not decided yet, or was decided last */
    int32_t at;             /* which step of the pass, from 1, is checked; 0: none */
    int32_t part, made;     /* the next part of the pass, and steps of the pass that are made before */
    int32_t count;          /* steps of the next part */
    int32_t latest;         /* the last step of a pass that may be checked */
    int32_t stage;          /* the stage that comes next, a check_stage */
    int32_t busy;           /* the pass has a checked step, or there is a stage to make */
    int32_t hurries;        /* the next pass has a checked step: the check has to be decided before */
    int32_t spaced, rests;  /* a pass without a stage comes before each stage; before the next stage */
    int32_t sums,
        sums_most;   /* batches of partial sums that a warp has made; that it makes after an exchange */
    uint32_t begun;  /* number of checks of this launch */
    uint32_t reason; /* the last verdict, a stencil_reason */
    double tree[STENCIL_COMBINE_LANES / 32]; /* sums of the warps that combine a group */
};

/* Returns the checked step after checked step `step`; multiple: the smallest multiple of check_every after
 * it. */
__device__ __forceinline__ int64_t checked_after(const stencil_schedule &c, int64_t step, int64_t multiple) {
    return step < c.check_step && c.check_step < multiple ? c.check_step : multiple;
}
/* Moves on to the checked step after `next`. */
__device__ __forceinline__ void next_check(const stencil_schedule &c, volatile check_place &check) {
    const int64_t step = check.next, multiple = check.multiple;
    if (step == multiple)
        check.multiple = multiple > INT64_MAX - c.check_every ? INT64_MAX : multiple + c.check_every;
    check.next = checked_after(c, step, check.multiple);
}
/* Sets the first check of a launch. Called by one thread, as the functions above and below. */
__device__ __forceinline__ void start_checks(const stencil_schedule &c, volatile check_place &check,
                                             int64_t step) {
    check.multiple = step + (c.check_every - step % c.check_every);
    check.next = checked_after(c, step, check.multiple);
    check.at = check.stage = check.hurries = check.made = check.busy = check.rests = 0;
    check.part = check_rest;
    check.begun = 0, check.reason = STENCIL_REASON_NONE;
}
/* Returns the number of steps of the pass after `step`, up to `depth` of the `left` ones, of which one at
 * most is checked, and sets which one. A step that comes too late in the pass is the first of the next pass.
 * busy: the pass before had a checked step, or a check is not decided. Nearly all passes have nothing to do
 * with a check, and take few instructions. */
__device__ __forceinline__ int plan_pass(const stencil_schedule &c, volatile check_place &check, int64_t step,
                                         int64_t left, int depth, bool busy) {
    int steps = (int)min(left, (int64_t)depth);
    const int64_t ahead = check.next - step;
    if (ahead <= steps && ahead > check.latest)
        steps = (int)ahead - 1;
    const bool checked = ahead <= steps;
    if (busy || checked) {
        check.at = checked ? (int)ahead : 0, check.made = 0;
        check.part = checked ? check_before : check_rest;
        if (checked) {
            next_check(c, check);
            steps = (int)min((int64_t)steps, check.next - 1 - step);
        }
        check.hurries = check.next - step <= steps + depth;
        check.busy = checked || check.stage != check_none;
    }
    check.count = checked ? (int)ahead - 1 : steps;
    return steps;
}

/* Moves on to the next part of a pass. */
__device__ __forceinline__ void next_part(volatile check_place &check, int steps) {
    check.made = check.made + check.count;
    check.part = check.part + 1;
    check.count = check.part == check_step ? 1 : steps - check.made;
}

/* Adds 1 to a counter of the part, or of all parts; called by one thread. */
__device__ __forceinline__ void count_check(const stencil_kernel_args &s, stencil_check_counter counter) {
    if (s.peers == nullptr || counter == STENCIL_CHECK_KEPT) {
        count_in(&s.control->counted[counter]);
        return;
    }
    __threadfence_system(); /* releases what the block has stored to other GPUs */
    for (uint32_t p = 0; p < s.barrier.parts; p++)
        atomicAdd_system(&s.peers->control[p]->counted[counter], 1u);
}
/* Waits until a counter has come to `goal`; called by all threads of a warp. */
__device__ __forceinline__ void await_check(const stencil_kernel_args &s, stencil_check_counter counter,
                                            uint32_t goal, int64_t step) {
    const uint32_t *const word = &s.control->counted[counter];
    if (threadIdx.x % 32 == 0)
        spin(s.barrier, step, [&] {
            return stencil_reached(s.peers == nullptr ? load_acquire(word) : load_acquire_system(word), goal);
        });
    __syncwarp();
}

/* Combines values of adjacent lanes as combine_lanes() does, for Count trees at once and in few
 * instructions. */
template <int Count>
__device__ __forceinline__ void combine_trees(double (&value)[Count], int lanes, stencil_norm norm) {
#pragma unroll 1
    for (int step = 1; step < lanes; step *= 2)
#pragma unroll
        for (int i = 0; i < Count; i++)
            value[i] = combine(value[i], __shfl_xor_sync(~0u, value[i], step), norm);
}

/* Tells, after the barrier of a step that polls, whether the host has asked the loop to leave. */
__device__ __forceinline__ bool is_asked_to_leave(const stencil_kernel_args &s, int64_t step) {
    return *(volatile int64_t *)&s.control->interrupt == step;
}

/* How a block goes through its share of the part's partial sums: in batches of `step`, some for each warp. A
 * batch is Batch loads that a lane has under way at once. */
template <int Batch> struct sum_share_of {
    /* Lanes that share a partial sum; partial sums that a warp loads at once; of a batch of a warp. */
    static constexpr int lanes = STENCIL_PARTIAL_NODES / 2, at_once = 32 / lanes, of_warp = at_once * Batch;
    int across, first, end, step;
    __device__ __forceinline__ explicit sum_share_of(const stencil_domain &d)
        : across((int)((d.n[STENCIL_X] + STENCIL_PARTIAL_CELLS - 1) / STENCIL_PARTIAL_CELLS)),
          step((int)blockDim.x / 32 * of_warp) {
        const int count = (int)d.n[STENCIL_Y] * across;
        first = (int)stencil_share(count, gridDim.x, blockIdx.x);
        end = (int)stencil_share(count, gridDim.x, blockIdx.x + 1);
    }
    __device__ __forceinline__ int batches() const {
        return (end - first + step - 1) / step;
    }
};

/* Returns which of two sets of partial sums check `number` writes and reads in 2D. A part that has decided
 * may begin the next check while another part still reads the partial sums of this one; it comes to the one
 * after that only when all blocks of all parts have summed their share of the next one, and so have obeyed
 * this one. */
__device__ __forceinline__ uint32_t set_of_check(uint32_t number) {
    return number & 1;
}

/* Computes partial sums of the part from the nodes of the checked step: of the block's share, up to `most`
 * batches of each warp. Nodes beyond the end of a row count as 0. Returns whether the share is complete. */
template <int Batch>
__device__ __forceinline__ bool sum_share(const stencil_kernel_args &s, volatile check_place &check,
                                          uint32_t check_number, int most) {
    constexpr int lanes = sum_share_of<Batch>::lanes, at_once = sum_share_of<Batch>::at_once;
    const sum_share_of<Batch> share(s.domain);
    const stencil_domain &d = s.domain;
    const stencil_norm norm = s.schedule.norm;
    double *const partial = d.partial + set_of_check(check_number) * d.partial_set;
    const int x_count = (int)d.n[STENCIL_X], lane = (int)threadIdx.x % lanes,
              sub = (int)threadIdx.x % 32 / lanes, warp = (int)threadIdx.x / 32 * share.of_warp,
              last = min(check.sums + most, share.batches());
#pragma unroll 1
    for (int batch = check.sums; batch < last; batch++) {
        const int i = share.first + batch * share.step + warp;
        if (i >= share.end)
            break;
        double2 pair[Batch];
        int64_t number[Batch];
        double sum[Batch];
#pragma unroll
        for (int b = 0; b < Batch; b++) {
            const int p = min(i + b * at_once + sub, share.end - 1), y = p / share.across,
                      k = p - y * share.across, x = k * STENCIL_PARTIAL_CELLS + 2 * lane * STENCIL_NODE_CELLS;
            number[b] = d.partial_first + y * d.partial_row + k;
            pair[b] = __ldcg(
                reinterpret_cast<const double2 *>(s.resident.nodes + p * (int64_t)STENCIL_PARTIAL_NODES) +
                lane);
            pair[b].x = x < x_count ? pair[b].x : 0.0;
            pair[b].y = x + STENCIL_NODE_CELLS < x_count ? pair[b].y : 0.0;
        }
#pragma unroll
        for (int b = 0; b < Batch; b++)
            sum[b] = combine(pair[b].x, pair[b].y, norm);
        combine_trees(sum, lanes, norm);
#pragma unroll
        for (int b = 0; b < Batch; b++)
            if (lane == 0)
                partial[number[b]] = sum[b];
    }
    __syncthreads(); /* waits until all threads have read check.sums */
    if (threadIdx.x == 0)
        check.sums = last;
    return last == share.batches();
}

/* Values to combine: results of the level before or partial sums; of all parts (v NULL), or of the only part
 * where a tile sums half of each (Halves), in both sets. */
template <bool Halves> struct read_level {
    const stencil_kernel_args &s;
    const double *v;
    bool partials;
    uint32_t set;
    __device__ __forceinline__ double operator()(int64_t i) const {
        const stencil_domain &d = s.domain;
        if (Halves && partials) {
            const uint32_t row = (uint32_t)d.partial_row,
                           middle = (uint32_t)i % row * STENCIL_PARTIAL_CELLS + STENCIL_PARTIAL_CELLS / 2;
            const double low = __ldcg(v + i),
                         high = middle < d.n[STENCIL_X] ? __ldcg(v + i + d.partial_set) : 0;
            return combine(low, high, s.schedule.norm);
        }
        return v != nullptr ? __ldcg(v + i) : partial_of_peer(d, *s.peers, i, set);
    }
};

/* Combines group `group` of `count` values with a whole block; every thread gets the result. */
template <class Read>
__device__ __forceinline__ double combine_by_block(const Read &read, volatile check_place &check,
                                                   int64_t count, int64_t group, stencil_norm norm) {
    constexpr int values = STENCIL_COMBINE_VALUES / STENCIL_COMBINE_LANES, warps = STENCIL_COMBINE_LANES / 32;
#pragma unroll 1
    for (int warp = (int)threadIdx.x / 32; warp < warps; warp += (int)blockDim.x / 32) {
        const int64_t first = group * STENCIL_COMBINE_VALUES + warp * 32 + (int)threadIdx.x % 32;
        double v[values], sum[1];
#pragma unroll
        for (int m = 0; m < values; m++)
            v[m] = first + m * STENCIL_COMBINE_LANES < count ? read(first + m * STENCIL_COMBINE_LANES) : 0.0;
        sum[0] = v[0];
#pragma unroll
        for (int m = 1; m < values; m++)
            sum[0] = combine(sum[0], v[m], norm);
        combine_trees(sum, 32, norm);
        check.tree[warp] = sum[0];
    }
    __syncthreads();
    double tree[1] = {check.tree[threadIdx.x % warps]};
    combine_trees(tree, warps, norm);
    __syncthreads(); /* waits until all threads have read check.tree */
    return tree[0];
}

/* The number of a check of the run, from 1, and the counts at which the work of its stages is done. */
struct check_goals {
    uint32_t number, kept, summed, combined;
    __device__ __forceinline__ check_goals(const stencil_kernel_args &s, uint32_t begun)
        : number(s.resident.checks + begun), kept(number * (uint32_t)stencil_resident_tiles(&s.resident)),
          summed(number * s.barrier.participants),
          combined(number * (uint32_t)stencil_level_count(s.domain.partial_count)) {}
};

/* Writes the residual of a check and what it decides; called by one thread of a part. */
__device__ __forceinline__ void decide_check(const stencil_kernel_args &s, uint32_t number, double value) {
    const double residual = stencil_residual_finish(value, s.schedule.updated_cells, s.schedule.norm);
    s.history[number - s.resident.checks - 1] = residual;
    s.mailbox->residual = residual;
    store_release(&s.control->verdict,
                  number << 4 | (uint32_t)stencil_schedule_decide(&s.schedule, residual));
}

/* Combines values: groups of partial sums, by the blocks of the part that has them (partials), or all further
 * levels, by one block of each part, which decides. Blocks without a tile are the last ones, and have time,
 * so the last blocks combine. */
template <bool Halves>
__device__ __forceinline__ void combine_level(const stencil_kernel_args &s, volatile check_place &check,
                                              const check_goals &goals, bool partials) {
    const int64_t all = s.domain.partial_count, groups = stencil_level_count(all),
                  block = gridDim.x - 1 - blockIdx.x;
    const bool one_level = all <= STENCIL_COMBINE_VALUES, from_partials = partials || one_level,
               leads = threadIdx.x == 0;
    int64_t g = partials ? s.result_first + block : block, end = partials ? s.result_end : 1;
    if (g >= end || (partials && one_level))
        return;
    const uint32_t set = Halves ? 0 : set_of_check(goals.number);
    const double *const own = s.peers == nullptr ? s.domain.partial + set * s.domain.partial_set : nullptr;
    stencil_level level = stencil_level_first(s.level, groups, s.level + groups);
    await_check(s, from_partials ? STENCIL_CHECK_SUMMED : STENCIL_CHECK_COMBINED,
                from_partials ? goals.summed : goals.combined, check.step);
    end = partials || one_level ? end : level.results;
#pragma unroll 1
    for (;;) {
        const int64_t count = from_partials ? all : level.count;
        const double value =
            combine_by_block(read_level<Halves>{s, from_partials ? own : level.from, from_partials, set},
                             check, count, g, s.schedule.norm);
        if (!partials && count <= STENCIL_COMBINE_VALUES) {
            if (leads)
                decide_check(s, goals.number, value);
            return;
        }
        if (leads && !partials)
            level.to[g] = value;
        if (leads && partials) {
            if (s.peers == nullptr)
                s.level[g] = value;
            for (uint32_t p = 0; s.peers != nullptr && p < s.barrier.parts; p++)
                s.peers->level[p][g] = value;
            count_check(s, STENCIL_CHECK_COMBINED);
        }
        g += partials ? gridDim.x : 1;
        if (g >= end && partials)
            return;
        if (g >= end) {
            __syncthreads(); /* other threads of the block read what the first one has written */
            level = stencil_level_next(&level);
            g = 0, end = level.results;
        }
    }
}

/* Reads the verdict of check number `number`; called by all threads, which all get it. */
__device__ __forceinline__ void obey_check(const stencil_kernel_args &s, volatile check_place &check,
                                           uint32_t number) {
    if (threadIdx.x == 0) {
        uint32_t verdict = 0;
        spin(s.barrier, check.step, [&] {
            verdict = load_acquire(&s.control->verdict);
            return verdict >> 4 == (number & UINT32_MAX >> 4);
        });
        check.reason = verdict & 15;
    }
}

/* Makes the next stage of the check that is not decided, or all of its stages (all). Batch 0: tiles have
 * summed halves of partial sums themselves. Called by all threads of a block; returns the reason to stop that
 * the verdict gives, or NONE while there is no verdict. */
template <int Batch>
__device__ __forceinline__ uint32_t make_check(const stencil_kernel_args &s, volatile check_place &check,
                                               bool all) {
    const check_goals goals(s, check.begun);
    const int64_t step = check.step;
    int stage = check.stage;
    uint32_t reason = STENCIL_REASON_NONE;
#pragma unroll 1
    for (; stage != check_none; stage = stage == check_obey ? check_none : stage + 1) {
        if (stage == check_sum) {
            if constexpr (Batch > 0) {
                if (check.sums == 0)
                    await_check(s, STENCIL_CHECK_KEPT, goals.kept, step);
                if (!sum_share<Batch>(s, check, goals.number, all ? INT32_MAX >> 8 : check.sums_most))
                    break; /* goes on with its share after the next exchange */
            }
            if (threadIdx.x == 0)
                count_check(s, STENCIL_CHECK_SUMMED);
        } else if (stage == check_obey) {
            obey_check(s, check, goals.number);
            __syncthreads();
            reason = check.reason;
        } else {
            combine_level<Batch == 0>(s, check, goals, stage == check_combine);
        }
        if (!all) {
            stage = stage == check_obey ? check_none : stage + 1;
            break;
        }
    }
    __syncthreads(); /* waits until all threads have read check.stage */
    if (threadIdx.x == 0) {
        check.rests = stage != check.stage ? check.spaced : 0;
        check.stage = stage;
    }
    return reason;
}

} // namespace stencil

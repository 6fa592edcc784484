/* One barrier across the grids of several GPUs. CUDA 13 has none of its own any more.
 *
 * The blocks of a part count themselves at a counter in their own memory; the warp that counts the last one
 * stores the epoch into its part's word in the memory of every part, its own included, one lane for each;
 * every block waits until the words of all parts, in its own memory, have come that far. So there is one hop
 * between GPUs and nothing is read across a link, and no block waits for a second release inside its GPU.
 *
 * Why it holds: a block's addition releases at device scope what all of its threads wrote, to its own memory
 * or a peer's (__syncthreads() stands before it); the last addition acquires what all the others released,
 * and __syncwarp() hands that to the lanes; their st.release.sys publishes it, since causality order is
 * transitive, to the block that acquires the word at system scope. A part stores epoch e+1 only after all of
 * its blocks have seen all words at e: a word is at most one epoch ahead of what a block waits for, and is
 * compared with "has come as far as", so wrapping around does no harm. */
#pragma once

#include "sync/waits.h"

#ifdef __CUDACC__
namespace stencil {

/* Returns the address of this part's word in the memory of part p, where p is the thread's index in its
 * block; NULL: there is no part p. */
__device__ __forceinline__ uint32_t *peer_word(const stencil_barrier_state &s) {
    return s.parts > 1 && thread_in_block() < s.parts
               ? s.peer_words[thread_in_block()] + STENCIL_PART_WORDS_AT + s.part
               : nullptr;
}

/* Passes the barrier of all parts for a block; called by its first warp. The part's counter reaches `goal`
 * when all its blocks have arrived, then every part's word reaches `epoch`. `peer` is peer_word(). */
__device__ __forceinline__ void all_parts_wait(const stencil_barrier_state &s, uint32_t *peer, uint32_t goal,
                                               uint32_t epoch, int64_t step) {
    const uint32_t lane = thread_in_block();
    uint32_t before = 0;
    if (lane == 0)
        before = count_in(stencil_barrier_counter(&s, 0));
    before = __shfl_sync(0xffffffffu, before, 0);
    __syncwarp();
    if (peer != nullptr) {
        if (before + 1 == goal)
            store_release_system(peer, epoch);
        const uint32_t *word = stencil_barrier_part_words(&s) + lane;
        spin(s, step, [&] { return stencil_reached(load_acquire_system(word), epoch); });
    }
    __syncwarp();
}

struct multi_grid_barrier : counted_barrier<multi_grid_barrier> {
    uint32_t epoch, *peer;

    __device__ explicit multi_grid_barrier(const stencil_barrier_state &state)
        : counted_barrier(state), epoch(stencil_barrier_part_words(&state)[state.part]),
          peer(peer_word(state)) {}

    __device__ void pass(int64_t step) {
        goal += gridDim.x;
        epoch++;
        if (s.parts > 1)
            all_parts_wait(s, peer, goal, epoch, step);
        else if (thread_in_block() == 0)
            count_and_wait(s, stencil_barrier_counter(&s, 0), goal, step);
    }
};

} // namespace stencil
#else
/* The CPU twin: a group of threads stands for each part. A group counts at its first thread's flag, the last
 * thread to arrive stores the group's word, and each thread waits for all words. */
static inline bool multi_grid_team(const stencil_barrier_state *s, uint32_t thread) {
    const uint32_t groups = s->parts > 1 ? s->parts : 1,
                   group = stencil_share_owner(s->participants, groups, thread);
    const uint32_t first = (uint32_t)stencil_share(s->participants, groups, group);
    const uint32_t size = (uint32_t)stencil_share(s->participants, groups, group + 1) - first;
    uint32_t *goal = &stencil_barrier_epoch(s)[thread], *epoch = &stencil_barrier_arrived(s)[thread];
    *goal += size;
    ++*epoch;
    if (__atomic_add_fetch(stencil_barrier_flag(s, first), 1, __ATOMIC_ACQ_REL) == *goal)
        team_store(stencil_barrier_part_words(s) + group, *epoch);
    for (uint32_t g = 0; g < groups; g++)
        if (!team_spin(s, thread, stencil_barrier_part_words(s) + g, *epoch))
            return false;
    return true;
}
#endif

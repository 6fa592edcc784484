/* Where threads meet: of a block, of a warp, of a cluster, and at mbarriers. */
#include <algorithm>

#include "machine.h"

namespace emulated {

void yield() {
    park(fiber_state::polls);
}
void may_yield() {
    if (once_in(16))
        park(fiber_state::ready);
}

static void end_block_meeting(running_block &b) {
    if (b.arrived == 0 || b.arrived != b.live)
        return;
    b.met = b.sum;
    b.sum = 0, b.arrived = 0;
    for (fiber *f : b.threads)
        if (f->state == fiber_state::at_block)
            wake(*f);
}
unsigned meet_block(unsigned value) {
    running_block &b = me().in_block();
    b.arrived++;
    b.sum += value;
    me().state = fiber_state::at_block;
    if (b.arrived == b.live) {
        me().state = fiber_state::ready;
        end_block_meeting(b);
        park(fiber_state::ready);
    } else {
        park(fiber_state::at_block);
    }
    return b.met;
}

static unsigned linear(const thread &t) {
    const dim3 &block = t.of->of->block_dim;
    return (t.index.z * block.y + t.index.y) * block.x + t.index.x;
}

static uint64_t combine(fiber *const *lane, unsigned mask, warp_kind kind) {
    uint64_t result = 0;
    for (unsigned left = mask; left != 0; left &= left - 1) {
        const int l = __builtin_ctz(left);
        const uint64_t value = lane[l]->value;
        if (kind == warp_ballot || kind == warp_any)
            result |= (uint64_t)(value != 0) << l;
        else if (kind == warp_max)
            result = std::max(result, value);
        else
            result = (uint32_t)(result + value);
    }
    return result;
}
static void end_warp_meeting(fiber *const *lane, warp_state &w, unsigned mask, fiber &last) {
    for (unsigned left = mask; left != 0; left &= left - 1) {
        const fiber &f = *lane[__builtin_ctz(left)];
        if (f.mask != mask || f.kind != last.kind)
            fail("lanes %u and %u of a warp meet in different ways", f.lane, last.lane);
    }
    const bool shuffles = last.kind == warp_shuffle;
    const uint64_t all = shuffles ? 0 : combine(lane, mask, last.kind);
    for (unsigned left = mask; left != 0; left &= left - 1) {
        fiber &f = *lane[__builtin_ctz(left)];
        if (shuffles && (mask >> f.from & 1) == 0)
            fail("lane %u reads lane %d, which is not at the shuffle", f.lane, f.from);
        f.result = shuffles ? lane[f.from]->value : all;
    }
    w.arrived &= ~mask;
    for (unsigned left = mask; left != 0; left &= left - 1)
        if (lane[__builtin_ctz(left)] != &last)
            wake(*lane[__builtin_ctz(left)]);
}
uint64_t meet_warp(unsigned mask, warp_kind kind, uint64_t value, int from) {
    fiber &f = me();
    running_block &b = f.in_block();
    const unsigned number = linear(f) / 32;
    warp_state &w = b.warps[number];
    f.mask = mask, f.kind = kind, f.value = value, f.from = from;
    if ((mask >> f.lane & 1) == 0)
        fail("a thread that meets its warp is not in the mask %08x", mask);
    if (b.threads.size() >= 32 && (mask & ~w.live) != 0)
        fail("lanes %08x, which others of the warp wait for, have ended", mask & ~w.live);
    w.arrived |= 1u << f.lane;
    if ((w.arrived & mask & w.live) == (mask & w.live)) {
        end_warp_meeting(&b.threads[number * 32], w, mask & w.live, f);
        park(fiber_state::ready);
    } else {
        f.mask = mask & w.live;
        park(fiber_state::at_warp);
    }
    return f.result;
}

void leave_meetings(fiber &f) {
    running_block &b = f.in_block();
    const unsigned number = linear(f) / 32;
    warp_state &w = b.warps[number];
    w.live &= ~(1u << f.lane);
    for (unsigned left = w.arrived; left != 0; left &= left - 1)
        if (b.threads[number * 32 + __builtin_ctz(left)]->mask >> f.lane & 1)
            fail("kernel %s, block %u: lane %u of warp %u has ended, which others of the warp wait for",
                 b.run->info->name.c_str(), b.index.x, f.lane, number);
    b.live--;
    end_block_meeting(b);
}

void meet_cluster() {
    running_block &b = me().in_block();
    if (!b.cluster)
        return;
    cluster_state &c = *b.cluster;
    int live = 0;
    for (const running_block *other : c.blocks)
        live += other != nullptr ? other->live : 0;
    if (++c.arrived != live) {
        park(fiber_state::at_cluster);
        return;
    }
    c.arrived = 0;
    for (running_block *other : c.blocks)
        for (size_t t = 0; other != nullptr && t < other->threads.size(); t++)
            if (other->threads[t]->state == fiber_state::at_cluster)
                wake(*other->threads[t]);
    park(fiber_state::ready);
}
uint32_t cluster_size() {
    return me().in_block().run->cluster;
}
uint32_t cluster_rank() {
    return me().in_block().rank;
}
uint32_t multiprocessor() {
    return (uint32_t)me().in_block().sm;
}

/* An mbarrier, in its 8 bytes of shared memory. */
struct mbarrier {
    int16_t pending, expected;
    uint32_t mark : 7, phase : 1;
    int32_t bytes : 24;
};
static_assert(sizeof(mbarrier) == 8, "");
static constexpr uint32_t valid = 0x35;

static mbarrier &at(const running_block &b, uint32_t address) {
    mbarrier &m = *reinterpret_cast<mbarrier *>(shared_low(b) + address);
    if (address % 8 != 0 || address >= image_bytes())
        fail("an mbarrier at address %u", address);
    if (m.mark != valid)
        fail("the mbarrier at address %u is not initialised", address);
    return m;
}
void init_barrier(uint32_t barrier, int threads) {
    mbarrier &m = *reinterpret_cast<mbarrier *>(shared_low(me().in_block()) + barrier);
    m.pending = m.expected = (int16_t)threads;
    m.mark = valid, m.phase = 0, m.bytes = 0;
}
void drop_barrier(uint32_t barrier) {
    at(me().in_block(), barrier).mark = 0;
}

static void end_phase(running_block &b, mbarrier &m, uint32_t barrier) {
    if (m.pending != 0 || m.bytes != 0)
        return;
    m.phase ^= 1;
    m.pending = m.expected;
    for (fiber *f : b.threads)
        if (f->state == fiber_state::at_mbarrier && f->barrier == barrier && f->parity != m.phase)
            wake(*f);
}
static void arrive_at(running_block &b, uint32_t barrier, uint32_t more_bytes) {
    mbarrier &m = at(b, barrier);
    m.bytes += (int32_t)more_bytes;
    if (--m.pending < 0)
        fail("more threads arrive at the mbarrier at address %u than it has", barrier);
    end_phase(b, m, barrier);
}
void arrive(uint32_t barrier, uint32_t more_bytes) {
    arrive_at(me().in_block(), barrier, more_bytes);
    may_yield();
}
void arrive_in_cluster(uint32_t barrier, uint32_t rank) {
    running_block &b = me().in_block();
    running_block *to = b.cluster ? b.cluster->blocks.at(rank) : &b;
    if (to == nullptr)
        fail("block %u of the cluster has ended", rank);
    arrive_at(*to, barrier, 0);
    may_yield();
}
void complete_bytes(running_block &b, uint32_t barrier, size_t bytes) {
    mbarrier &m = at(b, barrier);
    m.bytes -= (int32_t)bytes;
    end_phase(b, m, barrier);
}
void wait(uint32_t barrier, uint32_t parity) {
    fiber &f = me();
    if (once_in(8))
        park(fiber_state::ready);
    while (at(f.in_block(), barrier).phase == (parity & 1)) {
        f.barrier = barrier, f.parity = parity & 1;
        park(fiber_state::at_mbarrier);
    }
}
bool test(uint32_t barrier, uint32_t parity) {
    yield();
    return at(me().in_block(), barrier).phase != (parity & 1);
}

} // namespace emulated

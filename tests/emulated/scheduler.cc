/* The lock, the order in which things happen (drawn from a seed), and the wait of a host thread. */
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <condition_variable>
#include <cstdlib>
#include <mutex>

#include "machine.h"

namespace emulated {

/* A host thread that waits for the lock. */
struct waiter {
    std::condition_variable called;
    bool has_lock = false;
};
static std::mutex mutex; /* of these: */
static std::deque<waiter *> waiters;
static bool is_held = false;

locked::locked() {
    std::unique_lock<std::mutex> guard(mutex);
    if (!is_held) {
        is_held = true;
        return;
    }
    waiter self;
    waiters.push_back(&self);
    self.called.wait(guard, [&] { return self.has_lock; });
}
locked::~locked() {
    std::lock_guard<std::mutex> guard(mutex);
    is_held = !waiters.empty();
    if (!is_held)
        return;
    waiters.front()->has_lock = true;
    waiters.front()->called.notify_one();
    waiters.pop_front();
}

long setting(const char *name, long usual, long least, long most) {
    const char *text = getenv(name);
    const long value = text != nullptr && *text != 0 ? strtol(text, nullptr, 10) : usual;
    return std::max(least, std::min(value, most));
}

uint32_t draw(uint32_t below) {
    static uint64_t state = (uint64_t)setting("STENCIL_EMULATED_SEED", 1, 0, LONG_MAX);
    uint64_t z = state += 0x9e3779b97f4a7c15u; /* SplitMix64 */
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    z ^= z >> 31;
    return (uint32_t)((z & 0xffffffffu) * below >> 32);
}
bool once_in(uint32_t of) {
    return draw(of) == 0;
}

/* A host that is slow must not make a GPU's waits time out. */
uint64_t clock_ns() {
    constexpr uint64_t ns_per_turn = 25;
    return ns_per_turn * turns;
}
uint64_t host_clock_ns() {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

machine_state &machine() {
    static machine_state *const made = [] {
        machine_state *m = new machine_state();
        const long devices = setting("STENCIL_EMULATED_GPUS", 4, 0, DEVICES_MOST),
                   sms = setting("STENCIL_EMULATED_SMS", 4, 1, 132);
        m->device.resize((size_t)devices);
        for (device_state &d : m->device)
            d.sm.resize((size_t)sms);
        return m;
    }();
    return *made;
}

/* Picks a block to go on. Now and then one is held back for long, as if its multiprocessor were slow. */
static running_block *pick() {
    machine_state &m = machine();
    if (m.held == nullptr && once_in(256)) {
        m.held = m.running[draw((uint32_t)m.running.size())];
        m.held_for = (int)draw(2000);
    }
    running_block *b = m.running[draw((uint32_t)m.running.size())];
    if (b == m.held && --m.held_for <= 0)
        m.held = nullptr;
    constexpr uint32_t idle_once_in = 8;
    return (b == m.held && m.running.size() > 1) || (b->idle && !once_in(idle_once_in)) ? nullptr : b;
}

static void retire(running_block *b) {
    launch *l = b->run;
    multiprocessor_state &sm = machine().device[(size_t)l->device].sm[(size_t)b->sm];
    if (!b->bulk.empty())
        fail("kernel %s, block %u ended before its bulk copies", l->info->name.c_str(), b->index.x);
    sm.blocks--;
    sm.threads -= (int)l->threads();
    sm.shared -= l->shared_bytes + SHARED_RESERVED;
    l->ended++;
    l->triggers += !b->triggered;
    if (b->cluster)
        b->cluster->blocks[b->rank] = nullptr;
    end_block(b);
}

/* The fault of a chip that a test asked for: now and then a word of the shared memory of multiprocessor 0 of
 * device 0 has a wrong bit. It is one that looks like a cell of float64 or two of float32, since the fault
 * would else show itself: barriers, addresses and counts are there, too. */
static void wear(const running_block &b) {
    static const long of = setting("STENCIL_EMULATED_CHIP_FAULT", 0, 0, INT_MAX);
    const uint32_t words = (uint32_t)(b.run->shared_bytes / sizeof(uint64_t));
    if (of == 0 || b.sm != 0 || b.run->device != 0 || words == 0 || !once_in((uint32_t)of))
        return;
    char *const at = dynamic_low(b) + sizeof(uint64_t) * draw(words);
    double value;
    uint64_t bits;
    memcpy(&value, at, sizeof value);
    if (!(value > 1e-7 && value < 1e3))
        return;
    memcpy(&bits, at, sizeof bits);
    bits ^= 1u << 8;
    memcpy(at, &bits, sizeof bits);
}

/* Makes one thing happen; whether more than a poll happened. */
static bool happen() {
    machine_state &m = machine();
    bool moved = false;
    if (m.running.empty() || m.turns++ % 16 == 0) {
        moved = advance_streams();
        moved = place_blocks() || moved;
    }
    if (m.running.empty())
        return moved;
    running_block *b = pick();
    if (b == nullptr)
        return moved;
    const int device = b->run->device;
    wear(*b);
    moved = give_turns(*b) || moved;
    const cudaError_t error = m.device[(size_t)device].error;
    if (error != cudaSuccess) {
        kill_device(device, error);
    } else if (b->live == 0) {
        retire(b);
        place_blocks();
    }
    return moved;
}

bool go_on(const std::function<bool()> &done) {
    constexpr int most = 8192, idle_most = 512; /* so that the lock seldom changes hands */
    constexpr int hold_most = 64;               /* turns in which all others wait for a thread that is held */
    bool moved = false;
    for (int i = 0, idle = 0; i < most && idle < idle_most && !done(); i++) {
        const bool more = happen();
        idle = more ? 0 : idle + 1;
        if (idle == hold_most)
            machine().held_thread = nullptr;
        moved = moved || more;
    }
    return moved;
}

void wait_for(const std::function<bool()> &done, const char *what) {
    constexpr int idle_most = 1200000; /* a minute or two, for other threads of the host */
    for (int idle = 0;;) {
        {
            locked lock;
            if (done())
                return;
            idle = go_on(done) ? 0 : idle + 1;
            if (done())
                return;
            if (idle == idle_most)
                fail("%s waits for something that does not come", what);
        }
        if (idle > 16)
            usleep(50);
    }
}

} // namespace emulated

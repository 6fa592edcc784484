/* The state of the emulated machine: devices, launches, blocks and threads, streams. All functions are called
 * with the lock held, unless they say otherwise. */
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "emulated.h"

namespace emulated {

/* Holds the machine's lock; host threads get it in the order in which they ask. */
struct locked {
    locked();
    ~locked();
    locked(const locked &) = delete;
};

/* Random numbers from the seed $STENCIL_EMULATED_SEED: 0 … below - 1, and whether one of `of` times. */
uint32_t draw(uint32_t below);
bool once_in(uint32_t of);

/* Sizes of a device: those of an H100, but the number of multiprocessors. */
enum : size_t {
    SHARED_PER_SM = 233472,
    SHARED_PER_BLOCK = 232448,
    SHARED_USUAL = 49152,
    SHARED_RESERVED = 1024
};
enum { THREADS_PER_SM = 2048, THREADS_PER_BLOCK = 1024, BLOCKS_PER_SM = 32, REGISTERS_PER_SM = 65536 };
enum { REGISTERS = 64, CLUSTER_MOST = 8, DEVICES_MOST = 8, CAPABILITY = 90 };

/* A copy that was issued and is not complete. */
struct late_copy {
    char *to;
    const char *from;
    size_t bytes;
    uint32_t barrier;       /* bulk copies to shared memory: the mbarrier's address */
    std::vector<char> read; /* bulk copies from shared memory: what was read, where it is not yet written */
};
using copy_group = std::vector<late_copy>;

enum class fiber_state { ready, polls, at_block, at_warp, at_mbarrier, at_cluster, ended };

struct launch;
struct running_block;
struct fiber : thread {
    void *sp;
    char *stack;
    size_t colour; /* bytes above the stack's begin, so that stacks do not share few sets of the caches */
    fiber_state state;
    uint64_t value, result; /* of a meeting of a warp */
    warp_kind kind;
    unsigned mask;
    int from;
    uint32_t barrier, parity; /* of the mbarrier that it waits for */
    copy_group copies, bulk_copies;
    std::deque<copy_group> groups, bulk_groups;
    running_block &in_block() const;
};

struct warp_state {
    unsigned live, arrived; /* a bit for each lane */
};
struct cluster_state {
    std::vector<running_block *> blocks;
    int live = 0, arrived = 0;
};
struct running_block : block {
    launch *run;
    int sm;
    unsigned rank;
    bool idle;      /* its threads have done nothing but poll, the last time */
    bool triggered; /* the launch behind may begin, as far as this block is concerned */
    std::shared_ptr<cluster_state> cluster;
    char *image; /* thread pointer of the block's thread-local memory, which is its shared memory */
    std::vector<fiber *> threads, ready, polling;
    std::vector<warp_state> warps;
    copy_group bulk; /* bulk copies to shared memory */
    int live, arrived;
    unsigned sum, met; /* of meetings of the block: so far; of the last one */
};

struct kernel_info {
    signature how;
    std::string name;
    size_t dynamic_most[DEVICES_MOST];
};

struct launch : grid {
    const void *kernel;
    const kernel_info *info;
    std::vector<char> arguments;
    size_t shared_bytes;
    int device;
    unsigned cluster, started = 0, ended = 0, triggers = 0;
    bool cooperative, programmatic;
    unsigned word = 0; /* of the grid's barrier */
    std::shared_ptr<launch> before;
    unsigned blocks() const {
        return grid_dim.x * grid_dim.y * grid_dim.z;
    }
    unsigned threads() const {
        return block_dim.x * block_dim.y * block_dim.z;
    }
    bool done() const {
        return ended == blocks();
    }
};

struct multiprocessor_state {
    int blocks, threads;
    size_t shared;
};
struct device_state {
    std::vector<multiprocessor_state> sm;
    std::vector<std::shared_ptr<launch>> launches; /* that have begun and have not ended */
    cudaError_t error = cudaSuccess;               /* of a kernel; it stays */
    size_t used_bytes = 0;
    unsigned reaches = 0; /* a bit for each device whose memory it may use */
};

/* The machine, made on first use. */
struct machine_state {
    std::vector<device_state> device;
    std::vector<running_block *> running;
    std::vector<cudaStream_t> streams;
    std::map<const void *, kernel_info> kernels;
    running_block *held = nullptr; /* a block that gets no turn for a while */
    int held_for = 0;
    fiber *held_thread = nullptr; /* a thread that gets none for a while */
    int thread_held_for = 0;      /* turns of its block */
    uint64_t turns = 0;
};
machine_state &machine();
extern thread_local int current_device;
extern thread_local cudaError_t last_error;

/* Notes an error for cudaGetLastError(); returns it. */
cudaError_t note(cudaError_t error);

/* Goes on with what can go on, until done() or until nothing can. Returns whether anything went on. */
bool go_on(const std::function<bool()> &done);
/* Waits, without the lock at the call, until done(), which is called with the lock. `what` is the function of
 * the runtime that waits. */
void wait_for(const std::function<bool()> &done, const char *what);
/* Returns the nanoseconds of the host's clock, for events. Needs no lock. */
uint64_t host_clock_ns();
/* Returns the number that an environment variable has, within limits. Needs no lock. */
long setting(const char *name, long usual, long least, long most);

/* streams.cc: begins and ends what streams have queued. Returns whether anything went on. */
bool advance_streams();

/* launch.cc */
cudaError_t check_launch(const launch &l);
int blocks_per_sm(unsigned threads, size_t shared_bytes);
/* Starts as many blocks of launches that have begun as there is room for; whether there were any. */
bool place_blocks();
/* Ends all launches of a device after an error of one. */
void kill_device(int device, cudaError_t error);

/* block.cc */
running_block *start_block(launch *l, unsigned number, int sm);
void end_block(running_block *b);
/* Gives the block's threads some turns; whether one of them did more than poll. */
bool give_turns(running_block &b);
/* Makes a thread that waited ready. */
void wake(fiber &f);
/* Ends the process with what a thread, or all threads of a block, do. */
[[noreturn]] void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same for a block none of whose threads can go on; returns where other blocks of its cluster can. */
void fail_stuck(running_block &b);

/* fiber.cc */
fiber *new_fiber();
void free_fiber(fiber *f);
void prepare_fiber(fiber &f);
/* Runs a thread until it parks; counts that. */
extern uint64_t turns;
void run_fiber(fiber &f);
/* Gives up the turn of the thread that runs. */
void park(fiber_state state);
void set_image(char *image);
/* Makes a fault of a thread an error of its device, whoever handled faults before. */
void catch_faults();

/* meeting.cc */
void leave_meetings(fiber &f);
void complete_bytes(running_block &b, uint32_t barrier, size_t bytes);

/* copies.cc */
void finish_copies(fiber &f);
/* Makes one of the block's bulk copies to shared memory, where there is one. */
bool make_bulk_copy(running_block &b);

char *shared_low(const running_block &b);
/* Returns the first byte of the block's dynamic shared memory. */
char *dynamic_low(const running_block &b);
size_t image_bytes();

inline running_block &fiber::in_block() const {
    return *static_cast<running_block *>(of);
}
inline fiber &me() {
    return *static_cast<fiber *>(now);
}

} // namespace emulated

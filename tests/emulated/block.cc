/* Blocks: their threads' turns, and their shared memory.
 *
 * __shared__ is thread_local: device code is assembled with register gs where the compiler wrote fs, which
 * holds the address behind a thread's image of these variables (the ABI's variant II). Every block has an
 * image of its own, to which gs points while a thread of the block runs. The program's own thread-local
 * variables, whose register is fs, are untouched. */
#include <asm/prctl.h>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdlib>

#include "machine.h"

/* The dynamic shared memory, which device code declares as extern in its namespace. */
namespace stencil {
alignas(128) thread_local char shared[emulated::SHARED_PER_BLOCK];
}

namespace emulated {

static constexpr size_t page = 4096;
static constexpr unsigned char unwritten = 0xff; /* a NaN, in both precisions */

static int find_tls(dl_phdr_info *info, size_t, void *bytes) {
    for (int i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_TLS)
            *static_cast<size_t *>(bytes) = info->dlpi_phdr[i].p_memsz + info->dlpi_phdr[i].p_align;
    return 1; /* the program itself comes first, and is enough */
}
size_t image_bytes() {
    static size_t bytes = 0;
    if (bytes == 0) {
        dl_iterate_phdr(find_tls, &bytes);
        bytes = (bytes + page - 1) / page * page;
    }
    return bytes;
}
char *shared_low(const running_block &b) {
    return b.image - image_bytes();
}
/* Offset of the dynamic shared memory in an image. */
static size_t dynamic_at() {
    const char *const self = static_cast<char *>(__builtin_thread_pointer());
    return image_bytes() - (size_t)(self - stencil::shared);
}

static std::vector<char *> unused;

static char *new_image(size_t dynamic_bytes) {
    char *low;
    if (unused.empty()) {
        void *memory = mmap(nullptr, image_bytes() + page, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            fail("no memory for a block");
        low = static_cast<char *>(memory);
    } else {
        low = unused.back();
        unused.pop_back();
    }
    const size_t at = dynamic_at(), end = at + SHARED_PER_BLOCK,
                 guarded = std::min(dynamic_bytes + SHARED_RESERVED, (size_t)SHARED_PER_BLOCK);
    memset(low, unwritten, at + guarded);
    memset(low + end, unwritten, image_bytes() - end);
    char *image = low + image_bytes();
    memcpy(image, &image, sizeof image);
    return image;
}

char *dynamic_low(const running_block &b) {
    return shared_low(b) + dynamic_at();
}

/* Nobody may have written beyond the dynamic shared memory that the launch asked for. */
static void check_guard(const running_block &b) {
    const char *low = dynamic_low(b);
    const size_t guarded = std::min(b.run->shared_bytes + SHARED_RESERVED, (size_t)SHARED_PER_BLOCK);
    for (size_t i = b.run->shared_bytes; i < guarded; i++)
        if ((unsigned char)low[i] != unwritten)
            fail("kernel %s, block %u wrote byte %zu of its %zu bytes of shared memory",
                 b.run->info->name.c_str(), b.index.x, i, b.run->shared_bytes);
}

void set_image(char *image) {
    static const bool instruction = getauxval(AT_HWCAP2) & 2;
    if (instruction)
        asm volatile("wrgsbase %0" ::"r"(image) : "memory");
    else
        syscall(SYS_arch_prctl, ARCH_SET_GS, image);
}

running_block *start_block(launch *l, unsigned number, int sm) {
    running_block *b = new running_block();
    const unsigned threads = l->threads();
    b->index = {number % l->grid_dim.x, number / l->grid_dim.x % l->grid_dim.y,
                number / l->grid_dim.x / l->grid_dim.y};
    b->of = l, b->run = l, b->sm = sm;
    b->image = new_image(l->shared_bytes);
    b->live = (int)threads;
    b->warps.resize((threads + 31) / 32);
    for (unsigned t = 0; t < threads; t++) {
        fiber *f = new_fiber();
        f->index = {t % l->block_dim.x, t / l->block_dim.x % l->block_dim.y,
                    t / l->block_dim.x / l->block_dim.y};
        f->lane = t % 32, f->of = b;
        b->warps[t / 32].live |= 1u << t % 32;
        prepare_fiber(*f);
        b->threads.push_back(f);
        b->ready.push_back(f);
    }
    machine().running.push_back(b);
    return b;
}

void end_block(running_block *b) {
    auto &running = machine().running;
    check_guard(*b);
    for (fiber *f : b->threads)
        free_fiber(f);
    unused.push_back(shared_low(*b));
    if (machine().held == b)
        machine().held = nullptr;
    if (machine().held_thread != nullptr && machine().held_thread->of == b)
        machine().held_thread = nullptr;
    running.erase(std::find(running.begin(), running.end(), b));
    delete b;
}

/* Now and then a thread that has met others is held back for some turns of its block, while those go on: what
 * it reads next, or writes, they must not take for done. */
void wake(fiber &f) {
    machine_state &m = machine();
    constexpr uint32_t rarely = 128, turns_most = 64;
    if (m.held_thread == nullptr && f.state == fiber_state::at_warp && once_in(rarely)) {
        m.held_thread = &f;
        m.thread_held_for = (int)draw(turns_most);
    }
    f.state = fiber_state::ready;
    f.in_block().ready.push_back(&f);
}

/* Whether the thread did more than poll. */
static bool take_turn(running_block &b, size_t place) {
    fiber *f = b.ready[place];
    b.ready[place] = b.ready.back();
    b.ready.pop_back();
    run_fiber(*f);
    if (f->state == fiber_state::ready) {
        b.ready.push_back(f);
    } else if (f->state == fiber_state::polls) {
        b.polling.push_back(f);
    } else if (f->state == fiber_state::ended) {
        finish_copies(*f);
        leave_meetings(*f);
    }
    return f->state != fiber_state::polls;
}

bool give_turns(running_block &b) {
    constexpr unsigned polls = 32; /* turns, at most, after all threads that go on have polled or wait */
    unsigned turns = 1 + draw(once_in(4) ? 2048 : 64);
    bool moved = false, polled = false;
    const int device = b.run->device;
    machine_state &m = machine();
    if (m.held_thread != nullptr && m.held_thread->of == &b && --m.thread_held_for <= 0)
        m.held_thread = nullptr;
    for (unsigned i = 0; i < turns && b.live > 0; i++) {
        if (!b.bulk.empty() && (b.ready.empty() || once_in(16)))
            moved = make_bulk_copy(b) || moved;
        if (b.ready.empty()) {
            if (polled || b.polling.empty())
                break;
            polled = true;
            turns = std::min(turns, i + polls);
            b.ready.swap(b.polling);
        }
        const size_t place = draw((uint32_t)b.ready.size());
        if (b.ready[place] == m.held_thread) {
            if (b.ready.size() == 1)
                break;
            continue;
        }
        set_image(b.image);
        moved = take_turn(b, place) || moved;
        if (machine().device[(size_t)device].error != cudaSuccess)
            return true; /* the block may be gone */
    }
    if (b.live > 0 && b.ready.empty() && b.polling.empty() && b.bulk.empty())
        fail_stuck(b);
    b.idle = !moved;
    return moved;
}

static const char *const state_names[] = {"goes on",          "polls",
                                          "at __syncthreads", "at a meeting of its warp",
                                          "at an mbarrier",   "at the barrier of its cluster",
                                          "has ended"};

/* Prints the threads of a block, those in the same state as one line. */
static void print_threads(const running_block &b) {
    for (size_t t = 0, next; t < b.threads.size(); t = next) {
        const fiber &f = *b.threads[t];
        const auto same = [&](const fiber &g) {
            return g.state == f.state &&
                   (f.state != fiber_state::at_mbarrier || (g.barrier == f.barrier && g.parity == f.parity));
        };
        for (next = t + 1; next < b.threads.size() && same(*b.threads[next]);)
            next++;
        fprintf(stderr, "  threads %zu to %zu: %s", t, next - 1, state_names[(int)f.state]);
        if (f.state == fiber_state::at_mbarrier)
            fprintf(stderr, " (address %u, parity %u)", f.barrier, f.parity);
        fputc('\n', stderr);
    }
}

void fail_stuck(running_block &b) {
    if (b.cluster)
        for (const running_block *other : b.cluster->blocks)
            if (other != nullptr &&
                (!other->ready.empty() || !other->polling.empty() || !other->bulk.empty()))
                return;
    print_threads(b);
    fail("kernel %s, block %u: no thread can go on", b.run->info->name.c_str(), b.index.x);
}

void fail(const char *format, ...) {
    va_list arguments;
    fputs("emulated GPU: ", stderr);
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    if (now != nullptr)
        fprintf(stderr, " (kernel %s, block %u, thread %u,%u)", me().in_block().run->info->name.c_str(),
                now->of->index.x, now->index.x, now->index.y);
    fputc('\n', stderr);
    abort();
}

} // namespace emulated

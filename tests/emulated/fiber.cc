/* Fibers: threads of GPUs as stacks between which the host thread that has the lock switches. */
#include <signal.h>
#include <sys/mman.h>

#include <cstdlib>

#include "machine.h"

#ifndef __x86_64__
#error "the emulated GPU switches fibers by code for x86-64"
#endif

/* Saves the registers that calls preserve on the stack and its pointer in *save, and goes on with `to`. */
extern "C" void emulated_switch(void **save, void *to);
asm(R"(
.text
.globl emulated_switch
.type emulated_switch, @function
emulated_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size emulated_switch, .-emulated_switch
)");

namespace emulated {

thread *now = nullptr;

static constexpr size_t stack_bytes = 256 << 10, stack_reserve = 4096;
static void *scheduler = nullptr;
static std::vector<fiber *> unused;

static void enter() {
    for (;;) {
        fiber &f = me();
        launch *l = f.in_block().run;
        l->info->how.call(l->kernel, l->arguments.data());
        park(fiber_state::ended);
    }
}

fiber *new_fiber() {
    if (!unused.empty()) {
        fiber *f = unused.back();
        unused.pop_back();
        return f;
    }
    static size_t made = 0;
    fiber *f = new fiber();
    void *stack = mmap(nullptr, stack_bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED)
        fail("no memory for the stack of a thread");
    f->stack = static_cast<char *>(stack);
    f->colour = made++ % 128 * 320;
    return f;
}

void free_fiber(fiber *f) {
    f->copies.clear(), f->bulk_copies.clear(), f->groups.clear(), f->bulk_groups.clear();
    unused.push_back(f);
}

/* Makes the stack look as if enter() had been called and had switched away before its first instruction. */
void prepare_fiber(fiber &f) {
    void **top = reinterpret_cast<void **>(f.stack + stack_bytes - 64 - f.colour);
    *--top = nullptr; /* where enter() would return to */
    *--top = reinterpret_cast<void *>(&enter);
    for (int i = 0; i < 6; i++)
        *--top = nullptr;
    f.sp = top;
    f.state = fiber_state::ready;
}

uint64_t turns = 0;
void run_fiber(fiber &f) {
    turns++;
    now = &f;
    emulated_switch(&scheduler, f.sp);
    now = nullptr;
}

void park(fiber_state state) {
    fiber &f = me();
    f.state = state;
    if (static_cast<char *>(__builtin_frame_address(0)) < f.stack + stack_reserve)
        fail("the stack of a thread is too small");
    emulated_switch(&f.sp, scheduler);
}

/* A thread that accesses memory that is not there: its device has an error from now on. */
static void on_fault(int number, siginfo_t *info, void *) {
    if (now == nullptr) {
        signal(number, SIG_DFL);
        return;
    }
    running_block &b = me().in_block();
    fprintf(stderr, "emulated GPU: kernel %s, block %u, thread %u,%u: no memory at %p\n",
            b.run->info->name.c_str(), b.index.x, now->index.x, now->index.y, info->si_addr);
    machine().device[(size_t)b.run->device].error = cudaErrorIllegalAddress;
    park(fiber_state::ready);
}
void catch_faults() {
    struct sigaction action = {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
    sigaction(SIGBUS, &action, nullptr);
}

} // namespace emulated

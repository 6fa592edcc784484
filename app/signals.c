#include "app/signals.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

volatile sig_atomic_t signals_caught = 0;

static const int numbers[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT};
enum { NUMBER_COUNT = sizeof numbers / sizeof *numbers, CATCH_COUNT = NUMBER_COUNT - 1 /* not SIGQUIT */ };

static struct sigaction before_hold[NUMBER_COUNT];
static int hold_depth = 0;
static volatile sig_atomic_t held = 0;
static atomic_llong held_ns = 0; /* when it came; 0: none is held */

static const char *volatile guarded = NULL;

/* Takes effect at the return, which unblocks the signal. */
static void end(int number) {
    if (guarded != NULL)
        unlink(guarded);
    signal(number, SIG_DFL);
    raise(number);
}

/* timeout(1) signals the process and then its group, terminals and batch systems send several kinds at once:
 * what comes within this time of the first one is the same wish. */
#define SAME_WISH_NS 1000000000LL
static atomic_llong first_ns = 0; /* of the monotonic clock; 0: none has come */

static long long clock_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* may be called in a handler */
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

/* Threads can be here at the same time: the kernel gives signals to any of them. */
static void note(int number) {
    const long long came = atomic_exchange(&held_ns, 0), now = came != 0 ? came : clock_ns();
    long long first = 0;
    if (atomic_compare_exchange_strong(&first_ns, &first, now)) {
        signals_caught = number;
    } else if (now - first > SAME_WISH_NS) {
        end(number); /* whoever asks again does not want to wait */
    }
}

static void collect(int number) {
    signals_caught = number;
}

static void keep(int number) {
    atomic_store(&held_ns, clock_ns());
    held = number;
}

static void set_handlers(void (*handler)(int), int count) {
    struct sigaction before, action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    /* The handlers share what they know. */
    for (int i = 0; i < NUMBER_COUNT; i++)
        sigaddset(&action.sa_mask, numbers[i]);
    for (int i = 0; i < count; i++)
        /* Who started us without SIGINT (nohup, a shell's background job) meant it. */
        if (sigaction(numbers[i], NULL, &before) != 0 || before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

void signals_start(void) {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    set_handlers(end, NUMBER_COUNT);
}

void signals_guard(const char *name) {
    guarded = name;
}

void signals_catch(void) {
    set_handlers(note, CATCH_COUNT);
}

void signals_collect(void) {
    set_handlers(collect, NUMBER_COUNT);
}

/* Handlers and not a mask: with a mask, a thread of OpenMP that has none would take the signal. */
void signals_hold(void) {
    if (hold_depth++ > 0)
        return;
    for (int i = 0; i < NUMBER_COUNT; i++)
        sigaction(numbers[i], NULL, &before_hold[i]);
    set_handlers(keep, NUMBER_COUNT);
}

void signals_release(void) {
    if (--hold_depth > 0)
        return;
    for (int i = 0; i < NUMBER_COUNT; i++)
        sigaction(numbers[i], &before_hold[i], NULL);
    const int number = held;
    held = 0;
    if (number != 0)
        raise(number);
    atomic_store(&held_ns, 0);
}

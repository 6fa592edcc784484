#include "app/signals.h"

#include <stdatomic.h>
#include <stddef.h>
#include <time.h>
#include <unistd.h>

volatile sig_atomic_t signals_caught = 0;

static const int numbers[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT};
enum { NUMBER_COUNT = sizeof numbers / sizeof *numbers };

/* Effect of a signal: it ends the process, asks for a stop, or is collected. */
static volatile enum { END, CATCH, COLLECT } mode = END;
static atomic_int hold_depth = 0;
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

/* Handles all of our signals at all times: with a mask in place of `hold_depth`, a thread of OpenMP that has
 * none would take the signal. */
static void handle(int number) {
    if (hold_depth > 0) {
        atomic_store(&held_ns, clock_ns());
        held = number;
    } else if (mode == COLLECT) {
        signals_caught = number;
    } else if (mode == CATCH && number != SIGQUIT) {
        note(number);
    } else {
        end(number);
    }
}

void signals_start(void) {
    struct sigaction before, action = {.sa_handler = handle, .sa_flags = SA_RESTART};
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    sigemptyset(&action.sa_mask);
    /* They share what they know. */
    for (int i = 0; i < NUMBER_COUNT; i++)
        sigaddset(&action.sa_mask, numbers[i]);
    for (int i = 0; i < NUMBER_COUNT; i++)
        /* A signal that was ignored when we were started (nohup, a shell's background job) stays so. */
        if (sigaction(numbers[i], NULL, &before) != 0 || before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

void signals_guard(const char *name) {
    guarded = name;
}

void signals_catch(void) {
    mode = CATCH;
}

void signals_collect(void) {
    mode = COLLECT;
}

void signals_hold(void) {
    hold_depth++;
}

void signals_release(void) {
    if (--hold_depth > 0)
        return;
    const int number = held;
    held = 0;
    if (number != 0)
        raise(number);
    atomic_store(&held_ns, 0);
}

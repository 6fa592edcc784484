#include "app/signals.h"

#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

#include "base/base.h"

volatile sig_atomic_t signals_caught = 0, signals_asked = 0;

static const int numbers[] = {SIGHUP, SIGINT, SIGTERM, SIGQUIT};
enum { NUMBER_COUNT = sizeof numbers / sizeof *numbers };

/* Effect of a signal: it ends the process, asks for a stop, or is collected. */
static volatile enum { END, CATCH, COLLECT } mode = END;
static atomic_int hold_depth = 0;
static volatile sig_atomic_t held = 0;
static atomic_llong held_ns = 0; /* time of the signal that is held back; 0: none */

static const char *volatile guarded = NULL, *volatile guarded_also[3] = {NULL, NULL, NULL};

void signals_clean(void) {
    if (guarded != NULL)
        unlink(guarded);
    for (int i = 0; i < 3; i++)
        if (guarded_also[i] != NULL)
            unlink(guarded_also[i]);
}

/* Ends the process by a signal, when the handler returns and so unblocks the signal. */
static void end(int number) {
    signals_clean();
    signal(number, SIG_DFL);
    raise(number);
}

/* Time after the first signal within which further signals count as the same request: timeout(1) signals the
 * process and then its group, terminals and batch systems send several kinds at once. */
#define SAME_WISH_NS 1000000000LL
static atomic_llong first_ns = 0; /* monotonic time of the first signal; 0: none */

/* Returns the monotonic time in ns. Signal handlers may call this, since they may call clock_gettime(). */
static long long clock_ns(void) {
    return (long long)(1e9 * stencil_clock_s());
}

/* Notes a signal. Several threads may call this at once: the kernel delivers signals to any thread. */
static void note(int number) {
    const long long came = atomic_exchange(&held_ns, 0), now = came != 0 ? came : clock_ns();
    long long first = 0;
    if (atomic_compare_exchange_strong(&first_ns, &first, now)) {
        signals_caught = number;
    } else if (now - first > SAME_WISH_NS) {
        end(number); /* a second request ends the process at once */
    }
}

/* Signal handler, never blocked by a mask: an OpenMP thread without the mask would take the signal;
 * hold_depth delays signals instead. */
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
    /* The handlers share state, so each blocks all of these signals. */
    for (int i = 0; i < NUMBER_COUNT; i++)
        sigaddset(&action.sa_mask, numbers[i]);
    for (int i = 0; i < NUMBER_COUNT; i++)
        /* A signal that was ignored at the start (nohup, a shell's background job) stays ignored. */
        if (sigaction(numbers[i], NULL, &before) != 0 || before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

static void ask(int number) {
    (void)number;
    signals_asked = 1;
}

void signals_catch_ask(void) {
    struct sigaction action = {.sa_handler = ask, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
}

const char *signals_name(int number) {
    return number == SIGHUP    ? "SIGHUP"
           : number == SIGINT  ? "SIGINT"
           : number == SIGTERM ? "SIGTERM"
                               : "SIGQUIT";
}

void signals_guard(const char *name) {
    guarded = name;
}

void signals_guard_also(int which, const char *name) {
    guarded_also[which] = name;
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

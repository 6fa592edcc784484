#include "app/signals.h"

#include <stddef.h>

volatile sig_atomic_t signals_caught = 0;

static void note(int number) {
    signals_caught = number;
    /* Whoever asks twice does not want to wait. */
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
}

static void set_handler(int number, void (*handler)(int)) {
    struct sigaction action;
    /* Who started us without SIGINT (nohup, a shell's background job) meant it. */
    if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
        return;
    action = (struct sigaction){.sa_handler = handler, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(number, &action, NULL);
}

void signals_start(void) {
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
}

void signals_catch(void) {
    set_handler(SIGINT, note);
    set_handler(SIGTERM, note);
}

void signals_hold(void) {
    set_handler(SIGINT, SIG_IGN);
    set_handler(SIGTERM, SIG_IGN);
}

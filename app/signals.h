/* Signals: the first SIGHUP, SIGINT or SIGTERM asks for a stop at a step boundary, one that comes more than a
 * second later ends the process at once, and none cuts a file in half or leaves a temporary one. */
#pragma once

#include <signal.h>

/* Ignores SIGPIPE and SIGXFSZ, so that writes fail with an error instead. Called once, by main(). */
void signals_start(void);

/* Lets SIGUSR1 set signals_asked from now on, where it would end the process. */
void signals_catch_ask(void);

/* Returns the name of a signal that ends a run: "SIGTERM". */
const char *signals_name(int number);

/* Sets the file that is removed where SIGHUP, SIGINT, SIGQUIT or SIGTERM ends the process; NULL or "": none.
 * The string `name` stays owned by the caller. */
void signals_guard(const char *name);

/* Sets three more such files, 0 to 2. */
void signals_guard_also(int which, const char *name);

/* Removes these files, where the process is about to end by itself. */
void signals_clean(void);

/* Lets the first SIGHUP, SIGINT or SIGTERM from now on only set signals_caught. Further signals within a
 * second count as the same request; a later one ends the process. */
void signals_catch(void);

/* Lets every SIGHUP, SIGINT, SIGQUIT and SIGTERM from now on only set signals_caught: for work that polls
 * this flag and has to clean up. */
void signals_collect(void);

/* Delay SIGHUP, SIGINT, SIGQUIT and SIGTERM from signals_hold() to signals_release(), while a file is
 * written. The last signal of these takes effect at the release, in the mode set by then. Pairs can be
 * nested. */
void signals_hold(void);
void signals_release(void);

/* Flag for caught signals: 0, or the number of the signal. */
extern volatile sig_atomic_t signals_caught;

/* Is set when SIGUSR1 comes; whoever does what it asks for sets it to 0 first. */
extern volatile sig_atomic_t signals_asked;

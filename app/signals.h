/* Signals: the first SIGHUP, SIGINT or SIGTERM asks for a stop at a step boundary, one that comes more than a
 * second later ends the process at once, and none cuts a file in half or leaves a temporary one. */
#pragma once

#include <signal.h>

/* Ignores SIGPIPE and SIGXFSZ: the failing write is seen where it is made. Called once, by main(). */
void signals_start(void);

/* The file `name`, which stays the caller's, is removed where SIGHUP, SIGINT, SIGQUIT or SIGTERM ends the
 * process; NULL or "": none. */
void signals_guard(const char *name);

/* From here on the first SIGHUP, SIGINT or SIGTERM only sets the flag. Others of them within a second are the
 * same wish; a later one ends the process. */
void signals_catch(void);

/* From here on SIGHUP, SIGINT, SIGQUIT and SIGTERM only set the flag, however often they come: for work that
 * looks at it and has something to clean up. */
void signals_collect(void);

/* Between these two, SIGHUP, SIGINT, SIGQUIT and SIGTERM wait: a file is being written and will be whole
 * soon. The last one that came takes effect at the release, whatever that is by then. Pairs can be nested. */
void signals_hold(void);
void signals_release(void);

/* The flag: 0, or the number of the signal that came. */
extern volatile sig_atomic_t signals_caught;

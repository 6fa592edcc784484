/* Signals during a run: the first SIGINT or SIGTERM asks for a stop at a step boundary, the second one ends
 * the process at once, and none cuts a file in half. */
#ifndef STENCIL_APP_SIGNALS_H
#define STENCIL_APP_SIGNALS_H

#include <signal.h>

/* Ignores SIGPIPE and SIGXFSZ: the failing write is seen where it is made. Called once, by main(). */
void signals_start(void);

/* From here on the first SIGINT or SIGTERM only sets the flag; the second one ends the process. */
void signals_catch(void);

/* From here on SIGINT and SIGTERM wait: a file is being written and will be whole soon. */
void signals_hold(void);

/* The flag for stencil_watch: 0, or the number of the signal that came. */
extern volatile sig_atomic_t signals_caught;

#endif

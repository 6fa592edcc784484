/* Standard output: what was printed has to arrive, and a failure is told once, with its reason. */
#ifndef STENCIL_APP_OUTPUT_H
#define STENCIL_APP_OUTPUT_H

#include "base/status.h"

/* Opens the descriptors 0, 1 and 2 where the caller closed them, so that no file of ours becomes one of them.
 * Writing to such a standard output fails. Called first, by main(). */
void output_start(void);

/* Sends on what was printed so far; a failure is kept for output_check(). */
void output_flush(void);

/* Flushes. IO where something did not arrive; a reader that had enough (EPIPE) is none of our business. */
stencil_status output_check(void);

#endif

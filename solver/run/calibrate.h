/* Measures what a step costs on this machine, by runs. */
#pragma once

#include "solver/machine/machine.h"

/* Called before each measurement with the part of the time that is gone, and what it is of; false: no more.
 */
typedef bool stencil_calibrate_progress(void *context, double done, const char *what);

/* Measures the CPU, or GPU 0 and as many as there are, with this program's own plans on small fields: what is
 * predicted is what was timed. What matters most first; nothing new is begun after so many seconds, and what
 * there is no time for keeps the figures of machine/tuning.h. What a run fails with; INTERRUPTED by
 * `progress`; UNAVAILABLE where of a quarter of all times the best two samples differ by more than the part
 * `noise`: then, and with any failure, the machine keeps the figures that it had. */
stencil_status stencil_calibrate(stencil_machine *machine, bool gpu, double seconds, double noise,
                                 stencil_calibrate_progress *progress, void *context);

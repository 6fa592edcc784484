/* Calibration: measures the costs of steps on this machine by timed runs. */
#pragma once

#include "solver/machine/machine.h"

/* Called before each measurement with the used fraction of the time and what is measured; false: the end. */
typedef bool stencil_calibrate_progress(void *context, double done, const char *what);

/* Measures the costs of the CPU, or of GPU 0 and all GPUs together, with this program's own plans on small
 * fields. The most important costs come first; after `seconds` no measurement is started, and costs that were
 * not measured keep the values of machine/tuning.h. Errors: those of a run; INTERRUPTED by `progress`;
 * UNAVAILABLE if in more than a quarter of the timings the best two samples differ by more than the fraction
 * `noise`. After any error the machine keeps its previous costs. */
stencil_status stencil_calibrate(stencil_machine *machine, bool gpu, double seconds, double noise,
                                 stencil_calibrate_progress *progress, void *context);

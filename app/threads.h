/* The team of CPU threads. */
#ifndef STENCIL_APP_THREADS_H
#define STENCIL_APP_THREADS_H

#include "base/base.h"

enum { THREADS_MAX = 4096 };

/* Makes OpenMP use `count` threads and starts them; 0: as many as OpenMP decides, from OMP_NUM_THREADS or
 * the machine. NO_MEMORY where the system does not start as many, USAGE where OMP_NUM_THREADS is above
 * THREADS_MAX: OpenMP itself would end the process. Called before the first parallel region. */
stencil_status threads_start(int64_t count);

#endif

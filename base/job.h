/* A thread that makes one job at a time beside the thread that begins it. */
#pragma once

#include <stdbool.h>

#include "base/status.h"

typedef struct stencil_job stencil_job;

/* Starts the thread, which takes no signals. The caller closes *job, which is NULL on failure. Errors:
 * NO_MEMORY where the system starts no thread. */
stencil_status stencil_job_open(stencil_job **job);

/* Has the thread call make(context). To be called only when the last job has been ended. */
void stencil_job_begin(stencil_job *job, stencil_status (*make)(void *context), void *context);

/* Tells whether a job was begun that stencil_job_end() has not ended yet, and whether it is still being made.
 */
bool stencil_job_begun(const stencil_job *job);
bool stencil_job_busy(stencil_job *job);

/* Waits until the job is made, and returns its status, whose error is then the calling thread's; OK where
 * there is none. */
stencil_status stencil_job_end(stencil_job *job);

/* Waits for the job and ends the thread; NULL is allowed. */
void stencil_job_close(stencil_job *job);

/* Threads that take no signals. */
#pragma once

#include <pthread.h>
#include <stddef.h>

/* Starts a thread that makes run(context), with all signals blocked; the caller joins it. Returns 0 or an
 * errno. */
int stencil_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *context), void *context);

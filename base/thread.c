#include "base/thread.h"

#include <signal.h>

int stencil_thread_start(pthread_t *thread, size_t stack_bytes, void *(*run)(void *), void *context) {
    pthread_attr_t attributes;
    sigset_t all, before;
    sigfillset(&all);
    int failed = pthread_attr_init(&attributes);
    if (failed != 0)
        return failed;
    pthread_attr_setstacksize(&attributes, stack_bytes);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    failed = pthread_create(thread, &attributes, run, context);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failed;
}

#include "base/job.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"

struct stencil_job {
    pthread_t thread;
    pthread_mutex_t lock; /* guards the members below, which both threads use */
    pthread_cond_t changed;
    stencil_status (*make)(void *context); /* NULL: nothing to make */
    void *context;
    bool begun, closing;
    stencil_status status;
    stencil_error error; /* error of the last job, where its status is not OK */
};

/* Stack of the thread; HDF5 and buffers for file names take some 100 KiB. */
enum { STACK_BYTES = 4 << 20 };

static void *serve(void *context) {
    stencil_job *job = context;
    pthread_mutex_lock(&job->lock);
    for (;;) {
        while (job->make == NULL && !job->closing)
            pthread_cond_wait(&job->changed, &job->lock);
        if (job->make == NULL)
            break;
        pthread_mutex_unlock(&job->lock);
        const stencil_status status = job->make(job->context);
        pthread_mutex_lock(&job->lock);
        job->status = status;
        if (status != STENCIL_OK)
            job->error = *stencil_error_last();
        job->make = NULL;
        pthread_cond_broadcast(&job->changed);
    }
    pthread_mutex_unlock(&job->lock);
    return NULL;
}

stencil_status stencil_job_open(stencil_job **job) {
    stencil_job *made = *job = calloc(1, sizeof *made);
    CHECK(made != NULL, NO_MEMORY, "no memory for a thread that writes files");
    pthread_mutex_init(&made->lock, NULL);
    pthread_cond_init(&made->changed, NULL);
    const int failed = stencil_thread_start(&made->thread, STACK_BYTES, serve, made);
    if (failed != 0) {
        free(made);
        *job = NULL;
        FAIL(NO_MEMORY, "the system starts no thread that writes files (ulimit -u): %s", strerror(failed));
    }
    return STENCIL_OK;
}

void stencil_job_begin(stencil_job *job, stencil_status (*make)(void *), void *context) {
    pthread_mutex_lock(&job->lock);
    job->make = make;
    job->context = context;
    job->begun = true;
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->lock);
}

bool stencil_job_begun(const stencil_job *job) {
    return job->begun; /* changed by the calling thread only */
}

bool stencil_job_busy(stencil_job *job) {
    pthread_mutex_lock(&job->lock);
    const bool busy = job->make != NULL;
    pthread_mutex_unlock(&job->lock);
    return busy;
}

stencil_status stencil_job_end(stencil_job *job) {
    pthread_mutex_lock(&job->lock);
    while (job->make != NULL)
        pthread_cond_wait(&job->changed, &job->lock);
    const stencil_status status = job->begun ? job->status : STENCIL_OK;
    job->begun = false;
    pthread_mutex_unlock(&job->lock);
    return status != STENCIL_OK ? stencil_error_adopt(&job->error) : STENCIL_OK;
}

void stencil_job_close(stencil_job *job) {
    if (job == NULL)
        return;
    pthread_mutex_lock(&job->lock);
    job->closing = true;
    pthread_cond_broadcast(&job->changed);
    pthread_mutex_unlock(&job->lock);
    pthread_join(job->thread, NULL);
    pthread_cond_destroy(&job->changed);
    pthread_mutex_destroy(&job->lock);
    free(job);
}

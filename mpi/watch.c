#include "mpi/watch.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "base/thread.h"

/* The messages of a rank to the one before it. */
enum { LIVES, ENDS };

enum { STACK_BYTES = 1 << 20 };

/* The watch of this process, which has one MPI. */
static struct {
    stencil_world *world;
    stencil_mpi_lost *lost;
    int before, next; /* the rank that is told, and the one that is heard */
    pthread_t beginning,
        thread;     /* the thread that watches the begin, and the one that does so from then on */
    double begin_s; /* for which the former is patient */
    pthread_mutex_t
        use;  /* held by the thread that calls MPI; guards what is neither atomic nor guarded by `sleep` */
    bool due; /* it is time to tell and to listen; atomic */
    double timeout_s; /* of the world; atomic */
    char told, heard; /* the messages under way */
    MPI_Request telling, hearing;
    int lost_rank;           /* rank 0: the one that another rank has given up */
    MPI_Request warning;     /* rank 0: the message that says so */
    double seen_s, silent_s; /* when it was listened for the last time, and the silence until then */
    bool next_ends, gives_up;
    pthread_mutex_t sleep; /* guards what follows */
    pthread_cond_t woken;
    bool begun, ending, ended;
} watch = {.use = PTHREAD_MUTEX_INITIALIZER, .sleep = PTHREAD_MUTEX_INITIALIZER};

static double timeout(void) {
    double s;
    __atomic_load(&watch.timeout_s, &s, __ATOMIC_RELAXED);
    return s;
}

/* Seconds between two signs of life: several within the time that others wait for one. */
static double interval(void) {
    return timeout() < 8 ? timeout() / 8 : 1;
}

/* Seconds for which rank 0 is given time to end all. */
enum { FIRST_S = 2 };

/* Gives a rank up, which ends all. Rank 0 does so where it lives: it has unfinished files to remove, and has
 * to be told by the rank that listens to the lost one. */
static void give_up(int rank) {
    watch.gives_up = true;
    if (watch.world->rank != 0 && rank != 0) {
        const double until_s = stencil_clock_s() + FIRST_S;
        MPI_Request warning;
        MPI_Isend(&rank, 1, MPI_INT, 0, STENCIL_TAG_LOST, MPI_COMM_WORLD, &warning);
        for (int sent = 0; stencil_clock_s() < until_s;) {
            if (!sent)
                MPI_Test(&warning, &sent, MPI_STATUS_IGNORE);
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
    }
    watch.lost(watch.world, rank, timeout());
}

/* Rank 0: gives up the rank that another one has given up. */
static void heed(void) {
    int came = 0;
    if (watch.warning != MPI_REQUEST_NULL)
        MPI_Test(&watch.warning, &came, MPI_STATUS_IGNORE);
    if (came)
        give_up(watch.lost_rank);
}

static void hear(void) {
    MPI_Irecv(&watch.heard, 1, MPI_BYTE, watch.next, STENCIL_TAG_LIFE, MPI_COMM_WORLD, &watch.hearing);
}

static void tell(char what) {
    watch.told = what;
    MPI_Isend(&watch.told, 1, MPI_BYTE, watch.before, STENCIL_TAG_LIFE, MPI_COMM_WORLD, &watch.telling);
}

/* Takes the signs of life that have come. Of the time since the last look no more counts than passes between
 * two of them, so that a rank that stood still itself accuses no other one. */
static void listen(void) {
    const double now_s = stencil_clock_s(), most_s = 2 * interval();
    watch.silent_s += now_s - watch.seen_s < most_s ? now_s - watch.seen_s : most_s;
    watch.seen_s = now_s;
    int came = 1;
    while (!watch.next_ends) {
        MPI_Test(&watch.hearing, &came, MPI_STATUS_IGNORE);
        if (!came)
            break;
        watch.silent_s = 0;
        watch.next_ends = watch.heard == ENDS;
        if (!watch.next_ends)
            hear();
    }
    /* The last sign of life may have come an interval before the rank began to stand still, or two where
     * processors are busy. */
    if (!watch.next_ends && watch.silent_s > timeout() + 2 * interval())
        give_up(watch.next);
}

/* Gives a sign of life, and listens for one; at the end there is nothing more to say, and MPI may be gone. */
static void beat(void) {
    int sent;
    __atomic_store_n(&watch.due, false, __ATOMIC_RELAXED);
    if (watch.told == ENDS && watch.next_ends)
        return;
    MPI_Test(&watch.telling, &sent, MPI_STATUS_IGNORE);
    if (sent && watch.told != ENDS)
        tell(LIVES);
    heed();
    listen();
}

/* Sleeps for some time, or until `flag`, one of those that the lock guards. Returns the flag. */
static bool sleep_until(const bool *flag, double s) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const double ns = 1e9 * (s - (double)(int64_t)s) + (double)until.tv_nsec;
    until.tv_sec += (time_t)s + (ns >= 1e9);
    until.tv_nsec = (long)(ns >= 1e9 ? ns - 1e9 : ns);
    pthread_mutex_lock(&watch.sleep);
    int failed = 0;
    while (!*flag && failed == 0)
        failed = pthread_cond_timedwait(&watch.woken, &watch.sleep, &until);
    const bool is = *flag;
    pthread_mutex_unlock(&watch.sleep);
    return is;
}

/* Signs of life are due: the thread that waits in MPI gives one, or, if none does, this one. */
static void beat_by_any(void) {
    __atomic_store_n(&watch.due, true, __ATOMIC_RELAXED);
    while (__atomic_load_n(&watch.due, __ATOMIC_RELAXED)) {
        if (pthread_mutex_trylock(&watch.use) == 0) {
            beat();
            pthread_mutex_unlock(&watch.use);
        } else {
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
        }
    }
}

static void *keep_watch(void *unused) {
    while (!sleep_until(&watch.ending, interval()))
        beat_by_any();
    if (!sleep_until(&watch.ended, timeout())) /* MPI ends when all ranks end it */
        watch.lost(watch.world, -1, timeout());
    return unused;
}

static void *watch_begin(void *unused) {
    if (!sleep_until(&watch.begun, watch.begin_s))
        watch.lost(NULL, -1, watch.begin_s);
    return unused;
}

bool stencil_watch_init(stencil_mpi_lost *lost, double begin_s) {
    watch.lost = lost;
    watch.begin_s = begin_s;
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&watch.woken, &monotonic);
    pthread_condattr_destroy(&monotonic);
    return stencil_thread_start(&watch.beginning, STACK_BYTES, watch_begin, NULL) == 0;
}

/* Sets a flag that a thread sleeps until. */
static void wake(bool *flag) {
    pthread_mutex_lock(&watch.sleep);
    *flag = true;
    pthread_cond_broadcast(&watch.woken);
    pthread_mutex_unlock(&watch.sleep);
}

void stencil_watch_begun(void) {
    wake(&watch.begun);
    pthread_join(watch.beginning, NULL);
}

bool stencil_watch_begin(stencil_world *world) {
    watch.world = world;
    watch.timeout_s = world->rank_timeout_s;
    watch.before = (world->rank + world->ranks - 1) % world->ranks;
    watch.next = (world->rank + 1) % world->ranks;
    watch.seen_s = stencil_clock_s();
    watch.telling = watch.hearing = watch.warning = MPI_REQUEST_NULL;
    if (world->ranks == 1)
        return true;
    hear();
    if (world->rank == 0)
        MPI_Irecv(&watch.lost_rank, 1, MPI_INT, MPI_ANY_SOURCE, STENCIL_TAG_LOST, MPI_COMM_WORLD,
                  &watch.warning);
    return stencil_thread_start(&watch.thread, STACK_BYTES, keep_watch, NULL) == 0;
}

void stencil_watch_enter(void) {
    pthread_mutex_lock(&watch.use);
}

void stencil_watch_leave(void) {
    pthread_mutex_unlock(&watch.use);
}

/* Polls before the processor is offered to others. */
enum { SPINS = 50 };

static void beat_if_due(void) {
    if (__atomic_load_n(&watch.due, __ATOMIC_RELAXED))
        beat();
}

void stencil_watch_wait(int count, MPI_Request *request) {
    int done;
    MPI_Testall(count, request, &done, MPI_STATUSES_IGNORE);
    for (int polls = 0; !done; polls++) {
        beat_if_due();
        if (polls > SPINS)
            sched_yield();
        MPI_Testall(count, request, &done, MPI_STATUSES_IGNORE);
    }
}

/* Polls a request that writes, and completes it where it has ended. Returns whether it has; *bytes gets how
 * many were written, 0 where it failed. */
static bool ends_writing(MPI_Request *request, int *bytes) {
    MPI_Status status;
    int done = 0;
    *bytes = 0;
#ifdef OPEN_MPI
    /* OpenMPI 4.1 dies as a failed request of a file is completed, and frees it in peace; MPICH makes
     * progress only where a request is completed. */
    MPI_Request_get_status(*request, &done, &status);
    if (done) {
        MPI_Get_count(&status, MPI_BYTE, bytes);
        MPI_Request_free(request);
    }
    return done;
#else
    const bool failed = MPI_Test(request, &done, &status) != MPI_SUCCESS;
    if (done && !failed)
        MPI_Get_count(&status, MPI_BYTE, bytes);
    return done || failed;
#endif
}

int stencil_watch_wait_written(MPI_Request *request) {
    int bytes = 0;
    for (int polls = 0; !ends_writing(request, &bytes); polls++) {
        beat_if_due();
        if (polls > SPINS) /* another thread of this process copies the bytes */
            nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    return bytes;
}

void stencil_watch_wait_until(double s) {
    static const double waking_s = 100e-6; /* a thread that sleeps wakes late by less than this */
    for (double left_s = s - stencil_clock_s(); left_s > 0; left_s = s - stencil_clock_s()) {
        beat_if_due();
        if (left_s > waking_s)
            nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * (left_s - waking_s))}, NULL);
    }
}

void stencil_watch_end(void) {
    if (watch.world->ranks == 1)
        return;
    stencil_watch_enter();
    stencil_watch_wait(1, &watch.telling);
    tell(ENDS);
    stencil_watch_wait(1, &watch.telling);
    while (!watch.next_ends) {
        if (__atomic_load_n(&watch.due, __ATOMIC_RELAXED))
            beat();
        else
            listen();
        sched_yield();
    }
    if (watch.warning != MPI_REQUEST_NULL) {
        MPI_Cancel(&watch.warning);
        MPI_Request_free(&watch.warning);
    }
    stencil_watch_leave();
    wake(&watch.ending);
}

void stencil_watch_ended(void) {
    if (watch.world->ranks == 1)
        return;
    wake(&watch.ended);
    pthread_join(watch.thread, NULL);
}

bool stencil_watch_has_lost(void) {
    return watch.gives_up;
}

void stencil_watch_set_timeout(stencil_world *world, double s) {
    world->rank_timeout_s = s;
    __atomic_store(&watch.timeout_s, &s, __ATOMIC_RELAXED);
}

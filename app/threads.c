#include "app/threads.h"

#include <ctype.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A thread that waits for a mutex to be given back, so that all of them exist at once. */
static void *wait_for(void *mutex) {
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

/* OpenMP 5.2, 21.2.2 OMP_STACKSIZE: a number and B, K (without a letter, too), M or G; 0: not given. */
static size_t stack_bytes(void) {
    const char *text = getenv("OMP_STACKSIZE");
    if (text == NULL)
        return 0;
    char *end;
    const unsigned long long number = strtoull(text, &end, 10);
    while (isspace((unsigned char)*end))
        end++;
    const char *const units = "BKMG", *unit = strchr(units, toupper((unsigned char)*end));
    const int shift = *end == '\0' || unit == NULL ? 10 : 10 * (int)(unit - units);
    return number <= SIZE_MAX >> shift ? (size_t)number << shift : 0;
}

/* How many threads beside this one the system starts, of `count`; *number is why there are no more. */
static int64_t start_and_join(pthread_t *thread, int64_t count, int *number) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (stack_bytes() > 0)
        pthread_attr_setstacksize(&attributes, stack_bytes());
    int64_t started = 0;
    pthread_mutex_lock(&mutex);
    while (started < count &&
           (*number = pthread_create(&thread[started], &attributes, wait_for, &mutex)) == 0)
        started++;
    pthread_mutex_unlock(&mutex);
    for (int64_t i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    pthread_attr_destroy(&attributes);
    return started;
}

/* Who asks for so many threads, for messages. */
static const char *asker(int64_t count, int64_t threads, char text[64]) {
    const char *const format = count > 0                           ? "--threads %lld%.0s"
                               : getenv("OMP_NUM_THREADS") != NULL ? "OMP_NUM_THREADS: %lld thread%s"
                                                                   : "%lld thread%s, one for each processor";
    snprintf(text, 64, format, (long long)threads, stencil_plural(threads));
    return text;
}

stencil_status threads_start(int64_t count) {
    const int64_t threads =
        count > 0 ? count : stencil_smaller(omp_get_max_threads(), omp_get_thread_limit());
    char who[64];
    CHECK(threads <= THREADS_MAX, USAGE, "%s are too many: at most %d", asker(count, threads, who),
          THREADS_MAX);
    pthread_t *thread = calloc((size_t)threads, sizeof *thread);
    CHECK(thread != NULL, NO_MEMORY, "%s: no memory", asker(count, threads, who));
    int number = 0;
    /* One more than OpenMP starts leaves room for what it needs besides. */
    const int64_t started = threads == 1 ? threads : start_and_join(thread, threads, &number);
    free(thread);
    CHECK(started == threads, NO_MEMORY,
          "%s: the system starts only %lld (%s); give fewer, or raise 'ulimit -v' or 'ulimit -u'",
          asker(count, threads, who), (long long)started, strerror(number));
    omp_set_num_threads((int)threads);
    /* The team starts while there is room: what is allocated from here on knows of its stacks. */
    int team = 0;
#pragma omp parallel reduction(+ : team)
    team++;
    CHECK(team > 0, INTERNAL, "OpenMP starts no thread");
    CHECK(stencil_memory_address_space_left_bytes() > 0, NO_MEMORY,
          "%s: the limit of address space leaves no room beside them; give fewer, or raise 'ulimit -v'",
          asker(count, threads, who));
    return STENCIL_OK;
}

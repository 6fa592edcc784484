#include "app/options.h"

#include <ctype.h>
#include <omp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "app/text.h"
#include "kernels/cpu.h"

/* Thread function that waits until a mutex is unlocked, so that all test threads exist at once. */
static void *wait_for(void *mutex) {
    pthread_mutex_lock(mutex);
    pthread_mutex_unlock(mutex);
    return NULL;
}

/* Returns OMP_STACKSIZE in bytes (OpenMP 5.2, 21.2.2: a number, then B, K (default), M or G); 0: not set. */
static size_t stack_bytes(void) {
    static const char units[] = "BKMG";
    const char *text = getenv("OMP_STACKSIZE");
    unsigned long long number;
    char letter = 'K';
    if (text == NULL || sscanf(text, "%llu %c", &number, &letter) < 1)
        return 0;
    const char *unit = strchr(units, toupper((unsigned char)letter));
    const int shift = unit != NULL ? 10 * (int)(unit - units) : 10;
    return number <= SIZE_MAX >> shift ? (size_t)number << shift : 0;
}

/* Checks that thread stacks are large enough: an overflow may skip the guard page and hit another stack. */
static stencil_status check_stacks(void) {
    enum { KIB = 1024, LEAST = STENCIL_CPU_STACK_BYTES };
    struct rlimit limit;
    const size_t bytes = stack_bytes();
    CHECK(getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= LEAST, USAGE,
          "a stack of %llu KiB is too small: give 'ulimit -s' %d or more",
          (unsigned long long)limit.rlim_cur / KIB, LEAST / KIB);
    CHECK(bytes == 0 || bytes >= LEAST, USAGE, "OMP_STACKSIZE: %llu KiB are too few: give %dK or more",
          (unsigned long long)bytes / KIB, LEAST / KIB);
    return STENCIL_OK;
}

/* Returns how many of `count` further threads the system can start; *number: the errno where not all. */
static int64_t start_and_join(int64_t count, int *number) {
    static pthread_t thread[THREADS_MAX];
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

static bool environment_decides(void) {
    const char *text = getenv("OMP_NUM_THREADS");
    return text != NULL && text[0] != '\0';
}

int64_t threads_default(void) {
    const int64_t openmp = stencil_smaller(omp_get_max_threads(), omp_get_thread_limit());
    return environment_decides() ? openmp : stencil_smaller(openmp, stencil_processors());
}

/* Number of processors that a CPU quota allows, as text: "3", "1.5". */
#define QUOTA_TEXT(limits) TEXT("%.4g", 1e-3 * (double)(limits).quota_thousandths)

const char *threads_default_why(char text[THREADS_WHY_SIZE]) {
    const stencil_processor_limits limits = stencil_processors_limits();
    if (environment_decides())
        snprintf(text, THREADS_WHY_SIZE, "OMP_NUM_THREADS");
    else if (limits.quota_thousandths < (int64_t)1000 * limits.allowed)
        snprintf(text, THREADS_WHY_SIZE, "control group's quota: %s of %d processors", QUOTA_TEXT(limits),
                 limits.allowed);
    else if (limits.allowed < limits.online)
        snprintf(text, THREADS_WHY_SIZE, "affinity: %d of %d processors", limits.allowed, limits.online);
    else
        snprintf(text, THREADS_WHY_SIZE, "one for each processor");
    return text;
}

void threads_note(int64_t threads, stencil_notes *notes) {
    const stencil_processor_limits limits = stencil_processors_limits();
    const int use = stencil_processors();
    const bool quota = limits.quota_thousandths < (int64_t)1000 * limits.allowed;
    const char *text = quota ? QUOTA_TEXT(limits) : TEXT("%d", use);
    if (threads > use)
        stencil_notes_add(notes, "%lld threads share %s processor%s, %s: --threads %d has one for each",
                          (long long)threads, text, strcmp(text, "1") == 0 ? "" : "s",
                          quota                            ? "the quota of the control group"
                          : limits.allowed < limits.online ? "which the affinity of this process allows"
                                                           : "which is all there are",
                          use);
}

stencil_status threads_start(int64_t count) {
    const int64_t threads = count > 0 ? count : threads_default();
    char who[64]; /* option or variable that asks for `count` threads */
    snprintf(who, sizeof who,
             count > 0               ? "--threads %lld%.0s"
             : environment_decides() ? "OMP_NUM_THREADS: %lld thread%s"
                                     : "%lld thread%s, one for each processor",
             (long long)threads, stencil_plural(threads));
    CHECK(threads > 0, USAGE, "OMP_NUM_THREADS is more than OpenMP can count: at most %d", THREADS_MAX);
    CHECK(threads <= THREADS_MAX, USAGE, "%s are too many: at most %d", who, THREADS_MAX);
    TRY(check_stacks());
    int number = 0;
    /* A thread more than OpenMP starts is tested, as reserve for other needs of OpenMP. */
    const int64_t started = threads == 1 ? threads : start_and_join(threads, &number);
    CHECK(started == threads, NO_MEMORY,
          "%s: the system starts only %lld (%s); give fewer, or raise 'ulimit -v' or 'ulimit -u'", who,
          (long long)started, strerror(number));
    omp_set_num_threads((int)threads);
    /* The OpenMP team starts here, so that later allocations see the memory that its stacks take. */
    int team = 0;
#pragma omp parallel reduction(+ : team)
    team++;
    CHECK(team > 0, INTERNAL, "OpenMP starts no thread");
    CHECK(stencil_memory_address_space_left_bytes() > 0, NO_MEMORY,
          "%s: the limit of address space leaves no room beside them; give fewer, or raise 'ulimit -v'", who);
    return STENCIL_OK;
}

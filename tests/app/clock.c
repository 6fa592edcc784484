/* A clock for LD_PRELOAD that jumps: each look at the time of day is years before or after the last one. */
#define _DEFAULT_SOURCE /* declares clock_gettime() and syscall() */

#include <stdatomic.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t jump(void) {
    static atomic_int looks;
    enum { YEARS = 3 };
    const time_t years = YEARS * 365 * (time_t)86400;
    return atomic_fetch_add(&looks, 1) % 2 == 0 ? years : -years;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    const int failed = (int)syscall(SYS_clock_gettime, clock, now);
    if (failed == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        now->tv_sec += jump();
    return failed;
}

time_t time(time_t *now) {
    struct timespec is = {0, 0};
    clock_gettime(CLOCK_REALTIME, &is);
    if (now != NULL)
        *now = is.tv_sec;
    return is.tv_sec;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    struct timespec is = {0, 0};
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &is);
    *now = (struct timeval){is.tv_sec, is.tv_nsec / 1000};
    return 0;
}

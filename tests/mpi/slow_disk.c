/* A disk for LD_PRELOAD that takes its time: the first file takes $STENCIL_DISK_S seconds to be synced. */
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int wait_for_disk(void) {
    static int synced;
    const char *text = synced++ == 0 ? getenv("STENCIL_DISK_S") : NULL;
    struct timespec left = {.tv_sec = text != NULL ? strtol(text, NULL, 10) : 0};
    while (nanosleep(&left, &left) != 0)
        continue;
    return 0;
}

int fsync(int fd) {
    (void)fd;
    return wait_for_disk();
}

int fdatasync(int fd) {
    (void)fd;
    return wait_for_disk();
}

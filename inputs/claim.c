#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* F_OFD_SETLK, flock, O_DIRECTORY, O_CLOEXEC */
#endif

#include "inputs/claim.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "inputs/file.h"

/* Returns the number of the byte of a name: FNV-1a. p.out.h5 and p.out have the same, since their checkpoints
 * have the same names. */
static off_t byte_of(const char *name) {
    const size_t length = strlen(name);
    const bool suffix = length > 3 && strcmp(name + length - 3, ".h5") == 0;
    uint64_t number = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < length - (suffix ? 3 : 0); i++)
        number = (number ^ (unsigned char)name[i]) * UINT64_C(0x100000001b3);
    return (off_t)(number >> 2);
}

/* Keeps other processes from taking a claim in the same moment, for at most a second. */
static void wait_for_turn(int fd) {
    enum { TRIES = 1000 };
    for (int i = 0; i < TRIES && flock(fd, LOCK_EX | LOCK_NB) != 0; i++)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Locks the byte for reading, since a directory cannot be opened for writing, and looks whether another
 * process has done so. Returns whether there are such locks; *taken: another one has. */
static bool lock(int fd, off_t byte, bool *taken) {
    struct flock mine = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = byte, .l_len = 1}, other = mine;
    other.l_type = F_WRLCK; /* that of any other process is in its way */
    wait_for_turn(fd);
    const bool locked = fcntl(fd, F_OFD_SETLK, &mine) == 0 && fcntl(fd, F_OFD_GETLK, &other) == 0;
    *taken = locked && other.l_type != F_UNLCK;
    if (*taken) {
        mine.l_type = F_UNLCK;
        (void)fcntl(fd, F_OFD_SETLK, &mine);
    }
    (void)flock(fd, LOCK_UN);
    return locked;
}

stencil_status stencil_claim_take(stencil_claim *claim, const char *path) {
    const char *last = stencil_path_last(path);
    char directory[PATH_MAX];
    bool taken = false;
    *claim = (stencil_claim){0};
    const int length = snprintf(directory, sizeof directory, "%.*s", last > path ? (int)(last - path) : 2,
                                last > path ? path : "./");
    claim->fd = length < (int)sizeof directory ? open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    if (claim->fd < 0)
        return STENCIL_OK;
    claim->held = lock(claim->fd, byte_of(last), &taken) && !taken;
    if (!claim->held)
        close(claim->fd);
    CHECK(!taken, CANNOT_CREATE,
          "another run is under way that writes '%s': wait until it ends, or choose another output file",
          path);
    return STENCIL_OK;
}

void stencil_claim_release(stencil_claim *claim) {
    if (claim->held)
        close(claim->fd);
    *claim = (stencil_claim){0};
}

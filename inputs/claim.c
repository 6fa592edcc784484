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
#include "inputs/result_names.h"

/* Takes off all marks of checkpoints and series, so that no run has for its result what is another run's
 * checkpoint. */
static size_t without_marks(const char *name, size_t length) {
    static const char *const marks[] = {STENCIL_MARK_CHECKPOINT, STENCIL_MARK_BEFORE, STENCIL_MARK_SERIES};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const size_t kept = stencil_unmarked_length(name, length, marks[i]);
        if (kept < length)
            return without_marks(name, kept);
    }
    return length;
}

static uint64_t hash(uint64_t number, const char *text, size_t length) { /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        number = (number ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
    return number;
}

/* Returns the number of the byte of a name. p.out.h5 and p.out have the same, since their checkpoints have
 * the same names, and so have p.out.ckpt.h5 and p.out.series.h5. */
static off_t byte_of(const char *name) {
    const size_t stem = stencil_stem_length(name);
    const char *suffix = strcmp(name + stem, ".hdf5") == 0 ? name + stem : "";
    const uint64_t number = hash(UINT64_C(0xcbf29ce484222325), name, without_marks(name, stem));
    return (off_t)(hash(number, suffix, strlen(suffix)) >> 2);
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

/* The reading process: its limits and its end of the channel. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* prctl, mallopt */
#endif

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <unistd.h>

#include "inputs/channel.h"
#include "inputs/h5.h"
#include "inputs/reading.h"

/* Within a request, reading counts as progress up to READS_MOST times the bytes of the opened files plus
 * READS_BESIDE, so that endless rereading times out. */
enum { READS_MOST = 4 };
#define READS_BESIDE (UINT64_C(1) << 30)

static struct {
    stencil_board *board; /* memory shared with the parent; NULL: this process is no reading process */
    uint64_t left, most;
} here;

void stencil_reading_at(const char *format, ...) {
    if (here.board == NULL)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(here.board->at, sizeof here.board->at, format, arguments);
    va_end(arguments);
}

void stencil_reading_opened(int64_t bytes) {
    here.most += (uint64_t)bytes * READS_MOST;
    here.left += (uint64_t)bytes * READS_MOST;
}

void stencil_reading_progress(size_t bytes) {
    if (here.board == NULL || bytes == 0 || here.left == 0)
        return;
    here.left -= bytes < here.left ? bytes : here.left;
    atomic_fetch_add(&here.board->progress, 1);
}

/* Limits this process: its memory, and no core dump when it crashes. */
static void limit_itself(long long memory_bytes) {
    const struct rlimit none = {0, 0};
    struct rlimit data;
    setrlimit(RLIMIT_CORE, &none);
    if (STENCIL_IS_SANITIZED || getrlimit(RLIMIT_DATA, &data) != 0 || memory_bytes <= 0)
        return;
    if ((rlim_t)memory_bytes < data.rlim_cur)
        data.rlim_cur = (rlim_t)memory_bytes;
    setrlimit(RLIMIT_DATA, &data);
}

static bool answer_one(stencil_answerer *answer) {
    static stencil_ask ask;
    static stencil_say say;
    int fd = -1;
    if (stencil_message_receive(STENCIL_CHANNEL, &ask, sizeof ask, &fd) != (ssize_t)sizeof ask)
        return false;
    memset(&say, 0, sizeof say);
    here.left = here.most + READS_BESIDE;
    say.request = ask.request;
    say.status = answer(&ask, &say, (char *)here.board + STENCIL_BOARD_BYTES, fd);
    if (fd >= 0)
        close(fd);
    if (say.status != STENCIL_OK)
        memcpy(say.message, stencil_error_last()->message, sizeof say.message);
    return stencil_message_send(STENCIL_CHANNEL, &say, sizeof say, -1);
}

bool stencil_reading_is_asked(int argc, char **argv) {
    int type = 0;
    socklen_t size = sizeof type;
    return argc == 6 && strcmp(argv[1], STENCIL_READING_WORD) == 0 &&
           getsockopt(STENCIL_CHANNEL, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

_Noreturn void stencil_reading_serve(char **argv, stencil_answerer *answer) {
    void *both = shmat((int)strtol(argv[4], NULL, 10), NULL, 0);
    limit_itself(strtoll(argv[3], NULL, 10));
    /* The system kills this process when its parent ends, which may have happened already. */
    if (both != STENCIL_SHARED_FAILED && prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 &&
        getppid() == (pid_t)strtol(argv[2], NULL, 10)) {
        here.board = both;
        stencil_reading_at("its header"); /* tells the parent that this process has started */
        fcntl(STENCIL_CHANNEL, F_SETFD, FD_CLOEXEC);
#ifdef M_MMAP_THRESHOLD
        /* malloc() keeps freed chunk buffers: memory from the system is zeroed at each allocation. */
        mallopt(M_MMAP_THRESHOLD, 32 << 20);
        mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
        stencil_h5_quiet();
        while (answer_one(answer))
            continue;
    }
    _exit(0); /* skips HDF5's exit handler, which a damaged file can crash */
}

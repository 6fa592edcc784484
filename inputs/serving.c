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
    stencil_board *board; /* NULL: this is not a reading process */
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

/* Has malloc() keep freed chunk buffers: memory returned to the system would be zeroed at each allocation. */
static void keep_memory(void) {
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
#endif
}

/* Has the system kill this process when its parent ends. False: the system cannot, or the parent has already
 * ended. */
static bool follow(long parent) {
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == (pid_t)parent;
}

static bool answer_one(stencil_answerer *const answerers[]) {
    static stencil_asks ask;
    static stencil_answer reply;
    stencil_head what = {0, 0, 0};
    stencil_call call = {&ask, &reply.says, (char *)here.board + STENCIL_BOARD_BYTES, -1};
    if (!stencil_message_receive(STENCIL_CHANNEL, &what, &ask, sizeof ask, &call.fd) ||
        what.request >= STENCIL_REQUEST_COUNT || what.bytes != stencil_request_kinds[what.request].ask)
        return false;
    memset(&reply, 0, sizeof reply);
    here.left = here.most + READS_BESIDE;
    const stencil_status status = answerers[what.request](&call);
    if (call.fd >= 0)
        close(call.fd);
    what.status = status;
    what.bytes = stencil_request_kinds[what.request].say;
    if (status != STENCIL_OK) {
        memcpy(reply.message, stencil_error_last()->message, sizeof reply.message);
        what.bytes = sizeof reply.message;
    }
    return stencil_message_send(STENCIL_CHANNEL, what, &reply, -1);
}

bool stencil_reading_is_asked(int argc, char **argv) {
    int type = 0;
    socklen_t size = sizeof type;
    return argc == 6 && strcmp(argv[1], STENCIL_READING_WORD) == 0 &&
           getsockopt(STENCIL_CHANNEL, SOL_SOCKET, SO_TYPE, &type, &size) == 0 && type == SOCK_SEQPACKET;
}

_Noreturn void stencil_reading_serve(char **argv, stencil_answerer *const answerers[STENCIL_REQUEST_COUNT]) {
    void *both = shmat((int)strtol(argv[4], NULL, 10), NULL, 0);
    limit_itself(strtoll(argv[3], NULL, 10));
    if (both != STENCIL_SHARED_FAILED && follow(strtol(argv[2], NULL, 10))) {
        here.board = both;
        stencil_reading_at("its header"); /* the reading process has started */
        fcntl(STENCIL_CHANNEL, F_SETFD, FD_CLOEXEC);
        keep_memory();
        stencil_h5_quiet();
        while (answer_one(answerers))
            continue;
    }
    _exit(0); /* skips HDF5's exit handler, which a damaged file can crash */
}

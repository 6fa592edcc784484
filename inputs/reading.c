#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* prlimit */
#endif

#include "inputs/reading.h"

#include <errno.h>
#include <fcntl.h>
#include <omp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "inputs/channel.h"
#include "inputs/h5.h"

extern char **environ;

static const stencil_reading_limits usual_limits = {5, 30, INT64_C(1) << 30};

/* Interval at which the channel is polled for an answer. */
static const double look_s = 0.05;

struct stencil_reading {
    const char *path;
    stencil_reading_limits limits;
    pid_t process; /* 0: the reading process has ended */
    int channel;
    stencil_request asked; /* request that was sent last */
    stencil_board *board;  /* shared memory: STENCIL_BOARD_BYTES, then cells or numbers */
    stencil_error lost;
};

/* Finds the path of this program: valgrind resolves the link /proc/self/exe but cannot execute it. */
static void find_program(char path[PATH_MAX]) {
    static const char self[] = "/proc/self/exe";
    const ssize_t length = readlink(self, path, PATH_MAX - 1);
    path[length > 0 ? length : 0] = '\0';
    if (length <= 0 || access(path, X_OK) != 0) /* the program's file was replaced since it started */
        snprintf(path, PATH_MAX, "%s", self);
}

/* Makes the environment of the reading process: the parent's, preceded by OpenMP settings (waiting threads
 * yield their processor at once, small stacks). NULL without memory; freed by the caller. */
static char **make_environment(void) {
    static char policy[] = "OMP_WAIT_POLICY=passive", stack[] = "OMP_STACKSIZE=1M";
    size_t count = 0;
    while (environ[count] != NULL)
        count++;
    char **all = malloc((count + 3) * sizeof *all);
    if (all == NULL)
        return NULL;
    all[0] = policy;
    all[1] = stack;
    memcpy(all + 2, environ, (count + 1) * sizeof *all);
    return all;
}

/* Sets attributes of the reading process so that signals which end or interrupt the parent do not reach it:
 * it runs until the channel closes, in its own process group. Returns 0 or an errno. */
static int set_attributes(posix_spawnattr_t *attributes) {
    static const int kept_off[] = {SIGINT,  SIGTERM, SIGHUP,  SIGQUIT, SIGUSR1,
                                   SIGUSR2, SIGPIPE, SIGXFSZ, SIGTSTP};
    sigset_t blocked, all;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof kept_off / sizeof *kept_off; i++)
        sigaddset(&blocked, kept_off[i]);
    sigfillset(&all);
    int failed = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                          POSIX_SPAWN_SETSIGDEF);
    if (failed == 0)
        failed = posix_spawnattr_setpgroup(attributes, 0);
    if (failed == 0)
        failed = posix_spawnattr_setsigmask(attributes, &blocked);
    return failed != 0 ? failed : posix_spawnattr_setsigdefault(attributes, &all);
}

static int set_descriptors(posix_spawn_file_actions_t *actions, int channel) {
    int failed = posix_spawn_file_actions_adddup2(actions, channel, STENCIL_CHANNEL);
    for (int fd = STDIN_FILENO; fd <= (STENCIL_IS_SANITIZED ? STDOUT_FILENO : STDERR_FILENO) && failed == 0;
         fd++)
        failed = posix_spawn_file_actions_addopen(actions, fd, "/dev/null", O_RDWR, 0);
    return failed;
}

static stencil_status spawn(stencil_reading *r, int channel, int shared) {
    char program[PATH_MAX], parent[32], memory[32], window[32];
    snprintf(parent, sizeof parent, "%ld", (long)getpid());
    snprintf(memory, sizeof memory, "%lld", (long long)r->limits.memory);
    snprintf(window, sizeof window, "%d", shared);
    find_program(program);
    const char *const argv[] = {"stencil", STENCIL_READING_WORD, parent, memory, window, r->path, NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    char **environment = make_environment();
    int failed = environment == NULL ? ENOMEM : posix_spawn_file_actions_init(&actions);
    if (failed == 0) {
        failed = posix_spawnattr_init(&attributes);
        if (failed == 0)
            failed = set_descriptors(&actions, channel);
        if (failed == 0)
            failed = set_attributes(&attributes);
        if (failed == 0)
            failed = posix_spawn(&r->process, program, &actions, &attributes, (char *const *)(uintptr_t)argv,
                                 environment);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
    }
    free(environment);
    CHECK(failed != ENOMEM && failed != EAGAIN, NO_MEMORY,
          "there is no memory, or no place, for a process that reads '%s'", r->path);
    CHECK(failed == 0, INTERNAL, "cannot start '%s' as the process that reads '%s': %s", program, r->path,
          strerror(failed));
    return STENCIL_OK;
}

/* Duplicates a descriptor to a high number, so that the low number it gets in the reading process is free. */
static int high(int fd) {
    enum { FREE = STENCIL_CHANNEL + 1 };
    const int moved = fcntl(fd, F_DUPFD_CLOEXEC, FREE);
    close(fd);
    return moved;
}

/* Makes the shared memory, which is freed with the last process that maps it and, unlike other kinds of
 * shared memory, does not count as a file. */
static stencil_status open_window(stencil_reading *r, int *shared) {
    *shared = shmget(IPC_PRIVATE, STENCIL_BOARD_BYTES + STENCIL_WINDOW_BYTES, IPC_CREAT | 0600);
    void *both = *shared < 0 ? STENCIL_SHARED_FAILED : shmat(*shared, NULL, 0);
    const int failed = errno;
    if (*shared >= 0)
        shmctl(*shared, IPC_RMID, NULL);
    CHECK(both != STENCIL_SHARED_FAILED, NO_MEMORY, "no memory to share with a process that reads '%s': %s",
          r->path, strerror(failed));
    r->board = both;
    return STENCIL_OK;
}

static stencil_status start(stencil_reading *r, int *channel) {
    int end[2] = {-1, -1}, shared = -1;
    CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end) == 0, NO_MEMORY,
          "the system gives no channel to a process that reads '%s': %s", r->path, strerror(errno));
    r->channel = end[0];
    *channel = high(end[1]);
    CHECK(*channel >= 0, NO_MEMORY, "no descriptor is left for a process that reads '%s': raise 'ulimit -n'",
          r->path);
    TRY(open_window(r, &shared));
    return spawn(r, *channel, shared);
}

static stencil_reading_limits complete(const stencil_reading_limits *limits) {
    const stencil_reading_limits given = limits != NULL ? *limits : usual_limits;
    return (stencil_reading_limits){given.headers_s > 0 ? given.headers_s : usual_limits.headers_s,
                                    given.cells_s > 0 ? given.cells_s : usual_limits.cells_s,
                                    given.memory > 0 ? given.memory : usual_limits.memory};
}

stencil_status stencil_reading_start(stencil_reading **reading, const char *path,
                                     const stencil_reading_limits *limits) {
    int channel = -1;
    stencil_reading *r = calloc(1, sizeof *r);
    CHECK(r != NULL, NO_MEMORY, "no memory to read '%s'", path);
    *r = (stencil_reading){.path = path, .limits = complete(limits), .channel = -1};
    const stencil_status status = start(r, &channel);
    if (channel >= 0)
        close(channel);
    if (status == STENCIL_OK)
        *reading = r;
    else
        stencil_reading_end(r);
    return status;
}

/* Ends the reading process, with SIGKILL unless it exits shortly (is_ending). Returns its exit status (as of
 * waitpid()); -1: it was killed. */
static int collect(stencil_reading *r, bool is_ending) {
    enum { LOOKS = 2000 };
    int how = -1;
    pid_t ended = 0;
    for (int i = 0; i < LOOKS && is_ending && r->process > 0 && ended == 0; i++) {
        ended = waitpid(r->process, &how, WNOHANG);
        if (ended == 0)
            nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (r->process > 0 && ended == 0) {
        kill(r->process, SIGKILL);
        while (waitpid(r->process, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    r->process = 0;
    return ended > 0 ? how : -1;
}

void stencil_reading_end(stencil_reading *r) {
    if (r == NULL)
        return;
    if (r->channel >= 0)
        close(r->channel);
    collect(r, false);
    if (r->board != NULL)
        shmdt(r->board);
    free(r);
}

void *stencil_reading_window(const stencil_reading *r) {
    return (char *)r->board + STENCIL_BOARD_BYTES;
}

void stencil_reading_allow(stencil_reading *r, int64_t bytes) {
    struct rlimit limit;
    const rlim_t all = (rlim_t)r->limits.memory + (rlim_t)bytes +
                       (rlim_t)omp_get_max_threads() * STENCIL_READING_STACK_BYTES;
    if (STENCIL_IS_SANITIZED || r->process <= 0 || prlimit(r->process, RLIMIT_DATA, NULL, &limit) != 0 ||
        limit.rlim_cur >= all)
        return;
    limit.rlim_cur = limit.rlim_max < all ? limit.rlim_max : all;
    prlimit(r->process, RLIMIT_DATA, &limit, NULL);
}

/* Ends the reading process; stores and returns the error that tells how it ended. `why`: what this process
 * saw. */
static stencil_status lose(stencil_reading *r, bool is_ending, const char *why) {
    char at[sizeof r->board->at];
    memcpy(at, r->board->at, sizeof at);
    at[sizeof at - 1] = '\0';
    const bool began = at[0] != '\0';
    if (!began)
        snprintf(at, sizeof at, "its header");
    const char *version = stencil_h5_version();
    const int code = collect(r, is_ending);
    const int signal_number = code >= 0 && WIFSIGNALED(code) ? WTERMSIG(code) : 0;
    const stencil_status status =
        signal_number == SIGKILL
            ? ERROR(BAD_DATA, "'%s': the process that reads it was killed at %s: memory may have run out",
                    r->path, at)
        : signal_number != 0
            ? ERROR(BAD_DATA, "'%s' is damaged: HDF5 %s crashed as it read %s (%s); make the file again",
                    r->path, version, at, strsignal(signal_number))
        : is_ending && !began
            ? ERROR(INTERNAL,
                    "the process that reads '%s' does not start (exit code %d): call this program by "
                    "its name",
                    r->path, code >= 0 ? WEXITSTATUS(code) : -1)
        : is_ending ? ERROR(BAD_DATA,
                            "'%s' is damaged: HDF5 %s ended its process as it read %s (exit code %d); make "
                            "the file again",
                            r->path, version, at, code >= 0 ? WEXITSTATUS(code) : -1)
                    : ERROR(BAD_DATA, "'%s': reading %s %s", r->path, at, why);
    r->lost = *stencil_error_last();
    return status;
}

stencil_status stencil_reading_send(stencil_reading *r, const stencil_ask *ask, int fd) {
    if (r->process <= 0)
        return stencil_error_adopt(&r->lost);
    r->asked = ask->request;
    return stencil_message_send(r->channel, ask, sizeof *ask, fd) ? STENCIL_OK : lose(r, true, "");
}

/* Waits for an answer while the reading process makes progress. Time is counted in polls, so that time in
 * which this process was stopped does not count. */
static bool wait_for_answer(const stencil_reading *r, double limit_s) {
    uint64_t seen = atomic_load(&r->board->progress);
    for (double left_s = limit_s; left_s > 0;) {
        struct pollfd entry = {.fd = r->channel, .events = POLLIN};
        const int ready = poll(&entry, 1, (int)(1e3 * look_s));
        if (ready > 0)
            return true;
        const uint64_t is = atomic_load(&r->board->progress);
        left_s = is != seen ? limit_s : ready == 0 ? left_s - look_s : left_s;
        seen = is;
    }
    return false;
}

stencil_status stencil_reading_receive(stencil_reading *r, stencil_say *say) {
    const bool cells = r->asked == STENCIL_REQUEST_CELLS || r->asked == STENCIL_REQUEST_BLOCK ||
                       r->asked == STENCIL_REQUEST_KEEP;
    const double limit_s = cells ? r->limits.cells_s : r->limits.headers_s;
    char still[160];
    if (r->process <= 0)
        return stencil_error_adopt(&r->lost);
    snprintf(still, sizeof still,
             "made no progress for %g s: the file is damaged, or its file system does not answer "
             "(--read-timeout waits longer)",
             limit_s);
    if (!wait_for_answer(r, limit_s))
        return lose(r, false, still);
    const ssize_t got = stencil_message_receive(r->channel, say, sizeof *say, NULL);
    if (got <= 0)
        return lose(r, true, "");
    if (got != (ssize_t)sizeof *say || say->request != r->asked || !stencil_answer_check(say))
        return lose(r, false, "gave what cannot be: the file is damaged");
    return say->status == STENCIL_OK
               ? STENCIL_OK
               : stencil_error_set(say->status, __FILE__, __LINE__, "", "%s", say->message);
}

stencil_status stencil_reading_ask(stencil_reading *r, const stencil_ask *ask, stencil_say *say, int fd) {
    TRY(stencil_reading_send(r, ask, fd));
    return stencil_reading_receive(r, say);
}

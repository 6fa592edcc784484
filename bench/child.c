/* Requests to child processes and their replies, as JSON. A request is {"parent", "stated", "machine"}; a
 * reply is {"status", "message", "answer"}, where the answer is a result or null. */
#include "bench/benchmark.h"
#include "records/description.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <omp.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* Seconds to wait for the exit of a child process that answered, and of one killed with a hung kernel. */
static const double exit_grace_s = 5, kill_grace_s = 30;
/* Seconds in which an interrupted child must finish its sample, verify its results and answer. */
static const double answer_grace_s = 60;

/* Sends a JSON message over a socket; false: no memory, or the peer closed the socket. */
static bool send_message(int fd, const json_t *message) {
    char *text = message != NULL ? json_dumps(message, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    const size_t size = text != NULL ? strlen(text) : 0;
    size_t sent = 0;
    for (ssize_t n = 0; sent < size && (n >= 0 || errno == EINTR); sent += n > 0 ? (size_t)n : 0)
        n = send(fd, text + sent, size - sent, MSG_NOSIGNAL);
    free(text);
    return size > 0 && sent == size;
}

typedef struct receiver {
    int fd;
    double until_s; /* time at which receiving ends */
    bool timed_out;
    const stencil_bench_options *options; /* options with go_on; NULL: the wait cannot be interrupted */
    pid_t child; /* gets SIGTERM at an interruption, and answers with the samples taken so far */
    bool told;
} receiver;

/* Seconds between polls for an interruption while waiting for an answer. */
static const double look_s = 0.1;

/* Returns the number of bytes received; 0: the peer closed the socket, or the time is over. */
static size_t receive_some(void *bytes, size_t size, void *context) {
    receiver *r = context;
    for (;;) {
        const double left_s = fmin(r->until_s - stencil_clock_s(), 1e6);
        struct pollfd entry = {.fd = r->fd, .events = POLLIN};
        r->timed_out = left_s <= 0;
        if (r->timed_out)
            return 0;
        if (r->options != NULL && !r->told && !stencil_bench_is_wanted(r->options)) {
            kill(r->child, SIGTERM);
            r->until_s = fmin(r->until_s, stencil_clock_s() + answer_grace_s);
            r->told = true;
        }
        if (poll(&entry, 1, (int)(1e3 * fmin(left_s, look_s)) + 1) <= 0)
            continue;
        const ssize_t n = recv(r->fd, bytes, size, 0);
        if (n >= 0 || errno != EINTR)
            return n > 0 ? (size_t)n : 0;
    }
}

/* Receives a JSON message; NULL: no valid message in time. */
static json_t *receive_message(receiver *r) {
    return json_load_callback(receive_some, r, JSON_DISABLE_EOF_CHECK, NULL);
}

/* Waits at most `within_s` for a child to end, reaps it and sets its status *how; false: still running. */
static bool has_ended(pid_t child, double within_s, int *how) {
    const double until_s = stencil_clock_s() + within_s;
    for (;;) {
        const pid_t ended = waitpid(child, how, WNOHANG);
        if (ended == child || (ended < 0 && errno != EINTR))
            return true;
        if (stencil_clock_s() >= until_s)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    }
}

static int count_words(const char *const *words) {
    int count = 0;
    while (words != NULL && words[count] != NULL)
        count++;
    return count;
}

static stencil_status start(const stencil_bench_options *options, const char *name, int channel,
                            pid_t *child) {
    const int before = count_words(options->child_command), behind = count_words(options->child_arguments);
    const char *argv[before + behind + 2];
    memcpy(argv, options->child_command, (size_t)before * sizeof *argv);
    argv[before] = name;
    for (int i = 0; i <= behind; i++)
        argv[before + 1 + i] = i < behind ? options->child_arguments[i] : NULL;
    posix_spawn_file_actions_t actions;
    CHECK(posix_spawn_file_actions_init(&actions) == 0, NO_MEMORY, "no memory for a child process");
    /* Duplicates the channel before other descriptors are replaced; output of the child is discarded. */
    int error = posix_spawn_file_actions_adddup2(&actions, channel, STENCIL_BENCH_CHANNEL);
    if (error == 0)
        error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (error == 0)
        error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (error == 0)
        error = posix_spawn(child, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    CHECK(error == 0, INTERNAL, "cannot start a child process (%s): %s", argv[0], strerror(error));
    return STENCIL_OK;
}

/* Reaps a child process, and kills it where kill_it is set or its exit takes too long. Errors: INTERNAL, with
 * the way it ended, for a child that gave no answer and was not to be killed. */
static stencil_status end_child(pid_t child, const char *name, bool kill_it, bool answered) {
    int how = 0;
    const bool ended = !kill_it && has_ended(child, exit_grace_s, &how);
    if (!ended) {
        kill(child, SIGKILL);
        has_ended(child, kill_grace_s, &(int){0});
    }
    if (answered || kill_it)
        return STENCIL_OK;
    CHECK(ended, INTERNAL, "%s: its child process closed its channel without an answer", name);
    CHECK(!WIFSIGNALED(how), INTERNAL, "%s: its child process was ended by signal %d (%s)", name,
          WTERMSIG(how), strsignal(WTERMSIG(how)));
    FAIL(INTERNAL, "%s: its child process ended with exit code %d and no answer", name,
         WIFEXITED(how) ? WEXITSTATUS(how) : -1);
}

/* Starts a child and sends it `request`; sets *reply, owned by the caller; NULL: no reply came in time. */
static stencil_status exchange(const stencil_bench_options *options, const char *name, double timeout_s,
                               const json_t *request, json_t **reply) {
    int end[2];
    pid_t child;
    receiver r = {.until_s = stencil_clock_s() + timeout_s};
    *reply = NULL;
    CHECK(options->child_command != NULL, UNAVAILABLE, "no child processes here");
    CHECK(request != NULL, NO_MEMORY, "no memory for a child process");
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) == 0, INTERNAL,
          "cannot make a socket for a child process: %s", strerror(errno));
    stencil_status status = start(options, name, end[1], &child);
    close(end[1]);
    if (status == STENCIL_OK) {
        /* A failure to send is ignored: the missing reply shows that the child has ended. */
        r.child = child;
        r.options = options;
        send_message(r.fd = end[0], request);
        *reply = receive_message(&r);
        status = end_child(child, name, r.timed_out, *reply != NULL);
    }
    close(end[0]);
    return status;
}

/* Unpacks a reply: sets *result, if any, even with a failure, and returns the status of the reply. */
static stencil_status read_reply(const char *name, const json_t *reply, stencil_bench_result *result) {
    int failure;
    const char *message;
    const json_t *answer;
    CHECK(json_unpack((json_t *)reply, "{s:i, s:s, s:o}", "status", &failure, "message", &message, "answer",
                      &answer) == 0,
          INTERNAL, "%s: its child process answers in another format", name);
    const stencil_status read =
        json_is_object(answer) ? stencil_bench_result_read(answer, result) : STENCIL_OK;
    if (failure != STENCIL_OK)
        return stencil_error_set((stencil_status)failure, __FILE__, __LINE__, "", "%s", message);
    return read;
}

stencil_status stencil_bench_in_child(const stencil_bench *b, const char *name, int stated, double timeout_s,
                                      stencil_bench_result *result, bool *timed_out) {
    json_t *reply, *machine = json_object();
    stencil_machine_write(b->machine, machine);
    json_t *request =
        json_pack("{s:I, s:i, s:o}", "parent", (json_int_t)getpid(), "stated", stated, "machine", machine);
    stencil_status status = exchange(b->options, name, timeout_s, request, &reply);
    *timed_out = status == STENCIL_OK && reply == NULL;
    if (reply == NULL && !stencil_bench_is_wanted(b->options)) {
        *timed_out = false; /* an interruption is no time-out */
        status = stencil_bench_check_wanted(b->options, name);
    }
    if (reply != NULL)
        status = read_reply(name, reply, result);
    json_decref(request);
    json_decref(reply);
    return status;
}

/* Runs the benchmark of a request in the child process; *answer is set even where the benchmark fails. */
static stencil_status answer_request(const char *name, const stencil_bench_options *options,
                                     stencil_bench_runner run, json_t *request, json_t **answer) {
    static stencil_machine machine;
    json_t *description;
    json_int_t parent;
    int stated;
    stencil_bench_result result = {0};
    CHECK(json_unpack(request, "{s:I, s:i, s:o}", "parent", &parent, "stated", &stated, "machine",
                      &description) == 0,
          USAGE, "--child: a question in another format");
    /* Ends this process with its parent, which may already have been killed. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != (pid_t)parent)
        _exit(EXIT_FAILURE);
    TRY(stencil_machine_read(&machine, description));
    omp_set_num_threads(machine.cpu_threads);
    const stencil_status status = run(name, stated, options, &machine, &result);
    *answer = stencil_bench_result_json(&result);
    stencil_bench_result_destroy(&result);
    return status;
}

stencil_status stencil_bench_answer(const char *name, const stencil_bench_options *options,
                                    stencil_bench_runner run) {
    int type = 0;
    socklen_t size = sizeof type;
    receiver r = {.fd = STENCIL_BENCH_CHANNEL, .until_s = INFINITY};
    CHECK(getsockopt(STENCIL_BENCH_CHANNEL, SOL_SOCKET, SO_TYPE, &type, &size) == 0, USAGE,
          "--child is for processes that the benchmarks start themselves");
    json_t *answer = NULL;
    const stencil_status status = answer_request(name, options, run, receive_message(&r), &answer);
    json_t *reply = json_pack("{s:i, s:s, s:o}", "status", (int)status, "message",
                              status != STENCIL_OK ? stencil_error_last()->message : "", "answer",
                              answer != NULL ? answer : json_null());
    CHECK(send_message(STENCIL_BENCH_CHANNEL, reply), INTERNAL, "the process that asked is gone");
    /* _exit(), as handlers of exit() would wait for kernels and threads that hang. */
    _exit(EXIT_SUCCESS);
}

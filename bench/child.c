/* The asking end of a child process. */
#include "bench/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

/* A child that has answered, or was killed, is waited for so long: a driver may take its time to end a kernel
 * that hangs. */
static const double exit_grace_s = 5, kill_grace_s = 30;
/* A benchmark in a child is taken to hang after so long. Its own time-out ends its sampling long before. */
static const double hang_least_s = 60, hang_timeouts = 15;
enum { FD_FREE = 10, ANSWER_MAX = 1 << 30 };

bool stencil_child_send(int fd, const void *bytes, size_t size) {
    for (size_t sent = 0; sent < size;) {
        const ssize_t n = send(fd, (const char *)bytes + sent, size - sent, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        sent += (size_t)n;
    }
    return true;
}

bool stencil_child_receive(int fd, void *bytes, size_t size) {
    for (size_t got = 0; got < size;) {
        const ssize_t n = recv(fd, (char *)bytes + got, size - got, 0);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return false;
        got += (size_t)n;
    }
    return true;
}

/* Waits until there is something to receive; false: the time is over. */
static bool wait_readable(int fd, double until_s) {
    for (;;) {
        const double left_s = until_s - stencil_clock_s();
        struct pollfd entry = {.fd = fd, .events = POLLIN};
        const int n = left_s <= 0 ? 0 : poll(&entry, 1, left_s > 1000 ? 1000000 : (int)(1e3 * left_s) + 1);
        if (n > 0)
            return true;
        if (n == 0 && stencil_clock_s() >= until_s)
            return false;
        if (n < 0 && errno != EINTR)
            return true; /* receiving will tell */
    }
}

/* Whether the child has ended; it is collected then. */
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

static void end_child(pid_t child) {
    int how = 0;
    kill(child, SIGKILL);
    has_ended(child, kill_grace_s, &how);
}

/* Two ends that no exec inherits, above the descriptors that the child is given. */
static stencil_status make_channel(int end[2]) {
    int low[2];
    CHECK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, low) == 0, INTERNAL,
          "cannot make a socket for a child process: %s", strerror(errno));
    for (int i = 0; i < 2; i++) {
        end[i] = fcntl(low[i], F_DUPFD_CLOEXEC, FD_FREE);
        close(low[i]);
    }
    if (end[0] >= 0 && end[1] >= 0)
        return STENCIL_OK;
    for (int i = 0; i < 2; i++)
        if (end[i] >= 0)
            close(end[i]);
    FAIL(INTERNAL, "cannot make a socket for a child process: too many open files");
}

static stencil_status start(const stencil_bench_options *options, const char *name, int channel,
                            pid_t *child) {
    char *argv[STENCIL_CHILD_WORDS_MAX + 2] = {0};
    int words = 0;
    for (; options->child_command[words] != NULL && words < STENCIL_CHILD_WORDS_MAX; words++)
        argv[words] = (char *)options->child_command[words];
    argv[words] = (char *)name;
    posix_spawn_file_actions_t actions;
    CHECK(posix_spawn_file_actions_init(&actions) == 0, NO_MEMORY, "no memory for a child process");
    /* What the child prints is none of the report. */
    int error = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    if (error == 0)
        error = posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    if (error == 0)
        error = posix_spawn_file_actions_adddup2(&actions, channel, STENCIL_BENCH_CHANNEL);
    if (error == 0)
        error = posix_spawn(child, argv[0], &actions, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    CHECK(error == 0, INTERNAL, "cannot start a child process (%s): %s", argv[0], strerror(error));
    return STENCIL_OK;
}

/* Options without pointers, and the command as one text. */
static stencil_status fill_request(const stencil_bench_options *options, stencil_child_request *request) {
    request->size = sizeof *request;
    request->parent = getpid();
    request->progress = options->progress != NULL;
    request->options = *options;
    request->options.child_command = NULL;
    request->options.progress = NULL;
    request->options.context = NULL;
    CHECK(options->child_command != NULL, UNAVAILABLE, "no child processes here");
    size_t used = 0;
    for (int i = 0; options->child_command[i] != NULL; i++) {
        const size_t length = strlen(options->child_command[i]) + 1;
        CHECK(used + length <= sizeof request->command && i < STENCIL_CHILD_WORDS_MAX, INTERNAL,
              "the command of child processes is too long");
        memcpy(request->command + used, options->child_command[i], length);
        used += length;
        request->command_words = i + 1;
    }
    return STENCIL_OK;
}

/* How a child ended that gave no reply. */
static stencil_status no_reply(pid_t child, const char *name) {
    int how = 0;
    if (!has_ended(child, exit_grace_s, &how)) {
        end_child(child);
        FAIL(INTERNAL, "%s: its child process closed its channel without an answer", name);
    }
    CHECK(!WIFSIGNALED(how), INTERNAL, "%s: its child process was ended by signal %d (%s)", name,
          WTERMSIG(how), strsignal(WTERMSIG(how)));
    FAIL(INTERNAL, "%s: its child process ended with exit code %d and no answer", name,
         WIFEXITED(how) ? WEXITSTATUS(how) : -1);
}

/* The reply and its bytes; *missing: the child was gone before. */
static stencil_status receive(int channel, const char *name, stencil_child_reply *reply, void **answer,
                              bool *missing) {
    *missing = true;
    if (!stencil_child_receive(channel, reply, sizeof *reply))
        return STENCIL_OK;
    CHECK(reply->size == sizeof *reply && reply->answer_size <= ANSWER_MAX, INTERNAL,
          "%s: its child process answers in another format", name);
    *answer = malloc(reply->answer_size > 0 ? (size_t)reply->answer_size : 1);
    CHECK(*answer != NULL, NO_MEMORY, "no memory for the answer of a child process");
    *missing = !stencil_child_receive(channel, *answer, (size_t)reply->answer_size);
    return STENCIL_OK;
}

stencil_status stencil_child_ask(const stencil_bench_options *options, const char *name, double timeout_s,
                                 stencil_child_request *request, const void *question,
                                 stencil_child_reply *reply, void **answer, bool *timed_out) {
    int end[2] = {-1, -1}, how = 0;
    pid_t child;
    const double until_s = stencil_clock_s() + timeout_s;
    *answer = NULL;
    *timed_out = false;
    TRY(fill_request(options, request));
    TRY(make_channel(end));
    stencil_status status = start(options, name, end[1], &child);
    close(end[1]);
    if (status != STENCIL_OK) {
        close(end[0]);
        return status;
    }
    /* A child that is gone already is seen when its reply is missing. */
    if (stencil_child_send(end[0], request, sizeof *request))
        stencil_child_send(end[0], question, (size_t)request->question_size);
    bool missing = false;
    *timed_out = !wait_readable(end[0], until_s);
    if (!*timed_out)
        status = receive(end[0], name, reply, answer, &missing);
    close(end[0]);
    if (*timed_out || status != STENCIL_OK)
        end_child(child);
    else if (missing)
        status = no_reply(child, name);
    else if (!has_ended(child, exit_grace_s, &how))
        end_child(child);
    return status;
}

stencil_status stencil_bench_in_child(const stencil_bench_options *options, const char *name,
                                      double timeout_s, const void *question, size_t question_size,
                                      void *answer, size_t answer_size, bool *timed_out) {
    stencil_child_request request = {
        .kind = STENCIL_CHILD_CASE, .question_size = question_size, .answer_size = answer_size};
    stencil_child_reply reply;
    void *bytes;
    CHECK(question_size <= STENCIL_CHILD_QUESTION_MAX, INTERNAL, "%s: a question of %zu bytes", name,
          question_size);
    stencil_status status =
        stencil_child_ask(options, name, timeout_s, &request, question, &reply, &bytes, timed_out);
    if (status == STENCIL_OK && !*timed_out) {
        if (reply.status != STENCIL_OK)
            status = stencil_error_set(reply.status, __FILE__, __LINE__, "", "%s", reply.message);
        else if (reply.answer_size != answer_size)
            status = stencil_error_set(STENCIL_INTERNAL, __FILE__, __LINE__, "",
                                       "%s: an answer of another size", name);
        else
            memcpy(answer, bytes, answer_size);
    }
    free(bytes);
    return status;
}

/* A whole result, which a failed benchmark has as well. */
static stencil_status take_result(const char *name, const stencil_child_reply *reply, const void *bytes,
                                  stencil_bench_result *result) {
    if (reply->answer_size > 0) {
        json_error_t error;
        json_t *object = json_loadb(bytes, (size_t)reply->answer_size, 0, &error);
        CHECK(object != NULL, INTERNAL, "%s: its child process answers in another format: %s", name,
              error.text);
        stencil_bench_result_destroy(result);
        const stencil_status status = stencil_bench_result_read(object, result);
        json_decref(object);
        TRY(status);
        result->benchmark = name;
    }
    if (reply->status != STENCIL_OK)
        return stencil_error_set(reply->status, __FILE__, __LINE__, "", "%s", reply->message);
    return STENCIL_OK;
}

stencil_status stencil_bench_run_in_child(int index, const stencil_bench_options *options,
                                          const stencil_machine *machine, stencil_bench_result *result) {
    const char *name = stencil_bench_name(index);
    const double timeout_s = hang_least_s + hang_timeouts * options->timeout_s;
    stencil_child_request *request = calloc(1, sizeof *request);
    stencil_child_reply reply;
    void *bytes = NULL;
    bool timed_out = false;
    CHECK(request != NULL, NO_MEMORY, "no memory for a child process");
    request->kind = STENCIL_CHILD_WHOLE;
    request->machine = *machine;
    stencil_status status =
        stencil_child_ask(options, name, timeout_s, request, "", &reply, &bytes, &timed_out);
    free(request);
    if (status == STENCIL_OK && timed_out)
        status = stencil_error_set(STENCIL_INTERNAL, __FILE__, __LINE__, "",
                                   "%s hangs: its child process was ended after %.0f s", name, timeout_s);
    else if (status == STENCIL_OK)
        status = take_result(name, &reply, bytes, result);
    free(bytes);
    return status;
}

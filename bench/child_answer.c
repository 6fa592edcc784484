/* The answering end of a child process. */
#include "bench/child.h"

#include <errno.h>
#include <omp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* The words of the request's command, for questions that this process asks in turn. */
static const char *command[STENCIL_CHILD_WORDS_MAX + 1];

static void take_command(const stencil_child_request *request) {
    const char *word = request->command;
    for (int i = 0; i < request->command_words; i++, word += strlen(word) + 1)
        command[i] = word;
}

static void fill_reply(stencil_child_reply *reply, stencil_status status, size_t answer_size) {
    *reply = (stencil_child_reply){.size = sizeof *reply, .status = status, .answer_size = answer_size};
    if (status != STENCIL_OK)
        snprintf(reply->message, sizeof reply->message, "%s", stencil_error_last()->message);
}

static stencil_status send_reply(const stencil_child_reply *reply, const void *answer) {
    CHECK(stencil_child_send(STENCIL_BENCH_CHANNEL, reply, sizeof *reply) &&
              stencil_child_send(STENCIL_BENCH_CHANNEL, answer, (size_t)reply->answer_size),
          INTERNAL, "the process that asked is gone");
    return STENCIL_OK;
}

/* Tells whoever asked that there is no answer. */
static stencil_status refuse(const char *format, const char *name) {
    stencil_child_reply reply;
    fill_reply(&reply, stencil_error_set(STENCIL_USAGE, __FILE__, __LINE__, "", format, name), 0);
    return send_reply(&reply, "");
}

static stencil_status answer_case(const char *name, const stencil_child_request *request) {
    const stencil_benchmark *benchmark = stencil_benchmark_find(name, NULL);
    const bool on_cpu = request->options.backend == STENCIL_BACKEND_CPU;
    const stencil_bench_child_function child = benchmark == NULL ? NULL
                                               : on_cpu          ? benchmark->child_cpu
                                                                 : benchmark->child;
    if (child == NULL)
        return refuse("benchmark '%s' answers no questions", name);
    CHECK(request->question_size <= STENCIL_CHILD_QUESTION_MAX && request->answer_size <= INT32_MAX, USAGE,
          "a question or an answer is too large");
    void *question = calloc(1, (size_t)request->question_size + 1);
    void *answer = calloc(1, (size_t)request->answer_size + 1);
    stencil_child_reply reply;
    stencil_status status = STENCIL_OK;
    if (question == NULL || answer == NULL)
        status = stencil_error_set(STENCIL_NO_MEMORY, __FILE__, __LINE__, "", "no memory for a question");
    else if (!stencil_child_receive(STENCIL_BENCH_CHANNEL, question, (size_t)request->question_size))
        status = stencil_error_set(STENCIL_INTERNAL, __FILE__, __LINE__, "", "half a question");
    stencil_bench b = {.options = &request->options};
    if (status == STENCIL_OK)
        status = child(&b, question, (size_t)request->question_size, answer, (size_t)request->answer_size);
    stencil_bench_end(&b);
    fill_reply(&reply, status, status == STENCIL_OK ? (size_t)request->answer_size : 0);
    status = send_reply(&reply, answer);
    free(question);
    free(answer);
    return status;
}

static stencil_status answer_whole(const char *name, stencil_child_request *request) {
    int index;
    stencil_bench_result result = {0};
    stencil_child_reply reply;
    if (stencil_benchmark_find(name, &index) == NULL)
        return refuse("unknown benchmark '%s'", name);
    omp_set_num_threads(request->machine.cpu_threads);
    stencil_status status = stencil_bench_run_here(index, &request->options, &request->machine, &result);
    json_t *object = stencil_bench_result_json(&result);
    char *text = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    if (text == NULL && status == STENCIL_OK)
        status = stencil_error_set(STENCIL_NO_MEMORY, __FILE__, __LINE__, "", "no memory for a result");
    fill_reply(&reply, status, text != NULL ? strlen(text) : 0);
    status = send_reply(&reply, text);
    free(text);
    json_decref(object);
    stencil_bench_result_destroy(&result);
    return status;
}

stencil_status stencil_bench_child_main(const char *name, void (*progress)(void *context, const char *what)) {
    int type = 0;
    socklen_t size = sizeof type;
    CHECK(getsockopt(STENCIL_BENCH_CHANNEL, SOL_SOCKET, SO_TYPE, &type, &size) == 0, USAGE,
          "--child is for processes that the benchmarks start themselves");
    stencil_child_request *request = calloc(1, sizeof *request);
    CHECK(request != NULL, NO_MEMORY, "no memory for a question");
    stencil_status status = STENCIL_OK;
    if (!stencil_child_receive(STENCIL_BENCH_CHANNEL, request, sizeof *request) ||
        request->size != sizeof *request || request->command_words > STENCIL_CHILD_WORDS_MAX)
        status =
            stencil_error_set(STENCIL_USAGE, __FILE__, __LINE__, "", "--child: a question in another format");
    if (status == STENCIL_OK) {
        /* Nobody is left to end this process where the one that asks is killed, now or before. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != (pid_t)request->parent)
            _exit(EXIT_FAILURE);
        take_command(request);
        request->options.child_command = command;
        request->options.progress = request->progress ? progress : NULL;
        status =
            request->kind == STENCIL_CHILD_CASE ? answer_case(name, request) : answer_whole(name, request);
        /* Handlers of exit() would wait for kernels and threads that hang. */
        if (status == STENCIL_OK)
            _exit(EXIT_SUCCESS);
    }
    free(request);
    return status;
}

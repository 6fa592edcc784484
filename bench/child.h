/* Child processes: one question each. Internal to bench/. */
#ifndef STENCIL_BENCH_CHILD_H
#define STENCIL_BENCH_CHILD_H

#include "bench/benchmark.h"

/* A benchmark's table row by its name, and running it in this process (bench.c). */
const stencil_benchmark *stencil_benchmark_find(const char *name, int *index);
stencil_status stencil_bench_run_here(int index, const stencil_bench_options *options,
                                      const stencil_machine *machine, stencil_bench_result *result);

/* What a child is asked for. */
typedef enum stencil_child_kind { STENCIL_CHILD_CASE, STENCIL_CHILD_WHOLE } stencil_child_kind;

/* A question; both ends are the same program, so structures travel as they are. */
typedef struct stencil_child_request {
    uint32_t size; /* of this structure */
    stencil_child_kind kind;
    bool progress;
    int64_t parent; /* process */
    stencil_bench_options options;
    char command[1024]; /* child_command, each word ending in 0 */
    int command_words;
    uint64_t question_size, answer_size; /* of CASE */
    stencil_machine machine;             /* of WHOLE */
} stencil_child_request;

/* What comes back, in front of the answer's bytes. */
typedef struct stencil_child_reply {
    uint32_t size; /* of this structure */
    stencil_status status;
    char message[1024];
    uint64_t answer_size;
} stencil_child_reply;

enum { STENCIL_CHILD_QUESTION_MAX = 65536, STENCIL_CHILD_WORDS_MAX = 8 };

/* Starts a child for benchmark `name` and waits for its reply. *answer (owned by the caller, NULL where there
 * is none) is [reply->answer_size]. *timed_out: killed after timeout_s. INTERNAL: it ended without a reply,
 * and how. */
stencil_status stencil_child_ask(const stencil_bench_options *options, const char *name, double timeout_s,
                                 stencil_child_request *request, const void *question,
                                 stencil_child_reply *reply, void **answer, bool *timed_out);

/* Runs benchmark `index` in a child process. *result is set and destroyed by the caller. */
stencil_status stencil_bench_run_in_child(int index, const stencil_bench_options *options,
                                          const stencil_machine *machine, stencil_bench_result *result);

/* All of `size` bytes on a socket; false: the other end is gone. */
bool stencil_child_send(int fd, const void *bytes, size_t size);
bool stencil_child_receive(int fd, void *bytes, size_t size);

#endif

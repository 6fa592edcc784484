/* The process that reads an untrusted file: this program, executed anew, with limits on its memory and on its
 * time without progress. A damaged file that crashes libhdf5 ends only that process. This header has both
 * ends of the channel between the two; inputs/requests.h has the messages. */
#pragma once

#include <sys/types.h>

#include "inputs/inputs.h"
#include "inputs/requests.h"

/* Size of the shared memory window through which the reading process passes cells and numbers. */
enum { STENCIL_WINDOW_BYTES = 64 << 20 };

/* Stack of a thread of the reading process (OMP_STACKSIZE), which counts towards its memory limit. */
enum { STENCIL_READING_STACK_BYTES = 1 << 20 };

/* Starts a reading process for a file; `path`, used in messages, and `limits` are borrowed (NULL: defaults of
 * stencil_reading_limits). *reading stays NULL on failure. Errors: UNAVAILABLE where the system starts no
 * process. */
stencil_status stencil_reading_start(stencil_reading **reading, const char *path,
                                     const stencil_reading_limits *limits);

/* Sends a request to the reading process and waits for the answer; `ask` and `say` are the structures of that
 * request. `fd` is sent along unless negative. Errors: those of the reading process; BAD_DATA where it died,
 * stalled or gave an invalid answer; all further requests fail then. */
stencil_status stencil_reading_ask(stencil_reading *reading, stencil_request request, const void *ask,
                                   void *say, int fd);

/* Send a request to the reading process, and receive its answer, as separate calls with other work between
 * them. */
stencil_status stencil_reading_send(stencil_reading *reading, stencil_request request, const void *ask,
                                    int fd);
stencil_status stencil_reading_receive(stencil_reading *reading, stencil_request request, void *say);

/* Returns the window, memory that both processes share. */
void *stencil_reading_window(const stencil_reading *reading);

/* Raises the memory limit of the reading process for chunks of `bytes` bytes. */
void stencil_reading_allow(stencil_reading *reading, int64_t bytes);

/* Ends the reading process at once; NULL-safe. */
void stencil_reading_end(stencil_reading *reading);

/* Main loop of the reading process: answers requests until the channel closes. An answerer gets the
 * structures of its request, *say zeroed, the window, and the descriptor that was sent along, which is closed
 * afterwards. */
#define STENCIL_READING_WORD "reads-for-its-parent"
typedef struct stencil_call {
    const stencil_asks *ask;
    stencil_says *say;
    void *window;
    int fd; /* descriptor sent with the request; -1: none */
} stencil_call;
typedef stencil_status stencil_answerer(const stencil_call *call);
_Noreturn void stencil_reading_serve(char **argv, stencil_answerer *const answerers[STENCIL_REQUEST_COUNT]);

/* Record what the reading process is reading, for the parent's message after a crash, and how many bytes it
 * has read or written. No effect in other processes. */
void stencil_reading_at(const char *format, ...) __attribute__((format(printf, 1, 2)));
void stencil_reading_progress(size_t bytes);

/* Tells the reading process that a file of `bytes` bytes was opened; within a request, rereading that file
 * counts as progress only a few times. */
void stencil_reading_opened(int64_t bytes);

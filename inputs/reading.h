/* The process that reads an untrusted file: this program, executed anew, with limits on its memory and on its
 * time without progress. A damaged file that crashes libhdf5 ends only that process. This header has both
 * ends of the channel between the two; inputs/requests.h has the messages. */
#pragma once

#include "inputs/inputs.h"
#include "inputs/requests.h"

/* Size of the shared memory through which the reading process passes cells and numbers. */
enum { STENCIL_WINDOW_BYTES = 64 << 20 };

/* Stack of a thread of the reading process (OMP_STACKSIZE), which counts towards its memory limit. */
enum { STENCIL_READING_STACK_BYTES = 1 << 20 };

/* Starts a reading process for a file; `path`, used in messages, and `limits` are borrowed (NULL: defaults of
 * stencil_reading_limits). *reading stays NULL on failure. Errors: UNAVAILABLE where the system starts no
 * process. */
stencil_status stencil_reading_start(stencil_reading **reading, const char *path,
                                     const stencil_reading_limits *limits);

/* Sends a question to the reading process and waits for the answer. `fd` is sent along unless negative.
 * Errors: those of the reading process; BAD_DATA where it died, stalled or gave an invalid answer; all
 * further questions fail then. */
stencil_status stencil_reading_ask(stencil_reading *reading, const stencil_ask *ask, stencil_say *say,
                                   int fd);

/* Send a question to the reading process, and receive its answer, as separate calls: the caller can do other
 * work in between. */
stencil_status stencil_reading_send(stencil_reading *reading, const stencil_ask *ask, int fd);
stencil_status stencil_reading_receive(stencil_reading *reading, stencil_say *say);

/* Returns the shared memory through which the reading process passes cells and numbers. */
void *stencil_reading_window(const stencil_reading *reading);

/* Raises the memory limit of the reading process for chunks of `bytes` bytes. */
void stencil_reading_allow(stencil_reading *reading, int64_t bytes);

/* Ends the reading process at once; `reading` may be NULL. */
void stencil_reading_end(stencil_reading *reading);

/* Main loop of the reading process: `answer` answers questions until the channel closes. It gets *say zeroed,
 * the shared memory, and the descriptor sent with the question (-1: none), which is closed afterwards. */
#define STENCIL_READING_WORD "reads-for-its-parent"
typedef stencil_status stencil_answerer(const stencil_ask *ask, stencil_say *say, void *window, int fd);
_Noreturn void stencil_reading_serve(char **argv, stencil_answerer *answer);

/* Record what the reading process is reading, for the parent's message after a crash, and how many bytes it
 * has read or written. No effect in other processes. */
void stencil_reading_at(const char *format, ...) __attribute__((format(printf, 1, 2)));
void stencil_reading_progress(size_t bytes);

/* Tells the reading process that a file of `bytes` bytes was opened; within a request, rereading that file
 * counts as progress only a few times. */
void stencil_reading_opened(int64_t bytes);

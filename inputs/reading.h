/* The process that reads a file which is not trusted: this program, executed anew, with a limit on its memory
 * and on the time that it takes without progress. What a damaged file does to libhdf5 ends that process, not
 * this one. Both ends of the channel between them are here; inputs/requests.h has what is said over it. */
#pragma once

#include <sys/types.h>

#include "inputs/inputs.h"
#include "inputs/requests.h"

/* Cells and numbers are handed over in memory that both processes have, so many bytes of it at a time. */
enum { STENCIL_WINDOW_BYTES = 64 << 20 };

/* The stack of a thread there (OMP_STACKSIZE), which counts as its memory. */
enum { STENCIL_READING_STACK_BYTES = 1 << 20 };

/* Starts one for a file, whose name messages have (both borrowed; `limits` NULL: as stencil_reading_limits
 * says). UNAVAILABLE where the system starts none. NULL stays NULL on failure. */
stencil_status stencil_reading_start(stencil_reading **reading, const char *path,
                                     const stencil_reading_limits *limits);

/* Asks, and waits for the answer: `ask` and `say` are the structures of that request. `fd` goes along, unless
 * it is negative. Fails as the reading process did; BAD_DATA where it died, stood still or gave an answer
 * that cannot be one: then all further requests fail. */
stencil_status stencil_reading_ask(stencil_reading *reading, stencil_request request, const void *ask,
                                   void *say, int fd);

/* The two halves of it, for who has something to do meanwhile. */
stencil_status stencil_reading_send(stencil_reading *reading, stencil_request request, const void *ask,
                                    int fd);
stencil_status stencil_reading_receive(stencil_reading *reading, stencil_request request, void *say);

/* The memory that both have. */
void *stencil_reading_window(const stencil_reading *reading);

/* Lets it take so many bytes more than the limit, for chunks of that size. */
void stencil_reading_allow(stencil_reading *reading, int64_t bytes);

/* Ends it, whatever it is doing; NULL-safe. */
void stencil_reading_end(stencil_reading *reading);

/* The reading process: answers requests until the other end is gone. An answerer gets the structures of its
 * request, *say zeroed, the window, and the descriptor that came along, which is closed behind it. */
#define STENCIL_READING_WORD "reads-for-its-parent"
typedef struct stencil_call {
    const stencil_asks *ask;
    stencil_says *say;
    void *window;
    int fd; /* -1: none came */
} stencil_call;
typedef stencil_status stencil_answerer(const stencil_call *call);
_Noreturn void stencil_reading_serve(char **argv, stencil_answerer *const answerers[STENCIL_REQUEST_COUNT]);

/* Says there what is being read, for the message of the other end should it crash at that; and that so many
 * bytes were read or written. Elsewhere they do nothing. */
void stencil_reading_at(const char *format, ...) __attribute__((format(printf, 1, 2)));
void stencil_reading_progress(size_t bytes);

/* A file of that size was opened there: within a request, its bytes are progress only so often. */
void stencil_reading_opened(int64_t bytes);

/* The channel between a run and the process that reads for it: what both ends know of it. */
#pragma once

#include <stdatomic.h>

#include "base/status.h"
#include "inputs/requests.h"

/* The descriptor of the reading process that leads here. */
enum { STENCIL_CHANNEL = 3 };

#define STENCIL_SHARED_FAILED ((void *)-1) /* of shmat() */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STENCIL_IS_SANITIZED 1 /* their own memory is beyond any limit, and what they print is wanted */
#else
#define STENCIL_IS_SANITIZED 0
#endif

/* The head of the memory that both processes share; the window follows it. */
typedef struct stencil_board {
    _Atomic uint64_t progress;
    char at[256]; /* what is being read */
} stencil_board;
enum { STENCIL_BOARD_BYTES = 1 << 16 };

typedef struct stencil_head {
    uint32_t request, status;
    uint64_t bytes; /* behind it */
} stencil_head;

/* A kind of request: bytes of its question and of its answer, and whether it reads cells. */
typedef struct stencil_request_kind {
    const char *name;
    size_t ask, say;
    bool cells;
} stencil_request_kind;
extern const stencil_request_kind stencil_request_kinds[STENCIL_REQUEST_COUNT];

/* An answer, or the message of a failure. */
typedef union stencil_answer {
    stencil_says says;
    char message[sizeof((stencil_error *)NULL)->message];
} stencil_answer;

/* Sends a message whole, and a descriptor with it unless that is negative. False: the other end is gone. */
bool stencil_message_send(int channel, stencil_head what, const void *bytes, int fd);

/* Receives a message of `most` bytes at most behind its head; *fd (may be NULL) is what came with it, or -1.
 * False: it is none, and where the other end is gone, *what is as it was. */
bool stencil_message_receive(int channel, stencil_head *what, void *bytes, size_t most, int *fd);

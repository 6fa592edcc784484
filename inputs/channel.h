/* The channel between a run and its reading process: definitions that both ends share. */
#pragma once

#include <stdatomic.h>

#include "base/status.h"
#include "inputs/requests.h"

/* The channel's descriptor in the reading process. */
enum { STENCIL_CHANNEL = 3 };

#define STENCIL_SHARED_FAILED ((void *)-1) /* error value of shmat() */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STENCIL_IS_SANITIZED 1 /* sanitizers exceed any memory limit, and their output is wanted */
#else
#define STENCIL_IS_SANITIZED 0
#endif

/* The head of the memory that both processes share, followed by the window. */
typedef struct stencil_board {
    _Atomic uint64_t progress;
    char at[256]; /* text: what is being read */
} stencil_board;
enum { STENCIL_BOARD_BYTES = 1 << 16 };

typedef struct stencil_head {
    uint32_t request, status;
    uint64_t bytes; /* bytes of the message after this head */
} stencil_head;

/* A kind of request: bytes of its question and answer, and whether it reads cells. */
typedef struct stencil_request_kind {
    const char *name;
    size_t ask, say;
    bool cells;
} stencil_request_kind;
extern const stencil_request_kind stencil_request_kinds[STENCIL_REQUEST_COUNT];

/* An answer, or an error message. */
typedef union stencil_answer {
    stencil_says says;
    char message[sizeof((stencil_error *)NULL)->message];
} stencil_answer;

/* Sends a whole message, and with it a descriptor unless negative. False: the other process has ended. */
bool stencil_message_send(int channel, stencil_head what, const void *bytes, int fd);

/* Receives a message of up to `most` bytes after its head; *fd (may be NULL) is the descriptor sent with it,
 * or -1. False: the message is invalid, or (*what unchanged) the other process has ended. */
bool stencil_message_receive(int channel, stencil_head *what, void *bytes, size_t most, int *fd);

/* The channel between a run and the process that reads its input: definitions that both ends share. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The channel's descriptor in the reading process. */
enum { STENCIL_CHANNEL = 3 };

#define STENCIL_SHARED_FAILED ((void *)-1) /* value that shmat() returns on failure */

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || defined(STENCIL_THREAD_SANITIZER)
#define STENCIL_IS_SANITIZED 1 /* sanitizers exceed memory limits, and need stderr */
#else
#define STENCIL_IS_SANITIZED 0
#endif

/* The head of the memory that both processes share; cells and numbers follow. */
typedef struct stencil_board {
    _Atomic uint64_t progress;
    char at[256]; /* names what is being read, for messages */
} stencil_board;
enum { STENCIL_BOARD_BYTES = 1 << 16 };

/* Sends a message of `bytes` bytes, and with it a descriptor unless negative. False: the other process has
 * ended. */
bool stencil_message_send(int channel, const void *message, size_t bytes, int fd);

/* Receives a message; *fd (may be NULL) is the descriptor sent with it, or -1. Returns the message's bytes,
 * more than `most` where it was cut; 0 or negative: the other process has ended. */
ssize_t stencil_message_receive(int channel, void *message, size_t most, int *fd);

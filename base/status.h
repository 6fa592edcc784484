/* Status codes and the error record. Every function that can fail returns a stencil_status; the first place
 * that fails records what happened, and only app/main.c turns that into a message and an exit code. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* X(NAME, exit code after sysexits.h, meaning). INTERRUPTED: 128 + the signal, 130 for SIGINT. */
#define STENCIL_STATUS_LIST(X)                                                                               \
    X(OK, 0, "success")                                                                                      \
    X(DIFFERENT, 1, "files differ")                                                                          \
    X(USAGE, 64, "wrong use of the command line")                                                            \
    X(BAD_DATA, 65, "bad input data")                                                                        \
    X(NO_INPUT, 66, "input not found or not readable")                                                       \
    X(UNAVAILABLE, 69, "device not available")                                                               \
    X(INTERNAL, 70, "internal error")                                                                        \
    X(NO_MEMORY, 71, "out of memory")                                                                        \
    X(CANNOT_CREATE, 73, "cannot create the output")                                                         \
    X(IO, 74, "input/output error")                                                                          \
    X(INTERRUPTED, 130, "interrupted")

typedef enum stencil_status {
#define X(name, code, text) STENCIL_##name,
    STENCIL_STATUS_LIST(X)
#undef X
} stencil_status;

/* The error of this thread: set where a failure is first seen, kept until the next failure. */
typedef struct stencil_error {
    stencil_status status;
    const char *file;       /* source file that recorded the error */
    int line;               /* line of the source file */
    const char *expression; /* the failed expression, or "" */
    char message[1024];     /* one line for people: names the file or option and what to do */
} stencil_error;

const stencil_error *stencil_error_last(void);

int stencil_status_exit_code(stencil_status status);

/* Records an error for this thread and returns `status`. Called through the macros below. */
stencil_status stencil_error_set(stencil_status status, const char *file, int line, const char *expression,
                                 const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Records, for this thread, an error that another thread has recorded, and returns its status. */
stencil_status stencil_error_adopt(const stencil_error *error);

/* Returns the status of a called function when that function failed. */
#define TRY(call)                                                                                            \
    do {                                                                                                     \
        const stencil_status try_status_ = (call);                                                           \
        if (try_status_ != STENCIL_OK)                                                                       \
            return try_status_;                                                                              \
    } while (0)

/* Fails with STENCIL_<code> and a message unless the condition holds. */
#define CHECK(condition, code, ...)                                                                          \
    do {                                                                                                     \
        if (!(condition))                                                                                    \
            return stencil_error_set(STENCIL_##code, __FILE__, __LINE__, #condition, __VA_ARGS__);           \
    } while (0)

/* Records an error; the value of the expression is the error's status. */
#define ERROR(code, ...) stencil_error_set(STENCIL_##code, __FILE__, __LINE__, "", __VA_ARGS__)

#define FAIL(code, ...) return ERROR(code, __VA_ARGS__)

#ifdef __cplusplus
}
#endif

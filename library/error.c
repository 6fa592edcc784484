#include "library/inside.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_error[1024];

const char *stencil_last_error(void) {
    return last_error;
}

/* Copies a message without the dashes of options: "--sync grid" is "sync grid" where there is no command. */
static void take_message(const char *message) {
    size_t count = 0;
    for (const char *at = message; *at != '\0' && count + 1 < sizeof last_error; at++) {
        const bool begins = at == message || at[-1] == ' ' || at[-1] == '(';
        if (begins && at[0] == '-' && at[1] == '-' && islower((unsigned char)at[2]))
            at += 2;
        last_error[count++] = *at;
    }
    last_error[count] = '\0';
}

stencil_code_t stencil_code_of(stencil_status status) {
    if (status == STENCIL_OK)
        return STENCIL_DONE;
    take_message(stencil_error_last()->message);
    switch (status) {
    case STENCIL_USAGE:
    case STENCIL_BAD_DATA:
        return STENCIL_BAD_ARGUMENT;
    case STENCIL_UNAVAILABLE:
        return STENCIL_NOT_AVAILABLE;
    case STENCIL_NO_MEMORY:
        return STENCIL_OUT_OF_MEMORY;
    default:
        return STENCIL_FAILED;
    }
}

stencil_code_t stencil_code_fail(stencil_code_t code, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof last_error, format, arguments);
    va_end(arguments);
    return code;
}

stencil_status stencil_structure_take(void *to, size_t own, const void *from, const char *what) {
    size_t size = 0;
    memset(to, 0, own);
    if (from == NULL)
        return STENCIL_OK;
    memcpy(&size, from, sizeof size);
    CHECK(size >= sizeof size && size <= 4096, USAGE, "%s: its member `size` is %zu: set it to sizeof(%s)",
          what, size, what);
    memcpy(to, from, size < own ? size : own);
    for (size_t i = own; i < size; i++)
        CHECK(((const char *)from)[i] == 0, USAGE,
              "%s has members that version %s of the library does not know", what, STENCIL_VERSION);
    return STENCIL_OK;
}

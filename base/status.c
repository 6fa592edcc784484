#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>

static _Thread_local stencil_error last_error;

const stencil_error *stencil_error_last(void) {
    return &last_error;
}

int stencil_status_exit_code(stencil_status status) {
    static const int codes[] = {
#define X(name, code, text) [STENCIL_##name] = code,
        STENCIL_STATUS_LIST(X)
#undef X
    };
    return codes[status];
}

stencil_status stencil_error_set(stencil_status status, const char *file, int line, const char *expression,
                                 const char *format, ...) {
    last_error = (stencil_error){.status = status, .file = file, .line = line, .expression = expression};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error.message, sizeof last_error.message, format, arguments);
    va_end(arguments);
    return status;
}

stencil_status stencil_error_adopt(const stencil_error *error) {
    last_error = *error;
    return error->status;
}

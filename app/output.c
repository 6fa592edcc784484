#include "app/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int failed = 0; /* errno of the first failure */

void output_start(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) != -1 || errno != EBADF)
            continue;
        /* open() takes the lowest free number, which is fd. */
        const int opened = open("/dev/null", fd == STDERR_FILENO ? O_RDWR : O_RDONLY);
        if (opened < 0)
            return;
    }
}

void output_flush(void) {
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout) != 0) && failed == 0)
        failed = errno != 0 ? errno : EIO;
}

stencil_status output_check(void) {
    output_flush();
    CHECK(failed == 0 || failed == EPIPE, IO, "the report cannot be written to standard output: %s",
          strerror(failed));
    return STENCIL_OK;
}

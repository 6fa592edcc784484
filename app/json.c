#include "app/json.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/output.h"
#include "app/signals.h"
#include "app/text.h"
#include "inputs/sink.h"

enum { FORMAT = JSON_INDENT(2) | JSON_REAL_PRECISION(17) };

json_t *json_number(double value) {
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *json_numbers(const double *values, int64_t count) {
    json_t *array = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(array, json_number(values[i]));
    return array;
}

json_t *json_integers(const int64_t *values, int64_t count) {
    json_t *array = json_array();
    for (int64_t i = 0; i < count; i++)
        json_array_append_new(array, json_integer(values[i]));
    return array;
}

bool json_is_stdout(const char *target) {
    return target != NULL && strcmp(target, "-") == 0;
}

/* A pipe or a device is written to as it is: it cannot be replaced. */
static bool is_special(const char *target) {
    struct stat info;
    return stat(target, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

static stencil_status check_target(const char *target, bool force, const char *input) {
    if (target == NULL || json_is_stdout(target) || is_special(target))
        return STENCIL_OK;
    signals_hold();
    const stencil_status status = stencil_sink_check(target, force, input);
    signals_release();
    return status;
}

stencil_status json_check_target(const char *target, bool force, const char *input) {
    return text_prefix(check_target(target, force, input), "--json");
}

static stencil_status write_stream(FILE *out, const json_t *root, const char *name) {
    errno = 0;
    const bool failed = json_dumpf(root, out, FORMAT) != 0 || fputc('\n', out) == EOF || fflush(out) != 0;
    CHECK(!failed, IO, "cannot write '%s': %s", name, errno != 0 ? strerror(errno) : "write failed");
    return STENCIL_OK;
}

/* A descriptor of its own for the stream: closing it closes nothing else. */
static stencil_status write_descriptor(int fd, const json_t *root, const char *name) {
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    if (out == NULL && fd >= 0)
        close(fd);
    CHECK(out != NULL, CANNOT_CREATE, "cannot write '%s': %s", name, strerror(errno));
    const stencil_status status = write_stream(out, root, name);
    const bool closed = fclose(out) == 0;
    TRY(status);
    CHECK(closed, IO, "cannot write '%s': %s", name, strerror(errno));
    return STENCIL_OK;
}

static stencil_status write_file(const char *target, bool force, const json_t *root) {
    stencil_sink sink;
    TRY(stencil_sink_open_plain(&sink, target, force));
    const stencil_status status = write_descriptor(dup(sink.fd), root, target);
    if (status == STENCIL_OK)
        return stencil_sink_commit(&sink);
    stencil_sink_abort(&sink);
    return status;
}

static stencil_status write_target(const char *target, bool force, const json_t *root) {
    /* What does not arrive is found by output_check(). */
    if (json_is_stdout(target)) {
        json_dumpf(root, stdout, FORMAT);
        putchar('\n');
        output_flush();
        return STENCIL_OK;
    }
    if (is_special(target))
        return text_prefix(write_descriptor(open(target, O_WRONLY | O_CLOEXEC), root, target), "--json");
    signals_hold();
    const stencil_status status = write_file(target, force, root);
    signals_release();
    return text_prefix(status, "--json");
}

stencil_status json_write(const char *target, bool force, json_t *root) {
    stencil_status status = STENCIL_OK;
    if (target != NULL && root == NULL)
        status = stencil_error_set(STENCIL_NO_MEMORY, __FILE__, __LINE__, "", "--json %s: no memory for it",
                                   target);
    else if (target != NULL)
        status = write_target(target, force, root);
    json_decref(root);
    return status;
}

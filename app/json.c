#include "app/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "inputs/inputs.h"

enum { FORMAT = JSON_INDENT(2) | JSON_REAL_PRECISION(17), PATH_SIZE = 4096 };

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

stencil_status json_check_target(const char *target, bool force, const char *input) {
    if (target == NULL || json_is_stdout(target) || is_special(target))
        return STENCIL_OK;
    const stencil_output_options options = {.path = target, .input_path = input, .force = force};
    return stencil_output_prepare(&options);
}

static stencil_status write_stream(FILE *out, const json_t *root, const char *name) {
    errno = 0;
    const bool failed = json_dumpf(root, out, FORMAT) != 0 || fputc('\n', out) == EOF || fflush(out) != 0;
    CHECK(!failed || (out == stdout && errno == EPIPE), IO, "cannot write %s: %s", name,
          errno != 0 ? strerror(errno) : "cannot be written");
    return STENCIL_OK;
}

static stencil_status write_special(const char *target, const json_t *root) {
    FILE *out = fopen(target, "w");
    CHECK(out != NULL, CANNOT_CREATE, "cannot write '%s': %s", target, strerror(errno));
    const stencil_status status = write_stream(out, root, target);
    fclose(out);
    return status;
}

static stencil_status write_synced(const char *temporary, const char *target, const json_t *root) {
    FILE *out = fopen(temporary, "wx");
    CHECK(out != NULL, CANNOT_CREATE, "cannot write '%s': %s", target, strerror(errno));
    const stencil_status status = write_stream(out, root, target);
    const bool synced = fsync(fileno(out)) == 0;
    const bool closed = fclose(out) == 0;
    TRY(status);
    CHECK(synced && closed, IO, "cannot write '%s': %s", target, strerror(errno));
    CHECK(rename(temporary, target) == 0, CANNOT_CREATE, "cannot write '%s': %s", target, strerror(errno));
    return STENCIL_OK;
}

static stencil_status write_target(const char *target, const json_t *root) {
    if (json_is_stdout(target))
        return write_stream(stdout, root, "standard output");
    if (is_special(target))
        return write_special(target, root);
    char temporary[PATH_SIZE];
    const int length = snprintf(temporary, sizeof temporary, "%s.tmp-%ld", target, (long)getpid());
    CHECK(length < (int)sizeof temporary, CANNOT_CREATE, "%.64s…: the file name is too long", target);
    const stencil_status status = write_synced(temporary, target, root);
    if (status != STENCIL_OK)
        unlink(temporary);
    return status;
}

stencil_status json_write(const char *target, json_t *root) {
    stencil_status status = STENCIL_OK;
    if (target != NULL && root == NULL)
        status = stencil_error_set(STENCIL_NO_MEMORY, __FILE__, __LINE__, "", "%s: no memory for it", target);
    else if (target != NULL)
        status = write_target(target, root);
    json_decref(root);
    return status;
}

#include "app/result.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/signals.h"

static stencil_status open_output(result *result, const stencil_problem *problem) {
    signals_hold();
    const stencil_status status = stencil_output_open(&result->output, &result->options, problem);
    if (status == STENCIL_OK)
        signals_guard(stencil_output_temporary(result->output));
    signals_release();
    return status;
}

stencil_status result_open(result *result, const stencil_problem *problem) {
    const char *input = result->options.input_path, *dot = strrchr(input, '.');
    if (result->options.path == NULL) {
        const bool suffix = dot != NULL && dot > input && dot[-1] != '/' &&
                            (strcmp(dot, ".h5") == 0 || strcmp(dot, ".hdf5") == 0);
        const int length = (int)(suffix ? (size_t)(dot - input) : strlen(input));
        const int written = snprintf(result->name, sizeof result->name, "%.*s.out.h5", length, input);
        CHECK(written >= 0 && (size_t)written < sizeof result->name, USAGE,
              "the input's name is too long: give --output FILE");
        result->options.path = result->name;
    }
    return open_output(result, problem);
}

/* The directory of a name and its last part. */
static const char *split_name(const char *name, char directory[TEXT_NAME_SIZE]) {
    const char *slash = strrchr(name, '/');
    snprintf(directory, TEXT_NAME_SIZE, "%.*s", slash != NULL ? (int)(slash - name + 1) : 1,
             slash != NULL ? name : ".");
    return slash != NULL ? slash + 1 : name;
}

bool result_is_file(const result *result, const char *name) {
    const char *path = result->options.path;
    char directory[2][TEXT_NAME_SIZE];
    struct stat a, b;
    const bool same_name = strcmp(split_name(path, directory[0]), split_name(name, directory[1])) == 0;
    const bool found = (stat(path, &a) == 0 && stat(name, &b) == 0) ||
                       (same_name && stat(directory[0], &a) == 0 && stat(directory[1], &b) == 0);
    return found && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static stencil_status write_and_close(result *result, const stencil_problem *problem,
                                      const stencil_reader *from, const stencil_report *report) {
    const stencil_status status = stencil_output_write(result->output, problem, from, report);
    result_close(result);
    return status;
}

/* What hours have computed is not given up for one directory. */
static stencil_status rescue(result *result, const stencil_problem *problem, const stencil_reader *from,
                             const stencil_report *report) {
    const stencil_error seen = *stencil_error_last();
    const char *path = result->options.path, *slash = strrchr(path, '/');
    const char *last = slash != NULL ? slash + 1 : path, *temporary = getenv("TMPDIR");
    char directory[TEXT_NAME_SIZE], base[TEXT_NAME_SIZE], elsewhere[TEXT_NAME_SIZE];
    snprintf(directory, sizeof directory, "%.*s", (int)(last - path), path);
    snprintf(base, sizeof base, "%s", last);
    snprintf(elsewhere, sizeof elsewhere, "%s/",
             temporary != NULL && temporary[0] != '\0' ? temporary : "/tmp");
    const char *const place[] = {directory, "", elsewhere};
    result->options.path = result->name;
    result->options.force = false;
    for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
        const int length =
            snprintf(result->name, sizeof result->name, "%srescued-%ld-%s", place[i], (long)getpid(), base);
        if (length > 0 && (size_t)length < sizeof result->name &&
            open_output(result, problem) == STENCIL_OK &&
            write_and_close(result, problem, from, report) == STENCIL_OK)
            return text_append(stencil_error_adopt(&seen), result->name, "holds the complete result");
    }
    result->options.path = NULL;
    return stencil_error_adopt(&seen);
}

stencil_status result_write(result *result, const stencil_problem *problem, const stencil_reader *from,
                            const stencil_report *report) {
    signals_hold();
    stencil_status status = write_and_close(result, problem, from, report);
    if (status != STENCIL_OK)
        status = rescue(result, problem, from, report);
    signals_release();
    return status;
}

void result_close(result *result) {
    signals_hold();
    signals_guard(NULL);
    stencil_output_close(result->output);
    result->output = NULL;
    signals_release();
}

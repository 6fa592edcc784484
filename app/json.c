#include "app/json.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/signals.h"
#include "app/text.h"
#include "inputs/sink.h"

/* Format of JSON text. 17 digits give every double exactly; print_shortest() removes needless digits. */
enum { FORMAT = JSON_INDENT(2) | JSON_REAL_PRECISION(17) };

json_t *json_text(const char *text) {
    if (text == NULL || text[0] == '\0')
        return json_null();
    char *utf8 = text_utf8(text);
    json_t *string = utf8 != NULL ? json_string(utf8) : NULL;
    free(utf8);
    return string;
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

/* Opens a file to read; for a FIFO, waits up to WAIT_MS for a writer. */
static stencil_status open_to_read(const char *path, FILE **file) {
    enum { WAIT_MS = 5000 };
    struct stat info;
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct pollfd look = {.fd = fd, .events = POLLIN};
    *file = NULL;
    const bool silent =
        fd >= 0 && fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode) && poll(&look, 1, WAIT_MS) <= 0;
    if (fd >= 0 && !silent && fcntl(fd, F_SETFL, O_RDONLY) == 0)
        *file = fdopen(fd, "rb");
    const int why = errno;
    if (fd >= 0 && *file == NULL)
        close(fd);
    CHECK(!silent, NO_INPUT, "cannot be read: it is a FIFO, and nothing comes");
    CHECK(*file != NULL, NO_INPUT, "cannot be read: %s", strerror(why));
    return STENCIL_OK;
}

stencil_status json_read(const char *path, json_t **root) {
    json_error_t error;
    FILE *file;
    TRY(open_to_read(path, &file));
    errno = 0;
    *root = json_loadf(file, 0, &error);
    const int why = ferror(file) != 0 ? errno : 0;
    fclose(file);
    CHECK(*root != NULL || why == 0, NO_INPUT, "cannot be read: %s", strerror(why));
    CHECK(*root != NULL || json_error_code(&error) != json_error_out_of_memory, NO_MEMORY,
          "no memory for it");
    CHECK(*root != NULL, BAD_DATA, "no JSON: line %d: %s", error.line, error.text);
    return STENCIL_OK;
}

/* Kinds of JSON files: a file of a kind has all members member[]; the first has the text `value`, unless
 * NULL. */
static const struct {
    const char *member[3], *value, *what;
} kinds[] = {
    {{"kind"}, "wisdom", "wisdom: 'stencil wisdom FILE' shows it, --wisdom FILE of 'stencil run' uses it"},
    {{"kind"},
     "calibration",
     "a calibration, which runs on that device find by themselves: 'stencil calibrate "
     "--json' writes one that --machine reads"},
    {{"kind"}, "cluster", "the description of a cluster: --machine FILE of 'stencil plan' reads it"},
    {{"command"}, "verify", "what 'stencil verify --json' wrote for other programs: no command reads it"},
    {{"command"}, "compare", "what 'stencil compare --json' wrote for other programs: no command reads it"},
    {{"results", "options"}, NULL, "a report of 'stencil bench': 'stencil bench --from FILE' reads it"},
    {{"cpu", "gpus", "kernels"},
     NULL,
     "the description of a machine: --machine FILE of 'stencil plan' and 'stencil run' reads it"},
    {{"strong", "weak"},
     NULL,
     "what 'stencil plan --json' wrote of a cluster for other programs: no command reads it"},
    {{"plans"}, NULL, "what 'stencil plan --json' wrote for other programs: no command reads it"},
    {{"problem", "stop", "plan"},
     NULL,
     "the report of a run, which 'stencil run --json' wrote for other programs: no command reads it"},
    {{"traceEvents"}, NULL, "what --trace of 'stencil run' wrote: https://ui.perfetto.dev shows it"},
};

const char *json_what(const json_t *root) {
    const json_t *object = json_is_array(root) ? json_array_get(root, 0) : root;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *text = json_string_value(json_object_get(object, kinds[i].member[0]));
        bool all = kinds[i].value == NULL || (text != NULL && strcmp(text, kinds[i].value) == 0);
        for (int k = 0; k < 3 && kinds[i].member[k] != NULL; k++)
            all = all && json_object_get(object, kinds[i].member[k]) != NULL;
        if (all)
            return kinds[i].what;
    }
    return NULL;
}

bool target_is_stdout(const char *target) {
    return target != NULL && strcmp(target, "-") == 0;
}

/* Tells whether `target` is a pipe or a device, which is written to in place, not replaced. */
static bool is_special(const char *target) {
    struct stat info;
    return stat(target, &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode);
}

/* Tells whether two paths have the same file name in the same directory. */
static bool same_file(const char *a, const char *b) {
    const char *last_a = stencil_path_last(a), *last_b = stencil_path_last(b);
    struct stat first, second;
    return strcmp(last_a, last_b) == 0 && stat(TEXT_LONG("%.*s.", (int)(last_a - a), a), &first) == 0 &&
           stat(TEXT_LONG("%.*s.", (int)(last_b - b), b), &second) == 0 && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

stencil_status target_check_apart(const char *option, const char *path, const char *other, const char *what) {
    CHECK(path == NULL || other == NULL || target_is_stdout(path) || target_is_stdout(other) ||
              is_special(path) || !same_file(path, other),
          USAGE, "%s %s is the %s file too: give another name", option, path, what);
    return STENCIL_OK;
}

stencil_status target_check(const char *option, const char *target, bool force, const char *input) {
    if (target == NULL || target_is_stdout(target) || is_special(target))
        return STENCIL_OK;
    stencil_sink sink;
    signals_hold();
    const stencil_status status = stencil_sink_open(&sink, target, force, input, STENCIL_SINK_PLAIN);
    stencil_sink_close(&sink);
    signals_release();
    return text_prefix(status, option);
}

/* Prints to a stream made of descriptor `fd`, and closes both. */
static stencil_status write_and_close(int fd, target_printer print, const void *content, const char *name) {
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    CHECK(out != NULL, CANNOT_CREATE, "cannot write '%s': %s", name, strerror(errno));
    errno = 0;
    const bool failed = !print(out, content) || fflush(out) != 0;
    const int why = errno;
    const bool closed = fclose(out) == 0;
    CHECK(!failed, IO, "cannot write '%s': %s", name, why != 0 ? strerror(why) : "write failed");
    CHECK(closed, IO, "cannot write '%s': %s", name, strerror(errno));
    return STENCIL_OK;
}

stencil_status target_write(const char *option, const char *target, bool force, target_printer print,
                            const void *content) {
    if (target == NULL)
        return STENCIL_OK;
    /* Failures of standard output are found by output_check(). */
    if (target_is_stdout(target)) {
        print(stdout, content);
        output_flush();
        return STENCIL_OK;
    }
    if (is_special(target))
        return text_prefix(write_and_close(open(target, O_WRONLY | O_CLOEXEC), print, content, target),
                           option);
    stencil_sink sink;
    signals_hold();
    stencil_status status = stencil_sink_open(&sink, target, force, NULL, STENCIL_SINK_PLAIN);
    if (status == STENCIL_OK)
        status = write_and_close(dup(sink.fd), print, content, target);
    if (status == STENCIL_OK)
        status = stencil_sink_commit(&sink);
    stencil_sink_close(&sink);
    signals_release();
    return text_prefix(status, option);
}

/* Prints JSON text, its real numbers of 17 digits with the fewest digits that read back as the same value. */
static void print_shortest(FILE *out, const char *text) {
    bool quoted = false;
    for (size_t length; *text != '\0'; text += length) {
        const bool number = !quoted && strchr("-0123456789", *text) != NULL;
        quoted ^= *text == '"';
        length = number ? strspn(text, "+-.0123456789eE") : 1;
        length += quoted && *text == '\\'; /* the escaped character may be a quote */
        if (number && strcspn(text, ".eE") < length) {
            const char *shortest = TEXT_REAL(strtod(text, NULL));
            fprintf(out, "%s%s", shortest, strpbrk(shortest, ".e") != NULL ? "" : ".0");
        } else {
            fwrite(text, 1, length, out);
        }
    }
}

static bool print(FILE *out, const void *root) {
    /* Escapes (\u) mean the same to a JSON reader, and pass a stream that is converted to ASCII. */
    const size_t escapes = out == stdout && output_is_ascii() ? JSON_ENSURE_ASCII : 0;
    char *text = json_dumps(root, FORMAT | escapes);
    if (text == NULL)
        return false;
    print_shortest(out, text);
    free(text);
    return ferror(out) == 0 && fputc('\n', out) != EOF;
}

stencil_status json_write(const char *option, const char *target, bool force, json_t *root) {
    const stencil_status status = target != NULL && root == NULL
                                      ? ERROR(NO_MEMORY, "%s %s: no memory for it", option, target)
                                      : target_write(option, target, force, print, root);
    json_decref(root);
    return status;
}

/* stencil bench --plot: scripts, and gnuplot to run them. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/bench.h"
#include "app/target.h"
#include "app/text.h"

enum { GNUPLOT_MISSING = 127 };

static stencil_status file_name(char *path, size_t size, const char *directory, const char *benchmark,
                                bench_style style, const char *suffix) {
    const int length =
        snprintf(path, size, "%s/%s-%s.%s", directory, benchmark, bench_style_names[style], suffix);
    CHECK(length < (int)size, USAGE, "--plot: the name of the directory is too long");
    return STENCIL_OK;
}

stencil_status bench_plot_check(const char *directory, bool force, const char *const *name, int count) {
    static const char *const suffix[] = {"gp", "png"};
    char path[TEXT_NAME_SIZE], shown[TEXT_NAME_SIZE / 2];
    if (directory == NULL)
        return STENCIL_OK;
    CHECK(mkdir(directory, 0777) == 0 || errno == EEXIST, CANNOT_CREATE, "--plot: cannot make '%s': %s",
          text_escape(directory, shown, sizeof shown), strerror(errno));
    for (int i = 0; i < count; i++)
        for (int style = 0; style < BENCH_STYLE_COUNT; style++)
            for (int k = 0; k < 2; k++) {
                TRY(file_name(path, sizeof path, directory, name[i], (bench_style)style, suffix[k]));
                TRY(target_check("--plot", path, force, NULL));
            }
    return STENCIL_OK;
}

/* Runs gnuplot on a script in its directory, all quiet; *code is its exit code. */
static stencil_status run_gnuplot(const char *directory, const char *script, int *code) {
    const pid_t child = fork();
    CHECK(child >= 0, INTERNAL, "--plot: cannot start gnuplot: %s", strerror(errno));
    if (child == 0) {
        const int none = open("/dev/null", O_RDWR);
        char *const argv[] = {(char *)"gnuplot", (char *)script, NULL};
        if (none < 0 || dup2(none, 0) < 0 || dup2(none, 1) < 0 || dup2(none, 2) < 0 || chdir(directory) != 0)
            _exit(EXIT_FAILURE);
        execvp(argv[0], argv);
        _exit(errno == ENOENT || errno == EACCES ? GNUPLOT_MISSING : EXIT_FAILURE);
    }
    int how = 0;
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        ;
    *code = WIFEXITED(how) ? WEXITSTATUS(how) : EXIT_FAILURE;
    return STENCIL_OK;
}

/* The script as text; NULL where there is nothing to draw. Owned by the caller. */
static stencil_status make_script(const stencil_bench_result *result, bench_style style, char **text) {
    char png[256];
    size_t size = 0;
    bool drawn = false;
    *text = NULL;
    snprintf(png, sizeof png, "%s-%s.png", result->benchmark, bench_style_names[style]);
    FILE *memory = open_memstream(text, &size);
    CHECK(memory != NULL, NO_MEMORY, "no memory for a plot");
    const stencil_status status = bench_script_print(memory, result, style, png, &drawn);
    const bool whole = !ferror(memory);
    const bool closed = fclose(memory) == 0;
    if (status != STENCIL_OK || !drawn || !whole || !closed) {
        free(*text);
        *text = NULL;
    }
    TRY(status);
    CHECK(whole && closed, NO_MEMORY, "no memory for a plot");
    return STENCIL_OK;
}

static stencil_status plot(const stencil_bench_result *result, bench_style style, const char *directory,
                           bool force, bool *missing) {
    char path[TEXT_NAME_SIZE], shown[TEXT_NAME_SIZE / 2], *text;
    TRY(file_name(path, sizeof path, directory, result->benchmark, style, "gp"));
    TRY(make_script(result, style, &text));
    if (text == NULL)
        return STENCIL_OK;
    const stencil_status status = target_write("--plot", path, force, target_print_text, text);
    free(text);
    TRY(status);
    if (*missing)
        return STENCIL_OK;
    int code = 0;
    TRY(run_gnuplot(directory, path + strlen(directory) + 1, &code));
    *missing = code == GNUPLOT_MISSING;
    CHECK(code == 0 || *missing, INTERNAL, "--plot: gnuplot failed with exit code %d: run it on '%s'", code,
          text_escape(path, shown, sizeof shown));
    return STENCIL_OK;
}

stencil_status bench_plot(const bench_report *report, const char *directory, bool force, bool *missing) {
    *missing = false;
    for (int i = 0; i < report->count; i++)
        for (int style = 0; style < BENCH_STYLE_COUNT; style++)
            TRY(plot(&report->result[i], (bench_style)style, directory, force, missing));
    return STENCIL_OK;
}

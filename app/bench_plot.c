/* stencil bench --plot: plots drawn by plot.py, which is installed with this program. */
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/bench.h"
#include "app/json.h"
#include "app/text.h"

extern char **environ;

/* Finds plot.py: "DIR/../share/stencil/plot.py" for this program in DIR; build folders have a link there. */
static stencil_status find_script(char *path, size_t size) {
    static const char name[] = "../share/stencil/plot.py";
    const ssize_t length = readlink("/proc/self/exe", path, size - sizeof name);
    CHECK(length > 0, INTERNAL, "--plot: cannot tell where this program is: %s", strerror(errno));
    path[length] = '\0';
    strcpy(strrchr(path, '/') + 1, name);
    CHECK(access(path, R_OK) == 0, UNAVAILABLE, "--plot: '%s' is not there: install it with this program",
          path);
    return STENCIL_OK;
}

/* Returns the status for plot.py's exit (`how`); the last line that it printed is the reason of a failure. */
static stencil_status judge(int how, FILE *said) {
    char line[TEXT_NAME_SIZE / 2] = "";
    rewind(said);
    while (fgets(line, sizeof line, said) != NULL)
        ;
    line[strcspn(line, "\n")] = '\0';
    for (stencil_status status = STENCIL_USAGE; status <= STENCIL_INTERRUPTED; status++)
        if (WIFEXITED(how) && WEXITSTATUS(how) == stencil_status_exit_code(status))
            return stencil_error_set(status, __FILE__, __LINE__, "", "--plot: %s", line);
    CHECK(how == 0, INTERNAL, "--plot: plot.py failed: %s", line);
    return STENCIL_OK;
}

/* Runs plot.py with `input` as standard input and its output in `said`. */
static stencil_status run_script(const char *option, const char *directory, FILE *input, FILE *said) {
    char script[TEXT_NAME_SIZE];
    TRY(find_script(script, sizeof script));
    const char *const argv[] = {"python3", script, option, "--", directory, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int how = 0;
    CHECK(posix_spawn_file_actions_init(&actions) == 0, NO_MEMORY, "no memory for a plot");
    posix_spawn_file_actions_adddup2(&actions, fileno(input), STDIN_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, fileno(said), STDERR_FILENO);
    const int failed = posix_spawnp(&child, argv[0], &actions, NULL, (char *const *)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    CHECK(failed == 0, UNAVAILABLE,
          "--plot: cannot start python3 (%s), which draws with matplotlib (Debian: python3-matplotlib)",
          strerror(failed));
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        ;
    return judge(how, said);
}

stencil_status bench_plot(const stencil_bench_report *report, const char *option, const char *directory) {
    json_t *root = report != NULL ? stencil_bench_report_json(report) : json_object();
    FILE *input = tmpfile(), *said = tmpfile();
    stencil_status status = STENCIL_OK;
    if (input == NULL || said == NULL || json_dumpf(root, input, 0) != 0 || fflush(input) != 0)
        status = ERROR(IO, "--plot: cannot write a temporary file: %s", strerror(errno));
    else
        rewind(input);
    if (status == STENCIL_OK)
        status = run_script(option, directory, input, said);
    if (input != NULL)
        fclose(input);
    if (said != NULL)
        fclose(said);
    json_decref(root);
    return status;
}

/* Returns the number of a result among results of its benchmark: plots of the second are named "NAME-2". */
static int number_of(const stencil_bench_report *report, int result) {
    int number = 0;
    for (int i = 0; i <= result; i++)
        number += strcmp(report->result[i].benchmark, report->result[result].benchmark) == 0;
    return number;
}

stencil_status bench_plot_check(const stencil_bench_report *report, const char *directory, bool force) {
    static const char *const style[] = {"map", "lines", "box", "bars"};
    enum { STYLES = sizeof style / sizeof *style };
    char path[TEXT_NAME_SIZE];
    CHECK(mkdir(directory, 0777) == 0 || errno == EEXIST, CANNOT_CREATE, "--plot: cannot make '%s': %s",
          TEXT_ESCAPE(directory), strerror(errno));
    for (int i = 0; i < report->result_count * STYLES; i++) {
        const int number = number_of(report, i / STYLES);
        const int length =
            snprintf(path, sizeof path, "%s/%s%s-%s.png", directory, report->result[i / STYLES].benchmark,
                     number > 1 ? TEXT("-%d", number) : "", style[i % STYLES]);
        CHECK(length < (int)sizeof path, USAGE, "--plot: the name of the directory is too long");
        TRY(target_check("--plot", path, force, NULL));
    }
    return bench_plot(NULL, "--check", directory);
}

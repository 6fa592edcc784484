#include "app/script.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/text.h"

extern char **environ;

/* Finds a script: "DIR/../share/stencil/NAME" for this program in DIR; build folders have a link there. */
static stencil_status find_script(const script *s, char path[TEXT_NAME_SIZE]) {
    char name[64];
    const int room = snprintf(name, sizeof name, "../share/stencil/%s", s->name) + 1;
    const ssize_t length = readlink("/proc/self/exe", path, (size_t)(TEXT_NAME_SIZE - room));
    CHECK(length > 0, INTERNAL, "%s: cannot tell where this program is: %s", s->option, strerror(errno));
    path[length] = '\0';
    strcpy(strrchr(path, '/') + 1, name);
    CHECK(access(path, R_OK) == 0, UNAVAILABLE, "%s: '%s' is not there: install it with this program",
          s->option, path);
    return STENCIL_OK;
}

/* Returns the status for a script's exit (`how`); the last line that it printed is the reason of a failure.
 */
static stencil_status judge(const script *s, int how, FILE *said) {
    char line[TEXT_NAME_SIZE / 2] = "";
    rewind(said);
    while (fgets(line, sizeof line, said) != NULL)
        ;
    line[strcspn(line, "\n")] = '\0';
    for (stencil_status status = STENCIL_USAGE; status <= STENCIL_INTERRUPTED; status++)
        if (WIFEXITED(how) && WEXITSTATUS(how) == stencil_status_exit_code(status))
            return stencil_error_set(status, __FILE__, __LINE__, "", "%s: %s", s->option, line);
    CHECK(how == 0, INTERNAL, "%s: %s failed: %s", s->option, s->name, line);
    return STENCIL_OK;
}

static stencil_status run(const script *s, FILE *input, FILE *said) {
    char path[TEXT_NAME_SIZE];
    TRY(find_script(s, path));
    const char *argv[SCRIPT_ARGUMENTS_MAX + 4] = {"python3", "-B", path}; /* -B: no files beside it */
    for (int i = 0; i < SCRIPT_ARGUMENTS_MAX && s->argument[i] != NULL; i++)
        argv[3 + i] = s->argument[i];
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
          "%s: cannot start python3 (%s), which draws with matplotlib (Debian: python3-matplotlib)",
          s->option, strerror(failed));
    while (waitpid(child, &how, 0) < 0 && errno == EINTR)
        ;
    return judge(s, how, said);
}

stencil_status script_run(const script *s, FILE *input) {
    FILE *said = tmpfile();
    CHECK(said != NULL, IO, "%s: cannot write a temporary file: %s", s->option, strerror(errno));
    const stencil_status status = run(s, input, said);
    fclose(said);
    return status;
}

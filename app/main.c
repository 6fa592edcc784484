/* The `stencil` command: runs a subcommand, and turns its status into a line on stderr and an exit code. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/completion.h"
#include "app/signals.h"
#include "app/text.h"
#include "inputs/h5.h"
#include "kernels/cpu.h"

#ifdef STENCIL_HAVE_MPI
#include "mpi/mpi_world.h"
#endif

static const command *const commands[] = {
    &command_run,  &command_new,       &command_compare, &command_verify, &command_plan, &command_plot,
    &command_info, &command_calibrate, &command_wisdom,  &command_bench,  NULL,
};

/* Finds a subcommand by its name; NULL: none, with the most similar name in *nearest, if any. */
static const command *find_command(const char *name, const char **nearest) {
    stencil_nearest near = {.word = name};
    for (const command *const *c = commands; *c != NULL; c++) {
        if (strcmp((*c)->name, name) == 0)
            return *c;
        stencil_nearest_offer(&near, (*c)->name);
    }
    *nearest = near.name;
    return NULL;
}

static void print_overview(void) {
    fputs("Usage: stencil [run] [options] INPUT\n"
          "       stencil COMMAND [options] …\n"
          "\n"
          "Solves iterative stencil problems (Jacobi, heat, Poisson, any weights on a 2D or\n"
          "3D grid) on CPUs and NVIDIA GPUs, with interchangeable ways to keep the steps in\n"
          "order. Every way gives the same result to the last bit.\n"
          "\nCommands:\n",
          stdout);
    for (const command *const *c = commands; *c != NULL; c++)
        text_print_wrapped(stdout, (*c)->summary, printf("  %-10s ", (*c)->name), 13);
    fputs("  completion prints a script by which a shell completes commands, options and\n"
          "             values: source <(stencil completion bash); zsh, fish\n"
          "  help       the options of a command: stencil help COMMAND\n"
          "  version    of the program\n"
          "\nExamples:\n"
          "  stencil new p.h5 --problem poisson --size 129x129\n"
          "  stencil p.h5 --rtol 1e-10\n"
          "  stencil --sync grid --gpus 1 p.h5\n"
          "  stencil compare p.out.h5 other.out.h5\n"
          "\nExit codes:\n"
          "   0  converged, or all steps done    69  device not available\n"
          "   1  files differ                    70  barrier given up, internal error\n"
          "   2  not converged, or diverged      71  out of memory\n"
          "  64  wrong use                       73  cannot create the output\n"
          "  65  bad input data                  74  input/output error\n"
          "  66  no input                       75  time limit reached: resume\n"
          "                                    130  interrupted\n",
          stdout);
}

/* Returns the command line quoted for a shell, in UTF-8 for files and reports; owned by the caller, NULL
 * without memory. */
static char *join_command_line(int argc, char **argv) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (out == NULL)
        return NULL;
    fputs("stencil", out);
    for (int i = 1; i < argc; i++) {
        fputc(' ', out);
        text_put_quoted(out, argv[i]);
    }
    char *utf8 = fclose(out) == 0 ? text_utf8(text) : NULL;
    free(text);
    return utf8;
}

static void print_version(void) {
#if defined STENCIL_EMULATED
    static const char devices[] = "CPU, and GPUs that are emulated for tests";
#elif defined STENCIL_HAVE_CUDA
    static const char devices[] = "CPU and CUDA";
#else
    static const char devices[] = "CPU only, built without CUDA";
#endif
    printf("stencil %s (%s; HDF5 %s)\n", STENCIL_VERSION, devices, stencil_h5_version());
}

/* The start of the program: once, or by an MPI launcher as one of several processes. */
typedef struct start {
    long count;           /* processes; 1: this one alone */
    char names[160];      /* variables of the environment that say so, "A -u B" */
    stencil_world *world; /* they, where this build has the launcher's MPI; NULL: this process alone */
    bool runs;            /* a command runs, whose stages end by themselves in all ranks */
} start;

/* SLURM_NTASKS does not tell: in a batch script, which runs once, it is the number of the job's tasks. */
static void look_around(start *s) {
    static const char *const counts[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE",
                                         "SLURM_STEP_NUM_TASKS"};
    *s = (start){.count = 1};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const char *text = getenv(counts[i]);
        const long count = text != NULL ? strtol(text, NULL, 10) : 1;
        if (count > 1)
            stencil_text_add(s->names, sizeof s->names, "%s%s", s->names[0] != '\0' ? " -u " : "", counts[i]);
        s->count = count > s->count ? count : s->count;
    }
}

/* Refuses to run as one of several processes that do not know of each other: each would do all of the work.
 */
static stencil_status check_alone(const start *s) {
#ifdef STENCIL_HAVE_MPI
    static const char why[] = "the launcher is not of this build's MPI";
#else
    static const char why[] = "this program has no MPI";
#endif
    CHECK(s->count == 1 || s->world != NULL, USAGE,
          "started %ld times, and each would do the same: %s, start it once without mpirun or srun -n "
          "(--gpus N "
          "uses several GPUs); for tasks of their own, 'env -u %s stencil …'",
          s->count, why, s->names);
    return STENCIL_OK;
}

#ifdef STENCIL_HAVE_MPI
/* Ends all ranks where one has died or stands still. */
static void lose(stencil_world *world, int rank, double s) {
    const int exit_code = stencil_status_exit_code(STENCIL_INTERNAL);
    if (rank < 0) {
        fprintf(stderr, "stencil: a rank stands still as all %s, for more than %g s\n",
                world == NULL ? "begin" : "end", s);
        _Exit(exit_code);
    }
    fprintf(stderr, "stencil: rank %d has given no sign of life for more than %g s: all ranks end\n", rank,
            s);
    signals_clean();
    stencil_mpi_abort(world, exit_code);
}

/* Returns the seconds within which all ranks have to begin: those that --rank-timeout gives, before options
 * are read in earnest, else more than launchers take to start thousands of processes. */
static double begin_seconds(char *const *argv) {
    static const char name[] = "--rank-timeout";
    enum { USUAL_S = 300, LENGTH = sizeof name - 1 };
    double s = USUAL_S;
    for (; *argv != NULL; argv++)
        if (strncmp(*argv, name, LENGTH) == 0) {
            const char *text = (*argv)[LENGTH] == '=' ? *argv + LENGTH + 1 : argv[1];
            const double given = text != NULL ? strtod(text, NULL) : 0;
            s = given > 0 ? given : s;
        }
    return s;
}
#endif

/* Makes the processes of a launcher ranks of a world, of which rank 0 alone prints to standard output. */
static void join_world(start *s, char *const *argv) {
#ifdef STENCIL_HAVE_MPI
    if (s->count == 1)
        return;
    s->world = stencil_mpi_begin(lose, begin_seconds(argv));
    if (s->world != NULL && s->world->ranks == 1) { /* another launcher's processes, each alone */
        stencil_mpi_end(s->world);
        s->world = NULL;
    }
    if (!stencil_world_leads(s->world) && freopen("/dev/null", "w", stdout) == NULL)
        fclose(stdout);
#else
    (void)s;
    (void)argv;
#endif
}

/* Ends the program's part of a world. A rank whose error others do not know ends all of them. */
static int leave_world(start *s, stencil_status status, int exit_code) {
    const bool agreed = status == STENCIL_OK || s->world == NULL || s->world->knows_error;
    if (status != STENCIL_OK && (!agreed || stencil_world_leads(s->world)))
        /* The message stays on one line, whatever characters its file names have. */
        fprintf(stderr, "stencil: %s%s\n", agreed ? "" : TEXT("rank %d: ", s->world->rank),
                TEXT_ESCAPE(stencil_error_last()->message));
#ifdef STENCIL_HAVE_MPI
    if (!agreed)
        stencil_mpi_abort(s->world, exit_code);
    if (s->world != NULL)
        stencil_mpi_end(s->world);
#endif
    return exit_code;
}

/* Runs a command by rank 0, which the others wait for; returns its status, and its exit code, in all. */
static stencil_status run_first(invocation *call) {
    const command *command = call->command;
    CHECK(command->ranks != RANKS_NONE, USAGE,
          "'stencil %s' measures with one process: start it once, without mpirun or srun", command->name);
    const stencil_status status = stencil_world_leads(call->world) ? command->run(call) : STENCIL_OK;
    TRY(stencil_world_heed(call->world, status));
    stencil_world_tell(call->world, 0, &call->exit_code, sizeof call->exit_code);
    return STENCIL_OK;
}

/* Refuses ranks of which some alone are to print help, or the version. */
static stencil_status check_same_wish(const start *s, const invocation *call) {
    enum { HELP = 1, VERSION = 2, WORK = 4 };
    const uint64_t wish = call->help ? HELP : call->version ? VERSION : WORK;
    CHECK(stencil_world_any(s->world, wish) == wish, USAGE,
          "some ranks were asked for help or the version, others for work: start all ranks with the same "
          "command");
    return STENCIL_OK;
}

/* Runs a subcommand, whose options begin after `skipped` arguments. */
static stencil_status run_command(start *s, const command *command, int skipped, int argc, char **argv,
                                  int *exit_code) {
    invocation call = {.exit_code = 0, .world = s->world};
    void *values = calloc(1, command->values_size);
    char *line = join_command_line(argc, argv);
    stencil_status status = values == NULL || line == NULL
                                ? ERROR(NO_MEMORY, "no memory for the command line")
                                : options_parse(command, argv + skipped, values, &call);
    call.command_line = line;
    call.world = s->world;
    status = stencil_world_agree(s->world, status);
    if (status == STENCIL_OK)
        status = check_same_wish(s, &call);
    if (status == STENCIL_OK && call.help)
        options_print_help(stdout, command);
    else if (status == STENCIL_OK && call.version)
        print_version();
    else if (status == STENCIL_OK && (status = command->alone ? check_alone(s) : STENCIL_OK) == STENCIL_OK) {
        s->runs = command->ranks == RANKS_ALL;
        status = command->ranks == RANKS_ALL || s->world == NULL ? command->run(&call) : run_first(&call);
    }
    *exit_code = call.exit_code;
    free(line);
    free(values);
    return status;
}

/* Runs `stencil help`: prints help for all subcommands, or for a named subcommand. */
static stencil_status help(int argc, char **argv) {
    const char *name = argc > 0 ? argv[0] : "help";
    CHECK(argc <= 1, USAGE, "'%s' is one argument too many: usage: stencil help [COMMAND]", argv[1]);
    if (stencil_name_find(name, (const char *const[]){"help", "--help", "-h", "version", NULL}) >= 0) {
        print_overview();
        return STENCIL_OK;
    }
    const char *nearest = NULL;
    const command *command = find_command(name, &nearest);
    CHECK(command != NULL || nearest == NULL, USAGE, "unknown command '%s', did you mean '%s'?", name,
          nearest);
    CHECK(command != NULL, USAGE, "unknown command '%s': 'stencil help' lists the commands", name);
    options_print_help(stdout, command);
    return STENCIL_OK;
}

/* Refuses a word that is no file and resembles a subcommand, or that is followed by a file, as a misspelt
 * one. */
static stencil_status check_misspelt(const char *word, const char *nearest, const char *next) {
    if (strpbrk(word, "-./") != NULL || access(word, F_OK) == 0)
        return STENCIL_OK;
    CHECK(nearest == NULL, USAGE, "'%s' is neither a file nor a command, did you mean 'stencil %s'?", word,
          nearest);
    CHECK(next == NULL || next[0] == '-', USAGE,
          "'%s' is neither a file nor a command: 'stencil help' lists the commands", word);
    return STENCIL_OK;
}

/* Refuses ranks of which a launcher has started some with another command or version: they would wait for
 * each other without end. `first`: the first argument, or NULL. */
static stencil_status check_same(const start *s, const char *first) {
    static const char *const words[] = {"help",      "--help", "-h",         "version",
                                        "--version", "-V",     "completion", NULL};
    const char *nearest = NULL, *name = first != NULL ? first : "";
    const command *command = find_command(name, &nearest);
    struct {
        char command[32], version[32];
    } own = {{0}, {0}}, first_rank;
    if (stencil_world_alone(s->world))
        return STENCIL_OK;
    name = command != NULL ? command->name : stencil_name_find(name, words) >= 0 ? name : command_run.name;
    snprintf(own.command, sizeof own.command, "%s", name);
    snprintf(own.version, sizeof own.version, "%s", STENCIL_VERSION);
    first_rank = own;
    stencil_world_tell(s->world, 0, &first_rank, sizeof first_rank);
    const stencil_status status =
        memcmp(&own, &first_rank, sizeof own) == 0
            ? STENCIL_OK
            : ERROR(USAGE,
                    "it was started as 'stencil %s' of version %s, rank 0 as 'stencil %s' of %s: start "
                    "all ranks with the same command",
                    own.command, own.version, first_rank.command, first_rank.version);
    return stencil_world_agree(s->world, status);
}

/* Takes the instructions that are asked for. Errors: USAGE where this build or this CPU does not have them.
 */
static stencil_status take_instructions(void) {
    const char *name = getenv(STENCIL_CPU_ISA_VARIABLE);
    CHECK(name == NULL || stencil_cpu_take(name), USAGE,
          "%s=%s: this CPU and this build have %s%s%s: give one of these, or leave it out",
          STENCIL_CPU_ISA_VARIABLE, name, stencil_cpu_named("avx512") != NULL ? "avx512, " : "",
          stencil_cpu_named("avx2") != NULL ? "avx2, " : "", "baseline");
    return STENCIL_OK;
}

static stencil_status dispatch(start *s, int argc, char **argv, int *exit_code) {
    const char *first = argc > 1 ? argv[1] : NULL;
    TRY(check_same(s, first));
    TRY(take_instructions());
    CHECK(first != NULL, USAGE, "an input file is missing: 'stencil help' shows how it is used");
    if (stencil_name_find(first, (const char *const[]){"help", "--help", "-h", NULL}) >= 0)
        return help(argc - 2, argv + 2);
    if (stencil_name_find(first, (const char *const[]){"--version", "-V", "version", NULL}) >= 0) {
        print_version();
        return STENCIL_OK;
    }
    if (strcmp(first, "completion") == 0) {
        CHECK(argc <= 3, USAGE, "'%s' is one argument too many: usage: stencil completion bash|zsh|fish",
              argv[3]);
        return completion_print(argv[2], commands);
    }
    const char *nearest = NULL;
    const command *command = find_command(first, &nearest);
    if (command == NULL)
        TRY(check_misspelt(first, nearest, argv[2]));
    return command != NULL ? run_command(s, command, 2, argc, argv, exit_code)
                           : run_command(s, &command_run, 1, argc, argv, exit_code);
}

int main(int argc, char **argv) {
    start s;
    if (stencil_reading_is_asked(argc, argv))
        stencil_reading_answer(argv);
    look_around(&s);
    join_world(&s, argv);
    output_start();
    signals_start();
    int exit_code = 0;
    stencil_status status = dispatch(&s, argc, argv, &exit_code);
    if (status == STENCIL_OK)
        status = stencil_world_heed(s.world, output_check());
    else if (!s.runs) /* all ranks read the same command line */
        status = stencil_world_agree(s.world, status);
    if (status != STENCIL_OK)
        exit_code = stencil_status_exit_code(status);
    if (status == STENCIL_INTERRUPTED)
        exit_code = 128 + signals_caught;
    return leave_world(&s, status, exit_code);
}

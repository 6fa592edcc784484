/* Subcommands and tables of their options. A row of such a table says how an option is written, what it
 * accepts, where its value is stored and what --help prints about it. */
#pragma once

#include <stdio.h>

#include "base/words.h"
#include "base/world.h"
#include "inputs/inputs.h"
#include "solver/problem/problem.h"

enum { OPTION_OPERANDS_MAX = 16, OPTION_GIVEN_MAX = 64, THREADS_MAX = 4096 };

/* Types of option values. A value that was not given is 0, or as its type's comment has in brackets. */
typedef enum option_type {
    OPTION_FLAG,    /* bool, or int that counts how often the option was given; takes no value */
    OPTION_TEXT,    /* const char *; points into argv */
    OPTION_NAME,    /* const char *: one of the choices */
    OPTION_WORD,    /* char[]: one of the choices */
    OPTION_INTEGER, /* int, int64_t or an unsigned integer of these sizes: minimum … maximum */
    OPTION_REAL,    /* double (NaN): finite and not negative, or positive; 0 only where 0 is written; the word
                       "none" gives NaN */
    OPTION_CHOICE,  /* int: index among the choices */
    OPTION_SIZE,    /* int64_t[3]: NXxNY or NXxNYxNZ, in array order */
    OPTION_DEVICES, /* int[]: "N" gives devices 0 to N - 1, a list as "0,2" or "2," the listed devices */
    OPTION_TYPE_COUNT
} option_type;

typedef struct option {
    const char *name; /* without dashes; a row without name, heading and table ends a table */
    char letter;      /* short form, or 0 */
    option_type type;
    size_t offset, size;        /* place of the value in the table's structure: OPTION_AT() */
    const char *argument;       /* name of the value in --help; NULL for flags */
    const char *help;           /* a sentence without full stop */
    const char *preset;         /* value that is parsed where the option is not given; NULL: none */
    const char *old_name;       /* earlier name that is still accepted; NULL: none */
    const char *needs;          /* name of the option without which this one has no effect; NULL: none */
    const char *contradicts[2]; /* options ("output") or options with a value ("device cpu") */
    const char *because;        /* why options contradict each other; NULL: "give one of them" */
    int64_t minimum, maximum;   /* limits of the value; OPTION_REAL: only `maximum`, 0: none */
    int most;            /* OPTION_INTEGER, _REAL, _CHOICE: most values in a comma list; 0: a single value */
    size_t count_offset; /* offset of the int that counts the values of a list */
    bool positive;       /* OPTION_REAL: 0 is not allowed */
    bool none;           /* OPTION_REAL: the word "none" is allowed */
    bool numbered;       /* OPTION_WORD: ":" and a number may follow, which the command checks */
    bool automatic;      /* OPTION_INTEGER, _NAME: the word "auto" is allowed, as 0 or NULL */
    const char *const *names;   /* choices that are accepted, "" skipped, NULL after the last one */
    const char *const *renamed; /* choices that were renamed: old name, new name, …, NULL */
    unsigned tag;               /* number that the command may use as it likes */
    /* Reads the value into the table's structure, in place of what `type` says; NULL: the type says it. */
    stencil_status (*read)(const char *text, void *structure);
    /* Set in rows without a name. heading: printed by --help above the rows that follow ("": these rows are
     * not shown). table: rows of a structure that lies at `offset`. */
    const char *heading;
    const struct option *table;
} option;
#define OPTION_AT(structure, member) offsetof(structure, member), sizeof((structure *)NULL)->member
#define OPTION_IN(structure, member)                                                                         \
    .offset = offsetof(structure, member), .size = sizeof((structure *)NULL)->member

typedef struct invocation invocation;

/* A subcommand. */
typedef struct command {
    const char *name;
    const char *usage;   /* what follows "stencil ", e.g. "compare [options] A B" */
    const char *summary; /* a phrase that says what the command does */
    const char *details; /* paragraphs (divided by '\n') for --help, or NULL */
    const option *options;
    size_t values_size; /* size of the command's state: its options, then zeros */
    int operand_min, operand_max;
    bool alone; /* writes files or times the machine: must not be started as several processes without MPI */
    enum {
        RANKS_FIRST, /* of several ranks the first one runs the command, and the others wait */
        RANKS_ALL,   /* all of them make one run */
        RANKS_NONE   /* it is refused */
    } ranks;
    stencil_status (*run)(invocation *call); /* runs the command; may set call->exit_code */
} command;

extern const command command_run, command_new, command_compare, command_verify, command_info, command_bench,
    command_calibrate, command_plan, command_plot, command_wisdom;

/* An option on the command line. */
typedef struct option_given {
    const option *option;
    void *structure;  /* structure that the option's table describes */
    const char *text; /* last value that was given; NULL for flags */
    bool as_old;      /* the option was given by its old name */
} option_given;

/* A parsed command line. */
struct invocation {
    const command *command;
    void *values; /* the command's state; released after the command */
    int operand_count;
    const char *operand[OPTION_OPERANDS_MAX];
    bool help, version; /* --help or -h, --version or -V was met; no later argument was read */
    int given_count;
    option_given given[OPTION_GIVEN_MAX]; /* options that were given, each once */
    const char *command_line;             /* the whole command line, quoted for a shell; set by main.c */
    char *const *argv;                    /* arguments to read; NULL after the last one */
    int at;                               /* index in argv of the argument that is being read */
    int exit_code;                        /* exit code of a command that returns STENCIL_OK */
    stencil_world *world;                 /* ranks that a launcher has started; NULL: this process alone */
};

/* Reads argv up to NULL (options and operands in any order, "--" ends the options) into `values`
 * (values_size bytes) and *call. Of equal options the last one wins. Errors: USAGE, whose message names the
 * option and what it accepts. */
stencil_status options_parse(const command *command, char **argv, void *values, invocation *call);

/* Tells whether an option was given ("device"), or given with a value ("device cpu"). */
bool options_given(const invocation *call, const char *what);

/* Tells whether a table of options, or a table nested in it, has the option `wanted`. */
bool options_has(const option *table, const option *wanted);

/* Calls visit(context, option) for each option of a command that --help shows, in that order. */
void options_each(const command *command, void (*visit)(void *context, const option *option), void *context);

/* Stores the values of a table's options that were given in another structure of the type that the table
 * describes. */
stencil_status options_apply(const invocation *call, const option *table, void *structure);

/* Help text of the option --field. */
#define FIELD_HELP                                                                                           \
    "dataset in the root group that u is, before and after (default: the one that the attribute field "      \
    "names, else /u)"

/* Options for reading input files, zero where not given. */
typedef struct reading_options {
    double timeout_s[2];
    int timeout_count;
    int64_t memory_mib;
} reading_options;
extern const option reading_option_table[];
#define READING_OPTIONS(structure, member)                                                                   \
    .table = reading_option_table, .offset = offsetof(structure, member)

/* Returns options for stencil_input_open(); field: the value of --field, NULL where it is not given. */
stencil_input_options reading_options_of(const reading_options *options, const char *field);

/* Options that state a problem, with offsets into stencil_spec (problem_options.c). `run`, where they
 * override the input file, `new`, which stores them in a file, and `bench` have the same. */
extern const option problem_option_table[];
extern const option stop_option_table[];

/* Overrides *spec with the options that were given. A problem replaces a stencil, its points and weights, and
 * a stencil replaces a problem. Errors: USAGE where a list does not suit spec->rank (0: not known yet), or an
 * option has no effect on the problem that *spec then states. */
stencil_status problem_options_apply(const invocation *call, stencil_spec *spec);

/* The option --threads. Where it is not given, threads_default() returns OMP_NUM_THREADS, else the number of
 * processors that the process may use; threads_default_why() returns the reason for that number, such as
 * "affinity: 2 of 64 processors". Both are called before threads_start(). */
#define THREADS_OPTION(structure, member)                                                                    \
    .name = "threads", .letter = 'j', .type = OPTION_INTEGER, OPTION_IN(structure, member), .argument = "N", \
    .help = "CPU threads (default: OMP_NUM_THREADS, or one for each processor that it may use)",             \
    .minimum = 1, .maximum = THREADS_MAX
enum { THREADS_WHY_SIZE = 96 };
int64_t threads_default(void);
const char *threads_default_why(char text[THREADS_WHY_SIZE]);

/* The option --rank-timeout, for a member of a command's values. */
#define RANK_TIMEOUT_OPTION(structure, member)                                                               \
    .name = "rank-timeout", .type = OPTION_REAL, OPTION_IN(structure, member), .argument = "S",              \
    .help = "under mpirun: a rank that stands still for longer than this, or is gone, ends all, exit code "  \
            "70; a rank that reads, writes or computes for long does not stand still",                       \
    .preset = "60", .maximum = 1000000, .positive = true

/* Adds a note where `threads` is larger than the number of processors that the process may use. */
void threads_note(int64_t threads, stencil_notes *notes);

/* Makes OpenMP use `count` threads, the value of --threads (0: threads_default()), and starts them. Called
 * before the first parallel region. Errors: NO_MEMORY where the system does not start as many threads, USAGE
 * where OMP_NUM_THREADS is above THREADS_MAX, where OpenMP would end the process (threads.c). */
stencil_status threads_start(int64_t count);

/* Prints the --help text of a command, 80 columns wide. */
void options_print_help(FILE *out, const command *command);

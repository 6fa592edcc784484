/* Subcommands, and their options as tables: one row says how an option is written, what it accepts, where
 * its value goes and what --help prints about it. */
#pragma once

#include <stdio.h>

#include "base/words.h"
#include "inputs/inputs.h"
#include "solver/problem/problem.h"

enum { OPTION_OPERANDS_MAX = 16, OPTION_GIVEN_MAX = 64, THREADS_MAX = 4096 };

/* Type of the value behind an option: 0, or in brackets what stands there when it was not given. */
typedef enum option_type {
    OPTION_FLAG,    /* bool, or int: how often it stands there; takes no value */
    OPTION_TEXT,    /* const char *; points into argv */
    OPTION_NAME,    /* const char *: one of the choices */
    OPTION_WORD,    /* char[]: likewise */
    OPTION_INTEGER, /* int, int64_t, or an unsigned one as large: minimum … maximum */
    OPTION_REAL,   /* double (NaN): finite, not negative, or positive, and 0 only where 0 is written; the word
                      "none" is NaN, too */
    OPTION_CHOICE, /* int: index among the choices */
    OPTION_SIZE,   /* int64_t[3]: NXxNY or NXxNYxNZ, in array order */
    OPTION_DEVICES, /* int[]: N for devices 0 to N - 1, a list "0,2" or "2," for those */
    OPTION_TYPE_COUNT
} option_type;

typedef struct option {
    const char *name; /* without dashes; a row without one, heading and table ends a table */
    char letter;      /* short form, or 0 */
    option_type type;
    size_t offset, size;        /* of the value in the table's structure: OPTION_AT() */
    const char *argument;       /* name of the value in --help; NULL for flags */
    const char *help;           /* a sentence without full stop */
    const char *preset;         /* parsed where the option is not given; NULL: none */
    const char *old_name;       /* accepted, too; NULL: none */
    const char *needs;          /* name of the option without which this one has no effect; NULL: none */
    const char *contradicts[2]; /* options ("output") or options with a value ("device cpu") */
    const char *because;        /* why they do; NULL: "give one of them" */
    int64_t minimum, maximum;   /* OPTION_REAL: only `maximum`, 0: none */
    int most;                   /* OPTION_INTEGER, _REAL, _CHOICE: so many, divided by commas; 0: one alone */
    size_t count_offset;        /* where there can be several: of their number, an int */
    bool positive;              /* OPTION_REAL: 0 is not allowed */
    bool none;                  /* OPTION_REAL: the word "none" is allowed */
    bool numbered;              /* OPTION_WORD: ":" and a number may follow, which its owner judges */
    bool automatic;             /* OPTION_INTEGER, _NAME: the word "auto" is allowed, as 0 or NULL */
    const char *const *names;   /* that a choice accepts, "" left out, NULL behind the last one */
    const char *const *renamed; /* choices that had another name: the old one, the new one, …, NULL */
    unsigned tag;               /* the command's own */
    /* Instead of a name: what the rows behind it have above them in --help ("": they are not shown), and a
     * table of rows whose structure lies at `offset`. */
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
    const char *summary; /* one phrase */
    const char *details; /* paragraphs (divided by '\n') for --help, or NULL */
    const option *options;
    size_t
        values_size; /* of the structure that the options fill, or begins with it; the rest of it is zero */
    int operand_min, operand_max;
    bool alone; /* it writes files or times the machine: no process may do the same beside it */
    /* Does the work; *exit_code (0 before) is used where the status is OK. */
    stencil_status (*run)(const invocation *call, int *exit_code);
} command;

extern const command command_run, command_new, command_compare, command_verify, command_info, command_bench,
    command_calibrate, command_plan, command_wisdom;

/* Exit code of a run that ended without what was asked of it. */
enum { EXIT_NOT_CONVERGED = 2 };

/* An option on the command line. */
typedef struct option_given {
    const option *option;
    void *structure;  /* of its table */
    const char *text; /* its last value; NULL for flags */
    bool as_old;      /* by its old name */
} option_given;

/* A parsed command line. */
struct invocation {
    const command *command;
    void *values; /* values_size bytes; released behind the command */
    int operand_count;
    const char *operand[OPTION_OPERANDS_MAX];
    bool help, version; /* --help or -h, --version or -V was met; nothing behind it was read */
    int given_count;
    option_given given[OPTION_GIVEN_MAX]; /* each once */
    const char *command_line;             /* all of it, quoted for a shell; set by main.c */
    char *const *argv;                    /* what was read; NULL behind the last one */
    int at;                               /* where reading stands there */
};

/* Reads argv up to NULL (options and operands in any order, "--" ends the options) into `values`
 * (values_size bytes) and *call. The last one of equal options wins. USAGE with a message that names the
 * option and what it accepts. */
stencil_status options_parse(const command *command, char **argv, void *values, invocation *call);

/* Tells whether an option was given ("device"), or given with a value ("device cpu"). */
bool options_given(const invocation *call, const char *what);

/* Tells whether an option stands in a table, or in a table that this one contains. */
bool options_has(const option *table, const option *wanted);

/* Puts the options of a table that were given into another structure of the table's kind. What could be read
 * once can be read again. */
stencil_status options_apply(const invocation *call, const option *table, void *structure);

/* --field, whose TEXT it is: NULL where it is not given. */
#define FIELD_HELP                                                                                           \
    "dataset in the root group that u is, before and after (default: the one that the attribute field "      \
    "names, else /u)"

/* Options of reading, zero where nothing is given (reading_options.c). */
typedef struct reading_options {
    double timeout_s[2];
    int timeout_count;
    int64_t memory_mib;
} reading_options;
extern const option reading_option_table[];
#define READING_OPTIONS(structure, member)                                                                   \
    .table = reading_option_table, .offset = offsetof(structure, member)

/* For stencil_input_open(), with the value of --field (NULL: none is given). */
stencil_input_options reading_options_of(const reading_options *options, const char *field);

/* Options that state a problem: the same for `run`, where they override the file, for `new`, where they are
 * stored in it, and for `bench`. Tables with offsets into stencil_spec; problem_options.c. */
extern const option problem_option_table[];
extern const option stop_option_table[];

/* Overrides *spec with the options that were given. A problem replaces a stencil, its points and weights, and
 * a stencil replaces a problem. USAGE: a list does not suit spec->rank (0: not known yet), or an option has
 * no effect on the problem that *spec then states. */
stencil_status problem_options_apply(const invocation *call, stencil_spec *spec);

/* Threads where --threads is not given: as OMP_NUM_THREADS says, else one for each processor that the process
 * has the use of; and why so many, "affinity: 2 of 64 processors" (returned). Asked before threads_start().
 */
#define THREADS_OPTION(structure, member)                                                                    \
    .name = "threads", .letter = 'j', .type = OPTION_INTEGER, OPTION_IN(structure, member), .argument = "N", \
    .help = "CPU threads (default: OMP_NUM_THREADS, or one for each processor that it may use)",             \
    .minimum = 1, .maximum = THREADS_MAX
enum { THREADS_WHY_SIZE = 96 };
int64_t threads_default(void);
const char *threads_default_why(char text[THREADS_WHY_SIZE]);

/* Notes that so many threads are more than the process has processors for. */
void threads_note(int64_t threads, stencil_notes *notes);

/* Makes OpenMP use `count` threads, the value of --threads, and starts them; 0: threads_default(). NO_MEMORY
 * where the system does not start as many, USAGE where OMP_NUM_THREADS is above THREADS_MAX: OpenMP itself
 * would end the process. Called before the first parallel region; threads.c. */
stencil_status threads_start(int64_t count);

/* Prints the help of a command at 80 columns. */
void options_print_help(FILE *out, const command *command);

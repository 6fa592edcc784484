/* Resuming a run: `run --resume FILE` goes on from a checkpoint, or a result, with its options. */
#pragma once

#include <sys/stat.h>

#include "app/options.h"

/* The file that a run goes on from. */
typedef struct resumption {
    char path[PATH_MAX];     /* the file: the one asked for, or the checkpoint before it */
    char output[PATH_MAX];   /* result of the run: of a checkpoint its name beside it, of a result itself */
    bool in_place;           /* the file is the result itself */
    bool fell_back;          /* `path` is the checkpoint before the one asked for, which is damaged */
    struct stat seen;        /* the file as it was opened */
    stencil_provenance made; /* how the file was made */
    char options[4096];      /* option words of the file, each ended by a zero; argv points to them */
    char **argv;             /* these options, then those of the command line; owned */
} resumption;

/* Reads the options that the file call->operand[0] records, and parses the command line again, with these
 * before it. A file whose cells are not those that its digest is of is refused; for a checkpoint the one
 * before is taken then, and a line on standard error says so. *resumed is freed by resume_end(), also after
 * a failure. `reading` and `threads` are options as they stand on the command line. Errors: BAD_DATA,
 * NO_INPUT, USAGE. */
stencil_status resume_begin(resumption **resumed, invocation *call, const reading_options *reading,
                            int64_t threads);
void resume_end(resumption *resumed);

/* Checks, before anything of a file is read, that no run is under way whose checkpoint or result it is.
 * Errors: CANNOT_CREATE. */
stencil_status resume_check_idle(const char *path);

/* Tells whether the result `output` exists, and is newer than the file that the run goes on from. */
bool resume_is_superseded(const resumption *resumed, const char *output);

/* Checks that the file is still the one that was read, after the name of the result was claimed: the run that
 * had it may have ended since. NULL: nothing to check. Errors: BAD_DATA. */
stencil_status resume_check_unchanged(const resumption *resumed);

/* Writes the options that a checkpoint records, a line each: those given with that tag, and --force where
 * `force`. */
stencil_status resume_options_text(const invocation *call, unsigned tag, bool force, char text[4096]);

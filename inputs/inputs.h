/* Problems on disk: HDF5 files in, HDF5 files out. The format is written down in docs/format.md. */
#pragma once

#include "base/words.h"
#include "inputs/sink.h"
#include "inputs/values.h"
#include "solver/problem/problem.h"
#include "solver/run/report.h"

/* Most steps of a run, and most steps between two looks at the residual. */
#define STENCIL_STEPS_MAX INT64_C(1000000000000000)

/* A file is read by a process of its own, see inputs/reading.h. Zero-initialise for the values in brackets.
 */
typedef struct stencil_reading_limits {
    double headers_s, cells_s; /* without progress: for what describes a problem [5], for its numbers [30] */
    int64_t memory;            /* bytes of that process, beside four chunks of the dataset [1 GiB] */
} stencil_reading_limits;
typedef struct stencil_reading stencil_reading;

/* That process is the same program: first of all, its main() asks whether it is one, and then calls the
 * other, which does not come back. */
bool stencil_reading_is_asked(int argc, char **argv);
_Noreturn void stencil_reading_answer(char **argv);

/* The state of a file, which differs after a change; which file it is. */
typedef struct stencil_file_state {
    int64_t bytes, modified_s, modified_ns;
    uint64_t device, inode;
} stencil_file_state;

/* The place of a dataset whose numbers stand one after the other in a file, in this machine's own format. */
typedef struct stencil_place {
    int64_t offset; /* of the first byte; 0: they do not */
    stencil_precision precision;
} stencil_place;

/* Facts that a file states beside the problem; lists are of u and of its source. */
typedef struct stencil_input_facts {
    stencil_file_state state;                   /* as it was opened */
    char field[STENCIL_FIELD_MAX];              /* name of the dataset that u is, "/u" */
    bool foreign;                               /* the attribute `format` is none of ours */
    bool field_passed_over;                     /* the attribute `field` names no dataset */
    int64_t other_steps;                        /* of the file, which made another field; 0: none */
    stencil_values values[STENCIL_ARRAY_COUNT]; /* behind the numbers of /u, and of /b or /f */
    int64_t unwritten[STENCIL_ARRAY_COUNT];     /* cells of them that nobody wrote */
    stencil_place place[STENCIL_ARRAY_COUNT];
    int64_t chunk_bytes; /* of the largest chunk of them, unpacked; 0: there are none */
} stencil_input_facts;

/* An open input file. Zero-initialised: closed. */
typedef struct stencil_input {
    stencil_reading *process; /* that reads it; NULL: closed */
    int fd;                   /* of the file, for what is read here */
    const char *path;         /* borrowed */
    stencil_input_facts facts;
    /* For reading cells: */
    const stencil_problem *problem;
    stencil_precision read_as;        /* that of the boxes which are read now */
    stencil_array array;              /* that was last read */
    bool judged[STENCIL_ARRAY_COUNT]; /* its values that are not finite are those that no step uses */
} stencil_input;

/* "/b", "/f", "/q", by the source that they are; NULL: none. The same for messages of a file, whose field is
 * that of the source NONE. */
extern const char *const stencil_source_names[STENCIL_SOURCE_COUNT];
static inline const char *stencil_array_name(const stencil_input_facts *facts, stencil_source source) {
    return source == STENCIL_SOURCE_NONE ? facts->field : stencil_source_names[source];
}

/* Options of opening an input. Zero-initialise for the usual ones. */
typedef struct stencil_input_options {
    const char *field; /* the dataset that u is, in the root group, with or without its "/"; NULL: the one
                          that the attribute `field` names, else /u */
    stencil_reading_limits limits;
} stencil_input_options;

/* Opens `path` and reads what it says of the problem into *spec (initialised here): shape and type of u,
 * attributes, /stencil, whether /b, /f or /q is there. Reads no field yet. `path` is borrowed; `options` may
 * be NULL; the caller closes *input, whatever comes. NO_INPUT: missing, unreadable, locked, a directory.
 * USAGE: options->field cannot be one. BAD_DATA: everything else that is wrong with it; the message names the
 * file, the object in it and what to do. All that reads an input fails so, too, where the process that reads
 * it dies or makes no progress. */
stencil_status stencil_input_open(stencil_input *input, const char *path,
                                  const stencil_input_options *options, stencil_spec *spec);

/* Opens any HDF5 file, for stencil_input_field() and stencil_input_numbers() alone. */
stencil_status stencil_input_look(stencil_input *input, const char *path,
                                  const stencil_input_options *options);

/* Reads boxes of /u, and of its source, for a problem that was resolved from the spec of this input; it is
 * borrowed. Values are converted to problem->precision as HDF5 does; packed ones are unpacked, and /f and /q
 * are scaled by source_scale, in double and rounded once. Reading fails as BAD_DATA, unless allow_nonfinite
 * with the index of the first NaN or Inf of the whole array; NO_MEMORY with need and have. */
stencil_reader stencil_input_reader(stencil_input *input, const stencil_problem *problem,
                                    bool allow_nonfinite);

/* Looks at all cells of /u and of its source where attributes say that some have no value (_FillValue,
 * missing_value) or are out of range. BAD_DATA with how many of those that a step uses, and the first one;
 * allow_nonfinite: NaN is a value. Values of NaN alone are left to the reader. */
stencil_status stencil_input_check(stencil_input *input, const stencil_problem *problem,
                                   bool allow_nonfinite);

/* Holds coordinates of /u (dimension scales, or lists /x, /y and /z) beside a spec whose options are applied.
 * A problem without spacing takes it from even ones that are attached to all axes; BAD_DATA where they are
 * uneven. Notes what contradicts the spacing, ends of periods that are there twice, and axes of time or
 * colours (`notes` may be NULL). */
stencil_status stencil_input_grid(stencil_input *input, stencil_spec *spec, stencil_notes *notes);

/* BAD_DATA where cells of /u were never written, unless that is allowed; then, and where some of /b or /f
 * were not, a note with how many. Who allows it takes the fill value for a value. */
stencil_status stencil_input_check_written(stencil_input *input, const stencil_problem *problem, bool allow,
                                           stencil_notes *notes);

/* The name that a file gives to its field, "" where it gives none; and whether it holds an object of another
 * name (NULL: false). */
stencil_status stencil_input_field(stencil_input *input, const char *other, char field[STENCIL_FIELD_MAX],
                                   bool *holds);

/* A dataset of numbers of any shape. */
enum { STENCIL_RANK_MAX = 32 };
typedef struct stencil_numbers {
    bool exists; /* false: there is no such dataset, and the rest is not known */
    int rank;
    int64_t extent[STENCIL_RANK_MAX]; /* [rank] */
    int64_t count;                    /* elements */
    int64_t chunk_bytes;              /* see stencil_input_facts */
    stencil_place place;
    char type[32]; /* "float64", "int32", "uint8" … */
} stencil_numbers;

/* Opens the dataset of that name, in place of the one before. BAD_DATA: it holds no integers or
 * floating-point numbers, or cannot be read whole. `advice` ends messages about what it is; NULL: for a
 * problem. */
stencil_status stencil_input_numbers(stencil_input *input, const char *name, const char *advice,
                                     stencil_numbers *numbers);

/* Reads elements of it from number `first` on, counted in array order: as many as are a block of the array,
 * at most `most` (*count). As double, or (whole) as int64_t. BAD_DATA. */
stencil_status stencil_input_block(stencil_input *input, const stencil_numbers *numbers, int64_t first,
                                   int64_t most, bool whole, void *values, int64_t *count);

/* Gives back what reading has taken; it may go on nevertheless. */
void stencil_input_rest(stencil_input *input);

/* BAD_DATA: the file is not what it was when it was opened, so that what was read of it may be of either.
 * Values in other files are not looked at. */
stencil_status stencil_input_check_unchanged(const stencil_input *input);

/* The residual history, into problem->origin. BAD_DATA. */
stencil_status stencil_input_load_history(stencil_input *input, stencil_problem *problem);

/* A result's record of the run that made it, and of its input. BAD_DATA: the file is no result of a run. */
typedef struct stencil_provenance {
    int64_t steps_done;
    char input[4096]; /* "": not known */
} stencil_provenance;
stencil_status stencil_input_provenance(stencil_input *input, stencil_provenance *provenance);

/* Notes what stands in the file as if it were meant for us, and is not used by the problem of `spec`: nearly
 * our names, other names of the same things, fields of the shape of /u; and attributes that neither that
 * problem uses nor the one of the file itself, as it was read. BAD_DATA. */
stencil_status stencil_input_notes(stencil_input *input, const stencil_spec *file, const stencil_spec *spec,
                                   stencil_notes *notes);

/* The problems that an attribute of the format (or its option) is for, where this one does not use it; NULL:
 * it does. */
const char *stencil_attribute_effect(const char *name, stencil_kind kind);

void stencil_input_close(stencil_input *input);

/* A result that is going to be written: its file is open and its space taken before anything is computed. The
 * caller says where it goes; all of that is borrowed while the sink is open. */
typedef struct stencil_output {
    const char *path;         /* final name */
    const char *input_path;   /* the run's input, for provenance */
    stencil_input *input;     /* the same, open: its source is copied from it, and what is the user's own */
    stencil_notes *notes;     /* what cannot be kept of that is noted here; may be NULL */
    bool force;               /* may replace an existing file */
    const char *command_line; /* for provenance */
    int64_t started_s;        /* when the run began, seconds since 1970 (UTC); 0: not recorded */
    stencil_sink sink;        /* closed by the caller, written or not */
    bool begun;               /* the sink has what is taken over from the input */
    int64_t known_bytes;      /* of the result at most; 0: not counted yet */
} stencil_output;

/* CANNOT_CREATE: the directory is missing or not writable, the file exists or is the input itself (no force),
 * or it is a directory. IO: the result does not fit, with need and have. */
stencil_status stencil_output_open(stencil_output *output, const stencil_problem *problem);

/* Writes what the result takes over from the input: the source, and what is the user's own. Called before the
 * first step, so that nothing of the input is needed in the end but references to objects. IO; BAD_DATA: the
 * source is damaged. */
stencil_status stencil_output_begin(stencil_output *output, const stencil_problem *problem);

/* Tells whether the result takes the name of its input, which then is gone: the same name in the same
 * directory, a symbolic link to the input followed. Another name of the same file (a hard link, a symbolic
 * link as output) is replaced without the input. Asked before the result is written. */
bool stencil_output_replaces_input(const stencil_output *output);

/* Writes the result: u, read from `from`, /residual, /residual_step, the attributes that make it a valid
 * input again, what stencil_output_begin() writes, unless it has (a note, where the input was changed since),
 * /provenance (without the name of an input that it replaces). The input stays open and is not looked up by
 * name any more. Every HDF5
 * return is checked, the file fsynced and given its name; after a failure the sink leaves nothing behind
 * when it is closed. Once only. CANNOT_CREATE, IO. */
stencil_status stencil_output_write(stencil_output *output, const stencil_problem *problem,
                                    const stencil_reader *from, const stencil_report *report);

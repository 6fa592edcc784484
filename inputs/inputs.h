/* Reads and writes problems and results as HDF5 files, whose format is defined in docs/format.md. */
#pragma once

#include "base/words.h"
#include "inputs/sink.h"
#include "inputs/values.h"
#include "solver/problem/problem.h"
#include "solver/run/report.h"
#include "solver/run/run.h"

/* Most steps of a run, and most steps between two residual checks. */
#define STENCIL_STEPS_MAX INT64_C(1000000000000000)

/* Limits of the separate process that reads an input file (inputs/reading.h). Zero-initialise for the values
 * in brackets. */
typedef struct stencil_reading_limits {
    double headers_s, cells_s; /* time limits without progress: reading metadata [5], reading cells [30] */
    int64_t memory; /* bytes of the reading process, not counting four chunks of the dataset [1 GiB] */
} stencil_reading_limits;
typedef struct stencil_reading stencil_reading;

/* The process that reads input files executes this same program: main() first asks whether it was started as
 * that process, and if so calls stencil_reading_answer(), which does not return. */
bool stencil_reading_is_asked(int argc, char **argv);
_Noreturn void stencil_reading_answer(char **argv);

/* Identity of a file (device, inode) and its state (size, modification time), which differs after a change.
 */
typedef struct stencil_file_state {
    int64_t bytes, modified_s, modified_ns;
    uint64_t device, inode;
} stencil_file_state;

/* The position of a dataset that is contiguous in its file, in this machine's native number format. */
typedef struct stencil_place {
    int64_t offset; /* file offset of the first byte; 0: not contiguous, or not native */
    stencil_precision precision;
} stencil_place;

/* Facts that an input file states in addition to its problem. Lists have an entry for u, one for its source
 * and one for /fixed and /class, of which only `unwritten` is used. */
typedef struct stencil_input_facts {
    stencil_file_state state;      /* state of the file when it was opened */
    char field[STENCIL_FIELD_MAX]; /* name of the dataset that holds u, such as "/u" */
    bool foreign;                  /* whether the attribute `format` names another program's format */
    bool field_passed_over;        /* whether the attribute `field` names no dataset */
    int64_t other_steps; /* steps recorded in the file for a field other than the chosen one; 0: none */
    stencil_values
        values[STENCIL_ARRAY_COUNT]; /* conversion of stored numbers of u, and of /b or /f, to values */
    int64_t unwritten[STENCIL_ARRAY_COUNT]; /* cells of u, and of its source, that were never written */
    stencil_place place[STENCIL_ARRAY_COUNT];
    stencil_place k_place; /* of /k */
    int64_t chunk_bytes;   /* unpacked size of the largest chunk of u and its source; 0: neither is chunked */
} stencil_input_facts;

/* An open input file. Zero-initialised: closed. */
typedef struct stencil_input {
    stencil_reading *process; /* the process that reads the file; NULL: the input is closed */
    int fd;                   /* descriptor of the file, for data that this process reads directly */
    const char *path;         /* borrowed */
    stencil_input_facts facts;
    stencil_tables tables; /* rows of /stencil/weights, numbers along sides and factors over time, owned */
    /* The members below are for reading cells: */
    const stencil_problem *problem;
    stencil_precision read_as; /* precision of the boxes that are being read */
    int kind;                  /* dataset that array CLASS is read from */
    bool raw;    /* driven cells of u have what the file has, not what the sum of their arrays is */
    bool finite; /* values that are not finite are refused */
    bool judged[STENCIL_ARRAY_COUNT]; /* whether no step uses an array's non-finite values */
} stencil_input;

/* The datasets of the format that have a number for each cell: the field (in place of STENCIL_SOURCE_NONE),
 * the sources, and those that say which class a cell has. */
enum {
    STENCIL_DATASET_FIXED = STENCIL_SOURCE_COUNT,
    STENCIL_DATASET_CLASS,
    STENCIL_DATASET_INSULATED,
    STENCIL_DATASET_K,
    STENCIL_DATASET_B2,                                               /* and /b3, /b4 */
    STENCIL_DATASET_Q2 = STENCIL_DATASET_B2 + STENCIL_SUM_ARRAYS - 1, /* and /q3, /q4 */
    STENCIL_DATASET_VALUE =
        STENCIL_DATASET_Q2 + STENCIL_SUM_ARRAYS - 1, /* /fixed_value, and the next three */
    STENCIL_DATASET_COUNT = STENCIL_DATASET_VALUE + STENCIL_SUM_ARRAYS
};

/* The dataset that array k of a source is. */
static inline int stencil_source_dataset(stencil_source source, int k) {
    return k == 0 ? (int)source
                  : (source == STENCIL_SOURCE_B ? STENCIL_DATASET_B2 : STENCIL_DATASET_Q2) + k - 1;
}

/* Name of each such dataset ("/b", "/f", "/q", "/fixed", "/class", …; NULL for the field).
 * stencil_array_name() returns the same for messages, and the field's name. */
extern const char *const stencil_source_names[STENCIL_DATASET_COUNT];
static inline const char *stencil_array_name(const stencil_input_facts *facts, int dataset) {
    return dataset == STENCIL_SOURCE_NONE ? facts->field : stencil_source_names[dataset];
}

/* Returns the name of the source term for messages: of what walls or driven cells add to an array where the
 * file has no source. */
const char *stencil_source_name(const stencil_problem *problem);

/* Name of the table of factor k of a step (problem.h) where a spec's source is the given one: "/q_factor",
 * "/fixed_value2_factor" and the like; NULL: there is no such table. */
const char *stencil_table_name(stencil_source source, int k);

/* Options of opening an input. Zero-initialise for the defaults. */
typedef struct stencil_input_options {
    const char *field; /* the dataset in the root group to use as u, with or without its "/"; NULL: the one
                          that the attribute `field` names, else /u */
    stencil_reading_limits limits;
} stencil_input_options;

/* Opens the HDF5 file `path` and reads its problem description into *spec (initialised here): shape and type
 * of u, attributes, /stencil, whether /b, /f or /q exists. Reads no field yet. `path` is borrowed; `options`
 * may be NULL; the caller closes *input, also after a failure. Errors: NO_INPUT: the file is missing,
 * unreadable, locked, a directory. USAGE: options->field cannot be a field's name. BAD_DATA: everything else
 * that is wrong with the file; the message names the file, the object in it and what to do. All functions
 * that read an input also fail with BAD_DATA where the reading process dies or makes no progress. */
stencil_status stencil_input_open(stencil_input *input, const char *path,
                                  const stencil_input_options *options, stencil_spec *spec);

/* Opens any HDF5 file, for use with stencil_input_field() and stencil_input_numbers() alone. It may be
 * written to meanwhile. */
stencil_status stencil_input_look(stencil_input *input, const char *path,
                                  const stencil_input_options *options);

/* Returns a reader of boxes of /u, of its source and of the cells' classes, for a problem that was resolved
 * from the spec of this input; the problem is borrowed. HDF5 converts values to problem->precision; packed
 * values are unpacked, and /f and /q are scaled by source_scale, in double and rounded once. Errors of the
 * reader: BAD_DATA, with the index of the first NaN or Inf of the whole array unless allow_nonfinite;
 * NO_MEMORY with need and have. */
stencil_reader stencil_input_reader(stencil_input *input, const stencil_problem *problem,
                                    bool allow_nonfinite);

/* Checks all cells of /u and of its source where attributes say that some have no value (_FillValue,
 * missing_value) or are out of range. Errors: BAD_DATA with the number of such cells that a step uses, and
 * the first of them. allow_nonfinite: NaN counts as a value. Where NaN is the only marker, the reader does
 * this check. */
stencil_status stencil_input_check(stencil_input *input, const stencil_problem *problem,
                                   bool allow_nonfinite);

/* Compares coordinates of /u (dimension scales, or lists /x, /y and /z) with a spec whose options are
 * applied. A problem without spacing takes its spacing from even coordinates that are attached to all axes.
 * Errors: BAD_DATA where attached coordinates are uneven. Notes contradictions to the spacing, periods that
 * include both end points, and axes of time or colours (`notes` may be NULL). */
stencil_status stencil_input_grid(stencil_input *input, stencil_spec *spec, stencil_notes *notes);

/* Errors: BAD_DATA where cells of /u were never written, unless `allow`, which takes the fill value for a
 * value. Notes how many cells of /u (with `allow`), /b or /f were never written. */
stencil_status stencil_input_check_written(stencil_input *input, const stencil_problem *problem, bool allow,
                                           stencil_notes *notes);

/* Gets the name that a file's attribute `field` states ("": none), and in *holds whether the file has an
 * object named `other` (NULL: false). */
stencil_status stencil_input_field(stencil_input *input, const char *other, char field[STENCIL_FIELD_MAX],
                                   bool *holds);

/* Shape, type and storage of a dataset of numbers of any rank. */
enum { STENCIL_RANK_MAX = 32 };
typedef struct stencil_numbers {
    bool exists; /* false: the dataset does not exist, and the other members are undefined */
    int rank;
    int64_t extent[STENCIL_RANK_MAX]; /* elements along each axis, [rank] */
    int64_t count;                    /* number of elements */
    int64_t chunk_bytes;              /* unpacked size of a chunk; 0: not chunked */
    stencil_place place;
    char type[32]; /* name of the type: "float64", "int32", "uint8" … */
} stencil_numbers;

/* Opens the dataset `name` and closes the dataset that was opened before. Errors: BAD_DATA: the dataset holds
 * no integers or floating-point numbers, or cannot be read whole. `advice` ends messages about the dataset's
 * type; NULL: the advice for a problem file. */
stencil_status stencil_input_numbers(stencil_input *input, const char *name, const char *advice,
                                     stencil_numbers *numbers);

/* Opens a dataset of truth values or integers likewise; reading it gives 0 or another number. */
stencil_status stencil_input_truths(stencil_input *input, const char *name, stencil_numbers *numbers);

/* A dataset's attributes that a picture of it needs: conversion, units, name, scales. */
enum { STENCIL_SCALES_MAX = 4 };
typedef struct stencil_description {
    stencil_values values;                                     /* conversion of stored numbers to values */
    char units[STENCIL_WORD_MAX], long_name[STENCIL_WORD_MAX]; /* attributes; "": none */
    /* Path of the dimension scale of each axis, in array order; "": none, or more axes than these. */
    char scale[STENCIL_SCALES_MAX][STENCIL_WORD_MAX];
} stencil_description;

/* Describes the dataset opened last. Errors: BAD_DATA. */
stencil_status stencil_input_describe(stencil_input *input, stencil_description *description);

/* Reads elements of the dataset opened last, from number `first` on in array order: *count elements, as many
 * as form a block of the array, at most `most`. `values` are double, or int64_t if `whole`. Errors: BAD_DATA.
 */
stencil_status stencil_input_block(stencil_input *input, const stencil_numbers *numbers, int64_t first,
                                   int64_t most, bool whole, void *values, int64_t *count);

/* The arrays of a series, of which `residual` need not exist, and how many frames of them are whole. */
typedef struct stencil_frames {
    stencil_numbers u, residual, step;
    int64_t count;
} stencil_frames;

/* Opens a series, which a run may be writing, and its dataset /step; the facts of the input name its field.
 * Errors: as stencil_input_look();
 * BAD_DATA: the file is no series, or has no frame. */
stencil_status stencil_input_series(stencil_input *input, const char *path,
                                    const stencil_input_options *options, stencil_frames *frames);

/* Releases memory that reading has taken; reading may continue afterwards. */
void stencil_input_rest(stencil_input *input);

/* Checks that the input file was not modified since it was opened. Errors: BAD_DATA: it was, so that the data
 * read may be of either state. External files that hold values are not checked. */
stencil_status stencil_input_check_unchanged(const stencil_input *input);

/* Reads the residual history into problem->origin. Errors: BAD_DATA. */
stencil_status stencil_input_load_history(stencil_input *input, stencil_problem *problem);

/* A result file's record of the run that made it and of that run's input. Errors of reading it: BAD_DATA: the
 * file is no result of a run. */
typedef struct stencil_provenance {
    int64_t steps_done;
    char input[4096];       /* path of the run's input; "": unknown */
    char output[4096];      /* of a checkpoint: name of its run's result; "": it is none */
    char options[4096];     /* options with which a resumed run goes on, a line each */
    char series[640];       /* places in the file of its series, see series.h; "": it has none yet */
    char series_file[4096]; /* name of the file of its series, from the folder of this one on; "": none */
    char digest_numbers[STENCIL_DIGEST_CHARS]; /* of all that a run goes on from but arrays; "": not known */
    char less[4096]; /* of a file of differences: the file that was subtracted from `input`; "": it is none */
    char gaps[256];  /* frames that the series lacks, see stencil_series_gap(); "": none */
} stencil_provenance;
stencil_status stencil_input_provenance(stencil_input *input, stencil_provenance *provenance);

/* Tells whether the numbers of a spec, as it was read, and the history are those that the run has written;
 * files of older versions do not tell. Errors: NO_MEMORY. */
stencil_status stencil_input_same_numbers(const stencil_spec *spec, const stencil_history *history,
                                          const stencil_provenance *made, bool *same);

/* Reads the record of a file of differences. Errors: BAD_DATA: the file is none. */
stencil_status stencil_input_differing(stencil_input *input, stencil_provenance *provenance);

/* Notes objects and attributes of the file that look as if meant for this format but are not used by the
 * problem of `spec`: misspelt names, other names of the same quantities, fields of the shape of /u; and
 * attributes used neither by that problem nor by the file's problem as it was read (`file`). Errors:
 * BAD_DATA. */
stencil_status stencil_input_notes(stencil_input *input, const stencil_spec *file, const stencil_spec *spec,
                                   stencil_notes *notes);

void stencil_input_close(stencil_input *input);

/* A result file to be written, which is open and has its space reserved before the computation. The caller
 * fills in the members before `sink`, which are borrowed while `sink` is open. */
typedef struct stencil_output {
    const char *path;         /* final name of the result */
    const char *input_path;   /* path of the run's input, recorded in /provenance */
    stencil_input *input;     /* the run's input, open: source and user's objects are copied */
    stencil_notes *notes;     /* receives notes on objects of the input that cannot be copied; may be NULL */
    bool force;               /* whether the result may replace an existing file */
    const char *command_line; /* recorded in /provenance */
    int64_t started_s;        /* when the run began, seconds since 1970 (UTC); 0: not recorded */
    const char *result;       /* name of the result that a checkpoint is on the way to; NULL: no checkpoint */
    const char *options;      /* options with which a resumed run goes on, a line each; NULL: none */
    const char *series;       /* places in the file of the series, see series.h; NULL: there is none */
    const char *series_path;  /* name of that file */
    const char *series_gaps;  /* frames that it lacks, see stencil_series_gap(); NULL, "": none */
    const char *first_input;  /* input of a run that was resumed, "" where unknown; NULL: input_path */
    stencil_run *run;         /* the run, whose ranks write its cells themselves; NULL: they are read */
    int64_t first_steps;      /* steps from that input to input_path; 0: not resumed */
    stencil_sink sink;        /* the file being written; closed by the caller, written or not */
    bool begun;               /* whether `sink` already has the copies of the input's objects */
    int64_t known_bytes;      /* most bytes that the result takes; 0: not counted yet */
    /* Digests of the source term and of the classes of cells; "": none, or not computed yet. */
    char digest_b[STENCIL_DIGEST_CHARS], digest_class[STENCIL_DIGEST_CHARS];
} stencil_output;

/* Opens the result's file and reserves its space. Errors: CANNOT_CREATE: the directory is missing or not
 * writable, the file exists or is the input itself (no force), or it is a directory. IO: the result does not
 * fit, with need and have. */
stencil_status stencil_output_open(stencil_output *output, const stencil_problem *problem);

/* Copies the source and the user's own objects from the input into the result. Called before the first step,
 * so that at the end nothing but object references is needed from the input. Errors: IO; BAD_DATA: the source
 * is damaged. */
stencil_status stencil_output_begin(stencil_output *output, const stencil_problem *problem);

/* Computes the digests of the arrays that steps do not change (source term, classes of cells), which all
 * files of a run have, unless they are known. Errors: those of the reader. */
stencil_status stencil_output_digest_kept(stencil_output *output, const stencil_problem *problem,
                                          const stencil_reader *from);

/* Tells whether the result replaces its input: it has the same name in the same directory, a symbolic link to
 * the input being followed. Another name of the same file (a hard link, a symbolic link as output) is
 * replaced without the input. To be called before the result is written. */
bool stencil_output_replaces_input(const stencil_output *output);

/* Writes the result: u, read from `from`, /residual, /residual_step, the attributes that make the result a
 * valid input, what stencil_output_begin() copies unless it did (a note, where the input was changed since),
 * and /provenance (without the name of an input that the result replaces). The input stays open and is not
 * looked up by name. Checks every HDF5 return, fsyncs the file and gives it its name; after a failure,
 * closing the sink removes the file. To be called once only. Errors: CANNOT_CREATE, IO. */
stencil_status stencil_output_write(stencil_output *output, const stencil_problem *problem,
                                    const stencil_reader *from, const stencil_report *report);

/* As stencil_output_write(), but the file stays without its name, which stencil_sink_commit() gives it. */
stencil_status stencil_output_fill(stencil_output *output, const stencil_problem *problem,
                                   const stencil_reader *from, const stencil_report *report);

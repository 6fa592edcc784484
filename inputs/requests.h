/* Requests to the reading process, and its answers: plain structs of fixed size. stencil_answer_check()
 * checks an answer before it is used. */
#pragma once

#include <limits.h>

#include "base/words.h"
#include "inputs/inputs.h"

enum { STENCIL_NAME_MAX = 1024 };

typedef struct stencil_ask_open {
    char path[PATH_MAX];
    bool looks; /* whether only to open the file, without reading a problem */
    bool named; /* whether `field` is given, as the user wrote it */
    char field[STENCIL_NAME_MAX];
} stencil_ask_open;

typedef struct stencil_say_open {
    stencil_input_facts facts;
    stencil_spec spec;
} stencil_say_open;

/* Request to read the cells of a box (dataset indices) into the window, without gaps. */
typedef struct stencil_ask_cells {
    stencil_source source; /* the source to read; NONE: the field */
    stencil_precision precision;
    int64_t threads; /* int64_t like the box, so that the struct has no padding */
    stencil_box box;
} stencil_ask_cells;

typedef struct stencil_say_grid {
    stencil_spec spec;
    stencil_notes notes;
} stencil_say_grid;

typedef struct stencil_ask_notes {
    stencil_spec file, spec;
} stencil_ask_notes;

typedef struct stencil_ask_field {
    char other[STENCIL_FIELD_MAX]; /* name of another object to look for; "": none */
} stencil_ask_field;

typedef struct stencil_say_field {
    char field[STENCIL_FIELD_MAX]; /* the field's name; "": /u by default, not stated in the file */
    bool holds;                    /* whether the file has the object named in the request */
} stencil_say_field;

typedef struct stencil_ask_numbers {
    char name[STENCIL_NAME_MAX];
    char advice[STENCIL_NAME_MAX]; /* "": advice for a problem file */
} stencil_ask_numbers;

/* Request to read numbers of the dataset opened last into the window. */
typedef struct stencil_ask_block {
    int64_t first, most;
    int64_t whole; /* type of the numbers in the window, 1: int64_t, 0: double */
} stencil_ask_block;

typedef struct stencil_say_block {
    int64_t count;
} stencil_say_block;

typedef struct stencil_say_kept {
    int64_t bytes, chunk_bytes; /* bytes of all that the result copies from the input; of its largest chunk */
} stencil_say_kept;

/* Request to copy the source and the user's own objects into the result's file, begun and closed, whose
 * descriptor is sent along. */
typedef struct stencil_ask_keep {
    char path[PATH_MAX]; /* path of the result, for messages */
    stencil_spec spec;   /* spec of the problem */
    uint64_t eoa;        /* end of HDF5's allocated addresses, as in stencil_sink */
} stencil_ask_keep;

typedef struct stencil_say_keep {
    uint64_t eoa;
    stencil_notes notes;
} stencil_say_keep;

/* An empty question or answer. */
typedef struct stencil_nothing {
    char none;
} stencil_nothing;

/* X(name, struct of the question, struct of the answer, whether the request reads cells, which has a longer
 * time limit). */
#define STENCIL_REQUESTS(X)                                                                                  \
    X(open, stencil_ask_open, stencil_say_open, false)                                                       \
    X(cells, stencil_ask_cells, stencil_nothing, true)                                                       \
    X(rest, stencil_nothing, stencil_nothing, false)                                                         \
    X(grid, stencil_spec, stencil_say_grid, false)                                                           \
    X(notes, stencil_ask_notes, stencil_notes, false)                                                        \
    X(field, stencil_ask_field, stencil_say_field, false)                                                    \
    X(provenance, stencil_nothing, stencil_provenance, false)                                                \
    X(numbers, stencil_ask_numbers, stencil_numbers, false)                                                  \
    X(block, stencil_ask_block, stencil_say_block, true)                                                     \
    X(kept, stencil_source, stencil_say_kept, false)                                                         \
    X(keep, stencil_ask_keep, stencil_say_keep, true)

typedef enum stencil_request {
#define X(name, ask, say, cells) STENCIL_REQUEST_##name,
    STENCIL_REQUESTS(X)
#undef X
        STENCIL_REQUEST_COUNT
} stencil_request;

/* Unions of all questions and of all answers. */
typedef union stencil_asks {
#define X(name, ask, say, cells) ask name;
    STENCIL_REQUESTS(X)
#undef X
} stencil_asks;
typedef union stencil_says {
#define X(name, ask, say, cells) say name;
    STENCIL_REQUESTS(X)
#undef X
} stencil_says;

/* Tells whether an answer is valid: texts are terminated; truth values, enumerations and counts are in range.
 */
bool stencil_answer_check(stencil_request request, const void *say);

/* Questions to the process that reads, and its answers: plain values of known length.
 * stencil_answer_check() looks at an answer before anything uses it. */
#pragma once

#include <limits.h>

#include "base/words.h"
#include "inputs/inputs.h"

enum { STENCIL_NAME_MAX = 1024 };

typedef struct stencil_ask_open {
    char path[PATH_MAX];
    bool looks; /* at the file alone, whatever is in it */
    bool named; /* the field's name is given, as it was written */
    char field[STENCIL_NAME_MAX];
} stencil_ask_open;

typedef struct stencil_say_open {
    stencil_input_facts facts;
    stencil_spec spec;
} stencil_say_open;

/* Cells of a box, in indices of the dataset, into the window, without gaps. */
typedef struct stencil_ask_cells {
    stencil_source source; /* NONE: the field */
    stencil_precision precision;
    int64_t threads; /* as wide as the box, so that no byte of the question is unset */
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
    char other[STENCIL_FIELD_MAX]; /* "": none */
} stencil_ask_field;

typedef struct stencil_say_field {
    char field[STENCIL_FIELD_MAX]; /* "": /u, which nothing states */
    bool holds;                    /* the file has an object of the other name */
} stencil_say_field;

typedef struct stencil_ask_numbers {
    char name[STENCIL_NAME_MAX];
    char advice[STENCIL_NAME_MAX]; /* "": for a problem */
} stencil_ask_numbers;

/* Numbers of the dataset that was asked for last, into the window. */
typedef struct stencil_ask_block {
    int64_t first, most;
    int64_t whole; /* 1: as int64_t, 0: as double */
} stencil_ask_block;

typedef struct stencil_say_block {
    int64_t count;
} stencil_say_block;

typedef struct stencil_say_kept {
    int64_t bytes, chunk_bytes; /* of all that the result takes over; of the largest chunk */
} stencil_say_kept;

/* The new file, begun and closed, comes along as a descriptor. */
typedef struct stencil_ask_keep {
    char path[PATH_MAX]; /* of the result, for messages */
    stencil_spec spec;   /* of the problem */
    uint64_t eoa;        /* see stencil_sink */
} stencil_ask_keep;

typedef struct stencil_say_keep {
    uint64_t eoa;
    stencil_notes notes;
} stencil_say_keep;

/* Nothing to say. */
typedef struct stencil_nothing {
    char none;
} stencil_nothing;

/* X(name, structure of the question, of the answer, whether it reads cells, for which there is more time). */
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

/* The larger of all questions, and of all answers. */
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

/* Tells whether an answer is possible: texts end; truth values, enumerations and counts are in range. */
bool stencil_answer_check(stencil_request request, const void *say);

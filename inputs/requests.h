/* Questions to the reading process, and its answers: a plain struct of fixed size for each direction, whose
 * members all requests share. stencil_answer_check() checks an answer before it is used. */
#pragma once

#include <limits.h>

#include "base/words.h"
#include "inputs/inputs.h"

enum { STENCIL_NAME_MAX = 1024 };

/* Requests to the reading process. Where a request answers with members of stencil_say, its comment names
 * these. */
typedef enum stencil_request {
    STENCIL_REQUEST_OPEN,       /* opens `path`, reads the problem unless `looks`; answers facts, spec */
    STENCIL_REQUEST_CELLS,      /* reads cells of a `box` (dataset indices) into shared memory */
    STENCIL_REQUEST_REST,       /* frees memory that reading cells has taken */
    STENCIL_REQUEST_GRID,       /* compares the file's coordinates with `spec`; answers spec, notes */
    STENCIL_REQUEST_NOTES,      /* looks for names in the file that `spec` does not use; answers notes */
    STENCIL_REQUEST_FIELD,      /* reads the field's name, looks for an object `name`; answers field, holds */
    STENCIL_REQUEST_PROVENANCE, /* reads how a result was made; answers provenance */
    STENCIL_REQUEST_NUMBERS,    /* opens the dataset `name`; answers numbers */
    STENCIL_REQUEST_DESCRIBE,   /* describes the opened dataset; answers description */
    STENCIL_REQUEST_BLOCK,      /* reads elements of the opened dataset into shared memory; answers count */
    STENCIL_REQUEST_KEPT,       /* counts what a result copies of its input; answers bytes, chunk_bytes */
    STENCIL_REQUEST_KEEP        /* copies objects of the input into the result; answers eoa, notes */
} stencil_request;

/* A question to the reading process; members that its request does not use are zero. */
typedef struct stencil_ask {
    stencil_request request;
    char path[PATH_MAX];           /* path of the input, or of the result for messages */
    bool looks;                    /* whether only to open the file, without reading a problem */
    bool named;                    /* whether `name` is the field's, as the user wrote it */
    bool truths;                   /* whether a dataset to open has truth values or integers */
    bool whole;                    /* whether to read numbers as int64_t, not as double */
    char name[STENCIL_NAME_MAX];   /* name of an object; "": none */
    char advice[STENCIL_NAME_MAX]; /* text that ends messages; "": advice for a problem file */
    stencil_spec file, spec;       /* the problem as the file has it, and with options applied */
    int dataset;                   /* dataset to read (STENCIL_DATASET_…), or the source to copy; NONE: the
                                      field, or no source */
    stencil_precision precision;   /* precision in which cells are read */
    int threads;                   /* most threads that unpack chunks */
    stencil_box box;               /* cells to read, stored without gaps */
    int64_t first, most;           /* index of the first element to read; most elements to read */
    uint64_t eoa;                  /* end of HDF5's allocated addresses, as in stencil_sink */
} stencil_ask;

/* An answer of the reading process; unless its status is OK, only the message counts. */
typedef struct stencil_say {
    stencil_request request; /* request that is answered */
    stencil_status status;
    char message[sizeof((stencil_error *)NULL)->message];
    stencil_input_facts facts;
    stencil_spec spec;
    stencil_notes notes;
    stencil_provenance provenance;
    stencil_numbers numbers;
    stencil_description description;
    char field[STENCIL_FIELD_MAX]; /* the field's name; "": /u by default, not stated in the file */
    bool holds;                    /* whether the file has the object that was looked for */
    int64_t count;                 /* how many numbers were read */
    int64_t bytes, chunk_bytes;    /* bytes of all that a result copies; of the largest chunk in it */
    uint64_t eoa;
} stencil_say;

/* Tells whether an answer is valid: texts are terminated; truth values, enumerations and counts are in range.
 */
bool stencil_answer_check(const stencil_say *say);

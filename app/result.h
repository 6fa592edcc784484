/* The result of a run: its file is open before anything is computed, and what cannot be written there in the
 * end is written elsewhere. Signals wait meanwhile: none of them leaves a temporary file. */
#ifndef STENCIL_APP_RESULT_H
#define STENCIL_APP_RESULT_H

#include "app/text.h"
#include "inputs/inputs.h"

/* Zero-initialised: there is none. */
typedef struct result {
    stencil_output_options options; /* its path is where the result is, or will be; NULL: nowhere */
    stencil_output *output;
    char name[TEXT_NAME_SIZE]; /* of a path that nobody gave */
} result;

/* Opens the file of options.path, or where that is NULL INPUT with .out.h5 for .h5 or .hdf5, as
 * stencil_output_open(). */
stencil_status result_open(result *result, const stencil_problem *problem);

/* Whether `name` is that file, existing or not: the same file, or the same name in the same directory. */
bool result_is_file(const result *result, const char *name);

/* Writes it. On failure, under another name in the same directory, the current one or the
 * one for temporary files, with which the message then ends. */
stencil_status result_write(result *result, const stencil_problem *problem, const stencil_reader *from,
                            const stencil_report *report);

/* Gives up what was not written. */
void result_close(result *result);

#endif

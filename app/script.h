/* Scripts in Python that draw with matplotlib, installed with this program. */
#pragma once

#include <stdio.h>

#include "base/base.h"

enum { SCRIPT_ARGUMENTS_MAX = 8 };

/* A script to run. */
typedef struct script {
    const char *option;                         /* what asks for it, named in messages: "--plot" */
    const char *name;                           /* its file beside the others: "plot.py" */
    const char *argument[SCRIPT_ARGUMENTS_MAX]; /* NULL after the last one */
} script;

/* Runs a script with `input` as its standard input, from where that stands. What the script prints last on
 * standard error is the reason of a failure, its exit code the status. Errors: UNAVAILABLE (the script or
 * python3 is not there, or has no matplotlib), CANNOT_CREATE, IO, INTERNAL (the script failed). */
stencil_status script_run(const script *s, FILE *input);

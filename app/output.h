/* Standard output and standard error: what was printed has to arrive, and a failure is told once, with its
 * reason. The program's texts are UTF-8; where the locale is another one (LC_ALL, LC_CTYPE, LANG), both
 * streams turn them into plain ASCII on their way. */
#ifndef STENCIL_APP_OUTPUT_H
#define STENCIL_APP_OUTPUT_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"

/* Opens the descriptors 0, 1 and 2 where the caller closed them, so that no file of ours becomes one of them.
 * Writing to such a standard output fails. Called first, by main(), with text only on both streams from then
 * on. */
void output_start(void);

/* Whether what is printed becomes ASCII. */
bool output_is_ascii(void);

/* Columns that `length` bytes of UTF-8 take on the terminal as they will be printed; there are no wide
 * characters in our texts. */
int output_columns(const char *text, int length);

/* Prints text wrapped at 80 columns; the first line starts at `column`, the following ones are indented to
 * `indent`. Ends with a line feed. */
void output_wrapped(FILE *out, const char *text, int column, int indent);

/* Sends on what was printed so far; a failure is kept for output_check(). */
void output_flush(void);

/* Flushes. IO where something did not arrive; a reader that had enough (EPIPE) is none of our business. */
stencil_status output_check(void);

#endif

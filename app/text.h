/* Texts for people: numbers and names as they read them, lines of 80 columns, and the way of all that to
 * standard output and standard error. What was printed has to arrive, and a failure is told once, with its
 * reason. Our texts are UTF-8; where the locale is another one (LC_ALL, LC_CTYPE, LANG), both streams turn
 * them into plain ASCII on their way. */
#pragma once

#include <stdio.h>

#include "base/base.h"
#include "base/words.h"

enum { TEXT_SIZE = 32, TEXT_NAME_SIZE = 4096 };

/* "16 641", "1 073 741 824": groups of three; with a noun behind it "1 cell", "16 641 cells" (returned). */
const char *text_count(int64_t count, char text[TEXT_SIZE]);
const char *text_counted(int64_t count, const char *noun, char text[TEXT_SIZE]);

/* Four digits that count, or a whole number from 10 000 on (returned). */
const char *text_number(double value, char text[TEXT_SIZE]);

/* The shortest number that reads back the same where that has six digits at most, else one with four that
 * count (returned): 7e-05, 0.5, 3.845e-06. */
const char *text_short(double value, char text[TEXT_SIZE]);

/* Array-order extents as they are written in --size, x first, with `by` between them: "129 x 65" (returned).
 */
const char *text_extent(const int64_t *extent, int rank, const char *by, char text[96]);

/* "[3, 7]" (returned). */
const char *text_list(const int64_t *values, int count, char text[256]);

/* A name as it can be printed on one line, control characters as \\n, \\t, \\x1b (returned); cut to `size`.
 */
const char *text_escape(const char *name, char *text, size_t size);

/* A copy whose bytes that are not UTF-8 are written as \\xff; freed by the caller, NULL without memory. */
char *text_utf8(const char *name);

/* The same for one use, and any text: it lives as long as the block that asks for it. TEXT_LONG has room for
 * the name of a file. */
#define TEXT(...)                     stencil_text_add((char[160]){""}, 160, __VA_ARGS__)
#define TEXT_LONG(...)                stencil_text_add((char[TEXT_NAME_SIZE + 512]){""}, TEXT_NAME_SIZE + 512, __VA_ARGS__)
#define TEXT_COUNT(count)             text_count(count, (char[TEXT_SIZE]){""})
#define TEXT_COUNTED(count, noun)     text_counted(count, noun, (char[TEXT_SIZE]){""})
#define TEXT_NUMBER(value)            text_number(value, (char[TEXT_SIZE]){""})
#define TEXT_SHORT(value)             text_short(value, (char[TEXT_SIZE]){""})
#define TEXT_REAL(value)              stencil_number_text(value, (char[STENCIL_NUMBER_CHARS]){""})
#define TEXT_EXTENT(extent, rank, by) text_extent(extent, rank, by, (char[96]){""})
#define TEXT_LIST(values, count)      text_list(values, count, (char[256]){""})
#define TEXT_ESCAPE(name)             text_escape(name, (char[TEXT_NAME_SIZE]){""}, TEXT_NAME_SIZE)
#define TEXT_BYTES(bytes)             stencil_bytes_text(bytes, (char[TEXT_SIZE]){""})
/* A version of CUDA: 13020 is "13.2". */
#define TEXT_CUDA(version) TEXT("%d.%d", (version) / 1000, (version) % 1000 / 10)

/* Names the file in the message of an error that has no file: "'PATH': message". Returns `status`. */
stencil_status text_name_file(stencil_status status, const char *path);

/* The same for NO_MEMORY only. */
stencil_status text_name_out_of_memory(stencil_status status, const char *path);

/* Puts "WHERE: " before the message of an error, or "; 'NAME' TEXT" behind it. Returns `status`. */
stencil_status text_prefix(stencil_status status, const char *where);
stencil_status text_append(stencil_status status, const char *name, const char *text);

/* Columns that a text takes on the terminal as it will be printed; there are no wide characters in ours. */
int text_columns(const char *text);

/* Prints text wrapped at 80 columns; the first line starts at `column`, the following ones are indented to
 * `indent`. Ends with a line feed. */
void text_print_wrapped(FILE *out, const char *text, int column, int indent);

/* A line of a report, or several where it is long: a label of 12 columns and the text beside it. */
void text_print_entry(FILE *out, const char *label, const char *text);
#define PRINT(label, ...) text_print_entry(stdout, label, TEXT_LONG(__VA_ARGS__))

/* Opens the descriptors 0, 1 and 2 where the caller closed them, so that no file of ours becomes one of them.
 * Writing to such a standard output fails. Called first, by main(), with text only on both streams from then
 * on. */
void output_start(void);

/* Tells whether what is printed becomes ASCII. */
bool output_is_ascii(void);

/* Sends on what was printed so far; a failure is kept for output_check(). */
void output_flush(void);

/* Flushes. IO where something did not arrive; a reader that had enough (EPIPE) is none of our business. */
stencil_status output_check(void);

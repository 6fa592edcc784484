/* Texts for people: numbers, names and lines of 80 columns, and their output to standard output and standard
 * error. Failed output is reported once, with its reason. Texts of this program are UTF-8; under any other
 * locale (LC_ALL, LC_CTYPE, LANG) both streams convert all text to plain ASCII. */
#pragma once

#include <stdio.h>

#include "base/base.h"
#include "base/words.h"

enum { TEXT_SIZE = 32, TEXT_NAME_SIZE = 4096 };

/* Return a count in groups of three digits, "16 641", and a count with its noun: "1 cell", "16 641 cells". */
const char *text_count(int64_t count, char text[TEXT_SIZE]);
const char *text_counted(int64_t count, const char *noun, char text[TEXT_SIZE]);

/* Returns a value with four significant digits, or as a whole number from 10 000 on. */
const char *text_number(double value, char text[TEXT_SIZE]);

/* Tells whether the texts that text_short() makes of two numbers say the same. */
bool text_short_alike(double a, double b);

/* Returns the shortest text that reads back as the same value where six digits suffice, else the value with
 * four significant digits: 7e-05, 0.5, 3.845e-06. */
const char *text_short(double value, char text[TEXT_SIZE]);

/* Returns array-order extents as they are written in --size, x first, with `by` between them: "129 x 65". */
const char *text_extent(const int64_t *extent, int rank, const char *by, char text[96]);

/* Returns whole numbers as a list: "[3, 7]". */
const char *text_list(const int64_t *values, int count, char text[256]);

/* Returns a name for one printed line, control characters as \\n, \\t, \\x1b; cut to `size` bytes. */
const char *text_escape(const char *name, char *text, size_t size);

/* Prints a word of a command so that a POSIX shell reads it as that word: as it is, or in quotes. */
void text_put_quoted(FILE *out, const char *word);

/* Returns the name of a file likewise, for commands that are printed: what a terminal cannot show as it is,
 * by octal numbers for printf; a name that begins with - would be an option, and gets a ./ */
const char *text_quote(const char *file, char *text, size_t size);

/* Returns a copy of a name, bytes that are not UTF-8 as \\xff; freed by the caller; NULL without memory. */
char *text_utf8(const char *name);

/* Text functions with a buffer of their own, which lives as long as the block that uses the macro. TEXT_LONG
 * has space for a file name. */
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
#define TEXT_QUOTE(file)              text_quote(file, (char[2 * TEXT_NAME_SIZE]){""}, 2 * TEXT_NAME_SIZE)
#define TEXT_BYTES(bytes)             stencil_bytes_text(bytes, (char[TEXT_SIZE]){""})
/* Text of a CUDA version number: 13020 is "13.2". */
#define TEXT_CUDA(version) TEXT("%d.%d", (version) / 1000, (version) % 1000 / 10)

/* Puts texts before and after the message of the last error, unless `status` is OK. Returns `status`; so do
 * text_prefix(), for "WHERE: message", and text_name_file(), for "'PATH': message". */
stencil_status text_around(stencil_status status, const char *before, const char *after);
#define text_prefix(status, where)   text_around(status, TEXT_LONG("%s: ", where), "")
#define text_name_file(status, path) text_around(status, TEXT_LONG("'%s': ", path), "")

/* Puts the file name before the message of the last error where `status` is NO_MEMORY. Returns `status`. */
stencil_status text_name_out_of_memory(stencil_status status, const char *path);

/* Returns the terminal columns of a text as it will be printed, with no wide characters. */
int text_columns(const char *text);

/* Returns a text of at most `most` terminal columns (5 or more): one that is longer with an ellipsis in place
 * of its middle. */
const char *text_shortened(const char *text, int most, char shortened[160]);
#define TEXT_SHORTENED(text, most) text_shortened(text, most, (char[160]){""})

/* Prints text wrapped at 80 columns; the first line starts at `column`, the following ones are indented to
 * `indent`. Ends with a line feed. */
void text_print_wrapped(FILE *out, const char *text, int column, int indent);

/* Prints an entry of a report: a label of 12 columns, then the text, wrapped where it is long. */
void text_print_entry(FILE *out, const char *label, const char *text);
#define PRINT(label, ...) text_print_entry(stdout, label, TEXT_LONG(__VA_ARGS__))

/* Opens descriptors 0, 1 and 2 where the parent process closed them, so that no opened file gets these
 * numbers; writing to a standard output opened so fails. Called first by main(); from then on standard output
 * and error take text only. */
void output_start(void);

/* Tells whether printed text is converted to ASCII. */
bool output_is_ascii(void);

/* Flushes standard output; a failure is kept for output_check(). */
void output_flush(void);

/* Flushes standard output. Errors: IO where text was lost, unless its reader closed the pipe (EPIPE). */
stencil_status output_check(void);

/* Numbers as people read them. */
#ifndef STENCIL_APP_TEXT_H
#define STENCIL_APP_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/base.h"
#include "base/words.h"

enum { TEXT_SIZE = 32, TEXT_NAME_SIZE = 4096 };

/* "16 641", "1 073 741 824": groups of three (returned). */
const char *text_count(int64_t count, char text[TEXT_SIZE]);

/* Four digits that count, or a whole number from 10 000 on (returned). */
const char *text_number(double value, char text[TEXT_SIZE]);

/* Array-order extents as they are written in --size, x first, with `by` between them: "129 x 65" (returned).
 */
const char *text_extent(const int64_t *extent, int rank, const char *by, char *text, size_t size);

/* "[3, 7]" (returned). */
const char *text_list(const int64_t *values, int count, char *text, size_t size);

/* A name as it can be printed on one line, control characters as \\n, \\t, \\x1b (returned); cut to `size`.
 */
const char *text_escape(const char *name, char *text, size_t size);

/* A copy whose bytes that are not UTF-8 are written as \\xff; freed by the caller, NULL without memory. */
char *text_utf8(const char *name);

/* Names the file in the message of an error that has no file: "'PATH': message". Returns `status`. */
stencil_status text_name_file(stencil_status status, const char *path);

/* The same for NO_MEMORY only. */
stencil_status text_name_out_of_memory(stencil_status status, const char *path);

/* Puts "WHERE: " before the message of an error, or "; 'NAME' TEXT" behind it. Returns `status`. */
stencil_status text_prefix(stencil_status status, const char *where);
stencil_status text_append(stencil_status status, const char *name, const char *text);

/* The same for one use, and any text: it lives as long as the block that asks for it. */
#define TEXT(...)                     stencil_text_add((char[160]){""}, 160, __VA_ARGS__)
#define TEXT_COUNT(count)             text_count(count, (char[TEXT_SIZE]){""})
#define TEXT_NUMBER(value)            text_number(value, (char[TEXT_SIZE]){""})
#define TEXT_EXTENT(extent, rank, by) text_extent(extent, rank, by, (char[96]){""}, 96)
#define TEXT_ESCAPE(name)             text_escape(name, (char[TEXT_NAME_SIZE]){""}, TEXT_NAME_SIZE)
#define TEXT_BYTES(bytes)             stencil_bytes_text(bytes, (char[TEXT_SIZE]){""})

#endif

/* Tables for terminals and for Markdown. */
#pragma once

#include <stdio.h>

#include "base/base.h"

enum { TABLE_COLUMNS_MAX = 40, TABLE_CELL_SIZE = 40, TABLE_TEXT_SIZE = 512, TABLE_WIDTH = 80 };

typedef struct table_column {
    char header[TABLE_CELL_SIZE]; /* words joined by '_' are printed on lines below each other */
    bool left;                    /* aligned to the left */
    int optional;                 /* columns with the highest number are hidden first where the width does not
                                     suffice; 0: never hidden */
    int width;                    /* width in characters, set by table_print() */
    bool hidden;
} table_column;

typedef struct table_row {
    char *cell[TABLE_COLUMNS_MAX]; /* owned, TABLE_TEXT_SIZE at most */
    int cell_count;
    bool spans; /* the last cell extends over all columns to its right, wrapped into lines */
} table_row;

/* A table; empty when zero-initialised. Printing releases its rows, and so does table_destroy(). */
typedef struct table {
    int column_count;
    table_column column[TABLE_COLUMNS_MAX];
    int row_count;
    table_row *row; /* owned */
    bool no_memory; /* a row or a cell is missing for want of memory */
} table;

/* Appends columns, separated by tabs, to a table: '<' or '>' for the alignment, a '?' for each level of
 * `optional`, then the header: "<plan\t>µs/step\t>??best". */
void table_add_columns(table *t, const char *columns);

/* Appends a row of cells, separated by tabs, to a table: "%s\t%.1f". */
void table_add_line(table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Begin a row, append a cell to the last row, and let its last cell span the columns to its right. */
void table_add_row(table *t);
void table_add_cell(table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_span_cell(table *t);

/* Prints a table, 80 columns wide. Where it is too wide without optional columns, it is split into parts
 * printed below each other, each with the first column. Releases rows; columns stay, with `hidden` set. */
void table_print(FILE *out, table *t);

/* Prints a table with all columns as Markdown, and releases its rows. */
void table_print_markdown(FILE *out, table *t);

/* Prints text with the characters in `special` escaped for Markdown. */
void table_print_escaped(FILE *out, const char *text, const char *special);

/* Releases the rows of a table that is not printed. */
void table_destroy(table *t);

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

/* A table; empty when zero-initialised. Printing releases its rows, and so does table_destroy(). */
typedef struct table {
    int column_count;
    table_column column[TABLE_COLUMNS_MAX];
    int row_count;
    char **row;     /* text of each row, cells separated by tabs; owned */
    bool no_memory; /* a row or a cell is missing for want of memory */
} table;

/* Appends columns, separated by tabs, to a table: '<' or '>' for the alignment, a '?' for each level of
 * `optional`, then the header: "<plan\t>µs/step\t>??best". */
void table_add_columns(table *t, const char *columns);

/* Appends cells, separated by tabs, to a new row or to the last row of a table: "%s\t%.1f". Cells beyond
 * TABLE_TEXT_SIZE bytes are cut. A cell that begins with TABLE_SPAN is the last of its row, and extends over
 * all columns to its right, wrapped into lines. */
#define TABLE_SPAN             "\v"
#define table_add_line(t, ...) table_add(t, true, __VA_ARGS__)
#define table_add_cell(t, ...) table_add(t, false, __VA_ARGS__)
void table_add(table *t, bool new_row, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Prints a table, 80 columns wide. Where it is too wide without optional columns, it is split into parts
 * printed below each other, each with the first column. Releases rows; columns stay, with `hidden` set. */
void table_print(FILE *out, table *t);

/* Prints a table with all columns as Markdown, and releases its rows. */
void table_print_markdown(FILE *out, table *t);

/* Prints text with the characters in `special` escaped for Markdown. */
void table_print_escaped(FILE *out, const char *text, const char *special);

/* Releases the rows of a table that is not printed. */
void table_destroy(table *t);

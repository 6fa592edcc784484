/* Tables for terminals and for Markdown. */
#pragma once

#include <stdio.h>

#include "base/base.h"

enum { TABLE_COLUMNS_MAX = 40, TABLE_CELL_SIZE = 40, TABLE_TEXT_SIZE = 512, TABLE_WIDTH = 80 };

typedef struct table_column {
    char header[TABLE_CELL_SIZE]; /* words joined by '_' are put below each other */
    bool left;                    /* aligned to the left */
    int optional;                 /* the columns with the highest number go first where the width does not
                                     suffice; 0: stays */
    int width;                    /* set by table_print() */
    bool hidden;
} table_column;

typedef struct table_row {
    char *cell[TABLE_COLUMNS_MAX]; /* owned, TABLE_TEXT_SIZE at most */
    int cell_count;
    bool spans; /* the last cell goes on over the columns behind it, in as many lines as it takes */
} table_row;

/* Zero-initialised: empty. Its rows are released where it is printed, or by table_destroy(). */
typedef struct table {
    int column_count;
    table_column column[TABLE_COLUMNS_MAX];
    int row_count;
    table_row *row; /* owned */
    bool no_memory; /* a row or a cell is missing for want of memory */
} table;

/* Appends columns, which tabs divide, each behind the side that it is aligned to, and a '?' for each step by
 * which it is optional: "<plan\t>µs/step\t>??best". */
void table_add_columns(table *t, const char *columns);

/* Appends a row of cells, which tabs divide: "%s\t%.1f". */
void table_add_line(table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Begins a row, appends a cell to it, or makes its last cell one that spans. */
void table_add_row(table *t);
void table_add_cell(table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void table_span_cell(table *t);

/* Prints at 80 columns. Where even without the optional columns there are too many, the first column is
 * repeated and the others go below each other in parts. The rows are released; columns stay, and tell which
 * of them were hidden. */
void table_print(FILE *out, table *t);

/* Prints all columns as a table in Markdown. The rows are released. */
void table_print_markdown(FILE *out, table *t);

/* Prints text in which the `special` characters mean nothing to Markdown. */
void table_print_escaped(FILE *out, const char *text, const char *special);

/* Releases the rows of a table that is not printed. */
void table_destroy(table *t);

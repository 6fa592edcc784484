#include "app/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "app/text.h"

enum { HEADER_LINES_MAX = TABLE_CELL_SIZE / 2 };

void table_add_columns(table *t, const char *columns) {
    for (const char *at = columns; at != NULL && t->column_count < TABLE_COLUMNS_MAX; at = strchr(at, '\t')) {
        at += *at == '\t';
        table_column *column = &t->column[t->column_count++];
        *column = (table_column){.left = *at == '<', .optional = (int)strspn(at + 1, "?")};
        at += 1 + column->optional;
        snprintf(column->header, sizeof column->header, "%.*s", (int)strcspn(at, "\t"), at);
    }
}

void table_add_row(table *t) {
    table_row *rows = realloc(t->row, (size_t)(t->row_count + 1) * sizeof *rows);
    if (rows == NULL) {
        t->no_memory = true;
        return;
    }
    t->row = rows;
    memset(&rows[t->row_count++], 0, sizeof *rows);
}

void table_add_cell(table *t, const char *format, ...) {
    table_row *row = t->row_count > 0 ? &t->row[t->row_count - 1] : NULL;
    if (row == NULL || row->cell_count == TABLE_COLUMNS_MAX)
        return;
    char text[TABLE_TEXT_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *cell = strdup(text);
    if (cell != NULL)
        row->cell[row->cell_count++] = cell;
    t->no_memory = t->no_memory || cell == NULL;
}

void table_add_line(table *t, const char *format, ...) {
    char text[8 * TABLE_TEXT_SIZE], *at = text;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    table_add_row(t);
    for (char *end; at != NULL; at = end) {
        end = strchr(at, '\t');
        if (end != NULL)
            *end++ = '\0';
        table_add_cell(t, "%s", at);
    }
}

void table_span_cell(table *t) {
    if (t->row_count > 0 && t->row[t->row_count - 1].cell_count > 0)
        t->row[t->row_count - 1].spans = true;
}

/* Returns the text of a column in a line: a row number, or -1 for the last word of the header, -2 for the
 * word above. */
static const char *text_at(const table *t, int line, int column, char word[TABLE_CELL_SIZE]) {
    if (line >= 0)
        return column < t->row[line].cell_count - t->row[line].spans ? t->row[line].cell[column] : "";
    strcpy(word, t->column[column].header);
    for (char *last; (last = strrchr(word, '_')) != NULL; line++) {
        if (line == -1)
            return last + 1;
        *last = '\0';
    }
    return line == -1 ? word : "";
}

static int width_of(const table *t, int column) {
    char word[TABLE_CELL_SIZE];
    int width = 0;
    for (int line = -HEADER_LINES_MAX; line < t->row_count; line++) {
        const int here = text_columns(text_at(t, line, column, word));
        width = here > width ? here : width;
    }
    return width;
}

/* Returns the blanks before a column: two between left-aligned columns, else one. */
static int gap(const table *t, int column) {
    return column == 0 ? 0 : t->column[column].left && t->column[column - 1].left ? 2 : 1;
}

/* Returns the width of a column with the gap before it; 0 for a hidden column. */
static int taken(const table *t, int column) {
    return t->column[column].hidden ? 0 : gap(t, column) + t->column[column].width;
}

/* Sets column widths, and hides optional columns until the table fits, or no optional column is left. */
static void choose_columns(table *t) {
    int total = 0, most = 0;
    for (int c = 0; c < t->column_count; c++) {
        t->column[c].width = width_of(t, c);
        total += taken(t, c);
        most = t->column[c].optional > most ? t->column[c].optional : most;
    }
    for (; most > 0; most--)
        for (int c = 0; c < t->column_count && total > TABLE_WIDTH; c++)
            if (t->column[c].optional == most) {
                total -= taken(t, c);
                t->column[c].hidden = true;
            }
}

/* Prints a row, or a header line unless empty: the first column, then columns [first, last). */
static void print_line(FILE *out, const table *t, int line, int first, int last) {
    const table_row *row = line < 0 ? NULL : &t->row[line];
    const int count = row == NULL ? t->column_count : row->cell_count - row->spans;
    char text[4 * TABLE_TEXT_SIZE] = "";
    for (int c = 0; c < count && c < last; c = c == 0 ? first : c + 1) {
        const table_column *column = &t->column[c];
        char word[TABLE_CELL_SIZE];
        const char *cell = text_at(t, line, c, word);
        const int pad = column->width - text_columns(cell), left = column->left ? 0 : pad;
        if (!column->hidden)
            stencil_text_add(text, sizeof text, "%*s%s%*s", gap(t, c) + left, "", cell, pad - left, "");
    }
    if (row != NULL && row->spans) {
        const int column = text_columns(text) + 1;
        fprintf(out, "%s ", text);
        text_print_wrapped(out, row->cell[count], column, column);
        return;
    }
    size_t used = strlen(text); /* no line ends in blanks */
    while (used > 0 && text[used - 1] == ' ')
        used--;
    if (row != NULL || used > 0)
        fprintf(out, "%.*s\n", (int)used, text);
}

void table_print(FILE *out, table *t) {
    int first = 1;
    choose_columns(t);
    do {
        int last = first, used = taken(t, 0);
        while (last < t->column_count && (last == first || used + taken(t, last) <= TABLE_WIDTH))
            used += taken(t, last++);
        if (first > 1)
            fputc('\n', out);
        for (int line = -HEADER_LINES_MAX; line < t->row_count; line++)
            print_line(out, t, line, first, last);
        first = last;
    } while (first < t->column_count);
    table_destroy(t);
}

void table_print_escaped(FILE *out, const char *text, const char *special) {
    for (; *text != '\0'; text++) {
        if (strchr(special, *text) != NULL)
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void print_markdown_cell(FILE *out, const char *text) {
    fputc(' ', out);
    table_print_escaped(out, text, "|*`<_");
    fputs(" |", out);
}

void table_print_markdown(FILE *out, table *t) {
    fputc('|', out);
    for (int c = 0; c < t->column_count; c++) {
        char header[TABLE_CELL_SIZE];
        strcpy(header, t->column[c].header);
        for (char *at = header; (at = strchr(at, '_')) != NULL;)
            *at = ' ';
        print_markdown_cell(out, header);
    }
    fputs("\n|", out);
    for (int c = 0; c < t->column_count; c++)
        fputs(t->column[c].left ? "---|" : "--:|", out);
    fputc('\n', out);
    for (int r = 0; r < t->row_count; r++) {
        fputc('|', out);
        for (int c = 0; c < t->column_count; c++)
            print_markdown_cell(out, c < t->row[r].cell_count ? t->row[r].cell[c] : "");
        fputc('\n', out);
    }
    table_destroy(t);
}

void table_destroy(table *t) {
    for (int r = 0; r < t->row_count; r++)
        for (int c = 0; c < t->row[r].cell_count; c++)
            free(t->row[r].cell[c]);
    free(t->row);
    t->row = NULL;
    t->row_count = 0;
}

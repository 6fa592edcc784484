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

void table_add(table *t, bool new_row, const char *format, ...) {
    char cells[8 * TABLE_TEXT_SIZE];
    va_list arguments;
    if (!new_row && t->row_count == 0)
        return;
    va_start(arguments, format);
    vsnprintf(cells, sizeof cells, format, arguments);
    va_end(arguments);
    char **rows = new_row ? realloc(t->row, (size_t)(t->row_count + 1) * sizeof *rows) : t->row;
    char *old = new_row ? NULL : rows[t->row_count - 1];
    const size_t used = old != NULL ? strlen(old) + 1 : 0;
    t->row = rows != NULL ? rows : t->row;
    char *row = rows != NULL ? realloc(old, used + strlen(cells) + 1) : NULL;
    t->no_memory = t->no_memory || row == NULL;
    if (row == NULL)
        return;
    if (used > 0)
        row[used - 1] = '\t';
    strcpy(row + used, cells);
    t->row_count += new_row;
    t->row[t->row_count - 1] = row;
}

/* Returns the text of a table cell, from `text` as buffer. line: a row number, or -1 for the last word of the
 * header, -2 for the word above. */
static const char *text_at(const table *t, int line, int column, char text[TABLE_TEXT_SIZE]) {
    const char *at = line >= 0 ? t->row[line] : NULL;
    for (int c = 0; c < column && at != NULL; c++) {
        at = strchr(at, '\t');
        at += at != NULL;
    }
    snprintf(text, TABLE_TEXT_SIZE, "%.*s", at != NULL ? (int)strcspn(at, "\t") : 0, at != NULL ? at : "");
    if (line >= 0)
        return text;
    strcpy(text, t->column[column].header);
    for (char *last; (last = strrchr(text, '_')) != NULL; line++) {
        if (line == -1)
            return last + 1;
        *last = '\0';
    }
    return line == -1 ? text : "";
}

static int width_of(const table *t, int column) {
    char text[TABLE_TEXT_SIZE];
    int width = 0;
    for (int line = -HEADER_LINES_MAX; line < t->row_count; line++) {
        const char *cell = text_at(t, line, column, text);
        const int here = *cell != TABLE_SPAN[0] ? text_columns(cell) : 0;
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
    const char *row = line < 0 ? NULL : t->row[line], *span = row != NULL ? strstr(row, TABLE_SPAN) : NULL;
    char text[4 * TABLE_TEXT_SIZE] = "", cell_text[TABLE_TEXT_SIZE];
    for (int c = 0; c < last; c = c == 0 ? first : c + 1) {
        const table_column *column = &t->column[c];
        const char *cell = text_at(t, line, c, cell_text);
        if (*cell == TABLE_SPAN[0])
            break;
        const int pad = column->width - text_columns(cell), left = column->left ? 0 : pad;
        if (!column->hidden)
            stencil_text_add(text, sizeof text, "%*s%s%*s", gap(t, c) + left, "", cell, pad - left, "");
    }
    if (span != NULL) {
        const int column = text_columns(text) + 1;
        fprintf(out, "%s ", text);
        text_print_wrapped(out, span + 1, column, column);
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
    table_print_escaped(out, text + (*text == TABLE_SPAN[0]), "|*`<_");
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
        char text[TABLE_TEXT_SIZE];
        fputc('|', out);
        for (int c = 0; c < t->column_count; c++)
            print_markdown_cell(out, text_at(t, r, c, text));
        fputc('\n', out);
    }
    table_destroy(t);
}

void table_destroy(table *t) {
    for (int r = 0; r < t->row_count; r++)
        free(t->row[r]);
    free(t->row);
    t->row = NULL;
    t->row_count = 0;
}

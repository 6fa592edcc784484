#include "app/table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "app/options.h"
#include "app/output.h"

void table_add_column(table *t, const char *header, bool left, int optional) {
    if (t->column_count == TABLE_COLUMNS_MAX)
        return;
    table_column *column = &t->column[t->column_count++];
    *column = (table_column){.left = left, .optional = optional};
    snprintf(column->header, sizeof column->header, "%s", header);
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
    va_list arguments;
    va_start(arguments, format);
    const size_t size = 1 + (size_t)vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    char *cell = malloc(size);
    if (cell == NULL) {
        t->no_memory = true;
        return;
    }
    va_start(arguments, format);
    vsnprintf(cell, size, format, arguments);
    va_end(arguments);
    row->cell[row->cell_count++] = cell;
}

void table_set_rest(table *t, const char *format, ...) {
    if (t->row_count == 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t->row[t->row_count - 1].rest, TABLE_REST_SIZE, format, arguments);
    va_end(arguments);
}

static int columns(const char *text) {
    return output_columns(text, (int)strlen(text));
}

/* Prints a cell; blanks wait in *blank until something follows them, so that no line ends in them. */
static void print_cell(FILE *out, int *blank, const char *text, int width, bool left) {
    const int pad = width - columns(text);
    *blank += left ? 0 : pad;
    if (text[0] != '\0') {
        fprintf(out, "%*s%s", *blank, "", text);
        *blank = 0;
    }
    *blank += left ? pad : 0;
}

/* The index-th word of a header, counted from its end; "" where it has fewer. */
static void header_word(const char *header, int from_end, char word[TABLE_CELL_SIZE]) {
    const char *end = header + strlen(header), *begin;
    for (;; from_end--) {
        for (begin = end; begin > header && begin[-1] != '_'; begin--)
            ;
        if (from_end == 0 || begin == header)
            break;
        end = begin - 1;
    }
    snprintf(word, TABLE_CELL_SIZE, "%.*s", from_end == 0 ? (int)(end - begin) : 0, begin);
}

/* 0 where it is empty. */
static int header_lines(const char *header) {
    int lines = header[0] != '\0';
    for (; *header != '\0'; header++)
        lines += *header == '_';
    return lines;
}

static int width_of(const table *t, int column) {
    char word[TABLE_CELL_SIZE];
    int width = 0;
    for (int i = 0; i < header_lines(t->column[column].header); i++) {
        header_word(t->column[column].header, i, word);
        width = columns(word) > width ? columns(word) : width;
    }
    for (int r = 0; r < t->row_count; r++)
        if (column < t->row[r].cell_count && columns(t->row[r].cell[column]) > width)
            width = columns(t->row[r].cell[column]);
    return width;
}

/* A table on its way to the terminal: widths, and which columns are shown. */
typedef struct layout {
    int width[TABLE_COLUMNS_MAX];
    bool shown[TABLE_COLUMNS_MAX];
} layout;

/* Columns have a blank between them; text two where both sides are words. */
static int gap(const table *t, int column) {
    return column == 0 ? 0 : t->column[column].left && t->column[column - 1].left ? 2 : 1;
}

static int total_width(const table *t, const layout *l) {
    int total = 0;
    for (int c = 0; c < t->column_count; c++)
        if (l->shown[c])
            total += gap(t, c) + l->width[c];
    return total;
}

/* Hides optional columns until the rest fits, or none of them is left. */
static void hide_columns(const table *t, layout *l) {
    while (total_width(t, l) > TABLE_WIDTH) {
        int worst = -1;
        for (int c = 0; c < t->column_count; c++)
            if (l->shown[c] && t->column[c].optional > 0 &&
                (worst < 0 || t->column[c].optional > t->column[worst].optional))
                worst = c;
        if (worst < 0)
            return;
        l->shown[worst] = false;
    }
}

/* Whether a column is in the part that shows [first, last); the first column is in all of them. */
static bool in_part(const layout *l, int column, int first, int last) {
    return l->shown[column] && (column == 0 || (column >= first && column < last));
}

static void print_header(FILE *out, const table *t, const layout *l, int first, int last) {
    char word[TABLE_CELL_SIZE];
    int lines = 0;
    for (int c = 0; c < t->column_count; c++)
        if (in_part(l, c, first, last) && header_lines(t->column[c].header) > lines)
            lines = header_lines(t->column[c].header);
    while (lines-- > 0) {
        int blank = 0;
        for (int c = 0; c < t->column_count; c++)
            if (in_part(l, c, first, last)) {
                header_word(t->column[c].header, lines, word);
                blank += gap(t, c);
                print_cell(out, &blank, word, l->width[c], t->column[c].left);
            }
        fputc('\n', out);
    }
}

static void print_row(FILE *out, const table *t, const layout *l, const table_row *row, int first, int last) {
    int at = 0, blank = 0;
    for (int c = 0; c < row->cell_count; c++)
        if (in_part(l, c, first, last)) {
            blank += gap(t, c);
            at += gap(t, c) + l->width[c];
            print_cell(out, &blank, row->cell[c], l->width[c], t->column[c].left);
        }
    if (row->rest[0] == '\0') {
        fputc('\n', out);
        return;
    }
    fprintf(out, "%*s", blank + 1, "");
    options_print_wrapped(out, row->rest, at + 1, at + 1);
}

void table_print(FILE *out, const table *t) {
    layout l = {0};
    for (int c = 0; c < t->column_count; c++) {
        l.shown[c] = true;
        l.width[c] = width_of(t, c);
    }
    hide_columns(t, &l);
    for (int first = 1, last; first < t->column_count || first == 1; first = last) {
        int used = l.width[0];
        for (last = first; last < t->column_count; last++) {
            const int more = l.shown[last] ? gap(t, last) + l.width[last] : 0;
            if (used + more > TABLE_WIDTH && last > first)
                break;
            used += more;
        }
        if (first > 1)
            fputc('\n', out);
        print_header(out, t, &l, first, last);
        for (int r = 0; r < t->row_count; r++)
            print_row(out, t, &l, &t->row[r], first, last);
        if (last == first)
            break;
    }
}

/* A cell in which nothing has a meaning to Markdown. */
static void print_markdown_cell(FILE *out, const char *text, bool header) {
    fputc(' ', out);
    for (; *text != '\0'; text++) {
        if (*text == '|' || *text == '*' || *text == '`' || *text == '<' || (*text == '_' && !header))
            fputc('\\', out);
        fputc(header && *text == '_' ? ' ' : *text, out);
    }
    fputs(" |", out);
}

void table_print_markdown(FILE *out, const table *t) {
    fputc('|', out);
    for (int c = 0; c < t->column_count; c++)
        print_markdown_cell(out, t->column[c].header, true);
    fputs("\n|", out);
    for (int c = 0; c < t->column_count; c++)
        fputs(t->column[c].left ? "---|" : "--:|", out);
    fputc('\n', out);
    for (int r = 0; r < t->row_count; r++) {
        const table_row *row = &t->row[r];
        fputc('|', out);
        for (int c = 0; c < t->column_count; c++)
            print_markdown_cell(out,
                                c < row->cell_count    ? row->cell[c]
                                : c == row->cell_count ? row->rest
                                                       : "",
                                false);
        fputc('\n', out);
    }
}

void table_destroy(table *t) {
    for (int r = 0; r < t->row_count; r++)
        for (int c = 0; c < t->row[r].cell_count; c++)
            free(t->row[r].cell[c]);
    free(t->row);
    *t = (table){0};
}

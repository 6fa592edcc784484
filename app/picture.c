#include "app/picture.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "app/script.h"
#include "app/text.h"
#include "solver/problem/rows.h"

const char *picture_unit_text(const char *unit, char text[80]) {
    text[0] = '\0';
    return unit[0] != '\0' ? stencil_text_add(text, 80, " (%s)", unit) : text;
}

void picture_note(picture *p, const char *format, ...) {
    char text[PICTURE_TITLE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    stencil_text_add(p->note, sizeof p->note, "%s%s", p->note[0] != '\0' ? "; " : "", text);
}

void picture_destroy(picture *p) {
    for (int i = 0; i < p->curve_count; i++) {
        free(p->curve[i].x);
        free(p->curve[i].y);
    }
    free(p->x.edge);
    free(p->y.edge);
    free(p->values);
    free(p->cells);
    free(p->frame);
    *p = (picture){0};
}

static json_t *axis_json(const picture_axis *axis, int64_t pixels) {
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "label", json_text(axis->label), "unit",
                     json_text(axis->unit), "from", json_number(axis->from), "to", json_number(axis->to),
                     "first", json_number(axis->first), "last", json_number(axis->last), "edges",
                     axis->edge != NULL ? json_numbers(axis->edge, pixels + 1) : json_null());
}

/* Makes JSON of a value; null: none, "inf" and "-inf", which JSON has no numbers for. */
static json_t *value_json(double value) {
    return isinf(value) ? json_string(value > 0 ? "inf" : "-inf") : json_number(value);
}

static json_t *rows_json(const picture *p, const double *values) {
    json_t *rows = json_array();
    for (int64_t y = 0; y < p->rows; y++) {
        json_t *row = json_array();
        for (int64_t x = 0; x < p->columns; x++)
            json_array_append_new(row, value_json(values[y * p->columns + x]));
        json_array_append_new(rows, row);
    }
    return rows;
}

static json_t *frames_json(const picture *p, bool values) {
    json_t *frames = json_array();
    for (int64_t k = 0; k < p->frame_count; k++) {
        const picture_frame *f = &p->frame[k];
        json_t *frame =
            json_pack("{s:o, s:o, s:o}", "text", json_text(f->text), "step",
                      f->step >= 0 ? json_integer(f->step) : json_null(), "time", json_number(f->time));
        if (values)
            json_object_set_new(frame, "values", rows_json(p, p->values + k * p->rows * p->columns));
        json_array_append_new(frames, frame);
    }
    return frames;
}

int picture_class_colour(const picture *p, double value) {
    const int last = p->class_count > 0 ? p->class_number[p->class_count - 1] : 0;
    int place = (int)value;
    for (int i = 0; i < p->class_count && last >= PICTURE_CLASS_COLOURS; i++)
        if (p->class_number[i] == (int)value)
            place = i;
    return place % PICTURE_CLASS_COLOURS;
}

char picture_class_character(double value) {
    static const char character[] = ".123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    return value < (double)sizeof character - 1 ? character[value > 0 ? (int)value : 0] : '+';
}

/* Makes a text of a row of cells: ".": plain, "#": insulated, "*": keeps its value, "a" to "z": classes from
 * 1 on, "A" to "Z": from 27 on, "+": from 53 on. */
static json_t *cells_json(const picture *p) {
    json_t *rows = json_array();
    char *line = malloc((size_t)p->columns + 1);
    for (int64_t y = 0; y < p->rows && line != NULL; y++) {
        for (int64_t x = 0; x < p->columns; x++) {
            const stencil_cell_kind kind = p->cells[y * p->columns + x];
            line[x] = kind == 0                        ? '.'
                      : kind == STENCIL_KIND_KEPT      ? '*'
                      : kind == STENCIL_KIND_INSULATED ? '#'
                      : kind > 52                      ? '+'
                                                       : (char)(kind > 26 ? 'A' + kind - 27 : 'a' + kind - 1);
        }
        line[p->columns] = '\0';
        json_array_append_new(rows, json_string(line));
    }
    free(line);
    return rows;
}

static void add_map(json_t *root, const picture *p, bool values) {
    json_object_set_new(root, "x", axis_json(&p->x, p->columns));
    json_object_set_new(root, "y", axis_json(&p->y, p->rows));
    json_object_set_new(root, "columns", json_integer(p->columns));
    json_object_set_new(root, "rows", json_integer(p->rows));
    json_object_set_new(root, "first_on_top", json_boolean(p->first_on_top));
    json_object_set_new(root, "equal", json_boolean(p->equal));
    json_object_set_new(root, "classes", json_boolean(p->classes));
    json_t *numbers = json_array();
    for (int i = 0; i < p->class_count; i++)
        json_array_append_new(numbers, json_integer(p->class_number[i]));
    json_object_set_new(root, "class_numbers", numbers);
    json_object_set_new(root, "centred", json_boolean(p->centred));
    json_object_set_new(root, "least", json_number(p->least));
    json_object_set_new(root, "most", json_number(p->most));
    json_object_set_new(root, "has_fixed", json_boolean(p->has_kept));
    json_object_set_new(root, "fixed_sides",
                        json_pack("{s:[b, b], s:[b, b]}", "x", p->fixed_x[0], p->fixed_x[1], "y",
                                  p->fixed_y[0], p->fixed_y[1]));
    json_object_set_new(root, "has_insulated", json_boolean(p->has_insulated));
    json_object_set_new(root, "has_classes", json_boolean(p->has_classes));
    json_object_set_new(root, "cells", p->cells != NULL ? cells_json(p) : json_null());
    json_object_set_new(root, "frames", frames_json(p, values));
}

static void add_curves(json_t *root, const picture *p) {
    json_t *curves = json_array();
    for (int i = 0; i < p->curve_count; i++) {
        const picture_curve *c = &p->curve[i];
        json_array_append_new(curves, json_pack("{s:o, s:b, s:o, s:o}", "name", json_text(c->name), "limit",
                                                c->is_limit, "x", json_numbers(c->x, c->count), "y",
                                                json_numbers(c->y, c->count)));
    }
    json_object_set_new(
        root, "x", json_pack("{s:o, s:o}", "label", json_text(p->x.label), "unit", json_text(p->x.unit)));
    if (p->log_x)
        json_object_set_new(json_object_get(root, "x"), "logarithmic", json_true());
    json_object_set_new(root, "logarithmic", json_boolean(p->log));
    json_object_set_new(root, "curves", curves);
    if (p->frame_count == 1)
        json_object_set_new(root, "frames", frames_json(p, false));
}

json_t *picture_json(const picture *p, bool values) {
    json_t *root = json_pack("{s:i, s:s, s:s, s:o, s:o, s:o, s:o}", "schema_version", 1, "command", "plot",
                             "kind", p->curves ? "curves" : "map", "title", json_text(p->title), "note",
                             json_text(p->note), "label", json_text(p->label), "unit", json_text(p->unit));
    if (root != NULL && p->curves)
        add_curves(root, p);
    else if (root != NULL)
        add_map(root, p, values);
    if (root != NULL) {
        json_object_set_new(root, "missing", json_integer(p->missing));
        json_object_set_new(root, "has_missing", json_boolean(p->missing > 0));
        json_object_set_new(root, "infinite", json_integer(p->infinite));
    }
    return root;
}

/* Writes what plot.py reads: a line of JSON, then the values of all frames of a map as doubles. */
static stencil_status write_numbers(const picture *p, FILE *out) {
    json_t *root = picture_json(p, false);
    const size_t count = p->curves ? 0 : (size_t)(p->frame_count * p->rows * p->columns);
    const bool written =
        root != NULL && json_dumpf(root, out, JSON_COMPACT) == 0 && fputc('\n', out) != EOF &&
        (count == 0 || fwrite(p->values, sizeof *p->values, count, out) == count) && fflush(out) == 0;
    json_decref(root);
    CHECK(written, IO, "--output: cannot write a temporary file: %s", strerror(errno));
    rewind(out);
    return STENCIL_OK;
}

stencil_status picture_draw(const picture *p, const char *path, bool force) {
    const script draws = {"--output", "plot.py", {force ? "--force" : "--no-force", "--", path}};
    FILE *numbers = tmpfile();
    CHECK(numbers != NULL, IO, "--output: cannot write a temporary file: %s", strerror(errno));
    stencil_status status = write_numbers(p, numbers);
    if (status == STENCIL_OK)
        status = script_run(&draws, numbers);
    fclose(numbers);
    return status;
}

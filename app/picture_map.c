/* Maps: values of a plane and the kinds of its cells, frame by frame. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/picture.h"
#include "app/text.h"
#include "inputs/file.h"
#include "solver/problem/rows.h"

/* Ratio of the sides of a map from which on its axes have a scale each. */
static const double slim = 8;

static void set_frame(picture_frame *frame, const field_file *file, int64_t at) {
    const field_file *f = file;
    *frame = (picture_frame){.step = -1, .time = NAN};
    if (f->is_series) {
        frame->step = f->step[at];
        frame->time = f->time_is_steps ? NAN : f->time[at];
    } else if (f->spec.steps_total >= 0) {
        frame->step = f->spec.steps_total;
        frame->time = f->spec.time;
    }
    if (frame->step >= 0)
        stencil_text_add(frame->text, sizeof frame->text, "step %s", TEXT_COUNT(frame->step));
    if (!isnan(frame->time))
        stencil_text_add(frame->text, sizeof frame->text, ", t = %s", TEXT_SHORT(frame->time));
}

int64_t picture_frame_at(const picture *p, const picture_source *s, int64_t k) {
    const int64_t last = s->a.file->frames - 1;
    return s->at_frame >= 0 ? s->at_frame : p->frame_count > 1 ? k * last / (p->frame_count - 1) : last;
}

stencil_status picture_frames(picture *p, const picture_source *s, int64_t most) {
    p->frame_count = s->at_frame >= 0 ? 1 : stencil_smaller(s->a.file->frames, most);
    p->frame = calloc((size_t)p->frame_count, sizeof *p->frame);
    CHECK(p->frame != NULL, NO_MEMORY, "no memory for a picture");
    for (int64_t k = 0; k < p->frame_count; k++)
        set_frame(&p->frame[k], s->a.file, picture_frame_at(p, s, k));
    return STENCIL_OK;
}

/* Sets an axis from edge to edge: cells end half-way to their neighbours. */
static stencil_status set_axis(picture_axis *axis, const field_axis *of, int64_t pixels) {
    const int64_t n = of->n;
    memcpy(axis->label, of->label, sizeof axis->label);
    memcpy(axis->unit, of->unit, sizeof axis->unit);
    axis->first = field_axis_at(of, 0);
    axis->last = field_axis_at(of, n - 1);
    axis->from = of->first - of->step / 2;
    axis->to = of->first + ((double)n - 0.5) * of->step;
    if (of->at == NULL)
        return STENCIL_OK;
    axis->edge = malloc((size_t)(pixels + 1) * sizeof *axis->edge);
    CHECK(axis->edge != NULL, NO_MEMORY, "no memory for a picture");
    for (int64_t k = 0; k <= pixels; k++) {
        const int64_t cell = field_pixel_first(n, pixels, k);
        axis->edge[k] = cell == 0   ? of->at[0] - (of->at[1] - of->at[0]) / 2
                        : cell == n ? of->at[n - 1] + (of->at[n - 1] - of->at[n - 2]) / 2
                                    : (of->at[cell - 1] + of->at[cell]) / 2;
    }
    axis->from = axis->edge[0];
    axis->to = axis->edge[pixels];
    return STENCIL_OK;
}

/* Sets the number of pixels of a map for a picture: one for each cell, or as many as plot.py has space for.
 */
static void fit_picture(picture *p, const picture_size *most, double wide, double high) {
    const double scale = fmin((double)most->columns / wide, (double)most->rows / high);
    const double columns = p->equal      ? round(wide * scale)
                           : wide > high ? (double)most->columns
                                         : (double)most->columns / 2,
                 rows = p->equal      ? round(high * scale)
                        : wide > high ? (double)most->rows / 2
                                      : (double)most->rows;
    p->columns = stencil_smaller(p->columns, (int64_t)fmax(1, columns));
    p->rows = stencil_smaller(p->rows, (int64_t)fmax(1, rows));
}

/* Sets the number of pixels of a map for a terminal, of which several may show a cell. */
static void fit_terminal(picture *p, const picture_size *most, double wide, double high) {
    const double scale = fmin((double)most->columns / wide, (double)most->rows * most->pixel_shape / high);
    p->columns = p->equal ? (int64_t)fmax(1, round(wide * scale)) : most->columns;
    p->rows = p->equal ? (int64_t)fmax(1, round(high * scale / most->pixel_shape)) : most->rows / 2;
}

/* Chooses how many pixels show the plane. */
static void fit(picture *p, picture_source *s, const picture_size *most) {
    const field_axis *x = &s->a.axis[s->plane.across], *y = &s->a.axis[s->plane.down];
    const double wide = fabs(x->step) * (double)x->n, high = fabs(y->step) * (double)y->n;
    p->equal = wide <= slim * high && high <= slim * wide;
    p->columns = x->n;
    p->rows = y->n;
    (most->pixel_shape > 0 ? fit_terminal : fit_picture)(p, most, wide, high);
    s->plane.columns = p->columns;
    s->plane.rows = p->rows;
    if (p->columns < x->n || p->rows < y->n)
        picture_note(p, "%s x %s cells in %s x %s pixels%s", TEXT_COUNT(x->n), TEXT_COUNT(y->n),
                     TEXT_COUNT(p->columns), TEXT_COUNT(p->rows),
                     p->centred   ? ", the largest of several shown"
                     : p->classes ? ", the highest of several shown"
                                  : "");
    if (most->pixel_shape > 0 && (x->at != NULL || y->at != NULL))
        picture_note(p, "coordinates are not even, cells are drawn so");
    if (!p->equal)
        picture_note(p, "axes have a scale each");
}

/* Reads the kinds that one dataset gives to cells, in addition to those that are known: a pixel with a cell
 * of a kind is of that kind, so that thin walls are seen. */
static stencil_status add_kinds(picture *p, picture_source *s, const char *name, field_pixel *pixels,
                                stencil_cell_kind *cells) {
    field_plane plane = s->plane;
    field f;
    plane.gone = NULL;
    stencil_status status = field_open(&f, s->kinds, name);
    bool same = status == STENCIL_OK && f.rank == s->a.rank;
    if (same && s->saved.n[0] > 0)
        field_narrow(&f, &s->saved);
    for (int axis = 0; axis < STENCIL_AXES && same; axis++)
        same = f.axis[axis].n == s->a.axis[axis].n;
    if (same)
        status = field_read(&f, NULL, &plane, pixels);
    if (same && status == STENCIL_OK && strcmp(name, "insulated") == 0)
        status = field_read_gone(&f, &s->plane);
    for (int64_t i = 0; i < plane.rows * plane.columns && same && status == STENCIL_OK; i++)
        if (strcmp(name, "class") == 0)
            cells[i] = pixels[i].most > 0 && pixels[i].most < STENCIL_ROWS_MAX
                           ? (stencil_cell_kind)pixels[i].most
                           : 0;
        else if (pixels[i].cells > 0 && (pixels[i].least != 0 || pixels[i].most != 0))
            cells[i] = strcmp(name, "fixed") == 0 ? STENCIL_KIND_KEPT : STENCIL_KIND_INSULATED;
    field_close(&f);
    if (status != STENCIL_BAD_DATA)
        return status;
    picture_note(p, "cells of /%s are not shown: %s", name, stencil_error_last()->message);
    return STENCIL_OK;
}

stencil_status picture_kinds(picture *p, picture_source *s, field_pixel *pixels, stencil_cell_kind **cells) {
    const stencil_spec *spec = &s->kinds->spec;
    *cells = NULL;
    if (s->kinds->is_series || !(spec->classed || spec->fixed || spec->insulated))
        return STENCIL_OK;
    *cells = calloc((size_t)(s->plane.rows * s->plane.columns), sizeof **cells);
    CHECK(*cells != NULL, NO_MEMORY, "no memory for a picture");
    if (spec->classed)
        TRY(add_kinds(p, s, "class", pixels, *cells));
    if (spec->fixed)
        TRY(add_kinds(p, s, "fixed", pixels, *cells));
    if (spec->insulated)
        TRY(add_kinds(p, s, "insulated", pixels, *cells));
    return field_select(&s->a);
}

/* Adds the cells of a frame to the limits and counts, each once, and sets the values of its pixels. A pixel
 * with cells that have no finite value shows that, whatever else is in it. */
static void take_frame(picture *p, const picture_source *s, const field_pixel *pixels, double *values) {
    const int64_t wide = s->a.axis[s->plane.across].n, high = s->a.axis[s->plane.down].n;
    for (int64_t y = 0; y < p->rows; y++)
        for (int64_t x = 0; x < p->columns; x++) {
            const int64_t at = y * p->columns + x;
            const field_pixel *pixel = &pixels[at];
            const bool again =
                (x > 0 &&
                 field_pixel_first(wide, p->columns, x) == field_pixel_first(wide, p->columns, x - 1)) ||
                (y > 0 && field_pixel_first(high, p->rows, y) == field_pixel_first(high, p->rows, y - 1));
            values[at] = picture_pixel_value(p, s, pixels, x, y);
            p->least = fmin(p->least, pixel->least);
            p->most = fmax(p->most, pixel->most);
            p->missing += again ? 0 : pixel->missing;
            p->infinite += again ? 0 : pixel->infinite;
            if (p->cells != NULL && pixel->missing + pixel->infinite > 0 &&
                p->cells[at] == STENCIL_KIND_INSULATED)
                p->cells[at] = 0;
        }
}

/* Lists the classes that are shown. */
static void list_classes(picture *p) {
    bool shown[PICTURE_CLASSES_MAX] = {false};
    for (int64_t i = 0; i < p->frame_count * p->rows * p->columns; i++)
        if (p->values[i] >= 0 && p->values[i] < PICTURE_CLASSES_MAX)
            shown[(int)p->values[i]] = true;
    for (int number = 0; number < PICTURE_CLASSES_MAX; number++)
        if (shown[number])
            p->class_number[p->class_count++] = number;
    if (p->class_count > PICTURE_CLASS_COLOURS)
        picture_note(p, "%d classes in %d colours", p->class_count, PICTURE_CLASS_COLOURS);
}

/* Finds out which kinds of cells there are, and sets the limits of what is shown. */
static void look(picture *p) {
    int first = -1;
    for (int64_t i = 0; i < p->rows * p->columns && p->cells != NULL; i++) {
        const stencil_cell_kind kind = p->cells[i];
        p->has_kept = p->has_kept || kind == STENCIL_KIND_KEPT;
        p->has_insulated = p->has_insulated || kind == STENCIL_KIND_INSULATED;
        if (kind < STENCIL_ROWS_MAX) {
            first = first < 0 ? kind : first;
            p->has_classes = p->has_classes || kind != first;
        }
    }
    if (p->most < p->least) {
        p->least = p->most = NAN;
    } else if (p->centred) {
        p->most = fmax(fabs(p->least), fabs(p->most));
        p->least = -p->most;
    }
}

static bool is_named(const picture_source *s, const char *name) {
    return strcmp(s->a.name, name) == 0;
}

/* Tells whether what is shown has the cells of the field, or those of it that are saved. */
static bool has_cells_of_field(const picture_source *s) {
    const stencil_spec *spec = &s->kinds->spec;
    bool same = spec->rank == s->a.rank;
    for (int axis = STENCIL_AXES - s->a.rank; axis < STENCIL_AXES && same; axis++)
        same = s->a.axis[axis].n ==
               (s->saved.n[0] > 0 ? s->saved.n[axis] : spec->extent[stencil_list_index(spec->rank, axis)]);
    return same;
}

/* Tells whether a side of the field is fixed, which no dataset of kinds says, nor a file of differences. */
static bool is_fixed_side(const picture_source *s, int axis, int side) {
    const stencil_spec *spec = &s->kinds->spec;
    const int index = stencil_list_index(spec->rank, axis);
    const int64_t n = s->a.axis[axis].n, first = s->saved.n[0] > 0 ? s->saved.first[axis] : 0,
                  last = s->saved.n[0] > 0 ? first + (n - 1) * s->saved.stride[axis] : n - 1;
    if (s->kinds->is_series || is_named(s, "/difference") || !has_cells_of_field(s))
        return false;
    if (side == 0 ? first != 0 : last != spec->extent[index] - 1)
        return false;
    const stencil_wall_kind wall = spec->wall[axis][side];
    return wall == STENCIL_WALL_FIXED ||
           (wall == STENCIL_WALL_NONE && stencil_spec_boundary(spec, index) == STENCIL_FIXED);
}

/* Reads the frames that are shown. */
static stencil_status read_frames(picture *p, picture_source *s, field_pixel *pixels) {
    const int64_t cells = p->rows * p->columns;
    p->values = malloc((size_t)(p->frame_count * cells) * sizeof *p->values);
    CHECK(p->values != NULL, NO_MEMORY, "no memory for a picture");
    p->least = INFINITY;
    p->most = -INFINITY;
    for (int64_t k = 0; k < p->frame_count; k++) {
        s->plane.frame = picture_frame_at(p, s, k);
        TRY(field_read(&s->a, s->b.file != NULL ? &s->b : NULL, &s->plane, pixels));
        take_frame(p, s, pixels, p->values + k * cells);
    }
    return STENCIL_OK;
}

stencil_status picture_map(picture *p, picture_source *s, const picture_wish *wish) {
    p->first_on_top = wish->first_on_top;
    p->centred = s->b.file != NULL || is_named(s, "/residual") || is_named(s, "/difference");
    p->classes = !p->centred && (is_named(s, "/class") || is_named(s, "/fixed") || is_named(s, "/insulated"));
    fit(p, s, &wish->most);
    TRY(set_axis(&p->x, &s->a.axis[s->plane.across], p->columns));
    TRY(set_axis(&p->y, &s->a.axis[s->plane.down], p->rows));
    TRY(picture_frames(p, s, wish->most.frames));
    for (int side = 0; side < 2 && !p->classes; side++) {
        p->fixed_x[side] = is_fixed_side(s, s->plane.across, side);
        p->fixed_y[side] = is_fixed_side(s, s->plane.down, side);
    }
    field_pixel *pixels = malloc((size_t)(p->rows * p->columns) * sizeof *pixels);
    CHECK(pixels != NULL, NO_MEMORY, "no memory for a picture");
    stencil_status status = p->classes ? STENCIL_OK : picture_kinds(p, s, pixels, &p->cells);
    if (status == STENCIL_OK)
        status = read_frames(p, s, pixels);
    free(pixels);
    TRY(status);
    look(p);
    if (p->classes)
        list_classes(p);
    return STENCIL_OK;
}

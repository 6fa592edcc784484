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
/* Most cells of which all are looked at for their kinds, so that thin walls are seen. */
static const int64_t kinds_most = INT64_C(1) << 25;

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

/* Chooses how many pixels show the plane: one for each cell, or as many as there may be. */
static void fit(picture *p, picture_source *s, const picture_size *most) {
    const field_axis *x = &s->a.axis[s->plane.across], *y = &s->a.axis[s->plane.down];
    const double wide = fabs(x->step) * (double)x->n, high = fabs(y->step) * (double)y->n;
    p->equal = wide <= slim * high && high <= slim * wide;
    p->columns = stencil_smaller(x->n, most->columns);
    p->rows = stencil_smaller(y->n, most->rows);
    if (most->pixel_shape > 0) {
        const double scale =
            fmin((double)most->columns / wide, (double)most->rows * most->pixel_shape / high);
        p->columns = p->equal ? (int64_t)fmax(1, round(wide * scale)) : most->columns;
        p->rows = p->equal ? (int64_t)fmax(1, round(high * scale / most->pixel_shape)) : most->rows / 2;
    }
    s->plane.columns = p->columns;
    s->plane.rows = p->rows;
    if (p->columns < x->n || p->rows < y->n)
        snprintf(p->note, sizeof p->note, "%s x %s cells, %s", TEXT_COUNT(x->n), TEXT_COUNT(y->n),
                 p->centred   ? "the largest of several shown"
                 : p->classes ? "the highest of several shown"
                              : TEXT("%s x %s shown", TEXT_COUNT(stencil_smaller(x->n, p->columns)),
                                     TEXT_COUNT(stencil_smaller(y->n, p->rows))));
    if (most->pixel_shape > 0 && (x->at != NULL || y->at != NULL))
        stencil_text_add(p->note, sizeof p->note, "%scoordinates are not even, cells are drawn so",
                         p->note[0] != '\0' ? "; " : "");
    if (!p->equal)
        stencil_text_add(p->note, sizeof p->note, "%saxes have a scale each", p->note[0] != '\0' ? "; " : "");
}

/* Reads the kinds that one dataset gives to cells, in addition to those that are known. */
static stencil_status add_kinds(const picture_source *s, const char *name, uint8_t *cells) {
    const field_plane *plane = &s->plane;
    const int64_t count = plane->rows * plane->columns;
    field f;
    double *values = malloc((size_t)count * sizeof *values);
    stencil_status status =
        values == NULL ? ERROR(NO_MEMORY, "no memory for a picture") : field_open(&f, s->kinds, name);
    if (values == NULL)
        return status;
    bool same = status == STENCIL_OK && f.rank == s->a.rank;
    int64_t all = 1;
    for (int axis = 0; axis < STENCIL_AXES && same; axis++) {
        same = f.axis[axis].n == s->a.axis[axis].n;
        all *= axis == plane->across || axis == plane->down ? f.axis[axis].n : 1;
    }
    if (same)
        status = all <= kinds_most ? field_reduce(&f, NULL, plane, field_highest, values)
                                   : field_read(&f, plane, values);
    for (int64_t i = 0; i < count && same && status == STENCIL_OK; i++)
        if (strcmp(name, "class") == 0)
            cells[i] = values[i] > 0 && values[i] < STENCIL_ROWS_MAX ? (uint8_t)values[i] : 0;
        else if (values[i] != 0)
            cells[i] = strcmp(name, "fixed") == 0 ? STENCIL_CLASS_KEPT : STENCIL_KIND_INSULATED;
    field_close(&f);
    free(values);
    return status;
}

stencil_status picture_kinds(const picture_source *s, uint8_t **cells) {
    const stencil_spec *spec = &s->kinds->spec;
    *cells = NULL;
    if (s->kinds->is_series || !(spec->classed || spec->fixed || spec->insulated))
        return STENCIL_OK;
    *cells = calloc((size_t)(s->plane.rows * s->plane.columns), 1);
    CHECK(*cells != NULL, NO_MEMORY, "no memory for a picture");
    if (spec->classed)
        TRY(add_kinds(s, "class", *cells));
    if (spec->fixed)
        TRY(add_kinds(s, "fixed", *cells));
    return spec->insulated ? add_kinds(s, "insulated", *cells) : STENCIL_OK;
}

/* Finds limits of the values of cells that are there, and which kinds of cells there are. */
static void look(picture *p) {
    const int64_t cells = p->rows * p->columns;
    double least = INFINITY, most = -INFINITY;
    int first = -1;
    for (int64_t i = 0; i < cells && p->cells != NULL; i++) {
        const uint8_t kind = p->cells[i];
        p->has_kept = p->has_kept || kind == STENCIL_CLASS_KEPT;
        p->has_insulated = p->has_insulated || kind == STENCIL_KIND_INSULATED;
        if (kind < STENCIL_ROWS_MAX) {
            first = first < 0 ? kind : first;
            p->has_classes = p->has_classes || kind != first;
        }
    }
    for (int64_t i = 0; i < p->frame_count * cells; i++) {
        const bool there = p->cells == NULL || p->cells[i % cells] != STENCIL_KIND_INSULATED;
        if (there && isfinite(p->values[i])) {
            least = fmin(least, p->values[i]);
            most = fmax(most, p->values[i]);
        } else if (there) {
            p->has_missing = true;
        }
    }
    p->least = most < least ? 0 : least;
    p->most = most < least ? 0 : most;
    if (p->centred) {
        p->most = fmax(fabs(p->least), fabs(p->most));
        p->least = -p->most;
    }
}

/* Tells whether a side of the field is fixed, which no dataset of kinds says. */
static bool is_fixed_side(const picture_source *s, int axis, int side) {
    const stencil_spec *spec = &s->kinds->spec;
    const int index = stencil_list_index(spec->rank, axis);
    if (s->kinds->is_series || spec->rank != s->a.rank || spec->extent[index] != s->a.axis[axis].n)
        return false;
    const stencil_wall_kind wall = spec->wall[axis][side];
    return wall == STENCIL_WALL_FIXED ||
           (wall == STENCIL_WALL_NONE && stencil_spec_boundary(spec, index) == STENCIL_FIXED);
}

static bool is_named(const picture_source *s, const char *name) {
    return strcmp(s->a.name, name) == 0;
}

stencil_status picture_map(picture *p, picture_source *s, const picture_wish *wish) {
    p->first_on_top = wish->first_on_top;
    p->centred = s->b.file != NULL || is_named(s, "/residual") || is_named(s, "/difference");
    p->classes = !p->centred && (is_named(s, "/class") || is_named(s, "/fixed") || is_named(s, "/insulated"));
    fit(p, s, &wish->most);
    TRY(set_axis(&p->x, &s->a.axis[s->plane.across], p->columns));
    TRY(set_axis(&p->y, &s->a.axis[s->plane.down], p->rows));
    TRY(picture_frames(p, s, wish->most.frames));
    const int64_t cells = p->rows * p->columns;
    p->values = malloc((size_t)(p->frame_count * cells) * sizeof *p->values);
    CHECK(p->values != NULL, NO_MEMORY, "no memory for a picture");
    for (int64_t k = 0; k < p->frame_count; k++) {
        double *to = p->values + k * cells;
        s->plane.frame = picture_frame_at(p, s, k);
        TRY(p->centred ? field_reduce(&s->a, s->b.file != NULL ? &s->b : NULL, &s->plane, field_largest, to)
            : p->classes && cells <= kinds_most ? field_reduce(&s->a, NULL, &s->plane, field_highest, to)
                                                : field_read(&s->a, &s->plane, to));
    }
    for (int side = 0; side < 2 && !p->classes; side++) {
        p->fixed_x[side] = is_fixed_side(s, s->plane.across, side);
        p->fixed_y[side] = is_fixed_side(s, s->plane.down, side);
    }
    if (!p->classes)
        TRY(picture_kinds(s, &p->cells));
    look(p);
    return STENCIL_OK;
}

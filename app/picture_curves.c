/* Curves: values along a line, and the history of the residual with its limit. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/picture.h"
#include "app/text.h"
#include "solver/problem/rows.h"

/* Ratio of the largest to the smallest value from which on an axis of residuals is logarithmic. */
static const double log_ratio = 10;
/* Most frames of a series that are curves in one picture. */
enum { LINES_MOST = 6 };

/* Gives the picture one more curve, which is its last then. */
static stencil_status new_curve(picture *p, int64_t count) {
    picture_curve *c = &p->curve[p->curve_count++];
    c->count = count;
    c->x = malloc((size_t)(count + 1) * sizeof *c->x);
    c->y = malloc((size_t)(count + 1) * sizeof *c->y);
    CHECK(c->x != NULL && c->y != NULL, NO_MEMORY, "no memory for a picture");
    return STENCIL_OK;
}

static void add_point(picture_curve *c, double x, double y) {
    c->x[c->count] = x;
    c->y[c->count++] = y;
}

stencil_status picture_add_curve(picture *p, const char *name, bool is_limit, const double *x,
                                 const double *y, int64_t count) {
    picture_curve *c = &p->curve[p->curve_count];
    TRY(new_curve(p, count));
    snprintf(c->name, sizeof c->name, "%s", name);
    c->is_limit = is_limit;
    memcpy(c->x, x, (size_t)count * sizeof *x);
    memcpy(c->y, y, (size_t)count * sizeof *y);
    return STENCIL_OK;
}

/* Adds the cells of a pixel to a curve: the least and the largest one, in their order, and a gap where there
 * are others. */
static void add_pixel(picture_curve *c, const field_axis *along, const field_pixel *pixel, double middle) {
    const bool rising = pixel->least_at <= pixel->most_at;
    if (pixel->cells > 0)
        add_point(c, field_axis_at(along, rising ? pixel->least_at : pixel->most_at),
                  rising ? pixel->least : pixel->most);
    if (pixel->cells > 0 && pixel->least_at != pixel->most_at)
        add_point(c, field_axis_at(along, rising ? pixel->most_at : pixel->least_at),
                  rising ? pixel->most : pixel->least);
    if (pixel->cells == 0 || pixel->missing + pixel->infinite > 0)
        add_point(c, middle, NAN);
}

/* Adds the values of a field along the line; cells that are not there have none. */
static stencil_status add_line(picture *p, picture_source *s, field *f, field_pixel *pixels,
                               const char *name) {
    const field_axis *along = &f->axis[s->plane.across];
    const int64_t columns = s->plane.columns;
    picture_curve *c = &p->curve[p->curve_count];
    TRY(new_curve(p, 3 * columns));
    snprintf(c->name, sizeof c->name, "%s", TEXT_ESCAPE(name));
    c->count = 0;
    TRY(field_read(f, NULL, &s->plane, pixels));
    for (int64_t k = 0; k < columns; k++) {
        add_pixel(c, along, &pixels[k], field_axis_at(along, field_pixel_middle(along->n, columns, k)));
        p->missing += pixels[k].missing;
        p->infinite += pixels[k].infinite;
    }
    return STENCIL_OK;
}

/* Adds the curves of all frames, or of both files. Insulated cells are those of the first file. */
static stencil_status add_lines(picture *p, picture_source *s, field_pixel *pixels) {
    for (int64_t k = 0; k < p->frame_count; k++) {
        s->plane.frame = picture_frame_at(p, s, k);
        TRY(add_line(p, s, &s->a, pixels,
                     s->b.file != NULL ? stencil_path_last(s->a.file->path) : p->frame[k].text));
    }
    free(s->plane.gone);
    s->plane.gone = NULL;
    return s->b.file != NULL ? add_line(p, s, &s->b, pixels, stencil_path_last(s->b.file->path)) : STENCIL_OK;
}

stencil_status picture_line(picture *p, picture_source *s, const picture_size *most) {
    stencil_cell_kind *cells = NULL;
    p->curves = true;
    if (s->plane.across == s->cut)
        s->plane.across = s->plane.down;
    s->plane.down = -1;
    const field_axis *along = &s->a.axis[s->plane.across];
    s->plane.rows = 1;
    s->plane.columns = along->n <= most->points ? along->n : most->points / 2;
    memcpy(p->x.label, along->label, sizeof p->x.label);
    memcpy(p->x.unit, along->unit, sizeof p->x.unit);
    if (s->plane.columns < along->n)
        picture_note(p, "%s cells, the lowest and the highest of several shown", TEXT_COUNT(along->n));
    TRY(picture_frames(p, s, LINES_MOST));
    field_pixel *pixels = malloc((size_t)s->plane.columns * sizeof *pixels);
    CHECK(pixels != NULL, NO_MEMORY, "no memory for a picture");
    stencil_status status = picture_kinds(p, s, pixels, &cells);
    if (status == STENCIL_OK)
        status = add_lines(p, s, pixels);
    free(pixels);
    free(cells);
    if (p->missing > 0)
        picture_note(p, "no value: %s", TEXT_COUNTED(p->missing, "cell"));
    if (p->infinite > 0)
        picture_note(p, "infinite: %s", TEXT_COUNTED(p->infinite, "cell"));
    return status;
}

/* Adds residuals `first` up to `end` to a curve: the least and the largest one, in their order. */
static void add_residuals(picture_curve *c, const double *step, const double *value, int64_t first,
                          int64_t end) {
    int64_t least = first, most = first;
    for (int64_t i = first; i < end; i++) {
        least = !(value[least] <= value[i]) ? i : least;
        most = !(value[most] >= value[i]) ? i : most;
    }
    const int64_t earlier = least < most ? least : most, later = least < most ? most : least;
    add_point(c, step[earlier], value[earlier]);
    if (later > earlier)
        add_point(c, step[later], value[later]);
}

/* Reads the residuals of a file and their steps; of very many the least and the largest of each block, and
 * the last one. */
static stencil_status add_history(picture *p, field_file *file, int64_t most) {
    double *value = NULL, *step = NULL;
    int64_t count = 0, steps = 0;
    picture_curve *c = &p->curve[p->curve_count];
    stencil_status status = field_list(file, "/residual", &value, &count);
    if (status == STENCIL_OK)
        status = field_list(file, "/residual_step", &step, &steps);
    if (status == STENCIL_OK && (count == 0 || count != steps))
        status = ERROR(BAD_DATA, "'%s' has no history of the residual: no run has checked it", file->path);
    const int64_t blocks = count <= most ? count : most / 2;
    if (status == STENCIL_OK)
        status = new_curve(p, 2 * blocks + 1);
    if (status == STENCIL_OK) {
        c->count = 0;
        for (int64_t k = 0; k < blocks; k++)
            add_residuals(c, step, value, field_pixel_first(count, blocks, k),
                          field_pixel_first(count, blocks, k + 1));
        if (c->x[c->count - 1] != step[count - 1])
            add_point(c, step[count - 1], value[count - 1]);
    }
    free(value);
    free(step);
    TRY(status);
    snprintf(c->name, sizeof c->name, "%s", TEXT_ESCAPE(stencil_path_last(file->path)));
    if (blocks < count)
        picture_note(p, "%s residuals, the lowest and the highest of several shown", TEXT_COUNT(count));
    return STENCIL_OK;
}

/* Adds the limit under which a run stops, over the steps of its history. */
static stencil_status add_limit(picture *p, const stencil_spec *spec) {
    const picture_curve *of = &p->curve[0];
    const double relative = isnan(spec->rtol) || isnan(spec->residual_first)
                                ? NAN
                                : spec->rtol * spec->residual_first,
                 limit = fmax(relative, spec->atol); /* of NaN and a number fmax() gives the number */
    picture_curve *c = &p->curve[p->curve_count];
    if (!(limit > 0) || of->count == 0)
        return STENCIL_OK;
    TRY(new_curve(p, 2));
    c->is_limit = true;
    snprintf(c->name, sizeof c->name, "limit %s", TEXT_SHORT(limit));
    if (limit == relative)
        stencil_text_add(c->name, sizeof c->name, " (rtol %s)", TEXT_SHORT(spec->rtol));
    c->x[0] = 0;
    c->x[1] = of->x[of->count - 1];
    c->y[0] = c->y[1] = limit;
    int64_t under = of->count;
    while (under > 0 && of->y[under - 1] < limit)
        under--;
    if (under < of->count)
        picture_note(p, "under the limit from step %s on", TEXT_COUNT((int64_t)of->x[under]));
    else
        picture_note(p, "the limit is not reached");
    return STENCIL_OK;
}

stencil_status picture_history(picture *p, field_file *file, field_file *against, const picture_wish *wish) {
    double least = INFINITY, most = 0;
    p->curves = true;
    CHECK(wish->slice == NULL && wish->line == NULL && wish->at == NULL, USAGE,
          "--dataset residual: '%s' has its history, a curve: it has no slices, lines and frames",
          file->path);
    TRY(add_history(p, file, wish->most.points));
    if (against != NULL)
        TRY(add_history(p, against, wish->most.points));
    else
        TRY(add_limit(p, &file->spec));
    for (int i = 0; i < p->curve_count; i++)
        for (int64_t k = 0; k < p->curve[i].count; k++) {
            least = fmin(least, p->curve[i].y[k]);
            most = fmax(most, p->curve[i].y[k]);
        }
    for (int i = 0; i < p->curve_count; i++)
        if (p->curve[i].count > 0 && !p->curve[i].is_limit && !isfinite(p->curve[i].y[p->curve[i].count - 1]))
            picture_note(p, "%s ends in %s", p->curve[i].name,
                         isnan(p->curve[i].y[p->curve[i].count - 1]) ? "NaN" : "inf");
    if (!isfinite(most)) /* limits are those of finite residuals */
        for (int i = (most = 0); i < p->curve_count; i++)
            for (int64_t k = 0; k < p->curve[i].count; k++)
                most = isfinite(p->curve[i].y[k]) ? fmax(most, p->curve[i].y[k]) : most;
    p->log = least > 0 && most > log_ratio * least;
    snprintf(p->title, sizeof p->title, "%s: history of the residual",
             TEXT_ESCAPE(stencil_path_last(file->path)));
    if (against != NULL)
        snprintf(p->title, sizeof p->title, "%s, %s: history of the residual",
                 TEXT_ESCAPE(stencil_path_last(file->path)), TEXT_ESCAPE(stencil_path_last(against->path)));
    snprintf(p->label, sizeof p->label, "residual (%s)", stencil_norm_names[file->spec.norm]);
    memcpy(p->x.label, "step", 5);
    return STENCIL_OK;
}

static stencil_status show_field(picture *p, picture_source *s, const picture_wish *wish) {
    TRY(picture_place(p, s, wish));
    return s->cut >= 0 ? picture_line(p, s, &wish->most) : picture_map(p, s, wish);
}

/* Takes unit and name of a series' values, where that has none (or "1", as runs write), from the result whose
 * run has saved it. */
static stencil_status take_unit(field *f, field_file *result) {
    stencil_description of_result;
    stencil_numbers is;
    if (result == NULL || (f->about.units[0] != '\0' && strcmp(f->about.units, "1") != 0))
        return STENCIL_OK;
    TRY(stencil_input_numbers(&result->input, result->input.facts.field, NULL, &is));
    TRY(stencil_input_describe(&result->input, &of_result));
    memcpy(f->about.units, of_result.units, sizeof f->about.units);
    if (f->about.long_name[0] == '\0')
        memcpy(f->about.long_name, of_result.long_name, sizeof f->about.long_name);
    return STENCIL_OK;
}

stencil_status picture_field(picture *p, field_file *file, field_file *against, const picture_wish *wish) {
    picture_source s = {0};
    stencil_status status = field_open(&s.a, file, wish->dataset);
    if (status == STENCIL_OK)
        status = take_unit(&s.a, wish->kinds);
    if (status == STENCIL_OK && against != NULL)
        status = field_open(&s.b, against, wish->dataset);
    if (status == STENCIL_OK)
        status = show_field(p, &s, wish);
    const stencil_error seen = *stencil_error_last();
    free(s.plane.gone);
    field_close(&s.a);
    field_close(&s.b);
    return status != STENCIL_OK ? stencil_error_adopt(&seen) : STENCIL_OK;
}

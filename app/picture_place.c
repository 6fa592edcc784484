/* Which cells a picture shows: slice, line and frame, from what the options say. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/picture.h"
#include "app/text.h"

/* A text "AXIS=PLACE", and what to call it in messages. */
typedef struct place_text {
    const char *option, *text;
} place_text;

static const char axis_letters[] = "zyx";

/* Finds an axis by its letter or its label. */
static stencil_status find_axis(const field *f, const place_text *t, int *axis) {
    const size_t length = strcspn(t->text, "=");
    for (*axis = STENCIL_AXES - f->rank; *axis < STENCIL_AXES; ++*axis) {
        const char *label = f->axis[*axis].label;
        const bool letter = length == 1 && t->text[0] == axis_letters[*axis];
        if (t->text[length] == '=' &&
            (letter || (strlen(label) == length && strncmp(label, t->text, length) == 0)))
            return STENCIL_OK;
    }
    FAIL(USAGE,
         "%s: '%s' names no axis of %s: write %s, with the number of a cell, or y=0.5, with a coordinate",
         t->option, t->text, f->name, f->rank == 3 ? "z=12" : "y=12");
}

/* Returns the cell whose coordinate is the nearest. */
static int64_t nearest(const field_axis *axis, double coordinate) {
    int64_t best = 0;
    for (int64_t i = 1; i < axis->n; i++)
        if (fabs(field_axis_at(axis, i) - coordinate) < fabs(field_axis_at(axis, best) - coordinate))
            best = i;
    return best;
}

/* Finds a cell: a whole number is its number, another number its coordinate. */
static stencil_status find_cell(const field *f, const place_text *t, const field_axis *axis, int64_t *cell) {
    const char *text = strchr(t->text, '=') + 1;
    char *end;
    const double number = strtod(text, &end);
    CHECK(*text != '\0' && *end == '\0' && isfinite(number) && strpbrk(text, "xX") == NULL, USAGE,
          "%s: '%s' is neither the number of a cell, such as 12, nor a coordinate, such as 0.5", t->option,
          text);
    if (strspn(text, "-0123456789") == strlen(text)) {
        CHECK(number >= 0 && number < (double)axis->n, USAGE,
              "%s: there is no cell %s along %s, which has the cells 0 to %lld of '%s'", t->option, text,
              axis->label, (long long)axis->n - 1, f->file->path);
        *cell = (int64_t)number;
        return STENCIL_OK;
    }
    const double first = field_axis_at(axis, 0), last = field_axis_at(axis, axis->n - 1),
                 least = fmin(first, last), highest = fmax(first, last), half = fabs(axis->step) / 2;
    CHECK(number >= least - half && number <= highest + half, USAGE,
          "%s: %s = %s is outside of '%s', which has cells from %s to %s (a whole number is the number of a "
          "cell)",
          t->option, axis->label, text, f->file->path, TEXT_SHORT(least), TEXT_SHORT(highest));
    *cell = nearest(axis, number);
    return STENCIL_OK;
}

/* Finds the plane that a slice leaves of a 3D field: the one in the middle of z unless `text` says another.
 */
static stencil_status place_slice(picture_source *s, const char *text, int *sliced) {
    const place_text slice = {"--slice", text};
    *sliced = -1;
    s->plane.across = STENCIL_X;
    s->plane.down = STENCIL_Y;
    CHECK(text == NULL || s->a.rank == 3, USAGE, "--slice: %s of '%s' is 2D: --line is a cut through it",
          s->a.name, s->a.file->path);
    if (s->a.rank == 2)
        return STENCIL_OK;
    *sliced = STENCIL_Z;
    s->plane.at[STENCIL_Z] = s->a.axis[STENCIL_Z].n / 2;
    if (text == NULL)
        return STENCIL_OK;
    TRY(find_axis(&s->a, &slice, sliced));
    TRY(find_cell(&s->a, &slice, &s->a.axis[*sliced], &s->plane.at[*sliced]));
    s->plane.across = *sliced == STENCIL_X ? STENCIL_Y : STENCIL_X;
    s->plane.down = *sliced == STENCIL_Z ? STENCIL_Y : STENCIL_Z;
    return STENCIL_OK;
}

static stencil_status place_line(picture_source *s, const char *text, int sliced) {
    const place_text line = {"--line", text};
    s->cut = -1;
    if (text == NULL)
        return STENCIL_OK;
    TRY(find_axis(&s->a, &line, &s->cut));
    CHECK(s->cut != sliced, USAGE, "--line: the slice has one cell along %s: give another axis, or --slice",
          s->a.axis[s->cut].label);
    return find_cell(&s->a, &line, &s->a.axis[s->cut], &s->plane.at[s->cut]);
}

/* Returns the time or the step of a frame. */
static double frame_at(const field_file *file, bool by_time, int64_t i) {
    return by_time ? file->time[i] : (double)file->step[i];
}

/* Checks that a time or a step is not before the first frame or after the last one, by more than half of what
 * is between two. */
static stencil_status check_inside(const field_file *file, const char *text, bool by_time, double number) {
    const int64_t last = file->frames - 1, next = last > 0 ? 1 : 0;
    const double first_at = frame_at(file, by_time, 0), last_at = frame_at(file, by_time, last);
    const double before = (frame_at(file, by_time, next) - first_at) / 2,
                 after = (last_at - frame_at(file, by_time, last - next)) / 2;
    CHECK(number >= first_at - before && number <= last_at + after, USAGE,
          "--at: '%s' is outside of '%s', whose frames go from %s %s to %s", text, file->path,
          by_time ? "t =" : "step", TEXT_SHORT(first_at), TEXT_SHORT(last_at));
    return STENCIL_OK;
}

/* Finds the frame of a series by "t=0.5", "step=100" or "frame=3"; the last one where nothing is said. */
static stencil_status place_frame(const field_file *file, const char *text, int64_t *frame) {
    *frame = file->frames - 1;
    if (text == NULL)
        return STENCIL_OK;
    CHECK(file->is_series, USAGE, "--at: '%s' is no series, which has frames", file->path);
    const char *value = strchr(text, '=');
    char *end = NULL;
    const double number = value != NULL ? strtod(value + 1, &end) : NAN;
    const bool by_time = strncmp(text, "t=", 2) == 0 || strncmp(text, "time=", 5) == 0,
               by_step = strncmp(text, "step=", 5) == 0, by_number = strncmp(text, "frame=", 6) == 0;
    CHECK((by_time || by_step || by_number) && end != value + 1 && *end == '\0' && isfinite(number), USAGE,
          "--at: '%s' is no frame: write t=0.5, step=100 or frame=3", text);
    CHECK(!by_number || (number >= 0 && number < (double)file->frames), USAGE,
          "--at: '%s' has the frames 0 to %lld", file->path, (long long)file->frames - 1);
    if (by_number) {
        *frame = (int64_t)number;
        return STENCIL_OK;
    }
    CHECK(!by_time || file->time != NULL, USAGE, "--at: '%s' has no times: write step=100 or frame=3",
          file->path);
    TRY(check_inside(file, text, by_time, number));
    double best = INFINITY;
    for (int64_t i = 0; i < file->frames; i++) {
        const double at = frame_at(file, by_time, i);
        if (fabs(at - number) < best) {
            best = fabs(at - number);
            *frame = i;
        }
    }
    return STENCIL_OK;
}

/* Titles: what is shown, of which file, where. */
static void set_title(picture *p, const picture_source *s, int sliced) {
    const field *a = &s->a;
    const char *name = stencil_path_last(a->name), *path = stencil_path_last(a->file->path);
    stencil_text_add(p->title, sizeof p->title, "%s", TEXT_ESCAPE(path));
    if (s->b.file != NULL)
        stencil_text_add(p->title, sizeof p->title, s->cut < 0 ? " − %s" : ", %s",
                         TEXT_ESCAPE(stencil_path_last(s->b.file->path)));
    stencil_text_add(p->title, sizeof p->title, ": %s", TEXT_ESCAPE(name));
    const int at[] = {sliced, s->cut};
    for (int i = 0; i < 2; i++)
        if (at[i] >= 0)
            stencil_text_add(p->title, sizeof p->title, ", %s = %s%s%s", a->axis[at[i]].label,
                             TEXT_SHORT(field_axis_at(&a->axis[at[i]], s->plane.at[at[i]])),
                             a->axis[at[i]].unit[0] != '\0' ? " " : "", a->axis[at[i]].unit);
    const bool differ = s->b.file != NULL && s->cut < 0;
    stencil_text_add(p->label, sizeof p->label, "%s%s", differ ? "difference of " : "",
                     TEXT_ESCAPE(a->about.long_name[0] != '\0' ? a->about.long_name : name));
    if (strcmp(a->about.units, "1") != 0)
        text_escape(a->about.units, p->unit, sizeof p->unit);
}

static stencil_status check_equal(const picture_source *s) {
    const field *a = &s->a, *b = &s->b;
    bool equal = a->rank == b->rank;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        equal = equal && a->axis[axis].n == b->axis[axis].n;
    const int64_t of_a[] = {a->axis[0].n, a->axis[1].n, a->axis[2].n},
                  of_b[] = {b->axis[0].n, b->axis[1].n, b->axis[2].n};
    CHECK(equal, BAD_DATA, "'%s' and '%s' differ in shape: %s has %s cells, %s %s", a->file->path,
          b->file->path, a->name, TEXT_EXTENT(of_a + STENCIL_AXES - a->rank, a->rank, " x "), b->name,
          TEXT_EXTENT(of_b + STENCIL_AXES - b->rank, b->rank, " x "));
    CHECK(!b->file->is_series || b->file->frames == a->file->frames, BAD_DATA,
          "'%s' has another number of frames than '%s'", b->file->path, a->file->path);
    return STENCIL_OK;
}

stencil_status picture_place(picture *p, picture_source *s, const picture_wish *wish) {
    int sliced;
    s->kinds = wish->kinds != NULL ? wish->kinds : s->a.file;
    s->saved = wish->saved;
    if (s->b.file != NULL)
        TRY(check_equal(s));
    TRY(place_slice(s, wish->slice, &sliced));
    TRY(place_line(s, wish->line, sliced));
    TRY(place_frame(s->a.file, wish->at, &s->at_frame));
    const bool compared = s->b.file != NULL, curves = s->cut >= 0 && s->a.file->is_series;
    if (wish->at == NULL && (wish->moves || (curves && !compared)))
        s->at_frame = -1;
    set_title(p, s, sliced);
    return STENCIL_OK;
}

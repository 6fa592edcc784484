#include "app/field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/text.h"

/* Most deviation of coordinates from even ones, as a part of their distance, that nobody sees. */
#define EVEN 1e-3

static const char advice[] = "name another one with --dataset";

/* Reads the first `count` numbers of the list that was opened last. *values: the caller frees it. */
static stencil_status read_list(field_file *file, const stencil_numbers *list, int64_t count,
                                double **values) {
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, count * (int64_t)sizeof(double), "a list of numbers"));
    double *to = *values = memory;
    for (int64_t first = 0, block = 0; first < count; first += block)
        TRY(stencil_input_block(&file->input, list, first, count - first, false, to + first, &block));
    return STENCIL_OK;
}

stencil_status field_list(field_file *file, const char *name, double **values, int64_t *count) {
    stencil_numbers list;
    *values = NULL;
    *count = 0;
    TRY(stencil_input_numbers(&file->input, name, advice, &list));
    if (!list.exists || list.rank != 1 || list.count == 0)
        return STENCIL_OK;
    const stencil_status status = read_list(file, &list, list.count, values);
    if (status == STENCIL_OK)
        *count = list.count;
    else
        free(*values), *values = NULL;
    return status;
}

/* Reads steps and times of the frames of a series. Errors: BAD_DATA: it is none. */
static stencil_status open_series(field_file *file, const stencil_input_options *how) {
    stencil_frames frames;
    stencil_numbers time;
    double *steps = NULL;
    void *memory = NULL;
    TRY(stencil_input_series(&file->input, file->path, how, &frames));
    file->frames = frames.count;
    stencil_status status =
        stencil_memory_alloc(&memory, frames.count * (int64_t)sizeof(int64_t), "steps of a series");
    file->step = memory;
    if (status == STENCIL_OK)
        status = read_list(file, &frames.step, frames.count, &steps);
    for (int64_t i = 0; i < frames.count && status == STENCIL_OK; i++)
        file->step[i] = fabs(steps[i]) <= (double)STENCIL_STEPS_MAX ? (int64_t)steps[i] : -1;
    free(steps);
    TRY(status);
    TRY(stencil_input_numbers(&file->input, "/time", advice, &time));
    if (time.exists && time.rank == 1 && time.count >= frames.count)
        TRY(read_list(file, &time, frames.count, &file->time));
    file->is_series = true;
    file->spec.rank = frames.u.rank - 1;
    file->time_is_steps = true;
    for (int64_t i = 0; i < file->frames && file->time != NULL; i++)
        file->time_is_steps = file->time_is_steps && file->time[i] == (double)file->step[i];
    return STENCIL_OK;
}

stencil_status field_file_open(field_file *file, const char *path, const stencil_input_options *how) {
    *file = (field_file){.path = path, .frames = 1};
    const stencil_status status = stencil_input_open(&file->input, path, how, &file->spec);
    if (status != STENCIL_BAD_DATA)
        return status;
    const stencil_error seen = *stencil_error_last();
    stencil_input_close(&file->input);
    stencil_spec_init(&file->spec);
    return open_series(file, how) == STENCIL_OK ? STENCIL_OK : stencil_error_adopt(&seen);
}

void field_file_close(field_file *file) {
    stencil_input_close(&file->input);
    free(file->step);
    free(file->time);
    *file = (field_file){0};
}

double field_axis_at(const field_axis *axis, int64_t cell) {
    return axis->at != NULL ? axis->at[cell] : axis->first + (double)cell * axis->step;
}

/* Takes coordinates from a list of the axis's length whose numbers ascend or descend. */
static stencil_status take_list(field_file *file, const char *name, field_axis *axis) {
    stencil_description about;
    double *at = NULL;
    int64_t count = 0;
    const stencil_status status = field_list(file, name, &at, &count);
    bool good = status == STENCIL_OK && count == axis->n &&
                stencil_input_describe(&file->input, &about) == STENCIL_OK;
    const double step = good && count > 1 ? (at[count - 1] - at[0]) / (double)(count - 1) : 1;
    bool even = true;
    for (int64_t i = 0; i < count && good; i++) {
        good = isfinite(at[i]) && step != 0 && (i == 0 || (at[i] - at[i - 1]) * step > 0);
        even = even && fabs(at[i] - at[0] - (double)i * step) <= EVEN * fabs(step);
    }
    if (good) {
        axis->first = at[0];
        axis->step = step;
        axis->at = even ? NULL : at;
        if (strcmp(about.units, "1") != 0)
            text_escape(about.units, axis->unit, sizeof axis->unit);
        text_escape(stencil_path_last(name), axis->label, sizeof axis->label);
    }
    if (axis->at != at)
        free(at);
    return status == STENCIL_NO_MEMORY ? status : STENCIL_OK;
}

/* Finds the coordinates of an axis: those of its scale, of a list with the axis's name, or multiples of the
 * spacing, as results have them. */
static stencil_status find_axis(field *f, int number) {
    static const char *const list[STENCIL_AXES] = {"/z", "/y", "/x"};
    const stencil_spec *spec = &f->file->spec;
    const int index = number - (STENCIL_AXES - f->is.rank); /* among the dataset's axes */
    field_axis *axis = &f->axis[number];
    const bool of_field = spec->rank == f->rank;
    snprintf(axis->label, sizeof axis->label, "%s", list[number] + 1);
    axis->n = f->is.extent[index];
    axis->step = of_field ? stencil_spec_spacing(spec, number) : 1;
    const int in_list = stencil_list_index(spec->rank, number);
    const bool mirror = of_field && spec->boundary_count > 0 &&
                        spec->boundary[spec->boundary_count == 1 ? 0 : in_list] == STENCIL_MIRROR;
    axis->first = mirror ? axis->step / 2 : 0;
    const char *scale = index < STENCIL_SCALES_MAX ? f->about.scale[index] : "";
    if (scale[0] != '\0')
        return take_list(f->file, scale, axis);
    return of_field ? take_list(f->file, list[number], axis) : STENCIL_OK;
}

static bool has_truths(const char *name) {
    return strcmp(name, "/fixed") == 0 || strcmp(name, "/insulated") == 0 || strcmp(name, "/class") == 0;
}

stencil_status field_select(field *f) {
    stencil_input *input = &f->file->input;
    TRY(has_truths(f->name) ? stencil_input_truths(input, f->name, &f->is)
                            : stencil_input_numbers(input, f->name, advice, &f->is));
    int64_t *frames = &f->is.extent[0];
    if (f->file->is_series && f->is.exists && f->is.rank > 0 && *frames > f->file->frames) {
        f->is.count = f->is.count / *frames * f->file->frames; /* later ones may not be whole */
        *frames = f->file->frames;
    }
    return STENCIL_OK;
}

static stencil_status open_dataset(field *f) {
    const char *path = f->file->path;
    const bool frames = f->file->is_series;
    TRY(field_select(f));
    CHECK(f->is.exists || !frames || strcmp(f->name, "/residual") != 0, BAD_DATA,
          "'%s' has no frames of the residual: save them with 'stencil run --save u,residual'", path);
    CHECK(f->is.exists, BAD_DATA, "'%s' has no dataset %s: %s", path, f->name, advice);
    f->rank = f->is.rank - frames;
    CHECK(f->rank > 0, BAD_DATA, "'%s': %s %s, a field has 2 or 3 axes: %s", path, f->name,
          frames && f->is.rank > 0 ? "has a number for each frame" : "is a single number", advice);
    CHECK(f->rank == 2 || f->rank == 3, BAD_DATA, "'%s': %s has %d ax%ss, a field has 2 or 3: %s", path,
          f->name, f->rank, f->rank == 1 ? "i" : "e", advice);
    CHECK(f->is.count > 0 && (!frames || f->is.extent[0] >= f->file->frames), BAD_DATA,
          "'%s': %s has no cells: %s", path, f->name, advice);
    return stencil_input_describe(&f->file->input, &f->about);
}

/* Gives a dataset without scales those of the field, where it has the field's shape. */
static stencil_status take_scales(field *f) {
    const char *name = f->file->input.facts.field;
    stencil_description of_field;
    stencil_numbers is;
    for (int axis = 0; axis < STENCIL_SCALES_MAX; axis++)
        if (f->about.scale[axis][0] != '\0')
            return STENCIL_OK;
    if (strcmp(f->name, name) == 0)
        return STENCIL_OK;
    TRY(stencil_input_numbers(&f->file->input, name, advice, &is));
    if (is.rank != f->is.rank || memcmp(is.extent, f->is.extent, (size_t)is.rank * sizeof *is.extent) != 0)
        return STENCIL_OK;
    TRY(stencil_input_describe(&f->file->input, &of_field));
    memcpy(f->about.scale, of_field.scale, sizeof f->about.scale);
    return STENCIL_OK;
}

stencil_status field_open(field *f, field_file *file, const char *name) {
    *f = (field){.file = file, .rank = 2};
    const bool is_u = strcmp(name, "u") == 0 || strcmp(name, "/u") == 0;
    const char *path = is_u ? file->input.facts.field : name;
    CHECK(strlen(path) + 1 < sizeof f->name, BAD_DATA, "'%s' has no dataset %s: %s", file->path, name,
          advice);
    stencil_text_add(f->name, sizeof f->name, "%s%s", path[0] == '/' ? "" : "/", path);
    TRY(open_dataset(f));
    TRY(take_scales(f));
    f->axis[STENCIL_Z] = (field_axis){.label = "z", .n = 1, .step = 1};
    for (int axis = STENCIL_AXES - f->rank; axis < STENCIL_AXES; axis++)
        TRY(find_axis(f, axis));
    return field_select(f); /* lists of coordinates were opened meanwhile */
}

void field_narrow(field *f, const field_part *part) {
    bool within = !f->file->is_series;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        within = within && part->first[axis] >= 0 && part->n[axis] > 0 && part->stride[axis] > 0 &&
                 part->first[axis] < f->axis[axis].n &&
                 part->n[axis] - 1 <= (f->axis[axis].n - 1 - part->first[axis]) / part->stride[axis];
    if (!within)
        return;
    f->part = *part;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        f->axis[axis].n = part->n[axis];
}

void field_close(field *f) {
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        free(f->axis[axis].at);
    free(f->window);
    *f = (field){0};
}

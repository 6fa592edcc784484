/* The grid that a file describes by means other than the format's attributes: spacing from coordinates, and
 * axes that are not of space. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "inputs/chunks.h"
#include "inputs/file.h"

#define PI 3.14159265358979323846

/* Relative difference above which two steps are different spacings, not the same one rounded. */
#define SAME_STEP 1e-3

/* Largest chunk that is unpacked to read only a few lines of cells. */
#define LOOK_BYTES ((hsize_t)256 << 20)

/* An input's grid while it is examined; axes in array order. */
typedef struct grid {
    stencil_h5_input *input;
    const stencil_spec *spec;
    stencil_notes *notes;
    stencil_coordinates axis[STENCIL_AXES];
} grid;

static double spacing_of(const stencil_spec *spec, int axis) {
    return stencil_spec_spacing(spec, STENCIL_AXES - spec->rank + axis);
}

static bool is_step_of(const stencil_coordinates *c, double spacing) {
    return fabs(c->step - spacing) <= SAME_STEP * c->step + 2 * c->rounding;
}

/* Adds a number to a text such as "0.1 x 0.2". */
static void add_number(char *text, size_t size, double value) {
    stencil_text_add(text, size, "%s%.6g", text[0] != '\0' ? " x " : "", value);
}

/* Adds a name to a text such as "/y and /x". */
static void add_name(char *text, size_t size, const char *name) {
    stencil_text_add(text, size, "%s%s", text[0] != '\0' ? " and " : "", name);
}

/* Checks for an axis of time: files of time series have one, even with a single time. */
static stencil_status check_time(const grid *g) {
    for (int i = 0; i < g->spec->rank; i++) {
        if (!g->axis[i].time)
            continue;
        CHECK(g->spec->extent[i] > 2, BAD_DATA,
              "'%s': axis %d of %s is labelled time ('%s') and has %" PRId64
              " cell%s, but is solved as an axis of "
              "space: give the field of one time, without that axis",
              g->input->path, i, g->input->facts.field, g->axis[i].label, g->spec->extent[i],
              g->spec->extent[i] == 1 ? "" : "s");
        stencil_notes_warn(
            g->notes,
            "axis %d of %s is labelled time ('%s'), but is solved as an axis of space: give the "
            "field of one time",
            i, g->input->facts.field, g->axis[i].label);
    }
    return STENCIL_OK;
}

static int find_label(const stencil_coordinates *axis, int rank, const char *label) {
    for (int i = 0; i < rank && label[0] != '\0'; i++)
        if (strcmp(axis[i].label, label) == 0)
            return i;
    return -1;
}

/* Refuses a dataset whose axes have the field's names in another order: it belongs to the transposed field.
 */
static stencil_status check_axes(const grid *g, const char *name) {
    const int rank = g->spec->rank;
    stencil_coordinates source[STENCIL_AXES], field[STENCIL_AXES];
    bool all = true, other = false;
    if (name == NULL)
        return STENCIL_OK;
    stencil_coordinates_of(g->input, g->input->facts.field, g->spec, field);
    stencil_coordinates_of(g->input, name, g->spec, source);
    for (int i = 0; i < rank; i++) {
        const int at = find_label(field, rank, source[i].label);
        all = all && at >= 0;
        other = other || at != i;
    }
    CHECK(!all || !other, BAD_DATA,
          "'%s': the axes of %s are (%s, %s%s%s), those of %s (%s, %s%s%s): give them in the same order",
          g->input->path, name, source[0].label, source[1].label, rank == 3 ? ", " : "",
          rank == 3 ? source[2].label : "", g->input->facts.field, field[0].label, field[1].label,
          rank == 3 ? ", " : "", rank == 3 ? field[2].label : "");
    return STENCIL_OK;
}

/* Notes a first or last axis that looks like an image's colours. */
static void note_image(const grid *g) {
    enum { LONG = 32 };
    const int64_t *n = g->spec->extent;
    for (int i = 0; i < 3 && g->spec->rank == 3; i += 2) {
        const int64_t other = n[2 - i];
        if ((n[i] == 3 || n[i] == 4) && n[1] >= LONG && other >= LONG && g->axis[i].name[0] == '\0' &&
            !g->axis[i].time)
            stencil_notes_warn(
                g->notes,
                "axis %d of %s has %" PRId64 " cells beside %" PRId64 " and %" PRId64
                ": if they are colours, "
                "or components, give one of them as a field of two axes; they are solved as an axis of space",
                i, g->input->facts.field, n[i], i == 0 ? n[1] : n[0], i == 0 ? n[2] : n[1]);
    }
}

/* Tells whether a length is one that people choose: a whole number or a multiple of pi. */
static bool is_usual_length(double length, double rounding) {
    const double within = 1e-6 * length + rounding, turns = length / PI;
    return length < 1000.5 && ((length > 0.5 && fabs(length - round(length)) <= within) ||
                               (turns > 0.5 && turns < 8.5 && fabs(turns - round(turns)) * PI <= within));
}

/* Tells whether coordinates include both ends of a period, as from linspace(), which makes their step differ
 * from that of a periodic axis. */
static bool repeats_endpoint(const stencil_coordinates *c) {
    const double length = fabs(c->last - c->first), rounding = 2 * c->rounding;
    return c->name[0] != '\0' && c->even &&
           (fabs(length - 360) <= 1e-6 * 360 + rounding ||
            (is_usual_length(length, rounding) && !is_usual_length(length + c->step, rounding)));
}

/* Number of lines of cells that are read at the ends of an axis of n cells (cells 0, 1, n - 2 and n - 1), and
 * most cells of a line. A line has few cells, since each may lie in another page of the file. */
enum { LINES = 4, LINE_CELLS = 256 };

static int64_t line_cells(const grid *g, int along) {
    return g->spec->extent[along] < LINE_CELLS ? g->spec->extent[along] : LINE_CELLS;
}

static bool read_lines(const grid *g, hid_t u, stencil_chunks *chunks, int axis, int along, double *value) {
    const int rank = g->spec->rank, skip = STENCIL_AXES - rank;
    const int64_t n = g->spec->extent[axis], at[LINES] = {0, 1, n - 2, n - 1}, cells = line_cells(g, along);
    bool read = true;
    for (int k = 0; k < LINES && read; k++) {
        stencil_box box = {.n = {1, 1, 1}};
        for (int i = 0; i < rank; i++)
            box.first[skip + i] = i == axis ? at[k] : (g->spec->extent[i] - (i == along ? cells : 0)) / 2;
        box.n[skip + along] = cells;
        const stencil_cells to = stencil_cells_dense(STENCIL_FLOAT64, value + k * cells, &box);
        read = stencil_chunks_read(chunks, u, &box, H5T_NATIVE_DOUBLE, &to) == NULL;
    }
    return read;
}

/* Tells whether the last cells repeat the first ones and the field continues periodically; false for a merely
 * symmetric field. */
static bool go_around(const double *value, int64_t n) {
    double apart = 0, first = 0, last = 0, both = 0;
    for (int64_t i = 0; i < n; i++) {
        const double low = value[n + i] - value[i], high = value[3 * n + i] - value[2 * n + i];
        apart = fmax(apart, fabs(value[3 * n + i] - value[i]));
        first += low * low;
        last += high * high;
        both += low * high;
    }
    const double change = fmax(first, last);
    return isfinite(change) && change > 0 && both > 0.5 * change && apart < 1e-3 * sqrt(change / (double)n);
}

static bool is_slow(hid_t u) {
    STENCIL_HANDLE create = H5Dget_create_plist(u);
    return create < 0 || stencil_dataset_elsewhere(u) ||
           (H5Pget_layout(create) == H5D_CHUNKED && H5Dget_storage_size(u) > LOOK_BYTES);
}

static bool repeats_cells(const grid *g, int axis) {
    const int rank = g->spec->rank, along = axis == rank - 1 ? rank - 2 : rank - 1;
    double value[LINES * LINE_CELLS];
    STENCIL_HANDLE u = H5Dopen2(g->input->file, g->input->facts.field, H5P_DEFAULT);
    if (u < 0 || g->spec->extent[axis] < 2 * LINES || is_slow(u))
        return false;
    stencil_chunks *chunks = stencil_chunks_open(u);
    const bool read = read_lines(g, u, chunks, axis, along, value);
    stencil_chunks_close(chunks);
    return read && go_around(value, line_cells(g, along));
}

static void note_period(const grid *g) {
    for (int i = 0; i < g->spec->rank; i++) {
        const stencil_coordinates *c = &g->axis[i];
        if (stencil_spec_boundary(g->spec, i) != STENCIL_PERIODIC)
            continue;
        if (repeats_endpoint(c))
            stencil_notes_warn(
                g->notes,
                "coordinates %s of a periodic axis go from %.6g to %.6g, with both ends of a period: cell n "
                "is cell "
                "0 again, so leave the last cell out, as linspace(..., endpoint=False) does",
                c->name, c->first, c->last);
        else if (c->name[0] == '\0' && repeats_cells(g, i))
            stencil_notes_warn(
                g->notes,
                "the last cells of %s along the periodic axis %s are the first ones again: cell n is cell 0 "
                "again, so leave them out",
                g->input->facts.field, c->label);
    }
}

static void note_uneven(const grid *g, const stencil_coordinates *c) {
    stencil_notes_warn(g->notes,
                       "coordinates %s are uneven from %s[%" PRId64
                       "] on: cells are taken to be evenly spaced, by spacing",
                       c->name, c->name, c->uneven_at);
}

/* Compares a given spacing with the file's coordinates. */
static void compare_spacing(const grid *g) {
    const int rank = g->spec->rank;
    char given[80] = "", apart[80] = "", names[3 * STENCIL_WORD_MAX + 16] = "";
    bool differs = false, swapped = true;
    for (int i = 0; i < rank; i++) {
        const stencil_coordinates *c = &g->axis[i];
        add_number(given, sizeof given, spacing_of(g->spec, i));
        if (c->name[0] == '\0' || c->time) {
            swapped = false;
            continue;
        }
        if (!c->even)
            note_uneven(g, c);
        add_name(names, sizeof names, c->name);
        add_number(apart, sizeof apart, c->step);
        differs = differs || (c->even && !is_step_of(c, spacing_of(g->spec, i)));
        swapped = swapped && c->even && is_step_of(c, spacing_of(g->spec, rank - 1 - i));
    }
    if (differs)
        stencil_notes_warn(
            g->notes,
            "spacing %s contradicts the coordinates %s, which are %s apart: spacing is in array order, %s%s",
            given, names, apart, rank == 2 ? "(y, x)" : "(z, y, x)",
            swapped ? ", and seems to be given the other way round" : "; spacing counts");
}

/* Notes that the spacing is 1 by default, since coordinates do not give it for all axes. */
static void note_unit_spacing(const grid *g) {
    for (int i = 0; i < g->spec->rank; i++) {
        const stencil_coordinates *c = &g->axis[i];
        if (c->name[0] != '\0' && !c->time && !c->even)
            note_uneven(g, c);
        else if (c->name[0] != '\0' && !c->time && !is_step_of(c, 1))
            stencil_notes_warn(
                g->notes,
                "spacing is 1, since none is given, but coordinates %s are %.6g apart: give --spacing or the "
                "attribute 'spacing', or attach coordinates to all axes of %s as dimension scales",
                c->name, c->step, g->input->facts.field);
    }
}

static stencil_status take_spacing(const grid *g, stencil_spec *spec) {
    char names[3 * STENCIL_WORD_MAX + 16] = "", steps[80] = "";
    bool all = true;
    for (int i = 0; i < spec->rank; i++) {
        const stencil_coordinates *c = &g->axis[i];
        CHECK(!c->attached || c->time || c->even, BAD_DATA,
              "'%s': coordinates %s of %s are uneven from %s[%" PRId64
              "] on, and cells are evenly spaced here: put "
              "the field on an even grid, or give --spacing or the attribute 'spacing'",
              g->input->path, c->name, g->input->facts.field, c->name, c->uneven_at);
        all = all && c->attached && !c->time;
        add_name(names, sizeof names, c->name);
        add_number(steps, sizeof steps, c->step);
    }
    if (!all) {
        note_unit_spacing(g);
        return STENCIL_OK;
    }
    spec->spacing_count = spec->rank;
    for (int i = 0; i < spec->rank; i++)
        spec->spacing[i] = g->axis[i].step;
    stencil_notes_warn(g->notes, "spacing %s (%s) is taken from the coordinates %s of %s", steps,
                       spec->rank == 2 ? "y, x" : "z, y, x", names, g->input->facts.field);
    return STENCIL_OK;
}

stencil_status stencil_h5_input_grid(stencil_h5_input *input, stencil_spec *spec, stencil_notes *notes) {
    grid looked = {.input = input, .spec = spec, .notes = notes};
    const grid *g = &looked;
    stencil_coordinates_read(input, spec, looked.axis);
    TRY(check_time(g));
    TRY(check_axes(g, stencil_source_names[g->spec->source]));
    TRY(check_axes(g, g->spec->fixed ? stencil_source_names[STENCIL_DATASET_FIXED] : NULL));
    TRY(check_axes(g, g->spec->classed ? stencil_source_names[STENCIL_DATASET_CLASS] : NULL));
    TRY(check_axes(g, g->spec->insulated ? stencil_source_names[STENCIL_DATASET_INSULATED] : NULL));
    note_image(g);
    note_period(g);
    const bool is_list = spec->spacing_count <= 1 || spec->spacing_count == spec->rank;
    if (spec->kind == STENCIL_KIND_NONE || !is_list)
        return STENCIL_OK;
    if (spec->spacing_count == 0)
        return take_spacing(g, spec);
    compare_spacing(g);
    return STENCIL_OK;
}

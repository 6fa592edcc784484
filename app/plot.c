/* stencil plot: shows a field, a series, the residual's history or differences, in a terminal or as a
 * picture. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "app/options.h"
#include "app/picture.h"
#include "inputs/series.h"
#include "app/text.h"

static const char *const colour_names[] = {"auto", "always", "never", NULL};
enum { COLOUR_AUTO, COLOUR_ALWAYS, COLOUR_NEVER };

typedef struct plot_options {
    const char *dataset, *slice, *line, *at, *against;
    bool first_on_top;
    const char *output, *json;
    bool force;
    int colour;
    const char *field;
    reading_options reading;
} plot_options;

#define AT(field) OPTION_AT(plot_options, field)
static const option plot_table[] = {
    {.heading = "What to show"},
    {"dataset", 'd', OPTION_TEXT, AT(dataset), "NAME",
     .help =
         "u, the field; residual, its history in a result, a map in a series; series, the frames that the "
         "run of a result has saved; class, fixed, insulated, or another dataset",
     .preset = "u"},
    {"slice", 's', OPTION_TEXT, AT(slice), "AXIS=CELL",
     .help =
         "plane of a 3D field: z=12 by the number of the cell, z=0.5 by the coordinate, for which a whole "
         "number is written 1.0 (default: the middle of z)"},
    {"line", 'l', OPTION_TEXT, AT(line), "AXIS=CELL",
     .help = "values along a line of that plane, as a curve"},
    {"at", 'a', OPTION_TEXT, AT(at), "FRAME",
     .help = "frame of a series, the nearest to t=0.5 or step=100, or frame=3 (default: the last one; all, "
             "where the picture can move or is one of curves)"},
    {"against", 0, OPTION_TEXT, AT(against), "FILE2",
     .help = "show FILE less FILE2; of lines and histories both"},
    {"first-on-top", 0, OPTION_FLAG, AT(first_on_top), NULL,
     .help = "draw the first row at the top, as images have it, not the coordinate upwards",
     .contradicts = {"line"}, .because = "a curve has no rows"},
    {.heading = "How"},
    {"output", 'o', OPTION_TEXT, AT(output), "FILE",
     .help =
         "picture to write, by its suffix: .png, .svg, .pdf, or a series that moves: .gif, .mp4 (default: a "
         "coarse map in the terminal)"},
    {"color", 0, OPTION_CHOICE, AT(colour), "WHEN",
     .help =
         "256 colours in a terminal; auto: where standard output is one, and the variable NO_COLOR is not "
         "set",
     .preset = "auto", .names = colour_names},
    {"json", 0, OPTION_TEXT, AT(json), "FILE",
     .help = "write the numbers that are drawn as JSON; - is standard output"},
    {"force", 'f', OPTION_FLAG, AT(force), NULL, .help = "replace existing files"},
    {"field", 0, OPTION_TEXT, AT(field), "NAME", .help = FIELD_HELP},
    {READING_OPTIONS(plot_options, reading)},
    {NULL},
};

/* State of the command. */
typedef struct plotting {
    plot_options options; /* first member: options_parse() fills the beginning of this state */
    picture_wish wish;
    field_file file, against, series;
    char series_path[PATH_MAX], output[PATH_MAX]; /* "": none */
    bool moves;
    picture picture;
} plotting;

/* Tells whether a program is in the PATH. */
static bool has_program(const char *name) {
    char path[PATH_MAX];
    const char *folder = getenv("PATH");
    while (folder != NULL && *folder != '\0') {
        const int length = (int)strcspn(folder, ":");
        if (snprintf(path, sizeof path, "%.*s/%s", length, folder, name) < (int)sizeof path &&
            access(path, X_OK) == 0)
            return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}

/* Decides how the picture is written, by the suffix of its name. A film without ffmpeg becomes a .gif. */
static stencil_status choose_output(plotting *s) {
    static const char *const still[] = {"png", "svg", "pdf", NULL}, *const moving[] = {"gif", "mp4", NULL};
    const char *path = s->options.output;
    if (path == NULL)
        return STENCIL_OK;
    const char *dot = strrchr(stencil_path_last(path), '.'), *suffix = dot != NULL ? dot + 1 : "";
    if (dot == stencil_path_last(path)) /* a hidden file without a suffix */
        suffix = "";
    s->moves = stencil_name_find(suffix, moving) >= 0;
    CHECK(s->moves || stencil_name_find(suffix, still) >= 0, USAGE,
          "--output: '%s' ends in no suffix of a picture: .png, .svg, .pdf, or of a series .gif, .mp4", path);
    CHECK(strlen(path) < sizeof s->output, USAGE, "--output: the name is too long");
    memcpy(s->output, path, strlen(path) + 1);
    const bool instead = strcmp(suffix, "mp4") == 0 && !has_program("ffmpeg");
    if (instead)
        memcpy(s->output + (dot - path), ".gif", 5);
    CHECK(!instead || s->options.force || access(s->output, F_OK) != 0, CANNOT_CREATE,
          "--output: there is no ffmpeg for a .mp4, and '%s', which would be written in its place, exists: "
          "give another name, or --force",
          s->output);
    TRY(target_check("--output", s->output, s->options.force, NULL));
    if (instead)
        fprintf(stderr, "stencil: there is no ffmpeg for a .mp4: writing '%s'\n", TEXT_ESCAPE(s->output));
    return STENCIL_OK;
}

static bool wants_colours(int when) {
    const char *no = getenv("NO_COLOR"), *terminal = getenv("TERM");
    const bool plain = (no != NULL && no[0] != '\0') || (terminal != NULL && strcmp(terminal, "dumb") == 0);
    return when == COLOUR_ALWAYS || (when == COLOUR_AUTO && !plain && isatty(STDOUT_FILENO));
}

/* Returns the size of the picture: for a terminal unless one is written. That of a map in pixels is the space
 * that plot.py has for it (WIDE and HIGH inches at DPI and FILM_DPI). */
static picture_size size_of(const plotting *s, bool colours) {
    enum { STILL_WIDE = 600, STILL_HIGH = 460, FILM_WIDE = 480, FILM_HIGH = 368, POINTS = 4096, FRAMES = 60 };
    if (s->output[0] == '\0')
        return picture_terminal_size(colours);
    return s->moves ? (picture_size){FILM_WIDE, FILM_HIGH, POINTS, FRAMES, 0}
                    : (picture_size){STILL_WIDE, STILL_HIGH, POINTS, 1, 0};
}

/* Finds the series of a result or a checkpoint: the file that /provenance names, or, where it names none, the
 * one of the result's name. */
static stencil_status find_series(plotting *s) {
    stencil_provenance made;
    const char *path = s->file.path;
    const int folder = (int)(stencil_path_last(path) - path);
    stencil_series_places places;
    if (stencil_input_provenance(&s->file.input, &made) != STENCIL_OK)
        return stencil_series_name(path, s->series_path);
    if (stencil_series_read_places(made.series, &places)) {
        memcpy(s->wish.saved.first, places.first, sizeof places.first);
        memcpy(s->wish.saved.n, places.n, sizeof places.n);
        memcpy(s->wish.saved.stride, places.stride, sizeof places.stride);
    }
    if (made.series_file[0] != '\0') {
        const int length = snprintf(s->series_path, sizeof s->series_path, "%.*s%s",
                                    made.series_file[0] == '/' ? 0 : folder, path, made.series_file);
        if (length < (int)sizeof s->series_path && access(s->series_path, F_OK) == 0)
            return STENCIL_OK;
    }
    return stencil_series_name(path, s->series_path);
}

/* Opens the series that the run of a result has saved beside it. */
static stencil_status open_series(plotting *s, const stencil_input_options *how) {
    CHECK(!s->file.is_series, USAGE, "--dataset series: '%s' is a series itself: leave it out", s->file.path);
    TRY(find_series(s));
    CHECK(access(s->series_path, F_OK) == 0, NO_INPUT,
          "'%s' is not there: 'stencil run --save-every' saves a series beside its result", s->series_path);
    s->wish.dataset = "u";
    s->wish.kinds = &s->file;
    return field_file_open(&s->series, s->series_path, how);
}

static stencil_status make_picture(plotting *s) {
    const plot_options *options = &s->options;
    field_file *file = s->series.path != NULL ? &s->series : &s->file,
               *against = options->against != NULL ? &s->against : NULL;
    CHECK(!s->moves || file->is_series, USAGE,
          "--output: '%s' is no series, which a picture that moves takes: "
          "write a .png",
          file->path);
    CHECK(!s->moves || options->line == NULL, USAGE, "--line: curves do not move: write a .png");
    s->wish.moves = s->moves;
    const bool history = strcmp(stencil_path_last(s->wish.dataset), "residual") == 0 && !file->is_series;
    return history ? picture_history(&s->picture, file, against, &s->wish)
                   : picture_field(&s->picture, file, against, &s->wish);
}

/* Opens a file; one without /u has the dataset that is asked for as its field. */
static stencil_status open_file(const plotting *s, field_file *file, const char *path) {
    stencil_input_options how = reading_options_of(&s->options.reading, s->options.field);
    const char *dataset = s->options.dataset;
    const stencil_status status = field_file_open(file, path, &how);
    if (status != STENCIL_BAD_DATA || how.field != NULL || strcmp(dataset, "u") == 0 ||
        strcmp(dataset, "series") == 0)
        return status;
    const stencil_error seen = *stencil_error_last();
    field_file_close(file);
    how.field = dataset;
    return field_file_open(file, path, &how) == STENCIL_OK ? STENCIL_OK : stencil_error_adopt(&seen);
}

static stencil_status plot_stages(invocation *call) {
    plotting *s = call->values;
    const plot_options *options = &s->options;
    const stencil_input_options how = reading_options_of(&options->reading, options->field);
    const bool colours = wants_colours(options->colour);
    CHECK(!options->force || options->json != NULL || options->output != NULL, USAGE,
          "--force has no effect without --json or --output: give one of them");
    TRY(choose_output(s));
    TRY(target_check_apart("--output", options->output, options->json, "JSON"));
    TRY(target_check("--json", options->json, options->force, call->operand[0]));
    TRY(open_file(s, &s->file, call->operand[0]));
    s->wish = (picture_wish){.dataset = options->dataset,
                             .slice = options->slice,
                             .line = options->line,
                             .at = options->at,
                             .first_on_top = options->first_on_top};
    s->wish.most = size_of(s, colours);
    if (strcmp(options->dataset, "series") == 0)
        TRY(open_series(s, &how));
    if (options->against != NULL)
        TRY(open_file(s, &s->against, options->against));
    TRY(make_picture(s));
    if (s->output[0] != '\0')
        TRY(picture_draw(&s->picture, s->output, options->force));
    else if (!target_is_stdout(options->json))
        picture_print(&s->picture, colours);
    return json_write("--json", options->json, options->force,
                      options->json != NULL ? picture_json(&s->picture, true) : NULL);
}

static stencil_status plot_run(invocation *call) {
    plotting *s = call->values;
    const stencil_status status = text_name_out_of_memory(plot_stages(call), call->operand[0]);
    const stencil_error seen = *stencil_error_last();
    picture_destroy(&s->picture);
    field_file_close(&s->file);
    field_file_close(&s->against);
    field_file_close(&s->series);
    return status != STENCIL_OK ? stencil_error_adopt(&seen) : STENCIL_OK;
}

const command command_plot = {
    .name = "plot",
    .usage = "plot [options] FILE",
    .summary = "shows a field, a series or its residuals, as a picture or in the terminal",
    .details =
        "FILE is a problem, a result, a checkpoint or a series. Limits are those of all cells of the slice; "
        "a "
        "pixel of several shows one that stands out, of differences the largest. Fixed cells have "
        "an outline, insulated ones are grey. Pictures are drawn by a script that is installed with stencil, "
        "and needs python3 with matplotlib.",
    .options = plot_table,
    .values_size = sizeof(plotting),
    .operand_min = 1,
    .operand_max = 1,
    .run = plot_run,
};

/* The numbers of a drawing of `stencil plot`: a map, or curves. All ways to show it (plot.py, a terminal,
 * JSON) take them from here. */
#pragma once

#include "app/field.h"
#include "app/json.h"

enum {
    PICTURE_CURVES_MAX = 8,
    PICTURE_TITLE_SIZE = 1024,
    PICTURE_CLASS_COLOURS = 64,
    PICTURE_CLASSES_MAX = 256
};

/* Limits of a picture: numbers along an axis of a map and of a curve, and frames. */
typedef struct picture_size {
    int64_t columns, rows, points, frames;
    double pixel_shape; /* a map fills columns and rows with pixels of this height over width, where cells are
                           to be seen in their shape; 0: it has at most so many square pixels, one or more of
                           the picture's for each cell */
} picture_size;

/* An axis, from edge to edge of what is shown. */
typedef struct picture_axis {
    char label[STENCIL_WORD_MAX], unit[STENCIL_WORD_MAX];
    double from, to;    /* outer edges of the first and the last cell, */
    double first, last; /* and their coordinates */
    double *edge;       /* edges of the pixels where they are not even, [pixels + 1], owned; NULL: they are */
} picture_axis;

typedef struct picture_frame {
    char text[96]; /* "step 20 028, t = 0.077"; "": unknown */
    int64_t step;  /* -1: unknown */
    double time;   /* NaN: unknown, or the number of steps */
} picture_frame;

typedef struct picture_curve {
    char name[96];
    bool is_limit; /* a level to be reached, across the picture; x and y have its two ends */
    int64_t count;
    double *x, *y; /* [count], owned; NaN: no value */
} picture_curve;

typedef struct picture {
    bool curves;                                              /* curves, else a map */
    char title[PICTURE_TITLE_SIZE], note[PICTURE_TITLE_SIZE]; /* note "": none */
    picture_axis x, y;                                        /* of curves: label and unit alone */
    char label[STENCIL_WORD_MAX], unit[STENCIL_WORD_MAX];     /* of the values */
    /* A map: */
    bool first_on_top, equal; /* row 0 is the highest one; axes have one scale */
    bool centred, classes;    /* values are shown around 0; values are numbers of classes */
    int64_t columns, rows, frame_count;
    double *values;               /* [frames][rows][columns], owned; NaN: no value; may be infinite */
    stencil_cell_kind *cells;     /* [rows][columns], owned; NULL: all are plain. The class of each cell, or
                                     STENCIL_KIND_INSULATED, or STENCIL_KIND_KEPT */
    picture_frame *frame;         /* [frames], owned */
    double least, most;           /* limits of all cells that are there, around 0 if `centred`; NaN: none is
                                     finite */
    bool has_kept, has_insulated; /* there are cells that keep their values, and insulated ones, */
    bool has_classes;             /* and cells of several classes */
    int64_t missing, infinite;    /* cells of all frames without a value that are not insulated, and infinite
                                     ones; of curves likewise */
    int class_count,
        class_number[PICTURE_CLASSES_MAX]; /* of a map of classes: those that are shown, ascending */
    bool fixed_x[2], fixed_y[2]; /* the cells at the low and the high end of an axis are a fixed side */
    /* Curves: */
    bool log, log_x; /* logarithmic axes of the values, and of what they are over */
    int curve_count;
    picture_curve curve[PICTURE_CURVES_MAX];
} picture;

/* The part of a file that is asked for. */
typedef struct picture_wish {
    const char *dataset;           /* "u", "residual", "series" or the name of another dataset */
    const char *slice, *line, *at; /* as the options say; NULL: not given */
    bool first_on_top;
    bool moves;        /* a series is shown frame by frame */
    field_file *kinds; /* file that says which cells are fixed or insulated; NULL: the one that is shown */
    field_part saved;  /* which of that file's cells are shown; n 0: all */
    picture_size most;
} picture_wish;

/* Fill an empty picture from a file, or from the differences between it and another one (NULL: none): a map
 * or a line in it, and the history of the residual. Errors: USAGE: no such slice, line or frame; BAD_DATA;
 * NO_MEMORY. */
stencil_status picture_field(picture *p, field_file *file, field_file *against, const picture_wish *wish);
stencil_status picture_history(picture *p, field_file *file, field_file *against, const picture_wish *wish);

/* Adds a curve of `count` points to a picture of curves. Errors: NO_MEMORY. */
stencil_status picture_add_curve(picture *p, const char *name, bool is_limit, const double *x,
                                 const double *y, int64_t count);

/* Parts of picture_field(): the plane that a wish means, with its title, and a curve along a line in it. */
typedef struct picture_source {
    field a, b; /* b: what a is compared with; b.file NULL: nothing */
    field_plane plane;
    int cut;           /* axis along which `line` is one cell; -1: no line */
    int64_t at_frame;  /* frame that is shown alone; -1: frames are shown one after the other */
    field_file *kinds; /* as in picture_wish, */
    field_part saved;  /* likewise */
} picture_source;
stencil_status picture_place(picture *p, picture_source *s, const picture_wish *wish);
stencil_status picture_line(picture *p, picture_source *s, const picture_size *most);
stencil_status picture_map(picture *p, picture_source *s, const picture_wish *wish);

/* Sets p->frame and p->frame_count: frames of what is shown, at most so many. NO_MEMORY. */
stencil_status picture_frames(picture *p, const picture_source *s, int64_t most);
/* Number in the file of frame k of a picture. */
int64_t picture_frame_at(const picture *p, const picture_source *s, int64_t k);

/* Reads which pixels of the plane are of which kind into *cells, [rows][columns], owned by the caller; NULL:
 * all are plain. Sets s->plane.gone; `pixels` is space for as many. Selects s->a then. */
stencil_status picture_kinds(picture *p, picture_source *s, field_pixel *pixels, stencil_cell_kind **cells);

/* Returns what a pixel of a map shows of its cells; `pixels` are those of the frame, [rows][columns]. */
double picture_pixel_value(const picture *p, const picture_source *s, const field_pixel *pixels,
                           int64_t column, int64_t row);

/* Returns which of PICTURE_CLASS_COLOURS a class has: that of its number, or, where larger ones are shown, of
 * its place among those that are. */
int picture_class_colour(const picture *p, double value);

/* Returns the character of a class: "." of 0, "1" to "9", "a" to "z" from 10 on, "A" to "Z" from 36 on, "+".
 */
char picture_class_character(double value);

/* Adds a remark to the note of a picture. */
void picture_note(picture *p, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Adds " (m)" where there is a unit. */
const char *picture_unit_text(const char *unit, char text[80]);
#define PICTURE_UNIT(unit) picture_unit_text(unit, (char[80]){""})

void picture_destroy(picture *p);

/* Makes JSON of a picture; `values`: with all numbers of a map. NULL without memory. */
json_t *picture_json(const picture *p, bool values);

/* Has plot.py write a picture to `path`, whose suffix says of which kind. Errors: those of script_run(). */
stencil_status picture_draw(const picture *p, const char *path, bool force);

/* Returns the size of a picture for a terminal of 80 columns, and prints one of that size, in 256 colours or
 * by characters alone (a map with pixels of half a character, or of one). */
picture_size picture_terminal_size(bool colours);
void picture_print(const picture *p, bool colours);

/* Print the two kinds of pictures (terminal_map.c, terminal_curves.c). */
void picture_print_map(const picture *p, bool colours);
void picture_print_curves(const picture *p, bool colours);

/* Columns of a terminal, of the numbers beside a picture, and of the picture. */
enum { PICTURE_COLUMNS = 80, PICTURE_MARGIN = 11, PICTURE_WIDE = 66 };

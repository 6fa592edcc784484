/* Fields in files as `stencil plot` reads them: problems, results, checkpoints and the frames of series, by
 * coordinates, and only as many cells as are shown. */
#pragma once

#include "base/words.h"
#include "inputs/inputs.h"

/* An open file. Zero-initialise; closed by field_file_close(). */
typedef struct field_file {
    const char *path; /* borrowed */
    stencil_input input;
    stencil_spec spec;  /* of a problem or a result; of a series: initialised, with its `rank` */
    bool is_series;     /* frames over time, as `run --save-every` writes them */
    int64_t frames;     /* 1, unless it is a series */
    int64_t *step;      /* of a series: steps of its frames, [frames], owned */
    double *time;       /* and their times, [frames], owned; NULL: none */
    bool time_is_steps; /* `time` has the numbers of steps again */
} field_file;

/* Opens a file. Errors: those of stencil_input_open(); a file that is neither problem nor series fails with
 * what the former says. */
stencil_status field_file_open(field_file *file, const char *path, const stencil_input_options *how);
void field_file_close(field_file *file);

/* An axis of a field: the coordinates of its cells. */
typedef struct field_axis {
    char label[STENCIL_WORD_MAX], unit[STENCIL_WORD_MAX]; /* unit "": none */
    int64_t n;
    double first, step; /* of cell 0, and the distance of cells (mean, may be negative) */
    double *at;         /* coordinates that are not even, [n], owned; NULL: they are */
} field_axis;

/* A part of a field: cells from `first` on along each axis, n with that stride. n[0] 0: all cells. */
typedef struct field_part {
    int64_t first[STENCIL_AXES], n[STENCIL_AXES], stride[STENCIL_AXES];
} field_part;

double field_axis_at(const field_axis *axis, int64_t cell);

/* A dataset of one of the files that has a number for each cell, in frames where it is a series'. Axes are
 * z, y, x; a 2D field has one cell along z. */
typedef struct field {
    field_file *file;            /* borrowed */
    char name[STENCIL_WORD_MAX]; /* path in the file: "/u" */
    stencil_numbers is;
    stencil_description about;
    int rank; /* 2 or 3, without the frames' axis */
    field_axis axis[STENCIL_AXES];
    field_part part; /* the cells that the axes have, where these are not all */
    /* Elements that were read last, from number `first` on. */
    double *window; /* owned */
    int64_t first, count;
} field;

/* Opens a dataset of a file. `name`: "u" is the field under any name; "fixed", "insulated" and "class" may
 * have truth values; all others are paths. Errors: BAD_DATA where there is none or it is no field. */
stencil_status field_open(field *f, field_file *file, const char *name);
void field_close(field *f);

/* Has a field of one file's cells consist of a part of these, without coordinates of their own, where that
 * part lies within it. */
void field_narrow(field *f, const field_part *part);

/* Makes `f` the dataset that its file reads from, after another one was opened. */
stencil_status field_select(field *f);

/* Reads a list of numbers of one axis, [*count], owned by the caller; NULL and 0 where there is none. Errors:
 * BAD_DATA, NO_MEMORY. */
stencil_status field_list(field_file *file, const char *name, double **values, int64_t *count);

/* A plane of a field, or a line: the cells with given indices along axes that it does not have. */
typedef struct field_plane {
    int64_t frame;
    int across, down;         /* its axes: that of columns, and that of rows (-1: a line) */
    int64_t at[STENCIL_AXES]; /* index along all other axes */
    int64_t columns, rows;    /* numbers (pixels) that it is shown by: of one cell each, or of many */
    uint8_t *gone;            /* a bit for each cell, row by row: 1: it is not there; NULL: all are */
} field_plane;

/* Returns the first cell of pixel `k` of `count` along an axis of n cells, and the cell in its middle. */
int64_t field_pixel_first(int64_t n, int64_t count, int64_t k);
int64_t field_pixel_middle(int64_t n, int64_t count, int64_t k);

/* The cells of a pixel that are there. A value that is not finite is in `missing` or `infinite` alone. */
typedef struct field_pixel {
    int64_t cells;             /* with a finite value */
    double least, most;        /* of these: +inf and -inf where there are none, */
    int64_t least_at, most_at; /* of a line, indices of the first such cells; */
    long double sum;
    double middle;      /* value of the cell in the middle; NaN: it is not there */
    int64_t missing;    /* cells without a value: NaN, or marked so */
    int64_t infinite;   /* infinite cells, */
    double an_infinity; /* and one of these */
} field_pixel;

/* Reads all cells of a plane, `a` less `b` where there is a b (NULL: none), which has the same cells, into
 * pixels[rows][columns]. Equal infinities differ by 0. Errors: BAD_DATA, NO_MEMORY. */
stencil_status field_read(field *a, field *b, const field_plane *plane, field_pixel *pixels);

/* Adds cells of a dataset that are not 0 to plane->gone, which is allocated where it is NULL; owned by the
 * caller. Errors: BAD_DATA, NO_MEMORY. */
stencil_status field_read_gone(field *f, field_plane *plane);

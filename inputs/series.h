/* A series: frames of a run's field over its steps, in a file of its own that any reader of HDF5 can open at
 * any moment, also after the process was killed.
 *
 * HDF5 makes the file once. Frames are then appended to it by plain writes: what a frame consists of comes
 * behind the end that readers know of, then its entries in the index of chunks of each array, and in the end
 * one write within a page of the file raises all counts at once: the extent of /u, /residual, /step and
 * /time, of flat datasets, and NSteps of /VTKHDF/Steps; Values, beside it, follows. Object headers of the
 * file have no checksums (versions that the oldest HDF5 reads), so that this is all that changes.
 * docs/format.md describes what readers see. */
#pragma once

#include "inputs/inputs.h"

/* The cells and the form in which a series has them. Zero-initialise for all cells, not compressed. */
typedef struct stencil_series_form {
    int64_t first[3], end[3]; /* cells of /u from `first` up to `end`, exclusive (z, y, x); end 0: the last */
    int64_t stride[3];        /* every so many of them; 0: 1 */
    bool compress;
    bool residual; /* frames have the residual, too, see stencil_change_read() */
} stencil_series_form;

/* Arrays of frames. Each is a dataset; where VTK drops axes of one cell, a flat one in /VTKHDF/PointData
 * lacks these axes, whose index leads to the same chunks. Datasets are numbered: those of the arrays, then
 * the flat ones. */
enum {
    STENCIL_SERIES_U,
    STENCIL_SERIES_RESIDUAL,
    STENCIL_SERIES_ARRAYS,
    STENCIL_SERIES_DATASETS = 2 * STENCIL_SERIES_ARRAYS
};

/* Places in the file of a series, and the form of its frames, which checkpoints record; a resumed run checks
 * and uses them. */
typedef struct stencil_series_places {
    uint64_t extent[STENCIL_SERIES_ARRAYS]; /* of the counts, all within one page; 0: no such array */
    uint64_t step_extent, time_extent, steps_count;
    uint64_t step_bytes, time_bytes;      /* of the sizes of the two lists, within the same page */
    uint64_t step, time;                  /* of the values of the two lists */
    uint64_t vtk_extent, vtk_bytes, vtk;  /* of /VTKHDF/Steps/Values, likewise, within a page of their own */
    uint64_t root[STENCIL_SERIES_ARRAYS]; /* of the roots of the indices of chunks */
    uint64_t end;                         /* of the first frame: the end of the file that HDF5 made */
    int64_t count;                        /* frames */
    int64_t capacity;                     /* most frames */
    uint64_t used;                        /* end of what the frames take */
    int64_t first[3], n[3], stride[3]; /* saved cells in indices of /u: from `first` on, n with that stride */
    int64_t compress;                  /* 1: frames are packed */
    uint64_t
        flat_extent[STENCIL_SERIES_ARRAYS];    /* as `extent` and `root`, of the flat datasets; 0: none, as */
    uint64_t flat_root[STENCIL_SERIES_ARRAYS]; /* in series of older versions */
} stencil_series_places;

/* A dataset of a series: frames of an array, each in chunks. */
typedef struct stencil_series_array {
    stencil_precision precision;
    int axes, axis[STENCIL_AXES]; /* axes of a frame that the dataset has, slowest first */
    int64_t chunk[3], chunks[3];  /* cells of a chunk, and chunks of a frame */
    uint64_t leaf;                /* node of the index that gets the next entry; 0: none yet */
} stencil_series_array;

/* Returns the name of the frames of the field in the file: that of the field, unless the series has something
 * else of this name, else "/u". */
const char *stencil_series_field(const stencil_problem *problem);

/* A series being written. Zero-initialised: closed. */
typedef struct stencil_series {
    const stencil_problem *problem; /* borrowed */
    stencil_sink sink;              /* the file; its name is given with the first frame */
    int fd;                         /* descriptor of the file, which is the sink's, or owned; -1: none */
    bool named;
    stencil_series_array array[STENCIL_SERIES_DATASETS];
    int arrays; /* arrays that there are */
    bool flat;  /* with a flat dataset each */
    stencil_series_places at;
    int64_t last_step;     /* step of the last frame; -1: none */
    void *buffer, *packed; /* owned: rows or chunks on their way */
    uint64_t stated;       /* end of the file that it states, at or behind at.used */
    uint64_t behind;       /* the disk has all before this place, but for the header; 0: no frame yet */
    uint64_t length;       /* end of the file, at or behind `stated`; 0: no further than that */
    int64_t vtk_count;     /* frames that /VTKHDF/Steps/Values has, see stencil_series_settle() */
    int64_t vtk_next;      /* frames that it has next, */
    double vtk_next_s;     /* which NSteps has had since this clock, */
    double shown_s;        /* and clock when NSteps had all of them */
    double write_s;        /* seconds that the last frame took */
} stencil_series;

/* Tells whether the series has a dataset. */
static inline bool stencil_series_has(const stencil_series *series, int dataset) {
    return dataset % STENCIL_SERIES_ARRAYS < series->arrays &&
           (dataset < STENCIL_SERIES_ARRAYS || series->flat);
}

/* Returns the places of a dataset's extent and root. */
static inline uint64_t *stencil_series_extent(stencil_series_places *at, int dataset) {
    return dataset < STENCIL_SERIES_ARRAYS ? &at->extent[dataset]
                                           : &at->flat_extent[dataset - STENCIL_SERIES_ARRAYS];
}
static inline uint64_t *stencil_series_root(stencil_series_places *at, int dataset) {
    return dataset < STENCIL_SERIES_ARRAYS ? &at->root[dataset]
                                           : &at->flat_root[dataset - STENCIL_SERIES_ARRAYS];
}

enum { STENCIL_SERIES_TEXT = 640 };

/* Checks the form against the problem, and makes the file `path` with no frame, which gets its name with the
 * first one. `most`: the number of frames that are expected; 0: unknown. The caller closes *series, also
 * after a failure. Errors: USAGE: the form selects no cells; CANNOT_CREATE; IO. */
stencil_status stencil_series_create(stencil_series *series, const char *path, bool replace,
                                     const stencil_problem *problem, const stencil_series_form *form,
                                     int64_t most);

/* Opens the file of a series to go on with it behind the frames that `places` (stencil_series_text()) names;
 * later frames are dropped. Errors: USAGE where the form is not that of these frames; BAD_DATA where the file
 * is not that series, NO_INPUT. */
stencil_status stencil_series_resume(stencil_series *series, const char *path, const char *places,
                                     const stencil_problem *problem, const stencil_series_form *form);

/* Appends a frame of the cells that `from` reads, the source with them where the residual needs it; `time` is
 * the physical time. Errors: IO, CANNOT_CREATE (the
 * name was taken meanwhile); those of the reader; NO_MEMORY. After a failure no frame follows. */
stencil_status stencil_series_append(stencil_series *series, const stencil_reader *from, int64_t step,
                                     double time);

/* Has /VTKHDF/Steps/Values follow NSteps, some time after the last frame. VTK reads NSteps and then the whole
 * list into memory for that many numbers: had the list grown meanwhile, it would overrun it. To be called now
 * and then, by one thread at a time; the next frame and closing do it, too. */
void stencil_series_settle(stencil_series *series);

/* Reads the next stretch of frames that are missing from a text such as "370:2000 2500:": from the frame of
 * step gap[0] on to before that of step gap[1], or, -1, all. Returns whether there is one. */
bool stencil_series_gap(const char **text, int64_t gap[2]);

/* Has the frames reach the disk. Errors: IO. */
stencil_status stencil_series_sync(const stencil_series *series);

/* Writes the places of a series as text, for a checkpoint; "" where it has no frame. */
void stencil_series_text(const stencil_series *series, char text[STENCIL_SERIES_TEXT]);

/* Reads such a text. Returns whether it is one. */
bool stencil_series_read_places(const char *text, stencil_series_places *places);

void stencil_series_close(stencil_series *series);

/* Makes the name of the series of a result: "p.out.h5" -> "p.out.series.h5". Errors: USAGE. */
stencil_status stencil_series_name(const char *output, char name[PATH_MAX]);

/* Internal: makes the file in series->sink, and finds its places, and those in `index` where the addresses of
 * the indices of chunks belong. `pad` moves objects by as many bytes; false in *fits: the counts do not lie
 * within one page. Errors: IO. */
enum { STENCIL_SERIES_NODE_CHUNKS = 1024 }; /* entries of a node of the index */
stencil_status stencil_series_lay_out(stencil_series *series, int pad,
                                      uint64_t index[STENCIL_SERIES_DATASETS], bool *fits);

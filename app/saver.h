/* The series of a run: which frames are due, and the file that has them. */
#pragma once

#include "app/options.h"
#include "inputs/series.h"

/* Options of a series, zero where not given. */
typedef struct saver_options {
    const char *every, *times, *arrays, *region;
    int64_t stride[STENCIL_AXES];
    int stride_count;
    bool compress;
} saver_options;
extern const option saver_option_table[];
#define SAVER_OPTIONS(structure, member) .table = saver_option_table, .offset = offsetof(structure, member)

/* A series and its rule. Zero-initialised: there is none. */
typedef struct saver {
    bool wanted;              /* options ask for a series */
    int64_t every_steps;      /* steps between frames; 0: not by steps */
    double every_s;           /* seconds between frames; 0: not by the clock */
    double first, step, last; /* physical times of frames; step 0: not by these */
    stencil_series_form form;
    const char *region; /* text of --save-region; NULL: all cells */
    const saver_options *options;
    const stencil_problem *problem; /* borrowed */
    char path[PATH_MAX];
    stencil_series series;
    bool opened; /* `series` is open */
    bool failed; /* a frame could not be written; set by the thread that writes */
    bool ended;  /* the run knows of that: no frame follows */
    int64_t next_step;
    int64_t taken_step; /* step of the last frame that was taken; -1: none */
    double due_s;       /* clock of the next frame, where they go by the clock */
    int64_t lost_step;  /* step of the first frame that could not be written; -1: none was lost */
    char gaps[256];     /* frames that the series lacks, see stencil_series_gap() */
    int64_t written;    /* frames of this run */
    double slowest_s;   /* longest time that a frame took to write */
} saver;

/* Reads the options. Errors: USAGE. */
stencil_status saver_prepare(saver *s, const saver_options *options);

/* Opens a new series, which begins with `step`, in place of one that is lost. Errors: as saver_open(). */
stencil_status saver_begin_anew(saver *s, const char *output, int64_t step);

/* Notes that the frame of a step is lost, and all that would follow. */
void saver_lose(saver *s, int64_t step);

/* Takes over which frames were lost before `step`, from which a resumed run goes on: those of that step and
 * later ones are made again. Returns whether there are some that are not. */
bool saver_take_gaps(saver *s, const char *gaps, int64_t step);

/* Opens the series of the result `output`: a new file, or where `places` (of the checkpoint that a run was
 * resumed from) is not "", the one there is. `replace`: an existing file may be replaced. Errors: USAGE,
 * CANNOT_CREATE, BAD_DATA, IO. */
stencil_status saver_open(saver *s, const stencil_problem *problem, const char *output, bool replace,
                          const char *places);

/* Returns the next step after `step` whose frame is due by steps or physical time; INT64_MAX: none. */
int64_t saver_next(const saver *s, int64_t step);

/* Tells whether the frame of a step is due by steps or physical time, or a frame by the clock. */
bool saver_is_due(const saver *s, int64_t step);
bool saver_is_late(const saver *s);

/* Notes that the frame of a step was taken. */
void saver_took(saver *s, int64_t step);

/* Returns the value of the time of a step: the physical time of heat, else the number of steps. */
double saver_time(const saver *s, int64_t step);

/* The checkpoints and the series that a long run writes while it goes on, and its limit of time. The thread
 * of a stencil_job writes beside the steps: while it does, no other thread calls HDF5. */
#pragma once

#include "app/options.h"
#include "app/progress.h"
#include "app/report.h"
#include "app/saver.h"
#include "base/job.h"
#include "inputs/checkpoints.h"
#include "solver/run/snapshot.h"

/* Options of a long run, zero where not given. */
typedef struct keeper_options {
    const char *checkpoint_every, *time_limit;
    bool keep_checkpoints;
    saver_options save;
} keeper_options;
extern const option keeper_option_table[];
#define KEEPER_OPTIONS(structure, member) .table = keeper_option_table, .offset = offsetof(structure, member)

/* Tag of options that a checkpoint records, and with which a resumed run goes on. */
enum { OPTION_RESUMED = 1 };

/* State of the files that a run leaves; zero-initialised: none. */
typedef struct keeper {
    run_record *record;  /* borrowed */
    stencil_run *run;    /* borrowed; NULL: not computing yet */
    int64_t every_steps; /* steps between checkpoints; 0: not by steps */
    double every_s;      /* seconds between checkpoints; 0: not by time */
    double deadline_s;   /* clock at which the process has to end; INFINITY: no limit */
    double other_s;      /* seconds kept for all that ends the process, beside what writing takes */
    bool keeps;          /* checkpoints stay when the result is written */
    bool drops_last;     /* the last checkpoint there is damaged */
    bool forced;         /* the command line has --force, which a resumed file may record, too */
    bool resumed;        /* the run was resumed, and existing checkpoints are its own */
    int quiet;
    stencil_checkpoints checkpoints;
    bool opened; /* `checkpoints` is open */
    bool begun;  /* the run makes steps: it goes on where a frame is lost */
    stencil_job *job;
    stencil_snapshot *snapshot;
    saver saver;
    char series_places[STENCIL_SERIES_TEXT];
    bool checkpoint_asked, frame_asked; /* what the job writes */
    stencil_report report; /* report of the checkpoint that the job writes; its history is owned */
    bool inline_only;      /* no memory for a snapshot: steps wait for writing */
    int threads;           /* threads of the job, set before it begins */
    int64_t next_step;     /* step of the next checkpoint, where they go by steps */
    double due_s;          /* clock of the next checkpoint, where they go by time */
    progress_files seen;   /* files when the job was idle last */
    double write_s; /* seconds that the last checkpoint took, when the job was idle last; 0: none yet */
    double copy_s, wait_s;       /* seconds that steps waited, for copies and for writing */
    int64_t failed, failed_step; /* checkpoints that could not be written, and the step of the last one */
    stencil_error frame_error;   /* error of the frame that could not be written */
    bool limited;                /* the limit of time has ended the run */
    bool told_asked;             /* a line has said that SIGUSR1 asks in vain */
    int64_t cycle_step;          /* step of the last end of a cycle seen, of an accelerated problem */
    double cycle_at_s, cycle_s;  /* clock then, and seconds of a cycle; 0: not known yet */
} keeper;

/* Reads the options; `start_s` is the clock when the command began. Errors: USAGE. */
stencil_status keeper_prepare(keeper *k, const keeper_options *options, double start_s);

/* Checks that checkpoints replace no file, unless the output may, or the run was resumed; and takes space for
 * them where options ask for some. `cells` reads the source term, `made` tells of the run that was resumed.
 * Errors: CANNOT_CREATE, IO. */
stencil_status keeper_open(keeper *k, run_record *record, stencil_run *run, const stencil_reader *cells,
                           const stencil_provenance *made);

/* Takes the frame of the first step, where one is due. */
stencil_status keeper_begin(keeper *k);

/* Returns the observer that takes checkpoints and ends the run at the limit of time. */
stencil_observer keeper_observer(keeper *k);

/* Tells the progress of a run which files there are; `context`: the keeper. */
void keeper_look(void *context, progress_files *files);

/* Waits until all that was begun is written, after the last step. */
stencil_status keeper_end(keeper *k);

/* Begins to remove the older checkpoint, beside the writing of the result of a run that has made its steps;
 * the last one stays until the result is there. */
void keeper_make_room(keeper *k);

/* Removes the checkpoints of a run whose result is written, unless they are to stay, or the run diverged. */
void keeper_finish(keeper *k);

/* Releases what the keeper has; called before the run is closed. */
void keeper_close(keeper *k);

/* Prints to standard error a line on a run that was ended before its last step: what has ended it, where its
 * series ends if it has lost frames, and how it goes on. */
void keeper_print_end(const keeper *k);

/* Prints to standard error how many checkpoints could not be written, where the first line did not say all.
 */
void keeper_print_failed(const keeper *k);

/* Prints lines of the report, and makes the part of its JSON (NULL: nothing to tell). */
void keeper_print(const keeper *k);
json_t *keeper_json(const keeper *k);

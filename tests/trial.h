/* One run of the product held against the plain reference: a problem with random fields, derived twice. */
#ifndef STENCIL_TESTS_TRIAL_H
#define STENCIL_TESTS_TRIAL_H

#include "app/reference.h"
#include "solver/run/run.h"
#include "trace.h"

enum { TRIAL_CYCLE_MAX = 8 };

typedef struct trial {
    stencil_spec spec;
    reference reference; /* of the same, once the trial is filled */
    void *initial;       /* [nz][ny][nx] of the precision, owned */
    void *source;        /* the same, or NULL */
    void *b;             /* the source scaled, as the reference takes it; or NULL */
    uint8_t *fixed;      /* other than 0: the cell keeps its value, wherever it is; owned, or NULL */
    uint8_t *row;        /* row of `weights` that a cell has; owned, or NULL */
    double *k;           /* coefficient of each cell; owned, or NULL */
    uint8_t *insulated;  /* other than 0: the cell is not there; owned, or NULL */
    void *more[STENCIL_SUM_ARRAYS];   /* source arrays behind `source`, from [1] on; owned */
    void *more_b[STENCIL_SUM_ARRAYS]; /* the same, scaled */
    void *value[STENCIL_SUM_ARRAYS];  /* arrays of the values of driven cells; owned */
    uint8_t *driven;                  /* other than 0: the cell is driven; owned, or NULL */
    stencil_tables tables; /* rows of weights [spec.class_count][spec.weight_count], numbers along sides, rows
                              (time, factor); owned */
    int cycle_length;      /* 0: the problem's own weights; else those: */
    stencil_step_weights cycle[TRIAL_CYCLE_MAX];
} trial;

/* How it is run, and how the plan for it is made. */
typedef struct trial_run {
    const stencil_machine *machine;
    stencil_backend backend;
    int strategy;
    int sweep;   /* 0: the default */
    int depth;   /* steps of a pass; fewer where there is no room for them; 0: as the plan chooses */
    int threads; /* of the CPU back-end */
    bool small;  /* as on a machine with next to no cache and GPUs of one multiprocessor: fields are larger
                    than the cache, blocks have several tiles */
    int stream;  /* rows of a stream of the stream sweep on a GPU, at least; 0: any */
    int multiprocessors;        /* as on a GPU of so many, where they hold more each; 0: all */
    bool tries;                 /* stores through the cache and past it round-robin, on the CPU back-end */
    stencil_world *world;       /* ranks that make the run together, a part each; NULL: this process */
    bool ranks_reach;           /* their GPUs reach each other's memory */
    int parts;                  /* 0: one; of all ranks */
    int gpu[STENCIL_PARTS_MAX]; /* of each part, on the GPU back-end */
    int cut[3];
    stencil_halo_mode halo;
    bool overlap;
    int64_t steps;
    int64_t pieces[2]; /* runs before that end after these steps, each taken up by the next; 0: none */
    int64_t check_every;
    stencil_norm norm;
    double rtol, atol;           /* NAN: none */
    int32_t poll_every;          /* steps between polls; 0: as planned */
    stencil_reason reason;       /* that it ends with at its last step; NONE: as the trace says */
    stencil_observers observers; /* one of them may interrupt the run */
    stencil_wait_policy wait;
    const struct trial_run *others; /* plans that make the steps in turns with this one's, three each */
    int other_count;
    int one_of;  /* on a CPU one of so many such runs is drawn (draw.h), 1: with sanitizers an eighth; 0: each
                    is made */
    bool unlike; /* the field must NOT be the reference's: an order between blocks was left out */
    bool must_fit;       /* a sweep that not every field suits has to take this one; else it may refuse */
    const char *failure; /* NULL: succeeds; else fails as INTERNAL, and these words (|-separated) are in the
                            message */
} trial_run;

/* A problem without points: `extent` and `boundary` in (z, y, x), extent[0] == 1 in 2D. */
void trial_init(trial *t, stencil_precision precision, int rank, const int64_t extent[3],
                const stencil_boundary boundary[3]);
void trial_destroy(trial *t);

/* Points of a named set with its default weights (weights NULL) or with weights[point_count]. */
void trial_set_shape(trial *t, const stencil_shape *shape, const double *weights);

/* Any points (z, y, x), in any order. */
void trial_set_points(trial *t, int count, const int32_t offset[][3], const double *weights);

/* Random initial values (and source) between -scale and scale, the same for the same seed. The last word on
 * the problem: what is changed afterwards the reference does not know. */
void trial_fill(trial *t, uint64_t seed, double scale, stencil_source source);

/* Cells that keep their values: single ones; blobs, with whole groups of cells in some rows; all but a blob;
 * and whole rows or planes. Dense ones are single, too, but one in four. */
typedef enum trial_pattern {
    TRIAL_SINGLE,
    TRIAL_BLOBS,
    TRIAL_OUTSIDE,
    TRIAL_ROWS,
    TRIAL_PATTERNS,
    TRIAL_DENSE = TRIAL_PATTERNS
} trial_pattern;

/* Fixes cells in a pattern, after trial_fill(). Some of them are -0, and those that no updated cell reads are
 * NaN, infinite or random in turn. */
void trial_fix(trial *t, uint64_t seed, trial_pattern pattern);

/* Gives the trial /class and `rows` rows of random weights for it, in a pattern of cells of random rows
 * beside others of row 0, or blobs of one row. Before trial_fill(); trial_class() after it. */
void trial_set_rows(trial *t, int rows, uint64_t seed);
void trial_class(trial *t, uint64_t seed, trial_pattern pattern);

/* Coefficients of cells of a problem heat, laplace or poisson: random ones, so that weights are fields, or of
 * two materials in blobs, so that they are rows. Before trial_fill(); trial_coefficients() after that and
 * after trial_fix(), or, with walls, trial_insulate(), which does the same. */
void trial_set_k(trial *t);
void trial_coefficients(trial *t, uint64_t seed, bool random);

/* Tells whether the product takes the coefficients of a trial as fields, and not as rows of classes. */
bool trial_takes_fields(const trial *t);

/* Tells whether cells of a trial that is complete have more rows of weights than bytes name. */
bool trial_has_wide_rows(const trial *t);

/* Sides of their own, walls of all kinds in turn; the numbers of each are random, of some arrays with two
 * values where `along`, which makes more rows. Before trial_fill(). */
void trial_set_walls(trial *t, uint64_t seed, bool along);

/* Sums of so many source arrays and arrays of driven cells, with random tables of factors over the times of
 * `steps` steps, one in three without. Before trial_fill(). trial_sum() makes the arrays, and drives most of
 * the cells of trial_fix() and of fixed sides; to be called after these, and before trial_insulate(). */
void trial_set_sums(trial *t, uint64_t seed, int sources, int driven, int64_t steps);
void trial_sum(trial *t, uint64_t seed);

/* Makes cells insulated in a pattern, with values that are NaN, infinite or random in turn, and tells the
 * reference of them and of the walls: to be called last, after trial_fix() and trial_class(). */
void trial_insulate(trial *t, uint64_t seed, trial_pattern pattern, bool any);

/* Random weights and source factors for each step of a cycle, in place of those of the shape that was set.
 * After trial_fill(). */
void trial_set_cycle(trial *t, int length);

/* Wants the end of a run whenever it is polled. */
extern const stencil_observer trial_impatient;

/* Whether a sweep makes such steps on a back-end. */
bool trial_has_sweep(const trial *t, stencil_backend backend, int sweep);

/* A number in [0, 1) that depends on nothing but seed and index. */
double trial_random(uint64_t seed, uint64_t index);

/* Whether a run is drawn (one_of). In the sample are each strategy with each sweep and each fault, each point
 * set in each precision, each boundary on each axis; in parts also each division, and each exchange with each
 * strategy. */
bool trial_is_drawn(const trial *t, const trial_run *r);

/* Runs the trial, unless it is not drawn (one_of), and fails the test, naming the case, unless the field, the
 * history, the step and the reason are those of the trace, which holds at least r->steps steps. An
 * interrupted run is held against the state of the step it reports. Whether it ran: not where it is not
 * drawn, and not where there is no such plan and it need not fit. */
bool trial_expect(const trial *t, trace *trace, const trial_run *r);

/* Runs that were left out because the GPUs, or the build's code for them, have no kernels for their sweep. */
extern int trial_lacking;

/* Runs it with late blocks, and once more without the order between blocks: fails the test unless that is
 * right first and then not. Only tiles on chip can be asked to. */
void trial_expect_unordered(const trial *t, trace *trace, const trial_run *late);

#endif

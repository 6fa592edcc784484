/* A problem as its author states it (stencil_spec), and resolved (stencil_problem): with all choices made,
 * but without cells, which a stencil_reader provides (boxes.h). */
#pragma once

#include "kernels/residual.h"
#include "solver/parts/cut.h"
#include "solver/problem/history.h"

typedef enum stencil_kind {
    STENCIL_KIND_NONE,    /* points and weights are given directly */
    STENCIL_KIND_LAPLACE, /* weights derived from the spacing, see stencil_problem_resolve() */
    STENCIL_KIND_POISSON,
    STENCIL_KIND_HEAT,
    STENCIL_KIND_COUNT
} stencil_kind;

typedef enum stencil_source {
    STENCIL_SOURCE_NONE,
    STENCIL_SOURCE_B, /* dataset /b: added unscaled in each step */
    STENCIL_SOURCE_F, /* dataset /f: right-hand side of poisson, scaled by resolve */
    STENCIL_SOURCE_Q, /* dataset /q: rate of heat, value per time, scaled by resolve */
    STENCIL_SOURCE_COUNT
} stencil_source;

/* What lies beyond a side of the field. The wall is half a cell beyond the outermost cells or, with NODE,
 * goes through them. Beyond it the field goes on as its condition asks: u(wall + d) follows from u(wall - d)
 * as the mirror image does, plus what the slope in the wall adds over a length of 2 d. */
typedef enum stencil_wall_kind {
    STENCIL_WALL_NONE,  /* not given: as `boundary` says */
    STENCIL_WALL_FIXED, /* the outermost cells keep their values */
    STENCIL_WALL_PERIODIC,
    STENCIL_WALL_MIRROR,
    STENCIL_WALL_MIRROR_NODE,
    STENCIL_WALL_FLUX, /* the slope along the outward normal is given */
    STENCIL_WALL_FLUX_NODE,
    STENCIL_WALL_EXCHANGE, /* the slope along the outward normal is `exchange` times (`ambient` - u) */
    STENCIL_WALL_EXCHANGE_NODE,
    STENCIL_WALL_COUNT
} stencil_wall_kind;
static inline bool stencil_wall_is_node(stencil_wall_kind wall) {
    return wall == STENCIL_WALL_MIRROR_NODE || wall == STENCIL_WALL_FLUX_NODE ||
           wall == STENCIL_WALL_EXCHANGE_NODE;
}
static inline bool stencil_wall_has_flux(stencil_wall_kind wall) {
    return wall == STENCIL_WALL_FLUX || wall == STENCIL_WALL_FLUX_NODE;
}
static inline bool stencil_wall_exchanges(stencil_wall_kind wall) {
    return wall == STENCIL_WALL_EXCHANGE || wall == STENCIL_WALL_EXCHANGE_NODE;
}

/* The numbers of a wall: one for the whole side, or an array with one for each cell along it. */
typedef enum stencil_wall_number {
    STENCIL_NUMBER_FLUX,
    STENCIL_NUMBER_EXCHANGE,
    STENCIL_NUMBER_AMBIENT,
    STENCIL_NUMBER_COUNT
} stencil_wall_number;

/* Tables of a problem that are too large for its spec. Arrays along a side have the extents of /u without the
 * side's axis, in array order: [nz][ny] at a side of x, [nx] at one of y in 2D. */
typedef struct stencil_tables {
    double *weights; /* rows of /stencil/weights, [class_count][weight_count]; NULL: it has no rows */
    double *along[3][2][STENCIL_NUMBER_COUNT]; /* [axis][side]; NULL: there is no such array */
    double
        *factor[STENCIL_STEP_FACTORS]; /* rows (time, factor), see factors.h; NULL: there is no such table */
} stencil_tables;

/* Names as they stand in files and options ("laplace", "fixed", "l2", …), indexed by the
 * enumerations, NULL after the last name; kind NONE has the name "". */
extern const char *const stencil_kind_names[STENCIL_KIND_COUNT + 1];
extern const char *const stencil_boundary_names[STENCIL_BOUNDARY_COUNT + 1];
extern const char *const stencil_wall_names[STENCIL_WALL_COUNT + 1];
extern const char *const stencil_norm_names[STENCIL_NORM_COUNT + 1];
extern const char *const stencil_wall_number_names[STENCIL_NUMBER_COUNT + 1]; /* "flux", … */

enum { STENCIL_FINGERPRINT_CHARS = 17, STENCIL_DIGEST_CHARS = 33 };

/* Statement of a problem by an input file's attributes and the command line, before anything is derived. The
 * reader fills it, options override it, stencil_problem_resolve() turns it into a problem, and the writer
 * stores it again. Lists per axis are in array order: (y, x) or (z, y, x). Initialise with
 * stencil_spec_init(). Each member's comment has its value for "not given". */
enum { STENCIL_FIELD_MAX = 64, STENCIL_MATERIALS_MAX = 16 };

/* Facts about all cells of /k together, by stencil_coefficients_find(); `most` NaN: they were not read yet.
 */
typedef struct stencil_k_facts {
    double least, most;                /* of all cells but those of /insulated */
    int materials;                     /* different values; 0: more than STENCIL_MATERIALS_MAX */
    double diagonal;                   /* the largest sum of k / h^2 over the faces of an updated cell */
    char digest[STENCIL_DIGEST_CHARS]; /* of the cells in float64, 0 in cells of /insulated */
} stencil_k_facts;

/* A table of a factor over time: its rows, 0 where none is given, and stencil_table_hash() of them. */
typedef struct stencil_table_facts {
    int64_t count;
    uint64_t hash;
} stencil_table_facts;

typedef struct stencil_spec {
    char field[STENCIL_FIELD_MAX];         /* the dataset that u is in a file, "/temperature"; "": /u */
    int rank;                              /* 2 or 3 */
    int64_t extent[3];                     /* cells of u in array order, `rank` entries used */
    stencil_precision precision;           /* precision of fields and arithmetic */
    char stencil[32];                      /* name of a point set; "" not given */
    int offset_count;                      /* 0: not given */
    int32_t offset[STENCIL_POINTS_MAX][3]; /* points in any order, `rank` entries used of each */
    int weight_count;                      /* 0: not given */
    double weight[STENCIL_POINTS_MAX];     /* weights in the order of `offset`, or ascending for `stencil` */
    stencil_kind kind;
    int boundary_count; /* 0 (fixed on all axes), 1 (one boundary for all axes) or rank */
    stencil_boundary boundary[3];
    /* Sides of their own, [axis z, y, x][low, high], whatever the rank. */
    stencil_wall_kind wall[3][2];
    double flux[3][2], exchange[3][2], ambient[3][2]; /* numbers of a wall; NaN: not given */
    bool along[3][2][STENCIL_NUMBER_COUNT];      /* the number is an array, of which tables have the values */
    double range[3][2][STENCIL_NUMBER_COUNT][2]; /* least and largest value of such an array */
    uint64_t along_hash[3][2][STENCIL_NUMBER_COUNT]; /* stencil_palette_hash() of it */
    int spacing_count; /* 0 (1.0 on all axes), 1 (one spacing for all axes) or rank */
    double spacing[3];
    double omega;          /* NaN: not given (1) */
    char accelerate[24];   /* "none", "chebyshev", "chebyshev:M", see cycle.h; "" not given (none) */
    int diffusivity_count; /* 0 (1 along all axes), 1 (one for all axes) or rank */
    double diffusivity[3];
    double dt;         /* NaN: not given (the largest stable one) */
    int64_t steps;     /* -1: not given */
    double time_end;   /* physical time to reach, for heat in place of `steps`; NaN: not given */
    double rtol, atol; /* tolerances of the stop rule, see stencil_stop; NaN: not given */
    stencil_norm norm;
    int64_t check_every; /* 0: not given */
    stencil_source source;
    int source_count; /* arrays of the source: /q, /q2 and so on; 0 or 1: one, if there is a source */
    int driven_count; /* arrays that the values of driven cells are a sum of: /fixed_value, … */
    bool fixed;       /* dataset /fixed: cells that keep their values, anywhere */
    bool insulated;   /* dataset /insulated: cells that are not there, towards which faces are mirrors */
    bool has_k;       /* dataset /k: the coefficient of div k grad u in each cell */
    stencil_k_facts k;
    bool classed;    /* dataset /class: the row of /stencil/weights that each cell has */
    int class_count; /* rows of /stencil/weights [class_count][weight_count], of which `weight` is row 0;
                        0: it is a list, which has no rows */
    uint64_t palette_hash;                           /* stencil_palette_hash() of all rows */
    stencil_table_facts table[STENCIL_STEP_FACTORS]; /* factors in time, see factors.h */
    /* Records of earlier runs in the file; -1, NaN, "": no such record. */
    int64_t steps_total;                         /* steps from the problem's start to /u */
    int64_t checked_every;                       /* check_every as the file has it; 0: not given */
    double residual_first;                       /* see stencil_stop */
    double time, time_first;                     /* physical time of /u, and of the problem's start */
    int64_t plain_from;                          /* see stencil_origin */
    double eigenvalue[2];                        /* least and most, estimated, that a cycle was made of */
    char fingerprint[STENCIL_FINGERPRINT_CHARS]; /* fingerprint of the problem that earlier runs solved */
    char digest_u[STENCIL_DIGEST_CHARS];         /* digest of /u as earlier runs left it, see digest.h */
    char digest_b[STENCIL_DIGEST_CHARS];         /* digest of the source term that earlier runs read */
    char digest_class[STENCIL_DIGEST_CHARS];     /* digest of the classes of cells that earlier runs had */
} stencil_spec;

void stencil_spec_init(stencil_spec *spec);

/* Returns the kinds of problem that use an attribute, where `kind` does not use it; NULL: `kind` uses it. */
const char *stencil_attribute_effect(const char *name, stencil_kind kind);

/* Index of an axis (STENCIL_Z, …) in a per-axis list in array order; -1 for z of a 2D problem. */
static inline int stencil_list_index(int rank, int axis) {
    return axis - (STENCIL_AXES - rank);
}

/* The name of the field in files, for messages: "/u", unless spec->field names another dataset. */
const char *stencil_spec_field(const stencil_spec *spec);

/* Distance of grid points along an axis (STENCIL_Z, …), 1 where nothing is given; and the sum of 2/h^2 over
 * the axes: S of stencil_problem_resolve(). */
double stencil_spec_spacing(const stencil_spec *spec, int axis);
double stencil_spec_diagonal(const stencil_spec *spec);

/* The diffusivity of problem heat along an axis, 1 where none is given. */
double stencil_spec_diffusivity(const stencil_spec *spec, int axis);

/* The largest `exchange` of a wall, of one or of all its cells. */
double stencil_spec_exchange_most(const stencil_spec *spec, int axis, int side);

/* The largest stable time step of problem heat: 1 / sum over the axes of 2 diffusivity / h^2. A wall that
 * exchanges, through the outermost cells, adds diffusivity `exchange` / h to the sum: the larger one of an
 * axis. With /k: 1 / k.diagonal, and NaN while that is not known. */
double stencil_spec_dt_largest(const stencil_spec *spec);

/* Rules for the end of a run. Steps count from the problem's start, whoever made them.
 *
 * The residual is the norm of u' - u. A criterion is met when it falls under max(rtol * first, atol), with
 * first the residual of step 1, for problem poisson the larger of it and the norm of (omega / S) f. Since
 * u' - u shrinks with h^2 and omega, atol alone says nothing about the error of u. */
typedef struct stencil_stop {
    int64_t steps;      /* the run ends after this many steps at the latest */
    bool steps_default; /* `steps` is the default, not given by the author */
    double rtol, atol;  /* NaN: no such criterion */
    stencil_norm norm;
    int64_t check_every; /* steps between residual checks, >= 1; the last step is checked, too */
                         /* In accelerated problems `steps` and `check_every` are whole cycles. */
} stencil_stop;

/* Tells whether a run ends on its residual at all. */
bool stencil_stop_has_criterion(const stencil_stop *stop);

/* Relation of a file's arrays to those that its recorded steps left, see origin.h. */
typedef enum stencil_origin_arrays {
    STENCIL_ORIGIN_UNCHECKED, /* not checked, or the file records no steps */
    STENCIL_ORIGIN_SAME,
    STENCIL_ORIGIN_UNKNOWN, /* the file has no digests, like results of version 0.2.0: taken for the same */
    STENCIL_ORIGIN_OTHER_U,
    STENCIL_ORIGIN_OTHER_SOURCE,
    STENCIL_ORIGIN_OTHER_BOTH,
    STENCIL_ORIGIN_OTHER_CLASSES, /* other cells are fixed; u and the source may be others, too */
    STENCIL_ORIGIN_LOST           /* the file has some of the digest attributes, not all of them */
} stencil_origin_arrays;

/* The start of a run: what earlier runs of the same problem did to its initial field. */
typedef struct stencil_origin {
    int64_t steps;         /* steps of earlier runs; 0: the field holds initial values */
    double residual_first; /* residual of step 1; NaN: not known */
    double time_first;     /* physical time of the problem's start */
    int64_t check_every;   /* check_every of the earlier runs */
    int64_t plain_from;    /* steps before an accelerated problem's last, plain cycle; -1: not reached */
    bool recounted;        /* the file's steps belong to another problem and do not count */
    stencil_origin_arrays arrays;
    stencil_history history; /* checked residuals of earlier runs, filled by the file's reader */
    bool last_is_extra;      /* the last entry of `history` was checked only because a run ended there */
} stencil_origin;

/* Defaults: steps of a run with a criterion, steps of a run without, steps between residual checks. */
#define STENCIL_STEPS_DEFAULT_CRITERION INT64_C(10000000)
#define STENCIL_STEPS_DEFAULT           INT64_C(1000)
#define STENCIL_CHECK_EVERY_DEFAULT     INT64_C(100)

/* Weights of a step, rounded to the problem's precision before use. */
typedef struct stencil_step_weights {
    double weight[STENCIL_POINTS_MAX]; /* weights of all points of the shape, ascending */
    double source_factor;
} stencil_step_weights;

/* A repeated sequence of steps with different weights: the step after s steps since the problem's start has
 * the weights of entry s % length, which stencil_cycle_step() returns. */
typedef struct stencil_cycle {
    int length;                        /* 1: all steps are alike, with the problem's weights */
    double least, most;                /* eigenvalues a and b of an accelerated problem, see cycle.h */
    const stencil_step_weights *given; /* [length], borrowed: weights in place of Chebyshev's; NULL: none */
} stencil_cycle;

/* Bounds of the eigenvalues of a relaxation, of which the least one is an estimate, see bounds.h. */
typedef struct stencil_estimate {
    bool known;
    double least, most; /* estimates of the eigenvalues of I - J */
    double seen;        /* an eigenvalue is as large as that, up to 1e-6, or larger */
    double bound;       /* no eigenvalue is larger */
    double
        stretch; /* factor from an inner product in which cells in walls count half to the sum of squares */
    int steps;   /* of Lanczos' method; 0: it was not tried */
    double seconds; /* that they took */
} stencil_estimate;

/* The form in which steps take the coefficients of /k. */
typedef enum stencil_coefficients {
    STENCIL_COEFFICIENTS_NONE,
    STENCIL_COEFFICIENTS_ROWS,  /* the cells have few distinct rows of weights: those of classes */
    STENCIL_COEFFICIENTS_FIELDS /* arrays of face weights, see faces.h */
} stencil_coefficients;

/* Arrays per axis are in (z, y, x) here, whatever the rank; a 2D problem has one plane, radius 0 in z. */
typedef struct stencil_problem {
    stencil_spec spec; /* the spec of the problem with effective values filled in, kept for the output */
    int rank;
    stencil_precision precision;
    const stencil_shape *shape;        /* compiled point set that includes all points given */
    double weight[STENCIL_POINTS_MAX]; /* weights of all points of `shape`, ascending, 0 for points not given;
                                          rounded before use */
    stencil_cycle cycle;               /* sequence of step weights; length 1: `weight` in all steps */
    int64_t extent[3];                 /* cells of /u */
    int64_t n[3];                      /* updated cells: extent less the boundary cells of fixed axes */
    int64_t radius[3];                 /* reach of the points given, per axis */
    int64_t first[3]; /* interior index of the array's first cell: -radius on fixed axes, else 0 */
    stencil_boundary boundary[3]; /* MIRROR as well on axes whose sides classes of cells make */
    stencil_wall_kind wall[3][2]; /* what lies beyond each side */
    double
        source_scale; /* b[i] = (T)(source_scale * (double)f[i]) for SOURCE_F and SOURCE_Q; 1 for SOURCE_B.
                         For poisson with /k, source_scale is divided by the sum of the cell's face weights */
    stencil_coefficients coefficients;
    stencil_stop stop;
    stencil_origin origin;
    stencil_estimate estimate; /* of the eigenvalues, where they do not follow from the box */
    /* Classes of cells, see classes.h; 0, NULL: all cells are plain. */
    int64_t kept;      /* cells among n that keep their values */
    int64_t driven;    /* those of the kept ones whose values are a sum of arrays times factors in time */
    int64_t varied;    /* cells among n that have weights of their own, those of a row of `palette` */
    int palette_count; /* rows of such weights, numbered from 1 on (palette.h) */
    double *palette;   /* [palette_count][STENCIL_WEIGHTS], owned: those of the rows, like `weight`, and at
                          STENCIL_SOURCE_WEIGHT what a step adds to such cells */
    struct stencil_row_search *row_search; /* owned, what finds a row among them */
    uint8_t *byte_of_row;  /* [palette_count + 1], owned: the class of cells of a row, WIDE where it is rare;
                              NULL: the number of the row, since bytes name all of them */
    uint16_t *row_of_byte; /* [STENCIL_BYTE_ROWS + 1], owned with it: the rows that bytes name */
    bool has_constants;    /* steps add something to cells of some class */
    bool walls_in_source; /* this is part of the source term, since there are more such constants than rows */
    const stencil_tables *tables;                /* borrowed by stencil_classes_find() */
    char fingerprint[STENCIL_FINGERPRINT_CHARS]; /* hash of all that decides the result of a step */
    stencil_layout layout;                       /* layout of a buffer that holds all cells */
} stencil_problem;

/* Resolves `spec` into a problem; allocates nothing.
 *  laplace, poisson: -div grad u = f (f = 0) by Jacobi relaxation on the radius-1 star:
 *    S = sum over axes of 2/h^2; w_centre = 1 - omega; w_neighbour = omega / h^2 / S; b = (omega / S) * f.
 *    With accelerate these are the weights at omega = 1, of which cycle.h makes those of each step.
 *  heat: du/dt = a div grad u + q, explicit: c = a dt / h^2 per axis; w_neighbour = c;
 *    w_centre = 1 - 2 (c_z + c_y + c_x); b = dt * q. Stable while dt <= 1 / (a S).
 *    With time_end a dt that is not given is the largest stable one of which a whole number makes the time up
 * to then, and the run has that number of steps; with a dt that is given, as many as do not lead past
 * time_end. All of it in double, in the order written (axes z, y, x). BAD_DATA for contradictions, wrong
 * lengths, points that fit no shape, unstable dt, extents that are too small. */
stencil_status stencil_problem_resolve(stencil_problem *problem, const stencil_spec *spec);

/* Sets stop.steps to the steps up to time_end, counted from the problem's start over all runs. Part of
 * stencil_problem_resolve(); to be called again after a change of the start. Errors: BAD_DATA. */
stencil_status stencil_problem_resolve_time(stencil_problem *problem);

/* The mesh of a problem for a cut into parts whose ghost cells are exchanged every `depth` steps. */
stencil_mesh stencil_problem_mesh(const stencil_problem *problem, int depth);

/* Frees the history of earlier runs and the palette; NULL-safe. */
void stencil_problem_destroy(stencil_problem *problem);

/* Physical time of the field after `steps` steps of problem heat; NaN for other problems. */
double stencil_problem_time(const stencil_problem *problem, int64_t steps);

/* Tells whether the problem is a relaxation, laplace or poisson: its field approaches a solution. */
bool stencil_problem_relaxes(const stencil_problem *problem);

/* Tells whether steps read arrays of face weights. */
bool stencil_problem_has_fields(const stencil_problem *problem);

/* Tells whether steps add a source term: one that the file has, or constants of walls. */
bool stencil_problem_has_source(const stencil_problem *problem);

/* Tells whether cells are of several classes, so that kernels have to look at them. */
bool stencil_problem_has_classes(const stencil_problem *problem);

/* Tells whether cells have more rows of weights than bytes name, so that some are of class WIDE. Returns the
 * row of weights of a number from 1 on, and the number of the row of a cell: `row` is what the cell has in
 * STENCIL_ARRAY_ROW, 0 where there is no such array; 0: its class has none. */
bool stencil_problem_has_wide_rows(const stencil_problem *problem);
const double *stencil_problem_row(const stencil_problem *problem, int number);
int stencil_problem_row_number(const stencil_problem *problem, uint8_t class_of, uint16_t row);

/* Tells whether some sides, or cells of /insulated, make classes of cells: then these are derived from what
 * the file says of cells, see rows.h. */
bool stencil_problem_derives_classes(const stencil_problem *problem);

/* Tells whether an axis is fixed on one side and mirrored on the other, and whether that is all that sides of
 * their own make of the problem, and no cell is insulated: then eigenvalues are known (spectrum.h). */
bool stencil_problem_is_half_fixed(const stencil_problem *problem, int axis);
bool stencil_problem_is_separable(const stencil_problem *problem);

/* Tells whether some side has numbers that differ along it; a hash of all of them, of which sides they are
 * included. */
bool stencil_spec_has_arrays(const stencil_spec *spec);
uint64_t stencil_spec_along_hash(const stencil_spec *spec);

/* Tells whether a side needs more than what boundary[axis] says. */
bool stencil_problem_wall_is_own(const stencil_problem *problem, int axis, int side);

/* The name of the dataset that says which classes cells have, for messages. */
const char *stencil_spec_classes(const stencil_spec *spec);

/* Names what keeps cells from being updated, for messages: "/fixed and the boundary" and the like. */
const char *stencil_spec_keepers(const stencil_spec *spec);

/* A hash of the rows of /stencil/weights, by which a run tells them from those of earlier steps. */
uint64_t stencil_palette_hash(const double *weights, int64_t count);

/* Number of arrays that are added to updated cells: one where there is a source that is no sum. */
int stencil_problem_sources(const stencil_problem *problem);

/* Number of arrays that are added to updated cells, or that driven cells are a sum of: the larger of both. */
int stencil_problem_sum_arrays(const stencil_problem *problem);

/* Number of arrays of a run: two alternating buffers of u, those of sums of sources, and face weights of each
 * axis. */
int stencil_problem_arrays(const stencil_problem *problem);

/* Cells of the grid less the boundary cells of fixed axes: those that a step goes through. Rates and models
 * count them. Kept cells are not among the updated ones, over which the residual is taken. */
int64_t stencil_problem_cells(const stencil_problem *problem);
int64_t stencil_problem_updated_cells(const stencil_problem *problem);

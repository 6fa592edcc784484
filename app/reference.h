/* A second, plain implementation of the solver's arithmetic, for `stencil verify` and the tests: dense arrays
 * [nz][ny][nx], every neighbour beyond the edge found by mapping its index. It shares the named point sets
 * with the solver and nothing else: weights, boundaries, update and residual are implemented again from
 * docs/format.md. */
#pragma once

#include "solver/problem/problem.h"

/* Definition of a step. Everything per axis is in (z, y, x); a 2D problem has extent 1 and offset 0 in z. */
typedef struct reference {
    stencil_precision precision;
    int64_t extent[3]; /* cells of the arrays, boundary cells included */
    stencil_boundary boundary[3];
    int64_t reach[3];        /* largest offset of the given points along an axis */
    int64_t low[3], high[3]; /* first and one past the last updated cell */
    int point_count;
    int32_t offset[STENCIL_POINTS_MAX][3]; /* offsets of points, ascending */
    double weight[STENCIL_POINTS_MAX];     /* weights rounded to `precision`; 0: a point not given */
    /* Steps whose damping follows a cycle (Chebyshev): cycle length (0: none), weights at omega = 1, least
     * and most eigenvalues, and omega of the step that was begun last. */
    int64_t cycle, plain_from; /* plain_from: number of steps before plain ones; -1: no plain steps */
    double plain[STENCIL_POINTS_MAX], least, most, omega;
    double source_scale;  /* b = source_scale f, or q, rounded to the precision; 1 for /b */
    double source_factor; /* factor of b in a step, rounded to the precision; 1: b as it is */
    /* Factors in time: rows (time, factor) of table k, borrowed (NULL: the factor is 1), their number, and
     * the time of the field after n steps, start + n dt. */
    const double *table[STENCIL_STEP_FACTORS];
    int64_t rows[STENCIL_STEP_FACTORS];
    double start, dt;
    /* Sums: source arrays behind b, scaled like it; arrays of the values of driven cells, of which
     * driven[z][y][x] is other than 0 (`fixed` has them, too). All borrowed; counts 1 and 0: none. */
    int sources, values;
    const void *more[STENCIL_SUM_ARRAYS], *value[STENCIL_SUM_ARRAYS];
    const uint8_t *driven;
    double factor[STENCIL_SUM_ARRAYS]; /* factors of the sources in the step that was begun last */
    double scale;                      /* power of two that arrays are multiplied by, see reference_scale() */
    /* /fixed: fixed[z][y][x] other than 0: the cell keeps its value. Borrowed; NULL: only boundary cells do.
     */
    const uint8_t *fixed;
    /* /class: row[z][y][x] is the row of /stencil/weights that a cell has, row_weights[row][k] the weight of
     * point k in it, where row_weights has no row 0: that is `weight`. row_weights belongs to the reference,
     * see reference_set_rows(); `row` is borrowed. NULL: all cells are of row 0. */
    const uint8_t *row;
    double *row_weights; /* [rows][STENCIL_POINTS_MAX] */
    /* Walls and cells of /insulated, see reference_walls(); owned. own[cell]: the row of `made` that a cell
     * has; -1: none, it is made as `row` says. `made` ends with the constant of the row. */
    int32_t *own;
    double (*made)[STENCIL_POINTS_MAX + 1];
    int made_count, row_count; /* row_count: rows of weights, given and made, that differ */
    const double *along[3][2][STENCIL_NUMBER_COUNT]; /* numbers of walls that differ along a side, borrowed;
                                                        NULL: the spec has one */
    bool adds_constants;                             /* walls add something */
    uint8_t *still;                                  /* cells that keep their values, which `fixed` is then */
    /* /k, see reference_coefficients(): the weights of each cell's faces, rounded, in the order of its
     * points; owned. NULL: cells have the weights of their row. divides: for laplace and poisson. */
    double (*face)[6];
    bool divides;
    /* Coefficients are fields: a row of `made` then says for each point k what is read, in [4 k]: 1 for its
     * cell; else factors of the opposite point's cell, of the cell itself, and a constant. */
    bool by_value;
    /* The lines that arrays hold, planes (in 2D rows) along `axis`: `held` of them from `begin` on, which on
     * a periodic axis may be below 0. Arrays are [held][ny][nx], in 2D [held][nx]. Steps make those in
     * [first, end), the own ones, of which residuals are; others are there to be read. */
    int axis;
    int64_t around; /* largest offset along it, of all points of the set: those of weight 0 are read, too */
    int64_t begin, held, first, end;
    uint8_t *needed; /* of rows of `made`: own cells have it, and the file does not; owned */
} reference;

/* Partial sums of a residual, added in the order of cells; zeroed: none. value[level][i]: those of the last
 * group of a level, which is not full yet, of count[level] values in all. */
enum { REFERENCE_GROUP = 1024, REFERENCE_LEVELS = 6 };
typedef struct reference_sum {
    int64_t updated, count[REFERENCE_LEVELS];
    double value[REFERENCE_LEVELS][REFERENCE_GROUP];
} reference_sum;

/* Rows of weights that differ, and their number; more than 253 are as good as 253. */
enum { REFERENCE_ROWS = 253 };
typedef struct reference_rows {
    int count;
    double row[REFERENCE_ROWS][STENCIL_POINTS_MAX + 1];
} reference_rows;

/* Derives all members of *r from the stated problem, and from the point set that the solver uses. */
void reference_init(reference *r, const stencil_spec *spec, const stencil_shape *shape);

/* Makes lines [first, end) the own ones, beside which arrays hold as many as so many steps read: right after
 * reference_init(), which makes all lines own ones. */
void reference_window(reference *r, int64_t first, int64_t end, int64_t steps);

/* Makes `lines` and so many more on each side, where the field has them, the own ones of a window that holds
 * these and what they are made from. */
void reference_own(reference *r, const int64_t lines[2], int64_t more);

/* Returns the number of cells of an array; the number of cell (z, y, x) of the field in it; and sets `at` to
 * the cell (z, y, x) that number i stands for. */
int64_t reference_cells(const reference *r);
int64_t reference_number(const reference *r, int64_t z, int64_t y, int64_t x);
void reference_position(const reference *r, int64_t i, int64_t at[3]);

/* Tells whether steps may make number i: it is no boundary cell, and arrays hold what it is made from. Sets
 * `at` as reference_position() does. */
bool reference_is_inner(const reference *r, int64_t i, int64_t at[3]);

/* Returns the number of own rows of cells, and sets z and y of one of them; returns whether steps make it. */
int64_t reference_own_rows(const reference *r);
bool reference_own_row(const reference *r, int64_t own, int64_t *z, int64_t *y);

/* Tells whether number i is a cell of /fixed. */
static inline bool reference_is_fixed(const reference *r, int64_t i) {
    return r->fixed != NULL && r->fixed[i] != 0;
}

/* Takes over the tables of a spec's factors over time; table[k] is borrowed, NULL where there is none. */
void reference_set_tables(reference *r, const stencil_spec *spec, double *const table[STENCIL_STEP_FACTORS]);
/* Returns factor k of the step after `step` steps, in double. */
double reference_factor(const reference *r, int k, int64_t step);

/* Sets the weights for the step after `step` steps. A damped step's residual is its change over omega. */
void reference_begin_step(reference *r, int64_t step);

/* Returns the index of the cell whose value index i, inside or not, has on a periodic or mirrored axis of n
 * cells. */
int64_t reference_image(int64_t i, int64_t n, stencil_boundary boundary);

/* Gives driven cells of u the values that they have after the step that follows `step` steps. */
void reference_drive(const reference *r, void *u, int64_t step);

/* Widens `range` by the smallest and the largest k[z][y][x] of own cells that are there; it begins as
 * {INFINITY, 0}. */
void reference_range(const reference *r, const double *k, const uint8_t *insulated, double range[2]);

/* Takes over the coefficients k[z][y][x] (borrowed for the call), of which `range` has the smallest and the
 * largest in all of the field: faces of the cells that steps make and, where the problem is accelerated, the
 * bounds of its eigenvalues. spec->dt of heat must be known. by_value: see above. Before reference_walls().
 * Errors: NO_MEMORY. */
stencil_status reference_coefficients(reference *r, const stencil_spec *spec, const double *k,
                                      const uint8_t *insulated, const double range[2], bool by_value);

/* Computes the weights of the points of cell number i, which has faces, in the arithmetic of the precision.
 */
void reference_face_weights(const reference *r, int64_t i, double weight[7]);

/* Makes the source term b[z][y][x], in the precision, of f[z][y][x] where there are coefficients. */
void reference_source(const reference *r, const double *f, void *b);

/* Makes a step of the own lines from u to next; cells that are not updated are copied, as all other lines
 * are. b (NULL: none) is read at updated cells. */
void reference_step(const reference *r, const void *u, const void *b, void *next);

/* Returns element i of an array as a double; NULL is an array of zeros. */
double reference_value(const reference *r, const void *array, int64_t i);

/* Returns the largest absolute value of u in own lines, and of b (NULL: zeros) where they are updated. */
double reference_largest(const reference *r, const void *u, const void *b);

/* Chooses r->scale by the largest value of all lines before the first step, as docs/format.md says, and
 * multiplies both arrays by it. */
void reference_scale(reference *r, double largest, void *u, void *b);

/* Makes what follows from walls, and from insulated[z][y][x] (borrowed for the call; NULL: no cell is): rows
 * of weights for the cells beside these, and cells that keep their values. To be called last, when `fixed`,
 * `row` and the weights are set. Errors: NO_MEMORY. */
stencil_status reference_walls(reference *r, const stencil_spec *spec, const uint8_t *insulated);

/* Adds the rows that own cells have beside those of the file to `rows`, and those of `more`, each once. */
void reference_add_rows(const reference *r, reference_rows *rows);
void reference_join_rows(reference_rows *rows, const reference_rows *more);

/* Tells whether what walls add is part of the source term: there are more than 252 different rows, `count`
 * made ones (r->row_count for a window of all lines) beside those of the file, numbers along a side, and no
 * table of factors for the first source. reference_move_constants() makes it so: it adds what belongs to each
 * cell to b[z][y][x], in double, rounded again. */
bool reference_walls_in_source(const reference *r);
void reference_move_constants(reference *r, void *b);

/* Takes over the rows of /stencil/weights, as the file has them: weights[rows][points of the file], and frees
 * them. Errors: NO_MEMORY. */
stencil_status reference_set_rows(reference *r, const stencil_spec *spec, const double *weights);
void reference_destroy(reference *r);

/* Computes the norm of next - u over updated cells of own lines, to which cells of /fixed do not belong; u
 * NULL: zeros. Errors: NO_MEMORY. */
stencil_status reference_residual(const reference *r, stencil_norm norm, const void *u, const void *next,
                                  double *residual);

/* The same of lines in several windows: begin makes the partial sums *value of a window's own lines, owned by
 * the caller, and counts their cells; add adds them behind those of the lines before; end returns the norm.
 * Errors: NO_MEMORY. */
stencil_status reference_sum_begin(const reference *r, stencil_norm norm, const void *u, const void *next,
                                   double **value, int64_t *updated);
void reference_sum_add(const reference *r, stencil_norm norm, const double *value, int64_t updated,
                       reference_sum *sum);
double reference_sum_end(const reference *r, stencil_norm norm, reference_sum *sum);

/* Point sets: which neighbours a cell reads. The shapes are written once, for both C and CUDA. */
#pragma once

#include "base/base.h"

/* The most points, and the largest radius, of any point set. */
enum { STENCIL_POINTS_MAX = 49, STENCIL_RADIUS_MAX = 3 };

typedef enum stencil_rule { STENCIL_STAR, STENCIL_BOX, STENCIL_CORNERS, STENCIL_EDGES } stencil_rule;

typedef enum stencil_shape_id {
#define STENCIL_SHAPE(name, rank, rule, radius, count, text) STENCIL_SHAPE_##name,
#include "kernels/stencils.def"
    STENCIL_SHAPE_COUNT
} stencil_shape_id;

/* A named point set. */
typedef struct stencil_shape {
    stencil_shape_id id;
    const char *name;
    int rank; /* 2 or 3 */
    stencil_rule rule;
    int radius;
    int point_count;
    const char *description;
} stencil_shape;

/* All named point sets, STENCIL_SHAPE_COUNT rows in the order of stencils.def. */
extern const stencil_shape stencil_shapes[];

extern const char *const stencil_shape_names[]; /* NULL after the last name */

/* Returns the point set of this name, or NULL. */
const stencil_shape *stencil_shape_find(const char *name);

/* Lists the offsets (z, y, x) of a point set in ascending order, which is the order of weights and of
 * summation. Returns the number of points. */
int stencil_shape_offsets(const stencil_shape *shape, int32_t offset[STENCIL_POINTS_MAX][3]);

/* Tells whether the point (dz, dy, dx) belongs to a shape. */
STENCIL_CONSTANT bool stencil_rule_contains(stencil_rule rule, int radius, int dz, int dy, int dx) {
    if (dz < -radius || dz > radius || dy < -radius || dy > radius || dx < -radius || dx > radius)
        return false;
    const int az = dz < 0 ? -dz : dz, ay = dy < 0 ? -dy : dy, ax = dx < 0 ? -dx : dx;
    switch (rule) {
    case STENCIL_STAR:
        return (az != 0) + (ay != 0) + (ax != 0) <= 1;
    case STENCIL_BOX:
        return true;
    case STENCIL_CORNERS:
        return az == 0 || (ay == az && ax == az);
    case STENCIL_EDGES:
        return az + ay + ax < 3;
    }
    return false;
}

/* The weights of all points of a shape in ascending order, and then, at STENCIL_SOURCE_WEIGHT, the factor of
 * the source term, all rounded to the precision of the sweep. */
enum { STENCIL_SOURCE_WEIGHT = STENCIL_POINTS_MAX, STENCIL_WEIGHTS };
typedef union stencil_weights {
    float f32[STENCIL_WEIGHTS];
    double f64[STENCIL_WEIGHTS];
} stencil_weights;

/* Arrays of a sum whose factors change in time, at most; and factors of a step: those of the arrays that are
 * added to updated cells, then those of the arrays that driven cells are the sum of. */
enum { STENCIL_SUM_ARRAYS = 4, STENCIL_STEP_FACTORS = 2 * STENCIL_SUM_ARRAYS };

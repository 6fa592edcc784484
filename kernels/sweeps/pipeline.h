/* What a pass of the pipeline sweep looks like on a GPU, for its kernels and for the host that launches them.
 */
#pragma once

#include "kernels/points.h"

/* A block, of which a multiprocessor holds one, has so many warps that make steps. A line of rows has one for
 * each of its stages, and two that load and store: a block works on one line of eight stages or on two lines
 * of four. Each stage makes `levels` steps of a strip of 32 * cells columns, `cells` of them in a lane, and
 * hands on `rows` rows at once. */
enum {
    STENCIL_PIPELINE_WARPS = 8,
    STENCIL_PIPELINE_THREADS = 32 * (STENCIL_PIPELINE_WARPS + 4) /* registers are given to fours of warps */
};
typedef struct stencil_pipeline_shape {
    int stages, levels, cells, rows;
} stencil_pipeline_shape;

/* Passes of one kind have a kernel. PLAIN: the fastest. GENERAL: those that can do everything. They have the
 * weights of each step and rows of the source term in shared memory, and a row for each slot. CHECKED: those
 * whose last step is checked, and which are otherwise plain. The last warp of a line does not make steps, it
 * sums. */
typedef enum stencil_pipeline_kind {
    STENCIL_PIPELINE_PLAIN,
    STENCIL_PIPELINE_GENERAL,
    STENCIL_PIPELINE_CHECKED
} stencil_pipeline_kind;

/* As much as registers hold; measured on an H200, docs/performance.md. */
STENCIL_CONSTANT stencil_pipeline_shape stencil_pipeline_shape_of(stencil_rule rule, int radius, bool f64,
                                                                  stencil_pipeline_kind kind) {
    const stencil_pipeline_shape star[][2] = {{{4, 4, 21, 2}, {8, 2, 19, 3}}, {{4, 2, 21, 3}, {8, 1, 19, 3}}},
                                 box[][2] = {{{4, 4, 21, 2}, {8, 2, 21, 1}},
                                             {{4, 2, 21, 1}, {8, 1, 19, 1}},
                                             {{4, 1, 27, 1}, {4, 1, 11, 1}}};
    stencil_pipeline_shape shape = rule == STENCIL_STAR ? star[radius - 1][f64] : box[radius - 1][f64];
    if (kind == STENCIL_PIPELINE_GENERAL)
        shape.rows = 1;
    if (kind == STENCIL_PIPELINE_CHECKED)
        shape.stages--;
    return shape;
}

/* Steps of a pass at most, whatever its kind; and of one that is CHECKED. */
STENCIL_CONSTANT int stencil_pipeline_depth(stencil_rule rule, int radius, bool f64) {
    const stencil_pipeline_shape shape = stencil_pipeline_shape_of(rule, radius, f64, STENCIL_PIPELINE_PLAIN);
    return shape.stages * shape.levels;
}
STENCIL_CONSTANT int stencil_pipeline_checked(stencil_rule rule, int radius, bool f64) {
    const stencil_pipeline_shape shape =
        stencil_pipeline_shape_of(rule, radius, f64, STENCIL_PIPELINE_CHECKED);
    return shape.stages * shape.levels;
}

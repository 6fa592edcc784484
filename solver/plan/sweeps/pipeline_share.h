/* Shares of lines of warps in the rows of a pass of the pipeline sweep in 2D, where cells have classes: rows
 * take different times, and all lines shall end together. */
#pragma once

#include "kernels/sweeps/pipeline.h"
#include "solver/plan/plan.h"

/* The rows of a part in a pass, strip by strip. Rows are counted from the first one of the part; those before
 * and behind it that a pass reads, `reach` of them on each side, have kinds, too. */
typedef struct stencil_share_rows {
    stencil_pipeline_strips strips;
    int above;                    /* rows before the part that a line loads at most */
    int lag;                      /* rows that a line makes after those that it stores */
    int before, ahead;            /* rows before and after a row that decide how the row is made */
    bool f64;                     /* cells are float64 */
    const stencil_row_kind *kind; /* kind[strip * stencil_share_count(rows) + y + reach] */
} stencil_share_rows;

/* Returns the number of a strip's rows that have a kind. */
static inline int stencil_share_count(const stencil_share_rows *rows) {
    return rows->strips.ny + 2 * rows->strips.reach;
}

/* Makes sums of what rows cost: cost[strip * (count + 1) + i], count = stencil_share_count(rows), is that of
 * the first i rows of a strip, in units of 1 / STENCIL_SHARE_UNIT plain rows. */
enum { STENCIL_SHARE_UNIT = 64 };
void stencil_share_costs(const stencil_share_rows *rows, const stencil_tuning *tuning, uint32_t *cost);

/* Divides the rows of all strips, in their sequence, among lines, so that the line that costs most, with the
 * rows that it makes before and after its own, costs as little as possible: line i has begin[i] …
 * begin[i + 1] - 1 of the sequence, in which each strip counts `reach` more rows before its own
 * (stencil_pipeline_strip_rows()). Returns the cost of that line. */
uint64_t stencil_share_lines(const stencil_share_rows *rows, const uint32_t *cost, int64_t lines,
                             int64_t *begin);

/* Returns the number of lines of warps of a part, and how many numbers say their shares in passes of all
 * lengths (stencil_class_passes). */
int64_t stencil_share_line_count(const stencil_plan *plan, const stencil_problem *problem);
static inline int64_t stencil_share_numbers(const stencil_plan *plan, const stencil_problem *problem) {
    return plan->depth * (stencil_share_line_count(plan, problem) + 1);
}

/* Lays out the rows of a part in a pass of `steps` steps of a plan whose kernel finds kinds of rows; their
 * kinds are not set. */
void stencil_share_lay_out(stencil_share_rows *rows, const stencil_plan *plan, const stencil_problem *problem,
                           int part, int steps);

/* The pipeline sweep on GPUs in 2D: temporal blocking, passes of several steps. */
#include "solver/plan/sweeps/pipeline_share.h"
#include "solver/plan/sweeps/pipeline.h"

static stencil_pipeline_shape shape_of(const stencil_problem *problem, bool general, bool checked) {
    const bool classed = stencil_problem_has_classes(problem);
    const stencil_pipeline_kind kind = general ? classed ? STENCIL_PIPELINE_CLASSED : STENCIL_PIPELINE_GENERAL
                                       : classed ? STENCIL_PIPELINE_FIXED
                                       : checked ? STENCIL_PIPELINE_CHECKED
                                                 : STENCIL_PIPELINE_PLAIN;
    return stencil_pipeline_shape_of(problem->shape->rule, problem->shape->radius,
                                     problem->precision == STENCIL_FLOAT64, kind);
}

/* Plain kernels have twins that sum the residual of any step. General ones, and those for classes of cells,
 * have none, so checked steps are passes of one step. */
static stencil_pass_limits limits(const stencil_problem *problem, bool general) {
    const stencil_shape *set = problem->shape;
    const bool f64 = problem->precision == STENCIL_FLOAT64,
               alone = general || stencil_problem_has_classes(problem);
    return (stencil_pass_limits){.depth = stencil_pipeline_depth(set->rule, set->radius, f64),
                                 .checked = alone ? 1 : 0,
                                 .levels = alone ? 0 : shape_of(problem, false, true).levels,
                                 .narrowest = 32 * shape_of(problem, general, false).cells - 2 * set->radius};
}

static stencil_pass_layout place(const stencil_plan *plan, const stencil_problem *problem,
                                 const stencil_machine *machine) {
    (void)problem, (void)machine;
    return (stencil_pass_layout){.kind = STENCIL_PASS_STREAMED,
                                 .cost = {plan->tuning.pass_fma, 0, 1, 1, false}};
}

int64_t stencil_share_line_count(const stencil_plan *plan, const stencil_problem *problem) {
    return plan->layout.blocks *
           (STENCIL_PIPELINE_WARPS / shape_of(problem, plan->variant->general, false).stages);
}

/* The strips of a part are divided into equal numbers of rows, one per line of warps. */
static void tile(const stencil_plan *plan, const stencil_problem *problem, int64_t tile[3]) {
    const int64_t *n = plan->part[0].box.n, reach = (int64_t)problem->shape->radius * plan->depth,
                  widest = limits(problem, plan->variant->general).narrowest,
                  strips = (n[STENCIL_X] + widest - 1) / widest,
                  rows = strips * n[STENCIL_Y] / stencil_share_line_count(plan, problem);
    tile[STENCIL_Z] = 1;
    tile[STENCIL_Y] = rows < 1 ? 1 : rows < n[STENCIL_Y] ? rows : n[STENCIL_Y];
    tile[STENCIL_X] = stencil_smaller(widest - 2 * (reach - problem->shape->radius), n[STENCIL_X]);
}

/* Rows that a line of warps computes for its rows own[0] … own[1] - 1 of all strips, with the redundant rows
 * that a pass reaches, and the `lag` rows until the last stage has its first row. */
static int64_t rows_of(const stencil_pipeline_strips *strips, const int64_t own[2], int64_t lag, int above,
                       int unit) {
    int64_t count = 0;
    int y[2], from;
    for (int strip = (int)(own[0] / (strips->ny + strips->reach));
         stencil_pipeline_strip_rows(strips, own, strip, above, y, &from); strip++)
        count += y[1] > y[0] ? stencil_pipeline_up(y[1] + lag - from, unit) : 0;
    return count;
}

/* Finds the strips of a part in a pass, and how many rows it reads beyond its sides. */
static stencil_pipeline_strips strips_of(const stencil_plan *plan, const stencil_problem *problem, int part,
                                         int steps, int64_t width, int64_t unit, int above[2]) {
    const int radius = problem->shape->radius, reach = radius * steps;
    const int64_t *n = stencil_plan_part(plan, part)->box.n;
    int beside[STENCIL_AXES][2];
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        for (int side = 0; side < 2; side++)
            beside[axis][side] =
                stencil_cut_side(&plan->cut, part, axis, side).ghosts > radius ? reach : radius;
    above[0] = beside[STENCIL_Y][0], above[1] = beside[STENCIL_Y][1];
    return stencil_pipeline_strips_of((int)n[STENCIL_X], (int)n[STENCIL_Y], beside[STENCIL_X], reach,
                                      (int)width, (int)unit);
}

void stencil_share_lay_out(stencil_share_rows *rows, const stencil_plan *plan, const stencil_problem *problem,
                           int part, int steps) {
    const stencil_pipeline_shape shape = shape_of(problem, plan->variant->general, false);
    const int radius = problem->shape->radius, levels = (int)stencil_pipeline_up(steps, shape.levels),
              unit = 16 / (int)stencil_precision_bytes(problem->precision);
    int above[2];
    *rows = (stencil_share_rows){
        .strips = strips_of(plan, problem, part, steps, 32 * (int64_t)shape.cells, unit, above),
        .lag = radius * levels,
        .before = radius * shape.levels,
        .ahead = radius + shape.rows - 1,
        .f64 = problem->precision == STENCIL_FLOAT64};
    rows->above = above[0];
}

/* A stage computes all columns of a strip in each of its levels, even those not kept. In shared memory each
 * stage loads and stores a strip's rows once, a level exchanges columns between lanes, 4 bytes of each in a
 * wavefront, and rows are copied in and out. In a checked pass one stage stores old rows, too, and two
 * rows are loaded to be summed. */
static stencil_pass_work work(const stencil_plan *plan, const stencil_problem *problem, int part, int steps,
                              bool checked) {
    enum { WAVEFRONT = 128, LANE_BYTES = 4 }; /* 32 banks of 4 bytes on every GPU */
    const stencil_shape *set = problem->shape;
    const bool f64 = problem->precision == STENCIL_FLOAT64;
    const stencil_pipeline_shape shape = shape_of(problem, plan->variant->general, checked);
    const int64_t cell = f64 ? 8 : 4, unit = checked ? (int64_t)STENCIL_PARTIAL_CELLS : 16 / cell,
                  width = 32 * shape.cells, stages = stencil_pipeline_up(steps, shape.levels) / shape.levels,
                  levels = stages * shape.levels, lag = set->radius * levels;
    int64_t rows = 0, longest = 0;
    int above[2];
    const stencil_pipeline_strips strips = strips_of(plan, problem, part, steps, width, unit, above);
    const int64_t lines = stencil_share_line_count(plan, problem);
    for (int64_t i = 0; i < lines; i++) {
        int64_t own[2];
        stencil_pipeline_share_rows(&strips, lines, i, own);
        const int64_t count = rows_of(&strips, own, lag, above[0], shape.rows);
        rows += count;
        longest = count > longest ? count : longest;
    }
    const double row_cells = (double)(width * levels),
                 row_bytes = (double)(width * cell * (2 * (stages + 1) + 3 * checked)),
                 exchanged = (double)(2 * set->radius * levels * cell / LANE_BYTES);
    return (stencil_pass_work){.cells = (double)rows * row_cells,
                               .longest = (double)(longest * lines) * row_cells * plan->layout.slots /
                                          plan->layout.blocks,
                               .wavefronts = (double)rows * (row_bytes / WAVEFRONT + exchanged)};
}

static const stencil_maker pipeline_2d = {
    STENCIL_SWEEP_pipeline, false, {0}, limits, stencil_sweep_suits, place, tile, pipeline_enter, work};

/* Abilities of passes: of plain kernels, of those for fixed cells, of general kernels, of those for all
 * classes of cells, and on a CPU. */
enum {
    CAN = STENCIL_CAN_PASSES | STENCIL_CAN(GPU) | STENCIL_CAN(LAUNCHES),
    CAN_FIXED = CAN | STENCIL_CAN(FIXED),
    CAN_GENERAL = CAN | STENCIL_CAN_GENERAL,
    CAN_CLASSED = CAN_GENERAL | STENCIL_CAN(FIXED) | STENCIL_CAN(CLASS),
    CAN_CPU = STENCIL_CAN_PASSES | STENCIL_CAN_GENERAL | STENCIL_CAN(FIXED) | STENCIL_CAN(CLASS) |
              STENCIL_CAN(WIDE_ROWS) | STENCIL_CAN(CLASS_IN_TIME) | STENCIL_CAN(FIELDS) | STENCIL_CAN(CPU) |
              STENCIL_CAN(LAUNCHES) | STENCIL_CAN(SHORT_MIRROR)
};

/* Single steps in place of passes; a GPU's steps with fields of coefficients are left to the stream sweep, as
 * they are not quicker under this name. */
#define SINGLE_STEPS                                                                                         \
    {STENCIL_CAN_STEPS & ~STENCIL_CAN(FIELDS), &stencil_stream_steps, false}, {                              \
        STENCIL_CAN_STEPS & ~STENCIL_CAN(GPU), &stencil_stream_steps, false                                  \
    }

const stencil_sweep_host stencil_sweep_pipeline = {
    .depth = STENCIL_DEPTH_MAX,
    .capability = STENCIL_PIPELINE_CAPABILITY,
    .shared_bytes = STENCIL_PIPELINE_SHARED_BYTES,
    .guess = 1,
    .shape = stencil_stream_shape,
    .variant = {{{CAN, &pipeline_2d, false},
                 {CAN_FIXED, &pipeline_2d, false},
                 {CAN_GENERAL | STENCIL_CAN(SHORT_MIRROR), &pipeline_2d, true},
                 {CAN_CLASSED | STENCIL_CAN(SHORT_MIRROR), &pipeline_2d, true},
                 {CAN_CPU, &pipeline_cpu_2d, true},
                 SINGLE_STEPS},
                {{CAN, &pipeline_3d, false},
                 {CAN_FIXED, &pipeline_3d, false},
                 {CAN_GENERAL, &pipeline_3d, true},
                 {CAN_GENERAL | STENCIL_CAN(FIXED), &pipeline_3d, true},
                 {CAN_CPU, &pipeline_cpu_3d, true},
                 SINGLE_STEPS}}};

/* The tiles of the resident sweep, held against what they have to be: each cell is some tile's own, and each
 * ghost cell is one of the tile's beside it that is right there; fields that do not suit are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../all_kernels.h"
#include "kernels/sweeps/resident3d.h"
#include "solver/plan/choose.h"
#include "solver/plan/sweep.h"

static stencil_machine machine;

/* An H200 that knows the kernels of single steps. */
static void look_around(void) {
    machine = (stencil_machine){.gpu_count = 2,
                                .gpu = {{.name = "NVIDIA H200",
                                         .sm_count = 132,
                                         .capability = 90,
                                         .clock_khz = 1980000,
                                         .registers_per_sm = 65536,
                                         .memory_bytes = INT64_C(140) << 30,
                                         .l2_bytes = 60 << 20,
                                         .shared_per_block_bytes = 232448,
                                         .cooperative = true,
                                         .clusters = true}},
                                .peer = {{true, true}, {true, true}},
                                .cpu_threads = 2};
    machine.gpu[1] = machine.gpu[0];
    add_kernels(&machine, STENCIL_SWEEP_resident);
    stencil_calibration_defaults(&machine);
}

static void solid_of(stencil_problem *problem, const char *stencil, stencil_precision precision, int rank,
                     const int64_t *extent, const stencil_boundary *boundary) {
    stencil_spec spec;
    stencil_spec_init(&spec);
    spec.rank = rank;
    spec.boundary_count = rank;
    memcpy(spec.extent, extent, (size_t)rank * sizeof *extent);
    memcpy(spec.boundary, boundary, (size_t)rank * sizeof *boundary);
    spec.precision = precision;
    spec.steps = 1000;
    spec.check_every = 1000;
    snprintf(spec.stencil, sizeof spec.stencil, "%s", stencil);
    assert_int_equal(stencil_problem_resolve(problem, &spec), STENCIL_OK);
}

static void problem_of(stencil_problem *problem, const char *stencil, stencil_precision precision, int64_t ny,
                       int64_t nx, stencil_boundary y, stencil_boundary x) {
    solid_of(problem, stencil, precision, 2, (const int64_t[]){ny, nx}, (const stencil_boundary[]){y, x});
}

/* An axis of a field, in parts. */
typedef struct axis_of_field {
    int64_t n;
    bool periodic;
    int parts;
    int64_t first[STENCIL_PARTS_MAX + 1]; /* of each part */
    stencil_resident_axis part[STENCIL_PARTS_MAX];
} axis_of_field;

static axis_of_field axis_make(const stencil_cut *cut, int axis, int64_t length, int radius, int reach,
                               int tiles) {
    axis_of_field a = {.n = cut->mesh.n[axis],
                       .periodic = cut->mesh.boundary[axis] == STENCIL_PERIODIC,
                       .parts = cut->count[axis]};
    for (int k = 0; k <= cut->count[axis]; k++)
        a.first[k] = stencil_cut_first(cut, axis, k);
    for (int p = 0; p < a.parts; p++)
        a.part[p] = (stencil_resident_axis){
            .n = a.first[p + 1] - a.first[p],
            .length = length,
            .tiles = tiles,
            .reach = reach,
            .outside = {a.periodic || p > 0 ? reach : radius, a.periodic || p < a.parts - 1 ? reach : radius},
            .round = a.periodic && a.parts == 1};
    return a;
}

/* Cell of the field where a tile begins. */
static int64_t begin_of(const axis_of_field *a, int part, int tile) {
    return a->first[part] + stencil_resident_begin(&a->part[part], tile);
}

/* Whether the field ends with a tile at a side. */
static bool ends_with(const axis_of_field *a, int part, int tile, int side) {
    return !a->periodic &&
           (side < 0 ? part == 0 && tile == 0 : part == a->parts - 1 && tile == a->part[part].tiles - 1);
}

/* Whether a tile has a cell, at `at` of its own numbers, that is right when its ghost cells are not. */
static bool is_right(const axis_of_field *a, int part, int tile, int64_t at) {
    const stencil_resident_axis *own = &a->part[part];
    return at >= (ends_with(a, part, tile, -1) ? 0 : own->reach) &&
           at < (ends_with(a, part, tile, 1) ? own->length : own->length - own->reach);
}

/* The tile beside one, of this part or the next one. */
static void beside(const axis_of_field *a, int *part, int *tile, int side) {
    *tile += side;
    if (*tile < 0 || *tile == a->part[*part].tiles) {
        *part = (*part + side + a->parts) % a->parts;
        *tile = side > 0 ? 0 : a->part[*part].tiles - 1;
    }
}

/* That what a tile takes for its ghost cells are these, and right. */
static void check_side(const axis_of_field *a, int part, int tile, int side) {
    const int64_t length = a->part[part].length, reach = a->part[part].reach,
                  shift = stencil_resident_shift(&a->part[part], tile, side);
    int other_part = part, other = tile;
    beside(a, &other_part, &other, side);
    assert_int_equal((begin_of(a, part, tile) + shift - begin_of(a, other_part, other)) % a->n, 0);
    for (int64_t at = side < 0 ? 0 : length - reach; at < (side < 0 ? reach : length); at++)
        assert_true(is_right(a, other_part, other, at - shift));
}

/* Each cell is right in a tile of its part, which stores no others; but for those a tile takes for its ghost
 * cells, it reads cells that its part has. */
static void check_axis(const axis_of_field *a, int radius) {
    bool *const own = calloc((size_t)a->n, sizeof *own);
    for (int p = 0; p < a->parts; p++)
        for (int t = 0; t < a->part[p].tiles; t++) {
            const stencil_resident_axis *of = &a->part[p];
            const int64_t begin = begin_of(a, p, t), end = begin + of->length;
            assert_true(a->periodic || (begin >= -radius && end <= a->n + radius));
            assert_true(of->round ||
                        (begin >= a->first[p] - of->outside[0] && end <= a->first[p + 1] + of->outside[1]));
            for (int64_t at = 0; at < of->length; at++) {
                const int64_t cell = begin + at, in_field = (cell % a->n + a->n) % a->n;
                if (!is_right(a, p, t, at) || (!a->periodic && cell != in_field))
                    continue;
                assert_true(in_field >= a->first[p] && in_field <= a->first[p + 1] - 1);
                own[in_field] = true;
            }
            for (int side = -1; side <= 1; side += 2)
                if (!ends_with(a, p, t, side))
                    check_side(a, p, t, side);
        }
    for (int64_t i = 0; i < a->n; i++)
        assert_true(own[i]);
    free(own);
}

/* Whether a tile has the cells `first` to `last` of the field, valid `steps` steps after an exchange. */
static bool has_valid(const axis_of_field *a, int tile, int64_t first, int64_t last, int64_t invalid) {
    const int64_t begin = begin_of(a, 0, tile), length = a->part[0].length;
    return first >= begin + (ends_with(a, 0, tile, -1) ? 0 : invalid) &&
           last < begin + length - (ends_with(a, 0, tile, 1) ? 0 : invalid);
}

/* After each step of a pass that may be checked, a tile has all cells of each node of a row. */
static void check_nodes(const axis_of_field *a, int radius) {
    const int latest = stencil_resident_latest(radius, a->part[0].reach);
    assert_true(latest >= 1);
    for (int64_t x = 0; x < a->n; x += STENCIL_NODE_CELLS) {
        const int64_t last = (x + STENCIL_NODE_CELLS < a->n ? x + STENCIL_NODE_CELLS : a->n) - 1;
        int tile = 0;
        while (tile < a->part[0].tiles && !has_valid(a, tile, x, last, (int64_t)radius * latest))
            tile++;
        assert_true(tile < a->part[0].tiles);
    }
}

/* A plan for a field in parts, every second one on the second GPU. */
static stencil_status make_plan(stencil_plan *plan, stencil_problem *problem, int k, int parts) {
    static const int depth[] = {0, 2, 3, 7, 16};
    const stencil_shape *shape = &stencil_shapes[k % 5];
    const int64_t ny = (40 + k * 13 % 1500) * (parts > 3 ? 2 : 1), nx = 60 + k * 29 % 1300;
    stencil_run_options options = {
        .sync = "neighbor", .sweep = "resident", .gpu_count = parts, .depth = depth[k % 7 % 5]};
    for (int p = 0; p < parts; p++)
        options.gpu[p] = p % 2;
    problem_of(problem, shape->name, (stencil_precision)(k / 45 % 2), ny, nx, (stencil_boundary)(k / 5 % 3),
               (stencil_boundary)(k / 15 % 3));
    return stencil_plan_make(plan, problem, &options, &machine);
}

static void check_plan(const stencil_plan *plan, const stencil_problem *problem, int parts) {
    const stencil_resident *r = &plan->layout.resident;
    const int radius = problem->shape->radius;
    const stencil_resident_shape block =
        stencil_resident_shape_of(radius, problem->precision == STENCIL_FLOAT64, r->shape);
    const int64_t length[2] = {r->warps * block.rows + 2 * radius, 32 * block.cells};
    assert_true(r->warps >= 2 && r->warps <= block.warps);
    assert_true(r->tiles[0] * r->tiles[1] <= 132 / ((parts + 1) / 2));
    assert_int_equal(plan->kernel.barrier, STENCIL_BARRIER_none);
    assert_int_equal(plan->cut.count[STENCIL_Y], parts);
    for (int p = 0; p < parts; p++)
        assert_int_equal(plan->part[p].grid_blocks, r->tiles[0] * r->tiles[1]);
    assert_true(plan->layout.shared_bytes <= machine.gpu[0].shared_per_block_bytes);
    for (int axis = 0; axis < 2; axis++) {
        const axis_of_field a = axis_make(&plan->cut, STENCIL_Y + axis, length[axis], radius,
                                          stencil_resident_reach(radius, plan->depth), r->tiles[axis]);
        check_axis(&a, radius);
        if (STENCIL_Y + axis == STENCIL_X)
            check_nodes(&a, radius);
    }
}

static void tiles(void **state) {
    static const int parts[] = {1, 2, 3, 4, 8};
    (void)state;
    for (int i = 0; i < 5; i++) {
        int placed = 0;
        for (int k = 0; k < 1500; k++) {
            stencil_problem problem;
            stencil_plan plan;
            if (make_plan(&plan, &problem, k, parts[i]) == STENCIL_OK) {
                check_plan(&plan, &problem, parts[i]);
                placed++;
            }
        }
        assert_true(placed >= 250 && placed <= 1499);
    }
}

/* Along an axis of a 3D field: tiles cover it, each lies in it or goes round, and the cells beyond its sides
 * are cells of the tiles there, the same ones of the field. */
static void check_solid_axis(int64_t n, int64_t length, int radius, bool open, int tiles, bool aligned) {
    bool *const own = calloc((size_t)n, sizeof *own);
    for (int t = 0; t < tiles; t++) {
        const stencil_resident_axis a = stencil_box_axis(n, length, open, (int32_t)tiles, aligned);
        const int64_t begin = stencil_resident_begin(&a, t);
        assert_true(open || (begin >= 0 && begin + length <= n));
        assert_true(!aligned || begin == t * length || (!open && t == tiles - 1));
        for (int64_t at = 0; at < length; at++)
            own[(begin + at) % n] = true;
        for (int side = -1; side <= 1; side += 2) {
            const int other = (t + side + tiles) % tiles;
            if (!open && t + side != other) {
                assert_true(side < 0 ? begin == 0 : begin + length == n);
                continue;
            }
            const int64_t shift = stencil_resident_shift(&a, t, side),
                          there = stencil_resident_begin(&a, other);
            assert_int_equal((begin + shift - there) % n, 0);
            for (int64_t at = side < 0 ? -radius : length; at < (side < 0 ? 0 : length + radius); at++)
                assert_true(at - shift >= 0 && at - shift < length);
        }
    }
    for (int64_t i = 0; i < n; i++)
        assert_true(own[i]);
    free(own);
}

static void solid_tiles(void **state) {
    (void)state;
    int placed = 0;
    for (int k = 0; k < 2500; k++) {
        const stencil_shape *shape = &stencil_shapes[5 + k % 5];
        const int64_t n[3] = {10 + k * 7 % 120, 9 + k * 13 % 150, 20 + k * 29 % 140};
        const stencil_boundary boundary[3] = {(stencil_boundary)(k / 5 % 3), (stencil_boundary)(k / 15 % 3),
                                              (stencil_boundary)(k / 45 % 3)};
        const stencil_run_options options = {.sync = "neighbor", .sweep = "resident", .gpu_count = 1};
        stencil_problem problem;
        stencil_plan plan;
        solid_of(&problem, shape->name, (stencil_precision)(k / 135 % 2), 3, n, boundary);
        if (stencil_plan_make(&plan, &problem, &options, &machine) != STENCIL_OK)
            continue;
        const stencil_resident *r = &plan.layout.resident;
        const stencil_box_shape block =
            stencil_box_shape_of(shape->radius, problem.precision == STENCIL_FLOAT64, r->shape);
        const stencil_box_extent tile = stencil_box_extent_of(block, r->warps, r->warps_z);
        placed++;
        assert_true(r->warps >= 1 && r->warps <= block.warps && r->warps % r->warps_z == 0);
        assert_true(stencil_resident_tiles(r) <= 132);
        assert_int_equal(plan.layout.blocks, stencil_resident_tiles(r));
        assert_true(plan.layout.shared_bytes <= machine.gpu[0].shared_per_block_bytes);
        for (int axis = 0; axis < 3; axis++)
            check_solid_axis(problem.n[axis], tile.cells[axis], shape->radius,
                             boundary[axis] == STENCIL_PERIODIC, axis == 0 ? r->tiles_z : r->tiles[axis - 1],
                             axis == STENCIL_X && plan.layout.checks);
    }
    assert_true(placed >= 1000 && placed <= 2499);
}

static void expect_solid_refusal(const char *words, int64_t nz, int64_t ny, int64_t nx) {
    static const stencil_boundary fixed[3] = {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED};
    const stencil_run_options options = {.sync = "neighbor", .sweep = "resident", .gpu_count = 1};
    stencil_problem problem;
    stencil_plan plan;
    solid_of(&problem, "j3d7pt", STENCIL_FLOAT64, 3, (const int64_t[]){nz, ny, nx}, fixed);
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_UNAVAILABLE);
    if (strstr(stencil_error_last()->message, words) == NULL)
        fail_msg("'%s' does not say '%s'", stencil_error_last()->message, words);
}

static void solid_refusals(void **state) {
    (void)state;
    expect_solid_refusal("more cells than the multiprocessors", 256, 256, 256);
    expect_solid_refusal("more cells than the multiprocessors", 131, 131, 131);
    expect_solid_refusal("too small or too narrow", 40, 40, 20);
    expect_solid_refusal("too small or too narrow", 40, 5, 40);
}

/* Without a strategy, too, a refusal says what the field is, not that a strategy is to be given. */
static void choice_refuses(void **state) {
    const stencil_run_options options = {.sweep = "resident", .gpu_count = 1};
    stencil_problem problem;
    stencil_choice choice;
    (void)state;
    problem_of(&problem, "j2d5pt", STENCIL_FLOAT64, 8192, 8192, STENCIL_FIXED, STENCIL_FIXED);
    assert_int_equal(stencil_choice_make(&choice, &problem, &options, &machine), STENCIL_UNAVAILABLE);
    assert_non_null(strstr(stencil_error_last()->message, "more cells than the multiprocessors"));
    stencil_choice_destroy(&choice);
}

/* GPUs of one kind differ in how many clusters they hold: 30 of four blocks, an H200 with 132 multiprocessors
 * had. Launches of more blocks fail. */
static void clusters_at_once(void **state) {
    static const int64_t extent[3] = {127, 127, 127}, plane[2] = {1623, 1098};
    static const stencil_boundary fixed[3] = {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED};
    const stencil_run_options options = {.sync = "cluster", .sweep = "resident", .gpu_count = 1};
    (void)state;
    for (int k = 0; k < 4; k++) {
        stencil_problem problem;
        stencil_plan plan;
        const bool solid = k % 2 == 0;
        const int most = k < 2 ? 4 * 30 : 4 * 28; /* nobody asked: processing clusters of 18 */
        machine.gpu[0].clusters_at_once = k < 2 ? 30 : 0;
        solid_of(&problem, solid ? "j3d7pt" : "j2d49pt", STENCIL_FLOAT32, solid ? 3 : 2,
                 solid ? extent : plane, fixed);
        assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_OK);
        assert_true(plan.part[0].grid_blocks >= stencil_resident_tiles(&plan.layout.resident) &&
                    plan.part[0].grid_blocks <= most);
        assert_int_equal(plan.part[0].grid_blocks % 4, 0);
    }
    machine.gpu[0].clusters_at_once = 0;
}

/* columns: of parts; 0: as the plan chooses. */
static void expect_refusal(const char *words, const char *sync, int64_t ny, int64_t nx, int gpus, int columns,
                           int64_t every) {
    const stencil_run_options options = {.sync = sync,
                                         .sweep = "resident",
                                         .gpu_count = gpus,
                                         .gpu = {0, 1},
                                         .cut = {columns > 0, columns > 0, columns}};
    stencil_problem problem;
    stencil_plan plan;
    problem_of(&problem, "j2d5pt", STENCIL_FLOAT64, ny, nx, STENCIL_FIXED, STENCIL_FIXED);
    problem.stop.check_every = every;
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_UNAVAILABLE);
    if (strstr(stencil_error_last()->message, words) == NULL)
        fail_msg("'%s' does not say '%s'", stencil_error_last()->message, words);
}

static void refusals(void **state) {
    (void)state;
    expect_refusal("more cells than the multiprocessors", "neighbor", 4096, 4096, 1, 0, 1000);
    expect_refusal("too small or too narrow", "neighbor", 40, 40, 1, 0, 1000);
    expect_refusal("too small or too narrow", "neighbor", 4000, 40, 1, 0, 1000);
    expect_refusal("give --sync neighbor", "relaunch", 1000, 1000, 1, 0, 1000);
    expect_refusal("more cells than the multiprocessors", "neighbor", 4096, 4096, 2, 0, 1000);
    expect_refusal("one above the other", "neighbor", 1000, 1000, 2, 2, 1000);
    expect_refusal("between two residual checks", "neighbor", 1000, 1000, 1, 0, 1);
}

/* Where it fits it is what is chosen, on all GPUs that are there; no other sweep has tiles on chip. */
static void choice(void **state) {
    (void)state;
    stencil_problem problem;
    for (int k = 0; k < 4; k++) {
        const int64_t n = k % 2 == 0 ? 512 : 1024;
        const stencil_run_options options = {.gpu_count = 1 + k / 2, .gpu = {0, 1}};
        stencil_choice chosen;
        problem_of(&problem, "j2d5pt", STENCIL_FLOAT32, n, n, STENCIL_FIXED, STENCIL_PERIODIC);
        assert_int_equal(stencil_choice_make(&chosen, &problem, &options, &machine), STENCIL_OK);
        const stencil_plan *plan = &chosen.item[chosen.chosen].plan;
        assert_int_equal(plan->sweep, STENCIL_SWEEP_resident);
        assert_string_equal(stencil_strategy_at(plan->strategy).name, "neighbor");
        assert_int_equal(plan->cut.parts, options.gpu_count);
        for (int i = 0; i < chosen.possible; i++)
            assert_int_equal(chosen.item[i].plan.layout.kind == STENCIL_PASS_ON_CHIP,
                             chosen.item[i].plan.sweep == STENCIL_SWEEP_resident);
        stencil_choice_destroy(&chosen);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(tiles),
                                       cmocka_unit_test(refusals),
                                       cmocka_unit_test(solid_tiles),
                                       cmocka_unit_test(solid_refusals),
                                       cmocka_unit_test(clusters_at_once),
                                       cmocka_unit_test(choice_refuses),
                                       cmocka_unit_test(choice)};
    look_around();
    return cmocka_run_group_tests_name("resident", tests, NULL, NULL);
}

/* Plans without memory behind them: what is refused before anything is allocated. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/sweeps/stream.h"
#include "solver/device/cpu.h"
#include "solver/parts/workers.h"
#include "solver/run/strategy.h"
#include "solver/plan/sweep.h"

static void problem_of(stencil_problem *problem, const char *stencil, int64_t ny, int64_t nx) {
    stencil_spec spec;
    stencil_spec_init(&spec);
    spec.rank = 2;
    spec.extent[0] = ny;
    spec.extent[1] = nx;
    spec.precision = STENCIL_FLOAT32;
    snprintf(spec.stencil, sizeof spec.stencil, "%s", stencil);
    assert_int_equal(stencil_problem_resolve(problem, &spec), STENCIL_OK);
}

static void unknown_strategy(void **state) {
    (void)state;
    stencil_machine machine = {.cpu_threads = 2};
    stencil_problem problem;
    stencil_plan plan;
    problem_of(&problem, "j2d5pt", 9, 9);
    const stencil_run_options options = {.sync = "nonsense", .backend = STENCIL_BACKEND_CPU};
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_USAGE);
    assert_non_null(strstr(stencil_error_last()->message, "nonsense"));
}

static void sweeps(void **state) {
    (void)state;
    stencil_machine machine = {
        .cpu_threads = 2, .cpu_cache_bytes = 1, .host_available_bytes = INT64_C(1) << 40};
    stencil_problem problem;
    stencil_plan plan;
    problem_of(&problem, "j2d25pt", 99, 99);
    stencil_run_options options = {.backend = STENCIL_BACKEND_CPU};
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_OK);
    assert_int_equal(plan.sweep, STENCIL_SWEEP_stream);
    assert_int_not_equal(plan.stores, STENCIL_STORES_CACHED);
    options.sweep = "naive";
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_OK);
    assert_int_equal(plan.sweep, STENCIL_SWEEP_naive);
    assert_int_equal(plan.stores, STENCIL_STORES_CACHED);
    assert_true(stencil_sweep_traffic(&plan, &problem) == 8.0);
    options.sweep = "nonsense";
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_USAGE);
    assert_non_null(strstr(stencil_error_last()->message, "nonsense"));
}

static void expect_depth(const stencil_problem *problem, stencil_run_options options, int depth,
                         const char *refusal) {
    const stencil_machine machine = {
        .cpu_threads = 2, .cpu_cache_bytes = 1 << 25, .host_available_bytes = INT64_C(1) << 40};
    stencil_plan plan;
    options.backend = STENCIL_BACKEND_CPU;
    options.sweep = "pipeline";
    const stencil_status status = stencil_plan_make(&plan, problem, &options, &machine);
    if (refusal == NULL) {
        assert_int_equal(status, STENCIL_OK);
        assert_int_equal(plan.depth, depth);
        assert_int_equal(plan.tile[STENCIL_X] % STENCIL_PARTIAL_CELLS, 0);
        return;
    }
    assert_int_not_equal(status, STENCIL_OK);
    if (strstr(stencil_error_last()->message, refusal) == NULL)
        fail_msg("'%s' does not name '%s'", stencil_error_last()->message, refusal);
}

/* Thousands of ranks plan alike, and each has its own part of the field, whose memory alone it needs. */
static void many_ranks(void **state) {
    enum { RANKS = 4096 };
    (void)state;
    stencil_machine machine = {
        .cpu_threads = 2, .cpu_cache_bytes = 1 << 25, .host_available_bytes = INT64_C(1) << 40};
    const stencil_run_options alone = {.backend = STENCIL_BACKEND_CPU, .sweep = "pipeline"};
    stencil_problem problem;
    stencil_plan plan, first;
    int64_t cells = 0;
    problem_of(&problem, "j2d5pt", 65536, 65536);
    for (int rank = 0; rank < RANKS; rank += rank == 0 || rank == RANKS - 2 ? 1 : 5) {
        stencil_world world = {.rank = rank, .ranks = RANKS, .local_ranks = 8};
        stencil_run_options options = alone;
        options.world = &world;
        assert_int_equal(stencil_plan_here(&plan, &problem, &options, &machine), STENCIL_OK);
        if (rank == 0)
            first = plan;
        assert_int_equal(plan.cut.parts, RANKS);
        assert_int_equal(plan.cut.own, rank);
        assert_int_equal(plan.cut.owned, 1);
        assert_int_equal(plan.halo, STENCIL_HALO_MESSAGE);
        assert_int_equal(plan.depth, first.depth);
        assert_int_equal(plan.poll_every, first.poll_every);
        assert_memory_equal(plan.cut.count, first.cut.count, sizeof first.cut.count);
        assert_true(plan.host_bytes < INT64_C(128) << 20); /* half of it is a slab for input and output */
        cells += stencil_box_cells(&plan.part[0].box);
    }
    assert_true(cells > 0);
    cells = 0;
    for (int part = 0; part < RANKS; part++) {
        const stencil_box box = stencil_cut_box(&first.cut, part);
        cells += stencil_box_cells(&box);
    }
    assert_true(cells == stencil_box_cells(&(stencil_box){.n = {1, problem.n[1], problem.n[2]}}));
    stencil_run_options message = alone;
    message.halo = STENCIL_HALO_MESSAGE;
    assert_int_equal(stencil_plan_make(&plan, &problem, &message, &machine), STENCIL_USAGE);
}

/* Steps of a pass: what was asked for, or a refusal that says what is possible; else as equal passes between
 * checks as parts and periodic ends have room for. */
static void depths(void **state) {
    (void)state;
    stencil_problem problem;
    problem_of(&problem, "j2d5pt", 999, 999);
    problem.stop.check_every = 100;
    expect_depth(&problem, (stencil_run_options){0}, 15, NULL);
    expect_depth(&problem, (stencil_run_options){.depth = 64}, 64, NULL);
    expect_depth(&problem, (stencil_run_options){.depth = 65}, 0, "up to 64");
    expect_depth(&problem, (stencil_run_options){.parts = 8, .cut = {1, 1, 8}}, 15, NULL);
    problem.stop.check_every = 5;
    expect_depth(&problem, (stencil_run_options){0}, 5, NULL);
    expect_depth(&problem, (stencil_run_options){.depth = 64}, 5, NULL);
    problem.origin.steps = problem.stop.steps - 3;
    expect_depth(&problem, (stencil_run_options){.depth = 64}, 3, NULL);
    problem.origin.steps = 0;
    problem.stop.check_every = 100;
    problem.n[STENCIL_Y] = 40;
    expect_depth(&problem, (stencil_run_options){.parts = 8, .cut = {1, 8, 1}}, 5, NULL);
    expect_depth(&problem, (stencil_run_options){.depth = 6, .parts = 8, .cut = {1, 8, 1}}, 0,
                 "give --depth 5");
    problem_of(&problem, "j2d25pt", 99, 9);
    expect_depth(&problem, (stencil_run_options){.depth = 9}, 9, NULL);
    problem.boundary[STENCIL_Y] = STENCIL_PERIODIC;
    problem.n[STENCIL_Y] = 9;
    expect_depth(&problem, (stencil_run_options){.depth = 4}, 4, NULL);
    expect_depth(&problem, (stencil_run_options){.depth = 5}, 0,
                 "--depth 5: the field has room for the ghost cells of 4 steps: give --depth 4");
}

/* In 3D a strip has what a core's cache keeps of all steps: rows as long as the field's, or cut where too few
 * of them would fit; one row at least. */
static void strips(void **state) {
    (void)state;
    static const struct {
        int64_t extent[3], cache_bytes, core_bytes;
        int depth;
        bool cut;    /* along x */
        double kept; /* of what a core may keep elsewhere, where its own cache is as large; 0: all of it */
    } cases[] = {{{256, 256, 256}, 1 << 25, 1 << 20, 4, false, 0},
                 {{256, 256, 256}, 1 << 25, 1 << 21, 4, false, 0.375},
                 {{256, 256, 256}, 1 << 26, 1 << 22, 4, false, 0.75},
                 {{256, 256, 256}, 1 << 25, 0, 2, false, 0},
                 {{64, 64, 9000}, 1 << 25, 0, 4, true, 0},
                 {{99, 3, 200}, 1 << 25, 0, 3, false, 0},
                 {{99, 99, 200}, 1 << 12, 0, 3, false, 0},
                 {{99, 99, 99}, 1 << 25, 0, 64, false, 0}};
    int64_t rows = 0; /* of a strip of the first case */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const stencil_machine machine = {.cpu_threads = 2,
                                         .cpu_cache_bytes = cases[i].cache_bytes,
                                         .cpu_core_bytes = cases[i].core_bytes,
                                         .host_available_bytes = INT64_C(1) << 40};
        const stencil_run_options options = {
            .backend = STENCIL_BACKEND_CPU, .sweep = "pipeline", .depth = cases[i].depth};
        stencil_spec spec;
        stencil_problem problem;
        stencil_plan plan;
        stencil_spec_init(&spec);
        spec.rank = 3;
        memcpy(spec.extent, cases[i].extent, sizeof spec.extent);
        snprintf(spec.stencil, sizeof spec.stencil, "j3d7pt");
        assert_int_equal(stencil_problem_resolve(&problem, &spec), STENCIL_OK);
        problem.stop.check_every = 1000;
        assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_OK);
        assert_int_equal(plan.depth, cases[i].depth);
        assert_int_equal(plan.tile[STENCIL_X] % STENCIL_PARTIAL_CELLS, 0);
        assert_int_equal(plan.tile[STENCIL_X] < problem.n[STENCIL_X], cases[i].cut);
        assert_true(plan.tile[STENCIL_Y] >= 1 && plan.tile[STENCIL_Y] <= problem.n[STENCIL_Y]);
        rows = i == 0 ? plan.tile[STENCIL_Y] : rows;
        if (cases[i].kept > 0)
            assert_true(fabs((double)plan.tile[STENCIL_Y] - cases[i].kept * (double)rows) < 1);
        /* With what is beside it not much more than it may be, where it is not as small as can be. */
        if (plan.tile[STENCIL_Y] > 1 && cases[i].depth < 8)
            assert_true(stencil_pipeline_ring_bytes(3, plan.depth, problem.shape->radius, plan.tile,
                                                    (int64_t)stencil_precision_bytes(problem.precision)) <
                        2 * plan.tuning.cpu_ring_bytes_3d);
        const stencil_pass_work made = stencil_sweep_mean(&plan, &problem);
        assert_true(made.cells > 1);
        /* Strips are equally high: of 60 rows of 100 at most, two of 50, too low to go on where a pass has 55
         * steps. */
        problem.n[STENCIL_Y] = 100;
        plan.tile[STENCIL_Y] = 60;
        plan.depth = 50;
        assert_true(stencil_sweep_goes_on(&plan, &problem));
        plan.depth = 55;
        assert_false(stencil_sweep_goes_on(&plan, &problem));
        stencil_problem_destroy(&problem);
    }
}

/* The pipeline sweep's passes of a problem on a GPU. */
static const stencil_variant *variant_of(const stencil_problem *problem, stencil_barrier_id barrier) {
    stencil_plan plan = {.backend = STENCIL_BACKEND_GPU, .sweep = STENCIL_SWEEP_pipeline, .barrier = barrier};
    assert_true(stencil_sweep_choose(&plan, problem));
    return plan.variant;
}

/* Steps of a pass on a GPU of a capability: what its kernel makes, and 1 where that is not made for it. */
static int most_on_gpu(const stencil_problem *problem, stencil_barrier_id barrier, int capability) {
    const stencil_variant *variant = variant_of(problem, barrier);
    const stencil_plan plan = {.backend = STENCIL_BACKEND_GPU,
                               .barrier = barrier,
                               .sweep = STENCIL_SWEEP_pipeline,
                               .variant = variant};
    const stencil_machine machine = {.gpu_count = 1, .gpu = {{.capability = capability}}};
    const stencil_pass_limits limits = stencil_sweep_limits(&plan, problem);
    const int suits = variant->by->suits(&plan, problem, &machine);
    assert_true(suits >= 1 && suits <= limits.depth &&
                (suits == limits.depth || suits <= problem->stop.check_every));
    assert_true(limits.depth == 1 || limits.narrowest > 2 * problem->shape->radius * limits.depth ||
                problem->rank == 3);
    return stencil_sweep_has_kernels(STENCIL_SWEEP_pipeline, &machine, 0) == STENCIL_OK ? limits.depth : 1;
}

static void depths_on_gpus(void **state) {
    static const char *const shapes[] = {"j2d5pt", "j2ds9pt", "j2d9pt", "j2d25pt", "j2d49pt"};
    (void)state;
    stencil_problem problem;
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        for (int64_t every = 1; every < 40; every++) {
            problem_of(&problem, shapes[k], 999, 999);
            problem.stop.check_every = every;
            assert_true(most_on_gpu(&problem, STENCIL_BARRIER_none, 90) > 1);
            problem.boundary[STENCIL_X] = STENCIL_PERIODIC;
            assert_true(most_on_gpu(&problem, STENCIL_BARRIER_none, 100) > 1);
            assert_int_equal(most_on_gpu(&problem, STENCIL_BARRIER_none, 80), 1);
            assert_int_equal(most_on_gpu(&problem, STENCIL_BARRIER_grid, 90),
                             most_on_gpu(&problem, STENCIL_BARRIER_none, 90));
            assert_false(variant_of(&problem, STENCIL_BARRIER_none)->general);
            for (int k = 0; k < 3; k++) { /* what only the general kernel does, to the same depth */
                stencil_problem other = problem;
                other.boundary[STENCIL_Y] = k == 0 ? STENCIL_MIRROR : STENCIL_FIXED;
                other.spec.source = k == 1 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE;
                other.cycle.length = k == 2 ? 3 : 1;
                assert_true(variant_of(&other, STENCIL_BARRIER_none)->general);
                assert_int_equal(most_on_gpu(&other, STENCIL_BARRIER_grid, 90),
                                 most_on_gpu(&problem, STENCIL_BARRIER_none, 90));
                assert_int_equal(most_on_gpu(&other, STENCIL_BARRIER_none, 90),
                                 most_on_gpu(&problem, STENCIL_BARRIER_none, 90));
            }
        }
}

/* In 3D launches and loops have passes of all problems, but for planes that are mirrored less far than the
 * kernel reads them. */
static void depths_of_solids_on_gpus(void **state) {
    (void)state;
    for (int shape = 5; shape < STENCIL_SHAPE_COUNT; shape++)
        for (int k = 0; k < 10; k++) {
            const int axis = k / 2 - 2;
            stencil_spec spec;
            stencil_problem problem;
            stencil_spec_init(&spec);
            spec.rank = 3;
            spec.extent[0] = spec.extent[1] = spec.extent[2] = 99;
            spec.precision = (stencil_precision)(k % 2);
            snprintf(spec.stencil, sizeof spec.stencil, "%s", stencil_shapes[shape].name);
            assert_int_equal(stencil_problem_resolve(&problem, &spec), STENCIL_OK);
            problem.spec.source = axis == -2 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE;
            problem.cycle.length = axis == -1 ? 3 : 1;
            if (axis >= 0)
                problem.boundary[axis] = STENCIL_MIRROR;
            for (int barrier = 0; barrier < STENCIL_BARRIER_COUNT; barrier++) {
                const stencil_barrier_id id = (stencil_barrier_id)barrier;
                stencil_problem less = problem;
                assert_true(variant_of(&problem, id)->general);
                assert_true(most_on_gpu(&problem, id, 90) >= 2 && most_on_gpu(&problem, id, 90) <= 4);
                less.radius[STENCIL_Z]--;
                assert_int_equal(most_on_gpu(&less, id, 90) > 1, axis != STENCIL_Z);
                assert_int_equal(most_on_gpu(&problem, id, 80), 1);
            }
        }
}

/* What sweeps.def says is compiled. */
static void compiled_kernels(void **state) {
    (void)state;
    for (int sweep = 0; sweep < STENCIL_SWEEP_COUNT; sweep++)
        for (int barrier = 0; barrier < STENCIL_BARRIER_COUNT; barrier++) {
            assert_int_equal(stencil_kernel_is_compiled((stencil_sweep_id)sweep, STENCIL_EXCHANGE_STORE,
                                                        (stencil_barrier_id)barrier),
                             true);
            assert_int_equal(stencil_kernel_is_compiled((stencil_sweep_id)sweep, STENCIL_EXCHANGE_LL,
                                                        (stencil_barrier_id)barrier),
                             sweep != STENCIL_SWEEP_naive && sweep != STENCIL_SWEEP_resident &&
                                 barrier == STENCIL_BARRIER_neighbor);
        }
}

/* A block of 256 threads, and the tile that fills a GPU. */
static void shapes(void **state) {
    (void)state;
    stencil_plan stream = {.kernel = {.cells = 4, .block_x = 128}, .blocks_per_sm = 4},
                 naive = {.kernel = {.cells = 1, .block_x = 64}};
    stencil_tuning_find(&stream.tuning, "");
    static const int64_t n[3] = {1, 4094, 4094};
    stencil_problem problem;
    problem_of(&problem, "j2d5pt", 4096, 4096);
    stencil_sweep_infos[STENCIL_SWEEP_stream].host->shape(&stream, &problem, n, 528);
    assert_int_equal(stream.block_x * stream.block_y, STENCIL_BLOCK_THREADS);
    assert_int_equal(stream.tile[STENCIL_X], 512);
    assert_int_equal(stream.tile[STENCIL_Y], 16);
    stencil_sweep_infos[STENCIL_SWEEP_naive].host->shape(&naive, &problem, n, 528);
    assert_int_equal(naive.tile[STENCIL_X], 64);
    assert_int_equal(naive.tile[STENCIL_Y], 4);
    assert_int_equal(naive.tile[STENCIL_Z], 1);
}

/* Large fields get long streams, and in 3D tiles of as many rows more as a thread makes side by side. */
static void long_streams(void **state) {
    (void)state;
    for (int i = 0; i < 2 * STENCIL_SHAPE_COUNT; i++) {
        const stencil_shape *shape = &stencil_shapes[i / 2];
        const bool launched = i % 2 == 0;
        const stencil_problem problem = {.rank = shape->rank, .shape = shape};
        const stencil_stream_sums sums = stencil_stream_sums_of(shape->rank, shape->radius, false, launched);
        static const int64_t large[][3] = {{1, 8192, 8192}, {512, 512, 512}}, small[3] = {1, 60, 60};
        stencil_plan plan = {.kernel = {.cells = 4,
                                        .block_x = 32,
                                        .barrier = launched ? STENCIL_BARRIER_none : STENCIL_BARRIER_grid},
                             .blocks_per_sm = 2};
        stencil_tuning_find(&plan.tuning, "");
        const stencil_sweep_host *host = stencil_sweep_infos[STENCIL_SWEEP_stream].host;
        const int axis = shape->rank == 3 ? STENCIL_Z : STENCIL_Y;
        host->shape(&plan, &problem, large[shape->rank == 3], 264);
        const int64_t stream = plan.tile[axis] / (axis == STENCIL_Y ? plan.block_y : 1);
        assert_int_equal(sums.ahead > 0, stream >= STENCIL_STREAM_LONG);
        assert_true(stream >= 1 && stream <= (sums.ahead > 0 ? sums.longest : plan.tuning.stream_max));
        if (shape->rank == 3)
            assert_int_equal(plan.tile[STENCIL_Y], plan.block_y * sums.rows);
        host->shape(&plan, &problem, small, 264);
        assert_int_equal(plan.tile[STENCIL_Y], plan.block_y);
        assert_int_equal(plan.tile[STENCIL_Z], 1);
    }
}

/* Fields of few rounds of tiles, on a GPU of 132 multiprocessors: streams are pieces of such a length that
 * the last round is nearly full, or that its blocks have multiprocessors for themselves. */
static void even_streams(void **state) {
    static const struct {
        const char *stencil;
        stencil_precision precision;
        int64_t n[3], stream;
    } field[] = {{"j3d7pt", STENCIL_FLOAT32, {128, 510, 510}, 32},  /* 256 tiles of 264 at once */
                 {"j3d7pt", STENCIL_FLOAT32, {190, 190, 190}, 18},  /* 132 */
                 {"j3d7pt", STENCIL_FLOAT32, {318, 318, 318}, 19},  /* 510 of 528 */
                 {"j3d7pt", STENCIL_FLOAT32, {382, 382, 382}, 55},  /* 252 */
                 {"j3d7pt", STENCIL_FLOAT64, {276, 276, 276}, 17},  /* 765 of 792 */
                 {"j3d13pt", STENCIL_FLOAT64, {276, 276, 276}, 26}, /* 495 of 528 */
                 {"j3d13pt", STENCIL_FLOAT64, {318, 318, 318}, 64}, /* 250 */
                 {"j2ds9pt", STENCIL_FLOAT32, {1, 8190, 8190}, 32}};
    (void)state;
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        const stencil_shape *shape = stencil_shape_find(field[i].stencil);
        const bool flat = shape->rank == 2, f64 = field[i].precision == STENCIL_FLOAT64;
        const stencil_problem problem = {
            .rank = shape->rank, .shape = shape, .precision = field[i].precision};
        stencil_plan plan = {
            .kernel = {.cells = f64 ? 2 : 4, .block_x = flat ? 64 : 32, .barrier = STENCIL_BARRIER_none},
            .blocks_per_sm = 2};
        stencil_tuning_find(&plan.tuning, "");
        stencil_sweep_infos[STENCIL_SWEEP_stream].host->shape(&plan, &problem, field[i].n, 264);
        assert_int_equal(flat ? plan.tile[STENCIL_Y] / plan.block_y : plan.tile[STENCIL_Z], field[i].stream);
    }
}

static void too_large_for_the_host(void **state) {
    (void)state;
    stencil_machine machine = {.cpu_threads = 2, .host_available_bytes = INT64_C(1) << 40};
    stencil_problem problem;
    stencil_plan plan;
    problem_of(&problem, "j2d5pt", 1 << 22, 1 << 22);
    const stencil_run_options options = {.backend = STENCIL_BACKEND_CPU};
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_NO_MEMORY);
    assert_non_null(strstr(stencil_error_last()->message, "TiB of host memory"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_strategy), cmocka_unit_test(too_large_for_the_host),
        cmocka_unit_test(sweeps),           cmocka_unit_test(depths),
        cmocka_unit_test(many_ranks),       cmocka_unit_test(strips),
        cmocka_unit_test(depths_on_gpus),   cmocka_unit_test(depths_of_solids_on_gpus),
        cmocka_unit_test(compiled_kernels), cmocka_unit_test(shapes),
        cmocka_unit_test(long_streams),     cmocka_unit_test(even_streams),
    };
    return cmocka_run_group_tests_name("plan", tests, NULL, NULL);
}

/* Predicted times against arithmetic by hand, and plans ranked by predictions, for a machine in a file. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "app/json.h"
#include "bench/benchmarks/trial.h"
#include "h200.h"

static int strategy_named(const char *name) {
    int i = 0;
    while (strcmp(stencil_strategy_at(i).name, name) != 0)
        i++;
    return i;
}

/* Returns a machine whose costs are round numbers, with costs of one strategy only. */
static stencil_machine *round_machine(const char *sync) {
    static stencil_machine machine;
    machine = h200;
    machine.gpu_costs = (stencil_calibration){.latency_s = 1e-6,
                                              .round_s = {0.25e-6, 0.5e-6},
                                              .set_bytes = {1e8, 4e8},
                                              .fma_per_s = {1e13, 5e12},
                                              .peer_bytes_per_s = 1e11,
                                              .copy_s = 3e-6,
                                              .most_parts = 8};
    for (int loop = 0; loop < STENCIL_LOOP_COUNT; loop++)
        for (int rank = 0; rank < 2; rank++)
            for (int far = 0; far < STENCIL_DISTANCES; far++)
                machine.gpu_costs.bytes_per_s[loop][rank][far] = far ? 4e12 : 8e12;
    machine.gpu_costs.sync[strategy_named(sync)] = (stencil_sync_cost){3e-6, 5e-6, 7e-6, 11e-6, 10e-6};
    return &machine;
}

static stencil_cost cost_of(const char *stencil, int64_t extent, const char *sync, int gpus,
                            stencil_machine *machine, stencil_plan *plan) {
    stencil_problem problem;
    const stencil_run_options options = on_gpus(sync, gpus);
    problem_of(&problem, stencil, STENCIL_FLOAT32, extent);
    if (stencil_plan_make(plan, &problem, &options, machine) != STENCIL_OK)
        fail_msg("%s", stencil_error_last()->message);
    return stencil_model_step(plan, &problem, machine);
}

static void assert_near(double value, double wanted) {
    if (!(fabs(value - wanted) <= 1e-9 * fabs(wanted)))
        fail_msg("%.12g instead of %.12g", value, wanted);
}

/* 64 tiles on 264 places make one round, between few blocks; 254^2 cells have 8 bytes each, at 8 TB/s. */
static void a_small_field(void **state) {
    (void)state;
    stencil_plan plan;
    const stencil_cost cost = cost_of("j2d5pt", 256, "central", 1, round_machine("central"), &plan);
    assert_near(cost.barrier_s, 2e-6);
    assert_near(cost.compute_s, 1e-6 + 254 * 254 * 1e-12);
    assert_near(cost.check_s, 0.1e-6);
    assert_true(cost.launch_s == 0 && cost.halo_s == 0);
    assert_near(cost.step_s, 3.1e-6 + 254 * 254 * 1e-12);
}

/* A cycle of weights is no reason to leave a loop of single steps: kernels for classes read them. */
static void loops_of_cycles(void **state) {
    (void)state;
    stencil_machine *const machine = round_machine("grid");
    static const char *const sweeps[] = {"naive", "stream"};
    for (int i = 0; i < 2; i++) {
        stencil_problem problem;
        stencil_plan plan;
        stencil_run_options options = on_gpus("grid", 1);
        stencil_spec spec;
        stencil_spec_init(&spec);
        spec.rank = 2;
        spec.extent[0] = spec.extent[1] = 256;
        spec.kind = STENCIL_KIND_LAPLACE;
        snprintf(spec.accelerate, sizeof spec.accelerate, "chebyshev:16");
        assert_int_equal(stencil_problem_resolve(&problem, &spec), STENCIL_OK);
        options.sweep = sweeps[i];
        assert_int_equal(stencil_plan_make(&plan, &problem, &options, machine), STENCIL_OK);
        assert_true(plan.depth == 1 && plan.kernel.classed && plan.wait.steps_per_launch == 0);
        assert_true(stencil_model_step(&plan, &problem, machine).launch_s == 0);
    }
}

/* 64 x 32 tiles on 264 places make eight rounds; the arrays are of a size between near and far. */
static void a_large_field(void **state) {
    (void)state;
    stencil_plan plan;
    stencil_machine *machine = round_machine("central");
    const stencil_cost cost = cost_of("j2d5pt", 4096, "central", 1, machine, &plan);
    const double set = 2.0 * (double)stencil_layout_bytes(&plan.cut.layout), far = log(set / 1e8) / log(4);
    assert_true(far > 0.2 && far < 0.3);
    assert_near(stencil_model_far(&machine->gpu_costs, set), far);
    assert_near(cost.barrier_s, 4e-6);
    assert_near(cost.compute_s, 1e-6 + (1 - far) * 7 * 0.5e-6 + 4094.0 * 4094 * (1 + far) * 1e-12);
    assert_true(stencil_model_far(&machine->gpu_costs, 1e8) == 0);
    assert_true(stencil_model_far(&machine->gpu_costs, 5e8) == 1);
    /* A measured rate replaces the rate that follows from bytes. */
    for (int k = 0; k < STENCIL_DISTANCES; k++)
        machine->gpu_costs.rate[plan.kernel.shape][0][0][STENCIL_LOOP_PERSISTENT][k] = 2e12;
    assert_near(cost_of("j2d5pt", 4096, "central", 1, machine, &plan).compute_s,
                1e-6 + (1 - far) * 7 * 0.5e-6 + 4094.0 * 4094 * 0.5e-12);
}

/* A measured rate of passes of many steps holds for these only: single steps take the rate of the plain
 * sweep, and short passes wait for memory more often. */
static void passes_of_other_steps(void **state) {
    (void)state;
    stencil_machine machine = {.cpu_threads = 2, .host_available_bytes = INT64_C(1) << 40};
    stencil_problem problem;
    problem_of(&problem, "j2d5pt", STENCIL_FLOAT32, 2048);
    problem.stop.check_every = problem.stop.steps = 16000;
    stencil_calibration_defaults(&machine);
    for (int k = 0; k < STENCIL_DISTANCES; k++) {
        machine.cpu_costs.rate[problem.shape->id][0][STENCIL_SWEEP_stream][STENCIL_LOOP_LAUNCHED][k] = 2e9;
        machine.cpu_costs.rate[problem.shape->id][0][STENCIL_SWEEP_pipeline][STENCIL_LOOP_LAUNCHED][k] = 4e9;
    }
    const double cells = 2046.0 * 2046;
    double compute_s[65];
    for (int depth = 1; depth <= 64; depth *= 2) {
        stencil_plan plan;
        const stencil_run_options options = {
            .sync = "grid", .sweep = "pipeline", .depth = depth, .backend = STENCIL_BACKEND_CPU};
        assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_OK);
        compute_s[depth] = stencil_model_step(&plan, &problem, &machine).compute_s;
    }
    assert_near(compute_s[1], cells / 2e9);
    assert_near(compute_s[16], cells / 4e9);
    assert_true(compute_s[2] > compute_s[4] && compute_s[4] > compute_s[8] && compute_s[8] > compute_s[16]);
    assert_true(compute_s[64] > compute_s[16]); /* passes of 64 steps compute more cells twice */
}

/* More threads than processors compute and move no more than one thread for each processor. */
static void threads_that_take_turns(void **state) {
    (void)state;
    stencil_machine machine[] = {{.cpu_threads = 2}, {.cpu_threads = 8, .cpu_processors = 2}};
    for (int i = 0; i < 2; i++)
        stencil_calibration_defaults(&machine[i]);
    assert_memory_equal(machine[0].cpu_costs.fma_per_s, machine[1].cpu_costs.fma_per_s,
                        sizeof machine->cpu_costs.fma_per_s);
    assert_memory_equal(machine[0].cpu_costs.bytes_per_s, machine[1].cpu_costs.bytes_per_s,
                        sizeof machine->cpu_costs.bytes_per_s);
    machine[1].cpu_processors = 0;
    stencil_calibration_defaults(&machine[1]);
    assert_near(machine[1].cpu_costs.fma_per_s[0], 4 * machine[0].cpu_costs.fma_per_s[0]);
}

/* Two and four threads reach the same memory bandwidth, more threads reach more; caches are faster. */
static void memory_of_threads(void **state) {
    (void)state;
    static const int threads[] = {2, 4, 16, 32};
    double all[4];
    for (int i = 0; i < 4; i++) {
        stencil_machine machine = {.cpu_threads = threads[i]};
        stencil_calibration_defaults(&machine);
        const double *rate = machine.cpu_costs.bytes_per_s[STENCIL_LOOP_PERSISTENT][1];
        all[i] = rate[STENCIL_FAR];
        assert_true(all[i] < rate[STENCIL_NEAR]);
    }
    assert_true(all[0] == all[1] && all[2] > 3 * all[1] && all[3] == 2 * all[2]);
}

/* Step times were measured at three numbers of cells: others lie on straight lines between these, and beyond
 * the last one. In a persistent loop the last round of tiles takes as long as a full round. */
static void fillings(void **state) {
    (void)state;
    static const char *const syncs[] = {"central", "relaunch"};
    for (int loop = 0; loop < 2; loop++) {
        stencil_plan plan;
        stencil_machine *machine = round_machine(syncs[loop]);
        stencil_calibration *c = &machine->gpu_costs;
        const int kind = loop == 0 ? STENCIL_LOOP_PERSISTENT : STENCIL_LOOP_LAUNCHED;
        memcpy(c->cells, (double[]){1e4, 1e5, 3e5}, sizeof c->cells);
        memcpy(c->step_s[STENCIL_SHAPE_j2d5pt][STENCIL_FLOAT32][0][kind], (double[]){1e-6, 2e-6, 5e-6},
               sizeof c->step_s[0][0][0][0]);
        assert_near(cost_of("j2d5pt", 256, syncs[loop], 1, machine, &plan).compute_s,
                    1e-6 + (254 * 254 - 1e4) / 9e4 * 1e-6);
        assert_near(cost_of("j2d5pt", 402, syncs[loop], 1, machine, &plan).compute_s,
                    2e-6 + 6e4 / 2e5 * 3e-6);
        const double large_s = cost_of("j2d5pt", 3000, syncs[loop], 1, machine, &plan).compute_s,
                     near_s = 4e-6 + (2998.0 * 2998 - 3e5) * 1e-12,
                     rounds = (double)plan.part[0].tile_count / (plan.blocks_per_sm * 132);
        if (!(rounds > 1 && ceil(rounds) > 1.01 * rounds))
            fail_msg("%g rounds", rounds);
        assert_near(large_s, 1e-6 + (loop == 0 ? near_s * ceil(rounds) / rounds : near_s));
    }
}

/* With 49 points, fma take longer than bytes. A launch costs time of the host. */
static void many_points(void **state) {
    (void)state;
    stencil_plan plan;
    const stencil_cost cost = cost_of("j2d49pt", 256, "relaunch", 1, round_machine("relaunch"), &plan);
    assert_near(cost.compute_s - 1e-6, 250 * 250 * 49 / 1e13);
    assert_true(cost.barrier_s == 0 && cost.launch_s > 1.99e-6);
}

/* Costs of four parts are half way from two to eight. Inner parts send two rows, twice as long in LL. */
static void several_parts(void **state) {
    (void)state;
    stencil_plan plan;
    const stencil_cost ll = cost_of("j2d5pt", 4096, "neighbor", 4, round_machine("neighbor"), &plan);
    assert_int_equal(plan.halo, STENCIL_HALO_LL);
    assert_near(ll.barrier_s, 8e-6);
    assert_near(ll.halo_s, 2 * 2 * 4094 * 4 / 1e11);
    const stencil_cost store = cost_of("j2d5pt", 4096, "multi-grid", 4, round_machine("multi-grid"), &plan);
    assert_near(store.halo_s, 2 * 4094 * 4 / 1e11);
}

static void choose(stencil_choice *choice, const char *stencil, int64_t extent,
                   const stencil_run_options *options) {
    stencil_problem problem;
    problem_of(&problem, stencil, STENCIL_FLOAT32, extent);
    if (stencil_choice_make(choice, &problem, options, &h200) != STENCIL_OK)
        fail_msg("%s", stencil_error_last()->message);
}

/* Figures of docs/figures.md, measured on an H200: predictions name the quickest strategy and its time. */
static void ranking(void **state) {
    (void)state;
    static const struct {
        const char *stencil;
        int64_t extent;
        int gpus;
        const char *best;
        double step_us;
    } rows[] = {
        {"j2d5pt", 256, 1, "central", 1.612},   {"j2d5pt", 1024, 1, "neighbor", 2.585},
        {"j2d5pt", 16384, 1, "relaunch", 521},  {"j3d7pt", 512, 1, "relaunch", 287.3},
        {"j2d5pt", 1024, 4, "neighbor", 2.359}, {"j2d5pt", 4096, 4, "neighbor", 6.811},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        stencil_choice choice;
        stencil_run_options options = on_gpus(NULL, rows[i].gpus);
        options.sweep = "stream"; /* the figures are of this sweep */
        choose(&choice, rows[i].stencil, rows[i].extent, &options);
        const stencil_candidate *best = &choice.item[choice.chosen];
        print_message("%s %lld: %s\n", rows[i].stencil, (long long)rows[i].extent, best->options.sync);
        assert_string_equal(best->options.sync, rows[i].best);
        assert_int_equal(best->plan.cut.parts, rows[i].gpus);
        assert_true(fabs(1e6 * best->cost.step_s / rows[i].step_us - 1) < 0.1);
        stencil_choice_destroy(&choice);
    }
}

static void candidates(void **state) {
    (void)state;
    stencil_choice choice;
    stencil_run_options options = on_gpus(NULL, 8);
    choose(&choice, "j2d5pt", 64, &options);
    assert_int_equal(choice.item[choice.chosen].plan.cut.parts, 1); /* too small for eight GPUs */
    bool parts[9] = {false};
    for (int i = 0; i < choice.possible; i++) {
        const stencil_candidate *c = &choice.item[i];
        parts[c->plan.cut.parts] = true;
        assert_true(i == 0 || c->cost.step_s >= choice.item[i - 1].cost.step_s);
        assert_string_equal(c->options.sync, stencil_strategy_at(c->plan.strategy).name);
    }
    assert_true(parts[1] && parts[2] && parts[4] && parts[8] && !parts[3]);
    for (int i = choice.possible; i < choice.count; i++)
        assert_true(choice.item[i].why[0] != '\0');
    stencil_choice_destroy(&choice);
    choose(&choice, "j2d5pt", 8, &options); /* eight rows, six of which are updated */
    assert_int_equal(choice.item[choice.chosen].plan.cut.parts, 1);
    for (int i = 0; i < choice.possible; i++)
        assert_true(choice.item[i].plan.cut.parts < 8);
    int uncut = 0;
    for (int i = choice.possible; i < choice.count; i++)
        uncut += strstr(choice.item[i].why, "into 8 parts as thick as j2d5pt reaches (1 cell)") != NULL;
    assert_true(uncut > 0);
    stencil_choice_destroy(&choice);
    options.cut[STENCIL_Z] = options.cut[STENCIL_X] = 1; /* all parts of a given cut are made */
    options.cut[STENCIL_Y] = 8;
    options.sync = "neighbor";
    choose(&choice, "j2d5pt", 64, &options);
    assert_int_equal(choice.item[choice.chosen].plan.cut.parts, 8);
    assert_int_equal(choice.count, STENCIL_SWEEP_COUNT);
    stencil_choice_destroy(&choice);
    options.sync = "nonsense";
    stencil_problem problem;
    problem_of(&problem, "j2d5pt", STENCIL_FLOAT32, 64);
    assert_int_equal(stencil_choice_make(&choice, &problem, &options, &h200), STENCIL_USAGE);
    stencil_choice_destroy(&choice);
}

/* Without --device, a field of a few cells goes to the CPU where the CPU's barriers are quick; a large field
 * goes to the GPU. */
static void other_devices(void **state) {
    (void)state;
    stencil_choice choice;
    const stencil_run_options options = {0};
    for (int i = 0; i < STENCIL_STRATEGIES; i++)
        h200.cpu_costs.sync[i] = (stencil_sync_cost){.few_s = 0.2e-6};
    choose(&choice, "j2d5pt", 16, &options);
    assert_int_equal(choice.item[choice.chosen].plan.backend, STENCIL_BACKEND_CPU);
    stencil_choice_destroy(&choice);
    choose(&choice, "j2d5pt", 4096, &options);
    assert_int_equal(choice.item[choice.chosen].plan.backend, STENCIL_BACKEND_GPU);
    stencil_choice_destroy(&choice);
    stencil_calibration_defaults(&h200);
}

/* A calibration that was written is read as it was; figures that cannot be true are refused. */
static void round_trip(void **state) {
    (void)state;
    stencil_calibration before = h200.gpu_costs, after = h200.cpu_costs;
    before.rate[0][1][0][1][0] = 3e11;
    before.rate[0][1][0][1][1] = 2e11;
    before.sync[3].most_s = 123e-6;
    before.measured = true;
    json_t *object = stencil_calibration_write(&before);
    assert_int_equal(stencil_calibration_read(&after, object), STENCIL_OK);
    json_t *again = stencil_calibration_write(&after);
    assert_true(json_equal(object, again));
    assert_true(after.measured && after.rate[0][1][0][1][1] == 2e11 && after.sync[3].most_s == 123e-6);
    static const char *const wrong[] = {"[1e-320, 1e-320]", "[1e11]", "[1e11, 1e11, 1e11]", "1e11"};
    json_t *rates = json_object_get(object, "cells_per_s");
    const char *family = json_object_iter_key(json_object_iter(rates));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        json_object_set_new(rates, family, json_loads(wrong[i], JSON_DECODE_ANY, NULL));
        assert_int_equal(stencil_calibration_read(&after, object), STENCIL_BAD_DATA);
    }
    json_object_set_new(object, "cells_per_s", json_array());
    assert_int_equal(stencil_calibration_read(&after, object), STENCIL_BAD_DATA);
    json_object_del(object, "cells_per_s");
    assert_int_equal(stencil_calibration_read(&after, object), STENCIL_OK);
    json_object_set_new(object, "peer_bytes_per_s", json_real(0));
    assert_int_equal(stencil_calibration_read(&after, object), STENCIL_BAD_DATA);
    json_object_del(object, "set_bytes");
    assert_int_equal(stencil_calibration_read(&after, object), STENCIL_BAD_DATA);
    json_decref(object);
    json_decref(again);
}

/* Passes in 3D take longer in a persistent loop than in launches, measured or not; kernels of mirrored
 * boundaries take as long in both, and longer than kernels of fixed ones. */
static void loops_of_solids(void **state) {
    (void)state;
    static const char *const syncs[] = {"graph", "grid"};
    double cells_s[2][2][2]; /* indexed by: rate measured, mirrored boundary, persistent loop */
    stencil_machine machine = *deep_machine();
    for (int i = 0; i < 8; i++) {
        const int measured = i / 4, general = i / 2 % 2, persistent = i % 2;
        stencil_problem problem;
        stencil_plan plan;
        stencil_run_options options = on_gpus(syncs[persistent], 1);
        problem_of(&problem, "j3d7pt", STENCIL_FLOAT32, 512);
        stencil_spec spec = problem.spec;
        spec.boundary_count = 1;
        spec.boundary[0] = general ? STENCIL_MIRROR : STENCIL_FIXED;
        assert_int_equal(stencil_problem_resolve(&problem, &spec), STENCIL_OK);
        options.sweep = "pipeline";
        machine.gpu_costs = round_machine(syncs[persistent])->gpu_costs;
        for (int k = 0; measured && k < STENCIL_DISTANCES; k++)
            for (int loop = 0; loop < STENCIL_LOOP_COUNT; loop++)
                machine.gpu_costs.rate[problem.shape->id][0][STENCIL_SWEEP_pipeline][loop][k] =
                    loop == STENCIL_LOOP_LAUNCHED ? 1e12 : 0.5e12;
        assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_OK);
        assert_true(plan.depth > 1);
        cells_s[measured][general][persistent] =
            stencil_model_step(&plan, &problem, &machine).compute_s - 1e-6;
    }
    for (int measured = 0; measured < 2; measured++) {
        const double *plain = cells_s[measured][0], *general = cells_s[measured][1];
        assert_true(fabs(plain[0] / plain[1] - (measured ? 0.5 : 0.97)) < 0.01);
        assert_true(fabs(general[0] / general[1] - 1) < 0.01);
        assert_true(general[0] > 1.4 * plain[0]);
    }
}

/* Switch points in bytes, as published (L. Zhang et al., Tables 3 and 4), from published latency, throughputs
 * and synchronisation in cycles. For a warp the paper has 70 bytes, by equation 5, though a warp has 256
 * bytes under way at once: the products below follow from equation 4. */
static void switch_points_of_table_4(void **state) {
    static const struct {
        double latency, basic, more, sync, bytes, within;
    } published[] = {{13, 0.62, 19.6, 110, (13 + 110) * 0.62, 1e-12},
                     {18.5, 0.43, 13.8, 155, (18.5 + 155) * 0.43, 1e-12},
                     {13, 19.6, 215, 420, 9076, 0.01},
                     {18.5, 13.8, 141, 2135, 32681, 0.01}};
    (void)state;
    for (size_t i = 0; i < sizeof published / sizeof *published; i++) {
        const stencil_little basic = {.latency = published[i].latency, .throughput = published[i].basic},
                             more = {published[i].latency, published[i].more, published[i].sync};
        const double at = stencil_little_switch(&basic, &more);
        assert_true(fabs(at / published[i].bytes - 1) < published[i].within);
        assert_true(fabs(stencil_little_time(&basic, at) / stencil_little_time(&more, at) - 1) < 1e-12);
    }
}

/* Switch points by equation 4; infinite, or 0, where the second method is never, or always, faster. */
static void other_switch_points(void **state) {
    const stencil_little basic = {.latency = 10, .throughput = 1}, same = {10, 1, 5}, free = {10, 2, 0},
                         more = {10, 100, 20};
    (void)state;
    assert_true(stencil_little_switch(&basic, &more) == 30);
    assert_true(stencil_little_time(&basic, 30) == stencil_little_time(&more, 30));
    assert_true(isinf(stencil_little_switch(&basic, &same)));
    assert_true(stencil_little_switch(&basic, &free) == 0);
}

/* Two ranks send each other the rows at their edge after each pass; the slower that is, the more steps a pass
 * has that the model chooses, and the ghost cells of d steps are d rows. */
static void slow_links(void **state) {
    (void)state;
    static const double latency_s[] = {0, 1e-6, 10e-6, 50e-6, 200e-6, 1e-3};
    static const double byte_s = 1e-10;
    static stencil_machine machine;
    stencil_world world = {.ranks = 2, .local_ranks = 2};
    stencil_run_options options = {
        .sync = "openmp", .sweep = "pipeline", .backend = STENCIL_BACKEND_CPU, .world = &world};
    stencil_problem problem;
    int first = 0, before = 0;
    machine = h200;
    machine.cpu_threads = 1;
    machine.link.byte_s = byte_s;
    problem_of(&problem, "j3d27pt", STENCIL_FLOAT64, 64);
    for (size_t i = 0; i < sizeof latency_s / sizeof *latency_s; i++) {
        stencil_plan plan;
        machine.link.latency_s = latency_s[i];
        options.depth = 0;
        assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_OK);
        assert_true(plan.depth >= before);
        before = plan.depth;
        first = i == 0 ? plan.depth : first;
        options.depth = 4;
        assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_OK);
        const double bytes = 4 * 8 * (double)(problem.n[STENCIL_Y] * problem.n[STENCIL_X]);
        const stencil_cost cost = stencil_model_step(&plan, &problem, &machine);
        assert_near(cost.halo_s * stencil_sweep_pass_steps(&plan, &problem),
                    latency_s[i] + byte_s * (bytes - 1));
        options.overlap =
            true; /* it travels while planes are made, but for the 4 of 31 that the other needs */
        assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_OK);
        assert_near(stencil_model_step(&plan, &problem, &machine).halo_s,
                    fmax(cost.halo_s - 27.0 / 31 * cost.compute_s, 0));
        options.overlap = false;
    }
    print_message("passes of %d steps where messages take no time, of %d where they take 1 ms\n", first,
                  before);
    assert_true(before > first);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slow_links),
        cmocka_unit_test(a_small_field),
        cmocka_unit_test(a_large_field),
        cmocka_unit_test(loops_of_cycles),
        cmocka_unit_test(fillings),
        cmocka_unit_test(passes_of_other_steps),
        cmocka_unit_test(threads_that_take_turns),
        cmocka_unit_test(memory_of_threads),
        cmocka_unit_test(many_points),
        cmocka_unit_test(several_parts),
        cmocka_unit_test(ranking),
        cmocka_unit_test(candidates),
        cmocka_unit_test(other_devices),
        cmocka_unit_test(round_trip),
        cmocka_unit_test(loops_of_solids),
        cmocka_unit_test(switch_points_of_table_4),
        cmocka_unit_test(other_switch_points),
    };
    if (!read_h200(argc, argv))
        return 1;
    return cmocka_run_group_tests_name("model", tests, NULL, NULL);
}

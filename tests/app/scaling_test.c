/* Predictions for clusters and the simulation of late ranks, for the machine of h200-x8.json and for devices
 * of a given rate, up to 4096 devices. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "h200.h"
#include "records/cluster.h"
#include "solver/plan/late.h"
#include "solver/problem/domain.h"

enum { MOST = 4096 };

static stencil_cluster cluster;

static const stencil_link nvlink = {1e-6, 0.5e-6, 0.6e-6, 5e-12, 5e-12},
                          network = {2e-6, 1e-6, 1.2e-6, 20e-12, 40e-12};

/* Nodes of four GPUs that update 1e11 cells per second. */
static stencil_cluster *rated(void) {
    cluster = (stencil_cluster){.nodes = 1024,
                                .devices = 4,
                                .gpu = true,
                                .cells_per_s = 1e11,
                                .inside = nvlink,
                                .between = network,
                                .known_between = true};
    return &cluster;
}

/* Nodes of four H200. */
static stencil_cluster *of_h200(void) {
    rated()->cells_per_s = 0;
    cluster.machine = *deep_machine();
    cluster.known_machine = true;
    return &cluster;
}

static stencil_prediction predict(const stencil_cluster *c, const stencil_problem *problem, int devices,
                                  bool weak, int depth) {
    const stencil_run_options options = {.depth = depth};
    stencil_prediction p;
    if (stencil_cluster_predict(c, problem, &options, devices, weak, &p) != STENCIL_OK)
        fail_msg("%d devices: %s", devices, stencil_error_last()->message);
    return p;
}

static void assert_near(double value, double wanted) {
    if (!(fabs(value - wanted) <= 1e-9 * fabs(wanted)))
        fail_msg("%.12g instead of %.12g", value, wanted);
}

/* One device takes as long as the plan that is chosen for it. */
static void one_device_is_the_plan(void **state) {
    static const char *const stencil[] = {"j2d5pt", "j2ds9pt", "j3d7pt"};
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int weak = 0; weak < 2; weak++) {
            stencil_problem problem;
            stencil_choice choice;
            problem_of(&problem, stencil[i], STENCIL_FLOAT32, i < 2 ? 8192 : 400);
            const stencil_run_options options = on_gpus(NULL, 1);
            assert_int_equal(stencil_choice_make(&choice, &problem, &options, deep_machine()), STENCIL_OK);
            const stencil_candidate *c = &choice.item[choice.chosen];
            const stencil_prediction p = predict(of_h200(), &problem, 1, weak, 0);
            assert_true(p.step_s == c->cost.step_s);
            assert_int_equal(p.depth, c->plan.depth);
            assert_string_equal(p.sync, c->options.sync);
            stencil_choice_destroy(&choice);
        }
}

/* A row of four devices of one node, by hand: 1000 x 2400 cells, of which each has 600 rows, in passes of
 * three steps. */
static void by_hand(void **state) {
    stencil_spec spec;
    stencil_problem problem;
    stencil_cluster *c = rated();
    (void)state;
    stencil_spec_init(&spec);
    spec.rank = 2;
    spec.extent[0] = 2402;
    spec.extent[1] = 1002;
    spec.precision = STENCIL_FLOAT64;
    spec.check_every = 50;
    strcpy(spec.stencil, "j2d5pt");
    assert_int_equal(stencil_problem_resolve(&problem, &spec), STENCIL_OK);
    const stencil_run_options options = {.depth = 3, .cut = {1, 4, 1}};
    stencil_prediction p;
    assert_int_equal(stencil_cluster_predict(c, &problem, &options, 4, false, &p), STENCIL_OK);
    const double bytes = 8 * 3 * (1000 + 2 * 3);
    const double further_s = 2 * 0.5e-6 + 0.1e-6 + (bytes - 1) * 5e-12;
    assert_int_equal(p.messages, 2);
    assert_near(p.message_bytes, 2 * bytes);
    assert_near(p.exchange_s, 1e-6 + 2 * further_s);
    assert_near(p.message_s, 17 * p.exchange_s / 50); /* 16 passes of three steps, and a shorter one */
    assert_near(p.own_s, 600 * 1000 / 1e11);
    assert_near(p.again_s, 1000.0 * (0 + 2 + 4) / 3 / 1e11);
    assert_near(p.reduce_s, 2 * (1e-6 + 2 * 0.5e-6 + 7 * 5e-12) / 50);
    assert_near(p.step_s, p.own_s + p.again_s + p.message_s + p.reduce_s);
    /* With overlap processors have their part of the messages; 594 rows of 600 are computed while these
     * travel, and rows at two ends twice, as those at edges are made apart. */
    stencil_run_options apart = options;
    apart.overlap = true;
    assert_int_equal(stencil_cluster_predict(c, &problem, &apart, 4, false, &p), STENCIL_OK);
    assert_near(p.exchange_s, 4 * 0.5e-6);
    assert_near(p.again_s, 1000.0 * ((0 + 2 + 4) / 3 + 2 * 2) / 1e11);
    c->inside.latency_s = 1e-3; /* messages take longer than these rows */
    assert_int_equal(stencil_cluster_predict(c, &problem, &apart, 4, false, &p), STENCIL_OK);
    assert_near(p.exchange_s, 1e-3 + 2 * further_s - 50.0 / 17 * 594 * 1000 / 1e11);
    c->inside.latency_s = 1e-6;
    /* Eight devices on two nodes: the latency is the network's, whose lanes the devices of a node share. */
    const stencil_run_options eight = {.depth = 1, .cut = {1, 8, 1}};
    assert_int_equal(stencil_cluster_predict(c, &problem, &eight, 8, false, &p), STENCIL_OK);
    const double row = 8 * 1002, own_s = 1.1e-6 + (row - 1) * 5e-12, far_s = 2.2e-6 + (row - 1) * 40e-12;
    assert_near(p.exchange_s, 2e-6 + own_s + far_s);
    c->lanes = 1;
    assert_int_equal(stencil_cluster_predict(c, &problem, &eight, 8, false, &p), STENCIL_OK);
    assert_near(p.exchange_s, 2e-6 + own_s + 2.2e-6 + (row - 1) * 4 * 40e-12);
    assert_near(p.reduce_s, (2 * (1e-6 + 2 * 0.5e-6 + 7 * 5e-12) + (2e-6 + 2e-6 + 7 * 20e-12)) / 50);
    stencil_problem_destroy(&problem);
}

/* More latency never makes passes shorter, and time grows with it; and much makes them longer. */
static void more_latency_no_smaller_depth(void **state) {
    static const int devices[] = {2, 8, 64, 512, MOST};
    (void)state;
    for (int model = 0; model < 2; model++)
        for (size_t i = 0; i < sizeof devices / sizeof *devices - (model ? 2 : 0); i++) {
            stencil_problem problem;
            problem_of(&problem, "j2d5pt", STENCIL_FLOAT32, model ? 4096 : 16384);
            int before = 0, first = 0;
            double before_s = 0;
            for (double latency_s = 0; latency_s<1e-3; latency_s = latency_s> 0 ? 4 * latency_s : 2e-7) {
                stencil_cluster *c = model ? of_h200() : rated();
                c->inside = c->between = (stencil_link){latency_s, 1e-9, 1e-9, 1e-13, 1e-13};
                const stencil_prediction p = predict(c, &problem, devices[i], false, 0);
                assert_true(p.depth >= before && p.step_s > before_s);
                before = p.depth;
                before_s = p.step_s;
                first = first > 0 ? first : p.depth;
            }
            /* An H200 by itself is quickest in passes of 16 steps, the most that it makes. */
            if (before <= first && !model)
                fail_msg("%d devices: depth %d at any latency", devices[i], first);
            stencil_problem_destroy(&problem);
        }
}

/* 2 to 4096 devices: no more than the ideal; the depth is the quickest of all; weak scaling keeps parts. */
static void scaling_is_bounded(void **state) {
    (void)state;
    for (int shape = 0; shape < 2; shape++) {
        stencil_problem problem;
        problem_of(&problem, shape ? "j3d27pt" : "j2d9pt", STENCIL_FLOAT32, shape ? 1024 : 32768);
        const double one_s = predict(rated(), &problem, 1, false, 0).step_s;
        double strong_before_s = one_s;
        for (int devices = 2; devices <= MOST; devices *= 2) {
            const stencil_prediction strong = predict(rated(), &problem, devices, false, 0),
                                     weak = predict(rated(), &problem, devices, true, 0);
            assert_true(strong.step_s >= one_s / devices && weak.step_s >= one_s);
            assert_true(strong.step_s < strong_before_s || devices > 512);
            assert_int_equal(strong.grid.count[0] * strong.grid.count[1] * strong.grid.count[2], devices);
            assert_int_equal(weak.grid.count[0] * weak.grid.count[1] * weak.grid.count[2], devices);
            assert_memory_equal(weak.grid.n, problem.n, sizeof problem.n);
            assert_int_equal(strong.nodes, (devices + 3) / 4);
            for (int depth = 1; depth <= 8; depth *= 2)
                assert_true(predict(rated(), &problem, devices, false, depth).step_s >= strong.step_s);
            strong_before_s = strong.step_s;
        }
        stencil_problem_destroy(&problem);
    }
}

/* Ranks of a node of CPUs share what it does: more of them are no quicker, more nodes are. */
static void ranks_share_a_node(void **state) {
    stencil_problem problem;
    stencil_cluster *c = of_h200();
    (void)state;
    c->gpu = false;
    problem_of(&problem, "j2d5pt", STENCIL_FLOAT64, 4096);
    const stencil_prediction one = predict(c, &problem, 1, false, 0),
                             four = predict(c, &problem, 4, false, 0),
                             many = predict(c, &problem, 32, false, 0);
    assert_true(four.own_s > 0.98 * one.own_s && four.own_s < 1.1 * one.own_s);
    assert_true(many.own_s < 0.5 * one.own_s); /* smaller parts fit caches, threads wait for each other */
    stencil_problem_destroy(&problem);
}

/* The messages are those that a run sends: number and bytes, for each rank of some cuts. */
static void messages_are_those_of_a_run(void **state) {
    static const int counts[][3] = {{1, 2, 2}, {1, 3, 1}, {1, 2, 1}, {1, 3, 3}, {2, 3, 1}, {4, 2, 1}};
    (void)state;
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int periodic = 0; periodic < 2; periodic++) {
            stencil_spec spec;
            stencil_problem problem;
            stencil_cut cut;
            stencil_spec_init(&spec);
            spec.rank = counts[i][0] > 1 ? 3 : 2;
            spec.extent[0] = spec.extent[1] = spec.extent[2] = periodic ? 384 : 386;
            spec.boundary_count = 1;
            spec.boundary[0] = periodic ? STENCIL_PERIODIC : STENCIL_FIXED;
            strcpy(spec.stencil, spec.rank == 3 ? "j3d7pt" : "j2d5pt");
            assert_int_equal(stencil_problem_resolve(&problem, &spec), STENCIL_OK);
            const stencil_mesh mesh = stencil_problem_mesh(&problem, 2);
            const int parts = counts[i][0] * counts[i][1] * counts[i][2];
            assert_int_equal(stencil_cut_make(&cut, &mesh, parts, counts[i]), STENCIL_OK);
            stencil_rank_grid grid = {.bytes = (int)stencil_precision_bytes(spec.precision)};
            for (int axis = 0; axis < 3; axis++) {
                grid.count[axis] = counts[i][axis];
                grid.periodic[axis] = periodic;
                grid.n[axis] = mesh.n[axis] / counts[i][axis];
                grid.ghosts[axis] = mesh.ghosts[axis];
            }
            for (int rank = 0; rank < parts; rank++) {
                stencil_rank_peers peers;
                stencil_halo_transfers transfers = {0};
                double sent[16] = {0};
                cut.own = rank;
                cut.owned = 1;
                assert_int_equal(stencil_halo_transfers_find(&transfers, &cut), STENCIL_OK);
                for (int k = 0; k < transfers.count; k++) {
                    const stencil_halo_transfer *t = &transfers.item[k];
                    if (t->from == rank && t->to != rank)
                        sent[t->to] += (double)(grid.bytes * t->n[0] * t->n[1] * t->n[2]);
                }
                stencil_rank_peers_find(&grid, rank, &peers);
                for (int k = 0; k < peers.count; k++) {
                    if (sent[peers.peer[k]] != peers.bytes[k])
                        fail_msg("cut %zu, periodic %d, rank %d to %d: %g bytes, not %g", i, periodic, rank,
                                 peers.peer[k], peers.bytes[k], sent[peers.peer[k]]);
                    sent[peers.peer[k]] = 0;
                }
                for (int other = 0; other < parts; other++)
                    assert_true(sent[other] == 0);
                stencil_halo_transfers_destroy(&transfers);
            }
            stencil_problem_destroy(&problem);
        }
}

/* A description is the same behind JSON; what is wrong in it is named. */
static void descriptions(void **state) {
    static stencil_cluster read;
    (void)state;
    json_t *root = stencil_cluster_write(of_h200());
    assert_int_equal(stencil_cluster_read(&read, root), STENCIL_OK);
    assert_int_equal(read.nodes, 1024);
    assert_memory_equal(&read.between, &network, sizeof network);
    assert_int_equal(read.machine.gpu_count, 8);
    static const struct {
        const char *member, *value, *wanted;
    } wrong[] = {{"nodes", "0", "nodes"},
                 {"inside", "null", "\"inside\""},
                 {"between", "{}", "latency_s"},
                 {"cells_per_s", "-1", "cells_per_s"},
                 {"machine", "null", "what a device does"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        json_t *other = json_copy(root);
        json_object_set_new(other, wrong[i].member, json_loads(wrong[i].value, JSON_DECODE_ANY, NULL));
        if (stencil_cluster_read(&read, other) != STENCIL_BAD_DATA)
            fail_msg("%s: %s is taken", wrong[i].member, wrong[i].value);
        if (strstr(stencil_error_last()->message, wrong[i].wanted) == NULL)
            fail_msg("%s", stencil_error_last()->message);
        json_decref(other);
    }
    json_decref(root);
    stencil_problem problem;
    stencil_prediction p;
    problem_of(&problem, "j2d5pt", STENCIL_FLOAT32, 4096);
    const stencil_run_options options = {0};
    rated()->known_between = false;
    assert_int_equal(stencil_cluster_predict(&cluster, &problem, &options, 8, false, &p), STENCIL_BAD_DATA);
    assert_int_equal(stencil_cluster_predict(&cluster, &problem, &options, 4, false, &p), STENCIL_OK);
    stencil_problem_destroy(&problem);
}

static stencil_late ring(int ranks) {
    return (stencil_late){.grid = {.count = {1, ranks, 1}, .n = {1, 1, 1}, .ghosts = {0, 1, 1}, .bytes = 8},
                          .pass_s = 1e-3,
                          .exchange_s = 1e-5,
                          .late_rank = -1,
                          .late_pass = -1,
                          .passes = 100,
                          .seed = 1};
}

static double simulated(const stencil_late *late) {
    double pass_s;
    assert_int_equal(stencil_late_simulate(late, &pass_s), STENCIL_OK);
    return pass_s;
}

/* Equal ranks take their pass and the exchange; one that is always late is waited for by all, one that is
 * late once costs its delay once, and noise costs less than if all waited for all in each pass. */
static void late_ranks(void **state) {
    (void)state;
    for (int ranks = 2; ranks <= MOST; ranks *= 16) {
        stencil_late late = ring(ranks);
        assert_near(simulated(&late), 1.01e-3);
        late.late_rank = ranks - 1;
        late.late_s = 5e-4;
        assert_near(simulated(&late), 1.51e-3);
        late.late_pass = 10;
        assert_near(simulated(&late), 1.01e-3 + 5e-4 / 100);
        /* The last pass ends before the delay has come to the other end of a long row. */
        late.late_rank = -1;
        late.noise = 0.1;
        const double noisy_s = simulated(&late);
        late.reduce_every = 1;
        const double together_s = simulated(&late);
        assert_true(noisy_s > 1.01e-3 && (ranks == 2 ? together_s == noisy_s : together_s > noisy_s));
        assert_true(ranks == 2 || together_s > 1.15e-3);
        late.seed = 2;
        assert_true(simulated(&late) != together_s);
        late.seed = 1;
        assert_true(simulated(&late) == together_s);
    }
}

/* The times of passes are as widely spread as is asked for. */
static void noise_is_normal(void **state) {
    enum { COUNT = 20000 };
    double sum = 0, squares = 0;
    int within = 0;
    stencil_late late = ring(2);
    late.noise = 0.1;
    (void)state;
    for (int i = 0; i < COUNT; i++) {
        const double x = (stencil_late_pass_s(&late, i % 100, i / 100) / late.pass_s - 1) / 0.1;
        sum += x;
        squares += x * x;
        within += fabs(x) < 1;
    }
    assert_true(fabs(sum / COUNT) < 0.03);
    assert_true(fabs(squares / COUNT - 1) < 0.05);
    assert_true(fabs((double)within / COUNT - 0.6827) < 0.02);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_device_is_the_plan),
        cmocka_unit_test(by_hand),
        cmocka_unit_test(more_latency_no_smaller_depth),
        cmocka_unit_test(scaling_is_bounded),
        cmocka_unit_test(ranks_share_a_node),
        cmocka_unit_test(messages_are_those_of_a_run),
        cmocka_unit_test(descriptions),
        cmocka_unit_test(late_ranks),
        cmocka_unit_test(noise_is_normal),
    };
    return read_h200(argc, argv) ? cmocka_run_group_tests(tests, NULL, NULL) : 1;
}

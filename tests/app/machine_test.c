/* Plans for one, two, four and eight H200, made on any machine from the description in the file argv[1]: what
 * `stencil info --json` wrote on a host of two H200, with six more H200 added by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "h200.h"

static const char *file_name;

typedef struct wanted {
    const char *stencil;
    stencil_precision precision;
    int64_t extent; /* number of cells along every axis */
    const char *sync;
    int gpus;
    stencil_halo_mode halo;
    int cut[3];
    int64_t tile[3];
    int block_x, blocks_per_sm, registers, first_grid, last_grid;
} wanted;

static const wanted plans[] = {
#define F32   STENCIL_FLOAT32
#define F64   STENCIL_FLOAT64
#define STORE STENCIL_HALO_STORE
#define LL    STENCIL_HALO_LL
    /* A launch of a step has a block for each tile. Tiles have 8 rows for each thread, more with partial
       sums, fewer where long tiles would leave multiprocessors idle. */
    {"j2d5pt", F32, 4096, "relaunch", 1, STORE, {1, 1, 1}, {1, 16, 512}, 128, 4, 63, 0, 0},
    {"j2d5pt", F64, 256, "relaunch", 1, STORE, {1, 1, 1}, {1, 2, 256}, 128, 4, 64, 0, 0},
    /* A persistent kernel has as many blocks as are resident, or one for each tile. */
    {"j2d5pt", F32, 4096, "central", 1, STORE, {1, 1, 1}, {1, 32, 256}, 64, 2, 112, 264, 264},
    {"j2d5pt", F32, 256, "central", 1, STORE, {1, 1, 1}, {1, 4, 256}, 64, 2, 112, 64, 64},
    {"j2d5pt", F64, 8192, "grid", 1, STORE, {1, 1, 1}, {1, 32, 128}, 64, 2, 126, 264, 264},
    {"j2d5pt", F32, 256, "cluster", 1, STORE, {1, 1, 1}, {1, 4, 256}, 64, 2, 116, 64, 64},
    {"j2d5pt", F32, 4096, "cluster", 1, STORE, {1, 1, 1}, {1, 32, 256}, 64, 2, 116, 248, 248},
    /* The LL exchange is chosen up to 65536 words, and while the fields of a part fit into the L2 cache. */
    {"j2d5pt", F32, 4096, "neighbor", 2, STORE, {1, 2, 1}, {1, 32, 256}, 64, 2, 116, 264, 264},
    {"j2d5pt", F32, 4096, "neighbor", 4, LL, {1, 4, 1}, {1, 64, 128}, 32, 2, 118, 264, 264},
    {"j2d5pt", F32, 4096, "neighbor", 8, LL, {1, 8, 1}, {1, 64, 128}, 32, 2, 118, 256, 256},
    {"j2d5pt", F32, 16384, "neighbor", 8, STORE, {1, 8, 1}, {1, 32, 256}, 64, 2, 116, 264, 264},
    {"j3d7pt", F32, 512, "neighbor", 4, STORE, {2, 2, 1}, {22, 8, 512}, 128, 3, 80, 384, 384},
    {"j3d7pt", F64, 512, "multi-grid", 8, STORE, {4, 2, 1}, {32, 16, 128}, 64, 2, 128, 256, 256},
    {"j2d25pt", F64, 2048, "openmp", 4, STORE, {1, 4, 1}, {1, 32, 128}, 64, 2, 114, 0, 0},
};

static stencil_status plan_of(stencil_plan *plan, const wanted *w, const stencil_machine *machine) {
    stencil_problem problem;
    const stencil_run_options options = on_gpus(w->sync, w->gpus);
    problem_of(&problem, w->stencil, w->precision, w->extent);
    return stencil_plan_make(plan, &problem, &options, machine);
}

static void expect_plan(const wanted *w) {
    const int64_t bytes = 2 * (int64_t)stencil_precision_bytes(w->precision);
    stencil_plan plan;
    int64_t all = 0;
    int parts = 1;
    if (plan_of(&plan, w, &h200) != STENCIL_OK)
        fail_msg("%s", stencil_error_last()->message);
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        assert_int_equal(plan.cut.count[axis], w->cut[axis]);
        assert_int_equal(plan.tile[axis], w->tile[axis]);
        parts *= w->cut[axis];
    }
    assert_int_equal(plan.cut.parts, parts);
    assert_string_equal(stencil_strategy_at(plan.strategy).name, w->sync);
    assert_int_equal(plan.halo, w->halo);
    assert_int_equal(plan.kernel.sweep, STENCIL_SWEEP_stream);
    assert_int_equal(plan.kernel.exchange, w->halo == LL ? STENCIL_EXCHANGE_LL : STENCIL_EXCHANGE_STORE);
    assert_int_equal(plan.block_x, w->block_x);
    assert_int_equal(plan.block_x * plan.block_y, STENCIL_BLOCK_THREADS);
    assert_int_equal(plan.blocks_per_sm, w->blocks_per_sm);
    assert_int_equal(plan.registers, w->registers);
    for (int p = 0; p < parts; p++) {
        const stencil_part_plan *part = &plan.part[p];
        const int grid = p == 0 ? w->first_grid : p == parts - 1 ? w->last_grid : part->grid_blocks;
        assert_int_equal(part->gpu, p);
        assert_int_equal(part->grid_blocks, grid > 0 ? grid : part->tile_count);
        all += part->box.n[0] * part->box.n[1] * part->box.n[2];
    }
    /* A GPU holds both buffers of its part, ghost cells and residuals included. */
    assert_true(plan.device_bytes > bytes * all / parts &&
                plan.device_bytes < 2 * bytes * all / parts + (4 << 20));
    assert_int_equal(plan.device_available_bytes, h200.gpu[0].free_bytes);
    assert_int_equal(plan.notes.count, 0);
}

static void h200_plans(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof plans / sizeof *plans; i++) {
        print_message("%s %lld %s on %d\n", plans[i].stencil, (long long)plans[i].extent, plans[i].sync,
                      plans[i].gpus);
        expect_plan(&plans[i]);
    }
}

/* The L2 cache of an H200 has 60 MiB: of fields of more than one and a half times that size it holds nothing
 * of the step before. */
static void fields_beside_l2(void **state) {
    static const struct {
        const char *stencil;
        int64_t extent;
        int gpus;
        bool past;
    } fields[] = {{"j3d7pt", 512, 1, true},  {"j3d7pt", 192, 1, false}, {"j3d7pt", 256, 1, true},
                  {"j3d7pt", 512, 4, true},  {"j3d7pt", 300, 4, false}, {"j2d5pt", 4096, 1, true},
                  {"j2d5pt", 3000, 1, false}};
    stencil_plan plan;
    (void)state;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const wanted w = {.stencil = fields[i].stencil,
                          .precision = F32,
                          .extent = fields[i].extent,
                          .sync = fields[i].gpus > 1 ? "openmp" : "relaunch",
                          .gpus = fields[i].gpus};
        assert_int_equal(plan_of(&plan, &w, &h200), STENCIL_OK);
        for (int part = 0; part < fields[i].gpus; part++)
            assert_int_equal(plan.part[part].past_l2, fields[i].past);
    }
}

/* A buffer of 200000 x 200000 cells in float64 has 298 GiB: four GPUs are too few, eight are enough. */
static void memory_of_all(void **state) {
    (void)state;
    wanted w = {.stencil = "j2d5pt", .precision = F64, .extent = 200000, .sync = "multi-grid", .gpus = 4};
    stencil_plan plan;
    assert_int_equal(plan_of(&plan, &w, &h200), STENCIL_NO_MEMORY);
    assert_non_null(strstr(stencil_error_last()->message, "of memory on GPU 0"));
    w.gpus = 8;
    assert_int_equal(plan_of(&plan, &w, &h200), STENCIL_OK);
}

/* Returns the machine as if its kernels of sweep stream were those of sweep pipeline. */
static stencil_machine with_pipeline(void) {
    stencil_machine machine = h200;
    for (int i = 0; i < machine.kernel_count; i++)
        if (machine.kernel[i].kernel.sweep == STENCIL_SWEEP_stream)
            machine.kernel[i].kernel.sweep = STENCIL_SWEEP_pipeline;
    return machine;
}

/* A persistent loop, and what its plan has to hold: blocks of each part, blocks of a cluster, a note. */
typedef struct loop {
    const char *sync;
    int parts, sharing, blocks, cluster;
    const char *note;
} loop;

static stencil_run_options options_of(const loop *l) {
    stencil_run_options options = {
        .sync = l->sync, .sweep = "pipeline", .backend = STENCIL_BACKEND_GPU, .gpu_count = l->parts};
    for (int p = 0; p < l->parts; p++)
        options.gpu[p] = p / l->sharing;
    return options;
}

/* In a persistent loop, passes of several steps have a block for each multiprocessor of a part, all blocks
 * wait for all, and ghost cells are stored; single steps are launched. */
static void deep_loops(void **state) {
    static const char all[] = "neighbor waits for all blocks";
    static const loop loops[] = {{"grid", 1, 1, 132, 1, NULL},      {"lock", 1, 1, 132, 1, NULL},
                                 {"lock-free", 1, 1, 132, 1, NULL}, {"central", 1, 1, 132, 1, NULL},
                                 {"cluster", 1, 1, 112, 4, NULL},   {"neighbor", 1, 1, 132, 1, all},
                                 {"neighbor", 8, 1, 132, 1, all},   {"multi-grid", 4, 1, 132, 1, NULL},
                                 {"multi-grid", 4, 4, 33, 1, NULL}};
    const stencil_machine machine = with_pipeline();
    stencil_problem problem;
    stencil_plan plan;
    double all_made = 0;
    (void)state;
    problem_of(&problem, "j2d5pt", F32, 4096);
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        const loop *l = &loops[i];
        const stencil_run_options options = options_of(l);
        if (stencil_plan_make(&plan, &problem, &options, &machine) != STENCIL_OK)
            fail_msg("%s: %s", l->sync, stencil_error_last()->message);
        assert_int_equal(plan.depth, 16);
        assert_int_equal(plan.kernel.barrier, STENCIL_BARRIER_none);
        assert_string_equal(stencil_barriers[plan.barrier].name, l->sync);
        assert_int_equal(plan.halo, STENCIL_HALO_STORE);
        assert_int_equal(plan.cluster_blocks, l->cluster);
        assert_int_equal(plan.layout.blocks, l->blocks);
        /* With fewer blocks, the longest time of a block is longer. */
        const double made = stencil_sweep_work(&plan, &problem, 16, false).longest;
        assert_true(l->parts > 1 || l->blocks == 132 ? made > 0 : made > all_made);
        all_made = i == 0 ? made : all_made;
        for (int p = 0; p < l->parts; p++) {
            assert_int_equal(plan.part[p].grid_blocks, l->blocks);
            assert_int_equal(plan.part[p].first_block, p * l->blocks);
        }
        assert_int_equal(plan.notes.count, l->note != NULL);
        if (l->note != NULL)
            assert_non_null(strstr(plan.notes.line[0], l->note));
    }
}

/* Passes have one step where cells are sent in words with a step number, and where every step is checked. */
static void shallow_loops(void **state) {
    const stencil_machine machine = with_pipeline();
    stencil_run_options options = options_of(&(loop){.sync = "neighbor", .parts = 2, .sharing = 1});
    stencil_problem problem;
    stencil_plan plan;
    (void)state;
    problem_of(&problem, "j2d5pt", F32, 4096);
    options.halo = LL;
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_OK);
    assert_int_equal(plan.depth, 1);
    assert_int_equal(plan.kernel.exchange, STENCIL_EXCHANGE_LL);
    assert_non_null(strstr(plan.notes.line[plan.notes.count - 1], "--halo ll"));
    problem.boundary[STENCIL_Y] = STENCIL_MIRROR;
    options.halo = STENCIL_HALO_AUTO;
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_OK);
    assert_int_equal(plan.depth, 16);
    assert_true(plan.variant->general);
    problem.boundary[STENCIL_Y] = STENCIL_FIXED;
    options.halo = LL;
    options.depth = 2;
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_USAGE);
    options.halo = STENCIL_HALO_AUTO;
    problem.stop.check_every = 1;
    options.wait.fault.absent_step = 1;
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_OK);
    assert_int_equal(plan.depth, 1);
    assert_int_equal(plan.kernel.barrier, STENCIL_BARRIER_neighbor);
}

static void without_links(void **state) {
    (void)state;
    stencil_machine machine = h200;
    stencil_plan plan;
    wanted w = {.stencil = "j2d5pt", .precision = F32, .extent = 1024, .sync = "neighbor", .gpus = 2};
    machine.peer[0][1] = machine.peer[1][0] = false;
    assert_int_equal(plan_of(&plan, &w, &machine), STENCIL_UNAVAILABLE);
    w.sync = "openmp";
    assert_int_equal(plan_of(&plan, &w, &machine), STENCIL_OK);
    assert_int_equal(plan.halo, STENCIL_HALO_COPY);
    assert_non_null(strstr(plan.notes.line[0], "halos go through the host"));
    assert_false(plan.apart);
    machine.loses[0][1] = machine.loses[1][0] = true;
    assert_int_equal(plan_of(&plan, &w, &machine), STENCIL_OK);
    assert_true(plan.apart);
    assert_non_null(strstr(plan.notes.line[0], "GPUs 0 and 1 lose data"));
    w.sync = "neighbor";
    assert_int_equal(plan_of(&plan, &w, &machine), STENCIL_UNAVAILABLE);
    assert_non_null(strstr(stencil_error_last()->message, "GPUs 0 and 1 lose data"));
}

/* GPUs of which no file has figures, of an old architecture, without code, and without limits of kernels. */
static void other_gpus(void **state) {
    (void)state;
    stencil_machine machine = h200;
    stencil_plan plan;
    stencil_tuning tuning;
    wanted w = {.stencil = "j2d5pt", .precision = F32, .extent = 1024, .sync = "cluster", .gpus = 1};
    assert_true(stencil_tuning_find(&tuning, h200.gpu[0].name));
    snprintf(machine.gpu[0].name, sizeof machine.gpu[0].name, "Other");
    assert_false(stencil_tuning_find(&tuning, machine.gpu[0].name));
    assert_int_equal(plan_of(&plan, &w, &machine), STENCIL_OK);
    assert_int_equal(plan.notes.count, 1);
    assert_non_null(strstr(plan.notes.line[0], "nothing was measured on Other"));
    machine.gpu[0].capability = 80;
    assert_int_equal(plan_of(&plan, &w, &machine), STENCIL_UNAVAILABLE);
    w.sync = "central";
    for (int i = 0; i < machine.kernel_count; i++)
        machine.kernel[i].image = false;
    assert_int_equal(plan_of(&plan, &w, &machine), STENCIL_UNAVAILABLE);
    assert_non_null(strstr(stencil_error_last()->message, "CMAKE_CUDA_ARCHITECTURES=80"));
    machine.kernel_count = 0;
    stencil_kernel compiled = {.shape = STENCIL_SHAPE_j2d5pt,
                               .precision = F32,
                               .sweep = STENCIL_SWEEP_stream,
                               .exchange = STENCIL_EXCHANGE_STORE,
                               .barrier = STENCIL_BARRIER_central};
    const bool is_compiled = stencil_kernel_find(&compiled);
    assert_int_equal(plan_of(&plan, &w, &machine), is_compiled ? STENCIL_OK : STENCIL_UNAVAILABLE);
    if (is_compiled)
        assert_int_equal(plan.blocks_per_sm, compiled.blocks);
}

typedef struct old_gpu {
    int capability, code;
    int64_t shared_bytes;           /* 0: as an H200 has */
    const char *pipeline, *cluster; /* text of the message; NULL: the kernel runs */
} old_gpu;

static void expect_old(const old_gpu *old) {
    stencil_machine machine = *deep_machine();
    stencil_problem problem;
    stencil_plan plan;
    stencil_choice choice;
    stencil_gpu *gpu = &machine.gpu[0];
    stencil_run_options options = on_gpus("relaunch", 1);
    gpu->capability = old->capability, gpu->code = old->code;
    gpu->shared_per_block_bytes = old->shared_bytes > 0 ? old->shared_bytes : gpu->shared_per_block_bytes;
    problem_of(&problem, "j2d5pt", F32, 4096);
    options.sweep = "pipeline";
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine),
                     old->pipeline == NULL ? STENCIL_OK : STENCIL_UNAVAILABLE);
    assert_non_null(strstr(old->pipeline == NULL ? "" : stencil_error_last()->message,
                           old->pipeline == NULL ? "" : old->pipeline));
    options.depth = 1; /* kernels of the plain sweep make single steps */
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_OK);
    options = on_gpus("cluster", 1);
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine),
                     old->cluster == NULL ? STENCIL_OK : STENCIL_UNAVAILABLE);
    assert_non_null(strstr(old->cluster == NULL ? "" : stencil_error_last()->message,
                           old->cluster == NULL ? "" : old->cluster));
    options = on_gpus(NULL, 1); /* without a strategy, only possible plans are candidates */
    assert_int_equal(stencil_choice_make(&choice, &problem, &options, &machine), STENCIL_OK);
    int deep = 0;
    for (int i = 0; i < choice.possible; i++) {
        deep += choice.item[i].plan.sweep == STENCIL_SWEEP_pipeline;
        assert_true(old->cluster == NULL || choice.item[i].plan.barrier != STENCIL_BARRIER_cluster);
    }
    assert_int_equal(deep > 0, old->pipeline == NULL);
    stencil_choice_destroy(&choice);
}

/* Kernels and barriers are refused that a GPU, or the build's code for this GPU, does not have. */
static void older_gpus(void **state) {
    static const char *const gpu = "GPU of compute capability 9.0, GPU 0 has 8.0: give --sweep stream",
                             *const code = "code for compute capability 9.0, this build has that of 8.0 for "
                                           "GPU 0: build with -DCMAKE_CUDA_ARCHITECTURES=90",
                             *const shared = "shared memory for a block, GPU 0 has 99.00 KiB",
                             *const too_old = "the GPU is too old for its barrier",
                             *const code_too_old = "this build's code is for an older GPU";
    static const old_gpu gpus[] = {
        {90, 90, 0, NULL, NULL},
        {90, 0, 0, NULL, NULL}, /* the build's code for this GPU is not known */
        {100, 90, 0, NULL, NULL},
        {80, 80, 0, gpu, too_old},
        {80, 75, 0, gpu, too_old},
        {90, 80, 0, code, code_too_old},
        {120, 120, 99 << 10, shared, NULL},
        {120, 89, 99 << 10, "code for compute capability 9.0, this build has that of 8.9", code_too_old}};
    (void)state;
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++)
        expect_old(&gpus[i]);
    /* An old GPU that is not used does not matter; a used one is named. */
    stencil_machine machine = *deep_machine();
    stencil_problem problem;
    stencil_plan plan;
    stencil_run_options options = on_gpus("relaunch", 1);
    options.sweep = "pipeline";
    machine.gpu[1].capability = 80;
    problem_of(&problem, "j2d5pt", F32, 4096);
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_OK);
    assert_true(plan.depth > 1);
    options = on_gpus("openmp", 2);
    options.sweep = "pipeline";
    assert_int_equal(stencil_plan_make(&plan, &problem, &options, &machine), STENCIL_UNAVAILABLE);
    assert_non_null(strstr(stencil_error_last()->message, "GPU 1 has 8.0"));
}

/* A description of a machine that was read is written as it was in the file. */
static void round_trip(void **state) {
    (void)state;
    static const char *const names[] = {"cpu", "cuda", "no_gpu_reason", "peers", "kernels"};
    json_t *file = NULL, *written = json_object();
    assert_int_equal(json_read(file_name, &file), STENCIL_OK);
    stencil_machine_write(&h200, written);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_true(json_equal(json_object_get(written, names[i]), json_object_get(file, names[i])));
    assert_int_equal(json_array_size(json_object_get(written, "gpus")), 8);
    assert_true(json_is_null(
        json_object_get(json_array_get(json_object_get(written, "gpus"), 0), "code_capability")));
    h200.gpu[1].code = 80;
    json_t *with_code = json_object();
    stencil_machine_write(&h200, with_code);
    static stencil_machine old;
    assert_int_equal(stencil_machine_read(&old, with_code), STENCIL_OK);
    assert_true(old.gpu[0].code == 0 && old.gpu[1].code == 80 && old.gpu[1].capability == 90);
    h200.gpu[1].code = 0;
    json_decref(with_code);
    /* Older files have no "core_cache_bytes" and no "processors". */
    static stencil_machine machine;
    assert_true(h200.cpu_core_bytes > 0 && h200.cpu_processors > 0);
    assert_int_equal(json_object_del(json_object_get(file, "cpu"), "core_cache_bytes"), 0);
    assert_int_equal(json_object_del(json_object_get(file, "cpu"), "processors"), 0);
    assert_int_equal(stencil_machine_read(&machine, file), STENCIL_OK);
    assert_true(machine.cpu_core_bytes == 0 && machine.cpu_processors == 0);
    json_decref(file);
    json_decref(written);
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(h200_plans),    cmocka_unit_test(fields_beside_l2), cmocka_unit_test(memory_of_all),
        cmocka_unit_test(without_links), cmocka_unit_test(other_gpus),       cmocka_unit_test(deep_loops),
        cmocka_unit_test(shallow_loops), cmocka_unit_test(older_gpus),       cmocka_unit_test(round_trip),
    };
    if (!read_h200(argc, argv))
        return 1;
    file_name = argv[1];
    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}

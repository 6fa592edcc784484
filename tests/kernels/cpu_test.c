/* The copies of the CPU sweeps for the instruction sets of this machine give the same bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/cpu.h"

/* Rows of 1100 cells: two whole segments of a sweep and a rest that is no multiple of a vector. */
enum { NX = 1100, NY = 5, NZ = 4, GHOST = STENCIL_RADIUS_MAX, ROW = 1152, ALIGNED = 32 };

/* Passes of so many steps have more rows: two strips, of which the second one goes on where the first one
 * ended. */
enum { PASS_NY = 13, PASS_STEPS = 3, PASS_ROWS = 7, PASS_COLUMNS = 512 };

typedef struct run {
    void *memory[2]; /* owned: both buffers, in whole */
    int64_t bytes;
    double partial[NZ * PASS_NY * (NX / STENCIL_PARTIAL_CELLS + 1)];
} run;

/* Values of the kind that show a missing fma: 24 or 53 bits, all set at random. */
static void fill(stencil_precision precision, void *memory, int64_t count) {
    uint32_t seed = 1;
    for (int64_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        const double value = (double)seed / 4294967296.0 + 1.0 / (double)(i + 3);
        if (precision == STENCIL_FLOAT64)
            ((double *)memory)[i] = value;
        else
            ((float *)memory)[i] = (float)value;
    }
}

/* Makes the ghost rows of all planes, `rows` in all, what a mirrored field has there, boundary cells of the
 * other axes included. */
static void mirror_rows(char *first, int64_t ny, int64_t rows, size_t cell) {
    for (int64_t row = 0; row < rows; row++) {
        const int64_t y = row % (ny + 2 * GHOST) - GHOST, of = y < 0 ? -1 - y : 2 * ny - 1 - y;
        if (y < 0 || y >= ny)
            memcpy(first + row * ROW * (int64_t)cell, first + (row + of - y) * ROW * (int64_t)cell,
                   (NX + 2 * GHOST) * cell);
    }
}

/* A domain in new buffers, equal in both: mirrored along y and, of single steps, periodic along the other
 * axes, whose edge cells keep their values in passes. */
static stencil_domain new_domain(const stencil_shape *shape, stencil_precision precision, int steps, run *r) {
    const int64_t ny = steps == 1 ? NY : PASS_NY, nz = shape->rank == 3 ? NZ : 1;
    const int64_t plane = ROW * (ny + 2 * GHOST), count = plane * (nz + 2 * GHOST),
                  origin = ALIGNED + GHOST * ROW + (shape->rank == 3 ? GHOST * plane : 0);
    const size_t cell = stencil_precision_bytes(precision);
    stencil_domain d = {.n = {nz, ny, NX},
                        .row = ROW,
                        .plane = plane,
                        .mirror = {{0, 0}, {1, 1}, {0, 0}},
                        .beyond = {nz, ny, NX},
                        .partial_row = (NX + STENCIL_PARTIAL_CELLS - 1) / STENCIL_PARTIAL_CELLS,
                        .partial = r->partial};
    d.partial_plane = ny * d.partial_row;
    for (int axis = shape->rank == 3 ? 0 : 1; axis < 3; axis++)
        if (steps == 1 || axis == STENCIL_Y)
            d.reach[axis][STENCIL_LOW] = d.reach[axis][STENCIL_HIGH] = shape->radius;
    r->bytes = (count * (int64_t)cell + 4095) / 4096 * 4096;
    for (int i = 0; i < 2; i++) {
        r->memory[i] = aligned_alloc(4096, (size_t)r->bytes);
        memset(r->memory[i], 0, (size_t)r->bytes);
        fill(precision, r->memory[i], count);
        if (steps > 1)
            mirror_rows((char *)r->memory[i] + (ALIGNED - GHOST) * cell, ny, count / ROW, cell);
        d.u[i] = (char *)r->memory[i] + (size_t)origin * cell;
        for (int direction = 0; direction < STENCIL_DIRECTIONS; direction++)
            if (steps == 1 || direction == STENCIL_DIRECTION(0, -1, 0) ||
                direction == STENCIL_DIRECTION(0, 1, 0))
                d.image[direction][i] = d.u[i];
    }
    fill(precision, &d.weights, STENCIL_WEIGHTS);
    memset(r->partial, 0, sizeof r->partial);
    return d;
}

static void sweep_with(const stencil_cpu_table *table, stencil_sweep_id sweep, const stencil_shape *shape,
                       stencil_precision precision, bool streaming, bool checked, run *r) {
    const stencil_domain d = new_domain(shape, precision, 1, r);
    const stencil_cpu_pass pass = {.sweep = sweep,
                                   .last = d.n[STENCIL_Z] * NY,
                                   .steps = 1,
                                   .weights = {&d.weights},
                                   .streaming = streaming,
                                   .partial = checked ? r->partial : NULL};
    table->sweep[precision][shape->id](&d, &pass);
}

static void free_run(run *r) {
    free(r->memory[0]);
    free(r->memory[1]);
}

static void expect_same(const stencil_cpu_table *table, const char *isa, stencil_sweep_id sweep,
                        const stencil_shape *shape, stencil_precision precision) {
    static run expected, is;
    for (int way = 0; way < 4; way++) {
        const bool streaming = way % 2 == 1, checked = way / 2 == 0;
        sweep_with(stencil_cpu_named("baseline"), 0, shape, precision, false, checked, &expected);
        sweep_with(table, sweep, shape, precision, streaming, checked, &is);
        if (memcmp(is.memory[0], expected.memory[0], (size_t)expected.bytes) != 0 ||
            memcmp(is.memory[1], expected.memory[1], (size_t)expected.bytes) != 0)
            fail_msg("%s %s: %s, sweep %d differs from baseline (streaming %d, checked %d)", shape->name,
                     stencil_precision_name(precision), isa, (int)sweep, streaming, checked);
        assert_memory_equal(is.partial, expected.partial, sizeof is.partial);
        free_run(&is);
        free_run(&expected);
    }
}

/* Some steps by the plainest sweep, one after the other; the last one goes from the first buffer to the other
 * one. */
static void step_by_step(const stencil_shape *shape, stencil_precision precision, bool checked, run *r) {
    const stencil_domain d = new_domain(shape, precision, PASS_STEPS, r);
    for (int step = 0; step < PASS_STEPS; step++) {
        const stencil_cpu_pass pass = {.from = (PASS_STEPS - 1 - step) % 2,
                                       .last = d.n[STENCIL_Z] * PASS_NY,
                                       .steps = 1,
                                       .weights = {&d.weights},
                                       .partial = checked && step == PASS_STEPS - 1 ? r->partial : NULL};
        stencil_cpu_named("baseline")->sweep[precision][shape->id](&d, &pass);
    }
}

/* The same steps in one pass. */
static void pass_with(const stencil_cpu_table *table, const stencil_shape *shape, stencil_precision precision,
                      bool streaming, bool checked, run *r) {
    const stencil_domain d = new_domain(shape, precision, PASS_STEPS, r);
    const int64_t cell = (int64_t)stencil_precision_bytes(precision);
    stencil_cpu_pass pass = {.sweep = STENCIL_SWEEP_pipeline,
                             .last = d.n[STENCIL_Z] * PASS_NY,
                             .steps = PASS_STEPS,
                             .streaming = streaming,
                             .tile = {0, PASS_ROWS, PASS_COLUMNS},
                             .partial = checked ? r->partial : NULL};
    for (int step = 0; step < PASS_STEPS; step++)
        pass.weights[step] = &d.weights;
    const int64_t bytes = stencil_pipeline_bytes(shape->rank, PASS_STEPS, shape->radius, pass.tile, NZ, cell);
    pass.scratch = aligned_alloc(64, (size_t)(bytes + 63) / 64 * 64);
    memset(pass.scratch, 0, (size_t)bytes);
    table->sweep[precision][shape->id](&d, &pass);
    free(pass.scratch);
}

static void expect_same_pass(const stencil_cpu_table *table, const char *isa, const stencil_shape *shape,
                             stencil_precision precision) {
    static run expected, is;
    for (int way = 0; way < 4; way++) {
        const bool streaming = way % 2 == 1, checked = way / 2 == 0;
        step_by_step(shape, precision, checked, &expected);
        pass_with(table, shape, precision, streaming, checked, &is);
        if (memcmp(is.memory[1], expected.memory[1], (size_t)expected.bytes) != 0)
            fail_msg("%s %s: a pass of %s differs from single steps of baseline (streaming %d, checked %d)",
                     shape->name, stencil_precision_name(precision), isa, streaming, checked);
        assert_memory_equal(is.partial, expected.partial, sizeof is.partial);
        free_run(&is);
        free_run(&expected);
    }
}

#ifdef __SANITIZE_ADDRESS__
enum { ONE_OF = 5 };
#else
enum { ONE_OF = 1 };
#endif

/* Every sweep of an instruction set against the first one of the plainest; with sanitizers a part of them. */
static void expect_all_same(const char *isa) {
    const stencil_cpu_table *table = stencil_cpu_named(isa);
    if (table == NULL) {
        print_message("%s: not in this build, or not on this CPU\n", isa);
        skip();
        return;
    }
    int number = 0;
    for (int s = 0; s < STENCIL_SHAPE_COUNT; s++)
        for (int precision = 0; precision < STENCIL_PRECISION_COUNT; precision++)
            if (number++ % ONE_OF == 0)
                expect_same_pass(table, isa, &stencil_shapes[s], (stencil_precision)precision);
    for (int sweep = 0; sweep < STENCIL_SWEEP_COUNT; sweep++)
        for (int s = 0; s < STENCIL_SHAPE_COUNT; s++)
            for (int precision = 0; precision < STENCIL_PRECISION_COUNT; precision++)
                if (number++ % ONE_OF == 0)
                    expect_same(table, isa, (stencil_sweep_id)sweep, &stencil_shapes[s],
                                (stencil_precision)precision);
}

static void baseline_streams_the_same(void **state) {
    (void)state;
    expect_all_same("baseline");
}

static void avx2_is_the_same(void **state) {
    (void)state;
    expect_all_same("avx2");
}

static void avx512_is_the_same(void **state) {
    (void)state;
    expect_all_same("avx512");
}

/* The copy that bounds a sweep moves every byte and no other. */
static void copies_are_whole(void **state) {
    (void)state;
    char *from = aligned_alloc(64, 4096), *to = aligned_alloc(64, 4096);
    for (int i = 0; i < 4096; i++)
        from[i] = (char)(i * 7 % 251);
    memset(to, 1, 4096);
    stencil_cpu_best()->copy(to + 64, from, 3968);
    assert_memory_equal(to + 64, from, 3968);
    assert_true(to[63] == 1 && to[4032] == 1);
    free(from);
    free(to);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(baseline_streams_the_same),
        cmocka_unit_test(avx2_is_the_same),
        cmocka_unit_test(avx512_is_the_same),
        cmocka_unit_test(copies_are_whole),
    };
    return cmocka_run_group_tests_name("cpu", tests, NULL, NULL);
}

/* The copies of the CPU sweeps for the instruction sets of this machine give the same bits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernels/cpu.h"

extern const stencil_cpu_table stencil_cpu_table_baseline;
#if defined(__x86_64__)
extern const stencil_cpu_table stencil_cpu_table_avx2, stencil_cpu_table_avx512;
#endif

/* Rows of 1100 cells: two whole segments of a sweep and a rest that is no multiple of a vector. */
enum { NX = 1100, NY = 5, NZ = 4, GHOST = STENCIL_RADIUS_MAX, ROW = 1152, ALIGNED = 32 };

typedef struct run {
    void *memory[2]; /* owned: both buffers, in whole */
    int64_t bytes;
    double partial[NZ * NY * (NX / STENCIL_PARTIAL_CELLS + 1)];
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

static void sweep_with(const stencil_cpu_table *table, stencil_sweep_id sweep, const stencil_shape *shape,
                       stencil_precision precision, bool streaming, bool checked, run *r) {
    const int64_t nz = shape->rank == 3 ? NZ : 1, plane = ROW * (NY + 2 * GHOST);
    const int64_t count = plane * (nz + 2 * GHOST),
                  origin = ALIGNED + GHOST * ROW + (shape->rank == 3 ? GHOST * plane : 0);
    const size_t cell = stencil_precision_bytes(precision);
    stencil_domain d = {.n = {nz, NY, NX},
                        .row = ROW,
                        .plane = plane,
                        .mirror = {{0, 0}, {1, 1}, {0, 0}},
                        .beyond = {nz, NY, NX},
                        .partial_row = (NX + STENCIL_PARTIAL_CELLS - 1) / STENCIL_PARTIAL_CELLS,
                        .partial = r->partial};
    d.partial_plane = NY * d.partial_row;
    for (int axis = shape->rank == 3 ? 0 : 1; axis < 3; axis++)
        d.reach[axis][STENCIL_LOW] = d.reach[axis][STENCIL_HIGH] = shape->radius;
    r->bytes = (count * (int64_t)cell + 4095) / 4096 * 4096;
    for (int i = 0; i < 2; i++) {
        r->memory[i] = aligned_alloc(4096, (size_t)r->bytes);
        memset(r->memory[i], 0, (size_t)r->bytes);
        d.u[i] = (char *)r->memory[i] + (size_t)origin * cell;
        for (int direction = 0; direction < STENCIL_DIRECTIONS; direction++)
            d.image[direction][i] = d.u[i];
    }
    fill(precision, r->memory[0], count);
    fill(precision, &d.weights, STENCIL_WEIGHTS);
    const stencil_cpu_pass pass = {.sweep = sweep,
                                   .last = nz * NY,
                                   .steps = 1,
                                   .weights = {&d.weights},
                                   .streaming = streaming,
                                   .partial = checked ? r->partial : NULL};
    table->sweep[precision][shape->id](&d, &pass);
}

static void expect_same(const stencil_cpu_table *table, const char *isa, stencil_sweep_id sweep,
                        const stencil_shape *shape, stencil_precision precision) {
    static run expected, is;
    for (int way = 0; way < 4; way++) {
        const bool streaming = way % 2 == 1, checked = way / 2 == 0;
        sweep_with(&stencil_cpu_table_baseline, 0, shape, precision, false, checked, &expected);
        sweep_with(table, sweep, shape, precision, streaming, checked, &is);
        if (memcmp(is.memory[0], expected.memory[0], (size_t)expected.bytes) != 0 ||
            memcmp(is.memory[1], expected.memory[1], (size_t)expected.bytes) != 0)
            fail_msg("%s %s: %s, sweep %d differs from baseline (streaming %d, checked %d)", shape->name,
                     stencil_precision_name(precision), isa, (int)sweep, streaming, checked);
        assert_memory_equal(is.partial, expected.partial, sizeof is.partial);
        for (int i = 0; i < 2; i++) {
            free(is.memory[i]);
            free(expected.memory[i]);
        }
    }
}

/* Every sweep of an instruction set against the first one of the plainest. */
static void expect_all_same(const stencil_cpu_table *table, const char *isa) {
    for (int sweep = 0; sweep < STENCIL_SWEEP_COUNT; sweep++)
        for (int s = 0; s < STENCIL_SHAPE_COUNT; s++)
            for (int precision = 0; precision < STENCIL_PRECISION_COUNT; precision++)
                expect_same(table, isa, (stencil_sweep_id)sweep, &stencil_shapes[s],
                            (stencil_precision)precision);
}

static void baseline_streams_the_same(void **state) {
    (void)state;
    expect_all_same(&stencil_cpu_table_baseline, "baseline");
}

static void avx2_is_the_same(void **state) {
    (void)state;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        expect_all_same(&stencil_cpu_table_avx2, "avx2");
        return;
    }
#endif
    print_message("no AVX2 here\n");
    skip();
}

static void avx512_is_the_same(void **state) {
    (void)state;
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
        expect_all_same(&stencil_cpu_table_avx512, "avx512");
        return;
    }
#endif
    print_message("no AVX-512 here\n");
    skip();
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

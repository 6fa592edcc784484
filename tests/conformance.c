/* Every strategy gives the bits of the plain reference.
 *
 *   test_conformance cpu|gpu [PATTERN]     PATTERN: only tests whose name matches, such as "j2d5pt*"
 *
 * The matrix runs every strategy × sweep × named point set × precision with every boundary (three pure, three
 * mixed per axis) × size (no multiple of anything; as small as the stencil allows; rows longer than a block)
 * × {default weights, random weights and a source} × steps 0, 1, 2, 7. At 7 steps all pairs of check_every 1,
 * 3 and norm l2, max are run; at fewer steps the pairs take turns. So do, over all runs, the thread counts 2,
 * 1, 3 of the CPU, and the machine as it is and one with a tiny cache and a single multiprocessor (fields
 * that stream past the cache, blocks with several tiles). Products that cannot interact are not multiplied
 * out: weights and source are both data of the same update. On a CPU the matrix and the passes of several
 * steps are a sample of that, see draw.h. */
#include <fnmatch.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "conformance.h"
#include "draw.h"
#include "kernels/cpu.h"
#include "kernels/sweeps/stream.h"
#include "solver/plan/sweep.h"

conformance here;

bool runs_here(int strategy) {
    return stencil_strategy_unavailable(strategy, here.backend, &here.machine)[0] == '\0';
}

bool is_made(const subject *s, int number) {
    return here.backend == STENCIL_BACKEND_GPU || draw_trial(number, s->precision == STENCIL_FLOAT64);
}

trial_run run_of(int strategy, int64_t steps, int pair) {
    static const int threads[] = {2, 1, 3};
    const int turn = here.turn++;
    return (trial_run){.machine = &here.machine,
                       .backend = here.backend,
                       .strategy = strategy,
                       .threads = threads[turn % 3],
                       .small = turn / 3 % 2 == 1,
                       .tries = turn / 6 % 2 == 1,
                       .steps = steps,
                       .check_every = pair % 2 == 0 ? 1 : 3,
                       .norm = pair / 2 == 0 ? STENCIL_NORM_L2 : STENCIL_NORM_MAX,
                       .rtol = NAN,
                       .atol = NAN};
}

void set_sweep(trial_run *r, int sweep) {
    static const int depth[] = {3, 0, 2, 64, 5};
    r->sweep = sweep;
    const int most = stencil_sweep_infos[sweep].host->depth;
    r->depth = most > 1 ? (int)stencil_smaller(depth[here.turn % 5], most) : 0;
}

/* The sweeps take turns. */
void set_some_sweep(const trial *t, trial_run *r) {
    const int sweep = here.turn / 2 % STENCIL_SWEEP_COUNT;
    set_sweep(r, trial_has_sweep(t, here.backend, sweep) ? sweep : 0);
}

/* A trial with all steps and residual settings; these take turns for sweeps other than the default. */
static void run_with(const trial *t, trace *trace, int strategy, int sweep) {
    for (int64_t steps = 0; steps <= 2; steps++) {
        trial_run r = run_of(strategy, steps, here.turn % 4);
        set_sweep(&r, sweep);
        r.one_of = MATRIX_ONE_OF;
        if (sweep == 0 || steps == here.turn % 3)
            trial_expect(t, trace, &r);
    }
    for (int pair = 0; pair < 4; pair++) {
        static const int64_t every[] = {1, 7, 100};
        trial_run r = run_of(strategy, MATRIX_STEPS, pair);
        set_sweep(&r, sweep);
        if (r.depth > 0)
            r.check_every = every[here.turn / 2 % 3];
        r.one_of = MATRIX_ONE_OF;
        if (sweep == 0 || pair == here.turn / 2 % 4)
            trial_expect(t, trace, &r);
    }
}

void run_trial(const trial *t) {
    trace trace;
    trace_begin(&trace, t, MATRIX_STEPS);
    for (int sweep = 0; stencil_sweep_infos[sweep].name != NULL; sweep++)
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++)
            if (runs_here(strategy) && trial_has_sweep(t, here.backend, sweep))
                run_with(t, &trace, strategy, sweep);
    trace_destroy(&trace);
}

/* Weights of both signs whose absolute values add up to less than 1. */
static void random_weights(uint64_t seed, int count, double *weight) {
    for (int k = 0; k < count; k++)
        weight[k] = (2.0 * trial_random(seed, (uint64_t)k) - 1.0) / count;
}

static void run_matrix_case(const subject *s, const int64_t extent[3], const stencil_boundary boundary[3],
                            bool given) {
    double weight[STENCIL_POINTS_MAX];
    trial t;
    random_weights((uint64_t)s->shape->id + 100, s->shape->point_count, weight);
    trial_init(&t, s->precision, s->shape->rank, extent, boundary);
    trial_set_shape(&t, s->shape, given ? weight : NULL);
    trial_fill(&t, (uint64_t)extent[2] + given, 1.0, given ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
    run_trial(&t);
    trial_destroy(&t);
}

static void matrix(void **state) {
    static const stencil_boundary boundary[][3] = {
        {STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
        {STENCIL_PERIODIC, STENCIL_PERIODIC, STENCIL_PERIODIC},
        {STENCIL_MIRROR, STENCIL_MIRROR, STENCIL_MIRROR},
        {STENCIL_MIRROR, STENCIL_FIXED, STENCIL_PERIODIC},
        {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_MIRROR},
        {STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_FIXED},
    };
    const subject *s = *state;
    const int64_t width = 2 * s->shape->radius + 1;
    const int64_t extent2[][3] = {{1, 37, 61}, {1, width, width}, {1, width + 2, 301}};
    const int64_t extent3[][3] = {{19, 23, 31}, {width, width, width}, {width + 2, 9, 139}};
    for (size_t b = 0; b < sizeof boundary / sizeof *boundary; b++)
        for (int e = 0; e < 3; e++)
            for (int given = 0; given < 2; given++)
                run_matrix_case(s, s->shape->rank == 2 ? extent2[e] : extent3[e], boundary[b], given == 1);
}

/* Points that are no named set: asymmetric, without centre, of another reach on each axis. */
static void custom_points(void **state) {
    static const int32_t upwind[][3] = {{0, 0, 0}, {0, -2, 0}, {0, 0, 1}, {0, -1, 0}};
    static const int32_t skewed[][3] = {{0, 1, 2}, {0, 0, -1}, {0, -1, 0}};
    static const int32_t far_corner[][3] = {{0, 3, -3}, {0, 0, 0}};
    static const int32_t column[][3] = {{1, 0, 0}, {-1, 0, 0}};
    static const int32_t diagonal[][3] = {{1, 1, 1}, {0, 0, 0}, {0, 1, -1}, {-1, 0, 0}};
    static const struct {
        int rank, count;
        const int32_t (*offset)[3];
    } set[] = {{2, 4, upwind}, {2, 3, skewed}, {2, 2, far_corner}, {3, 2, column}, {3, 4, diagonal}};
    static const stencil_boundary boundary[][3] = {{STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
                                                   {STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_FIXED},
                                                   {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_MIRROR}};
    const subject *s = *state;
    for (size_t i = 0; i < sizeof set / sizeof *set; i++)
        for (size_t b = 0; b < sizeof boundary / sizeof *boundary; b++) {
            const int64_t extent[3] = {set[i].rank == 2 ? 1 : 7, 13, 71};
            double weight[STENCIL_POINTS_MAX];
            trial t;
            random_weights(i + 7, set[i].count, weight);
            trial_init(&t, s->precision, set[i].rank, extent, boundary[b]);
            trial_set_points(&t, set[i].count, set[i].offset, weight);
            trial_fill(&t, i, 1.0, i % 2 == 0 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
            run_trial(&t);
            trial_destroy(&t);
        }
}

/* laplace, poisson with damping, heat: weights from an unequal spacing, f scaled. */
static void equations(void **state) {
    static const double spacing[] = {0.5, 0.25, 0.75};
    static const stencil_boundary boundary[3] = {STENCIL_FIXED, STENCIL_MIRROR, STENCIL_PERIODIC};
    const subject *s = *state;
    for (int rank = 2; rank <= 3; rank++)
        for (int kind = STENCIL_KIND_LAPLACE; kind < STENCIL_KIND_COUNT; kind++) {
            const int64_t extent[3] = {rank == 2 ? 1 : 9, 17, 70};
            trial t;
            trial_init(&t, s->precision, rank, extent, boundary);
            t.spec.kind = (stencil_kind)kind;
            t.spec.spacing_count = rank;
            memcpy(t.spec.spacing, spacing, sizeof spacing);
            t.spec.omega = kind == STENCIL_KIND_POISSON ? 0.8 : NAN;
            t.spec.diffusivity_count = kind == STENCIL_KIND_HEAT;
            t.spec.diffusivity[0] = 0.3;
            t.spec.dt = kind == STENCIL_KIND_HEAT ? 0.01 : NAN;
            trial_fill(&t, 5, 1.0,
                       kind == STENCIL_KIND_POISSON ? STENCIL_SOURCE_F
                       : kind == STENCIL_KIND_HEAT  ? STENCIL_SOURCE_Q
                                                    : STENCIL_SOURCE_NONE);
            run_trial(&t);
            trial_destroy(&t);
        }
}

/* More partial sums than one group holds: the residual is combined in two levels, with a barrier between. */
static void long_rows(void **state) {
    static const stencil_boundary boundary[3] = {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_FIXED};
    const subject *s = *state;
    for (int rank = 2; rank <= 3; rank++) {
        const int64_t extent[3] = {rank == 2 ? 1 : 4, rank == 2 ? 3 : 5, rank == 2 ? 40000 : 9000};
        trial t;
        trial_init(&t, s->precision, rank, extent, boundary);
        trial_set_shape(&t, stencil_shape_find(rank == 2 ? "j2d5pt" : "j3d7pt"), NULL);
        trial_fill(&t, 17, 1.0, STENCIL_SOURCE_NONE);
        run_trial(&t);
        trial_destroy(&t);
    }
}

/* Streams so long that the stream sweep makes them with partial sums, on a GPU of few multiprocessors. */
static void long_streams(void **state) {
    enum { STEPS = 3, MULTIPROCESSORS = 4 };
    static const stencil_boundary boundary[][3] = {{STENCIL_FIXED, STENCIL_FIXED, STENCIL_FIXED},
                                                   {STENCIL_PERIODIC, STENCIL_MIRROR, STENCIL_PERIODIC},
                                                   {STENCIL_MIRROR, STENCIL_PERIODIC, STENCIL_MIRROR}};
    const subject *s = *state;
    for (int i = 0; i < STENCIL_SHAPE_COUNT && here.backend == STENCIL_BACKEND_GPU; i++) {
        const int rank = stencil_shapes[i].rank;
        const int64_t extent[3] = {rank == 2 ? 1 : 163, rank == 2 ? 2403 : 61, 70};
        const bool summed = stencil_stream_sums_of(rank, stencil_shapes[i].radius, false, true).ahead > 0;
        trial t;
        trace trace;
        trial_init(&t, s->precision, rank, extent, boundary[(i + 1 + (s->precision == STENCIL_FLOAT64)) % 3]);
        trial_set_shape(&t, &stencil_shapes[i], NULL);
        trial_fill(&t, (uint64_t)i, 1.0, i % 2 == 0 ? STENCIL_SOURCE_B : STENCIL_SOURCE_NONE);
        trace_make(&trace, &t, STEPS);
        for (int strategy = 0; strategy < stencil_strategy_count(); strategy++) {
            trial_run r = run_of(strategy, STEPS, here.turn % 4);
            r.small = (strategy + i) % 2 == 0;
            r.multiprocessors = r.small ? 0 : MULTIPROCESSORS;
            r.stream = summed ? STENCIL_STREAM_LONG : 0;
            if (runs_here(strategy))
                trial_expect(&t, &trace, &r);
        }
        trace_destroy(&trace);
        trial_destroy(&t);
    }
}

/* More residuals than one launch of a persistent kernel keeps; on a CPU nothing is cut into launches. */
static void many_looks(void **state) {
    enum { MANY_STEPS = 66000 };
    static const stencil_boundary boundary[3] = {STENCIL_FIXED, STENCIL_PERIODIC, STENCIL_FIXED};
    const subject *s = *state;
    const int64_t extent[3] = {1, 5, 7};
    trial t;
    trace trace;
    if (here.backend == STENCIL_BACKEND_CPU)
        skip();
    trial_init(&t, s->precision, 2, extent, boundary);
    trial_set_shape(&t, stencil_shape_find("j2d5pt"), NULL);
    trial_fill(&t, 19, 1.0, STENCIL_SOURCE_NONE);
    trace_make(&trace, &t, MANY_STEPS);
    for (int strategy = 0; strategy < stencil_strategy_count(); strategy++) {
        const trial_run r = run_of(strategy, MANY_STEPS, 0);
        if (runs_here(strategy))
            trial_expect(&t, &trace, &r);
    }
    trace_destroy(&trace);
    trial_destroy(&t);
}

/* Finds out what runs here; false (with the reason printed) when nothing does. */
static bool look_around(const char *backend) {
    here.backend = strcmp(backend, "gpu") == 0 ? STENCIL_BACKEND_GPU : STENCIL_BACKEND_CPU;
    if (stencil_machine_probe(&here.machine, STENCIL_STREAMS_PART) != STENCIL_OK) {
        printf("no test run: %s\n", stencil_error_last()->message);
        return false;
    }
    if (here.backend == STENCIL_BACKEND_GPU && here.machine.gpu_count == 0) {
        printf("no GPU (%s)\n", here.machine.no_gpu_reason);
        return false;
    }
    int count = 0;
    for (int i = 0; i < stencil_strategy_count(); i++) {
        const char *why = stencil_strategy_unavailable(i, here.backend, &here.machine);
        if (why[0] != '\0')
            printf("%s does not run here: %s\n", stencil_strategy_at(i).name, why);
        count += why[0] == '\0';
    }
    return count > 0;
}

int main(int argument_count, char **argument) {
    static const struct {
        const char *name;
        CMUnitTestFunction function;
    } others[] = {{"deep passes", deep_passes},
                  {"resident fields", resident_fields},
                  {"resident solids", resident_solids},
                  {"wide fields", wide_fields},
                  {"solid fields", solid_fields},
                  {"custom points", custom_points},
                  {"cycles", cycles},
                  {"accelerated", accelerated},
                  {"fixed cells", fixed_cells},
                  {"cells of classes", class_cells},
                  {"walls", walls},
                  {"wide rows", wide_rows},
                  {"values in time", in_time},
                  {"sums in time", sums_in_time},
                  {"deep classes", deep_classes},
                  {"fixed accelerated", fixed_accelerated},
                  {"coefficients", coefficients},
                  {"coefficients accelerated", coefficients_accelerated},
                  {"equations", equations},
                  {"subnormal numbers", subnormal},
                  {"tolerance midway", tolerance_midway},
                  {"continued", continued},
                  {"divergence", divergence},
                  {"interrupted", interrupted},
                  {"observed", observed},
                  {"plain ends", plain_ends},
                  {"long rows", long_rows},
                  {"long streams", long_streams},
                  {"many looks", many_looks}};
    static struct CMUnitTest
        tests[STENCIL_PRECISION_COUNT * (STENCIL_SHAPE_COUNT + sizeof others / sizeof *others)];
    static subject subjects[sizeof tests / sizeof *tests];
    static char names[sizeof tests / sizeof *tests][64];
    if (argument_count < 2 || (strcmp(argument[1], "cpu") != 0 && strcmp(argument[1], "gpu") != 0)) {
        fprintf(stderr, "usage: %s cpu|gpu [PATTERN]\n", argument[0]);
        return 64;
    }
    const char *isa = getenv(STENCIL_CPU_ISA_VARIABLE);
    if (isa != NULL && !stencil_cpu_take(isa))
        return 77;
    if (!look_around(argument[1]))
        return here.backend == STENCIL_BACKEND_GPU ? 77 : 1;
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++) {
        const size_t row = i / STENCIL_PRECISION_COUNT;
        const bool is_shape = row < STENCIL_SHAPE_COUNT;
        subjects[i] = (subject){.shape = is_shape ? &stencil_shapes[row] : NULL,
                                .precision = (stencil_precision)(i % STENCIL_PRECISION_COUNT)};
        snprintf(names[i], sizeof names[i], "%s %s",
                 is_shape ? stencil_shapes[row].name : others[row - STENCIL_SHAPE_COUNT].name,
                 stencil_precision_name(subjects[i].precision));
        tests[i] =
            (struct CMUnitTest){names[i], is_shape ? matrix : others[row - STENCIL_SHAPE_COUNT].function,
                                NULL, NULL, &subjects[i]};
    }
    if (argument_count > 2) {
        size_t matching = 0;
        for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
            matching += fnmatch(argument[2], names[i], 0) == 0;
        if (matching == 0) {
            fprintf(stderr, "no test matches '%s'\n", argument[2]);
            return 64;
        }
        cmocka_set_test_filter(argument[2]);
    }
    const int failed = cmocka_run_group_tests_name("conformance", tests, NULL, NULL);
    draw_report();
    if (trial_lacking > 0)
        printf("SKIPPED: %d runs of sweeps that this GPU, or this build's code for it, has no kernels for\n",
               trial_lacking);
    return failed;
}

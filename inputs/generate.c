#include "inputs/generate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "inputs/file.h"
#include "inputs/sink.h"
#include "philox/gpu.h"
#include "solver/problem/factors.h"

#define PI 3.14159265358979323846

const char *const stencil_initial_names[] = {"zero", "random", "hot-edge", "sine", NULL};

const char *const stencil_example_names[] = {"none",          "plate-with-hole", "heated-wall", "chip",
                                             "two-materials", "switched-source", "masonry",     NULL};

const char *const stencil_generate_source_names[] = {"auto", "none", "manufactured", NULL};

/* State of generating a problem file. */
typedef struct generator {
    const stencil_generate_options *options;
    stencil_problem problem; /* resolved problem, without fields */
    stencil_sink sink;
    stencil_random_cells random;
    stencil_random_gpu *gpu; /* that makes random values, owned; NULL: the host does */
} generator;

/* Completes the spec of the new file: without a spacing, the domain is the unit square or cube. */
static stencil_spec complete_spec(const stencil_generate_options *options) {
    stencil_spec spec = options->spec;
    const bool manufactured = options->source == STENCIL_GENERATE_SOURCE_AUTO
                                  ? spec.kind == STENCIL_KIND_POISSON
                                  : options->source == STENCIL_GENERATE_SOURCE_MANUFACTURED;
    spec.source = manufactured ? STENCIL_SOURCE_F : STENCIL_SOURCE_NONE;
    if (spec.kind == STENCIL_KIND_NONE || spec.spacing_count > 0)
        return spec;
    spec.spacing_count = spec.rank;
    for (int i = 0; i < spec.rank && i < STENCIL_AXES; i++) {
        const int64_t cells = spec.extent[i] - (stencil_spec_boundary(&spec, i) == STENCIL_FIXED ? 1 : 0);
        spec.spacing[i] = 1.0 / (double)(cells > 0 ? cells : 1);
    }
    return spec;
}

/* Returns the mode m(i) of an axis. Sines use their symmetry, so that they vanish exactly at both ends. */
static double mode_value(const stencil_problem *problem, int axis, int64_t i) {
    const int64_t n = problem->extent[axis];
    if (axis < STENCIL_AXES - problem->rank)
        return 1.0;
    switch (problem->boundary[axis]) {
    case STENCIL_PERIODIC:
        return 2 * i > n ? -sin(2 * PI * (double)(n - i) / (double)n) : sin(2 * PI * (double)i / (double)n);
    case STENCIL_MIRROR:
        return cos(PI * ((double)i + 0.5) / (double)n);
    default:
        return sin(PI * (double)(2 * i > n - 1 ? n - 1 - i : i) / (double)(n - 1));
    }
}

/* Returns the factor of the modes' product in /f: along each axis, the second derivative of the mode is -k^2
 * times the mode. */
static double source_factor(const stencil_problem *problem) {
    double factor = 0.0;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++) {
        const stencil_boundary boundary = problem->boundary[axis];
        const int64_t n = problem->extent[axis];
        const double length =
            (double)(boundary == STENCIL_FIXED ? n - 1 : n) * stencil_spec_spacing(&problem->spec, axis);
        const double k = (boundary == STENCIL_PERIODIC ? 2 * PI : PI) / length;
        factor += k * k;
    }
    return factor;
}

static stencil_status check_interrupt(const generator *g) {
    const volatile sig_atomic_t *interrupt = g->options->interrupt;
    CHECK(interrupt == NULL || *interrupt == 0, INTERRUPTED, "interrupted: '%s' is not written",
          g->options->path);
    return STENCIL_OK;
}

/* A patch of an example's field, whose length is 1 along x and y: its centre, its half width along both (a
 * disc: its radius), and its value. */
typedef struct patch {
    bool round;
    double x, y, half_x, half_y, value;
} patch;

/* An example: what its cells are but for those of the patches, of which a dataset has a mask, a class or,
 * where that is /k, the values; `k` is that of all other cells. */
enum { PATCHES_MAX = 4 };
typedef struct example {
    int dataset;       /* that has the patches */
    double value;      /* of cells in no patch, at the first x */
    double rise;       /* what the value has more at the last x */
    double conducting; /* conductivity in patches over that elsewhere; 0: they are no material */
    int count;
    patch patch[PATCHES_MAX];
    double k;
} example;
static const example examples[STENCIL_EXAMPLE_COUNT] = {
    [STENCIL_EXAMPLE_PLATE_WITH_HOLE] = {STENCIL_DATASET_FIXED,
                                         0.0,
                                         0.0,
                                         0.0,
                                         3,
                                         {{true, 0.5, 0.5, 0.15, 0.15, 0.0},
                                          {true, 0.2, 0.5, 0.08, 0.08, 1.0},
                                          {true, 0.8, 0.5, 0.08, 0.08, -1.0}}},
    [STENCIL_EXAMPLE_HEATED_WALL] = {STENCIL_DATASET_INSULATED,
                                     20.0,
                                     0.0,
                                     0.0,
                                     2,
                                     {{false, 0.5, 0.25, 0.15, 0.15, 20.0},
                                      {false, 0.5, 0.75, 0.15, 0.15, 20.0}}},
    [STENCIL_EXAMPLE_SWITCHED_SOURCE] =
        {STENCIL_SOURCE_Q, 20.0, 0.0, 0.0, 1, {{false, 0.5, 0.5, 0.1, 0.1, 5.0}}},
    [STENCIL_EXAMPLE_CHIP] = {STENCIL_DATASET_FIXED,
                              0.0,
                              0.0,
                              0.0,
                              4,
                              {{false, 0.125, 0.25, 0.05, 0.1, 1.0},
                               {false, 0.375, 0.25, 0.05, 0.1, 1.0},
                               {false, 0.625, 0.25, 0.05, 0.1, 1.0},
                               {false, 0.875, 0.25, 0.05, 0.1, 1.0}}},
    [STENCIL_EXAMPLE_TWO_MATERIALS] =
        {STENCIL_DATASET_CLASS, 1.0, -1.0, 10.0, 1, {{true, 0.5, 0.5, 0.25, 0.25, 0.0}}},
    [STENCIL_EXAMPLE_MASONRY] = {STENCIL_DATASET_K,
                                 20.0,
                                 0.0,
                                 0.0,
                                 2,
                                 {{false, 0.5, 0.25, 0.5, 0.02, 1.2e-5},
                                  {false, 0.5, 0.75, 0.5, 0.02, 1.2e-5}},
                                 .k = 5e-7},
};

/* The heater of the example switched-source: on for ten seconds, then off. */
static double switched[] = {0.0, 1.0, 10.0, 1.0, 10.0, 0.0};
enum { SWITCHED_ROWS = sizeof switched / sizeof *switched / 2 };

/* Adds what switched-source says of its source, a dataset of the file, to the spec. */
static void add_switched(stencil_spec *spec) {
    spec->source = STENCIL_SOURCE_Q;
    spec->source_count = 1;
    spec->table[0] = (stencil_table_facts){SWITCHED_ROWS, stencil_table_hash(switched, SWITCHED_ROWS)};
}

void stencil_example_begin(stencil_example which, stencil_spec *spec) {
    const int last = spec->rank - 1;
    stencil_wall_kind(*wall)[2] = spec->wall;
    if (which == STENCIL_EXAMPLE_NONE)
        return;
    const bool masonry = which == STENCIL_EXAMPLE_MASONRY,
               wall_of_house = which == STENCIL_EXAMPLE_HEATED_WALL || masonry;
    spec->fixed = examples[which].dataset == STENCIL_DATASET_FIXED;
    spec->insulated = examples[which].dataset == STENCIL_DATASET_INSULATED;
    spec->has_k = masonry;
    spec->kind = wall_of_house || which == STENCIL_EXAMPLE_SWITCHED_SOURCE ? STENCIL_KIND_HEAT
                 : which == STENCIL_EXAMPLE_TWO_MATERIALS                  ? STENCIL_KIND_NONE
                                                                           : STENCIL_KIND_LAPLACE;
    if (wall_of_house) {
        spec->boundary_count = spec->spacing_count = 1;
        spec->boundary[0] = STENCIL_MIRROR;
        spec->spacing[0] = 0.24 / (double)spec->extent[last];
        spec->diffusivity[0] = 5e-7;
        spec->diffusivity_count = !masonry;
        spec->time_end = 36000.0;
        wall[STENCIL_X][0] = STENCIL_WALL_FLUX;
        spec->flux[STENCIL_X][0] = 50.0;
        wall[STENCIL_X][1] = STENCIL_WALL_EXCHANGE;
        spec->exchange[STENCIL_X][1] = 8.0;
        spec->ambient[STENCIL_X][1] = -5.0;
    } else if (which == STENCIL_EXAMPLE_SWITCHED_SOURCE) {
        spec->boundary_count = spec->spacing_count = 1;
        spec->boundary[0] = STENCIL_MIRROR;
        spec->spacing[0] = 0.1 / (double)spec->extent[last];
        spec->diffusivity[0] = 1e-4;
        spec->diffusivity_count = 1;
        spec->time_end = 40.0;
    } else if (which == STENCIL_EXAMPLE_CHIP) {
        spec->boundary_count = 1;
        spec->boundary[0] = STENCIL_MIRROR;
        wall[STENCIL_Y][1] = STENCIL_WALL_FLUX;
        spec->flux[STENCIL_Y][1] = -0.5;
    } else if (which == STENCIL_EXAMPLE_TWO_MATERIALS) {
        spec->boundary_count = spec->rank;
        for (int i = 0; i < spec->rank; i++)
            spec->boundary[i] = i == last ? STENCIL_FIXED : STENCIL_MIRROR;
        snprintf(spec->stencil, sizeof spec->stencil, "%s", spec->rank == 2 ? "j2d5pt" : "j3d7pt");
        spec->classed = true;
        spec->weight_count = 2 * spec->rank + 1;
        spec->class_count = 2 << (2 * spec->rank);
        spec->rtol = 1e-6;
    }
}

/* The conductivity between a cell and its neighbour of the same or of the other material, 1 or `best`: the
 * harmonic mean. */
static double between(double own, bool other, double best) {
    const double there = !other ? own : own > 1.0 ? 1.0 : best;
    return 2.0 * own * there / (own + there);
}

/* Makes the rows of weights of an example of two materials, [class_count][weight_count], row 0 of which the
 * spec gets: bit k of a class says whether the k-th neighbour, in ascending order of the points, is of the
 * other material than the cell, the highest bit which one that is of. A cell becomes the mean of its
 * neighbours, each counted by the conductivity towards it. */
static stencil_status make_rows(stencil_spec *spec, double best, double **rows) {
    const int points = spec->weight_count, neighbours = points - 1;
    double *row = calloc((size_t)(spec->class_count * points), sizeof *row);
    *rows = row;
    CHECK(row != NULL, NO_MEMORY, "no memory for the rows of weights");
    for (int c = 0; c < spec->class_count; c++, row += points) {
        const double own = c >> neighbours != 0 ? best : 1.0;
        double sum = 0.0;
        for (int k = 0; k < neighbours; k++)
            sum += between(own, (c >> k & 1) != 0, best);
        for (int k = 0; k < neighbours; k++)
            row[k < neighbours / 2 ? k : k + 1] = between(own, (c >> k & 1) != 0, best) / sum;
    }
    memcpy(spec->weight, *rows, (size_t)points * sizeof **rows);
    return STENCIL_OK;
}

/* Returns the patch of the example that has cell (y, x), or NULL. */
static const patch *patch_at(const generator *g, int64_t y, int64_t x) {
    const example *e = &examples[g->options->example];
    const double ny = (double)(g->problem.extent[STENCIL_Y] - 1),
                 nx = (double)(g->problem.extent[STENCIL_X] - 1);
    for (int i = 0; i < e->count; i++) {
        const patch *p = &e->patch[i];
        const double away_x = (double)x / nx - p->x, away_y = (double)y / ny - p->y;
        if (p->round ? hypot(away_x, away_y) <= p->half_x
                     : fabs(away_x) <= p->half_x && fabs(away_y) <= p->half_y)
            return p;
    }
    return NULL;
}

/* The class of a cell of two materials, see make_rows(). Beyond a side there is what is at it. */
static int material_at(const generator *g, int64_t y, int64_t x) {
    const int64_t ny = g->problem.extent[STENCIL_Y], nx = g->problem.extent[STENCIL_X];
    const int before =
        g->problem.rank - 2; /* neighbours before those of y: those along z, of the same material */
    const bool own = patch_at(g, y, x) != NULL;
    const int64_t beside[4][2] = {
        {y - (y > 0), x}, {y, x - (x > 0)}, {y, x + (x < nx - 1)}, {y + (y < ny - 1), x}};
    int class_of = own ? 1 << (2 * g->problem.rank) : 0;
    for (int k = 0; k < 4; k++)
        if ((patch_at(g, beside[k][0], beside[k][1]) != NULL) != own)
            class_of |= 1 << (before + k);
    return class_of;
}

/* Computes /u of a block of the example, the mask the classes or /k of its patches (array CLASS), or its
 * source (array B). */
static stencil_status make_example(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    const generator *g = context;
    const example *e = &examples[g->options->example];
    const stencil_box block = stencil_box_from(box, g->problem.first);
    const int64_t ny = block.n[STENCIL_Y], nx = block.n[STENCIL_X];
    const double last = (double)(g->problem.extent[STENCIL_X] - 1);
    const bool keeps = e->dataset == STENCIL_DATASET_FIXED || e->dataset == STENCIL_DATASET_INSULATED;
    TRY(check_interrupt(g));
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < block.n[STENCIL_Z] * ny; r++)
        for (int64_t i = 0; i < nx; i++) {
            const int64_t y = block.first[STENCIL_Y] + r % ny, x = block.first[STENCIL_X] + i;
            const patch *p = patch_at(g, y, x);
            double value = e->value + e->rise * (double)x / last;
            if (array == STENCIL_ARRAY_CLASS)
                value = e->k > 0            ? (p != NULL ? p->value : e->k)
                        : e->conducting > 0 ? material_at(g, y, x)
                                            : p != NULL;
            else if (array == STENCIL_ARRAY_B)
                value = p != NULL ? p->value : 0.0;
            else if (keeps && p != NULL)
                value = p->value;
            ((double *)to->at)[r * nx + i] = value;
        }
    return STENCIL_OK;
}

/* Goes on without a GPU where there is none or it has no memory: the host makes the same cells. */
static stencil_status or_on_host(generator *g, stencil_status status) {
    if (status != STENCIL_UNAVAILABLE && status != STENCIL_NO_MEMORY)
        return status;
    stencil_random_gpu_close(g->gpu);
    g->gpu = NULL;
    return STENCIL_OK;
}

/* Computes the random /u of a block, whose cells are one piece of the stream: rows or planes behind each
 * other. */
static stencil_status make_random(void *context, stencil_array array, const stencil_box *box,
                                  const stencil_cells *to) {
    generator *g = context;
    const stencil_box block = stencil_box_from(box, g->problem.first);
    const int64_t *extent = g->problem.extent, *at = block.first, *n = block.n,
                  cells = stencil_box_cells(&block);
    const int64_t first =
        (at[STENCIL_Z] * extent[STENCIL_Y] + at[STENCIL_Y]) * extent[STENCIL_X] + at[STENCIL_X];
    (void)array;
    TRY(check_interrupt(g));
    CHECK(n[STENCIL_X] == extent[STENCIL_X] && (n[STENCIL_Z] == 1 || n[STENCIL_Y] == extent[STENCIL_Y]),
          INTERNAL, "random values are made of whole rows and planes");
    if (g->gpu != NULL)
        TRY(or_on_host(g, stencil_random_gpu_read(g->gpu, (uint64_t)first, cells, to->at)));
    if (g->gpu == NULL)
        stencil_random_fill(&g->random, (uint64_t)first, cells, to->at);
    return STENCIL_OK;
}

/* Computes the values of a block, which are not in a file: initial values, or for /f a factor times the
 * product of a sine or cosine of each axis. */
static stencil_status make_box(void *context, stencil_array array, const stencil_box *box,
                               const stencil_cells *to) {
    const generator *g = context;
    const stencil_problem *problem = &g->problem;
    const stencil_box block = stencil_box_from(box, problem->first);
    const bool is_u = array == STENCIL_ARRAY_U;
    const stencil_initial initial = is_u ? g->options->initial : STENCIL_INITIAL_SINE;
    const double factor = is_u ? g->options->amplitude : source_factor(problem);
    const int64_t *first = block.first, ny = block.n[STENCIL_Y], nx = block.n[STENCIL_X];
    const bool sine = initial == STENCIL_INITIAL_SINE;
    TRY(check_interrupt(g));
#pragma omp parallel for schedule(static)
    for (int64_t r = 0; r < block.n[STENCIL_Z] * ny; r++) {
        const int64_t z = first[STENCIL_Z] + r / ny, y = first[STENCIL_Y] + r % ny;
        const double row = sine ? mode_value(problem, STENCIL_Y, y) * mode_value(problem, STENCIL_Z, z) : 0.0;
        const bool hot = initial == STENCIL_INITIAL_HOT_EDGE && (problem->rank == 3 ? z : y) == 0;
        for (int64_t i = 0; i < nx; i++) {
            double value = hot ? factor : 0.0;
            if (sine)
                value = factor * (row * mode_value(problem, STENCIL_X, first[STENCIL_X] + i));
            ((double *)to->at)[r * nx + i] = value;
        }
    }
    return STENCIL_OK;
}

static stencil_status fill(generator *g, const char *name, stencil_array array,
                           stencil_status (*read)(void *, stencil_array, const stencil_box *,
                                                  const stencil_cells *)) {
    const bool mask = array == STENCIL_ARRAY_CLASS && strcmp(name, "/k") != 0;
    const hid_t type = mask ? H5T_STD_U8LE : stencil_h5_type(g->problem.precision, true);
    const stencil_sink_dataset dataset = {name, array, type, H5T_NATIVE_DOUBLE};
    TRY(stencil_sink_create(&g->sink, &dataset, &g->problem));
    return stencil_sink_fill(&g->sink, &dataset, &g->problem, &(stencil_reader){read, g});
}

/* Makes /u of random values, on a GPU where that pays. */
static stencil_status fill_random(generator *g) {
    const stencil_generate_options *options = g->options;
    const int64_t *extent = g->problem.extent,
                  cells = extent[STENCIL_Z] * extent[STENCIL_Y] * extent[STENCIL_X];
    g->random = (stencil_random_cells){options->seed, g->problem.precision, options->amplitude};
    if (options->gpu_cells > 0 && cells >= options->gpu_cells)
        TRY(or_on_host(g, stencil_random_gpu_open(&g->gpu, 0, &g->random)));
    TRY(fill(g, "/u", STENCIL_ARRAY_U, make_random));
    if (options->on_gpu != NULL)
        *options->on_gpu = g->gpu != NULL;
    return STENCIL_OK;
}

static stencil_status generate(generator *g, double **rows) {
    stencil_spec spec = complete_spec(g->options);
    const bool example = g->options->example != STENCIL_EXAMPLE_NONE,
               switches = g->options->example == STENCIL_EXAMPLE_SWITCHED_SOURCE;
    CHECK(isfinite(g->options->amplitude), BAD_DATA, "the amplitude is %g: give a finite number",
          g->options->amplitude);
    CHECK(spec.source == STENCIL_SOURCE_NONE || spec.kind == STENCIL_KIND_POISSON, USAGE,
          "a manufactured source belongs to problem poisson: choose that problem, or no source");
    if (spec.classed && spec.class_count > 0)
        TRY(make_rows(&spec, examples[g->options->example].conducting, rows));
    if (switches)
        add_switched(&spec);
    TRY(stencil_problem_resolve(&g->problem, &spec));
    const int arrays = 1 + example + (spec.source == STENCIL_SOURCE_F); /* of numbers, or less */
    TRY(stencil_sink_open(&g->sink, g->options->path, g->options->force, NULL,
                          arrays * stencil_sink_array_bytes(&g->problem)));
    if (g->options->initial == STENCIL_INITIAL_RANDOM && !example)
        TRY(fill_random(g));
    else
        TRY(fill(g, "/u", STENCIL_ARRAY_U, example ? make_example : make_box));
    if (spec.source == STENCIL_SOURCE_F)
        TRY(fill(g, "/f", STENCIL_ARRAY_B, make_box));
    if (example)
        TRY(fill(g, stencil_source_names[examples[g->options->example].dataset],
                 switches ? STENCIL_ARRAY_B : STENCIL_ARRAY_CLASS, make_example));
    if (switches)
        TRY(stencil_tables_write(g->sink.file, g->options->path, &spec,
                                 (double *[STENCIL_STEP_FACTORS]){switched}));
    TRY(stencil_spec_write(g->sink.file, g->options->path, &spec));
    TRY(stencil_points_write(g->sink.file, g->options->path, &spec, *rows));
    TRY(check_interrupt(g));
    return stencil_sink_commit(&g->sink);
}

stencil_status stencil_generate(const stencil_generate_options *options) {
    generator g = {.options = options};
    double *rows = NULL;
    const stencil_status status = generate(&g, &rows);
    stencil_random_gpu_close(g.gpu);
    stencil_sink_close(&g.sink);
    free(rows);
    return status;
}

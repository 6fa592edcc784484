/* stencil new: makes a problem file. */
#include <string.h>

#include "app/options.h"
#include "app/signals.h"
#include "app/text.h"
#include "inputs/generate.h"
#include "philox/gpu.h"

/* Default rtol of relaxation problems, which without a criterion would stop unconverged after fixed steps. */
static const double relaxation_rtol[STENCIL_PRECISION_COUNT] = {
    [STENCIL_FLOAT32] = 1e-5, [STENCIL_FLOAT64] = 1e-8};

/* Cells of an example along y and x. */
static const int64_t example_cells[STENCIL_EXAMPLE_COUNT][2] = {
    [STENCIL_EXAMPLE_PLATE_WITH_HOLE] = {257, 257},
    [STENCIL_EXAMPLE_HEATED_WALL] = {128, 96},
    [STENCIL_EXAMPLE_CHIP] = {65, 129},
    [STENCIL_EXAMPLE_TWO_MATERIALS] = {97, 97},
    [STENCIL_EXAMPLE_SWITCHED_SOURCE] = {64, 64},
    [STENCIL_EXAMPLE_MASONRY] = {128, 96},
};

typedef struct new_options {
    stencil_spec problem;              /* has only values of given options, see problem_options_apply() */
    stencil_generate_options generate; /* initial values that options state */
    bool quiet;
} new_options;

#define AT(field) OPTION_AT(new_options, field)
static const option new_table[] = {
    {.heading = "Field"},
    {"size", 0, OPTION_SIZE, AT(problem.extent), "NXxNY[xNZ]",
     .help = "cells of /u, x first (x varies fastest); the boundary cells of fixed axes count",
     .count_offset = offsetof(new_options, problem.rank)},
    {"example", 0, OPTION_CHOICE, AT(generate.example), "NAME",
     .help =
         "a problem that shows what a file can say, of a size of its own unless --size is given; "
         "plate-with-hole: laplace on 257x257 cells, /fixed has a hole and two electrodes; heated-wall: "
         "heat on 96x128 cells, a flux "
         "on one side, air on the other, /insulated has two cavities; chip: laplace on 129x65 cells, "
         "four heaters in "
         "/fixed and a flux below; two-materials: weights of its own on 97x97 cells, /class has a disc that "
         "conducts ten times as well; switched-source: heat on 64x64 cells, a heater that is on for ten "
         "seconds, /q and /q_factor; masonry: heat on 96x128 cells, /k has a wall with two anchors of steel",
     .preset = "none", .names = stencil_example_names},
    {"initial", 0, OPTION_CHOICE, AT(generate.initial), "NAME", .help = "initial values", .preset = "zero",
     .names = stencil_initial_names},
    {"seed", 0, OPTION_INTEGER, AT(generate.seed), "N",
     .help = "of the random initial values (Philox4x32-10)", .preset = "0", .maximum = INT64_MAX},
    {"amplitude", 0, OPTION_REAL, AT(generate.amplitude), "A", .help = "factor of the initial values",
     .preset = "1"},
    {"source", 0, OPTION_CHOICE, AT(generate.source), "NAME",
     .help = "right-hand side of poisson; manufactured: one whose solution is a product of sines or cosines",
     .preset = "auto", .names = stencil_generate_source_names},
    {.heading = "Problem", .table = problem_option_table, .offset = offsetof(new_options, problem)},
    {.heading = "When to stop (stored in the file)",
     .table = stop_option_table,
     .offset = offsetof(new_options, problem)},
    {.heading = "File"},
    {"force", 'f', OPTION_FLAG, AT(generate.force), NULL, .help = "replace an existing file"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), NULL, .help = "print nothing"},
    {NULL},
};

static stencil_status make_spec(const invocation *call, stencil_spec *spec) {
    const new_options *options = call->values;
    const bool example = options->generate.example != STENCIL_EXAMPLE_NONE,
               named = options_given(call, "problem") || options_given(call, "stencil");
    CHECK(options->problem.rank > 0 || example, USAGE,
          "--size is missing: give NXxNY or NXxNYxNZ, such as --size 129x129");
    CHECK(named || example, USAGE,
          "neither --problem nor --stencil is given: 'stencil help new' lists the names");
    CHECK(!named || options->generate.example != STENCIL_EXAMPLE_TWO_MATERIALS, USAGE,
          "--example two-materials has weights of its own: give neither --problem nor --stencil");
    stencil_spec_init(spec);
    spec->rank = options->problem.rank;
    memcpy(spec->extent, options->problem.extent, sizeof spec->extent);
    if (spec->rank == 0) {
        spec->rank = 2;
        memcpy(spec->extent, example_cells[options->generate.example], sizeof *example_cells);
    }
    stencil_example_begin(options->generate.example, spec);
    if (options_given(call, "spacing"))
        spec->spacing_count = 0;
    TRY(problem_options_apply(call, spec));
    const bool relaxation = spec->kind == STENCIL_KIND_LAPLACE || spec->kind == STENCIL_KIND_POISSON;
    if (relaxation && !options_given(call, "rtol") && !options_given(call, "atol"))
        spec->rtol = relaxation_rtol[spec->precision];
    /* The example's rtol is for float64; of float32 small fields of two materials resolve 3e-5 of the start.
     */
    if (spec->classed && spec->precision == STENCIL_FLOAT32 && !options_given(call, "rtol"))
        spec->rtol = 1e-4;
    bool walls = spec->insulated; /* no eigenvalue is known */
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        walls = walls || spec->wall[i / 2][i % 2] != STENCIL_WALL_NONE;
    if (relaxation && !walls && !options_given(call, "omega") && !options_given(call, "accelerate"))
        snprintf(spec->accelerate, sizeof spec->accelerate, "chebyshev");
    return STENCIL_OK;
}

/* Checks the problem size, with messages that name options where the solver's would name /u. */
static stencil_status check_size(const stencil_spec *spec) {
    const stencil_shape *shape =
        &stencil_shapes[spec->rank == 2 ? STENCIL_SHAPE_j2d5pt : STENCIL_SHAPE_j3d7pt];
    if (spec->kind == STENCIL_KIND_NONE)
        shape = stencil_shape_find(spec->stencil);
    const char *size = TEXT_EXTENT(spec->extent, spec->rank, "x");
    CHECK(shape != NULL && shape->rank == spec->rank, USAGE,
          "--stencil %s and --size %s contradict each other: the first is for %dD fields, the second is %dD",
          spec->stencil, size, spec->rank == 2 ? 3 : 2, spec->rank);
    int64_t bytes = 1;
    for (int i = 0; i < spec->rank; i++) {
        CHECK(spec->extent[i] > 2 * shape->radius, USAGE,
              "--size %s: %s is %d cells wide, give at least as many on every axis", size, shape->name,
              2 * shape->radius + 1);
        /* 1024 is above any padding of an axis. */
        CHECK(spec->extent[i] < INT64_MAX / 4 && stencil_multiply(bytes, spec->extent[i] + 1024, &bytes) &&
                  bytes < INT64_MAX / 64,
              USAGE, "--size %s: more cells than can be counted, give a smaller size", size);
    }
    return STENCIL_OK;
}

static stencil_status new_run(invocation *call) {
    const new_options *options = call->values;
    const char *path = call->operand[0];
    stencil_generate_options generate = options->generate;
    bool on_gpu = false;
    generate.path = path;
    generate.interrupt = &signals_caught;
    CHECK(strcmp(path, "-") != 0, USAGE,
          "'-': an HDF5 file does not go to standard output: give a file name, ./- for a file called -");
    TRY(make_spec(call, &generate.spec));
    const char *initial = stencil_initial_names[generate.initial];
    const char *example = stencil_example_names[generate.example];
    CHECK(generate.example == STENCIL_EXAMPLE_NONE ||
              (!options_given(call, "initial") && !options_given(call, "amplitude")),
          USAGE, "--initial and --amplitude have no effect on --example %s, which has values of its own",
          example);
    CHECK(generate.initial == STENCIL_INITIAL_RANDOM || !options_given(call, "seed"), USAGE,
          "--seed is for --initial random: it has no effect on %s", initial);
    CHECK(generate.initial != STENCIL_INITIAL_ZERO || !options_given(call, "amplitude"), USAGE,
          "--amplitude has no effect on --initial %s: leave it out, or give other initial values", initial);
    TRY(check_size(&generate.spec));
    TRY(threads_start(0));
    generate.gpu_cells = stencil_random_gpu_pays();
    generate.on_gpu = &on_gpu;
    signals_collect();
    stencil_status status = stencil_generate(&generate);
    if (status == STENCIL_BAD_DATA) /* all data comes from options, so the error is USAGE */
        status = text_around(STENCIL_USAGE, "", "");
    TRY(text_name_out_of_memory(status, path));
    if (options->quiet)
        return STENCIL_OK;
    const stencil_spec *spec = &generate.spec;
    printf("%s: %s, %s cells, %s, %s %s%s\n", TEXT_ESCAPE(path),
           spec->kind != STENCIL_KIND_NONE ? stencil_kind_names[spec->kind] : spec->stencil,
           TEXT_EXTENT(spec->extent, spec->rank, " x "), stencil_precision_name(spec->precision),
           generate.example == STENCIL_EXAMPLE_NONE ? "initial values" : "example",
           generate.example == STENCIL_EXAMPLE_NONE ? initial : example, on_gpu ? ", made on a GPU" : "");
    return text_around(output_check(), "", TEXT_LONG("; '%s' is complete", path));
}

const command command_new = {
    .name = "new",
    .usage = "new [options] FILE",
    .summary = "makes a problem file",
    .details = "One of --problem and --stencil has to be given, and --size, or --example. Lists per axis are "
               "in array "
               "order, (y, x) or (z, y, x), unlike --size, which starts with x. Without --spacing the domain "
               "of a problem has length 1 on every axis; a stencil has spacing 1. laplace and poisson are "
               "given rtol 1e-8 in float64 and 1e-5 in float32 unless --rtol or --atol is given, and "
               "--accelerate chebyshev unless --omega is.",
    .options = new_table,
    .values_size = sizeof(new_options),
    .operand_min = 1,
    .operand_max = 1,
    .alone = true,
    .run = new_run,
};

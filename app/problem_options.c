#include "app/problem_options.h"

#include <math.h>
#include <stdio.h>

#include "inputs/inputs.h"

#define AT(field) offsetof(problem_options, field)

const option problem_option_table[] = {
    {"problem", 0, OPTION_CHOICE, AT(problem), "NAME", .help = "weights from the grid spacing",
     .names = stencil_kind_names + 1},
    {"stencil", 0, OPTION_CHOICE, AT(stencil), "NAME", .help = "equal weights of sum 1 on a set of points",
     .names = stencil_shape_names},
    {"boundary", 0, OPTION_CHOICES, AT(boundary), "A[,B[,C]]", .help = "one for all axes, or one per axis",
     .maximum = STENCIL_AXES, .names = stencil_boundary_names},
    {"spacing", 0, OPTION_REALS, AT(spacing), "H[,H[,H]]",
     .help = "distance of grid points, for all axes or per axis", .maximum = STENCIL_AXES, .positive = true},
    {"omega", 0, OPTION_REAL, AT(omega), "W", .help = "damping of laplace and poisson (1 where not given)",
     .positive = true},
    {"diffusivity", 0, OPTION_REAL, AT(diffusivity), "A", .help = "of heat (1 where not given)",
     .positive = true},
    {"dt", 0, OPTION_REAL, AT(dt), "T", .help = "time step of heat (the largest stable one where not given)",
     .positive = true},
    {"precision", 0, OPTION_CHOICE, AT(precision), "TYPE", .help = "of field and arithmetic",
     .names = stencil_precision_names},
    {NULL},
};

const option stop_option_table[] = {
    {"steps", 0, OPTION_INTEGER, AT(steps), "N",
     .help = "stop after N steps from the problem's start (where nobody says: 1000, or 10000000 with rtol or "
             "atol)",
     .maximum = STENCIL_STEPS_MAX},
    {"rtol", 0, OPTION_REAL, AT(rtol), "R",
     .help = "stop when the residual u' - u is under R times that of step 1 (poisson: or of the source, if "
             "larger); none: no such limit",
     .none = true},
    {"atol", 0, OPTION_REAL, AT(atol), "A",
     .help = "stop when the residual is under A, which says nothing about the error of u; with both, the "
             "larger limit counts",
     .none = true, .old_name = "tolerance"},
    {"norm", 0, OPTION_CHOICE, AT(norm), "NAME", .help = "of the residual, root mean square or largest",
     .names = stencil_norm_names},
    {"check-every", 0, OPTION_INTEGER, AT(check_every), "K",
     .help = "look at the residual every K steps (100 where nobody says)", .minimum = 1,
     .maximum = STENCIL_STEPS_MAX},
    {NULL},
};

static void apply_points(const problem_options *options, stencil_spec *spec) {
    if (options->problem < 0 && options->stencil < 0)
        return;
    spec->kind = options->problem >= 0 ? (stencil_kind)(options->problem + 1) : STENCIL_KIND_NONE;
    spec->offset_count = spec->weight_count = 0;
    snprintf(spec->stencil, sizeof spec->stencil, "%s",
             options->stencil >= 0 ? stencil_shapes[options->stencil].name : "");
}

/* A list of an option is for the rank of the field, where that is known. */
static stencil_status check_list(const char *option, int count, int rank) {
    CHECK(rank == 0 || count <= 1 || count == rank, USAGE,
          "--%s has %d entries, the field %d axes: give one for all of them, or one for each", option, count,
          rank);
    return STENCIL_OK;
}

static void apply_axes(const problem_options *options, stencil_spec *spec) {
    if (options->boundary.count > 0) {
        spec->boundary_count = options->boundary.count;
        for (int i = 0; i < options->boundary.count; i++)
            spec->boundary[i] = (stencil_boundary)options->boundary.value[i];
    }
    if (options->spacing.count > 0) {
        spec->spacing_count = options->spacing.count;
        for (int i = 0; i < options->spacing.count; i++)
            spec->spacing[i] = options->spacing.real[i];
    }
}

stencil_status problem_options_apply(const problem_options *options, stencil_spec *spec) {
    TRY(check_list("boundary", options->boundary.count, spec->rank));
    TRY(check_list("spacing", options->spacing.count, spec->rank));
    apply_points(options, spec);
    apply_axes(options, spec);
    CHECK(isnan(options->rtol) || isinf(options->rtol) || options->rtol < 1, USAGE,
          "--rtol %g: give a number less than 1, the part of the first residual to stop at", options->rtol);
    const struct {
        double given, *value;
    } real[] = {{options->omega, &spec->omega},
                {options->diffusivity, &spec->diffusivity},
                {options->dt, &spec->dt},
                {options->rtol, &spec->rtol},
                {options->atol, &spec->atol}};
    for (size_t i = 0; i < sizeof real / sizeof *real; i++)
        if (!isnan(real[i].given))
            *real[i].value = isinf(real[i].given) ? NAN : real[i].given;
    if (options->precision >= 0)
        spec->precision = (stencil_precision)options->precision;
    if (options->steps >= 0)
        spec->steps = options->steps;
    if (options->norm >= 0)
        spec->norm = (stencil_norm)options->norm;
    if (options->check_every > 0)
        spec->check_every = options->check_every;
    return STENCIL_OK;
}

stencil_status problem_options_check_effect(const problem_options *options, const stencil_spec *spec) {
    const stencil_kind kind = spec->kind;
    const bool relaxation = kind == STENCIL_KIND_LAPLACE || kind == STENCIL_KIND_POISSON;
    const struct {
        const char *name, *problems;
        bool given, used;
    } row[] = {
        {"omega", "laplace and poisson", !isnan(options->omega), relaxation},
        {"diffusivity", "heat", !isnan(options->diffusivity), kind == STENCIL_KIND_HEAT},
        {"dt", "heat", !isnan(options->dt), kind == STENCIL_KIND_HEAT},
        {"spacing", "laplace, poisson and heat", options->spacing.count > 0, kind != STENCIL_KIND_NONE},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        CHECK(!row[i].given || row[i].used, USAGE, "--%s is for problem %s: it has no effect on %s%s",
              row[i].name, row[i].problems,
              kind != STENCIL_KIND_NONE  ? stencil_kind_names[kind]
              : spec->stencil[0] != '\0' ? "stencil "
                                         : "given weights",
              kind == STENCIL_KIND_NONE ? spec->stencil : "");
    return STENCIL_OK;
}

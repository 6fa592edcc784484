#include "app/options.h"
#include "app/sides.h"
#include "app/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solver/problem/cycle.h"

#define AT(field) OPTION_AT(stencil_spec, field)

static stencil_status read_sides(const char *text, void *spec) {
    return sides_read(text, spec);
}

static const char *const accelerations[] = {"none", "chebyshev", NULL};

const option problem_option_table[] = {
    {"problem", 0, OPTION_CHOICE, AT(kind), "NAME",
     .help = "weights from the grid spacing; poisson has its source in /f, heat in /q",
     .names = stencil_kind_names},
    {"stencil", 0, OPTION_WORD, AT(stencil), "NAME", .help = "equal weights of sum 1 on a set of points",
     .names = stencil_shape_names},
    {"boundary", 0, OPTION_TEXT, AT(boundary), "A[,B[,C]][,SIDE=WALL]…",
     .help =
         "one for all axes, or one per axis: fixed, periodic or mirror; and walls of single sides, x-=WALL, "
         "or of both of an axis, x=WALL: these, and flux:G (the slope of u along the outward normal is G), "
         "exchange:A:T (it is A times T - u; A = h/k, per length, T of the air), half a cell beyond the "
         "outermost cells, or through them: mirror-node, flux-node, exchange-node. Sides that no entry "
         "names stay as they are where no entry is for all axes",
     .read = read_sides},
    {"spacing", 0, OPTION_REAL, AT(spacing), "H[,H[,H]]",
     .help = "distance of grid points, for all axes or per axis", .most = STENCIL_AXES,
     .count_offset = offsetof(stencil_spec, spacing_count), .positive = true},
    {"omega", 0, OPTION_REAL, AT(omega), "W", .help = "damping of laplace and poisson (1 where not given)",
     .positive = true},
    {"accelerate", 0, OPTION_WORD, AT(accelerate), "HOW",
     .help = "chebyshev: laplace and poisson with a damping that changes from step to step, in cycles of M "
             "(a power of two; chebyshev:M), by default as many as the longest fixed axis has, or more; "
             "none: plain steps",
     .numbered = true, .names = accelerations},
    {"diffusivity", 0, OPTION_REAL, AT(diffusivity), "A[,B[,C]]",
     .help = "of heat, for all axes or per axis (1 where not given)", .most = STENCIL_AXES,
     .count_offset = offsetof(stencil_spec, diffusivity_count), .positive = true},
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
    {"time", 0, OPTION_REAL, AT(time_end), "T",
     .help = "heat: stop at the physical time T; a dt that nobody gives is the largest stable one that "
             "divides it, with a given one the last step is the last that does not lead past T",
     .contradicts = {"steps"}},
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
     .help = "check the residual every K steps (100 where nobody says)", .minimum = 1,
     .maximum = STENCIL_STEPS_MAX},
    {NULL},
};

/* Refuses options that have no effect on the stated problem. */
static stencil_status check_effect(const invocation *call, const stencil_spec *spec) {
    const stencil_kind kind = spec->kind;
    CHECK(kind == STENCIL_KIND_HEAT || !options_given(call, "time"), USAGE,
          "--time is for problem heat: it has no effect on %s",
          kind == STENCIL_KIND_NONE ? "given weights" : stencil_kind_names[kind]);
    for (const option *o = problem_option_table; o->name != NULL; o++) {
        const char *problems = stencil_attribute_effect(o->name, kind);
        CHECK(problems == NULL || !options_given(call, o->name), USAGE,
              "--%s is for problem %s: it has no effect on %s%s", o->name, problems,
              kind != STENCIL_KIND_NONE  ? stencil_kind_names[kind]
              : spec->stencil[0] != '\0' ? "stencil "
                                         : "given weights",
              kind == STENCIL_KIND_NONE ? spec->stencil : "");
    }
    return STENCIL_OK;
}

/* Applies --omega and --accelerate, which exclude each other: options override those of the file. */
static stencil_status apply_damping(const invocation *call, const stencil_spec *file, stencil_spec *spec) {
    const bool omega = options_given(call, "omega"), accelerate = options_given(call, "accelerate");
    int64_t length, file_length;
    if (stencil_accelerate_parse(file->accelerate, &file_length) != STENCIL_OK)
        file_length = 1; /* an invalid value in the file is reported when the problem is resolved */
    const stencil_status status = stencil_accelerate_parse(spec->accelerate, &length);
    if (status != STENCIL_OK)
        return accelerate ? text_around(STENCIL_USAGE, "", "") : STENCIL_OK;
    CHECK(length == 1 || !omega || !accelerate, USAGE,
          "--omega and --accelerate %s contradict each other: give one of them", spec->accelerate);
    if (omega && file_length != 1)
        snprintf(spec->accelerate, sizeof spec->accelerate, "none");
    if (accelerate && length != 1)
        spec->omega = NAN;
    return STENCIL_OK;
}

stencil_status problem_options_apply(const invocation *call, stencil_spec *spec) {
    if (options_given(call, "problem") || options_given(call, "stencil")) {
        spec->kind = STENCIL_KIND_NONE;
        spec->offset_count = spec->weight_count = spec->class_count = 0;
        spec->stencil[0] = '\0';
    }
    const stencil_spec file = *spec;
    TRY(options_apply(call, problem_option_table, spec));
    const bool relaxes = spec->kind == STENCIL_KIND_LAPLACE || spec->kind == STENCIL_KIND_POISSON;
    const bool other = options_given(call, "problem") || options_given(call, "stencil");
    if (!relaxes && other && !options_given(call, "accelerate"))
        spec->accelerate[0] = '\0'; /* belongs to the file's problem, which was replaced */
    TRY(apply_damping(call, &file, spec));
    TRY(options_apply(call, stop_option_table, spec));
    if (options_given(call, "boundary"))
        TRY(sides_check(spec, strcmp(call->command->name, "bench") != 0 &&
                                  strcmp(call->command->name, "plan") != 0));
    if (options_given(call, "time"))
        spec->steps = -1;
    if (options_given(call, "steps"))
        spec->time_end = NAN;
    /* A file's boundaries and spacings suit its rank: a count that does not was given as an option. */
    const bool boundary = spec->boundary_count > 1 && spec->boundary_count != spec->rank;
    const int count = boundary ? spec->boundary_count : spec->spacing_count;
    CHECK(spec->rank == 0 || count <= 1 || count == spec->rank, USAGE,
          "--%s has %d entries, the field %d axes: give one for all of them, or one for each",
          boundary ? "boundary" : "spacing", count, spec->rank);
    CHECK(!options_given(call, "rtol") || isnan(spec->rtol) || spec->rtol < 1, USAGE,
          "--rtol %g: give a number less than 1, the part of the first residual to stop at", spec->rtol);
    return check_effect(call, spec);
}

const option reading_option_table[] = {
    {"read-timeout", 0, OPTION_REAL, OPTION_AT(reading_options, timeout_s), "S[,S]",
     .help = "give a file up whose reading makes no progress for so long: what describes it, its numbers "
             "(5,30 where not given)",
     .most = 2, .count_offset = offsetof(reading_options, timeout_count), .maximum = 1000000,
     .positive = true},
    {"read-memory", 0, OPTION_INTEGER, OPTION_AT(reading_options, memory_mib), "MIB",
     .help = "give a file up whose reading takes more memory, beside four of its chunks (1024 where not "
             "given)",
     .minimum = 16, .maximum = 1 << 30},
    {NULL},
};

stencil_input_options reading_options_of(const reading_options *options, const char *field) {
    const double *s = options->timeout_s;
    stencil_input_options all = {.field = field, .limits = {.memory = options->memory_mib << 20}};
    if (options->timeout_count > 0) {
        all.limits.headers_s = s[0];
        all.limits.cells_s = s[options->timeout_count - 1];
    }
    return all;
}

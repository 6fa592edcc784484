#include "solver/problem/problem.h"

#include <math.h>
#include <string.h>
#include <stdlib.h>

#include "kernels/classes.h"
#include "solver/problem/palette.h"

const char *const stencil_kind_names[] = {"", "laplace", "poisson", "heat", NULL};
const char *const stencil_wall_names[] = {"",     "fixed",     "periodic", "mirror",        "mirror-node",
                                          "flux", "flux-node", "exchange", "exchange-node", NULL};
const char *const stencil_boundary_names[] = {"fixed", "periodic", "mirror", NULL};
const char *const stencil_wall_number_names[] = {"flux", "exchange", "ambient", NULL};
const char *const stencil_norm_names[] = {"l2", "max", NULL};

void stencil_spec_init(stencil_spec *spec) {
    *spec = (stencil_spec){
        .precision = STENCIL_FLOAT64,
        .omega = NAN,
        .k = {.least = NAN, .most = NAN, .diagonal = NAN},
        .dt = NAN,
        .steps = -1,
        .time_end = NAN,
        .rtol = NAN,
        .atol = NAN,
        .norm = STENCIL_NORM_L2,
        .steps_total = -1,
        .residual_first = NAN,
        .time = NAN,
        .time_first = NAN,
        .plain_from = -1,
        .eigenvalue = {NAN, NAN},
    };
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        spec->flux[i / 2][i % 2] = spec->exchange[i / 2][i % 2] = spec->ambient[i / 2][i % 2] = NAN;
}

const char *stencil_spec_field(const stencil_spec *spec) {
    return spec->field[0] != '\0' ? spec->field : "/u";
}

double stencil_spec_spacing(const stencil_spec *spec, int axis) {
    if (spec->spacing_count == 0)
        return 1.0;
    return spec->spacing[spec->spacing_count == 1 ? 0 : stencil_list_index(spec->rank, axis)];
}

double stencil_spec_diagonal(const stencil_spec *spec) {
    double sum = 0.0;
    for (int axis = STENCIL_AXES - spec->rank; axis < STENCIL_AXES; axis++) {
        const double h = stencil_spec_spacing(spec, axis);
        sum += 2.0 / (h * h);
    }
    return sum;
}

double stencil_spec_diffusivity(const stencil_spec *spec, int axis) {
    if (spec->diffusivity_count == 0)
        return 1.0;
    return spec->diffusivity[spec->diffusivity_count == 1 ? 0 : stencil_list_index(spec->rank, axis)];
}

double stencil_spec_exchange_most(const stencil_spec *spec, int axis, int side) {
    return spec->along[axis][side][STENCIL_NUMBER_EXCHANGE]
               ? spec->range[axis][side][STENCIL_NUMBER_EXCHANGE][1]
               : spec->exchange[axis][side];
}

double stencil_spec_dt_largest(const stencil_spec *spec) {
    /* Gershgorin's disc of a cell reaches 4/h^2 along an axis, and farther in a wall that exchanges. */
    const bool one = spec->diffusivity_count <= 1; /* factored out, as in versions that knew no others */
    double more = 0.0, sum = 0.0;
    if (spec->has_k)
        return 1.0 / spec->k.diagonal;
    for (int axis = STENCIL_AXES - spec->rank; axis < STENCIL_AXES; axis++) {
        double most = 0.0;
        for (int s = 0; s < 2; s++)
            if (spec->wall[axis][s] == STENCIL_WALL_EXCHANGE_NODE)
                most = fmax(most, stencil_spec_exchange_most(spec, axis, s));
        const double h = stencil_spec_spacing(spec, axis), wall = most > 0.0 ? most / h : 0.0;
        more += wall;
        sum += stencil_spec_diffusivity(spec, axis) * (2.0 / (h * h) + wall);
    }
    return 1.0 /
           (one ? stencil_spec_diffusivity(spec, STENCIL_X) * (stencil_spec_diagonal(spec) + more) : sum);
}

stencil_mesh stencil_problem_mesh(const stencil_problem *problem, int depth) {
    stencil_mesh mesh = {.rank = problem->rank, .precision = problem->precision, .shape = problem->shape};
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const bool fixed = problem->boundary[axis] == STENCIL_FIXED;
        mesh.n[axis] = problem->n[axis];
        mesh.boundary[axis] = problem->boundary[axis];
        mesh.ghosts[axis] = axis < STENCIL_AXES - problem->rank ? 0 : depth * problem->shape->radius;
        /* Copies of mirrored cells are made anew for every step: updates of copies would add terms in reverse
         * order. */
        mesh.wraps[axis] =
            (problem->boundary[axis] == STENCIL_PERIODIC ? depth : !fixed) * problem->radius[axis];
        mesh.edges[axis] = fixed ? problem->radius[axis] : 0;
    }
    return mesh;
}

double stencil_problem_time(const stencil_problem *problem, int64_t steps) {
    return problem->spec.kind == STENCIL_KIND_HEAT
               ? problem->origin.time_first + (double)steps * problem->spec.dt
               : NAN;
}

bool stencil_problem_relaxes(const stencil_problem *problem) {
    return problem->spec.kind == STENCIL_KIND_LAPLACE || problem->spec.kind == STENCIL_KIND_POISSON;
}

void stencil_problem_destroy(stencil_problem *problem) {
    if (problem == NULL)
        return;
    stencil_history_destroy(&problem->origin.history);
    stencil_palette_destroy(problem);
}

bool stencil_problem_has_source(const stencil_problem *problem) {
    return problem->spec.source != STENCIL_SOURCE_NONE || problem->walls_in_source;
}

int stencil_problem_sources(const stencil_problem *problem) {
    const int count = problem->spec.source_count;
    return !stencil_problem_has_source(problem) ? 0 : count > 1 ? count : 1;
}

int stencil_problem_sum_arrays(const stencil_problem *problem) {
    const int sources = stencil_problem_sources(problem), driven = problem->spec.driven_count;
    return sources > driven ? sources : driven;
}

bool stencil_problem_has_fields(const stencil_problem *problem) {
    return problem->coefficients == STENCIL_COEFFICIENTS_FIELDS;
}

int stencil_problem_arrays(const stencil_problem *problem) {
    return 2 + stencil_problem_sum_arrays(problem) +
           (stencil_problem_has_fields(problem) ? problem->rank : 0);
}

bool stencil_problem_has_wide_rows(const stencil_problem *problem) {
    return problem->byte_of_row != NULL;
}

const double *stencil_problem_row(const stencil_problem *problem, int number) {
    return problem->palette + (ptrdiff_t)(number - 1) * STENCIL_WEIGHTS;
}

int stencil_problem_row_number(const stencil_problem *problem, uint8_t class_of, uint16_t row) {
    if (class_of == STENCIL_CLASS_WIDE)
        return row;
    if (!stencil_class_has_row(class_of))
        return 0;
    return problem->row_of_byte != NULL ? problem->row_of_byte[class_of] : class_of;
}

bool stencil_problem_has_classes(const stencil_problem *problem) {
    return problem->kept > 0 || problem->varied > 0;
}

bool stencil_problem_wall_is_own(const stencil_problem *problem, int axis, int side) {
    static const stencil_wall_kind same[STENCIL_BOUNDARY_COUNT] = {[STENCIL_FIXED] = STENCIL_WALL_FIXED,
                                                                   [STENCIL_PERIODIC] = STENCIL_WALL_PERIODIC,
                                                                   [STENCIL_MIRROR] = STENCIL_WALL_MIRROR};
    return problem->wall[axis][side] != same[problem->boundary[axis]];
}

bool stencil_problem_is_half_fixed(const stencil_problem *problem, int axis) {
    const stencil_wall_kind low = problem->wall[axis][0], high = problem->wall[axis][1];
    return (low == STENCIL_WALL_FIXED && high == STENCIL_WALL_MIRROR) ||
           (low == STENCIL_WALL_MIRROR && high == STENCIL_WALL_FIXED);
}

bool stencil_problem_is_separable(const stencil_problem *problem) {
    bool all = !problem->spec.insulated;
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        all = all && (!stencil_problem_wall_is_own(problem, i / 2, i % 2) ||
                      stencil_problem_is_half_fixed(problem, i / 2));
    return all;
}

bool stencil_problem_derives_classes(const stencil_problem *problem) {
    bool any = problem->spec.insulated || problem->coefficients == STENCIL_COEFFICIENTS_ROWS;
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        any = any || stencil_problem_wall_is_own(problem, i / 2, i % 2);
    return any || problem->spec.driven_count > 0;
}

bool stencil_spec_has_arrays(const stencil_spec *spec) {
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        for (int k = 0; k < STENCIL_NUMBER_COUNT; k++)
            if (spec->along[i / 2][i % 2][k])
                return true;
    return false;
}

uint64_t stencil_spec_along_hash(const stencil_spec *spec) {
    uint64_t all = 0;
    for (int i = 0; i < 2 * STENCIL_AXES; i++)
        for (int k = 0; k < STENCIL_NUMBER_COUNT; k++)
            if (spec->along[i / 2][i % 2][k])
                all = (all ^ spec->along_hash[i / 2][i % 2][k]) * UINT64_C(0x100000001b3) +
                      (uint64_t)(6 * (i / 2) + 3 * (i % 2) + k);
    return all;
}

const char *stencil_spec_classes(const stencil_spec *spec) {
    if (spec->has_k)
        return spec->insulated ? "/k, /fixed or /insulated" : spec->fixed ? "/k or /fixed" : "/k";
    if (spec->insulated)
        return !spec->classed && !spec->fixed ? "/insulated" : "/class, /fixed or /insulated";
    return !spec->classed ? "/fixed" : spec->fixed ? "/class or /fixed" : "/class";
}

const char *stencil_spec_keepers(const stencil_spec *spec) {
    return spec->insulated
               ? (spec->fixed ? "/fixed, /insulated and the boundary" : "/insulated and the boundary")
               : "/fixed and the boundary";
}

int64_t stencil_problem_cells(const stencil_problem *problem) {
    return problem->n[0] * problem->n[1] * problem->n[2];
}

int64_t stencil_problem_updated_cells(const stencil_problem *problem) {
    return stencil_problem_cells(problem) - problem->kept;
}

bool stencil_stop_has_criterion(const stencil_stop *stop) {
    return !isnan(stop->rtol) || !isnan(stop->atol);
}

const char *stencil_attribute_effect(const char *name, stencil_kind kind) {
    enum { HEAT = 1 << STENCIL_KIND_HEAT, RELAXED = 1 << STENCIL_KIND_LAPLACE | 1 << STENCIL_KIND_POISSON };
    static const struct {
        const char *name, *problems;
        int kinds;
    } row[] = {
        {"omega", "laplace and poisson", RELAXED},
        {"accelerate", "laplace and poisson", RELAXED},
        {"diffusivity", "heat", HEAT},
        {"dt", "heat", HEAT},
        {"time_end", "heat", HEAT},
        {"spacing", "laplace, poisson and heat", RELAXED | HEAT},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        if (strcmp(row[i].name, name) == 0 && (row[i].kinds & 1 << kind) == 0)
            return row[i].problems;
    return NULL;
}

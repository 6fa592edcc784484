#include "solver/problem/spectrum.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

double stencil_neighbour_weight(const stencil_problem *problem, int axis) {
    const double h = stencil_spec_spacing(&problem->spec, axis);
    return 1.0 / (h * h) / stencil_spec_diagonal(&problem->spec);
}

/* 2 - 2 cos theta of the k-th mode of an axis. */
static double axis_eigenvalue(const stencil_problem *problem, int axis, double k) {
    const double n = (double)problem->n[axis], updated = n - (double)problem->radius[axis];
    const double half = stencil_problem_is_half_fixed(problem, axis)
                            ? pi * (2.0 * k - 1.0) / (2.0 * (2.0 * updated + 1.0))
                        : problem->boundary[axis] == STENCIL_FIXED    ? pi * k / (2.0 * (n + 1.0))
                        : problem->boundary[axis] == STENCIL_PERIODIC ? pi * k / n
                                                                      : pi * k / (2.0 * n);
    return 4.0 * sin(half) * sin(half);
}

stencil_spectrum stencil_spectrum_of(const stencil_problem *problem) {
    if (problem->coefficients != STENCIL_COEFFICIENTS_NONE) /* Gershgorin's discs */
        return (stencil_spectrum){.least = 0.0, .most = 2.0};
    return stencil_spectrum_of_plain(problem);
}

stencil_spectrum stencil_spectrum_of_plain(const stencil_problem *problem) {
    stencil_spectrum s = {.up_to_constant = true};
    double first = INFINITY;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++) {
        const bool half = stencil_problem_is_half_fixed(problem, axis),
                   fixed = problem->boundary[axis] == STENCIL_FIXED || half;
        const int64_t n = problem->n[axis] - (half ? problem->radius[axis] : 0);
        const double last = fixed                                         ? (double)n
                            : problem->boundary[axis] == STENCIL_PERIODIC ? (double)(n / 2)
                                                                          : (double)(n - 1);
        const double weight = stencil_neighbour_weight(problem, axis),
                     least = weight * axis_eigenvalue(problem, axis, 1.0);
        s.most += weight * axis_eigenvalue(problem, axis, last);
        s.least += fixed ? least : 0.0;
        s.up_to_constant = s.up_to_constant && !fixed;
        first = least < first ? least : first;
    }
    if (problem->estimate.known)
        return (stencil_spectrum){.least = problem->estimate.least, .most = problem->estimate.most};
    if (!stencil_problem_is_separable(problem)) /* Gershgorin's discs: half of a row is the cell's own */
        return (stencil_spectrum){.least = 0.0, .most = 2.0};
    s.up_to_constant = s.up_to_constant && problem->kept == 0;
    if (s.up_to_constant)
        s.least = first;
    return s;
}

double stencil_spectrum_bound(const stencil_problem *problem) {
    const stencil_spec *spec = &problem->spec;
    double sum = 0.0, largest = 0.0;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++) {
        double rate = 0.0;
        for (int side = 0; side < 2; side++)
            if (problem->wall[axis][side] == STENCIL_WALL_EXCHANGE_NODE)
                rate = fmax(rate, stencil_spec_exchange_most(spec, axis, side));
        rate *= stencil_spec_spacing(spec, axis);
        sum += 2.0 * stencil_neighbour_weight(problem, axis) * rate;
        largest = fmax(largest, rate);
    }
    /* With /k both faces of an axis are alike in such a wall, and may be nearly all of the sum of the faces.
     */
    return 2.0 + (problem->coefficients != STENCIL_COEFFICIENTS_NONE ? largest : sum);
}

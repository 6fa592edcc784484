#include "solver/problem/cycle.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/problem/spectrum.h"

static const char chebyshev[] = "chebyshev";

stencil_status stencil_accelerate_parse(const char *text, int64_t *length) {
    const size_t named = sizeof chebyshev - 1;
    const char *number = text + named + 1;
    char *end = NULL;
    *length = 1;
    if (text[0] == '\0' || strcmp(text, "none") == 0)
        return STENCIL_OK;
    *length = 0;
    if (strcmp(text, chebyshev) == 0)
        return STENCIL_OK;
    CHECK(strncmp(text, chebyshev, named) == 0 && text[named] == ':' && number[0] >= '0' && number[0] <= '9',
          BAD_DATA, "accelerate is '%s': it is none, chebyshev or chebyshev:M, such as chebyshev:128", text);
    errno = 0;
    const long long steps = strtoll(number, &end, 10);
    CHECK(errno == 0 && *end == '\0' && steps >= 2 && steps <= STENCIL_CYCLE_MOST &&
              (steps & (steps - 1)) == 0,
          BAD_DATA, "accelerate is '%s': M is a power of two from 2 to %d", text, STENCIL_CYCLE_MOST);
    *length = steps;
    return STENCIL_OK;
}

/* The default length of a cycle: the least power of two >= the cells of the longest (fixed) axis; an axis
 * that is fixed on one side alone has waves twice as long. */
static int64_t suitable_length(const stencil_problem *problem, bool fixed) {
    int64_t longest = 2, length = 2;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++) {
        const bool half = stencil_problem_is_half_fixed(problem, axis);
        const int64_t n = half ? 2 * (problem->n[axis] - problem->radius[axis]) : problem->n[axis];
        if (!fixed || half || problem->boundary[axis] == STENCIL_FIXED)
            longest = n > longest ? n : longest;
    }
    while (length < longest && length < STENCIL_CYCLE_MOST)
        length *= 2;
    return length;
}

/* Rounds x to 24 bits in the direction of the sign of `way`: sines differ between two C libraries. */
static double outwards(double x, double way) {
    const float near = (float)x;
    return (way < 0 ? near > x : near < x) ? nextafterf(near, (float)(way * INFINITY)) : near;
}

stencil_status stencil_cycle_resolve(stencil_problem *problem) {
    stencil_spec *spec = &problem->spec;
    int64_t length;
    TRY(stencil_accelerate_parse(spec->accelerate, &length));
    problem->cycle = (stencil_cycle){.length = 1};
    if (length == 1)
        return STENCIL_OK;
    CHECK(stencil_problem_relaxes(problem), BAD_DATA,
          "accelerate is '%s': it is for problem laplace and poisson, whose eigenvalues are known",
          spec->accelerate);
    CHECK(spec->omega == 1.0, BAD_DATA,
          "omega is %g and accelerate '%s', which damps by itself: give one of the two", spec->omega,
          spec->accelerate);
    CHECK(stencil_problem_is_separable(problem), BAD_DATA,
          "accelerate is '%s': beside %s cells have weights of their own, the same in all steps; give none",
          spec->accelerate, spec->insulated ? "/insulated" : "sides of their own (boundary_x- and the like)");
    const stencil_spectrum spectrum = stencil_spectrum_of_plain(problem);
    const bool estimated = spec->fixed && spectrum.up_to_constant;
    CHECK(
        problem->coefficients == STENCIL_COEFFICIENTS_NONE || !spectrum.up_to_constant, BAD_DATA,
        "accelerate is '%s': beside /k it needs a fixed axis, or nobody knows the least eigenvalue; fix one, "
        "or give none",
        spec->accelerate);
    if (length == 0)
        length = stencil_smaller((estimated ? 2 : 1) * suitable_length(problem, !spectrum.up_to_constant),
                                 STENCIL_CYCLE_MOST);
    problem->cycle = (stencil_cycle){.length = (int)length,
                                     .least = estimated ? 0.0 : outwards(spectrum.least, -1.0),
                                     .most = outwards(spectrum.most, 1.0)};
    /* Rayleigh's quotients of -div k grad u over the sums of faces: at least k.least, at most k.most of both;
     * Gershgorin's discs end at 2. */
    if (problem->coefficients != STENCIL_COEFFICIENTS_NONE && !isnan(spec->k.most)) {
        problem->cycle.least = outwards(spectrum.least * (spec->k.least / spec->k.most), -1.0);
        problem->cycle.most = 2.0;
    }
    snprintf(spec->accelerate, sizeof spec->accelerate, "%s:%d", chebyshev, problem->cycle.length);
    return STENCIL_OK;
}

stencil_status stencil_cycle_take_estimate(stencil_problem *problem) {
    stencil_cycle *cycle = &problem->cycle;
    const stencil_estimate *estimate = &problem->estimate;
    if (!stencil_cycle_accelerates(cycle) || cycle->least > 0)
        return STENCIL_OK;
    CHECK(estimate->known, BAD_DATA,
          "accelerate is '%s', but the least eigenvalue is not known: %d steps of Lanczos' method have not "
          "found "
          "it; fix an axis, or give none",
          problem->spec.accelerate, estimate->steps);
    cycle->least = outwards(estimate->least, -1.0);
    problem->spec.eigenvalue[0] = cycle->least;
    problem->spec.eigenvalue[1] = cycle->most;
    return STENCIL_OK;
}

/* Returns (1 - cos) / 2 of the angle (2 i - 1) pi / 2 M of the root i in the step at `place` of a cycle. The
 * bits of the place, the highest first, say at each doubling of the order whether the step is the first of a
 * pair, at half the angle, or the second, at pi less that. Square roots are the same on every machine. */
static double half_wave(int length, int64_t place) {
    double part = 0.5;
    for (int bit = length / 2; bit > 0; bit /= 2) {
        part = part / (2.0 * (1.0 + sqrt(1.0 - part)));
        part = (place & bit) != 0 ? 1.0 - part : part;
    }
    return part;
}

/* Returns 1 / omega of the step at `place` of a cycle, which lies between the eigenvalues. */
static double root_of(const stencil_cycle *cycle, int64_t place) {
    return cycle->least + (cycle->most - cycle->least) * half_wave(cycle->length, place);
}

bool stencil_cycle_accelerates(const stencil_cycle *cycle) {
    return cycle->length > 1 && cycle->given == NULL;
}

double stencil_cycle_omega(const stencil_problem *problem, int64_t step) {
    const stencil_cycle *cycle = &problem->cycle;
    return stencil_cycle_accelerates(cycle) ? 1.0 / root_of(cycle, step % cycle->length) : 1.0;
}

/* A step makes u + omega (J u + b - u): its weights are omega times J, and 1 - omega in the centre. */
stencil_step_weights stencil_cycle_step(const stencil_problem *problem, int64_t step) {
    if (problem->cycle.given != NULL)
        return problem->cycle.given[step % problem->cycle.length];
    const double omega = stencil_cycle_omega(problem, step);
    stencil_step_weights weights = {.source_factor = omega};
    memcpy(weights.weight, problem->weight, sizeof weights.weight);
    if (!stencil_cycle_accelerates(&problem->cycle))
        return weights;
    for (int k = 0; k < problem->shape->point_count; k++)
        weights.weight[k] = omega * problem->weight[k];
    weights.weight[problem->shape->point_count / 2] =
        1.0 - omega; /* the centre is in the middle of ascending points */
    return weights;
}

int64_t stencil_cycle_end(const stencil_problem *problem, int64_t step) {
    const int64_t length = stencil_cycle_accelerates(&problem->cycle) ? problem->cycle.length : 1;
    const int64_t over = step % length;
    return over == 0 ? step : step > INT64_MAX - length ? INT64_MAX : step - over + length;
}

double stencil_cycle_contraction(const stencil_problem *problem) {
    const stencil_cycle *cycle = &problem->cycle;
    const double a = cycle->least, b = cycle->most;
    return stencil_cycle_accelerates(cycle) && a > 0 ? 1.0 / cosh(cycle->length * acosh((b + a) / (b - a)))
                                                     : NAN;
}

/* |T_M(x)| is M / sin(angle) |x - root| near the root at that angle, and hardly more elsewhere (for M = 2 to
 * 4096 by 0.84 / M^2 of it at most), and 1 - omega lambda is (root - x) (b - a) / 2 omega. */
double stencil_cycle_excess(const stencil_problem *problem) {
    const stencil_cycle *cycle = &problem->cycle;
    if (!stencil_cycle_accelerates(cycle))
        return NAN;
    const int64_t last = cycle->length - 1;
    const double m = cycle->length, part = half_wave(cycle->length, last),
                 slope = (m + 0.84 / m) / (2.0 * sqrt(part * (1.0 - part)));
    return slope * 2.0 * root_of(cycle, last) / (cycle->most - cycle->least);
}

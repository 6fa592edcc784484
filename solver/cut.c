#include "solver/cut.h"

enum { SECTOR_BYTES = 32 };

static int64_t units_along(const stencil_problem *problem, int axis) {
    return axis == STENCIL_X ? (problem->n[axis] + STENCIL_CHUNK_CELLS - 1) / STENCIL_CHUNK_CELLS
                             : problem->n[axis];
}

/* Shares of an axis in whole units: cells, or chunks along x. */
static void share_axis(stencil_cut *cut, const stencil_problem *problem, int axis, int count) {
    const int64_t units = units_along(problem, axis), unit = axis == STENCIL_X ? STENCIL_CHUNK_CELLS : 1;
    cut->count[axis] = count;
    for (int k = 0; k < count; k++)
        cut->first[axis][k] = unit * (units / count * k + (k < units % count ? k : units % count));
    for (int k = 0; k < count; k++) /* more parts than units: the last ones are empty */
        cut->first[axis][k] = cut->first[axis][k] < problem->n[axis] ? cut->first[axis][k] : problem->n[axis];
    cut->first[axis][count] = problem->n[axis];
}

static int64_t thinnest(const stencil_cut *cut, int axis) {
    int64_t least = INT64_MAX;
    for (int k = 0; k < cut->count[axis]; k++) {
        const int64_t cells = cut->first[axis][k + 1] - cut->first[axis][k];
        least = cells < least ? cells : least;
    }
    return least;
}

/* Whether every part is as thick as the points reach, so that a rim shows cells of one part only. */
static bool fits(const stencil_cut *cut, const stencil_problem *problem) {
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        if (cut->count[axis] > 1 && thinnest(cut, axis) < problem->shape->radius)
            return false;
    return true;
}

/* Bytes that cross between parts in a step, one way. */
static double bytes_across(const stencil_cut *cut, const stencil_problem *problem) {
    const double cell = (double)stencil_precision_bytes(problem->precision);
    double bytes = 0;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int cuts =
            cut->count[axis] - (problem->boundary[axis] == STENCIL_PERIODIC && cut->count[axis] > 1 ? 0 : 1);
        double face = axis == STENCIL_X ? SECTOR_BYTES : cell * (double)problem->shape->radius;
        for (int other = 0; other < STENCIL_AXES; other++)
            face *= other != axis ? (double)problem->n[other] : 1.0;
        bytes += cuts * face;
    }
    return bytes;
}

static void cut_into(stencil_cut *cut, const stencil_problem *problem, const int count[3]) {
    cut->parts = count[0] * count[1] * count[2];
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        share_axis(cut, problem, axis, count[axis]);
}

/* The best cut along one axis or two; false: none fits. Slower axes come first, and stay where it is no
 * better. */
static bool choose(stencil_cut *cut, const stencil_problem *problem, int parts) {
    bool found = false;
    for (int z = parts; z >= 1; z--)
        for (int y = parts; y >= 1; y--) {
            if (parts % (z * y) != 0 || (problem->rank == 2 && z > 1))
                continue;
            const int count[3] = {z, y, parts / z / y};
            stencil_cut other;
            cut_into(&other, problem, count);
            if ((z > 1) + (y > 1) + (count[STENCIL_X] > 1) > 2 || !fits(&other, problem))
                continue;
            if (found && bytes_across(&other, problem) >= bytes_across(cut, problem))
                continue;
            *cut = other;
            found = true;
        }
    return found;
}

stencil_status stencil_cut_make(stencil_cut *cut, const stencil_problem *problem, int parts,
                                const int asked[3]) {
    static const char axis_name[] = "zyx";
    CHECK(parts >= 1 && parts <= STENCIL_PARTS_MAX, USAGE, "the field can be cut into 1 to %d parts, not %d",
          STENCIL_PARTS_MAX, parts);
    if (asked[0] == 0) {
        CHECK(choose(cut, problem, parts), USAGE,
              "the field cannot be cut into %d parts as thick as %s reaches (%d cells): use fewer", parts,
              problem->shape->name, problem->shape->radius);
        return STENCIL_OK;
    }
    CHECK(asked[0] * asked[1] * asked[2] == parts, USAGE,
          "--cut makes %d parts, and there are %d: give --gpus or --parts as many",
          asked[0] * asked[1] * asked[2], parts);
    cut_into(cut, problem, asked);
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        CHECK(cut->count[axis] == 1 || thinnest(cut, axis) >= problem->shape->radius, USAGE,
              "--cut makes a part of %lld cells along %c%s, less than %s reaches (%d): use fewer parts",
              (long long)thinnest(cut, axis), axis_name[axis],
              axis == STENCIL_X ? " (in multiples of 64)" : "", problem->shape->name, problem->shape->radius);
    return STENCIL_OK;
}

void stencil_cut_place(const stencil_cut *cut, int part, int place[3]) {
    place[STENCIL_X] = part % cut->count[STENCIL_X];
    place[STENCIL_Y] = part / cut->count[STENCIL_X] % cut->count[STENCIL_Y];
    place[STENCIL_Z] = part / cut->count[STENCIL_X] / cut->count[STENCIL_Y];
}

int stencil_cut_number(const stencil_cut *cut, const int place[3]) {
    return (place[STENCIL_Z] * cut->count[STENCIL_Y] + place[STENCIL_Y]) * cut->count[STENCIL_X] +
           place[STENCIL_X];
}

void stencil_cut_box(const stencil_cut *cut, int part, int64_t first[3], int64_t n[3]) {
    int place[3];
    stencil_cut_place(cut, part, place);
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        first[axis] = cut->first[axis][place[axis]];
        n[axis] = cut->first[axis][place[axis] + 1] - first[axis];
    }
}

int stencil_cut_beyond(const stencil_cut *cut, const stencil_problem *problem, int part,
                       const int direction[3]) {
    int place[3];
    stencil_cut_place(cut, part, place);
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int to = place[axis] + direction[axis];
        if (to >= 0 && to < cut->count[axis])
            place[axis] = to;
        else if (problem->boundary[axis] == STENCIL_PERIODIC)
            place[axis] = to < 0 ? cut->count[axis] - 1 : 0;
        else if (problem->boundary[axis] == STENCIL_FIXED)
            return -1;
    }
    return stencil_cut_number(cut, place);
}

stencil_status stencil_cut_layout(stencil_layout *layout, const stencil_cut *cut,
                                  const stencil_problem *problem) {
    int64_t most[3] = {0};
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        for (int k = 0; k < cut->count[axis]; k++) {
            const int64_t cells = cut->first[axis][k + 1] - cut->first[axis][k];
            most[axis] = cells > most[axis] ? cells : most[axis];
        }
    return stencil_layout_init(layout, problem->precision, most, problem->layout.rim);
}

bool stencil_cut_is_slabs(const stencil_cut *cut, const stencil_problem *problem) {
    return cut->count[STENCIL_X] == 1 && (problem->rank == 2 || cut->count[STENCIL_Y] == 1);
}

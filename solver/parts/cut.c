#include "solver/parts/cut.h"

#include "kernels/residual.h"

enum { SECTOR_BYTES = 32 };

/* Units that an axis is shared out in: cells, or along x partial sums of 64 cells. */
static int64_t unit_of(int axis) {
    return axis == STENCIL_X ? STENCIL_PARTIAL_CELLS : 1;
}
static int64_t units_of(const stencil_cut *cut, int axis) {
    return (cut->mesh.n[axis] + unit_of(axis) - 1) / unit_of(axis);
}

int64_t stencil_cut_first(const stencil_cut *cut, int axis, int k) {
    /* more parts than units: the last ones are empty */
    return stencil_smaller(unit_of(axis) * stencil_share(units_of(cut, axis), cut->count[axis], k),
                           cut->mesh.n[axis]);
}

int stencil_cut_place(const stencil_cut *cut, int axis, int64_t i) {
    const int64_t units = units_of(cut, axis), each = units / cut->count[axis],
                  more = units % cut->count[axis], unit = i / unit_of(axis);
    return (int)(unit < (each + 1) * more ? unit / (each + 1) : more + (unit - (each + 1) * more) / each);
}

/* Cells of the last part along an axis, the thinnest one. */
static int64_t thinnest(const stencil_cut *cut, int axis) {
    return cut->mesh.n[axis] - stencil_cut_first(cut, axis, cut->count[axis] - 1);
}

/* The first axis along which some part is thinner than its ghost cells are deep, so that it would need ghost
 * cells beyond its neighbours; STENCIL_AXES: none. */
static int misfit(const stencil_cut *cut) {
    int axis = 0;
    while (axis < STENCIL_AXES && (cut->count[axis] == 1 || thinnest(cut, axis) >= cut->mesh.ghosts[axis]))
        axis++;
    return axis;
}

/* Bytes of ghost cells that cross between parts in a step, in one direction. */
static double bytes_across(const stencil_cut *cut) {
    const stencil_mesh *mesh = &cut->mesh;
    const double cell = (double)stencil_precision_bytes(mesh->precision);
    double bytes = 0;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int cuts =
            cut->count[axis] - (mesh->boundary[axis] == STENCIL_PERIODIC && cut->count[axis] > 1 ? 0 : 1);
        double face = axis == STENCIL_X ? SECTOR_BYTES : cell * (double)mesh->shape->radius;
        for (int other = 0; other < STENCIL_AXES; other++)
            face *= other != axis ? (double)mesh->n[other] : 1.0;
        bytes += cuts * face;
    }
    return bytes;
}

/* Cuts each axis into equal shares of whole units. */
static void cut_into(stencil_cut *cut, const stencil_mesh *mesh, const int count[3]) {
    *cut = (stencil_cut){
        .mesh = *mesh, .parts = count[0] * count[1] * count[2], .count = {count[0], count[1], count[2]}};
    cut->owned = cut->parts;
}

/* Finds the cut along one or two axes with the least traffic, preferably slow axes; false: no cut fits. */
static bool choose(stencil_cut *cut, const stencil_mesh *mesh, int parts) {
    bool found = false;
    for (int z = parts; z >= 1; z--)
        for (int y = parts % z == 0 ? parts / z : 0; y >= 1; y--) {
            if (parts / z % y != 0 || (mesh->rank == 2 && z > 1))
                continue;
            const int count[3] = {z, y, parts / z / y};
            stencil_cut other;
            cut_into(&other, mesh, count);
            if ((z > 1) + (y > 1) + (count[STENCIL_X] > 1) > 2 || misfit(&other) < STENCIL_AXES)
                continue;
            if (found && bytes_across(&other) >= bytes_across(cut))
                continue;
            *cut = other;
            found = true;
        }
    return found;
}

stencil_status stencil_cut_make(stencil_cut *cut, const stencil_mesh *mesh, int parts, const int asked[3]) {
    static const char axis_name[] = "zyx";
    const char *name = mesh->shape->name;
    CHECK(parts >= 1 && parts <= STENCIL_CUT_PARTS_MAX, USAGE,
          "the field can be cut into 1 to %d parts, not %d", STENCIL_CUT_PARTS_MAX, parts);
    const bool free = asked[0] == 0;
    CHECK(!free || choose(cut, mesh, parts), USAGE,
          "the field cannot be cut into %d parts as thick as %s reaches (%lld cell%s): use fewer", parts,
          name, (long long)mesh->ghosts[STENCIL_X], mesh->ghosts[STENCIL_X] == 1 ? "" : "s");
    const int64_t made = (int64_t)asked[0] * asked[1] * asked[2];
    CHECK(free || made == parts, USAGE,
          "--cut makes %lld parts, and there are %d: give --gpus or --parts as many", (long long)made, parts);
    if (!free)
        cut_into(cut, mesh, asked);
    const int axis = misfit(cut);
    CHECK(axis == STENCIL_AXES, USAGE,
          "the cut makes a part of %lld cells along %c%s, less than %s reaches (%lld): use fewer parts",
          (long long)thinnest(cut, axis), axis_name[axis], axis == STENCIL_X ? " (in multiples of 64)" : "",
          name, (long long)mesh->ghosts[axis]);
    return stencil_layout_init(&cut->layout, mesh->precision, stencil_cut_box(cut, 0).n, mesh->ghosts);
}

stencil_box stencil_cut_box(const stencil_cut *cut, int part) {
    stencil_box box;
    for (int axis = STENCIL_X; axis >= STENCIL_Z; part /= cut->count[axis--]) {
        const int k = part % cut->count[axis];
        box.first[axis] = stencil_cut_first(cut, axis, k);
        box.n[axis] = stencil_cut_first(cut, axis, k + 1) - box.first[axis];
    }
    return box;
}

stencil_box stencil_mesh_array(const stencil_mesh *mesh) {
    const stencil_box updated = {.n = {mesh->n[0], mesh->n[1], mesh->n[2]}};
    return stencil_box_grow(&updated, mesh->edges);
}

bool stencil_mesh_has_room(const stencil_mesh *mesh) {
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        if (mesh->boundary[axis] == STENCIL_PERIODIC &&
            (mesh->wraps[axis] != mesh->ghosts[axis] || mesh->wraps[axis] > mesh->n[axis]))
            return false;
    return true;
}

stencil_box stencil_cut_cells(const stencil_cut *cut, int part) {
    const stencil_mesh *mesh = &cut->mesh;
    stencil_box box = stencil_cut_box(cut, part);
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const bool low = box.first[axis] == 0, high = box.first[axis] + box.n[axis] == mesh->n[axis];
        box.first[axis] -= low ? mesh->edges[axis] : 0;
        box.n[axis] += (low + high) * mesh->edges[axis];
    }
    return box;
}

stencil_box stencil_cut_window(const stencil_cut *cut, int part) {
    const stencil_box box = stencil_cut_box(cut, part), array = stencil_mesh_array(&cut->mesh);
    const stencil_box around = stencil_box_grow(&box, cut->mesh.ghosts),
                      shown = stencil_box_grow(&array, cut->mesh.wraps);
    return stencil_box_common(&around, &shown);
}

/* Fills in a piece along an axis: its cells appear from piece->at on, before `end`, and are contiguous in one
 * part. Returns the part's position along the axis; -1: no part has such cells. */
static int find_run(const stencil_cut *cut, int axis, int64_t end, stencil_piece *piece) {
    const int64_t n = cut->mesh.n[axis], at = piece->at[axis];
    const stencil_boundary boundary = cut->mesh.wraps[axis] > 0 ? cut->mesh.boundary[axis] : STENCIL_FIXED;
    const int64_t image = stencil_boundary_image(at, n, boundary);
    const bool mirrored = boundary == STENCIL_MIRROR && (image - at) % (2 * n) != 0;
    if (image < 0 || image >= n) {
        piece->box.n[axis] = image < 0 && end > 0 ? -at : end - at;
        return -1;
    }
    const int place = stencil_cut_place(cut, axis, image);
    const int64_t first = stencil_cut_first(cut, axis, place),
                  most = mirrored ? image - first + 1 : stencil_cut_first(cut, axis, place + 1) - image;
    const int64_t count = most < end - at ? most : end - at;
    piece->box.first[axis] = image - first - (mirrored ? count - 1 : 0);
    piece->box.n[axis] = count;
    piece->mirrored[axis] = mirrored;
    return place;
}

/* Number of the part at a position in the grid of parts; -1: no part, since an axis has position -1. */
static int part_at(const stencil_cut *cut, const int place[3]) {
    if (place[0] < 0 || place[1] < 0 || place[2] < 0)
        return -1;
    return (place[STENCIL_Z] * cut->count[STENCIL_Y] + place[STENCIL_Y]) * cut->count[STENCIL_X] +
           place[STENCIL_X];
}

int stencil_cut_beyond(const stencil_cut *cut, int part, const int direction[3]) {
    const stencil_box own = stencil_cut_box(cut, part);
    stencil_piece piece;
    int place[3];
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        piece.at[axis] = own.first[axis] + (direction[axis] > 0 ? own.n[axis] : direction[axis]);
        place[axis] = find_run(cut, axis, piece.at[axis] + 1, &piece);
    }
    return part_at(cut, place);
}

stencil_side stencil_cut_side(const stencil_cut *cut, int part, int axis, int side) {
    const stencil_box own = stencil_cut_box(cut, part);
    int direction[3] = {0, 0, 0};
    direction[axis] = side == 0 ? -1 : 1;
    const int64_t before = side == 0 ? own.first[axis] : cut->mesh.n[axis] - own.first[axis] - own.n[axis];
    const int64_t most = before + cut->mesh.wraps[axis], ghosts = cut->mesh.ghosts[axis];
    return (stencil_side){stencil_cut_beyond(cut, part, direction), ghosts < most ? ghosts : most};
}

void stencil_cut_split(const stencil_cut *cut, const stencil_box *box, stencil_cut_visitor *visit,
                       void *context) {
    stencil_piece p;
    int64_t end[3];
    int place[3];
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        end[axis] = box->first[axis] + box->n[axis];
    for (p.at[0] = box->first[0]; p.at[0] < end[0]; p.at[0] += p.box.n[0]) {
        place[0] = find_run(cut, 0, end[0], &p);
        for (p.at[1] = box->first[1]; p.at[1] < end[1]; p.at[1] += p.box.n[1]) {
            place[1] = find_run(cut, 1, end[1], &p);
            for (p.at[2] = box->first[2]; p.at[2] < end[2]; p.at[2] += p.box.n[2]) {
                place[2] = find_run(cut, 2, end[2], &p);
                p.part = part_at(cut, place);
                if (p.part >= 0)
                    visit(context, &p);
            }
        }
    }
}

int stencil_cut_frame(const stencil_cut *cut, int part, stencil_box box[STENCIL_FRAME_BOXES]) {
    const stencil_box own = stencil_cut_box(cut, part);
    const int64_t radius = cut->mesh.shape->radius;
    int64_t more[3][2];
    stencil_box rest = own;
    int count = 0;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        for (int k = 0; k < 2; k++) {
            const stencil_side side = stencil_cut_side(cut, part, axis, k);
            const bool mirrored = side.beyond == part && cut->mesh.boundary[axis] == STENCIL_MIRROR;
            more[axis][k] = side.beyond < 0 || mirrored || side.ghosts <= radius ? 0 : side.ghosts - radius;
            rest.first[axis] -= k == 0 ? more[axis][k] : 0;
            rest.n[axis] += more[axis][k];
        }
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        for (int k = 0; k < 2; k++) {
            stencil_box *side = &box[count];
            *side = rest;
            side->n[axis] = more[axis][k];
            side->first[axis] = k == 0 ? rest.first[axis] : own.first[axis] + own.n[axis];
            count += more[axis][k] > 0;
        }
        rest.first[axis] = own.first[axis];
        rest.n[axis] = own.n[axis];
    }
    return count;
}

bool stencil_cut_is_slabs(const stencil_cut *cut) {
    return cut->count[STENCIL_X] == 1 && (cut->mesh.rank == 2 || cut->count[STENCIL_Y] == 1);
}

#include "solver/problem/faces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/sweep.h"

double stencil_face_k(double a, double b) {
    const double low = fmin(a, b), high = fmax(a, b);
    return low * (high / (0.5 * low + 0.5 * high));
}

stencil_box stencil_faces_box(const stencil_box *box, int axis) {
    stencil_box faces = *box;
    faces.first[axis]--;
    faces.n[axis]++;
    return faces;
}

/* The mesh of the faces along an axis: the one before the first cell is an element of its own where the axis
 * does not wrap. */
static stencil_mesh faces_mesh(const stencil_problem *problem, int axis) {
    stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    if (mesh.boundary[axis] == STENCIL_MIRROR) {
        mesh.boundary[axis] = STENCIL_FIXED;
        mesh.edges[axis] = 1;
        mesh.wraps[axis] = 0;
    }
    return mesh;
}

stencil_status stencil_faces_fill(const stencil_problem *problem, const stencil_reader *from, int axis,
                                  const stencil_box *box, const stencil_cells *to) {
    const stencil_mesh mesh = faces_mesh(problem, axis);
    return stencil_boxes_fill(from, &mesh, stencil_array_of_face(axis), box, to);
}

/* A box of faces along an axis, with k and the kinds of the cells on both sides. */
typedef struct slab {
    const stencil_problem *problem;
    int axis;
    stencil_cells k, kind; /* of the box and one more layer behind it; kind.at NULL: no cell is insulated */
    double h, scale, sum;
} slab;

static inline int64_t element(const stencil_cells *c, const int64_t cell[3]) {
    return (cell[0] - c->first[0]) * c->plane + (cell[1] - c->first[1]) * c->row + cell[2] - c->first[2];
}

static double k_at(const slab *s, const int64_t cell[3]) {
    return ((const double *)s->k.at)[element(&s->k, cell)];
}

static bool is_insulated(const slab *s, const int64_t cell[3]) {
    return s->kind.at != NULL &&
           ((const stencil_cell_kind *)s->kind.at)[element(&s->kind, cell)] == STENCIL_KIND_INSULATED;
}

/* k of the face between a cell and the next one; 0: no updated cell has it. */
static double between(const slab *s, const int64_t cell[3]) {
    int64_t next[3] = {cell[0], cell[1], cell[2]};
    next[s->axis]++;
    const bool gone = is_insulated(s, cell), next_gone = is_insulated(s, next);
    if (gone || next_gone)
        return gone && next_gone ? 0.0 : k_at(s, gone ? next : cell);
    return stencil_face_k(k_at(s, cell), k_at(s, next));
}

/* The weight of a face, before it is rounded. In a wall through cells it is that of the face on the other
 * side of the cell. */
static double weight_of(const slab *s, const int64_t cell[3]) {
    const stencil_problem *p = s->problem;
    int64_t at[3] = {cell[0], cell[1], cell[2]};
    if (p->boundary[s->axis] == STENCIL_MIRROR && at[s->axis] == -1 &&
        stencil_wall_is_node(p->wall[s->axis][STENCIL_LOW]))
        at[s->axis]++;
    if (p->boundary[s->axis] == STENCIL_MIRROR && at[s->axis] == p->n[s->axis] - 1 &&
        stencil_wall_is_node(p->wall[s->axis][STENCIL_HIGH]))
        at[s->axis]--;
    const double k = between(s, at);
    return p->spec.kind == STENCIL_KIND_HEAT ? k * s->scale / (s->h * s->h)
                                             : k / s->scale / (s->h * s->h) / s->sum;
}

/* Reads k and kinds around a box of faces: as far as the problem has cells behind it. */
static stencil_status read_sides(slab *s, const stencil_reader *from, const stencil_box *box, void *k,
                                 void *kind) {
    const stencil_problem *p = s->problem;
    stencil_mesh mesh = stencil_problem_mesh(p, 1), kinds = mesh;
    mesh.precision = STENCIL_FLOAT64;
    kinds.precision = STENCIL_TWO_BYTES;
    stencil_box all = *box;
    all.n[s->axis]++;
    /* A wall through cells needs the layer before the last one, too, and that behind the first. */
    if (p->boundary[s->axis] == STENCIL_MIRROR) {
        all.first[s->axis]--;
        all.n[s->axis] += 2;
    }
    s->k = stencil_cells_dense(STENCIL_FLOAT64, k, &all);
    TRY(stencil_boxes_fill(from, &mesh, STENCIL_ARRAY_K, &all, &s->k));
    s->kind.at = NULL;
    if (!p->spec.insulated)
        return STENCIL_OK;
    s->kind = stencil_cells_dense(STENCIL_TWO_BYTES, kind, &all);
    return stencil_boxes_fill(from, &kinds, STENCIL_ARRAY_KIND, &all, &s->kind);
}

static void make_slab(const slab *s, const stencil_box *box, const stencil_cells *to) {
    const stencil_cells there = stencil_cells_from(to, box->first);
    const int64_t ny = box->n[STENCIL_Y];
#pragma omp parallel for schedule(static) if (stencil_box_cells(box) > 1 << 14)
    for (int64_t r = 0; r < box->n[STENCIL_Z] * ny; r++)
        for (int64_t x = 0; x < box->n[STENCIL_X]; x++) {
            const int64_t cell[3] = {box->first[0] + r / ny, box->first[1] + r % ny, box->first[2] + x};
            stencil_cells_set(&there, r / ny * there.plane + r % ny * there.row + x, weight_of(s, cell));
        }
}

stencil_status stencil_faces_make(const stencil_problem *problem, const stencil_reader *from, int axis,
                                  const stencil_box *box, const stencil_cells *to) {
    enum { SLAB_CELLS = 1 << 21, ROOM = 4 };
    const stencil_spec *spec = &problem->spec;
    slab s = {.problem = problem,
              .axis = axis,
              .h = stencil_spec_spacing(spec, axis),
              .scale = spec->kind == STENCIL_KIND_HEAT ? spec->dt : spec->k.most,
              .sum = stencil_spec_diagonal(spec)};
    stencil_box known = *box, part;
    /* Behind the last cells of a fixed axis are no others: those faces are 0. */
    if (problem->boundary[axis] == STENCIL_FIXED) {
        const int64_t last = problem->first[axis] + problem->extent[axis] - 1;
        for (int64_t r = 0; r < box->n[0] * box->n[1] && known.first[axis] + known.n[axis] > last; r++)
            for (int64_t x = 0; x < box->n[2]; x++)
                stencil_cells_set(to, r / box->n[1] * to->plane + r % box->n[1] * to->row + x, 0.0);
        known.n[axis] = stencil_smaller(known.n[axis], last - known.first[axis]);
    }
    if (stencil_box_cells(&known) <= 0)
        return STENCIL_OK;
    const int64_t most = known.n[STENCIL_X] > SLAB_CELLS ? known.n[STENCIL_X] : SLAB_CELLS;
    part = stencil_slab_first(&known, most);
    int64_t cells = 1;
    for (int i = 0; i < STENCIL_AXES; i++)
        cells *= part.n[i] + (i == axis ? ROOM : 0);
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, cells * (int64_t)(sizeof(double) + sizeof(stencil_cell_kind)),
                             "the faces of cells"));
    stencil_status status;
    do {
        status = read_sides(&s, from, &part, memory, (char *)memory + cells * (int64_t)sizeof(double));
        if (status == STENCIL_OK)
            make_slab(&s, &part, to);
    } while (status == STENCIL_OK && stencil_slab_next(&part, &known, most));
    free(memory);
    return status;
}

stencil_status stencil_faces_load(stencil_faces *faces, const stencil_problem *problem,
                                  const stencil_reader *from, const stencil_box *cells) {
    const int64_t value = (int64_t)stencil_precision_bytes(problem->precision);
    int64_t bytes = 0, at[3] = {0, 0, 0};
    *faces = (stencil_faces){0};
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++) {
        const stencil_box box = stencil_faces_box(cells, axis);
        at[axis] = bytes;
        bytes += stencil_box_cells(&box) * value;
    }
    TRY(stencil_memory_alloc(&faces->memory, bytes, "the faces of cells"));
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++) {
        const stencil_box box = stencil_faces_box(cells, axis);
        faces->of[axis] = stencil_cells_dense(problem->precision, (char *)faces->memory + at[axis], &box);
        const stencil_status status = stencil_faces_fill(problem, from, axis, &box, &faces->of[axis]);
        if (status != STENCIL_OK) {
            stencil_faces_destroy(faces);
            return status;
        }
    }
    return STENCIL_OK;
}

void stencil_faces_destroy(stencil_faces *faces) {
    free(faces->memory);
    *faces = (stencil_faces){0};
}

/* Fills in the weights of a cell's faces, in the order of its points; returns how many these are. */
static int faces_of(const stencil_problem *problem, const stencil_faces *faces, const int64_t cell[3],
                    double of[6]) {
    const int rank = problem->rank;
    for (int i = 0; i < rank; i++) {
        const int axis = STENCIL_AXES - rank + i;
        const stencil_cells *all = &faces->of[axis];
        const int64_t back = axis == STENCIL_Z   ? all->plane
                             : axis == STENCIL_Y ? all->row
                                                 : 1,
                      here = element(all, cell);
        of[i] = stencil_cells_value(all, here - back);
        of[2 * rank - 1 - i] = stencil_cells_value(all, here);
    }
    return 2 * rank;
}

double stencil_faces_sum(const stencil_problem *problem, const stencil_faces *faces, const int64_t cell[3]) {
    double of[6], sum = 0.0;
    const int count = faces_of(problem, faces, cell, of);
    for (int i = 0; i < count; i++)
        sum += of[i];
    return sum;
}

void stencil_faces_begin(stencil_problem *problem) {
    const bool heat = problem->spec.kind == STENCIL_KIND_HEAT;
    problem->coefficients = STENCIL_COEFFICIENTS_FIELDS;
    for (int k = 0; k < problem->shape->point_count; k++)
        problem->weight[k] = heat ? 1.0 : problem->spec.omega;
    problem->weight[problem->shape->point_count / 2] = heat ? 1.0 : 1.0 - problem->spec.omega;
}

/* Makes the weights of a cell from its faces, in the arithmetic of a precision. */
#define MAKE_WEIGHTS(name, real)                                                                             \
    static void name(const stencil_problem *problem, const double of[6], int count, double *weight) {        \
        const bool heat = problem->spec.kind == STENCIL_KIND_HEAT;                                           \
        const real omega = (real)problem->spec.omega; /* of laplace and poisson */                           \
        real centre = (real)(heat ? 1.0 : 1.0 - problem->spec.omega), sum = (real)of[0];                     \
        for (int i = 1; i < count; i++)                                                                      \
            sum += (real)of[i];                                                                              \
        const real over = omega / sum;                                                                       \
        for (int i = 0; i < count; i++) {                                                                    \
            const real face = (real)of[i];                                                                   \
            centre = heat ? centre - face : centre;                                                          \
            weight[i < count / 2 ? i : i + 1] = heat ? face : face * over;                                   \
        }                                                                                                    \
        weight[count / 2] = centre;                                                                          \
    }
MAKE_WEIGHTS(weights_float32, float)
MAKE_WEIGHTS(weights_float64, double)

void stencil_faces_weights(const stencil_problem *problem, const stencil_faces *faces, const int64_t cell[3],
                           double weight[STENCIL_POINTS_MAX]) {
    double of[6];
    const int count = faces_of(problem, faces, cell, of);
    (problem->precision == STENCIL_FLOAT32 ? weights_float32 : weights_float64)(problem, of, count, weight);
}

void stencil_faces_row(const stencil_problem *problem, const stencil_faces *faces, const int64_t cell[3],
                       const double *reads, double row[STENCIL_WEIGHTS]) {
    const int points = problem->shape->point_count, centre = points / 2;
    double weight[STENCIL_POINTS_MAX];
    memset(row, 0, STENCIL_WEIGHTS * sizeof *row);
    stencil_faces_weights(problem, faces, cell, weight);
    for (int k = 0; k < points; k++) {
        const double *read = reads == NULL ? NULL : reads + STENCIL_READS * (ptrdiff_t)k;
        if (read == NULL || read[STENCIL_READ_STRAIGHT] != 0) {
            row[k] += weight[k];
            continue;
        }
        row[points - 1 - k] += weight[k] * read[STENCIL_READ_OPPOSITE];
        row[centre] += weight[k] * read[STENCIL_READ_CENTRE];
        row[STENCIL_SOURCE_WEIGHT] += weight[k] * read[STENCIL_READ_CONSTANT];
    }
}

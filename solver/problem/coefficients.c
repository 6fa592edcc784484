#include "solver/problem/coefficients.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/words.h"
#include "kernels/sweep.h"
#include "solver/problem/digest.h"
#include "solver/problem/faces.h"
#include "solver/problem/rows.h"

/* A visit of all cells of /k: what they say together, and the first one that is no positive number. */
typedef struct visit {
    const stencil_problem *problem;
    const stencil_reader *from;
    stencil_k_facts facts;
    stencil_digest digest;
    int64_t strange; /* number of a cell in array order; INT64_MAX: none */
    double strange_k;
    bool many; /* different values */
    double material[STENCIL_MATERIALS_MAX];
} visit;

/* Counts the different values of k, up to a few. */
static void count_material(visit *v, double k) {
    int i = 0;
    if (v->many || (v->facts.materials > 0 && v->material[0] == k))
        return;
    while (i < v->facts.materials && v->material[i] != k)
        i++;
    v->many = i == STENCIL_MATERIALS_MAX;
    if (v->many)
        v->facts.materials = 0;
    else if (i == v->facts.materials)
        v->material[v->facts.materials++] = k;
}

/* Takes the cells of a slab, kinds and k without gaps; those of /insulated become 0. */
static void take_cells(visit *v, const stencil_box *slab, const stencil_cell_kind *kind, double *k) {
    const stencil_mesh mesh = stencil_problem_mesh(v->problem, 1);
    const stencil_box array = stencil_mesh_array(&mesh), there = stencil_box_from(slab, array.first);
    const int64_t cells = stencil_box_cells(slab);
    for (int64_t i = 0; i < cells; i++) {
        if (kind != NULL && kind[i] == STENCIL_KIND_INSULATED) {
            k[i] = 0.0;
            continue;
        }
        v->facts.least = fmin(v->facts.least, k[i]);
        v->facts.most = fmax(v->facts.most, k[i]);
        count_material(v, k[i]);
        if (v->strange < INT64_MAX || (isfinite(k[i]) && k[i] > 0))
            continue;
        const int64_t x = i % slab->n[2], y = i / slab->n[2] % slab->n[1], z = i / slab->n[2] / slab->n[1];
        v->strange =
            ((there.first[0] + z) * array.n[1] + there.first[1] + y) * array.n[2] + there.first[2] + x;
        v->strange_k = k[i];
    }
    const stencil_cells dense = stencil_cells_dense(STENCIL_FLOAT64, k, slab);
    stencil_digest_add(&v->digest, &array, slab, &dense);
}

/* Tells whether a cell of a kind has no step of its own: it is not there, keeps its value, or is driven. */
static bool is_still(stencil_cell_kind kind) {
    return kind == STENCIL_KIND_INSULATED || kind == STENCIL_KIND_KEPT || kind == STENCIL_KIND_DRIVEN;
}

/* The sum of k / h^2 over the faces of a cell. A wall through cells that exchanges counts more: as much as
 * its largest number along the side. */
static double diagonal_of(const stencil_problem *p, const stencil_faces *faces, const int64_t cell[3]) {
    double sum = stencil_faces_sum(p, faces, cell);
    for (int axis = STENCIL_AXES - p->rank; axis < STENCIL_AXES; axis++)
        for (int s = 0; s < 2; s++) {
            const int64_t at = s == STENCIL_LOW ? 0 : p->n[axis] - 1;
            int64_t before[3] = {cell[0], cell[1], cell[2]};
            before[axis] -= s == STENCIL_LOW;
            if (p->wall[axis][s] != STENCIL_WALL_EXCHANGE_NODE || cell[axis] != at)
                continue;
            const stencil_cells face = stencil_cells_from(&faces->of[axis], before);
            sum += stencil_cells_value(&face, 0) * stencil_spec_spacing(&p->spec, axis) *
                   stencil_spec_exchange_most(&p->spec, axis, s);
        }
    return sum;
}

/* A reader whose faces are those of another problem. */
typedef struct other {
    const stencil_problem *problem;
    const stencil_reader *from;
} other;

static stencil_status read_other(void *context, stencil_array array, const stencil_box *box,
                                 const stencil_cells *to) {
    const other *o = context;
    return stencil_faces_make(o->problem, o->from, stencil_array_axis(array), box, to);
}

/* Finds the largest sum over the faces of updated cells, of a box of these. Kept cells do not count. */
static stencil_status take_faces(visit *v, const stencil_problem *unit, const stencil_box *box,
                                 const stencil_cell_kind *kind) {
    stencil_faces faces;
    const int64_t *n = box->n;
    double most = v->facts.diagonal;
    const stencil_reader reader = {read_other, &(other){unit, v->from}};
    TRY(stencil_faces_load(&faces, unit, &reader, box));
#pragma omp parallel for schedule(static) reduction(max : most)
    for (int64_t i = 0; i < n[0] * n[1] * n[2]; i++) {
        const int64_t cell[3] = {box->first[0] + i / n[2] / n[1], box->first[1] + i / n[2] % n[1],
                                 box->first[2] + i % n[2]};
        if (kind == NULL || !is_still(kind[i]))
            most = fmax(most, diagonal_of(unit, &faces, cell));
    }
    v->facts.diagonal = most;
    stencil_faces_destroy(&faces);
    return STENCIL_OK;
}

/* Visits a box slab by slab: all cells of /k, or the faces of updated cells where `unit` is given, a problem
 * whose faces have the weight k / h^2. */
static stencil_status visit_slabs(visit *v, const stencil_problem *unit, const stencil_box *box) {
    enum { SLAB_CELLS = 1 << 20 };
    const stencil_spec *spec = &v->problem->spec;
    const bool kinds = spec->insulated || (unit != NULL && spec->fixed);
    const int64_t most = box->n[STENCIL_X] > SLAB_CELLS ? box->n[STENCIL_X] : SLAB_CELLS;
    stencil_box slab = stencil_slab_first(box, most);
    const int64_t cells = stencil_box_cells(&slab);
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, cells * (int64_t)(sizeof(double) + sizeof(stencil_cell_kind)),
                             "a slab of /k"));
    double *k = memory;
    stencil_cell_kind *kind = kinds ? (stencil_cell_kind *)(k + cells) : NULL;
    stencil_status status = STENCIL_OK;
    do {
        const stencil_cells to = stencil_cells_dense(STENCIL_FLOAT64, k, &slab),
                            to_kinds = stencil_cells_dense(STENCIL_TWO_BYTES, kind, &slab);
        if (kinds)
            status = v->from->read(v->from->context, STENCIL_ARRAY_KIND, &slab, &to_kinds);
        if (status == STENCIL_OK && unit != NULL)
            status = take_faces(v, unit, &slab, kind);
        if (status == STENCIL_OK && unit == NULL)
            status = v->from->read(v->from->context, STENCIL_ARRAY_K, &slab, &to);
        if (status == STENCIL_OK && unit == NULL)
            take_cells(v, &slab, kind, k);
    } while (status == STENCIL_OK && stencil_slab_next(&slab, box, most));
    free(memory);
    return status;
}

static stencil_status refuse_k(const visit *v) {
    const int64_t *extent = v->problem->extent, line = v->strange / extent[STENCIL_X];
    const int64_t cell[3] = {line / extent[STENCIL_Y], line % extent[STENCIL_Y],
                             v->strange % extent[STENCIL_X]};
    char text[96] = "";
    for (int axis = STENCIL_AXES - v->problem->rank; axis < STENCIL_AXES; axis++)
        stencil_text_add(text, sizeof text, "[%" PRId64 "]", cell[axis]);
    FAIL(BAD_DATA, "/k%s is %g: give a positive number in every cell that is not insulated", text,
         v->strange_k);
}

/* Checks that the weights of the faces with the smallest k are numbers of the precision, other than 0. */
static stencil_status check_range(const stencil_problem *problem) {
    const double least = problem->precision == STENCIL_FLOAT32 ? 0x1p-126 : 0x1p-1022,
                 ratio = problem->spec.k.least / problem->spec.k.most / stencil_spec_diagonal(&problem->spec);
    double h = 0.0;
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        h = fmax(h, stencil_spec_spacing(&problem->spec, axis));
    CHECK(ratio / (h * h) >= least, BAD_DATA, "/k goes from %g to %g: weights of faces leave the range of %s",
          problem->spec.k.least, problem->spec.k.most, stencil_precision_name(problem->precision));
    return STENCIL_OK;
}

/* The distinct rows of weights of updated cells, as long as they are few, and how common they are. The most
 * common one becomes that of plain cells, bytes name the others. */
enum { FEW_ROWS = STENCIL_BYTE_ROWS + 1 };
typedef struct census {
    const stencil_problem *problem;
    int points, rows;
    double weight[FEW_ROWS][7];
    int64_t cells[FEW_ROWS];  /* that have the row */
    int64_t groups[FEW_ROWS]; /* of 64 cells along x that have such cells */
    int64_t seen[FEW_ROWS];   /* 1 + the last such group; 0: none */
    int64_t all_groups;
    int last; /* the row of the cell before */
} census;

/* Finds a row of weights, or adds it; false: there are more than FEW_ROWS. */
static bool count_row(census *c, const double weight[STENCIL_POINTS_MAX]) {
    const size_t bytes = (size_t)c->points * sizeof *weight;
    if (c->rows > 0 && memcmp(c->weight[c->last], weight, bytes) == 0)
        return true;
    for (c->last = 0; c->last < c->rows; c->last++)
        if (memcmp(c->weight[c->last], weight, bytes) == 0)
            return true;
    if (c->rows == FEW_ROWS)
        return false;
    memcpy(c->weight[c->rows++], weight, bytes);
    return true;
}

/* Counts the rows of a box of updated cells; false: there are too many. */
static bool count_box(census *c, const stencil_faces *faces, const stencil_box *box,
                      const stencil_cell_kind *kind) {
    const int64_t *n = box->n;
    for (int64_t r = 0; r < n[0] * n[1]; r++) {
        int64_t group = -1;
        for (int64_t x = 0; x < n[2]; x++) {
            const int64_t cell[3] = {box->first[0] + r / n[1], box->first[1] + r % n[1], box->first[2] + x};
            double weight[STENCIL_POINTS_MAX];
            if (kind != NULL && is_still(kind[r * n[2] + x]))
                continue;
            stencil_faces_weights(c->problem, faces, cell, weight);
            if (!count_row(c, weight))
                return false;
            if (stencil_group_of(cell[2]) != group)
                c->all_groups++;
            group = stencil_group_of(cell[2]);
            c->cells[c->last]++;
            if (c->seen[c->last] != c->all_groups)
                c->groups[c->last]++;
            c->seen[c->last] = c->all_groups;
        }
    }
    return true;
}

/* Reads the faces and kinds of a box of updated cells, and counts its rows. */
static stencil_status count_slab(census *c, const stencil_reader *from, const stencil_box *slab, bool *few) {
    const stencil_spec *spec = &c->problem->spec;
    stencil_faces faces = {0};
    void *kind = NULL;
    stencil_status status = stencil_faces_load(&faces, c->problem, from, slab);
    if (status == STENCIL_OK && (spec->insulated || spec->fixed)) {
        status = stencil_memory_alloc(&kind, stencil_box_cells(slab) * (int64_t)sizeof(stencil_cell_kind),
                                      "the kinds of the cells");
        const stencil_cells to = stencil_cells_dense(STENCIL_TWO_BYTES, kind, slab);
        if (status == STENCIL_OK)
            status = from->read(from->context, STENCIL_ARRAY_KIND, slab, &to);
    }
    if (status == STENCIL_OK)
        *few = count_box(c, &faces, slab, kind);
    stencil_faces_destroy(&faces);
    free(kind);
    return status;
}

/* Makes a palette of the coefficients where cells have few distinct rows of weights and, in the mean over
 * groups of 64 cells, at most one besides the most common row: groups are made once for each of theirs. An
 * accelerated problem changes its weights from step to step, which a palette does not. */
static stencil_status choose_rows(stencil_problem *problem, const stencil_reader *from) {
    enum { SLAB_CELLS = 1 << 20 };
    const stencil_box updated = {.n = {problem->n[0], problem->n[1], problem->n[2]}};
    const int64_t most = updated.n[STENCIL_X] > SLAB_CELLS ? updated.n[STENCIL_X] : SLAB_CELLS;
    stencil_box slab = stencil_slab_first(&updated, most);
    bool few = problem->cycle.length == 1;
    stencil_status status = STENCIL_OK;
    int64_t others = 0;
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, sizeof(census), "rows of weights"));
    census *c = memory;
    *c = (census){.problem = problem, .points = problem->shape->point_count};
    while (few && status == STENCIL_OK) {
        status = count_slab(c, from, &slab, &few);
        if (!stencil_slab_next(&slab, &updated, most))
            break;
    }
    int common = 0;
    for (int i = 0; i < c->rows; i++) {
        common = c->cells[i] > c->cells[common] ? i : common;
        others += c->groups[i];
    }
    if (status == STENCIL_OK && few && c->rows > 0 && others - c->groups[common] <= c->all_groups) {
        problem->coefficients = STENCIL_COEFFICIENTS_ROWS;
        memcpy(problem->weight, c->weight[common], sizeof c->weight[common]);
    }
    free(memory);
    return status;
}

stencil_status stencil_coefficients_find(stencil_problem *problem, const stencil_spec *spec,
                                         const stencil_reader *from) {
    visit v = {.problem = problem,
               .from = from,
               .facts = {.least = INFINITY, .most = 0.0, .diagonal = 0.0},
               .strange = INT64_MAX};
    const stencil_mesh mesh = stencil_problem_mesh(problem, 1);
    const stencil_box array = stencil_mesh_array(&mesh),
                      updated = {.n = {problem->n[0], problem->n[1], problem->n[2]}};
    if (!problem->spec.has_k)
        return STENCIL_OK;
    TRY(visit_slabs(&v, NULL, &array));
    if (v.strange < INT64_MAX)
        return refuse_k(&v);
    stencil_digest_text(&v.digest, v.facts.digest);
    /* The faces of a step of heat with dt = 1 are k / h^2. */
    stencil_problem unit = *problem;
    unit.spec.kind = STENCIL_KIND_HEAT;
    unit.spec.dt = 1.0;
    unit.precision = STENCIL_FLOAT64;
    TRY(visit_slabs(&v, &unit, &updated));
    stencil_spec stated = *spec;
    stated.k = v.facts;
    TRY(stencil_problem_resolve(problem, &stated));
    TRY(check_range(problem));
    return choose_rows(problem, from);
}

#include "solver/problem/domain.h"

#include <stdlib.h>

#include "solver/problem/cycle.h"

/* The layout of a buffer: that of the cut, with elements of the buffer's type. */
static stencil_layout layout_of(const stencil_cut *cut, int buffer) {
    stencil_layout layout = cut->layout;
    layout.precision = stencil_array_precision(stencil_array_of(buffer), layout.precision);
    return layout;
}

unsigned stencil_buffers_of(const stencil_problem *problem, bool gpu) {
    const unsigned u = 3U << STENCIL_BUFFER_U, b = 1U << STENCIL_BUFFER_B,
                   rows = (unsigned)stencil_problem_has_wide_rows(problem) << STENCIL_BUFFER_ROW,
                   classes = 1U << STENCIL_BUFFER_CLASS | 1U << STENCIL_BUFFER_MARK |
                             (unsigned)gpu << STENCIL_BUFFER_BITS | rows;
    const unsigned faces = problem->rank == 3 ? 7U : 6U; /* y and x in 2D */
    unsigned more = 0;
    for (int k = 1; k < stencil_problem_sum_arrays(problem); k++)
        more |= 1U << (STENCIL_BUFFER_MORE + k - 1);
    return u | (stencil_problem_sum_arrays(problem) > 0 ? b : 0) | more |
           (stencil_problem_has_classes(problem) ? classes : 0) |
           (stencil_problem_has_fields(problem) ? faces << STENCIL_BUFFER_FACE : 0);
}

int64_t stencil_buffer_bytes(const stencil_cut *cut, int buffer) {
    const stencil_layout layout = layout_of(cut, buffer);
    const stencil_marks marks = stencil_marks_of(cut);
    if (buffer == STENCIL_BUFFER_BITS)
        return marks.words * (int64_t)sizeof(uint32_t);
    return buffer == STENCIL_BUFFER_MARK ? marks.count[0] * marks.count[1] * marks.count[2]
                                         : stencil_layout_bytes(&layout);
}

const char *stencil_buffer_text(int buffer) {
    static const char *const text[STENCIL_BUFFERS] = {"the field u",
                                                      "the second buffer of the field",
                                                      "the source term",
                                                      "the classes of the cells",
                                                      "the marks of groups of cells",
                                                      "the bits of cells that have classes",
                                                      "the numbers of the cells' rows of weights",
                                                      "the second array of values in time",
                                                      "the third array of values in time",
                                                      "the fourth array of values in time",
                                                      "the faces along z",
                                                      "the faces along y",
                                                      "the faces along x"};
    return text[buffer];
}

int64_t stencil_buffers_bytes(const stencil_problem *problem, const stencil_cut *cut, bool gpu) {
    int64_t bytes = 0;
    for (int buffer = 0; buffer < STENCIL_BUFFERS; buffer++)
        if ((stencil_buffers_of(problem, gpu) >> buffer & 1) != 0) {
            const int64_t one = stencil_buffer_bytes(cut, buffer);
            bytes = bytes > INT64_MAX / 2 - one ? INT64_MAX / 2 : bytes + one;
        }
    return bytes;
}

stencil_cells stencil_buffer_cells(const stencil_buffers *buffers, int part, int buffer,
                                   const int64_t cell[3]) {
    const stencil_layout layout = layout_of(buffers->cut, buffer);
    const stencil_cells all = stencil_cells_in(&layout, stencil_buffers_part(buffers, part)[buffer],
                                               stencil_cut_box(buffers->cut, part).first);
    return stencil_cells_from(&all, cell);
}

/* Address of updated cell (0, 0, 0) in an array of a part; NULL if the part has no such array. */
static void *interior(const stencil_buffers *buffers, int part, int buffer) {
    const stencil_box own = stencil_cut_box(buffers->cut, part);
    return stencil_buffers_part(buffers, part)[buffer] != NULL
               ? stencil_buffer_cells(buffers, part, buffer, own.first).at
               : NULL;
}

stencil_marks stencil_marks_of(const stencil_cut *cut) {
    enum { GROUP_WORDS = STENCIL_GROUP_CELLS / STENCIL_WORD_CELLS, ALIGNED_WORDS = 4, GAP_WORDS = 64 };
    const stencil_layout *l = &cut->layout;
    stencil_marks marks;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        int64_t first = -l->ghost[axis], last = l->n[axis] + l->ghost[axis] - 1;
        if (axis == STENCIL_X) {
            first = stencil_group_of(first);
            last = stencil_group_of(last);
        }
        marks.first[axis] = first;
        marks.count[axis] = last - first + 1;
    }
    const int64_t before = -marks.first[STENCIL_X] * GROUP_WORDS,
                  from = (marks.first[STENCIL_X] + marks.count[STENCIL_X]) * GROUP_WORDS;
    marks.words_before = (before + ALIGNED_WORDS - 1) / ALIGNED_WORDS * ALIGNED_WORDS;
    marks.words_row = marks.words_before + (from + ALIGNED_WORDS - 1) / ALIGNED_WORDS * ALIGNED_WORDS;
    marks.words = marks.count[STENCIL_Z] * marks.count[STENCIL_Y] * marks.words_row + GAP_WORDS;
    return marks;
}

void stencil_marks_make(uint8_t *mark, const uint8_t *of, int64_t first, int64_t count, int64_t low,
                        int64_t end) {
    for (int64_t g = 0; g < count; g++) {
        const int64_t begin = first + g * STENCIL_GROUP_CELLS,
                      last = stencil_smaller(begin + STENCIL_GROUP_CELLS, end);
        int64_t x = begin > low ? begin : low;
        mark[g] = x < last ? of[x] : STENCIL_CLASS_PLAIN;
        for (; x < last; x++)
            if (of[x] != mark[g])
                mark[g] = STENCIL_MARK_MIXED;
    }
}

void stencil_marks_range(const stencil_cut *cut, int part, int64_t range[2]) {
    const stencil_box own = stencil_cut_box(cut, part);
    const stencil_mesh *mesh = &cut->mesh;
    const int64_t n = own.n[STENCIL_X], ghost = cut->layout.ghost[STENCIL_X], first = own.first[STENCIL_X];
    range[0] = -ghost;
    range[1] = n + ghost;
    if (mesh->boundary[STENCIL_X] != STENCIL_FIXED)
        return;
    range[0] = range[0] + first < 0 ? -first : range[0];
    range[1] = stencil_smaller(range[1], mesh->n[STENCIL_X] - first);
}

stencil_classes stencil_classes_of(const stencil_buffers *buffers, int part) {
    const stencil_cut *cut = buffers->cut;
    const stencil_marks marks = stencil_marks_of(cut);
    const int64_t row = marks.count[STENCIL_X], plane = row * marks.count[STENCIL_Y];
    const uint8_t *mark = stencil_buffers_part(buffers, part)[STENCIL_BUFFER_MARK];
    const uint32_t *bits = stencil_buffers_part(buffers, part)[STENCIL_BUFFER_BITS];
    const int64_t bits_row = marks.words_row, bits_plane = bits_row * marks.count[STENCIL_Y];
    int64_t range[2];
    if (mark == NULL)
        return (stencil_classes){0};
    if (bits != NULL)
        bits += marks.words_before - marks.first[STENCIL_Z] * bits_plane - marks.first[STENCIL_Y] * bits_row;
    stencil_marks_range(cut, part, range);
    return (stencil_classes){.of = interior(buffers, part, STENCIL_BUFFER_CLASS),
                             .mark = mark - marks.first[STENCIL_Z] * plane - marks.first[STENCIL_Y] * row -
                                     marks.first[STENCIL_X],
                             .mark_row = row,
                             .mark_plane = plane,
                             .bits = bits,
                             .bits_row = bits_row,
                             .bits_plane = bits_plane,
                             .row = interior(buffers, part, STENCIL_BUFFER_ROW),
                             .first = range[0],
                             .end = range[1]};
}

/* Sets how deep cells are copied at each side of a part, which sides mirror, and extents beyond low sides. */
static void init_sides(stencil_domain *domain, const stencil_cut *cut, int part, bool store) {
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        for (int s = 0; s < STENCIL_SIDES; s++) {
            const stencil_side side = stencil_cut_side(cut, part, axis, s);
            domain->mirror[axis][s] = side.beyond == part && cut->mesh.boundary[axis] == STENCIL_MIRROR;
            if (store || side.beyond == part)
                domain->reach[axis][s] = (int32_t)side.ghosts;
            if (s == STENCIL_LOW && side.beyond >= 0)
                domain->beyond[axis] = stencil_cut_box(cut, side.beyond).n[axis];
        }
}

/* Kernels find rows that bytes name by these; those of cells of class WIDE stand behind them. */
int stencil_weights_rows(const stencil_problem *problem) {
    return problem->palette_count + (stencil_problem_has_wide_rows(problem) ? STENCIL_BYTE_ROWS : 0);
}

int64_t stencil_weights_bytes(const stencil_problem *problem) {
    return (problem->cycle.length + stencil_weights_rows(problem)) * (int64_t)sizeof(stencil_weights);
}

/* Rounds row `number` of the palette. */
static void round_row(stencil_weights *to, const stencil_problem *problem, int number) {
    const double *row = stencil_problem_row(problem, number);
    stencil_weights_round(to, problem->precision, row, row[STENCIL_SOURCE_WEIGHT]);
}

void stencil_weights_round(stencil_weights *to, stencil_precision precision,
                           const double weight[STENCIL_POINTS_MAX], double last) {
    for (int k = 0; k < STENCIL_WEIGHTS; k++) {
        const double value = k == STENCIL_SOURCE_WEIGHT ? last : weight[k];
        if (precision == STENCIL_FLOAT64)
            to->f64[k] = value;
        else
            to->f32[k] = (float)value;
    }
}

stencil_status stencil_weights_make(stencil_weights **cycle, int *length, const stencil_problem *problem) {
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, stencil_weights_bytes(problem), "the weights"));
    *cycle = memory;
    *length = problem->cycle.length;
    for (int step = 0; step < *length; step++) {
        const stencil_step_weights given = stencil_cycle_step(problem, step);
        stencil_weights_round(&(*cycle)[step], problem->precision, given.weight, given.source_factor);
    }
    stencil_weights *to = *cycle + *length;
    for (int byte = 1; byte <= STENCIL_BYTE_ROWS && stencil_problem_has_wide_rows(problem); byte++)
        round_row(to++, problem, problem->row_of_byte[byte]);
    for (int number = 1; number <= problem->palette_count; number++)
        round_row(to++, problem, number);
    return STENCIL_OK;
}

void stencil_domain_init(stencil_domain *domain, const stencil_problem *problem, int part,
                         const stencil_buffers *buffers, bool store) {
    const stencil_cut *cut = buffers->cut;
    const stencil_box own = stencil_cut_box(cut, part);
    *domain = (stencil_domain){
        .n = {own.n[0], own.n[1], own.n[2]},
        .row = cut->layout.row,
        .plane = cut->layout.plane,
        .b = stencil_problem_has_source(problem) ? interior(buffers, part, STENCIL_BUFFER_B) : NULL,
        .partial_first = stencil_partial_at(problem->n, own.first[0], own.first[1], own.first[2]),
        .partial_row = stencil_partial_at(problem->n, 0, 1, 0),
        .partial_plane = stencil_partial_at(problem->n, 1, 0, 0),
        .partial_count = stencil_partial_count(problem->n),
        .divides = stencil_problem_relaxes(problem),
    };
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        domain->face[axis] = interior(buffers, part, STENCIL_BUFFER_FACE + axis);
    init_sides(domain, cut, part, store);
    for (int d = 0; d < STENCIL_DIRECTIONS; d++) {
        const int direction[3] = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1};
        const int beyond = stencil_cut_beyond(cut, part, direction);
        /* Nothing is stored in another process's part: any address tells that the side is open. */
        const int other = beyond >= 0 && !stencil_cut_has(cut, beyond) ? part : beyond;
        for (int k = 0; k < 2 && other >= 0; k++)
            domain->image[d][k] = interior(buffers, other, k);
    }
    for (int k = 0; k < 2; k++)
        domain->u[k] = domain->image[STENCIL_HERE][k];
}

stencil_sums stencil_sums_of(const stencil_problem *problem, const stencil_buffers *buffers, int part) {
    stencil_sums sums = {.sources = stencil_problem_sources(problem), .driven = problem->spec.driven_count};
    for (int k = 0; k < stencil_problem_sum_arrays(problem); k++)
        sums.array[k] = interior(buffers, part, stencil_buffer_of(stencil_array_of_sum(k), 0));
    return sums;
}

void stencil_domain_swap(stencil_domain *domain) {
    for (int d = 0; d < STENCIL_DIRECTIONS; d++) {
        void **const image = domain->image[d], *const first = image[0];
        image[0] = image[1];
        image[1] = first;
    }
    for (int k = 0; k < 2; k++)
        domain->u[k] = domain->image[STENCIL_HERE][k];
}

/* Finds the cells of part `from` that are ghost cells of part `to` in a direction (-1, 0, 1 per axis); false:
 * there are none. Axes of direction 0 include the ghost cells at sides without another part. */
static bool find_one(const stencil_cut *cut, stencil_halo_transfer *t, const int direction[3]) {
    const stencil_box from = stencil_cut_box(cut, t->from), to = stencil_cut_box(cut, t->to);
    if (t->from == t->to || stencil_cut_beyond(cut, t->to, direction) != t->from)
        return false;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int where = direction[axis];
        int64_t along[2], depth = 0;
        for (int k = 0; k < 2; k++) {
            const stencil_side side = stencil_cut_side(cut, t->to, axis, k);
            const bool other = side.beyond >= 0 && side.beyond != t->to;
            along[k] = other ? 0 : cut->mesh.ghosts[axis];
            if (where == (k == 0 ? -1 : 1)) {
                depth = side.ghosts;
                if (!other)
                    return false;
            }
        }
        t->to_first[axis] = to.first[axis] + (where == 0 ? -along[0] : where < 0 ? -depth : to.n[axis]);
        t->from_first[axis] = from.first[axis] + (where == 0  ? -along[0]
                                                  : where < 0 ? from.n[axis] - depth
                                                              : 0);
        t->n[axis] = where == 0 ? along[0] + to.n[axis] + along[1] : depth;
    }
    return true;
}

stencil_status stencil_halo_transfers_find(stencil_halo_transfers *transfers, const stencil_cut *cut) {
    *transfers = (stencil_halo_transfers){
        .item = malloc((size_t)cut->owned * 2 * STENCIL_DIRECTIONS * sizeof(stencil_halo_transfer))};
    CHECK(transfers->item != NULL, NO_MEMORY, "no memory for the halo exchange of %d parts", cut->owned);
    for (int k = 0; k < cut->owned * STENCIL_DIRECTIONS; k++) {
        const int own = cut->own + k / STENCIL_DIRECTIONS, d = k % STENCIL_DIRECTIONS,
                  direction[3] = {d / 9 - 1, d / 3 % 3 - 1, d % 3 - 1},
                  opposite[3] = {-direction[0], -direction[1], -direction[2]};
        stencil_halo_transfer sent = {.from = own, .to = stencil_cut_beyond(cut, own, opposite)},
                              received = {.from = stencil_cut_beyond(cut, own, direction), .to = own};
        if (sent.to >= 0 && find_one(cut, &sent, direction))
            transfers->item[transfers->count++] = sent;
        if (received.from >= 0 && !stencil_cut_has(cut, received.from) && find_one(cut, &received, direction))
            transfers->item[transfers->count++] = received;
    }
    return STENCIL_OK;
}

void stencil_halo_transfers_destroy(stencil_halo_transfers *transfers) {
    free(transfers->item);
    *transfers = (stencil_halo_transfers){0};
}

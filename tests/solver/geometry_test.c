/* Cuts, ghost cells and transfers against plain maps of numbered cells: every cell of a problem has a number,
 * and what a boundary shows beyond the ends is looked up cell by cell. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "app/reference.h"
#include "solver/problem/domain.h"

enum { WIDTH_MAX = 8, PARTS_MAX = 8, NOBODY = -1, UNTOUCHED = -2 };

static uint64_t chance = 12;
static int64_t below(int64_t end) {
    chance = chance * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((chance >> 33) % (uint64_t)end);
}

/* Number of the cell that stands at (z, y, x) of the whole problem or shows up there; NOBODY: of the fixed
 * boundary, or further outside than anybody reads. */
static int64_t number_at(const stencil_mesh *mesh, const int64_t cell[3]) {
    int64_t number = 0;
    for (int axis = 0; axis < 3; axis++) {
        const int64_t n = mesh->n[axis];
        if (cell[axis] < -mesh->wraps[axis] || cell[axis] >= n + mesh->wraps[axis])
            return NOBODY;
        number = number * n + reference_image(cell[axis], n, mesh->boundary[axis]);
    }
    return number;
}

#define EACH(box, c)                                                                                         \
    for (int64_t c[3] = {(box)->first[0]}; c[0] < (box)->first[0] + (box)->n[0]; c[0]++)                     \
        for (c[1] = (box)->first[1]; c[1] < (box)->first[1] + (box)->n[1]; c[1]++)                           \
            for (c[2] = (box)->first[2]; c[2] < (box)->first[2] + (box)->n[2]; c[2]++)

/* The buffer of every part, with room for all that can be around it. Its own cells have their numbers. */
typedef struct buffers {
    stencil_layout layout;
    int32_t *u[STENCIL_PARTS_MAX];
} buffers;

static int32_t *at(const buffers *b, int part, const int64_t cell[3]) {
    return &b->u[part][b->layout.origin + stencil_layout_offset(&b->layout, cell)];
}

static stencil_box inside(const stencil_cut *cut, int part) {
    const stencil_box own = stencil_cut_box(cut, part);
    return (stencil_box){.n = {own.n[0], own.n[1], own.n[2]}};
}

static void fill(buffers *b, const stencil_cut *cut) {
    b->layout = cut->layout;
    for (int part = 0; part < cut->parts; part++) {
        const stencil_box own = stencil_cut_box(cut, part), here = inside(cut, part);
        b->u[part] = malloc((size_t)b->layout.element_count * sizeof *b->u[part]);
        for (int64_t i = 0; i < b->layout.element_count; i++)
            b->u[part][i] = UNTOUCHED;
        EACH(&here, c) {
            const int64_t global[3] = {c[0] + own.first[0], c[1] + own.first[1], c[2] + own.first[2]};
            *at(b, part, c) = (int32_t)number_at(&cut->mesh, global);
        }
    }
}

static void empty(buffers *b, const stencil_cut *cut) {
    for (int part = 0; part < cut->parts; part++)
        free(b->u[part]);
}

static const char *text_of(const stencil_cut *cut) {
    static char text[256];
    const stencil_mesh *m = &cut->mesh;
    snprintf(text, sizeof text,
             "%lldx%lldx%lld cut %dx%dx%d, boundaries %d%d%d, ghosts %lld,%lld,%lld, wraps %lld,%lld,%lld",
             (long long)m->n[0], (long long)m->n[1], (long long)m->n[2], cut->count[0], cut->count[1],
             cut->count[2], (int)m->boundary[0], (int)m->boundary[1], (int)m->boundary[2],
             (long long)m->ghosts[0], (long long)m->ghosts[1], (long long)m->ghosts[2],
             (long long)m->wraps[0], (long long)m->wraps[1], (long long)m->wraps[2]);
    return text;
}

/* Every cell as far around a part as its ghost cells are deep has the number that belongs there, or, where
 * there is none, was left alone. `own_too`: those that copy the part's own cells as well. */
static void expect_ghosts(const buffers *b, const stencil_cut *cut, const char *what) {
    for (int part = 0; part < cut->parts; part++) {
        const stencil_box own = stencil_cut_box(cut, part), here = inside(cut, part),
                          around = stencil_box_grow(&here, cut->mesh.ghosts);
        EACH(&around, c) {
            const int64_t global[3] = {c[0] + own.first[0], c[1] + own.first[1], c[2] + own.first[2]};
            const int64_t number = number_at(&cut->mesh, global), found = *at(b, part, c);
            if (found != (number == NOBODY ? UNTOUCHED : number))
                fail_msg("%s: part %d has %lld at (%lld, %lld, %lld), not %lld; %s", what, part,
                         (long long)found, (long long)c[0], (long long)c[1], (long long)c[2],
                         (long long)number, text_of(cut));
        }
    }
}

/* A part takes the cells of a piece to where they show up; it has its own ones already. */
typedef struct receiver {
    const buffers *b;
    const stencil_cut *cut;
    int part;
} receiver;

static void receive(void *context, const stencil_piece *piece) {
    const receiver *r = context;
    const stencil_box own = stencil_cut_box(r->cut, r->part), sender = inside(r->cut, piece->part);
    EACH(&piece->box, source) {
        int64_t to[3];
        bool is_own = true;
        for (int axis = 0; axis < 3; axis++) {
            const int64_t i = source[axis] - piece->box.first[axis];
            to[axis] =
                piece->at[axis] + (piece->mirrored[axis] ? piece->box.n[axis] - 1 - i : i) - own.first[axis];
            assert_true(source[axis] >= 0 && source[axis] < sender.n[axis]);
            is_own = is_own && to[axis] >= 0 && to[axis] < own.n[axis];
        }
        assert_true(!is_own || (piece->part == r->part && memcmp(source, to, sizeof to) == 0));
        if (!is_own && *at(r->b, r->part, to) != UNTOUCHED)
            fail_msg("part %d gets a cell twice; %s", r->part, text_of(r->cut));
        *at(r->b, r->part, to) = *at(r->b, piece->part, source);
    }
}

/* All ghost cells, each once and from a part that makes the cell itself. */
static void expect_all(const stencil_cut *cut) {
    buffers b;
    fill(&b, cut);
    for (int part = 0; part < cut->parts; part++) {
        receiver r = {&b, cut, part};
        const stencil_box window = stencil_cut_window(cut, part);
        stencil_cut_split(cut, &window, receive, &r);
    }
    expect_ghosts(&b, cut, "all");
    empty(&b, cut);
}

/* A sweep stores copies of what it makes where the domain of its part says: on its own sides alone, or on
 * those of others as well (`store`). */
static void store_copies(const buffers *b, const stencil_cut *cut, bool store) {
    for (int part = 0; part < cut->parts; part++) {
        const stencil_problem problem = {.shape = cut->mesh.shape, .precision = STENCIL_FLOAT32};
        stencil_buffers bases = {.cut = cut};
        stencil_domain d;
        for (int p = 0; p < cut->parts; p++)
            bases.at[p][0] = b->u[p];
        stencil_domain_init(&d, &problem, part, &bases, store);
        const stencil_box here = inside(cut, part);
        EACH(&here, c) {
            const int32_t number = *at(b, part, c);
            for (int direction = 0; direction < STENCIL_DIRECTIONS; direction++) {
                const int side[3] = {direction / 9 - 1, direction / 3 % 3 - 1, direction % 3 - 1};
                int64_t to[3];
                bool copied = direction != STENCIL_HERE;
                for (int axis = 0; axis < 3; axis++) {
                    copied = copied && (side[axis] == 0 || stencil_is_edge(&d, axis, side[axis], c[axis]));
                    to[axis] = side[axis] == 0 ? c[axis] : stencil_image(&d, axis, side[axis], c[axis]);
                }
                if (!copied)
                    continue;
                int32_t *cell = (int32_t *)d.image[direction][0] + stencil_layout_offset(&b->layout, to);
                if (*cell != UNTOUCHED)
                    fail_msg("part %d stores a cell twice; %s", part, text_of(cut));
                *cell = number;
            }
        }
    }
}

/* The two ways of the solver: sweeps store all copies themselves; or their own ones, and boxes are copied. */
static void expect_stored_and_copied(const stencil_cut *cut) {
    for (int copies = 0; copies < 2; copies++) {
        stencil_halo_transfers found = {0};
        buffers b;
        fill(&b, cut);
        store_copies(&b, cut, !copies);
        if (copies)
            assert_int_equal(stencil_halo_transfers_find(&found, cut), STENCIL_OK);
        for (int k = 0; k < found.count; k++) {
            const stencil_halo_transfer *t = &found.item[k];
            stencil_buffers bases = {.cut = cut};
            bases.at[t->from][0] = b.u[t->from];
            bases.at[t->to][0] = b.u[t->to];
            const stencil_cells from = stencil_buffer_cells(&bases, t->from, 0, t->from_first),
                                to = stencil_buffer_cells(&bases, t->to, 0, t->to_first);
            const stencil_box own = stencil_cut_box(cut, t->from);
            assert_true(t->from != t->to);
            stencil_cells_copy(&to, &from, t->n);
            int64_t last[3];
            for (int axis = 0; axis < STENCIL_AXES; axis++)
                last[axis] = t->from_first[axis] - own.first[axis] + t->n[axis] - 1;
            assert_ptr_equal((char *)from.at + stencil_cells_span(&from, t->n), at(&b, t->from, last) + 1);
        }
        expect_ghosts(&b, cut, copies ? "copied" : "stored");
        stencil_halo_transfers_destroy(&found);
        empty(&b, cut);
    }
}

/* Reads numbers where there are cells: it is asked for no others. */
static stencil_status read_numbers(void *context, stencil_array array, const stencil_box *box,
                                   const stencil_cells *to) {
    const stencil_mesh *mesh = context;
    const stencil_box known = stencil_mesh_array(mesh);
    assert_int_equal(array, STENCIL_ARRAY_U);
    EACH(box, c) {
        for (int axis = 0; axis < 3; axis++)
            assert_true(c[axis] >= known.first[axis] && c[axis] < known.first[axis] + known.n[axis]);
        *(int32_t *)stencil_cells_from(to, c).at = (int32_t)number_at(mesh, c);
    }
    return STENCIL_OK;
}

/* Every part reads its window, all at once or slab by slab: its own cells, those of others, those that wrap.
 */
static void expect_read(const stencil_cut *cut) {
    for (int64_t most = 1; most <= 1000000; most *= 100) {
        stencil_mesh mesh = cut->mesh;
        const stencil_reader from = {read_numbers, &mesh};
        buffers b;
        fill(&b, cut);
        for (int part = 0; part < cut->parts; part++) {
            const stencil_box own = stencil_cut_box(cut, part), window = stencil_cut_window(cut, part);
            stencil_box slab = stencil_slab_first(&window, most);
            int64_t seen = 0;
            for (int64_t i = 0; i < b.layout.element_count; i++)
                b.u[part][i] = UNTOUCHED;
            do {
                const stencil_cells all = stencil_cells_in(&b.layout, b.u[part], own.first),
                                    to = stencil_cells_from(&all, slab.first);
                assert_true(stencil_box_cells(&slab) <= most);
                assert_int_equal(stencil_boxes_fill(&from, &mesh, STENCIL_ARRAY_U, &slab, &to), STENCIL_OK);
                seen += stencil_box_cells(&slab);
            } while (stencil_slab_next(&slab, &window, most));
            assert_int_equal(seen, stencil_box_cells(&window));
        }
        expect_ghosts(&b, cut, "read");
        empty(&b, cut);
    }
}

/* The cells of /u are shared out to parts, each to one: boundary cells, too. */
static void expect_shared_out(const stencil_cut *cut) {
    stencil_cut edged = *cut;
    for (int axis = 0; axis < 3; axis++)
        edged.mesh.edges[axis] = edged.mesh.boundary[axis] == STENCIL_FIXED ? edged.mesh.ghosts[axis] : 0;
    const stencil_box array = stencil_mesh_array(&edged.mesh);
    int64_t cells = 0;
    for (int part = 0; part < cut->parts; part++) {
        const stencil_box held = stencil_cut_cells(&edged, part), own = stencil_cut_box(cut, part),
                          window = stencil_cut_window(&edged, part), inner = stencil_box_common(&own, &held),
                          outer = stencil_box_common(&held, &array),
                          known = stencil_box_common(&held, &window);
        assert_memory_equal(&inner, &own, sizeof own);
        assert_memory_equal(&outer, &held, sizeof held);
        assert_memory_equal(&known, &held, sizeof held);
        for (int other = 0; other < part; other++) {
            const stencil_box theirs = stencil_cut_cells(&edged, other),
                              common = stencil_box_common(&held, &theirs);
            assert_int_equal(stencil_box_cells(&common), 0);
        }
        cells += stencil_box_cells(&held);
    }
    assert_int_equal(cells, stencil_box_cells(&array));
}

/* A mesh that count[] parts can cut, of extents that they share unevenly. thin: parts may be thinner than
 * their ghost cells are deep, and so may the problem. */
static stencil_mesh mesh_of(int rank, const int count[3], int64_t width, int boundaries, bool thin) {
    stencil_mesh m = {.rank = rank,
                      .precision = STENCIL_FLOAT32,
                      .shape = stencil_shape_find(rank == 2 ? "j2d25pt" : "j3d27pt"),
                      .n = {1, 1, 1}};
    for (int axis = 3 - rank; axis < 3; axis++) {
        const int64_t least = thin ? 1 : width;
        m.boundary[axis] = (stencil_boundary)(boundaries % 3);
        boundaries /= 3;
        m.ghosts[axis] = width;
        m.wraps[axis] = m.boundary[axis] == STENCIL_FIXED ? 0 : below(4) > 0 ? width : below(width + 1);
        m.n[axis] = count[axis] * least + below(rank == 2 ? 9 : 4);
        if (axis == STENCIL_X && count[axis] > 1) /* cut at multiples of 64 */
            m.n[axis] = 64 * (count[axis] - 1) + least + below(thin ? 9 : 65 - least);
    }
    return m;
}

/* Cuts along no axis to all of them, by the fixed seed a few of each kind with every width, all boundaries.
 */
static void with_all(int rank, bool thin, void (*expect)(const stencil_cut *)) {
    static const int counts2[][3] = {{1, 1, 1}, {1, 2, 1}, {1, 3, 1}, {1, 8, 1}, {1, 1, 2}, {1, 1, 3},
                                     {1, 2, 2}, {1, 3, 2}, {1, 2, 4}, {1, 5, 1}, {1, 7, 1}, {1, 1, 5}};
    static const int counts3[][3] = {{1, 1, 1}, {2, 1, 1}, {5, 1, 1}, {1, 2, 1}, {1, 1, 2}, {2, 2, 1},
                                     {3, 2, 1}, {2, 1, 2}, {1, 2, 2}, {2, 2, 2}, {8, 1, 1}, {1, 7, 1}};
    enum { COUNTS = sizeof counts2 / sizeof *counts2 };
    int turn = 0;
    for (int64_t width = 1; width <= WIDTH_MAX; width++)
        for (int boundaries = 0; boundaries < (rank == 2 ? 9 : 27); boundaries++)
            for (int k = 0; k < (rank == 2 ? 12 : 3); k++) {
                const int *count = rank == 2 ? counts2[turn++ % COUNTS] : counts3[turn++ % COUNTS];
                stencil_mesh mesh = mesh_of(rank, count, width, boundaries, thin);
                stencil_cut cut;
                if (thin) { /* which the maker refuses: made as if nothing were read, and then given its depth
                             */
                    int64_t ghosts[3] = {mesh.ghosts[0], mesh.ghosts[1], mesh.ghosts[2]};
                    memset(mesh.ghosts, 0, sizeof mesh.ghosts);
                    assert_int_equal(stencil_cut_make(&cut, &mesh, count[0] * count[1] * count[2], count),
                                     STENCIL_OK);
                    memcpy(cut.mesh.ghosts, ghosts, sizeof ghosts);
                    assert_int_equal(stencil_layout_init(&cut.layout, cut.mesh.precision,
                                                         stencil_cut_box(&cut, 0).n, ghosts),
                                     STENCIL_OK);
                } else {
                    assert_int_equal(stencil_cut_make(&cut, &mesh, count[0] * count[1] * count[2], count),
                                     STENCIL_OK);
                }
                assert_true(cut.parts <= PARTS_MAX);
                expect(&cut);
            }
}

static void transfers_fill_all_ghost_cells(void **state) {
    (void)state;
    with_all(2, false, expect_all);
    with_all(3, false, expect_all);
}

/* Ghost cells of several parts, and of several turns around the problem. */
static void widths_may_be_larger_than_parts(void **state) {
    (void)state;
    with_all(2, true, expect_all);
    with_all(3, true, expect_all);
}

static void sweeps_and_copies_fill_them(void **state) {
    (void)state;
    with_all(2, false, expect_stored_and_copied);
    with_all(3, false, expect_stored_and_copied);
}

static void parts_read_their_boxes(void **state) {
    (void)state;
    with_all(2, false, expect_read);
    with_all(3, false, expect_read);
    with_all(2, true, expect_read);
}

static void cells_are_shared_out(void **state) {
    (void)state;
    with_all(2, false, expect_shared_out);
    with_all(3, false, expect_shared_out);
}

/* Parts that are thinner than ghost cells are deep, asked for or not. */
static void thin_parts_are_refused(void **state) {
    (void)state;
    static const int none[3] = {0, 0, 0}, four[3] = {1, 4, 1};
    stencil_mesh mesh = {.rank = 2,
                         .precision = STENCIL_FLOAT32,
                         .shape = stencil_shape_find("j2d5pt"),
                         .n = {1, 31, 31},
                         .ghosts = {0, 8, 8}};
    stencil_cut cut;
    assert_int_equal(stencil_cut_make(&cut, &mesh, 4, four), STENCIL_USAGE);
    assert_int_equal(stencil_cut_make(&cut, &mesh, 4, none), STENCIL_USAGE);
    assert_int_equal(stencil_cut_make(&cut, &mesh, 3, none), STENCIL_OK);
    assert_int_equal(cut.count[STENCIL_Y], 3);
    mesh.ghosts[STENCIL_Y] = 7;
    assert_int_equal(stencil_cut_make(&cut, &mesh, 4, four), STENCIL_OK);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(transfers_fill_all_ghost_cells), cmocka_unit_test(widths_may_be_larger_than_parts),
        cmocka_unit_test(sweeps_and_copies_fill_them),    cmocka_unit_test(parts_read_their_boxes),
        cmocka_unit_test(cells_are_shared_out),           cmocka_unit_test(thin_parts_are_refused),
    };
    return cmocka_run_group_tests_name("geometry", tests, NULL, NULL);
}

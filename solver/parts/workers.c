#include "solver/parts/workers.h"

#include <stdlib.h>
#include <string.h>

/* The tiles of this process's parts, and the points that are read around their cells. */
typedef struct tiling {
    const stencil_cut *cut;
    const stencil_workers *workers;
    uint32_t participants;
    int64_t tiles[STENCIL_PARTS_MAX][3];  /* number of tiles of each own part, along each axis */
    uint32_t base[STENCIL_PARTS_MAX + 1]; /* number of an own part's first tile; [owned]: of all tiles */
    int point_count;
    int32_t offset[STENCIL_POINTS_MAX][3];
} tiling;

static void tiling_init(tiling *t, const stencil_cut *cut, const stencil_workers *workers) {
    *t = (tiling){.cut = cut, .workers = workers, .participants = workers->first[cut->owned]};
    t->point_count = stencil_shape_offsets(cut->mesh.shape, t->offset);
    for (int k = 0; k < cut->owned; k++)
        t->base[k + 1] = t->base[k] + (uint32_t)stencil_tiles(stencil_cut_box(cut, cut->own + k).n,
                                                              workers->tile, t->tiles[k]);
}

/* The participant that makes a tile of a part. */
static uint32_t owner_of(const tiling *t, int part, int64_t z, int64_t y, int64_t x) {
    const int k = part - t->cut->own;
    const uint32_t *first = t->workers->first + k;
    const uint32_t tile = (uint32_t)((z * t->tiles[k][1] + y) * t->tiles[k][2] + x);
    if (t->workers->together)
        return stencil_share_owner(t->base[t->cut->owned], t->participants, t->base[k] + tile);
    return first[0] + tile % (first[1] - first[0]);
}

/* The participant that makes an updated cell of a part. */
static uint32_t maker_of(const tiling *t, int part, const int64_t cell[3]) {
    const int64_t *size = t->workers->tile;
    return owner_of(t, part, cell[0] / size[0], cell[1] / size[1], cell[2] / size[2]);
}

/* The participants that wait for each other: each has a row of bits, one for every participant. */
typedef struct relation {
    tiling tiling;
    uint32_t self; /* the owner of the current tile */
    size_t row;    /* words of a row */
    uint64_t *bits;
} relation;

/* Records that the owner of a tile, which reads the cells of a piece, waits for the owners of these cells. */
static void relate_piece(void *context, const stencil_piece *piece) {
    relation *r = context;
    int64_t first[3], last[3];
    if (!stencil_cut_has(r->tiling.cut, piece->part))
        return;
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        first[axis] = piece->box.first[axis] / r->tiling.workers->tile[axis];
        last[axis] = (piece->box.first[axis] + piece->box.n[axis] - 1) / r->tiling.workers->tile[axis];
    }
    for (int64_t z = first[0]; z <= last[0]; z++)
        for (int64_t y = first[1]; y <= last[1]; y++)
            for (int64_t x = first[2]; x <= last[2]; x++) {
                const uint32_t other = owner_of(&r->tiling, piece->part, z, y, x);
                if (other != r->self)
                    r->bits[r->self * r->row + other / 64] |= UINT64_C(1) << other % 64;
            }
}

static void relate_tile(relation *r, int part, int64_t index) {
    const tiling *t = &r->tiling;
    const int64_t *tiles = t->tiles[part - t->cut->own], *size = t->workers->tile;
    const int64_t tile[3] = {index / tiles[2] / tiles[1], index / tiles[2] % tiles[1], index % tiles[2]};
    stencil_box cells = stencil_cut_box(t->cut, part);
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int64_t left = cells.n[axis] - tile[axis] * size[axis];
        cells.first[axis] += tile[axis] * size[axis];
        cells.n[axis] = stencil_smaller(left, size[axis]);
    }
    r->self = owner_of(t, part, tile[0], tile[1], tile[2]);
    if (t->cut->mesh.ghosts[STENCIL_X] >
        t->cut->mesh.shape->radius) { /* passes of several steps read all around the tile */
        const stencil_box read = stencil_box_grow(&cells, t->cut->mesh.ghosts);
        stencil_cut_split(t->cut, &read, relate_piece, r);
        return;
    }
    for (int k = 0; k < t->point_count; k++) {
        stencil_box read = cells;
        for (int axis = 0; axis < STENCIL_AXES; axis++)
            read.first[axis] += t->offset[k][axis];
        stencil_cut_split(t->cut, &read, relate_piece, r);
    }
}

/* Makes lists of neighbours from rows of bits. false: no memory. */
static bool list_neighbors(stencil_neighbors *neighbors, const relation *r) {
    uint32_t count = 0;
    for (size_t i = 0; i < r->tiling.participants * r->row; i++)
        count += (uint32_t)__builtin_popcountll(r->bits[i]);
    neighbors->list =
        malloc((count + (size_t)1) * sizeof *neighbors->list); /* + 1: never NULL for an empty list */
    neighbors->first = malloc((r->tiling.participants + (size_t)1) * sizeof *neighbors->first);
    if (neighbors->list == NULL || neighbors->first == NULL)
        return false;
    neighbors->first[0] = count = 0;
    for (uint32_t p = 0; p < r->tiling.participants; p++) {
        for (uint32_t word = 0; word < r->row; word++)
            for (uint64_t bits = r->bits[p * r->row + word]; bits != 0; bits &= bits - 1)
                neighbors->list[count++] = 64 * word + (uint32_t)__builtin_ctzll(bits);
        neighbors->first[p + 1] = count;
    }
    return true;
}

stencil_status stencil_neighbors_find(stencil_neighbors *neighbors, const stencil_cut *cut,
                                      const stencil_workers *workers) {
    relation r;
    *neighbors = (stencil_neighbors){0};
    tiling_init(&r.tiling, cut, workers);
    r.row = r.tiling.participants / 64 + 1;
    r.bits = calloc(r.tiling.participants * r.row, sizeof *r.bits);
    for (int k = 0; k < cut->owned && r.bits != NULL; k++)
        for (uint32_t tile = 0; tile < r.tiling.base[k + 1] - r.tiling.base[k]; tile++)
            relate_tile(&r, cut->own + k, tile);
    const bool listed = r.bits != NULL && list_neighbors(neighbors, &r);
    free(r.bits);
    CHECK(listed, NO_MEMORY, "no memory for the neighbours of %u blocks", (unsigned)r.tiling.participants);
    return STENCIL_OK;
}

/* Appends the neighbours of the tile at `place` in the grid of all parts, of extent `all`, to a list; returns
 * their number. */
static uint32_t add_around(uint32_t *list, const uint32_t *first, const int64_t tiles[3],
                           const int64_t all[3], const bool periodic[3], const int64_t place[3]) {
    uint32_t count = 0;
    for (int direction = 0; direction < 27; direction++) {
        int64_t at[3] = {place[0] + direction / 9 - 1, place[1] + direction / 3 % 3 - 1,
                         place[2] + direction % 3 - 1};
        bool exists = true;
        for (int axis = 0; axis < 3; axis++) {
            exists = exists && (periodic[axis] || (at[axis] >= 0 && at[axis] < all[axis]));
            at[axis] = (at[axis] + all[axis]) % all[axis];
        }
        if (exists && memcmp(at, place, sizeof at) != 0)
            list[count++] = first[at[1] / tiles[1]] +
                            (uint32_t)((at[0] * tiles[1] + at[1] % tiles[1]) * tiles[2] + at[2]);
    }
    return count;
}

stencil_status stencil_neighbors_of_grid(stencil_neighbors *neighbors, int parts, const uint32_t *first,
                                         const int64_t tiles[3], const bool periodic[3]) {
    const uint32_t blocks = first[parts];
    const int64_t all[3] = {tiles[0], tiles[1] * parts, tiles[2]}, of_part = tiles[0] * tiles[1] * tiles[2];
    uint32_t count = 0;
    neighbors->first = malloc((blocks + (size_t)1) * sizeof *neighbors->first);
    neighbors->list = malloc((26 * (size_t)blocks + 1) * sizeof *neighbors->list);
    CHECK(neighbors->first != NULL && neighbors->list != NULL, NO_MEMORY,
          "no memory for the neighbours of %u blocks", (unsigned)blocks);
    for (int part = 0; part < parts; part++)
        for (uint32_t block = first[part]; block < first[part + 1]; block++) {
            const int64_t tile = block - first[part],
                          place[3] = {tile / tiles[2] / tiles[1],
                                      tile / tiles[2] % tiles[1] + part * tiles[1], tile % tiles[2]};
            neighbors->first[block] = count;
            if (tile < of_part)
                count += add_around(neighbors->list + count, first, tiles, all, periodic, place);
        }
    neighbors->first[blocks] = count;
    return STENCIL_OK;
}

void stencil_neighbors_destroy(stencil_neighbors *neighbors) {
    free(neighbors->first);
    free(neighbors->list);
    *neighbors = (stencil_neighbors){0};
}

/* A search for the cells that part `to` reads of others. */
typedef struct search {
    tiling tiling;
    int to;
    stencil_box own; /* the updated cells of part `to` */
    stencil_ll_lists *lists;
    uint64_t *const *slot; /* [parts], the words of each part's slots */
} search;

/* Counts a cell in the list of its participant, or, once the items are allocated, appends it. While counting
 * first[p + 2] is the number of items of participant p; while appending first[p + 1] is its next index. */
static void put(stencil_ll_list *list, uint32_t owner, const stencil_ll_entry *item) {
    if (list->item == NULL)
        list->first[owner + 2]++;
    else
        list->item[list->first[owner + 1]++] = *item;
}

/* Finds the participants that read ghost cell `cell`. Returns their number. */
static int find_readers(const search *s, const int64_t cell[3], uint32_t *readers) {
    int count = 0;
    for (int k = 0; k < s->tiling.point_count; k++) {
        int64_t reader[3];
        bool inside = true;
        for (int axis = 0; axis < STENCIL_AXES; axis++) {
            reader[axis] = cell[axis] - s->tiling.offset[k][axis];
            inside = inside && reader[axis] >= 0 && reader[axis] < s->own.n[axis];
        }
        if (!inside)
            continue;
        const uint32_t owner = maker_of(&s->tiling, s->to, reader);
        bool known = false;
        for (int i = 0; i < count; i++)
            known = known || readers[i] == owner;
        if (!known)
            readers[count++] = owner;
    }
    return count;
}

/* Adds an LL slot for each cell of another part's piece that a participant of part `to` reads. */
static void add_piece(void *context, const stencil_piece *piece) {
    search *s = context;
    const stencil_layout *layout = &s->tiling.cut->layout;
    const int64_t words = stencil_ll_words(layout->precision);
    for (int64_t i = 0; piece->part != s->to && i < stencil_box_cells(&piece->box); i++) {
        uint32_t readers[STENCIL_POINTS_MAX];
        int64_t from[3], to[3], rest = i;
        for (int axis = STENCIL_AXES - 1; axis >= 0; axis--) {
            const int64_t n = piece->box.n[axis], k = rest % n;
            to[axis] = piece->at[axis] - s->own.first[axis] + k;
            from[axis] = piece->box.first[axis] + (piece->mirrored[axis] ? n - 1 - k : k);
            rest /= n;
        }
        const int count = find_readers(s, to, readers);
        if (count == 0)
            continue;
        uint64_t *const slot = s->slot[s->to] + words * s->lists->slots[s->to]++;
        stencil_ll_entry item = {stencil_layout_offset(layout, from), slot};
        put(&s->lists->send, maker_of(&s->tiling, piece->part, from), &item);
        item.cell = stencil_layout_offset(layout, to);
        for (int k = 0; k < count; k++)
            put(&s->lists->receive, readers[k], &item);
    }
}

/* Turns the counts of a list into indices, and allocates the items. false: no memory. */
static bool make_room(stencil_ll_list *list, uint32_t participants) {
    for (uint32_t p = 0; p < participants; p++)
        list->first[p + 2] += list->first[p + 1];
    list->item = malloc(((size_t)list->first[participants + 1] + 1) * sizeof *list->item);
    return list->item != NULL;
}

/* Makes the lists of senders and receivers in two iterations, of which the first counts. false: no memory. */
static bool find(search *s) {
    const uint32_t participants = s->tiling.participants;
    stencil_ll_list *const send = &s->lists->send, *const receive = &s->lists->receive;
    send->first = calloc((size_t)participants + 2, sizeof *send->first);
    receive->first = calloc((size_t)participants + 2, sizeof *receive->first);
    if (send->first == NULL || receive->first == NULL)
        return false;
    for (int round = 0; round < 2; round++) {
        memset(s->lists->slots, 0, sizeof s->lists->slots);
        for (s->to = 0; s->to < s->tiling.cut->parts; s->to++) {
            const stencil_box window = stencil_cut_window(s->tiling.cut, s->to);
            s->own = stencil_cut_box(s->tiling.cut, s->to);
            stencil_cut_split(s->tiling.cut, &window, add_piece, s);
        }
        if (round == 0 && !(make_room(send, participants) && make_room(receive, participants)))
            return false;
    }
    return true;
}

stencil_status stencil_ll_find(stencil_ll_lists *lists, const stencil_cut *cut,
                               const stencil_workers *workers, uint64_t *const slot[]) {
    *lists = (stencil_ll_lists){0};
    search s = {.lists = lists, .slot = slot};
    tiling_init(&s.tiling, cut, workers);
    CHECK(find(&s), NO_MEMORY, "no memory for the ghost cells of %d parts", cut->parts);
    return STENCIL_OK;
}

void stencil_ll_destroy(stencil_ll_lists *lists) {
    free(lists->send.first);
    free(lists->send.item);
    free(lists->receive.first);
    free(lists->receive.item);
    *lists = (stencil_ll_lists){0};
}

bool stencil_ll_fits(const stencil_mesh *mesh) {
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        if (mesh->boundary[axis] != STENCIL_FIXED && mesh->wraps[axis] != mesh->ghosts[axis])
            return false;
    return true;
}

int64_t stencil_ll_slots_most(const stencil_cut *cut) {
    const stencil_box own = stencil_cut_box(cut, 0), all = stencil_box_grow(&own, cut->mesh.ghosts);
    int64_t inner = 1;
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        inner *= cut->count[axis] > 1 ? own.n[axis] : all.n[axis];
    return stencil_box_cells(&all) - inner;
}

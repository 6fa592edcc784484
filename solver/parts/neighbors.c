#include "solver/parts/neighbors.h"

#include <stdlib.h>

/* Search for the neighbours of one participant after the other. */
typedef struct search {
    const stencil_cut *cut;
    const stencil_workers *workers;
    uint32_t participants, self;          /* whose neighbours are looked for */
    int64_t tiles[STENCIL_PARTS_MAX][3];  /* of each part, along each axis */
    uint32_t base[STENCIL_PARTS_MAX + 1]; /* tiles of the parts before; behind the last one: of all */
    int point_count;
    int32_t offset[STENCIL_POINTS_MAX][3];
    uint32_t *seen; /* [participants]: 1 + the participant that has it in its list already */
    uint32_t *list;
    size_t length, capacity;
    bool failed; /* there was no memory */
} search;

/* Tiles of a part along each axis. Returns how many it has. */
static int64_t tiles_of(const stencil_workers *workers, const stencil_cut *cut, int part, int64_t tiles[3]) {
    return stencil_tiles(stencil_cut_box(cut, part).n, workers->tile, tiles);
}

/* Where the participants of a part take its tiles round-robin. */
static uint32_t turn_of(const stencil_workers *workers, int part, uint32_t tile) {
    const uint32_t first = workers->first[part];
    return first + tile % (workers->first[part + 1] - first);
}

uint32_t stencil_workers_owner(const stencil_workers *workers, const stencil_cut *cut, int part,
                               const int64_t cell[3]) {
    int64_t tiles[3], tile = 0;
    tiles_of(workers, cut, part, tiles);
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        tile = tile * tiles[axis] + cell[axis] / workers->tile[axis];
    return turn_of(workers, part, (uint32_t)tile);
}

static void append(search *s, uint32_t participant) {
    if (s->length == s->capacity) {
        const size_t capacity = s->capacity > 0 ? 2 * s->capacity : 1024;
        uint32_t *larger = s->failed ? NULL : realloc(s->list, capacity * sizeof *larger);
        s->failed = larger == NULL;
        if (s->failed)
            return;
        s->list = larger;
        s->capacity = capacity;
    }
    s->list[s->length++] = participant;
}

/* Adds the owners of the tiles that the cells of a piece are in. */
static void add_piece(void *context, const stencil_piece *piece) {
    search *s = context;
    const int64_t *tiles = s->tiles[piece->part];
    int64_t first[3], last[3];
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        first[axis] = piece->box.first[axis] / s->workers->tile[axis];
        last[axis] = (piece->box.first[axis] + piece->box.n[axis] - 1) / s->workers->tile[axis];
    }
    for (int64_t z = first[0]; z <= last[0]; z++)
        for (int64_t y = first[1]; y <= last[1]; y++)
            for (int64_t x = first[2]; x <= last[2]; x++) {
                const uint32_t tile = (uint32_t)((z * tiles[1] + y) * tiles[2] + x);
                const uint32_t other = s->workers->together
                                           ? stencil_share_owner(s->base[s->cut->parts], s->participants,
                                                                 s->base[piece->part] + tile)
                                           : turn_of(s->workers, piece->part, tile);
                if (other == s->self || s->seen[other] == 1 + s->self)
                    continue;
                s->seen[other] = 1 + s->self;
                append(s, other);
            }
}

/* Adds whom it waits for because of one tile of one part: the owners of all that the tile reads. */
static void add_tile(search *s, int part, uint32_t t) {
    const int64_t *tiles = s->tiles[part];
    const int64_t tile[3] = {t / tiles[2] / tiles[1], t / tiles[2] % tiles[1], t % tiles[2]};
    stencil_box cells = stencil_cut_box(s->cut, part);
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int64_t size = s->workers->tile[axis], left = cells.n[axis] - tile[axis] * size;
        cells.first[axis] += tile[axis] * size;
        cells.n[axis] = left < size ? left : size;
    }
    for (int k = 0; k < s->point_count; k++) {
        stencil_box read = cells;
        for (int axis = 0; axis < STENCIL_AXES; axis++)
            read.first[axis] += s->offset[k][axis];
        stencil_cut_split(s->cut, &read, add_piece, s);
    }
}

/* Adds whom participant s->self waits for. */
static void find_of(search *s) {
    const uint32_t self = s->self, *first = s->workers->first, all = s->base[s->cut->parts];
    for (int part = 0; part < s->cut->parts; part++) {
        const uint32_t tiles = s->base[part + 1] - s->base[part];
        int64_t begin = 0, end = 0, stride = 1;
        if (s->workers->together) {
            begin = (int64_t)stencil_share(all, s->participants, self) - s->base[part];
            end = (int64_t)stencil_share(all, s->participants, self + 1) - s->base[part];
        } else if (self >= first[part] && self < first[part + 1]) {
            begin = self - first[part];
            end = tiles;
            stride = first[part + 1] - first[part];
        }
        for (int64_t t = begin > 0 ? begin : 0; t < end && t < tiles; t += stride)
            add_tile(s, part, (uint32_t)t);
    }
}

stencil_status stencil_neighbors_find(stencil_neighbors *neighbors, const stencil_cut *cut,
                                      const stencil_workers *workers) {
    const uint32_t participants = workers->first[cut->parts];
    search s = {.cut = cut, .workers = workers, .participants = participants};
    for (int part = 0; part < cut->parts; part++)
        s.base[part + 1] = s.base[part] + (uint32_t)tiles_of(workers, cut, part, s.tiles[part]);
    s.point_count = stencil_shape_offsets(cut->mesh.shape, s.offset);
    neighbors->first = malloc((participants + 1) * sizeof *neighbors->first);
    s.seen = calloc(participants, sizeof *s.seen);
    s.failed = neighbors->first == NULL || s.seen == NULL;
    for (; s.self < participants && !s.failed; s.self++) {
        neighbors->first[s.self] = (uint32_t)s.length;
        find_of(&s);
    }
    if (!s.failed)
        neighbors->first[participants] = (uint32_t)s.length;
    append(&s, 0); /* never empty: an address to hand over */
    free(s.seen);
    neighbors->list = s.list;
    if (s.failed)
        stencil_neighbors_destroy(neighbors);
    CHECK(!s.failed, NO_MEMORY, "no memory for the neighbours of %u blocks", (unsigned)participants);
    return STENCIL_OK;
}

void stencil_neighbors_destroy(stencil_neighbors *neighbors) {
    if (neighbors == NULL)
        return;
    free(neighbors->first);
    free(neighbors->list);
    *neighbors = (stencil_neighbors){0};
}

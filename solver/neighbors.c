#include "solver/neighbors.h"

#include <stdlib.h>

/* Search for the neighbours of one participant after the other. */
typedef struct search {
    const stencil_domain *domain;
    int64_t tile[3], count[3];
    uint32_t tiles, participants;
    int point_count;
    int32_t offset[STENCIL_POINTS_MAX][3];
    uint32_t *seen; /* [participants]: 1 + the participant that has it in its list already */
    uint32_t *list;
    size_t length, capacity;
} search;

static uint32_t owner_of(const search *s, uint32_t tile) {
    const uint32_t each = s->tiles / s->participants, more = s->tiles % s->participants;
    if (tile < (each + 1) * more)
        return tile / (each + 1);
    return more + (tile - (each + 1) * more) / each;
}

static bool append(search *s, uint32_t participant) {
    if (s->length == s->capacity) {
        const size_t capacity = s->capacity > 0 ? 2 * s->capacity : 1024;
        uint32_t *larger = realloc(s->list, capacity * sizeof *larger);
        if (larger == NULL)
            return false;
        s->list = larger;
        s->capacity = capacity;
    }
    s->list[s->length++] = participant;
    return true;
}

/* Tiles along an axis that hold the cells [low, high] or, beyond an edge, what their rim cells are copies of;
 * fixed rims are nobody's. At most two runs of tiles: run[k] is first and last, the number of runs is
 * returned. */
static int tile_runs(const search *s, int axis, int64_t low, int64_t high, int64_t run[2][2]) {
    const int64_t n = s->domain->n[axis], size = s->tile[axis];
    const stencil_rim rim = s->domain->rim[axis];
    int runs = 0;
    const int64_t inner_low = low > 0 ? low : 0, inner_high = high < n - 1 ? high : n - 1;
    if (inner_low <= inner_high) {
        run[runs][0] = inner_low / size;
        run[runs++][1] = inner_high / size;
    }
    int64_t image_low = 0, image_high = -1;
    if (low < 0 && rim != STENCIL_RIM_NONE) {
        const int64_t end = high < 0 ? high : -1;
        image_low = rim == STENCIL_RIM_PERIODIC ? low + n : -1 - end;
        image_high = rim == STENCIL_RIM_PERIODIC ? end + n : -1 - low;
    } else if (high >= n && rim != STENCIL_RIM_NONE) {
        const int64_t begin = low >= n ? low : n;
        image_low = rim == STENCIL_RIM_PERIODIC ? begin - n : 2 * n - 1 - high;
        image_high = rim == STENCIL_RIM_PERIODIC ? high - n : 2 * n - 1 - begin;
    }
    if (image_low <= image_high) {
        run[runs][0] = image_low / size;
        run[runs++][1] = image_high / size;
    }
    return runs;
}

/* Adds the owners of all tiles that `tile` of participant `self` reads at one point. */
static bool add_point(search *s, uint32_t self, const int64_t tile[3], const int32_t offset[3]) {
    int64_t run[3][2][2];
    int runs[3];
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int64_t low = tile[axis] * s->tile[axis], n = s->domain->n[axis];
        const int64_t high = low + s->tile[axis] < n ? low + s->tile[axis] : n;
        runs[axis] = tile_runs(s, axis, low + offset[axis], high - 1 + offset[axis], run[axis]);
    }
    for (int k = 0; k < runs[0] * runs[1] * runs[2]; k++) {
        const int64_t *z = run[0][k % runs[0]], *y = run[1][k / runs[0] % runs[1]],
                      *x = run[2][k / runs[0] / runs[1]];
        for (int64_t tz = z[0]; tz <= z[1]; tz++)
            for (int64_t ty = y[0]; ty <= y[1]; ty++)
                for (int64_t tx = x[0]; tx <= x[1]; tx++) {
                    const uint32_t other =
                        owner_of(s, (uint32_t)((tz * s->count[1] + ty) * s->count[2] + tx));
                    if (other == self || s->seen[other] == 1 + self)
                        continue;
                    s->seen[other] = 1 + self;
                    if (!append(s, other))
                        return false;
                }
    }
    return true;
}

static bool find_of(search *s, uint32_t self) {
    const uint32_t end = stencil_tile_share(s->tiles, s->participants, self + 1);
    for (uint32_t t = stencil_tile_share(s->tiles, s->participants, self); t < end; t++) {
        const int64_t tile[3] = {t / s->count[2] / s->count[1], t / s->count[2] % s->count[1],
                                 t % s->count[2]};
        for (int k = 0; k < s->point_count; k++)
            if (!add_point(s, self, tile, s->offset[k]))
                return false;
    }
    return true;
}

static bool find_all(search *s, stencil_neighbors *neighbors) {
    for (uint32_t p = 0; p < s->participants; p++) {
        neighbors->first[p] = (uint32_t)s->length;
        if (!find_of(s, p))
            return false;
    }
    neighbors->first[s->participants] = (uint32_t)s->length;
    return append(s, 0); /* never empty: an address to hand over */
}

stencil_status stencil_neighbors_find(stencil_neighbors *neighbors, const stencil_domain *domain,
                                      const stencil_shape *shape, const int64_t tile[3],
                                      uint32_t participants) {
    search s = {.domain = domain, .participants = participants, .tiles = 1};
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        s.tile[axis] = tile[axis];
        s.count[axis] = (domain->n[axis] + tile[axis] - 1) / tile[axis];
        s.tiles *= (uint32_t)s.count[axis];
    }
    s.point_count = stencil_shape_offsets(shape, s.offset);
    *neighbors = (stencil_neighbors){.participants = participants};
    neighbors->first = malloc((participants + 1) * sizeof *neighbors->first);
    s.seen = calloc(participants, sizeof *s.seen);
    const bool found = neighbors->first != NULL && s.seen != NULL && find_all(&s, neighbors);
    free(s.seen);
    neighbors->list = s.list;
    if (!found)
        stencil_neighbors_destroy(neighbors);
    CHECK(found, NO_MEMORY, "no memory for the neighbours of %u blocks", (unsigned)participants);
    return STENCIL_OK;
}

void stencil_neighbors_destroy(stencil_neighbors *neighbors) {
    if (neighbors == NULL)
        return;
    free(neighbors->first);
    free(neighbors->list);
    *neighbors = (stencil_neighbors){0};
}

#include "solver/neighbors.h"

#include <stdlib.h>

/* Search for the neighbours of one participant after the other. */
typedef struct search {
    const stencil_problem *problem;
    const stencil_cut *cut;
    const stencil_workers *workers;
    uint32_t participants, tiles;
    uint32_t base[STENCIL_PARTS_MAX + 1]; /* tiles of the parts before */
    int point_count;
    int32_t offset[STENCIL_POINTS_MAX][3];
    uint32_t *seen; /* [participants]: 1 + the participant that has it in its list already */
    uint32_t *list;
    size_t length, capacity;
} search;

/* Tiles first to last along an axis, of the parts at `place` of it. */
typedef struct run {
    int place;
    int64_t first, last;
} run;

static int64_t tiles_of(const stencil_workers *workers, const stencil_cut *cut, int axis, int place) {
    const int64_t n = cut->first[axis][place + 1] - cut->first[axis][place];
    return (n + workers->tile[axis] - 1) / workers->tile[axis];
}

static int64_t tiles_along(const search *s, int axis, int place) {
    return tiles_of(s->workers, s->cut, axis, place);
}

/* Where the participants of a part take its tiles in turns. */
static uint32_t turn_of(const stencil_workers *workers, int part, uint32_t tile) {
    const uint32_t first = workers->first[part];
    return first + tile % (workers->first[part + 1] - first);
}

uint32_t stencil_workers_owner(const stencil_workers *workers, const stencil_cut *cut, int part,
                               const int64_t cell[3]) {
    int place[3];
    int64_t tile = 0;
    stencil_cut_place(cut, part, place);
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        tile = tile * tiles_of(workers, cut, axis, place[axis]) + cell[axis] / workers->tile[axis];
    return turn_of(workers, part, (uint32_t)tile);
}

/* Who makes tile `tile` of a part. */
static uint32_t owner_of(const search *s, int part, uint32_t tile) {
    if (s->workers->together)
        return stencil_share_owner(s->tiles, s->participants, s->base[part] + tile);
    return turn_of(s->workers, part, tile);
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

/* Adds the tiles that hold the cells [low, high] of an axis, of all parts that have some. */
static int add_runs(const search *s, int axis, int64_t low, int64_t high, run *runs, int count) {
    const int64_t *first = s->cut->first[axis];
    for (int place = 0; place < s->cut->count[axis]; place++) {
        const int64_t from = low > first[place] ? low : first[place];
        const int64_t to = high < first[place + 1] - 1 ? high : first[place + 1] - 1;
        if (from <= to)
            runs[count++] = (run){place, (from - first[place]) / s->workers->tile[axis],
                                  (to - first[place]) / s->workers->tile[axis]};
    }
    return count;
}

/* The same for cells that may be beyond the ends of the axis: there for those that their rim cells are copies
 * of; fixed rims are nobody's. */
static int find_runs(const search *s, int axis, int64_t low, int64_t high, run *runs) {
    const int64_t n = s->problem->n[axis];
    const stencil_boundary boundary =
        s->problem->radius[axis] > 0 || s->cut->count[axis] > 1 ? s->problem->boundary[axis] : STENCIL_FIXED;
    int count = add_runs(s, axis, low > 0 ? low : 0, high < n - 1 ? high : n - 1, runs, 0);
    if (low < 0 && boundary != STENCIL_FIXED) {
        const int64_t end = high < 0 ? high : -1;
        count = boundary == STENCIL_PERIODIC ? add_runs(s, axis, low + n, end + n, runs, count)
                                             : add_runs(s, axis, -1 - end, -1 - low, runs, count);
    } else if (high >= n && boundary != STENCIL_FIXED) {
        const int64_t begin = low >= n ? low : n;
        count = boundary == STENCIL_PERIODIC
                    ? add_runs(s, axis, begin - n, high - n, runs, count)
                    : add_runs(s, axis, 2 * n - 1 - high, 2 * n - 1 - begin, runs, count);
    }
    return count;
}

static bool add_owner(search *s, uint32_t self, uint32_t other) {
    if (other == self || s->seen[other] == 1 + self)
        return true;
    s->seen[other] = 1 + self;
    return append(s, other);
}

/* Adds the owners of the tiles in a box of runs. */
static bool add_box(search *s, uint32_t self, const run *z, const run *y, const run *x) {
    const int place[3] = {z->place, y->place, x->place};
    const int part = stencil_cut_number(s->cut, place);
    const int64_t across = tiles_along(s, STENCIL_X, x->place), high = tiles_along(s, STENCIL_Y, y->place);
    for (int64_t tz = z->first; tz <= z->last; tz++)
        for (int64_t ty = y->first; ty <= y->last; ty++)
            for (int64_t tx = x->first; tx <= x->last; tx++)
                if (!add_owner(s, self, owner_of(s, part, (uint32_t)((tz * high + ty) * across + tx))))
                    return false;
    return true;
}

/* Adds the owners of all tiles that a tile of participant `self`, whose first cell is `low` of the whole
 * problem and which ends before `high`, reads at one point. */
static bool add_point(search *s, uint32_t self, const int64_t low[3], const int64_t high[3],
                      const int32_t offset[3]) {
    run runs[3][2 * STENCIL_PARTS_MAX];
    int count[3];
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        count[axis] = find_runs(s, axis, low[axis] + offset[axis], high[axis] - 1 + offset[axis], runs[axis]);
    for (int k = 0; k < count[0] * count[1] * count[2]; k++)
        if (!add_box(s, self, &runs[0][k % count[0]], &runs[1][k / count[0] % count[1]],
                     &runs[2][k / count[0] / count[1]]))
            return false;
    return true;
}

/* Adds whom participant `self` waits for because of one tile of one part. */
static bool add_tile(search *s, uint32_t self, int part, uint32_t t) {
    int place[3];
    int64_t low[3], high[3];
    stencil_cut_place(s->cut, part, place);
    const int64_t across = tiles_along(s, STENCIL_X, place[STENCIL_X]),
                  rows = tiles_along(s, STENCIL_Y, place[STENCIL_Y]);
    const int64_t tile[3] = {t / across / rows, t / across % rows, t % across};
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int64_t end = s->cut->first[axis][place[axis] + 1];
        low[axis] = s->cut->first[axis][place[axis]] + tile[axis] * s->workers->tile[axis];
        high[axis] = low[axis] + s->workers->tile[axis] < end ? low[axis] + s->workers->tile[axis] : end;
    }
    for (int k = 0; k < s->point_count; k++)
        if (!add_point(s, self, low, high, s->offset[k]))
            return false;
    return true;
}

static bool find_of(search *s, uint32_t self) {
    for (int part = 0; part < s->cut->parts; part++) {
        const uint32_t tiles = s->base[part + 1] - s->base[part], *first = s->workers->first;
        int64_t begin = 0, end = 0, stride = 1;
        if (s->workers->together) {
            begin = (int64_t)stencil_share(s->tiles, s->participants, self) - s->base[part];
            end = (int64_t)stencil_share(s->tiles, s->participants, self + 1) - s->base[part];
        } else if (self >= first[part] && self < first[part + 1]) {
            begin = self - first[part];
            end = tiles;
            stride = first[part + 1] - first[part];
        }
        for (int64_t t = begin > 0 ? begin : 0; t < end && t < tiles; t += stride)
            if (!add_tile(s, self, part, (uint32_t)t))
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

stencil_status stencil_neighbors_find(stencil_neighbors *neighbors, const stencil_problem *problem,
                                      const stencil_cut *cut, const stencil_workers *workers) {
    const uint32_t participants = workers->first[cut->parts];
    search s = {.problem = problem, .cut = cut, .workers = workers, .participants = participants};
    for (int part = 0; part < cut->parts; part++) {
        int place[3];
        int64_t tiles = 1;
        stencil_cut_place(cut, part, place);
        for (int axis = 0; axis < STENCIL_AXES; axis++)
            tiles *= tiles_along(&s, axis, place[axis]);
        s.base[part + 1] = s.base[part] + (uint32_t)tiles;
    }
    s.tiles = s.base[cut->parts];
    s.point_count = stencil_shape_offsets(problem->shape, s.offset);
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

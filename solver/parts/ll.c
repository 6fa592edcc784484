#include "solver/parts/ll.h"

#include <stdlib.h>
#include <string.h>

#include "solver/parts/transfers.h"

typedef struct search {
    const stencil_cut *cut;
    const stencil_workers *workers;
    const stencil_layout *layout;
    int point_count;
    int32_t offset[STENCIL_POINTS_MAX][3];
    stencil_ll_lists *lists;
} search;

/* Counts a cell in the list of its participant, or, when there is room for all, puts it there. Until all are
 * there first[p + 1] is where the next one of participant p goes; while they are counted, first[p + 2] how
 * many it has. */
static void put(stencil_ll_list *list, uint32_t owner, const stencil_ll_cell *item) {
    if (list->item == NULL)
        list->first[owner + 2]++;
    else
        list->item[list->first[owner + 1]++] = *item;
}

/* The participants of a part of n cells that read its ghost cell `cell`. Returns how many. */
static int find_readers(const search *s, int part, const int64_t n[3], const int64_t cell[3],
                        uint32_t *readers) {
    int count = 0;
    for (int k = 0; k < s->point_count; k++) {
        int64_t reader[3];
        bool inside = true;
        for (int axis = 0; axis < STENCIL_AXES; axis++) {
            reader[axis] = cell[axis] - s->offset[k][axis];
            inside = inside && reader[axis] >= 0 && reader[axis] < n[axis];
        }
        if (!inside)
            continue;
        const uint32_t owner = stencil_workers_owner(s->workers, s->cut, part, reader);
        bool known = false;
        for (int i = 0; i < count; i++)
            known = known || readers[i] == owner;
        if (!known)
            readers[count++] = owner;
    }
    return count;
}

/* A slot for cell i (x fastest) of a transfer, where somebody reads it. */
static void add_cell(search *s, const stencil_transfer *t, int64_t i) {
    uint32_t readers[STENCIL_POINTS_MAX];
    int64_t from[3], to[3];
    const stencil_box receiver = stencil_cut_box(s->cut, t->to);
    for (int axis = STENCIL_AXES - 1; axis >= 0; axis--) {
        const int64_t n = t->to_box.n[axis], k = i % n;
        to[axis] = t->to_box.first[axis] + k;
        from[axis] = t->from_box.first[axis] + (t->mirrored[axis] ? n - 1 - k : k);
        i /= n;
    }
    const int count = find_readers(s, t->to, receiver.n, to, readers);
    if (count == 0)
        return;
    stencil_ll_cell item = {stencil_layout_offset(s->layout, from), s->lists->slots[t->to]++, t->to};
    put(&s->lists->send, stencil_workers_owner(s->workers, s->cut, t->from, from), &item);
    item.cell = stencil_layout_offset(s->layout, to);
    for (int k = 0; k < count; k++)
        put(&s->lists->receive, readers[k], &item);
}

/* From counts to places, and room for as many. */
static bool make_room(stencil_ll_list *list, uint32_t participants) {
    for (uint32_t p = 0; p < participants; p++)
        list->first[p + 2] += list->first[p + 1];
    list->item = malloc(((size_t)list->first[participants + 1] + 1) * sizeof *list->item);
    return list->item != NULL;
}

/* In two rounds: the first one counts. */
static bool find(search *s, const stencil_transfers *transfers, uint32_t participants) {
    stencil_ll_list *const list[2] = {&s->lists->send, &s->lists->receive};
    for (int l = 0; l < 2; l++) {
        list[l]->first = calloc((size_t)participants + 2, sizeof *list[l]->first);
        if (list[l]->first == NULL)
            return false;
    }
    for (int round = 0; round < 2; round++) {
        memset(s->lists->slots, 0, sizeof s->lists->slots);
        for (const stencil_transfer *t = transfers->item;
             t < transfers->item + transfers->first[s->cut->parts]; t++)
            for (int64_t i = 0; t->from != t->to && i < stencil_box_cells(&t->to_box); i++)
                add_cell(s, t, i);
        for (int l = 0; l < 2 && round == 0; l++)
            if (!make_room(list[l], participants))
                return false;
    }
    return true;
}

stencil_status stencil_ll_find(stencil_ll_lists *lists, const stencil_cut *cut,
                               const stencil_workers *workers, const stencil_layout *layout) {
    stencil_transfers transfers;
    *lists = (stencil_ll_lists){0};
    TRY(stencil_transfers_find(&transfers, cut, STENCIL_GHOSTS_ALL));
    search s = {.cut = cut, .workers = workers, .layout = layout, .lists = lists};
    s.point_count = stencil_shape_offsets(cut->mesh.shape, s.offset);
    const bool done = find(&s, &transfers, workers->first[cut->parts]);
    stencil_transfers_destroy(&transfers);
    if (!done)
        stencil_ll_destroy(lists);
    CHECK(done, NO_MEMORY, "no memory for the ghost cells of %d parts", cut->parts);
    return STENCIL_OK;
}

void stencil_ll_destroy(stencil_ll_lists *lists) {
    if (lists == NULL)
        return;
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

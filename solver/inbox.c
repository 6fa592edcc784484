#include "solver/inbox.h"

#include <stdlib.h>
#include <string.h>

/* Letters in the order they are found, with whose they are. */
typedef struct pile {
    uint32_t *owner;
    stencil_letter *letter;
    size_t count, capacity;
} pile;

typedef struct search {
    const stencil_problem *problem;
    const stencil_cut *cut;
    const stencil_workers *workers;
    const stencil_layout *layout;
    int point_count;
    int32_t offset[STENCIL_POINTS_MAX][3];
    int64_t *slots;
    pile push, pull;
} search;

static bool append(pile *p, uint32_t owner, const stencil_letter *letter) {
    if (p->count == p->capacity) {
        const size_t capacity = p->capacity > 0 ? 2 * p->capacity : 1024;
        uint32_t *owners = realloc(p->owner, capacity * sizeof *owners);
        p->owner = owners != NULL ? owners : p->owner;
        stencil_letter *letters = realloc(p->letter, capacity * sizeof *letters);
        p->letter = letters != NULL ? letters : p->letter;
        if (owners == NULL || letters == NULL)
            return false;
        p->capacity = capacity;
    }
    p->owner[p->count] = owner;
    p->letter[p->count++] = *letter;
    return true;
}

static int64_t element(const search *s, const int64_t cell[3]) {
    return cell[0] * s->layout->plane + cell[1] * s->layout->row + cell[2];
}

/* Which cell of which part stands at `cell` of the whole problem, as the boundaries continue it; -1: fixed
 * rim. */
static int source_of(const search *s, const int64_t cell[3], int64_t local[3]) {
    int place[3];
    for (int axis = 0; axis < STENCIL_AXES; axis++) {
        const int64_t n = s->problem->n[axis], *first = s->cut->first[axis];
        int64_t at = cell[axis];
        if (at < 0 || at >= n) {
            if (s->problem->boundary[axis] == STENCIL_FIXED)
                return -1;
            if (s->problem->boundary[axis] == STENCIL_PERIODIC)
                at += at < 0 ? n : -n;
            else
                at = at < 0 ? -1 - at : 2 * n - 1 - at;
        }
        place[axis] = 0;
        while (at >= first[place[axis] + 1])
            place[axis]++;
        local[axis] = at - first[place[axis]];
    }
    return stencil_cut_number(s->cut, place);
}

/* The participants of part `part` that read cell `cell` of its rim. Returns how many. */
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

/* A slot for one cell of a part's rim, where that is another part's and somebody reads it. */
static bool add_cell(search *s, int part, const int64_t first[3], const int64_t n[3], const int64_t cell[3]) {
    uint32_t readers[STENCIL_POINTS_MAX];
    int64_t local[3];
    const int64_t global[3] = {first[0] + cell[0], first[1] + cell[1], first[2] + cell[2]};
    const int source = source_of(s, global, local);
    const int count = source >= 0 && source != part ? find_readers(s, part, n, cell, readers) : 0;
    if (count == 0)
        return true;
    const int64_t slot = s->slots[part]++;
    stencil_letter letter = {element(s, local), slot, part};
    if (!append(&s->push, stencil_workers_owner(s->workers, s->cut, source, local), &letter))
        return false;
    letter.cell = element(s, cell);
    for (int i = 0; i < count; i++)
        if (!append(&s->pull, readers[i], &letter))
            return false;
    return true;
}

static int64_t reach_of(const stencil_problem *problem, int axis) {
    return axis >= STENCIL_AXES - problem->rank ? problem->shape->radius : 0;
}

/* All cells of the frame around a part. */
static bool add_part(search *s, int part) {
    int64_t first[3], n[3], reach[3], c[3];
    stencil_cut_box(s->cut, part, first, n);
    for (int axis = 0; axis < STENCIL_AXES; axis++)
        reach[axis] = reach_of(s->problem, axis);
    for (c[0] = -reach[0]; c[0] < n[0] + reach[0]; c[0]++)
        for (c[1] = -reach[1]; c[1] < n[1] + reach[1]; c[1]++) {
            const bool inside = c[0] >= 0 && c[0] < n[0] && c[1] >= 0 && c[1] < n[1];
            for (c[2] = -reach[2]; c[2] < n[2] + reach[2]; c[2]++) {
                if (inside && c[2] == 0)
                    c[2] = n[2];
                if (!add_cell(s, part, first, n, c))
                    return false;
            }
        }
    return true;
}

/* From a pile to lists, in the order of the pile. */
static bool sort(const pile *from, uint32_t participants, stencil_letters *to) {
    to->first = calloc((size_t)participants + 2, sizeof *to->first);
    to->letter = malloc((from->count + 1) * sizeof *to->letter);
    if (to->first == NULL || to->letter == NULL)
        return false;
    uint32_t *const next = to->first + 1; /* counts, then where the next one of each goes, then its end */
    for (size_t i = 0; i < from->count; i++)
        next[from->owner[i] + 1]++;
    for (uint32_t p = 0; p < participants; p++)
        next[p + 1] += next[p];
    for (size_t i = 0; i < from->count; i++)
        to->letter[next[from->owner[i]]++] = from->letter[i];
    return true;
}

stencil_status stencil_inboxes_find(stencil_inboxes *inboxes, const stencil_problem *problem,
                                    const stencil_cut *cut, const stencil_workers *workers,
                                    const stencil_layout *layout) {
    const uint32_t participants = workers->first[cut->parts];
    *inboxes = (stencil_inboxes){0};
    search s = {
        .problem = problem, .cut = cut, .workers = workers, .layout = layout, .slots = inboxes->slots};
    s.point_count = stencil_shape_offsets(problem->shape, s.offset);
    bool found = true;
    for (int part = 0; part < cut->parts && found; part++)
        found = add_part(&s, part);
    found =
        found && sort(&s.push, participants, &inboxes->push) && sort(&s.pull, participants, &inboxes->pull);
    free(s.push.owner);
    free(s.push.letter);
    free(s.pull.owner);
    free(s.pull.letter);
    if (!found)
        stencil_inboxes_destroy(inboxes);
    CHECK(found, NO_MEMORY, "no memory for the edge cells of %d parts", cut->parts);
    return STENCIL_OK;
}

void stencil_inboxes_destroy(stencil_inboxes *inboxes) {
    if (inboxes == NULL)
        return;
    free(inboxes->push.first);
    free(inboxes->push.letter);
    free(inboxes->pull.first);
    free(inboxes->pull.letter);
    *inboxes = (stencil_inboxes){0};
}

bool stencil_inbox_fits(const stencil_problem *problem) {
    for (int axis = STENCIL_AXES - problem->rank; axis < STENCIL_AXES; axis++)
        if (problem->boundary[axis] != STENCIL_FIXED && problem->radius[axis] != problem->shape->radius)
            return false;
    return true;
}

int64_t stencil_inbox_slots_most(const stencil_problem *problem, const stencil_cut *cut) {
    int64_t most = 0;
    for (int part = 0; part < cut->parts; part++) {
        int64_t first[3], n[3], outer = 1, inner = 1;
        stencil_cut_box(cut, part, first, n);
        for (int axis = 0; axis < STENCIL_AXES; axis++) {
            const int64_t framed = n[axis] + 2 * reach_of(problem, axis);
            inner *= cut->count[axis] > 1 ? n[axis] : framed;
            outer *= framed;
        }
        most = outer - inner > most ? outer - inner : most;
    }
    return most;
}

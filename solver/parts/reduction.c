#include "solver/parts/reduction.h"

#include <stdlib.h>
#include <string.h>

/* Values of a level that stand behind each other in numbering and in memory. */
typedef struct run {
    int64_t first, count;
} run;

/* A search for the pieces of a level: value i of it stands for the partial sum number i * unit. */
typedef struct search {
    const stencil_cut *cut;
    stencil_reduction *reduction;
    stencil_reduction_level *level;
    int64_t unit;
    run *runs; /* this rank's values, ascending; owned */
    int64_t run_count;
    int64_t gathered; /* places of level->gathered that are taken */
} search;

/* Returns the part that has partial sum `number`; *end: the number behind those that follow it there. */
static int owner_of(const stencil_cut *cut, int64_t number, int64_t *end) {
    const int64_t *n = cut->mesh.n, in_row = stencil_partial_at(n, 0, 1, 0), row = number / in_row,
                  x = number % in_row * STENCIL_PARTIAL_CELLS;
    const int place[] = {stencil_cut_place(cut, STENCIL_Z, row / n[STENCIL_Y]),
                         stencil_cut_place(cut, STENCIL_Y, row % n[STENCIL_Y]),
                         stencil_cut_place(cut, STENCIL_X, x)};
    const int64_t last = stencil_cut_first(cut, STENCIL_X, place[STENCIL_X] + 1);
    *end = row * in_row + (last + STENCIL_PARTIAL_CELLS - 1) / STENCIL_PARTIAL_CELLS;
    return (place[STENCIL_Z] * cut->count[STENCIL_Y] + place[STENCIL_Y]) * cut->count[STENCIL_X] +
           place[STENCIL_X];
}

/* Returns the rank that has value i of the level; *end: the index behind those that follow it there. */
static int rank_of(const search *s, int64_t i, int64_t *end) {
    int64_t number_end;
    const int part = owner_of(s->cut, i * s->unit, &number_end);
    *end = s->unit == 1 ? number_end : i + 1;
    return part / s->cut->owned;
}

static stencil_status add(stencil_reduction_pieces *list, int peer, int64_t from, int64_t to, int64_t count) {
    if (list->count == list->room) {
        const int64_t room = 2 * list->room + 16;
        stencil_reduction_piece *item = realloc(list->item, (size_t)room * sizeof *item);
        CHECK(item != NULL, NO_MEMORY, "no memory for the residual over ranks");
        list->item = item;
        list->room = room;
    }
    list->item[list->count++] = (stencil_reduction_piece){peer, from, to, count};
    return STENCIL_OK;
}

/* Lists this rank's partial sums: row by row, where rows do not follow each other in numbering. */
static stencil_status list_rows(search *s) {
    const stencil_box *own = &s->reduction->own;
    const int64_t rows = own->n[STENCIL_Z] * own->n[STENCIL_Y];
    void *memory = NULL;
    TRY(stencil_memory_alloc(&memory, (rows + 1) * (int64_t)sizeof *s->runs, "the residual over ranks"));
    s->runs = memory;
    for (int64_t r = 0; r < rows; r++) {
        const int64_t first =
            stencil_partial_at(s->cut->mesh.n, own->first[STENCIL_Z] + r / own->n[STENCIL_Y],
                               own->first[STENCIL_Y] + r % own->n[STENCIL_Y], own->first[STENCIL_X]);
        run *last = s->run_count > 0 ? &s->runs[s->run_count - 1] : NULL;
        if (last != NULL && last->first + last->count == first)
            last->count += s->reduction->row;
        else
            s->runs[s->run_count++] = (run){first, s->reduction->row};
    }
    return STENCIL_OK;
}

/* Lists the values of the next level: the groups that begin among those of this one. */
static void list_groups(search *s) {
    int64_t count = 0;
    for (int64_t r = 0; r < s->run_count; r++) {
        const int64_t end = s->runs[r].first + s->runs[r].count,
                      first = (s->runs[r].first + STENCIL_COMBINE_VALUES - 1) / STENCIL_COMBINE_VALUES,
                      after = (end + STENCIL_COMBINE_VALUES - 1) / STENCIL_COMBINE_VALUES;
        if (first < after)
            s->runs[count++] = (run){first, after - first};
    }
    s->run_count = count;
}

/* Adds the piece [first, end) of own values that stand from `at` on, of a group that may begin elsewhere. */
static stencil_status add_own(search *s, int64_t first, int64_t end, int64_t at) {
    int64_t behind;
    const int rank = rank_of(s, first / STENCIL_COMBINE_VALUES * STENCIL_COMBINE_VALUES, &behind);
    return rank == s->reduction->world->rank ? STENCIL_OK : add(&s->level->sent, rank, at, 0, end - first);
}

/* Adds a group that begins with own value `first`, which stands at `at`, `follow` values before the end of
 * its run: it stands there as a whole, or is gathered. */
static stencil_status add_group(search *s, int64_t first, int64_t at, int64_t follow) {
    stencil_reduction_level *l = s->level;
    const int64_t end = stencil_smaller(first + STENCIL_COMBINE_VALUES, l->all);
    stencil_reduction_group *group = &l->group[l->groups++];
    *group = (stencil_reduction_group){l->value + at, end - first};
    if (end - first <= follow)
        return STENCIL_OK;
    group->from = NULL; /* gathered in the order of groups */
    int64_t own_at = at, behind;
    for (int64_t i = first, next; i < end; i = next) {
        const int rank = rank_of(s, i, &behind);
        const int64_t to = s->gathered + i - first;
        next = stencil_smaller(behind, end);
        if (rank == s->reduction->world->rank) {
            TRY(add(&l->moved, rank, own_at, to, next - i)); /* own values of a group follow each other */
            own_at += next - i;
        } else {
            TRY(add(&l->received, rank, 0, to, next - i));
        }
    }
    s->gathered += STENCIL_COMBINE_VALUES;
    return STENCIL_OK;
}

static stencil_status find_pieces(search *s) {
    int64_t at = 0;
    for (int64_t r = 0; r < s->run_count; r++) {
        const int64_t end = s->runs[r].first + s->runs[r].count;
        for (int64_t i = s->runs[r].first, next; i < end; at += next - i, i = next) {
            next = stencil_smaller((i / STENCIL_COMBINE_VALUES + 1) * STENCIL_COMBINE_VALUES, end);
            TRY(add_own(s, i, next, at));
            if (i % STENCIL_COMBINE_VALUES == 0)
                TRY(add_group(s, i, at, end - i));
        }
    }
    return STENCIL_OK;
}

static int by_peer(const void *a, const void *b) {
    const stencil_reduction_piece *x = a, *y = b;
    const int64_t where = x->from != y->from ? x->from - y->from : x->to - y->to; /* ascending, as found */
    return x->peer != y->peer ? x->peer - y->peer : (where > 0) - (where < 0);
}

/* Sorts pieces by their ranks, gives them room to travel in, and adds a message for each rank. */
static stencil_status add_messages(stencil_reduction_pieces *list, bool sent, stencil_message *message,
                                   int *count) {
    int64_t values = 0;
    void *memory = NULL;
    if (list->count == 0)
        return STENCIL_OK;
    qsort(list->item, (size_t)list->count, sizeof *list->item, by_peer);
    for (int64_t i = 0; i < list->count; i++)
        values += list->item[i].count;
    TRY(stencil_memory_alloc(&memory, values * (int64_t)sizeof(double), "the residual over ranks"));
    list->buffer = memory;
    double *at = list->buffer;
    for (int64_t i = 0; i < list->count; i++) {
        const stencil_reduction_piece *p = &list->item[i];
        if (i == 0 || p->peer != p[-1].peer)
            message[(*count)++] = (stencil_message){.peer = p->peer, .sent = sent, .data = at};
        message[*count - 1].bytes += (size_t)p->count * sizeof(double);
        at += p->count;
    }
    return STENCIL_OK;
}

static stencil_status open_exchange(search *s) {
    stencil_reduction_level *l = s->level;
    int count = 0;
    stencil_message *message = calloc((size_t)(l->sent.count + l->received.count + 1), sizeof *message);
    CHECK(message != NULL, NO_MEMORY, "no memory for the residual over ranks");
    stencil_status status = add_messages(&l->received, false, message, &count);
    if (status == STENCIL_OK)
        status = add_messages(&l->sent, true, message, &count);
    if (status == STENCIL_OK)
        status = stencil_exchange_open(s->reduction->world, message, count, &l->exchange);
    free(message);
    return status;
}

/* Allocates the values of a level, and finds how they are combined. */
static stencil_status create_level(search *s) {
    stencil_reduction_level *l = s->level;
    void *value = NULL, *group = NULL, *gathered = NULL;
    for (int64_t r = 0; r < s->run_count; r++)
        l->count += s->runs[r].count;
    const int64_t groups = l->count / STENCIL_COMBINE_VALUES + s->run_count + 1;
    TRY(stencil_memory_alloc(&value, (l->count + 1) * (int64_t)sizeof(double), "the residual"));
    l->value = value;
    TRY(stencil_memory_alloc(&group, groups * (int64_t)sizeof *l->group, "the residual"));
    l->group = group;
    s->gathered = 0;
    TRY(find_pieces(s));
    TRY(stencil_memory_alloc(&gathered, (s->gathered + 1) * (int64_t)sizeof(double), "the residual"));
    l->gathered = gathered;
    double *at = l->gathered;
    for (int64_t g = 0; g < l->groups; g++)
        if (l->group[g].from == NULL) {
            l->group[g].from = at;
            at += STENCIL_COMBINE_VALUES;
        }
    return open_exchange(s);
}

static stencil_status create_levels(search *s, int64_t all) {
    stencil_reduction *r = s->reduction;
    TRY(list_rows(s));
    for (s->unit = 1; all > 1; s->unit *= STENCIL_COMBINE_VALUES) {
        s->level = &r->level[r->levels++];
        s->level->all = all;
        TRY(create_level(s));
        list_groups(s);
        all = stencil_level_count(all);
    }
    return STENCIL_OK;
}

stencil_status stencil_reduction_create(stencil_reduction *r, const stencil_cut *cut, stencil_world *world) {
    const stencil_box own = stencil_cut_box(cut, cut->own);
    *r = (stencil_reduction){.world = world, .own = own};
    r->row = (own.n[STENCIL_X] + STENCIL_PARTIAL_CELLS - 1) / STENCIL_PARTIAL_CELLS;
    r->plane = r->row * own.n[STENCIL_Y];
    search s = {.cut = cut, .reduction = r};
    const stencil_status status = create_levels(&s, stencil_partial_count(cut->mesh.n));
    free(s.runs);
    return status;
}

static void destroy_pieces(stencil_reduction_pieces *list) {
    free(list->item);
    free(list->buffer);
}

void stencil_reduction_destroy(stencil_reduction *r) {
    for (int k = 0; k < r->levels; k++) {
        stencil_reduction_level *l = &r->level[k];
        stencil_exchange_close(r->world, l->exchange);
        destroy_pieces(&l->sent);
        destroy_pieces(&l->received);
        destroy_pieces(&l->moved);
        free(l->value);
        free(l->group);
        free(l->gathered);
    }
    *r = (stencil_reduction){0};
}

int64_t stencil_reduction_bytes(const stencil_cut *cut) {
    const stencil_box most = stencil_cut_box(cut, 0);
    const int64_t rows = most.n[STENCIL_Z] * most.n[STENCIL_Y],
                  row = (most.n[STENCIL_X] + STENCIL_PARTIAL_CELLS - 1) / STENCIL_PARTIAL_CELLS;
    return rows * (2 * row * (int64_t)sizeof(double) + (int64_t)sizeof(run) +
                   2 * (int64_t)sizeof(stencil_reduction_piece));
}

void stencil_reduction_gather(stencil_reduction *r, int level) {
    stencil_reduction_level *l = &r->level[level];
    double *at = l->sent.buffer;
    for (int64_t i = 0; i < l->sent.count; at += l->sent.item[i++].count)
        memcpy(at, l->value + l->sent.item[i].from, (size_t)l->sent.item[i].count * sizeof *at);
    stencil_exchange_start(r->world, l->exchange);
    for (int64_t i = 0; i < l->moved.count; i++)
        memcpy(l->gathered + l->moved.item[i].to, l->value + l->moved.item[i].from,
               (size_t)l->moved.item[i].count * sizeof *at);
    stencil_exchange_finish(r->world, l->exchange);
    at = l->received.buffer;
    for (int64_t i = 0; i < l->received.count; at += l->received.item[i++].count)
        memcpy(l->gathered + l->received.item[i].to, at, (size_t)l->received.item[i].count * sizeof *at);
}

/* Returns where the value of a group goes. */
static double *result(stencil_reduction *r, int level, int64_t group) {
    return level + 1 < r->levels ? &r->level[level + 1].value[group] : &r->last;
}

void stencil_reduction_combine(stencil_reduction *r, int level, int64_t first, int64_t end,
                               stencil_norm norm) {
    const stencil_reduction_level *l = &r->level[level];
    for (int64_t g = first; g < end; g++)
        *result(r, level, g) = stencil_combine(l->group[g].from, l->group[g].count, 0, norm);
}

double stencil_reduction_finish(stencil_reduction *r) {
    stencil_world_tell(r->world, 0, &r->last, sizeof r->last); /* rank 0 has the first partial sum */
    return r->last;
}

double stencil_reduction_all(stencil_reduction *r, stencil_norm norm, const double *whole) {
    for (int level = 0; level < r->levels; level++) {
        const int64_t groups = r->level[level].groups;
        const double *known = level == 0 ? whole : NULL;
        stencil_reduction_gather(r, level);
#pragma omp parallel for schedule(static) if (groups > 64 && known == NULL)
        for (int64_t g = 0; g < groups; g++)
            if (known == NULL || stencil_reduction_place(r, g) < 0)
                stencil_reduction_combine(r, level, g, g + 1, norm);
            else
                *result(r, level, g) = known[g];
    }
    return stencil_reduction_finish(r);
}

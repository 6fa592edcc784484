#include "solver/problem/palette.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/classes.h"

/* A table of the numbers of rows, by their hash, at most half full: a number that finds its place taken goes
 * to the next one. */
struct stencil_row_search {
    int most, room; /* rows that there may be; rows that there is memory for */
    uint32_t slots; /* a power of two */
    uint16_t *slot; /* [slots]; 0: none */
    int64_t *cells; /* [room]: of each row */
};

enum { ROW_BYTES = STENCIL_WEIGHTS * sizeof(double), FIRST_ROOM = STENCIL_BYTE_ROWS };

void stencil_palette_destroy(stencil_problem *problem) {
    if (problem->row_search != NULL) {
        free(problem->row_search->slot);
        free(problem->row_search->cells);
    }
    free(problem->row_search);
    free(problem->palette);
    free(problem->byte_of_row);
    free(problem->row_of_byte);
    problem->row_search = NULL;
    problem->palette = NULL;
    problem->byte_of_row = NULL;
    problem->row_of_byte = NULL;
    problem->palette_count = 0;
}

static const double *row_at(const stencil_problem *problem, int number) {
    return problem->palette + (ptrdiff_t)(number - 1) * STENCIL_WEIGHTS;
}

/* The slot of a row: the one that has its number, or the free one where it would stand. */
static uint32_t slot_of(const stencil_problem *problem, const double *row) {
    const struct stencil_row_search *s = problem->row_search;
    uint64_t hash = 0, bits;
    for (int k = 0; k < STENCIL_WEIGHTS; k++) {
        memcpy(&bits, &row[k], sizeof bits);
        hash = (hash ^ bits) * UINT64_C(0x9e3779b97f4a7c15);
        hash ^= hash >> 29;
    }
    uint32_t at = (uint32_t)hash & (s->slots - 1);
    while (s->slot[at] != 0 && memcmp(row_at(problem, s->slot[at]), row, ROW_BYTES) != 0)
        at = (at + 1) & (s->slots - 1);
    return at;
}

/* Makes room for more rows, and a table of all that are there. */
static stencil_status make_room(stencil_problem *problem, int room) {
    struct stencil_row_search *s = problem->row_search;
    uint32_t slots = 1024;
    while (slots < 2 * (uint32_t)room)
        slots *= 2;
    double *rows = realloc(problem->palette, (size_t)room * ROW_BYTES);
    if (rows != NULL)
        problem->palette = rows;
    int64_t *cells = realloc(s->cells, (size_t)room * sizeof *cells);
    if (cells != NULL)
        s->cells = cells;
    uint16_t *slot = calloc(slots, sizeof *slot);
    if (slot != NULL) {
        free(s->slot);
        s->slot = slot;
        s->slots = slots;
    }
    CHECK(rows != NULL && cells != NULL && slot != NULL, NO_MEMORY, "no memory for %d rows of weights", room);
    s->room = room;
    for (int number = problem->palette_count; number >= 1; number--) /* the first of equal rows stays */
        s->slot[slot_of(problem, row_at(problem, number))] = (uint16_t)number;
    return STENCIL_OK;
}

stencil_status stencil_palette_begin(stencil_problem *problem, int most) {
    stencil_palette_destroy(problem);
    problem->row_search = calloc(1, sizeof *problem->row_search);
    CHECK(problem->row_search != NULL, NO_MEMORY, "no memory for rows of weights");
    problem->row_search->most = most;
    return make_room(problem, FIRST_ROOM);
}

int stencil_palette_find(const stencil_problem *problem, const double *row) {
    return problem->row_search->slot[slot_of(problem, row)];
}

bool stencil_palette_is_full(const stencil_problem *problem) {
    return problem->palette_count >= problem->row_search->most;
}

stencil_status stencil_palette_add(stencil_problem *problem, const double *row) {
    struct stencil_row_search *s = problem->row_search;
    if (problem->palette_count == s->room)
        TRY(make_room(problem, (int)stencil_smaller(2 * (int64_t)s->room, STENCIL_WIDE_ROWS)));
    const uint32_t at = slot_of(problem, row);
    memcpy(problem->palette + (ptrdiff_t)problem->palette_count * STENCIL_WEIGHTS, row, ROW_BYTES);
    s->cells[problem->palette_count++] = 0;
    if (s->slot[at] == 0)
        s->slot[at] = (uint16_t)problem->palette_count;
    return STENCIL_OK;
}

void stencil_palette_count(stencil_problem *problem, int number) {
    problem->row_search->cells[number - 1]++;
}

/* A row and its cells, which go by their number, the most first, and else by the row. */
typedef struct rank {
    int64_t cells;
    int number;
} rank;

static int by_cells(const void *a, const void *b) {
    const rank *x = a, *y = b;
    return x->cells != y->cells ? (x->cells < y->cells) - (x->cells > y->cells) : x->number - y->number;
}

stencil_status stencil_palette_end(stencil_problem *problem) {
    const int count = problem->palette_count;
    if (count <= STENCIL_BYTE_ROWS)
        return STENCIL_OK;
    rank *ranks = malloc((size_t)count * sizeof *ranks);
    problem->byte_of_row = malloc((size_t)count + 1);
    problem->row_of_byte = calloc(STENCIL_BYTE_ROWS + 1, sizeof *problem->row_of_byte);
    if (ranks == NULL || problem->byte_of_row == NULL || problem->row_of_byte == NULL) {
        free(ranks);
        FAIL(NO_MEMORY, "no memory for %d rows of weights", count);
    }
    for (int i = 0; i < count; i++)
        ranks[i] = (rank){problem->row_search->cells[i], i + 1};
    qsort(ranks, (size_t)count, sizeof *ranks, by_cells);
    memset(problem->byte_of_row, STENCIL_CLASS_WIDE, (size_t)count + 1);
    problem->byte_of_row[0] = STENCIL_CLASS_PLAIN;
    for (int byte = 1; byte <= STENCIL_BYTE_ROWS; byte++) {
        problem->row_of_byte[byte] = (uint16_t)ranks[byte - 1].number;
        problem->byte_of_row[ranks[byte - 1].number] = (uint8_t)byte;
    }
    free(ranks);
    return STENCIL_OK;
}

uint8_t stencil_palette_class(const stencil_problem *problem, int number) {
    if (problem->byte_of_row != NULL)
        return problem->byte_of_row[number];
    return number <= STENCIL_BYTE_ROWS ? (uint8_t)number : STENCIL_CLASS_WIDE;
}
